#include "expr/expr.h"

#include <gtest/gtest.h>

#include "expr/formula.h"

namespace archlight::expr {
namespace {

Expr parsed(ExprPool& pool, std::string_view text) {
  auto formula = Formula::parse(text);
  EXPECT_TRUE(formula.ok()) << text << (formula.ok() ? "" : formula.faults()[0].message());
  return formula->instantiate(pool, [&](std::string_view name) { return pool.symbol(name); });
}

// Text as written, and the text of its canonical form.
TEST(Expr, CanonicalTexts) {
  const std::pair<const char*, const char*> rows[] = {
      {"a + a", "2*a"},
      {"b + a", "a + b"},
      {"n_layers - n_dense_layers", "n_layers - n_dense_layers"},
      {"2*batch*s_query*(d_kv_lora + d_qk_rope)", "2*batch*s_query*(d_kv_lora + d_qk_rope)"},
      {"1 + x + x^2", "x^2 + x + 1"},
      {"a/b*b", "a"},
      {"a/(2*b)", "a/(2*b)"},
      {"2*(a+b) - (a+b)", "a + b"},
      {"3 // 2 + 3/2", "5/2"},
      {"not a < b", "b <= a"},
      {"a != b and a < b", "a != b and a < b"},
      {"min(3, a, min(b, a), 2)", "min(a, b, 2)"},
      {"select(1, a, b)", "a"},
      {"x // 1 + x % 1", "x"},
      {"-(a + b)", "-(a + b)"},
      {"x - (a + b)", "x - (a + b)"},
      {"0 < n", "1"},
      {"n <= n - 1", "0"},
  };
  for (const auto& [text, expected] : rows) {
    ExprPool pool;
    const Expr e = parsed(pool, text);
    EXPECT_EQ(to_text(e), expected) << text;
    EXPECT_EQ(parsed(pool, to_text(e)), e) << text;
  }
}

}  // namespace
}  // namespace archlight::expr
