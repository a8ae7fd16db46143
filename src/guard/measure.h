// measure.h: how good the guards are: every spec with one thing wrong, and which guard says so.
//
// Mutants  All of mutants.h, of each model, of the components that its layers call and of the quantisation schemes that
//          its checkpoints use. Nothing is drawn at random: two runs give the same table.
// Evidence Per model, the snapshots that tell most: a header before an index before an element total, and of each level
//          the smallest with a scheme not yet taken. A shared component meets the evidence of every model that uses it.
// Counts   Only faults of blocking guards count as caught; a survivor that an advising guard speaks of says so. A mutant changes a number when a quantity of some bill differs, or when there is no bill any more. It is
//          refused when the spec no longer loads; caught when a guard blocks; it survives otherwise. A guard catches
//          alone what no other guard would have caught with it switched off.
// Cost     One evaluation and one check per mutant and piece of evidence, on `threads` threads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "guard/mutants.h"
#include "guard/verify.h"

namespace archlight::guard {

struct Evidence {
  std::string name;  // of the snapshot
  truth::Truth truth;
};

struct MeasuredModel {
  std::string model;  // a spec's name
  std::vector<Evidence> evidence;
};

struct Survivor {
  std::string file, what;
  std::string changes;  // the first quantity that differs
  std::string before, after;
  std::string evidence;  // where it differs
  std::string advised;   // guards that advise about it
};

struct Measured {
  int64_t mutants = 0;
  int64_t unchanged = 0;  // no number differs
  int64_t refused = 0;    // the spec no longer loads
  int64_t caught = 0;     // by a guard, among those that load
  std::vector<Survivor> survivors;
  struct Row {
    bool advises = false;
    int64_t fires = 0, alone = 0;
    std::map<std::string, int64_t> alone_by_kind;  // kind of mutant
  };
  std::map<std::string, Row> guards;
  std::map<std::string, std::pair<int64_t, int64_t>> kinds;  // number-changing and caught, by kind of mutant
  std::vector<std::string> without_evidence;                 // specs that no snapshot speaks for

  int64_t number_changing() const;
  int64_t caught_without(const std::string& guard) const;
};

struct MeasureOptions {
  int threads = 1;
  std::function<void(int64_t done, int64_t total)> progress;
};

// `specs` is the folder that `library` was read from. Faults: a spec that cannot be read, or that its own evidence
// refuses before anything is changed.
base::Result<Measured> measure(const std::string& specs, const std::vector<MeasuredModel>& subjects,
                               const MeasureOptions& options = {});

}  // namespace archlight::guard
