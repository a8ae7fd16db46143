// guards measure: every spec with one thing wrong, and which guard says so.
#include "guard/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "base/int128.h"
#include "cli/commands.h"
#include "truth/snapshot.h"

namespace archlight::cli {
namespace {

using base::Json;

base::Result<std::vector<guard::MeasuredModel>> subjects_of(const spec::Library& library,
                                                            const std::string& home,
                                                            const std::vector<std::string>& only,
                                                            const std::string& made) {
  base::Result<std::vector<truth::SnapshotInfo>> snapshots = truth::list_snapshots(home);
  if (!snapshots) return snapshots.faults();
  std::vector<guard::MeasuredModel> out;
  for (const std::string& name : library.model_names())
    if (only.empty() || std::ranges::find(only, name) != only.end()) out.push_back({name, {}});
  for (const std::string& name : only)
    if (const auto model = library.model(name); !model) return model.faults();
  for (const truth::SnapshotInfo& info : *snapshots) {
    if (!info.alias_of.empty()) continue;
    truth::OpenOptions open;
    open.offline = true;
    base::Result<truth::Truth> truth = truth::open_truth(info.name, open);
    if (!truth || !truth->config || truth->partial) continue;
    base::Result<const spec::Model*> model = library.model_for(*truth->config);
    if (!model) continue;
    const auto subject = std::ranges::find(out, (*model)->name, &guard::MeasuredModel::model);
    if (subject != out.end()) subject->evidence.push_back({info.name, std::move(*truth)});
  }
  if (made.empty()) return out;
  base::Result<std::vector<std::string>> folders = base::list_folders(made);
  if (!folders) return folders.faults();
  for (const std::string& folder : *folders) {
    truth::OpenOptions open;
    open.offline = true;
    base::Result<truth::Truth> truth = truth::open_truth(made + "/" + folder, open);
    if (!truth) return truth.faults();
    if (!truth->config) continue;
    base::Result<const spec::Model*> model = library.model_for(*truth->config);
    if (!model) return model.faults();
    const auto subject = std::ranges::find(out, (*model)->name, &guard::MeasuredModel::model);
    if (subject != out.end()) subject->evidence.push_back({folder, std::move(*truth), true});
  }
  return out;
}

double percent(int64_t part, int64_t whole) {
  return whole == 0 ? 100.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string text_of(const guard::Measured& measured) {
  const int64_t all = measured.number_changing(), caught = measured.refused + measured.caught;
  std::string out = fmt::format(
      "{} mutants; {} change no number; of the {} that do, {} no longer load, {} are caught by a guard and "
      "{} "
      "survive: {:.2f} % caught\n\n",
      base::with_commas(measured.mutants), base::with_commas(measured.unchanged), base::with_commas(all),
      base::with_commas(measured.refused), base::with_commas(measured.caught),
      base::with_commas(static_cast<int64_t>(measured.survivors.size())), percent(caught, all));
  std::vector<std::vector<std::string>> rows;
  for (const auto& [guard, row] : measured.guards) {
    std::vector<std::pair<int64_t, std::string>> kinds;
    for (const auto& [kind, count] : row.alone_by_kind) kinds.emplace_back(count, kind);
    std::ranges::sort(kinds, std::greater());
    std::string classes;
    for (const auto& [count, kind] : kinds)
      classes += (classes.empty() ? "" : ", ") + kind + " " + base::with_commas(count);
    rows.push_back({guard + (row.advises ? " (advises)" : ""), base::with_commas(row.fires),
                    base::with_commas(row.alone),
                    fmt::format("{:.2f} %", percent(measured.caught_without(guard), all)), classes});
  }
  out += table({"guard", ">fires", ">alone", ">caught without it", "what only it catches"}, rows);
  rows.clear();
  for (const auto& [kind, share] : measured.kinds)
    rows.push_back({kind, base::with_commas(share.made), base::with_commas(share.made - share.caught),
                    fmt::format("{:.2f} %", percent(share.caught, share.made))});
  out += "\n" + table({"kind of slip", ">change a number", ">survive", ">caught"}, rows);
  rows.clear();
  for (const char* level : {"header", "index", "count", "config", "none"}) {
    const auto share = measured.levels.find(level);
    const auto specs = measured.best.find(level);
    if (share == measured.levels.end()) continue;
    rows.push_back({level, std::to_string(specs == measured.best.end() ? 0 : specs->second.size()),
                    base::with_commas(share->second.made),
                    base::with_commas(share->second.made - share->second.caught),
                    fmt::format("{:.2f} %", percent(share->second.caught, share->second.made))});
  }
  out += "\n" + table({"published at most", ">specs", ">change a number", ">survive", ">caught"}, rows);
  rows.clear();
  for (const guard::Survivor& survivor : measured.survivors)
    rows.push_back({survivor.file, survivor.what, survivor.changes, survivor.before, survivor.after,
                    survivor.evidence, survivor.advised, survivor.reason});
  if (!rows.empty())
    out += "\nSurvivors\n" +
           table({"spec", "slip", "changes", ">from", ">to", "seen on", "advised by", "why"}, rows);
  if (!measured.without_evidence.empty()) {
    out += "\nNo snapshot speaks for";
    for (const std::string& name : measured.without_evidence) out += " " + name;
    out += "\n";
  }
  return out;
}

Json by_kind(const std::map<std::string, int64_t>& counts) {
  Json out = Json::array();
  for (const auto& [kind, count] : counts) out.push_back({{"kind", kind}, {"mutants", count}});
  return out;
}

Json json_of(const guard::Measured& measured) {
  Json guards = Json::array(), kinds = Json::array(), levels = Json::array(), survivors = Json::array();
  for (const auto& [guard, row] : measured.guards)
    guards.push_back({{"guard", guard},
                      {"advises", row.advises},
                      {"fires_on_mutants", row.fires},
                      {"alone_on_mutants", row.alone},
                      {"alone_by_kind", by_kind(row.alone_by_kind)},
                      {"caught_without_it_mutants", measured.caught_without(guard)}});
  for (const auto& [kind, share] : measured.kinds)
    kinds.push_back(
        {{"kind", kind}, {"number_changing_mutants", share.made}, {"caught_mutants", share.caught}});
  for (const auto& [level, share] : measured.levels) {
    const auto specs = measured.best.find(level);
    levels.push_back({{"level", level},
                      {"specs", specs == measured.best.end() ? std::vector<std::string>() : specs->second},
                      {"number_changing_mutants", share.made},
                      {"caught_mutants", share.caught}});
  }
  for (const guard::Survivor& survivor : measured.survivors)
    survivors.push_back({{"file", survivor.file},
                         {"slip", survivor.what},
                         {"changes", survivor.changes},
                         {"before", survivor.before},
                         {"after", survivor.after},
                         {"evidence", survivor.evidence},
                         {"advised_by", survivor.advised},
                         {"reason", survivor.reason}});
  return {{"schema", "archlight.guards_measure/1"},
          {"mutants", measured.mutants},
          {"unchanged_mutants", measured.unchanged},
          {"number_changing_mutants", measured.number_changing()},
          {"refused_at_load_mutants", measured.refused},
          {"caught_by_guards_mutants", measured.caught},
          {"guards", guards},
          {"kinds", kinds},
          {"levels", levels},
          {"survivors", survivors},
          {"specs_without_evidence", measured.without_evidence}};
}

}  // namespace

int guards_measure(const std::vector<std::string>& specs, const std::string& made, const Options& options,
                   std::ostream& out, std::ostream& err) {
  base::Result<std::string> home = base::home_folder();
  if (!home) return no_answer(home.faults(), options, out, err);
  base::Result<std::shared_ptr<const spec::Library>> library = open_whole_library();
  if (!library) return no_answer(library.faults(), options, out, err);
  base::Result<std::vector<guard::MeasuredModel>> subjects = subjects_of(**library, *home, specs, made);
  if (!subjects) return no_answer(subjects.faults(), options, out, err);
  guard::MeasureOptions how;
  how.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (!options.quiet)
    how.progress = [&err](int64_t done, int64_t total) {
      if (done % 200 == 0 || done == total)
        err << "\rguards measure: " << done << " of " << total << " mutants" << (done == total ? "\n" : "")
            << std::flush;
    };
  base::Result<guard::Measured> measured = guard::measure(*home + "/specs", *subjects, how);
  if (!measured) return no_answer(measured.faults(), options, out, err);
  if (options.json)
    print_json(out, json_of(*measured));
  else
    out << text_of(*measured);
  return kVerified;
}

}  // namespace archlight::cli
