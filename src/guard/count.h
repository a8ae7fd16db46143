// count.h: what the hub's stored element total counts.
//
// Rules  Every stored tensor's elements; 0-d scalars count nothing; packed words of some schemes count for the values
//        in them (count_as of specs/quant). A tensor that may or may not be stored (a tied head's copy, an exporter's
//        buffer) is decided by the total: exactly one combination must meet it; what
//        counts nothing stays undecided.
// Source docs/sources.md#recorded-counts, learned from recorded totals of known checkpoints.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "analysis/storage.h"

namespace archlight::guard {

// Elements of one stored row as the hub counts them, all its copies.
base::Int128 counted_elements(const analysis::StoredTensor& tensor);
// Sets of optional tensors (by stored name) under which the total comes out; at most two are looked for.
std::vector<std::set<std::string>> combinations_for(const analysis::Storage& storage, base::Int128 recorded);

}  // namespace archlight::guard
