// record_parts.h: a record's parts as texts, so that folders and snapshots are read by one reader.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "truth/truth.h"

namespace archlight::truth {

// Tables are tab-separated with a head line. `shown_as` is the place for faults.
base::Faults parse_tensor_rows(const std::string& tsv, const std::string& shown_as, TensorTable& into,
                               std::vector<ShardFile>& shards);
base::Faults parse_shard_rows(const std::string& tsv, const std::string& shown_as,
                              std::vector<ShardFile>& shards);

// The level, counts, checks and notes of a source.json. Sets level, partial, recorded elements and notes.
base::Faults apply_source(const base::Json& source, const std::string& shown_as, Truth& into);

// Names, total and notes of an index text.
base::Faults apply_index(const std::string& text, const std::string& shown_as, Truth& into);

}  // namespace archlight::truth
