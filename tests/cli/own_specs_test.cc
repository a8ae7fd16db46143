// A user's own specs in a folder of their own, before the project's.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/command.h"

namespace archlight::cli {
namespace {

using base::Json;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

// A folder of specs with one model, the project's for one architecture under another name; and a checkpoint of it.
class OwnSpecs : public ::testing::Test {
 protected:
  OwnSpecs() : own_("own"), checkpoint_("org--mine") {
    for (const char* folder : {"models", "components/library", "adapters"})
      std::filesystem::create_directories(own_.path() + "/" + folder);
    model_ = replaced(*base::read_file(std::string(ARCHLIGHT_SOURCE_DIR) + "/specs/models/llama.yaml"),
                      "match:", "note: mine\nmatch:");
    model_ = replaced(model_, "LlamaForCausalLM", "MineForCausalLM");
    own_.write("models/mine.yaml", model_);
    checkpoint_.write("config.json", replaced(replaced(kTinyConfig, "LlamaForCausalLM", "MineForCausalLM"),
                                              R"("model_type":"llama",)", ""));
    checkpoint_.write("model.safetensors", tiny_file());
  }

  Ran run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--specs", own_.path()});
    return archlight(arguments);
  }

  Folder own_, checkpoint_;
  std::string model_;
};

TEST_F(OwnSpecs, AreFoundBeforeTheProjects) {
  EXPECT_EQ(archlight({"inspect", checkpoint_.path()}).status, 3);
  const Ran ran = run({"inspect", checkpoint_.path(), "--json"});
  EXPECT_EQ(ran.status, 0) << ran.out;
  const Json body = Json::parse(ran.out);
  EXPECT_EQ(body["spec"], "mine");
  EXPECT_EQ(body["evidence"]["verdict"], "verified");
  EXPECT_EQ(body["quantities"]["params.total"]["parameters"], 664);
  EXPECT_EQ(body["evidence"]["remarks"], Json::array());
  EXPECT_EQ(run({"validate", checkpoint_.path()}).status, 0);
  EXPECT_EQ(run({"explain", checkpoint_.path(), "params.total"}).status, 0);
  EXPECT_EQ(run({"graph", checkpoint_.path()}).status, 0);

  setenv("ARCHLIGHT_SPECS", (own_.path() + "/:").c_str(), 1);
  EXPECT_EQ(archlight({"validate", checkpoint_.path()}).status, 0);
  unsetenv("ARCHLIGHT_SPECS");
}

// The spec's own path is enough: the folder around it is read with it, and every component that it may build.
TEST_F(OwnSpecs, ASpecIsValidatedWhereItLies) {
  const Ran ran = archlight({"validate", own_.path() + "/models/mine.yaml"});
  EXPECT_EQ(ran.status, 3) << ran.err;
  EXPECT_EQ(ran.out,
            "spec mine: 0 snapshots\n  none is described by it: 'archlight validate FOLDER --specs OWN' "
            "holds it against "
            "a checkpoint\n");
  own_.write("models/mine.yaml", replaced(model_, "ffn: swiglu", "ffn: mine_ffn"));
  const std::string missing = archlight({"validate", own_.path() + "/models/mine.yaml"}).err;
  EXPECT_NE(missing.find(own_.path() + "/models/mine.yaml:"), std::string::npos) << missing;
  EXPECT_NE(missing.find("unknown component 'mine_ffn'"), std::string::npos) << missing;
  own_.write("components/library/mine_ffn.yaml",
             "role: ffn_dense\ngraph: { y: { op: lineer, in: x } }\noutputs: [y]\n");
  const Ran broken = archlight({"validate", own_.path() + "/models/mine.yaml"});
  EXPECT_EQ(broken.status, 2);
  EXPECT_EQ(broken.err.substr(0, broken.err.find(';')),
            own_.path() + "/components/library/mine_ffn.yaml:2:19: unknown op 'lineer'");
}

TEST_F(OwnSpecs, NamesThatClashAreSaid) {
  own_.write("models/llama.yaml",
             *base::read_file(std::string(ARCHLIGHT_SOURCE_DIR) + "/specs/models/llama.yaml"));
  own_.write("dims.yaml", "d_model: { kind: width, meaning: mine }\nd_mine: { kind: width, meaning: new }\n");
  const Json body = Json::parse(run({"validate", checkpoint_.path(), "--json"}).out);
  EXPECT_EQ(body["evidence"]["remarks"],
            Json::array({own_.path() + "/dims.yaml: dim 'd_model' replaces that of the specs below it",
                         own_.path() + "/models/llama.yaml replaces that of specs/models/llama.yaml"}));
  // Another name for an architecture that the project describes too: the own one is taken.
  own_.write("models/mine.yaml", replaced(model_, "MineForCausalLM", "MistralForCausalLM"));
  checkpoint_.write("config.json", replaced(replaced(kTinyConfig, "LlamaForCausalLM", "MistralForCausalLM"),
                                            R"("model_type":"llama",)", ""));
  const Json other = Json::parse(run({"validate", checkpoint_.path(), "--json"}).out);
  EXPECT_EQ(other["spec"], "mine");
  EXPECT_EQ(other["evidence"]["remarks"].back(),
            "architecture 'MistralForCausalLM' is described by " + own_.path() +
                "/models/mine.yaml and by specs/models/mistral.yaml: that of " + own_.path() +
                " comes first");
}

// The first folder comes before the second.
TEST_F(OwnSpecs, SeveralFolders) {
  const Folder second("second");
  std::filesystem::create_directories(second.path() + "/models");
  second.write("models/mine.yaml", model_ + "unknown_key: 1\n");
  const Ran ran =
      archlight({"validate", checkpoint_.path(), "--specs", second.path(), "--specs", own_.path()});
  EXPECT_EQ(ran.status, 2);
  EXPECT_NE(ran.err.find(second.path() + "/models/mine.yaml:"), std::string::npos) << ran.err;
  second.write("models/mine.yaml", model_);
  const Json body = Json::parse(
      archlight({"validate", checkpoint_.path(), "--json", "--specs", second.path(), "--specs", own_.path()})
          .out);
  EXPECT_EQ(body["evidence"]["remarks"], Json::array({second.path() + "/models/mine.yaml replaces that of " +
                                                      own_.path() + "/models/mine.yaml"}));
}

// Rows of tables are further rows: a key that nothing knows is known by the folder's table.
TEST_F(OwnSpecs, TablesTakeFurtherRows) {
  checkpoint_.write("config.json", replaced(replaced(kTinyConfig, "LlamaForCausalLM", "MineForCausalLM"),
                                            R"("model_type":"llama",)", R"("mine_head_count":3,)"));
  const Ran unknown = run({"validate", checkpoint_.path()});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_NE(unknown.err.find("config.mine_head_count is 3, a key that nothing knows"), std::string::npos)
      << unknown.err;
  own_.write("config_keys.yaml",
             "keys:\n  - { keys: [mine_head_count], is: runtime, meaning: heads of a viewer }\n");
  EXPECT_EQ(run({"validate", checkpoint_.path()}).status, 0);
}

// An engine of one's own, whose formulas have a value for every model that it is asked of.
TEST_F(OwnSpecs, Engines) {
  std::filesystem::create_directories(own_.path() + "/engines");
  const auto asked = [&](const std::string& bytes) {
    own_.write("engines/mine.yaml",
               "label: mine\nsource: mine\nentries: [{ bytes: " + bytes + ", source: mine }]\n");
    return run({"inspect", checkpoint_.path(), "--engine", "mine", "--json"});
  };
  // Keys and values of one head of 4, a byte each.
  EXPECT_EQ(Json::parse(asked("F8_E4M3 * elements").out)["quantities"]["kv.bytes_per_token"]["bytes"], 8);
  for (const auto& [bytes, why] : std::initializer_list<std::pair<const char*, const char*>>{
           {"elements * n_experts", "'n_experts' is not known here"},
           {"elements / (B - B)", "4 / 0 divides by zero"},
           {"0 - elements", "it is -4"}}) {
    const Ran ran = asked(bytes);
    EXPECT_EQ(ran.status, 3) << bytes;
    const Json body = Json::parse(ran.out);
    const std::string message = body["evidence"]["faults"][0]["message"];
    EXPECT_TRUE(message.starts_with(own_.path() + "/engines/mine.yaml:3:20: ")) << message;
    EXPECT_NE(
        message.find(": " + std::string(why) + "; expected a number, at least 0, from the dims of the model"),
        std::string::npos)
        << message;
  }
  const Ran file = archlight({"validate", own_.path() + "/engines/mine.yaml"});
  EXPECT_EQ(file.status, 2);
  EXPECT_EQ(file.err, own_.path() +
                          "/engines/mine.yaml is no model's spec; expected a file of a folder 'models'; a "
                          "checkpoint that uses it holds it: 'archlight validate MODEL --specs OWN'\n");
}

TEST_F(OwnSpecs, FoldersThatAreNone) {
  const Folder empty("empty");
  const auto err = [&](const std::string& folder) {
    const Ran ran = archlight({"components", "--specs", folder});
    EXPECT_EQ(ran.status, 2);
    return ran.err;
  };
  EXPECT_EQ(err("/no/such/specs"), "/no/such/specs: no such folder of specs; expected a folder\n");
  EXPECT_EQ(err(empty.path()).substr(0, empty.path().size() + 15), empty.path() + " holds no specs");
  std::filesystem::create_directories(empty.path() + "/specs");
  EXPECT_NE(err(empty.path()).find("; name " + empty.path() + "/specs\n"), std::string::npos);
}

}  // namespace
}  // namespace archlight::cli
