// LaTeX in the subset that KaTeX knows.
#include <fmt/format.h>

#include "expr/internal/store.h"

namespace archlight::expr {
namespace {

enum Level { kComparison, kSum, kProduct, kPower, kAtom };

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (std::string_view("_{}$&#%").find(c) != std::string_view::npos) {
      out += '\\';
      out += c;
    } else if (c == '\\' || c == '^' || c == '~') {
      out += c == '\\' ? "\\textbackslash{}" : c == '^' ? "\\textasciicircum{}" : "\\textasciitilde{}";
    } else {
      out += c;
    }
  }
  return out;
}

// d_kv_lora is d with the subscript kv_lora; batch is upright text.
std::string symbol_latex(std::string_view name) {
  const bool letter =
      !name.empty() && ((name[0] >= 'a' && name[0] <= 'z') || (name[0] >= 'A' && name[0] <= 'Z'));
  if (name.size() == 1 && letter) return std::string(name);
  if (name.size() > 2 && letter && name[1] == '_')
    return fmt::format("{}_{{\\text{{{}}}}}", name[0], escaped(name.substr(2)));
  return fmt::format("\\text{{{}}}", escaped(name));
}

class LatexPrinter {
 public:
  explicit LatexPrinter(const Store& store) : store_(store) {}

  void print(uint32_t id, Level wanted) {
    const bool wrap = level_of(id) < wanted;
    if (wrap) out += "\\left(";
    print_bare(id);
    if (wrap) out += "\\right)";
  }

  std::string out;

 private:
  bool in_denominator(uint32_t factor) const {
    if (store_.kind(factor) != Kind::kPow) return false;
    const uint32_t exponent = store_.operands(factor)[1];
    return store_.is_constant(exponent) && store_.value(exponent).num < 0;
  }

  Level level_of(uint32_t id) const {
    switch (store_.kind(id)) {
      case Kind::kConstant: {
        const Rational& value = store_.value(id);
        return value.num < 0 || value.den != 1 ? kProduct : kAtom;
      }
      case Kind::kAdd:
        return kSum;
      case Kind::kMul:
      case Kind::kMod:
        return kProduct;
      case Kind::kPow:
        return in_denominator(id) ? kProduct : kPower;
      case Kind::kLess:
      case Kind::kLessEqual:
      case Kind::kEqual:
        return kComparison;
      default:
        return kAtom;
    }
  }

  void print_bare(uint32_t id) {
    const Ids operands = store_.operands(id);
    switch (store_.kind(id)) {
      case Kind::kConstant: {
        const Rational& value = store_.value(id);
        const std::string num = base::to_string(value.num);
        if (value.den == 1) {
          out += num;
        } else {
          const bool negative = value.num < 0;
          out += fmt::format("{}\\frac{{{}}}{{{}}}", negative ? "-" : "", num.substr(negative ? 1 : 0),
                             base::to_string(value.den));
        }
        return;
      }
      case Kind::kSymbol:
        out += symbol_latex(store_.symbol_info(id).name);
        return;
      case Kind::kError:
        out += fmt::format("\\text{{error: {}}}", escaped(store_.errors[store_.node(id).payload]));
        return;
      case Kind::kAdd:
        return print_sum(operands);
      case Kind::kMul:
        return print_product(id);
      case Kind::kPow:
        if (in_denominator(id)) return print_product(id);
        return print_power(operands[0], operands[1]);
      case Kind::kFloorDiv:
        return rounded("\\left\\lfloor", operands, "\\right\\rfloor");
      case Kind::kCeilDiv:
        return rounded("\\left\\lceil", operands, "\\right\\rceil");
      case Kind::kMod:
        return infix(operands, " \\bmod ", kPower);
      case Kind::kMin:
        return call("\\min", operands);
      case Kind::kMax:
        return call("\\max", operands);
      case Kind::kSelect:
        out += "\\begin{cases}";
        print(operands[1], kComparison);
        out += " & \\text{if } ";
        print(operands[0], kComparison);
        if (!store_.is_boolean(operands[0])) out += " \\ne 0";
        out += " \\\\ ";
        print(operands[2], kComparison);
        out += " & \\text{otherwise}\\end{cases}";
        return;
      case Kind::kLess:
        return infix(operands, " < ", kSum);
      case Kind::kLessEqual:
        return infix(operands, " \\le ", kSum);
      case Kind::kEqual:
        return infix(operands, " = ", kSum);
    }
  }

  void infix(Ids operands, std::string_view sign, Level level) {
    print(operands[0], level);
    out += sign;
    print(operands[1], level);
  }

  void call(std::string_view name, Ids operands) {
    out += name;
    out += "\\left(";
    for (size_t i = 0; i < operands.size(); ++i) {
      if (i != 0) out += ", ";
      print(operands[i], kComparison);
    }
    out += "\\right)";
  }

  void rounded(std::string_view open, Ids operands, std::string_view close) {
    out += open;
    out += "\\frac{";
    print(operands[0], kComparison);
    out += "}{";
    print(operands[1], kComparison);
    out += '}';
    out += close;
  }

  void print_power(uint32_t base, uint32_t exponent) {
    print(base, kAtom);
    out += "^{";
    print(exponent, kComparison);
    out += '}';
  }

  bool is_negative(uint32_t term) const {
    return (store_.is_constant(term) ? store_.value(term) : store_.coefficient_of(term)).num < 0;
  }

  void print_sum(Ids terms) {
    size_t first = 0;
    while (first < terms.size() && is_negative(terms[first])) ++first;
    if (first == terms.size()) first = 0;
    print(terms[first], kProduct);
    for (size_t i = 0; i < terms.size(); ++i) {
      if (i == first) continue;
      // A negative term prints its own minus, which needs room on both sides here.
      const size_t place = out.size();
      out += is_negative(terms[i]) ? " " : " + ";
      print(terms[i], kProduct);
      if (is_negative(terms[i])) out.replace(place, 2, " - ");
    }
  }

  void print_product(uint32_t id) {
    const Rational c = store_.coefficient_of(id);
    std::string num = base::to_string(c.num);
    if (c.num < 0) {
      out += '-';
      num.erase(0, 1);
    }
    std::vector<uint32_t> above, below;
    for (uint32_t factor : store_.factors_of(id)) (in_denominator(factor) ? below : above).push_back(factor);
    const bool fraction = c.den != 1 || !below.empty();
    if (fraction) out += "\\frac{";
    print_factors(num, above, fraction);
    if (!fraction) return;
    out += "}{";
    print_factors(base::to_string(c.den), below, true);
    out += '}';
  }

  void print_factors(const std::string& number, const std::vector<uint32_t>& factors, bool alone_in_braces) {
    bool started = false;
    if (number != "1" || factors.empty()) {
      out += number;
      started = true;
    }
    for (uint32_t factor : factors) {
      if (started) out += is_constant_power(factor) ? " \\cdot " : "\\,";
      const bool sole = alone_in_braces && factors.size() == 1 && !started;
      started = true;
      if (in_denominator(factor)) {
        const base::Int128 n = store_.value(store_.operands(factor)[1]).num;
        const uint32_t base = store_.operands(factor)[0];
        if (n == -1) {
          print(base, sole ? kComparison : kPower);
        } else {
          print(base, kAtom);
          out += "^{" + base::to_string(n).substr(1) + "}";
        }
      } else {
        print(factor, sole ? kComparison : kPower);
      }
    }
  }

  // A factor that starts with a digit needs a dot before it.
  bool is_constant_power(uint32_t factor) const {
    return store_.kind(factor) == Kind::kPow && store_.is_constant(store_.operands(factor)[0]);
  }

  const Store& store_;
};

}  // namespace

std::string to_latex(Expr e) {
  const Store& store = store_of(e);
  if (const std::optional<std::string> refusal = too_long_to_print(store, e.id()))
    return fmt::format("\\text{{{}}}", escaped(*refusal));
  LatexPrinter printer(store);
  printer.print(e.id(), kComparison);
  return std::move(printer.out);
}

}  // namespace archlight::expr
