#include "guard/internal/prove.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace archlight::guard::internal {
namespace {

using expr::Expr;
using expr::ExprPool;
using expr::Kind;

constexpr int kMaxDepth = 6;  // nested cases; each takes its operands in turn

// One part of an expression replaced by another.
class Replacer {
 public:
  Replacer(Expr part, Expr with) : part_(part), with_(with) {}

  Expr operator()(Expr e) {
    if (e == part_) return with_;
    if (e.operand_count() == 0) return e;
    const auto known = done_.find(e.id());
    if (known != done_.end()) return known->second;
    std::vector<Expr> operands;
    bool same = true;
    for (size_t i = 0; i < e.operand_count(); ++i) {
      operands.push_back((*this)(e.operand(i)));
      same = same && operands.back() == e.operand(i);
    }
    const Expr out = same ? e : made(*e.pool(), e.kind(), operands);
    done_.emplace(e.id(), out);
    return out;
  }

 private:
  static Expr made(ExprPool& pool, Kind kind, const std::vector<Expr>& parts) {
    const auto folded = [&](auto join) {
      Expr out = parts[0];
      for (size_t i = 1; i < parts.size(); ++i) out = join(out, parts[i]);
      return out;
    };
    switch (kind) {
      case Kind::kAdd:
        return pool.add(parts);
      case Kind::kMul:
        return pool.mul(parts);
      case Kind::kPow:
        return pool.pow(parts[0], parts[1]);
      case Kind::kFloorDiv:
        return pool.floor_div(parts[0], parts[1]);
      case Kind::kCeilDiv:
        return pool.ceil_div(parts[0], parts[1]);
      case Kind::kMod:
        return pool.mod(parts[0], parts[1]);
      case Kind::kMin:
        return folded([&](Expr a, Expr b) { return pool.min(a, b); });
      case Kind::kMax:
        return folded([&](Expr a, Expr b) { return pool.max(a, b); });
      case Kind::kSelect:
        return pool.select(parts[0], parts[1], parts[2]);
      case Kind::kLess:
        return pool.less(parts[0], parts[1]);
      case Kind::kLessEqual:
        return pool.less_equal(parts[0], parts[1]);
      case Kind::kEqual:
        return pool.equal(parts[0], parts[1]);
      case Kind::kConstant:
      case Kind::kSymbol:
      case Kind::kError:
        break;
    }
    return pool.error("an operation without operands");
  }

  Expr part_, with_;
  std::unordered_map<uint32_t, Expr> done_;
};

// The first min, max, floor or ceiling inside, outermost first; none where there is none.
std::optional<Expr> first_case(Expr e) {
  if (e.kind() == Kind::kMin || e.kind() == Kind::kMax || e.kind() == Kind::kFloorDiv ||
      e.kind() == Kind::kCeilDiv)
    return e;
  for (size_t i = 0; i < e.operand_count(); ++i)
    if (const std::optional<Expr> found = first_case(e.operand(i))) return found;
  return std::nullopt;
}

bool never_negative(Expr difference, bool strictly, int depth) {
  difference = expr::simplify(expr::expand(difference));
  if (difference.is_error()) return false;
  const expr::Interval range = expr::bounds(difference);
  if (range.low && (strictly ? range.low->num > 0 : range.low->num >= 0)) return true;
  const std::optional<Expr> part = depth > 0 ? first_case(difference) : std::nullopt;
  if (!part) return false;
  ExprPool& pool = *difference.pool();
  // How the difference moves with this part, read off a symbol in its place.
  const Expr stand_in = pool.symbol("the case at hand", {std::nullopt, std::nullopt});
  const Expr at = Replacer(*part, stand_in)(difference), further = Replacer(stand_in, stand_in + 1)(at);
  const expr::Interval slope = expr::bounds(expr::simplify(expr::expand(further - at)));
  const bool falls = slope.high && slope.high->num <= 0, rises = slope.low && slope.low->num >= 0;
  const auto holds_with = [&](Expr value) {
    return never_negative(Replacer(*part, value)(difference), strictly, depth - 1);
  };
  if (part->kind() == Kind::kFloorDiv || part->kind() == Kind::kCeilDiv) {
    const Expr a = part->operand(0), b = part->operand(1);
    const expr::Interval divisor = expr::bounds(b);
    if (!divisor.low || divisor.low->num <= 0 || !expr::is_integral(a) || !expr::is_integral(b)) return false;
    const bool floor = part->kind() == Kind::kFloorDiv;
    if (falls) return holds_with(floor ? a / b : (a + b - 1) / b);
    return rises && holds_with(floor ? (a - b + 1) / b : a / b);
  }
  const bool one_is_enough = part->kind() == Kind::kMin ? falls : rises;
  for (size_t i = 0; i < part->operand_count(); ++i) {
    const bool holds = holds_with(part->operand(i));
    if (holds == one_is_enough) return holds;
  }
  return !one_is_enough;
}

}  // namespace

bool proven_equal(Expr a, Expr b) {
  return expr::same_value(a, b) || expr::simplify(expr::expand(a - b)).is_zero();
}

bool proven_at_most(Expr a, Expr b, bool strictly) {
  if (!strictly && proven_equal(a, b)) return true;
  return never_negative(b - a, strictly, kMaxDepth);
}

bool proven_constant(Expr a, std::string_view symbol) {
  const Expr least = expr::simplify(expr::expand(a));
  if (least.is_error()) return false;
  const std::vector<std::string> names = expr::symbols_of(least);
  return std::ranges::find(names, symbol) == names.end();
}

}  // namespace archlight::guard::internal
