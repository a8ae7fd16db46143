#include "graph/internal/structural.h"

#include "base/yaml.h"

namespace archlight::graph::internal {

std::optional<expr::Rational> Structural::number(const expr::Formula& formula, int scope,
                                                 std::optional<LayerNames> layer,
                                                 base::Faults& faults) const {
  const expr::Expr found = value(formula, scope, layer);
  if (std::optional<expr::Rational> constant = found.constant()) return constant;
  std::vector<std::string> names;
  for (const spec::BoundDim& dim : binding_.dims) names.push_back(dim.name);
  std::string fix;
  for (const std::string& name : formula.names())
    if (!binding_.find(name)) fix = base::did_you_mean(name, names);
  faults.push_back(
      base::fault_at(formula.at(),
                     "'" + formula.text() + "' has no value here: " +
                         (found.is_error() ? found.error_text() : "it depends on batch or context"),
                     "dims that model '" + binding_.model->name + "' binds", fix));
  return std::nullopt;
}

expr::Expr Structural::value(const expr::Formula& formula, int scope, std::optional<LayerNames> layer) const {
  return formula.instantiate(pool_, [&](std::string_view name) -> std::optional<expr::Expr> {
    if (layer) {
      if (name == "layer") return pool_.constant(layer->layer);
      for (size_t i = layer->dims.size(); i-- > 0;)
        if (layer->dims[i].name == name) return pool_.constant(layer->dims[i].value);
    }
    return lookup(name, scope);
  });
}

std::optional<expr::Expr> Structural::lookup(std::string_view name, int scope) const {
  for (int at = scope; at >= 0; at = scopes_[at].parent) {
    if (known_.size() <= static_cast<size_t>(at)) known_.resize(scopes_.size());
    for (const auto& [known, number] : known_[at])
      if (known == name) return number;
    for (const spec::NamedFormula& named : scopes_[at].names)
      if (named.name == name) {
        const expr::Expr number = value(named.formula, scopes_[at].parent, std::nullopt);
        known_[at].emplace_back(named.name, number);
        return number;
      }
  }
  if (const spec::BoundDim* dim = binding_.find(name)) return pool_.constant(dim->value);
  for (const Derived& derived : derived_)
    if (derived.name == name) return pool_.constant(derived.value);
  return std::nullopt;
}

}  // namespace archlight::graph::internal
