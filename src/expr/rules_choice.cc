// Rules for min, max, select and the comparisons.
#include <algorithm>
#include <array>

#include "expr/internal/rules.h"

namespace archlight::expr {

bool never_above(Store& store, uint32_t a, uint32_t b) {
  const uint32_t difference = store.subtract(b, a);
  if (store.is_error(difference)) return false;
  const Interval& range = store.bounds(difference);
  return range.low && range.low->num >= 0;
}

bool always_below(Store& store, uint32_t a, uint32_t b) {
  const uint32_t difference = store.subtract(b, a);
  if (store.is_error(difference)) return false;
  const Interval& range = store.bounds(difference);
  return range.low && range.low->num > 0;
}

namespace {

constexpr size_t kMaxPairs = 24;  // operands compared with each other

// min(a, b) = a for a <= b; max(a, b) = b for a <= b.
uint32_t ordered(Store& store, uint32_t id) {
  const Kind kind = store.kind(id);
  std::vector<uint32_t> operands(store.operands(id).begin(), store.operands(id).end());
  if (operands.size() > kMaxPairs) return id;
  const auto makes_idle = [&](uint32_t winner, uint32_t loser) {
    return kind == Kind::kMin ? never_above(store, winner, loser) : never_above(store, loser, winner);
  };
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t j = 0; j < operands.size(); ++j) {
      if (i == j || !makes_idle(operands[i], operands[j])) continue;
      operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(j));
      return store.make(kind, operands);
    }
  }
  return id;
}

// min(a, max(a, b)) = a; max(a, min(a, b)) = a.
uint32_t absorbed(Store& store, uint32_t id) {
  const Kind kind = store.kind(id), other = kind == Kind::kMin ? Kind::kMax : Kind::kMin;
  const Ids operands = store.operands(id);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (store.kind(operands[i]) != other) continue;
    for (uint32_t inner : store.operands(operands[i])) {
      if (std::find(operands.begin(), operands.end(), inner) == operands.end()) continue;
      std::vector<uint32_t> rest(operands.begin(), operands.end());
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      return store.make(kind, rest);
    }
  }
  return id;
}

// select(c, a, b) = a where c is never zero.
uint32_t decided(Store& store, uint32_t id) {
  const Ids parts = store.operands(id);
  const Interval range = store.bounds(parts[0]);
  const bool never_zero = (range.low && range.low->num > 0) || (range.high && range.high->num < 0);
  return never_zero ? parts[1] : id;
}

// select(1 - c, a, b) = select(c, b, a) for c that is 0 or 1.
uint32_t negated(Store& store, uint32_t id) {
  const Ids parts = store.operands(id);
  if (store.kind(parts[0]) != Kind::kAdd || !store.is_boolean(parts[0])) return id;
  const uint32_t c = store.factors_of(store.operands(parts[0])[0])[0];
  return store.select(c, parts[2], parts[1]);
}

// select(c, select(c, a, b), d) = select(c, a, d); select(c, a, select(c, b, d)) = select(c, a, d).
uint32_t repeated(Store& store, uint32_t id) {
  const Ids parts = store.operands(id);
  uint32_t then = parts[1], otherwise = parts[2];
  if (store.kind(then) == Kind::kSelect && store.operands(then)[0] == parts[0])
    then = store.operands(then)[1];
  if (store.kind(otherwise) == Kind::kSelect && store.operands(otherwise)[0] == parts[0])
    otherwise = store.operands(otherwise)[2];
  return then == parts[1] && otherwise == parts[2] ? id : store.select(parts[0], then, otherwise);
}

// select(a < b, a, b) = min(a, b); select(a < b, b, a) = max(a, b); the same with <=.
uint32_t chosen(Store& store, uint32_t id) {
  const Ids parts = store.operands(id);
  const Kind kind = store.kind(parts[0]);
  if (kind != Kind::kLess && kind != Kind::kLessEqual) return id;
  const uint32_t a = store.operands(parts[0])[0], b = store.operands(parts[0])[1];
  if (parts[1] == a && parts[2] == b) return store.min(std::array{a, b});
  if (parts[1] == b && parts[2] == a) return store.max(std::array{a, b});
  return id;
}

// a + c < b + c is a < b, and k*a < k*b is a < b for k > 0; the same with <= and ==.
// Both sides go to one difference, whose positive terms come back on one side and the negative on the other.
uint32_t cancelled(Store& store, uint32_t id) {
  const Ids parts = store.operands(id);
  const uint32_t difference = store.subtract(parts[1], parts[0]);
  if (store.is_error(difference)) return id;
  const std::vector<uint32_t> terms(terms_of(store, difference).begin(), terms_of(store, difference).end());
  const auto coefficient = [&](uint32_t term) {
    return store.is_constant(term) ? store.value(term) : store.coefficient_of(term);
  };
  base::Int128 num = 0, den = 1;
  for (uint32_t term : terms) {
    const Rational c = coefficient(term);
    num = base::gcd(num, c.num);
    const std::optional<base::Int128> lcm = base::checked_mul(den / base::gcd(den, c.den), c.den);
    if (!lcm) return id;
    den = *lcm;
  }
  const std::optional<Rational> scale = num > 0 ? make_rational(den, num) : std::nullopt;
  if (!scale) return id;
  const uint32_t factor = store.constant(*scale), opposite = store.negate(factor);
  std::vector<uint32_t> left, right;
  for (uint32_t term : terms) {
    const bool negative = coefficient(term).num < 0;
    (negative ? left : right).push_back(store.mul(std::array{term, negative ? opposite : factor}));
  }
  const uint32_t a = store.add(left), b = store.add(right);
  return store.make(store.kind(id), std::array{a, b});
}

constexpr Rule kRules[] = {
    {"ordered", "min(a, b) = a for a <= b", Kind::kMin, ordered},
    {"ordered", "max(a, b) = b for a <= b", Kind::kMax, ordered},
    {"absorbed", "min(a, max(a, b)) = a", Kind::kMin, absorbed},
    {"absorbed", "max(a, min(a, b)) = a", Kind::kMax, absorbed},
    {"decided", "select(c, a, b) = a for c that is never 0", Kind::kSelect, decided},
    {"negated", "select(1 - c, a, b) = select(c, b, a) for c that is 0 or 1", Kind::kSelect, negated},
    {"repeated", "select(c, select(c, a, b), d) = select(c, a, d)", Kind::kSelect, repeated},
    {"chosen", "select(a < b, a, b) = min(a, b)", Kind::kSelect, chosen},
    {"cancelled", "(k*a + c < k*b + c) = (a < b) for k > 0", Kind::kLess, cancelled},
    {"cancelled", "(k*a + c <= k*b + c) = (a <= b) for k > 0", Kind::kLessEqual, cancelled},
    {"cancelled", "(k*a + c == k*b + c) = (a == b) for k > 0", Kind::kEqual, cancelled},
};

}  // namespace

std::span<const Rule> choice_rules() {
  return kRules;
}

}  // namespace archlight::expr
