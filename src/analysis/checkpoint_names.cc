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

// Does a canonical path match a pattern in which '*' stands for one whole segment, or leads as "*." for any
// prefix?
bool path_matches(const std::string& pattern, const std::string& path) {
  const std::vector<std::string> p = split_path(pattern), q = split_path(path);
  if (p.size() != q.size()) return false;
  for (size_t i = 0; i < p.size(); ++i)
    if (p[i] != q[i] && p[i] != "*") return false;
  return true;
}

std::string with_indices(const std::string& pattern, const std::vector<int64_t>& values) {
  std::string out;
  size_t next = 0;
  for (char c : pattern) {
    if (c == '*' && next < values.size())
      out += std::to_string(values[next++]);
    else
      out += c;
  }
  return out;
}

CheckpointPath checkpoint_path(const spec::Adapter* adapter, const std::string& canonical) {
  if (!adapter) return {canonical};
  const std::vector<std::string> parts = split_path(canonical);
  const spec::AdapterRule* best = nullptr;
  for (const spec::AdapterRule& rule : adapter->rules)
    if (rule.from.size() <= parts.size() && std::equal(rule.from.begin(), rule.from.end(), parts.begin()) &&
        (!best || rule.from.size() > best->from.size()))
      best = &rule;
  if (!best) return {canonical};
  std::vector<std::string> to = best->to;
  to.insert(to.end(), parts.begin() + static_cast<ptrdiff_t>(best->from.size()), parts.end());
  return {join_path(to), best->join, best->stacked};
}

}  // namespace archlight::analysis::internal
