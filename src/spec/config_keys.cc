#include "spec/config_keys.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "spec/reader.h"

namespace archlight::spec {
namespace {

using base::fault_at;
using base::Faults;
using base::Json;
using base::Yaml;

struct ClassRow {
  KeyClass key_class;
  std::string_view name;
};
constexpr ClassRow kClasses[] = {
    {KeyClass::kShape, "shape"},
    {KeyClass::kSchedule, "schedule"},
    {KeyClass::kMask, "mask"},
    {KeyClass::kRope, "rope"},
    {KeyClass::kActivation, "activation"},
    {KeyClass::kNorm, "norm"},
    {KeyClass::kRouting, "routing"},
    {KeyClass::kScaling, "scaling"},
    {KeyClass::kQuant, "quant"},
    {KeyClass::kGroup, "group"},
    {KeyClass::kRuntime, "runtime"},
    {KeyClass::kTraining, "training"},
    {KeyClass::kTokenizer, "tokenizer"},
    {KeyClass::kMedia, "media"},
};

std::vector<std::pair<std::string, std::string>> read_pairs(Reader& reader, const char* key, Faults& faults) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const base::YamlEntry& entry : reader.map(key, "a map of texts"))
    out.emplace_back(entry.key, read_text(entry.value, "'" + entry.key + "'", faults));
  return out;
}

void add_formula(std::vector<ConfigRead>& out, const expr::Formula& formula, const std::string& reader) {
  if (formula.empty()) return;
  for (const std::string& name : formula.names())
    if (name.starts_with("config.")) out.push_back({name.substr(7), reader});
}

}  // namespace

std::string_view key_class_name(KeyClass key_class) {
  return std::ranges::find(kClasses, key_class, &ClassRow::key_class)->name;
}

bool decides_numbers(KeyClass key_class) {
  return key_class == KeyClass::kShape || key_class == KeyClass::kSchedule || key_class == KeyClass::kMask;
}

bool outside_the_model(KeyClass key_class) {
  switch (key_class) {
    case KeyClass::kQuant:
    case KeyClass::kRuntime:
    case KeyClass::kTraining:
    case KeyClass::kTokenizer:
    case KeyClass::kMedia:
      return true;
    default:
      return false;
  }
}

const ConfigKey* ConfigKeys::find(std::string_view path) const {
  while (true) {
    if (const auto it = rows_.find(path); it != rows_.end()) return &it->second;
    const size_t dot = path.find('.');
    if (dot == std::string_view::npos) return nullptr;
    path.remove_prefix(dot + 1);
  }
}

bool ConfigKeys::telling(std::string_view name) const {
  return std::ranges::any_of(telling_,
                             [&](const std::string& part) { return name.find(part) != name.npos; }) ||
         !base::nearest(name, deciding_).empty();
}

std::vector<std::string> ConfigKeys::stating(std::string_view fact) const {
  std::vector<std::string> out;
  for (const auto& [stated, name] : facts_)
    if (stated == fact) out.push_back(name);
  return out;
}

std::vector<std::string> ConfigKeys::put(const ConfigKeys& rows) {
  std::vector<std::string> replaced;
  for (const auto& [name, row] : rows.rows_) {
    if (rows_.contains(name)) {
      replaced.push_back(name);
      std::erase_if(facts_, [&](const auto& fact) { return fact.second == name; });
      std::erase(deciding_, name);
    }
    rows_.insert_or_assign(name, row);
  }
  facts_.insert(facts_.end(), rows.facts_.begin(), rows.facts_.end());
  telling_.insert(telling_.end(), rows.telling_.begin(), rows.telling_.end());
  deciding_.insert(deciding_.end(), rows.deciding_.begin(), rows.deciding_.end());
  return replaced;
}

base::Result<ConfigKeys> parse_config_keys(const Yaml& root) {
  Faults faults;
  ConfigKeys out;
  Reader reader(root, "the table of config keys", faults);
  out.telling_ = reader.texts("telling");
  for (const Yaml& item : reader.list("keys", "a list of {keys, is, meaning}")) {
    Reader inner(item, "a row of config keys", faults);
    ConfigKey row;
    const std::vector<std::string> names = inner.texts("keys");
    const std::string name = inner.required_text("is");
    row.meaning = inner.required_text("meaning");
    row.off = inner.texts("off");
    row.unless = read_pairs(inner, "unless", faults);
    row.fact = inner.text("fact");
    row.values = read_pairs(inner, "values", faults);
    inner.finish();
    if (names.empty()) faults.push_back(fault_at(item.at, "a row of config keys names none", "keys: [NAME]"));
    const auto found = std::ranges::find(kClasses, name, &ClassRow::name);
    if (found == std::end(kClasses)) {
      std::vector<std::string> known;
      std::string all;
      for (const ClassRow& each : kClasses) {
        known.emplace_back(each.name);
        all += (all.empty() ? "" : ", ") + known.back();
      }
      faults.push_back(fault_at(item.at, "unknown class '" + name + "' of config keys", "one of " + all,
                                base::did_you_mean(name, known)));
      continue;
    }
    row.key_class = found->key_class;
    for (const std::string& key : names) {
      if (!out.rows_.emplace(key, row).second)
        faults.push_back(fault_at(item.at, "config key '" + key + "' stands twice", "one row for it"));
      if (!row.fact.empty()) out.facts_.emplace_back(row.fact, key);
      if (decides_numbers(row.key_class)) out.deciding_.push_back(key);
    }
  }
  reader.finish();
  if (!faults.empty()) return faults;
  return out;
}

std::string plain_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool is_off(const Json& value, const ConfigKey* row) {
  if (value.is_null() || value == false || (value.is_number() && value == 0)) return true;
  if ((value.is_structured() && value.empty()) ||
      (value.is_string() && value.get_ref<const std::string&>().empty()))
    return true;
  return row && std::ranges::find(row->off, plain_text(value)) != row->off.end();
}

std::vector<ConfigRead> config_reads(const Model& model) {
  std::vector<ConfigRead> out = {{"architectures", "match"}, {"model_type", "match"}};
  const auto add_dims = [&](const std::vector<DimDecl>& dims, const std::string& of) {
    for (const DimDecl& dim : dims) {
      const std::string reader = "dim '" + dim.name + "'" + of;
      for (const std::string& key : dim.config_keys) {
        out.push_back({key, reader});
        // A path that goes on inside the entries of a list reads the list.
        if (!of.empty() && key.find('.') != std::string::npos)
          out.push_back({key.substr(0, key.find('.')), reader});
      }
      for (const expr::Formula* formula : {&dim.formula, &dim.fallback, &dim.null_value})
        add_formula(out, *formula, reader);
    }
  };
  add_dims(model.dims, {});
  for (const ModelEntry& entry : model.entries) {
    if (!entry.stack) continue;
    const std::string stack = "stack '" + entry.stack->name + "'";
    add_dims(entry.stack->per_layer, " of each layer of " + stack);
    for (const LayerRule& rule : entry.stack->layers) {
      for (const std::string& key : rule.config_keys) out.push_back({key, "a layer rule of " + stack});
      add_dims(rule.per_layer, " of each layer of " + stack);
    }
    for (const StreamDecl& stream : entry.stack->streams)
      if (stream.chosen.starts_with("config."))
        out.push_back({stream.chosen.substr(7), "stream '" + stream.name + "' of " + stack});
  }
  if (!model.max_context.empty()) out.push_back({model.max_context, "max_context"});
  return out;
}

}  // namespace archlight::spec
