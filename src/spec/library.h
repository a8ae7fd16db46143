// library.h: every declaration under specs/, read once.
//
// Layout  dims.yaml, roles.yaml, kv_cache.yaml, config_keys.yaml, declarations.yaml, counting.yaml, gguf.yaml,
//         rope_scaling.yaml,
//         models/*.yaml, components/library/*.yaml, components/drafts/*.yaml, quant/*.yaml, adapters/*.yaml,
//         engines/*.yaml, precision/*.yaml.
//         A file's stem is its name. Components load when first asked for.
// Errors  The whole library is refused on the first read that has faults; all of that read's faults are reported.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "spec/binding.h"
#include "spec/component.h"
#include "spec/config_keys.h"
#include "spec/context.h"
#include "spec/engine.h"
#include "spec/gguf.h"
#include "spec/model.h"
#include "spec/precision.h"
#include "spec/quant.h"
#include "spec/quant_tables.h"

namespace archlight::spec {

struct DimInfo {
  std::string kind;  // head_count, width, whole, ...
  std::vector<std::string> shardable_by;
  std::string meaning;
  std::vector<std::string> config_keys;  // where configs state it, whatever the family
  int64_t least = 0;                     // the smallest value it may have: its kind's, unless said otherwise
};

struct RoleInfo {
  std::string fills;  // the slot of a block template it may fill, empty when none
  bool has_ops = false;
  std::vector<std::string> ops;  // whose parameters may have it, where the table says so
  bool copies = false;           // of copies that share the tokens out, and only of such
  std::string meaning;
};

// A table that copies of a library share until one of them changes it.
template <typename T>
class Shared {
 public:
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }
  T& own() {
    if (value_.use_count() > 1) value_ = std::make_shared<T>(*value_);
    return *value_;
  }

 private:
  std::shared_ptr<T> value_ = std::make_shared<T>();
};

class Library {
 public:
  // `specs` is the folder; file names in messages start with specs/.
  static base::Result<std::shared_ptr<Library>> open(const std::string& specs);
  // The same, with some files replaced or added by their texts: {"models/x.yaml": "..."}.
  static base::Result<std::shared_ptr<Library>> open_with(const std::string& specs,
                                                          const std::map<std::string, std::string>& replaced);
  // The same under folders of a user's own, each laid out as specs/ is: their files and rows come first, those of the
  // first folder before the others'. What they replace is said in notices().
  // Errors  A folder that is missing, or holds nothing of what specs/ holds; and those of its files, by their own paths.
  static base::Result<std::shared_ptr<Library>> open_under(const std::string& specs,
                                                           const std::vector<std::string>& folders);
  // From texts by file name under specs/, for tests and for specs handed in: {"models/x.yaml": "..."}.
  static base::Result<std::shared_ptr<Library>> from_texts(const std::map<std::string, std::string>& files);
  // This library with some files replaced or added; only those are read, and all else is shared.
  base::Result<std::shared_ptr<Library>> with(const std::map<std::string, std::string>& files) const;

  // Sentences: a name or an architecture that stands in a user's folder and again below it.
  const std::vector<std::string>& notices() const { return *notices_; }
  // Where a file under specs/ was read, as messages show it: "specs/models/x.yaml", "own/models/x.yaml".
  std::string shown(const std::string& file) const;

  const std::map<std::string, DimInfo>& dims() const { return *dims_; }
  // Values that a dim's kind rules out: fractions, negative widths, true where a count belongs. At the spec's dim.
  base::Faults check_values(const Binding& binding) const;
  // The same of one dim, at `at`; no fault when its value is fine.
  std::optional<base::Diagnostic> check_value(const BoundDim& dim, const base::Span& at) const;
  const std::map<std::string, RoleInfo>& roles() const { return *roles_; }
  const std::map<std::string, std::shared_ptr<const Model>>& models() const { return *models_; }
  const std::map<std::string, QuantScheme>& quants() const { return *quants_; }
  const std::vector<KvFormat>& kv_formats() const { return *kv_formats_; }
  const std::map<std::string, Engine>& engines() const { return *engines_; }
  const std::map<std::string, Precision>& precisions() const { return *precisions_; }
  // Empty where the library was made of texts without the table.
  const ConfigKeys& config_keys() const { return *config_keys_; }
  const std::vector<MixedForm>& mixed_forms() const { return *mixed_forms_; }
  const Counting& counting() const { return *counting_; }
  const GgufTable& gguf() const { return *gguf_; }
  const RopeScalingTable& rope_scaling() const { return *rope_scaling_; }

  // A model by its name; by the config's architectures and model_type. Faults name the nearest.
  base::Result<const Model*> model(const std::string& name) const;
  base::Result<const Model*> model_for(const base::Json& config) const;
  // A component as one model sees it: its drafts first, then the library. `at` is the place that asks.
  base::Result<const Component*> component(const std::string& name, const Model& model,
                                           const base::Span& at) const;
  base::Result<const QuantScheme*> quant(const std::string& name, const base::Span& at) const;
  base::Result<const Adapter*> adapter(const std::string& name, const base::Span& at) const;
  base::Result<const Engine*> engine(const std::string& name) const;
  // A fault names the nearest of the profiles and of the engines, whose layouts are asked for in the same way.
  base::Result<const Precision*> precision(const std::string& name) const;
  // Names of every component file, library and drafts, sorted; and each one loaded.
  std::vector<std::string> component_names() const;
  base::Result<const Component*> any_component(const std::string& name) const;

 private:
  void resolve_adapters(base::Faults& faults);
  base::Result<const Component*> load_component(const std::string& file, const std::string& name,
                                                bool draft) const;

  // `folder` is a user's own, on top of what is here; empty: files replace those of their name without a word.
  base::Result<std::shared_ptr<Library>> read(const std::map<std::string, std::string>& files,
                                              const std::string& folder) const;
  void note_architectures(const std::string& folder);

  Shared<std::map<std::string, std::shared_ptr<const std::string>>> texts_;  // file under specs/ -> text
  Shared<std::map<std::string, std::string>> shown_;  // the same of files that are not under specs/
  Shared<std::map<std::string, int>> rank_;           // of models: how many folders are below theirs
  int folders_ = 0;
  Shared<std::vector<std::string>> notices_;
  Shared<std::map<std::string, DimInfo>> dims_;
  Shared<std::map<std::string, RoleInfo>> roles_;
  Shared<std::map<std::string, std::shared_ptr<const Model>>> models_;
  Shared<std::map<std::string, QuantScheme>> quants_;
  Shared<std::vector<KvFormat>> kv_formats_;
  Shared<std::map<std::string, Engine>> engines_;
  Shared<std::map<std::string, Precision>> precisions_;
  Shared<ConfigKeys> config_keys_;
  Shared<std::vector<MixedForm>> mixed_forms_;
  Shared<Counting> counting_;
  Shared<GgufTable> gguf_;
  Shared<RopeScalingTable> rope_scaling_;
  Shared<std::map<std::string, Adapter>> adapters_;  // each with its own rules alone
  Shared<std::map<std::string, std::string>> extends_;
  Shared<std::map<std::string, Adapter>> resolved_;                             // with those it extends
  mutable std::map<std::string, std::shared_ptr<const Component>> components_;  // by file
};

// The global tables, on their own.
base::Result<std::map<std::string, DimInfo>> parse_dims_table(const base::Yaml& root);
base::Result<std::map<std::string, RoleInfo>> parse_roles_table(const base::Yaml& root);

}  // namespace archlight::spec
