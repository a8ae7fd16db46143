// tensor_names.h: the tensor names of a checkpoint in canonical form, made once for all that join on them.
//
// A canonical name has '*' for every segment of digits. Both sides, checkpoint and spec, are brought to it the same way
// and joined by equality. A checkpoint of a hundred thousand tensors has about a hundred canonical names, so what is
// asked of a name is asked once of each; of each tensor only its indices.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "truth/truth.h"

namespace archlight::guard {

// Segments of digits become '*' and their values are appended; one of more than 9 digits stays as it is.
void canonical_name(std::string_view name, std::string& key, std::vector<int64_t>& values);
// A segment that canonical names show as '*': digits as a spec writes an index. "007" and numbers past any model stay
// text, so that they match nothing.
bool is_index(std::string_view segment);

class TensorNames {
 public:
  // Those of the headers at header level, else those that the truth lists. Views: the truth must stay.
  explicit TensorNames(const truth::Truth& truth);
  explicit TensorNames(std::span<const std::string> names);

  size_t size() const { return names_.size(); }
  std::string_view name(size_t tensor) const { return names_[tensor]; }

  size_t key_count() const { return keys_.size(); }
  size_t key_of(size_t tensor) const { return key_of_[tensor]; }
  const std::string& key(size_t key) const { return keys_[key]; }
  std::optional<size_t> find(std::string_view key) const;

  // Tensors of equal indices share one number for them.
  size_t indices_count() const { return indices_.size(); }
  size_t indices_of(size_t tensor) const { return indices_of_[tensor]; }
  const std::vector<int64_t>& indices(size_t number) const { return indices_[number]; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    size_t operator()(const std::vector<int64_t>& values) const {
      size_t out = values.size();
      for (const int64_t value : values) out = (out ^ static_cast<size_t>(value)) * 0x9e3779b97f4a7c15u;
      return out ^ out >> 32;
    }
  };
  void add(std::string_view name);

  std::vector<std::string_view> names_;
  std::vector<uint32_t> key_of_, indices_of_;  // by tensor
  std::vector<std::string> keys_;
  std::vector<std::vector<int64_t>> indices_;
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> known_keys_;
  std::unordered_map<std::vector<int64_t>, uint32_t, Hash> known_indices_;
  std::string one_key_;
  std::vector<int64_t> one_indices_;
};

}  // namespace archlight::guard
