// What the schedule guard says of config keys that nothing reads and of per-layer lists that rules do not cover.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "guard/small.h"
#include "spec/config_keys.h"
#include "truth/snapshot.h"

namespace archlight::guard::testing {
namespace {

// A table of its own, so that the messages are seen whole.
Files tabled() {
  Files files = kSmall;
  files["config_keys.yaml"] = R"(telling: [num_, _size]
keys:
  - { keys: [num_experts_per_tok], is: shape, meaning: "experts that a token uses" }
  - { keys: [hidden_size], is: shape, meaning: "width of the trunk" }
  - { keys: [vision.hidden_size], is: media, meaning: "of another part" }
  - { keys: [stride], is: schedule, off: ["1"], unless: { strides: "false" }, meaning: "each so many-th layer" }
  - { keys: [rope_theta], is: rope, meaning: "base of the frequencies" }
  - { keys: [labels], is: runtime, meaning: "labels" }
  - { keys: [model_type, architectures], is: tokenizer, meaning: "names" }
)";
  return files;
}

std::string faults(const std::string& more, const Files& files = tabled()) {
  return lines_of(report_of(files, more));
}

TEST(Schedule, AKeyThatDecidesANumberIsRead) {
  EXPECT_EQ(faults("{}"), "");
  EXPECT_EQ(
      faults(R"({"hidden_size": 64})"),
      "config.json: [schedule] config.hidden_size is 64 (width of the trunk), and model 'small' reads no "
      "such key; expected a dim, a layer rule or a stream that reads it; where it changes nothing, "
      "ignores: { hidden_size: WHY }\n");
  // Beneath other keys too, unless these are of no concern.
  EXPECT_EQ(faults(R"({"part": {"hidden_size": 64}})"),
            "config.json: [schedule] config.part.hidden_size is 64 (width of the trunk), and model 'small' "
            "reads no such key; expected a dim, a layer rule or a stream that reads it; where it changes "
            "nothing, ignores: { part.hidden_size: WHY }\n");
  EXPECT_EQ(faults(R"({"labels": {"hidden_size": 64}, "vision": {"hidden_size": 8}, "rope_theta": 1e4})"),
            "");
}

TEST(Schedule, AKeyThatIsOffDecidesNothing) {
  for (const char* off : {"null", "false", "0", "0.0", "\"\"", "[]", "{}"})
    EXPECT_EQ(faults(fmt::format(R"({{"hidden_size": {}}})", off)), "") << off;
  EXPECT_EQ(faults(R"({"stride": 1})"), "");
  EXPECT_EQ(faults(R"({"stride": 2, "strides": false})"), "");
  EXPECT_EQ(
      faults(R"({"stride": 2})"),
      "config.json: [schedule] config.stride is 2 (each so many-th layer), and model 'small' reads no such "
      "key; expected a dim, a layer rule or a stream that reads it; where it changes nothing, ignores: { "
      "stride: WHY }\n");
}

// By a part of its name, or by its nearness to a key that decides numbers.
TEST(Schedule, AnUnknownKeyThatTellsOfASizeIsAFault) {
  EXPECT_EQ(
      faults(R"({"num_ponds": 4})"),
      "config.json: [schedule] config.num_ponds is 4, a key that nothing knows and whose name tells of a "
      "size or a schedule; expected a reader in model 'small', or a row of specs/config_keys.yaml; where it "
      "changes nothing, ignores: { num_ponds: WHY }\n");
  EXPECT_EQ(faults(R"({"nun_expert_per_tok": 4})"),
            "config.json: [schedule] config.nun_expert_per_tok is 4, a key that nothing knows and whose name "
            "tells of a size or a schedule; expected a reader in model 'small', or a row of "
            "specs/config_keys.yaml; it reads 'num_experts_per_tok'; where it changes nothing, ignores: { "
            "nun_expert_per_tok: WHY }\n");
}

TEST(Schedule, AnyOtherUnknownKeyIsAdvice) {
  const Report report = report_of(tabled(), R"({"flavour": "sour"})");
  EXPECT_EQ(lines_of(report), "");
  EXPECT_EQ(advice_of(report),
            "config.json: [schedule] config.flavour is \"sour\", a key that nothing knows; expected a row of "
            "specs/config_keys.yaml\n");
  EXPECT_EQ(verdict_name(report.verdict), "not verifiable");  // as without it: no tensors are known
}

TEST(Schedule, AKeyIsIgnoredWithAReasonAndNotReadBesides) {
  const std::string at = "quant_context: { default_dtype: BF16 }";
  const auto ignoring = [&](const std::string& rows) {
    return with(tabled(), kModel, at, "ignores: { " + rows + " }\n" + at);
  };
  EXPECT_EQ(faults(R"({"hidden_size": 64})", ignoring("hidden_size: \"it is 64 in every config\"")), "");
  EXPECT_EQ(faults(R"({"part": {"hidden_size": 64, "num_ponds": 3}})", ignoring("part: \"not modelled\"")),
            "");
  EXPECT_EQ(faults("{}", ignoring("num_experts_per_tok: \"no reason\"")),
            "specs/models/small.yaml:10:12: [schedule] config key 'num_experts_per_tok' is ignored, and dim "
            "'top_k' reads it; expected one of both\n");
  const auto refused = spec::Library::from_texts(ignoring("hidden_size: \"\""));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(
      refused.faults()[0].message(),
      "specs/models/small.yaml:10:12: config key 'hidden_size' is ignored without a reason; expected why "
      "it changes nothing here");
}

TEST(Schedule, AKeyIsHeldAgainstAFormula) {
  const std::string at = "quant_context: { default_dtype: BF16 }";
  const Files files = with(tabled(), kModel, at, "holds: { hidden_size: \"n_heads * d_head\" }\n" + at);
  EXPECT_EQ(faults("{}", files), "");
  EXPECT_EQ(faults(R"({"hidden_size": 64})", files), "");
  EXPECT_EQ(
      faults(R"({"hidden_size": 65})", files),
      "specs/models/small.yaml:10:10: [schedule] config.hidden_size is 65; expected 64, which is n_heads * "
      "d_head\n");
}

// ---- per-layer lists: a rule for 'a' and one for 'b', and a stack of two layers

Files listing(const std::string& rules, const std::string& more = {}) {
  const std::string at = "quant_context: { default_dtype: BF16 }";
  return with(with(kSmall, kModel, "streams: { hidden: { carries: true } } }",
                   "streams: { hidden: { carries: true } }, layers: [" + rules + "] }"),
              kModel, at, more + at);
}

TEST(Schedule, EveryEntryOfAListHasARule) {
  const std::string both = "{ config: kinds, equals: a }, { config: kinds, equals: b }";
  EXPECT_EQ(faults(R"({"kinds": ["a", "b"]})", listing(both)), "");
  // Whatever rest would do with it.
  EXPECT_EQ(
      faults(R"({"kinds": ["a", "c"]})", listing("{ config: kinds, equals: a }, { rest: true }")),
      "specs/models/small.yaml:7:98: [schedule] config.kinds says 'c' of layer 1, which no rule of stack "
      "'layers' names; expected a rule for each of its values; {config: kinds, equals: c, ...}\n");
  EXPECT_EQ(
      faults(R"({"kinds": ["a", "c"]})", listing(both)),
      "specs/models/small.yaml:7:5: [schedule] no rule of stack 'layers' fits layer 1; expected a rule for "
      "every layer; end the list with {rest: true, ...}\n"
      "specs/models/small.yaml:7:98: [schedule] config.kinds says 'c' of layer 1, which no rule of stack "
      "'layers' names; expected a rule for each of its values; {config: kinds, equals: c, ...}\n");
  const Report report = report_of(listing(both), R"({"kinds": ["a", "a"]})");
  EXPECT_EQ(lines_of(report), "");
  EXPECT_EQ(
      advice_of(report),
      "specs/models/small.yaml:7:128: [schedule] no layer is 'b' in config.kinds; expected an entry that "
      "the rule is for, in some config\n");
}

TEST(Schedule, AListHasOneEntryForEachLayer) {
  const std::string rules = "{ config: kinds, equals: a }";
  EXPECT_EQ(
      faults(R"({"kinds": ["a", "a", "a"]})", listing(rules)),
      "specs/models/small.yaml:7:98: [schedule] config.kinds has 3 entries; expected 2, one for each layer "
      "of stack 'layers'; where the list speaks of more layers, lists: { kinds: FORMULA }\n");
  EXPECT_EQ(faults(R"({"kinds": ["a", "a", "a"]})", listing(rules, "lists: { kinds: \"2 + 1\" }\n")), "");
  EXPECT_EQ(
      faults(R"({"kinds": ["a"]})", listing(rules)),
      "specs/models/small.yaml:7:98: [schedule] config.kinds has 1 entries for 2 layers; expected one entry "
      "per layer\n"
      "specs/models/small.yaml:7:98: [schedule] config.kinds has 1 entries; expected 2, one for each layer "
      "of stack 'layers'; where the list speaks of more layers, lists: { kinds: FORMULA }\n");
}

TEST(Schedule, ListedIndicesAreLayersEachOnce) {
  const std::string rules = "{ listed: some }, { listed: others }, { rest: true }";
  EXPECT_EQ(faults(R"({"some": [0], "others": [1]})", listing(rules)), "");
  // Several rules may share one list out.
  EXPECT_EQ(
      faults(R"({"some": [0, 1]})", listing("{ listed: some, where: \"layer == 0\" }, { listed: some }")),
      "");
  EXPECT_EQ(
      faults(R"({"some": [0], "others": [2]})", listing(rules)),
      "specs/models/small.yaml:7:116: [schedule] config.others lists layer 2; expected layers 0 to 1 of "
      "stack 'layers'\n");
  EXPECT_EQ(
      faults(R"({"some": [0], "others": [0, 1]})", listing(rules)),
      "specs/models/small.yaml:7:116: [schedule] config.others lists layer 0, which config.some lists too; "
      "expected each layer once\n");
  EXPECT_EQ(faults(R"({"some": [1, 1]})", listing(rules)),
            "specs/models/small.yaml:7:98: [schedule] config.some lists layer 1 twice; expected each layer "
            "once\n");
}

// ---- the project's own specs and table

// A simulator read experts under another family's key, found none, and counted a dense model.
TEST(Schedule, DeepSeekV3WithAKeySpelledOtherwiseIsNoModelWithoutIt) {
  truth::Truth truth = snapshot("deepseek-ai--DeepSeek-V3");
  truth.config = config_with(*truth.config, R"({"n_shared_experts": null, "num_shared_experts": 1})");
  const std::string said = lines_of(verify_all(specs(), truth));
  EXPECT_EQ(
      said.substr(0, said.find('\n') + 1),
      "config.json: [schedule] config.num_shared_experts is 1 (shared experts of a layer), and model "
      "'deepseek_v3' reads no such key; expected a dim, a layer rule or a stream that reads it; it reads "
      "'n_shared_experts'; where it changes nothing, ignores: { num_shared_experts: WHY }\n");
}

TEST(Schedule, TheTableKnowsEveryKeyOfEverySnapshot) {
  const auto snapshots = truth::list_snapshots(ARCHLIGHT_SOURCE_DIR);
  ASSERT_TRUE(snapshots.ok());
  size_t keys = 0;
  for (const truth::SnapshotInfo& info : *snapshots) {
    if (!info.has_config || !info.alias_of.empty()) continue;
    const truth::Truth truth = snapshot(info.name);
    const auto walk = [&](auto&& self, const base::Json& object, const std::string& path) -> void {
      for (const auto& [key, value] : object.items()) {
        const std::string full = path.empty() ? key : path + "." + key;
        const spec::ConfigKey* row = specs()->config_keys().find(full);
        EXPECT_NE(row, nullptr) << info.name << ": " << full;
        ++keys;
        if (value.is_object() && row && !spec::outside_the_model(row->key_class)) self(self, value, full);
      }
    };
    walk(walk, *truth.config, "");
  }
  EXPECT_GT(keys, 5000u);
}

}  // namespace
}  // namespace archlight::guard::testing
