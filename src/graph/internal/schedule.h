// schedule.h: which layers of a stack are alike, and how many there are of each kind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/internal/structural.h"

namespace archlight::graph::internal {

// The rule that each layer follows, by index into the stack's rules; rules with equal fills count as the first of them.
// A fault names a layer that no rule fits, or a config list that is missing or too short.
std::vector<int> rules_of_layers(const spec::StackDecl& stack, int64_t repeat, const Structural& structural,
                                 base::Faults& faults);

// How many layers follow a rule, as a formula: the rule's own count, what a count leaves over, or a name of its own,
// which then joins `derived`. `size` is the number it must come to.
expr::Formula count_of_rule(const spec::StackDecl& stack, int rule, int64_t size, const std::string& label,
                            const Structural& structural, std::vector<Derived>& derived);

}  // namespace archlight::graph::internal
