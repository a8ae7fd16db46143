// attention_pairs.h: how many scores an attention computes.
//
// Source  Causal attention of Vaswani et al. 2017, section 3.2.3; docs/sources.md.
#pragma once

#include <optional>

#include "expr/expr.h"

namespace archlight::analysis {

// (query, key) pairs that a mask lets through, for s queries that end at position t of the context.
//   none            s*t
//   none, window    s*min(window, t): blocks of so many tokens, each of which sees its own block
//   causal          query i (1..s) sees t-s+i keys: s*t - s*(s-1)/2; the causal half is not counted
//   causal, window  query i sees min(window, t-s+i): with m = queries whose whole past fits the window,
//                   m*(t-s) + m*(m+1)/2 + (s-m)*window
//   causal, chunk   query i sees its own chunk up to itself: up to position x these are q chunks of c*(c+1)/2 and
//                   r*(r+1)/2 of the last, x = q*c + r; of which those up to t-s are no query's of these
expr::Expr attention_pairs(expr::ExprPool& pool, expr::Expr s, expr::Expr t, bool causal,
                           std::optional<expr::Expr> window, std::optional<expr::Expr> chunk = std::nullopt);

}  // namespace archlight::analysis
