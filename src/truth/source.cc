#include "truth/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "truth/internal/faults.h"

namespace archlight::truth {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFiles = 200'000;
constexpr int kMaxLevels = 40;

// "org--name" and "org/name" are one repository; so they are in any case of letters.
std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string plain_repo(std::string_view repo) {
  std::string out(repo);
  if (const size_t dashes = out.find("--"); dashes != std::string::npos) out.replace(dashes, 2, "/");
  return lower(std::move(out));
}

bool is_repo(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.find("--") != std::string_view::npos;
}

std::string_view last_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

base::Result<std::shared_ptr<const Source>> Source::open(const std::string& folder) {
  auto out = std::make_shared<Source>();
  out->origin_ = "folder " + folder;
  out->root_ = folder;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
  size_t seen = 0;
  for (; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const std::string name = it->path().filename().string();
    if (++seen > kMaxFiles || it.depth() > kMaxLevels)
      return file_fault(
          folder, fmt::format("holds more than {} files or {} levels of folders", kMaxFiles, kMaxLevels),
          "the folder of a forward source", "give the folder of the models alone");
    if (name.starts_with('.')) {
      it.disable_recursion_pending();
      continue;
    }
    if (name.ends_with(".py") && it->is_regular_file(ignored))
      out->paths_.push_back(it->path().lexically_relative(folder).generic_string());
  }
  if (error)
    return file_fault(folder, "cannot be listed: " + error.message(),
                      "a folder that holds the forward source");
  if (out->paths_.empty())
    return file_fault(folder, "holds no .py file", "a folder that holds the forward source",
                      "give a checkout of the library, or the folder with modeling_*.py");
  std::ranges::sort(out->paths_);
  return std::shared_ptr<const Source>(std::move(out));
}

std::shared_ptr<const Source> Source::beside(const std::string& folder, const std::string& repo) {
  const base::Result<std::vector<std::string>> files = base::list_files(folder);
  if (!files) return nullptr;
  auto out = std::make_shared<Source>();
  out->origin_ = "folder " + folder;
  out->root_ = folder;
  out->repo_ = is_repo(repo) ? plain_repo(repo) : std::string();
  out->whole_ = true;
  for (const std::string& file : *files)
    if (file.ends_with(".py")) out->paths_.push_back(file);
  return out->paths_.empty() ? nullptr : std::shared_ptr<const Source>(std::move(out));
}

std::shared_ptr<const Source> Source::of_texts(std::vector<std::pair<std::string, std::string>> texts,
                                               const std::string& repo, const std::string& at) {
  auto out = std::make_shared<Source>();
  out->origin_ = at;
  out->root_ = at;
  out->repo_ = is_repo(repo) ? plain_repo(repo) : std::string();
  out->whole_ = true;
  for (auto& [name, text] : texts) {
    out->paths_.push_back(name);
    out->texts_[name] = std::move(text);
  }
  std::ranges::sort(out->paths_);
  return out;
}

// "org/name" and "org--name" anywhere in the path; the name alone where it is the folder that was given, or one in it.
bool Source::in_folder_of(const std::string& file, const std::string& owner) const {
  const std::string path = "/" + lower(file), whole = lower("/" + root_) + path;
  std::string dashed = owner;
  if (const size_t slash = dashed.find('/'); slash != std::string::npos) dashed.replace(slash, 1, "--");
  for (const std::string& name : {owner, dashed})
    if (whole.find("/" + name + "/") != std::string::npos) return true;
  const std::string name(last_name(owner));
  return path.starts_with("/" + name + "/") || lower("/" + root_).ends_with("/" + name);
}

std::vector<std::string> Source::find(std::string_view path, std::string_view owner) const {
  const std::string wanted = plain_repo(owner);
  const bool one = !repo_.empty() || whole_;  // of one repository
  if (is_repo(owner) && !repo_.empty() && repo_ != wanted) return {};
  std::vector<std::string> out, owned;
  for (const std::string& file : paths_) {
    if (!file.ends_with(path)) continue;
    const size_t rest = file.size() - path.size();
    if (rest > 0 && file[rest - 1] != '/') continue;
    out.push_back(file);
    if (!owner.empty() && in_folder_of(file, wanted)) owned.push_back(file);
  }
  return !owned.empty() || (is_repo(owner) && !one) ? owned : out;
}

std::vector<std::string> Source::names() const {
  std::vector<std::string> out;
  for (const std::string& path : paths_) out.emplace_back(last_name(path));
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

Source::File Source::file(const std::string& path) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<const File>& known = parsed_[path];
  if (!known) {
    const std::string shown_as = root_ + (root_.ends_with('/') ? "" : "/") + path;
    const auto it = texts_.find(path);
    base::Result<std::string> text = it != texts_.end() ? base::Result<std::string>(it->second)
                                                        : base::read_file(shown_as, kMaxSourceBytes);
    base::Result<PythonFile> file = text ? PythonFile::parse(std::move(*text), shown_as) : text.faults();
    known = std::make_shared<const File>(file ? File(std::make_shared<const PythonFile>(std::move(*file)))
                                              : File(file.faults()));
  }
  return *known;
}

}  // namespace archlight::truth
