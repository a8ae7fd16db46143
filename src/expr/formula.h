// formula.h: a formula as text, parsed once, instantiated in any pool.
//
// Grammar  or > and > not > comparisons (== != < <= > >=, not chained) > + - > * / // % > unary - > ^ (right),
//          numbers (integers and decimals, read exactly), names (letters, digits, _ and . after a letter),
//          calls ceil_div(a,b) floor_div(a,b) min(a,...) max(a,...) pow(a,b) select(c,a,b), parentheses.
//          // is the floor division, / the exact one, % the remainder with the divisor's sign.
// Bounds   10,000 characters, 200 levels of nesting.
// Errors   At the place inside the text: line of the span given, column of the span plus the offset.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expr/expr.h"

namespace archlight::expr {

// Immutable and shared: parsing happens at load, instantiation once per analysis.
class Formula {
 public:
  Formula() = default;
  static base::Result<Formula> parse(std::string_view text, const base::Span& at = {});

  bool empty() const { return !steps_; }
  const std::string& text() const;
  const base::Span& at() const;
  // Names in order of first mention.
  const std::vector<std::string>& names() const;
  // Each name replaced by what the lookup gives; an unknown name makes an error value that names it.
  Expr instantiate(ExprPool& pool,
                   const std::function<std::optional<Expr>(std::string_view)>& value_of) const;
  // The same with one value per name, in the order of names().
  Expr instantiate(ExprPool& pool, std::span<const Expr> values) const;

 private:
  struct Steps;
  std::shared_ptr<const Steps> steps_;
};

}  // namespace archlight::expr
