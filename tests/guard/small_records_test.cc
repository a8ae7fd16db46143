// Made-up checkpoints of families of which no whole header is at hand: each spec verifies its own, and no slip in it goes by
// but few. They are written by tests/records/small.py from what the publishers' code builds, not from the specs.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "guard/measure.h"
#include "guard/support.h"

namespace archlight::guard::testing {
namespace {

const std::string kFolder = std::string(ARCHLIGHT_BINARY_DIR) + "/records/small";

std::vector<std::string> folders() {
  const base::Result<std::vector<std::string>> out = base::list_folders(kFolder);
  return out ? *out : std::vector<std::string>();
}

class SmallRecords : public ::testing::TestWithParam<std::string> {};

base::Result<truth::Truth> opened(const std::string& folder) {
  truth::OpenOptions open;
  open.offline = true;
  return truth::open_truth(kFolder + "/" + folder, open);
}

TEST_P(SmallRecords, IsVerified) {
  base::Result<truth::Truth> truth = opened(GetParam());
  ASSERT_TRUE(truth.ok()) << base::render_all(truth.faults());
  EXPECT_EQ(truth::level_name(truth->level), "header");
  const Report report = verify_all(specs(), *truth);
  EXPECT_EQ(verdict_name(report.verdict), "verified") << lines_of(report);
}

// Of the slips that change a number in the model, in the components that it calls and in the schemes that it uses.
TEST_P(SmallRecords, CatchesSlips) {
  base::Result<truth::Truth> truth = opened(GetParam());
  ASSERT_TRUE(truth.ok()) << base::render_all(truth.faults());
  const base::Result<const spec::Model*> model = specs()->model_for(*truth->config);
  ASSERT_TRUE(model.ok());
  const base::Result<Measured> measured =
      measure(std::string(ARCHLIGHT_SOURCE_DIR) + "/specs",
              {{(*model)->name, {{GetParam(), std::move(*truth), true}}}});
  ASSERT_TRUE(measured.ok()) << base::render_all(measured.faults());
  for (const Survivor& survivor : measured->survivors)
    std::cout << "  survives: " << survivor.file << ": " << survivor.what << ", though " << survivor.changes
              << " changes: " << survivor.reason << "\n";
  const auto survive = static_cast<int64_t>(measured->survivors.size());
  EXPECT_GT(measured->number_changing(), 100);
  EXPECT_LE(survive * 100, measured->number_changing() * 3)
      << survive << " of " << measured->number_changing();
}

INSTANTIATE_TEST_SUITE_P(Families, SmallRecords, ::testing::ValuesIn(folders()),
                         [](const ::testing::TestParamInfo<std::string>& row) {
                           std::string name = row.param;
                           std::ranges::replace_if(
                               name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); },
                               '_');
                           return name;
                         });

TEST(SmallRecords, AreThere) {
  EXPECT_GE(folders().size(), 30u);
}

}  // namespace
}  // namespace archlight::guard::testing
