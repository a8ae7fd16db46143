// Faulty declarations and the whole message of each: where, what is wrong, what was expected, how to fix it.
#include <gtest/gtest.h>

#include "support/made_up.h"

namespace archlight::testing {
namespace {

// Loads everything, components included, and binds.
std::string outcome(const Made& made) {
  const base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(made.files);
  if (!library) return messages(library.faults());
  for (const std::string& name : (*library)->component_names())
    if (const auto component = (*library)->any_component(name); !component)
      return messages(component.faults());
  const base::Result<Bound> bound = bind_to(*library, "tiny", made.config);
  return bound ? "ok" : messages(bound.faults());
}

struct Row {
  const char* file;
  const char* from;
  const char* to;
  const char* message;
};

const char* const kModel = "models/tiny.yaml";
const char* const kMix = "components/library/mix.yaml";
const char* const kMlp = "components/library/mlp.yaml";

void check(std::span<const Row> rows, const Made& made = tiny()) {
  for (const Row& row : rows)
    EXPECT_EQ(outcome(made.with(row.file, row.from, row.to)), row.message) << row.from << " -> " << row.to;
}

TEST(SpecErrors, NothingWrong) {
  EXPECT_EQ(outcome(tiny()), "ok");
}

TEST(SpecErrors, Yaml) {
  const Row rows[] = {
      {kMlp, "role: ffn_dense", "role: ffn_dense\nrole: ffn_dense", "@"},
      {kMlp, "{ op: silu, in: gate, dim: d_ff }", "{ op: silu, in: gate, op: mul }", "@"},
      {kMlp, "{ op: silu, in: gate, dim: d_ff }", "{ op: silu, in: gate", "@"},
      {kMlp, "in: gate, dim: d_ff", "in: &g gate, dim: d_ff", "@"},
      {kMlp, "role: ffn_dense", "role: [ffn_dense]", "@"},
      {kMlp, "graph:", "graph: none\nsrc:", "@"},
  };
  check(rows);
}

TEST(SpecErrors, Components) {
  const Row rows[] = {
      {kMlp, "role: ffn_dense\n", "", "@"},
      {kMlp, "role: ffn_dense", "role: ffn_dens", "@"},
      {kMlp, "outputs:", "output:", "@"},
      {kMlp, "{ op: silu, in: gate", "{ op: silu, inn: gate", "@"},
      {kMlp, "{ op: silu, in: gate, dim: d_ff }", "silu", "@"},
      {kMlp, "{ op: silu, in: gate, dim: d_ff }", "{ in: gate, dim: d_ff }", "@"},
      {kMlp, "{ op: silu, in: gate, dim: d_ff }", "{ op: silu, slot: ffn, in: gate }", "@"},
      {kMlp, "in: [act, up]", "in: [act, {up: 1}]", "@"},
      {kMlp, "in: [act, up]", "in: [act, 'up |']", "@"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: 'd_ff *'", "@"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: [d_ff]", "@"},
      {kMlp, "{ op: silu, in: gate, dim: d_ff }", "{ op: silu, in: gate, dims: d_ff }", "@"},
      {kMlp, "{ op: silu, in: gate, dim: d_ff }", "{ component: mlp, in: gate, active: 2 }", "@"},
      {kMix, "in: [q, k] }", "in: [q, k], mask: casual }", "@"},
      {kMix, "kind: key }", "kind: key, window: 4, ratio: 2 }", "@"},
      {kMix, "kind: key }", "kind: key, windw: 4 }", "@"},
      {kMix, "entries: [{ node: k, kind: key }, { node: v, kind: value }]", "entries: { node: k, kind: key }",
       "@"},
      {kMix, "in: merged, dims:",
       "in: merged, weight_axes: [{ replicated: true }, { replicated: true, world: attention }], dims:", "@"},
      {kMix, "in: merged, dims:",
       "in: merged, weight_axes: [{ world: attenton, parts: n_heads }, { replicated: true }], dims:", "@"},
      {kMix, "in: merged, dims:",
       "in: merged, weight_axes: [{ world: attention, parts: n_heads, fit: evn }, { replicated: true }], "
       "dims:",
       "@"},
  };
  check(rows);
}

TEST(SpecErrors, CustomOps) {
  const Made made = tiny().with(kMlp, "graph:",
                                "custom_ops:\n  twice: { shape: 'preserve: [*r,dim] -> [*r,dim]', flops: "
                                "r*dim, source: two times }\ngraph:");
  const Row rows[] = {
      {kMlp, "source: two times", "partial: each, source: two times", "ok"},
      {kMlp, "preserve: [*r,dim] -> [*r,dim]", "explicit: [*r,dim] -> [*r,dim]", "@"},
      {kMlp, "'preserve: [*r,dim] -> [*r,dim]'", "'source: -> [B,dim]'", "@"},
      {kMlp, "twice:", "silu:", "@"},
      {kMlp, ", source: two times", "", "@"},
      {kMlp, "flops: r*dim", "flops: r*dam", "@"},
      {kMlp, "source: two times", "unit: tensor, source: two times", "@"},
      {kMlp, "source: two times", "partial: both, source: two times", "@"},
  };
  check(rows, made);
}

TEST(SpecErrors, Models) {
  const Row rows[] = {
      {kModel, "components:", "componets:", "@"},
      {kModel, "  d_model: config.hidden\n", "  d_model: {}\n", "@"},
      {kModel, "  d_model: config.hidden\n", "  d_model: { config: hidden, default: 8 }\n", "@"},
      {kModel, "  d_model: config.hidden\n", "  d_model: { confg: hidden, formula: 8 }\n", "@"},
      {kModel, "  d_model: config.hidden\n", "  d_model: [config.hidden]\n", "@"},
      {kModel, "- { name: norm, op: rmsnorm", "- { op: rmsnorm", "@"},
      {kModel, "- name: layers\n", "- nam: layers\n", "@"},
      {kModel, "streams: { hidden: { carries: true } }", "streams: [hidden]", "@"},
      {kModel, "hidden: { carries: true }", "hidden: { carries: yes }", "@"},
      {kModel, "hidden: { carries: true }", "hidden: { from: out }", "@"},
      {kModel, "hidden: { carries: true }", "hidden: { carries: true, read: eech }", "@"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: { rest: true, ffn: mlp }\n", "@"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ count: 1, rest: true, ffn: mlp }]\n",
       "@"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ ffn: mlp }]\n", "@"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ config: kinds, ffn: mlp }]\n", "@"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ rest: false, ffn: mlp }]\n", "@"},
      {kModel, "model:\n", "quant_context: { per_role: { default: none } }\nmodel:\n", "@"},
      {kModel, "model:\n", "quant_context: { per_role: { default: { group_size: 32 } } }\nmodel:\n", "@"},
      {kModel, "model:\n", "quant_context: { override: [{ dtype: F32 }] }\nmodel:\n", "@"},
      {kModel, "model:\n", "quant_context: { override: { nodes: [norm] } }\nmodel:\n", "@"},
      {kModel, "model:\n", "quant_context: { default_dtype: BF17 }\nmodel:\n", "@"},
      {kModel, "model:\n", "buffers: [{ path: freq, shape: [4], source: s }]\nmodel:\n", "@"},
      {kModel, "model:\n", "buffers: { path: freq }\nmodel:\n", "@"},
  };
  check(rows);
}

TEST(SpecErrors, Tables) {
  const Row rows[] = {
      {"dims.yaml", "head_count", "head_cout", "@"},
      {"dims.yaml", "[attention]", "[attentions]", "@"},
      {"dims.yaml", "kind: head_count, ", "", "@"},
      {"roles.yaml", "expert: { meaning: m }", "expert: { fills: ffn }", "@"},
  };
  check(rows);
  const std::string scheme =
      "label: l\nsource: s\nscope: { ops: [linear] }\ntensors:\n  - { suffix: .weight, dtype: I8, shape: "
      "[out, in], main: true }\n";
  const Made made =
      tiny().plus("quant/int8.yaml", scheme).plus("adapters/plain.yaml", "paths: { layers: model.layers }\n");
  EXPECT_EQ(outcome(made), "ok");
  const Row quant[] = {
      {"quant/int8.yaml", ", main: true", "", "@"},
      {"quant/int8.yaml", "dtype: I8", "dtype: INT8", "@"},
      {"quant/int8.yaml", "shape: [out, in]", "shape: out", "@"},
      {"quant/int8.yaml", "shape: [out, in], ", "", "@"},
      {"quant/int8.yaml", "main: true", "main: true, count_as: 0", "@"},
      {"quant/int8.yaml", "scope: { ops", "scope: { op", "@"},
      {"quant/int8.yaml", "scope:", "declared_by: { quant_method: int8 }\nscope:", "@"},
      {"quant/int8.yaml", "scope:", "ignore: { keys: [skip], match: name }\nscope:", "@"},
      {"adapters/plain.yaml", "paths:", "extends: plain\npaths:", "@"},
      {"adapters/plain.yaml", "paths:", "extends: plane\npaths:", "@"},
      {"adapters/plain.yaml", "model.layers", "{ to: model.layers }", "@"},
  };
  check(quant, made);
}

TEST(SpecErrors, Binding) {
  const Row rows[] = {
      {"config", "\"hidden\": 8, ", "", "@"},
      {"config", "\"hidden\"", "\"hiden\"", "@"},
      {"config", "\"hidden\": 8", "\"hidden\": null", "@"},
      {"config", "\"hidden\": 8", "\"hidden\": \"eight\"", "@"},
      {"config", "\"hidden\": 8", "\"hidden\": {\"size\": 8}", "@"},
      {kModel, "d_model: config.hidden", "d_model: n_heads * d_hed", "@"},
      {kModel, "d_model: config.hidden", "d_model: n_heads * config.size", "@"},
      {kModel, "d_model: config.hidden", "d_model: d_model + 1", "@"},
      {kModel, "d_model: config.hidden", "d_model: d_ff // 2\n  d_inner: d_model * 2", "ok"},
      {kModel, "d_ff: config.inner", "d_ff: d_model * 2\n  d_other: d_ff / 0", "@"},
      {kModel, "d_model: config.hidden\n  n_heads: config.heads",
       "d_model: n_heads * 4\n  n_heads: d_model / 4", "@"},
  };
  check(rows);
}

// One run reports every fault of what it read.
TEST(SpecErrors, AllOfThem) {
  EXPECT_EQ(
      outcome(tiny()
                  .with(kMlp, "{ op: silu, in: gate, dim: d_ff }", "{ op: silu, inn: gate, dimm: d_ff }")
                  .with(kMlp, "role: ffn_dense\n", "")),
      "@");
}

}  // namespace
}  // namespace archlight::testing
