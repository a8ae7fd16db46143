// source.h: the forward source of a model, as far as it is at hand: Python files, read as text when they are asked for.
//
// Found   By the end of a path, in whole names: "modeling_llama.py", "inference/model.py". Where an owner is named, "vllm",
//         files in a folder of that name go before others; where it is a repository, "org/name", no others count.
// Bounds  4 MiB for a file; 200,000 files and 40 levels of folders, hidden ones left out, links not followed.
// Errors  A folder that cannot be listed or is past the bounds; a file that is no Python (python.h), each time it is asked for.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "truth/python.h"

namespace archlight::truth {

inline constexpr uint64_t kMaxSourceBytes = uint64_t{4} << 20;

class Source {
 public:
  using File = base::Result<std::shared_ptr<const PythonFile>>;

  // Every .py file below a folder.
  static base::Result<std::shared_ptr<const Source>> open(const std::string& folder);
  // The .py files in a model's own folder; null where it has none.
  static std::shared_ptr<const Source> beside(const std::string& folder, const std::string& repo);
  // Texts at hand, by name, of one repository; `at` is how a file's address starts.
  static std::shared_ptr<const Source> of_texts(std::vector<std::pair<std::string, std::string>> texts,
                                                const std::string& repo, const std::string& at);

  const std::string& origin() const { return origin_; }  // "folder x", "hub ...": for a person
  // Its files whose paths end so, sorted. None where `owner` is named and these are another repository's.
  std::vector<std::string> find(std::string_view path, std::string_view owner) const;
  std::vector<std::string> names() const;  // of all files, without folders, sorted, each once
  // Parsed once. May be called by several threads.
  File file(const std::string& path) const;

 private:
  bool in_folder_of(const std::string& file, const std::string& owner) const;

  std::string origin_, root_;
  std::string repo_;                // whose files these are, where that is known
  bool whole_ = false;              // these are one model's own files
  std::vector<std::string> paths_;  // sorted
  std::map<std::string, std::string> texts_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const File>> parsed_;
};

}  // namespace archlight::truth
