#include "base/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace archlight::base {
namespace {

std::string error_of(const std::string& text) {
  const Result<std::shared_ptr<const Json>> value = parse_json(text, "a.json");
  return value ? "parsed" : value.faults()[0].message();
}

TEST(Json, ANumberPastEveryDoubleIsAFault) {
  const std::string expected = "a.json: a number is too large to hold; expected numbers below 1.8e308";
  EXPECT_EQ(error_of("{\"n\": 1e309}"), expected);
  EXPECT_EQ(error_of("[" + std::string(400, '9') + "]"), expected);
  EXPECT_EQ(error_of("{\"n\": 1e308}"), "parsed");
}

TEST(Json, DuplicateKeysAreFaults) {
  EXPECT_EQ(error_of("{\"a\": 1, \"b\": {\"a\": 2}, \"a\": 3}"),
            "a.json: the key 'a' stands twice in one object; expected each key once");
}

}  // namespace
}  // namespace archlight::base
