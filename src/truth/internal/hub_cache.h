// hub_cache.h: what was read from the hub, on disk, one entry per file.
//
// Layout   <root>/<endpoint, percent-encoded>/<org--name>/
//            refs/<revision, percent-encoded>   the commit that a branch or tag last meant
//            <commit>/repository                the file list, gating and element total of that commit
//            <commit>/files/<name>              a small file, whole
//            <commit>/headers/<name>            a shard's header bytes and the file's size; never a weight
//            byte
// Entry    "archlight hub entry 1 <sha256 of all that follows>\n", one line of JSON (kind, commit, file, etag,
//          length, file_bytes), the bytes. Written whole or not at all.
// Errors   An entry that is damaged, cut off, or another file's is kDamaged: the caller reads the file again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "truth/internal/url.h"

namespace archlight::truth {

std::string sha256_hex(std::string_view bytes);

enum class EntryKind { kRef, kRepository, kFile, kHeader };

struct EntryKey {
  EntryKind kind = EntryKind::kFile;
  std::string commit;  // kRef: empty
  std::string name;    // kRef: the revision; kRepository: empty
};

struct CacheEntry {
  std::string bytes;
  std::string etag;                    // names the contents, as the hub lists them; may be empty
  std::optional<uint64_t> file_bytes;  // kHeader: the size of the whole file
  bool absent = false;                 // the hub said that the commit has no such file
};

class HubCache {
 public:
  enum class State { kMissing, kDamaged, kGood };
  struct Loaded {
    State state = State::kMissing;
    CacheEntry entry;
  };

  HubCache() = default;  // holds nothing and stores nothing
  // Names must have passed the checks of url.h.
  HubCache(const std::string& root, const Url& endpoint, const std::string& repo);

  bool enabled() const { return !folder_.empty(); }
  const std::string& folder() const { return folder_; }
  // $XDG_CACHE_HOME/archlight/hub, else $HOME/.cache/archlight/hub, else empty. Relative paths do not count.
  static std::string default_root();

  // Safe from several threads at once, for different keys.
  Loaded load(const EntryKey& key) const;
  base::Faults store(const EntryKey& key, const CacheEntry& entry) const;
  // The same file with the same etag at another commit: a branch that moved mostly keeps its shards.
  std::optional<CacheEntry> same_elsewhere(const EntryKey& key, std::string_view etag) const;

 private:
  std::string path(const EntryKey& key) const;
  std::string folder_;
};

}  // namespace archlight::truth
