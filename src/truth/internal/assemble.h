// assemble.h: shards' headers against each other and against their index, wherever they were read.
//
// Errors  A tensor in two shards; an index entry whose shard lacks the tensor or that another shard holds; a
//         tensor that the index lacks. At most 20 of them.
#pragma once

#include <string>

#include "base/result.h"
#include "truth/index.h"
#include "truth/truth.h"

namespace archlight::truth {

// `place` is put before a shard's name in faults: a folder or an address, with its last '/'.
base::Faults check_distinct(const std::string& place, const Truth& truth);
base::Faults compare_index(const std::string& shown_as, const Index& index, const Truth& truth);
// A note where the index's total is not what the headers hold.
void note_index_total(Truth& truth);

}  // namespace archlight::truth
