// small.h: a model of two layers, windowed attention and routed experts, that guard tests bend one text at a time.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "guard/support.h"

namespace archlight::guard::testing {

using Files = std::map<std::string, std::string>;

inline const Files kSmall = {
    {"dims.yaml", "top_k: { kind: count, config: num_experts_per_tok }\n"},
    {"roles.yaml",
     R"(attention: { fills: attention, meaning: "mixes tokens" }
attention_decode: { meaning: "what decode walks" }
ffn_moe: { fills: ffn, ops: [], meaning: "experts and their router" }
routed_experts: { copies: true, meaning: "experts" }
expert: { meaning: "one expert" }
router: { meaning: "scores" }
block: { ops: [], meaning: "a layer" }
norm: { ops: [rmsnorm, layernorm], meaning: "a norm" }
embedding: { ops: [embedding], meaning: "the table" }
head: { ops: [linear], meaning: "logits" }
)"},
    {"models/small.yaml",
     R"(match: { architectures: [SmallForCausalLM] }
components: { attention: attn, ffn: routed, block: block }
dims: { d_model: "64", n_vocab: "50", n_heads: "4", d_head: "16", d_window: { config: sliding_window, default: 128, source: made up }, n_experts: "6", d_expert: "24",
        top_k: config.num_experts_per_tok }
model:
  - { name: embed, op: embedding, dims: { vocab: n_vocab, dim: d_model }, role: embedding }
  - { name: layers, repeat: 2, inputs: [embed], streams: { hidden: { carries: true } } }
  - { name: last, op: last_tokens, in: layers }
  - { name: head, op: linear, in: last, dims: { in: d_model, out: n_vocab }, role: head, tied_to: embed, tied_when: 0 }
quant_context: { default_dtype: BF16 }
)"},
    {"components/library/block.yaml",
     R"(role: block
inputs: [hidden]
graph:
  norm: { op: rmsnorm, in: hidden, dim: d_model, role: norm }
  attn: { slot: attention, in: norm }
  mid: { op: add, in: [hidden, attn] }
  mlp: { slot: ffn, in: mid }
  out: { op: add, in: [mid, mlp] }
outputs: [out]
)"},
    {"components/library/attn.yaml",
     R"(role: attention
cache:
  family: GQA
  entries:
    - { node: k_rope, kind: key, window: d_window }
    - { node: v_heads, kind: value, window: d_window }
graph:
  q: { op: linear, in: x, dims: { in: d_model, out: "n_heads * d_head" } }
  k: { op: linear, in: x, dims: { in: d_model, out: "n_heads * d_head" } }
  v: { op: linear, in: x, dims: { in: d_model, out: "n_heads * d_head" } }
  q_heads: { op: split_heads, in: q, dims: { heads: n_heads, width: d_head } }
  k_heads: { op: split_heads, in: k, dims: { heads: n_heads, width: d_head } }
  v_heads: { op: split_heads, in: v, dims: { heads: n_heads, width: d_head } }
  q_rope: { op: rope, in: q_heads, dim: d_head }
  k_rope: { op: rope, in: k_heads, dim: d_head }
  scores: { op: attention_score, in: [q_rope, k_rope], window: d_window }
  probs: { op: attention_softmax, in: scores, window: d_window }
  context: { op: attention_apply, in: [probs, v_heads], window: d_window }
  merged: { op: merge_heads, in: context, dims: { heads: n_heads, width: d_head } }
  o: { op: linear, in: merged, dims: { in: "n_heads * d_head", out: d_model } }
outputs: [o]
)"},
    {"components/library/routed.yaml",
     R"(role: ffn_moe
graph:
  gate: { op: linear, in: x, dims: { in: d_model, out: n_experts }, role: router }
  chosen: { op: topk, in: gate, dims: { in: n_experts, out: top_k } }
  logits: { op: take, in: [gate, chosen] }
  weights: { op: softmax, in: logits, dim: top_k }
  dispatch: { op: dispatch, in: [x, chosen] }
  experts: { component: expert, in: dispatch, copies: n_experts, active: top_k, split: tokens, role: routed_experts }
  out: { op: combine, in: [experts, weights] }
outputs: [out]
)"},
    {"components/library/expert.yaml",
     R"(role: expert
graph:
  up: { op: linear, in: x, dims: { in: d_model, out: d_expert } }
  down: { op: linear, in: up, dims: { in: d_expert, out: d_model } }
outputs: [down]
)"},
};

inline constexpr const char* kAttn = "components/library/attn.yaml";
inline constexpr const char* kRouted = "components/library/routed.yaml";
inline constexpr const char* kBlock = "components/library/block.yaml";
inline constexpr const char* kModel = "models/small.yaml";
inline constexpr const char* kConfig = R"({"architectures": ["SmallForCausalLM"], "num_experts_per_tok": 2})";

// Guards named by `without` are left out.
inline std::string faults_of(const Files& files, const std::string& config = kConfig,
                             const std::set<std::string>& without = {}) {
  const base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(files);
  if (!library) return base::render_all(library.faults());
  truth::Truth truth;
  truth.config = json(config);
  return lines_of(verify_all(*library, truth, without));
}

// The report on the same config with more keys. No promise of the small model is judged.
inline Report report_of(const Files& files, const std::string& more) {
  const base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(files);
  EXPECT_TRUE(library.ok()) << base::render_all(library.faults());
  truth::Truth truth;
  truth.config = config_with(*json(kConfig), more);
  return verify_all(*library, truth, {"axiom"});
}

// One text of one file replaced by another.
inline Files with(Files files, const std::string& file, const std::string& from, const std::string& to) {
  std::string& text = files.at(file);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return files;
}

struct Case {
  const char* file;
  const char* from;
  const char* to;
  const char* faults;
};

inline void expect_each(const std::vector<Case>& cases, const std::set<std::string>& without = {}) {
  EXPECT_EQ(faults_of(kSmall), "");
  for (const Case& row : cases) {
    SCOPED_TRACE(std::string(row.from) + " -> " + row.to);
    EXPECT_EQ(faults_of(with(kSmall, row.file, row.from, row.to), kConfig, without), row.faults);
  }
}

}  // namespace archlight::guard::testing
