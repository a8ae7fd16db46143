#include "truth/internal/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace archlight::truth {

Progress::Progress(bool on, std::string what)
    : on_(on), terminal_(on && isatty(STDERR_FILENO) == 1), what_(std::move(what)) {}

Progress::~Progress() {
  if (line_open_) std::fputs("\n", stderr);
}

void Progress::start(size_t total) {
  const std::lock_guard lock(mutex_);
  total_ = total;
  show();
}

void Progress::step(size_t bytes) {
  const std::lock_guard lock(mutex_);
  ++done_;
  bytes_ += bytes;
  // Elsewhere than on a terminal: when a quarter of the total is passed.
  if (terminal_ || done_ * 4 / total_ != (done_ - 1) * 4 / total_) show();
}

void Progress::say(const std::string& notice) {
  const std::lock_guard lock(mutex_);
  if (!on_) return;
  fmt::print(stderr, "{}{}\n", line_open_ ? "\n" : "", notice);
  line_open_ = false;
}

void Progress::show() {
  if (!on_ || total_ == 0) return;
  const std::string line = fmt::format("{}: {} of {} tensor headers, {:.1f} MB", what_, done_, total_,
                                       static_cast<double>(bytes_) / 1e6);
  if (terminal_)
    fmt::print(stderr, "\r{}\x1b[K", line);
  else
    fmt::print(stderr, "{}\n", line);
  line_open_ = terminal_;
  std::fflush(stderr);
}

}  // namespace archlight::truth
