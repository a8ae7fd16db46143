#include <cstddef>
#include <cstdint>

#include "fuzz/truth_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  archlight::truth::fuzz_config(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
