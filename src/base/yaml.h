// yaml.h: YAML text as a plain tree with marks, so that every later fault can point at its line and column.
//
// Bounds  1 MiB of text per file by default, 200 levels, 200,000 nodes; anchors and aliases are refused, since
//         an alias has no place of its own and can grow without bound.
// Errors  At the place, in libyaml's words for syntax; duplicate keys are faults.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace archlight::base {

struct YamlEntry;

struct Yaml {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  Kind kind = Kind::kNull;
  std::string text;     // of a scalar
  bool quoted = false;  // a quoted scalar is text even when it reads like a number
  std::vector<Yaml> items;
  std::vector<YamlEntry> entries;  // in written order
  Span at;

  bool is_null() const { return kind == Kind::kNull; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_sequence() const { return kind == Kind::kSequence; }
  bool is_map() const { return kind == Kind::kMap; }
  // The value under a key, or null.
  const Yaml* find(std::string_view key) const;
  std::vector<std::string> keys() const;
  // "a map", "a list", "'text'" for messages.
  std::string describe() const;
};

struct YamlEntry {
  std::string key;
  Span key_at;
  Yaml value;
};

Result<Yaml> parse_yaml(std::shared_ptr<const SourceText> source);
// Reads the file; `shown_as` is its name in messages.
Result<Yaml> load_yaml(const std::string& path, const std::string& shown_as);

// A fault at a node: file:line:col, what is wrong, what was expected, how to fix.
Diagnostic fault_at(const Span& at, std::string wrong, std::string expected = {}, std::string fix = {});

}  // namespace archlight::base
