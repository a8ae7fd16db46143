// snapshot.h: published facts that travel with the project, one compressed file per repository.
//
// Form    snapshots/<org>--<name>[.variant].json.zst: a JSON object with a "record" (what is known of the tensors)
//         and a "published" part (config.json, hf_quant_config.json), each with its provenance; or "alias_of".
//         snapshots/catalogue.tsv.zst: a line per hub repository with its recorded element total. docs/snapshots.md
//         describes every field.
// Merge   A name opens the best evidence for exactly that repository: the record's level, its config or else the
//         published one, and the catalogue's element total where the record is of that very repository.
// Output  The same input gives the same bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "truth/truth.h"

namespace archlight::truth {

struct SnapshotInfo {
  std::string name;      // "org--name", with ".variant" where it is not the repository itself
  std::string repo;      // hub id
  std::string alias_of;  // another snapshot's name; the rest is then that snapshot's
  Level level = Level::kConfig;
  bool partial = false;
  bool has_config = false;
  bool has_quant_config = false;
};

// Every snapshot under `home`/snapshots, by name. An empty `home` is base::home_folder().
base::Result<std::vector<SnapshotInfo>> list_snapshots(const std::string& home = {});

// The file of "org/name" or "org--name[.variant]"; none when there is no such snapshot.
std::optional<std::string> find_snapshot(const std::string& home, const std::string& model);
// Reads one snapshot and adds the catalogue's total; follows an alias within the same folder.
base::Result<Truth> read_snapshot(const std::string& path);

struct ImportOptions {
  std::string name;                // "org--name"; empty: the folder's name
  std::string provenance;          // where a config folder or a catalogue comes from, in words
  std::vector<std::string> notes;  // shown whenever the snapshot opens
};

// Adds a record folder, a folder with config.json, a published model folder or a catalogue (.csv) to a
// snapshots folder; what another kind of source gave before is kept. Returns the files written.
base::Result<std::vector<std::string>> import_snapshot(const std::string& source_path,
                                                       const std::string& snapshots_folder,
                                                       const ImportOptions& options = {});

struct CatalogueRow {
  std::string repo;
  std::optional<base::Int128> elements;  // the hub's stored element total, where it has one
  std::string revision;
  std::string gated;  // "False", "auto", "manual"
  bool has_safetensors = false;
  std::string licence;
  // What the repository's card says that it was made from: "finetune", "quantized", "merge" or "adapter", and the id.
  struct Base {
    std::string relation, repo;
  };
  std::vector<Base> bases;
  std::string catalogue;  // which catalogue, in words
};

// Every row, by id; none without a catalogue.
base::Result<std::vector<CatalogueRow>> catalogue_rows(const std::string& home);
// None when the catalogue has no such repository or is not there.
base::Result<std::optional<CatalogueRow>> catalogue_row(const std::string& home, const std::string& repo);
base::Result<std::optional<base::Int128>> recorded_elements(const std::string& home, const std::string& repo);

}  // namespace archlight::truth
