#include "guard/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

namespace archlight::guard {
namespace {

using analysis::DeclaredModule;
using analysis::SeenFormat;
using analysis::StoredTensor;
using base::Dtype;

constexpr size_t kShown = 20;
constexpr int kMaxTrials = 500;   // of a scheme's numbers, by one module
constexpr size_t kMaxParts = 64;  // of one module; no scheme has so many

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
  Finder(const analysis::Bill& bill, const truth::Truth& truth, const TensorNames& names)
      : bill_(bill), truth_(truth), names_(names) {}

  SeenFormats run() {
    find_rows();
    collect();
    for (size_t m = 0; m < modules().size(); ++m) judge(m);
    if (left_out_)
      out_.differences.push_back(
          fmt::format("and {} more modules are stored otherwise than declared", left_out_));
    return std::move(out_);
  }

 private:
  // A module that a canonical tensor name may belong to: the name up to `cut` is its path.
  struct Owner {
    size_t module = 0, cut = 0;
  };
  struct Member {
    size_t tensor = 0, part = 0;
  };
  using Indices = std::vector<std::vector<int64_t>>;
  // The rows of Storage that store a module, and the index sets that they speak of, each once.
  struct Rows {
    std::vector<const StoredTensor*> rows;
    std::vector<const Indices*> scopes;
  };

  const std::vector<DeclaredModule>& modules() const { return bill_.storage.by_declaration; }

  void find_rows() {
    rows_.resize(modules().size());
    for (size_t m = 0; m < modules().size(); ++m) {
      Rows& of = rows_[m];
      for (size_t row : bill_.storage.of_param[modules()[m].param]) {
        const StoredTensor& tensor = bill_.storage.tensors[row];
        if (!tensor.name.starts_with(modules()[m].path)) continue;
        of.rows.push_back(&tensor);
        if (std::ranges::none_of(of.scopes, [&](const Indices* known) { return *known == tensor.indices; }))
          of.scopes.push_back(&tensor.indices);
      }
    }
  }

  // The tensors of each module.
  void collect() {
    std::vector<std::string> joined;  // suffixes that do not start at a dot
    const auto take = [&](const std::string& suffix) {
      suffixes_.insert(suffix);
      if (!suffix.starts_with('.') && std::ranges::find(joined, suffix) == joined.end())
        joined.push_back(suffix);
    };
    for (const auto& [name, scheme] : bill_.library->quants())
      for (const spec::StoredPattern& pattern : scheme.tensors) take(pattern.suffix);
    for (size_t m = 0; m < modules().size(); ++m) {
      take(modules()[m].plain_suffix);
      std::string key;
      std::vector<int64_t> literal;
      canonical_name(modules()[m].path, key, literal);
      by_path_[key].push_back(m);
    }
    std::vector<std::vector<Owner>> owners;
    for (size_t k = 0; k < names_.key_count(); ++k) owners.push_back(owners_of(names_.key(k), joined));
    members_.resize(modules().size());
    last_part_.resize(names_.key_count(), ~size_t{0});
    for (size_t t = 0; t < names_.size(); ++t) {
      const size_t key = names_.key_of(t);
      const std::vector<int64_t>& values = names_.indices(names_.indices_of(t));
      const auto owner =
          std::ranges::find_if(owners[key], [&](const Owner& each) { return holds(each.module, values); });
      if (owner == owners[key].end()) continue;
      const std::string_view suffix = std::string_view(names_.key(key)).substr(owner->cut);
      if (suffix != ".bias") members_[owner->module].push_back({t, part_of(t, key, suffix)});
    }
  }

  // In the order in which they are asked: the longest path first, then suffixes that are joined to a word.
  std::vector<Owner> owners_of(const std::string& key, const std::vector<std::string>& joined) const {
    std::vector<Owner> out;
    const auto cut_at = [&](size_t cut) {
      const auto it = by_path_.find(key.substr(0, cut));
      if (it == by_path_.end() || !suffixes_.contains(key.substr(cut))) return;
      for (size_t m : it->second) out.push_back({m, cut});
    };
    for (size_t dot = key.rfind('.'); dot != std::string::npos && dot > 0; dot = key.rfind('.', dot - 1))
      cut_at(dot);
    for (const std::string& suffix : joined)
      if (key.ends_with(suffix)) cut_at(key.size() - suffix.size());
    return out;
  }

  // Equal parts have one number. Tensors of one canonical name are mostly alike: the last one's part is tried first.
  size_t part_of(size_t tensor, size_t key, std::string_view suffix) {
    const bool headers = truth_.level == truth::Level::kHeader;
    if (const size_t last = last_part_[key]; last < parts_.size() && parts_[last].suffix == suffix)
      if (!headers || (parts_[last].dtype == truth_.tensors.dtype(tensor) &&
                       std::ranges::equal(parts_[last].shape, truth_.tensors.shape(tensor))))
        return last;
    Part part{std::string(suffix), std::nullopt, {}};
    if (headers) {
      part.dtype = truth_.tensors.dtype(tensor);
      part.shape.assign(truth_.tensors.shape(tensor).begin(), truth_.tensors.shape(tensor).end());
    }
    const auto [known, fresh] = known_parts_.try_emplace(std::move(part), parts_.size());
    if (fresh) parts_.push_back(known->first);
    return last_part_[key] = known->second;
  }

  // Several modules may stand under one name, of different layers.
  bool holds(size_t m, const std::vector<int64_t>& values) const {
    return std::ranges::any_of(rows_[m].scopes,
                               [&](const Indices* scope) { return scope_holds(*scope, values); });
  }
  static bool scope_holds(const Indices& scope, const std::vector<int64_t>& values) {
    // A path's own digits have no index set; rows of such paths are taken by name alone.
    if (scope.size() != values.size()) return scope.empty();
    for (size_t i = 0; i < values.size(); ++i)
      if (!std::ranges::binary_search(scope[i], values[i])) return false;
    return true;
  }

  // A set of parts and one more: sets have numbers, the empty one 0.
  size_t with(size_t set, size_t part) {
    if (sets_[set].size() == kMaxParts) return set;
    const auto [next, fresh] = with_.try_emplace({set, part}, 0);
    if (!fresh) return next->second;
    std::vector<size_t> members = sets_[set];
    members.insert(std::ranges::upper_bound(members, part), part);
    const auto [known, is_new] = known_sets_.try_emplace(std::move(members), sets_.size());
    if (is_new) sets_.push_back(known->first);
    return next->second = known->second;
  }

  // Instances of a module, by the set of parts that their tensors are: its number, and those of their indices.
  std::map<size_t, std::vector<size_t>> instances_of(size_t m) {
    set_of_.resize(names_.indices_count(), 0);
    std::vector<size_t> instances;
    size_t before = 0, before_part = 0, after = 0;
    for (const Member& member : members_[m]) {
      size_t& set = set_of_[names_.indices_of(member.tensor)];
      if (set == 0) instances.push_back(names_.indices_of(member.tensor));
      if (after == 0 || before != set || before_part != member.part) {
        before = set;
        before_part = member.part;
        after = with(set, member.part);
      }
      set = after;
    }
    std::map<size_t, std::vector<size_t>> out;
    for (size_t instance : instances) {
      out[set_of_[instance]].push_back(instance);
      set_of_[instance] = 0;
    }
    return out;
  }

  void judge(size_t m) {
    const DeclaredModule& module = modules()[m];
    std::map<SeenFormat, std::vector<std::vector<int64_t>>> found;
    for (const auto& [set, instances] : instances_of(m)) {
      Parts parts;
      for (size_t part : sets_[set]) parts.push_back(parts_[part]);
      std::sort(parts.begin(), parts.end());
      std::vector<std::vector<int64_t>> differing;
      // Instances of equal tensors that the same rows speak of are judged once.
      std::map<std::vector<bool>, bool> known;
      std::vector<bool> spoken(rows_[m].scopes.size(), true);
      for (size_t instance : instances) {
        const std::vector<int64_t>& values = names_.indices(instance);
        if (spoken.size() > 1)
          for (size_t i = 0; i < spoken.size(); ++i) spoken[i] = scope_holds(*rows_[m].scopes[i], values);
        else if (!known.empty() && known.begin()->second)
          break;
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
    for (const StoredTensor* row : rows_[m].rows) {
      if (!scope_holds(row->indices, values)) continue;
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
    for (const StoredTensor* row : rows_[m].rows)
      if (row->main && scope_holds(row->indices, instances[0])) declared = row->scheme;
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
  const TensorNames& names_;
  std::vector<Rows> rows_;                                        // by module
  std::unordered_map<std::string, std::vector<size_t>> by_path_;  // canonical module path -> modules
  std::set<std::string> suffixes_;
  std::vector<std::vector<Member>> members_;  // by module
  std::vector<Part> parts_;
  std::map<Part, size_t> known_parts_;
  std::vector<size_t> last_part_;                 // by canonical name
  std::vector<std::vector<size_t>> sets_ = {{}};  // of parts, by number
  std::map<std::vector<size_t>, size_t> known_sets_;
  std::map<std::pair<size_t, size_t>, size_t> with_;
  std::vector<size_t> set_of_;  // by indices, while one module is looked at
  size_t left_out_ = 0;
  SeenFormats out_;
};

}  // namespace

SeenFormats formats_seen(const analysis::Bill& bill, const truth::Truth& truth, const TensorNames& names) {
  return Finder(bill, truth, names).run();
}

}  // namespace archlight::guard
