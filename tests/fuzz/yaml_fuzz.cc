// Any text: the YAML reader returns a tree whose every node has its place, or faults that have one; and where the reader
// of plain YAML takes a text, yaml-cpp finds the same in it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/internal/plain_yaml.h"
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

bool equal(const archlight::base::Span& a, const archlight::base::Span& b) {
  return a.line == b.line && a.column == b.column && a.length == b.length;
}

bool equal(const archlight::base::Yaml& a, const archlight::base::Yaml& b) {
  if (a.kind != b.kind || a.text != b.text || a.quoted != b.quoted || !equal(a.at, b.at) ||
      a.items.size() != b.items.size() || a.entries.size() != b.entries.size())
    return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!equal(a.items[i], b.items[i])) return false;
  for (size_t i = 0; i < a.entries.size(); ++i)
    if (a.entries[i].key != b.entries[i].key || !equal(a.entries[i].key_at, b.entries[i].key_at) ||
        !equal(a.entries[i].value, b.entries[i].value))
      return false;
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace archlight::base;
  const auto source = std::make_shared<const SourceText>(
      SourceText{"fuzz.yaml", std::string(reinterpret_cast<const char*>(data), size)});
  if (const std::optional<Yaml> plain = internal::read_plain_yaml(source)) {
    const Result<Yaml> any = internal::read_any_yaml(source);
    if (!any || !equal(*plain, *any)) std::abort();
  }
  const Result<Yaml> root = parse_yaml(source);
  if (root) {
    check(*root);
    return 0;
  }
  for (const Diagnostic& fault : root.faults())
    if (fault.message().empty() || fault.render().empty()) std::abort();
  return 0;
}
