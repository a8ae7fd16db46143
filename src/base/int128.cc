#include "base/int128.h"

#include <algorithm>

namespace archlight::base {

namespace {
constexpr Int128 kMin = static_cast<Int128>(UInt128{1} << 127);
UInt128 magnitude(Int128 value) {
  return value < 0 ? UInt128{0} - static_cast<UInt128>(value) : static_cast<UInt128>(value);
}
}  // namespace

std::optional<Int128> checked_add(Int128 a, Int128 b) {
  Int128 out;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

std::optional<Int128> checked_sub(Int128 a, Int128 b) {
  Int128 out;
  if (__builtin_sub_overflow(a, b, &out)) return std::nullopt;
  return out;
}

std::optional<Int128> checked_mul(Int128 a, Int128 b) {
  // The builtin on 128 bits calls a helper that compilers' runtimes do not all carry; 64-bit operands, by
  // far the most common, cannot overflow.
  const auto small = [](Int128 v) { return v >= INT64_MIN && v <= INT64_MAX; };
  if (small(a) && small(b)) return a * b;
  if (a == 0 || b == 0) return Int128{0};
  const bool negative = (a < 0) != (b < 0);
  const UInt128 ua = magnitude(a), ub = magnitude(b);
  const UInt128 limit = (UInt128{1} << 127) - (negative ? 0 : 1);
  if (ua > limit / ub) return std::nullopt;
  const UInt128 product = ua * ub;
  return static_cast<Int128>(negative ? UInt128{0} - product : product);
}

std::optional<Int128> floor_div(Int128 a, Int128 b) {
  if (b == 0 || (a == kMin && b == -1)) return std::nullopt;
  Int128 quotient = a / b;
  if (a % b != 0 && (a < 0) != (b < 0)) --quotient;
  return quotient;
}

std::optional<Int128> floor_mod(Int128 a, Int128 b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return Int128{0};
  Int128 remainder = a % b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) remainder += b;
  return remainder;
}

Int128 gcd(Int128 a, Int128 b) {
  UInt128 x = magnitude(a), y = magnitude(b);
  while (y != 0) {
    // Most operands fit in 64 bits, where the remainder is one instruction.
    if ((x >> 64) == 0 && (y >> 64) == 0) {
      uint64_t p = static_cast<uint64_t>(x), q = static_cast<uint64_t>(y);
      while (q != 0) {
        const uint64_t r = p % q;
        p = q;
        q = r;
      }
      return static_cast<Int128>(p);
    }
    const UInt128 r = x % y;
    x = y;
    y = r;
  }
  return static_cast<Int128>(x);
}

std::string to_string(Int128 value) {
  UInt128 rest = magnitude(value);
  std::string out;
  do {
    out += static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  } while (rest != 0);
  if (value < 0) out += '-';
  std::reverse(out.begin(), out.end());
  return out;
}

std::string with_commas(Int128 value) {
  std::string digits = to_string(value);
  const size_t first = value < 0 ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::optional<Int128> parse_int128(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  Int128 out = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    const std::optional<Int128> scaled = checked_mul(out, 10);
    const std::optional<Int128> next =
        scaled ? (negative ? checked_sub(*scaled, c - '0') : checked_add(*scaled, c - '0')) : std::nullopt;
    if (!next) return std::nullopt;
    out = *next;
  }
  return out;
}

double to_double(Int128 value) {
  return static_cast<double>(value);
}

}  // namespace archlight::base
