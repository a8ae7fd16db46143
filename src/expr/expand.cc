// Products over sums distributed, bottom-up.
//
// Bounds  A product of more than kMaxTerms terms, or more than kMaxWork products in all, is an error value. The
//         comparisons of one pool share kMaxCompared products: a file may ask for any number of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "expr/internal/store.h"

namespace archlight::expr {
namespace {

constexpr size_t kMaxTerms = 100'000;
constexpr size_t kMaxWork = 300'000;
constexpr size_t kMaxCompared = 100'000;
// A power of a sum overflows beyond: along an edge of its Newton polytope the sum is a polynomial of one
// variable with at least two terms, whose n-th power has a largest coefficient of at least 2^(n/2) over its
// number of terms, 10^5 at most; and where a common denominator makes up for that, it is raised to the n-th
// too.
constexpr base::Int128 kMaxPower = 300;

class Expansion {
 public:
  explicit Expansion(Store& store, size_t most = kMaxWork) : store_(store), most_(most) {}

  size_t work() const { return work_; }

  uint32_t expand(uint32_t id) {
    const auto known = store_.expand_memo.find(id);
    if (known != store_.expand_memo.end()) return known->second;
    uint32_t out = once(id);
    // Exponents can meet while distributing, (a + b)^n * (a + b)^(2 - n), and leave a power to distribute.
    if (out != id && !store_.is_error(out)) out = expand(out);
    store_.expand_memo[id] = out;
    return out;
  }

 private:
  Ids terms_of(const uint32_t& id) const {
    return store_.kind(id) == Kind::kAdd ? store_.operands(id) : Ids{&id, 1};
  }

  uint32_t too_large() {
    return store_.error(fmt::format("the expansion of a product passes {} terms", kMaxTerms));
  }

  uint32_t times(uint32_t a, uint32_t b) {
    if (store_.is_error(a)) return a;
    if (store_.is_error(b)) return b;
    const Ids left = terms_of(a), right = terms_of(b);
    if (left.size() == 1 && right.size() == 1) return store_.mul(std::array{a, b});
    const size_t count = left.size() * right.size();
    work_ += count;
    if (count > kMaxTerms || work_ > most_) return too_large();
    std::vector<uint32_t> out;
    out.reserve(count);
    for (uint32_t x : left)
      for (uint32_t y : right) out.push_back(store_.mul(std::array{x, y}));
    return store_.add(out);
  }

  // (t1 + ... + tk)^n is the sum over e1 + ... + ek = n of n!/(e1!...ek!) * t1^e1*...*tk^ek.
  uint32_t power_of_sum(uint32_t sum, base::Int128 n) {
    if (n > kMaxPower)
      return store_.error(fmt::format("the expansion of a power {} overflows 128 bits", base::to_string(n)));
    const std::vector<uint32_t> terms(store_.operands(sum).begin(), store_.operands(sum).end());
    // C(n + k - 1, k - 1) terms.
    double count = 1;
    for (size_t i = 1; i < terms.size() && count <= kMaxTerms; ++i)
      count *= (static_cast<double>(n) + double(i)) / double(i);
    work_ += static_cast<size_t>(count);
    if (count > kMaxTerms || work_ > most_) return too_large();
    std::vector<uint32_t> out, factors;
    const uint32_t fault = distribute(terms, n, {1, 1}, factors, out);
    return fault != Store::kZero ? fault : store_.add(out);
  }

  // The terms of the sum above over the exponents of `terms`, which add up to `left`; an error's id or kZero.
  uint32_t distribute(Ids terms, base::Int128 left, const Rational& coefficient,
                      std::vector<uint32_t>& factors, std::vector<uint32_t>& out) {
    if (left == 0 || terms.size() == 1) {
      factors.push_back(store_.constant(coefficient));
      if (left != 0) factors.push_back(store_.pow(terms[0], store_.constant({left, 1})));
      out.push_back(store_.mul(factors));
      factors.resize(factors.size() - (left != 0 ? 2 : 1));
      return store_.is_error(out.back()) ? out.back() : Store::kZero;
    }
    Rational c = coefficient;
    for (base::Int128 e = 0; e <= left; ++e) {
      if (e != 0) {
        factors.push_back(store_.pow(terms[0], store_.constant({e, 1})));
        // C(left, e) = C(left, e - 1) * (left - e + 1) / e
        const Rational step = *make_rational(left - e + 1, e);
        const std::optional<Rational> next = multiply(c, step);
        if (!next) return store_.error(fault_of(Kind::kMul, std::array{c, step}));
        c = *next;
      }
      const uint32_t fault = distribute(terms.subspan(1), left - e, c, factors, out);
      if (fault != Store::kZero) return fault;
      if (e != 0) factors.pop_back();
    }
    return Store::kZero;
  }

  uint32_t once(uint32_t id) {
    const Node node = store_.node(id);
    if (node.count == 0) return id;
    std::vector<uint32_t> operands;
    bool changed = false;
    for (uint32_t operand : store_.operands(id)) {
      operands.push_back(expand(operand));
      changed |= operands.back() != operand;
    }
    if (node.kind == Kind::kMul) {
      uint32_t out = operands[0];
      for (size_t i = 1; i < operands.size(); ++i) out = times(out, operands[i]);
      return out;
    }
    if (node.kind == Kind::kPow && store_.kind(operands[0]) == Kind::kAdd &&
        store_.is_constant(operands[1])) {
      const Rational n = store_.value(operands[1]);
      if (n.is_integer() && n.num > 1) return power_of_sum(operands[0], n.num);
    }
    return changed ? store_.make(node.kind, operands) : id;
  }

  Store& store_;
  size_t most_, work_ = 0;
};

}  // namespace

uint32_t expand_in(Store& store, uint32_t id) {
  Expansion expansion(store);
  return expansion.expand(id);
}

Expr expand(Expr e) {
  return {e.pool(), expand_in(store_of(e), e.id())};
}

bool same_value(Expr a, Expr b) {
  assert(a.pool() == b.pool() && "two expressions are compared in one pool");
  if (a == b) return true;
  Store& store = store_of(a);
  Expansion expansion(store, kMaxCompared - store.compared);
  const uint32_t difference = expansion.expand((a - b).id());
  store.compared = std::min(kMaxCompared, store.compared + expansion.work());
  return difference == Store::kZero;
}

}  // namespace archlight::expr
