#include "guard/count.h"

#include <algorithm>

#include "expr/expr.h"

namespace archlight::guard {

using base::Int128;

Int128 counted_elements(const analysis::StoredTensor& tensor) {
  if (tensor.scalar) return 0;
  return (tensor.elements() * tensor.count).integer().value_or(0) * tensor.count_as;
}

std::vector<std::set<std::string>> combinations_for(const analysis::Storage& storage, Int128 recorded) {
  Int128 fixed = 0;
  std::vector<std::pair<std::string, Int128>> optional;  // by stored name: its rows stand or fall together
  for (const analysis::StoredTensor& tensor : storage.tensors) {
    if (!tensor.optional) {
      fixed += counted_elements(tensor);
      continue;
    }
    auto it = std::ranges::find(optional, tensor.name, &std::pair<std::string, Int128>::first);
    if (it == optional.end()) it = optional.insert(optional.end(), {tensor.name, 0});
    it->second += counted_elements(tensor);
  }
  // What counts nothing (a scale of one number) no total can decide.
  std::erase_if(optional, [](const auto& row) { return row.second == 0; });
  std::vector<std::set<std::string>> out;
  if (optional.size() > 12) return out;  // more unknowns than one number can decide
  for (size_t mask = 0; mask < (size_t{1} << optional.size()) && out.size() < 2; ++mask) {
    Int128 sum = fixed;
    std::set<std::string> present;
    for (size_t i = 0; i < optional.size(); ++i)
      if (mask >> i & 1) {
        sum += optional[i].second;
        present.insert(optional[i].first);
      }
    if (sum == recorded) out.push_back(std::move(present));
  }
  return out;
}

}  // namespace archlight::guard
