// How a spec expands: schedules, conditions, calls in calls, decode variants.
#include <gtest/gtest.h>

#include "graph/tree.h"
#include "support/made_up.h"

namespace archlight::testing {
namespace {

const char* const kModel = "models/tiny.yaml";
const char* const kLayer = "components/library/layer.yaml";
const char* const kMix = "components/library/mix.yaml";
const char* const kMlp = "components/library/mlp.yaml";

struct Expanded {
  Bound bound;
  graph::SpecTree tree;
};

base::Result<Expanded> expand(const Made& made, graph::Phase phase = graph::Phase::kPrefill) {
  base::Result<Bound> bound = made.bind();
  if (!bound) return bound.faults();
  base::Result<graph::SpecTree> tree = graph::build_tree(*bound->library, *bound->binding, phase);
  if (!tree) return tree.faults();
  return Expanded{*bound, std::move(*tree)};
}

// "relu[0 2]*n | mlp[1]*n_layers_mlp": each group's label, its layers and its count.
std::string groups_of(const Made& made) {
  const base::Result<Expanded> out = expand(made);
  if (!out) return messages(out.faults());
  std::string text;
  for (const graph::Group& group : out->tree.groups) {
    text += (text.empty() ? "" : " | ") + group.label + "[";
    for (size_t i = 0; i < group.layers.size(); ++i) text += (i ? " " : "") + std::to_string(group.layers[i]);
    text += "]*" + group.count.text();
  }
  return text;
}

Made scheduled(const std::string& rules, const std::string& config = "") {
  Made made = tiny().plus("components/library/relu.yaml",
                          "role: ffn_dense\ngraph: { y: { op: silu, in: x, dim: d_model } }\noutputs: [y]\n");
  made = made.with("config", "\"layers\": 3", "\"layers\": 6" + config);
  return made.with(kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: " + rules + "\n");
}

TEST(Schedules, EveryKindOfRule) {
  EXPECT_EQ(groups_of(tiny()), "[0 1 2]*n_layers");
  EXPECT_EQ(groups_of(scheduled("[{ count: 2, ffn: mlp }, { rest: true, ffn: relu }]")),
            "mlp[0 1]*2 | relu[2 3 4 5]*n_layers - (2)");
  EXPECT_EQ(groups_of(scheduled(
                "[{ count: n_heads, ffn: mlp }, { count: 1, ffn: relu }, { rest: true, ffn: mlp }]")),
            "mlp[0 1 3 4 5]*n_layers_mlp | relu[2]*1");
  EXPECT_EQ(groups_of(scheduled("[{ where: layer % 3 == 1, ffn: relu }, { rest: true, ffn: mlp }]")),
            "mlp[0 2 3 5]*n_layers_mlp | relu[1 4]*n_layers_relu");
  EXPECT_EQ(groups_of(scheduled("[{ listed: config.plain, ffn: relu }, { rest: true, ffn: mlp }]",
                                ", \"plain\": [5, 0]")),
            "relu[0 5]*n_layers_relu | mlp[1 2 3 4]*n_layers_mlp");
  EXPECT_EQ(
      groups_of(scheduled("[{ config: kinds, equals: a, ffn: relu }, { config: kinds, equals: b, ffn: mlp }]",
                          ", \"kinds\": [\"a\", \"b\", \"a\", \"b\", \"b\", \"b\"]")),
      "a[0 2]*n_layers_a | b[1 3 4 5]*n_layers_b");
  EXPECT_EQ(groups_of(scheduled("[{ config: kinds, equals: 4, ffn: relu }, { rest: true, ffn: mlp }]",
                                ", \"kinds\": [4, 0, 4, 0, 0, 0]")),
            "relu[0 2]*n_layers_relu | mlp[1 3 4 5]*n_layers_mlp");
}

TEST(Schedules, EdgeCases) {
  // An absent list of special layers lists none; what a listed layer names beyond the stack is no layer of
  // it.
  EXPECT_EQ(groups_of(scheduled("[{ listed: plain, ffn: relu }, { rest: true, ffn: mlp }]")),
            "mlp[0 1 2 3 4 5]*n_layers");
  EXPECT_EQ(groups_of(scheduled("[{ listed: plain, ffn: relu }, { rest: true, ffn: mlp }]",
                                ", \"plain\": [6, -1]")),
            "mlp[0 1 2 3 4 5]*n_layers");
  // The first rule that fits wins.
  EXPECT_EQ(
      groups_of(scheduled(
          "[{ where: layer < 4, ffn: relu }, { where: layer < 5, ffn: mlp }, { rest: true, ffn: relu }]")),
      "relu[0 1 2 3 5]*n_layers_relu | mlp[4]*n_layers_mlp");
  // A count past the end takes what there is.
  EXPECT_EQ(groups_of(scheduled("[{ count: 9, ffn: relu }, { rest: true, ffn: mlp }]")),
            "relu[0 1 2 3 4 5]*n_layers_relu");
  EXPECT_EQ(groups_of(scheduled("[{ count: 0, ffn: relu }, { rest: true, ffn: mlp }]")),
            "mlp[0 1 2 3 4 5]*n_layers - (0)");
}

TEST(Schedules, ProgramCountsEveryLayerOnce) {
  const base::Result<Expanded> out =
      expand(scheduled("[{ where: layer % 2 == 0, ffn: relu }, { rest: true, ffn: mlp }]"));
  ASSERT_TRUE(out.ok()) << messages(out.faults());
  size_t layers = 0, single = 0;
  for (const graph::Step& step : out->tree.program)
    step.group >= 0 ? layers += out->tree.groups[step.group].layers.size() : ++single;
  EXPECT_EQ(layers, 6u);
  EXPECT_EQ(single, 3u);  // embed, norm, head
}

std::string nodes_of(const Made& made, graph::Phase phase = graph::Phase::kPrefill) {
  const base::Result<Expanded> out = expand(made, phase);
  if (!out) return messages(out.faults());
  std::string text;
  for (const graph::Node& node : out->tree.nodes) {
    text += (text.empty() ? "" : " ") + node.name + "(";
    for (size_t i = 0; i < node.in.size(); ++i) text += (i ? "," : "") + out->tree.nodes[node.in[i]].name;
    text += ")";
  }
  return text;
}

const Made small() {
  Made made = tiny().with(
      kLayer,
      "  self_attn: { slot: attention, in: hidden }\n  first:     { op: add, in: [hidden, self_attn] }\n",
      "  first: { op: silu, in: hidden, dim: d_model }\n");
  return made
      .plus(kMlp,
            "role: ffn_dense\ngraph:\n  a: { op: linear, in: x, dims: { in: d_model, out: d_model } }\n  b: "
            "{ op: rmsnorm, in: a, dim: d_model, when: normed }\n"
            "  c: { op: linear, in: b, dims: { in: d_model, out: d_model }, when: wide }\n  d: { op: add, "
            "in: ['c | b', 'extra?'] }\n  extra2: { op: silu, in: d, dim: d_model }\noutputs: [extra2]\n")
      .with(kMlp, "  d: {",
            "  extra: { op: linear, in: x, dims: { in: d_model, out: d_model }, when: n_heads > 4 }\n  d: {")
      .with(kModel, "d_model: config.hidden\n",
            "d_model: config.hidden\n  normed: { config: norm, default: 0, source: s }\n  wide: { config: "
            "wide, is: yes }\n");
}

TEST(Conditions, WhatIsLeftOut) {
  // A preserving op that is left out hands its operand on; an optional operand that is left out drops the
  // addition.
  EXPECT_EQ(nodes_of(small()),
            "embed() first(embed) a(first) extra2(a) second(first,extra2) norm(second) head(norm)");
  EXPECT_EQ(nodes_of(small().with("config", "\"layers\"", "\"norm\": true, \"layers\"")),
            "embed() first(embed) a(first) b(a) extra2(b) second(first,extra2) norm(second) head(norm)");
  EXPECT_EQ(nodes_of(small().with("config", "\"layers\"", "\"wide\": \"yes\", \"layers\"")),
            "embed() first(embed) a(first) c(a) extra2(c) second(first,extra2) norm(second) head(norm)");
  EXPECT_EQ(nodes_of(small().with("config", "\"heads\": 2", "\"heads\": 6")),
            "embed() first(embed) a(first) extra(first) d(a,extra) extra2(d) second(first,extra2) "
            "norm(second) head(norm)");
}

TEST(Calls, PathsAndRoles) {
  const Made made = tiny()
                        .plus("components/library/pair.yaml",
                              "role: ffn_dense\ngraph:\n  left: { component: mlp, in: x, copies: 4, role: "
                              "expert, dims: { d_ff: 2 * d_ff } }\n"
                              "  right: { component: mlp, in: left, path: other }\noutputs: [right]\n")
                        .with(kModel, "ffn: mlp", "ffn: pair");
  const base::Result<Expanded> out = expand(made);
  ASSERT_TRUE(out.ok()) << messages(out.faults());
  std::map<std::string, std::string> roles;
  for (const graph::Node& node : out->tree.nodes) roles[node.path] = node.role;
  EXPECT_EQ(roles.at("layers.*.mlp.left.*.gate"), "expert");
  EXPECT_EQ(roles.at("layers.*.mlp.other.gate"), "ffn_dense");
  EXPECT_EQ(roles.at("layers.*.self_attn.q_proj"), "attention");
  EXPECT_EQ(roles.at("head"), "");
  const graph::Node* gate = nullptr;
  for (const graph::Node& node : out->tree.nodes)
    if (node.path == "layers.*.mlp.left.*.gate") gate = &node;
  ASSERT_TRUE(gate);
  std::string names;
  for (int call : out->tree.calls_around(static_cast<graph::NodeId>(gate - out->tree.nodes.data())))
    names += out->tree.calls[call].name + " ";
  EXPECT_EQ(names, "left mlp layers ");
}

// Decode walks the variant in its base's place, and the weights keep the base's paths.
TEST(Calls, DecodeVariant) {
  const Made made =
      tiny()
          .with(kMix, "role: attention\n", "role: attention\ndecode_variant: quick\n")
          .plus("components/library/quick.yaml",
                "role: expert\nvariant_of: mix\ngraph:\n  folded: { op: linear, in: x, weight_of: o_proj, "
                "dims: { in: d_model, out: d_model } }\noutputs: [folded]\n");
  EXPECT_EQ(nodes_of(made).find("folded"), std::string::npos);
  const base::Result<Expanded> out = expand(made, graph::Phase::kDecode);
  ASSERT_TRUE(out.ok()) << messages(out.faults());
  for (const graph::Node& node : out->tree.nodes) {
    EXPECT_NE(node.name, "q_proj");
    if (node.name == "folded") {
      EXPECT_EQ(node.weight_path, "layers.*.self_attn.o_proj");
      EXPECT_EQ(node.role, "attention");
    }
  }
}

}  // namespace
}  // namespace archlight::testing
