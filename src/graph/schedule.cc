#include "graph/internal/schedule.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/yaml.h"

namespace archlight::graph::internal {

namespace {

// The rule that each layer follows. `dims` holds the stack's per-layer dims, by layer.
std::vector<int> rules_of_layers(const spec::StackDecl& stack, int64_t repeat,
                                 const std::vector<std::vector<spec::BoundDim>>& dims,
                                 const Structural& structural, base::Faults& faults) {
  const auto fail = [&](const base::Span& at, std::string wrong, std::string expected, std::string fix = {}) {
    faults.push_back(base::fault_at(at, std::move(wrong), std::move(expected), std::move(fix)));
    faults.back().guard = "schedule";
  };
  const spec::Binding& binding = structural.binding();
  std::vector<int> rule_of(static_cast<size_t>(repeat), stack.layers.empty() ? 0 : -1);
  int64_t counted = 0;
  const size_t before = faults.size();
  for (size_t r = 0; r < stack.layers.size(); ++r) {
    const spec::LayerRule& rule = stack.layers[r];
    const auto claim = [&](int64_t layer) {
      if (layer < 0 || layer >= repeat || rule_of[static_cast<size_t>(layer)] >= 0) return;
      if (!rule.also.empty()) {
        const std::optional<expr::Rational> holds_too =
            structural.number(rule.also, -1, LayerNames{layer, dims[static_cast<size_t>(layer)]}, faults);
        if (!holds_too || holds_too->num == 0) return;
      }
      rule_of[static_cast<size_t>(layer)] = static_cast<int>(r);
    };
    switch (rule.kind) {
      case spec::LayerRule::Kind::kCount: {
        const std::optional<expr::Rational> count = structural.number(rule.formula, -1, std::nullopt, faults);
        if (!count || !count->is_integer() || count->num < 0) {
          if (count)
            fail(rule.at, "a layer rule counts " + expr::to_string(*count), "a whole number of layers");
          break;
        }
        for (int64_t i = 0; i < static_cast<int64_t>(count->num) && counted < repeat; ++i) claim(counted++);
        break;
      }
      case spec::LayerRule::Kind::kWhere:
        for (int64_t layer = 0; layer < repeat; ++layer) {
          const std::optional<expr::Rational> holds_here = structural.number(
              rule.formula, -1, LayerNames{layer, dims[static_cast<size_t>(layer)]}, faults);
          if (!holds_here) break;
          if (holds_here->num != 0) claim(layer);
        }
        break;
      case spec::LayerRule::Kind::kConfigEquals:
      case spec::LayerRule::Kind::kListed: {
        std::string full;
        const base::Json* list = nullptr;
        for (size_t k = 0; k < rule.config_keys.size() && !list; ++k)
          list = spec::config_value(*binding.model, *binding.config, rule.config_keys[k], &full);
        const bool per_layer = rule.kind == spec::LayerRule::Kind::kConfigEquals;
        // An absent list of special layers lists none, and so does an absent one that the rule calls optional.
        if (!list && (!per_layer || rule.optional)) break;
        // A rule that earlier ones leave nothing to asks for no list.
        if (per_layer && std::ranges::find(rule_of, -1) == rule_of.end()) break;
        const bool text = per_layer && list && list->is_string();  // one character per layer
        if (!list || (!list->is_array() && !text)) {
          fail(rule.at, "config.json has no list '" + rule.config_keys[0] + "'",
               "a list with one entry per layer");
          break;
        }
        const size_t entries = text ? list->get_ref<const std::string&>().size() : list->size();
        if (per_layer && static_cast<int64_t>(entries) < repeat) {
          fail(rule.at,
               "config." + full + " has " + std::to_string(entries) + " entries for " +
                   std::to_string(repeat) + " layers",
               "one entry per layer");
          break;
        }
        if (text) {
          for (int64_t layer = 0; layer < repeat; ++layer)
            if (std::ranges::find(
                    rule.equals,
                    std::string(1, list->get_ref<const std::string&>()[static_cast<size_t>(layer)])) !=
                rule.equals.end())
              claim(layer);
          break;
        }
        for (size_t i = 0; i < list->size(); ++i) {
          const base::Json& item = (*list)[i];
          if (per_layer) {
            if (std::ranges::find(rule.equals, item.is_string() ? item.get<std::string>() : item.dump()) !=
                rule.equals.end())
              claim(static_cast<int64_t>(i));
          } else if (item.is_number_integer()) {
            claim(item.get<int64_t>() - rule.first);
          } else {
            fail(rule.at, "config." + full + " lists " + item.dump().substr(0, 40), "indices of layers");
            break;
          }
        }
        break;
      }
      case spec::LayerRule::Kind::kRest:
        for (int64_t layer = 0; layer < repeat; ++layer) claim(layer);
        break;
    }
  }
  for (int64_t layer = 0; layer < repeat && faults.size() == before; ++layer)
    if (rule_of[static_cast<size_t>(layer)] < 0) {
      fail(stack.at, "no rule of stack '" + stack.name + "' fits layer " + std::to_string(layer),
           "a rule for every layer", "end the list with {rest: true, ...}");
      break;
    }
  // Rules with equal fills make one kind of layer.
  for (int& rule : rule_of)
    for (int earlier = 0; earlier < rule; ++earlier) {
      const spec::LayerRule &a = stack.layers[static_cast<size_t>(earlier)],
                            &b = stack.layers[static_cast<size_t>(rule)];
      if (a.fills == b.fills && a.dims.empty() && b.dims.empty() && a.per_layer.empty() &&
          b.per_layer.empty()) {
        rule = earlier;
        break;
      }
    }
  return rule_of;
}

expr::Formula named(const std::string& name, const base::Span& at) {
  base::Result<expr::Formula> formula = expr::Formula::parse(name, at);
  return formula ? std::move(*formula) : expr::Formula();
}

bool is_taken(const std::string& name, const spec::Binding& binding, const std::vector<Derived>& derived) {
  return binding.find(name) || std::ranges::find(derived, name, &Derived::name) != derived.end();
}

// What a label or stack name gives a symbol.
std::string symbol_text(std::string text) {
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return text;
}

// Per-layer dims whose value is a symbol of its own; the others stay formulas over these.
bool is_symbol(const spec::DimDecl& dim) {
  if (!dim.config_keys.empty()) return true;
  return std::ranges::any_of(dim.formula.names(), [](const std::string& name) {
    return name == "layer" || name.starts_with("config.");
  });
}

std::vector<const spec::DimDecl*> decls_of(const spec::StackDecl& stack, int rule) {
  std::vector<const spec::DimDecl*> out;
  for (const spec::DimDecl& dim : stack.per_layer) out.push_back(&dim);
  if (!stack.layers.empty())
    for (const spec::DimDecl& dim : stack.layers[static_cast<size_t>(rule)].per_layer) out.push_back(&dim);
  return out;
}

// What tells the kinds of one rule apart: up to two dims by name and value, else their number.
void label_kinds(const spec::StackDecl& stack, Kinds& kinds) {
  std::set<std::string> taken;
  for (Kind& kind : kinds.kinds) {
    const spec::LayerRule* own =
        stack.layers.empty() ? nullptr : &stack.layers[static_cast<size_t>(kind.rule)];
    std::string plain;
    // A config's word for a kind of layer, where it is one and no number.
    if (own && own->kind == spec::LayerRule::Kind::kConfigEquals &&
        !std::isdigit(static_cast<unsigned char>(own->equals[0].c_str()[0])))
      plain = own->equals[0];
    else if (own && !own->fills.empty())
      plain = own->fills[0].second;
    std::vector<std::string> differ;
    for (size_t i = 0; i < kind.dims.size(); ++i)
      for (const Kind& other : kinds.kinds) {
        if (other.rule != kind.rule || other.dims[i].value == kind.dims[i].value) continue;
        kind.whole_rule = false;
        if (is_symbol(*decls_of(stack, kind.rule)[i]))
          differ.push_back(kind.dims[i].name + "_" + symbol_text(expr::to_string(kind.dims[i].value)));
        break;
      }
    if (!kind.whole_rule && differ.size() <= 2)
      for (const std::string& name : differ) plain += (plain.empty() ? "" : "_") + name;
    else if (!kind.whole_rule)
      plain += plain.empty() ? "kind_1" : "_1";
    const std::string stem =
        kind.whole_rule || differ.size() <= 2 ? plain : plain.substr(0, plain.size() - 2);
    kind.label = plain;
    for (int n = 2; !taken.insert(kind.label).second; ++n) kind.label = stem + "_" + std::to_string(n);
  }
}

}  // namespace

Kinds kinds_of_layers(const spec::StackDecl& stack, int64_t repeat, const Structural& structural,
                      base::Faults& faults) {
  const spec::Binding& binding = structural.binding();
  std::vector<std::vector<spec::BoundDim>> dims(static_cast<size_t>(repeat));
  for (int64_t layer = 0; layer < repeat && !stack.per_layer.empty(); ++layer) {
    std::optional<std::vector<spec::BoundDim>> bound =
        spec::bind_layer(binding, stack.per_layer, {}, layer, repeat, faults);
    if (!bound) return {};
    dims[static_cast<size_t>(layer)] = std::move(*bound);
  }
  const std::vector<int> rule_of = rules_of_layers(stack, repeat, dims, structural, faults);
  if (!faults.empty()) return {};
  Kinds out;
  for (int64_t layer = 0; layer < repeat; ++layer) {
    const int rule = rule_of[static_cast<size_t>(layer)];
    std::vector<spec::BoundDim>& own = dims[static_cast<size_t>(layer)];
    if (!stack.layers.empty() && !stack.layers[static_cast<size_t>(rule)].per_layer.empty()) {
      std::optional<std::vector<spec::BoundDim>> more = spec::bind_layer(
          binding, stack.layers[static_cast<size_t>(rule)].per_layer, own, layer, repeat, faults);
      if (!more) return {};
      std::ranges::move(*more, std::back_inserter(own));
    }
    const auto same = [&](const Kind& kind) {
      return kind.rule == rule &&
             std::ranges::equal(kind.dims, own, [](const spec::BoundDim& a, const spec::BoundDim& b) {
               return a.value == b.value;
             });
    };
    auto kind = std::ranges::find_if(out.kinds, same);
    if (kind == out.kinds.end()) {
      Kind made;
      made.rule = rule;
      made.dims = std::move(own);
      out.kinds.push_back(std::move(made));
      kind = out.kinds.end() - 1;
    }
    out.of_layer.push_back(static_cast<int>(kind - out.kinds.begin()));
  }
  label_kinds(stack, out);
  return out;
}

std::vector<LayerScopes> scopes_of_kinds(const spec::StackDecl& stack, const Kinds& kinds,
                                         const spec::Binding& binding, std::vector<Derived>& derived) {
  // Each declaration's distinct values, with the layers that have them.
  struct Value {
    spec::BoundDim dim;
    std::vector<int64_t> layers;
    std::string symbol;
  };
  std::map<const spec::DimDecl*, std::vector<Value>> values;
  for (size_t layer = 0; layer < kinds.of_layer.size(); ++layer) {
    const Kind& kind = kinds.kinds[static_cast<size_t>(kinds.of_layer[layer])];
    const std::vector<const spec::DimDecl*> decls = decls_of(stack, kind.rule);
    for (size_t i = 0; i < decls.size(); ++i) {
      if (!is_symbol(*decls[i])) continue;
      std::vector<Value>& known = values[decls[i]];
      auto value =
          std::ranges::find_if(known, [&](const Value& v) { return v.dim.value == kind.dims[i].value; });
      if (value == known.end()) {
        known.push_back({kind.dims[i], {}, {}});
        value = known.end() - 1;
      }
      value->layers.push_back(static_cast<int64_t>(layer));
    }
  }
  std::vector<LayerScopes> out;
  for (const Kind& kind : kinds.kinds) {
    const std::vector<const spec::DimDecl*> decls = decls_of(stack, kind.rule);
    LayerScopes scopes;
    std::vector<spec::NamedFormula> symbols;
    for (size_t i = 0; i < decls.size(); ++i) {
      if (!is_symbol(*decls[i])) continue;
      std::vector<Value>& known = values[decls[i]];
      Value& value =
          *std::ranges::find_if(known, [&](const Value& v) { return v.dim.value == kind.dims[i].value; });
      if (value.symbol.empty()) {
        std::string symbol = decls[i]->name;
        if (known.size() > 1) symbol += "_" + std::to_string(&value - known.data() + 1);
        const std::string stem =
            is_taken(symbol, binding, derived) ? decls[i]->name + "_" + symbol_text(stack.name) : symbol;
        for (int n = 1; is_taken(symbol, binding, derived); ++n)
          symbol = n == 1 && known.size() == 1 ? stem : stem + "_" + std::to_string(n);
        value.symbol = symbol;
        const std::string origin = value.dim.origin.substr(0, value.dim.origin.find('['));
        derived.push_back({symbol, value.dim.value,
                           (decls[i]->config_keys.empty() ? value.dim.origin : origin) + ", layers " +
                               layers_text(value.layers) + " of stack '" + stack.name + "'"});
      }
      symbols.push_back({decls[i]->name, named(value.symbol, decls[i]->at), decls[i]->at});
    }
    if (!symbols.empty()) scopes.names.push_back(std::move(symbols));
    for (const spec::DimDecl* decl : decls)
      if (!is_symbol(*decl)) scopes.names.push_back({{decl->name, decl->formula, decl->at}});
    out.push_back(std::move(scopes));
  }
  return out;
}

expr::Formula count_of_rule(const spec::StackDecl& stack, int rule, int64_t size, const std::string& label,
                            const Structural& structural, std::vector<Derived>& derived_counts) {
  const auto agrees = [&](const expr::Formula& formula) {
    return !formula.empty() &&
           structural.value(formula, -1, std::nullopt).integer() == std::optional<base::Int128>(size);
  };
  if (stack.layers.empty()) return stack.repeat;
  const spec::LayerRule& own = stack.layers[static_cast<size_t>(rule)];
  if (own.kind == spec::LayerRule::Kind::kCount && agrees(own.formula)) return own.formula;
  if (own.kind == spec::LayerRule::Kind::kRest) {
    std::string text = stack.repeat.text();
    for (const spec::LayerRule& other : stack.layers)
      if (other.kind == spec::LayerRule::Kind::kCount) text += " - (" + other.formula.text() + ")";
    const expr::Formula formula = named(text, stack.at);
    if (agrees(formula)) return formula;
  }
  std::string list;  // where the config has it
  for (size_t k = 0; k < own.config_keys.size() && list.empty(); ++k)
    spec::config_value(*structural.binding().model, *structural.binding().config, own.config_keys[k], &list);
  return count_of_layers(
      stack, size, label,
      !list.empty() && own.kind == spec::LayerRule::Kind::kConfigEquals
          ? "config." + list + ", its entries '" + own.equals[0] + "'"
      // Rules of one fill are one kind: without the list, a later one has chosen these.
      : own.kind == spec::LayerRule::Kind::kConfigEquals
          ? "layers of stack '" + stack.name + "' that its rules give what rule " + std::to_string(rule + 1) +
                " does"
          : "layers of stack '" + stack.name + "' that follow its rule " + std::to_string(rule + 1),
      derived_counts);
}

expr::Formula count_of_layers(const spec::StackDecl& stack, int64_t size, const std::string& label,
                              const std::string& origin, std::vector<Derived>& derived) {
  std::string name = symbol_text("n_" + stack.name + "_" + label);
  const std::string stem = name;
  for (int n = 2; std::ranges::find(derived, name, &Derived::name) != derived.end(); ++n)
    name = stem + "_" + std::to_string(n);
  derived.push_back({name, {size, 1}, origin});
  return named(name, stack.at);
}

}  // namespace archlight::graph::internal
