// model.h: a model fills components into slots, takes its dims from config, and says which layer uses which fill.
//
// Keys of a file
//   match          {architectures: [...], model_types: [...]}: which configs it describes
//   config_roots   where config keys are looked up, first to last; '' is the top ([''] when absent)
//   components     slot: component; a slot of a block template, or a fill that `layers` names
//   dims           name: FORMULA over config.KEY and other dims, or {config: KEY or [KEYS], default: FORMULA,
//                  when_null: FORMULA, is: TEXT, entries: true|TEXT, unset: TEXT, source: TEXT}
//   model          the walk, top to bottom: nodes as in component.h with a name, and stacks
//   quant_context  {per_role, override, default_dtype, scale_dtype, schemes}
//   adapter        a name of specs/adapters, or several: canonical module paths to checkpoint names
//   optional       names of `apart` that not every checkpoint of these configs stores
//   buffers        tensors some exporters store that no op reads: {path, shape, dtype, optional, source}
//   ignores        KEY: REASON: config keys that change nothing here; all beneath them too
//   holds          KEY: FORMULA: config keys that nothing reads, since they must be what the formula says
//   lists          KEY: FORMULA: entries of a per-layer list, where they are not the stack's layers
//   phases         [prefill] of a model that keeps nothing and makes no further token: an encoder, a classifier
//   computes       OP: FORMULA, how many nodes of the list have each vector op: a promise
//   drafts, max_context, src, note
// Keys of a stack
//   name, repeat, inputs (the entry above when absent), streams, block (template; when absent the entry of components
//   with the stack's name, or else 'block'), layers, path, first_index,
//   apart (a name: counted apart from the main model), per_layer (dims of each layer: see bind_layer in binding.h),
//   phase (prefill: not part of a decode step)
//   layers is a list of rules, the first that fits a layer wins:
//     {count: N} the next N layers, {where: FORMULA over `layer`}, {config: KEY or [KEYS], equals: TEXT or [TEXTS],
//     optional: true},
//     {listed: KEY or [KEYS], first: 0 or 1}, {rest: true}; a `where` beside config or listed must hold as well
//   each with slot: fill pairs, and optional dims: {name: FORMULA} and per_layer
// Keys of a stream, one of four forms (docs/spec-language.md#streams)
//   {carries: true, shape}   {shape, src}   {from, before|after, index, read, shape, src}   {} or {read}; each with `when`
// Errors  Collected, at their place, with the nearest known name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "spec/component.h"

namespace archlight::spec {

struct DimDecl {
  std::string name;
  std::vector<std::string> config_keys;  // first present wins
  std::string unset;                     // a text that counts as an absent key: 'auto'
  bool entries = false;                  // of its list, or the characters of its text, how many
  std::string entry;                     // of these, only those that equal it
  expr::Formula formula;                 // when it is no plain key
  expr::Formula fallback;
  expr::Formula null_value;  // when the config states the key as null
  std::string is;            // 1 when the config's text equals this, else 0
  std::string source;        // why the default is what it is
  base::Span at;
};

struct StreamDecl {
  std::string name;
  base::Span at;
  // What crosses layers how. kCarried: a layer's output is the next one's input. kInternal: published by components of
  // some layers, read by those of later ones. kAppended: kept from some layers, in a sequence. kElsewhere: another
  // stack's, of one of the last two kinds.
  enum class Kind { kCarried, kInternal, kAppended, kElsewhere };
  Kind kind() const {
    return carries          ? Kind::kCarried
           : !from.empty()  ? Kind::kAppended
           : !shape.empty() ? Kind::kInternal
                            : Kind::kElsewhere;
  }
  bool carries = false;
  std::vector<expr::Formula> shape;
  std::string src;
  base::Span src_at;
  expr::Formula when;     // there only where it is not 0
  std::string from;       // of an append stream: a carried stream, "out", or a node of the block
  std::string selection;  // "before" or "after"
  std::string chosen;     // "every", "every N", "config.KEY", or a list as text
  expr::Formula every;    // the N
  std::vector<expr::Formula> listed;
  std::string index;  // "block" or absent: layers count from 0 inside their stack
  std::string read;   // each, all, concat
};

struct LayerRule {
  base::Span at;
  enum class Kind { kCount, kWhere, kConfigEquals, kListed, kRest } kind = Kind::kRest;
  expr::Formula formula;                 // the count, or the condition over `layer`
  std::vector<std::string> config_keys;  // the first that is present
  expr::Formula also;                    // a `where` beside config or listed
  std::vector<std::string> equals;       // any of these
  int64_t first = 0;                     // the index that a list of layers gives the first one
  bool optional = false;                 // of a config list: an absent one names no layer
  std::vector<std::pair<std::string, std::string>> fills;
  std::vector<NamedFormula> dims;
  std::vector<DimDecl> per_layer;  // beside the stack's own
};

struct StackDecl {
  std::string name;
  base::Span at;
  expr::Formula repeat;
  std::vector<Operand> inputs;
  std::vector<StreamDecl> streams;
  std::string block;
  std::vector<LayerRule> layers;
  std::vector<DimDecl> per_layer;  // dims with a value of their own in each layer
  std::string path;
  expr::Formula first_index;
  std::string apart;
  bool prefill_only = false;
};

struct ModelEntry {
  std::optional<StackDecl> stack;
  std::optional<NodeDecl> node;
};

struct QuantChoice {
  std::string method;  // a scheme's name, "none", or "declared"
  std::vector<std::pair<std::string, std::string>> params;
  base::Span at;
};

// A role's choice, where roles are given formats: {method: NAME, KEY: VALUE, ...}.
QuantChoice parse_quant_choice(const base::Yaml& node, const std::string& role, base::Faults& faults);

struct QuantOverride {
  std::vector<std::string> nodes;  // canonical module paths, '*' matches
  std::string method;              // may be empty: only the dtype changes
  std::optional<base::Dtype> dtype;
  bool or_plain = false;             // or the model's own dtype: the files tell
  bool optional = false;             // hits nothing where a config builds no such module
  std::vector<expr::Formula> shape;  // of the stored tensor, where exporters pad; empty: the weight's own
  std::string source;
  base::Span at;
};

struct QuantContext {
  std::vector<std::pair<std::string, QuantChoice>> per_role;  // with "default"
  std::vector<QuantOverride> overrides;
  std::optional<base::Dtype> default_dtype;
  std::optional<base::Dtype> scale_dtype;
  std::vector<std::pair<std::string, std::string>>
      schemes;  // declared scheme -> the one that this model's files use
};

struct BufferDecl {
  std::string path;
  std::string name;  // in the checkpoint; the adapter's for the path when empty
  std::vector<expr::Formula> shape;
  std::vector<expr::Formula>
      or_shape;  // of an optional one that some exporters store so; empty: always `shape`
  std::vector<base::Dtype> dtypes;
  bool optional = false;
  std::string source;
  base::Span at;
};

struct IgnoredKey {
  std::string key;  // dotted, under the config roots
  std::string reason;
  base::Span at;
};

struct Model {
  std::string name;
  base::Span at;
  std::vector<std::string> architectures;
  std::vector<std::string> model_types;
  std::vector<std::string> config_roots = {""};
  std::vector<std::pair<std::string, std::string>> components;
  std::vector<base::Span> component_places;  // of each row above
  std::vector<DimDecl> dims;
  std::vector<ModelEntry> entries;
  QuantContext quant;
  std::vector<std::string> adapters;  // the first, or the one whose names a checkpoint's are
  std::vector<std::string> optional;  // names of `apart` that not every checkpoint stores
  std::vector<BufferDecl> buffers;
  std::vector<IgnoredKey> ignores;
  std::vector<NamedFormula> holds;  // over dims: what a config key must be
  std::vector<NamedFormula> lists;  // over dims: how many entries a per-layer list has
  bool prefill_only = false;
  std::vector<std::string> drafts;
  std::optional<Computes> computes;  // of the nodes of its own list
  std::string max_context;           // config key
  std::string src;
  base::Span src_at;
  std::string note;

  const std::string* component_of(std::string_view slot) const;
  const base::Span* place_of(std::string_view slot) const;  // where `components` fills it
};

base::Result<Model> parse_model(const base::Yaml& root, const std::string& name);

// A checkpoint-name adapter: the longest rule whose path leads the module's wins; the rest is kept.
struct AdapterRule {
  std::vector<std::string> from;
  std::vector<std::string> to;
  std::string join = ".";   // between the module and its parameter
  bool stacked = false;     // the innermost copies are one tensor with a leading axis
  bool transposed = false;  // plain matrices are stored [in,out]
  std::vector<std::vector<std::string>>
      parts;  // modules that keep equal shares of the first axis, in place of `to`
  base::Span at;
};

struct Adapter {
  std::string name;
  base::Span extends_at;
  std::vector<AdapterRule> rules;
  std::vector<BufferDecl>
      buffers;  // tensors of this kind of file; where a model lacks a dim of the shape, left out
};

// `base_rules` are those of the adapter it extends.
base::Result<Adapter> parse_adapter(const base::Yaml& root, const std::string& name, std::string* extends);

}  // namespace archlight::spec
