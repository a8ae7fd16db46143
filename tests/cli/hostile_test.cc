// Inputs made to harm: endless, deep, looped, cut off or of the wrong kind. Each ends soon with an error that names its
// place, and none leaves a file behind.
#include <sys/stat.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/command.h"

namespace archlight::cli {
namespace {

using base::Json;

// Longer than any of these may take, on a machine that does other things too.
constexpr std::chrono::seconds kSoon{10};

Ran soon(const std::vector<std::string>& arguments) {
  const auto start = std::chrono::steady_clock::now();
  Ran ran = archlight(arguments);
  EXPECT_LT(std::chrono::steady_clock::now() - start, kSoon);
  EXPECT_TRUE(ran.status >= 0 && ran.status <= 3) << ran.status;
  return ran;
}

std::string with_keys(const std::string& keys) {
  std::string config = kTinyConfig;
  return config.insert(config.rfind('}'), keys);
}

TEST(Hostile, ConfigsWithoutEnd) {
  const Folder folder;
  std::string keys;
  for (int i = 0; i < 200'000; ++i)
    keys += ",\"num_wide_" + std::to_string(i) + "\":" + std::to_string(i + 1);
  folder.write("config.json", with_keys(keys));
  EXPECT_NE(soon({"inspect", folder.path()}).err.find("config has more than 200 keys that nothing knows"),
            std::string::npos);
  folder.write("config.json", std::string(1'000'000, '['));
  EXPECT_NE(soon({"inspect", folder.path()}).err.find("nested deeper than 128 levels"), std::string::npos);
  for (const char* layers : {"1000000", "1000000000", "1000000000000"}) {
    std::string config = kTinyConfig;
    config.replace(config.find("\"num_hidden_layers\":1"), 21,
                   "\"num_hidden_layers\":" + std::string(layers));
    folder.write("config.json", config);
    for (const char* command : {"inspect", "validate", "explain", "graph"})
      EXPECT_NE(soon({command, folder.path()}).status, 0) << layers;
    EXPECT_NE(soon({"inspect", folder.path()}).err.find("expected a whole number from 0 to 2,000"),
              std::string::npos);
  }
}

TEST(Hostile, WordsOfAConfigDoNotReachTheTerminalAsTheyAre) {
  const Folder folder;
  folder.write("config.json", with_keys(R"(,"rope_scaling":{"rope_type":"\u001b[2Jx","factor":2})"));
  const Ran ran = soon({"inspect", folder.path()});
  EXPECT_EQ((ran.out + ran.err).find('\x1b'), std::string::npos);
  EXPECT_NE(ran.out.find("config.rope_scaling: [2Jx, factor 2"), std::string::npos) << ran.out;
}

TEST(Hostile, FilesThatAreNone) {
  const Folder folder;
  ASSERT_EQ(mkfifo((folder.path() + "/config.json").c_str(), 0600), 0);
  EXPECT_NE(soon({"inspect", folder.path()}).err.find("config.json: is no file that can be read"),
            std::string::npos);
  const Folder looped;
  looped.write("config.json", kTinyConfig);
  std::filesystem::create_symlink("model.safetensors", looped.path() + "/model.safetensors");
  EXPECT_NE(soon({"inspect", looped.path()}).err.find("model.safetensors: is no file that can be read"),
            std::string::npos);
  const Folder endless;
  std::filesystem::create_symlink("/dev/zero", endless.path() + "/config.json");
  EXPECT_EQ(soon({"inspect", endless.path()}).status, 2);
}

// Every prefix of a checkpoint's file is an error, never a shorter checkpoint.
TEST(Hostile, CutOffCheckpoints) {
  const Folder folder;
  folder.write("config.json", kTinyConfig);
  const std::string whole = tiny_file();
  for (size_t size = 0; size < whole.size(); size += 211) {
    folder.write("model.safetensors", whole.substr(0, size));
    const Ran ran = soon({"validate", folder.path()});
    EXPECT_EQ(ran.status, 2) << size;
    EXPECT_NE(ran.err.find("model.safetensors"), std::string::npos) << size;
  }
  std::string longer = whole;
  for (int i = 0; i < 8; ++i) longer[static_cast<size_t>(i)] = '\xff';
  folder.write("model.safetensors", longer);
  EXPECT_NE(soon({"validate", folder.path()}).err.find("expected at most 100,000,000"), std::string::npos);
}

// A marker tensor of no elements holds no bytes and is no parameter; one of one element needs its byte.
TEST(Hostile, TensorsOfNoElements) {
  const auto file = [](const std::string& json, size_t data) {
    std::string out;
    for (int i = 0; i < 8; ++i) out += static_cast<char>(json.size() >> (8 * i) & 0xff);
    return out + json + std::string(data, '\0');
  };
  const Folder folder;
  folder.write("config.json", kTinyConfig);
  folder.write("model.safetensors",
               file(R"({"scaled_fp8":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,0]}})", 0));
  EXPECT_NE(soon({"validate", folder.path()}).err.find("takes 1 bytes but data_offsets [0, 0] span 0"),
            std::string::npos);
  std::string whole = tiny_file();
  std::string json = whole.substr(8);
  json = json.substr(0, json.find("}}") + 2);
  const size_t data = whole.size() - 8 - json.size();
  json.insert(1, R"("scaled_fp8":{"dtype":"F8_E4M3","shape":[0],"data_offsets":[0,0]},)");
  folder.write("model.safetensors", file(json, data));
  const Ran ran = soon({"validate", folder.path()});
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.err.find("tensor 'scaled_fp8' is claimed by no leaf"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("stored bytes"), std::string::npos) << ran.err;
}

// Specs of a user's own: deep, wide, endless, looped.
TEST(Hostile, Specs) {
  const Folder own("own");
  std::filesystem::create_directories(own.path() + "/models");
  std::filesystem::create_directories(own.path() + "/components/library");
  const std::string model =
      "match: { architectures: [MineForCausalLM] }\ncomponents: { block: mine }\ndims: { d_model: "
      "config.hidden_size, "
      "n_layers: config.num_hidden_layers }\nmodel:\n  - { name: embed_tokens, op: embedding, dims: { vocab: "
      "10, dim: "
      "d_model }, role: embedding }\n  - { name: layers, repeat: n_layers, inputs: [embed_tokens], streams: "
      "{ hidden: { "
      "carries: true } } }\n";
  const Folder checkpoint;
  std::string config = kTinyConfig;
  config.replace(config.find("LlamaForCausalLM"), 16, "MineForCausalLM");
  checkpoint.write("config.json", config.replace(config.find(R"("model_type":"llama",)"), 21, ""));
  const auto err = [&](const std::string& text,
                       const std::string& block = "y: { op: silu, in: hidden, dim: d_model }") {
    own.write("models/mine.yaml", text);
    own.write("components/library/mine.yaml",
              "role: block\ninputs: [hidden]\ngraph: { " + block + " }\noutputs: [y]\n");
    return soon({"validate", checkpoint.path(), "--specs", own.path()}).err;
  };
  const auto says = [&](const std::string& found, const std::string& text) {
    EXPECT_NE(found.find(text), std::string::npos) << found.substr(0, 400);
  };
  std::string keys;
  for (int i = 0; i < 30'000; ++i) keys += "k" + std::to_string(i) + ": 1\n";
  says(err(keys), "more than 50 unknown keys in model 'mine'");
  says(err("x: " + std::string(100'000, '[') + std::string(100'000, ']') + "\n"),
       "nesting deeper than 200 levels");
  says(err("a: &a [x, x]\nb: [*a, *a]\n" + model), "an anchor");
  says(err(model, "y: { component: mine, in: hidden }"), "component 'mine' calls itself");
  // Twenty calls deep and two wide is a million.
  for (int i = 0; i < 20; ++i)
    own.write("components/library/mine_" + std::to_string(i) + ".yaml",
              "role: block\ninputs: [x]\ngraph: { a: { component: mine_" + std::to_string(i + 1) +
                  ", in: x }, y: { component: mine_" + std::to_string(i + 1) + ", in: a } }\noutputs: [y]\n");
  own.write("components/library/mine_20.yaml",
            "role: block\ninputs: [x]\ngraph: { y: { op: silu, in: x, dim: d_model } }\noutputs: [y]\n");
  says(err(model, "y: { component: mine_0, in: hidden }"),
       "the model expands to more than 20,000 ops or calls");
  std::string chain = model;
  for (int i = 0; i < 1'000; ++i)
    chain.insert(chain.find("d_model:"), "x" + std::to_string(i) + ": x" + std::to_string(i + 1) + ", ");
  chain.insert(chain.find("d_model:"), "x1000: \"1\", ");
  says(err(chain), "stands at the end of a chain of 200 dims");
  std::string endless = model;
  endless.replace(endless.find("repeat: n_layers"), 16, "repeat: \"10^30\"");
  says(err(endless),
       "repeats 1000000000000000000000000000000 times; expected a whole number from 0 to 2,000");
}

// A source that does not open leaves nothing in snapshots/.
TEST(Hostile, NothingIsHalfWritten) {
  const Folder home("home"), model("org--broken");
  std::filesystem::create_directories(home.path() + "/snapshots");
  std::filesystem::create_directory_symlink(std::filesystem::absolute(ARCHLIGHT_SOURCE_DIR "/specs"),
                                            home.path() + "/specs");
  model.write("config.json", kTinyConfig);
  model.write("model.safetensors", tiny_file().substr(0, 500));
  setenv("ARCHLIGHT_HOME", home.path().c_str(), 1);
  const Ran ran = soon({"snapshots", "add", model.path()});
  home.write("snapshots/a--b.json.zst", "no zstd");
  const Ran listed = soon({"models"});
  unsetenv("ARCHLIGHT_HOME");
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(listed.status, 2);
  std::filesystem::remove(home.path() + "/snapshots/a--b.json.zst");
  EXPECT_TRUE(std::filesystem::is_empty(home.path() + "/snapshots"));
}

}  // namespace
}  // namespace archlight::cli
