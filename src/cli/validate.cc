#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/yaml.h"
#include "cli/commands.h"
#include "truth/snapshot.h"

namespace archlight::cli {
namespace {

using base::Json;

Exit exit_of_verdict(guard::Verdict verdict) {
  switch (verdict) {
    case guard::Verdict::kVerified:
      return kVerified;
    case guard::Verdict::kWrong:
      return kWrong;
    case guard::Verdict::kAgrees:
    case guard::Verdict::kNotVerifiable:
      return kNotVerifiable;
  }
  return kNotVerifiable;
}

// Faults in the library's file, as of the file that stood in for it.
base::Faults shown_at(base::Faults faults, const std::string& library_file, const std::string& path) {
  for (base::Diagnostic& fault : faults)
    if (fault.at.source && fault.at.source->name == library_file)
      fault.at.source =
          std::make_shared<const base::SourceText>(base::SourceText{path, fault.at.source->text});
  return faults;
}

// A spec file stands in for the library's own of the same name, and is held against every snapshot that it
// describes.
int validate_spec(const std::string& path, const Options& options, std::ostream& out, std::ostream& err) {
  base::Result<std::string> home = base::home_folder();
  if (!home) return no_answer(home.faults(), options, out, err);
  base::Result<std::string> text = base::read_file(path, 1 << 20);
  if (!text) return no_answer(text.faults(), options, out, err);
  const size_t slash = path.rfind('/');
  const std::string file = "models/" + (slash == std::string::npos ? path : path.substr(slash + 1));
  base::Result<std::shared_ptr<spec::Library>> library =
      spec::Library::open_with(*home + "/specs", {{file, *text}});
  const auto shown = [&](const base::Faults& found) { return shown_at(found, "specs/" + file, path); };
  if (!library) return no_answer(shown(library.faults()), options, out, err);
  const std::string name = file.substr(7, file.size() - 12);
  base::Result<const spec::Model*> model = (*library)->model(name);
  if (!model) return no_answer(model.faults(), options, out, err);
  base::Result<std::vector<truth::SnapshotInfo>> snapshots = truth::list_snapshots(*home);
  if (!snapshots) return no_answer(snapshots.faults(), options, out, err);
  Json rows = Json::array();
  std::vector<std::vector<std::string>> lines;
  Exit worst = kNotVerifiable;
  bool wrong = false, verified = false;
  base::Faults faults;
  for (const truth::SnapshotInfo& info : *snapshots) {
    if (!info.has_config || !info.alias_of.empty()) continue;
    base::Result<truth::Truth> truth = truth::open_truth(info.name, {*home, {}, true, false, false});
    if (!truth || !truth->config) continue;
    base::Result<const spec::Model*> described = (*library)->model_for(*truth->config);
    if (!described || *described != *model) continue;
    base::Result<std::shared_ptr<const Session>> session = open_session(info.name, options, *library);
    if (!session) {
      const base::Faults found = shown(session.faults());
      base::append(faults, found);
      wrong = true;
      Json refused = Json::array();
      for (const base::Diagnostic& fault : found) refused.push_back(fault_json(fault));
      rows.push_back({{"snapshot", info.name}, {"faults", std::move(refused)}});
      lines.push_back({info.name, "wrong", std::string(truth::level_name(info.level))});
      continue;
    }
    const guard::Report& report = (*session)->report;
    wrong = wrong || report.verdict == guard::Verdict::kWrong;
    verified = verified || report.verdict == guard::Verdict::kVerified;
    base::append(faults, shown(report.faults));
    lines.push_back({info.name, std::string(guard::verdict_name(report.verdict)),
                     std::string(truth::level_name(report.level))});
    rows.push_back({{"snapshot", info.name}, {"evidence", evidence_json(**session)}});
  }
  worst = wrong ? kWrong : verified ? kVerified : kNotVerifiable;
  if (options.json) {
    print_json(out, {{"schema", "archlight.validate_spec/1"}, {"spec", name}, {"snapshots", rows}});
  } else {
    out << "spec " << name << ": " << lines.size() << " snapshots\n"
        << table({"snapshot", "verdict", "level"}, lines, "  ");
    print_faults(err, faults);
  }
  return worst;
}

}  // namespace

int validate(const std::string& target, const Options& options, std::ostream& out, std::ostream& err) {
  if (target.ends_with(".yaml")) return validate_spec(target, options, out, err);
  base::Result<std::shared_ptr<const Session>> opened = open_session(target, options);
  if (!opened) return no_answer(opened.faults(), options, out, err);
  const Session& session = **opened;
  const guard::Report& report = session.report;
  if (options.json) {
    print_json(out, {{"schema", "archlight.validate/1"},
                     {"model", shown_name(session)},
                     {"spec", session.binding->model->name},
                     {"evidence", evidence_json(session)}});
    return exit_of_verdict(report.verdict);
  }
  out << shown_name(session) << ": " << evidence_line(session) << "\n  from " << session.truth.origin << "\n";
  std::vector<std::vector<std::string>> rows;
  for (const guard::GuardRun& row : report.guards)
    rows.push_back({row.name, row.ran ? base::with_commas(row.checks) : "-", outcome_of(row)});
  out << table({"guard", ">checks", ""}, rows, "  ");
  for (const guard::Comparison& row : report.comparisons)
    out << "  " << row.what << ": " << base::with_commas(row.ours)
        << (row.ours_most ? " to " + base::with_commas(*row.ours_most) : "") << " by the spec, "
        << base::with_commas(row.published) << " published (" << row.published_source << ")"
        << (row.rules.empty() && !row.ours_most ? std::string() : ": " + row.outcome()) << "\n";
  for (const std::string& remark : report.remarks) out << "  note: " << remark << "\n";
  for (const std::string& note : session.truth.notes) out << "  record: " << note << "\n";
  print_faults(err, report.faults);
  print_advice(err, report.advice);
  return exit_of_verdict(report.verdict);
}

}  // namespace archlight::cli
