#include "base/units.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>

namespace archlight::base {
namespace {

std::string scaled(double value, double step, std::initializer_list<const char*> suffixes) {
  double rest = value;
  const char* const* suffix = suffixes.begin();
  // 999.995 would print as "1000.00": step up where the printed form would.
  while (std::abs(rest) >= step - 0.005 && suffix + 1 != suffixes.end()) {
    rest /= step;
    ++suffix;
  }
  if (suffix == suffixes.begin())
    return value == std::floor(value) ? fmt::format("{:.0f}{}", rest, *suffix)
                                      : fmt::format("{:.2f}{}", rest, *suffix);
  return fmt::format("{:.2f}{}", rest, *suffix);
}

}  // namespace

std::string human_bytes(double bytes) {
  return scaled(bytes, 1000, {" B", " kB", " MB", " GB", " TB", " PB"});
}
std::string human_binary_bytes(double bytes) {
  return scaled(bytes, 1024, {" B", " KiB", " MiB", " GiB", " TiB", " PiB"});
}
std::string human_count(double count) {
  return scaled(count, 1000, {"", " k", " M", " B", " T", " P", " E"});
}

}  // namespace archlight::base
