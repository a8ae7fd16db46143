#include "analysis/internal/checkpoint_names.h"

#include <algorithm>

namespace archlight::analysis::internal {

std::vector<std::string> split_path(const std::string& text) {
  std::vector<std::string> out;
  size_t at = 0;
  while (at <= text.size() && !text.empty()) {
    const size_t dot = text.find('.', at);
    out.push_back(text.substr(at, dot == std::string::npos ? std::string::npos : dot - at));
    if (dot == std::string::npos) break;
    at = dot + 1;
  }
  return out;
}

std::string join_path(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ".") + part;
  return out;
}

bool path_matches(std::string_view pattern, std::string_view path) {
  if (pattern.empty() || path.empty()) return pattern.empty() && path.empty();
  while (true) {
    const size_t p = pattern.find('.'), q = path.find('.');
    const std::string_view wanted = pattern.substr(0, p);
    if (wanted != "*" && wanted != path.substr(0, q)) return false;
    if (p == std::string_view::npos || q == std::string_view::npos) return p == q;
    pattern.remove_prefix(p + 1);
    path.remove_prefix(q + 1);
  }
}

std::string with_indices(const std::string& pattern, const std::vector<int64_t>& values) {
  std::string out;
  out.reserve(pattern.size() + 4 * values.size());
  size_t at = 0;
  for (const int64_t value : values) {
    const size_t star = pattern.find('*', at);
    if (star == std::string::npos) break;
    out.append(pattern, at, star - at) += std::to_string(value);
    at = star + 1;
  }
  return out.append(pattern, at);
}

CheckpointPath checkpoint_path(const spec::Adapter* adapter, const std::string& canonical) {
  if (!adapter) return {canonical, ".", false, false, {}};
  const std::vector<std::string> parts = split_path(canonical);
  const spec::AdapterRule* best = nullptr;
  for (const spec::AdapterRule& rule : adapter->rules)
    if (rule.from.size() <= parts.size() && std::equal(rule.from.begin(), rule.from.end(), parts.begin()) &&
        (!best || rule.from.size() > best->from.size()))
      best = &rule;
  if (!best) return {canonical, ".", false, false, {}};
  std::vector<std::string> to = best->to;
  to.insert(to.end(), parts.begin() + static_cast<ptrdiff_t>(best->from.size()), parts.end());
  CheckpointPath out{join_path(to), best->join, best->stacked, best->transposed, {}};
  for (const std::vector<std::string>& part : best->parts) {
    std::vector<std::string> own = part;
    own.insert(own.end(), parts.begin() + static_cast<ptrdiff_t>(best->from.size()), parts.end());
    out.parts.push_back(join_path(own));
  }
  return out;
}

}  // namespace archlight::analysis::internal
