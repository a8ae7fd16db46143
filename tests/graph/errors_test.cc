// Specs that read well and cannot be expanded: names, roles, slots, schedules, recursion. Each message in
// full.
#include <gtest/gtest.h>

#include "graph/tree.h"
#include "support/made_up.h"

namespace archlight::testing {
namespace {

std::string outcome(const Made& made) {
  const base::Result<Bound> bound = made.bind();
  if (!bound) return messages(bound.faults());
  for (graph::Phase phase : {graph::Phase::kPrefill, graph::Phase::kDecode}) {
    const base::Result<graph::SpecTree> tree = graph::build_tree(*bound->library, *bound->binding, phase);
    if (!tree) return (phase == graph::Phase::kDecode ? "decode: " : "") + messages(tree.faults());
  }
  return "ok";
}

struct Row {
  const char* file;
  const char* from;
  const char* to;
  const char* message;
};

const char* const kModel = "models/tiny.yaml";
const char* const kLayer = "components/library/layer.yaml";
const char* const kMix = "components/library/mix.yaml";
const char* const kMlp = "components/library/mlp.yaml";

void check(std::span<const Row> rows, const Made& made = tiny()) {
  for (const Row& row : rows)
    EXPECT_EQ(outcome(made.with(row.file, row.from, row.to)), row.message) << row.from << " -> " << row.to;
}

TEST(GraphErrors, NothingWrong) {
  EXPECT_EQ(outcome(tiny()), "ok");
}

TEST(GraphErrors, Nodes) {
  const Row rows[] = {
      {kMlp, "op: silu", "op: sliu", "@"},
      {kMlp, "in: gate, dim", "in: gated, dim", "@"},  // a forward reference, and so a cycle
      {kMlp, "in: gate, dim", "in: act, dim", "@"},    // itself
      {kMlp, "in: gate, dim", "in: gat, dim", "@"},
      {kMlp, "in: [act, up]", "in: act", "@"},
      {kMlp, "in: [act, up]", "in: [act, up, x]", "@"},
      {kMlp, "act:   {", "x: {", "@"},
      {kMlp, "outputs: [down]", "outputs: [dwn]", "@"},
      {kMlp, "outputs: [down]", "outputs: [down, act]", "@"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_ff, role: expertt", "@"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dims: { dimm: d_ff }", "@"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_ff, bias: true", "@"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_ff, window: 4", "@"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_ff, copies: 4", "@"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_ff, weight_axes: [{ replicated: true }]", "@"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_ff, when: with_act", "@"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_ff, when: s_query > 1", "@"},
      {kMlp, "{ op: mul, in: [act, up] }",
       "{ op: mul, in: [act, gone] }\n  gone: { op: linear, in: x, when: 0 }", "@"},
      {kMlp, "  act:",
       "  gone: { op: linear, in: x, dims: { in: d_model, out: d_ff }, when: 0 }\n  lost: { op: mul, in: "
       "[gone, up] }\n  act:",
       "@"},
      {kMix, "node: k, kind", "node: k_rope, kind", "@"},
      {kMix, "in: [q, k]", "in: [q, k], weight_of: k_proj", "@"},
      {kMix, "in: merged, dims:", "in: merged, weight_of: k_prj, dims:", "@"},
      {kModel, "in: norm, dims: { in: d_model, out: n_vocab }",
       "in: norm, dims: { in: d_model, out: n_vocab }, tied_to: embedd", "@"},
  };
  check(rows);
}

TEST(GraphErrors, Calls) {
  const std::string draft =
      "role: ffn_dense\ngraph: { y: { op: silu, in: x, dim: d_model } }\noutputs: [y]\n";
  const Made made = tiny().plus("components/drafts/novel.yaml", draft);
  const Row rows[] = {
      {kModel, "ffn: mlp", "ffn: mpl", "@"},
      {kModel, "ffn: mlp", "ffn: novel", "@"},
      {kModel, "  ffn: mlp\n", "  ffn: novel\ndrafts: [novel]\n", "@"},
      {kModel, "  ffn: mlp\n", "", "@"},
      {kModel, "attention: mix", "attention: mlp", "@"},
      {kModel, "block: layer", "block: mlp", "@"},
      {kLayer, "mlp:       { slot: ffn, in: first }", "mlp:       { slot: ffn, in: [first, hidden] }", "@"},
      {kLayer, "mlp:       { slot: ffn, in: first }", "mlp:       { component: layer, in: first }", "@"},
      {kLayer, "{ slot: ffn, in: first }", "{ slot: ffn, in: first, copies: 0 }", "@"},
      {kLayer, "{ slot: ffn, in: first }", "{ slot: ffn, in: first, copies: n_heads / 4 }", "@"},
      {kLayer, "{ slot: ffn, in: first }", "{ slot: ffn, in: first, copies: 2000000 }", "@"},
      {kLayer, "{ slot: ffn, in: first }", "{ slot: ffn, in: first, copies: 4, split: heads }", "@"},
      {kMix, "cache:", "decode_variant: mix_fast\ncache:", "@"},
      {kMix, "cache:", "decode_variant: mlp\ncache:", "@"},
      {kMix, "cache:", "reads: [hidden]\ncache:", "@"},
  };
  check(rows, made);
}

TEST(GraphErrors, Stacks) {
  const Row rows[] = {
      {kModel, "repeat: n_layers", "repeat: n_layer", "@"},
      {kModel, "repeat: n_layers", "repeat: n_layers - 4", "@"},
      {kModel, "repeat: n_layers", "repeat: n_layers / 2", "@"},
      {kModel, "repeat: n_layers", "repeat: 10^9", "@"},
      {kModel, "repeat: n_layers", "repeat: 0", "ok"},
      {kModel, "    inputs: [embed]\n", "", "@"},
      {kModel, "inputs: [embed]", "inputs: [embd]", "@"},
      {kModel, "hidden: { carries: true }",
       "hidden: { carries: true }, kept: { from: hidden, after: [1], read: concat }", "@"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    block: blok\n", "@"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ count: 2, ffn: mlp }]\n", "@"},
      {kModel, "inputs: [embed]\n",
       "inputs: [embed]\n    layers: [{ count: 1/2, ffn: mlp }, { rest: true, ffn: mlp }]\n", "@"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ rest: true, fnn: mlp }]\n", "@"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ config: kinds, equals: a, ffn: mlp }]\n",
       "@"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ config: heads, equals: a, ffn: mlp }]\n",
       "@"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ where: layers % 2 == 0, ffn: mlp }]\n",
       "@"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    first_index: 0 - 1\n", "@"},
      {kModel, "- { name: norm, op", "- { name: embed, op", "@"},
      {kModel, "- { name: norm, op: rmsnorm, in: layers, dim: d_model }",
       "- { name: norm, op: slice, in: layers, dims: { in: d_model, out: d_model } }", "@"},
  };
  check(rows);
  const Made listed = tiny()
                          .with("config", "\"layers\": 3", "\"layers\": 3, \"kinds\": [\"a\", \"b\"]")
                          .with(kModel, "inputs: [embed]\n",
                                "inputs: [embed]\n    layers: [{ config: kinds, equals: a, ffn: mlp }]\n");
  EXPECT_EQ(outcome(listed), "@");
  EXPECT_EQ(outcome(listed.with("config", "[\"a\", \"b\"]", "[\"a\", \"b\", \"a\"]")), "@");
  EXPECT_EQ(outcome(listed.with("config", "[\"a\", \"b\"]", "[\"a\", \"a\", \"a\"]")), "ok");
}

}  // namespace
}  // namespace archlight::testing
