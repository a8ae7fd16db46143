// The simplifier's driver and the rules for sums.
//
// A node is simplified when its operands are and no rule matches it. Each result is remembered as its own
// simplification, so a second pass changes nothing.
#include <algorithm>
#include <array>

#include "expr/internal/rules.h"

namespace archlight::expr {
namespace {

// Every rule shortens or normalizes, so rewriting ends; the bound keeps a flaw there from being a hang.
constexpr int kMaxChain = 500;
constexpr size_t kMaxTrialTerms = 64;

// c*b*floor_div(a, b) + c*mod(a, b) = c*a.
uint32_t recomposed(Store& store, uint32_t id) {
  const std::vector<uint32_t> terms(store.operands(id).begin(), store.operands(id).end());
  for (size_t i = 0; i < terms.size(); ++i) {
    if (store.is_constant(terms[i])) continue;
    for (uint32_t factor : store.factors_of(terms[i])) {
      if (store.kind(factor) != Kind::kMod) continue;
      const uint32_t a = store.operands(factor)[0], b = store.operands(factor)[1];
      const uint32_t c = store.divide(terms[i], factor);
      const uint32_t partner = store.mul(std::array{c, b, store.floor_div(a, b)});
      const auto found = std::find(terms.begin(), terms.end(), partner);
      if (found == terms.end()) continue;
      std::vector<uint32_t> rest;
      for (uint32_t term : terms)
        if (term != terms[i] && term != partner) rest.push_back(term);
      rest.push_back(store.mul(std::array{c, a}));
      return store.add(rest);
    }
  }
  return id;
}

// The number of terms that distributing a term's sums makes, saturating at the trial's limit.
size_t expanded_terms(const Store& store, uint32_t term) {
  size_t out = 1;
  if (store.is_constant(term)) return out;
  for (uint32_t factor : store.factors_of(term)) {
    uint32_t base = factor;
    base::Int128 exponent = 1;
    if (store.kind(factor) == Kind::kPow) {
      base = store.operands(factor)[0];
      const uint32_t e = store.operands(factor)[1];
      exponent = store.is_constant(e) ? store.value(e).num : 0;
    }
    if (store.kind(base) != Kind::kAdd) continue;
    for (; exponent > 0 && out <= kMaxTrialTerms; --exponent) out *= store.operands(base).size();
  }
  return out;
}

// a*(b + c) - a*b = a*c: a sum whose expansion is shorter is that expansion.
uint32_t shortened(Store& store, uint32_t id) {
  size_t products = 0, trial = 0;
  for (uint32_t term : store.operands(id)) {
    const size_t count = expanded_terms(store, term);
    if (count > 1) ++products;
    trial += count;
  }
  if (products == 0 || trial > kMaxTrialTerms) return id;
  std::vector<uint32_t> parts;
  for (uint32_t term : std::vector<uint32_t>(store.operands(id).begin(), store.operands(id).end()))
    parts.push_back(expand_in(store, term));
  const uint32_t out = store.add(parts);
  return store.node(out).tree_size < store.node(id).tree_size ? out : id;
}

constexpr Rule kSumRules[] = {
    {"recomposed", "c*b*floor_div(a, b) + c*mod(a, b) = c*a", Kind::kAdd, recomposed},
    {"shortened", "a*(b + c) - a*b = a*c", Kind::kAdd, shortened},
};

class Simplification {
 public:
  Simplification(Store& store, std::vector<std::string_view>* applied) : store_(store), applied_(applied) {}

  uint32_t simplify(uint32_t id) {
    if (store_.node(id).count == 0) return id;
    const auto known = store_.simplify_memo.find(id);
    if (known != store_.simplify_memo.end()) return known->second;
    const uint32_t out = rewrite(id);
    if (chain_ < kMaxChain) store_.simplify_memo[id] = out;
    return out;
  }

 private:
  uint32_t rewrite(uint32_t id) {
    const Kind kind = store_.kind(id);
    std::vector<uint32_t> operands(store_.operands(id).begin(), store_.operands(id).end());
    bool changed = false;
    for (uint32_t& operand : operands) {
      const uint32_t simple = simplify(operand);
      changed |= simple != operand;
      operand = simple;
    }
    if (changed) {
      const uint32_t made = store_.make(kind, operands);
      if (made != id && !store_.is_error(made)) return follow(made);
    }
    if (chain_ >= kMaxChain) return id;
    for (std::span<const Rule> phase : {division_rules(), choice_rules(), std::span<const Rule>(kSumRules)}) {
      for (const Rule& rule : phase) {
        if (rule.on != kind) continue;
        const uint32_t out = rule.rewrite(store_, id);
        // A rewrite that overflows where the form itself does not is no simplification.
        if (out == id || store_.is_error(out)) continue;
        if (applied_) applied_->push_back(rule.name);
        return follow(out);
      }
    }
    return id;
  }

  uint32_t follow(uint32_t id) {
    ++chain_;
    const uint32_t out = simplify(id);
    --chain_;
    return out;
  }

  Store& store_;
  std::vector<std::string_view>* applied_;
  int chain_ = 0;
};

}  // namespace

std::span<const Rule> sum_rules() {
  return kSumRules;
}

Expr simplify(Expr e) {
  return simplify(e, nullptr);
}

Expr simplify(Expr e, std::vector<std::string_view>* applied) {
  Simplification simplification(store_of(e), applied);
  return {e.pool(), simplification.simplify(e.id())};
}

std::vector<RuleInfo> simplify_rules() {
  std::vector<RuleInfo> out;
  for (std::span<const Rule> phase : {division_rules(), choice_rules(), sum_rules()})
    for (const Rule& rule : phase) out.push_back({rule.name, rule.identity});
  return out;
}

}  // namespace archlight::expr
