// duplicate.h: specs that say nearly what another says already. Advises.
//
// Whose    A draft that the model uses, beside every other component of its role; the model, beside every other model.
// Nearly   Of the lines of both, comments, `src`, `note` and `match` apart, at least nineteen in twenty are the other's too.
#pragma once

#include "guard/guards.h"

namespace archlight::guard {

void check_duplicates(const Subject& subject, Findings& out);

}  // namespace archlight::guard
