// structural.h: what a config states whatever the family, held against the graph; and what a spec declares in vain.
//
// Facts    Which key states what is data: `config` of specs/dims.yaml, `fact` and `values` of specs/config_keys.yaml.
//          A key that the config lacks, or that the spec ignores with a reason, is held against nothing.
//            dims            a dim has the value of the key under which configs state it
//            tied_head       a head repeats the embedding exactly where the key says so
//            layer_kinds     per layer: it keeps a window, the whole context, a state, nothing
//            whole_every     each so many-th layer keeps the whole context, and no other
//            ffn_kinds, leading_dense, dense_layers, experts   which layers have routed experts
//            rotary_width, rotary_fraction   each rope turns so many of a head's values; all, where nothing is stated
//            rope_base, rope_layers, no_rope which layers rotate at all
//            causal, bidirectional           the mask; an architecture named ...ForCausalLM is causal
//            window, window_in_use, window_from   a window in use is some layer's, with that width; one not in use is no
//                                            layer's
//            qk_norm         norms stand on query and key heads exactly where the key says so
//            rms_norm        no norm of the trunk takes a mean; wherever it stands, a layer norm stores a bias, or its
//                            node says which class has none
//            activation      the feed-forward networks compute it
//            router_score, router_norm, router_factor   what routers make of their logits
// Trunk    Facts speak of the stacks whose layers rest on a dim that configs state as their layer count; of every
//          stack that is not counted apart where there is none such.
// In vain  A dim that nothing names, a component that nothing calls, a custom op that no node computes, a draft
//          that nothing uses. Values, inputs and kept entries without a reader are the wiring guard's.
#pragma once

#include "guard/guards.h"

namespace archlight::guard {

void check_structural(const Subject& subject, Findings& out);

// Facts that are held against every layer wherever they are set, so that no spec need read their keys.
bool holds_by_layer(std::string_view fact);

}  // namespace archlight::guard
