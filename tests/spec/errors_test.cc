// Faulty declarations and the whole message of each: where, what is wrong, what was expected, how to fix it.
#include <gtest/gtest.h>

#include "support/made_up.h"

namespace archlight::testing {
namespace {

// Loads everything, components included, and binds.
std::string outcome(const Made& made) {
  const base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(made.files);
  if (!library) return messages(library.faults());
  for (const std::string& name : (*library)->component_names())
    if (const auto component = (*library)->any_component(name); !component)
      return messages(component.faults());
  const base::Result<Bound> bound = bind_to(*library, "tiny", made.config);
  return bound ? "ok" : messages(bound.faults());
}

const char* const kModel = "models/tiny.yaml";
const char* const kMix = "components/library/mix.yaml";
const char* const kMlp = "components/library/mlp.yaml";

void check(std::span<const Bend> rows, const Made& made = tiny()) {
  check_bends(outcome, rows, made);
}

TEST(SpecErrors, Yaml) {
  const Bend rows[] = {
      {kMlp, "role: ffn_dense", "role: ffn_dense\nrole: ffn_dense",
       "specs/components/library/mlp.yaml:2:1: the key 'role' stands twice in one map; expected each key "
       "once; remove one of the two"},
      {kMlp, "{ op: silu, in: gate, dim: d_ff }", "{ op: silu, in: gate, op: mul }",
       "specs/components/library/mlp.yaml:5:32: the key 'op' stands twice in one map; expected each key "
       "once; remove one of the two"},
      {kMlp, "{ op: silu, in: gate, dim: d_ff }", "{ op: silu, in: gate",
       "specs/components/library/mlp.yaml:6:8: not valid YAML: while parsing a flow mapping, did not find "
       "expected "
       "',' or '}'"},
      {kMlp, "in: gate, dim: d_ff", "in: &g gate, dim: d_ff",
       "specs/components/library/mlp.yaml:5:26: an anchor ('&name'); expected a plain value; write values "
       "out: specs name a place for every value"},
      {kMlp, "role: ffn_dense", "role: [ffn_dense]",
       "specs/components/library/mlp.yaml:1:7: 'role' of component 'mlp' is a list; expected a text"},
      {kMlp, "graph:", "graph: none\nsrc:",
       "specs/components/library/mlp.yaml:2:8: 'graph' of component 'mlp' is 'none'; expected a map of node "
       "names to nodes\nspecs/components/library/mlp.yaml:4:3: 'src' of component 'mlp' is a map; expected a "
       "text"},
  };
  check(rows);
}

TEST(SpecErrors, Components) {
  const Bend rows[] = {
      {kMlp, "role: ffn_dense\n", "",
       "specs/components/library/mlp.yaml:1:1: component 'mlp' has no 'role'; expected 'role': a text"},
      {kMlp, "role: ffn_dense", "role: ffn_dens",
       "specs/components/library/mlp.yaml:1:7: unknown role 'ffn_dens'; expected one of attention, block, "
       "expert, ffn_dense, head; did you mean 'ffn_dense'?"},
      {kMlp, "outputs:", "output:",
       "specs/components/library/mlp.yaml:8:1: unknown key 'output' in component 'mlp'; expected one of "
       "axioms, cache, custom_ops, decode_variant, graph, outputs, reads, role, src, stream_out, variant_of, "
       "weights; "
       "did you mean 'outputs'?"},
      {kMlp, "{ op: silu, in: gate", "{ op: silu, inn: gate",
       "specs/components/library/mlp.yaml:5:22: unknown key 'inn' in node 'act'; expected one of active, "
       "apart, "
       "bias, chunk, component, copies, dim, dims, in, mask, op, path, phase, ratio, role, slot, split, src, "
       "tied_to, "
       "tied_when, weight_axes, weight_of, when, window; did you mean 'in'?"},
      {kMlp, "{ op: silu, in: gate, dim: d_ff }", "silu",
       "specs/components/library/mlp.yaml:5:10: node 'act' is 'silu'; expected a map"},
      {kMlp, "{ op: silu, in: gate, dim: d_ff }", "{ in: gate, dim: d_ff }",
       "specs/components/library/mlp.yaml:5:3: node 'act' says neither op, component nor slot; expected "
       "exactly one of them"},
      {kMlp, "{ op: silu, in: gate, dim: d_ff }", "{ op: silu, slot: ffn, in: gate }",
       "specs/components/library/mlp.yaml:5:3: node 'act' says more than one of op, component, slot; "
       "expected exactly one of them"},
      {kMlp, "in: [act, up]", "in: [act, {up: 1}]",
       "specs/components/library/mlp.yaml:6:31: an operand is a map; expected the name of a node or input"},
      {kMlp, "in: [act, up]", "in: [act, 'up |']",
       "specs/components/library/mlp.yaml:6:31: an empty name in 'up |'; expected a name, or 'a | b' for the "
       "first that exists"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: 'd_ff *'",
       "specs/components/library/mlp.yaml:5:44: the formula ends too early; expected a number, a name or "
       "'('"},
      {kMlp, "in: gate, dim: d_ff", "in: gate, dim: [d_ff]",
       "specs/components/library/mlp.yaml:5:37: a list where a formula belongs; expected an expression over "
       "dims, as in \"n_heads * d_head\""},
      {kMlp, "{ op: silu, in: gate, dim: d_ff }", "{ op: silu, in: gate, dims: d_ff }",
       "specs/components/library/mlp.yaml:5:38: 'dims' of node 'act' is 'd_ff'; expected a map of axis names "
       "to formulas"},
      {kMlp, "{ op: silu, in: gate, dim: d_ff }", "{ component: mlp, in: gate, active: 2 }",
       "specs/components/library/mlp.yaml:5:3: node 'act' has 'active' without 'copies'; expected copies: "
       "how many stand side by side"},
      {kMix, "in: [q, k] }", "in: [q, k], window: 4, chunk: 4 }",
       "specs/components/library/mix.yaml:10:11: node 'scores' has a window and a chunk; expected one of the "
       "two"},
      {kMix, "in: [q, k] }", "in: [q, k], mask: casual }",
       "specs/components/library/mix.yaml:10:52: mask is 'casual'; expected causal or none; did you mean "
       "'causal'?"},
      {kMix, "kind: key }", "kind: key, window: 4, ratio: 2 }",
       "specs/components/library/mix.yaml:2:33: a cache entry with two growth laws; expected one of window, "
       "chunk, ratio, fixed, or none for per-token growth"},
      {kMix, "kind: key }", "kind: key, windw: 4 }",
       "specs/components/library/mix.yaml:2:55: unknown key 'windw' in a cache entry; expected one of chunk, "
       "dtype, "
       "fixed, "
       "kind, node, ratio, when, window; did you mean 'window'?"},
      {kMix, "entries: [{ node: k, kind: key }, { node: v, kind: value }]", "entries: { node: k, kind: key }",
       "specs/components/library/mix.yaml:2:32: 'entries' of the cache is a map; expected a list of {node, "
       "kind}"},
      {kMix, "in: merged, dims:",
       "in: merged, weight_axes: [{ replicated: true }, { replicated: true, world: attention }], dims:",
       "specs/components/library/mix.yaml:14:73: a weight axis is neither replicated nor split, or both; "
       "expected {replicated: true} or {world: NAME, parts: FORMULA}"},
      {kMix, "in: merged, dims:",
       "in: merged, weight_axes: [{ world: attenton, parts: n_heads }, { replicated: true }], dims:",
       "specs/components/library/mix.yaml:14:3: unknown world 'attenton' in the weight axes of node "
       "'o_proj'; expected one of attention, dense_ffn, expert, expert_copies, embedding, context; did you "
       "mean 'attention'?"},
      {kMix, "in: merged, dims:",
       "in: merged, weight_axes: [{ world: attention, parts: n_heads, fit: evn }, { replicated: true }], "
       "dims:",
       "specs/components/library/mix.yaml:14:3: unknown fit 'evn' in the weight axes of node 'o_proj'; "
       "expected one of even, replica_cells; did you mean 'even'?"},
  };
  check(rows);
}

TEST(SpecErrors, CustomOps) {
  const Made made = tiny().with(kMlp, "graph:",
                                "custom_ops:\n  twice: { shape: 'preserve: [*r,dim] -> [*r,dim]', flops: "
                                "r*dim, source: two times }\ngraph:");
  const Bend rows[] = {
      {kMlp, "source: two times", "partial: each, source: two times", "ok"},
      {kMlp, "preserve: [*r,dim] -> [*r,dim]", "explicit: [*r,dim] -> [*r,dim]",
       "specs/components/library/mlp.yaml:3:10: custom op 'twice' is of kind explicit; expected one of "
       "preserve, broadcast, axis_replace, axis_select, axis_concat, contract, permute; source and explicit "
       "ops are built in, since their map cannot be read off a pattern"},
      {kMlp, "'preserve: [*r,dim] -> [*r,dim]'", "'source: -> [B,dim]'",
       "specs/components/library/mlp.yaml:3:10: the flops of op 'twice' name 'r', which its shape and params "
       "lack; expected a name of the row"},
      {kMlp, "twice:", "silu:",
       "specs/components/library/mlp.yaml:3:3: custom op 'silu' has the name of a built-in op; expected a "
       "name of its own"},
      {kMlp, ", source: two times", "",
       "specs/components/library/mlp.yaml:3:10: custom op 'twice' has no 'source'; expected 'source': a "
       "text"},
      {kMlp, "flops: r*dim", "flops: r*dam",
       "specs/components/library/mlp.yaml:3:10: the flops of op 'twice' name 'dam', which its shape and "
       "params lack; expected a name of the row; did you mean 'dim'?"},
      {kMlp, "source: two times", "unit: tensor, source: two times",
       "specs/components/library/mlp.yaml:3:10: unit is 'tensor'; expected matmul, vector or move"},
      {kMlp, "source: two times", "partial: both, source: two times",
       "specs/components/library/mlp.yaml:3:10: partial is 'both'; expected each, together or none"},
  };
  check(rows, made);
}

TEST(SpecErrors, Models) {
  const Bend rows[] = {
      {kModel, "components:", "componets:",
       "specs/models/tiny.yaml:2:1: unknown key 'componets' in model 'tiny'; expected one of adapter, "
       "buffers, components, dims, drafts, holds, ignores, lists, match, max_context, model, note, optional, "
       "phases, quant_context, src; did you mean "
       "'components'?"},
      {kModel, "  d_model: config.hidden\n", "  d_model: {}\n",
       "specs/models/tiny.yaml:7:3: dim 'd_model' has no origin; expected config: KEY, or a formula"},
      {kModel, "  d_model: config.hidden\n", "  d_model: { config: hidden, default: 8 }\n",
       "specs/models/tiny.yaml:7:3: the default of dim 'd_model' has no source; expected source: where "
       "upstream says so; name the file and line that sets it"},
      {kModel, "  d_model: config.hidden\n", "  d_model: { confg: hidden, formula: 8 }\n",
       "specs/models/tiny.yaml:7:14: unknown key 'confg' in dim 'd_model'; expected one of config, default, "
       "entries, formula, is, source, unset, when_null; did you mean 'config'?"},
      {kModel, "  d_model: config.hidden\n", "  d_model: [config.hidden]\n",
       "specs/models/tiny.yaml:7:12: dim 'd_model' is a list; expected a map"},
      {kModel, "- { name: norm, op: rmsnorm", "- { op: rmsnorm",
       "specs/models/tiny.yaml:19:5: an entry of 'model' has no name; expected name: NAME"},
      {kModel, "- name: layers\n", "- nam: layers\n",
       "specs/models/tiny.yaml:15:5: a layer stack has no 'name'; expected 'name': a text; did you mean "
       "'nam'?\nspecs/models/tiny.yaml:15:5: unknown key 'nam' in a layer stack; expected one of apart, "
       "block, first_index, inputs, layers, name, path, per_layer, phase, repeat, streams; did you mean "
       "'name'?"},
      {kModel, "streams: { hidden: { carries: true } }", "streams: [hidden]",
       "specs/models/tiny.yaml:18:14: 'streams' of a layer stack is a list; expected a map of stream names"},
      {kModel, "hidden: { carries: true }", "hidden: { carries: yes }",
       "specs/models/tiny.yaml:18:35: 'carries' of stream 'hidden' is 'yes'; expected true or false"},
      {kModel, "hidden: { carries: true }", "hidden: { from: out }",
       "specs/models/tiny.yaml:18:16: stream 'hidden' takes from 'out' on no layer; expected before: or "
       "after: every, a config key, or a list of layers"},
      {kModel, "hidden: { carries: true }",
       "hidden: { carries: true }, kept: { from: out, after: every, read: eech, src: s }",
       "specs/models/tiny.yaml:18:49: read is 'eech'; expected each, all or concat; did you mean 'each'?"},
      {kModel, "hidden: { carries: true }", "hidden: { carries: true, read: all }",
       "specs/models/tiny.yaml:18:16: stream 'hidden' carries and is appended too; expected {carries: true}, "
       "or "
       "{from: NAME, after: LAYERS, read: MODE, src: TEXT}"},
      {kModel, "hidden: { carries: true }", "hidden: { carries: true }, kept: { after: every, src: s }",
       "specs/models/tiny.yaml:18:43: stream 'kept' takes from nothing; expected from: a carried stream, "
       "out, or a "
       "node of the block"},
      {kModel, "hidden: { carries: true }",
       "hidden: { carries: true }, kept: { from: out, after: every, before: every, src: s }",
       "specs/models/tiny.yaml:18:43: stream 'kept' takes both before and after layers; expected before: "
       "what enters "
       "a layer, or after: what leaves it"},
      {kModel, "hidden: { carries: true }",
       "hidden: { carries: true }, kept: { from: out, after: 3, src: s }",
       "specs/models/tiny.yaml:18:69: 'after' of stream 'kept' is '3'; expected every, {every: N}, "
       "config.KEY, or a "
       "list of layers"},
      {kModel, "hidden: { carries: true }", "hidden: { carries: true }, kept: { from: out, after: every }",
       "specs/models/tiny.yaml:18:43: stream 'kept' has no src; expected src: the line of the forward source "
       "that "
       "hands it over"},
      {kModel, "hidden: { carries: true }", "hidden: { carries: true }, kept: { shape: [B, d_model] }",
       "specs/models/tiny.yaml:18:43: stream 'kept' has no src; expected src: the line of the forward source "
       "that "
       "hands it over"},
      {kModel, "hidden: { carries: true }", "hidden: { carries: true }, kept: { src: s }",
       "specs/models/tiny.yaml:18:43: stream 'kept' has a src and no origin; expected {shape: [...], src: "
       "TEXT} "
       "where components publish it, {from: NAME, after: LAYERS, src: TEXT} where it is appended"},
      {kModel, "hidden: { carries: true }",
       "hidden: { carries: true }, kept: { shape: [B, d_model], read: all, src: s }",
       "specs/models/tiny.yaml:18:43: stream 'kept' is published by components and has a read mode; expected "
       "{shape: "
       "[...], src: TEXT}: a later layer reads the last value; or from: with read:"},
      {kModel, "hidden: { carries: true }",
       "hidden: { carries: true }, kept: { from: out, after: every, index: token, src: s }",
       "specs/models/tiny.yaml:18:43: stream 'kept' counts its elements by 'token'; expected index: block, "
       "or no "
       "index: layers of the stack from 0"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: { rest: true, ffn: mlp }\n",
       "specs/models/tiny.yaml:18:13: 'layers' of a layer stack is a map; expected a list of rules"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ count: 1, rest: true, ffn: mlp }]\n",
       "specs/models/tiny.yaml:18:14: a layer rule with 2 conditions; expected exactly one of count, where, "
       "config, listed, rest; where may stand beside config or listed"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ ffn: mlp }]\n",
       "specs/models/tiny.yaml:18:14: a layer rule with 0 conditions; expected exactly one of count, where, "
       "config, listed, rest; where may stand beside config or listed"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ config: kinds, ffn: mlp }]\n",
       "specs/models/tiny.yaml:18:14: a layer rule with config but no equals; expected {config: KEY, equals: "
       "TEXT}"},
      {kModel, "inputs: [embed]\n",
       "inputs: [embed]\n    layers: [{ rest: true, optional: true, ffn: mlp }]\n",
       "specs/models/tiny.yaml:18:14: a layer rule is optional without a list of the config; expected "
       "optional: "
       "true beside config and equals; a list of 'listed' may always be absent"},
      {kModel, "inputs: [embed]\n",
       "inputs: [embed]\n    layers: [{ config: kinds, equals: a, optional: no, ffn: mlp }]\n",
       "specs/models/tiny.yaml:18:52: 'optional' is 'no'; expected optional: true"},
      {kModel, "model:\n", "phases: [decode]\nmodel:\n",
       "specs/models/tiny.yaml:13:9: 'phases' is not [prefill]; expected phases: [prefill] where decode has "
       "no "
       "meaning, or no such key"},
      {kModel, "inputs: [embed]\n", "inputs: [embed]\n    layers: [{ rest: false, ffn: mlp }]\n",
       "specs/models/tiny.yaml:18:22: 'rest' is 'false'; expected rest: true"},
      {kModel, "model:\n", "quant_context: { per_role: { default: none } }\nmodel:\n",
       "specs/models/tiny.yaml:13:39: the choice for role 'default' is 'none'; expected {method: NAME}"},
      {kModel, "model:\n", "quant_context: { per_role: { default: { group_size: 32 } } }\nmodel:\n",
       "specs/models/tiny.yaml:13:39: the choice for role 'default' has no method; expected method: a scheme "
       "of specs/quant, none, or declared"},
      {kModel, "model:\n", "quant_context: { override: [{ dtype: F32 }] }\nmodel:\n",
       "specs/models/tiny.yaml:13:29: a quant override names no nodes; expected nodes: [path, ...]"},
      {kModel, "model:\n", "quant_context: { override: { nodes: [norm] } }\nmodel:\n",
       "specs/models/tiny.yaml:13:28: 'override' of 'quant_context' is a map; expected a list of {nodes, "
       "method or dtype}"},
      {kModel, "model:\n", "quant_context: { default_dtype: BF17 }\nmodel:\n",
       "specs/models/tiny.yaml:13:16: unknown dtype 'BF17'; expected a safetensors dtype such as BF16, F16, "
       "F32, F8_E4M3"},
      {kModel, "model:\n", "buffers: [{ path: freq, shape: [4], source: s }]\nmodel:\n",
       "specs/models/tiny.yaml:13:11: a buffer has no dtype; expected dtype: F32, or a list of those seen"},
      {kModel, "model:\n",
       "buffers: [{ path: freq, shape: [4], or_shape: [8], dtype: F32, source: s }]\nmodel:\n",
       "specs/models/tiny.yaml:13:11: a buffer that is always stored has an 'or_shape'; expected optional: "
       "true; "
       "files or a total tell which shape it has"},
      {kModel, "model:\n", "buffers: { path: freq }\nmodel:\n",
       "specs/models/tiny.yaml:13:10: 'buffers' of model 'tiny' is a map; expected a list of {path, shape, "
       "dtype, source}"},
  };
  check(rows);
}

TEST(SpecErrors, Tables) {
  const Bend rows[] = {
      {"dims.yaml", "head_count", "head_cout",
       "specs/dims.yaml:1:10: unknown dim kind 'head_cout'; expected one of head_count, width, whole, "
       "expert_count, vocab, layer_count, window, count, flag, ratio, switch; did you mean 'head_count'?"},
      {"dims.yaml", "[attention]", "[attentions]",
       "specs/dims.yaml:1:10: unknown world 'attentions'; expected one of attention, dense_ffn, expert, "
       "expert_copies, embedding, context; did you mean 'attention'?"},
      {"dims.yaml", "kind: head_count, ", "",
       "specs/dims.yaml:1:10: dim 'n_heads' has no 'kind'; expected 'kind': a text"},
      {"roles.yaml", "expert: { meaning: m }", "expert: { fills: ffn }",
       "specs/roles.yaml:3:9: role 'expert' has no 'meaning'; expected 'meaning': a text"},
  };
  check(rows);
  const std::string scheme =
      "label: l\nsource: s\nscope: { ops: [linear] }\ntensors:\n  - { suffix: .weight, dtype: I8, shape: "
      "[out, in], main: true }\n";
  const Made made =
      tiny().plus("quant/int8.yaml", scheme).plus("adapters/plain.yaml", "paths: { layers: model.layers }\n");
  EXPECT_EQ(outcome(made), "ok");
  const Bend quant[] = {
      {"quant/int8.yaml", ", main: true", "",
       "specs/quant/int8.yaml:1:1: quant scheme 'int8' has 0 main tensors; expected exactly one"},
      {"quant/int8.yaml", "dtype: I8", "dtype: INT8",
       "specs/quant/int8.yaml:5:5: unknown dtype 'INT8'; expected a safetensors dtype such as BF16, F32, "
       "F8_E4M3, U8, I32"},
      {"quant/int8.yaml", "shape: [out, in]", "shape: out",
       "specs/quant/int8.yaml:5:42: 'shape' of a stored tensor is 'out'; expected a list of axes, [] for a "
       "scalar"},
      {"quant/int8.yaml", "shape: [out, in], ", "",
       "specs/quant/int8.yaml:5:5: a stored tensor has no 'shape'; expected a list of axes, [] for a scalar"},
      {"quant/int8.yaml", "scope: { ops", "scope: { op",
       "specs/quant/int8.yaml:3:10: unknown key 'op' in 'scope' of quant scheme 'int8'; expected one of "
       "copies, not_roles, ops, roles; did you mean 'ops'?"},
      {"quant/int8.yaml", "scope:", "declared_by: { quant_method: int8 }\nscope:",
       "specs/quant/int8.yaml:3:14: 'declared_by' of quant scheme 'int8' is a map; expected a list of {key: "
       "value}"},
      {"quant/int8.yaml", "scope:", "ignore: { keys: [skip], match: name }\nscope:",
       "specs/quant/int8.yaml:3:9: match is 'name'; expected path, component or substring"},
      {"adapters/plain.yaml", "paths:", "extends: plain\npaths:",
       "specs/adapters/plain.yaml:1:10: adapter 'plain' extends 'plain', which extends it in turn; expected "
       "a chain with an end"},
      {"adapters/plain.yaml", "paths:", "extends: plane\npaths:",
       "specs/adapters/plain.yaml:1:10: adapter 'plain' extends 'plane', which is unknown; expected one of "
       "plain"},
      {"adapters/plain.yaml", "model.layers", "{ to: model.layers }",
       "specs/adapters/plain.yaml:1:18: the rule for 'layers' has no 'path'; expected 'path': a "
       "text\nspecs/adapters/plain.yaml:1:20: unknown key 'to' in the rule for 'layers'; expected one of "
       "join, parts, path, stacked, transposed"},
  };
  check(quant, made);
  const Made tables =
      tiny()
          .plus("declarations.yaml",
                "- { name: n, when: { m: x }, parts: p, chosen_by: key, source: s, others: whole }\n")
          .plus("counting.yaml",
                "rules:\n  - { name: r, tensors: { scalar: true, dtype: I32 }, times: 0 }\n");
  EXPECT_EQ(outcome(tables), "ok");
  const Bend both[] = {
      {"declarations.yaml", "others: whole", "others: none",
       "specs/declarations.yaml:1:3: others is 'none'; expected plain or whole"},
      {"declarations.yaml", "when: { m: x }", "when: {}",
       "specs/declarations.yaml:1:3: a form of declaration without 'when'; expected {key: value}"},
      {"declarations.yaml", "parts: p, ", "",
       "specs/declarations.yaml:1:3: a form of declaration has no 'parts'; expected 'parts': a text"},
      {"declarations.yaml", "parts: p, chosen_by: key, source: s, others: whole", "scope: wide, source: s",
       "specs/declarations.yaml:1:37: scope is 'wide'; expected open, or no such key"},
      {"declarations.yaml", "others: whole", "scope: open",
       "specs/declarations.yaml:1:30: unknown key 'parts' in a form of declaration; expected one of name, "
       "scope, source, when\nspecs/declarations.yaml:1:40: unknown key 'chosen_by' in a form of declaration; "
       "expected one of name, scope, source, when"},
      {"counting.yaml", "times: 0", "times: many",
       "specs/counting.yaml:2:5: times is 'many'; expected a number from 0 to 99"},
      {"counting.yaml", "dtype: I32", "dtype: INT",
       "specs/counting.yaml:2:25: unknown dtype 'INT'; expected a safetensors dtype"},
      {"counting.yaml", "rules:\n", "index_writers: [{ name: n, dtype: INT, bits: 1, source: s }]\nrules:\n",
       "specs/counting.yaml:1:17: unknown dtype 'INT'; expected a safetensors dtype"},
      {"counting.yaml", "rules:\n", "index_writers: [{ name: n, dtype: BOOL, bits: x, source: s }]\nrules:\n",
       "specs/counting.yaml:1:17: bits is 'x'; expected a number from 0 to 99"},
      {"counting.yaml", "scalar: true", "scaler: true",
       "specs/counting.yaml:2:27: unknown key 'scaler' in 'tensors' of a counting rule; expected one of "
       "apart, buffer, "
       "dtype, main, names, scalar, schemes, tied; did you mean 'scalar'?"},
  };
  check(both, tables);
}

TEST(SpecErrors, Binding) {
  const Bend rows[] = {
      {"config", "\"hidden\": 8, ", "",
       "specs/models/tiny.yaml:7:3: config.json has no 'hidden', which dim 'd_model' reads; expected the key "
       "under the top level"},
      {"config", "\"hidden\"", "\"hiden\"",
       "specs/models/tiny.yaml:7:3: config.json has no 'hidden', which dim 'd_model' reads; expected the key "
       "under the top level; did you mean 'hiden'?"},
      {"config", "\"hidden\": 8", "\"hidden\": null",
       "specs/models/tiny.yaml:7:3: config.hidden is null, which dim 'd_model' reads; expected a number; "
       "state a default if null means one"},
      {"config", "\"hidden\": 8", "\"hidden\": \"eight\"",
       "specs/models/tiny.yaml:7:3: config.hidden is \"eight\", which dim 'd_model' reads; expected a "
       "number"},
      {"config", "\"hidden\": 8", "\"hidden\": {\"size\": 8}",
       "specs/models/tiny.yaml:7:3: config.hidden is {\"size\":8}, which dim 'd_model' reads; expected a "
       "number"},
      {kModel, "d_model: config.hidden", "d_model: n_heads * d_hed",
       "specs/models/tiny.yaml:7:12: dim 'd_model' cannot be evaluated: 'd_hed' is not known here; expected "
       "dims and config keys only; did you mean 'd_head'?"},
      {kModel, "d_model: config.hidden", "d_model: n_heads * config.size",
       "specs/models/tiny.yaml:7:3: dim 'd_model' reads config.size, which the config lacks or which is no "
       "number; expected a number in config.json"},
      {kModel, "d_model: config.hidden", "d_model: d_model + 1",
       "specs/models/tiny.yaml:7:3: dim 'd_model' depends on itself; expected an acyclic definition"},
      {kModel, "d_model: config.hidden", "d_model: d_ff // 2\n  d_inner: d_model * 2", "ok"},
      {kModel, "d_ff: config.inner", "d_ff: d_model * 2\n  d_other: d_ff / 0",
       "specs/models/tiny.yaml:11:12: dim 'd_other' cannot be evaluated: 16 / 0 divides by zero; expected "
       "dims and config keys only"},
      {kModel, "d_model: config.hidden\n  n_heads: config.heads",
       "d_model: n_heads * 4\n  n_heads: d_model / 4",
       "specs/models/tiny.yaml:7:3: dim 'd_model' depends on itself; expected an acyclic definition"},
  };
  check(rows);
}

// One run reports every fault of what it read.
TEST(SpecErrors, AllOfThem) {
  EXPECT_EQ(
      outcome(tiny()
                  .with(kMlp, "{ op: silu, in: gate, dim: d_ff }", "{ op: silu, inn: gate, dimm: d_ff }")
                  .with(kMlp, "role: ffn_dense\n", "")),
      "specs/components/library/mlp.yaml:1:1: component 'mlp' has no 'role'; expected 'role': a "
      "text\nspecs/components/library/mlp.yaml:4:22: unknown key 'inn' in node 'act'; expected one of "
      "active, apart, bias, chunk, component, copies, dim, dims, in, mask, op, path, phase, ratio, role, "
      "slot, "
      "split, src, "
      "tied_to, "
      "tied_when, weight_axes, weight_of, when, window; did you mean "
      "'in'?\nspecs/components/library/mlp.yaml:4:33: unknown key 'dimm' in node 'act'; expected one of "
      "active, apart, bias, chunk, component, copies, dim, dims, in, mask, op, path, phase, ratio, role, "
      "slot, "
      "split, src, "
      "tied_to, "
      "tied_when, weight_axes, weight_of, when, window; did you mean 'dims'?");
}

}  // namespace
}  // namespace archlight::testing
