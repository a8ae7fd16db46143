// safetensors.h: the header of a safetensors file.
//
// Format  8 bytes little-endian header length n, n bytes of JSON object, then data. Each entry is
//         {"dtype","shape","data_offsets":[begin,end]} with offsets from the start of the data; "__metadata__" maps
//         strings to strings.
// Checks  n at most 100 MB and inside the file; one JSON object; names unique; dtype known; shape times width equals
//         the range; ranges cover the data without gap, overlap or overrun.
// Errors  At a byte of the file or at the tensor's name.
// Source  The format's own description in the safetensors repository's README; docs/sources.md#safetensors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "truth/truth.h"

namespace archlight::truth {

inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

// The header length from the file's first 8 bytes, checked against the file's size when that is known (0: not known).
base::Result<uint64_t> header_length(std::string_view first_bytes, uint64_t file_bytes,
                                     const std::string& file);
// Adds the tensors of one file to `into`. `json` is the header text; `data_bytes` the bytes after it, when known.
base::Faults parse_header(std::string_view json, std::optional<uint64_t> data_bytes, const std::string& file,
                          uint32_t shard, TensorTable& into);
// A whole local file: reads its header only.
base::Faults read_safetensors_file(const std::string& path, uint32_t shard, TensorTable& into);

}  // namespace archlight::truth
