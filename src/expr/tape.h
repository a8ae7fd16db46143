// tape.h: expressions compiled to a straight line of instructions, for sweeps: compile once, run over a grid.
//
// Values  run() is exact and equals evaluate() at every point; run_double() is the same in double precision.
//         Shared subexpressions are computed once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "expr/expr.h"

namespace archlight::expr {

class Tape {
 public:
  // Inputs are named; a symbol of `outputs` that is not among them is a fault.
  static base::Result<Tape> compile(std::span<const Expr> outputs, const std::vector<std::string>& inputs);

  size_t input_count() const { return inputs_; }
  size_t output_count() const { return outputs_.size(); }
  size_t instruction_count() const { return code_.size(); }

  // One value per output; none where it overflows or divides by zero. `inputs` in the order of compile().
  std::vector<std::optional<Rational>> run(std::span<const Rational> inputs) const;
  void run_double(std::span<const double> inputs, std::span<double> outputs) const;

 private:
  struct Instruction {
    Kind kind;
    uint32_t first = 0;  // operands in slots_
    uint32_t count = 0;
    Rational constant;
  };
  size_t inputs_ = 0;
  std::vector<Instruction> code_;
  std::vector<uint32_t> slots_;
  std::vector<uint32_t> outputs_;
};

}  // namespace archlight::expr
