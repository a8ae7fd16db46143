// forward.h: the graph of a component beside the forward pass that its `src` names. Advises.
//
// Order      Where the graph hands A's value on to B, directly or through others, forward() calls self.A before self.B. Modules
//            are known by their names in checkpoints; only those that forward() calls once are compared.
// Residuals  A block adds as often as forward() adds to a residual, on some way through its branches (python.h); nothing is
//            compared where forward() shows no such sum.
// Left out   What a called module does inside; loops; sums that are no residual's; anchors whose source is not at hand.
#pragma once

#include "guard/guards.h"

namespace archlight::guard {

void check_forward(const Subject& subject, Findings& out);

}  // namespace archlight::guard
