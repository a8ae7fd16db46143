#include "base/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace archlight::base {
namespace {

// Messages quote input; control characters and endless names must not reach a terminal as they are.
std::string printable(std::string_view text, size_t limit = 2000) {
  std::string out;
  for (unsigned char c : text.substr(0, limit)) {
    if (c < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", c);
    else
      out += static_cast<char>(c);
  }
  if (text.size() > limit) out += fmt::format("... ({} bytes)", text.size());
  return out;
}

std::string_view line_of(std::string_view text, int line) {
  size_t start = 0;
  for (int i = 1; i < line; ++i) {
    start = text.find('\n', start);
    if (start == std::string_view::npos) return {};
    ++start;
  }
  return text.substr(start, text.find('\n', start) - start);
}

}  // namespace

std::string Diagnostic::message() const {
  std::string out;
  if (at.source && !at.source->name.empty()) out += printable(at.source->name);
  if (at.line > 0) out += fmt::format(":{}:{}", at.line, std::max(at.column, 1));
  if (!out.empty()) out += ": ";
  if (!guard.empty()) out += "[" + guard + "] ";
  out += printable(wrong);
  if (!expected.empty()) out += "; expected " + printable(expected);
  if (!fix.empty()) out += "; " + printable(fix);
  return out;
}

std::string Diagnostic::render() const {
  std::string out = message();
  if (!at.source || at.line <= 0) return out;
  std::string_view line = line_of(at.source->text, at.line);
  // A caret under a line of a minified file helps nobody.
  if (line.empty() || line.size() > 200) return out;
  const int column = std::clamp(at.column, 1, static_cast<int>(line.size()) + 1);
  const int length = std::clamp(at.length, 1, static_cast<int>(line.size()) - column + 2);
  out += fmt::format("\n{:5} | {}\n      | {}^{}", at.line, printable(line), std::string(column - 1, ' '),
                     std::string(length - 1, '~'));
  return out;
}

std::string render_all(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!out.empty()) out += '\n';
    out += diagnostic.render();
  }
  return out;
}

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (name.size() > 100 || candidate.size() > 100) continue;
    // Letters changed, added, left out, or swapped with their neighbour, one row at a time.
    std::vector<size_t> row(candidate.size() + 1), above(candidate.size() + 1), two_above;
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= name.size(); ++i) {
      two_above = std::exchange(above, row);
      row[0] = i;
      for (size_t j = 1; j <= candidate.size(); ++j) {
        row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (name[i - 1] != candidate[j - 1])});
        if (i > 1 && j > 1 && name[i - 1] == candidate[j - 2] && name[i - 2] == candidate[j - 1])
          row[j] = std::min(row[j], two_above[j - 2] + 1);
      }
    }
    // A name of which no letter stays is another name.
    if (row.back() < best_distance && row.back() < std::max(name.size(), candidate.size())) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string best = nearest(name, candidates);
  return best.empty() ? std::string() : "did you mean '" + best + "'?";
}

}  // namespace archlight::base
