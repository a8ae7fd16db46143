// made_up.h: a small made-up model that tests bend one line at a time, and the project's own specs.
//
// Made holds the files of specs/ by name and a config. with() replaces one text that must occur exactly once,
// so a test reads as "this line, changed like that".
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/json.h"
#include "spec/binding.h"
#include "spec/library.h"

namespace archlight::testing {

inline std::string messages(const base::Faults& faults) {
  std::string out;
  for (const base::Diagnostic& fault : faults) out += (out.empty() ? "" : "\n") + fault.message();
  return out;
}

inline std::shared_ptr<const base::Json> json(const std::string& text) {
  base::Result<std::shared_ptr<const base::Json>> parsed = base::parse_json(text, "config.json");
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : messages(parsed.faults()));
  return parsed.ok() ? *parsed : nullptr;
}

// specs/ of the project, read once.
inline std::shared_ptr<const spec::Library> own_library() {
  static const std::shared_ptr<const spec::Library> library = [] {
    base::Result<std::shared_ptr<spec::Library>> opened = spec::Library::open(ARCHLIGHT_SOURCE_DIR "/specs");
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : messages(opened.faults()));
    return opened.ok() ? *opened : nullptr;
  }();
  return library;
}

struct Bound {
  std::shared_ptr<const spec::Library> library;
  std::shared_ptr<const spec::Binding> binding;
};

inline base::Result<Bound> bind_to(std::shared_ptr<const spec::Library> library, const std::string& model,
                                   const std::string& config) {
  base::Result<const spec::Model*> found = library->model(model);
  if (!found) return found.faults();
  base::Result<spec::Binding> binding = spec::bind(**found, json(config), nullptr);
  if (!binding) return binding.faults();
  return Bound{library, std::make_shared<const spec::Binding>(std::move(*binding))};
}

struct Made {
  std::map<std::string, std::string> files;
  std::string config;

  Made with(const std::string& file, const std::string& from, const std::string& to) const {
    Made out = *this;
    std::string& text = file == "config" ? out.config : out.files[file];
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << file << " lacks: " << from;
    if (at == std::string::npos) return out;
    EXPECT_EQ(text.find(from, at + 1), std::string::npos) << file << " holds twice: " << from;
    text.replace(at, from.size(), to);
    return out;
  }
  Made plus(const std::string& file, const std::string& text) const {
    Made out = *this;
    out.files[file] = text;
    return out;
  }
  base::Result<Bound> bind() const {
    base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(files);
    if (!library) return library.faults();
    return bind_to(*library, "tiny", config);
  }
};

// Two heads of width 4 on a hidden size of 8, a gated network of width 16, three layers, 32 words.
inline Made tiny() {
  Made made;
  made.config =
      R"({"hidden": 8, "heads": 2, "head_dim": 4, "inner": 16, "layers": 3, "words": 32, "dtype": "bfloat16"})";
  made.files["roles.yaml"] = R"(attention: { fills: attention, meaning: m }
ffn_dense: { fills: ffn, meaning: m }
expert: { meaning: m }
block: { meaning: m }
head: { meaning: m }
)";
  made.files["dims.yaml"] = "n_heads: { kind: head_count, shardable_by: [attention] }\n";
  made.files["models/tiny.yaml"] = R"(match: { architectures: [Tiny] }
components:
  attention: mix
  ffn: mlp
  block: layer
dims:
  d_model: config.hidden
  n_heads: config.heads
  d_head: config.head_dim
  d_ff: config.inner
  n_layers: config.layers
  n_vocab: config.words
model:
  - { name: embed, op: embedding, dims: { vocab: n_vocab, dim: d_model } }
  - name: layers
    repeat: n_layers
    inputs: [embed]
    streams: { hidden: { carries: true } }
  - { name: norm, op: rmsnorm, in: layers, dim: d_model }
  - { name: head, op: linear, in: norm, dims: { in: d_model, out: n_vocab } }
)";
  made.files["components/library/layer.yaml"] = R"(role: block
inputs: [hidden]
graph:
  self_attn: { slot: attention, in: hidden }
  first:     { op: add, in: [hidden, self_attn] }
  mlp:       { slot: ffn, in: first }
  second:    { op: add, in: [first, mlp] }
outputs: [second]
)";
  made.files["components/library/mix.yaml"] = R"(role: attention
cache: { family: MHA, entries: [{ node: k, kind: key }, { node: v, kind: value }] }
graph:
  q_proj: { op: linear, in: x, dims: { in: d_model, out: "n_heads * d_head" } }
  k_proj: { op: linear, in: x, dims: { in: d_model, out: "n_heads * d_head" } }
  v_proj: { op: linear, in: x, dims: { in: d_model, out: "n_heads * d_head" } }
  q:      { op: split_heads, in: q_proj, dims: { heads: n_heads, width: d_head } }
  k:      { op: split_heads, in: k_proj, dims: { heads: n_heads, width: d_head } }
  v:      { op: split_heads, in: v_proj, dims: { heads: n_heads, width: d_head } }
  scores: { op: attention_score, in: [q, k] }
  probs:  { op: attention_softmax, in: scores }
  mixed:  { op: attention_apply, in: [probs, v] }
  merged: { op: merge_heads, in: mixed, dims: { heads: n_heads, width: d_head } }
  o_proj: { op: linear, in: merged, dims: { in: "n_heads * d_head", out: d_model } }
outputs: [o_proj]
)";
  made.files["components/library/mlp.yaml"] = R"(role: ffn_dense
graph:
  gate:  { op: linear, in: x, dims: { in: d_model, out: d_ff } }
  up:    { op: linear, in: x, dims: { in: d_model, out: d_ff } }
  act:   { op: silu, in: gate, dim: d_ff }
  gated: { op: mul, in: [act, up] }
  down:  { op: linear, in: gated, dims: { in: d_ff, out: d_model } }
outputs: [down]
)";
  return made;
}

// A text of one file in place of another, and what comes of it.
struct Bend {
  const char* file;
  const char* from;
  const char* to;
  const char* message;
};

// `outcome` is "ok" of the model as it is, and the row's message of each bent one.
inline void check_bends(std::string (*outcome)(const Made&), std::span<const Bend> rows, const Made& made) {
  EXPECT_EQ(outcome(made), "ok");
  for (const Bend& row : rows)
    EXPECT_EQ(outcome(made.with(row.file, row.from, row.to)), row.message) << row.from << " -> " << row.to;
}

}  // namespace archlight::testing
