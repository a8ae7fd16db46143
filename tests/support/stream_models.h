// stream_models.h: made-up models whose layers hand values to each other, one for each way of doing so. Sizes are those
// of tiny(): width 8, 2 heads of 4, inner width 16, 32 words.
#pragma once

#include <map>
#include <string>

#include "support/made_up.h"

namespace archlight::testing {

inline constexpr const char* kModelFile = "models/tiny.yaml";

// tiny() with this model list, blocks and components, its own block left aside.
inline Made model_of(const std::string& components, const std::string& dims, const std::string& entries,
                     const std::map<std::string, std::string>& files, const std::string& config) {
  Made made = tiny();
  made.files[kModelFile] =
      "match: { architectures: [Tiny] }\ncomponents:\n" + components +
      "dims:\n  d_model: config.hidden\n  n_heads: config.heads\n  d_head: config.head_dim\n"
      "  d_ff: config.inner\n  n_layers: config.layers\n  n_vocab: config.words\n" +
      dims + "model:\n" + entries;
  for (const auto& [name, text] : files) made.files["components/library/" + name + ".yaml"] = text;
  return made.with("config", "\"layers\": 3", config);
}

inline constexpr const char* kEmbed =
    "- { name: embed, op: embedding, dims: { vocab: n_vocab, dim: d_model } }\n";
inline constexpr const char* kEnd =
    "- { name: norm, op: rmsnorm, in: layers, dim: d_model }\n"
    "- { name: head, op: linear, in: norm, dims: { in: d_model, out: n_vocab } }\n";

inline Made hyper_connected() {
  return model_of(
      "  block: hc_block\n  ffn: mlp\n", "  n_copies: config.copies\n",
      std::string(kEmbed) +
          "- { name: expanded, op: copies, in: embed, dims: { n: n_copies } }\n"
          "- name: layers\n  repeat: n_layers\n  inputs: [expanded]\n"
          "  streams: { hidden: { carries: true, shape: [B, s_ctx, n_copies, d_model] } }\n"
          "- { name: flat, op: merge_heads, in: layers }\n"
          "- { name: fold, op: linear, in: flat, dims: { in: n_copies * d_model, out: n_copies } }\n"
          "- { name: share, op: sigmoid, in: fold, dim: n_copies }\n"
          "- { name: folded, op: weighted_sum, in: [share, layers] }\n"
          "- { name: norm, op: rmsnorm, in: folded, dim: d_model }\n"
          "- { name: head, op: linear, in: norm, dims: { in: d_model, out: n_vocab } }\n",
      {{"hc_block", R"(role: block
inputs: [hidden]
graph:
  flat:   { op: merge_heads, in: hidden }
  pre:    { op: linear, in: flat, dims: { in: n_copies * d_model, out: n_copies } }
  share:  { op: sigmoid, in: pre, dim: n_copies }
  one:    { op: weighted_sum, in: [share, hidden] }
  mlp:    { slot: ffn, in: one }
  post:   { op: linear, in: flat, dims: { in: n_copies * d_model, out: n_copies } }
  spread: { op: outer, in: [post, mlp] }
  comb:   { op: linear, in: flat, dims: { in: n_copies * d_model, out: n_copies * n_copies } }
  matrix: { op: split_heads, in: comb, dims: { heads: n_copies, width: n_copies } }
  rows:   { op: softmax, in: matrix, dim: n_copies }
  mixed:  { op: mix_copies, in: [rows, hidden] }
  out:    { op: add, in: [mixed, spread] }
outputs: [out]
)"}},
      "\"layers\": 3, \"copies\": 2");
}

inline Made two_carried() {
  return model_of("  block: pair\n", "",
                  std::string(kEmbed) +
                      "- name: layers\n  repeat: n_layers\n  inputs: [embed, embed]\n"
                      "  streams: { hidden: { carries: true }, prefix: { carries: true } }\n"
                      "- { name: joined, op: add, in: [layers, prefix] }\n"
                      "- { name: norm, op: rmsnorm, in: joined, dim: d_model }\n"
                      "- { name: head, op: linear, in: norm, dims: { in: d_model, out: n_vocab } }\n",
                  {{"pair", R"(role: block
inputs: [hidden, prefix]
graph:
  y:    { op: linear, in: hidden, dims: { in: d_model, out: d_model } }
  next: { op: add, in: [prefix, y] }
  out:  { op: mul, in: [y, prefix] }
outputs: [out]
stream_out: { prefix: next }
)"}},
                  "\"layers\": 3");
}

inline Made shared_choice(const std::string& third = "") {
  return model_of(
      "  block: layer\n  attention: full\n  ffn: mlp\n", "  n_cand: \"12\"\n  n_top: \"4\"\n",
      std::string(kEmbed) +
          "- name: layers\n  repeat: n_layers\n  inputs: [embed]\n  streams:\n"
          "    hidden: { carries: true }\n"
          "    picked: { shape: [B, s_query, n_top], src: \"`prev_topk` is threaded through the layers\" }\n"
          "  layers:\n    - { where: layer == 0, attention: full, ffn: mlp }\n"
          "    - { where: layer == 3, attention: full, ffn: act" +
          third + " }\n    - { rest: true, attention: shared, ffn: act }\n" + kEnd,
      {{"full", R"(role: attention
graph:
  cand:  { op: linear, in: x, dims: { in: d_model, out: n_cand } }
  best:  { op: topk, in: cand, dims: { in: n_cand, out: n_top } }
  taken: { op: take, in: [cand, best] }
  o:     { op: linear, in: taken, dims: { in: n_top, out: d_model } }
outputs: [o]
stream_out: { picked: best }
)"},
       {"shared", R"(role: attention
reads: [picked]
graph:
  cand:  { op: linear, in: x, dims: { in: d_model, out: n_cand } }
  taken: { op: take, in: [cand, picked] }
  o:     { op: linear, in: taken, dims: { in: n_top, out: d_model } }
outputs: [o]
)"},
       {"act", "role: ffn_dense\ngraph: { y: { op: silu, in: x, dim: d_model } }\noutputs: [y]\n"}},
      "\"layers\": 6");
}

inline constexpr const char* kReader = R"(role: attention
reads: [KIND_k, KIND_v]
graph:
  q_proj: { op: linear, in: x, dims: { in: d_model, out: "n_heads * d_head" } }
  q:      { op: split_heads, in: q_proj, dims: { heads: n_heads, width: d_head } }
  scores: { op: attention_score, in: [q, KIND_k]WINDOW }
  probs:  { op: attention_softmax, in: scoresWINDOW }
  mixed:  { op: attention_apply, in: [probs, KIND_v]WINDOW }
  merged: { op: merge_heads, in: mixed, dims: { heads: n_heads, width: d_head } }
  o_proj: { op: linear, in: merged, dims: { in: "n_heads * d_head", out: d_model } }
outputs: [o_proj]
)";

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// Layers 0 to 3 keep keys and values, in turn of a window of 16 and of everything; 4 and 5 read the last of each kind.
inline Made shared_cache() {
  const std::string own = tiny().files.at("components/library/mix.yaml");
  std::string window = replaced(replaced(own, "kind: key", "kind: key, window: d_window"), "kind: value",
                                "kind: value, window: d_window");
  window = replaced(replaced(replaced(window, "in: [q, k] }", "in: [q, k], window: d_window }"),
                             "in: scores }", "in: scores, window: d_window }"),
                    "in: [probs, v] }", "in: [probs, v], window: d_window }");
  return model_of(
      "  block: layer\n  ffn: mlp\n", "  d_window: \"16\"\n",
      std::string(kEmbed) +
          "- name: layers\n  repeat: n_layers\n  inputs: [embed]\n  streams:\n    hidden: { carries: true }\n"
          "    local_k: { shape: [B, s_ctx, n_heads, d_head], src: '`shared_kv`' }\n"
          "    local_v: { shape: [B, s_ctx, n_heads, d_head], src: '`shared_kv`' }\n"
          "    whole_k: { shape: [B, s_ctx, n_heads, d_head], src: '`shared_kv`' }\n"
          "    whole_v: { shape: [B, s_ctx, n_heads, d_head], src: '`shared_kv`' }\n"
          "  layers:\n    - { where: layer == 4, attention: local_reader }\n"
          "    - { where: layer == 5, attention: whole_reader }\n"
          "    - { where: layer % 2 == 0, attention: local }\n    - { rest: true, attention: whole }\n" +
          kEnd,
      {{"local", window + "stream_out: { local_k: k, local_v: v }\n"},
       {"whole", own + "stream_out: { whole_k: k, whole_v: v }\n"},
       {"local_reader", replaced(replaced(kReader, "KIND", "local"), "WINDOW", ", window: d_window")},
       {"whole_reader", replaced(replaced(kReader, "KIND", "whole"), "WINDOW", "")}},
      "\"layers\": 6");
}

// Neighbours share a cache: even layers keep keys and values, odd ones read those of the layer before.
inline Made paired_cache() {
  const std::string own = tiny().files.at("components/library/mix.yaml");
  return model_of(
      "  block: layer\n  ffn: mlp\n", "",
      std::string(kEmbed) +
          "- name: layers\n  repeat: n_layers\n  inputs: [embed]\n  streams:\n    hidden: { carries: true }\n"
          "    whole_k: { shape: [B, s_ctx, n_heads, d_head], src: '`shared_kv`' }\n"
          "    whole_v: { shape: [B, s_ctx, n_heads, d_head], src: '`shared_kv`' }\n"
          "  layers:\n    - { where: layer % 2 == 0, attention: whole }\n"
          "    - { rest: true, attention: whole_reader }\n" +
          kEnd,
      {{"whole", own + "stream_out: { whole_k: k, whole_v: v }\n"},
       {"whole_reader", replaced(replaced(kReader, "KIND", "whole"), "WINDOW", "")}},
      "\"layers\": 6");
}

// One cache for a whole second half: windowed layers first, of which the last keeps the whole context, and a stack behind
// them whose every layer reads that.
inline Made one_cache() {
  const std::string own = tiny().files.at("components/library/mix.yaml");
  const std::string window =
      replaced(replaced(replaced(replaced(replaced(own, "kind: key", "kind: key, window: d_window"),
                                          "kind: value", "kind: value, window: d_window"),
                                 "in: [q, k] }", "in: [q, k], window: d_window }"),
                        "in: scores }", "in: scores, window: d_window }"),
               "in: [probs, v] }", "in: [probs, v], window: d_window }");
  return model_of(
      "  block: layer\n  ffn: mlp\n", "  d_window: \"16\"\n",
      std::string(kEmbed) +
          "- name: self\n  repeat: n_layers // 2\n  inputs: [embed]\n  block: block\n  streams:\n"
          "    hidden: { carries: true }\n"
          "    whole_k: { shape: [B, s_ctx, n_heads, d_head], src: '`shared_kv`' }\n"
          "    whole_v: { shape: [B, s_ctx, n_heads, d_head], src: '`shared_kv`' }\n"
          "  layers:\n    - { where: layer == n_layers // 2 - 1, attention: whole }\n"
          "    - { rest: true, attention: local }\n"
          "- name: layers\n  repeat: n_layers - n_layers // 2\n  inputs: [self]\n  block: block\n  streams:\n"
          "    hidden: { carries: true }\n    whole_k: {}\n    whole_v: {}\n"
          "  layers: [{ rest: true, attention: whole_reader }]\n" +
          kEnd,
      {{"local", window},
       {"whole", own + "stream_out: { whole_k: k, whole_v: v }\n"},
       {"whole_reader", replaced(replaced(kReader, "KIND", "whole"), "WINDOW", "")}},
      "\"layers\": 6");
}

inline constexpr const char* kDeepStack = R"yaml(- name: visual.blocks
  repeat: n_vis_layers
  streams:
    hidden: { carries: true }
    deepstack: { from: hidden, after: config.vision_config.deepstack_visual_indexes, index: block,
                 src: "if layer_num in self.deepstack_visual_indexes:" }
- name: visual.deepstack_merger_list
  repeat: n_deepstack                    # must equal the number of elements in deepstack
  inputs: [deepstack]                    # iteration j binds element j
  streams:
    deepstack_feat: { from: out, after: every, index: block,
                      src: "deepstack_feature_lists.append(deepstack_feature)" }
)yaml";
inline constexpr const char* kDeepStackReader = R"yaml(- name: language_model.layers
  repeat: n_layers
  streams:
    hidden: { carries: true }
    deepstack_feat: { read: each }       # the injection nodes of the first n_deepstack layers read them one by one
)yaml";

inline Made deep_stack() {
  return model_of(
      "  visual.blocks: tower\n  visual.deepstack_merger_list: merger\n  block: text\n",
      "  n_vis_layers: config.vision_config.depth\n  n_deepstack: \"3\"\n",
      std::string("- { name: patches, op: hidden_input, dims: { dim: d_model } }\n") + kDeepStack + kEmbed +
          "- { name: inputs, op: add, in: [embed, visual.blocks] }\n" + kDeepStackReader +
          "- { name: norm, op: rmsnorm, in: language_model.layers, dim: d_model }\n"
          "- { name: head, op: linear, in: norm, dims: { in: d_model, out: n_vocab } }\n",
      {{"tower", R"(role: block
graph:
  y:   { op: linear, in: x, dims: { in: d_model, out: d_model } }
  out: { op: add, in: [x, y] }
outputs: [out]
)"},
       {"merger", R"(role: block
graph: { y: { op: linear, in: x, dims: { in: d_model, out: d_model } } }
outputs: [y]
)"},
       {"text", R"(role: block
reads: [deepstack_feat]
graph:
  y:        { op: linear, in: x, dims: { in: d_model, out: d_model } }
  second:   { op: add, in: [x, y] }
  injected: { op: add, in: [second, 'deepstack_feat?'] }
outputs: [injected]
)"}},
      "\"layers\": 5, \"vision_config\": {\"depth\": 6, \"deepstack_visual_indexes\": [1, 3, 4]}");
}

// Each block keeps what enters every second layer; a layer mixes what was kept with its own running sum, before the
// mixer and before the network, and starts the sum anew where it is kept.
inline Made weighed_history() {
  return model_of("  block: residual\n  ffn: mlp\n", "  Kar: config.every\n",
                  std::string(kEmbed) + R"yaml(- name: layers
  repeat: n_layers
  inputs: [embed]
  layers:
    - { where: layer % Kar == 0, ffn: mlp, dims: { starts: 1 } }
    - { rest: true, ffn: mlp, dims: { starts: 0 } }
  streams:
    hidden: { carries: true }
    block_residual:
      from: hidden
      before: { every: Kar }               # entries of layers 0, Kar, 2·Kar …
      read: all                            # each layer reads the full history accumulated before it
      src: "block_residual = torch.cat("
- { name: all, op: stack_onto, in: [block_residual, layers] }
- { name: output, component: weigh, in: all }
- { name: norm, op: rmsnorm, in: output, dim: d_model }
- { name: head, op: linear, in: norm, dims: { in: d_model, out: n_vocab } }
)yaml",
                  {{"residual", R"(role: block
inputs: [sum]
reads: [block_residual]
graph:
  before:  { op: stack_onto, in: [block_residual, sum], when: n_block_residual > 0 }
  weighed: { component: weigh, in: before, when: n_block_residual > 0 }
  mixer:   { op: linear, in: 'weighed | sum', dims: { in: d_model, out: d_model } }
  added:   { op: add, in: [sum, mixer], when: starts == 0 }
  first:   { op: stack, in: [sum], when: starts and n_block_residual == 0 }
  grown:   { op: stack_onto, in: [block_residual, sum], when: starts and n_block_residual > 0 }
  behind:  { op: stack_onto, in: ['grown | first | block_residual', 'added | mixer'] }
  again:   { component: weigh, in: behind }
  mlp:     { slot: ffn, in: again }
  out:     { op: add, in: ['added | mixer', mlp] }
outputs: [out]
)"},
                   {"weigh", R"(role: expert
inputs: [cands]
graph:
  norm:   { op: rmsnorm, in: cands, dim: d_model }
  proj:   { op: linear, in: norm, dims: { in: d_model, out: 1 } }
  logits: { op: merge_heads, in: proj }
  probs:  { op: softmax, in: logits }
  mixed:  { op: weighted_sum, in: [probs, cands] }
outputs: [mixed]
)"}},
                  "\"layers\": 5, \"every\": 2");
}

inline Made joined_layers(const std::string& chosen, const std::string& in, const std::string& config = "") {
  return model_of("  block: layer\n  attention: mix\n  ffn: mlp\n", "",
                  std::string(kEmbed) +
                      "- name: layers\n  repeat: n_layers\n  inputs: [embed]\n  streams:\n" +
                      "    hidden: { carries: true }\n    auxiliary: { from: hidden, after: " + chosen +
                      ", read: concat, src: \"`aux_hidden_states`\" }\n" + kEnd +
                      "- { name: fc, op: linear, in: auxiliary, dims: { in: " + in +
                      ", out: d_model }, apart: drafting }\n",
                  {}, "\"layers\": 6" + config);
}

}  // namespace archlight::testing
