#include "graph/internal/schedule.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/yaml.h"

namespace archlight::graph::internal {

std::vector<int> rules_of_layers(const spec::StackDecl& stack, int64_t repeat, const Structural& structural,
                                 base::Faults& faults) {
  const auto fail = [&](const base::Span& at, std::string wrong, std::string expected, std::string fix = {}) {
    faults.push_back(base::fault_at(at, std::move(wrong), std::move(expected), std::move(fix)));
  };
  const spec::Binding& binding = structural.binding();
  std::vector<int> rule_of(static_cast<size_t>(repeat), stack.layers.empty() ? 0 : -1);
  int64_t counted = 0;
  const size_t before = faults.size();
  for (size_t r = 0; r < stack.layers.size(); ++r) {
    const spec::LayerRule& rule = stack.layers[r];
    const auto claim = [&](int64_t layer) {
      if (layer >= 0 && layer < repeat && rule_of[static_cast<size_t>(layer)] < 0)
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
          const std::optional<expr::Rational> holds_here = structural.number(rule.formula, -1, layer, faults);
          if (!holds_here) break;
          if (holds_here->num != 0) claim(layer);
        }
        break;
      case spec::LayerRule::Kind::kConfigEquals:
      case spec::LayerRule::Kind::kListed: {
        std::string full;
        const base::Json* list = spec::config_value(*binding.model, *binding.config, rule.config_key, &full);
        const bool per_layer = rule.kind == spec::LayerRule::Kind::kConfigEquals;
        if (!list && !per_layer) break;  // an absent list of special layers lists none
        if (!list || !list->is_array()) {
          fail(rule.at, "config.json has no list '" + rule.config_key + "'",
               "a list with one entry per layer");
          break;
        }
        if (per_layer && static_cast<int64_t>(list->size()) < repeat) {
          fail(rule.at,
               "config." + full + " has " + std::to_string(list->size()) + " entries for " +
                   std::to_string(repeat) + " layers",
               "one entry per layer");
          break;
        }
        for (size_t i = 0; i < list->size(); ++i) {
          const base::Json& item = (*list)[i];
          if (per_layer) {
            if ((item.is_string() ? item.get<std::string>() : item.dump()) == rule.equals)
              claim(static_cast<int64_t>(i));
          } else if (item.is_number_integer()) {
            claim(item.get<int64_t>());
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
      if (a.fills == b.fills && a.dims.empty() && b.dims.empty()) {
        rule = earlier;
        break;
      }
    }
  return rule_of;
}

expr::Formula count_of_rule(const spec::StackDecl& stack, int rule, int64_t size, const std::string& label,
                            const Structural& structural, std::vector<Derived>& derived_counts) {
  const auto parsed = [&](const std::string& text) {
    base::Result<expr::Formula> formula = expr::Formula::parse(text, stack.at);
    return formula ? std::move(*formula) : expr::Formula();
  };
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
    const expr::Formula formula = parsed(text);
    if (agrees(formula)) return formula;
  }
  Derived derived{"n_" + stack.name + "_" + label, size, {}};
  for (char& c : derived.name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  derived.origin =
      own.kind == spec::LayerRule::Kind::kConfigEquals
          ? "config." + own.config_key + ", its entries '" + own.equals + "'"
          : "layers of stack '" + stack.name + "' that follow its rule " + std::to_string(rule + 1);
  derived_counts.push_back(derived);
  return parsed(derived.name);
}

}  // namespace archlight::graph::internal
