// schedule.h: is every key of the config that decides a number read, and every per-layer list covered?
//
// Keys    Under each of the model's config roots, every key that is set and that the table of config keys says to
//         decide sizes, layers or masks is read by the spec (a dim, a rule, a stream), held against a formula, held
//         by a dim's `config` in dims.yaml, or ignored with a reason. A key that the table does not know is a fault
//         where its name tells of a size or a schedule, advice otherwise. A key is not both ignored and read.
// Lists   Of a list that a layer rule reads: as many entries as the stack has layers, or as `lists` declares; every
//         value in it has a rule of its own, whatever `rest` would do; listed indices are layers, each in one list.
//         A rule whose value the list lacks is advice. That each layer has a rule is seen when the tree is built.
// No run  Of the keys where the library has no table of them.
#pragma once

#include "guard/guards.h"

namespace archlight::guard {

void check_schedule(const Subject& subject, Findings& out);

}  // namespace archlight::guard
