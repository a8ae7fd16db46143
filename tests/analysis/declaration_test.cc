// A checkpoint's declaration, module by module. Declarations are in the forms that exporters publish; which module gets
// which format follows from their text.
#include "analysis/internal/declaration.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/made_up.h"

namespace archlight::testing {
namespace {

using analysis::internal::Declaration;

// The schemes that stand for one module, most keys first, or "plain"; faults where there are any.
std::string format(const std::string& declared, const std::string& path, const std::string& op = "linear",
                   const std::string& config = "{}") {
  const std::shared_ptr<const spec::Library> library = own_library();
  const std::shared_ptr<const base::Json> declaration = json(declared), around = json(config);
  base::Faults faults;
  const Declaration parts(*library, **library->model("llama"), *around, *declaration,
                          "config.quantization_config", faults);
  const Declaration::Found found = parts.find(path, path, op, faults);
  if (!faults.empty()) return messages(faults);
  std::string out;
  if (found.format)
    for (const spec::QuantScheme* scheme : found.format->schemes)
      out += (out.empty() ? "" : ", ") + scheme->name;
  return (out.empty() ? "plain" : out) + (found.exact ? " by name" : "");
}

// A number of the format that one module has.
std::string number(const std::string& declared, const std::string& path, const char* key) {
  const std::shared_ptr<const spec::Library> library = own_library();
  const std::shared_ptr<const base::Json> declaration = json(declared), around = json("{}");
  base::Faults faults;
  const Declaration parts(*library, **library->model("llama"), *around, *declaration,
                          "config.quantization_config", faults);
  const Declaration::Found found = parts.find(path, path, "linear", faults);
  if (!found.format) return "plain";
  return spec::declared_text(*found.format->numbers, key).value_or("absent");
}

TEST(Declaration, OneFormatForAll) {
  EXPECT_EQ(format(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})", "layers.0.x"), "fp8_block");
  EXPECT_EQ(format(R"({"quant_method": "unheard of"})", "layers.0.x"), "plain");
  // Two schemes may be declared at once; the one with more keys is asked first.
  EXPECT_EQ(format(R"({"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"})",
                   "layers.0.ffn.experts.3.w1", "linear", R"({"expert_dtype": "fp4"})"),
            "fp4_e8m0, fp8_block");
  EXPECT_EQ(format(R"({"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"})",
                   "layers.0.ffn.experts.3.w1", "linear", R"({"expert_dtype": "fp8"})"),
            "fp8_block");
}

// Two kinds of modules, and a rest that stays plain.
TEST(Declaration, LayersOfModelOpt) {
  const std::string declared =
      R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "exclude_modules": ["mtp*"],
          "quantized_layers": {"m.layers.0.linear_attn.out_proj": {"quant_algo": "FP8"},
                               "m.layers.0.mlp.experts": {"quant_algo": "W4A16_NVFP4", "group_size": 16},
                               "m.layers.1.mlp.experts.7.w1": {"quant_algo": "MXFP8"}, "lm_head": {"quant_algo": "NVFP4"}}})";
  EXPECT_EQ(format(declared, "m.layers.0.linear_attn.out_proj"), "fp8_tensor by name");
  EXPECT_EQ(format(declared, "m.layers.0.mlp.experts.200.w2"), "nvfp4");
  EXPECT_EQ(format(declared, "m.layers.1.mlp.experts.7.w1"), "mxfp8 by name");
  EXPECT_EQ(format(declared, "m.layers.1.mlp.experts.6.w1"), "plain");
  EXPECT_EQ(format(declared, "m.layers.10.linear_attn.out_proj"), "plain");
  EXPECT_EQ(format(declared, "lm_head"), "nvfp4 by name");
  EXPECT_EQ(number(declared, "m.layers.0.mlp.experts.200.w2", "group_size"), "16");
  // Experts converted again in a checkpoint whose rest stays as it was.
  const std::string again =
      R"({"quant_method": "fp8", "weight_block_size": [128, 128], "quant_algo": "MIXED_PRECISION",
          "ignore": ["*.attn.*"], "quantized_layers": {"layers.0.ffn.experts": {"quant_algo": "NVFP4"}}})";
  EXPECT_EQ(format(again, "layers.0.ffn.experts.1.w1"), "nvfp4");
  EXPECT_EQ(format(again, "layers.0.attn.wq_a"), "fp8_block");
  EXPECT_EQ(
      format(R"({"quant_algo": "MIXED_PRECISION", "quantized_layers": {"a.b": {"quant_algo": "FP9"}}})",
             "a.b"),
      "config.json: [not_verifiable] config.quantization_config.quantized_layers.a.b declares a quantisation "
      "that no file of specs/quant describes: {\"quant_algo\":\"FP9\"}; expected a scheme of specs/quant; "
      "add "
      "specs/quant/<name>.yaml with a declared_by that matches");
}

TEST(Declaration, GroupsOfCompressedTensors) {
  // As Kimi-K2.5's text_config has it.
  const std::string packed =
      R"({"quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": ["lm_head"],
          "config_groups": {"group_0": {"input_activations": null, "targets": ["Linear"],
            "weights": {"group_size": 32, "num_bits": 4, "strategy": "group", "type": "int"}}}})";
  EXPECT_EQ(format(packed, "model.layers.1.mlp.experts.0.up_proj"), "int_packed");
  EXPECT_EQ(format(packed, "model.embed_tokens", "embedding"), "plain");
  EXPECT_EQ(number(packed, "model.layers.1.mlp.experts.0.up_proj", "weights.group_size"), "32");
  // Formats of the groups' own; names before patterns, patterns before classes.
  const std::string mixed =
      R"({"quant_method": "compressed-tensors", "format": "mixed-precision", "config_groups": {
          "a": {"format": "float-quantized", "targets": ["Linear"], "weights": {"strategy": "channel", "num_bits": 8, "type": "float"}},
          "b": {"format": "nvfp4-pack-quantized", "targets": ["re:.*mlp.*"], "weights": {"strategy": "tensor_group", "num_bits": 4, "type": "float"}},
          "c": {"format": "int-quantized", "targets": ["model.layers.0.mlp.up_proj"], "weights": {"strategy": "channel", "num_bits": 8, "type": "int"}}}})";
  EXPECT_EQ(format(mixed, "model.layers.0.self_attn.q_proj"), "fp8_ct_channel");
  EXPECT_EQ(format(mixed, "model.layers.0.mlp.down_proj"), "nvfp4_ct");
  EXPECT_EQ(format(mixed, "model.layers.0.mlp.up_proj"), "int8_channel by name");
  // A preset's name in place of a group.
  EXPECT_EQ(
      format(R"({"quant_method": "compressed-tensors", "config_groups": {"FP8_DYNAMIC": ["Linear"]}})", "x"),
      "fp8_ct_channel");
  EXPECT_EQ(format(R"({"quant_method": "compressed-tensors", "config_groups": {"W4A16": ["Linear"]}})", "x"),
            "int_packed");
  EXPECT_EQ(format(R"({"quant_method": "compressed-tensors", "config_groups": {"NVFP4": ["Linear"]}})", "x"),
            "nvfp4_ct");
  EXPECT_EQ(format(R"({"quant_method": "compressed-tensors", "config_groups": {"MXFP4": ["Linear"]}})", "x"),
            "mxfp4_ct");
  EXPECT_EQ(
      format(R"({"quant_method": "compressed-tensors", "config_groups": {"W9A9": ["Linear"]}})", "x"),
      "config.json: [not_verifiable] config.quantization_config.config_groups.W9A9 stands for a format that "
      "specs/declarations.yaml does not list; expected a preset of 'compressed-tensors config_groups'; add "
      "it "
      "to its presets");
  for (const char* preset :
       {"W8A16", "W4A16_ASYM", "W8A8", "INT8", "FP8", "FP8_BLOCK", "NVFP4A16", "MXFP4A16", "MXFP8"})
    EXPECT_NE(format(std::string(R"({"quant_method": "compressed-tensors", "config_groups": {")") + preset +
                         R"(": ["Linear"]}})",
                     "x")
                  .find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789"),
              0u);
}

TEST(Declaration, PatternsOfGptq) {
  const std::string declared =
      R"({"quant_method": "gptq", "bits": 4, "group_size": 128,
          "dynamic": {"+:model\\.layers\\.1\\..*down_proj": {"bits": 8}, "-:model\\.layers\\.2\\.": {}}})";
  EXPECT_EQ(number(declared, "model.layers.0.mlp.down_proj", "bits"), "4");
  EXPECT_EQ(number(declared, "model.layers.1.mlp.down_proj", "bits"), "8");
  EXPECT_EQ(number(declared, "model.layers.1.mlp.down_proj", "group_size"), "128");
  EXPECT_EQ(number(declared, "model.layers.2.mlp.down_proj", "bits"), "plain");
  EXPECT_EQ(
      format(R"({"quant_method": "gptq", "dynamic": {"a": {"bits": 8}, "a.*": {"bits": 2}}})", "abc"),
      "config.json: [not_verifiable] config.quantization_config gives 'abc' two formats, by patterns whose "
      "order is not kept; expected one pattern a module");
}

TEST(Declaration, ModulesOfMlx) {
  const std::string declared =
      R"({"group_size": 32, "bits": 4, "lm.embed_tokens": {"group_size": 64, "bits": 8, "mode": "affine"},
          "lm.layers.0.gate": false, "lm.layers.0.up": {"mode": "mxfp4", "group_size": 32, "bits": 4}})";
  EXPECT_EQ(format(declared, "lm.layers.0.down"), "mlx_affine");
  EXPECT_EQ(number(declared, "lm.layers.0.down", "bits"), "4");
  EXPECT_EQ(number(declared, "lm.embed_tokens", "bits"), "8");
  EXPECT_EQ(number(declared, "lm.embed_tokens", "group_size"), "64");
  EXPECT_EQ(format(declared, "lm.layers.0.gate"), "plain by name");
  EXPECT_EQ(format(declared, "lm.layers.0.up"), "mlx_mxfp4 by name");
}

TEST(Declaration, ModulesOfAutoRound) {
  const std::string declared =
      R"({"quant_method": "auto-round", "packing_format": "auto_round:auto_gptq", "bits": 4, "group_size": 128,
          "extra_config": {"a.gate": {"bits": 16}, "a.up": {"bits": 8}}})";
  EXPECT_EQ(format(declared, "a.down"), "gptq");
  EXPECT_EQ(format(declared, "a.gate"), "plain by name");
  EXPECT_EQ(number(declared, "a.up", "bits"), "8");
}

// Each declares exactly this scheme for a weight of a layer.
TEST(Declaration, EveryMethodHasOneScheme) {
  struct Row {
    const char* declared;
    const char* scheme;
  };
  const Row rows[] = {
      {R"({"quant_method": "fp8", "activation_scheme": "dynamic"})", "fp8_tensor"},
      {R"({"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200})", "fp8_channel"},
      {R"({"quant_algo": "FP8_PER_CHANNEL_PER_TOKEN"})", "fp8_channel_flat"},
      {R"({"quant_algo": "FP8_PB_WO"})", "fp8_block_4d"},
      {R"({"quant_algo": "NVFP4_AWQ"})", "nvfp4"},
      {R"({"quant_algo": "W4A8_MXFP4_FP8"})", "mxfp4_weight"},
      {R"({"quant_algo": "W4A16_AWQ"})", "int4_awq_modelopt"},
      {R"({"quant_algo": "W8A8_SQ_PER_CHANNEL"})", "int8_channel_flat"},
      {R"({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp4"}}})", "mxfp4_weight"},
      {R"({"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm"})", "awq"},
      {R"({"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemv"})", "awq_gemv, awq"},
      {R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4",
           "bnb_4bit_use_double_quant": true, "bnb_4bit_quant_storage": "uint8"})",
       "bnb_nf4_double"},
      {R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4",
           "bnb_4bit_use_double_quant": false})",
       "bnb_nf4"},
      {R"({"quant_method": "bitsandbytes", "load_in_4bit": true})", "bnb_fp4"},
      {R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_storage": "bfloat16"})",
       "plain"},
      {R"({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64, "axis": 1}}})",
       "hqq"},
      {R"({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 3, "group_size": 64, "axis": 1}}})",
       "hqq_3bit, hqq"},
      {R"({"quant_method": "aqlm", "in_group_size": 8, "num_codebooks": 1, "nbits_per_codebook": 16})",
       "aqlm"},
      {R"({"quant_method": "aqlm", "in_group_size": 8, "num_codebooks": 2, "nbits_per_codebook": 8})",
       "aqlm_8bit"},
      {R"({"quant_method": "eetq", "weights": "int8"})", "eetq"},
      {R"({"quant_method": "bitnet"})", "bitnet"},
      {R"({"group_size": 32, "bits": 4, "mode": "mxfp4"})", "mlx_mxfp4"},
      {R"({"group_size": 16, "bits": 4, "mode": "nvfp4"})", "mlx_nvfp4"},
      {R"({"group_size": 32, "bits": 8, "mode": "mxfp8"})", "mlx_mxfp8"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(format(row.declared, "model.layers.0.mlp.up_proj"), row.scheme) << row.declared;
}

TEST(Declaration, CopiesThatKeysTellApart) {
  const std::shared_ptr<const spec::Library> library = own_library();
  const auto declared = json(
      R"({"quant_algo": "MIXED_PRECISION", "quantized_layers": {"m.layers.3.experts.5.up": {"quant_algo": "NVFP4"}}})");
  const auto around = json("{}");
  base::Faults faults;
  const Declaration parts(*library, **library->model("llama"), *around, *declared, "o", faults);
  EXPECT_TRUE(parts.tells_copies_apart("m.layers.*.experts.*"));
  EXPECT_FALSE(parts.tells_copies_apart("m.layers.*.other.*"));
  EXPECT_TRUE(
      analysis::internal::pattern_tells_copies_apart("re:.*experts\\.[02]\\..*", "m.layers.*.experts.*"));
  EXPECT_FALSE(
      analysis::internal::pattern_tells_copies_apart("re:.*layers.3.experts.*up", "m.layers.*.experts.*"));
}

}  // namespace
}  // namespace archlight::testing
