// context.h: the longest context that a config states, and what it says of stretched rotary frequencies.
//
// Table   specs/rope_scaling.yaml: {groups, original, types: [{names, also, stated, source}]}.
// Rule    The stated length is the answer, whatever the scaling says. Where a type's stated length is the stretched one,
//         original * factor is held against it; it is never multiplied again.
// Units   Tokens.
// Errors  At the row: a type that stands twice, a word that `stated` does not know.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/yaml.h"
#include "expr/rational.h"
#include "spec/model.h"

namespace archlight::spec {

// The value at "text_config.rope_scaling" in a config; null where there is none.
const base::Json* value_at(const base::Json& config, const std::string& path);

struct RopeType {
  std::vector<std::string> names, also;
  bool stretched = false;  // the stated length is original * factor
  std::string source;
};

struct RopeScalingTable {
  std::vector<std::string> groups, original;
  std::vector<RopeType> types;
};

base::Result<RopeScalingTable> parse_rope_scaling(const base::Yaml& root);

// One group of keys of the config, as it was read.
struct RopeScaling {
  std::string key;       // "text_config.rope_scaling", or with the kind of layer behind it
  std::string type;      // as the config has it; "default" where it names none
  std::string known_as;  // the table's own name; empty for an unknown type
  bool alias = false;
  bool stretched = false;
  std::optional<expr::Rational> factor, original;
  std::string original_key;
  // original * factor, where the type says that the stated length is that.
  std::optional<expr::Rational> product() const;
};

struct PublishedContext {
  std::optional<expr::Rational> tokens;
  std::string key;  // "max_position_embeddings"; empty where the spec names none or the config lacks it
  std::vector<RopeScaling> scaling;
  // Each a sentence: a product that differs, an unknown type, another name for a type, groups that contradict each other.
  std::vector<std::string> remarks;
};
PublishedContext published_context(const Model& model, const base::Json& config,
                                   const RopeScalingTable& table);

}  // namespace archlight::spec
