#include "expr/rational.h"

#include <utility>

namespace archlight::expr {
namespace {

using base::Int128;
using base::UInt128;

constexpr UInt128 kTwo127 = UInt128{1} << 127;

bool fits64(Int128 v) {
  return v == static_cast<int64_t>(v);
}

UInt128 magnitude(Int128 v) {
  return v < 0 ? UInt128{0} - static_cast<UInt128>(v) : static_cast<UInt128>(v);
}

std::optional<Int128> with_sign(UInt128 value, bool negative) {
  if (negative ? value > kTwo127 : value >= kTwo127) return std::nullopt;
  return static_cast<Int128>(negative ? UInt128{0} - value : value);
}

UInt128 gcd(UInt128 a, UInt128 b) {
  while (b != 0) {
    // Most operands fit in 64 bits, where the remainder is one instruction.
    if ((a >> 64) == 0 && (b >> 64) == 0) {
      uint64_t p = static_cast<uint64_t>(a), q = static_cast<uint64_t>(b);
      while (q != 0) p = std::exchange(q, p % q);
      return p;
    }
    a = std::exchange(b, a % b);
  }
  return a;
}

std::optional<Int128> times(Int128 a, Int128 b) {
  if (fits64(a) && fits64(b)) return a * b;
  return base::checked_mul(a, b);
}

// num/den with a common divisor already taken out, den of either sign.
std::optional<Rational> signed_ratio(UInt128 num, UInt128 den, bool negative) {
  const std::optional<Int128> n = with_sign(num, negative), d = with_sign(den, false);
  if (!n || !d) return std::nullopt;
  return Rational{*n, *d};
}

std::optional<Rational> whole(const std::optional<Int128>& value) {
  if (!value) return std::nullopt;
  return Rational{*value, 1};
}

std::optional<Int128> whole_power(Int128 base, Int128 exponent) {
  Int128 out = 1;
  while (true) {
    if (exponent & 1) {
      const std::optional<Int128> next = times(out, base);
      if (!next) return std::nullopt;
      out = *next;
    }
    exponent >>= 1;
    if (exponent == 0) return out;
    const std::optional<Int128> square = times(base, base);
    if (!square) return std::nullopt;
    base = *square;
  }
}

}  // namespace

std::optional<Rational> make_rational(Int128 num, Int128 den) {
  if (den == 0) return std::nullopt;
  if (den == 1) return Rational{num, 1};
  const UInt128 n = magnitude(num), d = magnitude(den), common = gcd(n, d);
  return signed_ratio(n / common, d / common, (num < 0) != (den < 0));
}

std::optional<Rational> add(const Rational& a, const Rational& b) {
  if (a.den == 1 && b.den == 1) return whole(base::checked_add(a.num, b.num));
  // With g = gcd of the denominators the sum is t / (a.den/g * b.den) for t below, and only divisors of g can
  // still be common to both.
  const Int128 g = static_cast<Int128>(gcd(magnitude(a.den), magnitude(b.den)));
  const std::optional<Int128> left = times(a.num, b.den / g), right = times(b.num, a.den / g);
  if (!left || !right) return std::nullopt;
  const std::optional<Int128> t = base::checked_add(*left, *right);
  if (!t) return std::nullopt;
  const Int128 rest = g == 1 ? g : static_cast<Int128>(gcd(magnitude(*t), magnitude(g)));
  const std::optional<Int128> den = times(a.den / g, b.den / rest);
  if (!den) return std::nullopt;
  return Rational{*t / rest, *den};
}

std::optional<Rational> subtract(const Rational& a, const Rational& b) {
  if (a.den == 1 && b.den == 1) return whole(base::checked_sub(a.num, b.num));
  const std::optional<Int128> negated = base::checked_sub(0, b.num);
  if (!negated) return std::nullopt;
  return add(a, Rational{*negated, b.den});
}

std::optional<Rational> multiply(const Rational& a, const Rational& b) {
  if (a.den == 1 && b.den == 1) return whole(times(a.num, b.num));
  if (a.num == 0 || b.num == 0) return Rational{};
  // Cancelling crosswise first keeps the products as small as the result.
  const UInt128 an = magnitude(a.num), bn = magnitude(b.num);
  const UInt128 ad = magnitude(a.den), bd = magnitude(b.den);
  const UInt128 g1 = bd == 1 ? 1 : gcd(an, bd), g2 = ad == 1 ? 1 : gcd(bn, ad);
  const bool negative = (a.num < 0) != (b.num < 0);
  const std::optional<Int128> left = with_sign(an / g1, negative), right = with_sign(bn / g2, false);
  if (!left || !right) {
    // One of the factors is 2^127: its product is in range only when it is all there is, with a minus.
    if (!negative || (an / g1 != 1 && bn / g2 != 1)) return std::nullopt;
    const std::optional<Int128> den = times(static_cast<Int128>(ad / g2), static_cast<Int128>(bd / g1));
    if (!den) return std::nullopt;
    return signed_ratio((an / g1) * (bn / g2), static_cast<UInt128>(*den), true);
  }
  const std::optional<Int128> num = times(*left, *right);
  const std::optional<Int128> den = times(static_cast<Int128>(ad / g2), static_cast<Int128>(bd / g1));
  if (!num || !den) return std::nullopt;
  return Rational{*num, *den};
}

std::optional<Rational> divide(const Rational& a, const Rational& b) {
  if (b.num == 0) return std::nullopt;
  if (a.den == 1 && b.den == 1) return make_rational(a.num, b.num);
  const std::optional<Rational> inverse = signed_ratio(magnitude(b.den), magnitude(b.num), b.num < 0);
  if (!inverse) return std::nullopt;
  return multiply(a, *inverse);
}

std::optional<Rational> power(const Rational& base, Int128 exponent) {
  if (exponent == 0) return Rational{1, 1};
  if (base.num == 0) return exponent > 0 ? std::optional<Rational>(Rational{}) : std::nullopt;
  if (base.den == 1 && (base.num == 1 || base.num == -1))
    return Rational{base.num == 1 || exponent % 2 == 0 ? 1 : -1, 1};
  // Every other base has a part of at least 2, whose 128th power is out of range.
  if (exponent > 127 || exponent < -127) return std::nullopt;
  const Int128 size = exponent < 0 ? -exponent : exponent;
  const std::optional<Int128> num = whole_power(base.num, size), den = whole_power(base.den, size);
  if (!num || !den) return std::nullopt;
  if (exponent > 0) return Rational{*num, *den};
  return signed_ratio(magnitude(*den), magnitude(*num), *num < 0);
}

std::optional<Rational> floor_div(const Rational& a, const Rational& b) {
  if (a.den == 1 && b.den == 1) return whole(base::floor_div(a.num, b.num));
  const std::optional<Rational> quotient = divide(a, b);
  if (!quotient) return std::nullopt;
  return whole(base::floor_div(quotient->num, quotient->den));
}

std::optional<Rational> ceil_div(const Rational& a, const Rational& b) {
  const std::optional<Rational> down = floor_div(a, b);
  if (!down) return std::nullopt;
  if (a.den == 1 && b.den == 1) {
    const std::optional<Int128> rest = base::floor_mod(a.num, b.num);
    if (!rest) return std::nullopt;
    return *rest == 0 ? down : whole(base::checked_add(down->num, 1));
  }
  const std::optional<Rational> quotient = divide(a, b);
  return quotient->is_integer() ? down : whole(base::checked_add(down->num, 1));
}

std::optional<Rational> modulo(const Rational& a, const Rational& b) {
  if (a.den == 1 && b.den == 1) return whole(base::floor_mod(a.num, b.num));
  const std::optional<Rational> down = floor_div(a, b);
  if (!down) return std::nullopt;
  const std::optional<Rational> part = multiply(b, *down);
  return part ? subtract(a, *part) : std::nullopt;
}

int compare(const Rational& a, const Rational& b) {
  const auto order = [](Int128 x, Int128 y) { return x < y ? -1 : x > y ? 1 : 0; };
  if (a.den == b.den) return order(a.num, b.num);
  const std::optional<Int128> left = times(a.num, b.den), right = times(b.num, a.den);
  if (left && right) return order(*left, *right);
  // The products do not fit: compare the whole parts, then the reciprocals of what is left over (their order
  // is the reverse). This is Euclid's algorithm on both at once, so it ends.
  Rational x = a, y = b;
  for (int sign = 1;; sign = -sign) {
    const Int128 p = *base::floor_div(x.num, x.den), q = *base::floor_div(y.num, y.den);
    if (p != q) return sign * order(p, q);
    const Int128 rest_x = *base::floor_mod(x.num, x.den), rest_y = *base::floor_mod(y.num, y.den);
    if (rest_x == 0 || rest_y == 0) return sign * order(rest_x, rest_y);
    x = Rational{x.den, rest_x};
    y = Rational{y.den, rest_y};
  }
}

std::string to_string(const Rational& value) {
  std::string out = base::to_string(value.num);
  if (value.den != 1) out += "/" + base::to_string(value.den);
  return out;
}

double to_double(const Rational& value) {
  if (value.den == 1) return base::to_double(value.num);
  return base::to_double(value.num) / base::to_double(value.den);
}

}  // namespace archlight::expr
