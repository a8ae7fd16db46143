// card.h: how many parameters the model card says there are, beside how many the spec counts. Advises.
//
// Read     README.md of a local model or of the hub: lines that speak of parameters, and in them numbers such as "671B",
//          "8.2 billion", "1T". Names ("Name3-8B", "8x7B") and numbers of tokens are none.
// Agrees   One of them is params.total, or that with what is counted apart, or without the embedding table, rounded or cut
//          to as many digits as are written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "guard/guards.h"

namespace archlight::guard {

struct CardFigure {
  std::string text;  // "671B"
  int line = 0;
  base::Int128 digits = 0;  // all of them, as a whole number
  base::Int128 unit = 1;    // of the last digit, in parameters
};
std::vector<CardFigure> card_figures(std::string_view card);
bool agrees(const CardFigure& figure, base::Int128 parameters);

void check_card(const Subject& subject, Findings& out);

}  // namespace archlight::guard
