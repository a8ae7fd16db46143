// precision.h: precision profiles: what if weights and cache were kept in other formats than the checkpoint's own. Data in
// specs/precision/*.yaml, one profile a file, named after it. How engines keep a cache is engine.h's.
//
// Keys of a file
//   label, source   what it is, and where the format is described
//   cache           cache entry kind: the parts of one token's entry (of a fixed state: of the state), each {what, dtype,
//                   elements}; dtype is a safetensors tag or `model`, elements a formula over the entry's own `elements`,
//                   `rows` and `width` (its last axis; elements = rows * width) and the model's dims. Without it a part
//                   has all of the entry's elements
//   weights         role, or `default`: {method: SCHEME}, as in a model's quant_context; `none` is the plain dtype
// What a profile does not name keeps its format.
// Units   Elements as the formulas say; bytes of padding are a part of dtype U8.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/yaml.h"
#include "expr/formula.h"
#include "spec/model.h"

namespace archlight::spec {

struct EntryPart {
  std::string what;
  std::optional<base::Dtype> dtype;  // none: the model's own
  expr::Formula elements;            // empty: those of the entry
  base::Span at;
};

struct EntryLayout {
  std::string kind;
  std::vector<EntryPart> parts;
  base::Span at;
};

struct Precision {
  std::string name, label, source;
  std::vector<EntryLayout> cache;
  std::vector<std::pair<std::string, QuantChoice>> weights;
  base::Span at;

  // Null where the profile does not name the kind.
  const EntryLayout* layout_of(const std::string& kind) const;
  // The choice for the first of these roles that the profile lists, else its default; null when it says nothing.
  const QuantChoice* weights_of(const std::vector<std::string>& roles) const;
};

// "values F8_E4M3 + rows * ceil_div(width, 128) F32": an entry's parts on one line.
std::string layout_text(const EntryLayout& layout);

base::Result<Precision> parse_precision(const base::Yaml& root, const std::string& name);

}  // namespace archlight::spec
