// support.h: what the guard tests share: the project's specs, generated records as truth, made-up models.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "guard/verify.h"

namespace archlight::guard::testing {

// The project's own specs, read once.
std::shared_ptr<const spec::Library> specs();

// A snapshot of the project, without asking the hub.
truth::Truth snapshot(const std::string& name);

// A record that tests/records/generate.py made, as header-level truth. It is generated from published facts
// by a script that reads nothing of specs/; no such header was downloaded. The config is the caller's.
truth::Truth generated(const std::string& id, std::shared_ptr<const base::Json> config);

// A config with some keys replaced (a null value removes one): {"tie_word_embeddings": true}.
std::shared_ptr<const base::Json> config_with(const base::Json& config, const std::string& changes);
std::shared_ptr<const base::Json> json(const std::string& text);

// Binds the truth's config to the spec that describes it. A fault of either stands in the report as
// the command line shows it: guard 'load'.
Report verify_all(std::shared_ptr<const spec::Library> library, const truth::Truth& truth,
                  const std::set<std::string>& without = {});

// A table from lines "name dtype shape" with a shape of 4x8 or scalar; offsets follow one another.
truth::TensorTable table(std::string_view lines);

// Every fault, one line each, with its guard; remarks one line each.
std::string lines_of(const Report& report);
std::string remarks_of(const Report& report);
std::string advice_of(const Report& report);
// That of one guard alone.
std::string advice_of(const Report& report, std::string_view guard);

}  // namespace archlight::guard::testing
