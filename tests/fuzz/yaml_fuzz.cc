// Any text: the YAML reader returns a tree whose every node has its place, or faults that have one.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/yaml.h"

namespace {

void check(const archlight::base::Yaml& node) {
  if (node.at.line < 1 || node.at.column < 1) std::abort();
  for (const archlight::base::Yaml& item : node.items) check(item);
  for (const archlight::base::YamlEntry& entry : node.entries) {
    if (entry.key_at.line < 1) std::abort();
    check(entry.value);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace archlight::base;
  const auto source = std::make_shared<const SourceText>(
      SourceText{"fuzz.yaml", std::string(reinterpret_cast<const char*>(data), size)});
  const Result<Yaml> root = parse_yaml(source);
  if (root) {
    check(*root);
    return 0;
  }
  for (const Diagnostic& fault : root.faults())
    if (fault.message().empty() || fault.render().empty()) std::abort();
  return 0;
}
