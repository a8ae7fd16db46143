// Random expressions, built three times: as a plain tree that this file evaluates over the oracle's unbounded
// numbers, in the oracle itself where it knows the operations, and in a pool.
//
// A form stands for its value wherever the tree has one; the tree may have none where the form has (x/x at
// 0). Only an overflow may take a value away. Each failure shows its seed and the expression's text.
#include <ginac/ginac.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include "expr/expr.h"
#include "expr/formula.h"
#include "expr/tape.h"

// The oracle's libraries keep their tables of small numbers until the process ends; the leak checker leaves
// those libraries out.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libginac\nleak:libcln\n";
}
extern "C" const char* __lsan_default_options();
extern "C" const char* __lsan_default_options() {
  return "print_suppressions=0";
}

namespace archlight::expr {
namespace {

using GiNaC::numeric;
using Point = std::map<std::string, Rational, std::less<>>;

enum class Op {
  kNumber,
  kSymbol,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kFloorDiv,
  kCeilDiv,
  kMod,
  kMin,
  kMax,
  kSelect,
  kLess,
  kLessEqual,
  kEqual
};

struct Tree {
  Op op = Op::kNumber;
  Rational number;
  std::string name;
  std::vector<Tree> parts;
};

// a, b, c are integers >= 1; z any integer; u in [2, 5]; r any rational.
const std::vector<std::string> kNames = {"a", "b", "c", "r", "u", "z"};

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}

  int between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<uint64_t>(high - low + 1));
  }

  Tree leaf() {
    Tree out;
    if (between(0, 2) == 0) {
      out.number = *make_rational(between(-6, 9), between(0, 5) == 0 ? between(2, 4) : 1);
    } else {
      out.op = Op::kSymbol;
      out.name = kNames[static_cast<size_t>(between(0, static_cast<int>(kNames.size()) - 1))];
    }
    return out;
  }

  Tree tree(int depth, const std::vector<Op>& ops) {
    if (depth == 0 || between(0, 5) == 0) return leaf();
    Tree out;
    out.op = ops[static_cast<size_t>(between(0, static_cast<int>(ops.size()) - 1))];
    const int count = out.op == Op::kSelect ? 3 : 2;
    for (int i = 0; i < count; ++i) out.parts.push_back(tree(depth - 1, ops));
    if (out.op == Op::kPow) {
      // Small whole exponents, and now and then a symbol.
      Tree exponent;
      exponent.number = {between(-2, 3), 1};
      if (between(0, 7) == 0) {
        exponent.op = Op::kSymbol;
        exponent.name = between(0, 1) == 0 ? "u" : "z";
      }
      out.parts[1] = exponent;
    }
    return out;
  }

  Point point() {
    Point out;
    for (const char* name : {"a", "b", "c"}) out[name] = {between(1, 9), 1};
    out["u"] = {between(2, 5), 1};
    out["z"] = {between(-5, 5), 1};
    out["r"] = *make_rational(between(-9, 9), between(1, 4));
    return out;
  }

 private:
  std::mt19937_64 random_;
};

Expr build(const Tree& tree, ExprPool& pool, bool swapped = false) {
  if (tree.op == Op::kNumber) return pool.constant(tree.number);
  if (tree.op == Op::kSymbol) {
    if (tree.name == "r") return pool.symbol("r", {}, false);
    if (tree.name == "z") return pool.symbol("z", {}, true);
    if (tree.name == "u") return pool.symbol("u", {Rational{2, 1}, Rational{5, 1}});
    return pool.symbol(tree.name);
  }
  const Expr a = build(tree.parts[0], pool, swapped), b = build(tree.parts[1], pool, swapped);
  const Expr first = swapped ? b : a, second = swapped ? a : b;
  switch (tree.op) {
    case Op::kAdd:
      return first + second;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return first * second;
    case Op::kDiv:
      return a / b;
    case Op::kPow:
      return pool.pow(a, b);
    case Op::kFloorDiv:
      return pool.floor_div(a, b);
    case Op::kCeilDiv:
      return pool.ceil_div(a, b);
    case Op::kMod:
      return pool.mod(a, b);
    case Op::kMin:
      return pool.min(first, second);
    case Op::kMax:
      return pool.max(first, second);
    case Op::kSelect:
      return pool.select(a, b, build(tree.parts[2], pool, swapped));
    case Op::kLess:
      return pool.less(a, b);
    case Op::kLessEqual:
      return pool.less_equal(a, b);
    case Op::kEqual:
      return pool.equal(first, second);
    default:
      return a;
  }
}

numeric exact(const Rational& value) {
  return numeric(base::to_string(value.num).c_str()) / numeric(base::to_string(value.den).c_str());
}

numeric floor_of(const numeric& x) {
  const numeric down = GiNaC::iquo(x.numer(), x.denom());  // towards zero
  return x < 0 && down != x ? down - 1 : down;
}

// The value by the definitions, independent of the pool; none for a division by zero.
std::optional<numeric> value_of(const Tree& tree, const Point& point) {
  if (tree.op == Op::kNumber) return exact(tree.number);
  if (tree.op == Op::kSymbol) return exact(point.at(tree.name));
  const auto a = value_of(tree.parts[0], point);
  if (!a) return std::nullopt;
  if (tree.op == Op::kSelect) return value_of(tree.parts[*a != 0 ? 1 : 2], point);
  const auto b = value_of(tree.parts[1], point);
  if (!b) return std::nullopt;
  const bool divides =
      tree.op == Op::kDiv || tree.op == Op::kFloorDiv || tree.op == Op::kCeilDiv || tree.op == Op::kMod;
  if (divides && *b == 0) return std::nullopt;
  switch (tree.op) {
    case Op::kAdd:
      return *a + *b;
    case Op::kSub:
      return *a - *b;
    case Op::kMul:
      return *a * *b;
    case Op::kDiv:
      return *a / *b;
    case Op::kPow: {
      if (*a == 0 && *b < 0) return std::nullopt;
      numeric out = 1;
      for (int i = 0; i < std::abs(b->to_int()); ++i) out = out * *a;
      return *b < 0 ? 1 / out : out;
    }
    case Op::kFloorDiv:
      return floor_of(*a / *b);
    case Op::kCeilDiv:
      return -floor_of(-(*a / *b));
    case Op::kMod:
      return *a - *b * floor_of(*a / *b);
    case Op::kMin:
      return *a < *b ? *a : *b;
    case Op::kMax:
      return *a < *b ? *b : *a;
    case Op::kLess:
      return *a < *b ? 1 : 0;
    case Op::kLessEqual:
      return *a <= *b ? 1 : 0;
    case Op::kEqual:
      return *a == *b ? 1 : 0;
    default:
      return std::nullopt;
  }
}

const std::vector<Op> kAlgebraic = {Op::kAdd, Op::kAdd, Op::kSub, Op::kMul, Op::kMul, Op::kDiv, Op::kPow};
const std::vector<Op> kPolynomial = {Op::kAdd, Op::kAdd, Op::kSub, Op::kMul, Op::kMul};
const std::vector<Op> kAll = {Op::kAdd,    Op::kAdd,      Op::kSub,       Op::kMul,  Op::kMul, Op::kDiv,
                              Op::kPow,    Op::kFloorDiv, Op::kCeilDiv,   Op::kMod,  Op::kMin, Op::kMax,
                              Op::kSelect, Op::kLess,     Op::kLessEqual, Op::kEqual};
// What formulas of costs are made of: the rules of the simplifier meet here most.
const std::vector<Op> kRounding = {Op::kAdd,      Op::kAdd,     Op::kMul, Op::kMul,
                                   Op::kFloorDiv, Op::kCeilDiv, Op::kMod};

auto lookup(const Point& point) {
  return [&point](std::string_view name) -> std::optional<Rational> {
    const auto found = point.find(name);
    return found == point.end() ? std::nullopt : std::optional<Rational>(found->second);
  };
}

std::string shown(const Point& point) {
  std::string out;
  for (const auto& [name, value] : point) out += " " + name + "=" + to_string(value);
  return out;
}

struct Tally {
  int values = 0, overflows = 0;
};

// The form's value is the tree's, where both have one.
void expect_value(Expr e, const std::optional<numeric>& wanted, const Point& point, Tally& tally) {
  const base::Result<Rational> got = evaluate(e, lookup(point));
  if (got) {
    if (!wanted) return;
    ++tally.values;
    EXPECT_EQ(exact(*got), *wanted) << to_text(e) << " at" << shown(point);
  } else if (wanted) {
    ++tally.overflows;
    EXPECT_NE(got.faults()[0].wrong.find("overflows"), std::string::npos)
        << to_text(e) << " at" << shown(point) << ": " << got.faults()[0].wrong;
  }
}

void expect_bounds(Expr e, const Point& point) {
  const base::Result<Rational> value = evaluate(e, lookup(point));
  if (!value) return;
  const Interval range = bounds(e);
  EXPECT_TRUE(!range.low || compare(*range.low, *value) <= 0) << to_text(e) << " at" << shown(point);
  EXPECT_TRUE(!range.high || compare(*range.high, *value) >= 0) << to_text(e) << " at" << shown(point);
  EXPECT_TRUE(!is_integral(e) || value->is_integer()) << to_text(e) << " at" << shown(point);
}

Expr parsed(const std::string& text, ExprPool& pool) {
  const base::Result<Formula> formula = Formula::parse(text);
  if (!formula) return pool.error(formula.faults()[0].message());
  return formula->instantiate(pool, [&](std::string_view name) {
    return build({Op::kSymbol, {}, std::string(name), {}}, pool);
  });
}

struct Family {
  const char* name;
  const std::vector<Op>* ops;
  int depth;
  int count;
};

class Property : public testing::TestWithParam<Family> {};

TEST_P(Property, EveryFormKeepsTheValue) {
  Tally tally;
  for (int seed = 1; seed <= GetParam().count; ++seed) {
    Draw draw(static_cast<uint64_t>(seed));
    const Tree tree = draw.tree(GetParam().depth, *GetParam().ops);
    ExprPool pool;
    const Expr e = build(tree, pool);
    SCOPED_TRACE(std::string(GetParam().name) + " seed " + std::to_string(seed) + ": " + to_text(e));
    const Expr swapped = build(tree, pool, true);
    if (e.is_error()) {
      // Of two faulty operands the first gives its text.
      EXPECT_TRUE(swapped.is_error());
      continue;
    }
    EXPECT_EQ(swapped, e) << "operands in the other order: " << to_text(swapped);

    EXPECT_EQ(parsed(to_text(e), pool), e);
    const Expr simple = simplify(e), expanded = expand(e);
    EXPECT_EQ(simplify(simple), simple);
    EXPECT_EQ(parsed(to_text(simple), pool), simple) << to_text(simple);
    if (!expanded.is_error()) {
      EXPECT_EQ(expand(expanded), expanded) << to_text(expanded);
    }
    ExprPool other;
    for (auto name = kNames.rbegin(); name != kNames.rend(); ++name)
      (void)build({Op::kSymbol, {}, *name, {}}, other);
    EXPECT_EQ(to_text(build(tree, other)), to_text(e));
    EXPECT_EQ(to_text(simplify(copy_to(e, other))), to_text(simple));

    const Expr outputs[] = {e, simple};
    const base::Result<Tape> tape = Tape::compile(outputs, kNames);
    ASSERT_TRUE(tape.ok());
    for (int i = 0; i < 6; ++i) {
      const Point point = draw.point();
      const std::optional<numeric> wanted = value_of(tree, point);
      expect_value(e, wanted, point, tally);
      expect_value(simple, wanted, point, tally);
      if (!expanded.is_error()) expect_value(expanded, wanted, point, tally);
      expect_bounds(e, point);
      expect_bounds(simple, point);

      std::vector<Rational> inputs;
      for (const std::string& name : kNames) inputs.push_back(point.at(name));
      const std::vector<std::optional<Rational>> ran = tape->run(inputs);
      for (size_t k = 0; k < 2; ++k) {
        const base::Result<Rational> value = evaluate(outputs[k], lookup(point));
        EXPECT_EQ(ran[k].has_value(), value.ok()) << to_text(outputs[k]) << " at" << shown(point);
        if (ran[k] && value) {
          EXPECT_EQ(*ran[k], *value) << to_text(outputs[k]) << " at" << shown(point);
        }
      }
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(tally.values, GetParam().count * 5) << "most draws have a value";
  EXPECT_LT(tally.overflows * 10, tally.values) << "few draws overflow";
}

INSTANTIATE_TEST_SUITE_P(Families, Property,
                         testing::Values(Family{"algebraic", &kAlgebraic, 4, 1500},
                                         Family{"deep", &kAlgebraic, 6, 300}, Family{"all", &kAll, 4, 2500},
                                         Family{"rounding", &kRounding, 4, 2500}),
                         [](const testing::TestParamInfo<Family>& row) { return row.param.name; });

GiNaC::ex oracle(const Tree& tree, std::map<std::string, GiNaC::symbol>& symbols) {
  if (tree.op == Op::kNumber) return exact(tree.number);
  if (tree.op == Op::kSymbol) return symbols.try_emplace(tree.name, tree.name).first->second;
  const GiNaC::ex a = oracle(tree.parts[0], symbols), b = oracle(tree.parts[1], symbols);
  switch (tree.op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return a * b;
    case Op::kDiv:
      return a / b;
    default:
      // 0^0 is 1 here and refused there.
      return b.is_zero() ? GiNaC::ex(1) : GiNaC::pow(a, b);
  }
}

bool has_symbolic_exponent(const Tree& tree) {
  if (tree.op == Op::kPow && tree.parts[1].op != Op::kNumber) return true;
  return std::any_of(tree.parts.begin(), tree.parts.end(), has_symbolic_exponent);
}

// The oracle's own canonical forms at the same points. It refuses 0^n for a symbol n, so the other tests have
// those.
TEST(Oracle, AlgebraicValuesAgree) {
  int values = 0;
  for (int seed = 1; seed <= 600; ++seed) {
    Draw draw(static_cast<uint64_t>(seed) + 50'000);
    const Tree tree = draw.tree(4, kAlgebraic);
    ExprPool pool;
    const Expr e = build(tree, pool);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + to_text(e));
    if (e.is_error() || has_symbolic_exponent(tree)) continue;
    std::map<std::string, GiNaC::symbol> symbols;
    const GiNaC::ex form = oracle(tree, symbols);
    for (int i = 0; i < 3; ++i) {
      const Point point = draw.point();
      const base::Result<Rational> got = evaluate(e, lookup(point));
      if (!got || !value_of(tree, point)) continue;
      GiNaC::exmap at;
      for (const auto& [name, symbol] : symbols) at[symbol] = exact(point.at(name));
      const GiNaC::ex value = form.subs(at);
      ASSERT_TRUE(GiNaC::is_a<numeric>(value));
      EXPECT_EQ(exact(*got), GiNaC::ex_to<numeric>(value)) << shown(point);
      ++values;
    }
  }
  EXPECT_GT(values, 900);
}

// same_value() and the oracle's expansion agree on which polynomials are equal.
TEST(Oracle, EqualPolynomialsAgree) {
  int equal = 0;
  for (int seed = 1; seed <= 600; ++seed) {
    Draw draw(static_cast<uint64_t>(seed) + 90'000);
    const Tree x = draw.tree(3, kPolynomial), y = draw.tree(2, kPolynomial), z = draw.tree(2, kPolynomial);
    // x*(y + z) against x*y + x*z, every third time with another last term.
    const Tree left{Op::kMul, {}, "", {x, {Op::kAdd, {}, "", {y, z}}}};
    const Tree last{Op::kMul, {}, "", {x, seed % 3 == 0 ? y : z}};
    const Tree right{Op::kAdd, {}, "", {{Op::kMul, {}, "", {x, y}}, last}};
    ExprPool pool;
    const Expr a = build(left, pool), b = build(right, pool);
    std::map<std::string, GiNaC::symbol> symbols;
    const bool wanted = (oracle(left, symbols) - oracle(right, symbols)).expand().is_zero();
    EXPECT_EQ(same_value(a, b), wanted) << "seed " << seed << ": " << to_text(a) << " and " << to_text(b);
    equal += wanted ? 1 : 0;
  }
  EXPECT_GT(equal, 350);
  EXPECT_LT(equal, 590);
}

// Double precision stays near the exact value, measured against the largest value on the way.
TEST(Tape, DoublesAreNearTheExactValues) {
  int values = 0;
  for (int seed = 1; seed <= 800; ++seed) {
    Draw draw(static_cast<uint64_t>(seed) + 70'000);
    const Tree tree = draw.tree(4, kAlgebraic);
    ExprPool pool;
    const Expr e = build(tree, pool);
    if (e.is_error()) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + to_text(e));
    const Expr outputs[] = {e};
    const base::Result<Tape> tape = Tape::compile(outputs, kNames);
    ASSERT_TRUE(tape.ok());
    const Point point = draw.point();
    std::vector<Rational> inputs;
    std::vector<double> doubles;
    for (const std::string& name : kNames) {
      inputs.push_back(point.at(name));
      doubles.push_back(to_double(point.at(name)));
    }
    const std::optional<Rational> exact_value = tape->run(inputs)[0];
    if (!exact_value) continue;
    double got = 0;
    tape->run_double(doubles, {&got, 1});
    // A difference of nearly equal values may leave nothing of their digits.
    double largest = 1;
    std::vector<Expr> stack{e};
    bool singular = false;
    while (!stack.empty()) {
      const Expr top = stack.back();
      stack.pop_back();
      if (const auto v = evaluate(top, lookup(point)))
        largest = std::max(largest, std::abs(to_double(*v)));
      else
        singular = true;
      for (size_t i = 0; i < top.operand_count(); ++i) stack.push_back(top.operand(i));
    }
    if (singular || largest > 1e9) continue;
    EXPECT_NEAR(got, to_double(*exact_value), 1e-12 * largest * largest) << shown(point);
    ++values;
  }
  EXPECT_GT(values, 300);
}

}  // namespace
}  // namespace archlight::expr
