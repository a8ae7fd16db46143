// Any text: the JSON reader returns a value that is printed and read back to the same text, or faults.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace archlight::base;
  const Result<std::shared_ptr<const Json>> value =
      parse_json(std::string(reinterpret_cast<const char*>(data), size), "fuzz.json");
  if (!value) {
    for (const Diagnostic& fault : value.faults())
      if (fault.message().empty()) std::abort();
    return 0;
  }
  const std::string text = dump_json(**value);
  const Result<std::shared_ptr<const Json>> again = parse_json(text, "again.json");
  if (!again || dump_json(**again) != text) std::abort();
  return 0;
}
