// What a config says of the longest context: the stated length, and rope scalings of every spelling beside it.
#include "spec/context.h"

#include <gtest/gtest.h>

#include "support/made_up.h"

namespace archlight::testing {
namespace {

// The stated length, "key type[=known_as] product", then remarks, each on a line.
std::string reading(const std::string& config, std::vector<std::string> roots = {""}) {
  spec::Model model;
  model.config_roots = std::move(roots);
  model.max_context = "max_position_embeddings";
  const spec::PublishedContext found =
      spec::published_context(model, *json(config), own_library()->rope_scaling());
  std::string out = found.tokens ? expr::to_string(*found.tokens) + " " + found.key : "none";
  for (const spec::RopeScaling& row : found.scaling)
    out += "\n" + row.key + " " + row.type + (row.alias ? "=" + row.known_as : "") + " " +
           (row.product() ? expr::to_string(*row.product()) : "-");
  for (const std::string& remark : found.remarks) out += "\n" + remark;
  return out;
}

struct Row {
  const char* config;
  const char* reading;
};

// A YaRN factor multiplied onto a length that counts it already gives 131,072 and 5,242,880 for the first two.
TEST(PublishedContext, AStretchedLengthIsNotStretchedAgain) {
  const Row rows[] = {
      // 8192 * 4 = 32768
      {R"({"max_position_embeddings": 32768, "rope_scaling": {"rope_type": "telechat3-yarn", "factor": 4.0,
           "original_max_position_embeddings": 8192}})",
       "32768 max_position_embeddings\nrope_scaling telechat3-yarn=yarn 32768\n"
       "config.rope_scaling is of type 'telechat3-yarn', another name for yarn"},
      {R"({"max_position_embeddings": 131072, "rope_scaling": {"rope_type": "deepseek_yarn", "factor": 40.0}})",
       "131072 max_position_embeddings\nrope_scaling deepseek_yarn=yarn -\n"
       "config.rope_scaling is of type 'deepseek_yarn', another name for yarn"},
      // 4096 * 40 = 163840
      {R"({"max_position_embeddings": 163840, "rope_scaling": {"type": "yarn", "factor": 40,
           "original_max_position_embeddings": 4096}})",
       "163840 max_position_embeddings\nrope_scaling yarn 163840"},
      {R"({"max_position_embeddings": 131072, "initial_context_length": 4096,
           "rope_parameters": {"rope_type": "yarn", "factor": 32.0}})",
       "131072 max_position_embeddings\nrope_parameters yarn 131072"},
      // a scaling that is set beside the trained length
      {R"({"max_position_embeddings": 32768, "rope_scaling": {"type": "yarn", "factor": 4.0,
           "original_max_position_embeddings": 32768}})",
       "32768 max_position_embeddings\nrope_scaling yarn 131072\n"
       "config.rope_scaling.original_max_position_embeddings * factor is 32,768 * 4 = 131,072, and "
       "config.max_position_embeddings states 32,768: the stated context is taken"},
      // the product says nothing of these
      {R"({"max_position_embeddings": 131072, "rope_scaling": {"rope_type": "llama3", "factor": 8.0,
           "original_max_position_embeddings": 8192}})",
       "131072 max_position_embeddings\nrope_scaling llama3 -"},
      {R"({"max_position_embeddings": 131072, "rope_scaling": {"type": "su", "long_factor": [1.0],
           "short_factor": [1.0]}})",
       "131072 max_position_embeddings\nrope_scaling su=longrope -\n"
       "config.rope_scaling is of type 'su', another name for longrope"},
      {R"({"max_position_embeddings": 16384, "rope_scaling": {"type": "linear", "factor": 4.0}})",
       "16384 max_position_embeddings\nrope_scaling linear -"},
      {R"({"max_position_embeddings": 4096, "rope_scaling": {"type": "spiral", "factor": 4.0}})",
       "4096 max_position_embeddings\nrope_scaling spiral -\n"
       "config.rope_scaling is of type 'spiral', which specs/rope_scaling.yaml does not list: the stated "
       "context is taken as it is"},
      {R"({"max_position_embeddings": 4096, "rope_scaling": null})", "4096 max_position_embeddings"},
      {R"({"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}})",
       "none\nrope_scaling yarn 32768"},
  };
  for (const Row& row : rows) EXPECT_EQ(reading(row.config), row.reading) << row.config;
}

// Both spellings of the group, kinds of layers inside one, and a nested config.
TEST(PublishedContext, EveryGroupIsRead) {
  EXPECT_EQ(
      reading(R"({"max_position_embeddings": 32768,
                        "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192},
                        "rope_parameters": {"rope_type": "yarn", "factor": 8.0,
                                            "original_max_position_embeddings": 8192}})"),
      "32768 max_position_embeddings\nrope_scaling yarn 32768\nrope_parameters yarn 65536\n"
      "config.rope_parameters.original_max_position_embeddings * factor is 8,192 * 8 = 65,536, and "
      "config.max_position_embeddings states 32,768: the stated context is taken\n"
      "config.rope_scaling says yarn with factor 4, and config.rope_parameters says yarn with factor 8");
  EXPECT_EQ(reading(R"({"max_position_embeddings": 131072, "rope_parameters": {
                        "full_attention": {"rope_type": "linear", "factor": 8.0},
                        "sliding_attention": {"rope_type": "default"}}})"),
            "131072 max_position_embeddings\nrope_parameters.full_attention linear -\n"
            "rope_parameters.sliding_attention default -");
  EXPECT_EQ(reading(R"({"max_position_embeddings": 1, "text_config": {"max_position_embeddings": 262144,
                        "rope_parameters": {"rope_type": "default", "mrope_section": [24, 20, 20]}}})",
                    {"text_config", ""}),
            "262144 text_config.max_position_embeddings\ntext_config.rope_parameters default -");
}

// What is no length is none: a text, a fraction, a negative number, factors past every range.
TEST(PublishedContext, OddNumbers) {
  EXPECT_EQ(reading(R"({"max_position_embeddings": "4096"})"), "none");
  EXPECT_EQ(reading(R"({"max_position_embeddings": 0.5})"), "none");
  EXPECT_EQ(reading(R"({"max_position_embeddings": -4})"), "none");
  EXPECT_EQ(reading(R"({"max_position_embeddings": 8, "rope_scaling": {"type": "yarn", "factor": 1e300,
                        "original_max_position_embeddings": 9223372036854775807}})"),
            "8 max_position_embeddings\nrope_scaling yarn -");
}

TEST(PublishedContext, TheTableIsHeldAgainstItsForm) {
  const auto faults = [](const std::string& text) {
    const auto library = spec::Library::from_texts({{"rope_scaling.yaml", text}});
    return library ? std::string("ok") : messages(library.faults());
  };
  EXPECT_EQ(faults("groups: [a]\ntypes: [{ names: [yarn], stated: stretched, source: s }]\n"), "ok");
  EXPECT_EQ(faults("types: [{ names: [yarn], stated: streched, source: s }]\n"),
            "specs/rope_scaling.yaml:1:9: stated is 'streched'; expected stretched or stated; did you mean "
            "'stretched'?");
  EXPECT_EQ(faults("types:\n  - { names: [yarn], stated: stated, source: s }\n  - { names: [su], also: "
                   "[yarn], stated: "
                   "stated, source: s }\n"),
            "specs/rope_scaling.yaml:3:5: type 'yarn' of rope scaling stands twice; expected one row for it");
}

}  // namespace
}  // namespace archlight::testing
