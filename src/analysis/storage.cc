#include "analysis/storage.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "analysis/internal/checkpoint_names.h"
#include "base/yaml.h"

namespace archlight::analysis {
namespace {

using base::Dtype;
using base::fault_at;
using base::Faults;
using base::Result;
using expr::Expr;
using internal::checkpoint_path;
using internal::CheckpointPath;
using internal::IgnoreList;
using internal::path_matches;
using internal::split_path;
using internal::with_indices;

constexpr int64_t kMaxStored = 5'000'000;
constexpr int64_t kMaxPatterns = 1'000;

class Storer {
 public:
  Storer(const Analysis& analysis, const StorageChoice& choice)
      : analysis_(analysis),
        tree_(*analysis.tree),
        binding_(*tree_.binding),
        model_(*binding_.model),
        choice_(choice) {}

  Result<Storage> run() {
    out_.absent = choice_.absent;
    for (const std::string& name : model_.adapters) {
      Result<const spec::Adapter*> adapter = tree_.library->adapter(name, model_.at);
      if (!adapter) return adapter.faults();
      if (choice_.adapter.empty() ? !adapter_ : name == choice_.adapter) adapter_ = *adapter;
    }
    std::vector<std::string> roles = {"default"};
    for (const auto& [name, unused] : tree_.library->roles()) roles.push_back(name);
    for (const auto& [role, choice] : model_.quant.per_role)
      if (std::ranges::find(roles, role) == roles.end())
        fail(choice.at, "quant_context chooses for role '" + role + "'",
             "default, or a role of specs/roles.yaml", base::did_you_mean(role, roles));
    plain_dtype();
    declared();
    if (!faults_.empty()) return faults_;
    out_.of_param.resize(analysis_.params.size());
    overridden_.assign(model_.quant.overrides.size(), false);
    for (size_t i = 0; i < analysis_.params.size(); ++i) add_param(i);
    for (size_t i = 0; i < model_.quant.overrides.size(); ++i)
      if (!overridden_[i] && !model_.quant.overrides[i].optional)
        fail(model_.quant.overrides[i].at,
             "the override for '" + model_.quant.overrides[i].nodes[0] + "' hits no parameter",
             "a canonical module path of this model, '*' for each index");
    for (const spec::BufferDecl& buffer : model_.buffers) add_buffer(buffer);
    if (!faults_.empty()) return faults_;
    return std::move(out_);
  }

 private:
  void fail(const base::Span& at, std::string wrong, std::string expected = {}, std::string fix = {}) {
    add(fault_at(at, std::move(wrong), std::move(expected), std::move(fix)));
  }

  // One fault of the spec shows at each parameter it reaches; it is said once.
  void add(const base::Diagnostic& fault) {
    const auto same = [&](const base::Diagnostic& other) { return other.message() == fault.message(); };
    if (faults_.size() < 50 && std::ranges::none_of(faults_, same)) faults_.push_back(fault);
  }

  void plain_dtype() {
    if (choice_.plain_dtype) {
      out_.plain_dtype = *choice_.plain_dtype;
      out_.plain_dtype_origin = "the checkpoint's bytes";
    } else if (binding_.dtype) {
      out_.plain_dtype = *binding_.dtype;
      out_.plain_dtype_origin = binding_.dtype_origin;
    } else if (model_.quant.default_dtype) {
      out_.plain_dtype = *model_.quant.default_dtype;
      out_.plain_dtype_origin = "default_dtype of the spec, since the config names none";
    } else {
      fail(model_.at, "neither the config nor the spec names a dtype",
           "torch_dtype in config.json, or default_dtype in quant_context");
    }
  }

  // The scheme that the checkpoint's own declaration names.
  void declared() {
    const base::Json* declaration = binding_.quant_declaration;
    std::string origin = binding_.quant_origin;
    // MLX writes its declaration under a key of its own.
    if (!declaration)
      if (const base::Json* found = spec::config_value(model_, *binding_.config, "quantization", &origin);
          found && found->is_object()) {
        declaration = found;
        origin = "config." + origin;
      }
    if (!declaration) {
      if (choice_.scheme.empty()) return;
      base::Result<const spec::QuantScheme*> scheme = tree_.library->quant(choice_.scheme, model_.at);
      if (!scheme) {
        base::append(faults_, scheme.faults());
        return;
      }
      declared_ = *scheme;
      out_.declared_scheme = choice_.scheme;
      out_.declared_origin = "the checkpoint's files";
      return;
    }
    for (const auto& [name, scheme] : tree_.library->quants())
      if (spec::declares(scheme, *declaration)) {
        declared_ = &scheme;
        break;
      }
    out_.declared_origin = origin;
    declaration_ = declaration;
    if (declared_) {
      out_.declared_scheme = declared_->name;
      return;
    }
    // A model whose every role names its scheme does not need the declaration.
    const bool needed = std::ranges::any_of(model_.quant.per_role,
                                            [](const auto& row) { return row.second.method == "declared"; });
    if (!needed) return;
    std::string shown = declaration->dump();
    if (shown.size() > 160) shown = shown.substr(0, 157) + "...";
    base::Diagnostic fault =
        fault_at({std::make_shared<base::SourceText>(base::SourceText{"config.json", {}}), 0, 0, 0},
                 origin + " declares a quantisation that no file of specs/quant describes: " + shown,
                 "a scheme of specs/quant", "add specs/quant/<name>.yaml with a declared_by that matches");
    fault.guard = "not_verifiable";
    faults_.push_back(std::move(fault));
  }

  std::vector<std::string> roles_of(const Param& param) {
    std::vector<std::string> roles = {param.role};
    for (int call : tree_.calls_around(param.node)) roles.push_back(tree_.calls[call].role);
    return roles;
  }

  const spec::QuantChoice* choice_for(const std::vector<std::string>& roles) {
    for (const std::string& role : roles)
      for (const auto& [name, row] : model_.quant.per_role)
        if (name == role) return &row;
    for (const auto& [name, row] : model_.quant.per_role)
      if (name == "default") return &row;
    return nullptr;
  }

  static bool is_matrix(const Param& param) { return param.name == "weight" && param.base_axes.size() == 2; }

  bool in_scope(const spec::QuantScheme& scheme, const Param& param, const std::vector<std::string>& roles) {
    const auto holds = [](const std::vector<std::string>& list, const std::string& name) {
      return std::ranges::find(list, name) != list.end();
    };
    if (!is_matrix(param) || !holds(scheme.ops, param.op)) return false;
    if (!scheme.roles.empty() &&
        !std::ranges::any_of(roles, [&](const std::string& role) { return holds(scheme.roles, role); }))
      return false;
    if (holds(scheme.not_roles, param.role)) return false;
    return !scheme.copies_only || param.copies_call >= 0;
  }

  void add_param(size_t i) {
    const Param& param = analysis_.params[i];
    const std::vector<std::string> roles = roles_of(param);
    const spec::QuantScheme* scheme = nullptr;
    const spec::QuantChoice* chosen = choice_for(roles);
    const std::vector<std::pair<std::string, std::string>>* said = chosen ? &chosen->params : nullptr;
    std::string method = chosen ? chosen->method : "none";
    std::optional<Dtype> dtype;
    base::Span at = chosen ? chosen->at : model_.at;
    for (size_t o = 0; o < model_.quant.overrides.size(); ++o) {
      const spec::QuantOverride& row = model_.quant.overrides[o];
      if (std::ranges::none_of(row.nodes,
                               [&](const std::string& node) { return path_matches(node, param.path); }))
        continue;
      overridden_[o] = true;
      if (!row.method.empty()) {
        method = row.method;
        said = nullptr;
      }
      if (row.dtype) dtype = row.dtype;
      at = row.at;
    }
    if (choice_.absent.contains(param.apart)) return;
    if (method == "declared") {
      scheme = declared_;
    } else if (method != "none") {
      Result<const spec::QuantScheme*> named = tree_.library->quant(method, at);
      if (!named) {
        for (const base::Diagnostic& fault : named.faults()) add(fault);
        return;
      }
      scheme = *named;
    }
    if (said && !said->empty() && !knows(scheme, *said, method, at)) return;
    if (scheme && !in_scope(*scheme, param, roles)) scheme = nullptr;

    if (!few_enough(param, scheme ? scheme->tensors.size() : 1)) return;

    // Index sets of the path's stars: the layers, then the copies from the outside in.
    std::vector<std::vector<int64_t>> indices;
    std::vector<Expr> counts;
    if (param.group >= 0) {
      indices.push_back(tree_.groups[param.group].layers);
      counts.push_back(analysis_.layers[param.group]);
    }
    std::vector<int> copied;
    for (int call : tree_.calls_around(param.node))
      if (!tree_.calls[call].copies.empty()) copied.insert(copied.begin(), call);
    for (int call : copied) {
      std::vector<int64_t> all(static_cast<size_t>(tree_.calls[call].copies_value));
      for (size_t c = 0; c < all.size(); ++c) all[c] = static_cast<int64_t>(c);
      indices.push_back(std::move(all));
      counts.push_back(analysis_.copies[call]);
    }
    const CheckpointPath named = checkpoint_path(adapter_, param.path);
    Expr stack;
    if (named.stacked && !copied.empty()) {
      stack = counts.back();
      indices.pop_back();
      counts.pop_back();
    }

    // The ignore list may leave some layers plain.
    std::vector<int64_t> plain_layers, quantised_layers;
    if (scheme) {
      const IgnoreList& ignored = ignore_list_of(*scheme);
      if (!ignored.empty()) {
        std::vector<int64_t> values(indices.size(), 0);
        const size_t layers = param.group >= 0 ? indices[0].size() : 1;
        for (size_t l = 0; l < layers; ++l) {
          if (param.group >= 0) values[0] = indices[0][l];
          const bool hit = ignored.hits(with_indices(named.path, values)) ||
                           ignored.hits(with_indices(param.path, values));
          (hit ? plain_layers : quantised_layers).push_back(param.group >= 0 ? indices[0][l] : 0);
        }
      } else if (param.group >= 0) {
        quantised_layers = indices[0];
      } else {
        quantised_layers = {0};
      }
    }
    const bool split = !plain_layers.empty() && !quantised_layers.empty();
    const auto part = [&](const std::vector<int64_t>& layers, const spec::QuantScheme* of) {
      std::vector<std::vector<int64_t>> own = indices;
      std::vector<Expr> own_counts = counts;
      if (split) {
        own[0] = layers;
        own_counts[0] = analysis_.pool->constant(static_cast<base::Int128>(layers.size()));
      }
      of ? add_quantised(i, param, *of, named, own, own_counts, stack, said)
         : add_plain(i, param, named, own, own_counts, stack, dtype);
    };
    if (!scheme || quantised_layers.empty()) {
      part(indices.empty() ? std::vector<int64_t>{} : indices[0], nullptr);
    } else {
      part(quantised_layers, scheme);
      if (split) part(plain_layers, nullptr);
    }
  }

  // Counted before any index is written down: what a spec asks for must not decide how much memory that takes.
  bool few_enough(const Param& param, size_t rows) {
    if (stored_ > kMaxStored) return false;
    int64_t instances = static_cast<int64_t>(rows);
    if (param.group >= 0) instances *= static_cast<int64_t>(tree_.groups[param.group].layers.size());
    for (int call : tree_.calls_around(param.node))
      if (!tree_.calls[call].copies.empty())
        instances = std::min(instances, kMaxStored + 1) * tree_.calls[call].copies_value;
    stored_ += std::min(instances, kMaxStored + 1);
    if (stored_ <= kMaxStored) return true;
    fail(tree_.nodes[param.node].decl->at,
         "the model stores more than 5,000,000 tensors up to '" + param.path + "'", "fewer layers or copies");
    return false;
  }

  // Numbers that quant_context states beside the method: each must be one of the scheme's, by name or key.
  bool knows(const spec::QuantScheme* scheme, const std::vector<std::pair<std::string, std::string>>& said,
             const std::string& method, const base::Span& at) {
    for (const auto& [key, value] : said) {
      std::vector<std::string> known;
      if (scheme)
        for (const spec::QuantParam& row : scheme->params) known.insert(known.end(), {row.name, row.key});
      const bool number =
          !value.empty() && value.size() < 10 && value.find_first_not_of("0123456789") == std::string::npos;
      if (number && std::ranges::find(known, key) != known.end()) continue;
      std::string list;
      for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
      fail(at, "method '" + method + "' is given " + key + ": " + value,
           known.empty() ? "no further key" : "a whole number for one of " + list,
           base::did_you_mean(key, known));
      return false;
    }
    return true;
  }

  const IgnoreList& ignore_list_of(const spec::QuantScheme& scheme) {
    const auto it = ignores_.find(scheme.name);
    if (it != ignores_.end()) return it->second;
    std::vector<std::string> entries;
    if (declaration_) entries = spec::ignore_list(scheme, *declaration_);
    // Each pattern is tried on each layer of each weight.
    const auto patterns = std::ranges::count_if(entries, [](const std::string& entry) {
      return entry.starts_with("re:") || entry.find_first_of("*?") != std::string::npos;
    });
    if (patterns > kMaxPatterns) {
      add(fault_at({std::make_shared<base::SourceText>(base::SourceText{"config.json", {}}), 0, 0, 0},
                   out_.declared_origin + " leaves out modules by " + std::to_string(patterns) + " patterns",
                   "at most 1,000"));
      entries.clear();
    }
    return ignores_.emplace(scheme.name, IgnoreList(entries, scheme.ignore_by_component)).first->second;
  }

  void push(StoredTensor tensor, size_t param, const std::vector<Expr>& counts) {
    tensor.param = param;
    tensor.count = counts.empty() ? analysis_.pool->constant(1) : analysis_.pool->mul(counts);
    if (const auto it = choice_.tensor_dtype.find(tensor.name);
        it != choice_.tensor_dtype.end() &&
        std::ranges::find(tensor.dtypes, it->second) != tensor.dtypes.end())
      tensor.dtype = it->second;
    tensor.width = width_of(analysis_, tensor.dtype);
    tensor.present = !tensor.optional || choice_.present.contains(tensor.name);
    out_.of_param[param].push_back(out_.tensors.size());
    out_.tensors.push_back(std::move(tensor));
  }

  StoredTensor common(const Param& param, const std::vector<std::vector<int64_t>>& indices) {
    StoredTensor tensor;
    tensor.module = param.path;
    tensor.role = param.role;
    tensor.apart = param.apart;
    tensor.indices = indices;
    tensor.tied = param.tied;
    tensor.optional = param.tied;
    return tensor;
  }

  void add_plain(size_t i, const Param& param, const CheckpointPath& named,
                 const std::vector<std::vector<int64_t>>& indices, const std::vector<Expr>& counts,
                 Expr stack, std::optional<Dtype> dtype) {
    StoredTensor tensor = common(param, indices);
    // A stacked weight drops the word 'weight': experts.gate_up_proj; its bias is joined as the adapter says.
    tensor.name = param.name.empty() || (named.stacked && named.join != "." && param.name == "weight")
                      ? named.path
                      : named.path + named.join + param.name;
    tensor.scheme = "none";
    tensor.dtypes = {dtype.value_or(out_.plain_dtype)};
    tensor.dtype = tensor.dtypes[0];
    if (stack) tensor.shape.push_back(stack);
    tensor.shape.insert(tensor.shape.end(), param.base_axes.begin(), param.base_axes.end());
    if (named.transposed && param.base_axes.size() == 2)
      std::swap(tensor.shape.end()[-1], tensor.shape.end()[-2]);
    push(std::move(tensor), i, counts);
  }

  void add_quantised(size_t i, const Param& param, const spec::QuantScheme& scheme,
                     const CheckpointPath& named, const std::vector<std::vector<int64_t>>& indices,
                     const std::vector<Expr>& counts, Expr stack,
                     const std::vector<std::pair<std::string, std::string>>* said) {
    expr::ExprPool& pool = *analysis_.pool;
    std::vector<std::pair<std::string, Expr>> names = {{"out", param.base_axes[0]},
                                                       {"in", param.base_axes[1]}};
    for (const spec::QuantParam& row : scheme.params) {
      std::optional<int64_t> value;
      if (said)
        for (const auto& [key, text] : *said)
          if (key == row.name || key == row.key) value = std::atoll(text.c_str());
      const bool stated = value.has_value();
      if (!value) value = declared_number(row.key);
      if (!value) value = declared_number(row.key_or);
      if (!value && row.has_fallback) value = row.fallback;
      if (!value) {
        fail(model_.at,
             "quant scheme '" + scheme.name + "' needs '" + row.key + "', which the declaration lacks",
             "a whole number at that key");
        return;
      }
      for (const std::string& key : {row.key, row.key_or})
        if (declaration_ && !key.empty() && !declared_number(key))
          if (const std::optional<std::string> text = spec::declared_text(*declaration_, key)) {
            fail(model_.at, out_.declared_origin + "." + key + " is " + text->substr(0, 80),
                 "a whole number, as scheme '" + scheme.name + "' reads it");
            return;
          }
      if (*value < row.least || *value > (int64_t{1} << 40)) {
        fail(model_.at,
             "'" + row.name + "' of quant scheme '" + scheme.name + "' is " + std::to_string(*value) + " (" +
                 out_.declared_origin + ")",
             "a whole number, at least " + std::to_string(row.least));
        return;
      }
      names.emplace_back(row.name, scheme_number(scheme, row, *value, stated));
    }
    for (const spec::StoredPattern& pattern : scheme.tensors) {
      StoredTensor tensor = common(param, indices);
      tensor.name = named.path + pattern.suffix;
      tensor.scheme = scheme.name;
      tensor.dtypes = pattern.dtypes.empty() ? std::vector<Dtype>{out_.plain_dtype} : pattern.dtypes;
      tensor.dtype = tensor.dtypes[0];
      if (!pattern.main && model_.quant.scale_dtype &&
          std::ranges::find(tensor.dtypes, *model_.quant.scale_dtype) != tensor.dtypes.end())
        tensor.dtype = *model_.quant.scale_dtype;
      tensor.main = pattern.main;
      tensor.optional = tensor.optional || pattern.optional;
      tensor.count_as = pattern.count_as;
      tensor.scalar = pattern.scalar;
      tensor.variable = pattern.variable;
      if (!pattern.modules.empty() &&
          std::ranges::find(pattern.modules, param.path.substr(param.path.rfind('.') + 1)) ==
              pattern.modules.end())
        continue;
      // The bias of a layer that has one is the op's own parameter.
      if (pattern.suffix == ".bias" && std::ranges::any_of(analysis_.params, [&](const Param& other) {
            return other.path == param.path && other.name == "bias";
          }))
        continue;
      if (stack) tensor.shape.push_back(stack);
      for (const expr::Formula& axis : pattern.shape) {
        const Expr value = axis.instantiate(pool, [&](std::string_view name) -> std::optional<Expr> {
          for (const auto& [key, number] : names)
            if (key == name) return number;
          return std::nullopt;
        });
        const std::optional<expr::Rational> number = value.constant();
        if (value.is_error() || (number && (!number->is_integer() || number->num < 0))) {
          fail(pattern.at,
               "'" + axis.text() + "' of " + tensor.name + " is " +
                   (value.is_error() ? value.error_text() : expr::to_text(value)),
               "a whole number: the weight's width must divide");
          return;
        }
        tensor.shape.push_back(value);
      }
      push(std::move(tensor), i, counts);
    }
  }

  // A number of the declaration: a symbol of its own in formulas, so that the trace can say where it came
  // from.
  Expr scheme_number(const spec::QuantScheme& scheme, const spec::QuantParam& row, int64_t value,
                     bool stated) {
    if (analysis_.binding.dims == Dims::kNumbers) return analysis_.pool->constant(value);
    // Roles may state different numbers for one scheme; each has a name.
    const std::string name = scheme.name + "." + row.name + (stated ? "_" + std::to_string(value) : "");
    if (std::ranges::none_of(out_.scheme_values,
                             [&](const SymbolValue& known) { return known.name == name; })) {
      const bool declared = declared_number(row.key) || declared_number(row.key_or);
      const std::string key = declared_number(row.key) ? row.key : row.key_or;
      out_.scheme_values.push_back({name,
                                    {value, 1},
                                    stated     ? "quant_context of the spec"
                                    : declared ? out_.declared_origin + "." + key
                                               : "default of scheme " + scheme.name});
    }
    return analysis_.pool->symbol(name, {expr::Rational{std::min<int64_t>(value, 1), 1}, std::nullopt});
  }

  std::optional<int64_t> declared_number(const std::string& key) {
    if (!declaration_ || key.empty()) return std::nullopt;
    const base::Json* at = declaration_;
    for (const std::string& part : split_path(key)) {
      if (at->is_object() && at->contains(part))
        at = &(*at)[part];
      else if (at->is_array() && part.size() < 6 &&
               part.find_first_not_of("0123456789") == std::string::npos && std::stoul(part) < at->size())
        at = &(*at)[std::stoul(part)];
      else
        return std::nullopt;
    }
    return at->is_number_integer() ? std::optional<int64_t>(at->get<int64_t>()) : std::nullopt;
  }

  void add_buffer(const spec::BufferDecl& buffer) {
    StoredTensor tensor;
    tensor.module = buffer.path;
    tensor.name = checkpoint_path(adapter_, buffer.path).path;
    tensor.scheme = "none";
    tensor.role = "buffer";
    tensor.dtypes = buffer.dtypes;
    tensor.dtype = buffer.dtypes[0];
    tensor.optional = buffer.optional;
    tensor.main = false;
    // A buffer of a stack stands in each of its layers, MTP layers apart.
    std::vector<int64_t> layers;
    Expr count = analysis_.pool->constant(0);
    for (size_t g = 0; g < tree_.groups.size(); ++g)
      if (tree_.groups[g].apart.empty() &&
          buffer.path.starts_with(tree_.calls[static_cast<size_t>(tree_.groups[g].call)].path + ".")) {
        layers.insert(layers.end(), tree_.groups[g].layers.begin(), tree_.groups[g].layers.end());
        count = count + analysis_.layers[g];
      }
    const bool per_layer = buffer.path.find('*') != std::string::npos;
    if (per_layer && layers.empty()) return;
    std::ranges::sort(layers);
    if (per_layer) tensor.indices.push_back(std::move(layers));
    tensor.count = per_layer ? count : analysis_.pool->constant(1);
    for (const expr::Formula& axis : buffer.shape) {
      const Expr value =
          axis.instantiate(*analysis_.pool, [&](std::string_view name) { return analysis_.dim(name); });
      if (value.is_error()) {
        fail(buffer.at,
             "the shape of buffer '" + buffer.path + "' cannot be evaluated: " + value.error_text(),
             "dims of the model");
        return;
      }
      if (const std::optional<expr::Rational> number = value.constant();
          number && (!number->is_integer() || number->num < 0)) {
        fail(buffer.at, "an axis of buffer '" + buffer.path + "' is " + expr::to_string(*number),
             "a whole number");
        return;
      }
      tensor.shape.push_back(value);
    }
    tensor.scalar = tensor.shape.empty();
    if (const auto it = choice_.tensor_dtype.find(tensor.name); it != choice_.tensor_dtype.end())
      tensor.dtype = it->second;
    tensor.width = width_of(analysis_, tensor.dtype);
    tensor.present = !tensor.optional || choice_.present.contains(tensor.name);
    out_.tensors.push_back(std::move(tensor));
  }

  const Analysis& analysis_;
  const graph::SpecTree& tree_;
  const spec::Binding& binding_;
  const spec::Model& model_;
  const StorageChoice& choice_;
  const spec::Adapter* adapter_ = nullptr;
  const spec::QuantScheme* declared_ = nullptr;
  const base::Json* declaration_ = nullptr;
  std::map<std::string, IgnoreList> ignores_;
  std::vector<bool> overridden_;
  int64_t stored_ = 0;
  Storage out_;
  Faults faults_;
};

}  // namespace

Expr StoredTensor::elements() const {
  expr::ExprPool& pool = *count.pool();
  if (variable) return pool.constant(0);
  return shape.empty() ? pool.constant(1) : pool.mul(shape);
}

Expr StoredTensor::bytes() const {
  return elements() * width;
}

namespace {

Expr width(const Analysis& analysis, Dtype dtype, const std::string& symbol) {
  const std::optional<expr::Rational> bytes = expr::make_rational(base::dtype_bits(dtype), 8);
  if (analysis.binding.dims == Dims::kNumbers) return analysis.pool->constant(*bytes);
  return analysis.pool->symbol(symbol, {bytes, std::nullopt}, bytes->is_integer());
}

}  // namespace

Expr width_of(const Analysis& analysis, Dtype dtype) {
  return width(analysis, dtype, "bytes_" + std::string(base::dtype_name(dtype)));
}

Expr kv_width_of(const Analysis& analysis, Dtype dtype) {
  return width(analysis, dtype, "bytes_kv");
}

Result<Storage> storage_of(const Analysis& analysis, const StorageChoice& choice) {
  return Storer(analysis, choice).run();
}

}  // namespace archlight::analysis
