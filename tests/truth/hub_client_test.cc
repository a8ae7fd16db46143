// A repository read over the wire: what is asked, of whom, and that no weight byte is.
#include "truth/hub_client.h"

#include <gtest/gtest.h>

#include "truth/hub_server.h"
#include "truth/source.h"

namespace archlight::truth {
namespace {

class HubClient : public testing::Test {
 protected:
  base::Result<Truth> read() { return read_hub(hub.repo, options); }
  // A read that must succeed.
  Truth truth() {
    base::Result<Truth> out = read();
    EXPECT_TRUE(out.ok()) << (out.ok() ? "" : base::render_all(out.faults()));
    return out.ok() ? std::move(*out) : Truth();
  }

  TempFolder cache;
  FakeHub hub;
  HubOptions options = hub.options(cache.path());
};

TEST_F(HubClient, ReadsConfigIndexAndHeaders) {
  hub.publish_two_shards();
  const Truth got = truth();
  EXPECT_EQ(got.level, Level::kHeader);
  EXPECT_EQ(got.repo, "org/model");
  EXPECT_EQ(got.revision, kCommitA);
  EXPECT_EQ((*got.config)["hidden_size"], 8);
  EXPECT_EQ(got.quant_config, nullptr);
  ASSERT_EQ(got.tensors.size(), 2u);
  EXPECT_EQ(got.tensors.name(0), "first");
  EXPECT_EQ(got.tensors.name(1), "second");
  EXPECT_EQ(got.tensors.row(1).shard, 1u);
  EXPECT_EQ(got.tensors.total_bytes(), base::Int128(6000));  // (1000 + 500) elements of 4 bytes
  EXPECT_EQ(*got.index_total_bytes, base::Int128(6000));
  ASSERT_EQ(got.shards.size(), 2u);
  EXPECT_EQ(*got.shards[0].file_bytes, hub.commits[kCommitA]["model-00001-of-00002.safetensors"].size());
}

TEST_F(HubClient, ThreeSmallRequestsPerShardAndNoWeightByte) {
  hub.publish_two_shards();
  truth();
  // One description, two small files with a relative redirect each, and per shard: the hub's redirect, bytes
  // 0-7, the header.
  EXPECT_EQ(hub.count("/api/models/org/model/revision/main"), 1u);
  EXPECT_EQ(hub.count("config.json"), 2u);
  EXPECT_EQ(hub.count("index.json"), 2u);
  EXPECT_EQ(hub.count("/resolve/" + kCommitA + "/model-0000"), 2u);
  EXPECT_EQ(hub.count("/blob/"), 4u);
  EXPECT_EQ(hub.seen().size(), 1u + 2 + 2 + 2 + 4);
  for (const auto& [name, contents] : hub.commits[kCommitA]) {
    if (!FakeHub::is_large(name)) continue;
    std::vector<std::string> ranges;
    for (const FakeHub::Seen& seen : hub.seen())
      if (seen.path == "/blob/" + sha256_hex(contents)) ranges.push_back(seen.range);
    EXPECT_EQ(ranges,
              (std::vector<std::string>{"bytes=0-7", fmt::format("bytes=8-{}", header_end(contents) - 1)}));
  }
}

// A reader that fetches a window first must get headers at, before and behind the window's edge right; this
// one asks for the exact range, and the lengths at which others have failed are checked all the same.
TEST_F(HubClient, HeadersOfAnyLength) {
  for (const size_t length :
       {size_t{100}, size_t{4088}, size_t{4096}, size_t{8191}, size_t{8192}, size_t{65527}, size_t{65528},
        size_t{65529}, size_t{65536}, size_t{99992}, size_t{99999}, size_t{100000}, size_t{100001},
        size_t{100008}, size_t{1048576}, size_t{3000001}}) {
    hub.publish_single(safetensors_file("weight", 3, length));
    TempFolder fresh;
    options.cache = fresh.path();
    hub.forget();
    const Truth got = truth();
    ASSERT_EQ(got.tensors.size(), 1u) << length;
    EXPECT_EQ(got.tensors.bytes(0), 12u);
    EXPECT_EQ(*got.shards[0].file_bytes, 8 + length + 12);
    EXPECT_EQ(hub.seen().back().range, fmt::format("bytes=8-{}", 8 + length - 1));
  }
}

TEST_F(HubClient, TokenGoesToTheHubAndNotAcrossTheRedirect) {
  hub.publish_two_shards();
  hub.token = "hf_secret";
  options.token = "hf_secret";
  truth();
  for (const FakeHub::Seen& seen : hub.seen()) {
    EXPECT_EQ(seen.authorization, seen.store ? "" : "Bearer hf_secret") << seen.path;
  }
}

TEST_F(HubClient, TokenAndEndpointComeFromTheEnvironment) {
  hub.publish_two_shards();
  hub.token = "hf_secret";
  options.endpoint.clear();
  setenv("HF_ENDPOINT", (hub.endpoint() + "/").c_str(), 1);
  setenv("HF_TOKEN", "hf_secret\n", 1);
  EXPECT_EQ(truth().tensors.size(), 2u);
  setenv("HF_TOKEN", "hf_sec\r\nX-Other: ret", 1);
  TempFolder fresh;
  options.cache = fresh.path();
  const base::Result<Truth> got = read();
  unsetenv("HF_ENDPOINT");
  unsetenv("HF_TOKEN");
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.faults()[0].message().find("HF_TOKEN: the token holds blanks"), std::string::npos);
}

TEST_F(HubClient, EverythingIsAskedAtOneCommitThoughTheBranchMoves) {
  hub.publish_two_shards();
  hub.commits[kCommitB] = hub.commits[kCommitA];
  hub.commits[kCommitB]["model-00002-of-00002.safetensors"] = safetensors_file("second", 501);
  hub.hub_hook = [&](const httplib::Request& request, httplib::Response&) {
    if (request.path.find("/resolve/") != std::string::npos) hub.branches["main"] = kCommitB;
    return false;
  };
  options.parallel = 1;
  const Truth got = truth();
  EXPECT_EQ(got.revision, kCommitA);
  EXPECT_EQ(got.tensors.bytes(1), 2000u);
}

TEST_F(HubClient, RevisionsOfEveryKind) {
  hub.publish_two_shards();
  hub.branches["refs/pr/1"] = kCommitA;
  hub.branches["v1.0"] = kCommitA;
  for (const std::string revision : {"refs/pr/1", "v1.0", kCommitA.c_str()}) {
    options.revision = revision;
    EXPECT_EQ(truth().revision, kCommitA) << revision;
  }
}

TEST_F(HubClient, OneFileWithoutAnIndex) {
  hub.publish_single(safetensors_file("weight", 10));
  const Truth got = truth();
  EXPECT_EQ(got.tensors.size(), 1u);
  EXPECT_FALSE(got.index_total_bytes);
  EXPECT_EQ(got.shards[0].name, "model.safetensors");
}

TEST_F(HubClient, QuantConfigIsReadWhereThereIsOne) {
  hub.publish_single(safetensors_file("weight", 10));
  hub.commits[kCommitA]["hf_quant_config.json"] = R"({"quantization": {"quant_algo": "FP8"}})";
  EXPECT_EQ((*truth().quant_config)["quantization"]["quant_algo"], "FP8");
}

// The hub answers an old id with a redirect to the new one.
TEST_F(HubClient, RenamedModel) {
  hub.publish_single(safetensors_file("weight", 10));
  hub.hub_hook = [&](const httplib::Request& request, httplib::Response& reply) {
    const size_t at = request.target.find("old/name");
    if (at == std::string::npos) return false;
    std::string target = request.target;
    reply.set_redirect(target.replace(at, 8, "org/model"), 307);
    return true;
  };
  const base::Result<Truth> got = read_hub("old/name", options);
  ASSERT_TRUE(got.ok()) << base::render_all(got.faults());
  EXPECT_EQ(got->repo, "old/name");
  EXPECT_EQ(got->notes, std::vector<std::string>{"the hub calls this model 'org/model' now"});
}

// A mirror that serves files and describes nothing: the commit comes from x-repo-commit, absence from 404.
TEST_F(HubClient, HubWithoutDescriptions) {
  hub.publish_single(safetensors_file("weight", 10));
  hub.describes = false;
  const Truth got = truth();
  EXPECT_EQ(got.revision, kCommitA);
  EXPECT_EQ(got.tensors.size(), 1u);
  EXPECT_EQ(hub.count("/resolve/" + kCommitA + "/hf_quant_config.json"), 1u);
  hub.stop();
  options.offline = true;
  EXPECT_EQ(truth().tensors.size(), 1u);
}

TEST_F(HubClient, ManyShardsInParallelComeOutInOrder) {
  std::string map;
  std::map<std::string, std::string>& files = hub.commits[kCommitA];
  for (int i = 0; i < 60; ++i) {
    const std::string shard = fmt::format("model-{:05}-of-00060.safetensors", i + 1);
    files[shard] = safetensors_file(fmt::format("t{:02}", i), static_cast<size_t>(i) + 1);
    map += fmt::format(R"({}"t{:02}": "{}")", i ? ", " : "", i, shard);
  }
  files["config.json"] = "{}";
  files["model.safetensors.index.json"] = R"({"metadata": {}, "weight_map": {)" + map + "}}";
  hub.branches["main"] = kCommitA;
  const Truth got = truth();
  ASSERT_EQ(got.tensors.size(), 60u);
  for (size_t i = 0; i < 60; ++i) EXPECT_EQ(got.tensors.name(i), fmt::format("t{:02}", i));
  EXPECT_EQ(got.tensors.total_bytes(), base::Int128(60 * 61 / 2 * 4));
  EXPECT_EQ(hub.count("/blob/"), 120u);
}

TEST_F(HubClient, IndexThatDisagreesWithTheHeadersIsAFault) {
  hub.publish_two_shards();
  hub.commits[kCommitA]["model.safetensors.index.json"] =
      R"({"weight_map": {"first": "model-00001-of-00002.safetensors", "third": "model-00002-of-00002.safetensors"}})";
  const base::Result<Truth> got = read();
  ASSERT_FALSE(got.ok());
  const std::string said = base::render_all(got.faults());
  EXPECT_NE(
      said.find("weight_map['third'] is 'model-00002-of-00002.safetensors', whose header has no such tensor"),
      std::string::npos)
      << said;
  EXPECT_NE(said.find("weight_map lacks the tensor 'second'"), std::string::npos) << said;
  EXPECT_TRUE(got.faults()[0].guard.empty());
}

TEST_F(HubClient, ProgressIsAFewLinesWhereThereIsNoTerminal) {
  hub.publish_two_shards();
  options.progress = true;
  testing::internal::CaptureStderr();
  truth();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("org/model: 0 of 2 tensor headers, 0.0 MB\n"), std::string::npos) << said;
  EXPECT_NE(said.find("org/model: 2 of 2 tensor headers, 0.0 MB\n"), std::string::npos) << said;
  EXPECT_EQ(said.find('\r'), std::string::npos);
  options.progress = false;
  TempFolder fresh;
  options.cache = fresh.path();
  testing::internal::CaptureStderr();
  truth();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

// What config.auto_map names of the model is read whole, and what it imports from beside it; nothing of other repositories,
// tokenizers or configs. Offline it comes from the cache.
TEST_F(HubClient, ForwardSourceOfRemoteCode) {
  hub.publish_two_shards();
  std::map<std::string, std::string>& files = hub.commits[kCommitA];
  files["config.json"] = R"({"model_type": "test", "auto_map": {
      "AutoConfig": "configuration_tiny.TinyConfig", "AutoModel": "modeling_tiny.TinyModel",
      "AutoModelForCausalLM": "modeling_tiny.TinyForCausalLM", "AutoModelForImages": "other/repo--modeling_x.X",
      "AutoTokenizer": ["tokenization_tiny.TinyTokenizer", null], "AutoModelForTokens": "../etc.X", "AutoModelBad": 7}})";
  files["modeling_tiny.py"] =
      "from .tiny_vision import TinyVision\nfrom .absent import X\n"
      "from .configuration_tiny import TinyConfig\nclass TinyModel: pass\n";
  files["tiny_vision.py"] = "class TinyVision: pass\n";
  files["configuration_tiny.py"] = files["tokenization_tiny.py"] = "x = 1\n";
  const auto holds = [&](const Truth& got) {
    ASSERT_EQ(got.sources.size(), 1u);
    EXPECT_EQ(got.sources[0]->names(), (std::vector<std::string>{"modeling_tiny.py", "tiny_vision.py"}));
    const Source::File file = got.sources[0]->file("modeling_tiny.py");
    ASSERT_TRUE(file.ok());
    EXPECT_NE((*file)->find("TinyModel"), nullptr);
    EXPECT_EQ(got.notes, std::vector<std::string>{});
  };
  holds(truth());
  EXPECT_EQ(hub.count("modeling_tiny.py"), 2u);  // the hub's redirect, and the file
  EXPECT_EQ(hub.count("configuration_tiny.py") + hub.count("tokenization_tiny.py") + hub.count("modeling_x"),
            0u);
  options.offline = true;
  hub.forget();
  holds(truth());
  EXPECT_EQ(hub.seen().size(), 0u);
}

TEST_F(HubClient, ModelCard) {
  hub.publish_two_shards();
  EXPECT_EQ(truth().card, "");
  hub.commits[kCommitB] = hub.commits[kCommitA];
  hub.commits[kCommitB]["README.md"] = "# Tiny\nIt has 7B parameters.\n";
  hub.branches["main"] = kCommitB;
  EXPECT_EQ(truth().card, "# Tiny\nIt has 7B parameters.\n");
}

// A source that cannot be had is no reason to have nothing: the read says so, and goes on.
TEST_F(HubClient, ForwardSourceThatIsNotThere) {
  hub.publish_two_shards();
  hub.commits[kCommitA]["config.json"] = R"({"auto_map": {"AutoModel": "modeling_gone.Gone"}})";
  const Truth got = truth();
  EXPECT_EQ(got.level, Level::kHeader);
  EXPECT_EQ(got.sources.size(), 0u);
  EXPECT_EQ(got.notes,
            (std::vector<std::string>{
                "the forward source modeling_gone.py is not at hand: the repository has no such file"}));
}

}  // namespace
}  // namespace archlight::truth
