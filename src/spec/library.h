// library.h: every declaration under specs/, each file read once.
//
// Layout  dims.yaml, roles.yaml, kv_cache.yaml, config_keys.yaml, declarations.yaml, counting.yaml, gguf.yaml,
//         rope_scaling.yaml,
//         models/*.yaml, components/library/*.yaml, components/drafts/*.yaml, quant/*.yaml, adapters/*.yaml,
//         engines/*.yaml, precision/*.yaml.
//         A file's stem is its name.
// Order   Opening reads the tables and the files of quant/, engines/ and precision/, which any checkpoint may ask. Models,
//         components and adapters are read when first asked for: of the models, those whose text names the architecture
//         sought.
// Errors  A fault in what opening reads, or in a text handed in, refuses the library; all faults are reported. A fault in
//         a file that is read later is the fault of what asks for it, and of load_all, which asks for every file.
// Threads Until load_all() has found no fault, a library is one thread's. From then on nothing in it changes: any number of
//         threads may ask it and make changed copies of it.
#pragma once

#include <map>
#include <memory>
#include <set>
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

  // Reads what has not been read, and says what is wrong in any file.
  base::Faults load_all() const;
  // The files under specs/ that have been read so far, sorted.
  std::vector<std::string> files_read() const;

  // Names of every model, sorted.
  std::vector<std::string> model_names() const;
  // Every model that can be read; and the text of a model's file, whether it has been read or not.
  std::map<std::string, std::shared_ptr<const Model>> models() const;
  base::Result<std::shared_ptr<const base::SourceText>> model_text(const std::string& name) const;
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
  // A file under specs/: its text, or the path to read it from; and its name in messages.
  struct File {
    std::string path, shown;
    std::shared_ptr<const base::SourceText> source;
  };
  struct ReadAdapter {
    Adapter own;  // its own rules alone
    std::string extends;
  };

  static File text_file(const std::string& shown, const std::string& text);
  static base::Result<base::Yaml> parse_file(const File& from);
  void put(const std::string& file, File from);
  // `folder` is a user's own, on top of what is here; empty: files replace those of their name without a word.
  base::Result<std::shared_ptr<Library>> read(std::map<std::string, File> files,
                                              const std::string& folder) const;
  void note_architectures(const std::string& folder);
  base::Result<std::shared_ptr<const base::SourceText>> text_of(const std::string& file) const;
  base::Result<base::Yaml> parse(const std::string& file) const;
  base::Result<const Model*> load_model(const std::string& file) const;
  base::Result<const Component*> load_component(const std::string& file) const;
  base::Result<const ReadAdapter*> load_adapter(const std::string& file) const;
  // False where the model's `match` cannot name one of the words.
  bool may_describe(const std::string& file, const std::vector<std::string>& words) const;
  std::vector<std::string> names_in(std::string_view folder) const;

  mutable Shared<std::map<std::string, File>> files_;  // by name under specs/; tables apart
  Shared<std::map<std::string, int>> rank_;            // of models: how many folders are below theirs
  int folders_ = 0;
  Shared<std::vector<std::string>> notices_;
  Shared<std::map<std::string, DimInfo>> dims_;
  Shared<std::map<std::string, RoleInfo>> roles_;
  Shared<std::map<std::string, QuantScheme>> quants_;
  Shared<std::vector<KvFormat>> kv_formats_;
  Shared<std::map<std::string, Engine>> engines_;
  Shared<std::map<std::string, Precision>> precisions_;
  Shared<ConfigKeys> config_keys_;
  Shared<std::vector<MixedForm>> mixed_forms_;
  Shared<Counting> counting_;
  Shared<GgufTable> gguf_;
  Shared<RopeScalingTable> rope_scaling_;
  // What has been read, by file.
  mutable Shared<std::set<std::string>> read_;
  mutable Shared<std::map<std::string, std::shared_ptr<const Model>>> models_;
  mutable Shared<std::map<std::string, std::shared_ptr<const Component>>> components_;
  mutable Shared<std::map<std::string, std::shared_ptr<const ReadAdapter>>> adapters_;
  // With the rules of those that they extend.
  mutable Shared<std::map<std::string, std::shared_ptr<const Adapter>>> resolved_;
};

// The global tables, on their own.
base::Result<std::map<std::string, DimInfo>> parse_dims_table(const base::Yaml& root);
base::Result<std::map<std::string, RoleInfo>> parse_roles_table(const base::Yaml& root);

}  // namespace archlight::spec
