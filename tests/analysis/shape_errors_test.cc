// Tensors that do not fit together: each geometric slip, with its message in full. Parameter counts alone
// would miss most of these.
#include <gtest/gtest.h>

#include "support/bills.h"

namespace archlight::testing {
namespace {

const char* const kModel = "models/tiny.yaml";
const char* const kLayer = "components/library/layer.yaml";
const char* const kMix = "components/library/mix.yaml";
const char* const kMlp = "components/library/mlp.yaml";

void check(std::span<const Bend> rows, const Made& made = tiny()) {
  check_bends(outcome, rows, made);
}

TEST(ShapeErrors, Widths) {
  const Bend rows[] = {
      {kMlp, "gate:  { op: linear, in: x, dims: { in: d_model,",
       "gate:  { op: linear, in: x, dims: { in: d_ff,",
       "specs/components/library/mlp.yaml:3:39: [shape] 'in' of node 'gate' (layers.*.mlp.gate) is 16; "
       "expected 8, the axis of 'first' [1, 4096, 8]"},
      {kMlp, "up:    { op: linear, in: x, dims: { in: d_model, out: d_ff }",
       "up:    { op: linear, in: x, dims: { in: d_model, out: d_model }",
       "specs/components/library/mlp.yaml:6:3: [shape] 'dim' of node 'gated' (layers.*.mlp.gated) is 16; "
       "expected 8, the axis of 'up' [1, 4096, 8]"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_model",
       "specs/components/library/mlp.yaml:5:37: [shape] 'dim' of node 'act' (layers.*.mlp.act) is 8; "
       "expected 16, the axis of 'gate' [1, 4096, 16]"},
      {kMlp, "out: d_model }", "out: d_ff }",
       "specs/components/library/layer.yaml:7:3: [shape] 'dim' of node 'second' (layers.*.second) is 8; "
       "expected 16, the axis of 'down' [1, 4096, 16]"},  // down
      {kMlp, "up:    { op: linear, in: x, dims: { in: d_model, out: d_ff }",
       "up:    { op: linear, in: x, dims: { in: d_model }",
       "specs/components/library/mlp.yaml:4:3: [analysis] an output axis of node 'up' (layers.*.mlp.up) "
       "cannot be evaluated: node 'up' does not say 'out'; expected names bound by the node's dims, its "
       "operands or the model's dims"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_fff",
       "specs/components/library/mlp.yaml:5:37: [analysis] 'dim' of node 'act' (layers.*.mlp.act) cannot be "
       "evaluated: 'd_fff' is not known here; expected dims of the model, or names that the calls around "
       "bind; did you mean 'd_ff'?"},
      {kModel, "d_ff: config.inner", "d_ff: config.inner / 3",
       "specs/components/library/mlp.yaml:3:3: [shape] parameter 'layers.*.mlp.gate.weight' has 128/3 "
       "elements; expected a positive whole number; check the dims that its axes are made of"},
      {kModel, "in: layers, dim: d_model", "in: layers, dim: n_vocab",
       "specs/models/tiny.yaml:19:49: [shape] 'dim' of node 'norm' (norm) is 32; expected 8, the axis of "
       "'second' [1, 4096, 8]"},
  };
  check(rows);
}

TEST(ShapeErrors, Attention) {
  const Bend rows[] = {
      // queries and keys of different widths
      {kMix, "q:      { op: split_heads, in: q_proj, dims: { heads: n_heads, width: d_head } }",
       "q:      { op: split_heads, in: q_proj, dims: { heads: d_head, width: n_heads } }",
       "specs/components/library/mix.yaml:10:3: [shape] 'd' of node 'scores' (layers.*.self_attn.scores) is "
       "2; expected 4, the axis of 'k' [1, 4096, 2, 4]"},
      // a width that is not heads * d_head
      {kMix, "k:      { op: split_heads, in: k_proj, dims: { heads: n_heads, width: d_head } }",
       "k:      { op: split_heads, in: k_proj, dims: { heads: n_heads, width: d_head - 1 } }",
       "specs/components/library/mix.yaml:8:3: [shape] node 'k' (layers.*.self_attn.k) wants heads*width = "
       "6; expected 8, the axis of 'k_proj'"},
      // heads never split
      {kMix, "in: [q, k]", "in: [q_proj, k_proj]",
       "specs/components/library/mix.yaml:10:3: [shape] node 'scores' (layers.*.self_attn.scores) gets [1, "
       "4096, 8] from 'q_proj'; expected 4 axes, as op 'attention_score' takes: contract: [b,s,h,d] "
       "[b,t,g,d] -> [b,h,s,t]"},
      // three key heads for two query heads
      {kMix, "k:      { op: split_heads, in: k_proj, dims: { heads: n_heads, width: d_head } }",
       "k3:     { op: linear, in: x, dims: { in: d_model, out: 3 * d_head } }\n  k:      { op: split_heads, "
       "in: k3, dims: { heads: 3, width: d_head } }",
       "specs/components/library/mix.yaml:11:3: [shape] node 'scores' (layers.*.self_attn.scores) has h = 2, "
       "g = 3; expected h % g == 0, as op 'attention_score' needs"},
      // a query in the value's place has its shape in prefill; decode keeps values and no queries
      {kMix, "in: [probs, v]", "in: [probs, q]",
       "specs/components/library/mix.yaml:12:3: [shape] 't' of node 'mixed' (layers.*.self_attn.mixed) is "
       "4096; expected 1, the axis of 'q' [1, 1, 2, 4]"},
      {kMix, "dims: { heads: n_heads, width: d_head } }\n  o_proj",
       "dims: { heads: n_heads, width: 2 * d_head } }\n  o_proj",
       "specs/components/library/mix.yaml:13:65: [shape] 'width' of node 'merged' "
       "(layers.*.self_attn.merged) is 8; expected 4, the axis of 'mixed' [1, 4096, 2, 4]"},
      // a slice wider than what it slices
      {kMix, "scores: {", "wide: { op: slice, in: q, dims: { in: d_head, out: d_head + 1 } }\n  scores: {",
       "specs/components/library/mix.yaml:10:3: [shape] node 'wide' (layers.*.self_attn.wide) has out = 5, "
       "in = 4; expected out <= in, as op 'slice' needs"},
      // what is kept must have a token axis
      {kMix, "node: v, kind: value }", "node: probs, kind: value }",
       "specs/components/library/mix.yaml:2:57: [shape] the cache keeps 'probs' of shape [1, 2, 4096, 4096]; "
       "expected [B, s_query, ...]: one entry per token; or fixed: true for a state"},
      // a window is no axis: it needs a value
      {kMix, "node: v, kind: value }", "node: v, kind: value, window: d_window }",
       "specs/components/library/mix.yaml:2:89: [analysis] the growth of cache entry 'v' cannot be "
       "evaluated: 'd_window' is not known here; expected dims of the model"},
  };
  check(rows);
}

// MLA shares one rope key among all heads; joining it to per-head keys without repeating it is the classic
// slip.
TEST(ShapeErrors, ForgottenBroadcast) {
  const char* from = "scores: { op: attention_score, in: [q, k] }";
  const Made made =
      tiny()
          .with(kMix, from,
                "k_pe: { op: linear, in: x, dims: { in: d_model, out: 2 } }\n"
                "  k_pe_heads: { op: broadcast_heads, in: k_pe, dims: { heads: n_heads, width: 2 } }\n"
                "  q_pe: { op: slice, in: q, dims: { in: d_head, out: 2 } }\n"
                "  q_all: { op: concat, in: [q, q_pe] }\n"
                "  k_all: { op: concat, in: [k, k_pe_heads] }\n"
                "  scores: { op: attention_score, in: [q_all, k_all] }")
          .with(kMix, "{ node: k, kind: key }", "{ node: k, kind: key }, { node: k_pe, kind: rope_key }");
  EXPECT_EQ(outcome(made.with(kMix, ", { node: k_pe, kind: rope_key }", "")),
            "specs/components/library/mix.yaml:14:3: [shape] node 'k_all' (layers.*.self_attn.k_all) joins "
            "[1, 4096, 2, 4] and [1, 1, 2, 2]; expected equal leading axes");
  EXPECT_EQ(outcome(made), "ok");
  EXPECT_EQ(outcome(made.with(kMix, "in: [k, k_pe_heads]", "in: [k, k_pe]")),
            "specs/components/library/mix.yaml:14:3: [shape] node 'k_all' (layers.*.self_attn.k_all) joins "
            "[1, 4096, 2, 4] and [1, 4096, 2]; expected equal leading axes");
  EXPECT_EQ(outcome(made.with(kMix, "heads: n_heads, width: 2 }", "heads: 1, width: 2 }")),
            "specs/components/library/mix.yaml:14:3: [shape] node 'k_all' (layers.*.self_attn.k_all) joins "
            "[1, 4096, 2, 4] and [1, 4096, 1, 2]; expected equal leading axes");
  EXPECT_EQ(outcome(made.with(kMix, "in: [q_all, k_all]", "in: [q_all, k]")),
            "specs/components/library/mix.yaml:15:3: [shape] 'd' of node 'scores' "
            "(layers.*.self_attn.scores) is 6; expected 4, the axis of 'k' [1, 4096, 2, 4]");
}

TEST(ShapeErrors, Streams) {
  const Bend rows[] = {
      {kLayer, "outputs: [second]", "outputs: [narrow]",
       "specs/models/tiny.yaml:19:49: [shape] 'dim' of node 'norm' (norm) is 8; expected 4, the axis of "
       "'narrow' [1, 4096, 4]\nspecs/components/library/layer.yaml:1:1: [shape] a layer of stack 'layers' "
       "turns [1, 4096, 8] into [1, 4096, 4]; expected the stream's own shape, since the next layer reads "
       "it"},
      {kLayer, "first:     { op: add, in: [hidden, self_attn] }",
       "first:     { op: concat, in: [hidden, self_attn] }",
       "specs/components/library/mlp.yaml:3:39: [shape] 'in' of node 'gate' (layers.*.mlp.gate) is 8; "
       "expected 16, the axis of 'first' [1, 4096, 16]\nspecs/components/library/mlp.yaml:4:39: [shape] 'in' "
       "of node 'up' (layers.*.mlp.up) is 8; expected 16, the axis of 'first' [1, 4096, 16]"},
  };
  check(rows,
        tiny().with(kLayer, "outputs:",
                    "  narrow: { op: linear, in: second, dims: { in: d_model, out: d_head } }\noutputs:"));
}

TEST(ShapeErrors, Copies) {
  const Bend rows[] = {
      {kLayer, "{ slot: ffn, in: first }", "{ slot: ffn, in: first, copies: 4, active: 5, split: tokens }",
       "specs/components/library/layer.yaml:6:3: [analysis] 'mlp' (layers.*.mlp.*) uses 5 of 4 copies; "
       "expected at most as many as there are; check 'active'"},
      {kModel, "d_model: config.hidden", "d_model: config.hidden\n  zero: '0'", "ok"},
      {kMlp, "down:  { op: linear",
       "none: { op: linear, in: x, dims: { in: d_model, out: d_model - 8 } }\n  down:  { op: linear",
       "specs/components/library/mlp.yaml:7:3: [shape] parameter 'layers.*.mlp.none.weight' has 0 elements; "
       "expected a positive whole number; check the dims that its axes are made of"},
  };
  check(rows);
}

// Parameters that stand in each other's place.
TEST(ShapeErrors, Parameters) {
  const Made tied = tiny().with(kModel, "in: norm, dims: { in: d_model, out: n_vocab }",
                                "in: norm, dims: { in: d_model, out: n_vocab }, tied_to: embed");
  EXPECT_EQ(outcome(tied), "ok");
  EXPECT_EQ(outcome(tied.with(kModel, "out: n_vocab }", "out: 2 * n_vocab }")),
            "specs/models/tiny.yaml:20:13: [shape] node 'head' is tied to 'embed' with a weight of [64, 8]; "
            "expected [32, 8], the weight it repeats");
  EXPECT_EQ(outcome(tiny().with(kMlp, "up:    { op: linear,", "up:    { path: gate, op: linear,")),
            "specs/components/library/mlp.yaml:4:3: [shape] node 'up' stores 'layers.*.mlp.gate.weight', "
            "which another node stores already; expected a path of its own");
}

// 2^63 words of 2^62 elements and the like: an overflow is a fault that names the cell, never a wrapped
// number.
TEST(ShapeErrors, Overflow) {
  const std::string huge = "9223372036854775807";
  EXPECT_EQ(outcome(tiny()
                        .with("config", "\"words\": 32", "\"words\": " + huge)
                        .with("config", "\"hidden\": 8", "\"hidden\": " + huge)
                        .with("config", "\"heads\": 2", "\"heads\": " + huge)),
            "specs/components/library/mix.yaml:4:3: [analysis] the flops of node 'q_proj' "
            "(layers.*.self_attn.q_proj) cannot be evaluated: the product of 75557863725914323410944 and "
            "36893488147419103228 overflows 128 bits; expected counts that fit 128 "
            "bits\nspecs/components/library/mix.yaml:5:3: [analysis] the flops of node 'k_proj' "
            "(layers.*.self_attn.k_proj) cannot be evaluated: the product of 75557863725914323410944 and "
            "36893488147419103228 overflows 128 bits; expected counts that fit 128 "
            "bits\nspecs/components/library/mix.yaml:6:3: [analysis] the flops of node 'v_proj' "
            "(layers.*.self_attn.v_proj) cannot be evaluated: the product of 75557863725914323410944 and "
            "36893488147419103228 overflows 128 bits; expected counts that fit 128 bits");
}

}  // namespace
}  // namespace archlight::testing
