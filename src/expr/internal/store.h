// store.h: the nodes of a pool, and the canonical constructors on their ids.
//
// Order   Operands exist before the node that holds them, so ids are a topological order.
// Bounds  A node is at most kMaxHeight levels above its deepest leaf (beyond is an error value), so passes may
//         recurse. Shared nodes can make the written-out tree exponentially larger than the pool; tree_size counts
//         it, saturating, and printing refuses above kMaxPrinted.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "expr/expr.h"

namespace archlight::expr {

constexpr uint32_t kMaxHeight = 2000;
constexpr uint32_t kMaxPrinted = 200'000;

struct Node {
  Kind kind = Kind::kConstant;
  bool integral = false;
  uint16_t height = 0;
  int16_t degree = 0;  // as a monomial; calls count as one variable
  uint32_t hash = 0;
  uint32_t tree_size = 1;
  uint32_t count = 0;    // operands
  uint32_t payload = 0;  // index of a leaf's value
  const uint32_t* operands = nullptr;
};

struct SymbolInfo {
  std::string name;
  Interval bounds;
  bool integral = true;
};

using Ids = std::span<const uint32_t>;

struct ExprPool::Store {
  static constexpr uint32_t kZero = 0, kOne = 1, kMinusOne = 2;  // made first in every pool

  Store();

  const Node& node(uint32_t id) const { return nodes[id]; }
  Kind kind(uint32_t id) const { return nodes[id].kind; }
  Ids operands(uint32_t id) const { return {nodes[id].operands, nodes[id].count}; }
  bool is_constant(uint32_t id) const { return nodes[id].kind == Kind::kConstant; }
  bool is_error(uint32_t id) const { return nodes[id].kind == Kind::kError; }
  const Rational& value(uint32_t id) const { return constants[nodes[id].payload]; }
  const SymbolInfo& symbol_info(uint32_t id) const { return symbols[nodes[id].payload]; }

  uint32_t constant(const Rational& value);
  uint32_t symbol(std::string_view name, const Interval& bounds, bool integral);
  uint32_t error(std::string text);
  // The node of that kind and those operands, as they are: callers hold the canonical form.
  uint32_t intern(Kind kind, Ids operands);

  uint32_t add(Ids terms);
  uint32_t mul(Ids factors);
  uint32_t pow(uint32_t base, uint32_t exponent);
  uint32_t floor_div(uint32_t a, uint32_t b);
  uint32_t ceil_div(uint32_t a, uint32_t b);
  uint32_t mod(uint32_t a, uint32_t b);
  uint32_t min(Ids operands) { return extremum(Kind::kMin, operands); }
  uint32_t max(Ids operands) { return extremum(Kind::kMax, operands); }
  uint32_t select(uint32_t condition, uint32_t then, uint32_t otherwise);
  uint32_t less(uint32_t a, uint32_t b);
  uint32_t less_equal(uint32_t a, uint32_t b);
  uint32_t equal(uint32_t a, uint32_t b);
  uint32_t negate(uint32_t a);
  uint32_t subtract(uint32_t a, uint32_t b);
  uint32_t divide(uint32_t a, uint32_t b);
  // The constructor of that kind, which may fold to another.
  uint32_t make(Kind kind, Ids operands);
  // 0 or 1 and nothing else, as far as its form shows.
  bool is_boolean(uint32_t id) const;

  // The order of operands in sums and in products: a total order of forms, equal only for equal ids and the
  // same in every pool. Sums put higher degrees first and the constant last, products put symbols by name
  // before calls before sums.
  int compare_terms(uint32_t a, uint32_t b) const;
  int compare_factors(uint32_t a, uint32_t b) const;
  // The non-constant factors of a term; `self` holds the id when the term is a single factor.
  Ids factors_of(const uint32_t& self) const;
  Rational coefficient_of(uint32_t id) const;
  bool has_coefficient(uint32_t id) const {
    return nodes[id].kind == Kind::kMul && is_constant(nodes[id].operands[0]);
  }

  const Interval& bounds(uint32_t id);

  std::vector<Node> nodes;
  std::vector<uint32_t> table;  // open addressing; kEmpty or an id
  std::vector<Rational> constants;
  std::deque<SymbolInfo> symbols;  // a deque, since names are handed out as views
  std::deque<std::string> errors;
  std::unordered_map<uint32_t, Interval> bounds_memo;
  std::unordered_map<uint32_t, uint32_t> expand_memo;
  size_t compared = 0;  // products that same_value() has made
  std::unordered_map<uint32_t, uint32_t> simplify_memo;

 private:
  uint32_t extremum(Kind kind, Ids operands);
  uint32_t rounded_division(Kind kind, uint32_t a, uint32_t b);
  uint32_t comparison(Kind kind, uint32_t a, uint32_t b);
  // The slot of a matching node, or of the free place for it.
  template <typename Matches>
  size_t find(uint32_t hash, Matches matches) const;
  uint32_t append(Node node, size_t slot);
  const uint32_t* keep(Ids ids);
  void grow();

  std::vector<std::unique_ptr<uint32_t[]>> blocks_;
  size_t block_left_ = 0;
  uint32_t* block_next_ = nullptr;
};

// What reaches into a pool from this room.
struct PoolAccess {
  using Store = ExprPool::Store;
  static Store& store(ExprPool& pool) { return *pool.store_; }
};
using Store = PoolAccess::Store;

inline Store& store_of(const Expr& e) {
  return PoolAccess::store(*e.pool());
}

// One operation on exact values, the same for folding, evaluate() and the tape. None on overflow, division by
// zero or a power whose exponent is not whole. A select takes its condition and both branches.
std::optional<Rational> compute(Kind kind, std::span<const Rational> operands);
// Why compute() gave none, as a sentence naming the operation.
std::string fault_of(Kind kind, std::span<const Rational> operands);

// Why an expression is not printed, none for one that is.
std::optional<std::string> too_long_to_print(const Store& store, uint32_t id);

// expand() on an id.
uint32_t expand_in(Store& store, uint32_t id);

}  // namespace archlight::expr
