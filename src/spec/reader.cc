#include "spec/reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace archlight::spec {

using base::fault_at;
using base::Yaml;

Reader::Reader(const Yaml& node, std::string what, base::Faults& faults)
    : node_(node), what_(std::move(what)), faults_(faults) {
  if (!node.is_map()) faults_.push_back(fault_at(node.at, what_ + " is " + node.describe(), "a map"));
}

const Yaml* Reader::get(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
  return node_.find(key);
}

const Yaml* Reader::require(std::string_view key, std::string_view form) {
  const Yaml* value = get(key);
  if (!value && node_.is_map())
    faults_.push_back(fault_at(node_.at, what_ + " has no '" + std::string(key) + "'", std::string(form),
                               base::did_you_mean(key, node_.keys())));
  return value;
}

std::string Reader::text(std::string_view key, std::string fallback) {
  const Yaml* value = get(key);
  return value ? read_text(*value, "'" + std::string(key) + "' of " + what_, faults_) : fallback;
}

std::string Reader::required_text(std::string_view key) {
  const Yaml* value = require(key, "'" + std::string(key) + "': a text");
  return value ? read_text(*value, "'" + std::string(key) + "' of " + what_, faults_) : std::string();
}

bool Reader::flag(std::string_view key, bool fallback) {
  const Yaml* value = get(key);
  if (!value) return fallback;
  if (value->is_scalar() && (value->text == "true" || value->text == "false")) return value->text == "true";
  faults_.push_back(fault_at(value->at, "'" + std::string(key) + "' of " + what_ + " is " + value->describe(),
                             "true or false"));
  return fallback;
}

expr::Formula Reader::formula(std::string_view key) {
  const Yaml* value = get(key);
  return value ? read_formula(*value, faults_) : expr::Formula();
}

std::vector<std::string> Reader::texts(std::string_view key) {
  const Yaml* value = get(key);
  if (!value || value->is_null()) return {};
  return read_texts(*value, "'" + std::string(key) + "' of " + what_, faults_);
}

std::span<const Yaml> Reader::list(std::string_view key, std::string_view form) {
  const Yaml* value = get(key);
  if (!value) return {};
  return read_list(*value, "'" + std::string(key) + "' of " + what_, form, faults_);
}

std::span<const base::YamlEntry> Reader::map(std::string_view key, std::string_view form) {
  const Yaml* value = get(key);
  if (!value) return {};
  return read_map(*value, "'" + std::string(key) + "' of " + what_, form, faults_);
}

void Reader::finish() {
  constexpr size_t kMost = 50;  // of a file that is none of ours, the first say enough
  std::string all;
  size_t unknown = 0;
  for (const base::YamlEntry& entry : node_.entries) {
    if (std::ranges::find(known_, entry.key) != known_.end()) continue;
    if (++unknown > kMost) {
      faults_.push_back(fault_at(
          entry.key_at, "more than " + std::to_string(kMost) + " unknown keys in " + what_, "one of " + all));
      return;
    }
    if (all.empty()) {
      std::vector<std::string> sorted = known_;
      std::ranges::sort(sorted);
      for (const std::string& name : sorted) all += (all.empty() ? "" : ", ") + name;
    }
    faults_.push_back(fault_at(entry.key_at, "unknown key '" + entry.key + "' in " + what_, "one of " + all,
                               base::did_you_mean(entry.key, known_)));
  }
}

std::vector<std::string> read_texts(const Yaml& node, const std::string& what, base::Faults& faults) {
  if (!node.is_sequence()) return {read_text(node, what, faults)};
  std::vector<std::string> out;
  for (const Yaml& item : node.items) out.push_back(read_text(item, "an entry of " + what, faults));
  return out;
}

expr::Formula read_formula(const Yaml& node, base::Faults& faults) {
  if (!node.is_scalar()) {
    faults.push_back(fault_at(node.at, node.describe() + " where a formula belongs",
                              "an expression over dims, as in \"n_heads * d_head\""));
    return {};
  }
  if (!node.quoted && (node.text == "true" || node.text == "false")) {
    base::Result<expr::Formula> constant = expr::Formula::parse(node.text == "true" ? "1" : "0", node.at);
    return std::move(*constant);
  }
  base::Span at = node.at;
  if (node.quoted) ++at.column;
  base::Result<expr::Formula> formula = expr::Formula::parse(node.text, at);
  if (!formula) {
    base::append(faults, formula.faults());
    return {};
  }
  return std::move(*formula);
}

std::span<const Yaml> read_list(const Yaml& node, const std::string& what, std::string_view form,
                                base::Faults& faults) {
  if (!node.is_sequence())
    faults.push_back(fault_at(node.at, what + " is " + node.describe(), std::string(form)));
  return node.items;
}

std::span<const base::YamlEntry> read_map(const Yaml& node, const std::string& what, std::string_view form,
                                          base::Faults& faults) {
  if (!node.is_map()) faults.push_back(fault_at(node.at, what + " is " + node.describe(), std::string(form)));
  return node.entries;
}

std::string read_text(const Yaml& node, const std::string& what, base::Faults& faults) {
  if (node.is_scalar()) return node.text;
  faults.push_back(fault_at(node.at, what + " is " + node.describe(), "a text"));
  return {};
}

base::Json json_of(const Yaml& node) {
  if (node.is_map()) {
    base::Json out = base::Json::object();
    for (const base::YamlEntry& entry : node.entries) out[entry.key] = json_of(entry.value);
    return out;
  }
  if (node.is_sequence()) {
    base::Json out = base::Json::array();
    for (const Yaml& item : node.items) out.push_back(json_of(item));
    return out;
  }
  const std::string& text = node.text;
  if (node.is_null()) return nullptr;
  if (node.quoted) return text;
  if (text == "true" || text == "false") return text == "true";
  if (!text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos)
    return std::stoll(text);
  return text;
}

}  // namespace archlight::spec
