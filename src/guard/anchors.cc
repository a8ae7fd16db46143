#include "guard/anchors.h"

#include <fmt/format.h>

#include <algorithm>

namespace archlight::guard {
namespace {

using truth::PythonFile;

bool letter(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

// Pieces between the signs, where those stand outside backticks.
std::vector<std::string_view> cut(std::string_view text, char sign) {
  std::vector<std::string_view> out;
  bool code = false;
  size_t from = 0;
  for (size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && text[at] == '`') code = !code;
    if (at < text.size() && (code || text[at] != sign)) continue;
    out.push_back(trimmed(text.substr(from, at - from)));
    from = at + 1;
  }
  return out;
}

// "TinyAttention.forward" of "TinyAttention.forward for the norms": a leading word that only code has. Empty for prose.
std::string_view leading_name(std::string_view part) {
  size_t end = 0;
  while (end < part.size() && (letter(part[end]) || digit(part[end]) || part[end] == '.')) ++end;
  std::string_view word = part.substr(0, end);
  while (word.ends_with('.')) word.remove_suffix(1);
  const bool tells = std::ranges::any_of(
      word, [](char c) { return c == '_' || c == '.' || digit(c) || (c >= 'A' && c <= 'Z'); });
  return !word.empty() && letter(word[0]) && tells ? word : std::string_view();
}

bool is_file(std::string_view word) {
  return word.ends_with(".py") || word.ends_with(".md");
}

// Backticked code and leading names, parentheses left out.
void read_items(std::string_view text, std::vector<Anchor::Item>& out) {
  std::string part;
  const auto end_part = [&] {
    if (const std::string_view name = leading_name(trimmed(part)); !name.empty())
      out.push_back({std::string(name)});
    part.clear();
  };
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '`') {
      const size_t end = std::min(text.find('`', at + 1), text.size());
      // What leads up to the code names where it stands.
      end_part();
      if (const std::string_view code = trimmed(text.substr(at + 1, end - at - 1));
          depth == 0 && !code.empty())
        out.push_back({std::string(code), true});
      at = end;
      part = " ,";  // the words behind it are prose
    } else if (c == '(' || c == ')') {
      depth = std::max(0, depth + (c == '(' ? 1 : -1));
    } else if (depth == 0 && c == ',') {
      end_part();
    } else if (depth == 0) {
      part += c;
    }
  }
  end_part();
}

// One candidate file: how many items it bears out, and what it says of the first that it does not.
struct Try {
  size_t met = 0;
  std::string wrong, expected, fix;
  std::vector<const PythonFile::Definition*> named;
};

Try hold_in(const Anchor& anchor, const PythonFile& file, const std::string& shown) {
  Try out;
  const PythonFile::Definition* scope = nullptr;
  // The class around a method, or the scope itself.
  const auto outer = [&]() -> const PythonFile::Definition* {
    if (!scope) return nullptr;
    const size_t dot = scope->name.rfind('.');
    const PythonFile::Definition* around =
        dot == std::string::npos ? nullptr : file.find(scope->name.substr(0, dot));
    return around ? around : scope;
  };
  for (const Anchor::Item& item : anchor.items) {
    if (item.code) {
      if (!file.holds(item.text, scope)) {
        out.wrong = fmt::format("the code '{}' stands nowhere in {}{}", item.text, shown,
                                scope ? ", " + scope->name : "");
        out.expected = "a piece of its code, comments apart";
        return out;
      }
      ++out.met;
      continue;
    }
    if (const PythonFile::Definition* found = file.find(item.text)) {
      scope = found;
      out.named.push_back(found);
      ++out.met;
      continue;
    }
    const size_t dot = item.text.rfind('.');
    const PythonFile::Definition* owner =
        dot == std::string::npos ? outer() : file.find(item.text.substr(0, dot));
    const bool word = dot == std::string::npos ? file.holds(item.text, owner)
                                               : owner && file.holds("self" + item.text.substr(dot), owner);
    // A name with a capital is a definition, not any word.
    const bool capital = item.text[0] >= 'A' && item.text[0] <= 'Z';
    if (word && (dot != std::string::npos || !capital)) {
      if (dot != std::string::npos) scope = owner;
      ++out.met;
      continue;
    }
    std::vector<std::string> names;
    for (const PythonFile::Definition& each : file.definitions()) names.push_back(each.name);
    out.wrong = capital || dot != std::string::npos ? fmt::format("{} defines no '{}'", shown, item.text)
                                                    : fmt::format("'{}' stands nowhere in {}{}", item.text,
                                                                  shown, owner ? ", " + owner->name : "");
    out.expected = "a class, a method as Class.method, a function, or a word of what was named before it";
    out.fix = base::did_you_mean(item.text, names);
    return out;
  }
  return out;
}

struct Candidate {
  const truth::Source* source;
  std::string path;
};

std::vector<Candidate> candidates_of(const Anchor& anchor, const Sources& sources) {
  std::vector<Candidate> out;
  for (const auto& source : sources)
    for (std::string& path : source->find(anchor.file, anchor.owner))
      out.push_back({source.get(), std::move(path)});
  return out;
}

}  // namespace

std::vector<Anchor> parse_anchors(std::string_view src, bool of_stream) {
  std::vector<Anchor> out;
  for (const std::string_view piece : cut(src, ';')) {
    if (piece.empty()) continue;
    Anchor made;
    made.text = piece;
    std::string_view rest = piece;
    // The file is the first word in .py, before any code or parenthesis.
    for (size_t at = 0; at < piece.size();) {
      const size_t end = std::min(piece.find(' ', at), piece.size());
      std::string_view word = piece.substr(at, end - at);
      if (word.find_first_of("`(") != std::string_view::npos) break;
      while (word.ends_with(':') || word.ends_with(',')) word.remove_suffix(1);
      if (is_file(word)) {
        made.owner = trimmed(piece.substr(0, at));
        if (const size_t blank = made.owner.find(' '); blank != std::string::npos) made.owner.resize(blank);
        made.file = word;
        rest = trimmed(piece.substr(at + word.size()));
        if (rest.starts_with(':')) rest.remove_prefix(1);
        break;
      }
      at = end + 1;
    }
    if (made.file.empty() && !out.empty()) {
      made.owner = out.back().owner;
      made.file = out.back().file;
    }
    if (of_stream && made.file.empty() && piece.find('`') == std::string_view::npos)
      made.items.push_back({std::string(piece), true});
    else
      read_items(rest, made.items);
    out.push_back(std::move(made));
  }
  return out;
}

Held hold(const Anchor& anchor, const Sources& sources, const base::Span& at, std::span<const Anchor> home) {
  Held out;
  const bool own = !anchor.file.empty();
  if (own ? !anchor.file.ends_with(".py") : anchor.items.empty()) {
    out.state = Held::State::kProse;
    return out;
  }
  std::vector<Candidate> candidates;
  if (own) {
    candidates = candidates_of(anchor, sources);
  } else {
    for (const Anchor& each : home)
      if (each.file.ends_with(".py"))
        for (Candidate& candidate : candidates_of(each, sources)) candidates.push_back(std::move(candidate));
  }
  const Try* best = nullptr;
  std::vector<Try> tries;
  tries.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    const truth::Source::File file = candidate.source->file(candidate.path);
    if (!file) {
      base::append(out.faults, file.faults());
      continue;
    }
    tries.push_back(hold_in(anchor, **file, candidate.path));
    if (best && tries.back().met <= best->met) continue;
    best = &tries.back();
    out.where = candidate.path;
    out.file = *file;
  }
  if (!best) {
    out.state = out.faults.empty() ? Held::State::kAbsent : Held::State::kUnreadable;
    return out;
  }
  out.faults.clear();
  out.checks = static_cast<int64_t>(anchor.items.size()) + 1;
  out.named = best->named;
  out.state = best->wrong.empty() ? Held::State::kFound : Held::State::kWrong;
  if (!best->wrong.empty())
    out.faults.push_back(base::Diagnostic{at, best->wrong, best->expected, best->fix, {}});
  return out;
}

}  // namespace archlight::guard
