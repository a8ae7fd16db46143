// analysis_guard.h: the evaluation against itself.
#pragma once

#include <cstdint>

#include "analysis/bill.h"
#include "base/result.h"

namespace archlight::guard {

// Decode reads exactly the weights that prefill stores: per stored weight, the shares its decode readers take
// add up to the whole. Counts what it compares.
base::Faults check_phases(const analysis::Bill& bill, int64_t* checks);

}  // namespace archlight::guard
