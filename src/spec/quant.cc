#include "spec/quant.h"

#include <nlohmann/json.hpp>
#include <regex>

#include "spec/internal/reader.h"

namespace archlight::spec {
namespace {

using base::fault_at;
using base::Faults;
using base::Json;
using base::Yaml;
using internal::Reader;

// "a.b.0" inside the declaration; null when absent.
const Json* at_path(const Json& root, std::string_view path) {
  const Json* at = &root;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    const std::string key(path.substr(0, dot));
    if (at->is_object()) {
      const auto it = at->find(key);
      if (it == at->end()) return nullptr;
      at = &*it;
    } else if (at->is_array() && !key.empty() && key.size() < 6 &&
               key.find_first_not_of("0123456789") == std::string::npos) {
      const size_t i = std::stoul(key);
      if (i >= at->size()) return nullptr;
      at = &(*at)[i];
    } else {
      return nullptr;
    }
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  return at->is_null() ? nullptr : at;
}

std::string as_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

StoredPattern parse_stored(const Yaml& node, bool for_each, std::vector<size_t>& each, Faults& faults) {
  Reader reader(node, "a stored tensor", faults);
  StoredPattern out;
  out.at = node.at;
  out.suffix = reader.required_text("suffix");
  out.main = reader.flag("main");
  out.optional = reader.flag("optional");
  out.plain = reader.flag("plain");
  out.alone = reader.flag("alone");
  out.modules = reader.texts("modules");
  for (const std::string& name : reader.texts("dtype")) {
    std::optional<base::Dtype> dtype = base::dtype_from_name(name);
    if (name == "each" && for_each) {
      each.push_back(out.dtypes.size());
      out.dtypes.push_back(std::nullopt);
      continue;
    }
    if (!dtype) dtype = base::dtype_from_ggml_name(name);
    if (dtype || name == "default")
      out.dtypes.push_back(dtype);
    else
      faults.push_back(fault_at(node.at, "unknown dtype '" + name + "'",
                                "a safetensors dtype such as BF16, F32, F8_E4M3, U8, I32"));
  }
  out.variable = reader.flag("variable");
  if (out.variable) {
    reader.finish();
    return out;
  }
  if (const Yaml* shape = reader.require("shape", "a list of axes, [] for a scalar")) {
    for (const Yaml& axis :
         internal::read_list(*shape, "'shape' of a stored tensor", "a list of axes, [] for a scalar", faults))
      out.shape.push_back(internal::read_formula(axis, faults));
    out.scalar = shape->items.empty();
  }
  reader.finish();
  return out;
}

}  // namespace

base::Result<std::vector<QuantScheme>> parse_quant(const Yaml& root, const std::string& name) {
  Faults faults;
  Reader reader(root, "quant scheme '" + name + "'", faults);
  QuantScheme out;
  out.name = name;
  out.label = reader.required_text("label");
  out.source = reader.required_text("source");
  for (const Yaml& item : reader.list("declared_by", "a list of {key: value}")) {
    std::vector<std::pair<std::string, std::string>> alternative;
    for (const base::YamlEntry& entry :
         internal::read_map(item, "an alternative of declared_by", "{key: value}", faults))
      alternative.emplace_back(entry.key, internal::read_text(entry.value, entry.key, faults));
    if (alternative.empty() && item.is_map())
      faults.push_back(fault_at(item.at, "an empty alternative in declared_by", "{key: value}"));
    out.declared_by.push_back(std::move(alternative));
  }
  for (const base::YamlEntry& entry : reader.map("params", "a map of names to {key, default}")) {
    Reader inner(entry.value, "param '" + entry.key + "'", faults);
    QuantParam param;
    param.name = entry.key;
    param.key = inner.text("key");
    param.key_or = inner.text("or");
    const std::string fallback = inner.text("default");
    param.has_fallback = !fallback.empty();
    param.fallback = std::atoll(fallback.c_str());
    param.least = std::atoll(inner.text("min", "1").c_str());
    for (const std::string& value : inner.texts("values")) param.values.push_back(std::atoll(value.c_str()));
    inner.finish();
    out.params.push_back(std::move(param));
  }
  if (const Yaml* scope = reader.get("scope")) {
    Reader inner(*scope, "'scope' of quant scheme '" + name + "'", faults);
    out.ops = inner.texts("ops");
    out.roles = inner.texts("roles");
    out.not_roles = inner.texts("not_roles");
    out.copies_only = inner.text("copies") == "only";
    inner.finish();
  }
  if (const Yaml* ignore = reader.get("ignore")) {
    Reader inner(*ignore, "'ignore' of quant scheme '" + name + "'", faults);
    out.ignore_keys = inner.texts("keys");
    const std::string match = inner.text("match", "path");
    if (match == "component")
      out.ignore_match = IgnoreMatch::kComponent;
    else if (match == "substring")
      out.ignore_match = IgnoreMatch::kSubstring;
    else if (match != "path")
      faults.push_back(fault_at(ignore->at, "match is '" + match + "'", "path, component or substring"));
    inner.finish();
  }
  if (const Yaml* stores = reader.get("stores")) {
    out.stores = internal::read_formula(*stores, faults);
    out.stores_at = stores->at;
  }
  std::vector<base::Dtype> dtypes;
  for (const std::string& each : reader.texts("dtypes"))
    if (const std::optional<base::Dtype> dtype = base::dtype_from_ggml_name(each))
      dtypes.push_back(*dtype);
    else
      faults.push_back(fault_at(root.at, "unknown dtype '" + each + "'", "a type of GGUF such as Q4_K"));
  std::vector<std::vector<size_t>> each;  // by tensor: which of its dtypes is the file's
  reader.require("tensors", "a list of stored tensors");
  for (const Yaml& item : reader.list("tensors", "a list of stored tensors"))
    out.tensors.push_back(parse_stored(item, !dtypes.empty(), each.emplace_back(), faults));
  reader.finish();
  const auto mains = std::ranges::count_if(out.tensors, &StoredPattern::main);
  if (!out.tensors.empty() && mains != 1)
    faults.push_back(fault_at(root.at,
                              "quant scheme '" + name + "' has " + std::to_string(mains) + " main tensors",
                              "exactly one"));
  if (!faults.empty()) return faults;
  if (dtypes.empty()) return std::vector<QuantScheme>{std::move(out)};
  std::vector<QuantScheme> all;
  for (base::Dtype dtype : dtypes) {
    QuantScheme& one = all.emplace_back(out);
    one.name += "_";
    for (char c : base::dtype_name(dtype))
      one.name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    one.label += ", " + std::string(base::dtype_name(dtype));
    for (size_t t = 0; t < one.tensors.size(); ++t)
      for (size_t at : each[t]) one.tensors[t].dtypes[at] = dtype;
  }
  return all;
}

base::Result<std::vector<KvFormat>> parse_kv_formats(const Yaml& root) {
  Faults faults;
  std::vector<KvFormat> out;
  if (!root.is_sequence())
    return fault_at(root.at, "the cache formats are " + root.describe(),
                    "a list of {key, equals, dtype, source}");
  for (const Yaml& item : root.items) {
    Reader reader(item, "a cache format", faults);
    KvFormat row{reader.required_text("key"), reader.required_text("equals"), reader.required_text("source")};
    const std::string name = reader.required_text("dtype");
    reader.finish();
    if (const std::optional<base::Dtype> dtype = base::dtype_from_name(name))
      row.dtype = *dtype;
    else
      faults.push_back(fault_at(item.at, "unknown dtype '" + name + "'", "a safetensors dtype"));
    out.push_back(std::move(row));
  }
  if (!faults.empty()) return faults;
  return out;
}

std::optional<std::string> declared_text(const Json& declaration, std::string_view path) {
  const Json* value = at_path(declaration, path);
  return value ? std::optional(as_text(*value)) : std::nullopt;
}

Lookup lookup_in(const Json& declaration) {
  return [&declaration](std::string_view key) -> const Json* {
    return key.starts_with("config.") ? nullptr : at_path(declaration, key);
  };
}

size_t holds(const std::vector<Pairs>& alternatives, const Lookup& lookup) {
  size_t most = 0;
  for (const Pairs& alternative : alternatives) {
    const bool all = std::ranges::all_of(alternative, [&](const auto& pair) {
      const Json* value = lookup(pair.first);
      if (pair.second == "absent") return value == nullptr;
      return value != nullptr && (pair.second == "*" || as_text(*value) == pair.second);
    });
    if (all) most = std::max(most, alternative.size());
  }
  return most;
}

bool declares(const QuantScheme& scheme, const Json& declaration) {
  return holds(scheme.declared_by, lookup_in(declaration)) > 0;
}

std::vector<std::string> ignore_list(const QuantScheme& scheme, const Json& declaration) {
  std::vector<std::string> out;
  for (const std::string& key : scheme.ignore_keys) {
    const Json* list = at_path(declaration, key);
    if (!list || !list->is_array()) continue;
    for (const Json& entry : *list)
      if (entry.is_string()) out.push_back(entry.get<std::string>());
  }
  return out;
}

namespace {

constexpr size_t kMaxEntry = 1'000;

// An entry without wildcards.
bool names_module(const std::string& entry, const std::string& path, IgnoreMatch match) {
  if (match == IgnoreMatch::kSubstring) return !entry.empty() && path.find(entry) != std::string::npos;
  if (path.starts_with(entry) && (path.size() == entry.size() || path[entry.size()] == '.')) return true;
  return match == IgnoreMatch::kComponent && ("." + path + ".").find("." + entry + ".") != std::string::npos;
}

// Shell wildcards: '*' any run, '?' one letter. Text and entry are equal up to `from`, the entry's first wildcard.
bool glob(std::string_view entry, std::string_view text, size_t from) {
  size_t i = from, j = from, star = std::string::npos, mark = 0;
  while (j < text.size()) {
    if (i < entry.size() && (entry[i] == '?' || entry[i] == text[j])) {
      ++i, ++j;
    } else if (i < entry.size() && entry[i] == '*') {
      star = i++;
      mark = j;
    } else if (star != std::string::npos) {
      i = star + 1;
      j = ++mark;
    } else {
      return false;
    }
  }
  while (i < entry.size() && entry[i] == '*') ++i;
  return i == entry.size();
}

// A match of a leading part of the path names its whole module.
bool glob_names_module(const std::string& entry, size_t first_wildcard, const std::string& path) {
  if (path.size() < first_wildcard || path.compare(0, first_wildcard, entry, 0, first_wildcard) != 0)
    return false;
  for (size_t end = path.find('.', first_wildcard); end != std::string::npos; end = path.find('.', end + 1))
    if (glob(entry, std::string_view(path).substr(0, end), first_wildcard)) return true;
  return glob(entry, path, first_wildcard);
}

}  // namespace

std::function<bool(const std::string& path)> ignored_by(const std::string& entry, IgnoreMatch match) {
  const auto nothing = [](const std::string&) { return false; };
  if (entry.size() > kMaxEntry) return nothing;
  if (!entry.starts_with("re:")) {
    // Each entry is asked of each layer of each weight.
    const size_t wildcard = entry.find_first_of("*?");
    if (wildcard == std::string::npos)
      return [entry, match](const std::string& path) { return names_module(entry, path, match); };
    return [entry, wildcard](const std::string& path) { return glob_names_module(entry, wildcard, path); };
  }
  try {
    // The library's usual matcher goes back over its choices, which some patterns make exponential.
    const auto pattern = std::make_shared<const std::regex>(
        entry.substr(3), std::regex_constants::ECMAScript | std::regex_constants::__polynomial);
    return [pattern](const std::string& path) {
      return std::regex_search(path, *pattern, std::regex_constants::match_continuous);
    };
  } catch (const std::regex_error&) {
    return nothing;
  }
}

bool ignores(const std::string& entry, const std::string& path, IgnoreMatch match) {
  return ignored_by(entry, match)(path);
}

}  // namespace archlight::spec
