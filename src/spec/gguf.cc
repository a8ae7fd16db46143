#include "spec/gguf.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "spec/quant.h"
#include "spec/reader.h"

namespace archlight::spec {
namespace {

using base::fault_at;
using base::Faults;
using base::Json;
using base::Yaml;

GgufKey parse_key(const base::YamlEntry& entry, Faults& faults) {
  GgufKey out;
  out.config_key = entry.key;
  if (!entry.value.is_map()) {
    if (entry.value.is_sequence())
      for (const Yaml& item : entry.value.items) out.keys.push_back(read_text(item, entry.key, faults));
    else
      out.keys.push_back(read_text(entry.value, entry.key, faults));
    return out;
  }
  Reader reader(entry.value, "key '" + entry.key + "'", faults);
  struct Form {
    const char* name;
    GgufKey::Kind kind;
    size_t operands;
  };
  constexpr Form kForms[] = {{"minus", GgufKey::Kind::kMinus, 2},
                             {"product", GgufKey::Kind::kProduct, 2},
                             {"lacks_tensor", GgufKey::Kind::kLacksTensor, 1}};
  for (const Form& form : kForms) {
    if (!reader.has(form.name)) continue;
    out.kind = form.kind;
    out.keys = reader.texts(form.name);
    if (out.keys.size() != form.operands)
      faults.push_back(fault_at(entry.value.at,
                                "'" + std::string(form.name) + "' of key '" + entry.key + "' names " +
                                    std::to_string(out.keys.size()) + " keys",
                                std::to_string(form.operands)));
  }
  reader.finish();
  if (out.keys.empty())
    faults.push_back(fault_at(entry.value.at, "key '" + entry.key + "' says nothing", "a metadata key"));
  return out;
}

std::vector<GgufKey> parse_keys(Reader& reader, Faults& faults) {
  std::vector<GgufKey> out;
  for (const base::YamlEntry& entry : reader.map("keys", "a map of config keys to metadata keys"))
    out.push_back(parse_key(entry, faults));
  return out;
}

base::Diagnostic not_verifiable(const std::string& shown_as, std::string wrong, std::string expected) {
  base::Diagnostic out =
      fault_at({std::make_shared<base::SourceText>(base::SourceText{shown_as, {}}), 0, 0, 0},
               std::move(wrong), std::move(expected));
  out.guard = "not_verifiable";
  return out;
}

}  // namespace

base::Result<GgufTable> parse_gguf_table(const Yaml& root) {
  Faults faults;
  Reader reader(root, "the table of GGUF architectures", faults);
  GgufTable out;
  out.keys = parse_keys(reader, faults);
  for (const Yaml& item : reader.list("architectures", "a list of {name, config, adapter, source}")) {
    Reader inner(item, "a GGUF architecture", faults);
    GgufRow row;
    row.name = inner.required_text("name");
    row.adapter = inner.required_text("adapter");
    row.source = inner.required_text("source");
    for (const base::YamlEntry& entry : inner.map("when", "a map of metadata keys to values"))
      row.when.emplace_back(entry.key, read_text(entry.value, entry.key, faults));
    const Yaml* config = inner.require("config", "a map of config keys and values");
    row.config = std::make_shared<const Json>(config ? json_of(*config) : Json::object());
    if (config && !config->is_map())
      faults.push_back(
          fault_at(config->at, "'config' is " + config->describe(), "a map of config keys and values"));
    row.keys = parse_keys(inner, faults);
    inner.finish();
    out.rows.push_back(std::move(row));
  }
  reader.finish();
  if (!faults.empty()) return faults;
  return out;
}

base::Result<GgufConfig> config_of_gguf(const GgufTable& table, const Json& metadata,
                                        const std::set<std::string>& tensors, const std::string& shown_as) {
  const auto named = metadata.find("general.architecture");
  if (named == metadata.end() || !named->is_string())
    return not_verifiable(shown_as, "the metadata name no general.architecture", "the architecture's name");
  const std::string architecture = named->get<std::string>();
  const auto at = [&](std::string key) -> const Json* {
    if (const size_t brace = key.find("{}"); brace != std::string::npos) key.replace(brace, 2, architecture);
    const auto it = metadata.find(key);
    return it == metadata.end() || it->is_null() ? nullptr : &*it;
  };
  const GgufRow* row = nullptr;
  std::string known;
  for (const GgufRow& candidate : table.rows) {
    if (known.find("'" + candidate.name + "'") == std::string::npos)
      known += (known.empty() ? "'" : ", '") + candidate.name + "'";
    if (row || candidate.name != architecture) continue;
    const Lookup lookup = [&](std::string_view key) { return at(std::string(key)); };
    if (candidate.when.empty() || holds({candidate.when}, lookup) > 0) row = &candidate;
  }
  if (!row)
    return not_verifiable(shown_as,
                          "general.architecture is '" + architecture.substr(0, 100) + "'" +
                              (known.find("'" + architecture + "'") == std::string::npos
                                   ? ", which no row of specs/gguf.yaml describes"
                                   : ", of a kind that no row of specs/gguf.yaml describes"),
                          "one of " + known);
  Json config = *row->config;
  const auto take = [&](const GgufKey& key) {
    if (config.contains(key.config_key)) return;
    const auto number = [&](size_t i) -> std::optional<int64_t> {
      const Json* value = at(key.keys[i]);
      // Formulas below stay far from overflow.
      if (!value || !value->is_number_integer() || value->get<int64_t>() < 0 ||
          value->get<int64_t>() > (int64_t{1} << 30))
        return std::nullopt;
      return value->get<int64_t>();
    };
    switch (key.kind) {
      case GgufKey::Kind::kFirst:
        for (const std::string& name : key.keys)
          if (const Json* value = at(name)) {
            const bool length = value->is_object() && value->contains("length");
            config[key.config_key] = length ? value->at("length") : *value;
            return;
          }
        return;
      case GgufKey::Kind::kMinus:
      case GgufKey::Kind::kProduct: {
        const std::optional<int64_t> a = number(0), b = number(1);
        if (!a || !b) return;
        config[key.config_key] = key.kind == GgufKey::Kind::kMinus ? *a - *b : *a * *b;
        return;
      }
      case GgufKey::Kind::kLacksTensor:
        config[key.config_key] = !tensors.contains(key.keys[0]);
        return;
    }
  };
  for (const GgufKey& key : row->keys) take(key);
  for (const GgufKey& key : table.keys) take(key);
  return GgufConfig{std::make_shared<const Json>(std::move(config)), row->adapter};
}

}  // namespace archlight::spec
