// What the structural guard says of specs that differ from their config, or declare what nothing uses.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "guard/small.h"

namespace archlight::guard::testing {
namespace {

// The small model, and rows of the table that state what these tests hold against it.
Files stating() {
  Files files = kSmall;
  files["dims.yaml"] += "n_layers: { kind: layer_count, config: num_hidden_layers }\n";
  files["config_keys.yaml"] = R"(keys:
  - { keys: [tie_word_embeddings], is: shape, fact: tied_head, meaning: tied }
  - { keys: [layer_types], is: schedule, fact: layer_kinds, meaning: "kinds of layer",
      values: { sliding_attention: window, full_attention: whole, linear_attention: state, moe: nothing } }
  - { keys: [mlp_layer_types], is: schedule, fact: ffn_kinds, values: { dense: dense, sparse: routed }, meaning: kinds }
  - { keys: [first_k_dense_replace], is: rope, fact: leading_dense, meaning: "leading dense layers" }
  - { keys: [mlp_only_layers], is: schedule, fact: dense_layers, meaning: "dense layers" }
  - { keys: [num_experts], is: rope, fact: experts, off: ["1"], meaning: experts }
  - { keys: [rotary_dim], is: rope, fact: rotary_width, meaning: "rotated part" }
  - { keys: [partial_rotary_factor], is: rope, fact: rotary_fraction, meaning: "rotated share" }
  - { keys: [rope_theta], is: rope, fact: rope_base, unless: { positions: none }, meaning: base }
  - { keys: [no_rope_layers], is: rope, fact: rope_layers, values: { "1": rope, "0": none }, meaning: "0 without" }
  - { keys: [use_nope], is: rope, fact: no_rope, meaning: "no rope" }
  - { keys: [is_causal], is: rope, fact: causal, meaning: mask }
  - { keys: [use_bidirectional_attention], is: rope, fact: bidirectional, meaning: mask }
  - { keys: [sliding_window], is: mask, fact: window, meaning: window }
  - { keys: [use_sliding_window], is: rope, fact: window_in_use, meaning: "in use" }
  - { keys: [max_window_layers], is: rope, fact: window_from, meaning: "from here on" }
  - { keys: [qk_norm], is: norm, fact: qk_norm, meaning: norms }
  - { keys: [hidden_act], is: activation, fact: activation, meaning: activation, values: { silu: silu sigmoid, gelu: gelu } }
  - { keys: [full_every], is: rope, fact: whole_every, meaning: "each so many-th" }
  - { keys: [scoring_func], is: routing, fact: router_score, values: { sigmoid: sigmoid, softmax: softmax }, meaning: scores }
  - { keys: [norm_topk_prob], is: routing, fact: router_norm, meaning: norm }
  - { keys: [routed_scaling_factor], is: scaling, fact: router_factor, off: ["1.0"], meaning: factor }
  - { keys: [rms_norm_eps], is: norm, fact: rms_norm, meaning: epsilon }
  - { keys: [rope_parameters], is: group, meaning: rope }
)";
  return files;
}

std::string faults(const std::string& more, const Files& files = stating()) {
  return lines_of(report_of(files, more));
}

TEST(Structural, DimsAreThoseOfTheirKeys) {
  EXPECT_EQ(faults("{}"), "");
  EXPECT_EQ(faults("{}", with(stating(), kModel, "top_k: config.num_experts_per_tok", "top_k: \"3\"")),
            "specs/models/small.yaml:4:9: [structural] dim 'top_k' is 3; expected 2, "
            "config.num_experts_per_tok; bind it to that key\n");
}

TEST(Structural, AHeadIsTiedWhereTheConfigSaysSo) {
  EXPECT_EQ(faults(R"({"tie_word_embeddings": false})"), "");
  const std::string said = faults(R"({"tie_word_embeddings": true})");
  EXPECT_NE(said.find("specs/models/small.yaml:9:13: [structural] 'head' is not tied to 'embed'; expected "
                      "config.tie_word_embeddings, which is true; let tied_when follow that key\n"),
            std::string::npos)
      << said;
}

TEST(Structural, ListedLayersKeepWhatTheirTypeSays) {
  EXPECT_EQ(faults(R"({"layer_types": ["sliding_attention", "sliding_attention"]})"), "");
  const auto said = [](const char* type) {
    return faults(fmt::format(R"({{"layer_types": ["sliding_attention", "{}"]}})", type));
  };
  EXPECT_EQ(said("full_attention"),
            "specs/components/library/block.yaml:1:1: [structural] layer 1 of stack 'layers' keeps a window; "
            "expected the whole context, since config.layer_types says full_attention; let a layer rule "
            "follow that list\n");
  EXPECT_EQ(said("linear_attention"),
            "specs/components/library/block.yaml:1:1: [structural] layer 1 of stack 'layers' keeps a window; "
            "expected a state, since config.layer_types says linear_attention; let a layer rule follow that "
            "list\n");
  EXPECT_EQ(said("moe"),
            "specs/components/library/block.yaml:1:1: [structural] layer 1 of stack 'layers' keeps a window; "
            "expected nothing, since config.layer_types says moe; let a layer rule follow that list\n");
}

// Both layers of the small model keep a window.
TEST(Structural, EachSoManyThLayerKeepsTheWholeContext) {
  EXPECT_EQ(faults(R"({"full_every": 3})"), "");
  EXPECT_EQ(faults(R"({"full_every": 2})"),
            "specs/components/library/block.yaml:1:1: [structural] layer 1 of stack 'layers' keeps a window; "
            "expected the whole context, since config.full_every is 2; let a layer rule follow that key\n");
}

TEST(Structural, RoutedLayersAreThoseThatTheConfigSays) {
  EXPECT_EQ(faults(R"({"mlp_layer_types": ["sparse", "sparse"], "num_experts": 6})"), "");
  EXPECT_EQ(faults(R"({"mlp_layer_types": ["sparse", "dense"]})"),
            "specs/components/library/block.yaml:1:1: [structural] layer 1 of stack 'layers' has routed "
            "experts; expected none, since config.mlp_layer_types says dense; let a layer rule follow that "
            "key\n");
  EXPECT_EQ(faults(R"({"mlp_only_layers": [0], "num_experts": 6})"),
            "specs/components/library/block.yaml:1:1: [structural] layer 0 of stack 'layers' has routed "
            "experts; expected none, since config.mlp_only_layers lists it; let a layer rule follow that "
            "key\n");
  EXPECT_EQ(faults(R"({"first_k_dense_replace": 1, "num_experts": 6})"),
            "specs/components/library/block.yaml:1:1: [structural] layer 0 of stack 'layers' has routed "
            "experts; expected none, since config.first_k_dense_replace is 1; let a layer rule follow that "
            "key\n");
  // The same block with one plain network: no layer routes anything, though the config counts experts.
  Files dense = with(with(stating(), kModel, "ffn: routed", "ffn: plain"), kModel,
                     ",\n        top_k: config.num_experts_per_tok", "");
  dense = with(dense, kModel, "n_experts: \"6\", ", "");
  dense["roles.yaml"] += "ffn_dense: { fills: ffn, meaning: \"one network\" }\n";
  dense["components/library/plain.yaml"] =
      "role: ffn_dense\ngraph:\n  up: { op: linear, in: x, dims: { in: d_model, out: d_expert } }\n"
      "  act: { op: silu, in: up, dim: d_expert }\n"
      "  down: { op: linear, in: act, dims: { in: d_expert, out: d_model } }\noutputs: [down]\n";
  EXPECT_EQ(faults(R"({"num_experts_per_tok": null, "num_experts": 1})", dense), "");
  EXPECT_EQ(
      faults(R"({"num_experts_per_tok": null, "num_experts": 6})", dense),
      "specs/components/library/block.yaml:1:1: [structural] no layer has routed experts; expected some, "
      "since config.num_experts is 6\n");
}

// The small model turns whole heads of 16.
TEST(Structural, ARopeTurnsThePartThatTheConfigSays) {
  EXPECT_EQ(faults(R"({"rotary_dim": 16})"), "");
  EXPECT_EQ(faults(R"({"partial_rotary_factor": 1.0})"), "");
  EXPECT_EQ(
      faults(R"({"rotary_dim": 8})"),
      "specs/components/library/attn.yaml:14:3: [structural] node 'q_rope' (layers.*.attn.q_rope) rotates "
      "16 of each head; expected 8, which is config.rotary_dim\n"
      "specs/components/library/attn.yaml:15:3: [structural] node 'k_rope' (layers.*.attn.k_rope) rotates "
      "16 of each head; expected 8, which is config.rotary_dim\n");
  // 0.25 of 16, under the key itself and under that of the layer's own kind.
  const std::string quarter = faults(R"({"rope_parameters": {"partial_rotary_factor": 0.25}})");
  EXPECT_EQ(
      quarter,
      "specs/components/library/attn.yaml:14:3: [structural] node 'q_rope' (layers.*.attn.q_rope) rotates "
      "16 of each head; expected 4, which is config.rope_parameters.partial_rotary_factor = 0.25 of 16\n"
      "specs/components/library/attn.yaml:15:3: [structural] node 'k_rope' (layers.*.attn.k_rope) rotates "
      "16 of each head; expected 4, which is config.rope_parameters.partial_rotary_factor = 0.25 of 16\n");
  const char* by_kind = R"({"layer_types": ["sliding_attention", "sliding_attention"], "rope_parameters":
      {"sliding_attention": {"partial_rotary_factor": 0.5}, "partial_rotary_factor": 1.0}})";
  EXPECT_NE(
      faults(by_kind).find("expected 8, which is "
                           "config.rope_parameters.sliding_attention.partial_rotary_factor = 0.5 of 16"),
      std::string::npos)
      << faults(by_kind);
  // In proportion, the whole head turns, most of it by nothing.
  EXPECT_EQ(faults(R"({"rope_parameters": {"partial_rotary_factor": 0.25, "rope_type": "proportional"}})"),
            "");
}

// Half of each head joined from a rotated and an unrotated part, which neither config nor a source says.
TEST(Structural, AKeyThatAnotherMakesMeaningless) {
  Files still = with(
      with(stating(), kAttn, "in: [q_rope, k_rope]", "in: [q_heads, k_heads]"), kAttn,
      "  q_rope: { op: rope, in: q_heads, dim: d_head }\n  k_rope: { op: rope, in: k_heads, dim: d_head }\n",
      "");
  still = with(still, kAttn, "node: k_rope", "node: k_heads");
  EXPECT_EQ(faults(R"({"rope_theta": 10000, "positions": "none"})", still), "");
  EXPECT_EQ(
      faults(R"({"rope_theta": 10000, "positions": "rotary"})", still),
      "specs/components/library/block.yaml:1:1: [structural] no layer rotates queries and keys; expected "
      "rope, since config.rope_theta is 10000; where the forward pass rotates nothing, ignores: { "
      "rope_theta: WHY }\n");
}

TEST(Structural, APartOfAHeadHasASource) {
  Files files = stating();
  for (const char* side : {"q", "k"}) {
    const std::string heads = std::string(side) + "_heads", rope = std::string(side) + "_rope";
    files = with(files, kAttn, rope + ": { op: rope, in: " + heads + ", dim: d_head }",
                 std::string(side) + "_turn: { op: slice, in: " + heads +
                     ", dims: { in: d_head, out: d_rope } }\n  " + side + "_stay: { op: slice, in: " + heads +
                     ", dims: { in: d_head, out: \"d_head - d_rope\" } }\n  " + side +
                     "_turned: { op: rope, in: " + side + "_turn, dim: d_rope }\n  " + rope +
                     ": { op: concat, in: [" + side + "_turned, " + side + "_stay] }");
  }
  const Files stated = with(files, kModel, "d_head: \"16\"",
                            "d_head: \"16\", d_rope: { formula: \"d_head // 2\", source: made up }");
  const Files unstated = with(files, kModel, "d_head: \"16\"", "d_head: \"16\", d_rope: \"d_head // 2\"");
  EXPECT_EQ(faults("{}", stated), "");
  EXPECT_EQ(faults(R"({"partial_rotary_factor": 0.5})", unstated), "");
  EXPECT_EQ(
      faults("{}", unstated),
      "specs/components/library/attn.yaml:16:3: [structural] node 'q_turned' (layers.*.attn.q_turned) "
      "rotates 8 of each head; expected 16, the whole head, since neither config nor a dim with a source "
      "says a part\n"
      "specs/components/library/attn.yaml:20:3: [structural] node 'k_turned' (layers.*.attn.k_turned) "
      "rotates 8 of each head; expected 16, the whole head, since neither config nor a dim with a source "
      "says a part\n");
}

TEST(Structural, LayersRotateWhereTheConfigSaysSo) {
  EXPECT_EQ(faults(R"({"rope_theta": 10000, "no_rope_layers": [1, 1]})"), "");
  EXPECT_EQ(
      faults(R"({"no_rope_layers": [1, 0]})"),
      "specs/components/library/block.yaml:1:1: [structural] layer 1 of stack 'layers' has rope; expected "
      "none, since config.no_rope_layers says 0\n");
  EXPECT_EQ(faults(R"({"use_nope": true})"),
            "specs/components/library/attn.yaml:14:3: [structural] node 'q_rope' (layers.*.attn.q_rope) "
            "rotates, and config.use_nope is true; expected no rope\n");
  Files still = with(stating(), kAttn, "  q_rope: { op: rope, in: q_heads, dim: d_head }\n", "");
  still = with(still, kAttn, "  k_rope: { op: rope, in: k_heads, dim: d_head }\n", "");
  still = with(still, kAttn, "in: [q_rope, k_rope]", "in: [q_heads, k_heads]");
  still = with(still, kAttn, "node: k_rope", "node: k_heads");
  EXPECT_EQ(faults("{}", still), "");
  EXPECT_EQ(
      faults(R"({"rope_theta": 10000})", still),
      "specs/components/library/block.yaml:1:1: [structural] no layer rotates queries and keys; expected "
      "rope, since config.rope_theta is 10000; where the forward pass rotates nothing, ignores: { "
      "rope_theta: WHY }\n");
  const std::string at = "quant_context: { default_dtype: BF16 }";
  EXPECT_EQ(
      faults(R"({"rope_theta": 10000})",
             with(still, kModel, at, "ignores: { rope_theta: \"no rope in the forward pass\" }\n" + at)),
      "");
}

TEST(Structural, AttentionLooksWhereTheConfigSays) {
  EXPECT_EQ(faults(R"({"is_causal": true})"), "");
  EXPECT_EQ(
      faults(R"({"is_causal": false})"),
      "specs/components/library/attn.yaml:16:3: [structural] node 'scores' (layers.*.attn.scores) has mask "
      "causal; expected none, since config.is_causal is false\n");
  EXPECT_EQ(
      faults(R"({"use_bidirectional_attention": true})"),
      "specs/components/library/attn.yaml:16:3: [structural] node 'scores' (layers.*.attn.scores) has mask "
      "causal; expected none, since config.use_bidirectional_attention is true\n");
  Files both = stating();
  for (const char* op :
       {"scores: { op: attention_score, in: [q_rope, k_rope]", "in: scores", "in: [probs, v_heads]"})
    both = with(both, kAttn, op, std::string(op) + ", mask: none");
  EXPECT_EQ(
      faults("{}", both),
      "specs/components/library/attn.yaml:16:3: [structural] node 'scores' (layers.*.attn.scores) has mask "
      "none; expected causal, since the architecture is SmallForCausalLM\n");
}

// The small model keeps a window of config.sliding_window, 128 where it is silent.
TEST(Structural, AWindowInUseIsSomeLayers) {
  EXPECT_EQ(faults(R"({"sliding_window": 64})"), "");
  EXPECT_EQ(
      faults(R"({"sliding_window": 64, "use_sliding_window": false})"),
      "specs/components/library/attn.yaml:6:7: [structural] the cache entry 'v_heads' "
      "(layers.*.attn.v_heads) keeps a window; expected the whole context, since "
      "config.use_sliding_window is false\n"
      "specs/components/library/attn.yaml:5:7: [structural] the cache entry 'k_rope' (layers.*.attn.k_rope) "
      "keeps a window; expected the whole context, since config.use_sliding_window is false\n");
  const Files fixed =
      with(stating(), kModel, "d_window: { config: sliding_window, default: 128, source: made up }",
           "d_window: \"128\"");
  EXPECT_EQ(
      faults(R"({"sliding_window": 64})", fixed),
      "config.json: [schedule] config.sliding_window is 64 (window), and model 'small' reads no such key; "
      "expected a dim, a layer rule or a stream that reads it; where it changes nothing, ignores: { "
      "sliding_window: WHY }\n"
      "specs/components/library/attn.yaml:6:7: [structural] the cache entry 'v_heads' "
      "(layers.*.attn.v_heads) keeps a window of 128; expected 64, which is config.sliding_window\n"
      "specs/components/library/attn.yaml:5:7: [structural] the cache entry 'k_rope' (layers.*.attn.k_rope) "
      "keeps a window of 128; expected 64, which is config.sliding_window\n");
  EXPECT_EQ(
      faults("{}", fixed),
      "specs/components/library/attn.yaml:6:7: [structural] the cache entry 'v_heads' "
      "(layers.*.attn.v_heads) keeps a window of d_window; expected a window that the config states, or "
      "that a dim gives a source for\n"
      "specs/components/library/attn.yaml:5:7: [structural] the cache entry 'k_rope' (layers.*.attn.k_rope) "
      "keeps a window of d_window; expected a window that the config states, or that a dim gives a source "
      "for\n");
}

TEST(Structural, AConfigThatDeclaresAWindowHasACappedCache) {
  Files whole = stating();
  for (const char* from :
       {"node: k_rope, kind: key, window: d_window", "node: v_heads, kind: value, window: d_window",
        "in: [q_rope, k_rope], window: d_window", "in: scores, window: d_window",
        "in: [probs, v_heads], window: d_window"}) {
    const std::string text = from;
    whole = with(whole, kAttn, text, text.substr(0, text.find(", window")));
  }
  whole = with(whole, kModel, "d_window: { config: sliding_window, default: 128, source: made up }, ", "");
  whole = with(whole, kModel,
               "quant_context:", "holds: { sliding_window: \"n_heads * d_head\" }\nquant_context:");
  EXPECT_EQ(faults("{}", whole), "");
  EXPECT_EQ(faults(R"({"sliding_window": 64, "use_sliding_window": false})", whole), "");
  EXPECT_EQ(faults(R"({"sliding_window": 64, "max_window_layers": 2})", whole), "");
  EXPECT_EQ(faults(R"({"sliding_window": 64, "layer_types": ["full_attention", "full_attention"]})", whole),
            "");
  EXPECT_EQ(
      faults(R"({"sliding_window": 64, "max_window_layers": 1})", whole),
      "specs/components/library/block.yaml:1:1: [structural] no layer keeps a window; expected one of 64, "
      "since config.sliding_window is set and in use; where the forward pass has none, ignores: { "
      "sliding_window: WHY }\n");
}

TEST(Structural, QueriesAndKeysAreNormalisedWhereTheConfigSaysSo) {
  EXPECT_EQ(faults(R"({"qk_norm": false})"), "");
  EXPECT_EQ(
      faults(R"({"qk_norm": true})"),
      "specs/components/library/attn.yaml:16:3: [structural] node 'scores' (layers.*.attn.scores) compares "
      "queries and keys without a norm; expected norms on them, since config.qk_norm is true\n");
  Files normed =
      with(stating(), kAttn, "q_rope: { op: rope, in: q_heads",
           "q_norm: { op: rmsnorm, in: q_heads, dim: d_head, role: norm }\n  q_rope: { op: rope, in: q_norm");
  EXPECT_EQ(faults(R"({"qk_norm": true})", normed), "");
  EXPECT_EQ(
      faults(R"({"qk_norm": false})", normed),
      "specs/components/library/attn.yaml:17:3: [structural] node 'scores' (layers.*.attn.scores) compares "
      "normalised queries and keys; expected no norms on them, since config.qk_norm is false\n");
}

TEST(Structural, AnotherActivationIsAFault) {
  const Files files = with(with(stating(), "components/library/expert.yaml", "  down: { op: linear, in: up",
                                "  act: { op: silu, in: up, dim: d_expert }\n  down: { op: linear, in: act"),
                           kModel, "top_k: config", "top_k: config");
  EXPECT_EQ(faults(R"({"hidden_act": "silu"})", files), "");
  EXPECT_EQ(faults(R"({"hidden_act": "gelu"})", files),
            "specs/components/library/expert.yaml:4:3: [structural] node 'act' (layers.*.mlp.experts.*.act) "
            "computes silu; expected gelu, since config.hidden_act is gelu; where the forward pass computes "
            "another, ignores: { hidden_act: WHY }\n");
}

TEST(Structural, NormsOfTheTrunkTakeNoMeanWhereTheConfigHasAnEpsilonForThat) {
  EXPECT_EQ(faults(R"({"rms_norm_eps": 1e-6})"), "");
  const Files mean = with(stating(), kBlock, "op: rmsnorm, in: hidden, dim: d_model",
                          "op: layernorm, in: hidden, dim: d_model, bias: 1");
  EXPECT_EQ(faults("{}", mean), "");
  EXPECT_EQ(faults(R"({"rms_norm_eps": 1e-6})", mean),
            "specs/components/library/block.yaml:4:3: [structural] node 'norm' (layers.*.norm) is a layer "
            "norm; expected rmsnorm, since config.rms_norm_eps is 1e-06\n");
  // A norm inside attention is not the trunk's.
  EXPECT_EQ(faults(R"({"rms_norm_eps": 1e-6})",
                   with(stating(), kAttn, "q_rope: { op: rope, in: q_heads",
                        "q_norm: { op: layernorm, in: q_heads, dim: d_head, bias: 1, role: norm }\n"
                        "  q_rope: { op: rope, in: q_norm")),
            "");
}

// The small router takes the softmax of the chosen logits: they add up to one, and nothing multiplies them.
TEST(Structural, RoutersDoWhatTheConfigSays) {
  const std::string router =
      "specs/components/library/routed.yaml:1:1: [structural] the router of 'layers.*.mlp' ";
  EXPECT_EQ(faults(R"({"norm_topk_prob": true, "scoring_func": "softmax", "routed_scaling_factor": 1.0})"),
            "");
  EXPECT_EQ(faults(R"({"scoring_func": "grouped"})"), "");
  EXPECT_EQ(faults(R"({"norm_topk_prob": false})"),
            router +
                "makes the chosen scores add up to one; expected the other, since config.norm_topk_prob is "
                "false\n");
  EXPECT_EQ(faults(R"({"scoring_func": "sigmoid"})"),
            router + "does not score by sigmoid; expected sigmoid, since config.scoring_func is sigmoid\n");
  EXPECT_EQ(
      faults(R"({"routed_scaling_factor": 2.5})"),
      router + "multiplies by no factor; expected a scale, since config.routed_scaling_factor is 2.5\n");
  const Files scored = with(stating(), kRouted, "weights: { op: softmax, in: logits, dim: top_k }",
                            "score: { op: sigmoid, in: logits, dim: top_k }\n"
                            "  weights: { op: scale, in: score, dim: top_k }");
  EXPECT_EQ(
      faults(R"({"norm_topk_prob": false, "scoring_func": "sigmoid", "routed_scaling_factor": 2.5})", scored),
      "");
  EXPECT_EQ(faults(R"({"norm_topk_prob": true})", scored),
            router +
                "leaves the chosen scores as they are; expected the other, since config.norm_topk_prob is "
                "true\n");
}

TEST(Structural, ALayerNormStoresABiasOrSaysWhichClassHasNone) {
  const Files bare = with(stating(), kBlock, "op: rmsnorm", "op: layernorm");
  EXPECT_EQ(faults("{}", bare),
            "specs/components/library/block.yaml:4:3: [structural] node 'norm' (layers.*.norm) is a layer "
            "norm that stores no bias; expected a bias, or src: the class whose layer norm has none; "
            "rmsnorm, where there is no mean either\n");
  EXPECT_EQ(
      faults("{}", with(bare, kBlock, "role: norm", "role: norm, src: \"modeling_small.py: SmallNorm\"")),
      "");
}

TEST(Structural, WhatIsDeclaredIsUsed) {
  EXPECT_EQ(
      faults("{}", with(stating(), kModel, "d_head: \"16\"", "d_head: \"16\", d_spare: \"2 * d_head\"")),
      "specs/models/small.yaml:3:67: [structural] dim 'd_spare' is bound and never used; expected a node, a "
      "rule or a dim that names it; use it, or leave it out\n");
  EXPECT_EQ(
      faults("{}", with(stating(), kModel, "attention: attn", "attention: attn, spare: expert")),
      "specs/models/small.yaml:2:39: [structural] component 'spare' of the model is never called; expected "
      "a slot or a layer rule that names it; use it, or leave it out\n");
  EXPECT_EQ(
      faults("{}", with(stating(), "components/library/expert.yaml", "role: expert\n",
                        "role: expert\ncustom_ops: { snap: { shape: \"preserve: [*r,dim] -> [*r,dim]\", "
                        "source: made up } }\n")),
      "specs/components/library/expert.yaml:1:1: [structural] custom op 'snap' of component 'expert' is "
      "never computed; expected a node of that op; use it, or leave it out\n");
  EXPECT_EQ(faults("{}", with(stating(), kModel, "quant_context:", "drafts: [later]\nquant_context:")),
            "specs/models/small.yaml:1:1: [structural] draft 'later' is allowed and never used; expected a "
            "component that is it; use it, or leave it out\n");
}

}  // namespace
}  // namespace archlight::guard::testing
