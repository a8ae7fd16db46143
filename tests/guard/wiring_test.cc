// What the wiring guard says of values that flow wrongly, where every shape and every tensor would fit.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "guard/small.h"

namespace archlight::guard::testing {
namespace {

// What the same faults mean to other guards is for their tests.
const std::set<std::string> kOthers = {"structural"};

TEST(Wiring, EveryValueIsRead) {
  expect_each({
      {kAttn, "  k: {", "  spare: { op: silu, in: x, dim: d_model }\n  k: {",
       "specs/components/library/attn.yaml:9:3: [wiring] node 'spare' (layers.*.attn.spare) is computed "
       "and never read; expected a reader, or a place among the outputs; read it, or leave it out\n"},
      // Of a nested component too: what it hands on is a node of its own.
      {kBlock, "in: [mid, mlp]", "in: [mid, attn]",
       "specs/components/library/routed.yaml:9:3: [wiring] node 'out' (layers.*.mlp.out) is computed and "
       "never read; expected a reader, or a place among the outputs; read it, or leave it out\n"},
  });
}

TEST(Wiring, EveryInputIsRead) {
  Files files = with(kSmall, kBlock, "  out: { op: add, in: [mid, mlp] }",
                     "  both: { component: pair, in: [mid, mlp] }\n  out: { op: add, in: [mid, both] }");
  files["components/library/pair.yaml"] =
      "role: expert\ninputs: [x, y]\ngraph: { act: { op: silu, in: x, dim: d_model } }\noutputs: [act]\n";
  EXPECT_EQ(faults_of(files),
            "specs/components/library/routed.yaml:9:3: [wiring] node 'out' (layers.*.mlp.out) is computed "
            "and never read; expected a reader, or a place among the outputs; read it, or leave it out\n"
            "specs/components/library/pair.yaml:1:1: [wiring] component 'pair' never reads its input 'y'; "
            "expected a reader; read it, or take it from the inputs\n");
}

constexpr const char* kCache =
    "cache:\n  family: GQA\n  entries:\n    - { node: k_rope, kind: key, window: d_window }\n"
    "    - { node: v_heads, kind: value, window: d_window }\n";

TEST(Wiring, Attention) {
  expect_each({
      {kAttn, "in: [q_rope, k_rope]", "in: [q_heads, k_rope]",
       "specs/components/library/attn.yaml:14:3: [wiring] node 'q_rope' (layers.*.attn.q_rope) is computed "
       "and never read; expected a reader, or a place among the outputs; read it, or leave it out\n"
       "specs/components/library/attn.yaml:16:3: [wiring] node 'scores' (layers.*.attn.scores) compares a "
       "rotated key with a query that is not; expected rope on both sides, or on neither\n"},
      {kAttn, kCache, "",
       "specs/components/library/attn.yaml:11:3: [wiring] node 'scores' (layers.*.attn.scores) reads keys "
       "that no cache entry keeps; expected an entry of the component's cache behind 'k_rope'; decode would "
       "see this step's tokens only\n"
       "specs/components/library/attn.yaml:13:3: [wiring] node 'context' (layers.*.attn.context) reads "
       "values that no cache entry keeps; expected an entry of the component's cache behind 'v_heads'; "
       "decode would see this step's tokens only\n"},
      {kAttn, "in: [probs, v_heads], window: d_window", "in: [probs, v_heads]",
       "specs/components/library/attn.yaml:18:3: [wiring] node 'context' (layers.*.attn.context) has mask "
       "causal; expected causal within d_window, that of 'scores' before it\n"
       "specs/components/library/attn.yaml:6:7: [wiring] the cache entry 'v_heads' has window d_window; "
       "expected no window, that of node 'context' (layers.*.attn.context) which reads it\n"},
      {kAttn, "in: scores, window: d_window", "in: scores, window: d_window, mask: none",
       "specs/components/library/attn.yaml:17:3: [wiring] node 'probs' (layers.*.attn.probs) has mask none "
       "within d_window; expected causal within d_window, that of 'scores' before it\n"},
      {kAttn, "in: [probs, v_heads]", "in: [scores, v_heads]",
       "specs/components/library/attn.yaml:17:3: [wiring] node 'probs' (layers.*.attn.probs) is computed "
       "and never read; expected a reader, or a place among the outputs; read it, or leave it out\n"
       "specs/components/library/attn.yaml:18:3: [wiring] node 'context' (layers.*.attn.context) weights "
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
  EXPECT_EQ(faults_of(files, kConfig, kOthers), "");
  EXPECT_EQ(faults_of(with(files, kAttn, "in: [q_a, q_rope]", "in: [q_rope, q_a]"), kConfig, kOthers),
            "specs/components/library/attn.yaml:20:3: [wiring] node 'scores' (layers.*.attn.scores) "
            "compares [16, 4] of the query with [4, 16] of the key; expected parts of equal widths, in one "
            "order; join both in the same order\n");
}

TEST(Wiring, Cache) {
  expect_each({
      {kAttn, "kind: key", "kind: value",
       "specs/components/library/attn.yaml:5:7: [wiring] the cache entry 'k_rope' of kind value is read as "
       "key; expected value by attention\n"},
      {kAttn, "kind: value", "kind: latent",
       "specs/components/library/attn.yaml:6:7: [wiring] the cache entry 'v_heads' of kind latent is read "
       "as value; expected key and value by attention\n"},
      {kAttn, "kind: key, window: d_window", "kind: key",
       "specs/components/library/attn.yaml:5:7: [wiring] the cache entry 'k_rope' has no window; expected "
       "window d_window, that of node 'scores' (layers.*.attn.scores) which reads it\n"},
      {kAttn, "kind: key, window: d_window", "kind: key, window: \"2 * d_window\"",
       "specs/components/library/attn.yaml:5:7: [wiring] the cache entry 'k_rope' has window 2 * d_window; "
       "expected window d_window, that of node 'scores' (layers.*.attn.scores) which reads it\n"},
      {kAttn, "node: k_rope", "node: k_heads",
       "specs/components/library/attn.yaml:15:3: [wiring] decode computes node 'k_rope' "
       "(layers.*.attn.k_rope) again for every token of the context; expected work on this step's tokens "
       "alone; keep 'k_rope' rather than 'k_heads', or give the component a decode variant\n"},
  });
}

TEST(Wiring, AnEntryIsKeptAsAttentionReadsIt) {
  EXPECT_EQ(faults_of(with(kSmall, kAttn, "node: v_heads", "node: v")),
            "specs/components/library/attn.yaml:6:7: [wiring] the cache keeps 'v', which node 'v_heads' "
            "(layers.*.attn.v_heads) looks at by heads; expected the value as attention reads it; keep "
            "'v_heads'\n");
}

TEST(Wiring, AnEntryOfANodeThatIsLeftOutNeedsAnother) {
  Files files = with(kSmall, kModel, "  - { name: layers, repeat: 2, inputs: [embed]",
                     "  - { name: keeper, component: keeper, in: embed }\n"
                     "  - { name: layers, repeat: 2, inputs: [keeper]");
  files["components/library/keeper.yaml"] =
      "role: expert\ncache: { family: F, entries: [{ node: gone, kind: kept }] }\n"
      "graph:\n  gone: { op: silu, in: x, dim: d_model, when: 0 }\n  act: { op: silu, in: gone, dim: d_model "
      "}\n"
      "outputs: [act]\n";
  const std::string said = faults_of(files);
  EXPECT_NE(
      said.find(
          "the cache keeps 'gone', which is left out here: what it hands on is 'embed', which no component "
          "computes; expected a node that the component computes\n"),
      std::string::npos)
      << said;
}

TEST(Wiring, AnEntryHasATypeOfItsKind) {
  expect_each({
      {kAttn, "kind: value", "kind: value, dtype: F32",
       "specs/components/library/attn.yaml:6:7: [wiring] the cache keeps 'v_heads' of kind value in the type "
       "'F32'; "
       "expected one of cache, or a config key with its source\n"},
  });
  EXPECT_EQ(faults_of(with(kSmall, kAttn, "kind: value",
                           "kind: value, dtype: { config: cache_dtype, default: F32, source: made up }")),
            "");
}

TEST(Wiring, OnlyWhatACacheKeepsIsJoinedAsItStands) {
  const Files files = with(kSmall, kAttn, "  scores: { op: attention_score, in: [q_rope, k_rope]",
                           "  q_a: { op: slice, in: q_heads, dims: { in: d_head, out: 4 } }\n"
                           "  k_a: { op: slice, in: k_heads, dims: { in: d_head, out: 4 } }\n"
                           "  q_all: { op: concat, in: [q_a, q_rope] }\n"
                           "  k_all: { op: concat, in: [k_a, k_rope] }\n"
                           "  scores: { op: attention_score, in: [q_all, k_all]");
  const Files joined = with(files, kAttn, "node: k_rope", "node: k_all");
  EXPECT_EQ(faults_of(joined, kConfig, kOthers), "");
  EXPECT_EQ(
      faults_of(with(joined, kAttn, "q_all: { op: concat", "q_all: { op: concat_view"), kConfig, kOthers),
      "specs/components/library/attn.yaml:18:3: [wiring] node 'q_all' (layers.*.attn.q_all) takes 'q_a' and "
      "'q_rope' as they stand, which no cache keeps; expected concat, which writes them side by side\n");
  const Files apart = with(files, kAttn, "    - { node: v_heads",
                           "    - { node: k_a, kind: rope_key, window: d_window }\n    - { node: v_heads");
  EXPECT_EQ(
      faults_of(with(apart, kAttn, "k_all: { op: concat,", "k_all: { op: concat_view,"), kConfig, kOthers),
      "");
  EXPECT_EQ(
      faults_of(apart, kConfig, kOthers),
      "specs/components/library/attn.yaml:20:3: [wiring] node 'k_all' (layers.*.attn.k_all) copies 'k_a' "
      "and 'k_rope', which the cache keeps; expected concat_view, which reads them as they stand\n");
}

TEST(Wiring, AHeadMakesLogitsOfSampledPositions) {
  EXPECT_EQ(
      faults_of(with(kSmall, kModel, "in: last, dims", "in: layers, dims"), kConfig, kOthers),
      "specs/models/small.yaml:8:13: [wiring] node 'last' (last) is computed and never read; expected a "
      "reader, or a place among the outputs; read it, or leave it out\n"
      "specs/models/small.yaml:9:13: [wiring] node 'head' (head) makes logits of every token of the "
      "prompt; expected those of the positions that are sampled; put last_tokens before it\n");
}

// A tower of 4 tokens of its own, placed among the main model's.
TEST(Wiring, PartsAreCountedApartAsAWhole) {
  const Files files = with(
      kSmall, kModel, "  - { name: layers, repeat: 2, inputs: [embed]",
      "  - { name: pixels, op: tower_input, dims: { tokens: 4, dim: 8 }, apart: vision, phase: prefill }\n"
      "  - { name: tower, op: linear, in: pixels, dims: { in: 8, out: d_model }, role: head, apart: vision, "
      "phase: prefill }\n"
      "  - { name: placed, op: place_tokens, in: [embed, tower], apart: vision, phase: prefill }\n"
      "  - { name: layers, repeat: 2, inputs: [placed]");
  EXPECT_EQ(faults_of(files, kConfig, kOthers), "");
  const auto without = [&](const std::string& node) {
    const size_t from = files.at(kModel).find("name: " + node);
    Files out = files;
    std::string& text = out.at(kModel);
    text.erase(text.find(", apart: vision", from), std::string(", apart: vision").size());
    return faults_of(out, kConfig, kOthers);
  };
  EXPECT_EQ(
      without("pixels"),
      "specs/models/small.yaml:7:13: [wiring] node 'pixels' (pixels) is read by part 'vision' alone and not "
      "counted in it; expected the part that it is for; apart: vision\n");
  EXPECT_EQ(
      without("tower"),
      "specs/models/small.yaml:8:13: [wiring] node 'tower' (tower) works on 'pixels', which is counted apart "
      "as 'vision'; expected the same part, up to the node that places its values; apart: vision\n");
  EXPECT_EQ(
      without("placed"),
      "specs/models/small.yaml:9:13: [wiring] node 'placed' (placed) works on 'tower', which is counted "
      "apart as 'vision'; expected the same part, up to the node that places its values; apart: vision\n");
}

TEST(Wiring, DecodeKeepsWhatPrefillKeeps) {
  Files files = with(kSmall, kAttn, "role: attention\n", "role: attention\ndecode_variant: attn_decode\n");
  files["components/library/attn_decode.yaml"] =
      with(kSmall, kAttn, "role: attention\n", "role: attention_decode\nvariant_of: attn\n").at(kAttn);
  EXPECT_EQ(faults_of(files), "");
  EXPECT_EQ(
      faults_of(with(files, "components/library/attn_decode.yaml", "node: v_heads", "node: v")),
      "specs/components/library/attn_decode.yaml:7:7: [wiring] the cache keeps 'v', which node 'v_heads' "
      "(layers.*.attn.v_heads) looks at by heads; expected the value as attention reads it; keep "
      "'v_heads'\n"
      "specs/components/library/attn.yaml:7:7: [wiring] prefill keeps 'v_heads' "
      "(layers.*.attn.v_heads) as value, 64 elements within d_window; expected the same entry in "
      "decode; give a component and its decode variant the same cache\n"
      "specs/components/library/attn_decode.yaml:7:7: [wiring] decode keeps 'v' (layers.*.attn.v) as "
      "value, 64 elements within d_window; expected the same entry in prefill; give a component and "
      "its decode variant the same cache\n");
}

TEST(Wiring, Routing) {
  expect_each({
      {kRouted, "active: top_k", "active: top_k + 1",
       "specs/components/library/routed.yaml:8:3: [wiring] node 'experts' (layers.*.mlp.experts.*) lets "
       "each token use 3 copies, and 'dispatch' hands it 2 of each; expected as many as are chosen\n"},
      {kRouted, ", split: tokens", "",
       "specs/components/library/routed.yaml:8:3: [analysis] node 'experts' has 'active' without 'split'; "
       "expected split: tokens, so that each copy works on its share of them\n"},
      {kRouted, "in: [x, chosen]", "in: [x, weights]",
       "specs/components/library/routed.yaml:7:3: [wiring] node 'dispatch' (layers.*.mlp.dispatch) chooses "
       "by 'weights', which is no choice; expected positions that a topk made\n"},
      {kRouted, "in: logits,", "in: chosen,",
       "specs/components/library/routed.yaml:5:3: [wiring] node 'logits' (layers.*.mlp.logits) is computed "
       "and never read; expected a reader, or a place among the outputs; read it, or leave it out\n"
       "specs/components/library/routed.yaml:6:3: [wiring] node 'weights' (layers.*.mlp.weights) computes "
       "with the positions that 'chosen' chose; expected the values at those positions; take them first\n"},
      {kRouted, "in: [gate, chosen]", "in: [x, chosen]",
       "specs/components/library/routed.yaml:5:3: [wiring] node 'logits' (layers.*.mlp.logits) takes from "
       "64 values of 'mid'; expected 6, those that 'chosen' chose among\n"},
  });
}

TEST(Wiring, Roles) {
  expect_each(
      {
          {kModel, ", role: head", "",
           "specs/models/small.yaml:9:13: [wiring] node 'head' (head) stores 'weight' and has no role; "
           "expected a role of specs/roles.yaml, which its totals stand under\n"},
          {kModel, "role: head", "role: norm",
           "specs/models/small.yaml:9:13: [wiring] node 'head' (head) of op 'linear' has the role 'norm'; "
           "expected a role that such an op may have\n"},
          {kModel, "role: head", "role: attention",
           "specs/models/small.yaml:9:13: [wiring] node 'head' (head) has the role 'attention' of a "
           "component; "
           "expected a role that fills no slot\n"},
          {kBlock, ", role: norm", "",
           "specs/components/library/block.yaml:4:3: [wiring] node 'norm' (layers.*.norm) of op 'rmsnorm' "
           "has "
           "the role 'block'; expected a role for what it is: this one is for templates\n"},
          {kRouted, "role: routed_experts", "role: expert",
           "specs/components/library/routed.yaml:8:3: [wiring] node 'experts' (layers.*.mlp.experts.*) has "
           "the "
           "role 'expert' and shares tokens out to copies; expected a role of copies: routed_experts\n"},
          {kRouted, ", role: routed_experts", "",
           "specs/components/library/routed.yaml:8:3: [wiring] node 'experts' (layers.*.mlp.experts.*) has "
           "the "
           "role 'expert' and shares tokens out to copies; expected a role of copies: routed_experts\n"},
          {kBlock, "mlp: { slot: ffn, in: mid }", "mlp: { component: expert, in: mid, role: routed_experts }",
           "specs/components/library/block.yaml:7:3: [wiring] node 'mlp' (layers.*.mlp) has the role "
           "'routed_experts' and no copies that share tokens out; expected another role, or copies with "
           "split: "
           "tokens\n"},
          {kBlock, "mlp: { slot: ffn, in: mid }", "mlp: { component: expert, in: mid, path: \"\" }",
           "specs/components/library/block.yaml:7:3: [wiring] node 'mlp' (layers.*) has no path of its own "
           "and "
           "the role 'expert'; expected 'block', that of what it is a part of; state a role where it is "
           "another\n"},
          {kBlock, "mlp: { slot: ffn, in: mid }", "mlp: { component: routed, in: mid }",
           "specs/components/library/block.yaml:7:3: [wiring] node 'mlp' (layers.*.mlp) calls a component by "
           "name and has the role 'ffn_moe' of a slot; expected a role of its own, such as shared_experts\n"},
      },
      kOthers);
}

}  // namespace
}  // namespace archlight::guard::testing
