// expr.h: exact symbolic integers and rationals, hash-consed in a pool.
//
// A pool owns every node; an Expr is a handle into it. Equal canonical forms have equal ids, so comparing two
// handles is comparing two integers. One pool belongs to one analysis and one thread; two pools share
// nothing.
//
// Canonical by construction
//   sums      flattened, like terms collected, constant last; a - b is a + (-1)*b
//   products  flattened, powers of one base collected, one rational coefficient first; a / b is a * b^-1;
//             a product over a sum stays a product (expand() distributes), but a number times a sum that is
//             itself a term of a sum is distributed: 2*(a + b) stays, x + 2*(a + b) is 2*a + 2*b + x
//   constants folded everywhere; x//1, x%1, min(x), select(1,a,b) and the like fold
//   operands of commutative operations in one fixed order, the same in every pool
// Threads  Reading (kinds and operands, printing, evaluate, symbols_of, copying out of) leaves a pool as it
//         is; making, bounds, expand and simplify write to it.
// Errors  Overflow of 128 bits, division by zero and the like make an error value that every operation passes
//         on; is_error() and error_text() tell, and evaluate() returns it as a fault.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "expr/rational.h"

namespace archlight::expr {

class ExprPool;

enum class Kind : uint8_t {
  kConstant,
  kSymbol,
  kAdd,
  kMul,
  kPow,
  kFloorDiv,
  kCeilDiv,
  kMod,
  kMin,
  kMax,
  kSelect,  // select(condition, if non-zero, if zero)
  kLess,
  kLessEqual,
  kEqual,  // 1 or 0; the other comparisons are written with these
  kError,
};

// Bounds of a value, both inclusive; an absent end is unbounded.
struct Interval {
  std::optional<Rational> low;
  std::optional<Rational> high;
};

class Expr {
 public:
  Expr() = default;  // belongs to no pool; only assignment is allowed
  Expr(ExprPool* pool, uint32_t id) : pool_(pool), id_(id) {}

  ExprPool* pool() const { return pool_; }
  uint32_t id() const { return id_; }
  explicit operator bool() const { return pool_ != nullptr; }

  Kind kind() const;
  std::span<const uint32_t> operand_ids() const;
  Expr operand(size_t i) const;
  size_t operand_count() const;

  bool is_constant() const { return kind() == Kind::kConstant; }
  bool is_error() const { return kind() == Kind::kError; }
  // The value of a constant; none otherwise.
  std::optional<Rational> constant() const;
  // A constant integer; none otherwise.
  std::optional<base::Int128> integer() const;
  bool is_zero() const;
  bool is_one() const;
  std::string_view symbol_name() const;  // of a symbol
  std::string error_text() const;        // of an error

  friend bool operator==(const Expr& a, const Expr& b) { return a.pool_ == b.pool_ && a.id_ == b.id_; }

 private:
  ExprPool* pool_ = nullptr;
  uint32_t id_ = 0;
};

class ExprPool {
 public:
  ExprPool();
  ~ExprPool();
  ExprPool(const ExprPool&) = delete;
  ExprPool& operator=(const ExprPool&) = delete;

  Expr constant(base::Int128 value);
  Expr constant(const Rational& value);
  // The symbol of that name; its bounds are integers >= 1 unless said otherwise at its first mention.
  Expr symbol(std::string_view name);
  Expr symbol(std::string_view name, const Interval& bounds, bool integer = true);
  Expr error(std::string text);

  Expr add(std::span<const Expr> terms);
  Expr mul(std::span<const Expr> factors);
  Expr pow(Expr base, Expr exponent);
  Expr floor_div(Expr a, Expr b);
  Expr ceil_div(Expr a, Expr b);
  Expr mod(Expr a, Expr b);
  Expr min(Expr a, Expr b);
  Expr max(Expr a, Expr b);
  Expr select(Expr condition, Expr then, Expr otherwise);
  Expr less(Expr a, Expr b);
  Expr less_equal(Expr a, Expr b);
  Expr equal(Expr a, Expr b);

  size_t size() const;  // distinct nodes, for counts in tests

 private:
  friend class Expr;
  friend struct PoolAccess;
  struct Store;
  std::unique_ptr<Store> store_;
};

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);  // exact: a rational, not a floor
Expr operator+(Expr a, int64_t b);
Expr operator-(Expr a, int64_t b);
Expr operator*(Expr a, int64_t b);
Expr operator*(int64_t a, Expr b);
Expr operator/(Expr a, int64_t b);
Expr operator-(Expr a);

// What can be said of a value for all values of its symbols within their bounds.
Interval bounds(Expr e);
// True when the value is an integer for all integer values of its symbols, as far as the rules can see.
bool is_integral(Expr e);

// Products over sums distributed; same value, idempotent. Two expressions are equal as polynomials exactly
// when their expansions are one handle. Past the bounds of an expansion, or of a pool's comparisons, same_value is
// false.
Expr expand(Expr e);
bool same_value(Expr a, Expr b);
// Rewrites by named rules (docs of each beside it): ceil_div(a*b, b) = a for b > 0, min/max/select decided by
// bounds, floor_div(a*b + c, b) = a for 0 <= c < b, and so on. Idempotent, keeps every value.
Expr simplify(Expr e);
// The same, appending the name of each rule as it is applied; what the pool remembers applies none again.
Expr simplify(Expr e, std::vector<std::string_view>* applied);
// The rules in the order in which they are tried; a rule has one row per operation it rewrites.
struct RuleInfo {
  std::string_view name;
  std::string_view identity;
};
std::vector<RuleInfo> simplify_rules();
// Replaces symbols; those the function returns none for stay.
Expr substitute(Expr e, const std::function<std::optional<Expr>(std::string_view)>& value_of);
// Copies into another pool.
Expr copy_to(Expr e, ExprPool& pool);
// Names of the symbols, sorted, each once.
std::vector<std::string> symbols_of(Expr e);

// The exact value with every symbol bound; a fault names an unbound symbol, an overflow or a zero divisor.
base::Result<Rational> evaluate(Expr e,
                                const std::function<std::optional<Rational>(std::string_view)>& value_of);

// "2*batch*s_query*(d_kv_lora + d_qk_rope)", with the least parentheses; parsing it again in the same pool
// gives the same handle.
std::string to_text(Expr e);
std::string to_latex(Expr e);
// {"op":"add","args":[...]}, {"symbol":"n"}, {"constant":"3/2"}
base::Json to_json(Expr e);

}  // namespace archlight::expr
