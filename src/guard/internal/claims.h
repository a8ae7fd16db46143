// claims.h: the join of checkpoint tensors and spec leaves on canonical names.
//
// Several leaves may stand under one name (one per kind of layer), and then a tensor's indices tell whose it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/storage.h"
#include "guard/tensor_names.h"

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
  Claims(const analysis::Storage& storage, const TensorNames& names);

  // The claim of one of the tensors, marked as seen; null when no leaf claims the name, or a tensor has claimed it
  // before: then `twice` is set.
  Claim* take(size_t tensor, bool* twice = nullptr);
  std::vector<Claim>& all() { return claims_; }
  // Every canonical name of a leaf, sorted, for the nearest one in messages.
  std::vector<std::string> leaf_names() const;
  // The name of one instance.
  static std::string instance_name(const analysis::StoredTensor& tensor, const Claim& claim, size_t instance);

 private:
  const TensorNames& names_;
  std::vector<Claim> claims_;
  std::vector<std::string> leaf_names_;      // by claim
  std::vector<std::vector<size_t>> by_key_;  // claims under each of the checkpoint's canonical names
};

}  // namespace archlight::guard::internal
