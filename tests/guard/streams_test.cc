// What the guards say where a layer reads another's cache through a stream: its attention is held against the entries
// that the other keeps.
#include <gtest/gtest.h>

#include "guard/small.h"

namespace archlight::guard::testing {
namespace {

constexpr const char* kReader = "components/library/reader.yaml";

// The small model with two more layers, which read the keys and values of the layer before them.
Files shared() {
  Files files = with(kSmall, kModel, "repeat: 2, inputs: [embed], streams: { hidden: { carries: true } } }",
                     R"(repeat: 4, inputs: [embed],
      layers: [{ count: 2, attention: attention }, { rest: true, attention: reader }],
      streams: { hidden: { carries: true }, keys: { shape: [B, s_ctx, n_heads, d_head], src: s },
                 values: { shape: [B, s_ctx, n_heads, d_head], src: s } } })");
  files.at(kAttn) += "stream_out: { keys: k_rope, values: v_heads }\n";
  files[kReader] = R"(role: attention
reads: [keys, values]
graph:
  q: { op: linear, in: x, dims: { in: d_model, out: "n_heads * d_head" } }
  q_heads: { op: split_heads, in: q, dims: { heads: n_heads, width: d_head } }
  q_rope: { op: rope, in: q_heads, dim: d_head }
  scores: { op: attention_score, in: [q_rope, keys], window: d_window }
  probs: { op: attention_softmax, in: scores, window: d_window }
  context: { op: attention_apply, in: [probs, values], window: d_window }
  merged: { op: merge_heads, in: context, dims: { heads: n_heads, width: d_head } }
  o: { op: linear, in: merged, dims: { in: "n_heads * d_head", out: d_model } }
outputs: [o]
)";
  return files;
}

TEST(StreamGuards, SharedCache) {
  EXPECT_EQ(faults_of(shared()), "");
  const Case rows[] = {
      {kReader, "in: [q_rope, keys]", "in: [q_heads, keys]",
       "specs/components/library/reader.yaml:6:3: [wiring] node 'q_rope' (layers.*.attn.q_rope) is computed "
       "and never "
       "read; expected a reader, or a place among the outputs; read it, or leave it out\n"
       "specs/components/library/reader.yaml:7:3: [wiring] node 'scores' (layers.*.attn.scores) compares a "
       "rotated key "
       "with a query that is not; expected rope on both sides, or on neither\n"},
      {kReader, "in: [q_rope, keys], window: d_window", "in: [q_rope, keys]",
       "specs/components/library/reader.yaml:8:3: [wiring] node 'probs' (layers.*.attn.probs) has mask "
       "causal within "
       "d_window; expected causal, that of 'scores' before it\n"
       "specs/components/library/reader.yaml:9:3: [wiring] node 'context' (layers.*.attn.context) has mask "
       "causal "
       "within d_window; expected causal, that of 'scores' before it\n"
       "specs/components/library/attn.yaml:5:7: [wiring] the cache entry 'k_rope' has window d_window; "
       "expected no "
       "window, that of node 'scores' (layers.*.attn.scores) which reads it\n"},
      // Keys in the place of values: the entry is read as both.
      {kReader, "in: [probs, values], window", "in: [probs, keys], window",
       "specs/components/library/reader.yaml:2:8: [analysis] component 'reader' reads stream 'values', and "
       "no node of "
       "it has it as "
       "operand; expected in: values at one of its nodes\n"},
      // What is published is what is kept: in decode the step's own keys have another shape.
      {kAttn, "keys: k_rope", "keys: k_heads",
       "specs/components/library/reader.yaml:9:3: [shape] 't' of node 'context' (layers.*.attn.context) is "
       "1; expected "
       "4096, the axis of 'v_heads' [1, 4096, 4, 16]\n"},
  };
  for (const Case& row : rows) {
    SCOPED_TRACE(std::string(row.from) + " -> " + row.to);
    EXPECT_EQ(faults_of(with(shared(), row.file, row.from, row.to)), row.faults);
  }
}

// A layer that reads a window's keys is a sliding layer, though it keeps nothing.
TEST(StreamGuards, LayerTypes) {
  const auto types = [](const std::string& last) {
    return R"({"architectures": ["SmallForCausalLM"], "num_experts_per_tok": 2, "layer_types": ["sliding_attention",
              "sliding_attention", "sliding_attention", ")" +
           last + "\"]}";
  };
  Files files = shared();
  files["config_keys.yaml"] =
      "keys:\n  - { keys: [layer_types], is: schedule, fact: layer_kinds, meaning: kinds,\n"
      "      values: { sliding_attention: window, full_attention: whole } }\n";
  EXPECT_EQ(faults_of(files, types("sliding_attention")), "");
  EXPECT_EQ(
      faults_of(files, types("full_attention")),
      "specs/components/library/block.yaml:1:1: [structural] layer 3 of stack 'layers' keeps a window; "
      "expected "
      "the whole context, since config.layer_types says full_attention; let a layer rule follow that list\n");
}

}  // namespace
}  // namespace archlight::guard::testing
