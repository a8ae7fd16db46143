// claims.h: the join of checkpoint tensors and spec leaves on canonical names.
//
// A canonical name has '*' for every segment of digits. Both sides are brought to it the same way and joined
// by equality; several leaves may stand under one name (one per kind of layer), and then a tensor's indices
// tell whose it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/storage.h"

namespace archlight::guard::internal {

struct Claim {
  size_t row = 0;  // in Storage::tensors
  struct Axis {
    int64_t low = 0;
    std::vector<int32_t> position;  // of low + i in the set, -1 when not in it
    size_t size = 0;
  };
  std::vector<Axis> axes;
  std::vector<uint8_t> seen;  // one per instance
  size_t seen_count = 0;
  // What each instance must be, as numbers.
  std::vector<uint64_t> shape;
};

class Claims {
 public:
  explicit Claims(const analysis::Storage& storage);

  // The claim of one tensor, marked as seen; null when no leaf claims the name, or a tensor has claimed it
  // before: then `twice` is set.
  Claim* take(std::string_view tensor, bool* twice = nullptr);
  std::vector<Claim>& all() { return claims_; }
  // Every canonical name, for the nearest one in messages.
  std::vector<std::string> names() const;
  // The name of one instance.
  static std::string instance_name(const analysis::StoredTensor& tensor, const Claim& claim, size_t instance);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::vector<Claim> claims_;
  std::unordered_map<std::string, std::vector<size_t>, Hash, std::equal_to<>> by_name_;
  std::string key_;
  std::vector<int64_t> values_;
};

// Digits become '*' and their values are appended; a segment of more than 9 digits stays as it is.
void canonical_name(std::string_view name, std::string& key, std::vector<int64_t>& values);

}  // namespace archlight::guard::internal
