// file.h: whole files, in and out. Reads are bounded; writes appear whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace archlight::base {

// A missing, unreadable or over-large file is a fault that names the path.
Result<std::string> read_file(const std::string& path, uint64_t max_bytes = uint64_t{1} << 30);
// Bytes [offset, offset + length); a short file is a fault.
Result<std::string> read_file_range(const std::string& path, uint64_t offset, uint64_t length);
Result<uint64_t> file_size(const std::string& path);
bool file_exists(const std::string& path);
bool folder_exists(const std::string& path);

// Writes beside the target, syncs, and renames over it, so that a reader sees the old file or the new one.
Faults write_file(const std::string& path, std::string_view bytes);

// Names (not paths) of the regular files or of the folders in a folder, sorted.
Result<std::vector<std::string>> list_files(const std::string& folder);
Result<std::vector<std::string>> list_folders(const std::string& folder);

// zstd, whole buffers. Decompression stops with a fault past `max_bytes`.
Result<std::string> zstd_decompress(std::string_view bytes, const std::string& name,
                                    uint64_t max_bytes = uint64_t{1} << 30);
std::string zstd_compress(std::string_view bytes, int level = 19);

// The folder that holds specs/ and snapshots/: $ARCHLIGHT_HOME, or the nearest ancestor of the running program
// that has specs/ops or specs/models.
Result<std::string> home_folder();

}  // namespace archlight::base
