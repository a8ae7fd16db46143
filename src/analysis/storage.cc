#include "analysis/storage.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "analysis/internal/checkpoint_names.h"
#include "analysis/internal/declaration.h"
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
using internal::Declaration;
using internal::DeclaredFormat;
using internal::IgnoreList;
using internal::path_matches;
using internal::with_indices;

constexpr int64_t kMaxStored = 5'000'000;
constexpr int64_t kMaxPatterns = 1'000;

class Storer {
 public:
  Storer(const Analysis& analysis, const StorageChoice& choice, const spec::Precision* precision)
      : analysis_(analysis),
        tree_(*analysis.tree),
        binding_(*tree_.binding),
        model_(*binding_.model),
        choice_(choice),
        precision_(precision) {}

  Result<Storage> run() {
    out_.absent = choice_.absent;
    out_.absent_modules = choice_.absent_modules;
    gguf_ = !binding_.adapter.empty();
    const std::vector<std::string> adapters =
        gguf_ ? std::vector<std::string>{binding_.adapter} : model_.adapters;
    for (const std::string& name : adapters) {
      Result<const spec::Adapter*> adapter = tree_.library->adapter(name, model_.at);
      if (!adapter) return adapter.faults();
      if (gguf_ || (choice_.adapter.empty() ? !adapter_ : name == choice_.adapter)) adapter_ = *adapter;
    }
    std::vector<std::string> roles = {"default"};
    for (const auto& [name, unused] : tree_.library->roles()) roles.push_back(name);
    for (const auto& [role, choice] : model_.quant.per_role)
      if (std::ranges::find(roles, role) == roles.end())
        fail(choice.at, "quant_context chooses for role '" + role + "'",
             "default, or a role of specs/roles.yaml", base::did_you_mean(role, roles));
    if (precision_)
      for (const auto& [role, choice] : precision_->weights)
        if (std::ranges::find(roles, role) == roles.end())
          fail(choice.at, "precision profile '" + precision_->name + "' chooses for role '" + role + "'",
               "default, or a role of specs/roles.yaml", base::did_you_mean(role, roles));
    plain_dtype();
    for (const auto& [from, to] : model_.quant.schemes)
      for (const std::string& name : {from, to})
        if (Result<const spec::QuantScheme*> known = tree_.library->quant(name, model_.at); !known)
          base::append(faults_, known.faults());
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
    for (const spec::BufferDecl& buffer : model_.buffers) add_buffer(buffer, false);
    if (adapter_)
      for (const spec::BufferDecl& buffer : adapter_->buffers) add_buffer(buffer, true);
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

  // What the checkpoint's own declaration says.
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
      told_.schemes = {*scheme};
      told_.numbers = std::make_shared<const base::Json>(base::Json::object());
      out_.declared_scheme = choice_.scheme;
      out_.declared_origin = "the checkpoint's files";
      return;
    }
    out_.declared_origin = origin;
    declaration_ = declaration;
    // A model whose every role names its scheme does not need the declaration.
    const bool needed = std::ranges::any_of(model_.quant.per_role,
                                            [](const auto& row) { return row.second.method == "declared"; });
    Faults faults;
    declared_.emplace(*tree_.library, model_, *binding_.config, *declaration, origin, faults);
    out_.declared_scheme = declared_->scheme_names();
    if (declared_->open_scope() && !choice_.tensors_decide) out_.open_scope = declared_->open_scope()->name;
    if (declared_->names_scheme() && faults.empty()) {
      compare_declarations();
      return;
    }
    if (!needed) return;
    if (choice_.tensors_decide && !faults.empty()) out_.disagreements.push_back(faults[0].wrong);
    if (!choice_.tensors_decide)
      for (const base::Diagnostic& fault : faults) add(fault);
    if (!faults.empty()) return;
    std::string shown = declaration->dump();
    if (shown.size() > 160) shown = shown.substr(0, 157) + "...";
    std::string wrong = origin + " declares a quantisation that no file of specs/quant describes: " + shown;
    if (choice_.tensors_decide) {
      out_.disagreements.push_back(std::move(wrong));
      return;
    }
    base::Diagnostic fault = fault_at(
        {std::make_shared<base::SourceText>(base::SourceText{"config.json", {}}), 0, 0, 0}, std::move(wrong),
        "a scheme of specs/quant", "add specs/quant/<name>.yaml with a declared_by that matches");
    fault.guard = "not_verifiable";
    add(fault);
  }

  // A checkpoint may declare its storage twice, in config.json and beside it.
  void compare_declarations() {
    if (analysis_.binding.dims != Dims::kNumbers || out_.declared_origin == "hf_quant_config.json") return;
    if (!binding_.quant_config || !binding_.quant_config->is_object()) return;
    const auto inner = binding_.quant_config->find("quantization");
    if (inner == binding_.quant_config->end() || !inner->is_object()) return;
    Faults faults;
    const Declaration other(*tree_.library, model_, *binding_.config, *inner, "hf_quant_config.json", faults);
    const auto name = [](const spec::QuantScheme* scheme) {
      return scheme ? "scheme " + scheme->name : std::string("plain");
    };
    for (const Param& param : analysis_.params) {
      if (!is_matrix(param)) continue;
      const std::vector<std::string> roles = roles_of(param);
      const CheckpointPath named = checkpoint_path(adapter_, param.path);
      const size_t stars = static_cast<size_t>(std::ranges::count(param.path, '*'));
      std::vector<int64_t> values(stars, 0);
      const std::vector<int64_t> one = {0};
      size_t differing = 0;
      std::string first;
      for (int64_t layer : param.group >= 0 ? tree_.groups[param.group].layers : one) {
        if (param.group >= 0 && stars) values[0] = layer;
        const std::string path = with_indices(named.path, values);
        const spec::QuantScheme* ours = declared_for(*declared_, param, roles, path, values).scheme;
        const spec::QuantScheme* theirs = declared_for(other, param, roles, path, values).scheme;
        if (ours == theirs) continue;
        if (differing++ == 0)
          first = path + ": " + name(ours) + " by " + out_.declared_origin + ", " + name(theirs) +
                  " by hf_quant_config.json";
      }
      if (differing && out_.disagreements.size() < 20)
        out_.disagreements.push_back(
            "declared twice: " + first +
            (differing > 1 ? ", and so in " + std::to_string(differing - 1) + " more layers" : ""));
    }
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

  // A declaration that names the very module speaks for it whatever its role.
  bool in_scope(const spec::QuantScheme& scheme, const Param& param, const std::vector<std::string>& roles,
                bool named) {
    const auto holds = [](const std::vector<std::string>& list, const std::string& name) {
      return std::ranges::find(list, name) != list.end();
    };
    if (!is_matrix(param)) return false;
    if (named) return true;
    if (!holds(scheme.ops, param.op)) return false;
    if (!scheme.roles.empty() &&
        !std::ranges::any_of(roles, [&](const std::string& role) { return holds(scheme.roles, role); }))
      return false;
    if (holds(scheme.not_roles, param.role)) return false;
    return !scheme.copies_only || param.copies_call >= 0;
  }

  // A weight with an axis of heads in front is as many matrices, stored as one tensor.
  bool is_stack(const Param& param) const {
    const spec::Op* op = tree_.nodes[param.node].weight_base ? tree_.nodes[param.node].weight_base_op
                                                             : tree_.nodes[param.node].op;
    return param.name == "weight" && param.base_axes.size() == 3 && op->params[0].axes[0].text() == "heads";
  }

  void add_param(size_t i) {
    Param param = analysis_.params[i];
    // Nodes that read parts of one weight have it stored once.
    if (tree_.nodes[param.node].weight_base)
      for (size_t other = 0; other < i; ++other)
        if (analysis_.params[other].group == param.group && analysis_.params[other].path == param.path &&
            analysis_.params[other].name == param.name) {
          out_.of_param[i] = out_.of_param[other];
          return;
        }
    Expr stack;
    if (is_stack(param)) {
      stack = param.base_axes[0];
      param.base_axes.erase(param.base_axes.begin());
    }
    const std::vector<std::string> roles = roles_of(param);
    const spec::QuantScheme* scheme = nullptr;
    const spec::QuantChoice* chosen = choice_for(roles);
    const std::vector<std::pair<std::string, std::string>>* said = chosen ? &chosen->params : nullptr;
    std::string method = chosen ? chosen->method : "none";
    std::vector<Dtype> dtypes;  // none: the plain one
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
      if (row.dtype) dtypes = {*row.dtype};
      if (row.dtype && row.or_plain && out_.plain_dtype != *row.dtype) dtypes.push_back(out_.plain_dtype);
      if (!row.shape.empty() && !pad(param, row)) return;
      at = row.at;
    }
    if (choice_.absent.contains(param.apart) || choice_.absent_modules.contains(param.path)) return;
    const spec::QuantChoice* rewrite =
        precision_ && is_matrix(param) ? precision_->weights_of(roles) : nullptr;
    if (rewrite && rewrite->method != "none") {
      Result<const spec::QuantScheme*> into = tree_.library->quant(rewrite->method, rewrite->at);
      if (!into) {
        for (const base::Diagnostic& fault : into.faults()) add(fault);
        return;
      }
      if (!in_scope(**into, param, roles, false)) rewrite = nullptr;
    }
    if (rewrite) {
      method = rewrite->method;
      said = &rewrite->params;
      dtypes.clear();
      at = rewrite->at;
    }
    const bool by_declaration = !rewrite && (gguf_ || method == "declared");
    if (!by_declaration && method != "none") {
      Result<const spec::QuantScheme*> stated = tree_.library->quant(method, at);
      if (!stated) {
        for (const base::Diagnostic& fault : stated.faults()) add(fault);
        return;
      }
      scheme = *stated;
    }
    if (said && !said->empty() && !knows(scheme, *said, method, at)) return;
    if (scheme && !in_scope(*scheme, param, roles, false)) scheme = nullptr;

    if (!few_enough(param, scheme || by_declaration ? 6 : 1)) return;

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
    if (named.stacked && !copied.empty()) {
      stack = counts.back();
      indices.pop_back();
      counts.pop_back();
    }
    const Placed placed{i,      roles,   scheme, by_declaration,     said,
                        dtypes, indices, counts, rewrite != nullptr, stack};
    if (named.parts.empty()) return add_module(param, named, placed, 1);
    // Some files keep the parts of a joined weight apart, as equal shares of its first axis.
    const auto parts = static_cast<int64_t>(named.parts.size());
    Param part = param;
    if (!part.base_axes.empty()) part.base_axes[0] = part.base_axes[0] / analysis_.pool->constant(parts);
    part.base_elements = part.base_elements / analysis_.pool->constant(parts);
    for (const std::string& path : named.parts)
      add_module(part, {path, named.join, named.stacked, named.transposed, {}}, placed,
                 static_cast<int>(parts));
  }

  // Some exporters pad a tensor beyond what the weight is: its stored axes are then stated.
  bool pad(Param& param, const spec::QuantOverride& row) {
    const auto misses = [&](std::string wrong, std::string expected) {
      fail(row.at, "the stored shape of '" + param.path + "' " + std::move(wrong), std::move(expected));
      return false;
    };
    if (row.shape.size() != param.base_axes.size())
      return misses("has " + std::to_string(row.shape.size()) + " axes",
                    std::to_string(param.base_axes.size()) + ", those of the weight");
    param.base_elements = analysis_.pool->constant(1);
    for (size_t axis = 0; axis < row.shape.size(); ++axis) {
      const Expr stored = row.shape[axis].instantiate(
          *analysis_.pool, [&](std::string_view name) { return analysis_.dim(name); });
      if (stored.is_error())
        return misses("cannot be evaluated: " + stored.error_text(), "dims of the model");
      const std::optional<expr::Rational> own = param.base_axes[axis].constant(), padded = stored.constant();
      if (own && padded && compare(*padded, *own) < 0)
        return misses("is " + expr::to_string(*padded) + " where the weight is " + expr::to_string(*own),
                      "as much or more");
      param.base_axes[axis] = stored;
      param.base_elements = param.base_elements * stored;
    }
    return true;
  }

  // What one weight's module is stored as, wherever its copies stand.
  struct Placed {
    size_t i = 0;  // index into Analysis::params
    const std::vector<std::string>& roles;
    const spec::QuantScheme* scheme = nullptr;
    bool by_declaration = false;
    const std::vector<std::pair<std::string, std::string>>* said = nullptr;
    std::vector<Dtype> dtypes;  // of a plain tensor; none: the plain one
    const std::vector<std::vector<int64_t>>& indices;
    const std::vector<Expr>& counts;
    bool rewritten = false;  // by the precision profile
    Expr stack;
  };

  void add_module(const Param& param, const CheckpointPath& named, const Placed& placed, int parts) {
    const size_t i = placed.i;
    const std::vector<std::string>& roles = placed.roles;
    const spec::QuantScheme* scheme = placed.scheme;
    const bool by_declaration = placed.by_declaration;
    const std::vector<std::pair<std::string, std::string>>* said = placed.said;
    const std::vector<Dtype>& dtypes = placed.dtypes;
    const std::vector<std::vector<int64_t>>& indices = placed.indices;
    const std::vector<Expr>& counts = placed.counts;
    const Expr stack = placed.stack;
    const size_t first_row = out_.tensors.size();

    if (by_declaration && is_matrix(param))
      out_.by_declaration.push_back(
          {i, named.path, plain_name(param, named).substr(named.path.size()), stack, parts});

    const auto format_of = [&](const std::vector<int64_t>& values) -> Format {
      const std::string path = with_indices(named.path, values);
      if (by_declaration) {
        // A module's bias stands under the same path.
        if (!is_matrix(param)) return {};
        if (choice_.declared_plain) return {};
        if (const SeenFormat* seen = seen_at(named.path, values)) return of_seen(*seen);
        if (declared_) return declared_for(*declared_, param, roles, path, values);
        if (told_.schemes.empty() || !in_scope(*told_.schemes[0], param, roles, false)) return {};
        return {told_.schemes[0], told_.numbers.get(), nullptr};
      }
      if (!scheme) return {};
      if (placed.rewritten) return {scheme, nullptr, nullptr};
      const IgnoreList& ignored = ignore_list_of(*scheme, declaration_);
      if (!ignored.empty() && (ignored.hits(path) || ignored.hits(with_indices(param.path, values))))
        return {};
      return {scheme, declaration_, nullptr};
    };
    const size_t layer_axes = param.group >= 0 ? 1 : 0;
    // Do copies differ? Then each is asked; otherwise the first stands for all, and the last is asked too.
    const bool has_copies = indices.size() > layer_axes;
    std::string container = named.path;
    size_t star = std::string::npos;
    for (size_t n = 0; n <= layer_axes; ++n)
      star = container.find('*', star == std::string::npos ? 0 : star + 1);
    container = star == std::string::npos ? std::string() : container.substr(0, star + 1);
    std::vector<int64_t> values(indices.size(), 0);
    if (has_copies) (void)format_of(values);  // reads the lists that are asked next
    const bool apart = has_copies && tells_copies_apart(scheme, by_declaration, named.path, container);

    struct Rectangle {
      Format format;
      std::vector<int64_t> layers, copies;
    };
    std::vector<Rectangle> rectangles;
    const std::vector<int64_t> none = {0};
    const std::vector<int64_t>& layers = param.group >= 0 ? indices[0] : none;
    const std::vector<int64_t>& copies = has_copies ? indices[layer_axes] : none;
    for (int64_t layer : layers) {
      if (param.group >= 0) values[0] = layer;
      std::vector<std::pair<Format, std::vector<int64_t>>> by_format;
      const auto ask = [&](int64_t copy) {
        if (has_copies) values[layer_axes] = copy;
        const Format format = format_of(values);
        auto it = std::ranges::find(by_format, format, &std::pair<Format, std::vector<int64_t>>::first);
        if (it == by_format.end()) it = by_format.insert(by_format.end(), {format, {}});
        it->second.push_back(copy);
      };
      if (!copies.empty() && !apart) {
        ask(copies.front());
        if (copies.size() > 1) ask(copies.back());
        if (by_format.size() == 1)
          by_format[0].second = copies;
        else
          by_format.clear();
      }
      if (by_format.empty())
        for (int64_t copy : copies) ask(copy);
      for (auto& [format, alike] : by_format) {
        auto it = std::ranges::find_if(rectangles, [&](const Rectangle& rectangle) {
          return rectangle.format == format && rectangle.copies == alike;
        });
        if (it == rectangles.end()) it = rectangles.insert(rectangles.end(), {format, {}, alike});
        it->layers.push_back(layer);
      }
    }
    if (rectangles.empty()) rectangles.push_back({{}, {}, {}});
    // Quantised parts first.
    std::ranges::stable_sort(rectangles, {},
                             [](const Rectangle& rectangle) { return !rectangle.format.scheme; });
    for (const Rectangle& rectangle : rectangles) {
      std::vector<std::vector<int64_t>> own = indices;
      std::vector<Expr> own_counts = counts;
      const auto narrow = [&](size_t axis, const std::vector<int64_t>& part) {
        if (axis >= own.size() || own[axis].size() == part.size()) return;
        own[axis] = part;
        own_counts[axis] = analysis_.pool->constant(static_cast<base::Int128>(part.size()));
      };
      if (param.group >= 0) narrow(0, rectangle.layers);
      if (has_copies) narrow(layer_axes, rectangle.copies);
      if (rectangle.format.scheme) {
        add_quantised(i, param, rectangle.format, named, own, own_counts, stack,
                      by_declaration ? nullptr : said);
        continue;
      }
      add_plain(i, param, named, own, own_counts, stack, dtypes);
      if (by_declaration && is_matrix(param)) add_companions(i, param, named, own, own_counts);
    }
    for (size_t row = first_row; row < out_.tensors.size(); ++row) {
      out_.tensors[row].parts = parts;
      out_.tensors[row].rewritten = placed.rewritten;
    }
  }

  // Scalars that a declared scheme may put beside weights that it leaves plain: an FP8 cache's.
  void add_companions(size_t i, const Param& param, const CheckpointPath& named,
                      const std::vector<std::vector<int64_t>>& indices, const std::vector<Expr>& counts) {
    if (!declared_) return;
    std::set<std::string> added;
    for (const spec::QuantScheme* scheme : declared_->schemes())
      for (const spec::StoredPattern& pattern : scheme->tensors) {
        if (!pattern.plain || !pattern.scalar || pattern.dtypes.empty() || !pattern.dtypes[0]) continue;
        if (std::ranges::find(pattern.modules, param.path.substr(param.path.rfind('.') + 1)) ==
            pattern.modules.end())
          continue;
        StoredTensor tensor = common(param, indices);
        tensor.name = named.path + pattern.suffix;
        if (!added.insert(tensor.name).second) continue;
        tensor.scheme = scheme->name;
        tensor.dtypes = {*pattern.dtypes[0]};
        tensor.dtype = tensor.dtypes[0];
        tensor.main = false;
        tensor.optional = true;
        tensor.scalar = true;
        push(std::move(tensor), i, counts);
      }
  }

  // A scheme with where its numbers stand.
  struct Format {
    const spec::QuantScheme* scheme = nullptr;
    const base::Json* numbers = nullptr;
    const SeenFormat* seen = nullptr;
    bool operator==(const Format& other) const {
      if (!scheme && !other.scheme) return true;
      return scheme == other.scheme && numbers == other.numbers &&
             (seen == other.seen || (seen && other.seen && *seen == *other.seen));
    }
  };

  const SeenFormat* seen_at(const std::string& path, const std::vector<int64_t>& values) const {
    const auto module = choice_.seen.find(path);
    if (module == choice_.seen.end()) return nullptr;
    auto it = module->second.find({});
    if (it == module->second.end()) it = module->second.find(values);
    return it == module->second.end() ? nullptr : &it->second;
  }

  Format of_seen(const SeenFormat& seen) const {
    if (seen.scheme == "none") return {nullptr, nullptr, &seen};
    const auto it = tree_.library->quants().find(seen.scheme);
    if (it == tree_.library->quants().end()) return {};
    return {&it->second, nullptr, &seen};
  }

  Format declared_for(const Declaration& declaration, const Param& param,
                      const std::vector<std::string>& roles, const std::string& path,
                      const std::vector<int64_t>& values) {
    if (!is_matrix(param)) return {};
    const std::string spec_path = with_indices(param.path, values);
    const Declaration::Found found = declaration.find(path, spec_path, param.op, faults_);
    if (!found.format) return {};
    for (const spec::QuantScheme* scheme : found.format->schemes) {
      const spec::QuantScheme* used = in_place_of(scheme);
      if (!in_scope(*used, param, roles, found.exact)) continue;
      if (found.format->ignorable) {
        const IgnoreList& ignored = ignore_list_of(*used, found.format->numbers.get());
        if (!ignored.empty() && (ignored.hits(path) || ignored.hits(spec_path))) return {};
      }
      return {used, found.format->numbers.get(), nullptr};
    }
    return {};
  }

  // The model's own spelling of a scheme.
  const spec::QuantScheme* in_place_of(const spec::QuantScheme* scheme) const {
    for (const auto& [from, to] : model_.quant.schemes)
      if (from == scheme->name)
        if (const auto it = tree_.library->quants().find(to); it != tree_.library->quants().end())
          return &it->second;
    return scheme;
  }

  bool tells_copies_apart(const spec::QuantScheme* scheme, bool by_declaration, const std::string& path,
                          const std::string& container) {
    if (by_declaration) {
      const auto module = choice_.seen.find(path);
      if (module != choice_.seen.end() && !module->second.contains({})) return true;
      if (declared_ && declared_->tells_copies_apart(container)) return true;
    }
    const auto by_list = [&](const spec::QuantScheme& of, const base::Json* declaration) {
      const IgnoreList& ignored = ignore_list_of(of, declaration);
      return containers_of(ignored).contains(container) ||
             std::ranges::any_of(ignored.patterns(), [&](const std::string& pattern) {
               return internal::pattern_tells_copies_apart(pattern, container);
             });
    };
    if (scheme) return by_list(*scheme, declaration_);
    return std::ranges::any_of(ignores_, [&](const auto& row) {
      return containers_of(row.second).contains(container) ||
             std::ranges::any_of(row.second.patterns(), [&](const std::string& pattern) {
               return internal::pattern_tells_copies_apart(pattern, container);
             });
    });
  }

  const std::set<std::string>& containers_of(const IgnoreList& list) {
    const auto it = containers_.find(&list);
    if (it != containers_.end()) return it->second;
    std::set<std::string> out;
    for (const std::string& name : list.exact()) internal::add_containers(name, out);
    return containers_.emplace(&list, std::move(out)).first->second;
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

  const IgnoreList& ignore_list_of(const spec::QuantScheme& scheme, const base::Json* declaration) {
    const std::pair<std::string, const base::Json*> key = {scheme.name, declaration};
    const auto it = ignores_.find(key);
    if (it != ignores_.end()) return it->second;
    std::vector<std::string> entries;
    if (declaration) entries = spec::ignore_list(scheme, *declaration);
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
    return ignores_.emplace(key, IgnoreList(entries, scheme.ignore_match)).first->second;
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

  // A stacked weight drops the word 'weight': experts.gate_up_proj; its bias is joined as the adapter says.
  static std::string plain_name(const Param& param, const CheckpointPath& named) {
    if (param.name.empty() || (named.stacked && named.join != "." && param.name == "weight"))
      return named.path;
    return named.path + named.join + param.name;
  }

  void add_plain(size_t i, const Param& param, const CheckpointPath& named,
                 const std::vector<std::vector<int64_t>>& indices, const std::vector<Expr>& counts,
                 Expr stack, const std::vector<Dtype>& dtypes) {
    StoredTensor tensor = common(param, indices);
    tensor.name = plain_name(param, named);
    tensor.scheme = "none";
    tensor.dtypes = dtypes.empty() ? std::vector<Dtype>{out_.plain_dtype} : dtypes;
    if (gguf_) tensor.dtypes = {Dtype::kF32, Dtype::kF16, Dtype::kBF16};
    tensor.dtype = tensor.dtypes[0];
    if (stack) tensor.shape.push_back(stack);
    tensor.shape.insert(tensor.shape.end(), param.base_axes.begin(), param.base_axes.end());
    if (named.transposed && param.base_axes.size() == 2)
      std::swap(tensor.shape.end()[-1], tensor.shape.end()[-2]);
    tensor.scalar = tensor.shape.empty();
    push(std::move(tensor), i, counts);
  }

  void add_quantised(size_t i, const Param& param, const Format& format, const CheckpointPath& named,
                     const std::vector<std::vector<int64_t>>& indices, const std::vector<Expr>& counts,
                     Expr stack, const std::vector<std::pair<std::string, std::string>>* said) {
    const spec::QuantScheme& scheme = *format.scheme;
    expr::ExprPool& pool = *analysis_.pool;
    std::vector<std::pair<std::string, Expr>> names = {{"out", param.base_axes[0]},
                                                       {"in", param.base_axes[1]}};
    for (const spec::QuantParam& row : scheme.params) {
      std::optional<int64_t> value;
      if (said)
        for (const auto& [key, text] : *said)
          if (key == row.name || key == row.key) value = std::atoll(text.c_str());
      std::string origin = !value                          ? std::string()
                           : format.numbers || !precision_ ? "quant_context of the spec"
                                                           : "precision profile " + precision_->name;
      if (format.seen)
        for (const auto& [key, number] : format.seen->params)
          if (key == row.name) {
            value = number;
            origin = "the shapes of the checkpoint's tensors";
          }
      for (const std::string& key : {row.key, row.key_or})
        if (!value) {
          value = declared_number(format.numbers, key);
          if (value && declared_number(binding_.quant_declaration, key) == value)
            origin = out_.declared_origin + "." + key;
          else if (value)
            origin = out_.declared_origin + ", what it says of these modules: " + key;
        }
      if (!value && row.has_fallback) {
        value = row.fallback;
        origin = "default of scheme " + scheme.name;
      }
      if (!value) {
        fail(model_.at,
             "quant scheme '" + scheme.name + "' needs '" + row.key + "', which the declaration lacks",
             "a whole number at that key");
        return;
      }
      for (const std::string& key : {row.key, row.key_or})
        if (format.numbers && !key.empty() && !declared_number(format.numbers, key))
          if (const std::optional<std::string> text = spec::declared_text(*format.numbers, key)) {
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
      names.emplace_back(row.name, scheme_number(scheme, row, *value, origin));
    }
    for (const spec::StoredPattern& pattern : scheme.tensors) {
      StoredTensor tensor = common(param, indices);
      tensor.name = named.path + pattern.suffix;
      tensor.scheme = scheme.name;
      for (const std::optional<Dtype>& own : pattern.dtypes) {
        const Dtype allowed = own.value_or(out_.plain_dtype);
        if (std::ranges::find(tensor.dtypes, allowed) == tensor.dtypes.end())
          tensor.dtypes.push_back(allowed);
      }
      tensor.dtype = tensor.dtypes[0];
      if (pattern.main) tensor.weight_elements = stack ? param.base_elements * stack : param.base_elements;
      if (!pattern.main && model_.quant.scale_dtype &&
          std::ranges::find(tensor.dtypes, *model_.quant.scale_dtype) != tensor.dtypes.end())
        tensor.dtype = *model_.quant.scale_dtype;
      tensor.main = pattern.main;
      tensor.optional = tensor.optional || pattern.optional;
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
      if (stack && !pattern.alone) tensor.shape.push_back(stack);
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
  // from. Modules may have different numbers under one scheme; each but the first has its value in its name.
  Expr scheme_number(const spec::QuantScheme& scheme, const spec::QuantParam& row, int64_t value,
                     const std::string& origin) {
    if (analysis_.binding.dims == Dims::kNumbers) return analysis_.pool->constant(value);
    std::string name = scheme.name + "." + row.name;
    const auto known = [&] {
      return std::ranges::find_if(out_.scheme_values, [&](const SymbolValue& v) { return v.name == name; });
    };
    if (const auto it = known(); it != out_.scheme_values.end() && !(it->value == expr::Rational{value, 1}))
      name += "_" + (value < 0 ? "minus_" + std::to_string(-value) : std::to_string(value));
    if (known() == out_.scheme_values.end()) out_.scheme_values.push_back({name, {value, 1}, origin});
    return analysis_.pool->symbol(name, {expr::Rational{std::min<int64_t>(value, 1), 1}, std::nullopt});
  }

  static std::optional<int64_t> declared_number(const base::Json* numbers, const std::string& key) {
    if (!numbers || key.empty()) return std::nullopt;
    const base::Json* at = spec::lookup_in(*numbers)(key);
    return at && at->is_number_integer() ? std::optional<int64_t>(at->get<int64_t>()) : std::nullopt;
  }

  void add_buffer(const spec::BufferDecl& buffer, bool of_adapter) {
    StoredTensor tensor;
    tensor.module = buffer.path;
    tensor.name = buffer.name.empty() ? checkpoint_path(adapter_, buffer.path).path : buffer.name;
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
    const auto axes = [&](const std::vector<expr::Formula>& formulas, Shape& into) {
      for (const expr::Formula& axis : formulas) {
        const Expr value =
            axis.instantiate(*analysis_.pool, [&](std::string_view name) { return analysis_.dim(name); });
        if (value.is_error() && of_adapter) return false;
        if (value.is_error()) {
          fail(buffer.at,
               "the shape of buffer '" + buffer.path + "' cannot be evaluated: " + value.error_text(),
               "dims of the model");
          return false;
        }
        if (const std::optional<expr::Rational> number = value.constant();
            number && (!number->is_integer() || number->num < 0)) {
          fail(buffer.at, "an axis of buffer '" + buffer.path + "' is " + expr::to_string(*number),
               "a whole number");
          return false;
        }
        into.push_back(value);
      }
      return true;
    };
    if (!axes(buffer.shape, tensor.shape) || !axes(buffer.or_shape, tensor.or_shape)) return;
    if (choice_.or_shaped.contains(tensor.name)) std::swap(tensor.shape, tensor.or_shape);
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
  const spec::Precision* precision_;
  const spec::Adapter* adapter_ = nullptr;
  std::optional<Declaration> declared_;
  DeclaredFormat told_;  // of a checkpoint that declares nothing
  const base::Json* declaration_ = nullptr;
  std::map<std::pair<std::string, const base::Json*>, IgnoreList> ignores_;
  std::map<const IgnoreList*, std::set<std::string>> containers_;
  std::vector<bool> overridden_;
  int64_t stored_ = 0;
  bool gguf_ = false;  // a file whose every tensor has a type of its own
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
  const std::optional<expr::Rational> bytes =
      expr::make_rational(base::dtype_block(dtype).bytes, base::dtype_block(dtype).elements);
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

Result<Storage> storage_of(const Analysis& analysis, const StorageChoice& choice,
                           const spec::Precision* precision) {
  return Storer(analysis, choice, precision).run();
}

}  // namespace archlight::analysis
