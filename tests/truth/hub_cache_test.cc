// What is kept, what is asked again, and what a damaged or missing entry does.
#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "truth/hub_client.h"
#include "truth/hub_server.h"

namespace archlight::truth {
namespace {

namespace fs = std::filesystem;

class HubCacheTest : public testing::Test {
 protected:
  Truth truth() {
    base::Result<Truth> out = read_hub(hub.repo, options);
    EXPECT_TRUE(out.ok()) << (out.ok() ? "" : base::render_all(out.faults()));
    return out.ok() ? std::move(*out) : Truth();
  }
  std::string fault() {
    const base::Result<Truth> out = read_hub(hub.repo, options);
    EXPECT_FALSE(out.ok());
    return out.ok() ? std::string() : out.faults()[0].message();
  }
  // The one cache entry whose path ends so.
  std::string entry(const std::string& end) {
    std::string found;
    for (const fs::directory_entry& at : fs::recursive_directory_iterator(cache.path()))
      if (at.is_regular_file() && at.path().string().ends_with(end)) found = at.path().string();
    EXPECT_FALSE(found.empty()) << end;
    return found;
  }

  TempFolder cache;
  FakeHub hub;
  HubOptions options = hub.options(cache.path());
};

TEST_F(HubCacheTest, PinnedCommitNeverAsksTwice) {
  hub.publish_two_shards();
  options.revision = kCommitA;
  truth();
  hub.forget();
  EXPECT_EQ(truth().tensors.size(), 2u);
  EXPECT_EQ(hub.seen().size(), 0u);
}

TEST_F(HubCacheTest, BranchAsksOnlyWhichCommitItIs) {
  hub.publish_two_shards();
  truth();
  hub.forget();
  truth();
  EXPECT_EQ(hub.seen().size(), 1u);
  EXPECT_EQ(hub.count("/api/models/"), 1u);
}

TEST_F(HubCacheTest, MovedBranchAsksOnlyForWhatChanged) {
  hub.publish_two_shards();
  truth();
  hub.commits[kCommitB] = hub.commits[kCommitA];
  // One more element: 4 bytes in 6004.
  hub.commits[kCommitB]["model-00002-of-00002.safetensors"] = safetensors_file("second", 501);
  hub.branches["main"] = kCommitB;
  hub.forget();
  const Truth got = truth();
  EXPECT_EQ(got.revision, kCommitB);
  EXPECT_EQ(got.tensors.total_bytes(), base::Int128(6004));
  EXPECT_EQ(hub.count("config.json"), 0u);
  EXPECT_EQ(hub.count("model-00001"), 0u);
  EXPECT_EQ(hub.count("model-00002"), 1u);
  EXPECT_EQ(hub.count("/blob/"), 2u);
}

TEST_F(HubCacheTest, InterruptedReadGoesOn) {
  hub.publish_two_shards();
  const std::string second = "/blob/" + sha256_hex(hub.commits[kCommitA]["model-00002-of-00002.safetensors"]);
  hub.store_hook = [=](const httplib::Request& request, httplib::Response& reply) {
    if (request.path != second) return false;
    reply.status = 500;
    return true;
  };
  options.tries = 1;
  options.parallel = 1;
  fault();
  hub.store_hook = {};
  hub.forget();
  EXPECT_EQ(truth().tensors.size(), 2u);
  EXPECT_EQ(hub.count("model-00001"), 0u);
  EXPECT_EQ(hub.count("config.json"), 0u);
  EXPECT_EQ(hub.count("/blob/"), 2u);
}

TEST_F(HubCacheTest, OfflineAfterOnline) {
  hub.publish_two_shards();
  truth();
  hub.stop();
  options.offline = true;
  const Truth got = truth();
  EXPECT_EQ(got.tensors.size(), 2u);
  EXPECT_EQ(got.revision, kCommitA);
  options.offline = false;
  setenv("HF_HUB_OFFLINE", "1", 1);
  EXPECT_EQ(truth().tensors.size(), 2u);
  unsetenv("HF_HUB_OFFLINE");
  options.tries = 1;
  EXPECT_NE(fault().find("HF_HUB_OFFLINE=1 reads the cached commit aaaaaaaaaaaa"), std::string::npos);
}

// The command's way in: the cache counts for a model that no snapshot holds.
TEST_F(HubCacheTest, OpenTruthReadsTheCacheOffline) {
  hub.publish_two_shards();
  setenv("HF_ENDPOINT", hub.endpoint().c_str(), 1);
  setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  OpenOptions open;
  open.home = cache.path();  // without snapshots
  open.progress = false;
  const base::Result<Truth> online = open_truth(hub.repo, open);
  hub.forget();
  open.offline = true;
  const base::Result<Truth> offline = open_truth(hub.repo, open);
  const base::Result<Truth> unknown = open_truth("org/other", open);
  unsetenv("HF_ENDPOINT");
  unsetenv("XDG_CACHE_HOME");
  ASSERT_TRUE(online.ok()) << base::render_all(online.faults());
  ASSERT_TRUE(offline.ok()) << base::render_all(offline.faults());
  EXPECT_EQ(offline->tensors.size(), 2u);
  EXPECT_FALSE(unknown.ok());
  EXPECT_EQ(hub.seen().size(), 0u);
}

TEST_F(HubCacheTest, OfflineNamesWhatIsMissing) {
  hub.publish_two_shards();
  options.offline = true;
  EXPECT_NE(
      fault().find("[not_verifiable] offline, and the cache has no copy of the file list at revision 'main'"),
      std::string::npos);
  EXPECT_EQ(hub.seen().size(), 0u);
  options.offline = false;
  truth();
  options.offline = true;
  fs::remove(entry("headers/model-00002-of-00002.safetensors"));
  EXPECT_NE(fault().find(
                "offline, and the cache has no copy of model-00002-of-00002.safetensors at revision 'main'; "
                "expected an earlier read of the same revision in "),
            std::string::npos);
  options.revision = "v2";
  EXPECT_NE(fault().find("the cache has no copy of the file list at revision 'v2'"), std::string::npos);
}

TEST_F(HubCacheTest, DamagedEntriesAreReadAgain) {
  hub.publish_two_shards();
  truth();
  const std::string shard = entry("headers/model-00001-of-00002.safetensors");
  const std::string whole = *base::read_file(shard);
  const auto damaged = [&](const std::string& bytes) {
    std::ofstream(shard, std::ios::binary) << bytes;
    hub.forget();
    const Truth got = truth();
    EXPECT_EQ(got.tensors.size(), 2u);
    EXPECT_EQ(hub.count("/blob/"), 2u);
    ASSERT_EQ(got.notes.size(), 1u);
    EXPECT_EQ(got.notes[0],
              "the cache's copy of model-00001-of-00002.safetensors was damaged and was read again");
    EXPECT_EQ(*base::read_file(shard), whole);
  };
  damaged("");
  damaged(whole.substr(0, whole.size() - 1));
  damaged(whole + " ");
  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 1;
  damaged(flipped);
  std::string size = whole;  // the file's size is covered too
  size[size.find("file_bytes\":") + 12] ^= 1;
  damaged(size);
  damaged(*base::read_file(entry("headers/model-00002-of-00002.safetensors")));  // another file's entry
}

// One byte anywhere, changed or cut off: never taken for good.
TEST_F(HubCacheTest, EveryByteOfAnEntryIsCovered) {
  const HubCache store(cache.path(), *parse_url("http://hub"), "org/model");
  const EntryKey key{EntryKind::kHeader, kCommitA, "model.safetensors"};
  ASSERT_TRUE(store.store(key, {"{}      ", "etag", 1234, false}).empty());
  const std::string path = entry("headers/model.safetensors");
  const std::string whole = *base::read_file(path);
  EXPECT_EQ(store.load(key).state, HubCache::State::kGood);
  EXPECT_EQ(store.load(key).entry.file_bytes, 1234u);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] ^= 1;
    std::ofstream(path, std::ios::binary) << changed;
    EXPECT_EQ(store.load(key).state, HubCache::State::kDamaged) << i;
    std::ofstream(path, std::ios::binary) << whole.substr(0, i);
    EXPECT_EQ(store.load(key).state, HubCache::State::kDamaged) << i;
  }
}

TEST_F(HubCacheTest, HoldsHeadersAndNoWeights) {
  hub.publish_single(safetensors_file("weight", 100'000));
  truth();
  const std::string stored = *base::read_file(entry("headers/model.safetensors"));
  EXPECT_LT(stored.size(), 1000u);  // the file has 400,000 bytes of data
  EXPECT_EQ(stored.find("WWWW"), std::string::npos);
}

TEST_F(HubCacheTest, EveryEntryLiesBelowItsFolder) {
  hub.publish_two_shards();
  hub.branches["refs/pr/1"] = kCommitA;
  options.revision = "refs/pr/1";
  truth();
  const std::string folder = cache.path() + "/" + percent_encode(hub.endpoint()) + "/org--model/";
  std::vector<std::string> names;
  for (const fs::directory_entry& at : fs::recursive_directory_iterator(cache.path()))
    if (at.is_regular_file()) {
      ASSERT_TRUE(at.path().string().starts_with(folder)) << at.path();
      names.push_back(at.path().string().substr(folder.size()));
    }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{kCommitA + "/files/config.json",
                                             kCommitA + "/files/model.safetensors.index.json",
                                             kCommitA + "/headers/model-00001-of-00002.safetensors",
                                             kCommitA + "/headers/model-00002-of-00002.safetensors",
                                             kCommitA + "/repository", "refs/refs%2Fpr%2F1"}));
}

TEST_F(HubCacheTest, TwoEndpointsDoNotMix) {
  hub.publish_two_shards();
  truth();
  FakeHub other;
  other.publish_two_shards();
  options.endpoint = other.endpoint();
  options.offline = true;
  EXPECT_NE(fault().find("offline"), std::string::npos);
}

TEST_F(HubCacheTest, UnwritableCacheIsNoFault) {
  hub.publish_two_shards();
  options.cache = "/proc/nowhere";
  EXPECT_EQ(truth().tensors.size(), 2u);
}

TEST_F(HubCacheTest, DefaultFolderFollowsXdg) {
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before ? before : "";
  setenv("XDG_CACHE_HOME", "/some/where", 1);
  EXPECT_EQ(HubCache::default_root(), "/some/where/archlight/hub");
  setenv("XDG_CACHE_HOME", "not/absolute", 1);
  EXPECT_NE(HubCache::default_root().find("/.cache/archlight/hub"), std::string::npos);
  before ? setenv("XDG_CACHE_HOME", kept.c_str(), 1) : unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace archlight::truth
