// gguf.h: a GGUF file's metadata as the config that a model's spec reads.
//
// specs/gguf.yaml
//   architectures  a list of rows, the first that fits wins: {name, when, config, adapter, keys, source}. `name` is
//                  general.architecture; `when` pairs of metadata keys and values as in a scheme's declared_by; `config`
//                  what a config states beside the keys (architectures among it); `adapter` of specs/adapters; `keys`
//                  in place of those below
//   keys           config key: metadata key, '{}' for the architecture's name; or a list: the first that is there; or
//                  {minus: [key, key]}, {product: [key, key]}; or {lacks_tensor: name}. A long array is its length
// A key whose metadata are absent is absent from the config, so that the spec's own defaults and faults hold.
// Errors  As not_verifiable: metadata without an architecture, or with one that no row names.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/yaml.h"

namespace archlight::spec {

struct GgufKey {
  enum class Kind { kFirst, kMinus, kProduct, kLacksTensor } kind = Kind::kFirst;
  std::string config_key;
  std::vector<std::string> keys;
};

struct GgufRow {
  std::string name, adapter, source;
  std::vector<std::pair<std::string, std::string>> when;
  std::shared_ptr<const base::Json> config;
  std::vector<GgufKey> keys;
};

struct GgufTable {
  std::vector<GgufRow> rows;
  std::vector<GgufKey> keys;
};

base::Result<GgufTable> parse_gguf_table(const base::Yaml& root);

struct GgufConfig {
  std::shared_ptr<const base::Json> config;
  std::string adapter;
};
// `tensors` are the file's tensor names; `shown_as` names it in faults.
base::Result<GgufConfig> config_of_gguf(const GgufTable& table, const base::Json& metadata,
                                        const std::set<std::string>& tensors, const std::string& shown_as);

}  // namespace archlight::spec
