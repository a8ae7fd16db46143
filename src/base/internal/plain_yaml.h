// plain_yaml.h: the YAML that specs are written in, read in one pass without yaml-cpp's scanner.
//
// Form    Block maps and lists, flow maps and lists, plain and quoted scalars of one line, comments; ASCII without tabs.
//         Every key has a value, and values of several lines stand in brackets.
// Errors  None of its own. A text of any other form, and every text with a fault in it, is handed to yaml-cpp, which reads
//         all of YAML and words the faults.
// Source  YAML 1.2, chapters 6 to 8. What is read here has the tree and the places that yaml-cpp gives it: a test holds the
//         two equal on every spec and on texts made by changing them.
#pragma once

#include <memory>
#include <optional>

#include "base/yaml.h"

namespace archlight::base::internal {

std::optional<Yaml> read_plain_yaml(const std::shared_ptr<const SourceText>& source);
// The same by yaml-cpp alone, with faults.
Result<Yaml> read_any_yaml(const std::shared_ptr<const SourceText>& source);

}  // namespace archlight::base::internal
