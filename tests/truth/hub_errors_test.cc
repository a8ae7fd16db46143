// Every way a read can fail, and what it says: the status codes of the hub, and repositories that are not
// what is needed.
#include <gtest/gtest.h>

#include "truth/hub_client.h"
#include "truth/hub_server.h"

namespace archlight::truth {
namespace {

class HubErrors : public testing::Test {
 protected:
  // The first fault of a read that must fail, its addresses shortened to HUB and STORE.
  std::string fault(bool not_verifiable = true) {
    const base::Result<Truth> got = read_hub(hub.repo, options);
    EXPECT_FALSE(got.ok());
    if (got.ok()) return {};
    EXPECT_EQ(got.faults()[0].guard, not_verifiable ? "not_verifiable" : "");
    std::string out = got.faults()[0].message();
    for (const auto& [address, name] :
         {std::pair(hub.endpoint(), "HUB"), std::pair(hub.store_address(), "STORE"),
          std::pair(hub.endpoint().substr(7), "HUB"), std::pair(hub.store_address().substr(7), "STORE")})
      for (size_t at; (at = out.find(address)) != std::string::npos;) out.replace(at, address.size(), name);
    return out;
  }
  // Every answer of the hub's is this status, with these headers.
  void always(int status, httplib::Headers headers = {}) {
    hub.hub_hook = [=](const httplib::Request&, httplib::Response& reply) {
      reply.status = status;
      for (const auto& [name, value] : headers) reply.set_header(name, value);
      return true;
    };
  }

  TempFolder cache;
  FakeHub hub;
  HubOptions options = hub.options(cache.path());
};

TEST_F(HubErrors, MissingModel) {
  hub.publish_two_shards();
  always(404, {{"X-Error-Code", "RepoNotFound"}});
  EXPECT_EQ(
      fault(),
      "HUB/org/model: [not_verifiable] there is no model 'org/model' with a revision 'main' at HUB (404); "
      "expected a model id such as org/name; check the spelling of the id and of the revision");
  EXPECT_EQ(hub.seen().size(), 1u);
}

TEST_F(HubErrors, MissingModelOfAMirrorWithoutCodes) {
  always(404);
  EXPECT_NE(fault().find("there is no model 'org/model' with a revision 'main' at HUB (404)"),
            std::string::npos);
}

TEST_F(HubErrors, MissingRevision) {
  hub.publish_two_shards();
  options.revision = "v9";
  EXPECT_EQ(fault(),
            "HUB/org/model: [not_verifiable] 'org/model' has no revision 'v9' (404); expected a branch, a "
            "tag or a full "
            "commit id; see HUB/org/model/refs for what it has");
}

TEST_F(HubErrors, PrivateOrMissingWithoutAToken) {
  hub.publish_two_shards();
  hub.token = "hf_right";
  EXPECT_EQ(fault(),
            "HUB/org/model: [not_verifiable] 'org/model' is private, or there is no such model (401); "
            "expected a model that "
            "anyone may read, or a token; check the id's spelling, or set HF_TOKEN to a read token from "
            "HUB/settings/tokens");
}

TEST_F(HubErrors, BadToken) {
  always(401, {{"X-Error-Message", "Invalid credentials in Authorization header"}});
  options.token = "hf_wrong";
  EXPECT_EQ(fault(),
            "HUB/org/model: [not_verifiable] the hub refuses the token for 'org/model' (401), saying: "
            "Invalid credentials in "
            "Authorization header; expected a token that may read it; check the id's spelling, or set "
            "HF_TOKEN to a new "
            "read token from HUB/settings/tokens");
}

TEST_F(HubErrors, Gated) {
  hub.publish_two_shards();
  hub.gated = true;
  hub.token = "hf_right";
  EXPECT_EQ(
      fault(),
      "HUB/org/model/resolve/main/config.json: [not_verifiable] 'org/model' is gated (403); expected an "
      "account that "
      "has accepted its licence; accept the licence at HUB/org/model, then set HF_TOKEN to a read token from "
      "HUB/settings/tokens");
  options.token = "hf_other";
  EXPECT_NE(fault().find("accept the licence at HUB/org/model with the account that HF_TOKEN belongs to"),
            std::string::npos);
  options.token = "hf_right";
  EXPECT_TRUE(read_hub(hub.repo, options).ok());
}

TEST_F(HubErrors, ForbiddenToThisToken) {
  always(403, {{"X-Error-Message", "This token lacks the right"}});
  options.token = "hf_narrow";
  EXPECT_NE(
      fault().find("the hub forbids 'org/model' to this token (403), saying: This token lacks the right"),
      std::string::npos);
}

TEST_F(HubErrors, NoConfig) {
  hub.publish_two_shards();
  hub.commits[kCommitA].erase("config.json");
  EXPECT_EQ(fault(),
            "HUB/org/model/resolve/main/config.json: [not_verifiable] the repository has no config.json; "
            "expected the config "
            "beside the weights: without it no bill can be made; check that the id names a "
            "transformers-style model, or give "
            "a local folder");
  EXPECT_EQ(hub.seen().size(), 1u);  // the file list says so
}

TEST_F(HubErrors, NoSafetensors) {
  hub.commits[kCommitA] = {{"config.json", "{}"}, {"pytorch_model.bin", "x"}, {"README.md", "x"}};
  hub.branches["main"] = kCommitA;
  EXPECT_EQ(
      fault(),
      "HUB/org/model: [not_verifiable] the repository has only pytorch_model.bin: no safetensors; expected "
      "model.safetensors, or model.safetensors.index.json with its shards; look for a revision or a sister "
      "repository "
      "in safetensors, such as refs/convert/safetensors");
  hub.commits[kCommitA] = {
      {"config.json", "{}"}, {"a.gguf", "x"}, {"b.gguf", "x"}, {"c.gguf", "x"}, {"d.gguf", "x"}};
  TempFolder fresh;
  options.cache = fresh.path();
  EXPECT_EQ(fault(),
            "HUB/org/model: [not_verifiable] the repository has 4 GGUF models, first 'a.gguf'; expected one "
            "of them; "
            "name it: org/model/a.gguf");
  hub.commits[kCommitA] = {{"config.json", "{}"}};
  TempFolder fresher;
  options.cache = fresher.path();
  EXPECT_NE(fault().find("the repository has no weights"), std::string::npos);
}

TEST_F(HubErrors, ServerErrorsAreTriedAgainAndThenReported) {
  always(503);
  options.tries = 4;
  EXPECT_NE(fault().find("the hub answers 503 (4 tries); try again later"), std::string::npos);
  EXPECT_EQ(hub.seen().size(), 4u);
}

TEST_F(HubErrors, BadRequestsAreNotTriedAgain) {
  always(400);
  EXPECT_NE(fault().find("the hub answers 400; check HF_ENDPOINT"), std::string::npos);
  EXPECT_EQ(hub.seen().size(), 1u);
}

TEST_F(HubErrors, RateLimitIsWaitedOut) {
  hub.publish_two_shards();
  std::atomic<int> asked = 0;
  hub.hub_hook = [&](const httplib::Request&, httplib::Response& reply) {
    if (asked++ != 0) return false;
    reply.status = 429;
    reply.set_header("Retry-After", "17");
    return true;
  };
  std::vector<double> waits;
  options.wait = [&](double seconds) { waits.push_back(seconds); };
  EXPECT_TRUE(read_hub(hub.repo, options).ok());
  ASSERT_FALSE(waits.empty());
  // 17 s less the moment between setting the wait and starting it.
  EXPECT_GT(waits[0], 16.0);
  EXPECT_LE(waits[0], 17.0);
}

TEST_F(HubErrors, RateLimitThatAsksTooMuchEndsTheRead) {
  always(429, {{"Retry-After", "301"}});
  EXPECT_NE(
      fault().find(
          "the hub limits this machine's requests (429) and asks to wait 301 s; wait, then try again, or set "
          "HF_TOKEN for a higher limit"),
      std::string::npos);
  EXPECT_EQ(hub.seen().size(), 1u);
}

TEST_F(HubErrors, BackOffDoublesWithJitter) {
  always(502);
  options.tries = 5;
  options.first_backoff_s = 8;
  std::vector<double> waits;
  options.wait = [&](double seconds) { waits.push_back(seconds); };
  fault();
  ASSERT_EQ(waits.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const double base = 8.0 * static_cast<double>(1 << i);  // 8, 16, 32, 64, each times 0.5 to 1.5
    EXPECT_GT(waits[i], 0.45 * base);
    EXPECT_LE(waits[i], 1.5 * base);
  }
}

TEST_F(HubErrors, WholeReadHasADeadline) {
  always(503);
  options.first_backoff_s = 100;
  options.total_s = 50;  // the first wait is 50 s at least: no second try
  fault();
  EXPECT_EQ(hub.seen().size(), 1u);
}

TEST_F(HubErrors, StoreFailuresNameTheStoreAndNotItsSignature) {
  hub.publish_two_shards();
  hub.store_hook = [](const httplib::Request&, httplib::Response& reply) {
    reply.status = 500;
    return true;
  };
  options.tries = 2;
  const std::string said = fault();
  EXPECT_NE(said.find("STORE answers 500 (2 tries)"), std::string::npos) << said;
  EXPECT_EQ(said.find("s3cr3t"), std::string::npos) << said;
}

TEST_F(HubErrors, SignatureThatRunsOutIsRenewed) {
  hub.publish_single(safetensors_file("weight", 10));
  std::atomic<int> asked = 0;
  hub.store_hook = [&](const httplib::Request&, httplib::Response& reply) {
    if (asked++ != 1) return false;
    reply.status = 403;
    return true;
  };
  EXPECT_TRUE(read_hub(hub.repo, options).ok());
  EXPECT_EQ(hub.count("/model.safetensors"), 2u);
  EXPECT_EQ(hub.count("/blob/"), 3u);
}

TEST_F(HubErrors, EmptyShard) {
  hub.publish_single("");
  hub.store_hook = [](const httplib::Request&, httplib::Response& reply) {
    reply.status = 416;
    return true;
  };
  EXPECT_NE(fault(false).find("model.safetensors: the file is empty; expected a safetensors file"),
            std::string::npos);
}

// The store clips the range to the file's end.
TEST_F(HubErrors, ShardShorterThanItsLength) {
  hub.publish_single("1234567");
  RawServer store([](const std::string&, int) {
    return RawServer::Answer{
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-6/7\r\nContent-Length: 7\r\n\r\n1234567"};
  });
  hub.hub_hook = [&](const httplib::Request& request, httplib::Response& reply) {
    if (request.path.find("/model.safetensors") == std::string::npos) return false;
    reply.set_redirect(store.address() + "/x", 302);
    return true;
  };
  EXPECT_NE(fault(false).find("model.safetensors: holds 7 bytes"), std::string::npos);
  EXPECT_EQ(store.requests(), 1);
}

TEST_F(HubErrors, HostileHeaders) {
  const auto said = [&](const std::string& file) {
    hub.publish_single(file);
    TempFolder fresh;
    options.cache = fresh.path();
    hub.forget();
    const std::string out = fault(false);
    EXPECT_EQ(hub.count("/blob/"), 1u) << "no header was asked for after a length that cannot be";
    return out;
  };
  EXPECT_NE(said(std::string("\0\0\0\0\0\0\0\x80", 8)).find("a header length of 9223372036854775808 bytes"),
            std::string::npos);
  EXPECT_NE(said(std::string("\0\0\0\0\0\0\0\0{}", 10)).find("a header length of 0 bytes"),
            std::string::npos);
  EXPECT_NE(said(std::string("\x10\0\0\0\0\0\0\0{}", 10)).find("but the file ends after 2"),
            std::string::npos);
}

TEST_F(HubErrors, SizeThatDiffersFromTheFileListIsNoticed) {
  hub.publish_single(safetensors_file("weight", 10));
  hub.hub_hook = [&](const httplib::Request& request, httplib::Response& reply) {
    if (request.path.find("/api/models/") == std::string::npos) return false;
    hub.answer(request, reply);
    nlohmann::json description = nlohmann::json::parse(reply.body);
    for (nlohmann::json& file : description["siblings"])
      if (file.contains("lfs")) file["lfs"]["size"] = 77;
    reply.body = description.dump();
    return true;
  };
  options.tries = 2;
  const std::string said = fault();
  EXPECT_NE(said.find("where 77 were announced"), std::string::npos) << said;
}

TEST_F(HubErrors, OtherCommitThanAskedIsNoticed) {
  hub.publish_two_shards();
  hub.hub_hook = [&](const httplib::Request& request, httplib::Response& reply) {
    if (request.path.find("/resolve/") == std::string::npos) return false;
    reply.set_header("X-Repo-Commit", kCommitB);
    reply.set_content(R"({"model_type": "test", "hidden_size": 8})", "text/plain");
    return true;
  };
  options.tries = 1;
  const std::string said = fault();
  EXPECT_NE(said.find("asked at commit " + kCommitA + ", answered at '" + kCommitB + "'"), std::string::npos)
      << said;
}

TEST_F(HubErrors, IndexThatNamesPathsOrTooMuch) {
  const auto said = [&](const std::string& index) {
    hub.commits[kCommitA] = {{"config.json", "{}"}, {"model.safetensors.index.json", index}};
    hub.branches["main"] = kCommitA;
    TempFolder fresh;
    options.cache = fresh.path();
    hub.forget();
    const std::string out = fault(false);
    EXPECT_EQ(hub.count("passwd"), 0u);
    EXPECT_EQ(hub.count("/blob/"), 0u);
    return out;
  };
  EXPECT_NE(said(R"({"weight_map": {"a": "../../etc/passwd"}})").find("names the file '../../etc/passwd'"),
            std::string::npos);
  EXPECT_NE(said(R"({"weight_map": {"a": "..safetensors"}})").find("holds '..'"), std::string::npos);
  EXPECT_NE(said(R"({"weight_map": {"a": "a b?c#d.safetensors"}})").find("a byte outside"),
            std::string::npos);
  EXPECT_NE(said(R"({"weight_map": {"a": "passwd.bin"}})").find("is no .safetensors file"),
            std::string::npos);
  EXPECT_NE(said("[]").find("the index is no JSON object"), std::string::npos);
  std::string map;
  for (int i = 0; i <= 10'000; ++i) map += fmt::format(R"({}"t{}": "s{}.safetensors")", i ? "," : "", i, i);
  EXPECT_NE(
      said(R"({"weight_map": {)" + map + "}}").find("the index names 10001 shards; expected at most 10000"),
      std::string::npos);
}

TEST_F(HubErrors, BadNamesNeverReachTheWire) {
  hub.publish_two_shards();
  for (const std::string repo : {"../etc", "org/model/x", "org/mo del", ""}) {
    const base::Result<Truth> got = read_hub(repo, options);
    ASSERT_FALSE(got.ok()) << repo;
    EXPECT_TRUE(got.faults()[0].guard.empty());
  }
  options.revision = "../main";
  EXPECT_NE(fault(false).find("the revision '../main' holds '..'"), std::string::npos);
  options.revision.clear();
  options.endpoint = "http://user:password@host";
  EXPECT_NE(fault(false).find("HF_ENDPOINT: "), std::string::npos);
  EXPECT_EQ(hub.seen().size(), 0u);
}

TEST_F(HubErrors, RedirectsWithoutEnd) {
  hub.hub_hook = [&](const httplib::Request& request, httplib::Response& reply) {
    reply.set_redirect(request.path + "x", 302);
    return true;
  };
  EXPECT_NE(fault().find("more than 5 redirects"), std::string::npos);
  EXPECT_EQ(hub.seen().size(), 6u);
}

TEST_F(HubErrors, RedirectToNowhere) {
  always(302, {{"Location", "file:///etc/passwd"}});
  EXPECT_NE(fault().find("a redirect to 'file:///etc/passwd'"), std::string::npos);
}

TEST_F(HubErrors, UnreachableHub) {
  hub.publish_two_shards();
  hub.stop();
  options.tries = 3;
  EXPECT_NE(
      fault().find(
          "no connection to HUB: Connection refused (3 tries); expected a hub that can be reached; check the "
          "network and HF_ENDPOINT, or set HF_HUB_OFFLINE=1"),
      std::string::npos);
}

TEST_F(HubErrors, NameThatDoesNotResolve) {
  options.endpoint = "http://no-such-host.invalid";
  EXPECT_NE(fault().find("the name 'no-such-host.invalid' does not resolve"), std::string::npos);
}

TEST_F(HubErrors, DescriptionThatIsNone) {
  hub.hub_hook = [&](const httplib::Request&, httplib::Response& reply) {
    reply.set_content("<html>Welcome to the hotel's network</html>", "text/html");
    return true;
  };
  EXPECT_NE(fault(false).find("not valid JSON"), std::string::npos);
}

}  // namespace
}  // namespace archlight::truth
