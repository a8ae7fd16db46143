// int128.h: exact counts. Every operation reports overflow instead of wrapping.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace archlight::base {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

std::optional<Int128> checked_add(Int128 a, Int128 b);
std::optional<Int128> checked_sub(Int128 a, Int128 b);
std::optional<Int128> checked_mul(Int128 a, Int128 b);
// Floor division and the remainder with the divisor's sign; none for a zero divisor or overflow.
std::optional<Int128> floor_div(Int128 a, Int128 b);
std::optional<Int128> floor_mod(Int128 a, Int128 b);
// Greatest common divisor of the magnitudes; gcd(0, 0) is 0.
Int128 gcd(Int128 a, Int128 b);

std::string to_string(Int128 value);
// 1234567 as "1,234,567".
std::string with_commas(Int128 value);
// Decimal digits with an optional sign, nothing else; none on overflow too.
std::optional<Int128> parse_int128(std::string_view text);
double to_double(Int128 value);

}  // namespace archlight::base
