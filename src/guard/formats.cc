#include "guard/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "guard/internal/claims.h"

namespace archlight::guard {
namespace {

using analysis::DeclaredModule;
using analysis::SeenFormat;
using analysis::StoredTensor;
using base::Dtype;

constexpr size_t kShown = 20;
constexpr int kMaxTrials = 500;  // of a scheme's numbers, by one module

// One tensor of a module.
struct Part {
  std::string suffix;
  std::optional<Dtype> dtype;  // none at index level, and then no shape
  std::vector<uint64_t> shape;
  bool operator==(const Part&) const = default;
  bool operator<(const Part& other) const {
    return std::tie(suffix, dtype, shape) < std::tie(other.suffix, other.dtype, other.shape);
  }
};
using Parts = std::vector<Part>;

// What a part must be.
struct Wanted {
  std::string suffix;
  std::vector<Dtype> dtypes;  // any of them
  std::vector<uint64_t> shape;
  bool optional = false, variable = false;
};

// Every part is wanted, and everything wanted is there.
bool explains(const std::vector<Wanted>& wanted, const Parts& parts) {
  size_t used = 0;
  for (const Wanted& one : wanted) {
    const auto part = std::ranges::find(parts, one.suffix, &Part::suffix);
    if (part == parts.end()) {
      if (!one.optional) return false;
      continue;
    }
    ++used;
    if (!part->dtype || one.variable) continue;
    if (part->shape != one.shape) return false;
    if (std::ranges::find(one.dtypes, *part->dtype) == one.dtypes.end()) return false;
  }
  return used == parts.size();
}

class Finder {
 public:
  Finder(const analysis::Bill& bill, const truth::Truth& truth) : bill_(bill), truth_(truth) {}

  SeenFormats run() {
    collect();
    for (size_t m = 0; m < modules().size(); ++m) judge(m);
    if (left_out_)
      out_.differences.push_back(
          fmt::format("and {} more modules are stored otherwise than declared", left_out_));
    return std::move(out_);
  }

 private:
  const std::vector<DeclaredModule>& modules() const { return bill_.storage.by_declaration; }

  // The tensors of each module's instances.
  void collect() {
    std::vector<std::string> joined;  // suffixes that do not start at a dot
    const auto take = [&](const std::string& suffix) {
      suffixes_.insert(suffix);
      if (!suffix.starts_with('.') && std::ranges::find(joined, suffix) == joined.end())
        joined.push_back(suffix);
    };
    for (const auto& [name, scheme] : bill_.library->quants())
      for (const spec::StoredPattern& pattern : scheme.tensors) take(pattern.suffix);
    instances_.resize(modules().size());
    for (size_t m = 0; m < modules().size(); ++m) {
      take(modules()[m].plain_suffix);
      std::string key;
      std::vector<int64_t> literal;
      internal::canonical_name(modules()[m].path, key, literal);
      by_path_[key].push_back(m);
    }
    const bool headers = truth_.level == truth::Level::kHeader;
    const size_t count = headers ? truth_.tensors.size() : truth_.names.size();
    std::string key;
    std::vector<int64_t> values;
    for (size_t t = 0; t < count; ++t) {
      internal::canonical_name(headers ? truth_.tensors.name(t) : std::string_view(truth_.names[t]), key,
                               values);
      const auto belongs = [&](size_t cut) {
        const auto it = by_path_.find(key.substr(0, cut));
        if (it == by_path_.end() || !suffixes_.contains(key.substr(cut))) return false;
        Part part{key.substr(cut), std::nullopt, {}};
        if (headers) {
          part.dtype = truth_.tensors.dtype(t);
          part.shape.assign(truth_.tensors.shape(t).begin(), truth_.tensors.shape(t).end());
        }
        for (size_t m : it->second)
          if (holds(m, values)) {
            instances_[m][values].push_back(part);
            return true;
          }
        return false;
      };
      bool found = false;
      for (size_t dot = key.rfind('.'); dot != std::string::npos && dot > 0 && !found;
           dot = key.rfind('.', dot - 1))
        found = belongs(dot);
      for (const std::string& suffix : joined)
        if (!found && key.ends_with(suffix)) found = belongs(key.size() - suffix.size());
    }
  }

  // Several modules may stand under one name, of different layers.
  bool holds(size_t m, const std::vector<int64_t>& values) {
    return std::ranges::any_of(rows_of(m), [&](const StoredTensor* row) { return row_holds(*row, values); });
  }
  static bool row_holds(const StoredTensor& row, const std::vector<int64_t>& values) {
    // A path's own digits have no index set; rows of such paths are taken by name alone.
    if (row.indices.size() != values.size()) return row.indices.empty();
    for (size_t i = 0; i < values.size(); ++i) {
      const std::vector<int64_t>& set = row.indices[i];
      if (!std::ranges::binary_search(set, values[i])) return false;
    }
    return true;
  }
  const std::vector<const StoredTensor*>& rows_of(size_t m) {
    if (rows_.empty()) rows_.resize(modules().size());
    std::vector<const StoredTensor*>& rows = rows_[m];
    if (rows.empty())
      for (size_t row : bill_.storage.of_param[modules()[m].param])
        if (bill_.storage.tensors[row].name.starts_with(modules()[m].path))
          rows.push_back(&bill_.storage.tensors[row]);
    return rows;
  }

  void judge(size_t m) {
    const DeclaredModule& module = modules()[m];
    std::map<Parts, std::vector<std::vector<int64_t>>> alike;
    for (auto& [values, parts] : instances_[m]) {
      std::sort(parts.begin(), parts.end());
      std::erase_if(parts, [](const Part& part) { return part.suffix == ".bias"; });
      if (!parts.empty()) alike[parts].push_back(values);
    }
    std::map<SeenFormat, std::vector<std::vector<int64_t>>> found;
    for (const auto& [parts, instances] : alike) {
      std::vector<std::vector<int64_t>> differing;
      // Instances of equal tensors that the same rows speak of are judged once.
      std::map<std::vector<bool>, bool> known;
      std::vector<bool> spoken;
      for (const std::vector<int64_t>& values : instances) {
        spoken.clear();
        for (const StoredTensor* row : rows_of(m)) spoken.push_back(row_holds(*row, values));
        const auto [it, fresh] = known.try_emplace(spoken, false);
        if (fresh) it->second = as_declared(m, values, parts);
        if (!it->second) differing.push_back(values);
      }
      if (differing.empty()) continue;
      if (std::optional<SeenFormat> format = search(module, parts)) {
        std::vector<std::vector<int64_t>>& into = found[*format];
        into.insert(into.end(), differing.begin(), differing.end());
      }
    }
    for (auto& [format, instances] : found) {
      std::ranges::sort(instances);
      say(module, m, format, instances);
      std::map<std::vector<int64_t>, SeenFormat>& into = out_.seen[module.path];
      for (const std::vector<int64_t>& values : instances) into.emplace(values, format);
    }
  }

  bool as_declared(size_t m, const std::vector<int64_t>& values, const Parts& parts) {
    const DeclaredModule& module = modules()[m];
    std::vector<Wanted> wanted;
    for (const StoredTensor* row : rows_of(m)) {
      if (!row_holds(*row, values) || row->name.size() < module.path.size()) continue;
      Wanted one{row->name.substr(module.path.size()), row->dtypes, {}, row->optional, row->variable};
      if (one.suffix == ".bias") continue;
      if (row->scheme == "none") {
        // Of a plain weight the files' own width is taken anyway.
        one.dtypes = {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64};
        one.dtypes.push_back(row->dtype);
      }
      for (const expr::Expr& axis : row->shape)
        one.shape.push_back(static_cast<uint64_t>(axis.integer().value_or(0)));
      wanted.push_back(std::move(one));
    }
    return explains(wanted, parts);
  }

  std::optional<SeenFormat> search(const DeclaredModule& module, const Parts& parts) const {
    std::vector<SeenFormat> found;
    if (plain(module, parts)) found.push_back({"none", {}});
    for (const auto& [name, scheme] : bill_.library->quants())
      if (std::optional<std::vector<std::pair<std::string, int64_t>>> numbers = fit(scheme, module, parts))
        found.push_back({name, std::move(*numbers)});
    if (found.empty()) return std::nullopt;
    // Of several, what the declaration names; names alone must leave one.
    const std::string& declared = bill_.storage.declared_scheme;
    std::vector<SeenFormat> named;
    for (const SeenFormat& format : found)
      if ((" + " + declared + " + ").find(" + " + format.scheme + " + ") != std::string::npos)
        named.push_back(format);
    if (!named.empty()) return named[0];
    if (found.size() > 1 && !parts[0].dtype) return std::nullopt;
    return found[0];
  }

  // Of the weight that one module keeps.
  std::vector<expr::Expr> axes_of(const DeclaredModule& module) const {
    std::vector<expr::Expr> out = bill_.prefill->params[module.param].base_axes;
    out[0] = out[0] / bill_.prefill->pool->constant(module.parts);
    return out;
  }

  bool plain(const DeclaredModule& module, const Parts& parts) const {
    Wanted one{module.plain_suffix, {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64}, {}, false, false};
    if (module.stack) one.shape.push_back(static_cast<uint64_t>(module.stack.integer().value_or(0)));
    for (const expr::Expr& axis : axes_of(module))
      one.shape.push_back(static_cast<uint64_t>(axis.integer().value_or(0)));
    // Scales of a cache may stand beside.
    Parts own = parts;
    std::erase_if(own,
                  [](const Part& part) { return part.suffix == ".k_scale" || part.suffix == ".v_scale"; });
    return explains({one}, own);
  }

  // The numbers under which a scheme explains the parts.
  std::optional<std::vector<std::pair<std::string, int64_t>>> fit(const spec::QuantScheme& scheme,
                                                                  const DeclaredModule& module,
                                                                  const Parts& parts) const {
    // By names first.
    for (const spec::StoredPattern& pattern : scheme.tensors)
      if (!pattern.optional && std::ranges::find(parts, pattern.suffix, &Part::suffix) == parts.end())
        return std::nullopt;
    for (const Part& part : parts)
      if (std::ranges::find(scheme.tensors, part.suffix, &spec::StoredPattern::suffix) ==
          scheme.tensors.end())
        return std::nullopt;
    const std::vector<expr::Expr> axes = axes_of(module);
    expr::ExprPool& pool = *bill_.prefill->pool;
    std::vector<size_t> at(scheme.params.size(), 0);
    const auto value = [&](size_t i) {
      const spec::QuantParam& row = scheme.params[i];
      return row.values.empty() ? row.fallback : row.values[at[i]];
    };
    for (int trial = 0; trial < kMaxTrials; ++trial) {
      const auto number = [&](std::string_view name) -> std::optional<expr::Expr> {
        if (name == "out") return axes[0];
        if (name == "in") return axes[1];
        for (size_t i = 0; i < scheme.params.size(); ++i)
          if (scheme.params[i].name == name) return pool.constant(value(i));
        return std::nullopt;
      };
      std::vector<Wanted> wanted;
      bool whole = true;
      for (const spec::StoredPattern& pattern : scheme.tensors) {
        Wanted one{pattern.suffix, {}, {}, pattern.optional, pattern.variable};
        for (const std::optional<Dtype>& dtype : pattern.dtypes)
          if (dtype)
            one.dtypes.push_back(*dtype);
          else
            one.dtypes.insert(one.dtypes.end(), {Dtype::kBF16, Dtype::kF16, Dtype::kF32});
        if (module.stack && !pattern.alone)
          one.shape.push_back(static_cast<uint64_t>(module.stack.integer().value_or(0)));
        for (const expr::Formula& axis : pattern.shape) {
          const std::optional<base::Int128> size = axis.instantiate(pool, number).integer();
          whole = whole && size && *size >= 0;
          one.shape.push_back(whole ? static_cast<uint64_t>(*size) : 0);
        }
        wanted.push_back(std::move(one));
      }
      if (whole && explains(wanted, parts)) {
        std::vector<std::pair<std::string, int64_t>> out;
        // Names say nothing of numbers.
        if (parts[0].dtype)
          for (size_t i = 0; i < scheme.params.size(); ++i) out.emplace_back(scheme.params[i].name, value(i));
        return out;
      }
      size_t i = 0;
      while (i < at.size() && ++at[i] >= std::max<size_t>(scheme.params[i].values.size(), 1)) at[i++] = 0;
      if (i == at.size()) break;
    }
    return std::nullopt;
  }

  static std::string shown(const std::string& scheme) {
    return scheme == "none" ? "plain" : "scheme " + scheme;
  }

  void say(const DeclaredModule& module, size_t m, const SeenFormat& format,
           const std::vector<std::vector<int64_t>>& instances) {
    if (out_.differences.size() >= kShown) {
      ++left_out_;
      return;
    }
    std::string declared = "none";
    for (const StoredTensor* row : rows_of(m))
      if (row->main && row_holds(*row, instances[0])) declared = row->scheme;
    std::string name = module.path;
    for (int64_t value : instances[0])
      if (const size_t star = name.find('*'); star != std::string::npos)
        name.replace(star, 1, std::to_string(value));
    std::string numbers;
    for (const auto& [key, number] : format.params)
      numbers += (numbers.empty() ? " with " : ", ") + key + " " + std::to_string(number);
    const std::string origin =
        bill_.storage.declared_origin.empty() ? "no declaration" : bill_.storage.declared_origin;
    out_.differences.push_back(
        fmt::format("{}{}: {} by its tensors{}, {} by {}; the tensors win", name,
                    instances.size() > 1 ? fmt::format(" and {} more like it", instances.size() - 1) : "",
                    shown(format.scheme), numbers,
                    declared == format.scheme ? "with other numbers" : shown(declared), origin));
  }

  const analysis::Bill& bill_;
  const truth::Truth& truth_;
  std::unordered_map<std::string, std::vector<size_t>> by_path_;  // canonical module path -> modules
  std::set<std::string> suffixes_;
  std::vector<std::map<std::vector<int64_t>, Parts>> instances_;  // by module
  std::vector<std::vector<const StoredTensor*>> rows_;
  size_t left_out_ = 0;
  SeenFormats out_;
};

}  // namespace

SeenFormats formats_seen(const analysis::Bill& bill, const truth::Truth& truth) {
  return Finder(bill, truth).run();
}

}  // namespace archlight::guard
