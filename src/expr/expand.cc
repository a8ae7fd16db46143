// Products over sums distributed, bottom-up.
//
// Bounds  A product of more than kMaxTerms terms, or more than kMaxWork products in all, is an error value.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "expr/internal/store.h"

namespace archlight::expr {
namespace {

constexpr size_t kMaxTerms = 100'000;
constexpr size_t kMaxWork = 300'000;

class Expansion {
 public:
  explicit Expansion(Store& store) : store_(store) {}

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
    if (count > kMaxTerms || work_ > kMaxWork) return too_large();
    std::vector<uint32_t> out;
    out.reserve(count);
    for (uint32_t x : left)
      for (uint32_t y : right) out.push_back(store_.mul(std::array{x, y}));
    return store_.add(out);
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
      if (n.is_integer() && n.num > 1) {
        if (n.num > static_cast<base::Int128>(kMaxTerms)) return too_large();
        uint32_t out = operands[0];
        for (base::Int128 i = 1; i < n.num && !store_.is_error(out); ++i) out = times(out, operands[0]);
        return out;
      }
    }
    return changed ? store_.make(node.kind, operands) : id;
  }

  Store& store_;
  size_t work_ = 0;
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
  const Expr difference = expand(a - b);
  return difference.is_zero();
}

}  // namespace archlight::expr
