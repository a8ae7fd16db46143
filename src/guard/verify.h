// verify.h: holds a model's spec against what upstream published, guard by guard.
//
// Guards   those of guards.h, in the order of its table; any of them can be left out
// Levels   header: every tensor's name, dtype, shape, bytes. index: every name and the exact total. count: the
//          recorded element total, under the rules of count.h. config: nothing to hold against.
// Verdict  verified only at header and index level. A partial header cannot verify; it can be wrong. What a blocking
//          guard leaves open, or was not asked about, is not verified either.
// Choices  What only files can tell is read from them and reported: the plain dtype where the config is silent or
//          wrong, optional tensors that are stored, which of a scheme's dtypes is used.
// Errors   Every difference names both sides; more than 20 of a kind are counted.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/bill.h"
#include "base/int128.h"
#include "base/result.h"
#include "guard/guards.h"
#include "spec/binding.h"
#include "spec/library.h"
#include "truth/truth.h"

namespace archlight::guard {

enum class Verdict { kVerified, kAgrees, kWrong, kNotVerifiable };
// kAgrees: everything known agrees, but too little is known to call it verified (count level).
std::string_view verdict_name(Verdict verdict);

struct Comparison {
  std::string what;  // "stored bytes"
  std::string unit;
  base::Int128 ours = 0;
  base::Int128 published = 0;
  std::string published_source;
  std::vector<std::string> rules;  // of specs/counting.yaml, where they change what elements count
  // Where `ours` is the least that the spec allows, the most: see Storage::open_scope.
  std::optional<base::Int128> ours_most;
  bool equal() const { return ours == published && !ours_most; }
  // "equal", "equal after rule 'a tensor of no axis counts nothing'", "differs", "between the bounds".
  std::string outcome() const;
};

struct GuardRun {
  std::string name;
  Strength strength = Strength::kBlocks;
  bool ran = false;
  int64_t checks = 0;  // single facts compared
  int64_t faults = 0;
  int64_t open = 0;  // neither proven nor refuted
  int64_t advice = 0;
  std::string not_run;  // why it did not run
};

struct Report {
  Verdict verdict = Verdict::kNotVerifiable;
  truth::Level level = truth::Level::kConfig;
  bool partial = false;
  base::Faults faults;  // those of `open` at their guards stand here as not_verifiable
  base::Faults advice;
  std::vector<std::string> remarks;
  std::vector<Comparison> comparisons;
  std::vector<GuardRun> guards;  // in the order of the table; none where the spec does not bind
  analysis::StorageChoice choice;
  std::shared_ptr<const analysis::Bill>
      bill;  // numbers, under the choice; null when the spec cannot be evaluated
};

// Never fails as a whole: what goes wrong is in the report. Guards named by `without` are left out: their faults are
// not looked for, or not said where evaluating meets them anyway.
Report verify(std::shared_ptr<const spec::Library> library, std::shared_ptr<const spec::Binding> binding,
              const truth::Truth& truth, const analysis::BillInput& input = {},
              const std::set<std::string>& without = {});

}  // namespace archlight::guard
