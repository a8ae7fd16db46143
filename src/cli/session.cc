#include "cli/session.h"

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/yaml.h"

namespace archlight::cli {

using base::Result;

Result<std::shared_ptr<const spec::Library>> open_library() {
  Result<std::string> home = base::home_folder();
  if (!home) return home.faults();
  Result<std::shared_ptr<spec::Library>> library = spec::Library::open(*home + "/specs");
  if (!library) return library.faults();
  return std::shared_ptr<const spec::Library>(std::move(*library));
}

Result<std::shared_ptr<const Session>> open_session(const std::string& model, const Options& options) {
  Result<std::shared_ptr<const spec::Library>> library = open_library();
  if (!library) return library.faults();
  return open_session(model, options, *library);
}

Result<std::shared_ptr<const Session>> open_session(const std::string& model, const Options& options,
                                                    std::shared_ptr<const spec::Library> library) {
  auto session = std::make_shared<Session>();
  session->asked = model;
  session->library = std::move(library);
  truth::OpenOptions open;
  open.offline = options.offline;
  open.hub_first = options.hub_first;
  open.revision = options.revision;
  open.progress = !options.quiet;
  Result<truth::Truth> truth = truth::open_truth(model, open);
  if (!truth) return truth.faults();
  session->truth = std::move(*truth);
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
  session->report = guard::verify(session->library, session->binding, session->truth, options.input,
                                  {options.without.begin(), options.without.end()});
  return std::shared_ptr<const Session>(std::move(session));
}

Result<std::shared_ptr<const analysis::Bill>> symbolic_bill(const Session& session) {
  const analysis::BillInput input = session.report.bill ? session.report.bill->input : analysis::BillInput{};
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
