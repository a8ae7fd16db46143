#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/yaml.h"
#include "cli/commands.h"
#include "guard/source.h"

namespace archlight::cli {
namespace {

using base::Json;
using State = guard::Held::State;

std::string_view state_name(State state) {
  switch (state) {
    case State::kFound:
      return "found";
    case State::kWrong:
      return "wrong";
    case State::kAbsent:
      return "absent";
    case State::kUnreadable:
      return "unreadable";
    case State::kProse:
      return "prose";
  }
  return {};
}

std::string place_text(const base::Span& at) {
  return at.source ? fmt::format("{}:{}", at.source->name, at.line) : std::string();
}

}  // namespace

base::Result<guard::Sources> open_sources(const std::vector<std::string>& folders) {
  guard::Sources out;
  base::Faults faults;
  for (const std::string& folder : folders) {
    base::Result<std::shared_ptr<const truth::Source>> source = truth::Source::open(folder);
    if (source)
      out.push_back(std::move(*source));
    else
      base::append(faults, source.faults());
  }
  if (!faults.empty()) return faults;
  return out;
}

int validate_anchors(const Options& options, std::ostream& out, std::ostream& err) {
  base::Result<guard::Sources> sources = open_sources(options.source_folders);
  if (!sources) return no_answer(sources.faults(), options, out, err);
  if (sources->empty())
    return no_answer({base::fault_at({}, "no forward source to hold anchors against", "--source FOLDER",
                                     "give a checkout of the library whose models the specs describe")},
                     options, out, err);
  base::Result<std::shared_ptr<const spec::Library>> library = open_whole_library(options);
  if (!library) return no_answer(library.faults(), options, out, err);
  base::Result<std::vector<guard::LibraryAnchor>> anchors = guard::library_anchors(**library, *sources);
  if (!anchors) return no_answer(anchors.faults(), options, out, err);

  std::map<State, int64_t> counts;
  std::vector<std::string> names;
  for (const auto& source : *sources)
    for (std::string& name : source->names()) names.push_back(std::move(name));
  Json rows = Json::array();
  std::vector<std::vector<std::string>> lines;
  base::Faults faults;
  for (const guard::LibraryAnchor& row : *anchors) {
    const State state = row.held.state;
    ++counts[state];
    base::append(faults, row.held.faults);
    Json shown = {{"spec", row.of},
                  {"place", place_text(row.at)},
                  {"anchor", row.anchor.text},
                  {"state", state_name(state)}};
    if (!row.held.where.empty()) shown["file"] = row.held.where;
    shown["faults"] = Json::array();
    for (const base::Diagnostic& fault : row.held.faults) shown["faults"].push_back(fault_json(fault));
    rows.push_back(std::move(shown));
    if (state == State::kAbsent)
      lines.push_back(
          {place_text(row.at), row.anchor.text,
           row.anchor.file.empty() ? "names no file" : base::did_you_mean(row.anchor.file, names)});
  }
  const auto count = [&](State state) { return counts.contains(state) ? counts.at(state) : 0; };
  if (options.json) {
    print_json(out, {{"schema", "archlight.validate_anchors/1"},
                     {"found_anchors", count(State::kFound)},
                     {"wrong_anchors", count(State::kWrong)},
                     {"absent_anchors", count(State::kAbsent)},
                     {"unreadable_anchors", count(State::kUnreadable)},
                     {"prose_anchors", count(State::kProse)},
                     {"anchors", rows}});
  } else {
    out << fmt::format(
        "{} anchors: {} found, {} wrong, {} not at hand, {} unreadable, {} that name no code\n",
        anchors->size(), count(State::kFound), count(State::kWrong), count(State::kAbsent),
        count(State::kUnreadable), count(State::kProse));
    if (!lines.empty()) out << table({"not at hand", "anchor", ""}, lines, "  ");
    print_faults(err, faults);
  }
  return count(State::kWrong)                                ? kWrong
         : count(State::kAbsent) + count(State::kUnreadable) ? kNotVerifiable
                                                             : kVerified;
}

}  // namespace archlight::cli
