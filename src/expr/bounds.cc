// Interval bounds, bottom-up. A corner that overflows leaves its end open, which is always true.
#include <algorithm>
#include <array>

#include "expr/internal/store.h"

namespace archlight::expr {
namespace {

using End = std::optional<Rational>;

Interval point(const Rational& value) {
  return {value, value};
}

bool at_least(const End& low, int64_t limit) {
  return low && compare(*low, {limit, 1}) >= 0;
}
bool at_most(const End& high, int64_t limit) {
  return high && compare(*high, {limit, 1}) <= 0;
}
bool positive(const Interval& x) {
  return x.low && x.low->num > 0;
}
bool negative(const Interval& x) {
  return x.high && x.high->num < 0;
}

Interval sum(const Interval& a, const Interval& b) {
  Interval out;
  if (a.low && b.low) out.low = add(*a.low, *b.low);
  if (a.high && b.high) out.high = add(*a.high, *b.high);
  return out;
}

Interval negated(const Interval& x) {
  const auto flip = [](const End& end) -> End { return end ? subtract({0, 1}, *end) : std::nullopt; };
  return {flip(x.high), flip(x.low)};
}

// A product of two ends; an open end is infinite, and 0 times it is 0. `infinite` is the sign of the
// infinity, 0 when the value is finite; `unknown` means that the corner overflowed.
struct Corner {
  Rational value;
  int infinite = 0;
  bool unknown = false;
};

Corner corner(const End& a, int a_sign, const End& b, int b_sign) {
  const auto sign = [](const End& end, int open) {
    return !end ? open : end->num > 0 ? 1 : end->num < 0 ? -1 : 0;
  };
  if (!a || !b) return {.value = {}, .infinite = sign(a, a_sign) * sign(b, b_sign)};
  const End product = multiply(*a, *b);
  if (!product) return {.value = {}, .infinite = 0, .unknown = true};
  return {.value = *product, .infinite = 0};
}

Interval product(const Interval& a, const Interval& b) {
  const std::array corners{corner(a.low, -1, b.low, -1), corner(a.low, -1, b.high, 1),
                           corner(a.high, 1, b.low, -1), corner(a.high, 1, b.high, 1)};
  const bool unknown = std::ranges::any_of(corners, [](const Corner& c) { return c.unknown; });
  const bool never_negative =
      (at_least(a.low, 0) && at_least(b.low, 0)) || (at_most(a.high, 0) && at_most(b.high, 0));
  if (unknown) return never_negative ? Interval{Rational{}, std::nullopt} : Interval{};
  Interval out;
  bool open_low = false, open_high = false;
  for (const Corner& c : corners) {
    open_low |= c.infinite < 0;
    open_high |= c.infinite > 0;
    if (c.infinite != 0) continue;
    if (!out.low || compare(c.value, *out.low) < 0) out.low = c.value;
    if (!out.high || compare(c.value, *out.high) > 0) out.high = c.value;
  }
  // With every corner infinite on one side, the other side is that infinity too and says nothing.
  if (open_low) out.low.reset();
  if (open_high) out.high.reset();
  return out;
}

// 1/x for an interval of one sign.
Interval reciprocal(const Interval& x) {
  const auto inverse = [](const End& end) -> End {
    return end && end->num != 0 ? divide({1, 1}, *end) : std::nullopt;
  };
  // An open end tends to 0 from the interval's side.
  if (positive(x)) return {x.high ? inverse(x.high) : End{Rational{}}, inverse(x.low)};
  if (negative(x)) return {inverse(x.high), x.low ? inverse(x.low) : End{Rational{}}};
  // x is not 0 where 1/x has a value.
  if (at_least(x.low, 0)) return {x.high ? inverse(x.high) : End{Rational{}}, std::nullopt};
  if (at_most(x.high, 0)) return {std::nullopt, x.low ? inverse(x.low) : End{Rational{}}};
  return {};
}

Interval whole_power(const Interval& x, base::Int128 n) {
  if (n < 0) return reciprocal(whole_power(x, -n));
  const auto raise = [n](const End& end) -> End { return end ? power(*end, n) : std::nullopt; };
  if (n % 2 != 0 || at_least(x.low, 0)) return {raise(x.low), raise(x.high)};
  if (at_most(x.high, 0)) return {raise(x.high), raise(x.low)};
  Interval out{Rational{}, std::nullopt};
  const End a = raise(x.low), b = raise(x.high);
  if (a && b) out.high = compare(*a, *b) > 0 ? a : b;
  return out;
}

Interval symbolic_power(const Interval& base, const Interval& exponent) {
  // For base >= 1 the power grows with both; for base >= 0 it is at least not negative.
  if (at_least(base.low, 1)) {
    Interval out{Rational{}, std::nullopt};
    const auto raise = [](const End& b, const End& n) -> End {
      return b && n && n->is_integer() ? power(*b, n->num) : std::nullopt;
    };
    if (at_least(exponent.low, 0)) {
      const End low = raise(base.low, exponent.low);
      out.low = low ? *low : Rational{1, 1};
      out.high = raise(base.high, exponent.high);
    } else if (at_most(exponent.high, 0)) {
      out.high = Rational{1, 1};
    }
    return out;
  }
  if (at_least(base.low, 0)) return {Rational{}, std::nullopt};
  return {};
}

Interval rounded(const Interval& x, Kind kind) {
  const auto round = [kind](const End& end) -> End {
    if (!end) return std::nullopt;
    return kind == Kind::kFloorDiv ? floor_div(*end, {1, 1}) : ceil_div(*end, {1, 1});
  };
  return {round(x.low), round(x.high)};
}

Interval remainder(const Interval& a, const Interval& b, bool whole) {
  // 0 <= a % b < b for b > 0, and the mirror image for b < 0; also 0 <= a % b <= a for a >= 0 and b > 0.
  const Rational gap{whole ? 1 : 0, 1};
  Interval out;
  if (positive(b)) {
    out.low = Rational{};
    if (b.high) out.high = subtract(*b.high, gap);
    if (at_least(a.low, 0) && a.high && (!out.high || compare(*a.high, *out.high) < 0)) out.high = a.high;
    // An operand that is always below the divisor stays as it is.
    if (at_least(a.low, 0) && a.high && b.low && compare(*a.high, *b.low) < 0) out = a;
  } else if (negative(b)) {
    out.high = Rational{};
    if (b.low) out.low = add(*b.low, gap);
  }
  return out;
}

Interval hull(const Interval& a, const Interval& b) {
  Interval out;
  if (a.low && b.low) out.low = compare(*a.low, *b.low) < 0 ? a.low : b.low;
  if (a.high && b.high) out.high = compare(*a.high, *b.high) > 0 ? a.high : b.high;
  return out;
}

Interval smaller(const Interval& a, const Interval& b) {
  Interval out;
  if (a.low && b.low) out.low = compare(*a.low, *b.low) < 0 ? a.low : b.low;
  if (a.high && b.high)
    out.high = compare(*a.high, *b.high) < 0 ? a.high : b.high;
  else
    out.high = a.high ? a.high : b.high;
  return out;
}

Interval of_node(Store& store, uint32_t id) {
  const Ids operands = store.operands(id);
  const auto of = [&](size_t i) -> const Interval& { return store.bounds(operands[i]); };
  switch (store.kind(id)) {
    case Kind::kConstant:
      return point(store.value(id));
    case Kind::kSymbol:
      return store.symbol_info(id).bounds;
    case Kind::kError:
      return {};
    case Kind::kAdd: {
      Interval out = of(0);
      for (size_t i = 1; i < operands.size(); ++i) out = sum(out, of(i));
      return out;
    }
    case Kind::kMul: {
      Interval out = of(0);
      for (size_t i = 1; i < operands.size(); ++i) out = product(out, of(i));
      return out;
    }
    case Kind::kPow:
      if (store.is_constant(operands[1])) return whole_power(of(0), store.value(operands[1]).num);
      return symbolic_power(of(0), of(1));
    case Kind::kFloorDiv:
    case Kind::kCeilDiv:
      return rounded(product(of(0), reciprocal(of(1))), store.kind(id));
    case Kind::kMod:
      return remainder(of(0), of(1), store.node(operands[0]).integral && store.node(operands[1]).integral);
    case Kind::kMin: {
      Interval out = of(0);
      for (size_t i = 1; i < operands.size(); ++i) out = smaller(out, of(i));
      return out;
    }
    case Kind::kMax: {
      // max(a, b) = -min(-a, -b)
      Interval out = negated(of(0));
      for (size_t i = 1; i < operands.size(); ++i) out = smaller(out, negated(of(i)));
      return negated(out);
    }
    case Kind::kSelect:
      return hull(of(1), of(2));
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kEqual:
      return {Rational{0, 1}, Rational{1, 1}};
  }
  return {};
}

}  // namespace

const Interval& ExprPool::Store::bounds(uint32_t id) {
  const auto known = bounds_memo.find(id);
  if (known != bounds_memo.end()) return known->second;
  const Interval found = of_node(*this, id);
  return bounds_memo.emplace(id, found).first->second;
}

Interval bounds(Expr e) {
  return store_of(e).bounds(e.id());
}

}  // namespace archlight::expr
