// Which scheme a checkpoint declares, and which modules its lists leave alone.
#include <gtest/gtest.h>

#include "support/made_up.h"

namespace archlight::testing {
namespace {

std::string declared(const std::string& declaration) {
  std::string out;
  for (const auto& [name, scheme] : own_library()->quants())
    if (spec::declares(scheme, *json(declaration))) out += (out.empty() ? "" : " ") + name;
  return out;
}

// Declarations as published; exactly one scheme answers to each.
TEST(Quant, WhatADeclarationNames) {
  EXPECT_EQ(
      declared(
          R"({"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]})"),
      "fp8_block");
  EXPECT_EQ(declared(R"({"quant_method": "fp8", "activation_scheme": "static"})"), "fp8_tensor");
  EXPECT_EQ(
      declared(R"({"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]})"),
      "fp8_tensor");
  EXPECT_EQ(declared(R"({"modules_to_not_convert": ["model.layers.*.self_attn"], "quant_method": "mxfp4"})"),
            "mxfp4");
  EXPECT_EQ(declared(R"({"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": false})"), "gptq");
  EXPECT_EQ(declared(R"({"quant_method": "bitsandbytes", "load_in_8bit": true, "load_in_4bit": false})"),
            "bnb_int8");
  EXPECT_EQ(declared(R"({"quant_method": "bitsandbytes", "load_in_8bit": false, "load_in_4bit": true})"),
            "bnb_fp4");
  EXPECT_EQ(declared(R"({"group_size": 64, "bits": 4})"), "mlx_affine");
  EXPECT_EQ(declared(R"({"quant_method": "unheard of"})"), "");
  EXPECT_EQ(declared("{}"), "");
}

TEST(Quant, ValuesInsideADeclaration) {
  const auto text = [](const char* path) {
    return spec::declared_text(*json(R"({"a": {"b": [7, true, null, "x"]}, "c": null})"), path);
  };
  EXPECT_EQ(text("a.b.0"), "7");
  EXPECT_EQ(text("a.b.1"), "true");
  EXPECT_EQ(text("a.b.2"), std::nullopt);
  EXPECT_EQ(text("a.b.3"), "x");
  EXPECT_EQ(text("a.b.4"), std::nullopt);
  EXPECT_EQ(text("a.b.-1"), std::nullopt);
  EXPECT_EQ(text("a.b.99999999999999999999"), std::nullopt);
  EXPECT_EQ(text("c"), std::nullopt);
  EXPECT_EQ(text("c.d"), std::nullopt);
}

TEST(Quant, IgnoreLists) {
  struct Row {
    const char* entry;
    const char* path;
    bool by_path, by_component;
  };
  const Row rows[] = {
      {"lm_head", "lm_head", true, true},
      {"lm_head", "lm_head2", false, false},
      {"model.layers.3", "model.layers.3.mlp.up_proj", true, true},
      {"model.layers.3", "model.layers.30.mlp.up_proj", false, false},
      {"mlp.gate", "model.layers.0.mlp.gate", false, true},  // a run of segments
      {"mlp.gate", "model.layers.0.mlp.gate_proj", false, false},
      {"gate", "model.layers.0.mlp.gate", false, true},
      {"model.layers.*.self_attn", "model.layers.7.self_attn.q_proj", true, true},
      {"model.layers.*.self_attn", "model.layers.7.mlp.up_proj", false, false},
      {"*.self_attn*", "model.layers.7.self_attn.q_proj", true, true},
      {"model.layers.1?.mlp", "model.layers.12.mlp.up_proj", true, true},
      {"model.layers.1?.mlp", "model.layers.1.mlp.up_proj", false, false},
      {"re:.*lm_head", "lm_head", true, true},
      {"re:model\\.layers\\.[02]\\.", "model.layers.2.mlp.up_proj", true, true},
      {"re:model\\.layers\\.[02]\\.", "model.layers.1.mlp.up_proj", false, false},
      {"re:(", "model.layers.1", false, false},  // no expression at all names nothing
      {"", "model", false, false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(spec::ignores(row.entry, row.path, spec::IgnoreMatch::kPath), row.by_path)
        << row.entry << " and " << row.path;
    EXPECT_EQ(spec::ignores(row.entry, row.path, spec::IgnoreMatch::kComponent), row.by_component)
        << row.entry << " and " << row.path;
  }
}

// Files under specs/ read without a fault, and hold together by name.
TEST(Quant, OwnLibrary) {
  const std::shared_ptr<const spec::Library> library = own_library();
  ASSERT_TRUE(library);
  for (const std::string& name : library->component_names()) {
    const base::Result<const spec::Component*> component = library->any_component(name);
    ASSERT_TRUE(component.ok()) << messages(component.faults());
    if (const std::string& variant = (*component)->decode_variant; !variant.empty()) {
      ASSERT_TRUE(library->any_component(variant).ok()) << name;
      EXPECT_EQ((*library->any_component(variant))->variant_of, name);
    }
    for (const spec::NodeDecl& node : (*component)->graph)
      for (const spec::WeightAxis& axis : node.weight_axes)
        EXPECT_TRUE(axis.replicated || !axis.parts.empty()) << name << "." << node.name;
  }
  for (const std::string& name : library->model_names()) {
    const base::Result<const spec::Model*> read = library->model(name);
    ASSERT_TRUE(read.ok()) << messages(read.faults());
    const spec::Model& model = **read;
    EXPECT_FALSE(model.src.empty()) << name << " has no source";
    for (const std::string& adapter : model.adapters)
      EXPECT_TRUE(library->adapter(adapter, model.at).ok()) << name;
    for (const spec::DimDecl& dim : model.dims)
      EXPECT_TRUE(library->dims().contains(dim.name)) << name << ": " << dim.name;
    for (const auto& [role, choice] : model.quant.per_role) {
      EXPECT_TRUE(role == "default" || library->roles().contains(role)) << name << ": " << role;
      if (choice.method != "none" && choice.method != "declared")
        EXPECT_TRUE(library->quant(choice.method, choice.at).ok());
    }
  }
}

}  // namespace
}  // namespace archlight::testing
