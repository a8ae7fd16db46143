// record.h: a folder that holds what is known of a checkpoint without its weights.
//
// Files   source.json (hub id, level, provenance, checks, surprises), config.json, index.json.zst, shards.tsv
//         (file, bytes, SHA-256), tensors.tsv.zst (name, dtype, shape, bytes, shard).
// Levels  header, header (partial): tensors.tsv.zst was read from the files and is truth.
//         index: the index is truth; a tensors.tsv.zst beside it was worked out by rule and is not.
//         params, size: a recorded element total gives count, else config; size brings shard file sizes.
//         header (GGUF): a listing of names, ggml types and shapes, without metadata; config where a type is not known.
//         modules: the names are not those of files: config, with a note.
// Format  docs/snapshots.md#records.
#pragma once

#include <string>

#include "base/result.h"
#include "truth/truth.h"

namespace archlight::truth {

bool is_record(const std::string& folder);
base::Result<Truth> read_record(const std::string& folder);

// The tensors of tensors.tsv.zst whatever the record's level: for tests and as a stated assumption, never as
// truth at the levels below header. Offsets are running sums per shard.
base::Result<TensorTable> load_derived_tensors(const std::string& folder);

}  // namespace archlight::truth
