#include "guard/count.h"

#include <algorithm>

#include "expr/expr.h"

namespace archlight::guard {

using analysis::StoredTensor;
using base::Int128;
using spec::CountRule;

namespace {

bool fits(const CountRule& rule, const StoredTensor& tensor) {
  const auto holds = [](const std::optional<bool>& wanted, bool is) { return !wanted || *wanted == is; };
  const auto listed = [](const std::vector<std::string>& list, const std::string& name) {
    return list.empty() || std::ranges::find(list, name) != list.end();
  };
  return holds(rule.scalar, tensor.scalar) && holds(rule.main, tensor.main) &&
         holds(rule.tied, tensor.tied) && holds(rule.buffer, tensor.role == "buffer") &&
         (!rule.dtype || *rule.dtype == tensor.dtype) && (rule.apart.empty() || rule.apart == tensor.apart) &&
         listed(rule.schemes, tensor.scheme) &&
         listed(rule.names, tensor.name.substr(tensor.name.rfind('.') + 1));
}

// What stands or falls together: tensors of one stored name that may be absent, or of one suffix whose dtype decides.
struct Open {
  std::vector<std::string> names;
  bool optional = false;
  // A dtype, and what it counts; of an optional tensor its shapes, beside which it may be absent.
  std::vector<std::pair<std::optional<base::Dtype>, Int128>> ways;
};

}  // namespace

Int128 counted_elements(const StoredTensor& tensor, const spec::Counting& counting,
                        const spec::CountList* alternative, const CountRule** rule) {
  const CountRule* found = nullptr;
  for (const std::vector<CountRule>* rules : {alternative ? &alternative->rules : nullptr, &counting.rules})
    if (rules && !found)
      if (const auto it =
              std::ranges::find_if(*rules, [&](const CountRule& row) { return fits(row, tensor); });
          it != rules->end())
        found = &*it;
  if (rule) *rule = found;
  if (!found) return (tensor.elements() * tensor.count).integer().value_or(0);
  if (found->logical) {
    const expr::Expr own = tensor.weight_elements ? tensor.weight_elements : tensor.elements();
    return (own * tensor.count).integer().value_or(0);
  }
  return (tensor.elements() * tensor.count).integer().value_or(0) * found->times;
}

std::vector<Combination> combinations_for(const analysis::Storage& storage, const spec::Counting& counting,
                                          const spec::CountList* alternative, Int128 recorded) {
  const auto count = [&](const StoredTensor& tensor, std::optional<base::Dtype> dtype) {
    if (!dtype) return counted_elements(tensor, counting, alternative);
    StoredTensor with = tensor;
    with.dtype = *dtype;
    return counted_elements(with, counting, alternative);
  };
  Int128 fixed = 0;
  std::vector<Open> open;
  for (const StoredTensor& tensor : storage.tensors) {
    const bool repeats = tensor.tied && alternative && alternative->repeats_tied;
    // Counted again or not: an alternative says which, so that the total cannot.
    if (tensor.tied && alternative && !repeats) continue;
    if (tensor.optional && !repeats) {
      auto it = std::ranges::find_if(
          open, [&](const Open& row) { return row.optional && row.names[0] == tensor.name; });
      const size_t shapes = tensor.or_shape.empty() ? 1 : 2;
      if (it == open.end())
        it = open.insert(open.end(), {{tensor.name}, true, {shapes, {std::nullopt, Int128{0}}}});
      it->ways[0].second += count(tensor, std::nullopt);
      if (shapes == 2) {
        StoredTensor other = tensor;
        std::swap(other.shape, other.or_shape);
        it->ways.resize(2);
        it->ways[1].second += count(other, std::nullopt);
      }
      continue;
    }
    const Int128 own = count(tensor, std::nullopt);
    const bool decides =
        std::ranges::any_of(tensor.dtypes, [&](base::Dtype other) { return count(tensor, other) != own; });
    if (!decides) {
      fixed += own;
      continue;
    }
    const std::string suffix = tensor.name.substr(tensor.name.rfind('.') + 1);
    auto it = std::ranges::find_if(open, [&](const Open& row) {
      return !row.optional && row.names[0].ends_with(suffix) && row.ways.size() == tensor.dtypes.size();
    });
    if (it == open.end()) {
      it = open.insert(open.end(), Open{{}, false, {}});
      for (base::Dtype other : tensor.dtypes) it->ways.emplace_back(other, 0);
    }
    if (std::ranges::find(it->names, tensor.name) == it->names.end()) it->names.push_back(tensor.name);
    for (auto& [dtype, sum] : it->ways) sum += count(tensor, dtype);
  }
  // What counts nothing (a scale of one number) no total can decide.
  std::erase_if(open, [](const Open& row) { return row.optional && row.ways[0].second == 0; });
  std::vector<Combination> out;
  if (open.size() > 12) return out;  // more unknowns than one number can decide
  std::vector<size_t> way(open.size(), 0);
  while (out.size() < 2) {
    Int128 sum = fixed;
    for (size_t i = 0; i < open.size(); ++i)
      if (!open[i].optional)
        sum += open[i].ways[way[i]].second;
      else if (way[i])
        sum += open[i].ways[way[i] - 1].second;
    if (sum == recorded) {
      Combination found;
      for (size_t i = 0; i < open.size(); ++i)
        for (const std::string& name : open[i].names) {
          if (!open[i].optional) found.dtypes[name] = *open[i].ways[way[i]].first;
          if (open[i].optional && way[i] > 0) found.present.insert(name);
          if (open[i].optional && way[i] > 1) found.or_shaped.insert(name);
        }
      out.push_back(std::move(found));
    }
    size_t i = 0;
    while (i < open.size() && ++way[i] == open[i].ways.size() + (open[i].optional ? 1 : 0)) way[i++] = 0;
    if (i == open.size()) break;
  }
  return out;
}

Int128 counted_total(const analysis::Storage& storage, const spec::Counting& counting,
                     const spec::CountList* alternative, std::vector<std::string>* rules) {
  Int128 sum = 0;
  std::set<const CountRule*> used;
  bool repeated = false;
  for (const StoredTensor& tensor : storage.tensors) {
    const bool repeats = tensor.tied && alternative && alternative->repeats_tied;
    if (!tensor.present && !repeats) continue;
    const CountRule* rule = nullptr;
    const Int128 counts = counted_elements(tensor, counting, alternative, &rule);
    sum += counts;
    repeated = repeated || repeats;
    if (rule && counts != (tensor.elements() * tensor.count).integer().value_or(0)) used.insert(rule);
  }
  if (rules) {
    if (repeated) rules->push_back("a tied head counts again");
    for (const std::vector<CountRule>* list : {alternative ? &alternative->rules : nullptr, &counting.rules})
      if (list)
        for (const CountRule& rule : *list)
          if (used.contains(&rule)) rules->push_back(rule.name);
  }
  return sum;
}

}  // namespace archlight::guard
