// Every answer of --json against its schema under schemas/, and the promises that a schema cannot state:
// sorted keys, the same bytes on every run, a unit in the key of every number.
#include <nlohmann/json.hpp>
#include <set>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "base/file.h"
#include "cli/command.h"

namespace archlight::cli {
namespace {

using Json = nlohmann::json;
using valijson::adapters::NlohmannJsonAdapter;

Json schema_file(const std::string& name) {
  return Json::parse(*base::read_file(std::string(ARCHLIGHT_SOURCE_DIR) + "/schemas/" + name));
}

// Schemas by the value of "schema" that they describe.
class Schemas {
 public:
  Schemas() {
    const auto names = base::list_files(std::string(ARCHLIGHT_SOURCE_DIR) + "/schemas");
    for (const std::string& name : *names) {
      const Json text = schema_file(name);
      if (!text.contains("properties")) continue;
      auto schema = std::make_unique<valijson::Schema>();
      valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
      parser.populateSchema(
          NlohmannJsonAdapter(text), *schema,
          [](const std::string& uri) -> const Json* { return new Json(schema_file(uri)); },
          [](const Json* document) { delete document; });
      by_tag_.emplace(text["properties"]["schema"]["const"].get<std::string>(), std::move(schema));
    }
  }

  std::set<std::string> tags() const {
    std::set<std::string> out;
    for (const auto& [tag, schema] : by_tag_) out.insert(tag);
    return out;
  }

  // What the schema of that tag holds against a document; empty when nothing.
  std::string faults(const Json& document) {
    const std::string tag = document.value("schema", "");
    const auto it = by_tag_.find(tag);
    if (it == by_tag_.end()) return "no schema describes '" + tag + "'";
    valijson::Validator validator;
    valijson::ValidationResults results;
    const NlohmannJsonAdapter adapter(document);
    if (validator.validate(*it->second, adapter, &results)) return {};
    std::string out = tag + ":";
    valijson::ValidationResults::Error error;
    while (results.popError(error)) {
      for (const std::string& step : error.context) out += step;
      out += " " + error.description + "\n";
    }
    return out;
  }

 private:
  std::map<std::string, std::unique_ptr<valijson::Schema>> by_tag_;
};

Schemas& schemas() {
  static Schemas all;
  return all;
}

std::string unsorted(const nlohmann::ordered_json& value, const std::string& path) {
  if (value.is_object()) {
    std::string last;
    for (const auto& [key, inner] : value.items()) {
      if (key < last) return path + "/" + key;
      last = key;
      if (const std::string found = unsorted(inner, path + "/" + key); !found.empty()) return found;
    }
  }
  if (value.is_array())
    for (const auto& inner : value)
      if (const std::string found = unsorted(inner, path + "/[]"); !found.empty()) return found;
  return {};
}

// A number's key is a unit, ends in one, or names a plain count or place.
std::string without_unit(const Json& value, const std::string& key, const std::string& path) {
  if (key == "peak_flops_per_s") return {};  // by type
  static const std::set<std::string> units = {"parameters",     "bytes",  "elements", "flops",
                                              "flops_per_byte", "layers", "mutants",  "groups"};
  static const std::set<std::string> plain = {"checks", "faults", "open",        "advice", "line",
                                              "column", "nodes",  "first_layer", "value"};
  if (value.is_number()) {
    for (const char* ending :
         {"_s", "_per_s", "_per_s_per_gpu", "_usd", "_joules", "_watts", "_gpus", "_bytes", "_elements",
          "_tokens", "_requests", "_bytes_per_token", "_mutants", "_anchors", "_repositories"})
      if (key.ends_with(ending)) return {};
    return units.contains(key) || plain.contains(key) ? std::string() : path;
  }
  std::string found;
  if (value.is_object())
    for (const auto& [name, inner] : value.items())
      if (found.empty()) found = without_unit(inner, name, path + "/" + name);
  if (value.is_array())
    for (const auto& inner : value)
      if (found.empty()) found = without_unit(inner, key, path + "/[]");
  return found;
}

// One answer of each kind and its variants: levels, verdicts, faults, open and closed graphs.
const std::vector<std::vector<std::string>>& commands() {
  static const std::vector<std::vector<std::string>> rows = {
      {"inspect", "deepseek-ai/DeepSeek-V3"},
      {"inspect", "openai--gpt-oss-120b", "--batch", "7", "--context", "100000"},
      {"inspect", "Qwen--Qwen3-32B-FP8"},
      {"inspect", "google--gemma-3-4b-it.text-only", "--engine", "llama_cpp", "--engine-option", "ubatch=64"},
      {"explain", "google--gemma-3-4b-it.text-only", "kv.held_bytes", "--engine", "llama_cpp"},
      {"inspect", "meta-llama--Llama-3.1-8B", "--engine", "vllm"},
      {"explain", "meta-llama--Llama-3.1-8B", "storage.loaded_bytes", "--engine", "vllm"},
      {"inspect", "TheBloke--MythoMax-L2-13B-GPTQ"},
      {"inspect", "Orenguteng--Lexi-Llama-3-8B-Uncensored.odd-total"},
      {"inspect", "meta-llama--Llama-3.1-8B-Instruct.bnb-int8"},
      {"inspect", "nobody/nothing", "--offline"},
      {"inspect", record_folder("Qwen--Qwen3-0.6B")},
      {"inspect", "deepseek-ai/DeepSeek-V3", "--precision", "vllm_fp8_ds_mla"},
      {"inspect", "deepseek-ai/DeepSeek-V3", "--precision", "fp8_cache"},
      {"inspect", "Qwen--Qwen3-8B", "--precision", "w4a16"},
      {"explain", "deepseek-ai/DeepSeek-V3", "kv.held_bytes", "--precision", "vllm_fp8_ds_mla"},
      {"explain", "deepseek-ai/DeepSeek-V3"},
      {"explain", "deepseek-ai/DeepSeek-V3", "decode.bytes"},
      {"explain", "deepseek-ai/DeepSeek-V3", "decode.arithmetic_intensity"},
      {"explain", "deepseek-ai/DeepSeek-V3", "storage.bytes"},
      {"explain", "openai--gpt-oss-120b", "kv.bytes_at_context"},
      {"explain", "Qwen--Qwen3-8B", "layers.layers"},
      {"explain", "Qwen--Qwen3-8B", "nothing"},
      {"validate", "Orenguteng--Lexi-Llama-3-8B-Uncensored.odd-total"},
      {"validate", "Qwen--Qwen3-0.6B"},
      {"validate", "Qwen--Qwen3-8B"},
      {"validate", ARCHLIGHT_SOURCE_DIR "/specs/models/llama.yaml"},
      {"validate", "/no/such.yaml"},
      {"validate", "--anchors", "--source", ARCHLIGHT_SOURCE_DIR "/tests/records"},
      {"graph", "deepseek-ai/DeepSeek-V3"},
      {"graph", "deepseek-ai/DeepSeek-V3", "--phase", "decode", "--open", "all"},
      {"graph", "Qwen--Qwen3-8B", "--depth", "0"},
      {"graph", "Qwen--Qwen3-8B", "--open", "nothing"},
      {"models"},
      {"ops"},
      {"components"},
      {"quants"},
      {"engines"},
      {"precisions"},
      {"guards"},
      {"guards", "measure", "mixtral", "--quiet"},
      {"gpus"},
      {"estimate", "deepseek-ai/DeepSeek-V3", "--gpu", "b200_sxm", "--plan", "dp=8,ep=8"},
      {"estimate", "Qwen--Qwen3-8B", "--gpu", "rtx_4090", "--plan", "tp=1", "--usd-per-gpu-hour", "0.4"},
      {"estimate", "Qwen--Qwen3-8B", "--gpu", "rtx_4091", "--plan", "tp=0"},
      {"snapshots", "add", "/no/such/folder"},
  };
  return rows;
}

Ran json_of(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  return archlight(arguments);
}

std::string line_of(const std::vector<std::string>& arguments) {
  std::string out = "archlight";
  for (const std::string& argument : arguments) out += " " + argument;
  return out;
}

TEST(Schema, EveryAnswerFitsItsSchema) {
  std::set<std::string> met = {"archlight.snapshots_add/1"};  // the next test's
  for (const std::vector<std::string>& arguments : commands()) {
    const Ran ran = json_of(arguments);
    const Json body = Json::parse(ran.out, nullptr, false);
    ASSERT_TRUE(body.is_object()) << line_of(arguments) << "\n" << ran.out.substr(0, 200) << ran.err;
    EXPECT_EQ(ran.err, "") << line_of(arguments);
    EXPECT_EQ(schemas().faults(body), "") << line_of(arguments);
    met.insert(body["schema"]);
  }
  EXPECT_EQ(met, schemas().tags()) << "a schema that no command of this test shows";
}

// Into a home of its own: specs/ is the project's, snapshots/ starts empty.
TEST(Schema, SnapshotsAdd) {
  const Folder home("home"), model("org--tiny");
  std::filesystem::create_directories(home.path() + "/snapshots");
  std::filesystem::create_directory_symlink(std::filesystem::absolute(ARCHLIGHT_SOURCE_DIR "/specs"),
                                            home.path() + "/specs");
  model.write("config.json", kTinyConfig);
  model.write("model.safetensors", tiny_file());
  setenv("ARCHLIGHT_HOME", home.path().c_str(), 1);
  const Ran ran = json_of({"snapshots", "add", model.path()});
  const Ran added = json_of({"validate", "org/tiny", "--offline"});
  unsetenv("ARCHLIGHT_HOME");
  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
  EXPECT_EQ(schemas().faults(Json::parse(ran.out)), "") << ran.out;
  EXPECT_EQ(Json::parse(added.out)["evidence"]["verdict"], "verified") << added.out;
}

TEST(Schema, ADifferentFormIsRefused) {
  Json body = Json::parse(json_of({"inspect", "Qwen--Qwen3-8B"}).out);
  body["quantities"]["params.total"] = {{"bytes", 1}, {"title", "in a wrong unit"}};
  EXPECT_NE(schemas().faults(body), "");
  body = Json::parse(json_of({"inspect", "Qwen--Qwen3-8B"}).out);
  body["more"] = 1;
  EXPECT_NE(schemas().faults(body), "");
  body = Json::parse(json_of({"explain", "Qwen--Qwen3-8B", "params.total"}).out);
  body.erase("parameters");
  EXPECT_NE(schemas().faults(body), "");
}

TEST(Schema, EveryFieldIsDescribed) {
  const auto names = base::list_files(std::string(ARCHLIGHT_SOURCE_DIR) + "/schemas");
  for (const std::string& name : *names) {
    const auto walk = [&](auto&& self, const Json& node, const std::string& path) -> void {
      if (node.is_object() && node.contains("properties") && node["properties"].is_object())
        for (const auto& [key, field] : node["properties"].items()) {
          EXPECT_TRUE(field.contains("description") || field.contains("$ref")) << name << path << "/" << key;
        }
      if (node.is_object() && node.value("type", Json()) == "object" &&
          !node.contains("additionalProperties"))
        ADD_FAILURE() << name << path << " is open";
      if (node.is_structured())
        for (const auto& [key, inner] : node.items()) self(self, inner, path + "/" + key);
    };
    walk(walk, schema_file(name), "");
  }
}

TEST(Json, TheSameBytesOnEveryRunKeysSortedUnitsInKeys) {
  for (const std::vector<std::string>& arguments : commands()) {
    const Ran first = json_of(arguments);
    EXPECT_EQ(first.out, json_of(arguments).out) << line_of(arguments);
    EXPECT_EQ(first.out.back(), '\n');
    EXPECT_EQ(unsorted(nlohmann::ordered_json::parse(first.out), ""), "") << line_of(arguments);
    EXPECT_EQ(without_unit(Json::parse(first.out), "", ""), "") << line_of(arguments);
  }
}

}  // namespace
}  // namespace archlight::cli
