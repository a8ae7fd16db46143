#include "graph/internal/structural.h"

#include "base/yaml.h"

namespace archlight::graph::internal {

std::optional<expr::Rational> Structural::number(const expr::Formula& formula, int scope,
                                                 std::optional<int64_t> layer, base::Faults& faults) const {
  expr::ExprPool pool;
  const expr::Expr value = instantiate(pool, formula, scope, layer);
  if (std::optional<expr::Rational> constant = value.constant()) return constant;
  std::vector<std::string> names;
  for (const spec::BoundDim& dim : binding_.dims) names.push_back(dim.name);
  std::string fix;
  for (const std::string& name : formula.names())
    if (!binding_.find(name)) fix = base::did_you_mean(name, names);
  faults.push_back(
      base::fault_at(formula.at(),
                     "'" + formula.text() + "' has no value here: " +
                         (value.is_error() ? value.error_text() : "it depends on batch or context"),
                     "dims that model '" + binding_.model->name + "' binds", fix));
  return std::nullopt;
}

expr::Expr Structural::instantiate(expr::ExprPool& pool, const expr::Formula& formula, int scope,
                                   std::optional<int64_t> layer) const {
  return formula.instantiate(pool, [&](std::string_view name) -> std::optional<expr::Expr> {
    if (layer && name == "layer") return pool.constant(*layer);
    for (int at = scope; at >= 0; at = scopes_[at].parent)
      for (const spec::NamedFormula& named : scopes_[at].names)
        if (named.name == name) return instantiate(pool, named.formula, scopes_[at].parent, layer);
    if (const spec::BoundDim* dim = binding_.find(name)) return pool.constant(dim->value);
    return std::nullopt;
  });
}

}  // namespace archlight::graph::internal
