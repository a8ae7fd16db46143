#include "analysis/internal/declaration.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/yaml.h"

namespace archlight::analysis::internal {

using base::Faults;
using base::Json;

namespace {

void not_verifiable(Faults& faults, std::string wrong, std::string expected, std::string fix) {
  if (faults.size() > 50) return;
  base::Diagnostic fault =
      base::fault_at({std::make_shared<base::SourceText>(base::SourceText{"config.json", {}}), 0, 0, 0},
                     std::move(wrong), std::move(expected), std::move(fix));
  fault.guard = "not_verifiable";
  faults.push_back(std::move(fault));
}

std::string shortened(const Json& value) {
  std::string text = value.dump();
  if (text.size() > 160) text = text.substr(0, 157) + "...";
  return text;
}

bool is_number(std::string_view part) {
  return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

void add_containers(const std::string& name, std::set<std::string>& into) {
  std::string path;
  for (const std::string& part : split_path(name)) {
    const bool index = is_number(part);
    path += (path.empty() ? "" : ".") + (index ? std::string("*") : part);
    if (index) into.insert(path);
  }
}

bool pattern_tells_copies_apart(const std::string& pattern, const std::string& container) {
  // "model.layers.*.mlp.experts.*": the word before the star, and digits or a choice of letters behind it.
  const size_t star = container.rfind(".*");
  if (star == std::string::npos) return false;
  const size_t dot = container.rfind('.', star - 1);
  const std::string word = container.substr(dot == std::string::npos ? 0 : dot + 1,
                                            star - (dot == std::string::npos ? 0 : dot + 1));
  const size_t at = pattern.find(word);
  return at != std::string::npos &&
         pattern.find_first_of("0123456789?[", at + word.size()) != std::string::npos;
}

Declaration::Declaration(const spec::Library& library, const spec::Model& model, const Json& config,
                         const Json& declared, std::string origin, Faults& faults)
    : library_(library), model_(model), config_(config), declared_(declared), origin_(std::move(origin)) {
  whole_ = format_of(nullptr, faults, {});
  names_scheme_ = !whole_.schemes.empty();
  const spec::Lookup lookup = spec::lookup_in(declared_);
  for (const spec::MixedForm& form : library_.mixed_forms()) {
    if (spec::holds({form.when}, lookup) == 0) continue;
    if (form.open_scope) {
      open_scope_ = &form;
      continue;
    }
    const Json* parts = form.parts == "." ? &declared_ : lookup(form.parts);
    if (!parts || !parts->is_object()) continue;
    const bool by_key = form.chosen_by == "key", by_pattern = form.chosen_by == "pattern";
    bool any = false;
    for (const auto& [key, value] : parts->items()) {
      if (form.parts == "." && !value.is_object() && value != false) continue;
      any = true;
      const std::string shown = origin_ + (form.parts == "." ? "" : "." + form.parts) + "." + key;
      const bool negative = by_pattern && key.starts_with("-:");
      Json part = value;
      if (value.is_array()) {
        const auto preset =
            std::ranges::find_if(form.presets, [&](const auto& row) { return row.first == key; });
        if (preset == form.presets.end()) {
          not_verifiable(faults, shown + " stands for a format that specs/declarations.yaml does not list",
                         "a preset of '" + form.name + "'", "add it to its presets");
          continue;
        }
        part = *preset->second;
        part[form.chosen_by] = value;
      }
      int format = -1;
      const bool plain = negative || value == false || std::ranges::any_of(form.plain, [&](const auto& pair) {
                           return spec::holds({{pair}}, spec::lookup_in(part)) > 0;
                         });
      if (!plain && !part.is_object()) {
        not_verifiable(faults, shown + " is " + shortened(value), "a map of what differs there", {});
        continue;
      }
      if (by_key || by_pattern) {
        if (!plain) {
          format = add(part, faults, shown);
          if (format >= 0) formats_[static_cast<size_t>(format)].ignorable = by_pattern;
        }
        if (by_key) {
          by_key_[key] = format;
          add_containers(key, containers_);
        } else {
          const std::string text = key.starts_with("+:") || negative ? key.substr(2) : key;
          patterns_.push_back({text, spec::ignored_by("re:" + text, spec::IgnoreMatch::kPath), format});
          patterns_must_agree_ = true;
        }
        continue;
      }
      Json format_part = part;
      format_part.erase(form.chosen_by);
      if (!plain) format = add(format_part, faults, shown);
      const Json* targets = spec::lookup_in(part)(form.chosen_by);
      if (!targets || !targets->is_array()) {
        not_verifiable(faults, shown + " does not say which modules it is about",
                       "a list at '" + form.chosen_by + "'", {});
        continue;
      }
      for (const Json& target : *targets) {
        if (!target.is_string()) continue;
        const std::string word = target.get<std::string>();
        const auto ops =
            std::ranges::find_if(form.classes, [&](const auto& row) { return row.first == word; });
        if (ops != form.classes.end()) {
          for (const std::string& op : ops->second) by_op_.emplace_back(op, format);
        } else if (word.starts_with("re:")) {
          patterns_.push_back({word, spec::ignored_by(word, spec::IgnoreMatch::kPath), format});
        } else {
          by_key_[word] = format;
          add_containers(word, containers_);
        }
      }
    }
    if (!any) continue;
    others_whole_ = form.others_whole;
    break;
  }
}

DeclaredFormat Declaration::format_of(const Json* part, Faults& faults, const std::string& shown) {
  DeclaredFormat out;
  Json merged = declared_;
  if (part)
    for (const auto& [key, value] : part->items()) merged[key] = value;
  out.numbers = std::make_shared<const Json>(std::move(merged));
  const auto matching = [&](const Json& said) {
    const spec::Lookup inner = spec::lookup_in(said);
    const spec::Lookup lookup = [&](std::string_view key) -> const Json* {
      if (!key.starts_with("config.")) return inner(key);
      return spec::config_value(model_, config_, key.substr(7));
    };
    std::vector<std::pair<size_t, const spec::QuantScheme*>> found;
    for (const auto& [name, scheme] : library_.quants())
      if (const size_t keys = spec::holds(scheme.declared_by, lookup)) found.emplace_back(keys, &scheme);
    std::ranges::stable_sort(found, std::greater<>(), &std::pair<size_t, const spec::QuantScheme*>::first);
    for (const auto& [keys, scheme] : found) out.schemes.push_back(scheme);
  };
  // What a part says for itself decides; where that names nothing, it is read over the whole.
  if (part) matching(*part);
  if (out.schemes.empty()) matching(*out.numbers);
  if (part && out.schemes.empty())
    not_verifiable(
        faults, shown + " declares a quantisation that no file of specs/quant describes: " + shortened(*part),
        "a scheme of specs/quant", "add specs/quant/<name>.yaml with a declared_by that matches");
  return out;
}

int Declaration::add(const Json& part, Faults& faults, const std::string& shown) {
  const std::string text = part.dump();
  if (const auto it = by_text_.find(text); it != by_text_.end()) return it->second;
  DeclaredFormat format = format_of(&part, faults, shown);
  int index = -1;
  if (!format.schemes.empty()) {
    index = static_cast<int>(formats_.size());
    formats_.push_back(std::move(format));
    names_scheme_ = true;
  }
  by_text_.emplace(text, index);
  return index;
}

std::vector<const spec::QuantScheme*> Declaration::schemes() const {
  std::vector<const spec::QuantScheme*> out;
  const auto take = [&](const DeclaredFormat& format) {
    for (const spec::QuantScheme* scheme : format.schemes)
      if (std::ranges::find(out, scheme) == out.end()) out.push_back(scheme);
  };
  if (others_whole_) take(whole_);
  for (const DeclaredFormat& format : formats_) take(format);
  return out;
}

std::string Declaration::scheme_names() const {
  std::string out;
  for (const spec::QuantScheme* scheme : schemes()) out += (out.empty() ? "" : " + ") + scheme->name;
  return out;
}

Declaration::Found Declaration::find(const std::string& path, const std::string& spec_path,
                                     const std::string& op, Faults& faults) const {
  const auto at = [&](int index, bool exact) -> Found {
    return {index < 0 ? nullptr : &formats_[static_cast<size_t>(index)], exact};
  };
  if (!by_key_.empty())
    for (const std::string* name : {&path, &spec_path})
      for (size_t end = name->size(); end != std::string::npos && end > 0; end = name->rfind('.', end - 1)) {
        const auto it = by_key_.find(name->substr(0, end));
        if (it != by_key_.end()) return at(it->second, end == name->size());
        if (end == 0) break;
      }
  int found = -2;
  for (const Pattern& pattern : patterns_) {
    if (!pattern.hits(path)) continue;
    if (found == -2) found = pattern.format;
    if (!patterns_must_agree_) break;
    if (found != pattern.format) {
      not_verifiable(faults,
                     origin_ + " gives '" + path + "' two formats, by patterns whose order is not kept",
                     "one pattern a module", {});
      break;
    }
  }
  if (found != -2) return at(found, false);
  for (const auto& [name, format] : by_op_)
    if (name == op) return at(format, false);
  if (others_whole_ && !whole_.schemes.empty()) return {&whole_, false};
  return {};
}

bool Declaration::tells_copies_apart(const std::string& container) const {
  if (containers_.contains(container)) return true;
  return std::ranges::any_of(
      patterns_, [&](const Pattern& pattern) { return pattern_tells_copies_apart(pattern.text, container); });
}

}  // namespace archlight::analysis::internal
