#include "base/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace archlight::base {
namespace {

std::string error_of(const std::string& text) {
  const Result<std::shared_ptr<const Json>> json = parse_json(text, "a.json");
  return json ? "parsed" : json.faults()[0].message().substr(0, 60);
}

TEST(Json, NonFiniteNumbersOfPythonBecomeStrings) {
  const Result<std::shared_ptr<const Json>> json =
      parse_json(R"({"a": [0.0, Infinity], "b": -Infinity, "c": NaN, "NaN": "Infinity \" NaN"})", "a.json");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((**json)["a"][1], "Infinity");
  EXPECT_EQ((**json)["b"], "-Infinity");
  EXPECT_EQ((**json)["c"], "NaN");
  EXPECT_EQ((**json)["NaN"], "Infinity \" NaN");
}

TEST(Json, FaultsKeepTheirPlaceBehindNonFiniteNumbers) {
  //                  123456789012345
  EXPECT_EQ(error_of("{\"a\": NaN, \"b\": x}").substr(0, 29), "a.json:1:17: not valid JSON: ");
  EXPECT_EQ(error_of("{\"a\": NaNs}").substr(0, 29), "a.json:1:10: not valid JSON: ");
}

TEST(Json, RefusesWhatReadersDisagreeOn) {
  EXPECT_EQ(error_of(R"({"a": 1, "a": 2})"), "a.json: the key 'a' stands twice in one object; expected eac");
  EXPECT_EQ(error_of(std::string(200, '[')).substr(0, 37), "a.json: nested deeper than 128 levels");
  EXPECT_EQ(error_of("1e999").substr(0, 24), "a.json: not valid JSON: ");
  EXPECT_EQ(error_of("").substr(0, 7), "a.json:");
  EXPECT_EQ(error_of(std::string("{}\0junk", 7)),
            "a.json:1:3: not valid JSON: a NUL byte; expected JSON text");
  EXPECT_EQ(error_of(std::string(128, '[') + std::string(128, ']')), "parsed");
}

}  // namespace
}  // namespace archlight::base
