#include "guard/duplicate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

namespace archlight::guard {
namespace {

using Lines = std::vector<std::string>;

// What a text says, line by line: layout, comments and where it is from apart.
template <typename Line>
void each_line(const std::string& text, Line take) {
  std::string line;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    line.clear();
    char last = ' ';
    for (size_t i = at; i < end; ++i) {
      const char c = text[i] == '\t' ? ' ' : text[i];
      if (c == '#' && last == ' ') break;
      if (c != ' ' || last != ' ') line += c;
      last = c;
    }
    at = end + 1;
    while (line.ends_with(' ')) line.pop_back();
    const auto starts = [&](const char* key) { return line.starts_with(key); };
    if (line.empty() || starts("src:") || starts("note:") || starts("match:") || starts("architectures:") ||
        starts("model_types:"))
      continue;
    take(line);
  }
}

// Sorted.
Lines lines_of(const std::string& text) {
  Lines out;
  each_line(text, [&](const std::string& line) { out.push_back(line); });
  std::ranges::sort(out);
  return out;
}
Lines lines_of(const base::Span& of) {
  return of.source ? lines_of(of.source->text) : Lines();
}

bool enough(size_t both, size_t a, size_t b) {
  return both > 0 && 2 * both * 20 >= (a + b) * 19;
}

bool nearly(const Lines& a, const Lines& b) {
  Lines both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return enough(both.size(), a.size(), b.size());
}

// Rules out most others without a copy of their lines: by the hashes of one's own.
class Sieve {
 public:
  explicit Sieve(const Lines& lines) : lines_(lines.size()) {
    for (const std::string& line : lines) ++counts_[std::hash<std::string>()(line)];
  }
  bool passes(const std::string& text) const {
    std::unordered_map<size_t, size_t> left = counts_;
    size_t all = 0, both = 0;
    each_line(text, [&](const std::string& line) {
      ++all;
      const auto it = left.find(std::hash<std::string>()(line));
      if (it == left.end() || it->second == 0) return;
      --it->second;
      ++both;
    });
    return enough(both, lines_, all);
  }

 private:
  size_t lines_;
  std::unordered_map<size_t, size_t> counts_;
};

// Lines of one that the other lacks, a few of them, for a person.
std::string differing(const Lines& a, const Lines& b) {
  Lines only;
  std::ranges::set_difference(a, b, std::back_inserter(only));
  std::string out;
  for (size_t i = 0; i < std::min<size_t>(only.size(), 3); ++i) out += (i ? "; " : "") + only[i];
  return out.empty() ? "nothing"
                     : out + (only.size() > 3 ? fmt::format("; and {} lines more", only.size() - 3) : "");
}

}  // namespace

void check_duplicates(const Subject& subject, Findings& out) {
  out.ran = true;
  const spec::Model& model = *subject.binding.model;
  const Lines own = lines_of(model.at);
  const Sieve sieve(own);
  for (const std::string& name : subject.library.model_names()) {
    if (name == model.name) continue;
    const auto other = subject.library.model_text(name);
    if (!other) continue;
    ++out.checks;
    if (!sieve.passes((*other)->text)) continue;
    if (const Lines its = lines_of((*other)->text); nearly(own, its))
      out.advice.push_back(
          base::fault_at(model.at,
                         fmt::format("this says nearly what {} says, but for {}",
                                     subject.library.shown("models/" + name + ".yaml"), differing(own, its)),
                         "one model for both, with all of their architectures under match"));
  }
  std::set<const spec::Component*> seen;
  for (const graph::Call& call : subject.bill->prefill->tree->calls) {
    const spec::Component* draft = call.stored;
    if (!draft || !draft->draft || !seen.insert(draft).second) continue;
    const Lines its = lines_of(draft->at);
    for (const std::string& name : subject.library.component_names()) {
      const base::Result<const spec::Component*> other = subject.library.any_component(name);
      if (!other || *other == draft || (*other)->name == draft->name || (*other)->role != draft->role)
        continue;
      ++out.checks;
      if (const Lines theirs = lines_of((*other)->at); nearly(its, theirs))
        out.advice.push_back(
            base::fault_at(draft->at,
                           fmt::format("this draft says nearly what component '{}' says, but for {}", name,
                                       differing(its, theirs)),
                           "that component, with a dim or a condition for what differs"));
    }
  }
}

}  // namespace archlight::guard
