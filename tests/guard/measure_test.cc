// Measuring the guards: the same table on every run, whose counts add up, and which a guard that is there moves.
#include "guard/measure.h"

#include <gtest/gtest.h>

#include <numeric>

#include "guard/support.h"

namespace archlight::guard::testing {
namespace {

const std::string kSpecs = std::string(ARCHLIGHT_SOURCE_DIR) + "/specs";

std::vector<MeasuredModel> mixtral() {
  const char* const name = "mistralai--Mixtral-8x7B-Instruct-v0.1";
  return {{"mixtral", {{name, snapshot(name)}}}};
}

Measured measured(int threads) {
  MeasureOptions options;
  options.threads = threads;
  base::Result<Measured> out = measure(kSpecs, mixtral(), options);
  EXPECT_TRUE(out.ok()) << (out ? std::string() : base::render_all(out.faults()));
  return out ? *out : Measured();
}

TEST(Measure, TheSameTableOnEveryRunAndAnyNumberOfThreads) {
  const Measured one = measured(1), two = measured(2);
  EXPECT_GT(one.mutants, 300);
  EXPECT_EQ(one.mutants, two.mutants);
  EXPECT_EQ(one.unchanged, two.unchanged);
  EXPECT_EQ(one.refused, two.refused);
  EXPECT_EQ(one.caught, two.caught);
  ASSERT_EQ(one.survivors.size(), two.survivors.size());
  for (size_t i = 0; i < one.survivors.size(); ++i) {
    EXPECT_EQ(one.survivors[i].file, two.survivors[i].file);
    EXPECT_EQ(one.survivors[i].what, two.survivors[i].what);
    EXPECT_EQ(one.survivors[i].after, two.survivors[i].after);
  }
  for (const auto& [guard, row] : one.guards) EXPECT_EQ(row.alone, two.guards.at(guard).alone) << guard;
}

TEST(Measure, CountsAddUp) {
  const Measured all = measured(2);
  EXPECT_EQ(all.mutants - all.unchanged, all.number_changing());
  int64_t made = 0, caught = 0;
  for (const auto& [kind, share] : all.kinds) made += share.made, caught += share.caught;
  EXPECT_EQ(made, all.number_changing());
  EXPECT_EQ(caught, all.refused + all.caught);
  ASSERT_EQ(all.levels.size(), 1u) << "every file of the one model meets its index";
  EXPECT_EQ(all.levels.at("index").made, made);
  EXPECT_EQ(all.levels.at("index").caught, caught);
  EXPECT_EQ(all.best.at("index"), std::vector<std::string>{"mixtral"});
  for (const auto& [guard, row] : all.guards) {
    EXPECT_LE(row.alone, row.fires) << guard;
    EXPECT_EQ(all.caught_without(guard), caught - row.alone) << guard;
    EXPECT_EQ(std::accumulate(row.alone_by_kind.begin(), row.alone_by_kind.end(), int64_t{0},
                              [](int64_t sum, const auto& kind) { return sum + kind.second; }),
              row.alone)
        << guard;
  }
  for (const Survivor& survivor : all.survivors) {
    EXPECT_NE(survivor.before, survivor.after) << survivor.what;
    EXPECT_FALSE(survivor.reason.empty()) << survivor.what;
  }
}

TEST(Measure, ASpecThatNoSnapshotSpeaksForIsNamed) {
  const base::Result<Measured> out = measure(kSpecs, {{"mixtral", {}}});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->without_evidence, std::vector<std::string>{"mixtral"});
  EXPECT_EQ(out->number_changing(), out->refused)
      << "without a bill only a spec that no longer loads is seen";
}

TEST(Measure, SpecsThatAreNotThere) {
  const base::Result<Measured> out = measure("/nowhere/specs", mixtral());
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.faults()[0].message().find("/nowhere/specs"), std::string::npos);
}

}  // namespace
}  // namespace archlight::guard::testing
