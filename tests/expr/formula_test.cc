#include "expr/formula.h"

#include <gtest/gtest.h>

namespace archlight::expr {
namespace {

std::string message_of(std::string_view text) {
  const auto source = std::make_shared<base::SourceText>(base::SourceText{"ops.yaml", ""});
  const auto formula = Formula::parse(text, {source, 14, 9, 0});
  return formula ? "parsed" : formula.faults()[0].message();
}

// The formula starts at column 9 of line 14.
TEST(Formula, FaultsSayWhereWhatAndHow) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "ops.yaml:14:9: an empty formula; expected a number, a name or '('"},
      {"  ", "ops.yaml:14:9: an empty formula; expected a number, a name or '('"},
      {"a +", "ops.yaml:14:12: the formula ends too early; expected a number, a name or '('"},
      {"a + * b", "ops.yaml:14:13: unexpected '*'; expected a number, a name or '('"},
      {"a b", "ops.yaml:14:11: unexpected 'b'; expected an operator or the end"},
      {"(a + b", "ops.yaml:14:9: a '(' that nothing closes; expected ')' before the end of the formula"},
      {"(a + b c)", "ops.yaml:14:16: unexpected 'c'; expected an operator or ')'"},
      {"a + b)", "ops.yaml:14:14: unexpected ')'; expected an operator or the end"},
      {"a ** b", "ops.yaml:14:12: unexpected '*'; expected a number, a name or '('; write ^ for a power"},
      {"a = b", "ops.yaml:14:11: unexpected '='; expected an operator or the end; write == for equality"},
      {"a < b < c", "ops.yaml:14:15: a second comparison '<'; expected one comparison; join two with 'and'"},
      {"a && b",
       "ops.yaml:14:11: unexpected character '&'; expected a number, a name, an operator or a parenthesis; "
       "write 'and'"},
      {"a $ b",
       "ops.yaml:14:11: unexpected character '$'; expected a number, a name, an operator or a parenthesis"},
      {"!a",
       "ops.yaml:14:9: unexpected character '!'; expected a number, a name, an operator or a parenthesis; "
       "write "
       "'not'"},
      {"1 + ciel_div(a, b)",
       "ops.yaml:14:13: unknown function 'ciel_div'; expected ceil_div, floor_div, max, min, pow or select; "
       "did "
       "you mean 'ceil_div'?"},
      {"heads(a)",
       "ops.yaml:14:9: unknown function 'heads'; expected ceil_div, floor_div, max, min, pow or select; "
       "write * "
       "between factors if it is a name"},
      {"min + 1", "ops.yaml:14:9: the function min without its arguments; expected '(' after it"},
      {"min()", "ops.yaml:14:9: min with 0 arguments; expected at least 1"},
      {"2*select(a, b)", "ops.yaml:14:11: select with 2 arguments; expected 3"},
      {"ceil_div(a)", "ops.yaml:14:9: ceil_div with 1 argument; expected 2"},
      {"max(a, b",
       "ops.yaml:14:12: a '(' that nothing closes; expected ',' or ')' before the end of the formula"},
      {"max(a; b)",
       "ops.yaml:14:14: unexpected character ';'; expected a number, a name, an operator or a parenthesis"},
      {"2a", "ops.yaml:14:10: 'a' directly after a number; expected an operator; write * between factors"},
      {"1e9",
       "ops.yaml:14:10: 'e9' directly after a number; expected an operator; write 10^n for a power of ten"},
      {"2(a)", "ops.yaml:14:10: unexpected '('; expected an operator or the end; write * between factors"},
      {"170141183460469231731687303715884105728",
       "ops.yaml:14:9: a number that passes 128 bits; expected at most 2^127 - 1"},
      {"a and", "ops.yaml:14:14: the formula ends too early; expected a number, a name or '('"},
      {"and a", "ops.yaml:14:9: unexpected 'and'; expected a number, a name or '('"},
      {"[a]",
       "ops.yaml:14:9: unexpected character '['; expected a number, a name, an operator or a parenthesis; "
       "group "
       "with ( and )"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(message_of(text), expected) << text;
  EXPECT_EQ(Formula::parse("a +").faults()[0].message(),
            "the formula ends too early at character 4 of 'a +'; expected a number, a name or '('");
}

TEST(Formula, SizeAndNestingAreBounded) {
  EXPECT_EQ(
      message_of(std::string(10'001, 'a')),
      "ops.yaml:14:9: a formula of 10001 characters; expected at most 10000; split it into named parts");
  EXPECT_EQ(message_of(std::string(10'000, 'a')), "parsed");
  const std::string deep =
      "ops.yaml:14:209: a formula nested too deep; expected at most 200 levels; split it "
      "into named parts";
  EXPECT_EQ(message_of(std::string(200, '(') + "a" + std::string(200, ')')), "parsed");
  EXPECT_EQ(message_of(std::string(5000, '(')), deep);
  EXPECT_EQ(message_of(std::string(5000, '-') + "a"), deep);
  std::string powers = "a";
  for (int i = 0; i < 300; ++i) powers += "^a";
  EXPECT_NE(message_of(powers), "parsed");
  std::string nots;
  for (int i = 0; i < 300; ++i) nots += "not ";
  EXPECT_NE(message_of(nots + "a"), "parsed");
}

TEST(Formula, LongChainsNeedNoNesting) {
  ExprPool pool;
  std::string sum = "a", quotient = "a";
  for (int i = 0; i < 2400; ++i) {
    sum += " + a";
    quotient += "//b";
  }
  const auto symbol = [&](std::string_view name) { return pool.symbol(name); };
  EXPECT_EQ(to_text(Formula::parse(sum)->instantiate(pool, symbol)), "2401*a");
  EXPECT_EQ(Formula::parse(quotient)->instantiate(pool, symbol).error_text(),
            "an expression nested deeper than 2000 levels");
}

TEST(Formula, NamesInOrderOfFirstMention) {
  const auto formula = Formula::parse("2*b.out*in + ceil_div(b.out, _x9) > 3");
  // A name starts with a letter.
  ASSERT_FALSE(formula.ok());
  const auto good = Formula::parse("2*b.out*in + ceil_div(b.out, x_9) > 3");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->names(), (std::vector<std::string>{"b.out", "in", "x_9"}));
  EXPECT_EQ(good->text(), "2*b.out*in + ceil_div(b.out, x_9) > 3");
  EXPECT_FALSE(good->empty());
  EXPECT_TRUE(Formula().empty());
}

TEST(Formula, LookupsReplaceNames) {
  ExprPool pool;
  const auto formula = Formula::parse("2*r*in*out");
  const auto numbers = [&](std::string_view name) -> std::optional<Expr> {
    if (name == "r") return pool.constant(base::Int128{3});
    if (name == "in") return pool.constant(base::Int128{7168});
    if (name == "out") return pool.constant(base::Int128{1536});
    return std::nullopt;
  };
  // 2*3*7168*1536
  EXPECT_EQ(to_text(formula->instantiate(pool, numbers)), "66060288");
  const Expr values[] = {pool.symbol("tokens"), pool.constant(base::Int128{2}), pool.symbol("n") + 1};
  EXPECT_EQ(to_text(formula->instantiate(pool, values)), "4*tokens*(n + 1)");
  EXPECT_EQ(Formula::parse("r*inn")->instantiate(pool, numbers).error_text(), "'inn' is not known here");
}

}  // namespace
}  // namespace archlight::expr
