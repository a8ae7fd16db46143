// Tensors that do not fit together: each geometric slip, with its message in full. Parameter counts alone
// would miss most of these.
#include <gtest/gtest.h>

#include "support/bills.h"

namespace archlight::testing {
namespace {

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

TEST(ShapeErrors, NothingWrong) {
  EXPECT_EQ(outcome(tiny()), "ok");
}

TEST(ShapeErrors, Widths) {
  const Row rows[] = {
      {kMlp, "gate:  { op: linear, in: x, dims: { in: d_model,",
       "gate:  { op: linear, in: x, dims: { in: d_ff,", "@"},
      {kMlp, "up:    { op: linear, in: x, dims: { in: d_model, out: d_ff }",
       "up:    { op: linear, in: x, dims: { in: d_model, out: d_model }", "@"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_model", "@"},
      {kMlp, "out: d_model }", "out: d_ff }", "@"},  // down
      {kMlp, "up:    { op: linear, in: x, dims: { in: d_model, out: d_ff }",
       "up:    { op: linear, in: x, dims: { in: d_model }", "@"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: d_fff", "@"},
      {kModel, "d_ff: config.inner", "d_ff: config.inner / 3", "@"},
      {kModel, "in: layers, dim: d_model", "in: layers, dim: n_vocab", "@"},
  };
  check(rows);
}

TEST(ShapeErrors, Attention) {
  const Row rows[] = {
      // queries and keys of different widths
      {kMix, "q:      { op: split_heads, in: q_proj, dims: { heads: n_heads, width: d_head } }",
       "q:      { op: split_heads, in: q_proj, dims: { heads: d_head, width: n_heads } }", "@"},
      // a width that is not heads * d_head
      {kMix, "k:      { op: split_heads, in: k_proj, dims: { heads: n_heads, width: d_head } }",
       "k:      { op: split_heads, in: k_proj, dims: { heads: n_heads, width: d_head - 1 } }", "@"},
      // heads never split
      {kMix, "in: [q, k]", "in: [q_proj, k_proj]", "@"},
      // three key heads for two query heads
      {kMix, "k:      { op: split_heads, in: k_proj, dims: { heads: n_heads, width: d_head } }",
       "k3:     { op: linear, in: x, dims: { in: d_model, out: 3 * d_head } }\n  k:      { op: split_heads, "
       "in: k3, dims: { heads: 3, width: d_head } }",
       "@"},
      // the value heads' width reaches o_proj
      {kMix, "in: [probs, v]", "in: [probs, q]",
       "ok"},  // a query as value has the same shape; only meaning differs
      {kMix, "dims: { heads: n_heads, width: d_head } }\n  o_proj",
       "dims: { heads: n_heads, width: 2 * d_head } }\n  o_proj", "@"},
      // a slice wider than what it slices
      {kMix, "scores: {", "wide: { op: slice, in: q, dims: { in: d_head, out: d_head + 1 } }\n  scores: {",
       "@"},
      // what is kept must have a token axis
      {kMix, "node: v, kind: value }", "node: probs, kind: value }", "@"},
      // a window is no axis: it needs a value
      {kMix, "node: v, kind: value }", "node: v, kind: value, window: d_window }", "@"},
  };
  check(rows);
}

// MLA shares one rope key among all heads; joining it to per-head keys without repeating it is the classic
// slip.
TEST(ShapeErrors, ForgottenBroadcast) {
  const char* from = "scores: { op: attention_score, in: [q, k] }";
  const Made made =
      tiny().with(kMix, from,
                  "k_pe: { op: linear, in: x, dims: { in: d_model, out: 2 } }\n"
                  "  k_pe_heads: { op: broadcast_heads, in: k_pe, dims: { heads: n_heads, width: 2 } }\n"
                  "  q_pe: { op: slice, in: q, dims: { in: d_head, out: 2 } }\n"
                  "  q_all: { op: concat, in: [q, q_pe] }\n"
                  "  k_all: { op: concat, in: [k, k_pe_heads] }\n"
                  "  scores: { op: attention_score, in: [q_all, k_all] }");
  EXPECT_EQ(outcome(made), "ok");
  EXPECT_EQ(outcome(made.with(kMix, "in: [k, k_pe_heads]", "in: [k, k_pe]")), "@");
  EXPECT_EQ(outcome(made.with(kMix, "heads: n_heads, width: 2 }", "heads: 1, width: 2 }")), "@");
  EXPECT_EQ(outcome(made.with(kMix, "in: [q_all, k_all]", "in: [q_all, k]")), "@");
}

TEST(ShapeErrors, Streams) {
  const Row rows[] = {
      {kLayer, "outputs: [second]", "outputs: [narrow]", "@"},
      {kLayer, "first:     { op: add, in: [hidden, self_attn] }",
       "first:     { op: concat, in: [hidden, self_attn] }", "@"},
  };
  check(rows,
        tiny().with(kLayer, "outputs:",
                    "  narrow: { op: linear, in: second, dims: { in: d_model, out: d_head } }\noutputs:"));
}

TEST(ShapeErrors, Copies) {
  const Row rows[] = {
      {kLayer, "{ slot: ffn, in: first }", "{ slot: ffn, in: first, copies: 4, active: 5, split: tokens }",
       "@"},
      {kModel, "d_model: config.hidden", "d_model: config.hidden\n  zero: '0'", "ok"},
      {kMlp, "down:  { op: linear",
       "none: { op: linear, in: x, dims: { in: d_model, out: d_model - 8 } }\n  down:  { op: linear", "@"},
  };
  check(rows);
}

// 2^63 words of 2^62 elements and the like: an overflow is a fault that names the cell, never a wrapped
// number.
TEST(ShapeErrors, Overflow) {
  const std::string huge = "9223372036854775807";
  EXPECT_EQ(outcome(tiny()
                        .with("config", "\"words\": 32", "\"words\": " + huge)
                        .with("config", "\"hidden\": 8", "\"hidden\": " + huge)
                        .with("config", "\"heads\": 2", "\"heads\": " + huge)),
            "@");
}

}  // namespace
}  // namespace archlight::testing
