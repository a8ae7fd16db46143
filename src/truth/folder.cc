#include "truth/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "truth/gguf.h"
#include "truth/index.h"
#include "truth/internal/assemble.h"
#include "truth/internal/faults.h"
#include "truth/safetensors.h"
#include "truth/source.h"

namespace archlight::truth {
namespace {

constexpr uint64_t kMaxConfigBytes = uint64_t{64} << 20;
constexpr uint64_t kMaxCardBytes = uint64_t{4} << 20;
constexpr uint64_t kMaxIndexBytes = uint64_t{256} << 20;
constexpr std::string_view kSafetensors = ".safetensors";
constexpr std::string_view kSafetensorsIndex = ".safetensors.index.json";

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// The size in a Git LFS pointer, which stands for a file that was not fetched.
std::optional<uint64_t> lfs_pointer_size(const std::string& path) {
  const base::Result<uint64_t> size = base::file_size(path);
  if (!size || *size > 1024) return std::nullopt;
  const base::Result<std::string> text = base::read_file(path);
  if (!text || text->rfind("version https://git-lfs.github.com/spec/", 0) != 0) return std::nullopt;
  const size_t at = text->find("\nsize ");
  if (at == std::string::npos) return std::nullopt;
  const size_t end = std::min(text->find('\n', at + 1), text->size());
  const std::optional<base::Int128> bytes =
      base::parse_int128(std::string_view(*text).substr(at + 6, end - at - 6));
  if (!bytes || *bytes < 0 || *bytes > INT64_MAX) return std::nullopt;
  return static_cast<uint64_t>(*bytes);
}

// Every shard's header, and no name in two of them.
base::Faults read_shards(const std::string& folder, const std::vector<std::string>& shards, Truth& into) {
  base::Faults faults;
  for (uint32_t shard = 0; shard < shards.size() && faults.size() < 20; ++shard) {
    const std::string path = folder + "/" + shards[shard];
    base::append(faults, read_safetensors_file(path, shard, into.tensors));
    const base::Result<uint64_t> size = base::file_size(path);
    into.shards.push_back({shards[shard], size ? std::optional<uint64_t>(*size) : std::nullopt});
  }
  return faults.empty() ? check_distinct(folder + "/", into) : faults;
}

// At index level: names, total and notes, with the shards' sizes where pointers gave them.
void take_index(Index index, Truth& into) {
  into.level = Level::kIndex;
  into.names = std::move(index.names);
  if (into.shards.empty())
    for (std::string& shard : index.shards) into.shards.push_back({std::move(shard), std::nullopt});
}

base::Result<Truth> read_indexed(const std::string& folder, const std::string& index_name, Truth truth) {
  const std::string path = folder + "/" + index_name;
  base::Result<std::string> text = base::read_file(path, kMaxIndexBytes);
  if (!text) return text.faults();
  base::Result<Index> index = parse_index(*text, path);
  if (!index) return index.faults();
  truth.index_total_bytes = index->total_bytes;
  truth.notes.insert(truth.notes.end(), index->notes.begin(), index->notes.end());

  std::vector<std::string> missing;
  std::vector<ShardFile> pointers;
  for (const std::string& shard : index->shards) {
    if (!base::file_exists(folder + "/" + shard))
      missing.push_back(shard);
    else if (const std::optional<uint64_t> bytes = lfs_pointer_size(folder + "/" + shard))
      pointers.push_back({shard, bytes});
  }
  if (missing.size() == index->shards.size()) {
    truth.notes.push_back("none of the index's shard files is here, so only names and the total are known");
    take_index(std::move(*index), truth);
    return truth;
  }
  if (!missing.empty())
    return file_fault(path,
                      fmt::format("{} of the index's {} shard files are missing, first '{}'", missing.size(),
                                  index->shards.size(), missing[0]),
                      "all of them, or none for a check against the index alone",
                      "fetch the rest, or move the others away");
  if (pointers.size() == index->shards.size()) {
    truth.notes.push_back(
        "the shard files are Git LFS pointers, so only names, the total and file sizes are known");
    truth.shards = std::move(pointers);
    take_index(std::move(*index), truth);
    return truth;
  }
  if (!pointers.empty())
    return file_fault(
        folder + "/" + pointers[0].name,
        fmt::format("{} of {} shard files are Git LFS pointers", pointers.size(), index->shards.size()),
        "all files fetched, or none", "fetch them with 'git lfs pull'");
  base::Faults faults = read_shards(folder, index->shards, truth);
  if (faults.empty()) faults = compare_index(path, *index, truth);
  if (!faults.empty()) return faults;
  truth.level = Level::kHeader;
  note_index_total(truth);
  return truth;
}

base::Result<Truth> read_unindexed(const std::string& folder, const std::vector<std::string>& shards,
                                   Truth truth) {
  if (shards.size() == 1) {
    if (const std::optional<uint64_t> bytes = lfs_pointer_size(folder + "/" + shards[0])) {
      truth.shards.push_back({shards[0], bytes});
      truth.notes.push_back(shards[0] + " is a Git LFS pointer, so only its file size is known");
      return truth;
    }
  }
  if (base::Faults faults = read_shards(folder, shards, truth); !faults.empty()) return faults;
  truth.level = Level::kHeader;
  return truth;
}

// "model-00002-of-00005.safetensors" files that make up a whole set, or nothing.
std::vector<std::string> numbered_set(const std::vector<std::string>& files) {
  std::vector<std::string> out;
  size_t count = 0;
  for (const std::string& file : files) {
    const size_t of = file.rfind("-of-");
    if (of == std::string::npos || of < 5) continue;
    const std::optional<base::Int128> total =
        base::parse_int128(std::string_view(file).substr(of + 4, file.size() - of - 4 - kSafetensors.size()));
    if (!total || *total < 1 || *total > 100'000) continue;
    if (!out.empty() && file.compare(0, of - 5, out[0], 0, of - 5) != 0) return {};
    count = static_cast<size_t>(*total);
    out.push_back(file);
  }
  return out.size() == count ? out : std::vector<std::string>();
}

base::Faults read_json(const std::string& path, std::shared_ptr<const base::Json>& into) {
  base::Result<std::string> text = base::read_file(path, kMaxConfigBytes);
  if (!text) return text.faults();
  base::Result<std::shared_ptr<const base::Json>> json = base::parse_json(*text, path);
  if (!json) return json.faults();
  if (!(*json)->is_object())
    return {file_fault(path, "not a JSON object", "a config: {\"key\": value, ...}")};
  into = *json;
  return {};
}

}  // namespace

std::string folder_name(const std::string& folder) {
  std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (path == "." || path == "..") {
    std::error_code error;
    path = std::filesystem::canonical(path, error);
  }
  return path.filename().string();
}

base::Faults refuse_irregular(const std::string& folder) {
  base::Faults faults;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (!ends_with(name, kSafetensors) && !ends_with(name, ".json") && !ends_with(name, ".zst") &&
        !ends_with(name, ".tsv") && !ends_with(name, ".gguf"))
      continue;
    if (it->is_regular_file(ignored)) continue;
    faults.push_back(file_fault(folder + "/" + name, "is no file that can be read",
                                "a file, or a link to one",
                                "fetch it again where it is a link to nothing, or move it away"));
  }
  std::ranges::sort(faults, {}, [](const base::Diagnostic& fault) { return fault.message(); });
  return faults;
}

base::Faults read_configs(const std::string& folder, Truth& into) {
  base::Faults faults;
  if (base::file_exists(folder + "/config.json"))
    base::append(faults, read_json(folder + "/config.json", into.config));
  if (base::file_exists(folder + "/hf_quant_config.json"))
    base::append(faults, read_json(folder + "/hf_quant_config.json", into.quant_config));
  return faults;
}

base::Result<Truth> read_folder(const std::string& folder) {
  base::Result<std::vector<std::string>> listed = base::list_files(folder);
  if (!listed) return listed.faults();
  Truth truth;
  truth.repo = folder_name(folder);
  truth.origin = "folder " + folder;
  if (base::Faults faults = refuse_irregular(folder); !faults.empty()) return faults;
  if (base::Faults faults = read_configs(folder, truth); !faults.empty()) return faults;
  // For advice alone: one that cannot be read is as good as none.
  if (base::Result<std::string> card = base::read_file(folder + "/README.md", kMaxCardBytes))
    truth.card = std::move(*card);
  if (auto source = Source::beside(folder, truth.repo)) truth.sources.push_back(std::move(source));

  std::vector<std::string> tensor_files, indexes, pickle_indexes, gguf_files;
  bool pickles = false;
  for (const std::string& file : *listed) {
    if (ends_with(file, kSafetensors))
      tensor_files.push_back(file);
    else if (ends_with(file, kSafetensorsIndex))
      indexes.push_back(file);
    else if (ends_with(file, ".gguf"))
      gguf_files.push_back(file);
    else if (ends_with(file, ".bin.index.json"))
      pickle_indexes.push_back(file);
    else if (ends_with(file, ".bin") || ends_with(file, ".pt") || ends_with(file, ".pth"))
      pickles = true;
  }
  const auto has = [](const std::vector<std::string>& files, const std::string& file) {
    return std::find(files.begin(), files.end(), file) != files.end();
  };
  if (has(indexes, "model.safetensors.index.json"))
    return read_indexed(folder, "model.safetensors.index.json", std::move(truth));
  if (indexes.size() == 1) return read_indexed(folder, indexes[0], std::move(truth));
  if (indexes.size() > 1)
    return file_fault(folder,
                      fmt::format("holds {} indexes: '{}', '{}'{}", indexes.size(), indexes[0], indexes[1],
                                  indexes.size() > 2 ? ", ..." : ""),
                      "model.safetensors.index.json, or one index");
  if (has(tensor_files, "model.safetensors"))
    return read_unindexed(folder, {"model.safetensors"}, std::move(truth));
  if (tensor_files.size() == 1) return read_unindexed(folder, tensor_files, std::move(truth));
  if (const std::vector<std::string> set = numbered_set(tensor_files); !set.empty()) {
    truth.notes.push_back("the numbered shards have no index");
    return read_unindexed(folder, set, std::move(truth));
  }
  if (!tensor_files.empty())
    return file_fault(folder,
                      fmt::format("holds {} .safetensors files, first '{}', without an index",
                                  tensor_files.size(), tensor_files[0]),
                      "an index, model.safetensors, or one whole numbered set");
  if (!gguf_files.empty()) {
    if (gguf_set(gguf_files[0]) == gguf_files) return read_gguf_files(folder + "/" + gguf_files[0]);
    return file_fault(folder,
                      fmt::format("holds {} .gguf files, first '{}'", gguf_files.size(), gguf_files[0]),
                      "one file, or one whole set", "give the file itself");
  }
  if (!pickle_indexes.empty()) {
    truth.notes.push_back("the names come from a PyTorch .bin index; pickled weights are not read");
    base::Result<std::string> text = base::read_file(folder + "/" + pickle_indexes[0], kMaxIndexBytes);
    if (!text) return text.faults();
    base::Result<Index> index = parse_index(*text, folder + "/" + pickle_indexes[0]);
    if (!index) return index.faults();
    truth.index_total_bytes = index->total_bytes;
    truth.notes.insert(truth.notes.end(), index->notes.begin(), index->notes.end());
    take_index(std::move(*index), truth);
    return truth;
  }
  if (!truth.config)
    return file_fault(folder, "holds no config.json, no .safetensors file and no index",
                      "a model folder as published, or a tensor record");
  truth.notes.push_back(pickles ? "the folder has only pickled weights, which are not read"
                                : "the folder has no weights");
  return truth;
}

base::Result<Truth> read_gguf_files(const std::string& path) {
  Truth truth;
  truth.repo = folder_name(path);
  truth.origin = "file " + path;
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  const std::vector<std::string> files = gguf_set(std::filesystem::path(path).filename().string());
  std::vector<GgufHeader> parts(files.size());
  base::Faults faults;
  for (size_t part = 0; part < files.size() && faults.size() < 20; ++part) {
    const std::string file = folder + "/" + files[part];
    base::append(faults, read_gguf_file(file, static_cast<uint32_t>(part), truth.tensors, parts[part]));
    const base::Result<uint64_t> size = base::file_size(file);
    truth.shards.push_back({files[part], size ? std::optional<uint64_t>(*size) : std::nullopt});
  }
  if (faults.empty()) faults = check_distinct(folder + "/", truth);
  if (faults.empty()) faults = join_gguf(folder + "/", parts, truth);
  if (!faults.empty()) return faults;
  return truth;
}

base::Result<Truth> read_tensor_file(const std::string& path) {
  Truth truth;
  truth.repo = folder_name(path);
  truth.origin = "file " + path;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const std::string name = std::filesystem::path(path).filename().string();
  // A model.safetensors brings the config beside it; a shard or an adapter is read as it is.
  if (name == "model.safetensors")
    if (base::Faults faults = read_configs(folder.empty() ? "." : folder, truth); !faults.empty())
      return faults;
  return read_unindexed(folder.empty() ? "." : folder, {name}, std::move(truth));
}

}  // namespace archlight::truth
