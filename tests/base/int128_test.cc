#include "base/int128.h"

#include <gtest/gtest.h>

namespace archlight::base {
namespace {

TEST(Int128, PrintsAndParsesTheWholeRange) {
  // 2^127 - 1 and -2^127, written out.
  const std::string high = "170141183460469231731687303715884105727";
  const std::string low = "-170141183460469231731687303715884105728";
  EXPECT_EQ(to_string(*parse_int128(high)), high);
  EXPECT_EQ(to_string(*parse_int128(low)), low);
  EXPECT_FALSE(parse_int128("170141183460469231731687303715884105728"));
  EXPECT_FALSE(parse_int128(""));
  EXPECT_FALSE(parse_int128("-"));
  EXPECT_FALSE(parse_int128("12a"));
}

TEST(Int128, OverflowIsReported) {
  const Int128 high = *parse_int128("170141183460469231731687303715884105727");
  const Int128 low = *parse_int128("-170141183460469231731687303715884105728");
  EXPECT_FALSE(checked_add(high, 1));
  EXPECT_FALSE(checked_sub(low, 1));
  EXPECT_FALSE(checked_mul(high, 2));
  EXPECT_FALSE(checked_mul(low, -1));
  EXPECT_EQ(*checked_mul(high, -1), low + 1);
  EXPECT_FALSE(floor_div(low, -1));
  EXPECT_FALSE(floor_div(1, 0));
  EXPECT_FALSE(floor_mod(1, 0));
}

TEST(Int128, FloorRoundsDown) {
  EXPECT_EQ(*floor_div(-7, 2), -4);
  EXPECT_EQ(*floor_mod(-7, 2), 1);
  EXPECT_EQ(*floor_div(7, -2), -4);
  EXPECT_EQ(*floor_mod(7, -2), -1);
}

TEST(Int128, Commas) {
  EXPECT_EQ(with_commas(688574839360), "688,574,839,360");
  EXPECT_EQ(with_commas(-1000), "-1,000");
  EXPECT_EQ(with_commas(999), "999");
}

}  // namespace
}  // namespace archlight::base
