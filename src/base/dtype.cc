#include "base/dtype.h"

namespace archlight::base {
namespace {

struct Row {
  Dtype dtype;
  std::string_view name;
  int bits;
  std::string_view torch_name;
};

constexpr Row kRows[] = {
    {Dtype::kBool, "BOOL", 8, "bool"},
    {Dtype::kF4, "F4", 4, "float4_e2m1fn_x2"},
    {Dtype::kF6E2M3, "F6_E2M3", 6, ""},
    {Dtype::kF6E3M2, "F6_E3M2", 6, ""},
    {Dtype::kU8, "U8", 8, "uint8"},
    {Dtype::kI8, "I8", 8, "int8"},
    {Dtype::kF8E5M2, "F8_E5M2", 8, "float8_e5m2"},
    {Dtype::kF8E4M3, "F8_E4M3", 8, "float8_e4m3fn"},
    {Dtype::kF8E8M0, "F8_E8M0", 8, "float8_e8m0fnu"},
    {Dtype::kF8E4M3Fnuz, "F8_E4M3FNUZ", 8, "float8_e4m3fnuz"},
    {Dtype::kF8E5M2Fnuz, "F8_E5M2FNUZ", 8, "float8_e5m2fnuz"},
    {Dtype::kI16, "I16", 16, "int16"},
    {Dtype::kU16, "U16", 16, "uint16"},
    {Dtype::kF16, "F16", 16, "float16"},
    {Dtype::kBF16, "BF16", 16, "bfloat16"},
    {Dtype::kI32, "I32", 32, "int32"},
    {Dtype::kU32, "U32", 32, "uint32"},
    {Dtype::kF32, "F32", 32, "float32"},
    {Dtype::kI64, "I64", 64, "int64"},
    {Dtype::kU64, "U64", 64, "uint64"},
    {Dtype::kF64, "F64", 64, "float64"},
    {Dtype::kC64, "C64", 64, "complex64"},
};

const Row& row(Dtype dtype) {
  return kRows[static_cast<size_t>(dtype)];
}

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (kRows[i].dtype != static_cast<Dtype>(i)) return false;
  return true;
}
static_assert(in_order(), "kRows follows the order of Dtype");

}  // namespace

std::string_view dtype_name(Dtype dtype) {
  return row(dtype).name;
}

std::optional<Dtype> dtype_from_name(std::string_view name) {
  for (const Row& candidate : kRows)
    if (candidate.name == name) return candidate.dtype;
  return std::nullopt;
}

std::optional<Dtype> dtype_from_torch_name(std::string_view name) {
  if (name.substr(0, 6) == "torch.") name.remove_prefix(6);
  for (const Row& candidate : kRows)
    if (!candidate.torch_name.empty() && candidate.torch_name == name) return candidate.dtype;
  return std::nullopt;
}

int dtype_bits(Dtype dtype) {
  return row(dtype).bits;
}

}  // namespace archlight::base
