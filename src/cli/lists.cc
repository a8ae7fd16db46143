// The listings: ops, components, quants, precisions, engines, guards; and adding to the snapshots.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/yaml.h"
#include "cli/commands.h"
#include "truth/snapshot.h"

namespace archlight::cli {

using base::Json;

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
  base::Result<std::shared_ptr<const spec::Library>> library = open_whole_library(options);
  if (!library) return no_answer(library.faults(), options, out, err);
  Json rows = Json::array();
  std::vector<std::vector<std::string>> lines;
  for (const std::string& name : (*library)->component_names()) {
    const spec::Component* component = *(*library)->any_component(name);
    std::vector<std::string> used;
    for (const std::string& model : (*library)->model_names())
      for (const auto& [slot, filled] : (**(*library)->model(model)).components)
        if (filled == name) used.push_back(model);
    std::string kept, by;
    Json cache = Json::array();
    for (const spec::CacheEntry& entry : component->cache) {
      kept += (kept.empty() ? "" : ", ") + entry.kind;
      cache.push_back({{"node", entry.node}, {"kind", entry.kind}});
    }
    for (const std::string& model : used) by += (by.empty() ? "" : ", ") + model;
    rows.push_back({{"name", name},
                    {"role", component->role},
                    {"nodes", component->graph.size()},
                    {"cache", cache},
                    {"draft", component->draft},
                    {"used_by", used},
                    {"src", component->src}});
    lines.push_back(
        {name, component->role, std::to_string(component->graph.size()), kept, by, component->src});
  }
  if (options.json)
    print_json(out, {{"schema", "archlight.components/1"}, {"components", rows}});
  else
    out << table({"component", "role", ">nodes", "cache", "models", "source"}, lines);
  return kVerified;
}

int quants(const Options& options, std::ostream& out, std::ostream& err) {
  base::Result<std::shared_ptr<const spec::Library>> library = open_whole_library(options);
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

int precisions(const Options& options, std::ostream& out, std::ostream& err) {
  base::Result<std::shared_ptr<const spec::Library>> library = open_library(options);
  if (!library) return no_answer(library.faults(), options, out, err);
  Json rows = Json::array();
  std::vector<std::vector<std::string>> lines;
  // One line for each kind of entry and each role, the profile's name and label beside the first.
  const auto add_lines = [&](const std::string& name, const std::string& label,
                             const std::vector<std::pair<std::string, std::string>>& said) {
    for (const auto& [of, text] : said) {
      const bool first = of == said[0].first && text == said[0].second;
      lines.push_back({first ? name : "", of, text, first ? label : ""});
    }
  };
  for (const auto& [name, precision] : (*library)->precisions()) {
    Json cache = Json::object(), weights = Json::object();
    std::vector<std::pair<std::string, std::string>> said;
    for (const spec::EntryLayout& layout : precision.cache) {
      Json parts = Json::array();
      for (const spec::EntryPart& part : layout.parts)
        parts.push_back({{"what", part.what},
                         {"dtype", part.dtype ? base::dtype_name(*part.dtype) : "model dtype"},
                         {"elements", part.elements.empty() ? "elements" : part.elements.text()}});
      cache[layout.kind] = std::move(parts);
      said.emplace_back(layout.kind, spec::layout_text(layout));
    }
    for (const auto& [role, choice] : precision.weights) {
      std::string text = choice.method;
      for (const auto& [key, value] : choice.params) text += " " + key + "=" + value;
      weights[role] = text;
      said.emplace_back("weights: " + role, text);
    }
    add_lines(name, precision.label, said);
    rows.push_back({{"name", name},
                    {"label", precision.label},
                    {"source", precision.source},
                    {"cache", std::move(cache)},
                    {"weights", std::move(weights)}});
  }
  // Engines' layouts are asked for in the same way; their files say how.
  Json engines = Json::array();
  for (const auto& [name, engine] : (*library)->engines()) {
    std::vector<std::pair<std::string, std::string>> said;
    for (const spec::EngineEntry& entry : engine.entries) {
      std::string kinds;
      for (const std::string& kind : entry.kinds) kinds += (kinds.empty() ? "" : ", ") + kind;
      said.emplace_back(kinds.empty() ? "any entry" : kinds,
                        entry.bytes.empty() ? "as the checkpoint has it" : entry.bytes.text());
    }
    add_lines(name, engine.label, said);
    engines.push_back({{"name", name}, {"label", engine.label}, {"source", engine.source}});
  }
  if (options.json)
    print_json(out, {{"schema", "archlight.precisions/1"}, {"precisions", rows}, {"engines", engines}});
  else
    out << table({"profile", "of", "bytes of one token's entry, or scheme", "what"}, lines);
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

int snapshots_add(const std::vector<std::string>& sources, const std::string& provenance,
                  const Options& options, std::ostream& out, std::ostream& err) {
  base::Result<std::string> home = base::home_folder();
  if (!home) return no_answer(home.faults(), options, out, err);
  Json written = Json::array();
  for (const std::string& source : sources) {
    base::Result<std::vector<std::string>> files =
        truth::import_snapshot(source, *home + "/snapshots", {"", provenance, {}});
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
