#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "base/yaml.h"
#include "cli/commands.h"

namespace archlight::cli {
namespace {

using analysis::Quantity;
using base::Json;
using expr::Expr;

int list_keys(const Session& session, const Options& options, std::ostream& out) {
  Json keys = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const Quantity& quantity : session.report.bill->quantities) {
    keys.push_back({{"key", quantity.key}, {"unit", quantity.unit}, {"title", quantity.title}});
    rows.push_back({quantity.key, quantity.unit, quantity.title});
  }
  if (options.json)
    print_json(out, {{"schema", "archlight.quantities/1"}, {"quantities", keys}});
  else
    out << table({"key", "unit", "what"}, rows);
  return kVerified;
}

}  // namespace

int explain(const std::string& model, const std::string& key, bool latex, const Options& options,
            std::ostream& out, std::ostream& err) {
  base::Result<std::shared_ptr<const Session>> opened = open_session(model, options);
  if (!opened) return no_answer(opened.faults(), options, out, err);
  const Session& session = **opened;
  if (!session.report.bill) return no_answer(session.report.faults, options, out, err);
  if (key.empty()) return list_keys(session, options, out);
  base::Result<std::shared_ptr<const analysis::Bill>> symbolic = symbolic_bill(session);
  if (!symbolic) return no_answer(symbolic.faults(), options, out, err);
  const Quantity* quantity = (*symbolic)->find(key);
  if (!quantity) {
    std::vector<std::string> known;
    for (const Quantity& candidate : (*symbolic)->quantities) known.push_back(candidate.key);
    return no_answer({base::fault_at({}, "unknown quantity '" + key + "'",
                                     "a key that 'archlight explain " + model + "' lists",
                                     base::did_you_mean(key, known))},
                     options, out, err);
  }
  const std::vector<analysis::SymbolValue> values = analysis::bill_symbols(**symbolic);
  const auto value_of = [&](std::string_view name) -> std::optional<expr::Rational> {
    for (const analysis::SymbolValue& value : values)
      if (value.name == name) return value.value;
    return std::nullopt;
  };
  base::Result<expr::Rational> value = expr::evaluate(quantity->value, value_of);
  if (!value) return no_answer(value.faults(), options, out, err);
  const std::vector<std::string> symbols = expr::symbols_of(quantity->value);

  // A sum reads better term by term, each with what it comes to.
  std::vector<std::pair<std::string, std::string>> terms;
  if (quantity->value.kind() == expr::Kind::kAdd)
    for (size_t i = 0; i < quantity->value.operand_count(); ++i) {
      const Expr term = quantity->value.operand(i);
      base::Result<expr::Rational> number = expr::evaluate(term, value_of);
      terms.emplace_back(latex ? expr::to_latex(term) : expr::to_text(term),
                         number ? text_value(*number) : std::string("?"));
    }

  if (options.json) {
    Json body = {{"schema", "archlight.explain/1"},
                 {"model", session.truth.repo.empty() ? session.asked : session.truth.repo},
                 {"spec", session.binding->model->name},
                 {"key", key},
                 {"title", quantity->title},
                 {quantity->unit, json_value(*value)},
                 {"formula", expr::to_text(quantity->value)},
                 {"latex", expr::to_latex(quantity->value)},
                 {"expression", expr::to_json(quantity->value)},
                 {"evidence",
                  {{"level", truth::level_name(session.report.level)},
                   {"verdict", guard::verdict_name(session.report.verdict)}}}};
    body["symbols"] = Json::array();
    for (const analysis::SymbolValue& symbol : values)
      if (std::ranges::binary_search(symbols, symbol.name))
        body["symbols"].push_back(
            {{"name", symbol.name}, {"value", json_value(symbol.value)}, {"origin", symbol.origin}});
    print_json(out, body);
  } else {
    out << (session.truth.repo.empty() ? session.asked : session.truth.repo) << "  " << key << ": "
        << quantity->title << "\n";
    out << "  evidence  " << evidence_line(session) << "\n\n";
    if (terms.size() > 1) {
      out << "  the sum of\n";
      for (const auto& [text, number] : terms) out << "    " << text << "\n      = " << number << "\n";
    } else {
      out << "  " << (latex ? expr::to_latex(quantity->value) : expr::to_text(quantity->value)) << "\n";
    }
    const std::string scale = scale_of(*value, quantity->unit);
    out << "\n  = " << text_value(*value) << " "
        << (quantity->unit == "flops_per_byte" ? "FLOP/B" : quantity->unit)
        << (scale.empty() ? "" : "  = " + scale) << "\n\n  where\n";
    std::vector<std::vector<std::string>> rows;
    for (const analysis::SymbolValue& symbol : values) {
      if (!std::ranges::binary_search(symbols, symbol.name)) continue;
      const auto info = session.library->dims().find(symbol.name);
      rows.push_back({symbol.name, text_value(symbol.value), symbol.origin,
                      info == session.library->dims().end() ? "" : info->second.meaning});
    }
    out << table({"", ">", "", ""}, rows, "    ");
  }
  return session.report.verdict == guard::Verdict::kWrong ? kWrong : kVerified;
}

}  // namespace archlight::cli
