// structural.h: the exact value of formulas that decide a tree's form: conditions, counts, copies.
//
// Such a formula must come to a number on the bound dims whatever the binding of the walk; batch and context have no
// value here. A name of a scope is computed once, since nested calls may mention it again and again. Errors: at the
// formula, naming what has none.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "expr/expr.h"
#include "graph/tree.h"

namespace archlight::graph::internal {

class Structural {
 public:
  // Both outlive it; scopes may grow.
  Structural(const spec::Binding& binding, const std::vector<Scope>& scopes)
      : binding_(binding), scopes_(scopes) {}

  const spec::Binding& binding() const { return binding_; }
  // `layer` is the value of the name `layer` in a layer rule.
  std::optional<expr::Rational> number(const expr::Formula& formula, int scope, std::optional<int64_t> layer,
                                       base::Faults& faults) const;
  // The same as an expression: a constant, or an error that says why there is none.
  expr::Expr value(const expr::Formula& formula, int scope, std::optional<int64_t> layer) const;

 private:
  std::optional<expr::Expr> lookup(std::string_view name, int scope) const;

  const spec::Binding& binding_;
  const std::vector<Scope>& scopes_;
  mutable expr::ExprPool pool_;
  mutable std::vector<std::vector<std::pair<std::string_view, expr::Expr>>> known_;  // by scope
};

}  // namespace archlight::graph::internal
