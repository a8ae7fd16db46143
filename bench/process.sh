#!/usr/bin/env bash
# Whole processes, from exec to exit: wall and CPU time, the median of 11 runs, and peak memory.
#
#   bench/process.sh [BINARY]      build/release/archlight when none is named
#
# Each run starts with an empty cache of ours; the file system's own cache is warm after the first. Two of the
# folders hold DeepSeek-V3's tensors as tests/records generates them from published facts, with the published
# config of the snapshot: once as one safetensors header (the file is sparse: of its data no byte is on disk), once
# as a record folder. Neither is a downloaded header. Needs python3, zstd and GNU time.
set -euo pipefail
export LC_ALL=C
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
binary=$(readlink -f "${1:-$root/build/release/archlight}")
runs=11
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

id=deepseek-ai/DeepSeek-V3
file=${id/\//--}
config() {
  zstd -dcq "$root/snapshots/$file.json.zst" | python3 -c '
import json, sys
snapshot = json.load(sys.stdin)
part = next(s for s in (snapshot.get("published"), snapshot.get("record")) if s and "config" in s)
json.dump(part["config"], sys.stdout)'
}
mkdir -p "$work/header/$file" "$work/record/$file"
config | tee "$work/header/$file/config.json" >"$work/record/$file/config.json"
python3 "$root/tests/records/generate.py" header --sparse "$id" "$work/header/$file/model.safetensors"
python3 "$root/tests/records/generate.py" tsv "$id" | zstd -q >"$work/record/$file/tensors.tsv.zst"
printf '{"repo_id_on_hf": "%s", "level": "header", "notes": "generated from published facts for timing; no downloaded header"}' \
  "$id" >"$work/record/$file/source.json"

# The middle line of an odd number of them.
median() { sort -n | sed -n "$(((runs + 1) / 2))p"; }

# row TITLE ARGUMENT...: one line of the table.
row() {
  local title=$1 i status=0
  shift
  : >"$work/wall" >"$work/cpu" >"$work/memory"
  for ((i = 0; i < runs; ++i)); do
    local cache=$work/cache.$i TIMEFORMAT='%3R %3U %3S'
    mkdir "$cache"
    { time XDG_CACHE_HOME=$cache "$binary" "$@" >"$work/out" 2>"$work/err"; } 2>"$work/times" || status=$?
    awk '{print $1 * 1000 >> wall; print ($2 + $3) * 1000 >> cpu}' wall="$work/wall" cpu="$work/cpu" "$work/times"
    XDG_CACHE_HOME=$cache /usr/bin/time -o "$work/peak" -f %M "$binary" "$@" >/dev/null 2>&1 || true
    tail -n 1 "$work/peak" >>"$work/memory"
    rm -r "$cache"
  done
  [ $status = 0 ] || { cat "$work/err" >&2; echo "$title: status $status" >&2; exit 1; }
  printf '| %-44s | %7.0f | %6.0f | %7.1f |\n' "$title" "$(median <"$work/wall")" "$(median <"$work/cpu")" \
    "$(awk '{printf "%f", $1 * 1024 / 1000000}' <<<"$(median <"$work/memory")")"
}

echo "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, load$(uptime | sed 's/.*average://'), $(date +%F)"
printf '| %-44s | %7s | %6s | %7s |\n' command 'wall ms' 'CPU ms' 'peak MB'
echo "| --- | ---: | ---: | ---: |"
row "inspect $id" inspect "$id"
row "inspect $id --json" inspect "$id" --json
row "explain $id params.total" explain "$id" params.total
row "inspect: one header, 91,991 tensors" inspect "$work/header/$file"
row "inspect: record folder, 91,991 tensors" inspect "$work/record/$file"
row "models" models
