// config_keys.h: what keys of published configs mean, and which of them a model's spec accounts for.
//
// Table    specs/config_keys.yaml: {telling: [parts of names], keys: [{keys: [NAME, ...], is: CLASS, meaning, off,
//          unless, fact, values}]}. A name may be a dotted end of a path; the longest that fits a path wins.
// Classes  shape, schedule and mask decide sizes, which layer is what, and which tokens see which: a spec must read
//          them. rope, activation, norm, routing and scaling change values alone; quant says how weights are stored;
//          group holds further keys; the rest is of the program around the model.
// Errors   At the row: unknown class, a name that stands twice.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/yaml.h"
#include "spec/model.h"

namespace archlight::spec {

enum class KeyClass {
  kShape,
  kSchedule,
  kMask,
  kRope,
  kActivation,
  kNorm,
  kRouting,
  kScaling,
  kQuant,
  kGroup,
  kRuntime,
  kTraining,
  kTokenizer,
  kMedia,
};
std::string_view key_class_name(KeyClass key_class);
// A set key of this class must be read, held or ignored by a spec.
bool decides_numbers(KeyClass key_class);
// Its value, a map too, is of no concern to a spec.
bool outside_the_model(KeyClass key_class);

struct ConfigKey {
  KeyClass key_class = KeyClass::kShape;
  std::string meaning;
  std::vector<std::string> off;                             // values that mean the same as no key
  std::vector<std::pair<std::string, std::string>> unless;  // key and value; '*' for any that is set
  std::string fact;                                         // what it states whatever the family
  std::vector<std::pair<std::string, std::string>> values;  // of a fact: the config's word, ours
};

class ConfigKeys {
 public:
  bool empty() const { return rows_.empty(); }
  // The row of the longest end of a dotted path; null for an unknown key.
  const ConfigKey* find(std::string_view path) const;
  // Does a name tell of a size or a schedule, by a part of it or by its nearness to a key that decides numbers?
  bool telling(std::string_view name) const;
  // Further rows, each in the place of one of its name; those names.
  std::vector<std::string> put(const ConfigKeys& rows);
  // Names that state a fact, in the order of the table.
  std::vector<std::string> stating(std::string_view fact) const;

 private:
  friend base::Result<ConfigKeys> parse_config_keys(const base::Yaml& root);
  std::map<std::string, ConfigKey, std::less<>> rows_;
  std::vector<std::pair<std::string, std::string>> facts_;  // fact, name
  std::vector<std::string> telling_, deciding_;
};

base::Result<ConfigKeys> parse_config_keys(const base::Yaml& root);

// Is a value as good as no key: null, false, 0, empty, or one of the row's own?
bool is_off(const base::Json& value, const ConfigKey* row);
// A value as formulas and rules compare it: a text without its quotes, anything else as JSON.
std::string plain_text(const base::Json& value);

// A key that a model's spec reads, and what reads it: "dim 'd_head'".
struct ConfigRead {
  std::string key;
  std::string reader;
};
std::vector<ConfigRead> config_reads(const Model& model);

}  // namespace archlight::spec
