// both_tracks.h: a made-up model walked over numbers and over symbols, and where the two differ.
#pragma once

#include <map>
#include <string>

#include "support/bills.h"

namespace archlight::testing {

// "ok", or each quantity whose formula does not come to the number walked; the faults where it has no bill.
inline std::string both_tracks(const Made& made, const analysis::BillInput& input) {
  const base::Result<Bound> bound = made.bind();
  const base::Result<BillPtr> numbers = bill_of(bound, input);
  const base::Result<BillPtr> formulas = bill_of(bound, input, analysis::Dims::kFormulas);
  if (!numbers) return messages(numbers.faults());
  if (!formulas) return "formulas: " + messages(formulas.faults());
  std::map<std::string, expr::Rational, std::less<>> values;
  for (const analysis::SymbolValue& symbol : analysis::bill_symbols(**formulas))
    values.emplace(symbol.name, symbol.value);
  values["B"] = {input.batch, 1};
  values["s_query"] = {input.prompt, 1};
  values["s_ctx"] = {input.context, 1};
  std::string out;
  if ((*numbers)->quantities.size() != (*formulas)->quantities.size()) out += "other quantities\n";
  for (const analysis::Quantity& formula : (*formulas)->quantities) {
    const base::Result<expr::Rational> evaluated =
        expr::evaluate(formula.value, [&](std::string_view symbol) -> std::optional<expr::Rational> {
          const auto it = values.find(symbol);
          return it == values.end() ? std::nullopt : std::optional(it->second);
        });
    const std::string number = text_of(**numbers, formula.key);
    if (!evaluated || expr::to_string(*evaluated) != number)
      out += formula.key + " is " + number + " by numbers, " +
             (evaluated ? expr::to_string(*evaluated) : messages(evaluated.faults())) + " by formula\n";
  }
  return out.empty() ? "ok" : out;
}

}  // namespace archlight::testing
