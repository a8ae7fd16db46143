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
  for (const Quantity& quantity : session.bill->quantities) {
    keys.push_back({{"key", quantity.key}, {"unit", quantity.unit}, {"title", quantity.title}});
    rows.push_back({quantity.key, quantity.unit, quantity.title});
  }
  if (options.json)
    print_json(out, {{"schema", "archlight.quantities/1"}, {"quantities", keys}});
  else
    out << table({"key", "unit", "what"}, rows);
  return kVerified;
}

// A cache is never one number: what each token adds, a state that is fixed, and what an allocator reserves.
constexpr const char* kCacheNumbers[] = {"kv.bytes_per_token", "kv.bytes_per_token_beyond_windows",
                                         "kv.fixed_state_bytes", "kv.held_bytes"};

// Of a number of the cache, the others; none of any other quantity.
std::vector<const Quantity*> beside(const Session& session, const std::string& key) {
  std::vector<const Quantity*> out;
  if (std::ranges::find(kCacheNumbers, key) == std::end(kCacheNumbers)) return out;
  for (const char* other : kCacheNumbers)
    if (const Quantity* quantity = session.bill->find(other); quantity && other != key)
      out.push_back(quantity);
  return out;
}

struct Explained {
  const Quantity* quantity = nullptr;
  expr::Rational value;
  std::vector<analysis::SymbolValue> symbols;  // those that the formula names, in the order of the spec
  std::vector<std::pair<Expr, base::Result<expr::Rational>>> terms;  // of a sum
};

base::Result<Explained> explained(const Session& session, const analysis::Bill& symbolic,
                                  const std::string& key) {
  Explained out;
  out.quantity = symbolic.find(key);
  if (!out.quantity) {
    std::vector<std::string> known;
    for (const Quantity& candidate : symbolic.quantities) known.push_back(candidate.key);
    return base::fault_at({}, "unknown quantity '" + key + "'",
                          "a key that 'archlight explain " + session.asked + "' lists",
                          base::did_you_mean(key, known));
  }
  const std::vector<analysis::SymbolValue> values = analysis::bill_symbols(symbolic);
  const auto value_of = [&](std::string_view name) -> std::optional<expr::Rational> {
    for (const analysis::SymbolValue& value : values)
      if (value.name == name) return value.value;
    return std::nullopt;
  };
  const Expr formula = out.quantity->value;
  base::Result<expr::Rational> value = expr::evaluate(formula, value_of);
  if (!value) return value.faults();
  out.value = *value;
  const std::vector<std::string> named = expr::symbols_of(formula);
  for (const analysis::SymbolValue& symbol : values)
    if (std::ranges::binary_search(named, symbol.name)) out.symbols.push_back(symbol);
  // A sum reads better term by term, each with what it comes to.
  if (formula.kind() == expr::Kind::kAdd)
    for (size_t i = 0; i < formula.operand_count(); ++i)
      out.terms.emplace_back(formula.operand(i), expr::evaluate(formula.operand(i), value_of));
  return out;
}

Json json_of(const Session& session, const Explained& found) {
  const Quantity& quantity = *found.quantity;
  Json out = {{"schema", "archlight.explain/1"},
              {"model", shown_name(session)},
              {"spec", session.binding->model->name},
              {"key", quantity.key},
              {"title", quantity.title},
              {quantity.unit, json_value(found.value)},
              {"formula", expr::to_text(quantity.value)},
              {"latex", expr::to_latex(quantity.value)},
              {"expression", expr::to_json(quantity.value)},
              {"evidence",
               {{"level", truth::level_name(session.report.level)},
                {"verdict", guard::verdict_name(session.report.verdict)}}}};
  if (session.bill->input.precision) out["precision"] = session.bill->input.precision->name;
  for (const Quantity* other : beside(session, quantity.key))
    out["beside"][other->key] = {{other->unit, json_value(*other->value.constant())},
                                 {"title", other->title}};
  out["symbols"] = Json::array();
  for (const analysis::SymbolValue& symbol : found.symbols)
    out["symbols"].push_back(
        {{"name", symbol.name}, {"value", json_value(symbol.value)}, {"origin", symbol.origin}});
  return out;
}

void print_text(const Session& session, const Explained& found, bool latex, std::ostream& out) {
  const Quantity& quantity = *found.quantity;
  const auto shown = [&](Expr e) { return latex ? expr::to_latex(e) : expr::to_text(e); };
  out << shown_name(session) << "  " << quantity.key << ": " << quantity.title << "\n";
  out << "  evidence  " << evidence_line(session) << "\n";
  if (session.bill->input.precision)
    out << "  precision " << session.bill->input.precision->name << ": "
        << session.bill->input.precision->label << "\n";
  out << "\n";
  if (found.terms.size() > 1) {
    out << "  the sum of\n";
    for (const auto& [term, number] : found.terms)
      out << "    " << shown(term) << "\n      = " << (number ? text_value(*number) : std::string("?"))
          << "\n";
  } else {
    out << "  " << shown(quantity.value) << "\n";
  }
  const std::string scale = scale_of(found.value, quantity.unit);
  out << "\n  = " << text_value(found.value) << " "
      << (quantity.unit == "flops_per_byte" ? "FLOP/B" : quantity.unit)
      << (scale.empty() ? "" : "  = " + scale) << "\n";
  const std::vector<const Quantity*> others = beside(session, quantity.key);
  if (!others.empty()) {
    out << "  beside it";
    for (const Quantity* other : others)
      out << (other == others.front() ? ": " : ", ") << other->key << " = "
          << text_value(*other->value.constant());
    out << (session.bill->find("kv.held_bytes") ? "\n"
                                                : "; what an allocator reserves is not known: no engine is "
                                                  "named\n");
  }
  std::vector<std::vector<std::string>> rows;
  for (const analysis::SymbolValue& symbol : found.symbols) {
    const auto info = session.library->dims().find(symbol.name);
    // Widths and the numbers of schemes are no dims; their names say what they are.
    const size_t dot = symbol.name.find('.');
    const std::string meaning =
        info != session.library->dims().end() ? info->second.meaning
        : symbol.name.starts_with("bytes_")   ? "bytes of one " + symbol.name.substr(6) + " element"
        : dot != std::string::npos && session.library->engines().contains(symbol.name.substr(0, dot))
            ? "'" + symbol.name.substr(dot + 1) + "' of engine " + symbol.name.substr(0, dot)
        : dot != std::string::npos
            ? "'" + symbol.name.substr(dot + 1) + "' of scheme " + symbol.name.substr(0, dot)
            : std::string();
    rows.push_back({symbol.name, text_value(symbol.value), symbol.origin, meaning});
  }
  if (!rows.empty()) out << "\n  where\n" << table({"", ">", "", ""}, rows, "    ");
}

}  // namespace

base::Result<Json> explain_json(const Session& session, const analysis::Bill& symbolic,
                                const std::string& key) {
  const base::Result<Explained> found = explained(session, symbolic, key);
  if (!found) return found.faults();
  return json_of(session, *found);
}

int explain(const std::string& model, const std::string& key, bool latex, const Options& options,
            std::ostream& out, std::ostream& err) {
  base::Result<std::shared_ptr<const Session>> opened = open_session(model, options);
  if (!opened) return no_answer(opened.faults(), options, out, err);
  const Session& session = **opened;
  if (!session.bill) return no_bill(session, options, out, err);
  if (key.empty()) return list_keys(session, options, out);
  base::Result<std::shared_ptr<const analysis::Bill>> symbolic = symbolic_bill(session);
  if (!symbolic) return no_answer(symbolic.faults(), options, out, err);
  const base::Result<Explained> found = explained(session, **symbolic, key);
  if (!found) return no_answer(found.faults(), options, out, err);
  if (options.json)
    print_json(out, json_of(session, *found));
  else
    print_text(session, *found, latex, out);
  return session.report.verdict == guard::Verdict::kWrong ? kWrong : kVerified;
}

}  // namespace archlight::cli
