#include "truth/index.h"

#include <gtest/gtest.h>

namespace archlight::truth {
namespace {

std::string error_of(const std::string& text) {
  const base::Result<Index> index = parse_index(text, "i.json");
  return index ? "parsed" : index.faults()[0].message();
}

TEST(Index, NamesAndShardsAreSorted) {
  const base::Result<Index> index = parse_index(
      R"({"metadata":{"total_size":12,"total_parameters":6},"weight_map":{"b":"2.safetensors","a":"1.safetensors","c":"2.safetensors"}})",
      "i.json");
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(index->names, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(index->shards, (std::vector<std::string>{"1.safetensors", "2.safetensors"}));
  EXPECT_EQ(index->shard_of, (std::vector<uint32_t>{0, 1, 1}));
  EXPECT_EQ(index->total_bytes, base::Int128{12});
  EXPECT_TRUE(index->notes.empty());
}

// Totals as they are met in the wild: a number, a float, none.
TEST(Index, TotalsOfEveryKind) {
  const auto read = [](const std::string& metadata) {
    const base::Result<Index> index = parse_index("{" + metadata + R"("weight_map":{"a":"s"}})", "i.json");
    if (!index) return index.faults()[0].message();
    return (index->total_bytes ? base::to_string(*index->total_bytes) : "none") +
           (index->notes.empty() ? "" : " | " + index->notes[0]);
  };
  EXPECT_EQ(read(R"("metadata":{"total_size":688574839360},)"), "688574839360");
  EXPECT_EQ(read(R"("metadata":{"total_size":0},)"), "0");
  EXPECT_EQ(read(R"("metadata":{"total_size":13731385408.0},)"),
            "13731385408 | the index writes total_size as a float; some writers count a BOOL element as an "
            "eighth of a byte");
  EXPECT_EQ(read(R"("metadata":{},)"), "none | the index's metadata has no total_size");
  EXPECT_EQ(read(R"("metadata":null,)"), "none | the index has no metadata, so no total of bytes");
  EXPECT_EQ(read(""), "none | the index has no metadata, so no total of bytes");
  EXPECT_EQ(read(R"("metadata":{"total_size":1.5},)"),
            "i.json: the index's total_size is 1.5; expected a whole number of bytes");
  EXPECT_EQ(read(R"("metadata":{"total_size":-1},)"),
            "i.json: the index's total_size is -1; expected a whole number of bytes");
  EXPECT_EQ(read(R"("metadata":{"total_size":1e300},)"),
            "i.json: the index's total_size is 1e+300; expected a whole number of bytes");
  EXPECT_EQ(read(R"("metadata":{"total_size":"12"},)"),
            "i.json: the index's total_size is \"12\"; expected a whole number of bytes");
  EXPECT_EQ(read(R"("metadata":[],)"),
            "i.json: the index's metadata is no object; expected {\"total_size\": bytes}");
}

TEST(Index, RefusesWhatIsNoIndex) {
  EXPECT_EQ(error_of("[]"),
            "i.json: the index is no JSON object; expected {\"metadata\": ..., \"weight_map\": ...}");
  EXPECT_EQ(
      error_of("{}"),
      "i.json: the index has no weight_map with entries; expected \"weight_map\": {tensor: shard file}");
  EXPECT_EQ(
      error_of(R"({"weight_map":{}})"),
      "i.json: the index has no weight_map with entries; expected \"weight_map\": {tensor: shard file}");
  EXPECT_EQ(error_of(R"({"weight_map":{"a":1}})"),
            "i.json: weight_map['a'] is not a string; expected the name of a shard file");
  EXPECT_EQ(error_of(R"({"weight_map":{"a":"s","a":"t"}})"),
            "i.json: the key 'a' stands twice in one object; expected each key once");
  for (const char* name : {"../x", "a/b", "/etc/passwd", "..", ".", "", "a\\\\b", "a\\u0000b"})
    EXPECT_EQ(error_of(std::string(R"({"weight_map":{"a":")") + name + "\"}}").substr(0, 38),
              "i.json: weight_map['a'] names the file")
        << name;
}

}  // namespace
}  // namespace archlight::truth
