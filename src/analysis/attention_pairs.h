// attention_pairs.h: how many scores an attention computes.
//
// Source  Causal attention of Vaswani et al. 2017, section 3.2.3; docs/sources.md. Entries that stand for `ratio`
//         tokens and choices of `most` of them: DeepSeek-V3.2 and V4, `causal_threshold = (position_ids + 1) //
//         compress_rate` and index_topk.
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

// Pairs of causal attention over entries of which each stands for `ratio` tokens and is visible once they are all
// there, the query's own among them, of which at most `most` are chosen: the query at position p (from 1) works on
// min(floor(p/ratio), most) of them.
//
//   F(n) = sum of floor(p/ratio) for p = 1..n. With q = floor(n/ratio): the values 0..q-1 stand `ratio` times each,
//          less once for 0 (p starts at 1), and q stands n - q*ratio + 1 times:
//          F(n) = ratio*q*(q-1)/2 + q*(n - q*ratio + 1)
//   G(n)   the same with at most `most`: floor(p/ratio) reaches `most` at p = c = most*ratio and stays there:
//          G(n) = F(min(n, c)) + most*(n - min(n, c))
//   pairs  of queries t-s+1..t: G(t) - G(t-s); of one query min(floor(t/ratio), most)
//
// Without `most` all visible entries are worked on. A ratio of 1 is a choice among the tokens themselves.
expr::Expr entry_pairs(expr::ExprPool& pool, expr::Expr s, expr::Expr t, expr::Expr ratio,
                       std::optional<expr::Expr> most);

}  // namespace archlight::analysis
