// session.h: what every command starts from: a model opened, bound and held against its truth.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "guard/verify.h"
#include "spec/binding.h"
#include "spec/library.h"
#include "truth/truth.h"

namespace archlight::cli {

// What a command's status says.
enum Exit { kVerified = 0, kWrong = 1, kUsage = 2, kNotVerifiable = 3 };

struct Options {
  bool json = false;
  bool offline = false;
  bool hub_first = false;
  bool quiet = false;
  std::string revision;
  analysis::BillInput input;
  std::string precision;             // a profile, or an engine's layout; empty: the checkpoint's own formats
  std::vector<std::string> without;  // guards that are left out
  std::vector<std::string> engine_options;                    // "ubatch=512", as given
  std::vector<std::string> specs;                             // folders of a user's own, before the project's
  std::vector<std::string> source_folders;                    // of forward sources
  std::vector<std::shared_ptr<const truth::Source>> sources;  // those, opened
};

struct Session {
  std::string asked;
  truth::Truth truth;
  std::shared_ptr<const spec::Library> library;
  std::shared_ptr<const spec::Binding> binding;
  guard::Report report;
  // The numbers that are shown: those of the report, or the same under the precision profile asked for. Null where there
  // are none.
  std::shared_ptr<const analysis::Bill> bill;
};

// The project's specs under the folders asked for, and under those of ARCHLIGHT_SPECS (with ':' between them).
base::Result<std::shared_ptr<const spec::Library>> open_library(const Options& options = {});
// The same with every file read, for commands over the whole library: a fault in any of them is theirs.
base::Result<std::shared_ptr<const spec::Library>> open_whole_library(const Options& options = {});
// Opens MODEL and runs every guard but those left out.
base::Result<std::shared_ptr<const Session>> open_session(const std::string& model, const Options& options);
// The same with the library at hand, for commands over many models.
base::Result<std::shared_ptr<const Session>> open_session(const std::string& model, const Options& options,
                                                          std::shared_ptr<const spec::Library> library);
// The same with its truth already opened.
base::Result<std::shared_ptr<const Session>> open_session_on(truth::Truth truth, const std::string& model,
                                                             const Options& options,
                                                             std::shared_ptr<const spec::Library> library);
// What the bill is asked for: the engine's name and its options read.
base::Result<analysis::BillInput> input_of(const Options& options, const spec::Library& library);
// The bill as formulas, under what the guards chose.
base::Result<std::shared_ptr<const analysis::Bill>> symbolic_bill(const Session& session);

// 2, or 3 when every fault says that the thing cannot be verified here.
Exit exit_of(const base::Faults& faults);
void print_faults(std::ostream& err, const base::Faults& faults);

}  // namespace archlight::cli
