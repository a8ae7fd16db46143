#include "guard/tensor_names.h"

#include <algorithm>

namespace archlight::guard {

bool is_index(std::string_view segment) {
  return !segment.empty() && segment.size() <= 9 &&
         std::ranges::all_of(segment, [](char c) { return c >= '0' && c <= '9'; }) &&
         (segment[0] != '0' || segment.size() == 1);
}

void canonical_name(std::string_view name, std::string& key, std::vector<int64_t>& values) {
  key.clear();
  values.clear();
  size_t kept = 0;  // what stands before is in the key
  for (size_t at = 0; at < name.size();) {
    const size_t end = std::min(name.find('.', at), name.size());
    if (const std::string_view part = name.substr(at, end - at); is_index(part)) {
      int64_t value = 0;
      for (char digit : part) value = value * 10 + (digit - '0');
      values.push_back(value);
      key.append(name, kept, at - kept).push_back('*');
      kept = end;
    }
    at = end + 1;
  }
  key.append(name.substr(std::min(kept, name.size())));
}

TensorNames::TensorNames(const truth::Truth& truth) {
  if (truth.level == truth::Level::kHeader)
    for (size_t t = 0; t < truth.tensors.size(); ++t) add(truth.tensors.name(t));
  else
    for (const std::string& name : truth.names) add(name);
}

TensorNames::TensorNames(std::span<const std::string> names) {
  for (const std::string& name : names) add(name);
}

void TensorNames::add(std::string_view name) {
  canonical_name(name, one_key_, one_indices_);
  auto key = known_keys_.find(one_key_);
  if (key == known_keys_.end()) {
    key = known_keys_.emplace(one_key_, static_cast<uint32_t>(keys_.size())).first;
    keys_.push_back(one_key_);
  }
  auto indices = known_indices_.find(one_indices_);
  if (indices == known_indices_.end()) {
    indices = known_indices_.emplace(one_indices_, static_cast<uint32_t>(indices_.size())).first;
    indices_.push_back(one_indices_);
  }
  names_.push_back(name);
  key_of_.push_back(key->second);
  indices_of_.push_back(indices->second);
}

std::optional<size_t> TensorNames::find(std::string_view key) const {
  const auto it = known_keys_.find(key);
  return it == known_keys_.end() ? std::nullopt : std::optional<size_t>(it->second);
}

}  // namespace archlight::guard
