// declaration.h: a checkpoint's quantisation declaration, taken apart into the formats that it gives to modules.
//
// A declaration is one format for all that its scheme's scope takes, or parts with formats of their own; how parts are
// written and chosen is data (specs/declarations.yaml).
// Errors  As `not_verifiable`: a part in a format that no file of specs/quant describes, a preset that the table lacks,
//         two patterns that give one module different formats.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/internal/checkpoint_names.h"
#include "base/json.h"
#include "base/result.h"
#include "spec/library.h"

namespace archlight::analysis::internal {

struct DeclaredFormat {
  std::vector<const spec::QuantScheme*> schemes;  // most keys first; none: modules stay plain
  std::shared_ptr<const base::Json> numbers;      // the part's keys over those of the whole
  bool ignorable = true;                          // the lists of ignored modules hold for it
};

class Declaration {
 public:
  Declaration(const spec::Library& library, const spec::Model& model, const base::Json& config,
              const base::Json& declared, std::string origin, base::Faults& faults);

  // None: no part and no whole names a scheme, so that nothing can be said of how weights are stored.
  bool names_scheme() const { return names_scheme_; }
  // Names of all schemes, the whole's first: "fp8_block + nvfp4".
  std::string scheme_names() const;
  std::vector<const spec::QuantScheme*> schemes() const;

  struct Found {
    const DeclaredFormat* format = nullptr;  // null: plain
    bool exact = false;                      // named as this very module
  };
  Found find(const std::string& path, const std::string& spec_path, const std::string& op,
             base::Faults& faults) const;
  // The row of the table by which the declaration does not say which modules it is about; none where it does.
  const spec::MixedForm* open_scope() const { return open_scope_; }
  // Can copies of one module differ? `container` is the canonical path up to the star of the copies.
  bool tells_copies_apart(const std::string& container) const;

 private:
  DeclaredFormat format_of(const base::Json* part, base::Faults& faults, const std::string& shown);
  int add(const base::Json& part, base::Faults& faults, const std::string& shown);

  const spec::Library& library_;
  const spec::Model& model_;
  const base::Json& config_;
  const base::Json& declared_;
  std::string origin_;
  bool names_scheme_ = false;
  bool others_whole_ = true;
  const spec::MixedForm* open_scope_ = nullptr;
  DeclaredFormat whole_;
  std::vector<DeclaredFormat> formats_;           // parts, alike ones once
  std::unordered_map<std::string, int> by_text_;  // a part's text -> index
  std::unordered_map<std::string, int> by_key_;   // module path -> index, -1 plain
  struct Pattern {
    std::string text;
    std::function<bool(const std::string& path)> hits;
    int format = -1;
  };
  std::vector<Pattern> patterns_;
  bool patterns_must_agree_ = false;
  std::vector<std::pair<std::string, int>> by_op_;
  std::set<std::string> containers_;  // canonical paths of copies that keys tell apart
};

// Canonical paths up to each index of a module name that ends in one or goes on behind it.
void add_containers(const std::string& name, std::set<std::string>& into);
// May a pattern's text tell copies under this container apart?
bool pattern_tells_copies_apart(const std::string& pattern, const std::string& container);

}  // namespace archlight::analysis::internal
