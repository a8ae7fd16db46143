# setup.sh: what ./run, ./test, .ci/run and scripts/fuzz share. Sourced with $root set to the project's folder.
#
# Everything here is quiet: tools write to a log under build/, which is shown only when they fail, and progress goes
# to stderr, so that a command's stdout is its answer and nothing else.

# Debian 12's names. The compiler and its tools, the libraries that the rooms link, GiNaC (the tests' oracle for
# expressions), valijson (the tests' reader of schemas/), graphviz (`archlight graph --svg`) and python3 (the tests'
# independent tensor records).
packages=(
  g++ cmake ninja-build ccache pkg-config
  libyaml-dev libsimdjson-dev nlohmann-json3-dev libcli11-dev libfmt-dev libcpp-httplib-dev libssl-dev libzstd-dev
  libtree-sitter-dev
  libgtest-dev libbenchmark-dev libginac-dev libcln-dev libvalijson-dev
  ca-certificates zstd graphviz python3
)

# npm fetches the grammar by which forward sources are read (cmake/grammar.cmake); any npm will do.
command -v npm >/dev/null || packages+=(npm)

mkdir -p "$root/build"
logs=$root/build/logs
mkdir -p "$logs"

# Makes the compiler's and the tests' messages the same everywhere.
export LC_ALL=C.UTF-8

say() { printf 'archlight: %s\n' "$*" >&2; }
fail() { say "$*"; exit "${setup_status:-1}"; }

# quietly NAME COMMAND...: the output goes to build/logs/NAME.log, shown on failure.
quietly() {
  local log=$logs/$1.log
  shift
  local status=0
  "$@" >"$log" 2>&1 </dev/null || status=$?
  [ $status != 0 ] || return 0
  tail -n 200 "$log" >&2
  say "failed: $* (status $status)"
  return $status
}

# One set-up or build at a time in this folder; a second shell waits here. unlock before running the result.
lock() {
  exec 9>"$root/build/.lock"
  flock -n 9 || { say "waiting for another build in this folder"; flock 9; }
}
unlock() { exec 9>&-; }

# install PACKAGE...: installs those that are missing, and asks the archive for nothing when none is.
install() {
  local missing=() package
  local installed
  installed=" $(dpkg-query -W -f='${db:Status-Abbrev}:${Package} ' "$@" 2>/dev/null || true)"
  for package in "$@"; do
    [[ $installed == *" ii :$package "* || $installed == *" hi :$package "* ]] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "missing packages; as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  as_root+=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 -qq)
  say "installing ${missing[*]}"
  quietly apt-update "${as_root[@]}" update || fail "apt-get update failed"
  quietly apt-install "${as_root[@]}" install -y --no-install-recommends "${missing[@]}" || fail "apt-get install failed"
}

# configure PRESET [CMAKE OPTION...]: CMake runs here only the first time and when a preset changed; later Ninja
# calls it by itself when a CMake file or the set of sources did.
configure() {
  local folder=$root/build/$1
  [ ! "$folder/build.ninja" -nt "$root/CMakePresets.json" ] || return 0
  (cd "$root" && quietly "configure-$1" cmake --preset "$@") || return
  touch "$folder/build.ninja"
}

# build PRESET [TARGET...]: at most one line of progress on stderr, rewritten in place on a terminal.
build() {
  local preset=$1 log=$logs/build-$1.log
  shift
  if ninja -C "$root/build/$preset" "$@" 2>&1 </dev/null | progress "$preset" "$log"; then return 0; fi
  grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking|Generating)|^ninja: Entering' "$log" | tail -n 200 >&2
  say "build failed (the whole log: ${log#"$root"/})"
  return 1
}

progress() {
  local line shown=0 last=""
  : >"$2"
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$2"
    [[ $line == \[*/*\]* && $line != *'Re-checking globbed'* ]] || continue
    last=${line%%]*}]
    if [ -t 2 ]; then
      printf '\rarchlight: building %s %s ' "$1" "$last" >&2
    elif [ $shown = 0 ]; then
      say "building $1 (the first time takes minutes, later ones seconds)"
    fi
    shown=1
  done
  if [ $shown = 1 ] && [ -t 2 ]; then printf '\r\033[K' >&2; fi
}
