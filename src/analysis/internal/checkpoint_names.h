// checkpoint_names.h: canonical module paths of a spec, and the names that checkpoints give them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "spec/model.h"
#include "spec/quant.h"

namespace archlight::analysis::internal {

std::vector<std::string> split_path(const std::string& text);

// Does a canonical path match a pattern in which '*' stands for one whole segment?
bool path_matches(std::string_view pattern, std::string_view path);
// Stars replaced by values, first to last.
std::string with_indices(const std::string& pattern, const std::vector<int64_t>& values);

// The checkpoint's module path of a canonical one, and how parameters are joined to it.
struct CheckpointPath {
  std::string path;
  std::string join = ".";
  bool stacked = false;
  bool transposed = false;
  std::vector<std::string> parts;  // modules in its place, each with an equal share of the first axis
};
CheckpointPath checkpoint_path(const spec::Adapter* adapter, const std::string& canonical);

// The declaration's list of untouched modules, made quick to ask.
class IgnoreList {
 public:
  IgnoreList(const std::vector<std::string>& entries, spec::IgnoreMatch match)
      : by_component_(match == spec::IgnoreMatch::kComponent) {
    for (const std::string& entry : entries) {
      if (entry.starts_with("re:") || entry.find_first_of("*?") != std::string::npos ||
          match == spec::IgnoreMatch::kSubstring) {
        patterns_.push_back(spec::ignored_by(entry, match));
        texts_.push_back(entry);
      } else {
        exact_.insert(entry);
      }
    }
  }
  const std::unordered_set<std::string>& exact() const { return exact_; }
  const std::vector<std::string>& patterns() const { return texts_; }
  bool empty() const { return exact_.empty() && patterns_.empty(); }
  bool hits(const std::string& path) const {
    for (size_t end = path.find('.'); !exact_.empty(); end = path.find('.', end + 1)) {
      if (exact_.contains(path.substr(0, end))) return true;
      if (end == std::string::npos) break;
    }
    if (by_component_ && !exact_.empty())
      for (const std::string& part : split_path(path))
        if (exact_.contains(part)) return true;
    return std::ranges::any_of(patterns_, [&](const auto& hit) { return hit(path); });
  }

 private:
  bool by_component_;
  std::unordered_set<std::string> exact_;
  std::vector<std::function<bool(const std::string& path)>> patterns_;
  std::vector<std::string> texts_;  // of the patterns
};

}  // namespace archlight::analysis::internal
