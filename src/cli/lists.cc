// The listings: models, ops, components, quants, engines, guards; and adding to the snapshots.
#include <fmt/format.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/file.h"
#include "base/yaml.h"
#include "cli/commands.h"
#include "truth/snapshot.h"

namespace archlight::cli {

using base::Json;

namespace {

// A model's line in the listing, as JSON, and as text of either table.
struct Listed {
  Json row;
  std::vector<std::string> line, missing;
};

Listed listed(const truth::SnapshotInfo& info, const Options& options,
              const std::shared_ptr<const spec::Library>& library) {
  Listed out;
  out.row = {{"snapshot", info.name}, {"repo", info.repo}, {"level", truth::level_name(info.level)}};
  base::Result<std::shared_ptr<const Session>> session = open_session(info.name, options, library);
  if (!session) {
    const std::string why = session.faults()[0].wrong;
    out.row["missing"] = why;
    out.missing = {info.name, why};
    return out;
  }
  const guard::Report& report = (*session)->report;
  out.row["spec"] = (*session)->binding->model->name;
  out.row["level"] = truth::level_name(report.level);
  out.row["verdict"] = guard::verdict_name(report.verdict);
  std::string total, kv, state;
  if (report.bill) {
    // An encoder keeps nothing and has no such quantity.
    const auto put = [&](const char* key, const char* field, std::string& text) {
      const analysis::Quantity* quantity = report.bill->find(key);
      const std::optional<expr::Rational> value = quantity ? quantity->value.constant() : std::nullopt;
      if (!value) return;
      out.row[field] = json_value(*value);
      text = text_value(*value);
    };
    put("params.total", "parameters", total);
    put("kv.bytes_per_token", "kv_bytes_per_token", kv);
    put("kv.fixed_state_bytes", "kv_fixed_state_bytes", state);
  }
  std::string why;
  if (report.verdict != guard::Verdict::kVerified && !report.faults.empty()) why = report.faults[0].wrong;
  if (!why.empty()) out.row["why"] = why;
  out.line = {
      info.name,
      (*session)->binding->model->name,
      std::string(truth::level_name(report.level)) + " " + std::string(guard::verdict_name(report.verdict)),
      total,
      kv,
      state,
      why.substr(0, 120)};
  return out;
}

}  // namespace

int models(const Options& options, std::ostream& out, std::ostream& err) {
  base::Result<std::string> home = base::home_folder();
  if (!home) return no_answer(home.faults(), options, out, err);
  base::Result<std::shared_ptr<const spec::Library>> library = open_library(options);
  if (!library) return no_answer(library.faults(), options, out, err);
  base::Result<std::vector<truth::SnapshotInfo>> snapshots = truth::list_snapshots(*home);
  if (!snapshots) return no_answer(snapshots.faults(), options, out, err);
  Options offline = options;
  offline.offline = true;
  std::vector<Listed> all(snapshots->size());
  std::atomic<size_t> next = 0;
  // Components load when first asked for, so each thread has a library of its own.
  const auto work = [&](std::shared_ptr<const spec::Library> own) {
    for (size_t i = next++; i < all.size(); i = next++) all[i] = listed((*snapshots)[i], offline, own);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i)
    if (base::Result<std::shared_ptr<const spec::Library>> own = open_library(options))
      threads.emplace_back(work, std::move(*own));
  work(*library);
  for (std::thread& thread : threads) thread.join();
  Json rows = Json::array();
  std::vector<std::vector<std::string>> lines, others;
  for (Listed& each : all) {
    rows.push_back(std::move(each.row));
    (each.missing.empty() ? lines : others)
        .push_back(each.missing.empty() ? std::move(each.line) : std::move(each.missing));
  }
  if (options.json)
    print_json(out, {{"schema", "archlight.models/1"}, {"models", rows}});
  else
    out << table({"model", "spec", "evidence", ">parameters", ">KV B/token", ">state B", ""}, lines) << "\n"
        << others.size() << " more without a bill:\n"
        << table({"", ""}, others, "  ");
  return kVerified;
}

int ops(const Options& options, std::ostream& out, std::ostream&) {
  Json rows = Json::array();
  std::vector<std::vector<std::string>> lines;
  for (const spec::Op& op : spec::builtin_ops()) {
    rows.push_back({{"name", op.name},
                    {"params", op.params_text},
                    {"flops", op.flops_text},
                    {"shape", op.shape_text},
                    {"partial", spec::partial_name(op.partial)},
                    {"coupled", op.coupled},
                    {"unit", spec::unit_name(op.unit)},
                    {"traffic", spec::traffic_name(op.traffic)},
                    {"source", op.source}});
    lines.push_back({op.name, op.shape_text, op.params_text, op.flops_text,
                     std::string(spec::unit_name(op.unit)), std::string(spec::partial_name(op.partial)),
                     op.coupled, op.source});
  }
  if (options.json)
    print_json(out, {{"schema", "archlight.ops/1"}, {"ops", rows}});
  else
    out << table({"op", "shape", "params", "flops", "unit", "partial", "coupled", "source"}, lines);
  return kVerified;
}

int components(const Options& options, std::ostream& out, std::ostream& err) {
  base::Result<std::shared_ptr<const spec::Library>> library = open_library(options);
  if (!library) return no_answer(library.faults(), options, out, err);
  Json rows = Json::array();
  std::vector<std::vector<std::string>> lines;
  base::Faults faults;
  for (const std::string& name : (*library)->component_names()) {
    base::Result<const spec::Component*> component = (*library)->any_component(name);
    if (!component) {
      base::append(faults, component.faults());
      continue;
    }
    std::vector<std::string> used;
    for (const auto& [model_name, model] : (*library)->models())
      for (const auto& [slot, filled] : model->components)
        if (filled == name) used.push_back(model_name);
    std::string kept, by;
    Json cache = Json::array();
    for (const spec::CacheEntry& entry : (*component)->cache) {
      kept += (kept.empty() ? "" : ", ") + entry.kind;
      cache.push_back({{"node", entry.node}, {"kind", entry.kind}});
    }
    for (const std::string& model : used) by += (by.empty() ? "" : ", ") + model;
    rows.push_back({{"name", name},
                    {"role", (*component)->role},
                    {"nodes", (*component)->graph.size()},
                    {"cache", cache},
                    {"draft", (*component)->draft},
                    {"used_by", used},
                    {"src", (*component)->src}});
    lines.push_back(
        {name, (*component)->role, std::to_string((*component)->graph.size()), kept, by, (*component)->src});
  }
  if (!faults.empty()) return no_answer(faults, options, out, err);
  if (options.json)
    print_json(out, {{"schema", "archlight.components/1"}, {"components", rows}});
  else
    out << table({"component", "role", ">nodes", "cache", "models", "source"}, lines);
  return kVerified;
}

int quants(const Options& options, std::ostream& out, std::ostream& err) {
  base::Result<std::shared_ptr<const spec::Library>> library = open_library(options);
  if (!library) return no_answer(library.faults(), options, out, err);
  Json rows = Json::array();
  std::vector<std::vector<std::string>> lines;
  for (const auto& [name, scheme] : (*library)->quants()) {
    Json tensors = Json::array();
    std::string stored;
    for (const spec::StoredPattern& pattern : scheme.tensors) {
      std::string shape, dtypes;
      for (const expr::Formula& axis : pattern.shape) shape += (shape.empty() ? "" : ", ") + axis.text();
      for (const std::optional<base::Dtype>& dtype : pattern.dtypes)
        dtypes +=
            (dtypes.empty() ? "" : "|") + (dtype ? std::string(base::dtype_name(*dtype)) : "model dtype");
      tensors.push_back({{"suffix", pattern.suffix},
                         {"dtype", dtypes},
                         {"shape", pattern.variable ? "known to the file" : "[" + shape + "]"},
                         {"optional", pattern.optional}});
      stored += (stored.empty() ? "" : "; ") + pattern.suffix + " " + dtypes + " " +
                (pattern.variable ? "[...]" : "[" + shape + "]") + (pattern.optional ? "?" : "");
    }
    rows.push_back(
        {{"name", name}, {"label", scheme.label}, {"source", scheme.source}, {"tensors", tensors}});
    lines.push_back({name, scheme.label, stored});
  }
  if (options.json)
    print_json(out, {{"schema", "archlight.quants/1"}, {"quants", rows}});
  else
    out << table({"scheme", "what", "stored"}, lines);
  return kVerified;
}

int engines(const Options& options, std::ostream& out, std::ostream& err) {
  base::Result<std::shared_ptr<const spec::Library>> library = open_library(options);
  if (!library) return no_answer(library.faults(), options, out, err);
  Json rows = Json::array();
  std::vector<std::vector<std::string>> lines;
  for (const auto& [name, engine] : (*library)->engines()) {
    Json choices = Json::array(), entries = Json::array();
    std::string said;
    for (const spec::EngineOption& option : engine.options) {
      choices.push_back({{"name", option.name}, {"value", option.value}, {"meaning", option.meaning}});
      said +=
          (said.empty() ? "" : "; ") + fmt::format("{}={}: {}", option.name, option.value, option.meaning);
    }
    for (const spec::EngineEntry& entry : engine.entries)
      entries.push_back({{"kinds", entry.kinds},
                         {"bytes", entry.bytes.empty() ? "" : entry.bytes.text()},
                         {"held", entry.held.empty() ? "" : entry.held.text()},
                         {"source", entry.source}});
    rows.push_back({{"name", name},
                    {"label", engine.label},
                    {"source", engine.source},
                    {"options", choices},
                    {"entries", entries}});
    lines.push_back({name, engine.label, said});
  }
  if (options.json)
    print_json(out, {{"schema", "archlight.engines/1"}, {"engines", rows}});
  else
    out << table({"engine", "what", "options"}, lines);
  return kVerified;
}

int guards(const Options& options, std::ostream& out, std::ostream&) {
  Json rows = Json::array();
  std::vector<std::vector<std::string>> lines;
  for (const guard::Guard& guard : guard::guards()) {
    rows.push_back({{"name", guard.name},
                    {"strength", guard::strength_name(guard.strength)},
                    {"checks", guard.checks},
                    {"against", guard.against}});
    lines.push_back({std::string(guard.name), std::string(guard::strength_name(guard.strength)),
                     std::string(guard.checks), std::string(guard.against)});
  }
  if (options.json)
    print_json(out, {{"schema", "archlight.guards/1"}, {"guards", rows}});
  else
    out << table({"guard", "", "checks", "against"}, lines);
  return kVerified;
}

int snapshots_add(const std::vector<std::string>& sources, const Options& options, std::ostream& out,
                  std::ostream& err) {
  base::Result<std::string> home = base::home_folder();
  if (!home) return no_answer(home.faults(), options, out, err);
  Json written = Json::array();
  for (const std::string& source : sources) {
    base::Result<std::vector<std::string>> files = truth::import_snapshot(source, *home + "/snapshots");
    if (!files) return no_answer(files.faults(), options, out, err);
    for (const std::string& file : *files) {
      written.push_back(file);
      if (!options.json) out << "wrote " << file << "\n";
    }
  }
  if (options.json) print_json(out, {{"schema", "archlight.snapshots_add/1"}, {"files", written}});
  return kVerified;
}

}  // namespace archlight::cli
