// quant.h: how a quantisation scheme stores one weight on disk, as data in specs/quant/*.yaml.
//
// Keys of a file
//   label, source
//   declared_by  alternatives, each a map of keys of the checkpoint's quantization declaration to a value, or
//   '*' for
//                "present"; the first scheme that matches is the declared one
//   params       name: {key: PATH, default: N, min: N}: numbers of the declaration that the shapes below use
//   scope        {ops: [...], roles: [...], not_roles: [...], copies: only}: which weights it converts
//   ignore       {keys: [...], match: path|component}: the declaration's lists of modules left as they are
//   tensors      what stands for one weight: {suffix, dtype, shape, main, optional, count_as, variable,
//   modules}. Shapes are formulas over
//                out, in (the weight's axes) and the params; a stacked weight has its copies in front.
//                Several dtypes: the first unless the model's quant_context says otherwise. count_as is how
//                often the hub's element total counts one stored element; a variable tensor's length is known
//                to its file alone; `modules` are the last path segments beside which it may stand, all when
//                absent.
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
  std::string suffix;  // with its joint: ".weight", "_blocks"
  std::vector<base::Dtype> dtypes;
  std::vector<expr::Formula> shape;
  std::vector<std::string> modules;  // last path segments; empty: every weight in scope
  bool scalar = false;
  bool variable = false;
  bool main = false;
  bool optional = false;
  int count_as = 1;
  base::Span at;
};

struct QuantParam {
  std::string name;
  std::string key;
  std::string key_or;  // a second spelling
  int64_t fallback = 0;
  bool has_fallback = false;
  int64_t least = 1;
};

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
  bool ignore_by_component = false;
  std::vector<StoredPattern> tensors;
};

base::Result<QuantScheme> parse_quant(const base::Yaml& root, const std::string& name);

// A row of specs/kv_cache.yaml: which declared value makes engines keep the cache in another type.
struct KvFormat {
  std::string key, equals, source;
  base::Dtype dtype = base::Dtype::kBF16;
};
base::Result<std::vector<KvFormat>> parse_kv_formats(const base::Yaml& root);
// A value inside the declaration as text ("weight_block_size.0"); none when absent.
std::optional<std::string> declared_text(const base::Json& declaration, std::string_view path);

// True when every pair of one alternative holds in the declaration.
bool declares(const QuantScheme& scheme, const base::Json& declaration);
// The modules the declaration leaves alone, as written.
std::vector<std::string> ignore_list(const QuantScheme& scheme, const base::Json& declaration);
// Does a list entry name this module? `path` is the whole checkpoint module path. Entries may be exact, hold '*' and
// '?', or start with 're:' (matched from the start). By component: the entry equals one segment, or a run of them.
bool ignores(const std::string& entry, const std::string& path, bool by_component);
// The same for many modules: the entry is read once. Entries of more than 1,000 letters name nothing.
std::function<bool(const std::string& path)> ignored_by(const std::string& entry, bool by_component);

}  // namespace archlight::spec
