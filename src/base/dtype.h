// dtype.h: the element types of tensor files and their widths.
//
// Source  The safetensors format's dtype tags; F4, F6_* and F8_E8M0 are its sub-byte and scale types.
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
};

// The tag as files spell it ("BF16", "F8_E4M3"), and back; none for an unknown tag.
std::string_view dtype_name(Dtype dtype);
std::optional<Dtype> dtype_from_name(std::string_view name);
// config.json spells dtypes as torch does ("bfloat16", "torch.float16"); none for anything else.
std::optional<Dtype> dtype_from_torch_name(std::string_view name);
int dtype_bits(Dtype dtype);

}  // namespace archlight::base
