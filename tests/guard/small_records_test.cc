// Made-up checkpoints of families of which no whole header is at hand: each spec verifies its own; they are written by
// tests/records/small.py from what the publishers' code builds, not from the specs.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
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
