// promises.h: what authors promise of graphs and of stored weights beside caches, held by the axiom guard.
//
// Computes  A component's `computes`, and a model's: how many nodes of its own graph have each op of unit vector, in the
//           phase that walks it: prefill, or decode for a variant. Ops that are not named: none.
// Stores    A scheme's `stores`: the bits that always stand for one weight, held at several sizes and at every value
//           that its params may have. Optional tensors and those of a length of their own are left out.
#pragma once

#include "guard/guards.h"

namespace archlight::guard::internal {

void check_computes(const analysis::Bill& bill, Findings& out);
void check_stores(const analysis::Bill& bill, Findings& out);

}  // namespace archlight::guard::internal
