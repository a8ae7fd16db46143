#include "spec/library.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "spec/internal/reader.h"

namespace archlight::spec {
namespace {

using base::fault_at;
using base::Faults;
using base::Json;
using base::Result;
using base::Yaml;
using internal::Reader;

constexpr const char* kDimKinds[] = {"head_count",  "width",  "whole", "expert_count", "vocab",
                                     "layer_count", "window", "count", "flag",         "ratio"};
constexpr const char* kWorlds[] = {"attention",     "dense_ffn", "expert",
                                   "expert_copies", "embedding", "context"};
// How a weight axis splits when its parts leave some over: not at all, or by keeping some parts on several devices.
constexpr const char* kFits[] = {"even", "replica_cells"};

std::string stem(const std::string& file) {
  const size_t slash = file.rfind('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  return name.ends_with(".yaml") ? name.substr(0, name.size() - 5) : name;
}

template <typename T>
std::vector<std::string> names_of(const std::map<std::string, T>& table) {
  std::vector<std::string> out;
  for (const auto& [name, value] : table) out.push_back(name);
  return out;
}

template <typename Range>
std::string joined(const Range& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

constexpr const char* kTables[] = {"dims.yaml",        "roles.yaml",        "kv_cache.yaml",
                                   "config_keys.yaml", "declarations.yaml", "counting.yaml",
                                   "gguf.yaml",        "rope_scaling.yaml"};
constexpr const char* kFolders[] = {"models",  "components/library", "components/drafts", "quant", "adapters",
                                    "engines", "precision"};

Result<Yaml> parse_text(const std::string& shown, const std::string& text) {
  return base::parse_yaml(std::make_shared<base::SourceText>(base::SourceText{shown, text}));
}

// Every file of a folder that is laid out as specs/ is, by its name there; tables that must be there are faults.
std::map<std::string, std::string> files_of(const std::string& folder, bool all_tables, Faults& faults) {
  std::map<std::string, std::string> files;
  const auto take = [&](const std::string& file) {
    Result<std::string> text = base::read_file(folder + "/" + file, 1 << 20);
    if (!text)
      base::append(faults, text.faults());
    else
      files.emplace(file, std::move(*text));
  };
  for (const char* table : kTables)
    if (all_tables || base::file_exists(folder + "/" + table)) take(table);
  for (const char* inner : kFolders) {
    if (!base::folder_exists(folder + "/" + inner)) continue;
    Result<std::vector<std::string>> names = base::list_files(folder + "/" + inner);
    if (!names) {
      base::append(faults, names.faults());
      continue;
    }
    for (const std::string& name : *names)
      if (name.ends_with(".yaml")) take(std::string(inner) + "/" + name);
  }
  return files;
}

// Rows of a folder's table stand before those that are there.
template <typename T>
void put_first(std::vector<T>& to, std::vector<T> rows) {
  rows.insert(rows.end(), std::make_move_iterator(to.begin()), std::make_move_iterator(to.end()));
  to = std::move(rows);
}

}  // namespace

Result<std::map<std::string, DimInfo>> parse_dims_table(const Yaml& root) {
  Faults faults;
  std::map<std::string, DimInfo> out;
  if (!root.is_map()) return fault_at(root.at, "the dims table is " + root.describe(), "a map of dim names");
  for (const base::YamlEntry& entry : root.entries) {
    Reader reader(entry.value, "dim '" + entry.key + "'", faults);
    DimInfo info;
    info.kind = reader.required_text("kind");
    info.shardable_by = reader.texts("shardable_by");
    info.meaning = reader.text("meaning");
    const bool positive = info.kind == "width" || info.kind == "head_count" || info.kind == "vocab" ||
                          info.kind == "expert_count";
    const std::string least = reader.text("min", positive ? "1" : "0");
    if (const std::optional<base::Int128> number = base::parse_int128(least);
        number && *number >= 0 && *number < 1000)
      info.least = static_cast<int64_t>(*number);
    else
      faults.push_back(fault_at(entry.value.at, "min is '" + least + "'", "a whole number from 0 to 999"));
    info.config_keys = reader.texts("config");
    reader.finish();
    if (!info.kind.empty() && std::ranges::find(kDimKinds, info.kind) == std::end(kDimKinds))
      faults.push_back(fault_at(entry.value.at, "unknown dim kind '" + info.kind + "'",
                                "one of " + joined(kDimKinds),
                                base::did_you_mean(info.kind, {std::begin(kDimKinds), std::end(kDimKinds)})));
    for (const std::string& world : info.shardable_by)
      if (std::ranges::find(kWorlds, world) == std::end(kWorlds))
        faults.push_back(fault_at(entry.value.at, "unknown world '" + world + "'",
                                  "one of " + joined(kWorlds),
                                  base::did_you_mean(world, {std::begin(kWorlds), std::end(kWorlds)})));
    out.emplace(entry.key, std::move(info));
  }
  if (!faults.empty()) return faults;
  return out;
}

Result<std::map<std::string, RoleInfo>> parse_roles_table(const Yaml& root) {
  Faults faults;
  std::map<std::string, RoleInfo> out;
  if (!root.is_map())
    return fault_at(root.at, "the roles table is " + root.describe(), "a map of role names");
  for (const base::YamlEntry& entry : root.entries) {
    Reader reader(entry.value, "role '" + entry.key + "'", faults);
    RoleInfo info;
    info.fills = reader.text("fills");
    info.has_ops = reader.has("ops");
    info.ops = reader.texts("ops");
    info.copies = reader.flag("copies");
    info.meaning = reader.required_text("meaning");
    reader.finish();
    out.emplace(entry.key, std::move(info));
  }
  if (!faults.empty()) return faults;
  return out;
}

Result<std::shared_ptr<Library>> Library::open(const std::string& specs) {
  return open_with(specs, {});
}

Result<std::shared_ptr<Library>> Library::open_with(const std::string& specs,
                                                    const std::map<std::string, std::string>& replaced) {
  Faults faults;
  std::map<std::string, std::string> files = files_of(specs, true, faults);
  if (!faults.empty()) return faults;
  for (const auto& [file, text] : replaced) files.insert_or_assign(file, text);
  return from_texts(files);
}

Result<std::shared_ptr<Library>> Library::from_texts(const std::map<std::string, std::string>& files) {
  return Library().with(files);
}

Result<std::shared_ptr<Library>> Library::open_under(const std::string& specs,
                                                     const std::vector<std::string>& folders) {
  Result<std::shared_ptr<Library>> library = open(specs);
  for (size_t i = folders.size(); i-- > 0 && library;) {
    const std::string& folder = folders[i];
    if (!base::folder_exists(folder)) return fault_at({}, folder + ": no such folder of specs", "a folder");
    Faults faults;
    const std::map<std::string, std::string> files = files_of(folder, false, faults);
    if (!faults.empty()) return faults;
    if (files.empty())
      return fault_at({}, folder + " holds no specs",
                      "YAML files in " + joined(kFolders) + ", or one of " + joined(kTables),
                      base::folder_exists(folder + "/specs") ? "name " + folder + "/specs" : "");
    library = (*library)->read(files, folder);
  }
  return library;
}

std::string Library::shown(const std::string& file) const {
  const auto own = shown_->find(file);
  return own == shown_->end() ? "specs/" + file : own->second;
}

// An architecture that a folder's model describes, and one below it under another name too.
void Library::note_architectures(const std::string& folder) {
  const auto here = [&](const std::string& name) {
    const auto it = rank_->find(name);
    return it != rank_->end() && it->second == folders_;
  };
  for (const auto& [name, model] : *models_) {
    if (!here(name)) continue;
    for (const auto& [other, below] : *models_) {
      if (here(other)) continue;
      for (const std::string& architecture : model->architectures)
        if (std::ranges::find(below->architectures, architecture) != below->architectures.end())
          notices_.own().push_back(
              "architecture '" + architecture + "' is described by " + shown("models/" + name + ".yaml") +
              " and by " + shown("models/" + other + ".yaml") + ": that of " + folder + " comes first");
    }
  }
}

Result<std::shared_ptr<Library>> Library::with(const std::map<std::string, std::string>& files) const {
  return read(files, {});
}

Result<std::shared_ptr<Library>> Library::read(const std::map<std::string, std::string>& files,
                                               const std::string& folder) const {
  auto library = std::make_shared<Library>(*this);
  Faults faults;
  bool adapters = false, engine_names = false;
  const bool own = !folder.empty();
  if (own) ++library->folders_;
  const auto replaces = [&](const std::string& what, const std::string& from) {
    if (own) library->notices_.own().push_back(what + " replaces that of " + from);
  };
  for (const auto& [file, text] : files) {
    const std::string shown_file = own ? folder + "/" + file : shown(file);
    if (std::ranges::find(kTables, file) == std::end(kTables)) {
      if (library->texts_->contains(file)) replaces(shown_file, shown(file));
      library->texts_.own().insert_or_assign(file, std::make_shared<const std::string>(text));
      if (own) library->shown_.own().insert_or_assign(file, shown_file);
      if (library->folders_ > 0 && file.starts_with("models/"))
        library->rank_.own()[stem(file)] = library->folders_;
    }
    if (file.starts_with("components/")) {
      library->components_.erase(file);
      continue;
    }
    Result<Yaml> root = parse_text(shown_file, text);
    if (!root) {
      base::append(faults, root.faults());
      continue;
    }
    // A table takes the place of the one that is there; a folder's own puts its rows before it.
    const auto take = [&](auto result, auto& table, auto put) {
      if (!result)
        base::append(faults, result.faults());
      else if (own)
        put(table.own(), std::move(*result));
      else
        table.own() = std::move(*result);
    };
    const auto by_name = [&](const char* what) {
      return [&replaces, &shown_file, what](auto& table, auto rows) {
        for (auto& [name, row] : rows) {
          if (table.contains(name))
            replaces(shown_file + ": " + what + " '" + name + "'", "the specs below it");
          table.insert_or_assign(name, std::move(row));
        }
      };
    };
    const auto first = [](auto& table, auto rows) { put_first(table, std::move(rows)); };
    if (file == "dims.yaml") {
      engine_names = true;
      take(parse_dims_table(*root), library->dims_, by_name("dim"));
    } else if (file == "roles.yaml") {
      take(parse_roles_table(*root), library->roles_, by_name("role"));
    } else if (file == "kv_cache.yaml") {
      take(parse_kv_formats(*root), library->kv_formats_, first);
    } else if (file == "config_keys.yaml") {
      take(parse_config_keys(*root), library->config_keys_, [&](ConfigKeys& table, const ConfigKeys& rows) {
        for (const std::string& key : table.put(rows))
          replaces(shown_file + ": the row of config key '" + key + "'", "the specs below it");
      });
    } else if (file == "declarations.yaml") {
      take(parse_declarations(*root), library->mixed_forms_, first);
    } else if (file == "counting.yaml") {
      take(parse_counting(*root), library->counting_, [](Counting& table, Counting rows) {
        put_first(table.rules, std::move(rows.rules));
        put_first(table.alternatives, std::move(rows.alternatives));
      });
    } else if (file == "gguf.yaml") {
      take(parse_gguf_table(*root), library->gguf_, [](GgufTable& table, GgufTable rows) {
        put_first(table.rows, std::move(rows.rows));
        put_first(table.keys, std::move(rows.keys));
      });
    } else if (file == "rope_scaling.yaml") {
      take(parse_rope_scaling(*root), library->rope_scaling_,
           [](RopeScalingTable& table, RopeScalingTable rows) {
             put_first(table.types, std::move(rows.types));
             put_first(table.groups, std::move(rows.groups));
             put_first(table.original, std::move(rows.original));
           });
    } else if (file.starts_with("models/")) {
      Result<Model> model = parse_model(*root, stem(file));
      if (!model)
        base::append(faults, model.faults());
      else
        library->models_.own().insert_or_assign(stem(file), std::make_shared<const Model>(std::move(*model)));
    } else if (file.starts_with("quant/")) {
      Result<std::vector<QuantScheme>> schemes = parse_quant(*root, stem(file));
      if (!schemes)
        base::append(faults, schemes.faults());
      else
        for (QuantScheme& scheme : *schemes) {
          const std::string name = scheme.name;
          library->quants_.own().insert_or_assign(name, std::move(scheme));
        }
    } else if (file.starts_with("adapters/")) {
      adapters = true;
      Result<Adapter> adapter = parse_adapter(*root, stem(file), &library->extends_.own()[stem(file)]);
      if (!adapter)
        base::append(faults, adapter.faults());
      else
        library->adapters_.own().insert_or_assign(stem(file), std::move(*adapter));
    } else if (file.starts_with("engines/")) {
      engine_names = true;
      Result<Engine> engine = parse_engine(*root, stem(file));
      if (!engine)
        base::append(faults, engine.faults());
      else
        library->engines_.own().insert_or_assign(stem(file), std::move(*engine));
    } else if (file.starts_with("precision/")) {
      Result<Precision> precision = parse_precision(*root, stem(file));
      if (!precision)
        base::append(faults, precision.faults());
      else
        library->precisions_.own().insert_or_assign(stem(file), std::move(*precision));
    }
  }
  if (engine_names)
    for (const auto& [name, engine] : *library->engines_)
      base::append(faults, check_engine_names(engine, names_of(*library->dims_)));
  if (adapters) library->resolve_adapters(faults);
  if (!faults.empty()) return faults;
  if (own) library->note_architectures(folder);
  return library;
}

// An adapter's own rules come first, those it extends behind; a loop of extensions ends at its first repeat.
void Library::resolve_adapters(Faults& faults) {
  const std::map<std::string, Adapter>& adapters = *adapters_;
  const std::map<std::string, std::string>& extends = *extends_;
  const auto parent_of = [&](const std::string& name) {
    const auto it = extends.find(name);
    return it == extends.end() ? std::string() : it->second;
  };
  const size_t before = faults.size();
  for (const auto& [name, adapter] : adapters) {
    std::vector<std::string> seen = {name};
    for (std::string parent = parent_of(name); !parent.empty(); parent = parent_of(parent)) {
      const bool looped = std::ranges::find(seen, parent) != seen.end();
      if (!adapters.contains(parent) || looped) {
        const std::vector<std::string> known = names_of(adapters);
        faults.push_back(fault_at(adapters.at(seen.back()).extends_at,
                                  "adapter '" + seen.back() + "' extends '" + parent + "', " +
                                      (looped ? "which extends it in turn" : "which is unknown"),
                                  looped ? "a chain with an end" : "one of " + joined(known),
                                  looped ? std::string() : base::did_you_mean(parent, known)));
        break;
      }
      seen.push_back(parent);
    }
  }
  if (faults.size() > before) return;
  std::map<std::string, Adapter>& resolved = resolved_.own();
  resolved = adapters;
  for (auto& [name, adapter] : resolved)
    for (std::string parent = parent_of(name); !parent.empty(); parent = parent_of(parent)) {
      const Adapter& from = adapters.at(parent);
      for (const AdapterRule& rule : from.rules)
        if (std::ranges::none_of(adapter.rules,
                                 [&](const AdapterRule& own) { return own.from == rule.from; }))
          adapter.rules.push_back(rule);
      adapter.buffers.insert(adapter.buffers.end(), from.buffers.begin(), from.buffers.end());
    }
}

Faults Library::check_values(const Binding& binding) const {
  Faults faults;
  for (const BoundDim& dim : binding.dims) {
    const auto decl = std::ranges::find(binding.model->dims, dim.name, &DimDecl::name);
    const base::Span at = decl == binding.model->dims.end() ? binding.model->at : decl->at;
    if (std::optional<base::Diagnostic> fault = check_value(dim, at)) faults.push_back(std::move(*fault));
  }
  return faults;
}

std::optional<base::Diagnostic> Library::check_value(const BoundDim& dim, const base::Span& at) const {
  const auto info = dims_->find(dim.name);
  if (info == dims_->end()) return std::nullopt;
  const bool flag = info->second.kind == "flag";
  const std::string is =
      "dim '" + dim.name + "' is " +
      (dim.boolean ? (dim.value.num != 0 ? "true" : "false") : expr::to_string(dim.value)) + " (" +
      dim.origin + ")";
  if (flag ? !(dim.value == expr::Rational{0, 1}) && !(dim.value == expr::Rational{1, 1}) : dim.boolean)
    return fault_at(at, is, flag ? "true or false" : "a number");
  if (info->second.kind == "ratio") {
    if (dim.value.num < 0) return fault_at(at, is, "a number, at least 0");
  } else if (!dim.value.is_integer() || dim.value.num < info->second.least) {
    return fault_at(at, is, "a whole number, at least " + std::to_string(info->second.least));
  }
  return std::nullopt;
}

Result<const Model*> Library::model(const std::string& name) const {
  const auto it = models_->find(name);
  if (it != models_->end()) return it->second.get();
  return fault_at({}, "unknown model spec '" + name + "'", "one of " + joined(names_of(*models_)),
                  base::did_you_mean(name, names_of(*models_)));
}

Result<const Engine*> Library::engine(const std::string& name) const {
  const auto it = engines_->find(name);
  if (it != engines_->end()) return &it->second;
  return fault_at({}, "unknown engine '" + name + "'", "one of " + joined(names_of(*engines_)),
                  base::did_you_mean(name, names_of(*engines_)));
}

Result<const Model*> Library::model_for(const Json& config) const {
  std::vector<std::string> architectures;
  if (const auto it = config.find("architectures"); it != config.end() && it->is_array())
    for (const Json& name : *it)
      if (name.is_string()) architectures.push_back(name.get<std::string>());
  std::string model_type;
  if (const auto it = config.find("model_type"); it != config.end() && it->is_string())
    model_type = it->get<std::string>();
  std::vector<const Model*> found;
  std::vector<std::string> known;
  for (const auto& [name, shared] : *models_) {
    const Model& model = *shared;
    std::ranges::copy(model.architectures, std::back_inserter(known));
    const bool by_architecture = std::ranges::any_of(architectures, [&](const std::string& a) {
      return std::ranges::find(model.architectures, a) != model.architectures.end();
    });
    const bool by_type =
        architectures.empty() && std::ranges::find(model.model_types, model_type) != model.model_types.end();
    // One architecture may have a spec per model_type; a spec that lists types takes only those.
    const bool type_fits = model.model_types.empty() || model_type.empty() ||
                           std::ranges::find(model.model_types, model_type) != model.model_types.end();
    if ((by_architecture && type_fits) || by_type) found.push_back(&model);
  }
  // A user's folder comes before what is below it.
  const auto rank = [&](const Model* model) {
    const auto it = rank_->find(model->name);
    return it == rank_->end() ? 0 : it->second;
  };
  int highest = 0;
  for (const Model* model : found) highest = std::max(highest, rank(model));
  std::erase_if(found, [&](const Model* model) { return rank(model) < highest; });
  if (found.size() == 1) return found[0];
  const std::string what = architectures.empty()
                               ? (model_type.empty() ? std::string("the config names no architecture")
                                                     : "model_type '" + model_type + "'")
                               : "architecture '" + joined(architectures) + "'" +
                                     (model_type.empty() ? "" : " of model_type '" + model_type + "'");
  base::Diagnostic out;
  out.guard = "not_verifiable";
  if (found.empty()) {
    out.wrong = architectures.empty() && model_type.empty() ? what : "no model spec describes " + what;
    out.expected = "an architecture of specs/models";
    out.fix = architectures.empty() ? std::string() : base::did_you_mean(architectures[0], known);
  } else {
    std::vector<std::string> names;
    for (const Model* model : found) names.push_back(model->name);
    out.wrong = "several model specs describe " + what + ": " + joined(names);
    out.expected = "one";
    out.fix = "narrow their model_types";
  }
  return out;
}

Result<const Component*> Library::load_component(const std::string& file, const std::string& name,
                                                 bool draft) const {
  const auto loaded = components_.find(file);
  if (loaded != components_.end()) return loaded->second.get();
  Result<Yaml> root = parse_text(shown(file), *texts_->at(file));
  if (!root) return root.faults();
  Result<Component> component = parse_component(*root, name);
  if (!component) return component.faults();
  component->draft = draft;
  Faults faults;
  for (const NodeDecl& node : component->graph)
    for (const WeightAxis& axis : node.weight_axes) {
      if (!axis.world.empty() && std::ranges::find(kWorlds, axis.world) == std::end(kWorlds))
        faults.push_back(fault_at(
            node.at, "unknown world '" + axis.world + "' in the weight axes of node '" + node.name + "'",
            "one of " + joined(kWorlds),
            base::did_you_mean(axis.world, {std::begin(kWorlds), std::end(kWorlds)})));
      if (!axis.fit.empty() && std::ranges::find(kFits, axis.fit) == std::end(kFits))
        faults.push_back(fault_at(
            node.at, "unknown fit '" + axis.fit + "' in the weight axes of node '" + node.name + "'",
            "one of " + joined(kFits), base::did_you_mean(axis.fit, {std::begin(kFits), std::end(kFits)})));
    }
  if (!faults.empty()) return faults;
  if (!component->role.empty() && !roles_->empty() && !roles_->contains(component->role))
    return fault_at(root->find("role")->at, "unknown role '" + component->role + "'",
                    "one of " + joined(names_of(*roles_)),
                    base::did_you_mean(component->role, names_of(*roles_)));
  return components_.emplace(file, std::make_shared<const Component>(std::move(*component)))
      .first->second.get();
}

Result<const Component*> Library::component(const std::string& name, const Model& model,
                                            const base::Span& at) const {
  const std::string draft = "components/drafts/" + name + ".yaml",
                    reviewed = "components/library/" + name + ".yaml";
  if (std::ranges::find(model.drafts, name) != model.drafts.end() && texts_->contains(draft))
    return load_component(draft, name, true);
  if (texts_->contains(reviewed)) return load_component(reviewed, name, false);
  std::vector<std::string> names = component_names();
  if (texts_->contains(draft))
    return fault_at(at, "component '" + name + "' is a draft",
                    "a reviewed component, or its name under the model's 'drafts'",
                    "add drafts: [" + name + "] to the model");
  return fault_at(at, "unknown component '" + name + "'", "a file of specs/components",
                  base::did_you_mean(name, names));
}

Result<const QuantScheme*> Library::quant(const std::string& name, const base::Span& at) const {
  const auto it = quants_->find(name);
  if (it != quants_->end()) return &it->second;
  return fault_at(at, "unknown quant scheme '" + name + "'", "one of " + joined(names_of(*quants_)),
                  base::did_you_mean(name, names_of(*quants_)));
}

Result<const Adapter*> Library::adapter(const std::string& name, const base::Span& at) const {
  const auto it = resolved_->find(name);
  if (it != resolved_->end()) return &it->second;
  return fault_at(at, "unknown adapter '" + name + "'", "one of " + joined(names_of(*adapters_)),
                  base::did_you_mean(name, names_of(*adapters_)));
}

Result<const Precision*> Library::precision(const std::string& name) const {
  const auto it = precisions_->find(name);
  if (it != precisions_->end()) return &it->second;
  std::vector<std::string> known = names_of(*precisions_);
  for (const auto& [engine, unused] : *engines_) known.push_back(engine);
  return fault_at({}, "unknown precision profile '" + name + "'", "a name that 'archlight precisions' lists",
                  base::did_you_mean(name, known));
}

std::vector<std::string> Library::component_names() const {
  std::vector<std::string> out;
  for (const auto& [file, text] : *texts_)
    if (file.starts_with("components/")) out.push_back(stem(file));
  std::ranges::sort(out);
  return out;
}

Result<const Component*> Library::any_component(const std::string& name) const {
  for (const char* folder : {"components/library/", "components/drafts/"})
    if (texts_->contains(folder + name + ".yaml"))
      return load_component(folder + name + ".yaml", name,
                            std::string_view(folder).find("drafts") != std::string_view::npos);
  return fault_at({}, "unknown component '" + name + "'", "a file of specs/components",
                  base::did_you_mean(name, component_names()));
}

}  // namespace archlight::spec
