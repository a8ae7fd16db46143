#include "spec/context.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "spec/binding.h"
#include "spec/reader.h"

namespace archlight::spec {
namespace {

using base::fault_at;
using base::Faults;
using base::Json;
using base::Result;
using base::Yaml;
using expr::Rational;

const RopeType* type_of(const RopeScalingTable& table, const std::string& name) {
  for (const RopeType& type : table.types)
    for (const auto* names : {&type.names, &type.also})
      if (std::ranges::find(*names, name) != names->end()) return &type;
  return nullptr;
}

std::string shown(const Rational& value) {
  return value.is_integer() ? base::with_commas(value.num) : expr::to_string(value);
}

class Reading {
 public:
  Reading(const Model& model, const Json& config, const RopeScalingTable& table)
      : model_(model), config_(config), table_(table) {}

  PublishedContext run() {
    if (!model_.max_context.empty()) {
      std::string key;
      const Json* found = config_value(model_, config_, model_.max_context, &key);
      if (const std::optional<Rational> tokens = found ? exact_number(*found) : std::nullopt;
          tokens && tokens->is_integer() && tokens->num > 0) {
        out_.tokens = tokens;
        out_.key = key;
      }
    }
    for (const std::string& root : model_.config_roots)
      for (const std::string& group : table_.groups) {
        const std::string path = root.empty() ? group : root + "." + group;
        if (const Json* object = at(path); object && object->is_object()) read(path, *object);
      }
    for (const RopeScaling& each : out_.scaling) remark(each);
    // A config may state its scaling under two keys, as newer and older programs read it.
    for (size_t i = 1; i < out_.scaling.size(); ++i)
      for (size_t j = 0; j < i; ++j) contradict(out_.scaling[j], out_.scaling[i]);
    return std::move(out_);
  }

 private:
  const Json* at(const std::string& path) const { return value_at(config_, path); }

  void read(const std::string& path, const Json& object) {
    // Kinds of layers may have scalings of their own: each is an object in the group.
    for (const auto& [kind, inner] : object.items())
      if (inner.is_object()) read(path + "." + kind, inner);
    RopeScaling row;
    row.key = path;
    for (const char* key : {"rope_type", "type"})
      if (const auto it = object.find(key); it != object.end() && it->is_string() && row.type.empty())
        row.type = it->get<std::string>();
    if (row.type.empty() && !object.contains("factor")) return;
    if (row.type.empty()) row.type = "default";
    if (const RopeType* type = type_of(table_, row.type)) {
      row.known_as = type->names[0];
      if (std::ranges::find(type->names, row.type) != type->names.end()) row.known_as = row.type;
      row.alias = row.known_as != row.type;
      row.stretched = type->stretched;
    }
    if (const auto it = object.find("factor"); it != object.end()) row.factor = exact_number(*it);
    for (const std::string& key : table_.original) {
      if (row.original) break;
      if (const auto it = object.find(key); it != object.end()) {
        row.original = exact_number(*it);
        row.original_key = path + "." + key;
      } else if (const Json* found = config_value(model_, config_, key, &row.original_key)) {
        row.original = exact_number(*found);
      }
    }
    out_.scaling.push_back(std::move(row));
  }

  void remark(const RopeScaling& row) {
    if (row.known_as.empty())
      out_.remarks.push_back(
          "config." + row.key + " is of type '" + row.type +
          "', which specs/rope_scaling.yaml does not list: the stated context is taken as it is");
    else if (row.alias)
      out_.remarks.push_back("config." + row.key + " is of type '" + row.type + "', another name for " +
                             row.known_as);
    const std::optional<Rational> product = row.product();
    if (!product || !out_.tokens || *product == *out_.tokens) return;
    out_.remarks.push_back("config." + row.original_key + " * factor is " + shown(*row.original) + " * " +
                           shown(*row.factor) + " = " + shown(*product) + ", and config." + out_.key +
                           " states " + shown(*out_.tokens) + ": the stated context is taken");
  }

  void contradict(const RopeScaling& one, const RopeScaling& other) {
    const auto owner = [&](const std::string& key) {
      const size_t dot = key.rfind('.');
      return dot == std::string::npos ? std::string() : key.substr(0, dot);
    };
    const bool groups = std::ranges::find(table_.groups, last(one.key)) != table_.groups.end() &&
                        std::ranges::find(table_.groups, last(other.key)) != table_.groups.end();
    if (!groups || (owner(one.key) == owner(other.key) && one.key == other.key)) return;
    if (one.known_as == other.known_as && one.factor == other.factor) return;
    out_.remarks.push_back("config." + one.key + " says " + text(one) + ", and config." + other.key +
                           " says " + text(other));
  }

  static std::string last(const std::string& key) { return key.substr(key.rfind('.') + 1); }
  static std::string text(const RopeScaling& row) {
    return row.type + (row.factor ? " with factor " + shown(*row.factor) : std::string());
  }

  const Model& model_;
  const Json& config_;
  const RopeScalingTable& table_;
  PublishedContext out_;
};

}  // namespace

const Json* value_at(const Json& config, const std::string& path) {
  const Json* value = &config;
  for (size_t from = 0; value && from <= path.size();) {
    const size_t dot = std::min(path.find('.', from), path.size());
    const std::string key = path.substr(from, dot - from);
    value = value->is_object() && value->contains(key) ? &(*value)[key] : nullptr;
    from = dot + 1;
  }
  return value;
}

std::optional<Rational> RopeScaling::product() const {
  if (!stretched || !factor || !original) return std::nullopt;
  // Both come from a config: what does not fit 64 bits is no length.
  const auto fits = [](const Rational& value) {
    return value.num > 0 && value.num < (base::Int128{1} << 62) && value.den < (base::Int128{1} << 62);
  };
  if (!fits(*factor) || !fits(*original)) return std::nullopt;
  return expr::make_rational(factor->num * original->num, factor->den * original->den);
}

Result<RopeScalingTable> parse_rope_scaling(const Yaml& root) {
  Faults faults;
  RopeScalingTable out;
  Reader reader(root, "the table of rope scalings", faults);
  out.groups = reader.texts("groups");
  out.original = reader.texts("original");
  std::vector<std::string> seen;
  for (const Yaml& item : reader.list("types", "a list of {names, also, stated, source}")) {
    Reader inner(item, "a type of rope scaling", faults);
    RopeType row;
    row.names = inner.texts("names");
    row.also = inner.texts("also");
    row.source = inner.required_text("source");
    const std::string stated = inner.required_text("stated");
    row.stretched = stated == "stretched";
    if (!stated.empty() && stated != "stretched" && stated != "stated")
      faults.push_back(fault_at(item.at, "stated is '" + stated + "'", "stretched or stated",
                                base::did_you_mean(stated, {"stretched", "stated"})));
    if (row.names.empty())
      faults.push_back(fault_at(item.at, "a type of rope scaling has no name", "names: [NAME]"));
    for (const auto* names : {&row.names, &row.also})
      for (const std::string& name : *names) {
        if (std::ranges::find(seen, name) != seen.end())
          faults.push_back(
              fault_at(item.at, "type '" + name + "' of rope scaling stands twice", "one row for it"));
        seen.push_back(name);
      }
    inner.finish();
    out.types.push_back(std::move(row));
  }
  reader.finish();
  if (!faults.empty()) return faults;
  return out;
}

PublishedContext published_context(const Model& model, const Json& config, const RopeScalingTable& table) {
  return Reading(model, config, table).run();
}

}  // namespace archlight::spec
