// dtype.h: the element types of tensor files and their widths.
//
// Blocks  GGUF stores some types in blocks of elements, with their scales inside: a block has so many bytes, and a row
//         is a whole number of blocks. Other types are blocks of one element, or of 8 bits where that is no byte.
// Source  The safetensors format's dtype tags; F4, F6_* and F8_E8M0 are its sub-byte and scale types. GGUF's types:
//         ggml-org/ggml src/ggml-common.h, include/ggml.h enum ggml_type. Q8_1 and Q8_K are for activations alone and
//         are in no file.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace archlight::base {

enum class Dtype : uint8_t {
  kBool,
  kF4,
  kF6E2M3,
  kF6E3M2,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kF8E4M3Fnuz,
  kF8E5M2Fnuz,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kI64,
  kU64,
  kF64,
  kC64,
  // GGUF's blocks
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2K,
  kQ3K,
  kQ4K,
  kQ5K,
  kQ6K,
  kIq2Xxs,
  kIq2Xs,
  kIq3Xxs,
  kIq1S,
  kIq4Nl,
  kIq3S,
  kIq2S,
  kIq4Xs,
  kIq1M,
  kTq1_0,
  kTq2_0,
  kMxfp4Block,
  kNvfp4Block,
};

// The tag as files spell it ("BF16", "F8_E4M3"), and back; none for an unknown tag.
std::string_view dtype_name(Dtype dtype);
std::optional<Dtype> dtype_from_name(std::string_view name);
// GGUF's names ("Q4_K", whatever the case) and numbers, plain types among them.
std::optional<Dtype> dtype_from_ggml_name(std::string_view name);
std::optional<Dtype> dtype_from_ggml_id(uint32_t id);
// config.json spells dtypes as torch does ("bfloat16", "torch.float16"); none for anything else.
std::optional<Dtype> dtype_from_torch_name(std::string_view name);
// Bits of one element of a type without blocks.
int dtype_bits(Dtype dtype);
// The smallest whole number of elements that fill whole bytes, and those bytes.
struct DtypeBlock {
  int elements = 1;
  int bytes = 1;
};
DtypeBlock dtype_block(Dtype dtype);
bool in_blocks(Dtype dtype);  // one of GGUF's

}  // namespace archlight::base
