#include "spec/quant_tables.h"

#include <nlohmann/json.hpp>

#include "spec/reader.h"

namespace archlight::spec {
namespace {

using base::fault_at;
using base::Faults;
using base::Json;
using base::Yaml;

std::vector<std::pair<std::string, std::string>> pairs_of(Reader& reader, std::string_view key,
                                                          Faults& faults) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const base::YamlEntry& entry : reader.map(key, "a map of keys to values"))
    out.emplace_back(entry.key, read_text(entry.value, entry.key, faults));
  return out;
}

CountRule parse_rule(const Yaml& node, Faults& faults) {
  Reader reader(node, "a counting rule", faults);
  CountRule out;
  out.name = reader.required_text("name");
  out.source = reader.text("source");
  out.logical = reader.flag("logical");
  const std::string times = reader.text("times", "1");
  out.times = std::atoi(times.c_str());
  if (times.empty() || times.size() > 2 || times.find_first_not_of("0123456789") != std::string::npos)
    faults.push_back(fault_at(node.at, "times is '" + times + "'", "a number from 0 to 99"));
  const Yaml* tensors = reader.require("tensors", "a map that says which tensors it is about");
  if (tensors) {
    Reader inner(*tensors, "'tensors' of a counting rule", faults);
    const auto flag = [&](std::string_view key) -> std::optional<bool> {
      if (!inner.get(key)) return std::nullopt;
      return inner.flag(key);
    };
    out.scalar = flag("scalar");
    out.main = flag("main");
    out.buffer = flag("buffer");
    out.tied = flag("tied");
    out.schemes = inner.texts("schemes");
    out.names = inner.texts("names");
    out.apart = inner.text("apart");
    if (const std::string name = inner.text("dtype"); !name.empty()) {
      out.dtype = base::dtype_from_name(name);
      if (!out.dtype)
        faults.push_back(fault_at(tensors->at, "unknown dtype '" + name + "'", "a safetensors dtype"));
    }
    inner.finish();
  }
  reader.finish();
  return out;
}

}  // namespace

base::Result<std::vector<MixedForm>> parse_declarations(const Yaml& root) {
  Faults faults;
  std::vector<MixedForm> out;
  if (!root.is_sequence())
    return fault_at(root.at, "the declarations are " + root.describe(),
                    "a list of {name, when, parts, chosen_by, others, source}");
  for (const Yaml& item : root.items) {
    Reader reader(item, "a form of declaration", faults);
    MixedForm row;
    row.name = reader.required_text("name");
    row.source = reader.required_text("source");
    row.when = pairs_of(reader, "when", faults);
    if (row.when.empty())
      faults.push_back(fault_at(item.at, "a form of declaration without 'when'", "{key: value}"));
    if (const base::Yaml* scope = reader.get("scope")) {
      row.open_scope = read_text(*scope, "scope", faults) == "open";
      if (!row.open_scope)
        faults.push_back(fault_at(scope->at, "scope is " + scope->describe(), "open, or no such key"));
      reader.finish();
      out.push_back(std::move(row));
      continue;
    }
    row.parts = reader.required_text("parts");
    row.chosen_by = reader.required_text("chosen_by");
    row.plain = pairs_of(reader, "plain", faults);
    for (const base::YamlEntry& entry : reader.map("classes", "a map of words to ops")) {
      std::vector<std::string> ops;
      for (const Yaml& op : read_list(entry.value, "class '" + entry.key + "'", "a list of ops", faults))
        ops.push_back(read_text(op, entry.key, faults));
      row.classes.emplace_back(entry.key, std::move(ops));
    }
    for (const base::YamlEntry& entry : reader.map("presets", "a map of words to declarations"))
      row.presets.emplace_back(entry.key, std::make_shared<const Json>(json_of(entry.value)));
    const std::string others = reader.text("others", "plain");
    row.others_whole = others == "whole";
    if (others != "plain" && others != "whole")
      faults.push_back(fault_at(item.at, "others is '" + others + "'", "plain or whole"));
    reader.finish();
    out.push_back(std::move(row));
  }
  if (!faults.empty()) return faults;
  return out;
}

base::Result<Counting> parse_counting(const Yaml& root) {
  Faults faults;
  Reader reader(root, "the counting rules", faults);
  Counting out;
  for (const Yaml& item : reader.list("rules", "a list of counting rules"))
    out.rules.push_back(parse_rule(item, faults));
  for (const Yaml& item : reader.list("alternatives", "a list of {name, rules, source}")) {
    Reader inner(item, "an alternative of counting", faults);
    CountList row;
    row.name = inner.required_text("name");
    row.source = inner.required_text("source");
    row.repeats_tied = inner.flag("repeats_tied");
    for (const Yaml& rule : inner.list("rules", "a list of counting rules"))
      row.rules.push_back(parse_rule(rule, faults));
    inner.finish();
    out.alternatives.push_back(std::move(row));
  }
  for (const Yaml& item : reader.list("index_writers", "a list of {name, dtype, bits, source}")) {
    Reader inner(item, "a writer of indexes", faults);
    WriterRule row;
    row.name = inner.required_text("name");
    row.source = inner.required_text("source");
    const std::string dtype = inner.required_text("dtype"), bits = inner.required_text("bits");
    inner.finish();
    if (const std::optional<base::Dtype> known = base::dtype_from_name(dtype))
      row.dtype = *known;
    else if (!dtype.empty())
      faults.push_back(fault_at(item.at, "unknown dtype '" + dtype + "'", "a safetensors dtype"));
    row.bits = std::atoi(bits.c_str());
    if (!bits.empty() && (bits.size() > 2 || bits.find_first_not_of("0123456789") != std::string::npos))
      faults.push_back(fault_at(item.at, "bits is '" + bits + "'", "a number from 0 to 99"));
    out.index_writers.push_back(std::move(row));
  }
  reader.finish();
  if (!faults.empty()) return faults;
  return out;
}

}  // namespace archlight::spec
