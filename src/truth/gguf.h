// gguf.h: the header of a GGUF file: metadata, and where its tensors lie.
//
// Format  "GGUF", a version (2 or 3), the number of tensors and of metadata entries as 64 bits, the entries (key, type,
//         value), the tensors (name, number of axes, axes with the fastest first, type, offset), then data from the next
//         multiple of general.alignment (32). All numbers are little-endian; a text is its length and its bytes; an
//         array is its type, its length and its values.
// Checks  Counts, lengths and arrays inside the file before anything is kept of them; names and keys unique; known types;
//         rows of whole blocks; offsets aligned; ranges inside the data, without overlap.
// Shapes  As other files have them, the fastest axis last.
// Kept    Of metadata, numbers, truth values and texts; of an array its numbers up to 4,096 of them, otherwise its
//         length alone, as {"length": n}: vocabularies are long, and no cost depends on their words.
// Errors  At a byte of the file, or at a tensor's name.
// Source  the GGUF page of ggml-org/ggml; the types are base/dtype.h's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "truth/truth.h"

namespace archlight::truth {

inline constexpr uint64_t kMaxGgufHeader = uint64_t{256} << 20;

struct GgufHeader {
  std::shared_ptr<const base::Json> metadata;
  uint64_t data_begin = 0;  // byte of the file
};

// Reads the start of a file. Where `bytes` ends before the header does and the file goes on, nothing is added,
// `more` gets how many bytes are needed at least, and there is no fault.
base::Faults parse_gguf(std::string_view bytes, std::optional<uint64_t> file_bytes, const std::string& file,
                        uint32_t shard, TensorTable& into, GgufHeader& header, uint64_t* more);
// A whole local file: reads its header only.
base::Faults read_gguf_file(const std::string& path, uint32_t shard, TensorTable& into, GgufHeader& header);

// "x-00002-of-00003.gguf": the names of the whole set, in order; of any other name that name alone.
std::vector<std::string> gguf_set(const std::string& name);
// The parts of one model, read one by one, as a whole: metadata is the first part's, and the counts that parts state
// of the set must hold.
base::Faults join_gguf(const std::string& place, const std::vector<GgufHeader>& parts, Truth& into);

}  // namespace archlight::truth
