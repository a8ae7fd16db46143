// model_folder.h: a folder for one test, and tensor files written by hand.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/diagnostic.h"

namespace archlight::truth {

class ModelFolder {
 public:
  explicit ModelFolder(const std::string& name = "org--model")
      : root_(testing::TempDir() + "archlight_truth_" + std::to_string(getpid()) + "_" +
              std::to_string(count()++)),
        path_(root_ + "/" + name) {
    std::filesystem::create_directories(path_);
  }
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;
  ~ModelFolder() { std::filesystem::remove_all(root_); }

  const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << bytes;
  }

  // A file whose header is `json` and whose data section holds `data_bytes` zeros.
  static std::string tensor_file(const std::string& json, size_t data_bytes) {
    std::string out;
    for (int i = 0; i < 8; ++i) out += static_cast<char>(json.size() >> (8 * i) & 0xff);
    return out + json + std::string(data_bytes, '\0');
  }
  // One BF16 tensor of 4 elements: 8 bytes.
  static std::string one_tensor(const std::string& name) {
    return tensor_file("{\"" + name + R"(":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}})", 8);
  }

  // Messages with this folder's path as "F".
  std::string messages(const std::vector<base::Diagnostic>& faults) const {
    std::string out;
    for (const base::Diagnostic& fault : faults) out += (out.empty() ? "" : "\n") + fault.message();
    for (size_t at = out.find(path_); at != std::string::npos; at = out.find(path_))
      out.replace(at, path_.size(), "F");
    return out;
  }

 private:
  static int& count() {
    static int made = 0;
    return made;
  }
  std::string root_, path_;
};

}  // namespace archlight::truth
