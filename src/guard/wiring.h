// wiring.h: how values flow in a spec, where neither a shape nor a tensor could tell.
//
// Checks, in both phases
//   use        every input of a component and every computed value is read, or leaves the model: its last
//              entry's value, the outputs of a stack that is counted apart
//   attention  under a causal mask keys and values come through kept entries; both sides of a score are rotated
//              or neither is; where both are joined from parts, the parts are of equal widths in one order;
//              a weighted sum takes no raw scores; score, softmax and weighted sum share mask, window and ratio
//   cache      a kept entry reaches what its kind says: key, rope_key and index_key a score, value a weighted sum,
//              latent, window_entry and compressed_entry both; an entry has the window or the ratio of the
//              attention that reads it, and is no fixed state
//   decode     keeps what prefill keeps: the same nodes, kinds, growth and sizes; does no work on kept tokens
//              but attention's own
//   routing    copies that share the tokens out get `active` of each; what a topk chose is used as positions
//              among what it chose from, and nothing else is: of experts, or of as many keys as are read
//   roles      a stored parameter has a role that its op may have (`ops` of specs/roles.yaml); neither an op
//              nor a component called by name has a role that fills a slot; a role of copies is of copies
// Source     Each holds for softmax attention and routed experts as such, whatever the family.
#pragma once

#include "analysis/bill.h"

namespace archlight::guard {

// One fault per place, not one per layer or phase. Counts what it compares.
base::Faults check_wiring(const analysis::Bill& bill, int64_t* checks);

}  // namespace archlight::guard
