#include "truth/snapshot.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "truth/index.h"
#include "truth/internal/faults.h"
#include "truth/internal/record_parts.h"
#include "truth/internal/snapshot_form.h"

namespace archlight::truth {
namespace {

using base::Faults;
using base::Json;

constexpr uint64_t kMaxSnapshotBytes = uint64_t{64} << 20;

base::Result<std::string> home_or_default(const std::string& home) {
  if (!home.empty()) return home;
  return base::home_folder();
}

const Json* member(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

std::string text_member(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

// A config shares the document it stands in.
std::shared_ptr<const Json> part_of(const std::shared_ptr<const Json>& document, const Json* value) {
  return value != nullptr && value->is_object() ? std::shared_ptr<const Json>(document, value) : nullptr;
}

std::string differing_keys(const Json& a, const Json& b) {
  std::string out;
  const auto add = [&](const std::string& key) { out += (out.empty() ? "" : ", ") + key; };
  for (const auto& [key, value] : a.items())
    if (const auto other = b.find(key); other == b.end() || *other != value) add(key);
  for (const auto& [key, value] : b.items())
    if (!a.contains(key)) add(key);
  return out;
}

Faults apply_packed_index(const Json& packed, const std::string& path, Truth& into) {
  Index index;
  if (Faults faults = read_index_metadata(member(packed, "metadata"), path, index); !faults.empty())
    return faults;
  into.index_total_bytes = index.total_bytes;
  into.notes.insert(into.notes.end(), index.notes.begin(), index.notes.end());
  const Json* names = member(packed, "names");
  const Json* shards = member(packed, "shards");
  if (names == nullptr || !names->is_string() || shards == nullptr || !shards->is_array())
    return {file_fault(path, "the index lacks names or shards", "\"names\": text, \"shards\": [file, ...]")};
  std::string_view rest = names->get_ref<const std::string&>();
  into.names.reserve(rest.size() / 48);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    into.names.emplace_back(line.substr(0, line.find('\t')));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (into.shards.empty())
    for (const Json& shard : *shards)
      if (shard.is_string()) into.shards.push_back({shard.get<std::string>(), std::nullopt});
  return {};
}

Faults apply_record(const std::shared_ptr<const Json>& document, const Json& record, const std::string& name,
                    const std::string& path, Truth& into) {
  const Json* source = member(record, "source");
  if (source == nullptr || !source->is_object())
    return {file_fault(path, "the record has no source", "a record's source.json under \"source\"")};
  if (Faults faults = apply_source(*source, name, path, into); !faults.empty()) return faults;
  into.config = part_of(document, member(record, "config"));
  into.quant_config = part_of(document, member(record, "quant_config"));
  if (const Json* shards = member(record, "shards"); shards != nullptr && shards->is_string())
    if (Faults faults = parse_shard_rows(shards->get_ref<const std::string&>(), path, into.shards);
        !faults.empty())
      return faults;
  const Json* index = member(record, "index");
  const Json* tensors = member(record, "tensors");
  if (into.level == Level::kIndex) {
    if (index == nullptr || !index->is_object())
      return {file_fault(path, "a record at index level has no index")};
    return apply_packed_index(*index, path, into);
  }
  if (into.level == Level::kHeader && tensors == nullptr &&
      text_member(*source, "level") == "header (GGUF)") {
    into.level = Level::kConfig;
    return {};
  }
  if (into.level == Level::kHeader) {
    if (tensors == nullptr || !tensors->is_string())
      return {file_fault(path, "a record at header level has no tensors")};
    return parse_tensor_rows(tensors->get_ref<const std::string&>(), path, into.tensors, into.shards);
  }
  return {};
}

void apply_published(const std::shared_ptr<const Json>& document, const Json& published, Truth& into) {
  const std::shared_ptr<const Json> config = part_of(document, member(published, "config"));
  const std::shared_ptr<const Json> quant_config = part_of(document, member(published, "quant_config"));
  if (!into.config)
    into.config = config;
  else if (config && *config != *into.config)
    into.notes.push_back("another published copy of config.json differs in: " +
                         differing_keys(*into.config, *config));
  if (!into.quant_config) into.quant_config = quant_config;
  if (const Json* notes = member(published, "notes"); notes != nullptr && notes->is_array())
    for (const Json& note : *notes)
      if (note.is_string()) into.notes.push_back(note.get<std::string>());
}

// The catalogue, read when it is first asked.
class Catalogue {
 public:
  explicit Catalogue(std::string home) : home_(std::move(home)) {}
  base::Result<std::optional<CatalogueRow>> row(const std::string& repo);

 private:
  std::string home_, path_;
  std::optional<base::Result<std::string>> text_;
};

// The catalogue's text; empty where there is none.
base::Result<std::string> catalogue_text(const std::string& home, std::string* path) {
  base::Result<std::string> root = home_or_default(home);
  if (!root) return root.faults();
  *path = *root + "/snapshots/" + kCatalogueFile;
  if (!base::file_exists(*path)) return std::string();
  base::Result<std::string> packed = base::read_file(*path, kMaxSnapshotBytes);
  if (!packed) return packed.faults();
  return base::zstd_decompress(*packed, *path, kMaxSnapshotBytes);
}

std::vector<std::string> split(std::string_view line, char at) {
  std::vector<std::string> out;
  for (size_t start = 0; start <= line.size();) {
    const size_t end = std::min(line.find(at, start), line.size());
    out.emplace_back(line.substr(start, end - start));
    start = end + 1;
  }
  return out;
}

base::Result<CatalogueRow> parse_catalogue_line(std::string_view line, const std::string& path) {
  std::vector<std::string> fields = split(line, '\t');
  if (fields.size() != kCatalogueFields)
    return file_fault(path,
                      fmt::format("the line of '{}' has {} fields", short_name(fields[0]), fields.size()),
                      fmt::format("{}, separated by tabs", kCatalogueFields),
                      "make it again with 'archlight snapshots add FILE.csv'");
  CatalogueRow row;
  row.repo = fields[0];
  row.elements = base::parse_int128(fields[1]);
  if (!fields[1].empty() && !row.elements)
    return file_fault(
        path, fmt::format("the parameter_count of '{}' is '{}'", short_name(row.repo), short_name(fields[1])),
        "a whole number or nothing");
  row.revision = fields[2];
  row.gated = fields[3];
  row.has_safetensors = fields[4] == "True";
  row.licence = fields[5];
  for (const std::string& base : split(fields[6], ','))
    if (const size_t colon = base.find(':'); colon != std::string::npos)
      row.bases.push_back({base.substr(0, colon), base.substr(colon + 1)});
  return row;
}

// The first line says which catalogue it is.
std::string catalogue_name(const std::string& text) {
  const std::string first = text.substr(0, text.find('\n'));
  return first.rfind("# ", 0) == 0 ? first.substr(2) : "catalogue";
}

base::Result<std::optional<CatalogueRow>> Catalogue::row(const std::string& repo) {
  if (repo.find_first_of("\t\n") != std::string::npos || repo.empty()) return std::optional<CatalogueRow>();
  if (!text_) text_ = catalogue_text(home_, &path_);
  if (!*text_) return text_->faults();
  const std::string& text = **text_;
  const size_t at = text.find("\n" + repo + "\t");
  if (at == std::string::npos) return std::optional<CatalogueRow>();
  const std::string_view line = std::string_view(text).substr(at + 1);
  base::Result<CatalogueRow> row = parse_catalogue_line(line.substr(0, line.find('\n')), path_);
  if (!row) return row.faults();
  row->catalogue = catalogue_name(text);
  return std::optional<CatalogueRow>(std::move(*row));
}

// The total of the catalogue, for a snapshot of exactly the repository it names.
Faults apply_catalogue(Catalogue& catalogue, Truth& into) {
  base::Result<std::optional<CatalogueRow>> row = catalogue.row(into.repo);
  if (!row) return row.faults();
  if (!*row || !(*row)->elements) return {};
  const std::string source = fmt::format("{}, commit {}", (*row)->catalogue, (*row)->revision);
  if (into.recorded_elements && *into.recorded_elements != *(*row)->elements)
    into.notes.push_back(fmt::format(
        "{} records {} elements, the record {} ({})", source, base::with_commas(*(*row)->elements),
        base::with_commas(*into.recorded_elements), into.recorded_elements_source));
  into.recorded_elements = (*row)->elements;
  into.recorded_elements_source = source;
  if (into.level == Level::kConfig) into.level = Level::kCount;
  return {};
}

std::string name_of_file(const std::string& path) {
  const std::string file = std::filesystem::path(path).filename().string();
  return file.substr(0, file.size() - std::string_view(kSnapshotEnd).size());
}

base::Result<std::shared_ptr<const Json>> read_document(const std::string& path) {
  base::Result<std::string> packed = base::read_file(path, kMaxSnapshotBytes);
  if (!packed) return packed.faults();
  base::Result<std::string> text = base::zstd_decompress(*packed, path, kMaxSnapshotBytes);
  if (!text) return text.faults();
  base::Result<std::shared_ptr<const Json>> document = base::parse_json(*text, path);
  if (!document) return document.faults();
  const Json* format = (*document)->is_object() ? member(**document, "format") : nullptr;
  if (format == nullptr || *format != kSnapshotFormat)
    return file_fault(path, "not a snapshot of format 1", "{\"format\": 1, ...}",
                      "make it again with 'archlight snapshots add'");
  return document;
}

}  // namespace

std::optional<std::string> find_snapshot(const std::string& home, const std::string& model) {
  std::string name = model;
  if (const size_t slash = name.find('/'); slash != std::string::npos) name.replace(slash, 1, "--");
  if (!plain_file_name(name)) return std::nullopt;
  const std::string path = home + "/snapshots/" + name + kSnapshotEnd;
  return base::file_exists(path) ? std::optional<std::string>(path) : std::nullopt;
}

namespace {

base::Result<Truth> read_with(Catalogue& catalogue, const std::string& path) {
  std::string file = path;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  base::Result<std::shared_ptr<const Json>> document = read_document(file);
  if (!document) return document.faults();
  if (const std::string target = text_member(**document, "alias_of"); !target.empty()) {
    if (!plain_file_name(target))
      return file_fault(path, "an alias of '" + short_name(target) + "'", "a snapshot's name");
    file = folder + "/" + target + kSnapshotEnd;
    document = read_document(file);
    if (!document) return document.faults();
    if ((*document)->contains("alias_of"))
      return file_fault(path, "an alias of the alias '" + target + "'", "a snapshot's own name");
  }
  const std::string name = name_of_file(file);
  Truth truth;
  truth.repo = repo_of_name(name);
  truth.origin = "snapshot " + name;
  bool exact = true;
  if (const Json* record = member(**document, "record"); record != nullptr && record->is_object()) {
    if (Faults faults = apply_record(*document, *record, name, file, truth); !faults.empty()) return faults;
    const Json* source = member(*record, "source");
    exact = !recorded_id(name, text_member(*source, "repo_id_on_hf")).hub_id.empty();
  }
  if (const Json* published = member(**document, "published"); published != nullptr && published->is_object())
    apply_published(*document, *published, truth);
  if (exact)
    if (Faults faults = apply_catalogue(catalogue, truth); !faults.empty()) return faults;
  return truth;
}

}  // namespace

base::Result<Truth> read_snapshot(const std::string& path) {
  const std::string home = std::filesystem::path(path).parent_path().parent_path().string();
  Catalogue catalogue(home.empty() ? "." : home);
  return read_with(catalogue, path);
}

base::Result<std::vector<SnapshotInfo>> list_snapshots(const std::string& home) {
  base::Result<std::string> root = home_or_default(home);
  if (!root) return root.faults();
  const std::string folder = *root + "/snapshots";
  base::Result<std::vector<std::string>> files = base::list_files(folder);
  if (!files) return files.faults();
  std::vector<SnapshotInfo> out;
  Faults faults;
  Catalogue catalogue(*root);
  for (const std::string& file : *files) {
    if (file.size() <= std::string_view(kSnapshotEnd).size() || !file.ends_with(kSnapshotEnd)) continue;
    base::Result<Truth> truth = read_with(catalogue, folder + "/" + file);
    if (!truth) {
      base::append(faults, truth.faults());
      continue;
    }
    SnapshotInfo info;
    info.name = name_of_file(file);
    const std::string opened = truth->origin.substr(std::string_view("snapshot ").size());
    if (opened != info.name) info.alias_of = opened;
    info.repo = truth->repo;
    info.level = truth->level;
    info.partial = truth->partial;
    info.has_config = truth->config != nullptr;
    info.has_quant_config = truth->quant_config != nullptr;
    out.push_back(std::move(info));
  }
  if (!faults.empty()) return faults;
  return out;
}

base::Result<std::vector<CatalogueRow>> catalogue_rows(const std::string& home) {
  std::string path;
  base::Result<std::string> text = catalogue_text(home, &path);
  if (!text) return text.faults();
  std::vector<CatalogueRow> out;
  const std::string name = catalogue_name(*text);
  std::string_view rest = *text;
  for (size_t line = 0; !rest.empty(); ++line) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (line >= 2 && end > 0) {  // behind its name and its head
      base::Result<CatalogueRow> row = parse_catalogue_line(rest.substr(0, end), path);
      if (!row) return row.faults();
      row->catalogue = name;
      out.push_back(std::move(*row));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

base::Result<std::optional<CatalogueRow>> catalogue_row(const std::string& home, const std::string& repo) {
  return Catalogue(home).row(repo);
}

base::Result<std::optional<base::Int128>> recorded_elements(const std::string& home,
                                                            const std::string& repo) {
  base::Result<std::optional<CatalogueRow>> row = catalogue_row(home, repo);
  if (!row) return row.faults();
  return *row ? (*row)->elements : std::optional<base::Int128>();
}

}  // namespace archlight::truth
