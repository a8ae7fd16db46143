// What the analysis guard says of values that flow wrongly, where every shape and every tensor would fit.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "guard/support.h"

namespace archlight::guard::testing {
namespace {

using Files = std::map<std::string, std::string>;

const Files kSmall = {
    {"dims.yaml", "top_k: { kind: count, config: num_experts_per_tok }\n"},
    {"roles.yaml",
     R"(attention: { fills: attention, meaning: "mixes tokens" }
attention_decode: { meaning: "what decode walks" }
ffn_moe: { fills: ffn, ops: [], meaning: "experts and their router" }
routed_experts: { copies: true, meaning: "experts" }
expert: { meaning: "one expert" }
router: { meaning: "scores" }
block: { ops: [], meaning: "a layer" }
norm: { ops: [rmsnorm], meaning: "a norm" }
embedding: { ops: [embedding], meaning: "the table" }
head: { ops: [linear], meaning: "logits" }
)"},
    {"models/small.yaml",
     R"(match: { architectures: [SmallForCausalLM] }
components: { attention: attn, ffn: routed, block: block }
dims: { d_model: "64", n_vocab: "50", n_heads: "4", d_head: "16", d_window: "128", n_experts: "6", d_expert: "24",
        top_k: config.num_experts_per_tok }
model:
  - { name: embed, op: embedding, dims: { vocab: n_vocab, dim: d_model }, role: embedding }
  - { name: layers, repeat: 2, inputs: [embed], streams: { hidden: { carries: true } } }
  - { name: head, op: linear, in: layers, dims: { in: d_model, out: n_vocab }, role: head, tied_to: embed, tied_when: 0 }
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

constexpr const char* kAttn = "components/library/attn.yaml";
constexpr const char* kRouted = "components/library/routed.yaml";
constexpr const char* kBlock = "components/library/block.yaml";
constexpr const char* kModel = "models/small.yaml";
constexpr const char* kConfig = R"({"architectures": ["SmallForCausalLM"], "num_experts_per_tok": 2})";

std::string faults_of(const Files& files, const std::string& config = kConfig) {
  const base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(files);
  if (!library) return base::render_all(library.faults());
  truth::Truth truth;
  truth.config = json(config);
  return lines_of(verify_all(*library, truth));
}

// One text of one file replaced by another.
Files with(Files files, const std::string& file, const std::string& from, const std::string& to) {
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

void expect_each(const std::vector<Case>& cases) {
  EXPECT_EQ(faults_of(kSmall), "");
  for (const Case& row : cases) {
    SCOPED_TRACE(std::string(row.from) + " -> " + row.to);
    EXPECT_EQ(faults_of(with(kSmall, row.file, row.from, row.to)), row.faults);
  }
}

TEST(Wiring, EveryValueIsRead) {
  expect_each({
      {kAttn, "  k: {", "  spare: { op: silu, in: x, dim: d_model }\n  k: {",
       "specs/components/library/attn.yaml:9:3: [analysis] node 'spare' (layers.*.attn.spare) is computed "
       "and never read; expected a reader, or a place among the outputs; read it, or leave it out\n"},
      // Of a nested component too: what it hands on is a node of its own.
      {kBlock, "in: [mid, mlp]", "in: [mid, attn]",
       "specs/components/library/routed.yaml:9:3: [analysis] node 'out' (layers.*.mlp.out) is computed and "
       "never read; expected a reader, or a place among the outputs; read it, or leave it out\n"},
  });
}

TEST(Wiring, EveryInputIsRead) {
  Files files = with(kSmall, kBlock, "  out: { op: add, in: [mid, mlp] }",
                     "  both: { component: pair, in: [mid, mlp] }\n  out: { op: add, in: [mid, both] }");
  files["components/library/pair.yaml"] =
      "role: expert\ninputs: [x, y]\ngraph: { act: { op: silu, in: x, dim: d_model } }\noutputs: [act]\n";
  EXPECT_EQ(faults_of(files),
            "specs/components/library/routed.yaml:9:3: [analysis] node 'out' (layers.*.mlp.out) is computed "
            "and never read; expected a reader, or a place among the outputs; read it, or leave it out\n"
            "specs/components/library/pair.yaml:1:1: [analysis] component 'pair' never reads its input 'y'; "
            "expected a reader; read it, or take it from the inputs\n");
}

constexpr const char* kCache =
    "cache:\n  family: GQA\n  entries:\n    - { node: k_rope, kind: key, window: d_window }\n"
    "    - { node: v_heads, kind: value, window: d_window }\n";

TEST(Wiring, Attention) {
  expect_each({
      {kAttn, "in: [q_rope, k_rope]", "in: [q_heads, k_rope]",
       "specs/components/library/attn.yaml:14:3: [analysis] node 'q_rope' (layers.*.attn.q_rope) is computed "
       "and never read; expected a reader, or a place among the outputs; read it, or leave it out\n"
       "specs/components/library/attn.yaml:16:3: [analysis] node 'scores' (layers.*.attn.scores) compares a "
       "rotated key with a query that is not; expected rope on both sides, or on neither\n"},
      {kAttn, kCache, "",
       "specs/components/library/attn.yaml:11:3: [analysis] node 'scores' (layers.*.attn.scores) reads keys "
       "that no cache entry keeps; expected an entry of the component's cache behind 'k_rope'; decode would "
       "see this step's tokens only\n"
       "specs/components/library/attn.yaml:13:3: [analysis] node 'context' (layers.*.attn.context) reads "
       "values that no cache entry keeps; expected an entry of the component's cache behind 'v_heads'; "
       "decode would see this step's tokens only\n"},
      {kAttn, "in: [probs, v_heads], window: d_window", "in: [probs, v_heads]",
       "specs/components/library/attn.yaml:18:3: [analysis] node 'context' (layers.*.attn.context) has mask "
       "causal; expected causal within d_window, that of 'scores' before it\n"
       "specs/components/library/attn.yaml:6:7: [analysis] the cache entry 'v_heads' has window d_window; "
       "expected no window, that of node 'context' (layers.*.attn.context) which reads it\n"},
      {kAttn, "in: scores, window: d_window", "in: scores, window: d_window, mask: none",
       "specs/components/library/attn.yaml:17:3: [analysis] node 'probs' (layers.*.attn.probs) has mask none "
       "within d_window; expected causal within d_window, that of 'scores' before it\n"},
      {kAttn, "in: [probs, v_heads]", "in: [scores, v_heads]",
       "specs/components/library/attn.yaml:17:3: [analysis] node 'probs' (layers.*.attn.probs) is computed "
       "and never read; expected a reader, or a place among the outputs; read it, or leave it out\n"
       "specs/components/library/attn.yaml:18:3: [analysis] node 'context' (layers.*.attn.context) weights "
       "values by the raw scores of 'scores'; expected weights that a softmax made\n"},
  });
}

// Keys of a part without position and a rotated one: both sides must be joined in one order.
TEST(Wiring, PartsLineUp) {
  Files files = with(kSmall, kAttn, "  scores: { op: attention_score, in: [q_rope, k_rope]",
                     "  q_a: { op: slice, in: q_heads, dims: { in: d_head, out: 4 } }\n"
                     "  k_a: { op: slice, in: k_heads, dims: { in: d_head, out: 4 } }\n"
                     "  q_all: { op: concat, in: [q_a, q_rope] }\n"
                     "  k_all: { op: concat, in: [k_a, k_rope] }\n"
                     "  scores: { op: attention_score, in: [q_all, k_all]");
  files = with(files, kAttn, "node: k_rope", "node: k_all");
  EXPECT_EQ(faults_of(files), "");
  EXPECT_EQ(faults_of(with(files, kAttn, "in: [q_a, q_rope]", "in: [q_rope, q_a]")),
            "specs/components/library/attn.yaml:20:3: [analysis] node 'scores' (layers.*.attn.scores) "
            "compares [16, 4] of the query with [4, 16] of the key; expected parts of equal widths, in one "
            "order; join both in the same order\n");
}

TEST(Wiring, Cache) {
  expect_each({
      {kAttn, "kind: key", "kind: value",
       "specs/components/library/attn.yaml:5:7: [analysis] the cache entry 'k_rope' of kind value is read as "
       "key; expected value by attention\n"},
      {kAttn, "kind: value", "kind: latent",
       "specs/components/library/attn.yaml:6:7: [analysis] the cache entry 'v_heads' of kind latent is read "
       "as value; expected key and value by attention\n"},
      {kAttn, "kind: key, window: d_window", "kind: key",
       "specs/components/library/attn.yaml:5:7: [analysis] the cache entry 'k_rope' has no window; expected "
       "window d_window, that of node 'scores' (layers.*.attn.scores) which reads it\n"},
      {kAttn, "kind: key, window: d_window", "kind: key, window: \"2 * d_window\"",
       "specs/components/library/attn.yaml:5:7: [analysis] the cache entry 'k_rope' has window 2 * d_window; "
       "expected window d_window, that of node 'scores' (layers.*.attn.scores) which reads it\n"},
      {kAttn, "node: k_rope", "node: k_heads",
       "specs/components/library/attn.yaml:15:3: [analysis] decode computes node 'k_rope' "
       "(layers.*.attn.k_rope) again for every token of the context; expected work on this step's tokens "
       "alone; keep 'k_rope' rather than 'k_heads', or give the component a decode variant\n"},
  });
}

TEST(Wiring, DecodeKeepsWhatPrefillKeeps) {
  Files files = with(kSmall, kAttn, "role: attention\n", "role: attention\ndecode_variant: attn_decode\n");
  files["components/library/attn_decode.yaml"] =
      with(kSmall, kAttn, "role: attention\n", "role: attention_decode\nvariant_of: attn\n").at(kAttn);
  EXPECT_EQ(faults_of(files), "");
  EXPECT_EQ(faults_of(with(files, "components/library/attn_decode.yaml", "node: v_heads", "node: v")),
            "specs/components/library/attn.yaml:7:7: [analysis] prefill keeps 'v_heads' "
            "(layers.*.attn.v_heads) as value, 64 elements within d_window; expected the same entry in "
            "decode; give a component and its decode variant the same cache\n"
            "specs/components/library/attn_decode.yaml:7:7: [analysis] decode keeps 'v' (layers.*.attn.v) as "
            "value, 64 elements within d_window; expected the same entry in prefill; give a component and "
            "its decode variant the same cache\n");
}

TEST(Wiring, Routing) {
  expect_each({
      {kRouted, "active: top_k", "active: top_k + 1",
       "specs/components/library/routed.yaml:8:3: [analysis] node 'experts' (layers.*.mlp.experts.*) lets "
       "each token use 3 copies, and 'dispatch' hands it 2 of each; expected as many as are chosen\n"},
      {kRouted, ", split: tokens", "",
       "specs/components/library/routed.yaml:8:3: [analysis] node 'experts' has 'active' without 'split'; "
       "expected split: tokens, so that each copy works on its share of them\n"},
      {kRouted, "in: [x, chosen]", "in: [x, weights]",
       "specs/components/library/routed.yaml:7:3: [analysis] node 'dispatch' (layers.*.mlp.dispatch) chooses "
       "by 'weights', which is no choice; expected positions that a topk made\n"},
      {kRouted, "in: logits,", "in: chosen,",
       "specs/components/library/routed.yaml:5:3: [analysis] node 'logits' (layers.*.mlp.logits) is computed "
       "and never read; expected a reader, or a place among the outputs; read it, or leave it out\n"
       "specs/components/library/routed.yaml:6:3: [analysis] node 'weights' (layers.*.mlp.weights) computes "
       "with the positions that 'chosen' chose; expected the values at those positions; take them first\n"},
      {kRouted, "in: [gate, chosen]", "in: [x, chosen]",
       "specs/components/library/routed.yaml:5:3: [analysis] node 'logits' (layers.*.mlp.logits) takes from "
       "64 values of 'mid'; expected 6, those that 'chosen' chose among\n"},
  });
}

TEST(Wiring, Roles) {
  expect_each({
      {kModel, ", role: head", "",
       "specs/models/small.yaml:8:13: [analysis] node 'head' (head) stores 'weight' and has no role; "
       "expected a role of specs/roles.yaml, which its totals stand under\n"},
      {kModel, "role: head", "role: norm",
       "specs/models/small.yaml:8:13: [analysis] node 'head' (head) of op 'linear' has the role 'norm'; "
       "expected a role that such an op may have\n"},
      {kModel, "role: head", "role: attention",
       "specs/models/small.yaml:8:13: [analysis] node 'head' (head) has the role 'attention' of a component; "
       "expected a role that fills no slot\n"},
      {kBlock, ", role: norm", "",
       "specs/components/library/block.yaml:4:3: [analysis] node 'norm' (layers.*.norm) of op 'rmsnorm' has "
       "the role 'block'; expected a role for what it is: this one is for templates\n"},
      {kRouted, "role: routed_experts", "role: expert",
       "specs/components/library/routed.yaml:8:3: [analysis] node 'experts' (layers.*.mlp.experts.*) has the "
       "role 'expert' and shares tokens out to copies; expected a role of copies: routed_experts\n"},
      {kRouted, ", role: routed_experts", "",
       "specs/components/library/routed.yaml:8:3: [analysis] node 'experts' (layers.*.mlp.experts.*) has the "
       "role 'expert' and shares tokens out to copies; expected a role of copies: routed_experts\n"},
      {kBlock, "mlp: { slot: ffn, in: mid }", "mlp: { component: expert, in: mid, role: routed_experts }",
       "specs/components/library/block.yaml:7:3: [analysis] node 'mlp' (layers.*.mlp) has the role "
       "'routed_experts' and no copies that share tokens out; expected another role, or copies with split: "
       "tokens\n"},
      {kBlock, "mlp: { slot: ffn, in: mid }", "mlp: { component: routed, in: mid }",
       "specs/components/library/block.yaml:7:3: [analysis] node 'mlp' (layers.*.mlp) calls a component by "
       "name and has the role 'ffn_moe' of a slot; expected a role of its own, such as shared_experts\n"},
  });
}

TEST(Config, DimsAreThoseOfTheirKeys) {
  expect_each({{kModel, "top_k: config.num_experts_per_tok", "top_k: \"3\"",
                "specs/models/small.yaml:4:9: [analysis] dim 'top_k' is 3; expected 2, "
                "config.num_experts_per_tok; bind it to that key\n"}});
}

TEST(Config, AHeadIsTiedWhereTheConfigSaysSo) {
  EXPECT_EQ(faults_of(kSmall, R"({"architectures": ["SmallForCausalLM"], "num_experts_per_tok": 2,
                                  "tie_word_embeddings": false})"),
            "");
  EXPECT_EQ(faults_of(kSmall, R"({"architectures": ["SmallForCausalLM"], "num_experts_per_tok": 2,
                                  "tie_word_embeddings": true})"),
            "specs/models/small.yaml:8:13: [analysis] 'head' is not tied to 'embed'; expected "
            "config.tie_word_embeddings, which is true; let tied_when follow that key\n");
}

TEST(Config, ListedLayersKeepWhatTheirTypeSays) {
  const auto faults = [](const char* types) {
    return faults_of(kSmall, fmt::format(R"({{"architectures": ["SmallForCausalLM"], "num_experts_per_tok": 2,
                                             "layer_types": [{}]}})",
                                         types));
  };
  EXPECT_EQ(faults(R"("sliding_attention", "sliding_attention")"), "");
  EXPECT_EQ(faults(R"("sliding_attention", "linear_attention")"), "");
  EXPECT_EQ(faults(R"("sliding_attention", "full_attention")"),
            "specs/components/library/block.yaml:1:1: [analysis] layer 1 of stack 'layers' keeps a window; "
            "expected the whole context, since config.layer_types says full_attention; let a layer rule "
            "follow that list\n");
}

}  // namespace
}  // namespace archlight::guard::testing
