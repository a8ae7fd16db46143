// Passes over an expression that leave its pool's memos alone: evaluate, substitute, copy, symbols.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <unordered_set>

#include "expr/internal/store.h"

namespace archlight::expr {
namespace {

// Every node once, operands before the nodes that hold them.
std::vector<uint32_t> reachable(const Store& store, uint32_t root) {
  std::vector<uint32_t> out{root};
  std::unordered_set<uint32_t> seen{root};
  for (size_t i = 0; i < out.size(); ++i)
    for (uint32_t operand : store.operands(out[i]))
      if (seen.insert(operand).second) out.push_back(operand);
  std::sort(out.begin(), out.end());
  return out;
}

class Evaluation {
 public:
  using Lookup = std::function<std::optional<Rational>(std::string_view)>;
  Evaluation(const Store& store, const Lookup& value_of) : store_(store), value_of_(value_of) {}

  // None after a fault, which fault() tells.
  std::optional<Rational> value(uint32_t id) {
    if (store_.is_constant(id)) return store_.value(id);
    const auto known = memo_.find(id);
    if (known != memo_.end()) return known->second;
    const std::optional<Rational> found = value_of_node(id);
    if (found) memo_.emplace(id, *found);
    return found;
  }
  const std::string& fault() const { return fault_; }

 private:
  std::optional<Rational> value_of_node(uint32_t id) {
    const Kind kind = store_.kind(id);
    if (kind == Kind::kSymbol) {
      const std::string& name = store_.symbol_info(id).name;
      std::optional<Rational> found = value_of_(name);
      if (!found) fault_ = fmt::format("'{}' has no value", name);
      return found;
    }
    if (kind == Kind::kError) {
      fault_ = store_.errors[store_.node(id).payload];
      return std::nullopt;
    }
    const Ids operands = store_.operands(id);
    if (kind == Kind::kSelect) {
      const std::optional<Rational> condition = value(operands[0]);
      if (!condition) return std::nullopt;
      return value(operands[condition->num != 0 ? 1 : 2]);
    }
    std::vector<Rational> values;
    values.reserve(operands.size());
    for (uint32_t operand : operands) {
      const std::optional<Rational> v = value(operand);
      if (!v) return std::nullopt;
      values.push_back(*v);
    }
    std::optional<Rational> out = compute(kind, values);
    if (!out) fault_ = fault_of(kind, values);
    return out;
  }

  const Store& store_;
  const Lookup& value_of_;
  std::unordered_map<uint32_t, Rational> memo_;
  std::string fault_;
};

}  // namespace

base::Result<Rational> evaluate(Expr e,
                                const std::function<std::optional<Rational>(std::string_view)>& value_of) {
  Evaluation evaluation(store_of(e), value_of);
  if (const std::optional<Rational> value = evaluation.value(e.id())) return *value;
  base::Diagnostic fault;
  fault.wrong = evaluation.fault();
  return fault;
}

Expr substitute(Expr e, const std::function<std::optional<Expr>(std::string_view)>& value_of) {
  Store& store = store_of(e);
  std::unordered_map<uint32_t, uint32_t> become;
  std::vector<uint32_t> operands;
  for (uint32_t id : reachable(store, e.id())) {
    uint32_t out = id;
    if (store.kind(id) == Kind::kSymbol) {
      if (const std::optional<Expr> value = value_of(store.symbol_info(id).name)) {
        assert(value->pool() == e.pool() && "a symbol is replaced by an expression of its own pool");
        out = value->id();
      }
    } else if (store.node(id).count != 0) {
      operands.clear();
      bool changed = false;
      for (uint32_t operand : store.operands(id)) {
        operands.push_back(become.at(operand));
        changed |= operands.back() != operand;
      }
      if (changed) out = store.make(store.kind(id), operands);
    }
    become.emplace(id, out);
  }
  return {e.pool(), become.at(e.id())};
}

Expr copy_to(Expr e, ExprPool& pool) {
  if (e.pool() == &pool) return e;
  const Store& from = store_of(e);
  Store& to = PoolAccess::store(pool);
  std::unordered_map<uint32_t, uint32_t> become;
  std::vector<uint32_t> operands;
  for (uint32_t id : reachable(from, e.id())) {
    uint32_t out = 0;
    switch (from.kind(id)) {
      case Kind::kConstant:
        out = to.constant(from.value(id));
        break;
      case Kind::kSymbol: {
        const SymbolInfo& symbol = from.symbol_info(id);
        out = to.symbol(symbol.name, symbol.bounds, symbol.integral);
        break;
      }
      case Kind::kError:
        out = to.error(from.errors[from.node(id).payload]);
        break;
      default:
        operands.clear();
        for (uint32_t operand : from.operands(id)) operands.push_back(become.at(operand));
        out = to.make(from.kind(id), operands);
    }
    become.emplace(id, out);
  }
  return {&pool, become.at(e.id())};
}

std::vector<std::string> symbols_of(Expr e) {
  const Store& store = store_of(e);
  std::vector<std::string> out;
  for (uint32_t id : reachable(store, e.id()))
    if (store.kind(id) == Kind::kSymbol) out.push_back(store.symbol_info(id).name);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace archlight::expr
