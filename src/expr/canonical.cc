// The canonical constructors.
//
// Conventions  x/x is 1 and 0*x is 0 also where x may be zero: a form stands for its value wherever it has one. 0^0
//              is 1. Errors pass through every operation, except the branch that a decided select drops.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <memory_resource>

#include "expr/internal/store.h"

namespace archlight::expr {
namespace {

// A vector whose first elements live on the stack.
template <typename T>
class Local {
 public:
  Local() : resource_(buffer_.data(), buffer_.size()), values(&resource_) { values.reserve(kInline); }

 private:
  static constexpr size_t kInline = 12;
  alignas(std::max_align_t) std::array<std::byte, kInline * sizeof(T) + 16> buffer_;
  std::pmr::monotonic_buffer_resource resource_;

 public:
  std::pmr::vector<T> values;
};

// A term of a sum while it is being collected.
struct Term {
  Rational coefficient;
  uint32_t like;  // a node with the same factors, of any coefficient
  bool exact;     // `like` has this coefficient too
};

// Terms up to `end` that follow the run before: those of one sum, in its order, or loose ones.
struct Run {
  size_t end;
  bool sorted;
};

// Merges runs in pairs until one is left. Adding a term to a long sum, as a total does at every step, costs a
// binary search and a move instead of a sort.
template <typename Before>
void sort_runs(std::pmr::vector<Term>& terms, std::pmr::vector<Run>& runs, Before before) {
  constexpr std::ptrdiff_t kFew = 8;
  size_t start = 0;
  for (const Run& run : runs) {
    const auto first = terms.begin() + static_cast<std::ptrdiff_t>(start);
    const auto last = terms.begin() + static_cast<std::ptrdiff_t>(run.end);
    if (!run.sorted) std::sort(first, last, before);
    start = run.end;
  }
  while (runs.size() > 1) {
    size_t kept = 0;
    start = 0;
    for (size_t i = 0; i < runs.size(); i += 2) {
      if (i + 1 < runs.size()) {
        const auto first = terms.begin() + static_cast<std::ptrdiff_t>(start);
        const auto last = terms.begin() + static_cast<std::ptrdiff_t>(runs[i + 1].end);
        auto middle = terms.begin() + static_cast<std::ptrdiff_t>(runs[i].end);
        if (middle - first < last - middle) middle = std::rotate(first, middle, last);
        if (last - middle <= kFew) {
          for (; middle != last; ++middle)
            std::rotate(std::upper_bound(first, middle, *middle, before), middle, middle + 1);
        } else {
          std::inplace_merge(first, middle, last, before);
        }
      }
      const size_t end = runs[std::min(i + 1, runs.size() - 1)].end;
      runs[kept++] = {end, true};
      start = end;
    }
    runs.resize(kept);
  }
}

// A power in a product while it is being collected.
struct Power {
  uint32_t base;
  uint32_t exponent;
  uint32_t exact;  // the node base^exponent
};

// The order of factors by kind: what a reader expects first.
int rank(Kind kind) {
  switch (kind) {
    case Kind::kSymbol:
      return 0;
    case Kind::kFloorDiv:
    case Kind::kCeilDiv:
    case Kind::kMod:
    case Kind::kMin:
    case Kind::kMax:
    case Kind::kSelect:
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kEqual:
      return 1;
    case Kind::kPow:
      return 2;
    case Kind::kAdd:
      return 3;
    case Kind::kMul:
      return 4;
    case Kind::kConstant:
      return 5;
    case Kind::kError:
      return 6;
  }
  return 7;
}

}  // namespace

Ids ExprPool::Store::factors_of(const uint32_t& self) const {
  const Node& n = nodes[self];
  if (n.kind != Kind::kMul) return {&self, 1};
  const size_t skip = is_constant(n.operands[0]) ? 1 : 0;
  return Ids{n.operands, n.count}.subspan(skip);
}

Rational ExprPool::Store::coefficient_of(uint32_t id) const {
  return has_coefficient(id) ? value(nodes[id].operands[0]) : Rational{1, 1};
}

int ExprPool::Store::compare_terms(uint32_t a, uint32_t b) const {
  if (a == b) return 0;
  const bool constant_a = is_constant(a), constant_b = is_constant(b);
  if (constant_a || constant_b) {
    if (constant_a && constant_b) return compare(value(b), value(a));
    return constant_a ? 1 : -1;
  }
  if (nodes[a].degree != nodes[b].degree) return nodes[a].degree > nodes[b].degree ? -1 : 1;
  const Ids fa = factors_of(a), fb = factors_of(b);
  // Equal forms have equal ids, so the first pair that differs decides.
  for (size_t i = 0; i < std::min(fa.size(), fb.size()); ++i)
    if (fa[i] != fb[i]) return compare_factors(fa[i], fb[i]);
  if (fa.size() != fb.size()) return fa.size() < fb.size() ? -1 : 1;
  return compare(coefficient_of(b), coefficient_of(a));
}

int ExprPool::Store::compare_factors(uint32_t a, uint32_t b) const {
  if (a == b) return 0;
  const auto split = [this](uint32_t id) -> std::array<uint32_t, 2> {
    if (nodes[id].kind == Kind::kPow) return {nodes[id].operands[0], nodes[id].operands[1]};
    return {id, kOne};
  };
  const auto [base_a, exponent_a] = split(a);
  const auto [base_b, exponent_b] = split(b);
  if (base_a == base_b) return compare_terms(exponent_a, exponent_b);
  const Node &na = nodes[base_a], &nb = nodes[base_b];
  if (rank(na.kind) != rank(nb.kind)) return rank(na.kind) < rank(nb.kind) ? -1 : 1;
  if (na.kind != nb.kind) return na.kind < nb.kind ? -1 : 1;
  switch (na.kind) {
    case Kind::kSymbol:
      return symbols[na.payload].name < symbols[nb.payload].name ? -1 : 1;
    case Kind::kConstant:
      return compare(constants[na.payload], constants[nb.payload]);
    case Kind::kError:
      return errors[na.payload] < errors[nb.payload] ? -1 : 1;
    case Kind::kMul:
      return compare_terms(base_a, base_b);
    default:
      break;
  }
  for (uint32_t i = 0; i < std::min(na.count, nb.count); ++i)
    if (na.operands[i] != nb.operands[i]) return compare_terms(na.operands[i], nb.operands[i]);
  return na.count < nb.count ? -1 : 1;
}

uint32_t ExprPool::Store::add(Ids in) {
  Rational constant_part{0, 1};
  Local<Term> local;
  auto& terms = local.values;
  uint32_t fault = kZero;
  const auto add_constant = [&](const Rational& v) {
    if (const auto sum = expr::add(constant_part, v)) {
      constant_part = *sum;
      return true;
    }
    fault = error(fault_of(Kind::kAdd, std::array{constant_part, v}));
    return false;
  };
  // A term times `scale`, which is 1 but for the terms of a sum that a number multiplies.
  const auto take = [&](uint32_t id, const Rational& scale) {
    const bool plain = scale == Rational{1, 1};
    const bool number = is_constant(id);
    Rational coefficient = number ? value(id) : coefficient_of(id);
    if (!plain) {
      const auto product = multiply(coefficient, scale);
      if (!product) {
        fault = error(fault_of(Kind::kMul, std::array{coefficient, scale}));
        return false;
      }
      coefficient = *product;
    }
    if (number) return add_constant(coefficient);
    terms.push_back({coefficient, id, plain});
    return true;
  };
  Local<Run> runs;
  for (uint32_t id : in) {
    if (is_error(id)) return id;
    const Ids factors = factors_of(id);
    if (factors.size() == 1 && kind(factors[0]) == Kind::kAdd) {
      const Rational scale = coefficient_of(id);
      for (uint32_t term : operands(factors[0]))
        if (!take(term, scale)) return fault;
      runs.values.push_back({terms.size(), true});
    } else {
      if (!take(id, {1, 1})) return fault;
      if (!runs.values.empty() && !runs.values.back().sorted)
        runs.values.back().end = terms.size();
      else
        runs.values.push_back({terms.size(), false});
    }
  }
  const auto same_factors = [this](const Term& a, const Term& b) {
    if (a.like == b.like) return true;
    const Ids fa = factors_of(a.like), fb = factors_of(b.like);
    return std::equal(fa.begin(), fa.end(), fb.begin(), fb.end());
  };
  const auto before = [this](const Term& a, const Term& b) { return compare_terms(a.like, b.like) < 0; };
  sort_runs(terms, runs.values, before);
  size_t kept = 0;
  for (size_t i = 0; i < terms.size();) {
    Term term = terms[i];
    size_t j = i + 1;
    for (; j < terms.size() && same_factors(terms[i], terms[j]); ++j) {
      const auto sum = expr::add(term.coefficient, terms[j].coefficient);
      if (!sum) return error(fault_of(Kind::kAdd, std::array{term.coefficient, terms[j].coefficient}));
      term.coefficient = *sum;
      term.exact = false;
    }
    i = j;
    if (term.coefficient.num != 0) terms[kept++] = term;
  }
  terms.resize(kept);
  for (Term& term : terms) {
    if (term.exact) continue;
    const uint32_t like = term.like;  // factors_of() may point at it
    const Ids factors = factors_of(like);
    if (term.coefficient == Rational{1, 1} && factors.size() == 1) {
      term.like = factors[0];
      continue;
    }
    Local<uint32_t> ids;
    if (term.coefficient != Rational{1, 1}) ids.values.push_back(constant(term.coefficient));
    ids.values.insert(ids.values.end(), factors.begin(), factors.end());
    term.like = intern(Kind::kMul, ids.values);
    if (is_error(term.like)) return term.like;
  }
  if (terms.empty()) return constant(constant_part);
  if (terms.size() == 1 && constant_part.num == 0) return terms[0].like;
  Local<uint32_t> ids;
  for (const Term& term : terms) ids.values.push_back(term.like);
  if (constant_part.num != 0) ids.values.push_back(constant(constant_part));
  return intern(Kind::kAdd, ids.values);
}

uint32_t ExprPool::Store::mul(Ids in) {
  Rational coefficient{1, 1};
  Local<Power> local;
  auto& powers = local.values;
  uint32_t fault = kZero;
  const auto take = [&](uint32_t id) {
    const Node& n = nodes[id];
    if (n.kind == Kind::kConstant) {
      const auto product = multiply(coefficient, constants[n.payload]);
      if (!product) {
        fault = error(fault_of(Kind::kMul, std::array{coefficient, constants[n.payload]}));
        return false;
      }
      coefficient = *product;
    } else if (n.kind == Kind::kPow) {
      powers.push_back({n.operands[0], n.operands[1], id});
    } else {
      powers.push_back({id, kOne, id});
    }
    return true;
  };
  const auto take_all = [&](uint32_t id) {
    if (kind(id) != Kind::kMul) return take(id);
    for (uint32_t factor : operands(id))
      if (!take(factor)) return false;
    return true;
  };
  for (uint32_t id : in)
    if (is_error(id)) return id;
  for (uint32_t id : in)
    if (!take_all(id)) return fault;
  // Adding exponents can give a product again, (x*y)^n * (x*y)^(2 - n), whose factors join in another round.
  for (bool again = coefficient.num != 0; again;) {
    again = false;
    const auto before = [this](const Power& a, const Power& b) {
      return compare_factors(a.exact, b.exact) < 0;
    };
    if (!std::is_sorted(powers.begin(), powers.end(), before))
      std::sort(powers.begin(), powers.end(), before);
    size_t kept = 0;
    Local<uint32_t> merged;
    for (size_t i = 0; i < powers.size();) {
      size_t j = i + 1;
      while (j < powers.size() && powers[j].base == powers[i].base) ++j;
      if (j == i + 1) {
        powers[kept++] = powers[i];
      } else {
        Local<uint32_t> exponents;
        for (size_t k = i; k < j; ++k) exponents.values.push_back(powers[k].exponent);
        const uint32_t exponent = add(exponents.values);
        const uint32_t power = pow(powers[i].base, exponent);
        if (is_error(power)) return power;
        merged.values.push_back(power);
      }
      i = j;
    }
    powers.resize(kept);
    for (uint32_t power : merged.values)
      if (!take_all(power)) return fault;
    again = !merged.values.empty() && coefficient.num != 0;
  }
  if (coefficient.num == 0) return kZero;
  if (powers.empty()) return constant(coefficient);
  const bool one = coefficient == Rational{1, 1};
  if (one && powers.size() == 1) return powers[0].exact;
  Local<uint32_t> ids;
  if (!one) ids.values.push_back(constant(coefficient));
  for (const Power& power : powers) ids.values.push_back(power.exact);
  return intern(Kind::kMul, ids.values);
}

uint32_t ExprPool::Store::pow(uint32_t base, uint32_t exponent) {
  if (is_error(base)) return base;
  if (is_error(exponent)) return exponent;
  if (!is_constant(exponent)) {
    if (base == kOne) return kOne;
    // (b^m)^n = b^(m*n) for whole m and n.
    if (kind(base) == Kind::kPow && nodes[exponent].integral) {
      const uint32_t inner = nodes[base].operands[1], root = nodes[base].operands[0];
      if (nodes[inner].integral) return pow(root, mul(std::array{inner, exponent}));
    }
    return intern(Kind::kPow, std::array{base, exponent});
  }
  const Rational n = value(exponent);
  if (is_constant(base)) {
    const std::array values{value(base), n};
    const auto folded = compute(Kind::kPow, values);
    return folded ? constant(*folded) : error(fault_of(Kind::kPow, values));
  }
  if (!n.is_integer()) return error(fmt::format("the exponent {} is not whole", to_string(n)));
  if (n.num == 0) return kOne;
  if (n.num == 1) return base;
  // (b^m)^n = b^(m*n) for whole n, whatever m is.
  if (kind(base) == Kind::kPow) {
    const uint32_t inner = nodes[base].operands[1], root = nodes[base].operands[0];
    return pow(root, mul(std::array{inner, exponent}));
  }
  // (x*y)^n = x^n * y^n for whole n.
  if (kind(base) == Kind::kMul) {
    Local<uint32_t> factors;
    const size_t count = nodes[base].count;
    for (size_t i = 0; i < count; ++i) factors.values.push_back(pow(operands(base)[i], exponent));
    return mul(factors.values);
  }
  return intern(Kind::kPow, std::array{base, exponent});
}

uint32_t ExprPool::Store::rounded_division(Kind kind, uint32_t a, uint32_t b) {
  if (is_error(a)) return a;
  if (is_error(b)) return b;
  if (is_constant(b)) {
    const Rational divisor = value(b);
    if (is_constant(a)) {
      const std::array values{value(a), divisor};
      const auto folded = compute(kind, values);
      return folded ? constant(*folded) : error(fault_of(kind, values));
    }
    if (divisor.num == 0) return error("a division by zero");
    if ((b == kOne || b == kMinusOne) && nodes[a].integral) {
      if (kind == Kind::kMod) return kZero;
      return b == kOne ? a : negate(a);
    }
  }
  if (a == kZero) return kZero;
  return intern(kind, std::array{a, b});
}

uint32_t ExprPool::Store::floor_div(uint32_t a, uint32_t b) {
  return rounded_division(Kind::kFloorDiv, a, b);
}
uint32_t ExprPool::Store::ceil_div(uint32_t a, uint32_t b) {
  return rounded_division(Kind::kCeilDiv, a, b);
}
uint32_t ExprPool::Store::mod(uint32_t a, uint32_t b) {
  return rounded_division(Kind::kMod, a, b);
}

uint32_t ExprPool::Store::extremum(Kind kind, Ids in) {
  assert(!in.empty() && "min and max need an operand");
  Local<uint32_t> local;
  auto& ids = local.values;
  std::optional<Rational> limit;
  const auto take = [&](uint32_t id) {
    if (!is_constant(id)) {
      ids.push_back(id);
      return;
    }
    const int order = limit ? compare(value(id), *limit) : 0;
    if (!limit || (kind == Kind::kMin ? order < 0 : order > 0)) limit = value(id);
  };
  for (uint32_t id : in)
    if (is_error(id)) return id;
  for (uint32_t id : in) {
    if (this->kind(id) == kind)
      for (uint32_t operand : operands(id)) take(operand);
    else
      take(id);
  }
  std::sort(ids.begin(), ids.end(), [this](uint32_t a, uint32_t b) { return compare_terms(a, b) < 0; });
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (limit) ids.push_back(constant(*limit));
  return ids.size() == 1 ? ids[0] : intern(kind, ids);
}

bool ExprPool::Store::is_boolean(uint32_t id) const {
  switch (kind(id)) {
    case Kind::kConstant:
      return id == kZero || id == kOne;
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kEqual:
      return true;
    case Kind::kSelect:
      return is_boolean(operands(id)[1]) && is_boolean(operands(id)[2]);
    case Kind::kAdd: {  // 1 - x
      const Ids terms = operands(id);
      if (terms.size() != 2 || terms[1] != kOne || coefficient_of(terms[0]) != Rational{-1, 1}) return false;
      const Ids factors = factors_of(terms[0]);
      return factors.size() == 1 && is_boolean(factors[0]);
    }
    default:
      return false;
  }
}

uint32_t ExprPool::Store::select(uint32_t condition, uint32_t then, uint32_t otherwise) {
  if (is_error(condition)) return condition;
  if (is_constant(condition)) return value(condition).num != 0 ? then : otherwise;
  if (is_error(then)) return then;
  if (is_error(otherwise)) return otherwise;
  if (then == otherwise) return then;
  if (then == kOne && otherwise == kZero && is_boolean(condition)) return condition;
  return intern(Kind::kSelect, std::array{condition, then, otherwise});
}

uint32_t ExprPool::Store::comparison(Kind kind, uint32_t a, uint32_t b) {
  if (is_error(a)) return a;
  if (is_error(b)) return b;
  if (a == b) return kind == Kind::kLess ? kZero : kOne;
  if (is_constant(a) && is_constant(b)) {
    const std::array values{value(a), value(b)};
    return constant(*compute(kind, values));
  }
  // The sign of b - a, as far as its bounds tell. A difference that overflows tells nothing.
  const uint32_t difference = subtract(b, a);
  if (!is_error(difference)) {
    const Interval& range = bounds(difference);
    const bool positive = range.low && range.low->num > 0, negative = range.high && range.high->num < 0;
    const bool not_negative = range.low && range.low->num >= 0;
    const bool not_positive = range.high && range.high->num <= 0;
    switch (kind) {
      case Kind::kLess:
        if (positive) return kOne;
        if (not_positive) return kZero;
        break;
      case Kind::kLessEqual:
        if (not_negative) return kOne;
        if (negative) return kZero;
        break;
      default:
        if (positive || negative) return kZero;
        if (not_negative && not_positive) return kOne;
        break;
    }
  }
  if (kind == Kind::kEqual && compare_terms(b, a) < 0) std::swap(a, b);
  return intern(kind, std::array{a, b});
}

uint32_t ExprPool::Store::less(uint32_t a, uint32_t b) {
  return comparison(Kind::kLess, a, b);
}
uint32_t ExprPool::Store::less_equal(uint32_t a, uint32_t b) {
  return comparison(Kind::kLessEqual, a, b);
}
uint32_t ExprPool::Store::equal(uint32_t a, uint32_t b) {
  return comparison(Kind::kEqual, a, b);
}

uint32_t ExprPool::Store::negate(uint32_t a) {
  return mul(std::array{kMinusOne, a});
}
uint32_t ExprPool::Store::subtract(uint32_t a, uint32_t b) {
  return add(std::array{a, negate(b)});
}

uint32_t ExprPool::Store::divide(uint32_t a, uint32_t b) {
  if (is_error(a)) return a;
  if (b == kZero)
    return error(is_constant(a) ? to_string(value(a)) + " / 0 divides by zero" : "a division by zero");
  return mul(std::array{a, pow(b, kMinusOne)});
}

uint32_t ExprPool::Store::make(Kind kind, Ids ids) {
  switch (kind) {
    case Kind::kAdd:
      return add(ids);
    case Kind::kMul:
      return mul(ids);
    case Kind::kPow:
      return pow(ids[0], ids[1]);
    case Kind::kFloorDiv:
      return floor_div(ids[0], ids[1]);
    case Kind::kCeilDiv:
      return ceil_div(ids[0], ids[1]);
    case Kind::kMod:
      return mod(ids[0], ids[1]);
    case Kind::kMin:
      return min(ids);
    case Kind::kMax:
      return max(ids);
    case Kind::kSelect:
      return select(ids[0], ids[1], ids[2]);
    case Kind::kLess:
      return less(ids[0], ids[1]);
    case Kind::kLessEqual:
      return less_equal(ids[0], ids[1]);
    case Kind::kEqual:
      return equal(ids[0], ids[1]);
    case Kind::kConstant:
    case Kind::kSymbol:
    case Kind::kError:
      break;
  }
  assert(false && "a leaf has no operands to make it of");
  return kZero;
}

namespace {

void assert_same_pool([[maybe_unused]] const Expr& a, [[maybe_unused]] const Expr& b) {
  assert(a.pool() && a.pool() == b.pool() && "operands of one operation live in one pool");
}

template <uint32_t (Store::*Make)(uint32_t, uint32_t)>
Expr binary(Expr a, Expr b) {
  assert_same_pool(a, b);
  return {a.pool(), (store_of(a).*Make)(a.id(), b.id())};
}

}  // namespace

Expr ExprPool::add(std::span<const Expr> terms) {
  std::vector<uint32_t> ids;
  ids.reserve(terms.size());
  for (const Expr& term : terms) {
    assert(term.pool() == this && "operands of one operation live in one pool");
    ids.push_back(term.id());
  }
  return {this, store_->add(ids)};
}

Expr ExprPool::mul(std::span<const Expr> factors) {
  std::vector<uint32_t> ids;
  ids.reserve(factors.size());
  for (const Expr& factor : factors) {
    assert(factor.pool() == this && "operands of one operation live in one pool");
    ids.push_back(factor.id());
  }
  return {this, store_->mul(ids)};
}

Expr ExprPool::pow(Expr a, Expr b) {
  return binary<&Store::pow>(a, b);
}
Expr ExprPool::floor_div(Expr a, Expr b) {
  return binary<&Store::floor_div>(a, b);
}
Expr ExprPool::ceil_div(Expr a, Expr b) {
  return binary<&Store::ceil_div>(a, b);
}
Expr ExprPool::mod(Expr a, Expr b) {
  return binary<&Store::mod>(a, b);
}
Expr ExprPool::less(Expr a, Expr b) {
  return binary<&Store::less>(a, b);
}
Expr ExprPool::less_equal(Expr a, Expr b) {
  return binary<&Store::less_equal>(a, b);
}
Expr ExprPool::equal(Expr a, Expr b) {
  return binary<&Store::equal>(a, b);
}

Expr ExprPool::min(Expr a, Expr b) {
  assert_same_pool(a, b);
  return {this, store_->min(std::array{a.id(), b.id()})};
}

Expr ExprPool::max(Expr a, Expr b) {
  assert_same_pool(a, b);
  return {this, store_->max(std::array{a.id(), b.id()})};
}

Expr ExprPool::select(Expr condition, Expr then, Expr otherwise) {
  assert_same_pool(condition, then);
  assert_same_pool(condition, otherwise);
  return {this, store_->select(condition.id(), then.id(), otherwise.id())};
}

Expr operator+(Expr a, Expr b) {
  assert_same_pool(a, b);
  return {a.pool(), store_of(a).add(std::array{a.id(), b.id()})};
}

Expr operator*(Expr a, Expr b) {
  assert_same_pool(a, b);
  return {a.pool(), store_of(a).mul(std::array{a.id(), b.id()})};
}

Expr operator-(Expr a, Expr b) {
  return binary<&Store::subtract>(a, b);
}
Expr operator/(Expr a, Expr b) {
  return binary<&Store::divide>(a, b);
}
Expr operator-(Expr a) {
  return {a.pool(), store_of(a).negate(a.id())};
}
Expr operator+(Expr a, int64_t b) {
  return a + a.pool()->constant(base::Int128{b});
}
Expr operator-(Expr a, int64_t b) {
  return a - a.pool()->constant(base::Int128{b});
}
Expr operator*(Expr a, int64_t b) {
  return a * a.pool()->constant(base::Int128{b});
}
Expr operator*(int64_t a, Expr b) {
  return b * a;
}
Expr operator/(Expr a, int64_t b) {
  return a / a.pool()->constant(base::Int128{b});
}

}  // namespace archlight::expr
