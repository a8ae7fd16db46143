// Rules for floor_div, ceil_div and mod. Below, "whole" is an integer for all values of the symbols.
#include <algorithm>
#include <array>
#include <map>

#include "expr/internal/rules.h"

namespace archlight::expr {
namespace {

bool whole(const Store& store, uint32_t id) {
  return store.node(id).integral;
}

bool positive(Store& store, uint32_t id) {
  const Interval& range = store.bounds(id);
  return range.low && range.low->num > 0;
}

struct Parts {
  Kind kind;
  uint32_t a, b;
};

Parts parts_of(const Store& store, uint32_t id) {
  return {store.kind(id), store.operands(id)[0], store.operands(id)[1]};
}

// floor_div(k*b, b) = ceil_div(k*b, b) = k, mod(k*b, b) = 0 for whole k.
uint32_t exact(Store& store, uint32_t id) {
  const auto [kind, a, b] = parts_of(store, id);
  const uint32_t quotient = store.divide(a, b);
  if (store.is_error(quotient) || !whole(store, quotient)) return id;
  return kind == Kind::kMod ? Store::kZero : quotient;
}

// floor_div(a + b - 1, b) = ceil_div(a, b) for whole a and whole b > 0.
uint32_t round_up(Store& store, uint32_t id) {
  const auto [kind, a, b] = parts_of(store, id);
  if (store.kind(a) != Kind::kAdd || !whole(store, a) || !whole(store, b) || !positive(store, b)) return id;
  const uint32_t rest = store.add(std::array{a, Store::kOne, store.negate(b)});
  if (store.is_error(rest) || terms_of(store, rest).size() >= store.operands(a).size()) return id;
  return store.ceil_div(rest, b);
}

// floor_div(a + k*b, b) = k + floor_div(a, b), ceil_div alike, mod(a + k*b, b) = mod(a, b) for whole k.
uint32_t split(Store& store, uint32_t id) {
  const auto [kind, a, b] = parts_of(store, id);
  if (store.kind(a) != Kind::kAdd) return id;
  std::vector<uint32_t> wholes, rest;
  const std::vector<uint32_t> terms(store.operands(a).begin(), store.operands(a).end());
  for (uint32_t term : terms) {
    if (store.is_constant(term) && store.is_constant(b)) {
      // The constant keeps its remainder.
      const std::optional<Rational> k = floor_div(store.value(term), store.value(b));
      const std::optional<Rational> r = modulo(store.value(term), store.value(b));
      if (!k || !r) return id;
      if (k->num != 0) wholes.push_back(store.constant(*k));
      if (r->num != 0) rest.push_back(store.constant(*r));
      continue;
    }
    const uint32_t quotient = store.divide(term, b);
    if (!store.is_error(quotient) && whole(store, quotient))
      wholes.push_back(quotient);
    else
      rest.push_back(term);
  }
  if (wholes.empty()) return id;
  const uint32_t remaining = store.make(kind, std::array{store.add(rest), b});
  if (kind == Kind::kMod) return remaining;
  wholes.push_back(remaining);
  return store.add(wholes);
}

// The largest rational that leaves whole coprime coefficients.
std::optional<Rational> content(const Store& store, std::span<const uint32_t> terms) {
  base::Int128 num = 0, den = 1;
  for (uint32_t term : terms) {
    const Rational c = store.is_constant(term) ? store.value(term) : store.coefficient_of(term);
    num = base::gcd(num, c.num);
    const std::optional<base::Int128> lcm = base::checked_mul(den / base::gcd(den, c.den), c.den);
    if (!lcm) return std::nullopt;
    den = *lcm;
  }
  if (num <= 0) return std::nullopt;
  return make_rational(num, den);
}

// floor_div(a*c, b*c) = floor_div(a, b), ceil_div alike, mod(a*c, b*c) = c*mod(a, b).
uint32_t common_factor(Store& store, uint32_t id) {
  const auto [kind, a, b] = parts_of(store, id);
  std::vector<uint32_t> terms;
  for (uint32_t term : terms_of(store, a)) terms.push_back(term);
  const size_t of_a = terms.size();
  for (uint32_t term : terms_of(store, b)) terms.push_back(term);

  // The least exponent of every base over all terms, counting absence as 0.
  std::map<uint32_t, std::pair<base::Int128, size_t>> least;
  for (uint32_t term : terms) {
    if (store.is_constant(term)) continue;
    for (uint32_t factor : store.factors_of(term)) {
      uint32_t base = factor;
      base::Int128 exponent = 1;
      if (store.kind(factor) == Kind::kPow && store.is_constant(store.operands(factor)[1])) {
        base = store.operands(factor)[0];
        exponent = store.value(store.operands(factor)[1]).num;
      }
      const auto [place, fresh] = least.try_emplace(base, exponent, 0);
      place->second.first = std::min(place->second.first, exponent);
      ++place->second.second;
    }
  }
  std::optional<Rational> scale = content(store, terms);
  if (!scale) return id;
  const Rational leading =
      store.is_constant(terms[of_a]) ? store.value(terms[of_a]) : store.coefficient_of(terms[of_a]);
  if (leading.num < 0) scale->num = -scale->num;
  std::vector<uint32_t> common{store.constant(*scale)};
  for (const auto& [base, found] : least) {
    const base::Int128 exponent =
        found.second == terms.size() ? found.first : std::min<base::Int128>(found.first, 0);
    if (exponent != 0) common.push_back(store.pow(base, store.constant({exponent, 1})));
  }
  const uint32_t factor = store.mul(common);
  if (factor == Store::kOne || store.is_error(factor)) return id;
  const uint32_t inverse = store.divide(Store::kOne, factor);
  for (uint32_t& term : terms) term = store.mul(std::array{term, inverse});
  const Ids all = terms;
  const uint32_t reduced =
      store.make(kind, std::array{store.add(all.first(of_a)), store.add(all.subspan(of_a))});
  return kind == Kind::kMod ? store.mul(std::array{factor, reduced}) : reduced;
}

// floor_div(floor_div(a, b), c) = floor_div(a, b*c), ceil_div alike, for whole c > 0.
uint32_t nested(Store& store, uint32_t id) {
  const auto [kind, a, c] = parts_of(store, id);
  if (store.kind(a) != kind || !whole(store, c) || !positive(store, c)) return id;
  const uint32_t inner = store.operands(a)[0], b = store.operands(a)[1];
  return store.make(kind, std::array{inner, store.mul(std::array{b, c})});
}

// mod(mod(a, k*b), b) = mod(a, b) for whole k.
uint32_t nested_mod(Store& store, uint32_t id) {
  const auto [kind, a, b] = parts_of(store, id);
  if (store.kind(a) != Kind::kMod) return id;
  const uint32_t quotient = store.divide(store.operands(a)[1], b);
  if (store.is_error(quotient) || !whole(store, quotient)) return id;
  return store.mod(store.operands(a)[0], b);
}

// floor_div(a, b) = 0 and mod(a, b) = a for 0 <= a < b; ceil_div(a, b) = 1 for 0 < a <= b.
uint32_t small(Store& store, uint32_t id) {
  const auto [kind, a, b] = parts_of(store, id);
  const Interval range = store.bounds(a);
  if (!range.low || range.low->num < 0) return id;
  if (kind == Kind::kCeilDiv) return range.low->num > 0 && never_above(store, a, b) ? Store::kOne : id;
  if (!always_below(store, a, b)) return id;
  return kind == Kind::kMod ? a : Store::kZero;
}

// A rounded quotient whose bounds meet is that number.
uint32_t pinned(Store& store, uint32_t id) {
  const Interval range = store.bounds(id);
  return range.low && range.high && *range.low == *range.high ? store.constant(*range.low) : id;
}

constexpr Rule kRules[] = {
    {"exact", "floor_div(k*b, b) = k", Kind::kFloorDiv, exact},
    {"exact", "ceil_div(k*b, b) = k", Kind::kCeilDiv, exact},
    {"exact", "mod(k*b, b) = 0", Kind::kMod, exact},
    {"round_up", "floor_div(a + b - 1, b) = ceil_div(a, b) for b > 0", Kind::kFloorDiv, round_up},
    {"split", "floor_div(a + k*b, b) = k + floor_div(a, b)", Kind::kFloorDiv, split},
    {"split", "ceil_div(a + k*b, b) = k + ceil_div(a, b)", Kind::kCeilDiv, split},
    {"split", "mod(a + k*b, b) = mod(a, b)", Kind::kMod, split},
    {"common_factor", "floor_div(a*c, b*c) = floor_div(a, b)", Kind::kFloorDiv, common_factor},
    {"common_factor", "ceil_div(a*c, b*c) = ceil_div(a, b)", Kind::kCeilDiv, common_factor},
    {"common_factor", "mod(a*c, b*c) = c*mod(a, b)", Kind::kMod, common_factor},
    {"nested", "floor_div(floor_div(a, b), c) = floor_div(a, b*c) for c > 0", Kind::kFloorDiv, nested},
    {"nested", "ceil_div(ceil_div(a, b), c) = ceil_div(a, b*c) for c > 0", Kind::kCeilDiv, nested},
    {"nested", "mod(mod(a, k*b), b) = mod(a, b)", Kind::kMod, nested_mod},
    {"small", "floor_div(a, b) = 0 for 0 <= a < b", Kind::kFloorDiv, small},
    {"small", "ceil_div(a, b) = 1 for 0 < a <= b", Kind::kCeilDiv, small},
    {"small", "mod(a, b) = a for 0 <= a < b", Kind::kMod, small},
    {"pinned", "floor_div(a, b) = n for n <= floor_div(a, b) <= n", Kind::kFloorDiv, pinned},
    {"pinned", "ceil_div(a, b) = n for n <= ceil_div(a, b) <= n", Kind::kCeilDiv, pinned},
};

}  // namespace

std::span<const Rule> division_rules() {
  return kRules;
}

}  // namespace archlight::expr
