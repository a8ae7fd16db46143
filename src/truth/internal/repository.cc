#include "truth/internal/repository.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "truth/internal/faults.h"
#include "truth/internal/url.h"

namespace archlight::truth {
namespace {

using base::Json;

constexpr std::string_view kIndexEnd = ".safetensors.index.json";
constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr const char* kSingleName = "model.safetensors";

std::string text_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::optional<uint64_t> count_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number_unsigned() ? std::optional(at->get<uint64_t>()) : std::nullopt;
}

RepositoryFile parse_file(const Json& sibling) {
  RepositoryFile file{count_at(sibling, "size"), text_at(sibling, "blobId")};
  if (const auto lfs = sibling.find("lfs"); lfs != sibling.end() && lfs->is_object()) {
    // The git blob of a large file is its pointer; sha256 names the contents.
    file.etag = text_at(*lfs, "sha256");
    if (const auto bytes = count_at(*lfs, "size")) file.bytes = bytes;
  }
  return file;
}

// Weight files that are not safetensors, for a message: "pytorch_model.bin".
std::string other_weights(const Repository& repository) {
  std::string out;
  size_t count = 0;
  for (const auto& [name, file] : repository.files) {
    const std::string end = name.substr(std::min(name.rfind('.'), name.size()));
    if (end != ".bin" && end != ".gguf" && end != ".pt" && end != ".pth" && end != ".h5" &&
        end != ".msgpack" && end != ".onnx" && end != ".safetensors" && end != ".npz")
      continue;
    if (++count <= 3) out += (out.empty() ? "" : ", ") + short_name(name);
  }
  return count > 3 ? fmt::format("{} and {} more", out, count - 3) : out;
}

}  // namespace

const RepositoryFile* Repository::find(const std::string& file) const {
  const auto at = files.find(file);
  return at == files.end() ? nullptr : &at->second;
}

base::Result<Repository> parse_repository(const std::string& text, const std::string& shown_as) {
  base::Result<std::shared_ptr<const Json>> parsed = base::parse_json(text, shown_as);
  if (!parsed) return parsed.faults();
  const Json& root = **parsed;
  if (!root.is_object())
    return file_fault(shown_as, "the answer is no JSON object", "a model's description", "check HF_ENDPOINT");
  Repository out;
  out.id = text_at(root, "id");
  out.commit = text_at(root, "sha");
  if (!is_commit(out.commit))
    return file_fault(shown_as, fmt::format("the answer's sha is '{}'", short_name(out.commit)),
                      "a commit of 40 hex digits", "check HF_ENDPOINT");
  // false, or the way access is granted: "auto", "manual".
  if (const auto gated = root.find("gated"); gated != root.end())
    out.gated = gated->is_string() || *gated == Json(true);
  if (const auto siblings = root.find("siblings"); siblings != root.end() && siblings->is_array()) {
    out.listed = true;
    for (const Json& sibling : *siblings)
      if (sibling.is_object())
        if (std::string name = text_at(sibling, "rfilename"); !name.empty())
          out.files[std::move(name)] = parse_file(sibling);
  }
  if (const auto tensors = root.find("safetensors"); tensors != root.end() && tensors->is_object())
    out.elements = count_at(*tensors, "total");
  return out;
}

std::string repository_text(const Repository& repository) {
  Json root = {{"id", repository.id}, {"sha", repository.commit}, {"gated", repository.gated}};
  if (repository.listed) {
    Json& siblings = root["siblings"] = Json::array();
    for (const auto& [name, file] : repository.files) {
      Json sibling = {{"rfilename", name}, {"blobId", file.etag}};
      if (file.bytes) sibling["size"] = *file.bytes;
      siblings.push_back(std::move(sibling));
    }
  }
  if (repository.elements) root["safetensors"] = {{"total", *repository.elements}};
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

base::Result<WeightFiles> find_weights(const Repository& repository, const std::string& shown_as) {
  if (!repository.listed) return WeightFiles{kIndexName, kSingleName};
  if (repository.find(kIndexName)) return WeightFiles{kIndexName, {}};
  std::vector<std::string> indexes, singles;
  for (const auto& [name, file] : repository.files) {
    if (file_name_problem(name)) continue;
    if (name.ends_with(kIndexEnd)) indexes.push_back(name);
    if (name.ends_with(".safetensors")) singles.push_back(name);
  }
  if (indexes.size() == 1) return WeightFiles{indexes[0], {}};
  if (repository.find(kSingleName)) return WeightFiles{{}, kSingleName};
  if (indexes.empty() && singles.size() == 1) return WeightFiles{{}, singles[0]};
  const std::string there = other_weights(repository);
  const bool some = !singles.empty();
  return not_verifiable(
      shown_as,
      there.empty() ? std::string("the repository has no weights")
      : some        ? fmt::format("the repository has several safetensors files and no one index: {}", there)
                    : fmt::format("the repository has only {}: no safetensors", there),
      "model.safetensors, or model.safetensors.index.json with its shards",
      some ? ""
           : "look for a revision or a sister repository in safetensors, such as refs/convert/safetensors");
}

}  // namespace archlight::truth
