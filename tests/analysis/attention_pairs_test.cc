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

// Entry e stands for tokens e*ratio .. e*ratio + ratio-1 and is there once the last of them is; a query works on at
// most `most` of those that are there.
int64_t counted_entries(int s, int t, int ratio, std::optional<int> most) {
  int64_t pairs = 0;
  for (int query = t - s; query < t; ++query) {
    int seen = 0;
    for (int entry = 0; entry * ratio + ratio - 1 <= query; ++entry) ++seen;
    pairs += most ? std::min(seen, *most) : seen;
  }
  return pairs;
}

TEST(EntryPairs, NumbersMatchCounting) {
  ExprPool pool;
  for (int t = 1; t <= 20; ++t)
    for (int s = 1; s <= t; ++s)
      for (int ratio = 1; ratio <= 7; ++ratio)
        for (int most = 0; most <= 6; ++most) {  // 0: all
          const std::optional<int> cap = most ? std::optional(most) : std::nullopt;
          const std::optional<Expr> chosen = most ? std::optional(pool.constant(most)) : std::nullopt;
          EXPECT_EQ(
              entry_pairs(pool, pool.constant(s), pool.constant(t), pool.constant(ratio), chosen).integer(),
              std::optional<base::Int128>(counted_entries(s, t, ratio, cap)))
              << s << " of " << t << ", one in " << ratio << ", at most " << most;
        }
}

TEST(EntryPairs, FormulasMatchCounting) {
  ExprPool pool;
  const Expr s = pool.symbol("s"), t = pool.symbol("t"), r = pool.symbol("r"), m = pool.symbol("m");
  const Expr later = entry_pairs(pool, s, t, r, m), whole = entry_pairs(pool, t, t, r, m),
             one = entry_pairs(pool, pool.constant(1), t, r, m),
             all = entry_pairs(pool, s, t, r, std::nullopt);
  for (int tv = 1; tv <= 11; ++tv)
    for (int sv = 1; sv <= tv; ++sv)
      for (int rv = 1; rv <= 5; ++rv)
        for (int mv = 1; mv <= 4; ++mv) {
          const auto value_of = [&](std::string_view name) -> std::optional<Rational> {
            return Rational{name == "s" ? sv : name == "t" ? tv : name == "r" ? rv : mv, 1};
          };
          for (const Expr& formula : {later, expr::simplify(later)})
            EXPECT_EQ(*expr::evaluate(formula, value_of), (Rational{counted_entries(sv, tv, rv, mv), 1}))
                << sv << " " << tv << " " << rv << " " << mv;
          EXPECT_EQ(*expr::evaluate(whole, value_of), (Rational{counted_entries(tv, tv, rv, mv), 1}));
          EXPECT_EQ(*expr::evaluate(one, value_of), (Rational{counted_entries(1, tv, rv, mv), 1}));
          EXPECT_EQ(*expr::evaluate(all, value_of), (Rational{counted_entries(sv, tv, rv, std::nullopt), 1}));
        }
}

// A choice among the tokens themselves counts as a window of the same size does.
TEST(EntryPairs, AChoiceOfTokensCountsAsAWindow) {
  ExprPool pool;
  const Expr s = pool.symbol("s"), t = pool.symbol("t"), m = pool.symbol("m");
  for (int tv = 1; tv <= 9; ++tv)
    for (int sv = 1; sv <= tv; ++sv)
      for (int mv = 1; mv <= 10; ++mv) {
        const auto value_of = [&](std::string_view name) -> std::optional<Rational> {
          return Rational{name == "s" ? sv : name == "t" ? tv : mv, 1};
        };
        EXPECT_EQ(*expr::evaluate(entry_pairs(pool, s, t, pool.constant(1), m), value_of),
                  *expr::evaluate(attention_pairs(pool, s, t, true, m), value_of));
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
