#include "spec/precision.h"

#include <algorithm>

#include "spec/reader.h"

namespace archlight::spec {
namespace {

using base::fault_at;
using base::Faults;
using base::Yaml;

EntryPart parse_part(const Yaml& item, const std::string& kind, Faults& faults) {
  Reader reader(item, "a part of entry '" + kind + "'", faults);
  EntryPart out;
  out.at = item.at;
  out.what = reader.required_text("what");
  out.elements = reader.formula("elements");
  const std::string dtype = reader.required_text("dtype");
  if (!dtype.empty() && dtype != "model") {
    out.dtype = base::dtype_from_name(dtype);
    if (!out.dtype || base::in_blocks(*out.dtype))
      faults.push_back(fault_at(item.find("dtype")->at, "unknown dtype '" + dtype + "'",
                                "a safetensors dtype such as BF16, F8_E4M3, F4, or 'model'"));
  }
  reader.finish();
  return out;
}

EntryLayout parse_layout(const base::YamlEntry& entry, Faults& faults) {
  EntryLayout out;
  out.kind = entry.key;
  out.at = entry.key_at;
  for (const Yaml& part :
       read_list(entry.value, "entry '" + entry.key + "'", "a list of {what, dtype, elements}", faults))
    out.parts.push_back(parse_part(part, entry.key, faults));
  if (entry.value.is_sequence() && out.parts.empty())
    faults.push_back(fault_at(entry.value.at, "entry '" + entry.key + "' has no part",
                              "a list of {what, dtype, elements}"));
  return out;
}

}  // namespace

base::Result<Precision> parse_precision(const Yaml& root, const std::string& name) {
  Faults faults;
  Reader reader(root, "precision profile '" + name + "'", faults);
  Precision out;
  out.name = name;
  out.at = root.at;
  out.label = reader.required_text("label");
  out.source = reader.required_text("source");
  for (const base::YamlEntry& entry : reader.map("cache", "a map of cache entry kinds to their parts"))
    out.cache.push_back(parse_layout(entry, faults));
  for (const base::YamlEntry& entry : reader.map("weights", "a map of roles to {method: NAME}")) {
    out.weights.emplace_back(entry.key, parse_quant_choice(entry.value, entry.key, faults));
    if (out.weights.back().second.method == "declared")
      faults.push_back(fault_at(entry.value.at, "the choice for role '" + entry.key + "' is 'declared'",
                                "a scheme of specs/quant, or none",
                                "leave the role out: what a profile does not name keeps its own format"));
  }
  reader.finish();
  if (faults.empty() && out.cache.empty() && out.weights.empty())
    faults.push_back(fault_at(root.at, "precision profile '" + name + "' rewrites nothing",
                              "'cache', 'weights', or both"));
  if (!faults.empty()) return faults;
  return out;
}

const EntryLayout* Precision::layout_of(const std::string& kind) const {
  const auto found = std::ranges::find(cache, kind, &EntryLayout::kind);
  return found == cache.end() ? nullptr : &*found;
}

const QuantChoice* Precision::weights_of(const std::vector<std::string>& roles) const {
  const auto choice = [&](const std::string& role) -> const QuantChoice* {
    for (const auto& [listed, row] : weights)
      if (listed == role) return &row;
    return nullptr;
  };
  for (const std::string& role : roles)
    if (const QuantChoice* found = choice(role)) return found;
  return choice("default");
}

std::string layout_text(const EntryLayout& layout) {
  std::string out;
  for (const EntryPart& part : layout.parts)
    out += (out.empty() ? "" : " + ") +
           (part.elements.empty() ? std::string("elements") : part.elements.text()) + " " +
           (part.dtype ? std::string(base::dtype_name(*part.dtype)) : std::string("model dtype"));
  return out;
}

}  // namespace archlight::spec
