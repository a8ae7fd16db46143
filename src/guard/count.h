// count.h: what the hub's stored element total counts.
//
// Rules  specs/counting.yaml: every stored tensor's elements, but for what its rules say otherwise. A tensor that may or
//        may not be stored (a tied head's copy, an exporter's buffer), and one whose dtype decides how it counts, are
//        settled by the total: exactly one combination must meet it; what counts nothing stays undecided.
//        Where none meets it, the table's alternatives are tried, one at a time; exactly one may.
// Source docs/sources.md#recorded-counts, learned from recorded totals of known checkpoints.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/storage.h"
#include "spec/quant_tables.h"

namespace archlight::guard {

// Elements of one stored row as the hub counts them, all its copies, whether or not it is present. `rule` gets the rule
// that said so, null where the elements count once.
base::Int128 counted_elements(const analysis::StoredTensor& tensor, const spec::Counting& counting,
                              const spec::CountList* alternative = nullptr,
                              const spec::CountRule** rule = nullptr);

// What a total decides: which optional tensors are stored, and dtypes, both by stored name.
struct Combination {
  std::set<std::string> present, or_shaped;
  std::map<std::string, base::Dtype> dtypes;
};
// Under which the total comes out; at most two are looked for.
std::vector<Combination> combinations_for(const analysis::Storage& storage, const spec::Counting& counting,
                                          const spec::CountList* alternative, base::Int128 recorded);
// The count of everything present, and the names of the rules that changed it, in the order of the table.
base::Int128 counted_total(const analysis::Storage& storage, const spec::Counting& counting,
                           const spec::CountList* alternative, std::vector<std::string>* rules = nullptr);

}  // namespace archlight::guard
