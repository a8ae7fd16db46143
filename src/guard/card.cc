#include "guard/card.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace archlight::guard {
namespace {

using base::Int128;

bool digit(char c) {
  return c >= '0' && c <= '9';
}
bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// "B", "billion" and their like at the start of a text: how many, and how long the word is.
std::optional<std::pair<Int128, size_t>> scale_at(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && letter(text[end])) ++end;
  std::string word;
  for (const char c : text.substr(0, end)) word += lower(c);
  struct Scale {
    std::string_view letter, word;
    int64_t value;
  };
  for (const Scale& scale : {Scale{"m", "million", 1'000'000}, Scale{"b", "billion", 1'000'000'000},
                             Scale{"t", "trillion", 1'000'000'000'000}})
    if (word == scale.letter || word == scale.word) return std::pair{Int128{scale.value}, end};
  return std::nullopt;
}

void figures_of(std::string_view line, int number, std::vector<CardFigure>& out) {
  for (size_t at = 0; at < line.size(); ++at) {
    if (!digit(line[at])) continue;
    const size_t start = at;
    // Part of a name or of a longer number: "Name3-8B", "8x7B", "v1.5B".
    const char before = start == 0 ? ' ' : line[start - 1];
    CardFigure made;
    made.line = number;
    size_t decimals = 0, digits = 0;
    bool point = false;
    for (; at < line.size() &&
           (digit(line[at]) || (line[at] == '.' && !point && at + 1 < line.size() && digit(line[at + 1])));
         ++at) {
      if (line[at] == '.') {
        point = true;
        continue;
      }
      if (++digits <= 9) made.digits = made.digits * 10 + (line[at] - '0');
      decimals += point;
    }
    size_t unit = at;
    if (unit < line.size() && line[unit] == ' ') ++unit;
    const auto scale = scale_at(line.substr(unit));
    if (!scale || letter(before) || before == '-' || before == '.' || before == ',' || before == '/' ||
        before == '_' || digits > 9 || decimals > 6)
      continue;
    const size_t end = unit + scale->second;
    std::string behind;
    for (const char c : line.substr(end, 7)) behind += lower(c);
    if ((!behind.empty() && (behind[0] == '-' || digit(behind[0]) || behind[0] == '_')) ||
        behind.find("token") != std::string::npos)
      continue;
    made.unit = scale->first;
    for (size_t i = 0; i < decimals; ++i) made.unit /= 10;
    made.text = line.substr(start, end - start);
    out.push_back(std::move(made));
  }
}

std::optional<Int128> quantity(const Subject& subject, std::string_view key) {
  const analysis::Quantity* found = subject.bill->find(key);
  return found ? found->value.integer() : std::nullopt;
}

}  // namespace

std::vector<CardFigure> card_figures(std::string_view card) {
  std::vector<CardFigure> out;
  int number = 0;
  for (size_t at = 0; at < card.size();) {
    const size_t end = std::min(card.find('\n', at), card.size());
    const std::string_view line = card.substr(at, end - at);
    ++number;
    at = end + 1;
    std::string small;
    for (const char c : line) small += lower(c);
    if (small.find("param") != std::string::npos) figures_of(line, number, out);
  }
  return out;
}

bool agrees(const CardFigure& figure, Int128 parameters) {
  const Int128 cut = parameters / figure.unit;
  const bool up = (parameters % figure.unit) * 2 >= figure.unit;
  return figure.digits == cut || (up && figure.digits == cut + 1);
}

void check_card(const Subject& subject, Findings& out) {
  out.ran = false;
  if (subject.truth.card.empty()) {
    out.not_run = "the model card is not at hand";
    return;
  }
  const std::vector<CardFigure> figures = card_figures(subject.truth.card);
  const std::optional<Int128> total = quantity(subject, "params.total");
  if (figures.empty() || !total) {
    out.not_run = "the model card states no number of parameters";
    return;
  }
  out.ran = true;
  out.checks = static_cast<int64_t>(figures.size());
  std::vector<Int128> ours = {*total};
  Int128 apart = 0;
  for (const analysis::Quantity& each : subject.bill->quantities)
    if (each.key.starts_with("params.apart.")) apart += quantity(subject, each.key).value_or(0);
  ours.push_back(*total + apart);
  ours.push_back(*total - quantity(subject, "params.role.embedding").value_or(0));
  if (std::ranges::any_of(figures, [&](const CardFigure& figure) {
        return std::ranges::any_of(ours, [&](Int128 value) { return agrees(figure, value); });
      }))
    return;
  std::string said;
  for (size_t i = 0; i < std::min<size_t>(figures.size(), 5); ++i) said += (i ? ", " : "") + figures[i].text;
  base::Span at;
  at.source = std::make_shared<base::SourceText>(base::SourceText{"README.md", {}});
  at.line = figures[0].line;
  at.column = 1;
  out.advice.push_back(
      base::fault_at(at, fmt::format("the model card speaks of {} parameters", said),
                     fmt::format("{}, which params.total comes to", base::with_commas(*total))));
}

}  // namespace archlight::guard
