#include "spec/binding.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/yaml.h"
#include "expr/expr.h"

namespace archlight::spec {
namespace {

using base::fault_at;
using base::Faults;
using base::Json;
using base::Result;
using expr::Rational;

const Json* descend(const Json& root, std::string_view path) {
  const Json* at = &root;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    const std::string part(path.substr(0, dot));
    if (at->is_array()) {
      const bool index =
          !part.empty() && part.size() <= 6 && part.find_first_not_of("0123456789") == part.npos;
      if (!index || std::stoul(part) >= at->size()) return nullptr;
      at = &(*at)[std::stoul(part)];
    } else {
      if (!at->is_object()) return nullptr;
      const auto it = at->find(part);
      if (it == at->end()) return nullptr;
      at = &*it;
    }
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  return at->is_null() ? nullptr : at;
}

// A JSON number as an exact rational; decimals are read as written, not as binary fractions.
std::optional<Rational> exact(const Json& value) {
  if (value.is_boolean()) return Rational{value.get<bool>() ? 1 : 0, 1};
  if (value.is_number_unsigned()) return Rational{static_cast<base::Int128>(value.get<uint64_t>()), 1};
  if (value.is_number_integer()) return Rational{static_cast<base::Int128>(value.get<int64_t>()), 1};
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (!std::isfinite(number) || std::abs(number) > 1e15) return std::nullopt;
    // The shortest decimal that reads back to the same double is what the file said, up to its own rounding.
    for (int places = 0; places <= 12; ++places) {
      const double scale = std::pow(10.0, places);
      const double rounded = std::round(number * scale);
      if (rounded / scale == number)
        return expr::make_rational(static_cast<base::Int128>(rounded), static_cast<base::Int128>(scale));
    }
  }
  return std::nullopt;
}

// How many entries of a list, values of a map or characters of a text are `entry`.
int64_t equal_entries(const Json& found, const std::string& entry) {
  if (found.is_string()) {
    const std::string& text = found.get_ref<const std::string&>();
    return entry.size() == 1 ? std::ranges::count(text, entry[0]) : 0;
  }
  return std::count_if(found.begin(), found.end(), [&](const Json& item) {
    return (item.is_string() ? item.get<std::string>() : item.dump()) == entry;
  });
}

class Binder {
 public:
  Binder(const Model& model, std::shared_ptr<const Json> config) : model_(model), config_(std::move(config)) {
    state_.resize(model.dims.size(), State::kNew);
    values_.resize(model.dims.size());
    for (size_t i = 0; i < model.dims.size(); ++i) index_.emplace(model.dims[i].name, i);
  }

  Faults faults;

  std::optional<BoundDim> value(size_t i) {
    const DimDecl& dim = model_.dims[i];
    if (state_[i] == State::kDone) return values_[i];
    if (state_[i] == State::kOpen) {
      faults.push_back(fault_at(dim.at, "dim '" + dim.name + "' depends on itself", "an acyclic definition"));
      return std::nullopt;
    }
    if (depth_ == kMaxDepth) {
      faults.push_back(fault_at(dim.at, "dim '" + dim.name + "' stands at the end of a chain of 200 dims",
                                "a shorter chain"));
      return std::nullopt;
    }
    state_[i] = State::kOpen;
    ++depth_;
    values_[i] = compute(dim);
    --depth_;
    state_[i] = State::kDone;
    return values_[i];
  }

 private:
  enum class State { kNew, kOpen, kDone };
  static constexpr int kMaxDepth = 200;  // each dim of a chain takes its share of the call stack

  std::optional<BoundDim> compute(const DimDecl& dim) {
    for (const std::string& key : dim.config_keys) {
      std::string full;
      const Json* found = config_value(model_, *config_, key, &full);
      if (!found) continue;
      if (!dim.unset.empty() && found->is_string() && found->get_ref<const std::string&>() == dim.unset)
        continue;
      if (!dim.is.empty())
        return BoundDim{dim.name,
                        {found->is_string() && found->get<std::string>() == dim.is ? 1 : 0, 1},
                        "config." + full + " == '" + dim.is + "'"};
      if (dim.entries) {
        if (!found->is_array() && !found->is_object() && !found->is_string()) {
          faults.push_back(fault_at(dim.at,
                                    "config." + full + " is " + found->dump().substr(0, 80) +
                                        ", whose entries dim '" + dim.name + "' counts",
                                    "a list or a map, or a text with one character per entry"));
          return std::nullopt;
        }
        size_t entries = found->is_string() ? found->get_ref<const std::string&>().size() : found->size();
        if (!dim.entry.empty()) entries = static_cast<size_t>(equal_entries(*found, dim.entry));
        return BoundDim{dim.name,
                        {static_cast<base::Int128>(entries), 1},
                        "entries " + (dim.entry.empty() ? "" : "'" + dim.entry + "' ") + "of config." + full};
      }
      const std::optional<Rational> number = exact(*found);
      if (!number) {
        faults.push_back(fault_at(
            dim.at,
            "config." + full + " is " + found->dump().substr(0, 80) + ", which dim '" + dim.name + "' reads",
            "a number"));
        return std::nullopt;
      }
      return BoundDim{dim.name, *number, "config." + full, found->is_boolean()};
    }
    if (!dim.null_value.empty() && states_null(dim)) {
      const std::optional<Rational> number = evaluate(dim, dim.null_value);
      if (!number) return std::nullopt;
      return BoundDim{dim.name, *number, "config." + dim.config_keys[0] + " is null: " + dim.source};
    }
    const bool defaulted = !dim.config_keys.empty();
    const expr::Formula& formula = defaulted ? dim.fallback : dim.formula;
    if (formula.empty()) {
      if (!dim.is.empty()) return BoundDim{dim.name, {0, 1}, "config." + dim.config_keys[0] + " is absent"};
      missing(dim);
      return std::nullopt;
    }
    std::optional<Rational> number = evaluate(dim, formula);
    if (!number) return std::nullopt;
    std::string origin = formula.names().empty() ? "stated in the spec" : formula.text();
    if (defaulted)
      origin = formula.text() + ", since config." + dim.config_keys[0] +
               (dim.unset.empty() ? " is absent: " : " is absent or '" + dim.unset + "': ") + dim.source;
    else if (!dim.source.empty())
      origin += ": " + dim.source;
    return BoundDim{dim.name, *number, origin};
  }

  // A key that is there and null, under any of the roots.
  bool states_null(const DimDecl& dim) const {
    for (const std::string& root : model_.config_roots) {
      const Json* at = root.empty() ? config_.get() : descend(*config_, root);
      if (!at || !at->is_object()) continue;
      for (const std::string& key : dim.config_keys)
        if (const auto it = at->find(key); it != at->end() && it->is_null()) return true;
    }
    return false;
  }

  std::optional<Rational> evaluate(const DimDecl& dim, const expr::Formula& formula) {
    expr::ExprPool pool;
    bool failed = false;
    const auto lookup = [&](std::string_view name) -> std::optional<expr::Expr> {
      if (name.starts_with("config.")) {
        const Json* found = config_value(model_, *config_, name.substr(7));
        const std::optional<Rational> number = found ? exact(*found) : std::nullopt;
        if (!number) {
          faults.push_back(fault_at(dim.at,
                                    "dim '" + dim.name + "' reads " + std::string(name) +
                                        ", which the config lacks or which is no number",
                                    "a number in config.json"));
          failed = true;
          return pool.constant(1);
        }
        return pool.constant(*number);
      }
      const auto it = index_.find(std::string(name));
      if (it == index_.end()) return std::nullopt;
      const std::optional<BoundDim> other = value(it->second);
      if (!other) {
        failed = true;
        return pool.constant(1);
      }
      return pool.constant(other->value);
    };
    const expr::Expr result = formula.instantiate(pool, lookup);
    if (failed) return std::nullopt;
    const std::optional<Rational> number = result.constant();
    if (!number) {
      std::vector<std::string> names;
      for (const DimDecl& other : model_.dims) names.push_back(other.name);
      std::string fix;
      for (const std::string& name : formula.names())
        if (!index_.contains(name) && !name.starts_with("config.")) fix = base::did_you_mean(name, names);
      faults.push_back(fault_at(formula.at(),
                                "dim '" + dim.name + "' cannot be evaluated: " +
                                    (result.is_error() ? result.error_text() : "it is no number"),
                                "dims and config keys only", fix));
    }
    return number;
  }

  void missing(const DimDecl& dim) {
    std::string keys, where;
    for (const std::string& key : dim.config_keys) keys += (keys.empty() ? "'" : "' or '") + key;
    std::vector<std::string> present;
    for (const std::string& root : model_.config_roots) {
      const Json* at = root.empty() ? config_.get() : descend(*config_, root);
      if (!at || !at->is_object()) continue;
      for (const auto& [key, unused] : at->items()) present.push_back(key);
      for (const std::string& key : dim.config_keys)
        if (at->contains(key)) {
          faults.push_back(fault_at(dim.at,
                                    "config." + (root.empty() ? "" : root + ".") + key +
                                        " is null, which dim '" + dim.name + "' reads",
                                    "a number", "state a default if null means one"));
          return;
        }
      where +=
          (where.empty() ? "" : ", then ") + (root.empty() ? std::string("the top level") : "'" + root + "'");
    }
    faults.push_back(
        fault_at(dim.at, "config.json has no " + keys + "', which dim '" + dim.name + "' reads",
                 "the key under " + (where.empty() ? std::string("the config") : where),
                 dim.config_keys.empty() ? std::string() : base::did_you_mean(dim.config_keys[0], present)));
  }

  const Model& model_;
  std::shared_ptr<const Json> config_;
  std::vector<State> state_;
  std::vector<std::optional<BoundDim>> values_;
  std::unordered_map<std::string, size_t> index_;
  int depth_ = 0;
};

}  // namespace

std::optional<Rational> exact_number(const Json& value) {
  return exact(value);
}

const BoundDim* Binding::find(std::string_view name) const {
  const auto it = index.find(std::string(name));
  return it == index.end() ? nullptr : &dims[it->second];
}

const Json* config_value(const Model& model, const Json& config, std::string_view key,
                         std::string* full_key) {
  for (const std::string& root : model.config_roots) {
    const Json* at = root.empty() ? &config : descend(config, root);
    const Json* found = at ? descend(*at, key) : nullptr;
    if (!found) continue;
    if (full_key) *full_key = (root.empty() ? "" : root + ".") + std::string(key);
    return found;
  }
  return nullptr;
}

namespace {

// The value that a path leads to in one layer; `null` says that it is there and null.
struct Item {
  const Json* value = nullptr;
  bool null = false;
  std::string full;    // the key with its root, and the index of a list's entry
  size_t entries = 0;  // of the list on the way, where there is one
  bool listed = false;
};

Item item_of(const Model& model, const Json& config, std::string_view key, int64_t layer) {
  for (const std::string& root : model.config_roots) {
    const Json* at = root.empty() ? &config : descend(config, root);
    if (!at) continue;
    Item out;
    out.full = root.empty() ? "" : root + ".";
    std::string_view rest = key;
    bool found = false;  // at least the first part of the path
    while (at) {
      if (at->is_array() && !out.listed) {
        out.listed = true;
        out.entries = at->size();
        out.full += "[" + std::to_string(layer) + "]";
        if (static_cast<size_t>(layer) >= out.entries) return out;
        at = &(*at)[static_cast<size_t>(layer)];
        continue;
      }
      if (rest.empty()) break;
      const size_t dot = rest.find('.');
      const std::string part(rest.substr(0, dot));
      rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
      const auto it = at->is_object() ? at->find(part) : at->end();
      if (!at->is_object() || it == at->end()) {
        at = nullptr;
        break;
      }
      out.full += (out.full.empty() || out.full.ends_with('.') ? "" : ".") + part;
      at = &*it;
      found = true;
    }
    if (!at && !found) continue;
    out.null = at && at->is_null();
    out.value = out.null ? nullptr : at;
    return out;
  }
  return {};
}

}  // namespace

std::optional<std::vector<BoundDim>> bind_layer(const Binding& binding, std::span<const DimDecl> dims,
                                                std::span<const BoundDim> known, int64_t layer,
                                                int64_t repeat, Faults& faults) {
  const Model& model = *binding.model;
  std::vector<BoundDim> out;
  const auto fail = [&](const base::Span& at, std::string wrong, std::string expected, std::string fix = {}) {
    faults.push_back(fault_at(at, std::move(wrong), std::move(expected), std::move(fix)));
    return std::nullopt;
  };
  const auto evaluate = [&](const DimDecl& dim, const expr::Formula& formula) -> std::optional<Rational> {
    expr::ExprPool pool;
    const expr::Expr result =
        formula.instantiate(pool, [&](std::string_view name) -> std::optional<expr::Expr> {
          if (name == "layer") return pool.constant(layer);
          if (name.starts_with("config.")) {
            const Item item = item_of(model, *binding.config, name.substr(7), layer);
            const std::optional<Rational> number = item.value ? exact(*item.value) : std::nullopt;
            return number ? std::optional(pool.constant(*number)) : std::nullopt;
          }
          for (size_t i = out.size(); i-- > 0;)
            if (out[i].name == name) return pool.constant(out[i].value);
          for (size_t i = known.size(); i-- > 0;)
            if (known[i].name == name) return pool.constant(known[i].value);
          const BoundDim* bound = binding.find(name);
          return bound ? std::optional(pool.constant(bound->value)) : std::nullopt;
        });
    if (const std::optional<Rational> number = result.constant()) return number;
    std::vector<std::string> names = {"layer"};
    for (const BoundDim& other : binding.dims) names.push_back(other.name);
    for (const BoundDim& other : out) names.push_back(other.name);
    std::string fix;
    for (const std::string& name : formula.names())
      if (!name.starts_with("config.") && std::ranges::find(names, name) == names.end())
        fix = base::did_you_mean(name, names);
    fail(formula.at(),
         "dim '" + dim.name + "' of layer " + std::to_string(layer) +
             " cannot be evaluated: " + (result.is_error() ? result.error_text() : "it is no number"),
         "dims, config keys, `layer` and per-layer dims above it", fix);
    return std::nullopt;
  };
  for (const DimDecl& dim : dims) {
    Item item;
    for (const std::string& key : dim.config_keys) {
      item = item_of(model, *binding.config, key, layer);
      if (item.listed && item.entries < static_cast<size_t>(repeat))
        return fail(dim.at,
                    "config." + item.full.substr(0, item.full.find('[')) + " has " +
                        std::to_string(item.entries) + " entries for " + std::to_string(repeat) + " layers",
                    "one entry per layer");
      if (item.value || item.null) break;
    }
    if (item.value) {
      if (!dim.is.empty()) {
        const bool same = item.value->is_string() && item.value->get<std::string>() == dim.is;
        out.push_back({dim.name, {same ? 1 : 0, 1}, "config." + item.full + " == '" + dim.is + "'"});
        continue;
      }
      const std::optional<Rational> number = exact(*item.value);
      if (!number)
        return fail(dim.at,
                    "config." + item.full + " is " + item.value->dump().substr(0, 80) + ", which dim '" +
                        dim.name + "' reads",
                    "a number");
      out.push_back({dim.name, *number, "config." + item.full, item.value->is_boolean()});
      continue;
    }
    const bool null_stated = item.null && !dim.null_value.empty();
    const expr::Formula& formula = null_stated               ? dim.null_value
                                   : dim.config_keys.empty() ? dim.formula
                                                             : dim.fallback;
    if (formula.empty()) {
      if (!dim.is.empty()) {
        out.push_back({dim.name, {0, 1}, "config." + dim.config_keys[0] + " is absent"});
        continue;
      }
      return fail(dim.at,
                  "config.json has no '" + dim.config_keys[0] + "' for layer " + std::to_string(layer) +
                      ", which dim '" + dim.name + "' reads",
                  "a value, or a list with one entry per layer",
                  "state a default if an absent one means a value");
    }
    const std::optional<Rational> number = evaluate(dim, formula);
    if (!number) return std::nullopt;
    std::string origin = formula.text();
    if (!dim.config_keys.empty())
      origin +=
          ", since config." + dim.config_keys[0] + (null_stated ? " is null: " : " is absent: ") + dim.source;
    else if (!dim.source.empty())
      origin += ": " + dim.source;
    out.push_back({dim.name, *number, origin});
  }
  return out;
}

Result<Binding> bind(const Model& model, std::shared_ptr<const Json> config,
                     std::shared_ptr<const Json> quant_config) {
  if (!config || !config->is_object())
    return fault_at(model.at, "no config.json to bind model '" + model.name + "' from", "a JSON object");
  Binder binder(model, config);
  Binding out;
  out.model = &model;
  out.config = config;
  out.quant_config = quant_config;
  for (size_t i = 0; i < model.dims.size(); ++i)
    if (std::optional<BoundDim> dim = binder.value(i)) {
      out.index.emplace(dim->name, out.dims.size());
      out.dims.push_back(std::move(*dim));
    }
  if (!binder.faults.empty()) return binder.faults;

  Faults faults;
  const auto place =
      base::Span{std::make_shared<base::SourceText>(base::SourceText{"config.json", {}}), 0, 0, 0};
  for (const char* key : {"torch_dtype", "dtype"}) {
    std::string full;
    const Json* found = config_value(model, *config, key, &full);
    if (!found) continue;
    const std::optional<base::Dtype> dtype =
        found->is_string() ? base::dtype_from_torch_name(found->get<std::string>()) : std::nullopt;
    if (!dtype)
      faults.push_back(fault_at(place, full + " is " + found->dump().substr(0, 80),
                                "a dtype's name, such as \"bfloat16\""));
    else if (out.dtype && *out.dtype != *dtype)
      faults.push_back(
          fault_at(place, full + " is '" + found->get<std::string>() + "'",
                   std::string(base::dtype_name(*out.dtype)) + ", as " + out.dtype_origin + " says"));
    if (!dtype || out.dtype) continue;
    out.dtype = dtype;
    out.dtype_origin = "config." + full;
  }
  std::string full;
  const Json* declaration = config_value(model, *config, "quantization_config", &full);
  if (declaration && !declaration->is_object())
    faults.push_back(fault_at(place, full + " is " + declaration->dump().substr(0, 80),
                              "an object that declares a quantisation, or no such key"));
  if (!faults.empty()) return faults;
  if (declaration) {
    out.quant_declaration = declaration;
    out.quant_origin = "config." + full;
  } else if (quant_config && quant_config->is_object()) {
    if (const Json* inner = descend(*quant_config, "quantization"); inner && inner->is_object()) {
      out.quant_declaration = inner;
      out.quant_origin = "hf_quant_config.json";
    }
  }
  return out;
}

}  // namespace archlight::spec
