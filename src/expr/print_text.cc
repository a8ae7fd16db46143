// Text that parses to the same form, with the least parentheses.
#include <fmt/format.h>

#include <array>

#include "expr/internal/store.h"

namespace archlight::expr {
namespace {

// How tightly a text binds; an operand that binds less than its place asks for gets parentheses.
enum Level { kOr, kAnd, kNot, kComparison, kSum, kProduct, kUnary, kPower, kAtom };

class TextPrinter {
 public:
  explicit TextPrinter(const Store& store) : store_(store) {}

  void print(uint32_t id, Level wanted) {
    const Level level = level_of(id);
    if (level < wanted) out += '(';
    print_bare(id);
    if (level < wanted) out += ')';
  }

  std::string out;

 private:
  static bool fits_negated(const Rational& value) { return base::checked_sub(0, value.num).has_value(); }

  // a != b is 1 - (a == b).
  std::optional<uint32_t> unequal(uint32_t id) const {
    if (store_.kind(id) != Kind::kAdd) return std::nullopt;
    const Ids terms = store_.operands(id);
    if (terms.size() != 2 || terms[1] != Store::kOne) return std::nullopt;
    if (store_.coefficient_of(terms[0]) != Rational{-1, 1}) return std::nullopt;
    const Ids factors = store_.factors_of(terms[0]);
    if (factors.size() != 1 || store_.kind(factors[0]) != Kind::kEqual) return std::nullopt;
    return factors[0];
  }

  // select(a, b, 0) is "a and b", select(a, 1, b) is "a or b", for b that is 0 or 1.
  std::optional<Level> connective(uint32_t id) const {
    if (store_.kind(id) != Kind::kSelect) return std::nullopt;
    const Ids parts = store_.operands(id);
    if (parts[2] == Store::kZero && store_.is_boolean(parts[1]) && parts[1] != Store::kOne) return kAnd;
    if (parts[1] == Store::kOne && store_.is_boolean(parts[2]) && parts[2] != Store::kZero) return kOr;
    return std::nullopt;
  }

  Level level_of(uint32_t id) const {
    switch (store_.kind(id)) {
      case Kind::kConstant: {
        const Rational& value = store_.value(id);
        if (value.den != 1) return kProduct;
        return value.num < 0 ? kUnary : kAtom;
      }
      case Kind::kAdd:
        return unequal(id) ? kComparison : kSum;
      case Kind::kMul:
      case Kind::kFloorDiv:
      case Kind::kMod:
        return kProduct;
      case Kind::kPow:
        return in_denominator(id) ? kProduct : kPower;
      case Kind::kLess:
      case Kind::kLessEqual:
      case Kind::kEqual:
        return kComparison;
      case Kind::kSelect:
        return connective(id).value_or(kAtom);
      default:
        return kAtom;
    }
  }

  bool in_denominator(uint32_t factor) const {
    if (store_.kind(factor) != Kind::kPow) return false;
    const uint32_t exponent = store_.operands(factor)[1];
    return store_.is_constant(exponent) && store_.value(exponent).num < 0 &&
           fits_negated(store_.value(exponent));
  }

  void print_bare(uint32_t id) {
    const Ids operands = store_.operands(id);
    switch (store_.kind(id)) {
      case Kind::kConstant:
        out += to_string(store_.value(id));
        return;
      case Kind::kSymbol:
        out += store_.symbol_info(id).name;
        return;
      case Kind::kError:
        out += "error(" + store_.errors[store_.node(id).payload] + ")";
        return;
      case Kind::kAdd:
        if (const auto equal = unequal(id)) return infix(store_.operands(*equal), " != ", kSum, kSum);
        return print_sum(operands);
      case Kind::kMul:
        return print_product(id, false);
      case Kind::kPow:
        if (in_denominator(id)) return print_product(id, false);
        print_power(id);
        return;
      case Kind::kFloorDiv:
        return infix(operands, "//", kProduct, kUnary);
      case Kind::kMod:
        return infix(operands, "%", kProduct, kUnary);
      case Kind::kCeilDiv:
        return call("ceil_div", operands);
      case Kind::kMin:
        return call("min", operands);
      case Kind::kMax:
        return call("max", operands);
      case Kind::kSelect:
        if (const auto level = connective(id)) {
          print(operands[0], *level);
          out += *level == kAnd ? " and " : " or ";
          print(operands[*level == kAnd ? 1 : 2], static_cast<Level>(*level + 1));
          return;
        }
        return call("select", operands);
      case Kind::kLess:
        return infix(operands, " < ", kSum, kSum);
      case Kind::kLessEqual:
        return infix(operands, " <= ", kSum, kSum);
      case Kind::kEqual:
        return infix(operands, " == ", kSum, kSum);
    }
  }

  void call(std::string_view name, Ids operands) {
    out += name;
    out += '(';
    for (size_t i = 0; i < operands.size(); ++i) {
      if (i != 0) out += ", ";
      print(operands[i], kOr);
    }
    out += ')';
  }

  void infix(Ids operands, std::string_view sign, Level left, Level right) {
    print(operands[0], left);
    out += sign;
    print(operands[1], right);
  }

  bool is_negative(uint32_t term) const {
    const Rational c = store_.is_constant(term) ? store_.value(term) : store_.coefficient_of(term);
    return c.num < 0 && fits_negated(c);
  }

  void print_sum(Ids terms) {
    // A sum starts with its first positive term, "n - m" and not "-m + n".
    size_t first = 0;
    while (first < terms.size() && is_negative(terms[first])) ++first;
    if (first == terms.size()) first = 0;
    print(terms[first], kProduct);
    for (size_t i = 0; i < terms.size(); ++i) {
      if (i == first) continue;
      const bool negative = is_negative(terms[i]);
      out += negative ? " - " : " + ";
      if (store_.is_constant(terms[i])) {
        const Rational value = store_.value(terms[i]);
        out += to_string(negative ? Rational{-value.num, value.den} : value);
      } else if (negative) {
        print_product(terms[i], true);
      } else {
        print(terms[i], kProduct);
      }
    }
  }

  // A product or a power with a negative exponent; `negated` prints the negative of its coefficient.
  void print_product(uint32_t id, bool negated) {
    Rational c = store_.coefficient_of(id);
    if (negated) c.num = -c.num;
    const Ids factors = store_.factors_of(id);
    std::vector<uint32_t> above, below;
    for (const uint32_t& factor : factors) (in_denominator(factor) ? below : above).push_back(factor);

    bool started = false;
    if (c.num == -1 && !above.empty()) {
      out += '-';
    } else if (c.num != 1 || above.empty()) {
      out += base::to_string(c.num);
      started = true;
    }
    for (uint32_t factor : above) {
      if (started) out += '*';
      // x*(y//z) is not x*y//z; the parentheses stay around a first factor too, for the reader.
      print(factor, kPower);
      started = true;
    }
    const size_t divisors = below.size() + (c.den != 1 ? 1 : 0);
    if (divisors == 0) return;
    out += '/';
    if (divisors > 1) out += '(';
    started = false;
    if (c.den != 1) {
      out += base::to_string(c.den);
      started = true;
    }
    for (uint32_t factor : below) {
      if (started) out += '*';
      print_power(factor);
      started = true;
    }
    if (divisors > 1) out += ')';
  }

  // base^exponent; in a denominator, base^-exponent.
  void print_power(uint32_t id) {
    const Ids parts = store_.operands(id);
    print(parts[0], kAtom);
    if (!in_denominator(id)) {
      out += '^';
      print(parts[1], kAtom);
    } else if (const base::Int128 n = -store_.value(parts[1]).num; n != 1) {
      out += '^' + base::to_string(n);
    }
  }

  const Store& store_;
};

}  // namespace

std::optional<std::string> too_long_to_print(const Store& store, uint32_t id) {
  const uint32_t size = store.node(id).tree_size;
  if (size <= kMaxPrinted) return std::nullopt;
  return fmt::format("an expression of {}{} nodes is too long to print",
                     size == UINT32_MAX ? "more than " : "", size);
}

std::string to_text(Expr e) {
  const Store& store = store_of(e);
  if (const std::optional<std::string> refusal = too_long_to_print(store, e.id()))
    return "error(" + *refusal + ")";
  TextPrinter printer(store);
  printer.print(e.id(), kOr);
  return std::move(printer.out);
}

}  // namespace archlight::expr
