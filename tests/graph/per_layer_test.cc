// Dims with a value of their own in each layer: where the values come from, which groups they make, how their symbols
// are named, and what is said where a value is missing.
#include <gtest/gtest.h>

#include "graph/tree.h"
#include "support/made_up.h"

namespace archlight::testing {
namespace {

const char* const kModel = "models/tiny.yaml";
const char* const kMlp = "components/library/mlp.yaml";

// Six layers of the made-up model with these keys of its stack and of its config.
Made with_layers(const std::string& keys, const std::string& config) {
  return tiny()
      .with("config", "\"layers\": 3", "\"layers\": 6, " + config)
      .with(kModel, "inputs: [embed]\n", "inputs: [embed]\n    " + keys + "\n");
}

// "[0 2]*n_layers_x d_ff=16": each group's label, layers, count and dims; then each derived symbol.
std::string groups_of(const Made& made) {
  const base::Result<Bound> bound = made.bind();
  if (!bound) return messages(bound.faults());
  const base::Result<graph::SpecTree> tree =
      graph::build_tree(*bound->library, *bound->binding, graph::Phase::kPrefill);
  if (!tree) return messages(tree.faults());
  std::string text;
  for (const graph::Group& group : tree->groups) {
    text += group.label + "[" + graph::layers_text(group.layers) + "]*" + group.count.text();
    for (const spec::BoundDim& dim : group.dims) text += " " + dim.name + "=" + expr::to_string(dim.value);
    text += "\n";
  }
  for (const graph::Derived& derived : tree->derived)
    text += derived.name + " = " + expr::to_string(derived.value) + ": " + derived.origin + "\n";
  return text;
}

TEST(PerLayer, EqualValuesShareAGroup) {
  EXPECT_EQ(
      groups_of(with_layers("per_layer: { d_ff: config.widths }", "\"widths\": [16, 32, 16, 32, 16, 16]")),
      "d_ff_16[0, 2, 4, 5]*n_layers_d_ff_16 d_ff=16\n"
      "d_ff_32[1, 3]*n_layers_d_ff_32 d_ff=32\n"
      "d_ff_1 = 16: config.widths, layers 0, 2, 4, 5 of stack 'layers'\n"
      "d_ff_2 = 32: config.widths, layers 1, 3 of stack 'layers'\n"
      "n_layers_d_ff_16 = 4: layers 0, 2, 4, 5 of stack 'layers', which agree in their per-layer dims\n"
      "n_layers_d_ff_32 = 2: layers 1, 3 of stack 'layers', which agree in their per-layer dims\n");
  // One value for all layers, said once or six times, makes one group.
  for (const char* widths : {"\"widths\": 16", "\"widths\": [16, 16, 16, 16, 16, 16]"})
    EXPECT_EQ(groups_of(with_layers("per_layer: { d_ff: config.widths }", widths)),
              "[0-5]*n_layers d_ff=16\n"
              "d_ff_layers = 16: config.widths, layers 0-5 of stack 'layers'\n");
}

// A list of objects, a null among them; a formula over what it gives and over `layer`.
TEST(PerLayer, ItemPathsAndFormulas) {
  const Made made = with_layers(
      "per_layer: { mult: { config: config.blocks.ffn.mult, default: 1/2, source: s }, d_ff: 16 * mult, odd: "
      "layer % "
      "2 }",
      R"("blocks": [{"ffn": {"mult": 2.5}}, {"ffn": {"mult": null}}, {"ffn": {"mult": 2.5}}, {"ffn": {}},
                    {"ffn": {"mult": 0.5}}, {"ffn": {"mult": 0.5}}])");
  EXPECT_EQ(
      groups_of(made),
      "mult_5_2_odd_0[0, 2]*n_layers_mult_5_2_odd_0 mult=5/2 d_ff=40 odd=0\n"
      "mult_1_2_odd_1[1, 3, 5]*n_layers_mult_1_2_odd_1 mult=1/2 d_ff=8 odd=1\n"
      "mult_1_2_odd_0[4]*n_layers_mult_1_2_odd_0 mult=1/2 d_ff=8 odd=0\n"
      "mult_1 = 5/2: config.blocks, layers 0, 2 of stack 'layers'\n"
      "odd_1 = 0: layer % 2, layers 0, 2, 4 of stack 'layers'\n"
      "mult_2 = 1/2: 1/2, since config.blocks.ffn.mult is absent: s, layers 1, 3-5 of stack 'layers'\n"
      "odd_2 = 1: layer % 2, layers 1, 3, 5 of stack 'layers'\n"
      "n_layers_mult_5_2_odd_0 = 2: layers 0, 2 of stack 'layers', which agree in their per-layer dims\n"
      "n_layers_mult_1_2_odd_1 = 3: layers 1, 3, 5 of stack 'layers', which agree in their per-layer dims\n"
      "n_layers_mult_1_2_odd_0 = 1: layers 4 of stack 'layers', which agree in their per-layer dims\n");
}

// Rules see the stack's values, and add their own.
TEST(PerLayer, InRules) {
  const Made relu =
      with_layers(
          "layers: [{ where: plain, ffn: relu }, { rest: true, ffn: mlp, per_layer: { d_ff: "
          "config.widths } }]\n    per_layer: { plain: { config: config.kinds, is: p } }",
          "\"kinds\": [\"p\", \"q\", \"p\", \"q\", \"q\", \"q\"], "
          "\"widths\": [0, 16, 0, 16, 16, 32]")
          .plus("components/library/relu.yaml",
                "role: ffn_dense\ngraph: { y: { op: silu, in: x, dim: d_model } }\noutputs: [y]\n");
  EXPECT_EQ(
      groups_of(relu),
      "relu[0, 2]*n_layers_relu plain=1\n"
      "mlp_d_ff_16[1, 3, 4]*n_layers_mlp_d_ff_16 plain=0 d_ff=16\n"
      "mlp_d_ff_32[5]*n_layers_mlp_d_ff_32 plain=0 d_ff=32\n"
      "plain_1 = 1: config.kinds, layers 0, 2 of stack 'layers'\n"
      "plain_2 = 0: config.kinds, layers 1, 3-5 of stack 'layers'\n"
      "d_ff_1 = 16: config.widths, layers 1, 3, 4 of stack 'layers'\n"
      "d_ff_2 = 32: config.widths, layers 5 of stack 'layers'\n"
      "n_layers_relu = 2: layers of stack 'layers' that follow its rule 1\n"
      "n_layers_mlp_d_ff_16 = 3: layers 1, 3, 4 of stack 'layers', which agree in their per-layer dims\n"
      "n_layers_mlp_d_ff_32 = 1: layers 5 of stack 'layers', which agree in their per-layer dims\n");
}

// A condition inside a component follows the layer's own value.
TEST(PerLayer, Conditions) {
  const Made made = with_layers("per_layer: { gated: config.gated }", "\"gated\": [true, false, 1, 0, 0, 0]")
                        .with(kMlp, "act:   { op: silu, in: gate, dim: d_ff }",
                              "act:   { op: silu, in: gate, dim: d_ff, when: gated }");
  const base::Result<Bound> bound = made.bind();
  ASSERT_TRUE(bound.ok()) << messages(bound.faults());
  const base::Result<graph::SpecTree> tree =
      graph::build_tree(*bound->library, *bound->binding, graph::Phase::kPrefill);
  ASSERT_TRUE(tree.ok()) << messages(tree.faults());
  std::string found;
  for (const graph::Node& node : tree->nodes)
    if (node.name == "act") found += graph::layers_text(tree->groups[node.group].layers) + ";";
  EXPECT_EQ(found, "0, 2;");
}

TEST(PerLayer, Faults) {
  const struct {
    const char* keys;
    const char* config;
    const char* message;
  } rows[] = {
      {"per_layer: { d_ff: config.widths }", "\"x\": 0",
       "specs/models/tiny.yaml:18:18: config.json has no 'widths' for layer 0, which dim 'd_ff' reads; "
       "expected a "
       "value, or a list with one entry per layer; state a default if an absent one means a value"},
      {"per_layer: { d_ff: config.widths }", "\"widths\": [16, 16]",
       "specs/models/tiny.yaml:18:18: config.widths has 2 entries for 6 layers; expected one entry per "
       "layer"},
      {"per_layer: { d_ff: config.widths }", "\"widths\": [16, 16, \"wide\", 16, 16, 16]",
       "specs/models/tiny.yaml:18:18: config.widths[2] is \"wide\", which dim 'd_ff' reads; expected a "
       "number"},
      {"per_layer: { d_ff: config.widths }", "\"widths\": [16, 16, [16], 16, 16, 16]",
       "specs/models/tiny.yaml:18:18: config.widths[2] is [16], which dim 'd_ff' reads; expected a number"},
      {"per_layer: { d_ff: config.widths }", "\"widths\": [16, 16, null, 16, 16, 16]",
       "specs/models/tiny.yaml:18:18: config.json has no 'widths' for layer 2, which dim 'd_ff' reads; "
       "expected a "
       "value, or a list with one entry per layer; state a default if an absent one means a value"},
      {"per_layer: { d_ff: 2 * d_mdel }", "\"x\": 0",
       "specs/models/tiny.yaml:18:24: dim 'd_ff' of layer 0 cannot be evaluated: 'd_mdel' is not known here; "
       "expected dims, config keys, `layer` and per-layer dims above it; did you mean 'd_model'?"},
      {"per_layer: { n_heads: config.counts }", "\"counts\": [2, 2, 0, 2, 2, 0]",
       "specs/models/tiny.yaml:18:18: dim 'n_heads' is 0 (config.counts[2]); expected a whole number, at "
       "least 1"},
      {"per_layer: { d_ff: { config: config.widths, default: 16 } }", "\"x\": 0",
       "specs/models/tiny.yaml:18:18: the default of dim 'd_ff' has no source; expected source: where "
       "upstream says "
       "so; name the file and line that sets it"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(groups_of(with_layers(row.keys, row.config)), row.message) << row.keys;
}

}  // namespace
}  // namespace archlight::testing
