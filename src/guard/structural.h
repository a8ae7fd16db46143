// structural.h
#pragma once

#include "guard/guards.h"

namespace archlight::guard {

void check_structural(const Subject& subject, Findings& out);

}  // namespace archlight::guard
