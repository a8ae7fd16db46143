// guards.h: the table of guards: each one's name, what it may do, what it checks, and the function that does it.
//
// Strength  A guard that blocks makes a spec wrong by one fault. One that advises says what a reader should look
//           at; its verdict changes nothing. A blocking guard may have advice beside its faults.
// Order     That of the table, in reports as in `archlight guards`.
// No run    `shape`, `weight` and `packing` have no function here: evaluating the spec is the first, and joining
//           it with the files is the others, since what files hold decides how the spec is evaluated. verify.cc
//           fills their rows.
// Adding    One row here, one page docs/guards/<name>.md, one tests/guard/<name>_test.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/bill.h"
#include "base/result.h"
#include "spec/binding.h"
#include "spec/library.h"
#include "truth/truth.h"

namespace archlight::guard {

enum class Strength { kBlocks, kAdvises };
std::string_view strength_name(Strength strength);  // "blocks", "advises"

// What a guard may look at.
struct Subject {
  const spec::Library& library;
  const spec::Binding& binding;
  const truth::Truth& truth;
  const analysis::Bill* bill = nullptr;      // on numbers; null where the spec cannot be evaluated
  const analysis::Bill* formulas = nullptr;  // on symbols; null where it cannot be
};

struct Findings {
  bool ran = false;
  int64_t checks = 0;  // single facts compared
  base::Faults faults;
  base::Faults open;    // what it could neither prove nor refute: no fault, and no pass
  base::Faults advice;  // for a reader; changes no verdict
  std::string not_run;  // why it did not run
};

struct Guard {
  std::string_view name;
  Strength strength = Strength::kBlocks;
  std::string_view checks, against;
  void (*run)(const Subject&, Findings&) = nullptr;
  bool needs_bill = true;
};

std::span<const Guard> guards();
const Guard* find_guard(std::string_view name);  // null for an unknown name
std::vector<std::string> guard_names();

}  // namespace archlight::guard
