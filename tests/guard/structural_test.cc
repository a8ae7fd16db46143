// What the structural guard says of specs that differ from their config, or declare what nothing uses.
#include <gtest/gtest.h>

#include "guard/small.h"

namespace archlight::guard::testing {
namespace {

TEST(Structural, DimsAreThoseOfTheirKeys) {
  expect_each({{kModel, "top_k: config.num_experts_per_tok", "top_k: \"3\"",
                "specs/models/small.yaml:4:9: [structural] dim 'top_k' is 3; expected 2, "
                "config.num_experts_per_tok; bind it to that key\n"}});
}

TEST(Structural, AHeadIsTiedWhereTheConfigSaysSo) {
  EXPECT_EQ(faults_of(kSmall, R"({"architectures": ["SmallForCausalLM"], "num_experts_per_tok": 2,
                                  "tie_word_embeddings": false})"),
            "");
  EXPECT_EQ(faults_of(kSmall, R"({"architectures": ["SmallForCausalLM"], "num_experts_per_tok": 2,
                                  "tie_word_embeddings": true})"),
            "specs/models/small.yaml:8:13: [structural] 'head' is not tied to 'embed'; expected "
            "config.tie_word_embeddings, which is true; let tied_when follow that key\n");
}

TEST(Structural, ListedLayersKeepWhatTheirTypeSays) {
  const auto faults = [](const char* types) {
    return faults_of(kSmall, fmt::format(R"({{"architectures": ["SmallForCausalLM"], "num_experts_per_tok": 2,
                                             "layer_types": [{}]}})",
                                         types));
  };
  EXPECT_EQ(faults(R"("sliding_attention", "sliding_attention")"), "");
  EXPECT_EQ(faults(R"("sliding_attention", "linear_attention")"), "");
  EXPECT_EQ(faults(R"("sliding_attention", "full_attention")"),
            "specs/components/library/block.yaml:1:1: [structural] layer 1 of stack 'layers' keeps a window; "
            "expected the whole context, since config.layer_types says full_attention; let a layer rule "
            "follow that list\n");
}

}  // namespace
}  // namespace archlight::guard::testing
