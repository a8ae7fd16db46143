// storage.h: how each parameter is stored, and so how many bytes: the one place where geometry and format
// meet.
//
// Format   The model's quant_context chooses a scheme per role, with overrides; "declared" means what the
//          checkpoint's own quantization declaration says of the module, or its tensors where they are known and say
//          otherwise. A module on the declaration's ignore list stays plain.
// Tensors  One row per stored tensor of each distinct layer group, named as the checkpoint names it with '*' for
//          layer and expert indices. Where a declaration splits a group's layers or copies, each part is a row.
// Units    Bytes of data, without headers; exact.
// Errors   At the spec's line: an unknown scheme, an override that hits nothing, a shape that does not
// divide. Source   specs/quant/*.yaml, each with its own.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/walk.h"
#include "base/dtype.h"
#include "spec/library.h"

namespace archlight::analysis {

// How a module's tensors show it to be stored: a scheme and its numbers, or "none".
struct SeenFormat {
  std::string scheme;
  std::vector<std::pair<std::string, int64_t>> params;

  bool operator==(const SeenFormat&) const = default;
  bool operator<(const SeenFormat& other) const {
    return std::tie(scheme, params) < std::tie(other.scheme, other.params);
  }
};

// What only the files can tell, with the spec's own expectation as the default.
struct StorageChoice {
  std::optional<base::Dtype> plain_dtype;  // of everything not quantised; none: the config's, then the spec's
  std::map<std::string, base::Dtype> tensor_dtype;  // by stored name, where a scheme or buffer allows several
  std::set<std::string> present;                    // optional tensors that are stored, by stored name
  std::set<std::string> or_shaped;                  // those of them that have their other shape
  std::string scheme;                               // of a checkpoint that declares none, as its files tell
  std::set<std::string> absent;  // optional parts of the model, by their name of `apart`, that are not stored
  std::set<std::string>
      absent_modules;   // paths of weights that are not there: the head of an embedding model
  std::string adapter;  // whose names the files have; the model's first when empty
  // Where tensors are known and the declaration says otherwise, or nothing: by stored module path, and then by the
  // indices of its stars, or for all of them under no index. Only of weights whose method is `declared`.
  std::map<std::string, std::map<std::vector<int64_t>, SeenFormat>> seen;
  bool tensors_decide = false;  // a declaration that names no known scheme is no fault
  bool declared_plain =
      false;  // weights whose method is `declared` stay plain: a bound where the scope is open

  bool operator==(const StorageChoice&) const = default;
};

struct StoredTensor {
  std::string name;                        // "model.layers.*.mlp.experts.*.gate_proj.weight"
  std::string module;                      // its canonical module path in the spec
  size_t param = ~size_t{0};               // index into Analysis::params; none for a buffer
  std::string scheme;                      // "none" or a scheme's name
  std::vector<base::Dtype> dtypes;         // allowed; the first is expected
  base::Dtype dtype = base::Dtype::kBF16;  // chosen
  Shape shape;
  Shape or_shape;         // another that it may have; empty: none
  bool optional = false;  // may be absent; absent unless the choice says present
  bool tied = false;
  bool main = true;            // the weight itself rather than a scale beside it
  bool rewritten = false;      // by a precision profile, and so not as the checkpoint has it
  int parts = 1;               // main tensors that together are one weight
  expr::Expr weight_elements;  // of the weight that a main tensor stores: packed words hold several
  bool scalar = false;         // 0-d
  bool variable = false;       // of a length that only the file knows; counts as nothing here
  std::string role, apart;
  std::vector<std::vector<int64_t>> indices;  // per '*', the values it takes
  expr::Expr width;                           // bytes of one element
  expr::Expr count;                           // how many such tensors: the product of the sizes of `indices`
  bool present = true;

  expr::Expr elements() const;  // of one
  expr::Expr bytes() const;     // of one
};

// Bytes of one element: a number under Dims::kNumbers, the symbol bytes_<dtype> under Dims::kFormulas.
expr::Expr width_of(const Analysis& analysis, base::Dtype dtype);
// The same for an element of the cache, whose type has an origin of its own: the symbol bytes_kv.
expr::Expr kv_width_of(const Analysis& analysis, base::Dtype dtype);

// A matrix whose method is `declared`: what its tensors are called, so that they can be asked.
struct DeclaredModule {
  size_t param = 0;          // index into Analysis::params
  std::string path;          // in the checkpoint, '*' for indices
  std::string plain_suffix;  // what follows the path in the plain weight's name
  expr::Expr stack;          // copies in one tensor; none otherwise
  int parts = 1;             // modules that keep this weight's equal shares apart
};

struct Storage {
  base::Dtype plain_dtype = base::Dtype::kBF16;
  std::string plain_dtype_origin;
  std::string declared_scheme;  // empty when the checkpoint declares none
  std::string declared_origin;
  // Where the declaration does not say which modules it is about and no tensors tell: the name of the row of
  // specs/declarations.yaml that says so. Then all that the scheme's scope takes counts as converted, an assumption.
  std::string open_scope;
  std::vector<SymbolValue> scheme_values;  // numbers of the declaration that formulas name
  std::set<std::string> absent;            // parts that are not stored: see StorageChoice
  std::set<std::string> absent_modules;    // the same of single weights
  std::vector<StoredTensor> tensors;
  std::vector<DeclaredModule> by_declaration;
  // Where the checkpoint declares its storage twice and differently, or in words that are not known though its tensors
  // are: a sentence for each.
  std::vector<std::string> disagreements;
  // By index into Analysis::params: the rows that store it, for read traffic.
  std::vector<std::vector<size_t>> of_param;
};

// Tensors of the walk that stores weights (prefill); a decode analysis reads the same through its params'
// paths.
// A precision profile's choice for a weight's role goes before the model's where its scheme takes the weight.
base::Result<Storage> storage_of(const Analysis& analysis, const StorageChoice& choice = {},
                                 const spec::Precision* precision = nullptr);

}  // namespace archlight::analysis
