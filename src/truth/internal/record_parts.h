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

// The level, counts, checks and notes of a source.json, for a record named `name` (its folder or snapshot
// name). Sets repo, revision, level, partial, recorded elements and notes.
base::Faults apply_source(const base::Json& source, const std::string& name, const std::string& shown_as,
                          Truth& into);

// What a record's repo_id_on_hf says: a plain hub id, or one with a remark behind it ("org/name fine-tune").
// A record named after a plain id with a suffix ("org--name.fp32") is a variant: something else than that
// repository.
struct RecordedId {
  std::string hub_id;  // empty when the record is not of one exact repository
};
RecordedId recorded_id(const std::string& name, const std::string& repo_id_on_hf);

// "org--name" as "org/name"; other names as they are.
std::string repo_of_name(const std::string& name);

// Names, total and notes of an index text.
base::Faults apply_index(const std::string& text, const std::string& shown_as, Truth& into);

}  // namespace archlight::truth
