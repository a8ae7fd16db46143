#include "guard/duplicate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace archlight::guard {
namespace {

using Lines = std::vector<std::string>;

// What a file says, line by line, sorted: layout, comments and where it is from apart.
Lines lines_of(const base::Span& of) {
  Lines out;
  if (!of.source) return out;
  const std::string& text = of.source->text;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line;
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
    out.push_back(std::move(line));
  }
  std::ranges::sort(out);
  return out;
}

bool nearly(const Lines& a, const Lines& b) {
  Lines both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return !both.empty() && 2 * both.size() * 20 >= (a.size() + b.size()) * 19;
}

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
  for (const auto& [name, other] : subject.library.models()) {
    if (other.get() == &model) continue;
    ++out.checks;
    if (const Lines its = lines_of(other->at); nearly(own, its))
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
