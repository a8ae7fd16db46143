// index.h: the *.index.json beside sharded weights: which file holds which tensor, and the total of their
// bytes.
//
// Format  {"metadata": {"total_size": N, ...}, "weight_map": {tensor: shard file}}. In the wild metadata is absent,
//         {} or carries more keys, and total_size is an integer, a float (writers that count bits) or missing.
// Errors  A shard that is no plain file name, a value of another type, a name twice, an empty weight_map.
// Source  docs/snapshots.md lists the oddities met.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/int128.h"
#include "base/json.h"
#include "base/result.h"

namespace archlight::truth {

struct Index {
  std::vector<std::string> names;   // sorted
  std::vector<uint32_t> shard_of;   // per name, into shards
  std::vector<std::string> shards;  // sorted
  std::optional<base::Int128> total_bytes;
  std::vector<std::string> notes;
};

base::Result<Index> parse_index(const std::string& text, const std::string& shown_as);

// What an index says under "metadata" (null when it has none): the total and its oddities.
base::Faults read_index_metadata(const base::Json* metadata, const std::string& shown_as, Index& into);

// A name that a folder may be asked for: not empty, no '/', no '\', no NUL, not '.' or '..'.
bool plain_file_name(const std::string& name);

}  // namespace archlight::truth
