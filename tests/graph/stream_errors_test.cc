// Streams that are declared, published or read wrongly: each message in full, with the right form in it.
#include <gtest/gtest.h>

#include "graph/expanded.h"

namespace archlight::testing {
namespace {

const char* const kModel = "models/tiny.yaml";
const char* const kGive = "components/library/give.yaml";
const char* const kTake = "components/library/take.yaml";
const char* const kLayer = "components/library/layer.yaml";

// Layer 0 publishes what layers 1 and 2 read.
Made given() {
  return tiny()
      .with(
          kModel, "streams: { hidden: { carries: true } }",
          "streams:\n      hidden: { carries: true }\n      value: { shape: [B, s_query, d_model], src: s }\n"
          "    layers:\n      - { count: 1, attention: give }\n      - { rest: true, attention: take }")
      .plus(kGive,
            "role: attention\ngraph: { y: { op: linear, in: x, dims: { in: d_model, out: d_model } } }\n"
            "outputs: [y]\nstream_out: { value: y }\n")
      .plus(kTake,
            "role: attention\nreads: [value]\ngraph: { y: { op: mul, in: [x, value] } }\noutputs: [y]\n");
}

TEST(StreamErrors, Internal) {
  const Bend rows[] = {
      // undeclared, at either end
      {kTake, "reads: [value]\ngraph: { y: { op: mul, in: [x, value] } }",
       "reads: [vale]\ngraph: { y: { op: mul, in: [x, vale] } }",
       "specs/components/library/take.yaml:2:8: component 'take' reads stream 'vale', which stack 'layers' "
       "does not "
       "declare; expected one of hidden, value; did you mean 'value'?"},
      {kModel, "      value: { shape: [B, s_query, d_model], src: s }\n", "",
       "specs/components/library/give.yaml:4:15: component 'give' publishes stream 'value', which stack "
       "'layers' does "
       "not declare; expected a stream of the stack: value: {shape: [...], src: TEXT}"},
      // no value before its reader, none at all, none that reads
      {kModel, "{ count: 1, attention: give }", "{ where: layer == 1, attention: give }",
       "specs/components/library/take.yaml:2:8: component 'take' reads stream 'value' of stack 'layers' in "
       "layer 0, "
       "before any layer publishes it; expected an earlier layer whose component has stream_out: {value: "
       "NODE}"},
      {kModel, "{ count: 1, attention: give }", "{ count: 3, attention: give }",
       "specs/models/tiny.yaml:20:7: stream 'value' of stack 'layers' is never read; expected a component of "
       "a later "
       "layer with reads: [value]; say when: FORMULA where some configs have no such stream"},
      {kModel, "{ rest: true, attention: take }", "{ rest: true, attention: give }",
       "specs/models/tiny.yaml:20:7: stream 'value' of stack 'layers' is never read; expected a component of "
       "a later "
       "layer with reads: [value]; say when: FORMULA where some configs have no such stream"},
      {kGive, "stream_out: { value: y }\n", "",
       "specs/components/library/take.yaml:2:8: component 'take' reads stream 'value' of stack 'layers' in "
       "layer 1, "
       "before any layer publishes it; expected an earlier layer whose component has stream_out: {value: "
       "NODE}"},
      // two in one layer
      {kLayer, "{ slot: ffn, in: first }", "{ slot: attention, in: first }",
       "specs/components/library/give.yaml:4:15: component 'give' publishes stream 'value' of stack "
       "'layers', as "
       "another of the same layer does; expected one publisher in a layer"},
      // what is published or read
      {kGive, "stream_out: { value: y }", "stream_out: { value: yy }",
       "specs/components/library/give.yaml:4:15: component 'give' publishes 'yy', which it does not compute; "
       "expected "
       "a node of its graph; did you mean 'y'?"},
      {kGive, "stream_out: { value: y }", "stream_out: { hidden: y }",
       "specs/components/library/give.yaml:4:15: component 'give' publishes stream 'hidden' of stack "
       "'layers', which "
       "carries; expected a block whose input has that name, to carry it further"},
      {kTake, "in: [x, value]", "in: [x, x]",
       "specs/components/library/take.yaml:2:8: component 'take' reads stream 'value', and no node of it has "
       "it as "
       "operand; expected in: value at one of its nodes"},
      {kTake, "graph: { y:", "inputs: [value]\ngraph: { y:",
       "specs/components/library/take.yaml:2:8: component 'take' has an input and a stream named 'value'; "
       "expected a "
       "name of its own"},
      {kTake, "graph: { y:", "graph: { value: { op: silu, in: x, dim: d_model }, y:",
       "specs/components/library/take.yaml:3:10: node 'value' has the name of a stream that is read; "
       "expected a name "
       "of its own"},
      {kModel, "shape: [B, s_query, d_model]", "when: n_heads == 2, shape: [B, s_query, d_model]", "ok"},
      {kModel, "shape: [B, s_query, d_model]", "when: n_heads == 3, shape: [B, s_query, d_model]",
       "specs/components/library/take.yaml:3:32: node 'y' reads stream 'value', which its condition leaves "
       "out; "
       "expected a value; mark the operand optional with '?', give an alternative with 'a | b', or let a "
       "layer rule "
       "choose which layers read"},
      // names
      {kModel, "      value: { shape: [B, s_query, d_model], src: s }\n",
       "      value: { shape: [B, s_query, d_model], src: s }\n      other: {}\n",
       "specs/models/tiny.yaml:21:7: stream 'other' of stack 'layers' has no origin, and no stack above "
       "declares it; "
       "expected {carries: true}; {shape: [...], src: TEXT} where components publish it; {from: NAME, after: "
       "LAYERS, "
       "read: MODE, src: TEXT}; or the name of an earlier stack's stream"},
      {kModel, "  - { name: norm, op: rmsnorm, in: layers, dim: d_model }",
       "  - { name: value, op: rmsnorm, in: layers, dim: d_model }\n  - { name: norm, op: rmsnorm, in: "
       "layers, dim: "
       "d_model }",
       "specs/models/tiny.yaml:24:13: an entry of 'model' and a stream are named 'value'; expected a name of "
       "its own"},
      {kModel, "  - { name: norm, op",
       "  - { name: more, repeat: 2, inputs: [layers], block: layer, streams: { hidden: { carries: true }, "
       "value: { "
       "shape: [B], src: s } } }\n  - { name: norm, op",
       "specs/models/tiny.yaml:24:100: stream 'value' is declared by stack 'layers' and again by stack "
       "'more'; "
       "expected one declaration; value: {} goes on with the earlier stack's"},
      {kModel, "  - { name: norm, op",
       "  - { name: more, repeat: 2, path: more, inputs: [layers], block: layer, layers: [{ rest: true, "
       "attention: "
       "take }], streams: { hidden: { carries: true }, value: { read: all } } }\n  - { name: norm, op",
       "specs/models/tiny.yaml:24:155: stream 'value' of stack 'layers' has one value and no elements to "
       "read all; "
       "expected value: {}, which goes on with its last value"},
      {kModel, "  - { name: norm, op",
       "  - { name: more, repeat: 2, path: more, inputs: [layers], block: layer, layers: [{ rest: true, "
       "attention: "
       "take }], streams: { hidden: { carries: true }, value: {} } }\n  - { name: norm, op",
       "ok"},
      // behind the stack it has its last value
      {kModel, "op: rmsnorm, in: layers, dim", "op: rmsnorm, in: value, dim", "ok"},
  };
  check(rows, given());
  EXPECT_EQ(
      outcome(given().with(kModel, "op: rmsnorm, in: layers, dim: d_model", "component: give, in: layers")),
      "specs/components/library/give.yaml:4:15: component 'give' publishes stream 'value' outside a stack; "
      "expected a component of a stack's layers");
  EXPECT_EQ(
      outcome(given().with(kModel, "op: rmsnorm, in: layers, dim: d_model", "component: take, in: layers")),
      "ok");
}

// Every layer's output is kept, and read as one behind the stack.
Made kept() {
  return tiny()
      .with(kModel, "streams: { hidden: { carries: true } }",
            "streams:\n      hidden: { carries: true }\n      kept: { from: hidden, after: every, read: "
            "concat, src: s }")
      .with(kModel, "  - { name: norm, op",
            "  - { name: fc, op: linear, in: kept, dims: { in: n_kept * d_model, out: d_model } }\n  - { "
            "name: norm, op")
      .with(kModel, "rmsnorm, in: layers", "rmsnorm, in: fc");
}

TEST(StreamErrors, Appended) {
  const Bend rows[] = {
      {kModel, "after: every", "after: [0, 1, 2]", "ok"},
      {kModel, "after: every", "after: { every: 2 }", "ok"},
      {kModel, "after: every", "before: every", "ok"},
      {kModel, "from: hidden", "from: out", "ok"},
      {kModel, "from: hidden", "from: self_attn", "ok"},
      {kModel, "after: every", "after: [1, 3]",
       "specs/models/tiny.yaml:20:7: stream 'kept' of stack 'layers' takes layer 3; expected layers from 0 "
       "to 2, each "
       "once and in order"},
      {kModel, "after: every", "after: [1, 1]",
       "specs/models/tiny.yaml:20:7: stream 'kept' of stack 'layers' takes layer 1; expected layers from 0 "
       "to 2, each "
       "once and in order"},
      {kModel, "after: every", "after: [0 - 2]",
       "specs/models/tiny.yaml:20:7: stream 'kept' of stack 'layers' takes layer -2; expected layers from 0 "
       "to 2, each "
       "once and in order"},
      {kModel, "after: every", "after: { every: 0 }",
       "specs/models/tiny.yaml:20:45: stream 'kept' of stack 'layers' takes every 0 layers; expected a whole "
       "number, "
       "at least 1"},
      {kModel, "after: every", "after: { every: n_laers }",
       "specs/models/tiny.yaml:20:45: 'n_laers' has no value here: 'n_laers' is not known here; expected "
       "dims that "
       "model 'tiny' binds; did you mean 'n_layers'?"},
      {kModel, "after: every", "after: config.chosen",
       "specs/models/tiny.yaml:20:7: config.json has no list 'chosen', which stream 'kept' of stack 'layers' "
       "reads; "
       "expected a list of layers; say when: FORMULA where some configs have no such stream"},
      {kModel, "from: hidden", "from: heads",
       "specs/models/tiny.yaml:20:7: stream 'kept' of stack 'layers' takes 'heads', which layer 0 does not "
       "compute; "
       "expected a carried stream, out, or a node of the block"},
      {kModel, "from: hidden, after", "from: out, before",
       "specs/models/tiny.yaml:20:7: stream 'kept' of stack 'layers' takes 'out' before layers, where only "
       "what is "
       "carried is there; expected from: one of the stack's carried streams, or after:"},
      {kModel, "read: concat, src", "src",
       "specs/models/tiny.yaml:21:33: node 'fc' reads stream 'kept' of stack 'layers', which does not say "
       "how; "
       "expected read: concat or read: all at the stream"},
      {kModel, "read: concat", "read: each",
       "specs/models/tiny.yaml:21:33: node 'fc' reads stream 'kept' of stack 'layers', which is read one by "
       "one; "
       "expected read: concat or read: all at the stream"},
      {kModel, "op: linear, in: kept, dims: { in: n_kept * d_model",
       "op: linear, in: layers, dims: { in: d_model",
       "specs/models/tiny.yaml:20:7: stream 'kept' of stack 'layers' is never read; expected a component "
       "with reads: "
       "[kept], or the name among the inputs of an entry below; say when: FORMULA where some configs have no "
       "such "
       "stream"},
      // what the last layer hands on is no layer's output
      {kModel, "op: linear, in: kept, dims: { in: n_kept * d_model, out: d_model }",
       "op: slice, in: layers, dims: { in: d_model, out: d_model }",
       "specs/models/tiny.yaml:21:13: node 'fc' slices a stack, whose value is its last layer's output; "
       "expected a "
       "node of the model, or a stream of the stack; to read layer i's output, give the stack an append "
       "stream: NAME: "
       "{ from: hidden, after: [i] }"},
      {kModel, "  - { name: norm, op",
       "  - { name: more, repeat: 2, inputs: [fc, kept], streams: { hidden: { carries: true } } }\n  - { "
       "name: norm, op",
       "specs/models/tiny.yaml:22:5: component 'layer' gets 2 inputs; expected 1: hidden"},
  };
  check(rows, kept());
  const Made listed = kept()
                          .with(kModel, "after: every", "after: config.chosen")
                          .with("config", "\"layers\": 3", "\"layers\": 3, \"chosen\": [0, 2]");
  EXPECT_EQ(outcome(listed), "ok");
  EXPECT_EQ(outcome(listed.with("config", "[0, 2]", "[0, \"2\"]")),
            "specs/models/tiny.yaml:20:7: config.chosen lists \"2\"; expected indices of layers");
  EXPECT_EQ(outcome(listed.with("config", "[0, 2]", "[2, 0]")),
            "specs/models/tiny.yaml:20:7: stream 'kept' of stack 'layers' takes layer 0; expected layers "
            "from 0 to 2, "
            "each once and in order");
  EXPECT_EQ(outcome(listed.with("config", "[0, 2]", "[]")),
            "specs/models/tiny.yaml:21:33: node 'fc' reads stream 'kept' of stack 'layers', which holds "
            "nothing yet; "
            "expected a value; mark the operand optional with '?', give an alternative with 'a | b', or let "
            "a layer rule "
            "choose which layers read");
}

// One element for each iteration of a later stack.
TEST(StreamErrors, ByIteration) {
  const Made made =
      kept()
          .with(kModel, "read: concat, src", "src")
          .with(kModel,
                "  - { name: fc, op: linear, in: kept, dims: { in: n_kept * d_model, out: d_model } }\n",
                "  - { name: fc, repeat: 3, inputs: [layers, kept], block: join, streams: { sum: { carries: "
                "true } } }\n")
          .plus("components/library/join.yaml",
                "role: block\ninputs: [sum, x]\ngraph: { y: { op: add, in: [sum, x] } }\noutputs: [y]\n");
  const Bend rows[] = {
      {kModel, "repeat: 3", "repeat: 2",
       "specs/models/tiny.yaml:21:5: stack 'fc' repeats 2 times over the 3 elements of stream 'kept' of "
       "stack "
       "'layers'; expected an iteration for each element; read: concat at the stream makes one input of all "
       "of them"},
      {kModel, "inputs: [layers, kept]", "inputs: [kept, layers]",
       "specs/models/tiny.yaml:21:5: stack 'fc' carries what starts from no single node; expected an input "
       "for each "
       "carried stream; a stream that gives each layer an element stands behind them among the inputs"},
  };
  check(rows, made);
}

// Layers that read their own stack's history.
TEST(StreamErrors, OwnHistory) {
  const Made made = given()
                        .with(kModel, "value: { shape: [B, s_query, d_model], src: s }",
                              "value: { from: hidden, after: [0, 1], read: each, src: s }")
                        .with(kGive, "stream_out: { value: y }\n", "");
  const Bend rows[] = {
      {kModel, "{ count: 1, attention: give }", "{ where: layer == 2, attention: give }",
       "specs/components/library/take.yaml:2:8: component 'take' reads element 0 of stream 'value' of stack "
       "'layers' in "
       "layer 0 of stack 'layers', before it is there; expected a reader behind layer 0; read: all sees what "
       "is there "
       "so far"},
      {kModel, "read: each", "read: concat",
       "specs/components/library/take.yaml:2:8: component 'take' reads the whole of stream 'value' of stack "
       "'layers' "
       "in layer 1 of stack 'layers', before it is there; expected a reader behind layer 1; read: all sees "
       "what is "
       "there so far"},
      {kModel, "read: each, ", "",
       "specs/components/library/take.yaml:2:8: component 'take' reads stream 'value' of stack 'layers', "
       "which does "
       "not say how; expected read: each, read: all or read: concat at the stream"},
      {kModel, "after: [0, 1]", "after: [0, 1, 2]",
       "specs/models/tiny.yaml:20:7: stream 'value' of stack 'layers' has 3 elements, and 2 layers of stack "
       "'layers' "
       "read one each; expected a reading layer for every element"},
      {kModel, "after: [0, 1]", "after: [0]",
       "specs/components/library/take.yaml:3:32: node 'y' reads element 1 of stream 'value' of stack "
       "'layers', which "
       "has 1; expected a value; mark the operand optional with '?', give an alternative with 'a | b', or "
       "let a layer "
       "rule choose which layers read"},
  };
  check(rows, made);
}

TEST(StreamErrors, AppendedCache) {
  const Made made = kept()
                        .with(kModel, "from: hidden", "from: k")
                        .with(kLayer, "role: block\ninputs: [hidden]\ngraph:\n",
                              "role: block\ninputs: [hidden]\ncache: { family: X, entries: [{ node: k, kind: "
                              "state }] }\ngraph:\n  k: { op: "
                              "linear, in: hidden, dims: { in: d_model, out: d_model } }\n");
  EXPECT_EQ(outcome(made),
            "specs/models/tiny.yaml:20:7: stream 'kept' of stack 'layers' appends 'k', which the cache "
            "keeps; expected a "
            "stream that the component publishes: kept: {shape: [...], src: TEXT} and stream_out");
}

}  // namespace
}  // namespace archlight::testing
