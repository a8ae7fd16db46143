// Every model at hand: the snapshots, and the repositories of the catalogue whose config another repository published.
//
// Loans   A repository without a config takes that of the nearest one that has it, along the relations that cards state:
//         what it was made from first, then what was made from it. The row says whose config it is and by which way, and
//         the recorded total is held against the spec under it (guard/borrowed.h). A total that differs is not called
//         wrong.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/yaml.h"
#include "cli/commands.h"
#include "guard/borrowed.h"
#include "truth/snapshot.h"

namespace archlight::cli {
namespace {

using base::Json;

// A model's line in the listing, as JSON, and as text of either table.
struct Listed {
  Json row;
  std::vector<std::string> line, missing;
};

// A repository of the catalogue, and how it comes by a config.
struct Borrower {
  const truth::CatalogueRow* row = nullptr;
  std::vector<std::string> through;  // "quantized of org/a", "base of org/b"
};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

// By the index of the snapshot that lends, the repositories that borrow, each from the nearest lender.
std::map<size_t, std::vector<Borrower>> loans(const std::vector<truth::SnapshotInfo>& snapshots,
                                              const std::vector<truth::CatalogueRow>& catalogue) {
  std::map<std::string, size_t> lenders;  // by hub id in lower case
  std::set<std::string> own;
  for (size_t i = 0; i < snapshots.size(); ++i) {
    const truth::SnapshotInfo& info = snapshots[i];
    std::string id = info.name;
    if (const size_t joint = id.find("--"); joint != std::string::npos) id.replace(joint, 2, "/");
    own.insert(lower(id));
    // A variant is no repository of its own.
    if (info.has_config && (info.repo == id || !info.alias_of.empty())) lenders.emplace(lower(id), i);
  }
  struct Edge {
    std::string to, word;
  };
  std::map<std::string, std::vector<Edge>> up, down;
  for (const truth::CatalogueRow& row : catalogue)
    for (const truth::CatalogueRow::Base& base : row.bases) {
      up[lower(row.repo)].push_back({lower(base.repo), base.relation + " of " + base.repo});
      // What is added to a model, or merged of several, says nothing of the model.
      if (base.relation == "finetune" || base.relation == "quantized")
        down[lower(base.repo)].push_back({lower(row.repo), "base of " + row.repo});
    }
  std::map<size_t, std::vector<Borrower>> out;
  for (const truth::CatalogueRow& row : catalogue) {
    const std::string start = lower(row.repo);
    if (own.contains(start)) continue;
    std::set<std::string> seen = {start};
    std::vector<std::pair<std::string, std::vector<std::string>>> reached = {{start, {}}};
    std::optional<size_t> lender;
    for (size_t i = 0; i < reached.size() && !lender; ++i) {
      const auto [at, way] = reached[i];
      for (const auto* edges : {&up, &down}) {
        const auto found = edges->find(at);
        if (found == edges->end() || lender) continue;
        for (const Edge& edge : found->second) {
          if (lender || !seen.insert(edge.to).second) continue;
          std::vector<std::string> longer = way;
          longer.push_back(edge.word);
          if (const auto it = lenders.find(edge.to); it != lenders.end()) {
            lender = it->second;
            out[*lender].push_back({&row, longer});
          }
          reached.emplace_back(edge.to, std::move(longer));
        }
      }
    }
  }
  return out;
}

// The numbers that a model's rows show: an encoder keeps nothing and has none of a cache.
struct Numbers {
  Json* row;
  std::vector<std::string> text;

  void put(const analysis::Bill* bill, const char* key, const char* field) {
    const analysis::Quantity* quantity = bill ? bill->find(key) : nullptr;
    const std::optional<expr::Rational> value = quantity ? quantity->value.constant() : std::nullopt;
    text.push_back(value ? text_value(*value) : std::string());
    if (value) (*row)[field] = json_value(*value);
  }
  void cache(const analysis::Bill* bill) {
    put(bill, "kv.bytes_per_token", "kv_bytes_per_token");
    put(bill, "kv.bytes_per_token_beyond_windows", "kv_beyond_windows_bytes_per_token");
    put(bill, "kv.fixed_state_bytes", "kv_fixed_state_bytes");
  }
};

// Why a model is not verified: the first fault with both its sides, or what is known too little of. Nothing for one that
// agrees: its level says how far.
std::string why_not(const Session& session) {
  const guard::Report& report = session.report;
  if (report.verdict == guard::Verdict::kVerified) return {};
  if (!report.faults.empty())
    return report.faults[0].wrong +
           (report.faults[0].expected.empty() ? "" : "; expected " + report.faults[0].expected);
  if (report.verdict != guard::Verdict::kNotVerifiable) return {};
  const std::string line = evidence_line(session);
  return line.substr(line.find(": ") + 2);
}

Listed of_snapshot(const truth::SnapshotInfo& info,
                   const base::Result<std::shared_ptr<const Session>>& session) {
  Listed out;
  out.row = {{"snapshot", info.name}, {"repo", info.repo}, {"level", truth::level_name(info.level)}};
  if (!session) {
    const std::string why = session.faults()[0].wrong;
    out.row["missing"] = why;
    out.missing = {info.name, why};
    return out;
  }
  const guard::Report& report = (*session)->report;
  out.row["spec"] = (*session)->binding->model->name;
  out.row["level"] = truth::level_name(report.level);
  out.row["verdict"] = guard::verdict_name(report.verdict);
  Numbers numbers{&out.row, {}};
  numbers.put(report.bill.get(), "params.total", "parameters");
  numbers.cache(report.bill.get());
  const std::string why = why_not(**session);
  if (!why.empty()) out.row["why"] = why;
  out.line = {
      info.name, (*session)->binding->model->name,
      std::string(truth::level_name(report.level)) + " " + std::string(guard::verdict_name(report.verdict))};
  out.line.insert(out.line.end(), numbers.text.begin(), numbers.text.end());
  out.line.push_back(why.substr(0, 120));
  return out;
}

bool converted(const Borrower& borrower) {
  return borrower.through[0].starts_with("quantized ");
}

// What the recorded total says of the loan, in words; empty where it agrees.
std::string reason(const guard::Loan& loan, const Borrower& borrower) {
  const std::optional<base::Int128>& recorded = borrower.row->elements;
  const std::string differs = recorded
                                  ? "records " + base::with_commas(*recorded) + " elements, the spec gives " +
                                        base::with_commas(loan.ours) + " under that config: "
                                  : std::string();
  switch (loan.fit) {
    case guard::Loan::Fit::kNothingRecorded:
      return "nothing is recorded of its tensors, and its own config is not here";
    case guard::Loan::Fit::kEqual:
      return {};
    case guard::Loan::Fit::kVocabulary: {
      std::string out = differs + (loan.no_head ? "without its head" : "");
      if (loan.rows != 0)
        out += fmt::format("{}{} {} row{} of tokens{}", loan.no_head ? ", and " : "", std::abs(loan.rows),
                           loan.rows < 0 ? "fewer" : "more", std::abs(loan.rows) == 1 ? "" : "s",
                           loan.no_head ? "" : ", as of a resized vocabulary");
      return out;
    }
    case guard::Loan::Fit::kDiffers:
      return differs + (converted(borrower)
                            ? "a conversion counts its words and scales, and its own config is not here"
                            : "its own config differs and is not here");
  }
  return {};
}

// Under what a total agrees.
std::string how(const guard::Loan& loan) {
  std::string out;
  if (!loan.schemes.empty()) {
    out = "stored as";
    for (const std::string& scheme : loan.schemes) out += (out == "stored as" ? " " : " or ") + scheme;
  }
  if (!loan.without.empty()) out += (out.empty() ? "without " : ", without ") + joined(loan.without);
  return out;
}

Listed of_borrower(const Borrower& borrower, const truth::SnapshotInfo& lender,
                   const base::Result<std::shared_ptr<const Session>>& session, guard::Lender* totals) {
  Listed out;
  const bool recorded = borrower.row->elements.has_value();
  const std::string level(truth::level_name(recorded ? truth::Level::kCount : truth::Level::kConfig));
  out.row = {{"snapshot", lender.name},
             {"repo", borrower.row->repo},
             {"config_of", lender.repo},
             {"through", borrower.through},
             {"level", level}};
  if (recorded) out.row["recorded_elements"] = json_value({*borrower.row->elements, 1});
  if (!session || !totals) {
    const std::string why = !session                            ? session.faults()[0].wrong
                            : (*session)->report.faults.empty() ? "no bill"
                                                                : (*session)->report.faults[0].wrong;
    out.row["missing"] = "config of " + lender.repo + ": " + why;
    out.missing = {borrower.row->repo, "config of " + lender.repo + ": " + why};
    return out;
  }
  const guard::Report& report = (*session)->report;
  guard::Loan loan = totals->hold(borrower.row->elements);
  using Fit = guard::Loan::Fit;
  // What a conversion has more may as well be its scales.
  if (loan.fit == Fit::kVocabulary && loan.rows > 0 && converted(borrower)) loan.fit = Fit::kDiffers;
  std::string why = reason(loan, borrower);
  // A spec that its own lender's facts contradict agrees with nothing.
  if (why.empty() && report.verdict == guard::Verdict::kWrong)
    why = "the spec and " + lender.repo + " differ: " + report.faults[0].wrong;
  // A conversion keeps the model's parameters and cache, whatever it counts. Where nothing is recorded, only its card says
  // that there is a model of that config at all.
  const bool its_parameters = loan.fit == Fit::kEqual || converted(borrower);
  // Rows of tokens are no part of a cache; a cache format that the lender's quantisation declares is not lent.
  const bool its_cache = (its_parameters || loan.fit == Fit::kVocabulary) &&
                         report.bill->decode_traffic.kv_dtype == report.bill->decode_traffic.activation_dtype;
  if (its_parameters && !its_cache)
    why += (why.empty() ? "" : "; ") + lender.repo + " declares a cache format of its own, which is not lent";
  const std::string verdict(
      guard::verdict_name(why.empty() ? guard::Verdict::kAgrees : guard::Verdict::kNotVerifiable));
  out.row["spec"] = (*session)->binding->model->name;
  out.row["verdict"] = verdict;
  if (recorded) out.row["ours_elements"] = json_value({loan.ours, 1});
  if (!loan.schemes.empty()) out.row["schemes"] = loan.schemes;
  if (!loan.without.empty()) out.row["without"] = loan.without;
  if (!why.empty()) out.row["why"] = why;
  Numbers numbers{&out.row, {}};
  numbers.put(its_parameters ? report.bill.get() : nullptr, "params.total", "parameters");
  numbers.cache(its_cache ? report.bill.get() : nullptr);
  out.line = {borrower.row->repo, (*session)->binding->model->name, level + " " + verdict,
              lender.repo + " (" + joined(borrower.through) + ")"};
  out.line.insert(out.line.end(), numbers.text.begin(), numbers.text.end());
  out.line.push_back(why.empty() ? how(loan) : why);
  return out;
}

}  // namespace

int models(const Options& options, std::ostream& out, std::ostream& err) {
  base::Result<std::string> home = base::home_folder();
  if (!home) return no_answer(home.faults(), options, out, err);
  base::Result<std::shared_ptr<const spec::Library>> library = open_whole_library(options);
  if (!library) return no_answer(library.faults(), options, out, err);
  base::Result<std::vector<truth::SnapshotInfo>> snapshots = truth::list_snapshots(*home);
  if (!snapshots) return no_answer(snapshots.faults(), options, out, err);
  base::Result<std::vector<truth::CatalogueRow>> catalogue = truth::catalogue_rows(*home);
  if (!catalogue) return no_answer(catalogue.faults(), options, out, err);
  const std::map<size_t, std::vector<Borrower>> borrowers = loans(*snapshots, *catalogue);
  Options offline = options;
  offline.offline = true;
  std::vector<Listed> all(snapshots->size());
  std::vector<std::vector<Listed>> lent(snapshots->size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < all.size(); i = next++) {
      const truth::SnapshotInfo& info = (*snapshots)[i];
      const base::Result<std::shared_ptr<const Session>> session = open_session(info.name, offline, *library);
      all[i] = of_snapshot(info, session);
      const auto found = borrowers.find(i);
      if (found == borrowers.end()) continue;
      std::optional<guard::Lender> totals;
      if (session && (*session)->report.bill) totals.emplace(*(*session)->report.bill, **library);
      for (const Borrower& borrower : found->second)
        lent[i].push_back(of_borrower(borrower, info, session, totals ? &*totals : nullptr));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();

  std::vector<Listed> borrowed;
  for (std::vector<Listed>& each : lent) std::ranges::move(each, std::back_inserter(borrowed));
  std::ranges::sort(borrowed, {}, [](const Listed& each) { return each.row["repo"].get<std::string>(); });
  std::set<std::string> own;
  for (const truth::SnapshotInfo& info : *snapshots)
    if (info.has_config) own.insert(info.repo);
  const auto with_own = std::ranges::count_if(
      *catalogue, [&](const truth::CatalogueRow& row) { return own.contains(row.repo); });
  const size_t without = catalogue->size() - static_cast<size_t>(with_own) - borrowed.size();

  Json rows = Json::array(), loan_rows = Json::array();
  std::vector<std::vector<std::string>> lines, loan_lines, others;
  for (Listed& each : all) {
    rows.push_back(std::move(each.row));
    (each.missing.empty() ? lines : others)
        .push_back(each.missing.empty() ? std::move(each.line) : std::move(each.missing));
  }
  for (Listed& each : borrowed) {
    loan_rows.push_back(std::move(each.row));
    (each.missing.empty() ? loan_lines : others)
        .push_back(each.missing.empty() ? std::move(each.line) : std::move(each.missing));
  }
  if (options.json) {
    print_json(out, {{"schema", "archlight.models/1"},
                     {"models", rows},
                     {"borrowed", loan_rows},
                     {"catalogue",
                      {{"all_repositories", catalogue->size()},
                       {"own_config_repositories", with_own},
                       {"borrowed_config_repositories", borrowed.size()},
                       {"no_config_repositories", without}}}});
    return kVerified;
  }
  out << table({"model", "spec", "evidence", ">parameters", ">KV B/token", ">past windows", ">state B", ""},
               lines)
      << "\n"
      << loan_lines.size() << " more of the catalogue, under a config that another repository published:\n"
      << table({"repository", "spec", "evidence", "config of", ">parameters", ">KV B/token", ">past windows",
                ">state B", ""},
               loan_lines)
      << "\n"
      << others.size() << " more without a bill:\n"
      << table({"", ""}, others, "  ") << "\n"
      << base::with_commas(static_cast<base::Int128>(without)) << " of the catalogue's "
      << base::with_commas(static_cast<base::Int128>(catalogue->size()))
      << " repositories have no config here, of their own or of another.\n"
      << "A cache is three numbers: what each token adds (less past the windows, where there are any), a "
         "state that is fixed,\nand what an allocator reserves: archlight inspect MODEL --engine NAME.\n";
  return kVerified;
}

}  // namespace archlight::cli
