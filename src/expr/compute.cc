// The operations on exact values, one switch for folding, evaluation and the tape.
#include <fmt/format.h>

#include "expr/internal/store.h"

namespace archlight::expr {
namespace {

using Step = std::optional<Rational> (*)(const Rational&, const Rational&);

std::optional<Rational> fold(Step step, std::span<const Rational> operands) {
  Rational out = operands[0];
  for (const Rational& operand : operands.subspan(1)) {
    const std::optional<Rational> next = step(out, operand);
    if (!next) return std::nullopt;
    out = *next;
  }
  return out;
}

std::string in_parentheses(const Rational& value) {
  const std::string text = to_string(value);
  return value.is_integer() && value.num >= 0 ? text : "(" + text + ")";
}

}  // namespace

std::optional<Rational> compute(Kind kind, std::span<const Rational> operands) {
  const auto truth = [](bool value) { return Rational{value ? 1 : 0, 1}; };
  switch (kind) {
    case Kind::kConstant:
    case Kind::kSymbol:
    case Kind::kError:
      return std::nullopt;
    case Kind::kAdd:
      return fold(add, operands);
    case Kind::kMul:
      return fold(multiply, operands);
    case Kind::kPow:
      if (!operands[1].is_integer()) return std::nullopt;
      return power(operands[0], operands[1].num);
    case Kind::kFloorDiv:
      return floor_div(operands[0], operands[1]);
    case Kind::kCeilDiv:
      return ceil_div(operands[0], operands[1]);
    case Kind::kMod:
      return modulo(operands[0], operands[1]);
    case Kind::kMin:
    case Kind::kMax: {
      Rational out = operands[0];
      for (const Rational& operand : operands.subspan(1)) {
        const int order = compare(operand, out);
        if (kind == Kind::kMin ? order < 0 : order > 0) out = operand;
      }
      return out;
    }
    case Kind::kSelect:
      return operands[0].num != 0 ? operands[1] : operands[2];
    case Kind::kLess:
      return truth(compare(operands[0], operands[1]) < 0);
    case Kind::kLessEqual:
      return truth(compare(operands[0], operands[1]) <= 0);
    case Kind::kEqual:
      return truth(operands[0] == operands[1]);
  }
  return std::nullopt;
}

std::string fault_of(Kind kind, std::span<const Rational> operands) {
  const auto name_first_failure = [&](Step step, std::string_view what) {
    Rational done = operands[0];
    for (const Rational& operand : operands.subspan(1)) {
      const std::optional<Rational> next = step(done, operand);
      if (!next)
        return fmt::format("the {} of {} and {} overflows 128 bits", what, to_string(done),
                           to_string(operand));
      done = *next;
    }
    return std::string();
  };
  const auto infix = [&](std::string_view sign) {
    return fmt::format("{}{}{}", in_parentheses(operands[0]), sign, in_parentheses(operands[1]));
  };
  const auto division = [&](const std::string& text) {
    return text + (operands[1].num == 0 ? " divides by zero" : " overflows 128 bits");
  };
  switch (kind) {
    case Kind::kAdd:
      return name_first_failure(add, "sum");
    case Kind::kMul:
      return name_first_failure(multiply, "product");
    case Kind::kPow:
      if (!operands[1].is_integer()) return infix("^") + " has an exponent that is not whole";
      return infix("^") + (operands[0].num == 0 ? " divides by zero" : " overflows 128 bits");
    case Kind::kFloorDiv:
      return division(infix(" // "));
    case Kind::kMod:
      return division(infix(" % "));
    case Kind::kCeilDiv:
      return division(fmt::format("ceil_div({}, {})", to_string(operands[0]), to_string(operands[1])));
    case Kind::kConstant:
    case Kind::kSymbol:
    case Kind::kError:
    case Kind::kMin:
    case Kind::kMax:
    case Kind::kSelect:
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kEqual:
      break;
  }
  return {};
}

}  // namespace archlight::expr
