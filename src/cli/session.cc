#include "cli/session.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/int128.h"
#include "base/yaml.h"

namespace archlight::cli {

using base::Result;

Result<std::shared_ptr<const spec::Library>> open_library(const Options& options) {
  Result<std::string> home = base::home_folder();
  if (!home) return home.faults();
  std::vector<std::string> folders = options.specs;
  if (const char* listed = std::getenv("ARCHLIGHT_SPECS"))
    for (std::string_view rest = listed; !rest.empty();) {
      const size_t end = std::min(rest.find(':'), rest.size());
      if (end > 0) folders.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  for (std::string& folder : folders)
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  Result<std::shared_ptr<spec::Library>> library = spec::Library::open_under(*home + "/specs", folders);
  if (!library) return library.faults();
  return std::shared_ptr<const spec::Library>(std::move(*library));
}

Result<std::shared_ptr<const spec::Library>> open_whole_library(const Options& options) {
  Result<std::shared_ptr<const spec::Library>> library = open_library(options);
  if (!library) return library.faults();
  if (base::Faults faults = (*library)->load_all(); !faults.empty()) return faults;
  return library;
}

Result<std::shared_ptr<const Session>> open_session(const std::string& model, const Options& options) {
  Result<std::shared_ptr<const spec::Library>> library = open_library(options);
  if (!library) return library.faults();
  return open_session(model, options, *library);
}

Result<std::shared_ptr<const Session>> open_session(const std::string& model, const Options& options,
                                                    std::shared_ptr<const spec::Library> library) {
  if (const Result<analysis::BillInput> input = input_of(options, *library); !input) return input.faults();
  truth::OpenOptions open;
  open.offline = options.offline;
  open.hub_first = options.hub_first;
  open.revision = options.revision;
  open.progress = !options.quiet;
  Result<truth::Truth> truth = truth::open_truth(model, open);
  if (!truth) return truth.faults();
  return open_session_on(std::move(*truth), model, options, std::move(library));
}

Result<std::shared_ptr<const Session>> open_session_on(truth::Truth truth, const std::string& model,
                                                       const Options& options,
                                                       std::shared_ptr<const spec::Library> library) {
  auto session = std::make_shared<Session>();
  session->asked = model;
  session->library = std::move(library);
  Result<analysis::BillInput> input = input_of(options, *session->library);
  if (!input) return input.faults();
  // What is published is held against the checkpoint's own formats.
  const std::shared_ptr<const spec::Precision> precision = std::exchange(input->precision, nullptr);
  session->truth = std::move(truth);
  for (const auto& source : options.sources) session->truth.sources.push_back(source);
  std::string adapter;
  if (session->truth.gguf) {
    std::set<std::string> names;
    for (size_t i = 0; i < session->truth.tensors.size(); ++i) names.emplace(session->truth.tensors.name(i));
    Result<spec::GgufConfig> config =
        spec::config_of_gguf(session->library->gguf(), *session->truth.gguf, names, model);
    if (!config) return config.faults();
    session->truth.config = config->config;
    session->truth.quant_config = nullptr;
    adapter = config->adapter;
  }
  if (!session->truth.config) {
    base::Diagnostic fault = base::fault_at(
        {},
        "'" + model + "' has no config.json (" + session->truth.origin + "): its architecture is not known",
        "a config beside the tensors");
    fault.guard = "not_verifiable";
    return fault;
  }
  Result<const spec::Model*> spec = session->library->model_for(*session->truth.config);
  if (!spec) {
    base::Faults faults = spec.faults();
    faults[0].wrong = "'" + model + "': " + faults[0].wrong;
    return faults;
  }
  Result<spec::Binding> binding = spec::bind(**spec, session->truth.config, session->truth.quant_config);
  if (!binding) return binding.faults();
  binding->adapter = adapter;
  if (base::Faults faults = session->library->check_values(*binding); !faults.empty()) return faults;
  session->binding = std::make_shared<const spec::Binding>(std::move(*binding));
  session->report = guard::verify(session->library, session->binding, session->truth, *input,
                                  {options.without.begin(), options.without.end()});
  for (const std::string& notice : session->library->notices()) session->report.remarks.push_back(notice);
  session->bill = session->report.bill;
  if (session->bill && precision) {
    input->precision = precision;
    Result<std::shared_ptr<const analysis::Bill>> rewritten = analysis::make_bill(
        session->library, session->binding, analysis::Dims::kNumbers, *input, session->report.choice);
    if (!rewritten) return rewritten.faults();
    session->bill = *rewritten;
  }
  return std::shared_ptr<const Session>(std::move(session));
}

Result<analysis::BillInput> input_of(const Options& options, const spec::Library& library) {
  analysis::BillInput out = options.input;
  for (const std::string& text : options.engine_options) {
    const size_t equals = text.find('=');
    const std::optional<base::Int128> value =
        equals == std::string::npos ? std::nullopt : base::parse_int128(text.substr(equals + 1));
    if (!value || *value < 0 || *value > 1'000'000'000)
      return base::fault_at({}, "--engine-option is '" + text + "'",
                            "NAME=NUMBER, a whole number up to 1,000,000,000");
    out.engine_options[text.substr(0, equals)] = static_cast<int64_t>(*value);
  }
  if (!options.precision.empty()) {
    // An engine's layout is a profile too, and its file is the one place where it stands.
    if (library.engines().contains(options.precision)) {
      if (!out.engine.empty() && out.engine != options.precision)
        return base::fault_at({},
                              "precision profile '" + options.precision +
                                  "' is an engine's layout, and engine '" + out.engine + "' is named too",
                              "one of the two");
      out.engine = options.precision;
    } else {
      const Result<const spec::Precision*> precision = library.precision(options.precision);
      if (!precision) return precision.faults();
      out.precision = std::make_shared<const spec::Precision>(**precision);
    }
  }
  if (out.engine.empty()) {
    if (!out.engine_options.empty())
      return base::fault_at({}, "--engine-option '" + options.engine_options[0] + "' without an engine",
                            "--engine NAME", "'archlight engines' lists them");
    return out;
  }
  const Result<const spec::Engine*> engine = library.engine(out.engine);
  if (!engine) return engine.faults();
  const auto checked = spec::engine_options(**engine, out.engine_options);
  if (!checked) return checked.faults();
  return out;
}

Result<std::shared_ptr<const analysis::Bill>> symbolic_bill(const Session& session) {
  const analysis::BillInput input = session.bill ? session.bill->input : analysis::BillInput{};
  return analysis::make_bill(session.library, session.binding, analysis::Dims::kFormulas, input,
                             session.report.choice);
}

Exit exit_of(const base::Faults& faults) {
  const bool unverifiable = std::ranges::all_of(
      faults, [](const base::Diagnostic& fault) { return fault.guard == "not_verifiable"; });
  return unverifiable ? kNotVerifiable : kUsage;
}

void print_faults(std::ostream& err, const base::Faults& faults) {
  for (base::Diagnostic fault : faults) {
    if (fault.guard == "not_verifiable") fault.guard.clear();
    err << fault.render() << '\n';
  }
}

}  // namespace archlight::cli
