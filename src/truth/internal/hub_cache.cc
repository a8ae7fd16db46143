#include "truth/internal/hub_cache.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "truth/safetensors.h"

namespace archlight::truth {
namespace {

constexpr std::string_view kMagic = "archlight hub entry 1 ";
constexpr size_t kMaxOtherCommits = 64;

std::string_view kind_name(EntryKind kind) {
  switch (kind) {
    case EntryKind::kRef:
      return "refs";
    case EntryKind::kRepository:
      return "repository";
    case EntryKind::kFile:
      return "files";
    case EntryKind::kHeader:
      return "headers";
  }
  return {};
}

std::string entry_text(const EntryKey& key, const CacheEntry& entry) {
  base::Json about = {
      {"kind", kind_name(key.kind)}, {"commit", key.commit},   {"file", key.name},
      {"etag", entry.etag},          {"absent", entry.absent}, {"length", entry.bytes.size()}};
  if (entry.file_bytes) about["file_bytes"] = *entry.file_bytes;
  const std::string rest = about.dump() + "\n" + entry.bytes;
  return std::string(kMagic) + sha256_hex(rest) + "\n" + rest;
}

// Nothing where a byte differs from what entry_text wrote for this key.
std::optional<CacheEntry> parse_entry(const EntryKey& key, std::string_view text) {
  const size_t head = kMagic.size() + 64 + 1;
  if (text.size() < head || !text.starts_with(kMagic) || text[head - 1] != '\n') return std::nullopt;
  const std::string_view rest = text.substr(head);
  if (sha256_hex(rest) != text.substr(kMagic.size(), 64)) return std::nullopt;
  const size_t line = rest.find('\n');
  if (line == std::string_view::npos) return std::nullopt;
  const base::Json about = base::Json::parse(rest.substr(0, line), nullptr, false);
  if (!about.is_object()) return std::nullopt;
  CacheEntry entry;
  entry.bytes = std::string(rest.substr(line + 1));
  if (about.value("kind", "") != kind_name(key.kind) || about.value("commit", "") != key.commit ||
      about.value("file", "") != key.name || about.value("length", uint64_t{0}) != entry.bytes.size())
    return std::nullopt;
  entry.etag = about.value("etag", "");
  entry.absent = about.value("absent", false);
  if (about.contains("file_bytes")) entry.file_bytes = about.value("file_bytes", uint64_t{0});
  return entry;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr);
  std::string out;
  for (unsigned int i = 0; i < size; ++i) out += fmt::format("{:02x}", digest[i]);
  return out;
}

HubCache::HubCache(const std::string& root, const Url& endpoint, const std::string& repo) {
  if (root.empty()) return;
  std::string flat = repo;
  if (const size_t slash = flat.find('/'); slash != std::string::npos) flat.replace(slash, 1, "--");
  std::string shown = endpoint.text();
  if (shown.size() > 100) shown = endpoint.origin() + " " + sha256_hex(shown);
  folder_ = root + "/" + percent_encode(shown) + "/" + flat;
}

std::string HubCache::default_root() {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg && xdg[0] == '/') return std::string(xdg) + "/archlight/hub";
  const char* home = std::getenv("HOME");
  if (home && home[0] == '/') return std::string(home) + "/.cache/archlight/hub";
  return {};
}

std::string HubCache::path(const EntryKey& key) const {
  switch (key.kind) {
    case EntryKind::kRef:
      return fmt::format("{}/refs/{}", folder_, percent_encode(key.name));
    case EntryKind::kRepository:
      return fmt::format("{}/{}/repository", folder_, key.commit);
    default:
      return fmt::format("{}/{}/{}/{}", folder_, key.commit, kind_name(key.kind), key.name);
  }
}

HubCache::Loaded HubCache::load(const EntryKey& key) const {
  const std::string file = enabled() ? path(key) : std::string();
  if (!enabled() || !base::file_exists(file)) return {};
  const base::Result<std::string> text = base::read_file(file, 2 * kMaxHeaderBytes);
  if (!text) return {State::kDamaged, {}};
  std::optional<CacheEntry> entry = parse_entry(key, *text);
  if (!entry) return {State::kDamaged, {}};
  return {State::kGood, std::move(*entry)};
}

base::Faults HubCache::store(const EntryKey& key, const CacheEntry& entry) const {
  if (!enabled()) return {};
  return base::write_file(path(key), entry_text(key, entry));
}

std::optional<CacheEntry> HubCache::same_elsewhere(const EntryKey& key, std::string_view etag) const {
  if (!enabled() || etag.empty() || !base::folder_exists(folder_)) return std::nullopt;
  const base::Result<std::vector<std::string>> commits = base::list_folders(folder_);
  if (!commits) return std::nullopt;
  size_t seen = 0;
  for (const std::string& commit : *commits) {
    if (!is_commit(commit) || commit == key.commit || ++seen > kMaxOtherCommits) continue;
    Loaded other = load({key.kind, commit, key.name});
    if (other.state == State::kGood && !other.entry.absent && other.entry.etag == etag)
      return std::move(other.entry);
  }
  return std::nullopt;
}

}  // namespace archlight::truth
