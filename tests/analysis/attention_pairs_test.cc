// (query, key) pairs that a mask lets through, against loops that count them one by one.
#include "analysis/attention_pairs.h"

#include <gtest/gtest.h>

#include "analysis/walk.h"

namespace archlight::analysis {
namespace {

using expr::Expr;
using expr::ExprPool;
using expr::Rational;

// Query i of s ends up at position t - s + i of the context, and sees itself and what came before, at most
// `window`.
int64_t counted(int s, int t, bool causal, std::optional<int> window) {
  int64_t pairs = 0;
  for (int query = t - s; query < t; ++query)
    for (int key = 0; key < t; ++key) {
      if (causal && key > query) continue;
      if (causal && window && query - key >= *window) continue;
      ++pairs;
    }
  return pairs;
}

TEST(AttentionPairs, NumbersMatchCounting) {
  ExprPool pool;
  for (int t = 1; t <= 12; ++t)
    for (int s = 1; s <= t; ++s) {
      const auto value = [&](bool causal, std::optional<int> window) {
        const std::optional<Expr> w = window ? std::optional(pool.constant(*window)) : std::nullopt;
        return attention_pairs(pool, pool.constant(s), pool.constant(t), causal, w).integer();
      };
      EXPECT_EQ(value(false, std::nullopt), std::optional<base::Int128>(counted(s, t, false, std::nullopt)));
      EXPECT_EQ(value(true, std::nullopt), std::optional<base::Int128>(counted(s, t, true, std::nullopt)))
          << s << " of " << t;
      for (int window = 1; window <= 14; ++window)
        EXPECT_EQ(value(true, window), std::optional<base::Int128>(counted(s, t, true, window)))
            << s << " of " << t << ", window " << window;
    }
}

// Blocks of w tokens: a query sees its own block, all of it.
TEST(AttentionPairs, Blocks) {
  ExprPool pool;
  for (int w = 1; w <= 6; ++w)
    for (int blocks = 1; blocks <= 4; ++blocks) {
      int64_t pairs = 0;
      for (int query = 0; query < w * blocks; ++query)
        for (int key = 0; key < w * blocks; ++key) pairs += query / w == key / w;
      const Expr s = pool.constant(int64_t{w} * blocks);
      EXPECT_EQ(attention_pairs(pool, s, s, false, pool.constant(w)).integer(),
                std::optional<base::Int128>(pairs));
    }
}

// Query at position p of the context sees the keys of its own chunk up to itself.
TEST(AttentionPairs, ChunksMatchCounting) {
  ExprPool pool;
  const Expr s = pool.symbol("s"), t = pool.symbol("t"), c = pool.symbol("c");
  const Expr formula = attention_pairs(pool, s, t, true, std::nullopt, c);
  for (int tv = 1; tv <= 9; ++tv)
    for (int sv = 1; sv <= tv; ++sv)
      for (int cv = 1; cv <= 11; ++cv) {
        int64_t pairs = 0;
        for (int query = tv - sv; query < tv; ++query)
          for (int key = 0; key <= query; ++key) pairs += key / cv == query / cv;
        const auto value_of = [&](std::string_view name) -> std::optional<Rational> {
          return Rational{name == "s" ? sv : name == "t" ? tv : cv, 1};
        };
        EXPECT_EQ(*expr::evaluate(formula, value_of), (Rational{pairs, 1})) << sv << " " << tv << " " << cv;
        EXPECT_EQ(
            attention_pairs(pool, pool.constant(sv), pool.constant(tv), true, std::nullopt, pool.constant(cv))
                .integer(),
            std::optional<base::Int128>(pairs));
      }
}

TEST(AttentionPairs, FormulasMatchCounting) {
  ExprPool pool;
  const Expr s = pool.symbol("s"), t = pool.symbol("t"), w = pool.symbol("w");
  const Expr causal = attention_pairs(pool, s, t, true, std::nullopt),
             windowed = attention_pairs(pool, s, t, true, w);
  // Simplifying keeps the value, and the same formula serves prefill (s = t) and decode (s = 1).
  for (const Expr& formula : {windowed, expr::simplify(windowed)})
    for (int tv = 1; tv <= 9; ++tv)
      for (int sv = 1; sv <= tv; ++sv)
        for (int wv = 1; wv <= 11; ++wv) {
          const auto value_of = [&](std::string_view name) -> std::optional<Rational> {
            return Rational{name == "s" ? sv : name == "t" ? tv : wv, 1};
          };
          EXPECT_EQ(*expr::evaluate(formula, value_of), (Rational{counted(sv, tv, true, wv), 1}))
              << sv << " " << tv << " " << wv;
          if (wv == 1)
            EXPECT_EQ(*expr::evaluate(causal, value_of), (Rational{counted(sv, tv, true, std::nullopt), 1}));
        }
}

// Half of the square and the diagonal; a decode step sees every key once.
TEST(AttentionPairs, ClosedForms) {
  ExprPool pool;
  const Expr s = pool.symbol("s"), t = pool.symbol("t");
  EXPECT_TRUE(expr::same_value(attention_pairs(pool, s, s, true, std::nullopt), s * (s + 1) / 2));
  EXPECT_TRUE(expr::same_value(attention_pairs(pool, pool.constant(1), t, true, std::nullopt), t));
  EXPECT_TRUE(expr::same_value(attention_pairs(pool, s, t, false, std::nullopt), s * t));
}

}  // namespace
}  // namespace archlight::analysis
