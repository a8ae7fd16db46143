#include "guard/schedule.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "expr/expr.h"
#include "guard/structural.h"
#include "spec/context.h"

namespace archlight::guard {
namespace {

using base::Json;
using spec::ConfigKey;
using spec::LayerRule;

base::Span config_place() {
  return {std::make_shared<base::SourceText>(base::SourceText{"config.json", {}}), 0, 0, 0};
}

std::string shortened(std::string text) {
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

std::string joined(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

// A formula over the bound dims alone; none where it has no value.
std::optional<expr::Rational> value_of(const expr::Formula& formula, const spec::Binding& binding) {
  expr::ExprPool pool;
  return formula
      .instantiate(pool,
                   [&](std::string_view name) -> std::optional<expr::Expr> {
                     const spec::BoundDim* dim = binding.find(name);
                     return dim ? std::optional(pool.constant(dim->value)) : std::nullopt;
                   })
      .constant();
}

class Schedule {
 public:
  Schedule(const Subject& subject, Findings& out)
      : library_(subject.library),
        binding_(subject.binding),
        model_(*subject.binding.model),
        config_(*subject.binding.config),
        keys_(subject.library.config_keys()),
        out_(out) {}

  void run() {
    account();
    if (!keys_.empty())
      for (const std::string& root : model_.config_roots) {
        const Json* object = &config_;
        if (!root.empty()) object = at(root);
        if (object && object->is_object()) walk(*object, root, "");
      }
    contradictions();
    held_keys();
    for (const spec::ModelEntry& entry : model_.entries)
      if (entry.stack) lists(*entry.stack);
    if (keys_.empty() && out_.checks == 0) {
      out_.ran = false;
      out_.not_run = "the specs have no table of config keys";
    }
  }

 private:
  const Json* at(const std::string& path) const { return spec::value_at(config_, path); }

  void fail(const base::Span& where, std::string wrong, std::string expected, std::string fix = {}) {
    out_.faults.push_back({where, std::move(wrong), std::move(expected), std::move(fix), "schedule"});
  }
  void advise(const base::Span& where, std::string wrong, std::string expected, std::string fix = {}) {
    out_.advice.push_back({where, std::move(wrong), std::move(expected), std::move(fix), "schedule"});
  }

  // What the spec says of config keys.
  void account() {
    std::map<std::string, std::string> reads;
    for (spec::ConfigRead& read : spec::config_reads(model_))
      reads.emplace(std::move(read.key), std::move(read.reader));
    for (const auto& [key, reader] : reads) {
      accounted_.insert(key);
      if (reader != "match") read_.push_back(key);
      // An entry of a list stands for the list.
      if (const size_t dot = key.rfind('.');
          dot != key.npos && key.find_first_not_of("0123456789", dot + 1) == key.npos)
        accounted_.insert(key.substr(0, dot));
      readable_.push_back(key);
    }
    for (const spec::NamedFormula& held : model_.holds) accounted_.insert(held.name);
    for (const spec::DimDecl& dim : model_.dims)
      if (const auto info = library_.dims().find(dim.name); info != library_.dims().end())
        for (const std::string& key : info->second.config_keys) accounted_.insert(key);
    for (const spec::IgnoredKey& ignored : model_.ignores) {
      ++out_.checks;
      const auto read = reads.find(ignored.key);
      if (read == reads.end()) continue;
      fail(ignored.at, "config key '" + ignored.key + "' is ignored, and " + read->second + " reads it",
           "one of both");
    }
  }

  bool ignored(const std::string& path) const {
    return std::ranges::any_of(model_.ignores, [&](const spec::IgnoredKey& row) {
      return path == row.key || path.starts_with(row.key + ".");
    });
  }
  bool is_root(const std::string& path) const {
    return std::ranges::find(model_.config_roots, path) != model_.config_roots.end();
  }
  // Does the spec account for this key, named from its root or from the top?
  bool accounted(const std::string& from_root, const std::string& from_top) const {
    return accounted_.contains(from_root) || accounted_.contains(from_top) || ignored(from_root) ||
           ignored(from_top);
  }

  void walk(const Json& object, const std::string& root, const std::string& path) {
    for (const auto& [key, value] : object.items()) {
      const std::string from_root = joined(path, key), from_top = joined(root, from_root);
      if (is_root(from_top)) continue;
      const ConfigKey* row = keys_.find(from_top);
      if (row && spec::outside_the_model(row->key_class)) continue;
      const bool objects = value.is_array() && !value.empty() && value[0].is_object();
      if ((value.is_object() || objects) && (ignored(from_root) || ignored(from_top))) continue;
      if (value.is_object())
        walk(value, root, from_root);
      else if (objects)  // one for each layer, or the like: every different one says its keys
        for (const Json& item : std::set<Json>(value.begin(), value.end())) walk(item, root, from_root);
      else if (!value.is_object() || value.empty())
        leaf(key, from_root, from_top, value, row);
    }
  }

  // A key that stands at several of the roots, with values that differ: the first root's is read.
  void contradictions() {
    for (const std::string& key : read_) {
      const Json* read = nullptr;
      std::string full;
      for (const std::string& root : model_.config_roots) {
        const std::string path = joined(root, key);
        const Json* value = at(path);
        if (!value || value->is_null() || value->is_structured() || ignored(path)) continue;
        if (!read) {
          read = value;
          full = path;
        } else if (*value != *read) {
          ++out_.checks;
          advise(config_place(),
                 "config." + path + " is " + shortened(value->dump()) + ", and config." + full +
                     ", which is read, is " + shortened(read->dump()),
                 "one value");
        }
      }
    }
  }

  bool off(const Json& value, const ConfigKey* row) const {
    if (spec::is_off(value, row)) return true;
    return row && std::ranges::any_of(row->unless, [&](const auto& pair) {
             const Json* other = spec::config_value(model_, config_, pair.first);
             return other && (pair.second == "*" ? !spec::is_off(*other, nullptr)
                                                 : spec::plain_text(*other) == pair.second);
           });
  }

  void leaf(const std::string& key, const std::string& from_root, const std::string& from_top,
            const Json& value, const ConfigKey* row) {
    ++out_.checks;
    if (off(value, row) || accounted(from_root, from_top)) return;
    // The structural guard holds it against each layer; that it has one entry for each is said below.
    if (row && value.is_array() && holds_by_layer(row->fact) && whole_list(key, from_top, value, *row))
      return;
    if (row && !spec::decides_numbers(row->key_class)) return;
    // Of a config with no end of keys that nothing knows, the first say enough.
    if (!row && ++unknown_ > kMostUnknown) {
      if (unknown_ == kMostUnknown + 1)
        fail(config_place(),
             "config has more than " + std::to_string(kMostUnknown) + " keys that nothing knows",
             "a model's config");
      return;
    }
    const bool blocks = row || keys_.telling(key);
    const std::string what = "config." + from_top + " is " + shortened(value.dump());
    const std::string near = base::nearest(from_root, readable_);
    const std::string fix = near.empty() ? "" : "it reads '" + near + "'; ";
    if (row)
      fail(config_place(),
           what + " (" + row->meaning + "), and model '" + model_.name + "' reads no such key",
           "a dim, a layer rule or a stream that reads it",
           fix + "where it changes nothing, ignores: { " + from_root + ": WHY }");
    else if (blocks)
      fail(config_place(), what + ", a key that nothing knows and whose name tells of a size or a schedule",
           "a reader in model '" + model_.name + "', or a row of specs/config_keys.yaml",
           fix + "where it changes nothing, ignores: { " + from_root + ": WHY }");
    else
      advise(config_place(), what + ", a key that nothing knows", "a row of specs/config_keys.yaml");
  }

  // Has a list that no rule reads one known word for each layer that configs count? A list of indices has none.
  bool whole_list(const std::string& key, const std::string& full, const Json& list, const ConfigKey& row) {
    if (row.values.empty()) return true;
    if (const std::optional<int64_t> entries = entries_of(key))
      if (static_cast<int64_t>(list.size()) != *entries) {
        fail(config_place(), "config." + full + " has " + std::to_string(list.size()) + " entries",
             std::to_string(*entries) + ", one for each layer",
             "where the list speaks of more layers, lists: { " + key + ": FORMULA }");
        return true;
      }
    return std::ranges::all_of(list, [&](const Json& item) {
      return std::ranges::find(row.values, spec::plain_text(item),
                               &std::pair<std::string, std::string>::first) != row.values.end();
    });
  }

  // How many entries a per-layer list has: as `lists` declares, else the layers that configs count.
  std::optional<int64_t> entries_of(const std::string& key) const {
    if (const auto declared = std::ranges::find(model_.lists, key, &spec::NamedFormula::name);
        declared != model_.lists.end()) {
      const std::optional<expr::Rational> length = value_of(declared->formula, binding_);
      if (length && length->is_integer()) return static_cast<int64_t>(length->num);
    }
    for (const spec::BoundDim& dim : binding_.dims)
      if (const auto info = library_.dims().find(dim.name);
          info != library_.dims().end() && info->second.kind == "layer_count" &&
          !info->second.config_keys.empty() && dim.value.is_integer())
        return static_cast<int64_t>(dim.value.num);
    return std::nullopt;
  }

  void held_keys() {
    for (const spec::NamedFormula& held : model_.holds) {
      std::string full;
      const Json* found = spec::config_value(model_, config_, held.name, &full);
      if (!found) continue;
      ++out_.checks;
      const std::optional<expr::Rational> wanted = value_of(held.formula, binding_);
      if (!wanted) {
        fail(held.at,
             "'" + held.formula.text() + "', which config key '" + held.name + "' must be, has no value",
             "dims of the model");
        continue;
      }
      const std::string text = expr::to_string(*wanted);
      if (spec::plain_text(*found) == text || (*found == true && text == "1") ||
          (*found == false && text == "0"))
        continue;
      fail(held.at, "config." + full + " is " + shortened(found->dump()),
           text + ", which is " + held.formula.text());
    }
  }

  // ---- per-layer lists

  void lists(const spec::StackDecl& stack) {
    const std::optional<expr::Rational> repeat = value_of(stack.repeat, binding_);
    if (!repeat || !repeat->is_integer() || repeat->num < 0 || repeat->num > 100'000) return;
    const int64_t layers = static_cast<int64_t>(repeat->num);
    std::map<std::string, std::vector<const LayerRule*>> per_layer;
    std::vector<const LayerRule*> listed;
    for (const LayerRule& rule : stack.layers) {
      if (rule.kind == LayerRule::Kind::kConfigEquals) per_layer[present_key(rule)].push_back(&rule);
      if (rule.kind == LayerRule::Kind::kListed) listed.push_back(&rule);
    }
    if (layers == 0) return;
    for (const auto& [key, rules] : per_layer) covered(stack, layers, key, rules);
    words(stack, layers, stack.per_layer, per_layer);
    for (const LayerRule& rule : stack.layers) words(stack, layers, rule.per_layer, per_layer);
    indices(stack, layers, listed);
  }

  // Of the keys that a rule names, the first that the config has.
  std::string present_key(const LayerRule& rule) const {
    for (const std::string& key : rule.config_keys)
      if (spec::config_value(model_, config_, key)) return key;
    return rule.config_keys.empty() ? std::string() : rule.config_keys[0];
  }

  // Lists that dims with a value per layer read: as long as the stack, and every text in one of them is asked for.
  void words(const spec::StackDecl& stack, int64_t layers, const std::vector<spec::DimDecl>& dims,
             const std::map<std::string, std::vector<const LayerRule*>>& by_rules) {
    std::map<std::string, std::set<std::string>> asked;
    std::map<std::string, base::Span> where;
    for (const spec::DimDecl& dim : dims)
      for (const std::string& key : dim.config_keys) {
        where.emplace(key, dim.at);
        asked[key];
        if (!dim.is.empty()) asked[key].insert(dim.is);
      }
    for (const auto& [key, texts] : asked) {
      std::string full;
      const Json* list = spec::config_value(model_, config_, key, &full);
      if (!list || !list->is_array() || by_rules.contains(key)) continue;
      length(stack, layers, key, full, list->size(), where.at(key));
      for (size_t i = 0; i < list->size() && static_cast<int64_t>(i) < layers && !texts.empty(); ++i) {
        const std::string value = spec::plain_text((*list)[i]);
        ++out_.checks;
        if (texts.contains(value)) continue;
        fail(where.at(key),
             "config." + full + " says '" + shortened(value) + "' of layer " + std::to_string(i) +
                 ", which no dim of stack '" + stack.name + "' asks for",
             "a dim for each of its values", "{config: " + key + ", is: " + shortened(value) + "}");
        break;
      }
    }
  }

  void length(const spec::StackDecl& stack, int64_t layers, const std::string& key, const std::string& full,
              size_t found, const base::Span& where) {
    int64_t entries = layers;
    std::string why = "one for each layer of stack '" + stack.name + "'";
    if (const auto declared = std::ranges::find(model_.lists, key, &spec::NamedFormula::name);
        declared != model_.lists.end())
      if (const std::optional<expr::Rational> declared_length = value_of(declared->formula, binding_);
          declared_length && declared_length->is_integer()) {
        entries = static_cast<int64_t>(declared_length->num);
        why = declared->formula.text();
      }
    ++out_.checks;
    if (static_cast<int64_t>(found) != entries)
      fail(where, "config." + full + " has " + std::to_string(found) + " entries",
           std::to_string(entries) + ", " + why,
           "where the list speaks of more layers, lists: { " + key + ": FORMULA }");
  }

  void covered(const spec::StackDecl& stack, int64_t layers, const std::string& key,
               const std::vector<const LayerRule*>& rules) {
    std::string full;
    const Json* list = spec::config_value(model_, config_, key, &full);
    // Anything else is said where the tree is built.
    if (!list || (!list->is_array() && !list->is_string())) return;
    std::vector<std::string> stated;  // a text has a character per layer
    if (list->is_string())
      for (const char c : list->get_ref<const std::string&>()) stated.emplace_back(1, c);
    else
      for (const Json& item : *list) stated.push_back(spec::plain_text(item));
    length(stack, layers, key, full, stated.size(), rules[0]->at);
    std::set<std::string> values;
    for (size_t i = 0; i < stated.size() && static_cast<int64_t>(i) < layers; ++i) {
      const std::string& value = stated[i];
      if (!values.insert(value).second) continue;
      ++out_.checks;
      if (std::ranges::any_of(rules, [&](const LayerRule* rule) {
            return std::ranges::find(rule->equals, value) != rule->equals.end();
          }))
        continue;
      fail(rules[0]->at,
           "config." + full + " says '" + shortened(value) + "' of layer " + std::to_string(i) +
               ", which no rule of stack '" + stack.name + "' names",
           "a rule for each of its values", "{config: " + key + ", equals: " + shortened(value) + ", ...}");
    }
    for (const LayerRule* rule : rules)
      if (std::ranges::none_of(rule->equals, [&](const std::string& each) { return values.contains(each); }))
        advise(rule->at, "no layer is '" + rule->equals[0] + "' in config." + full,
               "an entry that the rule is for, in some config");
  }

  void indices(const spec::StackDecl& stack, int64_t layers, const std::vector<const LayerRule*>& rules) {
    std::map<int64_t, std::string> taken;
    std::set<std::string> seen;  // several rules may take layers of one list
    for (const LayerRule* rule : rules) {
      std::string full;
      const Json* list = spec::config_value(model_, config_, present_key(*rule), &full);
      if (!list || !list->is_array() || !seen.insert(full).second) continue;
      for (const Json& item : *list) {
        if (!item.is_number_integer()) continue;  // said where the tree is built
        ++out_.checks;
        const int64_t layer = item.get<int64_t>() - rule->first;
        if (layer < 0 || layer >= layers) {
          fail(rule->at, "config." + full + " lists layer " + item.dump(),
               "layers " + std::to_string(rule->first) + " to " + std::to_string(rule->first + layers - 1) +
                   " of stack '" + stack.name + "'");
        } else if (const auto [other, fresh] = taken.emplace(layer, full); !fresh) {
          fail(rule->at,
               "config." + full + " lists layer " + std::to_string(layer) +
                   (other->second == full ? " twice" : ", which config." + other->second + " lists too"),
               "each layer once");
        }
      }
    }
  }

  static constexpr int kMostUnknown = 200;

  const spec::Library& library_;
  const spec::Binding& binding_;
  const spec::Model& model_;
  const Json& config_;
  const spec::ConfigKeys& keys_;
  Findings& out_;
  std::set<std::string> accounted_;
  std::vector<std::string> read_;  // keys that decide something, without those that only pick the spec
  std::vector<std::string> readable_;
  int unknown_ = 0;
};

}  // namespace

void check_schedule(const Subject& subject, Findings& out) {
  Schedule(subject, out).run();
}

}  // namespace archlight::guard
