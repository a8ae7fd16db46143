#include "guard/internal/claims.h"

#include <algorithm>

namespace archlight::guard::internal {

Claims::Claims(const analysis::Storage& storage, const TensorNames& names)
    : names_(names), by_key_(names.key_count()) {
  claims_.reserve(storage.tensors.size());
  for (size_t row = 0; row < storage.tensors.size(); ++row) {
    const analysis::StoredTensor& tensor = storage.tensors[row];
    Claim claim;
    claim.row = row;
    // The stored name's own digits are an axis of one value.
    std::string key;
    std::vector<int64_t> literal;
    size_t next_literal = 0, next_set = 0;
    canonical_name(tensor.name, key, literal);
    size_t at = 0;
    while (at <= tensor.name.size()) {
      const size_t end = std::min(tensor.name.find('.', at), tensor.name.size());
      const std::string_view part = std::string_view(tensor.name).substr(at, end - at);
      std::vector<int64_t> own;
      const std::vector<int64_t>* set = nullptr;
      if (part == "*" && next_set < tensor.indices.size()) {
        set = &tensor.indices[next_set++];
      } else if (is_index(part) && next_literal < literal.size()) {
        own = {literal[next_literal++]};
        set = &own;
      }
      if (set) {
        Claim::Axis axis;
        axis.size = set->size();
        axis.low = set->empty() ? 0 : *std::ranges::min_element(*set);
        const int64_t high = set->empty() ? -1 : *std::ranges::max_element(*set);
        axis.position.assign(static_cast<size_t>(high - axis.low + 1), -1);
        for (size_t i = 0; i < set->size(); ++i)
          axis.position[static_cast<size_t>((*set)[i] - axis.low)] = static_cast<int32_t>(i);
        claim.axes.push_back(std::move(axis));
      }
      at = end + 1;
    }
    size_t instances = 1;
    for (const Claim::Axis& axis : claim.axes) instances *= axis.size;
    claim.seen.assign(instances, 0);
    for (const expr::Expr& axis : tensor.shape)
      claim.shape.push_back(static_cast<uint64_t>(axis.integer().value_or(0)));
    if (const std::optional<size_t> known = names.find(key)) by_key_[*known].push_back(claims_.size());
    leaf_names_.push_back(std::move(key));
    claims_.push_back(std::move(claim));
  }
}

Claim* Claims::take(size_t tensor, bool* twice) {
  const std::vector<int64_t>& values = names_.indices(names_.indices_of(tensor));
  for (size_t index : by_key_[names_.key_of(tensor)]) {
    Claim& claim = claims_[index];
    if (claim.axes.size() != values.size()) continue;
    size_t instance = 0;
    bool inside = true;
    for (size_t i = 0; i < values.size() && inside; ++i) {
      const Claim::Axis& axis = claim.axes[i];
      const int64_t offset = values[i] - axis.low;
      inside = offset >= 0 && offset < static_cast<int64_t>(axis.position.size()) &&
               axis.position[static_cast<size_t>(offset)] >= 0;
      if (inside)
        instance = instance * axis.size + static_cast<size_t>(axis.position[static_cast<size_t>(offset)]);
    }
    if (!inside) continue;
    if (claim.seen[instance]) {
      if (twice) *twice = true;
      continue;
    }
    claim.seen[instance] = 1;
    ++claim.seen_count;
    return &claim;
  }
  return nullptr;
}

std::vector<std::string> Claims::leaf_names() const {
  std::vector<std::string> out = leaf_names_;
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::string Claims::instance_name(const analysis::StoredTensor& tensor, const Claim& claim, size_t instance) {
  std::vector<size_t> position(claim.axes.size());
  for (size_t i = claim.axes.size(); i-- > 0;) {
    position[i] = instance % claim.axes[i].size;
    instance /= claim.axes[i].size;
  }
  std::string out;
  size_t axis = 0, set = 0, at = 0;
  while (at <= tensor.name.size()) {
    const size_t end = std::min(tensor.name.find('.', at), tensor.name.size());
    const std::string_view part = std::string_view(tensor.name).substr(at, end - at);
    if (at > 0) out += '.';
    if (part == "*" && set < tensor.indices.size()) {
      out += std::to_string(tensor.indices[set++][position[axis++]]);
    } else {
      if (is_index(part)) ++axis;
      out += part;
    }
    at = end + 1;
  }
  return out;
}

}  // namespace archlight::guard::internal
