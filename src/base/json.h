// json.h: JSON documents whose size is a config's, not a checkpoint's. Tensor headers have their own reader.
//
// Bounds  128 levels; duplicate keys are faults, since the two readers of a duplicate disagree.
// Output  dump_json sorts keys and is byte-identical on every run.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"

namespace archlight::base {

using Json = nlohmann::json;

// Numbers with a fraction or exponent stay doubles; integers are 64-bit. NaN, Infinity and -Infinity, which Python
// writes into configs, become the strings of that spelling.
Result<std::shared_ptr<const Json>> parse_json(const std::string& text, const std::string& shown_as);
std::string dump_json(const Json& value);

}  // namespace archlight::base
