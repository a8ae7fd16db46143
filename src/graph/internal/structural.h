// structural.h: the exact value of formulas that decide a tree's form: conditions, counts, copies.
//
// Such a formula must come to a number on the bound dims whatever the binding of the walk; batch and context have no
// value here. A name of a scope is computed once, since nested calls may mention it again and again. Errors: at the
// formula, naming what has none.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "expr/expr.h"
#include "graph/tree.h"

namespace archlight::graph::internal {

// What a layer rule's condition may name beside the model's dims: `layer`, and dims with a value per layer.
struct LayerNames {
  int64_t layer = 0;
  std::span<const spec::BoundDim> dims = {};
};

class Structural {
 public:
  // All outlive it; scopes and derived counts may grow.
  Structural(const spec::Binding& binding, const std::vector<Scope>& scopes,
             const std::vector<Derived>& derived)
      : binding_(binding), scopes_(scopes), derived_(derived) {}

  const spec::Binding& binding() const { return binding_; }
  std::optional<expr::Rational> number(const expr::Formula& formula, int scope,
                                       std::optional<LayerNames> layer, base::Faults& faults) const;
  // The same as an expression: a constant, or an error that says why there is none.
  expr::Expr value(const expr::Formula& formula, int scope, std::optional<LayerNames> layer) const;

 private:
  std::optional<expr::Expr> lookup(std::string_view name, int scope) const;

  const spec::Binding& binding_;
  const std::vector<Scope>& scopes_;
  const std::vector<Derived>& derived_;
  mutable expr::ExprPool pool_;
  mutable std::vector<std::vector<std::pair<std::string_view, expr::Expr>>> known_;  // by scope
};

}  // namespace archlight::graph::internal
