// commands.h: one function per command. Each prints its answer on `out`, what is wrong on `err`, and returns
// its status.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/session.h"
#include "expr/rational.h"
#include "guard/anchors.h"

namespace archlight::cli {

struct GraphOptions {
  std::string format = "text";  // text, json, dot, svg
  std::string phase = "prefill";
  std::vector<std::string> open;  // block paths to open; "all"
  int depth = 1;
};

struct EstimateOptions {
  std::string gpu, plan, assumptions = "standard";
  int64_t input_tokens = 1024, output_tokens = 1024;
  int64_t batch = 0;  // requests of one attention group; 0: as many as fit
  double usd_per_gpu_hour = 0;
  size_t ops = 12;  // rows of each step's table of ops, longest first
};
int gpus(const Options& options, std::ostream& out, std::ostream& err);
int estimate(const std::string& model, const EstimateOptions& shape, const Options& options,
             std::ostream& out, std::ostream& err);

int inspect(const std::string& model, const Options& options, std::ostream& out, std::ostream& err);
int explain(const std::string& model, const std::string& quantity, bool latex, const Options& options,
            std::ostream& out, std::ostream& err);
int validate(const std::string& target, const Options& options, std::ostream& out, std::ostream& err);
// Every anchor of every spec, held against the source in options.source_folders.
int validate_anchors(const Options& options, std::ostream& out, std::ostream& err);
// Faults where a folder cannot be read or holds no source.
base::Result<guard::Sources> open_sources(const std::vector<std::string>& folders);
int graph(const std::string& model, const GraphOptions& shape, const Options& options, std::ostream& out,
          std::ostream& err);
int models(const Options& options, std::ostream& out, std::ostream& err);
int ops(const Options& options, std::ostream& out, std::ostream& err);
int components(const Options& options, std::ostream& out, std::ostream& err);
int quants(const Options& options, std::ostream& out, std::ostream& err);
int engines(const Options& options, std::ostream& out, std::ostream& err);
int precisions(const Options& options, std::ostream& out, std::ostream& err);
int guards(const Options& options, std::ostream& out, std::ostream& err);
// Every mutant of the named specs (all of them when none is), against the snapshots of their models, and against the
// made-up checkpoints in the folders of `made`, where it is not empty.
int guards_measure(const std::vector<std::string>& specs, const std::string& made, const Options& options,
                   std::ostream& out, std::ostream& err);
// `provenance` says where a config folder or a catalogue comes from; empty: what kind of source it is.
int snapshots_add(const std::vector<std::string>& sources, const std::string& provenance,
                  const Options& options, std::ostream& out, std::ostream& err);

// Parses the command line and runs one command.
int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

// What 'inspect --json' and 'explain KEY --json' print of an opened model; `symbolic` is
// symbolic_bill(session).
base::Json inspect_json(const Session& session);
base::Result<base::Json> explain_json(const Session& session, const analysis::Bill& symbolic,
                                      const std::string& key);

// Shared by the commands: an exact value as JSON (an integer, past 64 bits as text, a fraction as a double).
base::Json json_value(const expr::Rational& value);
// "671,026,419,200", "3.75".
std::string text_value(const expr::Rational& value);
// "671.03 B", "688.57 GB (641.29 GiB)"; empty for small or unit-less values.
std::string scale_of(const expr::Rational& value, const std::string& unit);
// Level, verdict, origin, revision, faults, comparisons, guards, remarks.
base::Json evidence_json(const Session& session);
std::string evidence_line(const Session& session);
void print_json(std::ostream& out, const base::Json& value);
// A fault as JSON: file, line, column, wrong, expected, fix, guard, message.
base::Json fault_json(const base::Diagnostic& fault);
// The name that a model is shown under: its hub id, or what was asked for.
std::string shown_name(const Session& session);
// The status of a command that needs the bill of a model which has none: 1 when a guard found the spec wrong.
int no_bill(const Session& session, const Options& options, std::ostream& out, std::ostream& err);
// Where there is no answer: {"schema", "faults"} on out under --json, the rendered faults on err otherwise.
int no_answer(const base::Faults& faults, const Options& options, std::ostream& out, std::ostream& err);

// "passed", "2 faults, 1 piece of advice", "not run: ...": how a guard fared.
std::string outcome_of(const guard::GuardRun& run);
// Advice, on err behind the faults.
void print_advice(std::ostream& err, const base::Faults& advice, size_t most = 1000);

// Rows of text in aligned columns, two spaces apart; a right-aligned column starts its header with '>'.
std::string table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                  const std::string& indent = "");

}  // namespace archlight::cli
