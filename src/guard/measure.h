// measure.h: how good the guards are: every spec with one thing wrong, and which guard says so.
//
// Mutants  All of mutants.h, of each model, of the components that its layers call and of the quantisation schemes that
//          its checkpoints use. Nothing is drawn at random: two runs give the same table.
// Evidence Snapshots of what was published, and checkpoints made up in that form where the caller has some. Of each file, the snapshots that exercise it: the strongest level first and of it the smallest, each taken
//          that shows something of the file that those before do not (a node that is built, a key that is read or is not, two
//          dims that differ), up to six. What none of these catches is held against one snapshot more of each model that uses the file.
// Counts   Only faults of blocking guards count as caught; a survivor that an advising guard speaks of says so. A mutant
//          changes a number when a quantity of some bill differs, or when there is no bill any more. It is refused when
//          the spec no longer loads; caught when a guard blocks; it survives otherwise. A guard catches alone what no
//          other guard catches: switched off, it would leave that many more.
// Bill     That of kMeasuredInput: longer than the windows that models have, so that a window more or less is a number.
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

inline const analysis::BillInput kMeasuredInput{.batch = 2, .prompt = 12288, .context = 49152};

struct Evidence {
  std::string name;  // of the snapshot
  truth::Truth truth;
  bool made = false;  // made up, in the form of a published checkpoint
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
  std::string reason;    // why no guard sees it
};

// Number-changing mutants and those caught, refused ones among them.
struct Share {
  int64_t made = 0, caught = 0;
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
  std::map<std::string, Share> kinds;  // by kind of mutant
  // By the strongest level of what was published of a model that uses the file; "none" where nothing was.
  std::map<std::string, Share> levels;
  std::map<std::string, std::vector<std::string>> best;  // specs, by the same of their own models
  std::vector<std::string> without_evidence;             // specs that no snapshot speaks for

  int64_t number_changing() const;
  int64_t caught_without(const std::string& guard) const;
};

struct MeasureOptions {
  int threads = 1;
  std::function<void(int64_t done, int64_t total)> progress;
};

// `specs` is the folder that the specs are read from. Faults: a spec that cannot be read.
base::Result<Measured> measure(const std::string& specs, const std::vector<MeasuredModel>& subjects,
                               const MeasureOptions& options = {});

}  // namespace archlight::guard
