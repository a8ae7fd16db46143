// targets.h: the fuzz targets that the build found, for a run without libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace archlight::fuzz {

struct Target {
  std::string name;
  int (*one_input)(const uint8_t* data, size_t size);
};

const std::vector<Target>& targets();

// How GoogleTest shows a target.
inline void PrintTo(const Target& target, std::ostream* out) {
  *out << target.name;
}

}  // namespace archlight::fuzz
