#include <gtest/gtest.h>

#include <set>

#include "expr/expr.h"
#include "expr/formula.h"

namespace archlight::expr {
namespace {

struct Row {
  const char* before;
  const char* after;
  const char* rules;  // as applied, joined by spaces
};

// Symbols are integers >= 1; z.. are any integers, r.. any rationals, u is in [2, 5].
constexpr Row kRows[] = {
    {"a*b//b", "a", "exact"},
    {"ceil_div(a*b, b)", "a", "exact"},
    {"a*b%b", "0", "exact"},
    {"6*n//3", "2*n", "exact"},
    {"r*b//b", "r//1", "common_factor"},
    {"ceil_div(a*b*c, a*c)", "b", "exact"},
    {"(n + b - 1)//b", "ceil_div(n, b)", "round_up"},
    {"(n + 63)//64", "ceil_div(n, 64)", "round_up"},
    {"(n + 127)//64", "ceil_div(n, 64) + 1", "split round_up"},
    {"(r + 63)//64", "(r + 63)//64", ""},
    {"(a*b + c)//b", "a + c//b", "split"},
    {"ceil_div(a*b + c, b)", "a + ceil_div(c, b)", "split"},
    {"(a*b + c)%b", "c%b", "split"},
    {"(n + 9)%4", "(n + 1)%4", "split"},
    {"a*n//(b*n)", "a//b", "common_factor"},
    {"6*n//(4*m)", "3*n//(2*m)", "common_factor"},
    {"ceil_div(n/2, 3)", "ceil_div(n, 6)", "common_factor"},
    {"a//(b/c)", "a*c//b", "common_factor"},
    {"2*n%4", "2*(n%2)", "common_factor"},
    {"z//-3", "-z//3", "common_factor"},
    {"z%-3", "-(-z%3)", "common_factor"},
    {"n//a//b", "n//(a*b)", "nested"},
    {"ceil_div(ceil_div(n, 4), 8)", "ceil_div(n, 32)", "nested"},
    {"z//a//z", "z//a//z", ""},
    {"n%(4*a)%a", "n%a", "nested"},
    {"(u - 2)//4", "0", "split pinned"},
    {"(u - 2)//(n + 3)", "0", "small"},
    {"(u - 2)%(n + 3)", "u - 2", "small"},
    {"ceil_div(u, n + 4)", "1", "small"},
    {"n//(n + 1)", "0", "small"},
    {"n%(n + 1)", "n", "small"},
    {"ceil_div(n, n + 3)", "1", "small"},
    {"(u + 2)//4", "1", "pinned"},
    {"min(n, n + 3)", "n", "ordered"},
    {"max(n, 1)", "n", "ordered"},
    {"max(z, 1)", "max(z, 1)", ""},
    {"min(u, 7, n)", "min(n, u)", "ordered"},
    {"min(a, max(a, b))", "a", "absorbed"},
    {"max(c, a, min(a, b))", "max(a, c)", "absorbed"},
    {"select(n, a, b)", "a", "decided"},
    {"select(z, a, b)", "select(z, a, b)", ""},
    {"select(a != b, c, d)", "select(a == b, d, c)", "negated"},
    {"select(z, select(z, a, b), c)", "select(z, a, c)", "repeated"},
    {"select(z, a, select(z, b, c))", "select(z, a, c)", "repeated"},
    {"select(a < b, a, b)", "min(a, b)", "chosen"},
    {"select(a <= b, b, a)", "max(a, b)", "chosen"},
    {"2*a + c < 2*b + c", "a < b", "cancelled"},
    {"3*a <= 6", "a <= 2", "cancelled"},
    {"a/2 == b/2 + 1", "a == b + 2", "cancelled"},
    {"-z < -1", "1 < z", "cancelled"},
    {"b*(n//b) + n%b", "n", "recomposed"},
    {"2*a*(n//a) + 2*(n%a) + 1", "2*n + 1", "recomposed"},
    {"b*(n + 1) + b*(n - 1)", "2*b*n", "shortened"},
    {"(x + y)^2 - x^2 - y^2", "2*x*y", "shortened"},
    {"2*(a + b) - 2*a", "2*b", ""},
    {"batch*(nope + rope)", "batch*(nope + rope)", ""},
    // Several at once: operands first, in the order of the form.
    {"min(ceil_div(a*b, b), a + 1)*(n*c//c)", "a*n", "exact exact ordered"},
};

Expr parsed(ExprPool& pool, std::string_view text) {
  (void)pool.symbol("u", {Rational{2, 1}, Rational{5, 1}});
  return Formula::parse(text)->instantiate(pool, [&](std::string_view name) {
    if (name[0] == 'r' && name.size() == 1) return pool.symbol(name, {}, false);
    if (name[0] == 'z') return pool.symbol(name, {}, true);
    return pool.symbol(name);
  });
}

TEST(Simplify, Rows) {
  for (const Row& row : kRows) {
    ExprPool pool;
    std::vector<std::string_view> applied;
    const Expr before = parsed(pool, row.before);
    const Expr after = simplify(before, &applied);
    std::string rules;
    for (std::string_view rule : applied) rules += (rules.empty() ? "" : " ") + std::string(rule);
    EXPECT_EQ(to_text(after), row.after) << row.before;
    EXPECT_EQ(rules, row.rules) << row.before;
    EXPECT_EQ(simplify(after), after) << row.before;
    // What a fresh pool makes of the result is the result, so nothing rests on the memo.
    ExprPool fresh;
    const Expr copied = copy_to(after, fresh);
    EXPECT_EQ(simplify(copied), copied) << row.before;
  }
}

TEST(Simplify, EveryRuleHasARow) {
  std::set<std::string_view> used;
  for (const Row& row : kRows) {
    ExprPool pool;
    std::vector<std::string_view> applied;
    (void)simplify(parsed(pool, row.before), &applied);
    used.insert(applied.begin(), applied.end());
  }
  for (const RuleInfo& rule : simplify_rules())
    EXPECT_TRUE(used.count(rule.name)) << rule.name << ": " << rule.identity;
}

}  // namespace
}  // namespace archlight::expr
