#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "cli/command.h"
#include "truth/snapshot.h"

namespace archlight::cli {
namespace {

using base::Json;

// Levels that no new snapshot changes: records kept with the tests.
const std::string kIndexLevel = record_folder("01-ai--Yi-1.5-6B-Chat.slerp");
const std::string kHeaderLevel = record_folder("Qwen--Qwen3-0.6B");
const std::string kCountLevel = record_folder("Qwen--Qwen3-30B-A3B");
const std::string kOddTotal = "Orenguteng--Lexi-Llama-3-8B-Uncensored.odd-total";

Json json_of(const Ran& ran) {
  Json out = Json::parse(ran.out, nullptr, false);
  EXPECT_FALSE(out.is_discarded()) << ran.out.substr(0, 200) << ran.err;
  return out;
}

std::string file_text(const std::string& path) {
  return *base::read_file(std::string(ARCHLIGHT_SOURCE_DIR) + "/" + path);
}

TEST(Status, Verified) {
  for (const std::string& model : {kIndexLevel, kHeaderLevel}) {
    EXPECT_EQ(archlight({"validate", model}).status, 0) << model;
    EXPECT_EQ(archlight({"inspect", model}).status, 0) << model;
  }
  EXPECT_EQ(
      archlight({"validate", kIndexLevel}).out.substr(0, 105),
      "01-ai/Yi-1.5-6B-Chat.slerp: index level: verified against every tensor's name and the exact total\n"
      "  from ");
}

// The recorded total is 1,610,612,736 bytes more than the config gives.
TEST(Status, Wrong) {
  for (const char* command : {"validate", "inspect"}) {
    const Ran ran = archlight({command, kOddTotal});
    EXPECT_EQ(ran.status, 1);
    EXPECT_EQ(ran.err,
              "metadata.total_size of the index: [weight] stored bytes are 17,671,135,232 as published; "
              "expected 16,060,522,496 by the spec, 1,610,612,736 fewer\n");
  }
  EXPECT_EQ(archlight({"explain", kOddTotal, "params.total"}).status, 1);
  EXPECT_EQ(archlight({"graph", kOddTotal}).status, 1);
}

TEST(Status, Usage) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> rows = {
      {{"inspect"}, "MODEL is required; see 'archlight inspect --help'\n"},
      {{"inspect", kIndexLevel, "--contxt", "1"},
       "unknown option '--contxt'; expected one of --help, --json, --offline, --hub, --quiet, --revision, "
       "--without, "
       "--batch, --prompt, --context, --engine, --engine-option, --specs, --precision; did you mean "
       "'--context'?\n"},
      {{"inspekt", kIndexLevel},
       "unknown command 'inspekt'; expected one of inspect, explain, estimate, validate, graph, models, ops, "
       "components, quants, engines, gpus, precisions, guards, snapshots; did you mean 'inspect'?\n"},
      {{"inspect", "Qwen--Qwen3-8B", "--precision", "vlm_fp8"},
       "unknown precision profile 'vlm_fp8'; expected a name that 'archlight precisions' lists; did you mean "
       "'vllm_fp8'?\n"},
      {{"inspect", "Qwen--Qwen3-8B", "--precision", "vllm_fp8", "--engine", "llama_cpp"},
       "precision profile 'vllm_fp8' is an engine's layout, and engine 'llama_cpp' is named too; expected "
       "one of the "
       "two\n"},
      {{"explain", "Qwen--Qwen3-8B", "kv.bytes_per_token", "--precision", "bf16_state"},
       "precision profile 'bf16_state' rewrites nothing of model 'qwen3', which keeps cache entries key, "
       "value; "
       "expected a profile of one of these entries, or of weights that it has; this one is of entries "
       "recurrent_state; 'archlight precisions' lists what each profile is about\n"},
      {{"snapshots", "ad", "x"}, "unknown command 'ad'; expected one of add; did you mean 'add'?\n"},
      {{}, "A subcommand is required; see 'archlight --help'\n"},
      {{"snapshots"}, "A subcommand is required; see 'archlight snapshots --help'\n"},
      {{"graph", kIndexLevel, "--dot", "--json"}, "--dot excludes --json; see 'archlight graph --help'\n"},
      {{"explain", "Qwen--Qwen3-8B", "params.totl"},
       "unknown quantity 'params.totl'; expected a key that 'archlight explain Qwen--Qwen3-8B' lists; did "
       "you "
       "mean 'params.total'?\n"},
      {{"graph", "Qwen--Qwen3-8B", "--open", "layers.self_atn"},
       "no block 'layers.self_atn' in this model; expected a block's path, or all; did you mean "
       "'layers.self_attn'?\n"},
      {{"inspect", kIndexLevel, "--engine", "llama_ccp"},
       "unknown engine 'llama_ccp'; expected a name that 'archlight engines' lists; did you mean "
       "'llama_cpp'?\n"},
      {{"inspect", kIndexLevel, "--engine-option", "ubatch=4"},
       "--engine-option 'ubatch=4' without an engine; expected --engine NAME; 'archlight engines' lists "
       "them\n"},
      {{"inspect", kIndexLevel, "--engine", "llama_cpp", "--engine-option", "ubatch"},
       "--engine-option is 'ubatch'; expected NAME=NUMBER, a whole number up to 1,000,000,000\n"},
      {{"explain", kIndexLevel, "kv.held_bytes", "--engine", "llama_cpp", "--engine-option", "ubatsch=4"},
       "engine 'llama_cpp' has no option 'ubatsch'; expected one that it has; did you mean 'ubatch'?\n"},
      {{"validate", "/no/such/spec.yaml"}, "/no/such/spec.yaml: cannot be read: No such file or directory\n"},
      {{"snapshots", "add", "/no/such/folder"}, "/no/such/folder: no such file or folder"},
      {{"inspect", "/no/such/folder"},
       "/no/such/folder: no such file, folder or snapshot; expected a hub id (org/name), a folder, a "
       ".safetensors or .gguf file, or a snapshot\n"},
      {{"inspect", "Qwen--Qwen3-8b"},
       "Qwen--Qwen3-8b: no such file, folder or snapshot; expected a hub id (org/name), a folder, a "
       ".safetensors or .gguf file, or a snapshot; did you mean 'Qwen--Qwen3-8B'?\n"},
  };
  for (const auto& [arguments, message] : rows) {
    const Ran ran = archlight(arguments);
    EXPECT_EQ(ran.status, 2) << message;
    EXPECT_EQ(ran.err.substr(0, message.size()), message);
    EXPECT_EQ(ran.out, "") << message;
  }
  for (const char* value : {"0", "-1", "1000001", "x", "1e3", "99999999999999999999"})
    EXPECT_EQ(archlight({"inspect", kIndexLevel, "--batch", value}).status, 2) << value;
}

TEST(Status, NotVerifiable) {
  EXPECT_EQ(archlight({"validate", kCountLevel}).status, 3);
  EXPECT_EQ(archlight({"inspect", kCountLevel}).status, 0);  // answered, with its level said
  const Ran absent = archlight({"inspect", "nobody/nothing", "--offline"});
  EXPECT_EQ(absent.status, 3);
  EXPECT_EQ(absent.err.substr(0, 88),
            "nobody/nothing: no snapshot of it is here, and the hub was not asked (offline); expected");
  const Folder unknown;
  unknown.write("config.json", R"({"architectures":["LlamaForCausalLN"],"model_type":"x"})");
  for (const char* command : {"inspect", "validate", "explain", "graph"}) {
    const Ran ran = archlight({command, unknown.path()});
    EXPECT_EQ(ran.status, 3) << command;
    EXPECT_NE(
        ran.err.find("no model spec describes architecture 'LlamaForCausalLN' of model_type 'x'; expected an "
                     "architecture of specs/models; did you mean 'LlamaForCausalLM'?"),
        std::string::npos)
        << ran.err;
  }
}

// Llama 3.1 8B keeps 32 * 8 * 2 * 128 = 65,536 elements a token: 131,072 bytes in BF16, 65,536 in FP8. At 4,100 tokens
// blocks of 16 are 257 * 16 = 4,112 tokens long. What was checked is the checkpoint, under any profile.
TEST(Precision, NumbersUnderAProfileAndTheEvidenceOfTheCheckpoint) {
  const std::string model = "meta-llama--Meta-Llama-3.1-8B";
  const auto as_json = [](std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    return json_of(archlight(arguments));
  };
  const std::vector<std::string> plain = {"inspect", model, "--context", "4100"};
  const auto with = [&](const std::string& profile) {
    std::vector<std::string> out = plain;
    out.insert(out.end(), {"--precision", profile});
    return out;
  };
  const Json own = as_json(plain), what_if = as_json(with("fp8_cache")), engine = as_json(with("vllm_fp8"));
  EXPECT_EQ(own["quantities"]["kv.bytes_per_token"]["bytes"], 131072);
  EXPECT_FALSE(own["quantities"].contains("kv.held_bytes"));
  EXPECT_FALSE(own.contains("precision"));
  EXPECT_EQ(what_if["quantities"]["kv.bytes_per_token"]["bytes"], 65536);
  EXPECT_EQ(what_if["precision"]["name"], "fp8_cache");
  EXPECT_EQ(what_if["precision"]["entries"]["key"], "elements F8_E4M3");
  EXPECT_EQ(what_if["evidence"], own["evidence"]);
  EXPECT_EQ(what_if["quantities"]["storage.bytes"], own["quantities"]["storage.bytes"]);
  // An engine's layout by the same word, and what it reserves: 4112 * 65536.
  EXPECT_EQ(engine["input"]["engine"], "vllm_fp8");
  EXPECT_EQ(engine["quantities"]["kv.bytes_per_token"]["bytes"], 65536);
  EXPECT_EQ(engine["quantities"]["kv.held_bytes"]["bytes"], 269484032);
  // One number of a cache brings the others along.
  const Json explained =
      as_json({"explain", model, "kv.bytes_per_token", "--context", "4100", "--precision", "vllm_fp8"});
  EXPECT_EQ(explained["bytes"], 65536);
  EXPECT_EQ(explained["beside"]["kv.fixed_state_bytes"]["bytes"], 0);
  EXPECT_EQ(explained["beside"]["kv.held_bytes"]["bytes"], 269484032);
  EXPECT_EQ(explained["beside"].size(), 2u);
  EXPECT_FALSE(as_json({"explain", model, "params.total"}).contains("beside"));
  // The text shows all three numbers, or says why one is not known.
  const std::string text = archlight(plain).out, shown = archlight(with("vllm_fp8")).out;
  for (const std::string& of : {text, shown})
    for (const char* key : {"kv.bytes_per_token\n", "kv.fixed_state_bytes\n"})
      EXPECT_NE(of.find(key), std::string::npos) << key;
  EXPECT_NE(text.find("what an allocator reserves is not known: no engine is named"), std::string::npos);
  EXPECT_NE(shown.find("kv.held_bytes\n"), std::string::npos);
  const std::string of_what_if = archlight(with("fp8_cache")).out;
  EXPECT_NE(
      of_what_if.find(
          "cache entries value as elements F8_E4M3, key as elements F8_E4M3; what it does not name keeps "
          "the format above"),
      std::string::npos)
      << of_what_if;
}

// A catalogue of repositories around org/tiny, the only one whose config is here: 664 parameters (command.h), 10 rows of
// tokens in two tables, so 2 * 8 = 16 elements a row; a key and a value of 4 in BF16 are 16 bytes a token.
TEST(Models, RepositoriesOfTheCatalogueUnderAConfigOfAnother) {
  const Folder home("home"), model("org--tiny");
  std::filesystem::create_directories(home.path() + "/snapshots");
  std::filesystem::create_directory_symlink(std::filesystem::absolute(ARCHLIGHT_SOURCE_DIR "/specs"),
                                            home.path() + "/specs");
  model.write("config.json", kTinyConfig);
  const std::string catalogue = home.write(
      "c.csv",
      "id,parameter_count,sha,gated,has_safetensors,license,base_models\n"
      "org/tiny,,a,False,True,mit,\"org/root,finetune:org/root\"\n"
      "org/root,664,a,False,True,mit,\n"
      "org/same,664,a,False,True,mit,finetune:ORG/Tiny\n"
      "org/bigger,712,a,False,True,mit,finetune:org/tiny\n"   // 664 + 3 * 16
      "org/smaller,632,a,False,True,mit,finetune:org/tiny\n"  // 664 - 2 * 16
      "org/other,1001,a,False,True,mit,finetune:org/tiny\n"   // 664 + 337, no whole row
      "org/packed,500,a,False,True,mit,quantized:org/same\n"
      "org/silent,,a,False,True,mit,finetune:org/tiny\n"
      "org/headless,584,a,False,True,mit,finetune:org/tiny\n"  // 664 - 80
      "org/scaled,671,a,False,True,mit,finetune:org/tiny\n"  // 664 and one scale for each of 7 linear layers
      "org/mixed,664,a,False,True,mit,\"merge:org/root,merge:org/alone\"\n"
      "org/alone,664,a,False,True,mit,\n");
  setenv("ARCHLIGHT_HOME", home.path().c_str(), 1);
  EXPECT_EQ(archlight({"snapshots", "add", model.path()}).status, 0);
  EXPECT_EQ(archlight({"snapshots", "add", catalogue, "--provenance", "a catalogue of a test"}).status, 0);
  const Json body = json_of(archlight({"models", "--json"}));
  const std::string text = archlight({"models"}).out;
  unsetenv("ARCHLIGHT_HOME");
  EXPECT_EQ(body["catalogue"]["all_repositories"], 12);
  EXPECT_EQ(body["catalogue"]["own_config_repositories"], 1);
  EXPECT_EQ(body["catalogue"]["borrowed_config_repositories"], 10);
  EXPECT_EQ(body["catalogue"]["no_config_repositories"], 1);
  struct Row {
    const char* repo;
    const char* through;
    const char* evidence;
    int parameters, kv_bytes;  // 0: not shown
    const char* why;
  };
  const Row rows[] = {
      {"org/bigger", R"(["finetune of org/tiny"])", "count not verifiable", 0, 16,
       "records 712 elements, the spec gives 664 under that config: 3 more rows of tokens, as of a resized "
       "vocabulary"},
      {"org/headless", R"(["finetune of org/tiny"])", "count not verifiable", 0, 16,
       "records 584 elements, the spec gives 664 under that config: without its head"},
      {"org/mixed", R"(["merge of org/root","base of org/tiny"])", "count agrees", 664, 16, ""},
      {"org/other", R"(["finetune of org/tiny"])", "count not verifiable", 0, 0,
       "records 1,001 elements, the spec gives 664 under that config: its own config differs and is not "
       "here"},
      {"org/packed", R"(["quantized of org/same","finetune of ORG/Tiny"])", "count not verifiable", 664, 16,
       "records 500 elements, the spec gives 664 under that config: a conversion counts its words and "
       "scales, and its own config is not here"},
      {"org/root", R"(["base of org/tiny"])", "count agrees", 664, 16, ""},
      {"org/same", R"(["finetune of ORG/Tiny"])", "count agrees", 664, 16, ""},
      {"org/scaled", R"(["finetune of org/tiny"])", "count agrees", 664, 16, ""},
      {"org/silent", R"(["finetune of org/tiny"])", "config not verifiable", 0, 0,
       "nothing is recorded of its tensors, and its own config is not here"},
      {"org/smaller", R"(["finetune of org/tiny"])", "count not verifiable", 0, 16,
       "records 632 elements, the spec gives 664 under that config: 2 fewer rows of tokens, as of a resized "
       "vocabulary"},
  };
  ASSERT_EQ(body["borrowed"].size(), std::size(rows));
  for (size_t i = 0; i < std::size(rows); ++i) {
    const Row& row = rows[i];
    const Json& shown = body["borrowed"][i];
    SCOPED_TRACE(row.repo);
    EXPECT_EQ(shown["repo"], row.repo);
    EXPECT_EQ(shown["config_of"], "org/tiny");
    EXPECT_EQ(shown["spec"], "llama");
    EXPECT_EQ(shown["through"], Json::parse(row.through));
    EXPECT_EQ(shown["level"].get<std::string>() + " " + shown["verdict"].get<std::string>(), row.evidence);
    EXPECT_EQ(shown.value("parameters", 0), row.parameters);
    EXPECT_EQ(shown.value("kv_bytes_per_token", 0), row.kv_bytes);
    EXPECT_EQ(shown.contains("kv_fixed_state_bytes"), row.kv_bytes > 0);
    EXPECT_EQ(shown.value("why", ""), row.why);
    EXPECT_NE(text.find(row.repo), std::string::npos);
    const Json schemes = shown.value("schemes", Json::array());
    EXPECT_EQ(std::ranges::count(schemes, Json("fp8_block")), row.repo == std::string("org/scaled"));
  }
  EXPECT_EQ(text.find("org/alone"), std::string::npos);
  EXPECT_NE(
      text.find("1 of the catalogue's 12 repositories have no config here, of their own or of another.\n"),
      std::string::npos)
      << text;
}

TEST(Status, HelpIsAnAnswer) {
  for (const char* command : {"inspect", "explain", "validate", "graph", "models", "ops", "components",
                              "quants", "engines", "precisions", "snapshots"}) {
    const Ran ran = archlight({command, "--help"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_NE(ran.out.find("--help"), std::string::npos) << command;
  }
  EXPECT_EQ(archlight({"--help"}).status, 0);
}

// The longest context is as stated, with its key and how its rope scaling was read: 4,096 * 40 is 163,840 already.
TEST(Context, StatedAndNeverStretchedAgain) {
  const Json body = json_of(archlight({"inspect", "deepseek-ai/DeepSeek-V3", "--json"}));
  EXPECT_EQ(body["context"]["published_tokens"], 163840);
  EXPECT_EQ(body["context"]["key"], "config.max_position_embeddings");
  EXPECT_EQ(body["context"]["scaling"][0]["product_tokens"], 163840);
  EXPECT_FALSE(body["context"].contains("remarks"));
  EXPECT_NE(
      archlight({"inspect", "deepseek-ai/DeepSeek-V3"})
          .out.find(
              "\n  context   163,840 tokens (config.max_position_embeddings); config.rope_scaling: yarn, "
              "4,096 * 40 = 163,840, which it counts\n"),
      std::string::npos);
  // Twice the tokens of a factor's product: said, and left as it is.
  const Folder folder;
  std::string config = kTinyConfig;
  config.replace(
      config.rfind('}'), 1,
      R"(,"rope_scaling":{"rope_type":"deepseek_yarn","factor":2.0,"original_max_position_embeddings":16}})");
  folder.write("config.json", config);
  const Ran ran = archlight({"inspect", folder.path()});
  EXPECT_NE(ran.out.find("\n  context   64 tokens (config.max_position_embeddings); config.rope_scaling: "
                         "deepseek_yarn, that is yarn, 16 * 2 = 32, which it does not count\n"),
            std::string::npos)
      << ran.out << ran.err;
}

// A tiny checkpoint on disk, every number by hand (command.h); key and value of one head of 4 in BF16: 16
// bytes.
TEST(LocalFolder, VerifiedAgainstItsHeader) {
  const Folder folder;
  folder.write("config.json", kTinyConfig);
  folder.write("model.safetensors", tiny_file());
  const Ran ran = archlight({"inspect", folder.path(), "--json"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  const Json body = json_of(ran);
  EXPECT_EQ(body["evidence"]["level"], "header");
  EXPECT_EQ(body["evidence"]["verdict"], "verified");
  EXPECT_EQ(body["quantities"]["params.total"]["parameters"], 664);
  EXPECT_EQ(body["quantities"]["storage.bytes"]["bytes"], 1328);
  EXPECT_EQ(body["quantities"]["kv.bytes_per_token"]["bytes"], 16);
  EXPECT_EQ(archlight({"validate", folder.path()}).status, 0);
}

TEST(LocalFolder, AWrongTensorNamesBothSidesAndTheLeaf) {
  const Folder folder;
  folder.write("config.json", kTinyConfig);
  folder.write("model.safetensors", tiny_file("model.layers.0.self_attn.q_proj.weight", "[4,16]"));
  const Ran ran = archlight({"validate", folder.path()});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.err.substr(0, ran.err.find('\n')),
            "specs/components/library/gqa_attention.yaml:10:3: [packing] tensor "
            "'model.layers.0.self_attn.q_proj.weight' is BF16 4x16 in the checkpoint; expected BF16 8x8");
}

TEST(LocalFolder, AMissingConfigKeyIsNamed) {
  const Folder folder;
  std::string config = kTinyConfig;
  config.replace(config.find("intermediate_size"), 17, "intermediate_sizes");
  folder.write("config.json", config);
  const Ran ran = archlight({"inspect", folder.path()});
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.err.substr(0, ran.err.find('\n')),
            "specs/models/llama.yaml:15:3: config.json has no 'intermediate_size', which dim 'd_ff' reads; "
            "expected the key under the top level; did you mean 'intermediate_sizes'?");
}

TEST(Records, AreModelsForEveryCommand) {
  for (const std::string& record : {kIndexLevel, kHeaderLevel, kCountLevel}) {
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"inspect", record},
                                               {"explain", record, "decode.bytes"},
                                               {"explain", record},
                                               {"graph", record}}) {
      const Ran ran = archlight(arguments);
      EXPECT_EQ(ran.status, 0) << arguments[0] << " " << record << ran.err;
      EXPECT_NE(ran.out, "");
    }
  }
}

TEST(ValidateSpec, AgainstEverySnapshotOfIt) {
  const std::string spec = std::string(ARCHLIGHT_SOURCE_DIR) + "/specs/models/llama.yaml";
  const Ran ran = archlight({"validate", spec, "--json"});
  EXPECT_EQ(ran.status, 1);  // for the one snapshot whose recorded total is odd
  std::set<std::string> wrong;
  size_t verified = 0;
  const Json body = json_of(ran);
  for (const Json& row : body["snapshots"]) {
    const std::string verdict = row["evidence"]["verdict"];
    if (verdict == "wrong") wrong.insert(row["snapshot"]);
    verified += verdict == "verified";
  }
  EXPECT_EQ(wrong, std::set<std::string>{kOddTotal});
  EXPECT_GE(verified, 19u);
}

TEST(ValidateSpec, AFaultStandsInTheFileThatWasGiven) {
  const Folder folder;
  std::string text = file_text("specs/models/mixtral.yaml");
  text.replace(text.find("repeat: n_layers"), 16, "repeat: n_layrs ");
  const std::string path = folder.write("mixtral.yaml", text);
  const Ran ran = archlight({"validate", path});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.err.substr(0, ran.err.find(';')),
            path + ":28:13: [analysis] 'n_layrs' has no value here: 'n_layrs' is not known here");
  EXPECT_NE(ran.err.find("did you mean 'n_layers'?"), std::string::npos);
}

TEST(ValidateSpec, MalformedYaml) {
  const Folder folder;
  const std::string path =
      folder.write("llama.yaml", "match:\n  architectures: [LlamaForCausalLM\ndims: {\n");
  const Ran ran = archlight({"validate", path});
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.err.substr(0, path.size() + 2), path + ":3") << ran.err;
  folder.write("llama.yaml", "componets: {attention: gqa_attention}\n");
  const std::string message = archlight({"validate", path}).err;
  EXPECT_EQ(message.substr(0, message.find(';')), path + ":1:1: unknown key 'componets' in model 'llama'");
  EXPECT_NE(message.find("did you mean 'components'?"), std::string::npos);
}

// Every quantity of every snapshot that a spec describes: what explain evaluates from the formula is what
// inspect walked to, to the last digit; each symbol says where it came from, and a config key is a key of the
// config.
TEST(ExplainEqualsInspect, EveryQuantityOfEveryModel) {
  const base::Result<std::vector<truth::SnapshotInfo>> snapshots = truth::list_snapshots();
  ASSERT_TRUE(snapshots.ok());
  const base::Result<std::shared_ptr<const spec::Library>> library = open_library();
  ASSERT_TRUE(library.ok());
  Options options;
  options.offline = options.quiet = true;
  size_t models = 0, numbers = 0;
  std::set<std::string> seen;  // config keys that a model's symbols name
  for (const truth::SnapshotInfo& info : *snapshots) {
    const base::Result<std::shared_ptr<const Session>> opened = open_session(info.name, options, *library);
    if (!opened || !(*opened)->report.bill) continue;
    const Session& session = **opened;
    const auto symbolic = symbolic_bill(session);
    ASSERT_TRUE(symbolic.ok()) << info.name;
    ++models;
    const Json inspected = inspect_json(session)["quantities"];
    EXPECT_EQ(inspected.size(), session.report.bill->quantities.size()) << "two quantities of one key";
    EXPECT_EQ(inspected.size(), (*symbolic)->quantities.size()) << info.name;
    for (const auto& [key, quantity] : inspected.items()) {
      const base::Result<Json> explained = explain_json(session, **symbolic, key);
      ASSERT_TRUE(explained.ok()) << info.name << " " << key;
      ++numbers;
      for (const auto& [unit, number] : quantity.items())
        EXPECT_EQ(explained->at(unit), number) << info.name << " " << key << " " << unit;
      for (const Json& symbol : (*explained)["symbols"]) {
        const std::string origin = symbol["origin"];
        EXPECT_NE(origin, "") << info.name << " " << symbol["name"];
        const std::string path = origin.substr(0, origin.find_first_of(", ="));
        const bool present = path.starts_with("config.") && origin.find("absent") == std::string::npos;
        if (!present || !seen.insert(info.name + path).second) continue;
        EXPECT_TRUE(spec::declared_text(*session.truth.config, path.substr(7)).has_value())
            << info.name << ": " << origin;
      }
    }
  }
  EXPECT_GE(models, 60u);
  EXPECT_GE(numbers, 2500u);
}

// The same through the command, for one model with every kind of quantity.
TEST(ExplainEqualsInspect, ThroughTheCommand) {
  const std::vector<std::string> input = {"--batch", "3", "--prompt", "1000", "--context", "8193"};
  const auto with_input = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), input.begin(), input.end());
    return arguments;
  };
  const Json inspected = json_of(archlight(with_input({"inspect", "deepseek-ai/DeepSeek-V3", "--json"})));
  EXPECT_EQ(inspected["input"]["batch_requests"], 3);
  const std::string text = archlight(with_input({"inspect", "deepseek-ai/DeepSeek-V3"})).out;
  const Json listed = json_of(archlight({"explain", "deepseek-ai/DeepSeek-V3", "--json"}))["quantities"];
  EXPECT_EQ(listed.size(), inspected["quantities"].size());
  for (const Json& row : listed) {
    const std::string key = row["key"];
    const Ran ran = archlight(with_input({"explain", "deepseek-ai/DeepSeek-V3", key, "--json"}));
    EXPECT_EQ(ran.status, 0);
    const Json explained = json_of(ran);
    const std::string unit = row["unit"];
    EXPECT_EQ(explained[unit], inspected["quantities"][key][unit]) << key;
  }
  // In words: the number of a line of inspect stands in explain's answer.
  const Ran words = archlight(with_input({"explain", "deepseek-ai/DeepSeek-V3", "kv.bytes_at_context"}));
  // 8,193 tokens x 61 layers x 576 elements x 2 bytes
  EXPECT_NE(words.out.find("\n  = 575,738,496 bytes  = 575.74 MB (549.07 MiB)\n"), std::string::npos)
      << words.out;
  EXPECT_NE(text.find(" 575,738,496  bytes"), std::string::npos);
}

TEST(Graph, EveryEdgeJoinsVisibleBoxes) {
  const std::vector<std::vector<std::string>> openings = {
      {"--depth", "0"}, {}, {"--open", "all"}, {"--depth", "2", "--phase", "decode"}};
  for (const char* model : {"Qwen--Qwen3-8B", "Qwen--Qwen3-30B-A3B", "openai--gpt-oss-120b",
                            "deepseek-ai--DeepSeek-V3", "mistralai--Mixtral-8x7B-v0.1"}) {
    for (const std::vector<std::string>& opening : openings) {
      std::vector<std::string> arguments = {"graph", model, "--json"};
      arguments.insert(arguments.end(), opening.begin(), opening.end());
      const Ran ran = archlight(arguments);
      ASSERT_EQ(ran.status, 0) << model << ran.err;
      const Json body = json_of(ran);
      std::set<std::string> ids;
      for (const Json& box : body["boxes"]) {
        EXPECT_TRUE(ids.insert(box["id"]).second) << "two boxes " << box["id"];
        EXPECT_TRUE(!box.contains("parent") || ids.contains(box["parent"])) << box;
      }
      EXPECT_FALSE(body["edges"].empty());
      for (const Json& edge : body["edges"]) {
        EXPECT_TRUE(ids.contains(edge["from"])) << model << edge;
        EXPECT_TRUE(ids.contains(edge["to"])) << model << edge;
        EXPECT_NE(edge["from"], edge["to"]);
      }
      const bool all = !opening.empty() && opening.back() == "all";
      for (const Json& box : body["boxes"]) EXPECT_TRUE(!all || box["open"] == (box["kind"] != "op")) << box;
    }
  }
}

TEST(Graph, ABlockOpensByItsPathAndWithItWhatIsAroundIt) {
  const auto boxes = [](const std::vector<std::string>& open) {
    std::vector<std::string> arguments = {"graph", "deepseek-ai--DeepSeek-V3", "--json", "--depth", "0"};
    for (const std::string& path : open) arguments.insert(arguments.end(), {"--open", path});
    std::set<std::string> out;
    const Json body = json_of(archlight(arguments));
    for (const Json& box : body["boxes"])
      if (box["open"].get<bool>()) out.insert(box["id"]);
    return out;
  };
  EXPECT_EQ(boxes({}), std::set<std::string>{});
  EXPECT_EQ(boxes({"layers.ffn_moe"}), std::set<std::string>{"layers.ffn_moe"});
  EXPECT_EQ(boxes({"layers.ffn_moe.mlp.experts"}),
            (std::set<std::string>{"layers.ffn_moe", "layers.ffn_moe.mlp", "layers.ffn_moe.mlp.experts"}));
  EXPECT_EQ(boxes({"layers.ffn_moe", "layers.ffn_dense.self_attn"}),
            (std::set<std::string>{"layers.ffn_dense", "layers.ffn_dense.self_attn", "layers.ffn_moe"}));
}

// The walk's own order, a name from elsewhere by its path, what decode keeps marked.
TEST(Graph, Text) {
  EXPECT_EQ(archlight({"graph", "Qwen--Qwen3-8B", "--phase", "decode"}).out,
            "Qwen/Qwen3-8B, decode\n"
            "embed_tokens  (embedding weight[151936, 4096])\n"
            "- layers  (36 layers, pre_norm)\n"
            "  input_layernorm  (rmsnorm weight[4096])\n"
            "      <- embed_tokens [1, 1, 4096]\n"
            "  + self_attn  (gqa_attention)\n"
            "      <- input_layernorm [1, 1, 4096]\n"
            "  attention_residual  (add)\n"
            "      <- embed_tokens [1, 1, 4096]\n"
            "      <- self_attn [1, 1, 4096]\n"
            "  post_attention_layernorm  (rmsnorm weight[4096])\n"
            "      <- attention_residual [1, 1, 4096]\n"
            "  + mlp  (swiglu)\n"
            "      <- post_attention_layernorm [1, 1, 4096]\n"
            "  ffn_residual  (add)\n"
            "      <- attention_residual [1, 1, 4096]\n"
            "      <- mlp [1, 1, 4096]\n"
            "norm  (rmsnorm weight[4096])\n"
            "    <- layers.ffn_residual [1, 1, 4096]\n"
            "sampled  (last_tokens)\n"
            "    <- norm [1, 1, 4096]\n"
            "lm_head  (linear weight[151936, 4096])\n"
            "    <- sampled [1, 1, 4096]\n");
  const std::string open =
      archlight({"graph", "Qwen--Qwen3-8B", "--phase", "decode", "--open", "layers.self_attn"}).out;
  EXPECT_NE(open.find("    k_rope  (rope)  [cached: key]\n"), std::string::npos) << open;
  EXPECT_NE(open.find("        <- k_rope [1, 4096, 8, 128]\n"), std::string::npos) << open;
}

TEST(Graph, DotIsReadByGraphviz) {
  ASSERT_EQ(std::system("dot -V >/dev/null 2>&1"), 0) << "the Debian package graphviz";
  for (const char* model : {"openai--gpt-oss-120b", "deepseek-ai--DeepSeek-V3"}) {
    const Ran svg = archlight({"graph", model, "--svg"});
    EXPECT_EQ(svg.status, 0) << svg.err;
    EXPECT_NE(svg.out.find("</svg>"), std::string::npos);
    const Folder folder;
    const std::string dot =
        folder.write("g.dot", archlight({"graph", model, "--dot", "--open", "all", "--phase", "decode"}).out);
    EXPECT_EQ(std::system(("dot -Tcanon '" + dot + "' >/dev/null 2>&1").c_str()), 0);
  }
}

TEST(Lists, HoldWhatTheProjectHolds) {
  const Json ops = json_of(archlight({"ops", "--json"})).at("ops");
  EXPECT_EQ(ops.size(), spec::builtin_ops().size());
  const std::string table = archlight({"ops"}).out;
  for (const Json& op : ops)
    EXPECT_NE(table.find("\n" + op["name"].get<std::string>() + " "), std::string::npos);
  EXPECT_EQ(archlight({"models"}).status, 0);
  const Json components = json_of(archlight({"components", "--json"}));
  for (const Json& row : components["components"]) EXPECT_NE(row["src"], "") << row["name"];
  const Json quants = json_of(archlight({"quants", "--json"}));
  for (const Json& row : quants["quants"]) EXPECT_NE(row["source"], "") << row["name"];
}

// Whatever the arguments, the command ends with one of its statuses, and a bad model is no crash and no
// answer.
TEST(Hostile, Arguments) {
  const std::vector<std::string> words = {
      "",
      " ",
      "-",
      "--",
      "-1",
      "--json=maybe",
      "--help=1",
      std::string(1 << 20, 'a'),
      std::string(5000, '/'),
      std::string(70000, 'a') + ".yaml",
      "\x01\x02\x1b[31m\x7f",
      "\xff\xfe\xc0\x80",
      "a\nb/c\td",
      "../../../../etc/passwd",
      "/etc/passwd",
      "/dev/null",
      "/dev/zero",
      "/",
      ".",
      "..",
      "..yaml",
      ".yaml",
      "/.yaml",
      "/etc/passwd.yaml",
      "org/name/extra",
      "org--name/../..",
      "%s%n%x",
      "'; rm -rf x; '",
      "$(id)",
      "{\"a\":1}",
      "params.total",
      "layers.*",
      "\xe2\x80\xae/\xe2\x80\xae",
  };
  const std::vector<std::string> commands = {"inspect", "explain", "validate", "graph", "ops", "snapshots"};
  for (const std::string& command : commands)
    for (const std::string& word : words) {
      std::vector<std::vector<std::string>> lines = {{command, word, "--offline", "--quiet"},
                                                     {command, word, "--json"}};
      if (command != "ops" && command != "snapshots") lines[1].push_back("--offline");
      if (command == "explain") lines.push_back({command, kHeaderLevel, word, "--offline"});
      if (command == "graph") lines.push_back({command, kHeaderLevel, "--open", word, "--offline"});
      if (command == "inspect") lines.push_back({command, kHeaderLevel, "--revision", word, "--offline"});
      for (const std::vector<std::string>& line : lines) {
        const Ran ran = archlight(line);
        EXPECT_TRUE(ran.status == 0 || ran.status == 2 || ran.status == 3 || ran.status == 1)
            << command << " " << word.substr(0, 80);
        // No word here is a model or a path to add.
        EXPECT_TRUE(ran.status != 0 || line[1] != word || word.starts_with("--"))
            << command << " '" << word.substr(0, 80) << "'";
        EXPECT_LE(ran.err.size(), 20000u) << command << " " << word.substr(0, 80);
        EXPECT_EQ(ran.err.find('\x1b'), std::string::npos) << "a control character reaches the terminal";
      }
    }
}

TEST(Hostile, ManyArguments) {
  std::vector<std::string> arguments = {"graph", kHeaderLevel};
  for (int i = 0; i < 2000; ++i) arguments.insert(arguments.end(), {"--open", "layers"});
  EXPECT_EQ(archlight(arguments).status, 0);
  EXPECT_EQ(archlight(std::vector<std::string>(3000, "inspect")).status, 2);
}

}  // namespace
}  // namespace archlight::cli
