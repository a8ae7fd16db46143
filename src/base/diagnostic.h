// diagnostic.h: one fault for a person: place, what is wrong, what was expected, how to fix.
//
// The command line, the API and the author tools show the same Diagnostic. render() gives
//   specs/models/tiny.yaml:14:9: unknown op 'linaer'; expected an op from the ops table; did you mean 'linear'?
// followed, when the source text is at hand, by the line and a caret.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace archlight::base {

// A source text that diagnostics point into. Shared, since a spec outlives the reader that loaded it.
struct SourceText {
  std::string name;  // as shown: a path relative to the project, a URL, or "<argument>"
  std::string text;  // may be empty when only the name is known
};

// Lines and columns count from 1; 0 means unknown.
struct Span {
  std::shared_ptr<const SourceText> source;
  int line = 0;
  int column = 0;
  int length = 0;
};

struct Diagnostic {
  Span at;
  std::string wrong;     // what is wrong
  std::string expected;  // what was expected, may be empty
  std::string fix;       // how to fix it, may be empty
  std::string guard;     // the guard that raised it, empty outside guards

  // One line, without a trailing newline.
  std::string message() const;
  // The message and, when the source is at hand, its line with a caret.
  std::string render() const;
};

std::string render_all(const std::vector<Diagnostic>& diagnostics);

// The candidate nearest to `name` by edit distance, empty when none is near enough to be meant
// (more than a third of its letters differ).
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

// "; did you mean 'x'?" material: "did you mean 'x'?" or empty.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace archlight::base
