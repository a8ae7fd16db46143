// quant_tables.h: two tables beside the schemes of quant.h.
//
// specs/declarations.yaml  how one declaration gives different modules different schemes. A row:
//   name, source
//   when       keys of the declaration and their values, as in a scheme's declared_by
//   parts      the key of a map whose values are declarations of their own, put over the whole; '.' for the map
//              that the declaration itself is
//   chosen_by  what names a part's modules: `key` (its key is the path of a module, or of one that holds it),
//              `pattern` (its key is '+:' or '-:' and an expression, or an expression; '-:' leaves modules plain), or
//              the name of a list inside the part
//   classes    words of such a list that stand for ops
//   presets    words that stand in place of a part, and the part that each means
//   plain      pairs of keys and values; a part with one of them leaves its modules plain
//   others     `plain` or `whole`: what becomes of modules that no part names
//   scope      `open`, in the place of parts: a declaration of this form does not say which modules it is about
// specs/counting.yaml  what the hub's element total counts: `rules`, of which each stored tensor follows the first
//   that fits it (a tensor that none fits counts its elements once), and `alternatives`, further lists that are
//   put in front of the rules, one at a time, only where the rules do not meet a total. A rule:
//   name, source, times
//   tensors    {scalar, main, buffer, tied: true|false, dtype, schemes, names, apart}: all that are stated must hold;
//              `apart` is the name of a part that is counted apart from the main model
//   and `index_writers`, rows of {name, dtype, bits, source}: tried one at a time where an index's total of bytes is not
//   met, since some writers count a dtype's elements otherwise than they are stored
//   logical    true: a weight counts the elements of the weight rather than of the words that store it
//   and `index_writers`, rows of {name, dtype, bits, source}: tried one at a time where an index's total of bytes is not
//   met, since some writers count a dtype's elements otherwise than they are stored
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/json.h"
#include "base/yaml.h"

namespace archlight::spec {

struct MixedForm {
  std::string name, source;
  std::vector<std::pair<std::string, std::string>> when;
  std::string parts;
  std::string chosen_by;
  std::vector<std::pair<std::string, std::vector<std::string>>> classes;
  std::vector<std::pair<std::string, std::shared_ptr<const base::Json>>> presets;
  std::vector<std::pair<std::string, std::string>> plain;
  bool others_whole = false;
  bool open_scope = false;
};

struct CountRule {
  std::string name, source;
  int times = 1;
  bool logical = false;
  std::optional<bool> scalar, main, buffer, tied;
  std::optional<base::Dtype> dtype;
  std::vector<std::string> schemes;
  std::vector<std::string> names;  // last segments of stored names
  std::string apart;               // a part counted apart from the main model
};

struct CountList {
  std::string name, source;
  bool repeats_tied = false;  // a tied table counts again, stored or not
  std::vector<CountRule> rules;
};

// How some writers of an index count elements of a dtype in metadata.total_size.
struct WriterRule {
  std::string name, source;
  base::Dtype dtype = base::Dtype::kBool;
  int bits = 0;
};

struct Counting {
  std::vector<CountRule> rules;
  std::vector<CountList> alternatives;
  std::vector<WriterRule> index_writers;
};

base::Result<std::vector<MixedForm>> parse_declarations(const base::Yaml& root);
base::Result<Counting> parse_counting(const base::Yaml& root);

}  // namespace archlight::spec
