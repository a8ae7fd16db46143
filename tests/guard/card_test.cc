// What model cards say of a model's size, and which numbers are none.
#include "guard/card.h"

#include <gtest/gtest.h>

#include "guard/small.h"

namespace archlight::guard::testing {
namespace {

std::string figures(const std::string& card) {
  std::string out;
  for (const CardFigure& figure : card_figures(card))
    out += (out.empty() ? "" : ", ") + figure.text + "@" + std::to_string(figure.line);
  return out;
}

TEST(Card, FiguresAreNumbersOfParameters) {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {"with 671B total parameters with 37B activated for each token", "671B@1, 37B@1"},
      {"- Number of Parameters: 8.2B\n- Number of Parameters (Non-Embedding): 6.95B", "8.2B@1, 6.95B@2"},
      {"| **#Total Params** | 235B |", "235B@1"},
      {"1 trillion parameters, 32 billion activated", "1 trillion@1, 32 billion@1"},
      {"**Total:** 1.5B\n", ""},  // it says nothing of parameters
      {"Tiny-8B and Tiny3-7B have fewer parameters than 8x7B or v1.5B", ""},
      {"A model of 7B parameters, trained on 15T tokens, 2 T token steps", "7B@1"},
      {"Parameters: 7B-Instruct, 128K, 4096, 12,345B", ""},
      {"params 99999999999999999999B 1.12345678B", ""},
      {"350M params.", "350M@1"},
      {"parameters 5 bits, 3 models, 2 tables", ""},
      {"", ""},
  };
  for (const auto& [card, found] : rows) EXPECT_EQ(figures(card), found) << card;
}

TEST(Card, AFigureIsRoundedOrCut) {
  const auto figure = [](const std::string& text) { return card_figures("parameters: " + text)[0]; };
  const struct {
    const char* text;
    int64_t parameters;
    bool agrees;
  } rows[] = {
      {"671B", 671'026'419'200, true},  {"405B", 405'853'388'800, true},  // cut
      {"406B", 405'853'388'800, true},                                    // rounded
      {"404B", 405'853'388'800, false}, {"8.2B", 8'190'735'360, true},   {"8.1B", 8'190'735'360, true},
      {"8.3B", 8'190'735'360, false},   {"7B", 6'738'415'616, true},     {"1T", 1'026'470'731'056, true},
      {"2T", 1'026'470'731'056, false}, {"0.6B", 596'049'920, true},     {"596M", 596'049'920, true},
  };
  for (const auto& row : rows) EXPECT_EQ(agrees(figure(row.text), row.parameters), row.agrees) << row.text;
}

// The small model: a table of 50 * 64 and a head of as many; in each of two layers a norm of 64, attention of 4 * 64 * 64,
// a router of 6 * 64 and experts of 6 * 2 * 64 * 24: 6,400 + 2 * (64 + 16,384 + 384 + 18,432) = 76,928.
TEST(Card, IsHeldAgainstTheCount) {
  const base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(kSmall);
  truth::Truth truth;
  truth.config = json(kConfig);
  const auto report = [&](const std::string& card) {
    truth.card = card;
    return verify_all(*library, truth);
  };
  const auto row = [](const Report& from) {
    return *std::ranges::find(from.guards, "card", &GuardRun::name);
  };
  const Report right = report("# Tiny\nIt has 0.0769M parameters, 0.05M active.\n");
  EXPECT_EQ(advice_of(right, "card"), "");
  EXPECT_EQ(row(right).checks, 2);
  // Without the table: 73,728.
  EXPECT_EQ(advice_of(report("0.0737M non-embedding parameters\n"), "card"), "");
  const Report wrong = report("# Tiny\nIt has 7B parameters, 3B active.\n");
  EXPECT_EQ(advice_of(wrong, "card"),
            "README.md:2:1: [card] the model card speaks of 7B, 3B parameters; expected 76,928, which "
            "params.total comes "
            "to\n");
  EXPECT_EQ(wrong.verdict, right.verdict) << "advice changes no verdict";
  EXPECT_EQ(row(report("")).not_run, "the model card is not at hand");
  EXPECT_EQ(row(report("Tiny-7B\n")).not_run, "the model card states no number of parameters");
}

}  // namespace
}  // namespace archlight::guard::testing
