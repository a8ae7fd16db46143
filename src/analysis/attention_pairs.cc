#include "analysis/attention_pairs.h"

namespace archlight::analysis {

using expr::Expr;

Expr attention_pairs(expr::ExprPool& pool, Expr s, Expr t, bool causal, std::optional<Expr> window,
                     std::optional<Expr> chunk) {
  if (!causal) return window ? s * pool.min(t, *window) : s * t;
  if (chunk) {
    const auto up_to = [&](Expr x) {
      const Expr whole = pool.floor_div(x, *chunk), rest = x - whole * *chunk;
      return whole * (*chunk * (*chunk + 1) / 2) + rest * (rest + 1) / 2;
    };
    return s == t ? up_to(t) : up_to(t) - up_to(t - s);
  }
  if (!window) return s == t ? s * (s + 1) / 2 : s * t - s * (s - 1) / 2;
  const Expr earlier = t - s;
  const Expr whole = pool.max(pool.constant(0), pool.min(s, *window - earlier));
  return whole * earlier + whole * (whole + 1) / 2 + (s - whole) * *window;
}

}  // namespace archlight::analysis
