#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "truth/folder.h"
#include "truth/hub_client.h"
#include "truth/internal/faults.h"
#include "truth/internal/snapshot_form.h"
#include "truth/record.h"
#include "truth/snapshot.h"
#include "truth/truth.h"

namespace archlight::truth {
namespace {

using base::Faults;

// "org/name" as the hub allows it.
bool is_hub_id(const std::string& model) {
  const size_t slash = model.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == model.size() ||
      model.find('/', slash + 1) != std::string::npos)
    return false;
  return model[0] != '.' && model.size() <= 200 &&
         std::all_of(model.begin(), model.end(), [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
                  c == '_' || c == '.' || c == '/';
         });
}

// What is known of a repository that has neither snapshot nor reachable hub: a catalogue line, or nothing.
base::Diagnostic nothing_here(const std::string& home, const std::string& repo,
                              const std::string& hub_state) {
  std::string known = "no snapshot of it is here";
  if (!home.empty())
    if (const base::Result<std::optional<CatalogueRow>> row = catalogue_row(home, repo); row && *row) {
      known = fmt::format("the {} knows it at commit {}{}{}", (*row)->catalogue, (*row)->revision,
                          (*row)->elements
                              ? fmt::format(" with {} stored elements", base::with_commas(*(*row)->elements))
                              : ", without an element total",
                          (*row)->gated == "False" ? "" : ", gated");
      known += ", but no config.json and no tensor header of it is here";
    }
  return not_verifiable(repo, known + hub_state, "a snapshot, a local folder, or an answer of the hub",
                        "fetch config.json and the index into a folder named org--name and run 'archlight "
                        "snapshots add FOLDER'");
}

Faults unknown_model(const std::string& home, const std::string& model) {
  std::vector<std::string> names;
  if (!home.empty())
    if (const base::Result<std::vector<std::string>> files = base::list_files(home + "/snapshots"))
      for (const std::string& file : *files)
        if (const size_t end = file.rfind(kSnapshotEnd); end != std::string::npos)
          names.push_back(file.substr(0, end));
  return {file_fault(model, "no such file, folder or snapshot",
                     "a hub id (org/name), a folder, a .safetensors or .gguf file, or a snapshot",
                     base::did_you_mean(model, names))};
}

}  // namespace

base::Result<Truth> open_truth(const std::string& model, const OpenOptions& options) {
  if (model.empty())
    return file_fault("<argument>", "an empty MODEL",
                      "a hub id (org/name), a folder, a .safetensors or .gguf file, or a snapshot");
  if (base::folder_exists(model)) return is_record(model) ? read_record(model) : read_folder(model);
  if (base::file_exists(model))
    return model.ends_with(".gguf") ? read_gguf_files(model) : read_tensor_file(model);

  std::string home = options.home;
  if (home.empty())
    if (base::Result<std::string> found = base::home_folder()) home = *found;
  const std::optional<std::string> snapshot = home.empty() ? std::nullopt : find_snapshot(home, model);
  base::Result<Truth> stored = file_fault(model, "no snapshot");
  if (snapshot) {
    stored = read_snapshot(*snapshot);
    // A pinned revision is met only by a snapshot of that very commit.
    if (!stored || (!options.hub_first && (options.revision.empty() || options.revision == stored->revision)))
      return stored;
  }
  // One file of a repository that has many: "org/name/file.gguf".
  if (const size_t slash = model.find('/', model.find('/') + 1);
      model.ends_with(".gguf") && model.find('/') != std::string::npos && slash != std::string::npos &&
      is_hub_id(model.substr(0, slash))) {
    HubOptions hub;
    hub.revision = options.revision;
    hub.offline = options.offline;
    hub.progress = options.progress;
    hub.file = model.substr(slash + 1);
    return read_hub(model.substr(0, slash), hub);
  }
  if (!is_hub_id(model)) return snapshot ? stored : base::Result<Truth>(unknown_model(home, model));
  if (options.offline && snapshot && options.revision.empty()) return stored;
  HubOptions hub;
  hub.revision = options.revision;
  hub.offline = options.offline;  // then only what an earlier read left in the cache
  hub.progress = options.progress;
  base::Result<Truth> read = read_hub(model, hub);
  if (read) return read;
  if (options.offline && snapshot)
    return not_verifiable(
        model,
        fmt::format("the snapshot is of {}, and the hub was not asked (offline)",
                    stored->revision.empty() ? "no recorded commit" : "commit " + stored->revision),
        "commit " + options.revision);
  if (options.offline) return nothing_here(home, model, ", and the hub was not asked (offline)");
  Faults faults = read.faults();
  // Without an answer of the hub, say what is known all the same; a malformed file there stands for itself.
  if (std::any_of(faults.begin(), faults.end(),
                  [](const base::Diagnostic& fault) { return fault.guard == "not_verifiable"; }) &&
      !snapshot)
    faults.push_back(nothing_here(home, model, ""));
  return faults;
}

}  // namespace archlight::truth
