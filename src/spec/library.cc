#include "spec/library.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "spec/reader.h"

namespace archlight::spec {
namespace {

using base::fault_at;
using base::Faults;
using base::Json;
using base::Result;
using base::Yaml;

constexpr const char* kDimKinds[] = {"head_count", "width", "whole", "expert_count", "vocab", "layer_count",
                                     "window",     "count", "flag",  "ratio",        "switch"};
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
constexpr const char* kModels = "models/";
constexpr const char* kComponents = "components/";
constexpr const char* kLibrary = "components/library/";
constexpr const char* kDrafts = "components/drafts/";
constexpr const char* kQuant = "quant/";
constexpr const char* kAdapters = "adapters/";
constexpr const char* kEngines = "engines/";
constexpr const char* kPrecision = "precision/";
constexpr size_t kMaxFile = 1 << 20;

std::string file_of(const char* folder, const std::string& name) {
  return folder + name + ".yaml";
}

// Every file of a folder that is laid out as specs/ is, by its name there: tables that must be there too.
std::vector<std::string> files_of(const std::string& folder, bool all_tables, Faults& faults) {
  std::vector<std::string> files;
  for (const char* table : kTables)
    if (all_tables || base::file_exists(folder + "/" + table)) files.emplace_back(table);
  for (const char* inner : kFolders) {
    if (!base::folder_exists(folder + "/" + inner)) continue;
    Result<std::vector<std::string>> names = base::list_files(folder + "/" + inner);
    if (!names) {
      base::append(faults, names.faults());
      continue;
    }
    for (const std::string& name : *names)
      if (name.ends_with(".yaml")) files.push_back(std::string(inner) + "/" + name);
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
  std::map<std::string, File> files;
  for (const std::string& file : files_of(specs, true, faults))
    files[file] = {specs + "/" + file, "specs/" + file, nullptr};
  if (!faults.empty()) return faults;
  for (const auto& [file, text] : replaced) files[file] = text_file("specs/" + file, text);
  return Library().read(std::move(files), {});
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
    std::map<std::string, File> files;
    for (const std::string& file : files_of(folder, false, faults))
      files[file] = {folder + "/" + file, folder + "/" + file, nullptr};
    if (!faults.empty()) return faults;
    if (files.empty())
      return fault_at({}, folder + " holds no specs",
                      "YAML files in " + joined(kFolders) + ", or one of " + joined(kTables),
                      base::folder_exists(folder + "/specs") ? "name " + folder + "/specs" : "");
    library = (*library)->read(std::move(files), folder);
  }
  return library;
}

Library::File Library::text_file(const std::string& shown, const std::string& text) {
  return {{}, shown, std::make_shared<base::SourceText>(base::SourceText{shown, text})};
}

std::string Library::shown(const std::string& file) const {
  const auto known = files_->find(file);
  return known == files_->end() ? "specs/" + file : known->second.shown;
}

// An architecture that a folder's model describes, and one below it under another name too.
void Library::note_architectures(const std::string& folder) {
  const auto here = [&](const std::string& name) {
    const auto it = rank_->find(name);
    return it != rank_->end() && it->second == folders_;
  };
  const std::vector<std::string> names = model_names();
  for (const std::string& name : names) {
    if (!here(name)) continue;
    const Result<const Model*> model = load_model(file_of(kModels, name));
    if (!model) continue;
    for (const std::string& other : names) {
      if (here(other) || !may_describe(file_of(kModels, other), (*model)->architectures)) continue;
      const Result<const Model*> below = load_model(file_of(kModels, other));
      if (!below) continue;
      for (const std::string& architecture : (*model)->architectures)
        if (std::ranges::find((*below)->architectures, architecture) != (*below)->architectures.end())
          notices_.own().push_back("architecture '" + architecture + "' is described by " +
                                   shown(file_of(kModels, name)) + " and by " +
                                   shown(file_of(kModels, other)) + ": that of " + folder + " comes first");
    }
  }
}

Result<std::shared_ptr<Library>> Library::with(const std::map<std::string, std::string>& files) const {
  std::map<std::string, File> read_anew;
  for (const auto& [file, text] : files) read_anew[file] = text_file(shown(file), text);
  return read(std::move(read_anew), {});
}

// Another file under a name: what was read of the one before is forgotten.
void Library::put(const std::string& file, File from) {
  files_.own()[file] = std::move(from);
  const auto forget = [&](auto& table) {
    if (table->contains(file)) table.own().erase(file);
  };
  forget(read_);
  forget(models_);
  forget(components_);
  forget(adapters_);
  if (file.starts_with(kAdapters)) resolved_ = {};
}

Result<std::shared_ptr<Library>> Library::read(std::map<std::string, File> files,
                                               const std::string& folder) const {
  auto library = std::make_shared<Library>(*this);
  Faults faults;
  bool engine_names = false, adapters_read = true;
  const bool own = !folder.empty();
  if (own) ++library->folders_;
  const auto replaces = [&](const std::string& what, const std::string& from) {
    if (own) library->notices_.own().push_back(what + " replaces that of " + from);
  };
  const auto check = [&](const auto& result) {
    if (!result) base::append(faults, result.faults());
    return result.ok();
  };
  std::vector<std::string> adapters;
  for (auto& [file, from] : files) {
    const std::string shown_file = from.shown;
    // What a user hands in, as a text or in a folder, is read at once.
    const bool at_once = own || from.source;
    const bool table = std::ranges::find(kTables, file) != std::end(kTables);
    std::optional<Result<Yaml>> read;
    if (table) {
      read = parse_file(from);
    } else {
      if (library->files_->contains(file)) replaces(shown_file, shown(file));
      library->put(file, std::move(from));
      if (library->folders_ > 0 && file.starts_with(kModels))
        library->rank_.own()[stem(file)] = library->folders_;
    }
    if (file.starts_with(kComponents)) continue;
    if (file.starts_with(kModels)) {
      if (at_once) check(library->load_model(file));
      continue;
    }
    if (file.starts_with(kAdapters)) {
      if (!at_once) continue;
      adapters.push_back(stem(file));
      adapters_read = check(library->load_adapter(file)) && adapters_read;
      continue;
    }
    const Result<Yaml> root = read ? *std::move(read) : library->parse(file);
    if (!check(root)) continue;
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
    } else if (file.starts_with(kQuant)) {
      Result<std::vector<QuantScheme>> schemes = parse_quant(*root, stem(file));
      if (check(schemes))
        for (QuantScheme& scheme : *schemes) {
          const std::string name = scheme.name;
          library->quants_.own().insert_or_assign(name, std::move(scheme));
        }
    } else if (file.starts_with(kEngines)) {
      engine_names = true;
      Result<Engine> engine = parse_engine(*root, stem(file));
      if (check(engine)) library->engines_.own().insert_or_assign(stem(file), std::move(*engine));
    } else if (file.starts_with(kPrecision)) {
      Result<Precision> precision = parse_precision(*root, stem(file));
      if (check(precision)) library->precisions_.own().insert_or_assign(stem(file), std::move(*precision));
    }
  }
  if (engine_names)
    for (const auto& [name, engine] : *library->engines_)
      base::append(faults, check_engine_names(engine, names_of(*library->dims_)));
  // A chain that leads to a fault above says nothing new.
  if (adapters_read)
    for (const std::string& name : adapters) check(library->adapter(name, {}));
  if (!faults.empty()) return faults;
  if (own) library->note_architectures(folder);
  return library;
}

Faults Library::load_all() const {
  Faults faults;
  bool adapters_read = true;
  const auto check = [&](const auto& result) {
    if (!result) base::append(faults, result.faults());
    return result.ok();
  };
  for (const auto& [file, unused] : *files_) {
    if (file.starts_with(kModels))
      check(load_model(file));
    else if (file.starts_with(kComponents))
      check(load_component(file));
    else if (file.starts_with(kAdapters))
      adapters_read = check(load_adapter(file)) && adapters_read;
  }
  if (adapters_read)
    for (const std::string& name : names_in(kAdapters)) check(adapter(name, {}));
  return faults;
}

std::vector<std::string> Library::files_read() const {
  return {read_->begin(), read_->end()};
}

Result<Yaml> Library::parse_file(const File& from) {
  if (from.source) return base::parse_yaml(from.source);
  Result<std::string> text = base::read_file(from.path, kMaxFile);
  if (!text) return text.faults();
  return base::parse_yaml(std::make_shared<base::SourceText>(base::SourceText{from.shown, std::move(*text)}));
}

Result<std::shared_ptr<const base::SourceText>> Library::text_of(const std::string& file) const {
  const File& from = files_->at(file);
  if (from.source) return from.source;
  Result<std::string> text = base::read_file(from.path, kMaxFile);
  if (!text) return text.faults();
  return files_.own().at(file).source =
             std::make_shared<base::SourceText>(base::SourceText{shown(file), std::move(*text)});
}

Result<Yaml> Library::parse(const std::string& file) const {
  Result<std::shared_ptr<const base::SourceText>> text = text_of(file);
  if (!text) return text.faults();
  read_.own().insert(file);
  return base::parse_yaml(std::move(*text));
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
  // A switch is stated as true or false, or as a number that is not 0.
  const bool boolean = dim.boolean && info->second.kind != "switch";
  if (flag ? !(dim.value == expr::Rational{0, 1}) && !(dim.value == expr::Rational{1, 1}) : boolean)
    return fault_at(at, is, flag ? "true or false" : "a number");
  if (info->second.kind == "ratio") {
    if (dim.value.num < 0) return fault_at(at, is, "a number, at least 0");
  } else if (!dim.value.is_integer() || dim.value.num < info->second.least) {
    return fault_at(at, is, "a whole number, at least " + std::to_string(info->second.least));
  }
  return std::nullopt;
}

std::vector<std::string> Library::names_in(std::string_view folder) const {
  std::vector<std::string> out;
  for (auto it = files_->lower_bound(std::string(folder));
       it != files_->end() && it->first.starts_with(folder); ++it)
    out.push_back(stem(it->first));
  std::ranges::sort(out);
  return out;
}

std::vector<std::string> Library::model_names() const {
  return names_in(kModels);
}

std::map<std::string, std::shared_ptr<const Model>> Library::models() const {
  std::map<std::string, std::shared_ptr<const Model>> out;
  for (const std::string& name : model_names())
    if (const std::string file = file_of(kModels, name); load_model(file).ok()) out[name] = models_->at(file);
  return out;
}

Result<std::shared_ptr<const base::SourceText>> Library::model_text(const std::string& name) const {
  if (const std::string file = file_of(kModels, name); files_->contains(file)) return text_of(file);
  return model(name).faults();
}

Result<const Model*> Library::load_model(const std::string& file) const {
  if (const auto loaded = models_->find(file); loaded != models_->end()) return loaded->second.get();
  const Result<Yaml> root = parse(file);
  if (!root) return root.faults();
  Result<Model> model = parse_model(*root, stem(file));
  if (!model) return model.faults();
  return models_.own().emplace(file, std::make_shared<const Model>(std::move(*model))).first->second.get();
}

Result<const Model*> Library::model(const std::string& name) const {
  if (const std::string file = file_of(kModels, name); files_->contains(file)) return load_model(file);
  return fault_at({}, "unknown model spec '" + name + "'", "one of " + joined(model_names()),
                  base::did_you_mean(name, model_names()));
}

Result<const Engine*> Library::engine(const std::string& name) const {
  const auto it = engines_->find(name);
  if (it != engines_->end()) return &it->second;
  return fault_at({}, "unknown engine '" + name + "'", "a name that 'archlight engines' lists",
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
  std::vector<std::string> words = architectures;
  if (words.empty() && !model_type.empty()) words = {model_type};
  std::vector<const Model*> found;
  for (const std::string& name : model_names()) {
    const std::string file = file_of(kModels, name);
    if (!may_describe(file, words)) continue;
    const Result<const Model*> loaded = load_model(file);
    if (!loaded) return loaded.faults();
    const Model& model = **loaded;
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
    std::vector<std::string> known;
    if (!architectures.empty())
      for (const std::string& name : model_names())
        if (const Result<const Model*> model = load_model(file_of(kModels, name)); model)
          std::ranges::copy((*model)->architectures, std::back_inserter(known));
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

// What a model's text does not hold, its `match` cannot name: only an escape could write a plain word otherwise.
bool Library::may_describe(const std::string& file, const std::vector<std::string>& words) const {
  if (models_->contains(file)) return true;
  const Result<std::shared_ptr<const base::SourceText>> source = text_of(file);
  if (!source) return true;
  const std::string& text = (*source)->text;
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return text.find('\\') != std::string::npos || std::ranges::any_of(words, [&](const std::string& word) {
           return !std::ranges::all_of(word, plain) || text.find(word) != std::string::npos;
         });
}

Result<const Component*> Library::load_component(const std::string& file) const {
  const auto loaded = components_->find(file);
  if (loaded != components_->end()) return loaded->second.get();
  const Result<Yaml> root = parse(file);
  if (!root) return root.faults();
  Result<Component> component = parse_component(*root, stem(file));
  if (!component) return component.faults();
  component->draft = file.starts_with(kDrafts);
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
  return components_.own()
      .emplace(file, std::make_shared<const Component>(std::move(*component)))
      .first->second.get();
}

Result<const Component*> Library::component(const std::string& name, const Model& model,
                                            const base::Span& at) const {
  const std::string draft = file_of(kDrafts, name), reviewed = file_of(kLibrary, name);
  if (std::ranges::find(model.drafts, name) != model.drafts.end() && files_->contains(draft))
    return load_component(draft);
  if (files_->contains(reviewed)) return load_component(reviewed);
  if (files_->contains(draft))
    return fault_at(at, "component '" + name + "' is a draft",
                    "a reviewed component, or its name under the model's 'drafts'",
                    "add drafts: [" + name + "] to the model");
  return fault_at(at, "unknown component '" + name + "'", "a file of specs/components",
                  base::did_you_mean(name, component_names()));
}

Result<const QuantScheme*> Library::quant(const std::string& name, const base::Span& at) const {
  const auto it = quants_->find(name);
  if (it != quants_->end()) return &it->second;
  return fault_at(at, "unknown quant scheme '" + name + "'", "one of " + joined(names_of(*quants_)),
                  base::did_you_mean(name, names_of(*quants_)));
}

Result<const Library::ReadAdapter*> Library::load_adapter(const std::string& file) const {
  if (const auto loaded = adapters_->find(file); loaded != adapters_->end()) return loaded->second.get();
  const Result<Yaml> root = parse(file);
  if (!root) return root.faults();
  std::string extends;
  Result<Adapter> adapter = parse_adapter(*root, stem(file), &extends);
  if (!adapter) return adapter.faults();
  return adapters_.own()
      .emplace(file,
               std::make_shared<const ReadAdapter>(ReadAdapter{std::move(*adapter), std::move(extends)}))
      .first->second.get();
}

// An adapter's own rules come first, those it extends behind; a loop of extensions ends at its first repeat.
Result<const Adapter*> Library::adapter(const std::string& name, const base::Span& at) const {
  const std::string file = file_of(kAdapters, name);
  if (const auto known = resolved_->find(file); known != resolved_->end()) return known->second.get();
  const std::vector<std::string> names = names_in(kAdapters);
  if (!files_->contains(file))
    return fault_at(at, "unknown adapter '" + name + "'", "one of " + joined(names),
                    base::did_you_mean(name, names));
  Result<const ReadAdapter*> last = load_adapter(file);
  if (!last) return last.faults();
  auto out = std::make_shared<Adapter>((*last)->own);
  std::vector<std::string> seen = {name};
  while (!(*last)->extends.empty()) {
    const std::string& parent = (*last)->extends;
    const bool looped = std::ranges::find(seen, parent) != seen.end();
    if (looped || !files_->contains(file_of(kAdapters, parent)))
      return fault_at((*last)->own.extends_at,
                      "adapter '" + seen.back() + "' extends '" + parent + "', " +
                          (looped ? "which extends it in turn" : "which is unknown"),
                      looped ? "a chain with an end" : "one of " + joined(names),
                      looped ? std::string() : base::did_you_mean(parent, names));
    seen.push_back(parent);
    last = load_adapter(file_of(kAdapters, parent));
    if (!last) return last.faults();
    const Adapter& from = (*last)->own;
    for (const AdapterRule& rule : from.rules)
      if (std::ranges::none_of(out->rules, [&](const AdapterRule& own) { return own.from == rule.from; }))
        out->rules.push_back(rule);
    out->buffers.insert(out->buffers.end(), from.buffers.begin(), from.buffers.end());
  }
  return resolved_.own().emplace(file, std::move(out)).first->second.get();
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
  std::vector<std::string> out = names_in(kLibrary);
  const std::vector<std::string> drafts = names_in(kDrafts);
  out.insert(out.end(), drafts.begin(), drafts.end());
  std::ranges::sort(out);
  return out;
}

Result<const Component*> Library::any_component(const std::string& name) const {
  for (const char* folder : {kLibrary, kDrafts})
    if (const std::string file = file_of(folder, name); files_->contains(file)) return load_component(file);
  return fault_at({}, "unknown component '" + name + "'", "a file of specs/components",
                  base::did_you_mean(name, component_names()));
}

}  // namespace archlight::spec
