// Specs that read well and cannot be expanded: names, roles, slots, schedules, recursion. Each message in
// full.
#include <gtest/gtest.h>

#include "graph/expanded.h"

namespace archlight::testing {
namespace {

const char* const kModel = "models/tiny.yaml";
const char* const kLayer = "components/library/layer.yaml";
const char* const kMix = "components/library/mix.yaml";
const char* const kMlp = "components/library/mlp.yaml";

TEST(GraphErrors, Nodes) {
  const Bend rows[] = {
      {kMlp, "op: silu", "op: sliu",
       "specs/components/library/mlp.yaml:5:16: unknown op 'sliu'; expected an op from the ops table; did "
       "you mean 'silu'?"},
      {kMlp, "in: gate, dim", "in: gated, dim",
       "specs/components/library/mlp.yaml:5:26: node 'act' reads 'gated', which is not defined above it; "
       "expected one of gate, up, x; did you mean 'gate'?"},  // a forward reference, and so a cycle
      {kMlp, "in: gate, dim", "in: act, dim",
       "specs/components/library/mlp.yaml:5:26: node 'act' reads 'act', which is not defined above it; "
       "expected one of gate, up, x"},  // itself
      {kMlp, "in: gate, dim", "in: gat, dim",
       "specs/components/library/mlp.yaml:5:26: node 'act' reads 'gat', which is not defined above it; "
       "expected one of gate, up, x; did you mean 'gate'?"},
      {kMlp, "in: [act, up]", "in: act",
       "specs/components/library/mlp.yaml:6:3: node 'gated' hands 1 operands to op 'mul'; expected 2, as in "
       "broadcast: [*r,dim] [*r,dim] -> [*r,dim]"},
      {kMlp, "in: [act, up]", "in: [act, up, x]",
       "specs/components/library/mlp.yaml:6:3: node 'gated' hands 3 operands to op 'mul'; expected 2, as in "
       "broadcast: [*r,dim] [*r,dim] -> [*r,dim]"},
      {kMlp, "act:   {", "x: {",
       "specs/components/library/mlp.yaml:5:3: node 'x' has the name of an input; expected a name of its "
       "own\nspecs/components/library/mlp.yaml:6:26: node 'gated' reads 'act', which is not defined above "
       "it; expected one of gate, up, x"},
      {kMlp, "outputs: [down]", "outputs: [dwn]",
       "specs/components/library/mlp.yaml:1:1: component 'mlp' hands on 'dwn', which it does not compute; "
       "expected a node of its graph; did you mean 'down'?"},
      {kMlp, "outputs: [down]", "outputs: [down, act]",
       "specs/components/library/mlp.yaml:1:1: component 'mlp' has 2 outputs; expected exactly one"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_ff, role: expertt",
       "specs/components/library/mlp.yaml:5:3: unknown role 'expertt'; expected a role of specs/roles.yaml; "
       "did you mean 'expert'?"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dims: { dimm: d_ff }",
       "specs/components/library/mlp.yaml:5:40: node 'act' binds 'dimm', which op 'silu' does not name; "
       "expected one of dim; did you mean 'dim'?"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_ff, bias: true",
       "specs/components/library/mlp.yaml:5:3: node 'act' has 'bias', yet op 'silu' has no optional "
       "parameter; expected no 'bias' here"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_ff, window: 4",
       "specs/components/library/mlp.yaml:5:3: node 'act' has 'window', yet op 'silu' has no mask; expected "
       "'window' on the attention ops"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_ff, copies: 4",
       "specs/components/library/mlp.yaml:5:3: node 'act' makes copies of an op; expected copies of a "
       "component; put the op into a component, or give it the axis"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_ff, weight_axes: [{ replicated: true }]",
       "specs/components/library/mlp.yaml:5:3: node 'act' says of 1 weight axes how they split; expected "
       "none, since op 'silu' has no weight"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_ff, when: with_act",
       "specs/components/library/mlp.yaml:5:49: 'with_act' has no value here: 'with_act' is not known here; "
       "expected dims that model 'tiny' binds"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_ff, when: s_query > 1",
       "specs/components/library/mlp.yaml:5:49: 's_query > 1' has no value here: 's_query' is not known "
       "here; expected dims that model 'tiny' binds"},
      {kMlp, "{ op: mul, in: [act, up] }",
       "{ op: mul, in: [act, gone] }\n  gone: { op: linear, in: x, when: 0 }",
       "specs/components/library/mlp.yaml:6:31: node 'gated' reads 'gone', which is not defined above it; "
       "expected one of act, gate, up, x"},
      {kMlp, "  act:",
       "  gone: { op: linear, in: x, dims: { in: d_model, out: d_ff }, when: 0 }\n  lost: { op: mul, in: "
       "[gone, up] }\n  act:",
       "specs/components/library/mlp.yaml:6:25: node 'lost' reads 'gone', which its condition leaves out "
       "here; expected a node that exists for this config; give an alternative with 'a | b', or mark it "
       "optional with '?'"},
      {kMix, "node: k, kind", "node: k_rope, kind",
       "specs/components/library/mix.yaml:2:33: the cache keeps 'k_rope', which component 'mix' does not "
       "compute; expected a node of its graph"},
      {kMix, "in: [q, k]", "in: [q, k], weight_of: k_proj",
       "specs/components/library/mix.yaml:10:3: node 'scores' reads the weight of 'k_proj', yet op "
       "'attention_score' has none; expected an op with a weight"},
      {kMix, "in: merged, dims:", "in: merged, weight_of: k_prj, dims:",
       "specs/components/library/mix.yaml:14:3: node 'o_proj' reads the weight of 'k_prj'; expected a node "
       "of component 'mix'"},
      {kModel, "in: norm, dims: { in: d_model, out: n_vocab }",
       "in: norm, dims: { in: d_model, out: n_vocab }, tied_to: embedd",
       "specs/models/tiny.yaml:20:13: node 'head' is tied to 'embedd', which is not defined above it; "
       "expected one of embed, layers, norm; did you mean 'embed'?"},
  };
  check(rows);
}

TEST(GraphErrors, Calls) {
  const std::string draft =
      "role: ffn_dense\ngraph: { y: { op: silu, in: x, dim: d_model } }\noutputs: [y]\n";
  const Made made = tiny().plus("components/drafts/novel.yaml", draft);
  const Bend rows[] = {
      {kModel, "ffn: mlp", "ffn: mpl",
       "specs/models/tiny.yaml:4:8: unknown component 'mpl'; expected a file of specs/components; did you "
       "mean 'mlp'?"},
      {kModel, "ffn: mlp", "ffn: novel",
       "specs/models/tiny.yaml:4:8: component 'novel' is a draft; expected a reviewed component, or its name "
       "under the model's 'drafts'; add drafts: [novel] to the model"},
      {kModel, "dims:\n", "drafts: [novel]\ndims:\n", "ok"},
      {kModel, "  ffn: mlp\n", "",
       "specs/components/library/layer.yaml:6:22: slot 'ffn' is not filled; expected 'ffn' under the model's "
       "components or in the layer rule"},
      {kModel, "attention: mix", "attention: mlp",
       "specs/models/tiny.yaml:3:14: component 'mlp' of role 'ffn_dense' stands in slot 'attention'; "
       "expected a component whose role fills 'attention'"},
      {kModel, "block: layer", "block: mlp",
       "specs/models/tiny.yaml:15:5: stack 'layers' repeats component 'mlp' of role 'ffn_dense'; expected a "
       "component of role block"},
      {kLayer, "mlp:       { slot: ffn, in: first }", "mlp:       { slot: ffn, in: [first, hidden] }",
       "specs/components/library/layer.yaml:6:3: component 'mlp' gets 2 inputs; expected 1: x"},
      {kLayer, "mlp:       { slot: ffn, in: first }", "mlp:       { component: layer, in: first }",
       "specs/components/library/layer.yaml:6:27: component 'layer' calls itself through node 'mlp'; "
       "expected a component that does not contain itself"},
      {kLayer, "{ slot: ffn, in: first }", "{ slot: ffn, in: first, copies: 0 }",
       "specs/components/library/layer.yaml:6:3: node 'mlp' has 0 copies; expected a whole number from 1 to "
       "1,000,000"},
      {kLayer, "{ slot: ffn, in: first }", "{ slot: ffn, in: first, copies: n_heads / 4 }",
       "specs/components/library/layer.yaml:6:3: node 'mlp' has 1/2 copies; expected a whole number from 1 "
       "to 1,000,000"},
      {kLayer, "{ slot: ffn, in: first }", "{ slot: ffn, in: first, copies: 2000000 }",
       "specs/components/library/layer.yaml:6:3: node 'mlp' has 2000000 copies; expected a whole number from "
       "1 to 1,000,000"},
      {kLayer, "{ slot: ffn, in: first }", "{ slot: ffn, in: first, copies: 4, split: heads }",
       "specs/components/library/layer.yaml:6:3: split is 'heads'; expected tokens: each copy gets its share "
       "of the token axis"},
      {kMix, "cache:", "decode_variant: mix_fast\ncache:",
       "decode: specs/components/library/mix.yaml:2:17: unknown component 'mix_fast'; expected a file of "
       "specs/components"},
      {kMix, "cache:", "decode_variant: mlp\ncache:",
       "decode: specs/components/library/mlp.yaml:1:1: component 'mlp' is named as a decode variant of "
       "'mix'; expected variant_of: mix"},
  };
  check(rows, made);
}

TEST(GraphErrors, Stacks) {
  const Bend rows[] = {
      {kModel, "repeat: n_layers", "repeat: n_layer",
       "specs/models/tiny.yaml:16:13: 'n_layer' has no value here: 'n_layer' is not known here; expected "
       "dims that model 'tiny' binds; did you mean 'n_layers'?"},
      {kModel, "repeat: n_layers", "repeat: n_layers - 4",
       "specs/models/tiny.yaml:15:5: stack 'layers' repeats -1 times; expected a whole number from 0 to "
       "2,000"},
      {kModel, "repeat: n_layers", "repeat: n_layers / 2",
       "specs/models/tiny.yaml:15:5: stack 'layers' repeats 3/2 times; expected a whole number from 0 to "
       "2,000"},
      {kModel, "repeat: n_layers", "repeat: 10^9",
       "specs/models/tiny.yaml:15:5: stack 'layers' repeats 1000000000 times; expected a whole number from 0 "
       "to 2,000"},
      {kModel, "repeat: n_layers", "repeat: 0", "ok"},
      {kModel, "    inputs: [embed]\n", "", "ok"},  // the entry above
      {kModel,
       "  - { name: embed, op: embedding, dims: { vocab: n_vocab, dim: d_model } }\n  - name: layers\n    "
       "repeat: "
       "n_layers\n    inputs: [embed]\n",
       "  - name: layers\n    repeat: n_layers\n",
       "specs/models/tiny.yaml:14:5: stack 'layers' has no inputs; expected inputs: [the node that feeds its "
       "first layer]"},
      {kModel, "    streams: { hidden: { carries: true } }\n", "",
       "specs/models/tiny.yaml:15:5: stack 'layers' repeats 3 layers, and nothing passes from one to the "
       "next; "
       "expected streams: {hidden: {carries: true}}"},
      {kModel, "inputs: [embed]", "inputs: [embd]",
       "specs/models/tiny.yaml:17:14: stack 'layers' reads 'embd', which is not defined above it; expected "
       "one of embed; did you mean 'embed'?"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    block: blok\n",
       "specs/models/tiny.yaml:15:5: unknown component 'blok'; expected a file of specs/components"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ count: 2, ffn: mlp }]\n",
       "specs/models/tiny.yaml:15:5: [schedule] no rule of stack 'layers' fits layer 2; expected a rule for "
       "every "
       "layer; end the list with {rest: true, ...}"},
      {kModel, "inputs: [embed]\n",
       "inputs: [embed]\n    layers: [{ count: 1/2, ffn: mlp }, { rest: true, ffn: mlp }]\n",
       "specs/models/tiny.yaml:18:14: [schedule] a layer rule counts 1/2; expected a whole number of layers"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ rest: true, fnn: mlp }]\n",
       "specs/models/tiny.yaml:18:14: a layer rule fills slot 'fnn', which block 'layer' lacks; expected one "
       "of attention, ffn; did you mean 'ffn'?"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ config: kinds, equals: a, ffn: mlp }]\n",
       "specs/models/tiny.yaml:18:14: [schedule] config.json has no list 'kinds'; expected a list with one "
       "entry per "
       "layer"},
      {kModel, "inputs: [embed]\n",
       "inputs: [embed]\n    layers: [{ config: kinds, equals: a, optional: true, ffn: mlp }, { rest: true "
       "}]\n",
       "ok"},
      {kModel, "inputs: [embed]\n",
       "inputs: [embed]\n    layers: [{ config: heads, equals: a, optional: true, ffn: mlp }, { rest: true "
       "}]\n",
       "specs/models/tiny.yaml:18:14: [schedule] config.json has no list 'heads'; expected a list with one "
       "entry per "
       "layer"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ config: heads, equals: a, ffn: mlp }]\n",
       "specs/models/tiny.yaml:18:14: [schedule] config.json has no list 'heads'; expected a list with one "
       "entry per "
       "layer"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ where: layers % 2 == 0, ffn: mlp }]\n",
       "specs/models/tiny.yaml:18:23: 'layers % 2 == 0' has no value here: 'layers' is not known here; "
       "expected dims that model 'tiny' binds; did you mean 'n_layers'?"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    first_index: 0 - 1\n",
       "specs/models/tiny.yaml:18:18: stack 'layers' starts at index -1; expected a whole number from 0 to "
       "1,000,000"},
      {kModel, "- { name: head, op", "- { name: norm, op",
       "specs/models/tiny.yaml:20:13: two entries of 'model' are named 'norm'; expected a name of its own"},
      {kModel, "- { name: norm, op: rmsnorm, in: layers, dim: d_model }",
       "- { name: norm, op: slice, in: layers, dims: { in: d_model, out: d_model } }",
       "specs/models/tiny.yaml:19:13: node 'norm' slices a stack, whose value is its last layer's output; "
       "expected a node of the model, or a stream of the stack; to read layer i's output, give the stack an "
       "append stream: NAME: { from: hidden, after: [i] }"},
  };
  check(rows);
  const Made listed = tiny()
                          .with("config", "\"layers\": 3", "\"layers\": 3, \"kinds\": [\"a\", \"b\"]")
                          .with(kModel, "inputs: [embed]\n",
                                "inputs: [embed]\n    layers: [{ config: kinds, equals: a, ffn: mlp }]\n");
  EXPECT_EQ(outcome(listed),
            "specs/models/tiny.yaml:18:14: [schedule] config.kinds has 2 entries for 3 layers; expected one "
            "entry per layer");
  EXPECT_EQ(outcome(listed.with("config", "[\"a\", \"b\"]", "[\"a\", \"b\", \"a\"]")),
            "specs/models/tiny.yaml:15:5: [schedule] no rule of stack 'layers' fits layer 1; expected a rule "
            "for every "
            "layer; end the list with {rest: true, ...}");
  EXPECT_EQ(outcome(listed.with("config", "[\"a\", \"b\"]", "[\"a\", \"a\", \"a\"]")), "ok");
}

}  // namespace
}  // namespace archlight::testing
