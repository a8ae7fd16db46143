// Method  Whatever the source, it is first read as a MODEL would be, so that nothing enters that does not open. A
//         snapshot keeps what another kind of source gave before: a record and a config folder of one repository
//         share a file, in whatever order they came.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "truth/folder.h"
#include "truth/index.h"
#include "truth/internal/faults.h"
#include "truth/internal/record_parts.h"
#include "truth/internal/snapshot_form.h"
#include "truth/record.h"
#include "truth/snapshot.h"

namespace archlight::truth {
namespace {

using base::Faults;
using base::Json;

base::Result<std::shared_ptr<const Json>> read_json(const std::string& path) {
  base::Result<std::string> text = base::read_file(path, uint64_t{256} << 20);
  if (!text) return text.faults();
  return base::parse_json(*text, path);
}

// The snapshot that a part is added to: the one there is, or a new one in place of none or of an alias.
base::Result<Json> start_from(const std::string& path, const std::string& name) {
  Json out = {{"format", kSnapshotFormat}, {"name", name}};
  if (!base::file_exists(path)) return out;
  base::Result<std::string> packed = base::read_file(path);
  if (!packed) return packed.faults();
  base::Result<std::string> text = base::zstd_decompress(*packed, path);
  if (!text) return text.faults();
  base::Result<std::shared_ptr<const Json>> document = base::parse_json(*text, path);
  if (!document) return document.faults();
  if ((*document)->is_object() && !(*document)->contains("alias_of")) out.update(**document);
  return out;
}

base::Result<std::string> write_document(const Json& document, const std::string& path) {
  Faults faults = base::write_file(path, base::zstd_compress(document.dump(), 19));
  if (!faults.empty()) return faults;
  return path;
}

Json pack_index(const Json& index) {
  std::map<std::string, size_t> numbers;
  for (const auto& [name, shard] : index["weight_map"].items()) numbers.emplace(shard.get<std::string>(), 0);
  Json shards = Json::array();
  for (auto& [shard, number] : numbers) {
    number = shards.size();
    shards.push_back(shard);
  }
  std::string names;
  for (const auto& [name, shard] : index["weight_map"].items())
    names += fmt::format("{}\t{}\n", name, numbers[shard.get<std::string>()]);
  Json out = {{"names", names}, {"shards", shards}};
  if (index.contains("metadata")) out["metadata"] = index["metadata"];
  return out;
}

std::string pack_tensors(const Truth& truth) {
  std::vector<size_t> order(truth.tensors.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  // By place in the files, so that running sums give the offsets back.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const TensorTable::Row &x = truth.tensors.row(a), &y = truth.tensors.row(b);
    return std::tie(x.shard, x.begin, x.end) < std::tie(y.shard, y.begin, y.end);
  });
  std::string out = "name\tdtype\tshape\tbytes\tshard\n";
  for (size_t i : order) {
    std::string shape;
    for (uint64_t axis : truth.tensors.shape(i)) shape += (shape.empty() ? "" : "x") + std::to_string(axis);
    out += fmt::format("{}\t{}\t{}\t{}\t{}\n", truth.tensors.name(i),
                       base::dtype_name(truth.tensors.dtype(i)), shape.empty() ? "scalar" : shape,
                       truth.tensors.bytes(i), truth.shards[truth.tensors.row(i).shard].name);
  }
  return out;
}

std::string pack_shards(const Truth& truth) {
  std::string out = "shard\tfile_bytes\tsha256\n";
  for (const ShardFile& shard : truth.shards)
    if (shard.file_bytes) out += fmt::format("{}\t{}\t\n", shard.name, *shard.file_bytes);
  return out;
}

base::Result<std::vector<std::string>> import_record(const std::string& folder, const std::string& snapshots,
                                                     const ImportOptions& options) {
  base::Result<Truth> truth = read_record(folder);
  if (!truth) return truth.faults();
  const std::string name = options.name.empty() ? folder_name(folder) : options.name;
  base::Result<std::shared_ptr<const Json>> source = read_json(folder + "/source.json");
  if (!source) return source.faults();
  Json record = {{"source", **source}};
  if (truth->config) record["config"] = *truth->config;
  if (truth->quant_config) record["quant_config"] = *truth->quant_config;
  if (base::file_exists(folder + "/shards.tsv")) {
    base::Result<std::string> shards = base::read_file(folder + "/shards.tsv");
    if (!shards) return shards.faults();
    record["shards"] = *shards;
  }
  if (truth->level == Level::kIndex || truth->level == Level::kHeader) {
    const std::string path =
        folder + (truth->level == Level::kIndex ? "/index.json.zst" : "/tensors.tsv.zst");
    base::Result<std::string> packed = base::read_file(path);
    if (!packed) return packed.faults();
    base::Result<std::string> text = base::zstd_decompress(*packed, path);
    if (!text) return text.faults();
    if (truth->level == Level::kHeader) {
      record["tensors"] = *text;
    } else {
      base::Result<std::shared_ptr<const Json>> index = base::parse_json(*text, path);
      if (!index) return index.faults();
      record["index"] = pack_index(**index);
    }
  }
  const std::string path = snapshots + "/" + name + kSnapshotEnd;
  base::Result<Json> document = start_from(path, name);
  if (!document) return document.faults();
  (*document)["record"] = std::move(record);
  base::Result<std::string> written = write_document(*document, path);
  if (!written) return written.faults();
  std::vector<std::string> files = {*written};

  // The repository's own id opens a record that is filed under another name.
  const auto repo = (*source)->find("repo_id_on_hf");
  const std::string hub_id = repo != (*source)->end() && repo->is_string()
                                 ? recorded_id(name, repo->get<std::string>()).hub_id
                                 : std::string();
  if (const size_t slash = hub_id.find('/'); slash != std::string::npos && hub_id != repo_of_name(name)) {
    const std::string alias = hub_id.substr(0, slash) + "--" + hub_id.substr(slash + 1);
    const std::string alias_path = snapshots + "/" + alias + kSnapshotEnd;
    base::Result<Json> there = start_from(alias_path, alias);
    if (!there) return there.faults();
    if (plain_file_name(alias) && !there->contains("record") && !there->contains("published")) {
      base::Result<std::string> also =
          write_document({{"format", kSnapshotFormat}, {"name", alias}, {"alias_of", name}}, alias_path);
      if (!also) return also.faults();
      files.push_back(*also);
    }
  }
  return files;
}

// "org--name" of a folder: its own name, or the hub cache's "models--org--name/snapshots/<commit>".
struct Named {
  std::string name, revision;
};
Named name_of_folder(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::absolute(folder).lexically_normal();
  std::vector<std::string> parts;
  for (const std::filesystem::path& part : path)
    if (!part.empty()) parts.push_back(part.string());
  if (parts.size() >= 3 && parts[parts.size() - 2] == "snapshots" &&
      parts[parts.size() - 3].rfind("models--", 0) == 0)
    return {parts[parts.size() - 3].substr(8), parts.back()};
  return {folder_name(folder), {}};
}

base::Result<std::vector<std::string>> import_folder(const std::string& folder, const std::string& snapshots,
                                                     const ImportOptions& options) {
  base::Result<Truth> truth = read_folder(folder);
  if (!truth) return truth.faults();
  Named named = name_of_folder(folder);
  if (!options.name.empty()) named.name = options.name;
  if (repo_of_name(named.name) == named.name || !plain_file_name(named.name))
    return file_fault(folder, "the folder's name '" + short_name(named.name) + "' is no hub id", "org--name",
                      "give the name to file it under");
  const std::string path = snapshots + "/" + named.name + kSnapshotEnd;
  base::Result<Json> document = start_from(path, named.name);
  if (!document) return document.faults();

  if (truth->level == Level::kHeader || truth->level == Level::kIndex || !truth->shards.empty()) {
    Json source = {
        {"repo_id_on_hf", repo_of_name(named.name)},
        {"level", truth->level == Level::kHeader  ? "header"
                  : truth->level == Level::kIndex ? "index"
                                                  : "size"},
        {"provenance", options.provenance.empty() ? "a published model folder" : options.provenance}};
    if (!named.revision.empty()) source["hub_snapshot"] = named.revision;
    if (!options.notes.empty()) source["notes"] = fmt::format("{}", fmt::join(options.notes, "; "));
    Json record = {{"source", std::move(source)}};
    if (truth->config) record["config"] = *truth->config;
    if (truth->quant_config) record["quant_config"] = *truth->quant_config;
    if (truth->level == Level::kHeader) record["tensors"] = pack_tensors(*truth);
    if (truth->level == Level::kIndex) {
      Json index = {{"names", fmt::format("{}\n", fmt::join(truth->names, "\n"))},
                    {"shards", Json::array()},
                    {"metadata", Json::object()}};
      for (const ShardFile& shard : truth->shards) index["shards"].push_back(shard.name);
      if (truth->index_total_bytes)
        index["metadata"]["total_size"] = static_cast<uint64_t>(*truth->index_total_bytes);
      record["index"] = std::move(index);
    }
    if (std::any_of(truth->shards.begin(), truth->shards.end(),
                    [](const ShardFile& shard) { return shard.file_bytes.has_value(); }))
      record["shards"] = pack_shards(*truth);
    (*document)["record"] = std::move(record);
  } else {
    Json published = {
        {"provenance", options.provenance.empty() ? "a published config folder" : options.provenance}};
    if (truth->config) published["config"] = *truth->config;
    if (truth->quant_config) published["quant_config"] = *truth->quant_config;
    if (!options.notes.empty()) published["notes"] = options.notes;
    (*document)["published"] = std::move(published);
  }
  base::Result<std::string> written = write_document(*document, path);
  if (!written) return written.faults();
  return std::vector<std::string>{*written};
}

// RFC 4180 rows: fields may be quoted, and then hold commas, newlines and doubled quotes.
base::Result<std::vector<std::vector<std::string>>> parse_csv(const std::string& text,
                                                              const std::string& path) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::string field;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"')
        field += c;
      else if (i + 1 < text.size() && text[i + 1] == '"')
        field += text[++i];
      else
        quoted = false;
    } else if (c == '"' && field.empty()) {
      quoted = true;
    } else if (c == ',' || c == '\n') {
      if (c == '\n' && !field.empty() && field.back() == '\r') field.pop_back();
      row.push_back(std::move(field));
      field.clear();
      if (c == '\n') {
        rows.push_back(std::move(row));
        row.clear();
      }
    } else {
      field += c;
    }
  }
  if (quoted) return file_fault(path, "a quoted field without its closing quote");
  if (!field.empty() || !row.empty()) {
    row.push_back(std::move(field));
    rows.push_back(std::move(row));
  }
  return rows;
}

// Of the hub's "org/name,finetune:org/name" the entries that say what the relation is, each once.
std::string relations_of(const std::string& bases) {
  std::string out;
  std::set<std::string> seen;
  for (size_t start = 0; start <= bases.size();) {
    const size_t end = std::min(bases.find(',', start), bases.size());
    const std::string entry = bases.substr(start, end - start);
    if (entry.find(':') != std::string::npos && seen.insert(entry).second)
      out += (out.empty() ? "" : ",") + entry;
    start = end + 1;
  }
  return out;
}

base::Result<std::vector<std::string>> import_catalogue(const std::string& file, const std::string& snapshots,
                                                        const ImportOptions& options) {
  base::Result<std::string> text = base::read_file(file);
  if (!text) return text.faults();
  base::Result<std::vector<std::vector<std::string>>> rows = parse_csv(*text, file);
  if (!rows) return rows.faults();
  const std::vector<std::string> wanted = {"id",      "parameter_count", "sha", "gated", "has_safetensors",
                                           "license", "base_models"};
  if (rows->empty())
    return file_fault(
        file, "an empty catalogue",
        "a head line with id, parameter_count, sha, gated, has_safetensors, license, base_models");
  std::vector<size_t> columns;
  for (const std::string& name : wanted) {
    const auto at = std::find(rows->front().begin(), rows->front().end(), name);
    if (at == rows->front().end())
      return file_fault(file, "no column '" + name + "'",
                        "id, parameter_count, sha, gated, has_safetensors, license, base_models");
    columns.push_back(static_cast<size_t>(at - rows->front().begin()));
  }
  std::map<std::string, std::string> lines;
  for (size_t i = 1; i < rows->size(); ++i) {
    const std::vector<std::string>& row = (*rows)[i];
    if (row.size() != rows->front().size())
      return file_fault(file, fmt::format("record {} has {} fields", i + 1, row.size()),
                        fmt::format("{}, as the head line", rows->front().size()));
    std::string line;
    for (size_t column : columns) {
      std::string value = row[column];
      std::replace_if(
          value.begin(), value.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
      if (column == columns.back()) value = relations_of(value);
      line += (line.empty() && column == columns[0] ? "" : "\t") + value;
    }
    const std::string& count = row[columns[1]];
    if (row[columns[0]].empty() || (!count.empty() && !base::parse_int128(count)))
      return file_fault(file,
                        fmt::format("record {} has the id '{}' and the parameter_count '{}'", i + 1,
                                    short_name(row[columns[0]]), short_name(count)),
                        "an id, and a whole number or nothing");
    if (!lines.emplace(row[columns[0]], line + "\n").second)
      return file_fault(file, "the id '" + short_name(row[columns[0]]) + "' stands twice",
                        "each repository once");
  }
  std::string out = "# " + (options.provenance.empty() ? "hub catalogue" : options.provenance) + "\n" +
                    kCatalogueHead + "\n";
  for (const auto& [id, line] : lines) out += line;
  const std::string path = snapshots + "/" + kCatalogueFile;
  Faults faults = base::write_file(path, base::zstd_compress(out, 19));
  if (!faults.empty()) return faults;
  return std::vector<std::string>{path};
}

}  // namespace

base::Result<std::vector<std::string>> import_snapshot(const std::string& source_path,
                                                       const std::string& snapshots_folder,
                                                       const ImportOptions& options) {
  if (!base::folder_exists(snapshots_folder))
    return file_fault(snapshots_folder, "no such folder", "the project's snapshots/ folder");
  if (base::folder_exists(source_path))
    return is_record(source_path) ? import_record(source_path, snapshots_folder, options)
                                  : import_folder(source_path, snapshots_folder, options);
  if (!base::file_exists(source_path))
    return file_fault(source_path, "no such file or folder",
                      "a record, a config folder, a published model folder, or a .csv catalogue");
  if (std::filesystem::path(source_path).extension() != ".csv")
    return file_fault(source_path, "is no folder and no .csv",
                      "a record, a config folder, a published model folder, or a .csv catalogue");
  return import_catalogue(source_path, snapshots_folder, options);
}

}  // namespace archlight::truth
