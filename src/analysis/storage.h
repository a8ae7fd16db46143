// storage.h: how each parameter is stored, and so how many bytes: the one place where geometry and format
// meet.
//
// Format   The model's quant_context chooses a scheme per role, with overrides; "declared" means what the
//          checkpoint's own quantization declaration says. A module on the declaration's ignore list stays plain.
// Tensors  One row per stored tensor of each distinct layer group, named as the checkpoint names it with '*' for
//          layer and expert indices. Where an ignore list splits a group's layers, each part is a row.
// Units    Bytes of data, without headers; exact.
// Errors   At the spec's line: an unknown scheme, an override that hits nothing, a shape that does not
// divide. Source   specs/quant/*.yaml, each with its own.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/walk.h"
#include "base/dtype.h"
#include "spec/library.h"

namespace archlight::analysis {

// What only the files can tell, with the spec's own expectation as the default.
struct StorageChoice {
  std::optional<base::Dtype> plain_dtype;  // of everything not quantised; none: the config's, then the spec's
  std::map<std::string, base::Dtype> tensor_dtype;  // by stored name, where a scheme or buffer allows several
  std::set<std::string> present;                    // optional tensors that are stored, by stored name
  std::string scheme;                               // of a checkpoint that declares none, as its files tell
  std::set<std::string> absent;  // optional parts of the model, by their name of `apart`, that are not stored
  std::string adapter;           // whose names the files have; the model's first when empty

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
  bool optional = false;  // may be absent; absent unless the choice says present
  bool tied = false;
  bool main = true;       // the weight itself rather than a scale beside it
  int count_as = 1;       // how often the hub's element total counts one element
  bool scalar = false;    // 0-d
  bool variable = false;  // of a length that only the file knows; counts as nothing here
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

struct Storage {
  base::Dtype plain_dtype = base::Dtype::kBF16;
  std::string plain_dtype_origin;
  std::string declared_scheme;  // empty when the checkpoint declares none
  std::string declared_origin;
  std::vector<SymbolValue> scheme_values;  // numbers of the declaration that formulas name
  std::set<std::string> absent;            // parts that are not stored: see StorageChoice
  std::vector<StoredTensor> tensors;
  // By index into Analysis::params: the rows that store it, for read traffic.
  std::vector<std::vector<size_t>> of_param;
};

// Tensors of the walk that stores weights (prefill); a decode analysis reads the same through its params'
// paths.
base::Result<Storage> storage_of(const Analysis& analysis, const StorageChoice& choice = {});

}  // namespace archlight::analysis
