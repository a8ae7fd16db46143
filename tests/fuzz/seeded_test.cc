#include <gtest/gtest.h>

#include "fuzz/targets.h"
#include "support/seeded_fuzz.h"

namespace archlight::fuzz {
namespace {

class Seeded : public testing::TestWithParam<Target> {};

TEST_P(Seeded, RunsClean) {
  SeededRun run;
  run.name = GetParam().name;
  run.corpus_folder = ARCHLIGHT_SOURCE_DIR "/tests/fuzz/corpus/" + run.name;
  run.findings_folder = ARCHLIGHT_BINARY_DIR "/findings";
  run.count = 2000;
  EXPECT_GT(run_seeded(GetParam().one_input, run), run.count);
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Seeded, testing::ValuesIn(targets()),
                         [](const testing::TestParamInfo<Target>& target) { return target.param.name; });

int looks_for_z(const uint8_t* data, size_t size) {
  for (size_t i = 0; i < size; ++i)
    if (data[i] == 'z') std::abort();
  return 0;
}

TEST(SeededDeathTest, AFailureTellsItsSeedAndATest) {
  SeededRun run{"looks_for_z", "no_such_folder", ARCHLIGHT_BINARY_DIR "/findings", 7, 100000, 64};
  EXPECT_DEATH(run_seeded(&looks_for_z, run),
               "fuzz target looks_for_z failed: seed 7, input [0-9]+, [0-9]+ bytes\n"
               "written to .*/findings/looks_for_z-7-[0-9]+; copy it to tests/fuzz/corpus/looks_for_z/\n"
               "TEST.Found, Seed7Input[0-9]+. .\n  const std::string input");
}

TEST(Mutate, ASeedGivesTheSameInputs) {
  const std::vector<std::string> corpus = {"{\"a\": 12}", "b: [1, 2]"};
  std::mt19937_64 first(3), second(3);
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(mutate(corpus[i % 2], corpus, first, 4096), mutate(corpus[i % 2], corpus, second, 4096));
}

TEST(Mutate, BoundsTheLength) {
  std::mt19937_64 random(4);
  const std::string input(100, 'a');
  for (int i = 0; i < 500; ++i) ASSERT_LE(mutate(input, {input}, random, 128).size(), 128u);
}

TEST(Mutate, MostlyKeepsALengthPrefix) {
  // 8 bytes that say 9, then 9 bytes.
  const std::string input = std::string("\x09\0\0\0\0\0\0\0", 8) + "{\"a\": 12}";
  std::mt19937_64 random(5);
  int right = 0;
  for (int i = 0; i < 400; ++i) {
    const std::string text = mutate(input, {input}, random, 1 << 20);
    uint64_t length = 0;
    for (int byte = 7; byte >= 0 && text.size() >= 8; --byte)
      length = length << 8 | static_cast<unsigned char>(text[static_cast<size_t>(byte)]);
    right += text.size() >= 8 && length == text.size() - 8;
  }
  EXPECT_GT(right, 250);
  EXPECT_LT(right, 400);
}

}  // namespace
}  // namespace archlight::fuzz
