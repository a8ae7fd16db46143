// quant.h: how a quantisation scheme stores one weight on disk, as data in specs/quant/*.yaml.
//
// Keys of a file
//   label, source
//   dtypes       the file is one scheme for each of them, named after it ("ggml_q4_k"); `dtype: each` is that dtype
//   declared_by  alternatives, each a map of keys to a value, '*' for present, or 'absent'. Keys are those of the
//                checkpoint's declaration; with 'config.' in front, of the config around it. Of several schemes that
//                match, the one with the most keys comes first, then by name; each weight follows the first whose
//                scope takes it
//   params       name: {key: PATH, or: PATH, default: N, min: N, values: [N, ...]}: numbers of the declaration that
//                the shapes below use; `values` are those that are tried where only tensors tell
//   scope        {ops: [...], roles: [...], not_roles: [...], copies: only}: which weights it converts
//   ignore       {keys: [...], match: path|component|substring}: the declaration's lists of modules left as they are
//   tensors      what stands for one weight: {suffix, dtype, shape, main, optional, variable, modules, plain, alone}. Shapes are
//                formulas over out, in (the weight's axes) and the params; a stacked weight has its copies in front.
//                Several dtypes: the first unless the model's quant_context or the files say otherwise; `default` is
//                the model's own. A variable tensor's length is known to its file alone; `modules` are the last path
//                segments beside which it may stand, all when absent; with `plain` also beside weights that
//                stay plain. A tensor that stands `alone` is one for a whole stack of weights.
//   stores       a promise: the bits that always stand for a weight of out by in, over the params and `plain`, the bits
//                of the model's own dtype; of several dtypes the first counts
// Source  facts on each scheme stand in its file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/json.h"
#include "base/yaml.h"
#include "expr/formula.h"

namespace archlight::spec {

struct StoredPattern {
  std::string suffix;                              // with its joint: ".weight", "_blocks"
  std::vector<std::optional<base::Dtype>> dtypes;  // none: the model's own
  std::vector<expr::Formula> shape;
  std::vector<std::string> modules;  // last path segments; empty: every weight in scope
  bool scalar = false;
  bool variable = false;
  bool main = false;
  bool optional = false;
  bool plain = false;  // also beside weights that stay plain, at `modules`
  bool alone = false;  // one for a stack of weights, without an axis for them
  base::Span at;
};

struct QuantParam {
  std::string name;
  std::string key;
  std::string key_or;  // a second spelling
  int64_t fallback = 0;
  bool has_fallback = false;
  int64_t least = 1;
  std::vector<int64_t> values;
};

enum class IgnoreMatch { kPath, kComponent, kSubstring };

struct QuantScheme {
  std::string name;
  std::string label;
  std::string source;
  std::vector<std::vector<std::pair<std::string, std::string>>> declared_by;
  std::vector<QuantParam> params;
  std::vector<std::string> ops;
  std::vector<std::string> roles;
  std::vector<std::string> not_roles;
  bool copies_only = false;
  std::vector<std::string> ignore_keys;
  IgnoreMatch ignore_match = IgnoreMatch::kPath;
  std::vector<StoredPattern> tensors;
  expr::Formula stores;  // promised: bits of what stands for one weight, over out, in, the params and `plain`
  base::Span stores_at;
};

// One scheme, or one for each of the file's `dtypes`.
base::Result<std::vector<QuantScheme>> parse_quant(const base::Yaml& root, const std::string& name);

// A row of specs/kv_cache.yaml: which declared value makes engines keep the cache in another type.
struct KvFormat {
  std::string key, equals, source;
  base::Dtype dtype = base::Dtype::kBF16;
};
base::Result<std::vector<KvFormat>> parse_kv_formats(const base::Yaml& root);
// A value inside the declaration as text ("weight_block_size.0"); none when absent.
std::optional<std::string> declared_text(const base::Json& declaration, std::string_view path);

// A key's value: in the declaration, or behind 'config.' in the config around it.
using Lookup = std::function<const base::Json*(std::string_view key)>;
Lookup lookup_in(const base::Json& declaration);  // nothing is found behind 'config.'
// The number of keys in the longest of these alternatives whose every pair holds; 0 when none does.
using Pairs = std::vector<std::pair<std::string, std::string>>;
size_t holds(const std::vector<Pairs>& alternatives, const Lookup& lookup);
bool declares(const QuantScheme& scheme, const base::Json& declaration);
// The modules the declaration leaves alone, as written.
std::vector<std::string> ignore_list(const QuantScheme& scheme, const base::Json& declaration);
// Does a list entry name this module? `path` is the whole checkpoint module path. Entries may be exact, hold '*' and
// '?', or start with 're:' (matched from the start). By component: the entry equals one segment, or a run of them. By
// substring: it stands anywhere in the path.
bool ignores(const std::string& entry, const std::string& path, IgnoreMatch match);
// The same for many modules: the entry is read once. Entries of more than 1,000 letters name nothing.
std::function<bool(const std::string& path)> ignored_by(const std::string& entry, IgnoreMatch match);

}  // namespace archlight::spec
