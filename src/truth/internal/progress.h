// progress.h: how far a long read is, on stderr: one line that updates on a terminal, a line per quarter elsewhere.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

namespace archlight::truth {

class Progress {
 public:
  Progress(bool on, std::string what);
  ~Progress();  // ends the line that updates
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // From any thread.
  void start(size_t total);
  void step(size_t bytes);
  void say(const std::string& notice);

 private:
  void show();

  std::mutex mutex_;
  bool on_ = false;
  bool terminal_ = false;
  bool line_open_ = false;
  std::string what_;
  size_t done_ = 0, total_ = 0, bytes_ = 0;
};

}  // namespace archlight::truth
