#include "expr/rational.h"

#include <ginac/ginac.h>
#include <gtest/gtest.h>

#include <random>

namespace archlight::expr {
namespace {

using base::Int128;

const Int128 kHigh = *base::parse_int128("170141183460469231731687303715884105727");  // 2^127 - 1
const Int128 kLow = -kHigh - 1;

Rational r(Int128 num, Int128 den = 1) {
  return *make_rational(num, den);
}

TEST(Rational, LowestTermsPositiveDenominator) {
  EXPECT_EQ(to_string(r(6, -4)), "-3/2");
  EXPECT_EQ(to_string(r(0, -7)), "0");
  EXPECT_EQ(to_string(r(kLow, kLow)), "1");
  EXPECT_EQ(to_string(r(kLow, 2)), "-85070591730234615865843651857942052864");
  EXPECT_FALSE(make_rational(1, 0));
  EXPECT_FALSE(make_rational(kLow, -1));  // 2^127
  EXPECT_FALSE(make_rational(1, kLow));   // the sign moves up and leaves 2^127 below
}

TEST(Rational, EdgesOfTheRange) {
  EXPECT_FALSE(add(r(kHigh), r(1)));
  EXPECT_FALSE(subtract(r(kLow), r(1)));
  EXPECT_FALSE(subtract(r(1, 2), r(kLow)));
  EXPECT_FALSE(multiply(r(kHigh), r(2)));
  EXPECT_EQ(*multiply(r(kHigh), r(2, kHigh)), r(2));
  // 2^127 appears as a numerator only below zero: -2^127 * (1/3) and (-1/3) * -2^127.
  EXPECT_EQ(multiply(r(kLow), r(1, 3))->num, kLow);
  EXPECT_FALSE(multiply(r(-1, 3), r(kLow)));
  EXPECT_EQ(multiply(r(1, 3), r(kLow))->num, kLow);
  EXPECT_FALSE(divide(r(1), r(0)));
  EXPECT_FALSE(divide(r(1), r(kLow)));
  EXPECT_EQ(*divide(r(kLow), r(kLow)), r(1));
}

TEST(Rational, Powers) {
  EXPECT_EQ(*power(r(2, 3), 3), r(8, 27));
  EXPECT_EQ(*power(r(-2, 3), -3), r(-27, 8));
  EXPECT_EQ(*power(r(0), 0), r(1));
  EXPECT_FALSE(power(r(0), -1));
  EXPECT_EQ(*power(r(-1), kHigh), r(-1));
  EXPECT_EQ(*power(r(-1), kLow), r(1));
  EXPECT_EQ(power(r(2), 126)->num, Int128{1} << 126);
  EXPECT_FALSE(power(r(2), 127));
  EXPECT_EQ(power(r(-2), 127)->num, kLow);
  EXPECT_FALSE(power(r(2), kHigh));
}

TEST(Rational, RoundedDivision) {
  EXPECT_EQ(*floor_div(r(-7), r(2)), r(-4));
  EXPECT_EQ(*ceil_div(r(-7), r(2)), r(-3));
  EXPECT_EQ(*ceil_div(r(8), r(2)), r(4));
  EXPECT_EQ(*modulo(r(-7), r(2)), r(1));
  EXPECT_EQ(*modulo(r(7), r(-2)), r(-1));
  EXPECT_EQ(*floor_div(r(7, 2), r(1, 3)), r(10));  // 10.5
  EXPECT_EQ(*ceil_div(r(7, 2), r(1, 3)), r(11));
  EXPECT_EQ(*modulo(r(7, 2), r(1, 3)), r(1, 6));
  EXPECT_FALSE(floor_div(r(kLow), r(-1)));
  EXPECT_FALSE(ceil_div(r(1), r(0)));
  EXPECT_FALSE(modulo(r(1), r(0)));
}

TEST(Rational, CompareIsExactBeyondTheProducts) {
  // (2^127-1)/(2^127-2) against (2^127-2)/(2^127-3): 1 + 1/(2^127-2) < 1 + 1/(2^127-3).
  EXPECT_EQ(compare(r(kHigh, kHigh - 1), r(kHigh - 1, kHigh - 2)), -1);
  EXPECT_EQ(compare(r(kHigh - 1, kHigh - 2), r(kHigh, kHigh - 1)), 1);
  EXPECT_EQ(compare(r(kLow, kHigh), r(kLow + 2, kHigh)), -1);
  EXPECT_EQ(compare(r(kLow, 3), r(kLow, 5)), -1);
  EXPECT_EQ(compare(r(1, 3), r(1, 3)), 0);
}

GiNaC::numeric exact(const Rational& value) {
  return GiNaC::numeric(base::to_string(value.num).c_str()) /
         GiNaC::numeric(base::to_string(value.den).c_str());
}

// Against the oracle's unbounded numbers: an operation gives the exact value, or the value does not fit.
TEST(Rational, AgreesWithUnboundedArithmetic) {
  const GiNaC::numeric high(base::to_string(kHigh).c_str());
  const auto fits = [&](const GiNaC::numeric& v) {
    return v.numer() <= high && v.numer() >= -high - 1 && v.denom() <= high;
  };
  std::mt19937_64 random(20240);
  const auto draw = [&] {
    // Widths from 1 to 126 bits, so that overflow and cancellation both happen.
    const auto part = [&] {
      const base::UInt128 top = random();
      const Int128 wide = static_cast<Int128>((top << 64 | random()) >> 2);
      return wide >> (random() % 125);
    };
    const Int128 num = part() * (random() % 2 != 0 ? 1 : -1);
    const Int128 den = random() % 3 == 0 ? 1 : part() + 1;
    return r(num, den > 0 ? den : 1);
  };
  for (int i = 0; i < 4000; ++i) {
    const Rational a = draw(), b = draw();
    SCOPED_TRACE("draw " + std::to_string(i) + ": " + to_string(a) + " and " + to_string(b));
    const GiNaC::numeric x = exact(a), y = exact(b);
    const auto check = [&](const std::optional<Rational>& got, const GiNaC::numeric& wanted) {
      if (got) {
        EXPECT_EQ(exact(*got), wanted);
      } else {
        EXPECT_FALSE(fits(wanted) && a.is_integer() && b.is_integer());
      }
    };
    check(add(a, b), x + y);
    check(subtract(a, b), x - y);
    if (x * y != 0) {
      // A product fails exactly when it does not fit.
      EXPECT_EQ(multiply(a, b).has_value(), fits(x * y));
      if (multiply(a, b)) {
        EXPECT_EQ(exact(*multiply(a, b)), x * y);
      }
      if (divide(a, b)) {
        EXPECT_EQ(exact(*divide(a, b)), x / y);
      }
    }
    EXPECT_EQ(compare(a, b), x < y ? -1 : x > y ? 1 : 0);
  }
}

}  // namespace
}  // namespace archlight::expr
