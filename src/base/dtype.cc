#include "base/dtype.h"

#include <algorithm>

namespace archlight::base {
namespace {

struct Row {
  Dtype dtype;
  std::string_view name;
  int bits;
  std::string_view torch_name;
  int ggml_id = -1;
  std::string_view ggml_name = {};
  DtypeBlock block = {0, 0};  // of GGUF's blocks alone
};

constexpr Row kRows[] = {
    {Dtype::kBool, "BOOL", 8, "bool"},
    {Dtype::kF4, "F4", 4, "float4_e2m1fn_x2"},
    {Dtype::kF6E2M3, "F6_E2M3", 6, ""},
    {Dtype::kF6E3M2, "F6_E3M2", 6, ""},
    {Dtype::kU8, "U8", 8, "uint8"},
    {Dtype::kI8, "I8", 8, "int8", 24, "I8"},
    {Dtype::kF8E5M2, "F8_E5M2", 8, "float8_e5m2"},
    {Dtype::kF8E4M3, "F8_E4M3", 8, "float8_e4m3fn"},
    {Dtype::kF8E8M0, "F8_E8M0", 8, "float8_e8m0fnu"},
    {Dtype::kF8E4M3Fnuz, "F8_E4M3FNUZ", 8, "float8_e4m3fnuz"},
    {Dtype::kF8E5M2Fnuz, "F8_E5M2FNUZ", 8, "float8_e5m2fnuz"},
    {Dtype::kI16, "I16", 16, "int16", 25, "I16"},
    {Dtype::kU16, "U16", 16, "uint16"},
    {Dtype::kF16, "F16", 16, "float16", 1, "F16"},
    {Dtype::kBF16, "BF16", 16, "bfloat16", 30, "BF16"},
    {Dtype::kI32, "I32", 32, "int32", 26, "I32"},
    {Dtype::kU32, "U32", 32, "uint32"},
    {Dtype::kF32, "F32", 32, "float32", 0, "F32"},
    {Dtype::kI64, "I64", 64, "int64", 27, "I64"},
    {Dtype::kU64, "U64", 64, "uint64"},
    {Dtype::kF64, "F64", 64, "float64", 28, "F64"},
    {Dtype::kC64, "C64", 64, "complex64"},
    {Dtype::kQ4_0, "Q4_0", 0, "", 2, "Q4_0", {32, 18}},
    {Dtype::kQ4_1, "Q4_1", 0, "", 3, "Q4_1", {32, 20}},
    {Dtype::kQ5_0, "Q5_0", 0, "", 6, "Q5_0", {32, 22}},
    {Dtype::kQ5_1, "Q5_1", 0, "", 7, "Q5_1", {32, 24}},
    {Dtype::kQ8_0, "Q8_0", 0, "", 8, "Q8_0", {32, 34}},
    {Dtype::kQ2K, "Q2_K", 0, "", 10, "Q2_K", {256, 84}},
    {Dtype::kQ3K, "Q3_K", 0, "", 11, "Q3_K", {256, 110}},
    {Dtype::kQ4K, "Q4_K", 0, "", 12, "Q4_K", {256, 144}},
    {Dtype::kQ5K, "Q5_K", 0, "", 13, "Q5_K", {256, 176}},
    {Dtype::kQ6K, "Q6_K", 0, "", 14, "Q6_K", {256, 210}},
    {Dtype::kIq2Xxs, "IQ2_XXS", 0, "", 16, "IQ2_XXS", {256, 66}},
    {Dtype::kIq2Xs, "IQ2_XS", 0, "", 17, "IQ2_XS", {256, 74}},
    {Dtype::kIq3Xxs, "IQ3_XXS", 0, "", 18, "IQ3_XXS", {256, 98}},
    {Dtype::kIq1S, "IQ1_S", 0, "", 19, "IQ1_S", {256, 50}},
    {Dtype::kIq4Nl, "IQ4_NL", 0, "", 20, "IQ4_NL", {32, 18}},
    {Dtype::kIq3S, "IQ3_S", 0, "", 21, "IQ3_S", {256, 110}},
    {Dtype::kIq2S, "IQ2_S", 0, "", 22, "IQ2_S", {256, 82}},
    {Dtype::kIq4Xs, "IQ4_XS", 0, "", 23, "IQ4_XS", {256, 136}},
    {Dtype::kIq1M, "IQ1_M", 0, "", 29, "IQ1_M", {256, 56}},
    {Dtype::kTq1_0, "TQ1_0", 0, "", 34, "TQ1_0", {256, 54}},
    {Dtype::kTq2_0, "TQ2_0", 0, "", 35, "TQ2_0", {256, 66}},
    {Dtype::kMxfp4Block, "MXFP4", 0, "", 39, "MXFP4", {32, 17}},
    {Dtype::kNvfp4Block, "NVFP4", 0, "", 40, "NVFP4", {64, 36}},
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
    if (candidate.name == name && candidate.block.elements == 0) return candidate.dtype;
  return std::nullopt;
}

std::optional<Dtype> dtype_from_ggml_name(std::string_view name) {
  const auto same = [](char a, char b) {
    const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; };
    return upper(a) == upper(b);
  };
  for (const Row& candidate : kRows)
    if (!candidate.ggml_name.empty() && std::ranges::equal(candidate.ggml_name, name, same))
      return candidate.dtype;
  return std::nullopt;
}

std::optional<Dtype> dtype_from_ggml_id(uint32_t id) {
  for (const Row& candidate : kRows)
    if (candidate.ggml_id >= 0 && static_cast<uint32_t>(candidate.ggml_id) == id) return candidate.dtype;
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

DtypeBlock dtype_block(Dtype dtype) {
  if (in_blocks(dtype)) return row(dtype).block;
  const int bits = row(dtype).bits;
  return bits % 8 == 0   ? DtypeBlock{1, bits / 8}
         : bits % 4 == 0 ? DtypeBlock{2, bits / 4}
                         : DtypeBlock{4, bits / 2};
}

bool in_blocks(Dtype dtype) {
  return row(dtype).block.elements != 0;
}

}  // namespace archlight::base
