// axiom.h: what components promise of their caches, decided for every context length.
//
// Quantities  Of one call of a component, over its own cache entries, in elements of one request and layer:
//   kv_elements            all that is kept at context s_ctx, states among it
//   kv_elements_per_token  what a further token adds within every window; a ratio counts as its fraction
//   kv_tokens              the most tokens that a growing entry holds
//   kv_growth              kv_elements at s_ctx + 1, less those at s_ctx
//   kv_growth_when_full    the same once every window is full
//   state_elements         of entries whose size is fixed
//   KIND.elements, KIND.tokens, KIND.per_token    of the entries of one kind: key.elements
//   s_ctx, and every dim that the component sees; `X == constant` says that X is the same at every s_ctx
// Deciding    A promise holds when it is proven: both sides one canonical form, or their difference bounded, cases of min
//             and max told apart, with dims as symbols or else as this config's numbers, and s_ctx free. It is
//             refuted by one context length at which it fails, which the fault names. What is neither is open: no
//             fault, and nothing is called verified.
// Advice      A component that keeps a cache and promises nothing.
#pragma once

#include "guard/guards.h"

namespace archlight::guard {

void check_axioms(const Subject& subject, Findings& out);

}  // namespace archlight::guard
