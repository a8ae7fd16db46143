// The table of guards, and what leaving one out does.
#include "guard/guards.h"

#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "guard/small.h"

namespace archlight::guard::testing {
namespace {

Report run_without(const Files& files, const std::set<std::string>& without) {
  const base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(files);
  EXPECT_TRUE(library.ok());
  truth::Truth truth;
  truth.config = json(kConfig);
  const base::Result<const spec::Model*> model = (*library)->model_for(*truth.config);
  base::Result<spec::Binding> binding = spec::bind(**model, truth.config, nullptr);
  return verify(*library, std::make_shared<const spec::Binding>(std::move(*binding)), truth, {}, without);
}

TEST(Guards, EachHasANameAPageAndSaysWhatItHoldsAgainstWhat) {
  std::set<std::string_view> names;
  for (const Guard& guard : guards()) {
    EXPECT_TRUE(names.insert(guard.name).second) << guard.name;
    EXPECT_NE(guard.checks, "") << guard.name;
    EXPECT_NE(guard.against, "") << guard.name;
    EXPECT_EQ(find_guard(guard.name), &guard);
    EXPECT_TRUE(base::file_exists(std::string(ARCHLIGHT_SOURCE_DIR) + "/docs/guards/" +
                                  std::string(guard.name) + ".md"))
        << guard.name;
  }
  EXPECT_EQ(find_guard("nothing"), nullptr);
}

TEST(Guards, AreReportedInTheOrderOfTheTable) {
  const Report report = run_without(kSmall, {});
  ASSERT_EQ(report.guards.size(), guards().size());
  for (size_t i = 0; i < guards().size(); ++i) {
    EXPECT_EQ(report.guards[i].name, guards()[i].name);
    EXPECT_EQ(report.guards[i].strength, guards()[i].strength);
  }
}

// A query that is not rotated, and a key that is: wiring alone says so.
TEST(Guards, OneLeftOutSaysNothingAndVerifiesNothing) {
  const Files unrotated = with(kSmall, kAttn, "in: [q_rope, k_rope]", "in: [q_heads, k_rope]");
  const Report all = run_without(unrotated, {});
  EXPECT_EQ(verdict_name(all.verdict), "wrong");
  EXPECT_GT(all.faults.size(), 0u);
  const Report less = run_without(unrotated, {"wiring"});
  EXPECT_EQ(lines_of(less), "");
  EXPECT_EQ(verdict_name(less.verdict), "not verifiable");
  for (const GuardRun& run : less.guards) {
    if (run.name != "wiring") continue;
    EXPECT_FALSE(run.ran);
    EXPECT_EQ(run.not_run, "switched off");
  }
}

// A shape that does not fit leaves no bill; without the shape guard nobody says why, and nothing is verified.
TEST(Guards, WithoutABillTheOthersDoNotRun) {
  const Files wrong = with(kSmall, kAttn, "in: q, dims: { heads: n_heads, width: d_head }",
                           "in: q, dims: { heads: n_heads, width: d_expert }");
  const Report all = run_without(wrong, {});
  EXPECT_FALSE(all.bill);
  for (const GuardRun& run : all.guards) {
    if (run.name == "shape") {
      EXPECT_GT(run.faults, 0);
    } else if (run.name == "wiring" || run.name == "weight") {
      EXPECT_EQ(run.not_run, "the spec cannot be evaluated") << run.name;
    }
  }
  const Report less = run_without(wrong, {"shape"});
  EXPECT_EQ(lines_of(less), "");
  EXPECT_EQ(verdict_name(less.verdict), "not verifiable");
}

}  // namespace
}  // namespace archlight::guard::testing
