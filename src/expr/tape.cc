// Values live in one array: the inputs, then one per instruction. Ids of a pool are a topological order, so
// the instructions are its nodes sorted by id.
#include "expr/tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "expr/internal/store.h"

namespace archlight::expr {
namespace {

base::Diagnostic fault(std::string wrong, std::string expected, std::string fix) {
  base::Diagnostic out;
  out.wrong = std::move(wrong);
  out.expected = std::move(expected);
  out.fix = std::move(fix);
  return out;
}

constexpr size_t kInline = 128;  // values that need no allocation

}  // namespace

base::Result<Tape> Tape::compile(std::span<const Expr> outputs, const std::vector<std::string>& inputs) {
  Tape tape;
  tape.inputs_ = inputs.size();
  if (outputs.empty()) return tape;
  const Store& store = store_of(outputs[0]);
  base::Faults faults;

  std::vector<uint32_t> order;
  std::unordered_set<uint32_t> seen;
  const auto reach = [&](uint32_t id) {
    if (seen.insert(id).second) order.push_back(id);
  };
  for (const Expr& output : outputs) {
    assert(output.pool() == outputs[0].pool() && "the outputs of a tape live in one pool");
    reach(output.id());
  }
  for (size_t i = 0; i < order.size(); ++i)
    for (uint32_t operand : store.operands(order[i])) reach(operand);
  std::sort(order.begin(), order.end());

  std::unordered_map<uint32_t, uint32_t> place;
  for (uint32_t id : order) {
    const Kind kind = store.kind(id);
    if (kind == Kind::kError) {
      faults.push_back(fault(store.errors[store.node(id).payload], "", ""));
      continue;
    }
    if (kind == Kind::kSymbol) {
      const std::string& name = store.symbol_info(id).name;
      const auto input = std::find(inputs.begin(), inputs.end(), name);
      if (input == inputs.end())
        faults.push_back(fault(fmt::format("'{}' is not an input of the tape", name),
                               inputs.empty() ? "no symbols" : fmt::format("{}", fmt::join(inputs, ", ")),
                               base::did_you_mean(name, inputs)));
      place[id] = static_cast<uint32_t>(input - inputs.begin());
      continue;
    }
    Instruction instruction{.kind = kind,
                            .first = static_cast<uint32_t>(tape.slots_.size()),
                            .count = store.node(id).count,
                            .constant = {}};
    if (kind == Kind::kConstant) instruction.constant = store.value(id);
    for (uint32_t operand : store.operands(id)) tape.slots_.push_back(place[operand]);
    place[id] = static_cast<uint32_t>(tape.inputs_ + tape.code_.size());
    tape.code_.push_back(instruction);
  }
  if (!faults.empty()) return faults;
  for (const Expr& output : outputs) tape.outputs_.push_back(place.at(output.id()));
  return tape;
}

std::vector<std::optional<Rational>> Tape::run(std::span<const Rational> inputs) const {
  assert(inputs.size() == inputs_ && "one value per input");
  std::vector<std::optional<Rational>> values(inputs_ + code_.size());
  std::copy(inputs.begin(), inputs.end(), values.begin());
  std::vector<Rational> many;
  for (size_t i = 0; i < code_.size(); ++i) {
    const Instruction& instruction = code_[i];
    std::optional<Rational>& out = values[inputs_ + i];
    const uint32_t* slots = slots_.data() + instruction.first;
    if (instruction.kind == Kind::kConstant) {
      out = instruction.constant;
      continue;
    }
    if (instruction.kind == Kind::kSelect) {
      // Only the branch taken needs a value.
      if (const std::optional<Rational>& condition = values[slots[0]])
        out = values[slots[condition->num != 0 ? 1 : 2]];
      continue;
    }
    std::array<Rational, 8> few;
    Rational* operands = few.data();
    if (instruction.count > few.size()) {
      many.resize(instruction.count);
      operands = many.data();
    }
    bool known = true;
    for (uint32_t k = 0; k < instruction.count && known; ++k) {
      const std::optional<Rational>& value = values[slots[k]];
      known = value.has_value();
      if (known) operands[k] = *value;
    }
    if (known) out = compute(instruction.kind, {operands, instruction.count});
  }
  std::vector<std::optional<Rational>> out;
  out.reserve(outputs_.size());
  for (uint32_t place : outputs_) out.push_back(values[place]);
  return out;
}

void Tape::run_double(std::span<const double> inputs, std::span<double> outputs) const {
  assert(inputs.size() == inputs_ && outputs.size() == outputs_.size() && "one value per input and output");
  std::array<double, kInline> few;
  std::vector<double> many;
  double* values = few.data();
  if (inputs_ + code_.size() > kInline) {
    many.resize(inputs_ + code_.size());
    values = many.data();
  }
  std::copy(inputs.begin(), inputs.end(), values);
  for (size_t i = 0; i < code_.size(); ++i) {
    const Instruction& instruction = code_[i];
    const uint32_t* slots = slots_.data() + instruction.first;
    const auto at = [&](uint32_t k) { return values[slots[k]]; };
    double out = 0;
    switch (instruction.kind) {
      case Kind::kConstant:
        out = to_double(instruction.constant);
        break;
      case Kind::kAdd:
        for (uint32_t k = 0; k < instruction.count; ++k) out += at(k);
        break;
      case Kind::kMul:
        out = 1;
        for (uint32_t k = 0; k < instruction.count; ++k) out *= at(k);
        break;
      case Kind::kPow:
        out = std::pow(at(0), at(1));
        break;
      case Kind::kFloorDiv:
        out = std::floor(at(0) / at(1));
        break;
      case Kind::kCeilDiv:
        out = std::ceil(at(0) / at(1));
        break;
      case Kind::kMod:
        out = at(0) - at(1) * std::floor(at(0) / at(1));
        break;
      case Kind::kMin:
        out = at(0);
        for (uint32_t k = 1; k < instruction.count; ++k) out = std::min(out, at(k));
        break;
      case Kind::kMax:
        out = at(0);
        for (uint32_t k = 1; k < instruction.count; ++k) out = std::max(out, at(k));
        break;
      case Kind::kSelect:
        out = at(0) != 0 ? at(1) : at(2);
        break;
      case Kind::kLess:
        out = at(0) < at(1) ? 1 : 0;
        break;
      case Kind::kLessEqual:
        out = at(0) <= at(1) ? 1 : 0;
        break;
      case Kind::kEqual:
        out = at(0) == at(1) ? 1 : 0;
        break;
      case Kind::kSymbol:
      case Kind::kError:
        break;
    }
    values[inputs_ + i] = out;
  }
  for (size_t i = 0; i < outputs_.size(); ++i) outputs[i] = values[outputs_[i]];
}

}  // namespace archlight::expr
