// binding.h: a model's dims bound from one config, each with where its value came from.
//
// Config   Keys are looked up under the model's config_roots in order; null counts as absent. Aliases and defaults are
//          the model's own declarations.
// Errors   A key that the spec reads and the config lacks is a fault at the dim that names the key and the nearest
//          one present; so are a value that is no number and a dim that depends on itself.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/dtype.h"
#include "base/json.h"
#include "base/result.h"
#include "expr/rational.h"
#include "spec/model.h"

namespace archlight::spec {

// A JSON number as an exact rational, true and false as 1 and 0; none for anything else, or past the range.
std::optional<expr::Rational> exact_number(const base::Json& value);

struct BoundDim {
  std::string name;
  expr::Rational value;
  std::string origin;  // "config.num_attention_heads", "d_model // n_heads, since ...", "stated in the spec"
  bool boolean = false;  // the config says true or false
};

struct Binding {
  const Model* model = nullptr;
  std::shared_ptr<const base::Json> config;
  std::vector<BoundDim> dims;  // in the order of the spec
  std::unordered_map<std::string, size_t> index;
  std::optional<base::Dtype> dtype;  // torch_dtype or dtype of the config
  std::string dtype_origin;
  const base::Json* quant_declaration = nullptr;  // inside config or quant_config
  std::string quant_origin;
  std::shared_ptr<const base::Json> quant_config;
  std::string adapter;  // in place of the model's own: of a GGUF file, whose tensors say how each is stored

  const BoundDim* find(std::string_view name) const;
};

// A config value under the model's roots; null when absent. `full_key` gets the key with its root.
const base::Json* config_value(const Model& model, const base::Json& config, std::string_view key,
                               std::string* full_key = nullptr);

// What dims with a value of their own in each layer of a stack come to in layer `layer` of `repeat`, counted from 0,
// in the order of their declarations; null after a fault. Where a key's path meets a list, the layer's entry of it
// counts, and the path goes on inside that entry; a value without a list is every layer's. A formula may name `layer`
// and the dims that `known` and the declarations above it give.
std::optional<std::vector<BoundDim>> bind_layer(const Binding& binding, std::span<const DimDecl> dims,
                                                std::span<const BoundDim> known, int64_t layer,
                                                int64_t repeat, base::Faults& faults);

base::Result<Binding> bind(const Model& model, std::shared_ptr<const base::Json> config,
                           std::shared_ptr<const base::Json> quant_config);

}  // namespace archlight::spec
