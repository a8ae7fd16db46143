#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/commands.h"

namespace archlight::cli {

using base::Json;

Json json_value(const expr::Rational& value) {
  if (!value.is_integer()) return expr::to_double(value);
  if (value.num >= INT64_MIN && value.num <= INT64_MAX) return static_cast<int64_t>(value.num);
  return base::to_string(value.num);
}

std::string text_value(const expr::Rational& value) {
  return value.is_integer() ? base::with_commas(value.num) : fmt::format("{:.2f}", expr::to_double(value));
}

std::string scale_of(const expr::Rational& value, const std::string& unit) {
  const double number = expr::to_double(value);
  if (unit == "bytes" && number >= 1000)
    return base::human_bytes(number) + " (" + base::human_binary_bytes(number) + ")";
  if ((unit == "parameters" || unit == "elements" || unit == "flops") && number >= 1000)
    return base::human_count(number);
  return {};
}

Json fault_json(const base::Diagnostic& fault) {
  Json out = {{"message", fault.message()}, {"wrong", fault.wrong}};
  if (fault.at.source && !fault.at.source->name.empty()) out["file"] = fault.at.source->name;
  if (fault.at.line > 0) {
    out["line"] = fault.at.line;
    out["column"] = fault.at.column;
  }
  if (!fault.expected.empty()) out["expected"] = fault.expected;
  if (!fault.fix.empty()) out["fix"] = fault.fix;
  if (!fault.guard.empty()) out["guard"] = fault.guard;
  return out;
}

Json evidence_json(const Session& session) {
  const guard::Report& report = session.report;
  Json out = {{"level", truth::level_name(report.level)},
              {"verdict", guard::verdict_name(report.verdict)},
              {"partial", report.partial},
              {"origin", session.truth.origin}};
  if (!session.truth.revision.empty()) out["revision"] = session.truth.revision;
  out["comparisons"] = Json::array();
  for (const guard::Comparison& row : report.comparisons) {
    Json shown = {{"what", row.what},
                  {"ours_" + row.unit, json_value({row.ours, 1})},
                  {"published_" + row.unit, json_value({row.published, 1})},
                  {"published_source", row.published_source},
                  {"rules", row.rules},
                  {"equal", row.equal()}};
    if (row.ours_most) shown["ours_most_" + row.unit] = json_value({*row.ours_most, 1});
    out["comparisons"].push_back(std::move(shown));
  }
  out["guards"] = Json::array();
  for (const guard::GuardRun& row : report.guards) {
    Json guard = {{"name", row.name},     {"strength", guard::strength_name(row.strength)},
                  {"ran", row.ran},       {"checks", row.checks},
                  {"faults", row.faults}, {"open", row.open},
                  {"advice", row.advice}};
    if (!row.ran) guard["not_run"] = row.not_run;
    out["guards"].push_back(std::move(guard));
  }
  out["faults"] = Json::array();
  for (const base::Diagnostic& fault : report.faults) out["faults"].push_back(fault_json(fault));
  out["advice"] = Json::array();
  for (const base::Diagnostic& advice : report.advice) out["advice"].push_back(fault_json(advice));
  out["remarks"] = report.remarks;
  out["notes"] = session.truth.notes;
  return out;
}

std::string evidence_line(const Session& session) {
  const guard::Report& report = session.report;
  if (!report.bill)
    return std::string(truth::level_name(report.level)) +
           (report.verdict == guard::Verdict::kWrong ? " level: WRONG: the spec cannot be evaluated"
                                                     : " level: not verifiable here: no bill can be made");
  std::string what;
  switch (report.level) {
    case truth::Level::kHeader:
      what = report.partial ? "tensor headers of a part of the checkpoint"
                            : "every tensor's name, dtype, shape and bytes";
      break;
    case truth::Level::kIndex:
      what = session.truth.index_total_bytes ? "every tensor's name and the exact total"
                                             : "every tensor's name, but no total of bytes,";
      break;
    case truth::Level::kCount:
      what = "the recorded element total";
      break;
    case truth::Level::kConfig:
      what = "nothing but the config";
      break;
  }
  std::string verdict(guard::verdict_name(report.verdict));
  if (report.verdict == guard::Verdict::kVerified) verdict = "verified against " + what;
  const bool other_total =
      std::ranges::any_of(report.comparisons, [](const guard::Comparison& row) { return !row.equal(); });
  if (report.verdict == guard::Verdict::kAgrees && report.level == truth::Level::kIndex)
    verdict =
        other_total
            ? "agrees with every tensor's name and the sizes of the files; not verified, since the "
              "index's total is not theirs"
            : "agrees with every tensor's name, and with the total as far as lengths that only files know "
              "allow";
  else if (report.verdict == guard::Verdict::kAgrees)
    verdict =
        "agrees with " +
        (report.level == truth::Level::kConfig ? std::string("the sizes of the checkpoint's files") : what) +
        "; not verified, since no names or sizes of tensors are known";
  if (report.verdict == guard::Verdict::kWrong) verdict = "WRONG: the spec and " + what + " differ";
  if (report.verdict == guard::Verdict::kNotVerifiable) {
    verdict = "not verifiable here: " + what + " is known";
    for (const guard::GuardRun& run : report.guards)
      if (run.open)
        verdict = "not verified: guard " + run.name + " leaves a question open";
      else if (run.not_run == "switched off")
        verdict = "not verified: guard " + run.name + " is switched off";
  }
  return fmt::format("{} level: {}", truth::level_name(report.level), verdict);
}

std::string outcome_of(const guard::GuardRun& run) {
  if (!run.ran) return "not run: " + run.not_run;
  std::string out;
  const auto say = [&](int64_t count, const char* one, const char* many) {
    if (count) out += (out.empty() ? "" : ", ") + base::with_commas(count) + (count == 1 ? one : many);
  };
  say(run.faults, " fault", " faults");
  say(run.open, " question open", " questions open");
  if (out.empty()) out = "passed";
  say(run.advice, " piece of advice", " pieces of advice");
  return out;
}

void print_advice(std::ostream& err, const base::Faults& advice, size_t most) {
  for (size_t i = 0; i < std::min(most, advice.size()); ++i) err << "advice: " << advice[i].message() << '\n';
  if (advice.size() > most)
    err << fmt::format("advice: {} more pieces; 'archlight validate' shows all of them\n",
                       advice.size() - most);
}

std::string shown_name(const Session& session) {
  return session.truth.repo.empty() ? session.asked : session.truth.repo;
}

int no_bill(const Session& session, const Options& options, std::ostream& out, std::ostream& err) {
  no_answer(session.report.faults, options, out, err);
  return session.report.verdict == guard::Verdict::kWrong ? kWrong : kNotVerifiable;
}

void print_json(std::ostream& out, const Json& value) {
  out << base::dump_json(value);
}

int no_answer(const base::Faults& faults, const Options& options, std::ostream& out, std::ostream& err) {
  if (options.json) {
    Json body = {{"schema", "archlight.faults/1"}, {"faults", Json::array()}};
    for (const base::Diagnostic& fault : faults) body["faults"].push_back(fault_json(fault));
    print_json(out, body);
  } else {
    print_faults(err, faults);
  }
  return exit_of(faults);
}

std::string table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                  const std::string& indent) {
  std::vector<size_t> width(header.size(), 0);
  std::vector<bool> right(header.size(), false);
  std::vector<std::string> titles = header;
  bool titled = false;
  for (size_t i = 0; i < header.size(); ++i) {
    right[i] = header[i].starts_with('>');
    if (right[i]) titles[i] = header[i].substr(1);
    titled = titled || !titles[i].empty();
    width[i] = titles[i].size();
  }
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size() && i < width.size(); ++i) width[i] = std::max(width[i], row[i].size());
  std::string out;
  const auto line = [&](const std::vector<std::string>& row) {
    std::string text = indent;
    for (size_t i = 0; i < row.size() && i < width.size(); ++i)
      text += (i ? "  " : "") +
              (right[i] ? fmt::format("{:>{}}", row[i], width[i]) : fmt::format("{:<{}}", row[i], width[i]));
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out += text + "\n";
  };
  if (titled) line(titles);
  for (const auto& row : rows) line(row);
  return out;
}

}  // namespace archlight::cli
