// repository.h: what the hub says about one revision: its commit, whether it is gated, its files.
//
// Format  The reply of /api/models/<repo>/revision/<revision>?blobs=true, of which id, sha, gated, siblings and
//         safetensors.total are used. repository_text gives those back in the same form, for the cache.
// Errors  A reply that is no such object, or whose sha is no commit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace archlight::truth {

struct RepositoryFile {
  std::optional<uint64_t> bytes;
  std::string etag;  // sha256 of a large file, git blob id of a small one; empty when not told
};

struct Repository {
  std::string id;  // as the hub spells it, which may differ from what was asked; may be empty
  std::string commit;
  bool gated = false;
  bool listed = false;                          // the files are known: one that is not here does not exist
  std::map<std::string, RepositoryFile> files;  // by path; names are not checked here
  std::optional<uint64_t> elements;             // the hub's own count of stored elements

  bool lacks(const std::string& file) const { return listed && !files.contains(file); }
  const RepositoryFile* find(const std::string& file) const;
};

base::Result<Repository> parse_repository(const std::string& text, const std::string& shown_as);
std::string repository_text(const Repository& repository);

// Which files hold the weights: an index with shards, or one safetensors file.
struct WeightFiles {
  std::string index;   // empty: none
  std::string single;  // empty: none, or not known without asking
};
// Without a list of files: model.safetensors.index.json, else model.safetensors, to be asked in that order.
// A fault where the repository has no safetensors: it says which formats there are.
base::Result<WeightFiles> find_weights(const Repository& repository, const std::string& shown_as);

}  // namespace archlight::truth
