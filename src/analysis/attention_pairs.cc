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

Expr entry_pairs(expr::ExprPool& pool, Expr s, Expr t, Expr ratio, std::optional<Expr> most) {
  if (s == pool.constant(1)) {
    const Expr seen = pool.floor_div(t, ratio);
    return most ? pool.min(seen, *most) : seen;
  }
  const auto all = [&](Expr n) {  // F
    const Expr q = pool.floor_div(n, ratio);
    return ratio * q * (q - 1) / 2 + q * (n - q * ratio + 1);
  };
  const auto up_to = [&](Expr n) {  // G
    if (!most) return all(n);
    const Expr capped = pool.min(n, *most * ratio);
    return all(capped) + *most * (n - capped);
  };
  return s == t ? up_to(t) : up_to(t) - up_to(t - s);
}

}  // namespace archlight::analysis
