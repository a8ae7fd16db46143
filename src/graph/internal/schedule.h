// schedule.h: which layers of a stack are alike, and how many there are of each kind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/internal/structural.h"

namespace archlight::graph::internal {

// Layers that follow one rule and agree in every per-layer dim.
struct Kind {
  int rule = 0;                      // by index into the stack's rules
  std::vector<spec::BoundDim> dims;  // the stack's per-layer dims, then the rule's
  std::string label;                 // one of its own in the stack
  bool whole_rule = true;            // all layers of the rule are of this kind
};

struct Kinds {
  std::vector<Kind> kinds;    // in the order of their first layers
  std::vector<int> of_layer;  // by index into `kinds`
};

// Rules with equal fills count as the first of them. A fault names a layer that no rule fits, or a config list that is
// missing or too short.
Kinds kinds_of_layers(const spec::StackDecl& stack, int64_t repeat, const Structural& structural,
                      base::Faults& faults);

// The names that a kind's formulas see, as scopes from the outermost in: per-layer dims that are symbols, then one
// formula each. Symbols are named once per value and stack; new ones join `derived`, with their layers as origin.
struct LayerScopes {
  std::vector<std::vector<spec::NamedFormula>> names;
};
std::vector<LayerScopes> scopes_of_kinds(const spec::StackDecl& stack, const Kinds& kinds,
                                         const spec::Binding& binding, std::vector<Derived>& derived);

// How many layers follow a rule, as a formula: the rule's own count, what a count leaves over, or a name of its own,
// which then joins `derived`. `size` is the number it must come to.
expr::Formula count_of_rule(const spec::StackDecl& stack, int rule, int64_t size, const std::string& label,
                            const Structural& structural, std::vector<Derived>& derived);
// A count of layers that is no rule's: a name of its own, with that origin.
expr::Formula count_of_layers(const spec::StackDecl& stack, int64_t size, const std::string& label,
                              const std::string& origin, std::vector<Derived>& derived);

}  // namespace archlight::graph::internal
