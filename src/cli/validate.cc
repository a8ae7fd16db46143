#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

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

// The folder of a user's own specs that a model's file lies in, where it is laid out as specs/ is: empty for none, and
// for the project's.
std::string own_folder(const std::string& path, const std::string& home) {
  const size_t slash = path.rfind('/');
  const std::string models = slash == std::string::npos ? "." : path.substr(0, slash);
  if (!models.ends_with("models") || (models.size() > 6 && models[models.size() - 7] != '/')) return {};
  std::string folder = models.size() > 7    ? models.substr(0, models.size() - 7)
                       : models.size() == 6 ? "."
                                            : "/";
  std::error_code error;
  if (std::filesystem::equivalent(folder, home + "/specs", error)) return {};
  for (const char* beside : {"components", "adapters", "quant", "dims.yaml"})
    if (base::folder_exists(folder + "/" + beside) || base::file_exists(folder + "/" + beside)) return folder;
  return {};
}

// Every component that a model may build, loaded: what is wrong with one is said though no checkpoint asks for it.
base::Faults load_components(const spec::Library& library, const spec::Model& model) {
  base::Faults faults;
  std::set<std::string> seen;
  std::vector<std::string> ops;
  for (const spec::Op& op : spec::builtin_ops()) ops.push_back(op.name);
  std::vector<const spec::Component*> loaded;
  std::vector<std::pair<std::string, base::Span>> open;
  for (size_t i = 0; i < model.components.size(); ++i)
    open.emplace_back(model.components[i].second, model.component_places[i]);
  while (!open.empty()) {
    const auto [name, at] = open.back();
    open.pop_back();
    if (!seen.insert(name).second) continue;
    const base::Result<const spec::Component*> component = library.component(name, model, at);
    if (!component) {
      base::append(faults, component.faults());
      continue;
    }
    if (!(*component)->decode_variant.empty())
      open.emplace_back((*component)->decode_variant, (*component)->decode_variant_at);
    loaded.push_back(*component);
    for (const spec::Op& op : (*component)->custom_ops) ops.push_back(op.name);
    for (const spec::NodeDecl& node : (*component)->graph)
      if (node.target == spec::NodeDecl::Target::kComponent)
        open.emplace_back(node.target_name, node.target_at);
  }
  for (const spec::Component* component : loaded)
    for (const spec::NodeDecl& node : component->graph)
      if (node.target == spec::NodeDecl::Target::kOp && std::ranges::find(ops, node.target_name) == ops.end())
        faults.push_back(base::fault_at(node.target_at, "unknown op '" + node.target_name + "'",
                                        "an op from the ops table",
                                        base::did_you_mean(node.target_name, ops)));
  return faults;
}

// A spec file, of a user's own folder or in the place of the library's own of the same name, is held against every
// snapshot that it describes.
int validate_spec(const std::string& path, const Options& given, std::ostream& out, std::ostream& err) {
  base::Result<std::string> home = base::home_folder();
  if (!home) return no_answer(home.faults(), given, out, err);
  base::Result<std::string> text = base::read_file(path, 1 << 20);
  if (!text) return no_answer(text.faults(), given, out, err);
  for (const char* other : {"library", "drafts", "quant", "adapters", "engines"})
    if (const size_t at = path.rfind('/'); at != std::string::npos && path.substr(0, at).ends_with(other))
      return no_answer(
          {base::fault_at({}, path + " is no model's spec", "a file of a folder 'models'",
                          "a checkpoint that uses it holds it: 'archlight validate MODEL --specs OWN'")},
          given, out, err);
  const size_t slash = path.rfind('/');
  const std::string file = "models/" + (slash == std::string::npos ? path : path.substr(slash + 1));
  Options options = given;
  if (const std::string folder = own_folder(path, *home);
      !folder.empty() && std::ranges::none_of(options.specs, [&](const std::string& named) {
        std::error_code error;
        return std::filesystem::equivalent(named, folder, error);
      }))
    options.specs.push_back(folder);
  base::Result<std::shared_ptr<const spec::Library>> library = open_library(options);
  if (!library) return no_answer(library.faults(), options, out, err);
  // The file itself, wherever it lies: it may be one of a folder that is read, or stand for one.
  const std::string library_file = (*library)->shown(file);
  const auto shown = [&](const base::Faults& found) { return shown_at(found, library_file, path); };
  base::Result<std::shared_ptr<spec::Library>> with = (*library)->with({{file, *text}});
  if (!with) return no_answer(shown(with.faults()), options, out, err);
  library = std::shared_ptr<const spec::Library>(std::move(*with));
  if (const base::Faults faults = (*library)->load_all(); !faults.empty())
    return no_answer(shown(faults), options, out, err);
  const std::string name = file.substr(7, file.size() - 12);
  base::Result<const spec::Model*> model = (*library)->model(name);
  if (!model) return no_answer(model.faults(), options, out, err);
  if (const base::Faults broken = load_components(**library, **model); !broken.empty())
    return no_answer(shown(broken), options, out, err);
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
    base::Result<std::shared_ptr<const Session>> session =
        open_session_on(std::move(*truth), info.name, options, *library);
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
        << (lines.empty() ? std::string() : table({"snapshot", "verdict", "level"}, lines, "  "));
    if (lines.empty())
      out << "  none is described by it: 'archlight validate FOLDER --specs OWN' holds it against a "
             "checkpoint\n";
    for (const std::string& notice : (*library)->notices()) out << "  note: " << notice << "\n";
    print_faults(err, faults);
  }
  return worst;
}

}  // namespace

int validate(const std::string& target, const Options& asked, std::ostream& out, std::ostream& err) {
  Options options = asked;
  base::Result<guard::Sources> sources = open_sources(options.source_folders);
  if (!sources) return no_answer(sources.faults(), options, out, err);
  options.sources = std::move(*sources);
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
