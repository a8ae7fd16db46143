// unused.h: what a model and its components declare and nothing uses, for any config.
#pragma once

#include "guard/guards.h"

namespace archlight::guard::internal {

void check_unused(const spec::Library& library, const spec::Model& model, Findings& out);

}  // namespace archlight::guard::internal
