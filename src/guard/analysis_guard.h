// analysis_guard.h: the evaluation against itself, and against what the config says where no tensor can.
#pragma once

#include "guard/verify.h"

namespace archlight::guard {

// Decode reads exactly the weights that prefill stores: per stored weight, the shares its decode readers take
// add up to the whole. Counts what it compares.
base::Faults check_phases(const analysis::Bill& bill, int64_t* checks);

// What a config states whatever the family, held against what the spec made of it:
//   dims     a dim has the value of the key under which configs state it (`config` of specs/dims.yaml), such as
//            top_k that of num_experts_per_tok
//   tying    a head repeats the embedding exactly where tie_word_embeddings says so
//   layers   where layer_types lists them, sliding_attention layers keep a window and full_attention layers none
// A key that the config lacks is held against nothing.
base::Faults check_config(const analysis::Bill& bill, int64_t* checks);

}  // namespace archlight::guard
