// prove.h: is a comparison of two expressions true for all values of their symbols?
#pragma once

#include "expr/expr.h"

namespace archlight::guard::internal {

// True only where it is proven; false says nothing. For all values of the symbols within their bounds.
bool proven_equal(expr::Expr a, expr::Expr b);
// a <= b, or a < b. A min or max equals one of its operands, so that each may be tried in its place; where the
// difference falls in a min or rises in a max, one of them is enough. A quotient's floor or
// ceiling lies within (b-1)/b of it.
bool proven_at_most(expr::Expr a, expr::Expr b, bool strictly);
// Does the value not depend on the symbol?
bool proven_constant(expr::Expr a, std::string_view symbol);

}  // namespace archlight::guard::internal
