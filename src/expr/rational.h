// rational.h: exact rationals of 128-bit integers, always in lowest terms with a positive denominator.
// Every operation returns none on overflow or division by zero.
#pragma once

#include <optional>
#include <string>

#include "base/int128.h"

namespace archlight::expr {

struct Rational {
  base::Int128 num = 0;
  base::Int128 den = 1;

  bool is_integer() const { return den == 1; }
  friend bool operator==(const Rational&, const Rational&) = default;
};

std::optional<Rational> make_rational(base::Int128 num, base::Int128 den);
std::optional<Rational> add(const Rational& a, const Rational& b);
std::optional<Rational> subtract(const Rational& a, const Rational& b);
std::optional<Rational> multiply(const Rational& a, const Rational& b);
std::optional<Rational> divide(const Rational& a, const Rational& b);
std::optional<Rational> power(const Rational& base, base::Int128 exponent);
// The largest integer not above a/b, the smallest not below it, and a - b*floor(a/b).
std::optional<Rational> floor_div(const Rational& a, const Rational& b);
std::optional<Rational> ceil_div(const Rational& a, const Rational& b);
std::optional<Rational> modulo(const Rational& a, const Rational& b);
// -1, 0, 1; exact for all values.
int compare(const Rational& a, const Rational& b);
std::string to_string(const Rational& value);  // "7", "-3/2"
double to_double(const Rational& value);

}  // namespace archlight::expr
