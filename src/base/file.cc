#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

namespace archlight::base {
namespace {

namespace fs = std::filesystem;

Diagnostic fault(const std::string& path, std::string wrong, std::string fix = {}) {
  Diagnostic out;
  out.at.source = std::make_shared<SourceText>(SourceText{path, {}});
  out.wrong = std::move(wrong);
  out.fix = std::move(fix);
  return out;
}

// Closes on every way out.
struct Descriptor {
  int fd = -1;
  explicit Descriptor(int descriptor) : fd(descriptor) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

// Reads until `length` bytes or the end of the file.
bool read_up_to(int fd, uint64_t offset, uint64_t length, std::string& out) {
  out.resize(length);
  uint64_t done = 0;
  while (done < length) {
    const ssize_t got = pread(fd, out.data() + done, length - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    done += static_cast<uint64_t>(got);
  }
  out.resize(done);
  return true;
}

Result<std::vector<std::string>> list(const std::string& folder, bool folders) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (folders ? it->is_directory(ignored) : it->is_regular_file(ignored))
      names.push_back(it->path().filename().string());
  }
  if (error) return fault(folder, "cannot list the folder: " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Result<std::string> read_file(const std::string& path, uint64_t max_bytes) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info = {};
  if (file.fd < 0 || fstat(file.fd, &info) != 0)
    return fault(path, std::string("cannot be read: ") + std::strerror(errno));
  if (S_ISDIR(info.st_mode)) return fault(path, "is a folder where a file was expected");
  if (!S_ISREG(info.st_mode)) return fault(path, "is not a regular file");
  if (static_cast<uint64_t>(info.st_size) > max_bytes)
    return fault(path,
                 fmt::format("holds {} bytes, more than the {} this reader takes", info.st_size, max_bytes));
  std::string out;
  if (!read_up_to(file.fd, 0, static_cast<uint64_t>(info.st_size), out))
    return fault(path, std::string("cannot be read: ") + std::strerror(errno));
  return out;
}

Result<std::string> read_file_range(const std::string& path, uint64_t offset, uint64_t length) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0) return fault(path, std::string("cannot be read: ") + std::strerror(errno));
  struct stat info = {};
  if (fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode)) return fault(path, "is not a regular file");
  const uint64_t size = static_cast<uint64_t>(info.st_size);
  if (offset > size || length > size - offset)
    return fault(path, fmt::format("bytes {}+{} lie outside the file's {}", offset, length, size));
  std::string out;
  if (!read_up_to(file.fd, offset, length, out) || out.size() != length)
    return fault(path, "ended while it was read");
  return out;
}

Result<uint64_t> file_size(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0)
    return fault(path, std::string("cannot be read: ") + std::strerror(errno));
  return static_cast<uint64_t>(info.st_size);
}

bool file_exists(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool folder_exists(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

Faults write_file(const std::string& path, std::string_view bytes) {
  std::error_code error;
  const fs::path parent = fs::path(path).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  std::string temporary = path + ".XXXXXX";
  Descriptor file(mkostemp(temporary.data(), O_CLOEXEC));
  if (file.fd < 0) return {fault(path, std::string("cannot be written: ") + std::strerror(errno))};
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = write(file.fd, bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) break;
    done += static_cast<size_t>(put);
  }
  if (done != bytes.size() || fchmod(file.fd, 0644) != 0 || fsync(file.fd) != 0 ||
      rename(temporary.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    unlink(temporary.c_str());
    return {fault(path, std::string("cannot be written: ") + std::strerror(reason))};
  }
  return {};
}

Result<std::vector<std::string>> list_files(const std::string& folder) {
  return list(folder, false);
}
Result<std::vector<std::string>> list_folders(const std::string& folder) {
  return list(folder, true);
}

Result<std::string> zstd_decompress(std::string_view bytes, const std::string& name, uint64_t max_bytes) {
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, 27);
  std::string out;
  const unsigned long long declared = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (declared != ZSTD_CONTENTSIZE_UNKNOWN && declared != ZSTD_CONTENTSIZE_ERROR && declared <= max_bytes)
    out.reserve(declared);
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  size_t left = 1;
  while (in.pos < in.size || left != 0) {
    const size_t step = std::max<size_t>(out.capacity() - out.size(), 1 << 16);
    const size_t before = out.size();
    if (before + step > max_bytes + (1 << 16))
      return fault(name, fmt::format("unpacks to more than {} bytes", max_bytes));
    out.resize(before + step);
    ZSTD_outBuffer sink{out.data() + before, step, 0};
    const size_t in_before = in.pos;
    left = ZSTD_decompressStream(context.get(), &sink, &in);
    out.resize(before + sink.pos);
    if (ZSTD_isError(left)) return fault(name, std::string("is not valid zstd: ") + ZSTD_getErrorName(left));
    if (left != 0 && in.pos == in.size && sink.pos == 0 && in_before == in.pos)
      return fault(name, "zstd data ends early");
  }
  return out;
}

std::string zstd_compress(std::string_view bytes, int level) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), level));
  return out;
}

Result<std::string> home_folder() {
  if (const char* home = std::getenv("ARCHLIGHT_HOME"); home && *home) return std::string(home);
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (fs::path at = program.parent_path(); !error && !at.empty(); at = at.parent_path()) {
    if (folder_exists((at / "specs" / "models").string())) return at.string();
    if (at == at.parent_path()) break;
  }
  return fault(program.string(), "no specs/ folder above the program",
               "set ARCHLIGHT_HOME to the folder that holds specs/ and snapshots/");
}

}  // namespace archlight::base
