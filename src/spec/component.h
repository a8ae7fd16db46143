// component.h: a component is a DAG of ops and other components, in one YAML file.
//
// Keys of a file
//   role           a name of roles.yaml: the slot it may fill
//   inputs         names of its inputs, [x] when absent
//   outputs        the node it hands on; a block may name more behind it, which leave the model
//   cache          {family, entries: [{node, kind, ...growth}]}: what decode keeps of a request. Growth is per token,
//                  or capped by `window: FORMULA` or `chunk: FORMULA`, or one token in `ratio: FORMULA`, or a state when `fixed: true`.
//                  `dtype: NAME` (or 'model', or {config, default, source}) is the element type where it is not the
//                  cache's own. Readers of an entry's node see it over the whole context.
//   decode_variant the component that decode walks in its place; it stores nothing of its own
//   variant_of     the other end of decode_variant
//   graph          name: {op|component|slot: NAME, in: ..., dims: {...}, ...}
//   weights        name: {op, dims}: stored weights that no node reads whole; nodes read parts of them by weight_of
//   custom_ops     rows as in op.h, of the first seven shape kinds
//   reads          streams of the stack around it that are operands of its graph; n_STREAM is the number of values seen
//   stream_out     stream: node, what it publishes to them
//   computes       OP: FORMULA, how many nodes have each vector op: a promise
//   axioms         what its cache keeps, for every context length: comparisons over its own quantities, as
//                  "kv_tokens <= d_window"; {when: FORMULA, holds: TEXT} where it depends on dims
//   src            where the forward pass stands, kept as text
// Node keys
//   in             operands: a name; 'a | b' is the first that exists; 'a?' may be absent
//   dims, dim      axis names of the op, or names a nested component sees, as formulas over dims
//   when           built only where the formula is non-zero; bias: the same for the op's optional parameter
//   copies, active how many copies stand side by side and how many of them one token uses; `split: tokens` shares the
//                  input's token axis out among them, and must be said where a token uses only some
//   weight_of      the node of the base component, or the entry of `weights`, whose stored weight this one reads
//   path           the module path segment in checkpoints, the node's name when absent
//   mask, window   causal (default) or none; the largest distance a query sees
//   phase          prefill: a decode step does not compute it
//   ratio          the keys are entries that stand for so many tokens each; a query sees those that are complete
//   phase          prefill: not part of a decode step
//   chunk          the context is cut into chunks of so many tokens, and a query sees its own alone
//   weight_axes    per weight axis {replicated: true} or {world, parts, fit}
// Errors  Collected, at their place, with the nearest known name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/yaml.h"
#include "expr/formula.h"
#include "spec/op.h"

namespace archlight::spec {

struct NamedFormula {  // a name bound to a formula, as in dims: {in: d_model}
  std::string name;
  expr::Formula formula;
  base::Span at;
};

struct Operand {
  std::vector<std::string> alternatives;
  bool optional = false;
  base::Span at;
};

struct WeightAxis {
  bool replicated = false;
  std::string world;    // which parallel world splits it
  expr::Formula parts;  // into how many units at most
  std::string fit;      // what happens when parts do not divide evenly
};

struct NodeDecl {
  enum class Target { kOp, kComponent, kSlot };
  std::string name;
  base::Span at;
  Target target = Target::kOp;
  std::string target_name;
  base::Span target_at;
  std::vector<Operand> in;
  std::vector<NamedFormula> dims;
  expr::Formula when;
  expr::Formula bias;
  expr::Formula copies;
  expr::Formula active;
  std::string split;
  std::string weight_of;
  std::string role;
  bool has_path = false;
  std::string path;
  std::string mask = "causal";
  expr::Formula window;
  expr::Formula ratio;
  expr::Formula chunk;
  std::vector<WeightAxis> weight_axes;
  expr::Formula tied_when;  // of a weight that repeats another's values
  std::string tied_to;
  std::string apart;  // of a node of a model's list: counted apart from the main model
  bool prefill_only = false;
  std::string src;
  base::Span src_at;
};

struct CacheEntry {
  std::string node;
  std::string kind;
  enum class Growth { kPerToken, kWindow, kChunk, kRatio, kFixed } growth = Growth::kPerToken;
  expr::Formula amount;  // the window, the chunk or the ratio
  expr::Formula when;
  // The element type: the cache's own when `dtype` is empty and no key is named.
  bool model_dtype = false;
  std::optional<base::Dtype> dtype;
  std::string dtype_key, dtype_source;
  base::Span at;
};

// A promise: left RELATION right. `constant` on the right: the left side is the same for every context length.
struct Axiom {
  std::string text;
  enum class Relation { kEqual, kAtMost, kBelow } relation = Relation::kEqual;
  expr::Formula left, right;  // of >= and >, the sides change places; right is empty for `constant`
  expr::Formula when;
  base::Span at;
};

// A promise of what a graph computes: how many of its own nodes have each op of unit vector; of ops that are not named,
// none has.
struct Computes {
  std::vector<NamedFormula> ops;
  base::Span at;
};

struct Component {
  std::string name;
  base::Span at;
  std::string role;
  std::vector<std::string> inputs = {"x"};
  std::vector<std::string> outputs;
  std::string cache_family;
  std::vector<CacheEntry> cache;
  std::string decode_variant;
  base::Span decode_variant_at;
  std::string variant_of;
  std::vector<NodeDecl> graph;
  std::vector<NodeDecl> weights;
  std::vector<Op> custom_ops;
  std::vector<std::pair<std::string, std::string>> stream_out;  // stream, node
  std::vector<base::Span> stream_out_places;                    // of each row above
  std::vector<std::string> reads;
  base::Span reads_at;
  std::vector<Axiom> axioms;
  std::optional<Computes> computes;
  std::string src;
  base::Span src_at;
  bool draft = false;

  // A node of the graph, or an entry of `weights`.
  const NodeDecl* find(std::string_view node) const;
};

// `name` is the file's stem.
base::Result<Component> parse_component(const base::Yaml& root, const std::string& name);

// One entry of a graph or of a model's top level; shared with model.cc.
NodeDecl parse_node(const base::Yaml& node, const std::string& name, const base::Span& name_at,
                    base::Faults& faults);
std::vector<Operand> parse_operands(const base::Yaml& node, base::Faults& faults);
// What a `computes` key promises; `own` are the file's custom ops.
std::optional<Computes> parse_computes(const base::Yaml& node, std::span<const Op> own, base::Faults& faults);
// The value of a `phase` key: whether what stands there is left out of decode steps.
bool parse_prefill_only(const base::Yaml* phase, base::Faults& faults);

}  // namespace archlight::spec
