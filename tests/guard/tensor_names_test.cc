#include "guard/tensor_names.h"

#include <gtest/gtest.h>

namespace archlight::guard {
namespace {

TEST(TensorNames, DigitsAreIndices) {
  struct Row {
    std::string name, key;
    std::vector<int64_t> indices;
  };
  const std::vector<Row> rows = {
      {"model.layers.12.mlp.experts.3.w1.weight", "model.layers.*.mlp.experts.*.w1.weight", {12, 3}},
      {"lm_head.weight", "lm_head.weight", {}},
      {"0.a.0", "*.a.*", {0, 0}},
      // Not as a spec writes an index.
      {"a.007.b", "a.007.b", {}},
      {"a.1234567890", "a.1234567890", {}},
      {"a.1b.2", "a.1b.*", {2}},
      {"a..1.", "a..*.", {1}},
      {"", "", {}},
  };
  std::vector<std::string> all;
  for (const Row& row : rows) all.push_back(row.name);
  const TensorNames names(all);
  ASSERT_EQ(names.size(), rows.size());
  for (size_t t = 0; t < rows.size(); ++t) {
    EXPECT_EQ(names.name(t), rows[t].name);
    EXPECT_EQ(names.key(names.key_of(t)), rows[t].key) << rows[t].name;
    EXPECT_EQ(names.indices(names.indices_of(t)), rows[t].indices) << rows[t].name;
  }
}

TEST(TensorNames, EqualOnesShareANumber) {
  const std::vector<std::string> all = {"a.0.b.1", "a.1.b.1", "c.0.1", "a.0.b"};
  const TensorNames names(all);
  EXPECT_EQ(names.key_count(), 3u);
  EXPECT_EQ(names.key_of(0), names.key_of(1));
  EXPECT_EQ(names.indices_of(0), names.indices_of(2));
  EXPECT_NE(names.indices_of(0), names.indices_of(1));
  EXPECT_EQ(names.find("a.*.b.*"), names.key_of(0));
  EXPECT_EQ(names.find("a.*"), std::nullopt);
}

}  // namespace
}  // namespace archlight::guard
