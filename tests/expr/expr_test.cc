#include "expr/expr.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "expr/formula.h"
#include "expr/tape.h"

namespace archlight::expr {
namespace {

// Names starting with r are any rationals, those starting with z any integers, the rest integers >= 1.
Expr symbol_of(ExprPool& pool, std::string_view name) {
  if (name[0] == 'r') return pool.symbol(name, {}, false);
  if (name[0] == 'z') return pool.symbol(name, {}, true);
  return pool.symbol(name);
}

Expr parsed(ExprPool& pool, std::string_view text) {
  auto formula = Formula::parse(text);
  if (!formula) {
    ADD_FAILURE() << text << ": " << formula.faults()[0].message();
    return pool.error("unparsed");
  }
  return formula->instantiate(pool, [&](std::string_view name) { return symbol_of(pool, name); });
}

std::string error_of(std::string_view text) {
  ExprPool pool;
  const Expr e = parsed(pool, text);
  return e.is_error() ? e.error_text() : "no error: " + to_text(e);
}

// A text, and the text of its canonical form, which parses back to the same handle.
TEST(Expr, CanonicalTexts) {
  const std::pair<const char*, const char*> rows[] = {
      {"a + a", "2*a"},
      {"b + a", "a + b"},
      {"a - a", "0"},
      {"n_layers - n_dense_layers", "n_layers - n_dense_layers"},
      {"(d_qk_rope + d_kv_lora)*2*s_query*batch", "2*batch*s_query*(d_kv_lora + d_qk_rope)"},
      {"2*(a + b)", "2*(a + b)"},
      {"(a + b)*a", "a*(a + b)"},
      {"1 + x + x^2 + x*y", "x^2 + x*y + x + 1"},
      {"-a - b", "-a - b"},
      {"3 - a", "3 - a"},
      {"a/b*b", "a"},
      {"a/(2*b)", "a/(2*b)"},
      {"a/b/c", "a/(b*c)"},
      {"1/a", "1/a"},
      {"1/a^2", "1/a^2"},
      {"3/2*a", "3*a/2"},
      {"-a/3", "-a/3"},
      {"a - b/3", "a - b/3"},
      {"a^2*a^-3", "1/a"},
      {"(a*b)^3", "a^3*b^3"},
      {"(2*a)^3", "8*a^3"},
      {"(a^2)^3", "a^6"},
      {"(a^n)^m", "a^(m*n)"},
      {"(r^n)^m", "r^(m*n)"},
      {"a^n*a", "a^(n + 1)"},
      {"a^-n", "a^(-n)"},
      {"2^n*2^n", "2^(2*n)"},
      {"2^(n + 1)*2^-n", "2"},
      {"(a + b)^2", "(a + b)^2"},
      {"2^3^2", "512"},
      {"-2^2", "-4"},
      {"(-2)^2", "4"},
      {"2^-1", "1/2"},
      {"(-2)^n", "(-2)^n"},
      {"(1/2)^n", "(1/2)^n"},
      {"2*(a+b) - (a+b)", "a + b"},
      {"x - (a + b)", "x - a - b"},
      {"x + 2*(a + b)", "2*a + 2*b + x"},
      {"x + c*(a + b)", "c*(a + b) + x"},
      {"-(a + b)", "-(a + b)"},
      {"1.5*4", "6"},
      {"0.125", "1/8"},
      {"3 // 2 + 3/2", "5/2"},
      {"-7 // 2", "-4"},
      {"-7 % 2", "1"},
      {"ceil_div(-7, 2)", "-3"},
      {"x // 1 + x % 1", "x"},
      {"x // -1", "-x"},
      {"r // 1", "r//1"},
      {"ceil_div(r, 1) + r % 1", "ceil_div(r, 1) + r%1"},
      {"(a*b) // c", "a*b//c"},
      {"a*(b // c)", "a*(b//c)"},
      {"a // (b*c)", "a//(b*c)"},
      {"a // b // c", "a//b//c"},
      {"a // (b // c)", "a//(b//c)"},
      {"(a + b) % c", "(a + b)%c"},
      {"a % -3", "a%-3"},
      {"0 // a", "0"},
      {"min(3, a, min(b, a), 2)", "min(a, b, 2)"},
      {"max(min(a, b), min(b, a))", "min(a, b)"},
      {"min(a)", "a"},
      {"select(1, a, b)", "a"},
      {"select(0, a, b)", "b"},
      {"select(a < b, c, c)", "c"},
      {"select(a < b, 1, 0)", "a < b"},
      {"select(1, a, 1/0)", "a"},
      {"select(a, b, c)", "select(a, b, c)"},
      {"a > b", "b < a"},
      {"a >= b", "b <= a"},
      {"b == a", "a == b"},
      {"not a < b", "b <= a"},
      {"not a <= b", "b < a"},
      {"not a == b", "a != b"},
      {"not (a < b or c < d)", "1 - (a < b or c < d)"},
      {"not z", "z == 0"},
      {"a != b and a < b", "a != b and a < b"},
      {"a < b and z or b < c", "a < b and z != 0 or b < c"},
      {"(a < b or b < c) and c < d", "(a < b or b < c) and c < d"},
      {"a < b or b < c and c < d", "a < b or b < c and c < d"},
      {"2*(a < b) + 1", "2*(a < b) + 1"},
      {"(a < b) == (c < d)", "(a < b) == (c < d)"},
      {"0 < n", "1"},
      {"n <= n - 1", "0"},
      {"n == n + 2", "0"},
      {"n >= 2 and 3 > 4", "0"},
      {"-170141183460469231731687303715884105728", "-170141183460469231731687303715884105728"},
      {"a + -170141183460469231731687303715884105728", "a + -170141183460469231731687303715884105728"},
      {"-170141183460469231731687303715884105728*b + a", "a + -170141183460469231731687303715884105728*b"},
  };
  for (const auto& [text, expected] : rows) {
    ExprPool pool;
    const Expr e = parsed(pool, text);
    EXPECT_EQ(to_text(e), expected) << text;
    EXPECT_EQ(parsed(pool, to_text(e)), e) << text;
  }
}

// Spellings of one form, in one pool and in any order of making, are one handle and one text.
TEST(Expr, EqualFormsAreOneHandle) {
  const std::vector<std::vector<const char*>> rows = {
      {"a + b + c", "c + (b + a)", "(a + c) + b", "b - (0 - c) + a - 0*d"},
      {"a*b*c", "c*(b*a)", "a/(1/b)*c"},
      {"2*a + 3*a", "5*a", "a*5", "10*a/2"},
      {"x^2*y", "x*y*x", "y*x^3/x"},
      {"min(a, b, 4)", "min(4, min(b, 9, a))"},
      {"a > b", "b < a", "not a <= b"},
      {"a == b", "b == a"},
  };
  ExprPool pool;
  for (const auto& row : rows) {
    for (const char* text : row) {
      EXPECT_EQ(parsed(pool, text), parsed(pool, row[0])) << text << " and " << row[0];
      ExprPool fresh;
      EXPECT_EQ(to_text(parsed(fresh, text)), to_text(parsed(pool, row[0]))) << text;
    }
  }
  EXPECT_FALSE(parsed(pool, "2*(a + b)") == parsed(pool, "2*a + 2*b"));
  const size_t size = pool.size();
  (void)parsed(pool, "a + b + c");
  EXPECT_EQ(pool.size(), size) << "a form made again makes no node";
}

TEST(Expr, OrderDoesNotDependOnCreation) {
  const char* text = "min(z*y + x^2, y//x, 7) + x*y*(w + z) + z%y - 3*w";
  ExprPool forward, backward;
  for (const char* name : {"w", "x", "y", "z"}) (void)forward.symbol(name);
  for (const char* name : {"z", "y", "x", "w"}) (void)backward.symbol(name);
  (void)parsed(backward, "z%y + w*9");
  const auto formula = Formula::parse(text);
  const auto in = [&](ExprPool& pool) {
    return formula->instantiate(pool, [&](std::string_view name) { return pool.symbol(name); });
  };
  EXPECT_EQ(to_text(in(forward)), to_text(in(backward)));
  EXPECT_EQ(to_json(in(forward)), to_json(in(backward)));
  EXPECT_EQ(to_text(copy_to(in(forward), backward)), to_text(in(backward)));
  EXPECT_EQ(copy_to(in(forward), backward), in(backward));
}

TEST(Expr, FaultsAreValuesThatNameTheOperation) {
  const std::pair<const char*, const char*> rows[] = {
      {"2^126*4", "the product of 85070591730234615865843651857942052864 and 4 overflows 128 bits"},
      {"2^127", "2^127 overflows 128 bits"},
      {"(-2)^128", "(-2)^128 overflows 128 bits"},
      {"170141183460469231731687303715884105727 + 1",
       "the sum of 170141183460469231731687303715884105727 and 1 overflows 128 bits"},
      {"-170141183460469231731687303715884105728 - 1",
       "the difference of -170141183460469231731687303715884105728 and 1 overflows 128 bits"},
      {"1/170141183460469231731687303715884105727/2",
       "the quotient of 1/170141183460469231731687303715884105727 and 2 overflows 128 bits"},
      {"1/0", "1 / 0 divides by zero"},
      {"a/0", "1 / 0 divides by zero"},
      {"3 // 0", "3 // 0 divides by zero"},
      {"-3 % 0", "(-3) % 0 divides by zero"},
      {"ceil_div(3, 0)", "ceil_div(3, 0) divides by zero"},
      {"a // 0", "a division by zero"},
      {"0^-1", "0^(-1) divides by zero"},
      {"4^0.5", "4^(1/2) has an exponent that is not whole"},
      {"a^0.5", "the exponent 1/2 is not whole"},
      {"a*2^126*4", "the product of 85070591730234615865843651857942052864 and 4 overflows 128 bits"},
      {"a + 1/0", "1 / 0 divides by zero"},
      {"0*(1/0)", "1 / 0 divides by zero"},
      {"min(a, 1/0)", "1 / 0 divides by zero"},
      {"select(1/0, a, b)", "1 / 0 divides by zero"},
      {"select(a, 1/0, b)", "1 / 0 divides by zero"},
      {"a < 1/0", "1 / 0 divides by zero"},
      {"not 1/0", "1 / 0 divides by zero"},
      {"a < b and 1/0", "1 / 0 divides by zero"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(error_of(text), expected) << text;
}

TEST(Expr, EvaluateSaysWhatIsMissing) {
  ExprPool pool;
  const auto value_of = [](std::string_view name) -> std::optional<Rational> {
    if (name == "a") return Rational{7, 1};
    if (name == "zero") return Rational{0, 1};
    if (name == "half") return Rational{1, 2};
    if (name == "big") return Rational{base::Int128{1} << 100, 1};
    return std::nullopt;
  };
  const auto fault = [&](std::string_view text) {
    const auto out = evaluate(parsed(pool, text), value_of);
    return out ? "value " + to_string(*out) : out.faults()[0].message();
  };
  EXPECT_EQ(fault("2*a + half"), "value 29/2");
  EXPECT_EQ(fault("a + b"), "'b' has no value");
  EXPECT_EQ(fault("a//zero"), "7 // 0 divides by zero");
  EXPECT_EQ(fault("a%zero"), "7 % 0 divides by zero");
  EXPECT_EQ(fault("1/zero"), "0^(-1) divides by zero");
  EXPECT_EQ(fault("a^half"), "7^(1/2) has an exponent that is not whole");
  EXPECT_EQ(fault("big*big + a"), "1267650600228229401496703205376^2 overflows 128 bits");
  EXPECT_EQ(fault("1/0"), "1 / 0 divides by zero");
  // The branch not taken is not looked at.
  EXPECT_EQ(fault("select(zero, a//zero, a)"), "value 7");
  EXPECT_EQ(fault("zero != 0 and a//zero > 1"), "value 0");
}

TEST(Expr, Bounds) {
  // Symbols are integers >= 1 here, but z.. any integers and u in [2, 5].
  const std::tuple<const char*, const char*, const char*> rows[] = {
      {"7/2", "7/2", "7/2"},
      {"a", "1", ""},
      {"z", "", ""},
      {"u", "2", "5"},
      {"a + b - 2", "0", ""},
      {"3 - u", "-2", "1"},
      {"a*b", "1", ""},
      {"u*z", "", ""},
      {"-2*u", "-10", "-4"},
      {"(u - 3)*(u - 4)", "-4", "2"},
      {"z^2", "0", ""},
      {"(u - 3)^2", "0", "4"},
      {"1/u", "1/5", "1/2"},
      {"1/a", "0", "1"},
      {"u//2", "1", "2"},
      {"ceil_div(u, 2)", "1", "3"},
      {"u//z", "", ""},
      {"a//u", "0", ""},
      {"z%7", "0", "6"},
      {"r%7", "0", "7"},
      {"z%-7", "-6", "0"},
      {"(u - 2)%9", "0", "3"},
      {"min(a, u)", "1", "5"},
      {"max(a, u)", "2", ""},
      {"min(z, 3)", "", "3"},
      {"select(z, u, 9)", "2", "9"},
      {"z < 4", "0", "1"},
      {"2^a", "2", ""},
      {"2^u", "4", "32"},
      {"a^z", "0", ""},
      {"170141183460469231731687303715884105727*a*b", "170141183460469231731687303715884105727", ""},
  };
  for (const auto& [text, low, high] : rows) {
    ExprPool pool;
    (void)pool.symbol("u", {Rational{2, 1}, Rational{5, 1}});
    const Interval got = bounds(parsed(pool, text));
    EXPECT_EQ(got.low ? to_string(*got.low) : "", low) << text;
    EXPECT_EQ(got.high ? to_string(*got.high) : "", high) << text;
  }
}

TEST(Expr, Integrality) {
  ExprPool pool;
  for (const char* text :
       {"a", "a*b + 3", "a^2", "2^a", "r//b", "a%b", "min(a, 3)", "r < 2", "select(r, a, 1)"})
    EXPECT_TRUE(is_integral(parsed(pool, text))) << text;
  for (const char* text : {"r", "a/2", "a/b", "1/a", "2^z", "r%3", "min(a, 1/2)", "select(a, r, 1)"})
    EXPECT_FALSE(is_integral(parsed(pool, text))) << text;
}

TEST(Expr, Expand) {
  const std::pair<const char*, const char*> rows[] = {
      {"2*(a + b)", "2*a + 2*b"},
      {"(a + b)*(a - b)", "a^2 - b^2"},
      {"(a + b)^3", "a^3 + 3*a^2*b + 3*a*b^2 + b^3"},
      {"(a + b)/c", "a/c + b/c"},
      {"(2*a - b/2)^2", "4*a^2 - 2*a*b + b^2/4"},
      {"(a^2 + a + 1)^2", "a^4 + 2*a^3 + 3*a^2 + 2*a + 1"},
      {"(a + 1/a)^2", "a^2 + 1/a^2 + 2"},
      {"(a + 1)*(b//(c*(d + 1)))", "a*(b//(c*d + c)) + b//(c*d + c)"},
      {"(a + b)^n*(a + b)^(2 - n)", "a^2 + 2*a*b + b^2"},
      {"1/(2*(a + b))", "1/(2*(a + b))"},
      {"min(2*(a + 1), 2*a + 2)", "2*a + 2"},
      {"(x + 1)*(x - 1) - x^2", "-1"},
  };
  for (const auto& [text, expected] : rows) {
    ExprPool pool;
    const Expr e = expand(parsed(pool, text));
    EXPECT_EQ(to_text(e), expected) << text;
    EXPECT_EQ(expand(e), e) << text;
  }
  ExprPool pool;
  EXPECT_TRUE(same_value(parsed(pool, "a*(b + c)"), parsed(pool, "a*b + a*c")));
  EXPECT_FALSE(same_value(parsed(pool, "a*(b + c)"), parsed(pool, "a*b + c")));
}

// (s + k)*(s - k) = s^2 - k^2, cubed: 84*84 products a side. The comparisons of a pool share a bound, and past it
// nothing is the same that is not one form.
TEST(Expr, ComparisonsOfAPoolAreBounded) {
  ExprPool pool;
  const Expr s = parsed(pool, "a + b + c + d + e + f");
  int same = 0;
  for (int k = 1; k <= 40; ++k)
    same += same_value(pool.pow(s + k, pool.constant(3)) * pool.pow(s - k, pool.constant(3)),
                       pool.pow(s * s - pool.constant(k * k), pool.constant(3)))
                ? 1
                : 0;
  EXPECT_GE(same, 5);
  EXPECT_LT(same, 40);
  ExprPool fresh;
  EXPECT_TRUE(same_value(parsed(fresh, "a*(b + c)"), parsed(fresh, "a*b + a*c")));
}

TEST(Expr, ExpandRefusesTheHuge) {
  ExprPool pool;
  // Four factors of 26 terms: 26^4 = 456,976 terms.
  std::string text;
  for (int i = 0; i < 4; ++i) {
    std::string factor = "(a" + std::to_string(i);
    for (char c = 'b'; c <= 'z'; ++c) factor += std::string(" + ") + c + std::to_string(i);
    text += (i == 0 ? "" : "*") + factor + ")";
  }
  const Expr e = parsed(pool, text);
  EXPECT_FALSE(e.is_error());
  EXPECT_EQ(expand(e).error_text(), "the expansion of a product passes 100000 terms");
  EXPECT_EQ(to_text(parsed(pool, "(x + 1)^50")), "(x + 1)^50");
  EXPECT_EQ(expand(parsed(pool, "(x + 1)^50")).operand_count(), 51u);
  // C(76, 2) terms, the largest with 74!/(25!*25!*24!).
  EXPECT_EQ(expand(parsed(pool, "(x + y + 1)^74")).operand_count(), 2850u);
  EXPECT_EQ(expand(parsed(pool, "(x + y)^1000000")).error_text(),
            "the expansion of a power 1000000 overflows 128 bits");
  EXPECT_TRUE(expand(parsed(pool, "(x + y)^290")).is_error());  // C(290, 145) passes 128 bits
}

TEST(Expr, DeepAndSharedFormsStayBounded) {
  ExprPool pool;
  const Expr one = pool.constant(base::Int128{1});
  Expr shared = pool.symbol("x"), deep = pool.symbol("x");
  for (int i = 0; i < 100; ++i) shared = pool.floor_div(shared * shared + one, shared + one);
  EXPECT_EQ(to_text(shared), "error(an expression of more than 4294967295 nodes is too long to print)");
  EXPECT_EQ(to_json(shared).dump(),
            "{\"error\":\"an expression of more than 4294967295 nodes is too long to print\"}");
  EXPECT_EQ(symbols_of(simplify(shared)), std::vector<std::string>{"x"});
  for (int i = 0; i < 5000; ++i) deep = pool.floor_div(deep, deep + one);
  EXPECT_EQ(deep.error_text(), "an expression nested deeper than 2000 levels");
  Expr level = pool.symbol("x");
  for (int i = 0; i < 900; ++i) level = pool.ceil_div(level + one, pool.symbol("y"));
  EXPECT_FALSE(simplify(level).is_error());
  EXPECT_FALSE(expand(level).is_error());
  EXPECT_FALSE(to_text(level).empty());
}

TEST(Expr, SubstituteFolds) {
  ExprPool pool;
  const Expr e = parsed(pool, "2*batch*heads*d + min(heads, 8)");
  const Expr bound = substitute(e, [&](std::string_view name) -> std::optional<Expr> {
    if (name == "heads") return pool.constant(base::Int128{128});
    if (name == "d") return parsed(pool, "nope + rope");
    return std::nullopt;
  });
  EXPECT_EQ(to_text(bound), "256*batch*(nope + rope) + 8");
  EXPECT_EQ(symbols_of(e), (std::vector<std::string>{"batch", "d", "heads"}));
  EXPECT_EQ(substitute(e, [](std::string_view) { return std::nullopt; }), e);
}

TEST(Expr, Latex) {
  const std::pair<const char*, const char*> rows[] = {
      {"2*batch*s_query*(d_kv_lora + x)",
       "2\\,\\text{batch}\\,s_{\\text{query}}\\,\\left(d_{\\text{kv\\_lora}} + x\\right)"},
      {"a - b/3 - 1", "a - \\frac{b}{3} - 1"},
      {"a/(2*b^2)", "\\frac{a}{2\\,b^{2}}"},
      {"-(a + b)/c", "-\\frac{a + b}{c}"},
      {"1/(a + b)^2", "\\frac{1}{\\left(a + b\\right)^{2}}"},
      {"a//b*ceil_div(a, c)",
       "\\left\\lfloor\\frac{a}{b}\\right\\rfloor\\,\\left\\lceil\\frac{a}{c}\\right\\rceil"},
      {"(a + b)%c", "\\left(a + b\\right) \\bmod c"},
      {"min(a, 3)", "\\min\\left(a, 3\\right)"},
      {"select(a < b, c, d)", "\\begin{cases}c & \\text{if } a < b \\\\ d & \\text{otherwise}\\end{cases}"},
      {"3*2^n", "3 \\cdot 2^{n}"},
      {"(-1)^n", "\\left(-1\\right)^{n}"},
      {"3/2", "\\frac{3}{2}"},
      {"a - 3/2", "a - \\frac{3}{2}"},
      {"a <= b", "a \\le b"},
  };
  for (const auto& [text, expected] : rows) {
    ExprPool pool;
    EXPECT_EQ(to_latex(parsed(pool, text)), expected) << text;
  }
}

TEST(Expr, Json) {
  const std::pair<const char*, const char*> rows[] = {
      {"n", R"({"symbol":"n"})"},
      {"3/2", R"({"constant":"3/2"})"},
      {"1/0", R"({"error":"1 / 0 divides by zero"})"},
      {"2*a + 1",
       R"({"args":[{"args":[{"constant":"2"},{"symbol":"a"}],"op":"mul"},{"constant":"1"}],"op":"add"})"},
      {"a <= min(b, 4)",
       R"({"args":[{"symbol":"a"},{"args":[{"symbol":"b"},{"constant":"4"}],"op":"min"}],"op":"less_equal"})"},
  };
  for (const auto& [text, expected] : rows) {
    ExprPool pool;
    EXPECT_EQ(to_json(parsed(pool, text)).dump(), expected) << text;
  }
}

TEST(Tape, SharesAndRuns) {
  ExprPool pool;
  const Expr outputs[] = {parsed(pool, "(a + b)*(a + b + 1)"), parsed(pool, "(a + b)//3"), parsed(pool, "a")};
  const auto tape = Tape::compile(outputs, {"b", "a", "unused"});
  ASSERT_TRUE(tape.ok());
  // a + b, 1, a + b + 1, the product, 3, the quotient.
  EXPECT_EQ(tape->instruction_count(), 6u);
  EXPECT_EQ(tape->input_count(), 3u);
  EXPECT_EQ(tape->output_count(), 3u);
  const Rational inputs[] = {{4, 1}, {3, 1}, {0, 1}};
  const auto values = tape->run(inputs);
  EXPECT_EQ(to_string(*values[0]), "56");
  EXPECT_EQ(to_string(*values[1]), "2");
  EXPECT_EQ(to_string(*values[2]), "3");
  const double points[] = {4, 3, 0};
  double doubles[3];
  tape->run_double(points, doubles);
  EXPECT_EQ(doubles[0], 56);
  EXPECT_EQ(doubles[1], 2);
  EXPECT_EQ(doubles[2], 3);
}

TEST(Tape, FaultsNameTheSymbol) {
  ExprPool pool;
  const Expr outputs[] = {parsed(pool, "batch*context")};
  const auto tape = Tape::compile(outputs, {"batch", "contxt"});
  ASSERT_FALSE(tape.ok());
  EXPECT_EQ(tape.faults()[0].message(),
            "'context' is not an input of the tape; expected batch, contxt; did you mean 'contxt'?");
  const Expr broken[] = {parsed(pool, "1/0")};
  EXPECT_EQ(Tape::compile(broken, {}).faults()[0].message(), "1 / 0 divides by zero");
  EXPECT_EQ(Tape::compile({}, {"a"})->output_count(), 0u);
}

}  // namespace
}  // namespace archlight::expr
