// python.h: what a Python source text defines and calls. It is read as text: tree-sitter parses it, nothing is run.
//
// Names   "TinyAttention", "TinyAttention.forward", "rotate_half": classes, methods, functions, dotted by where they stand.
// Words   The text without comments and docstrings, cut into identifiers, numbers and single signs, so that layout does
//         not matter where code is looked for.
// Bounds  60,000 words and 1,000 levels, beyond any published source: the parser's own counts have 16 bits.
// Errors  At a place: bytes that are no UTF-8 text, a text that does not parse, one past the bounds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace archlight::truth {

// How often something happens in a function, whichever branches it takes.
struct Times {
  int least = 0;
  int most = 0;
  static constexpr int kMany = 1'000'000;  // in a loop
};

class PythonFile {
 public:
  struct Definition {
    std::string name;
    bool is_class = false;
    int line = 0;
    size_t first = 0, last = 0;      // its words, [first, last)
    std::vector<std::string> bases;  // of a class
    // Of a function: the modules called on self, "mlp" of self.mlp(x), in order of evaluation; and its residual sums: in
    // which something is added to a value that came in by another way.
    std::vector<std::string> calls;
    Times residuals;
  };

  static base::Result<PythonFile> parse(std::string text, const std::string& shown_as);

  const std::vector<Definition>& definitions() const { return definitions_; }
  // A definition by name; of a method that its class does not define, that of the nearest base in this file. Null for none.
  const Definition* find(std::string_view name) const;
  // Whether the words of `code` follow each other in `within`, or anywhere where that is null.
  bool holds(std::string_view code, const Definition* within = nullptr) const;
  // Files beside it that it imports: "moonvit" of `from .moonvit import X`.
  const std::vector<std::string>& siblings() const { return siblings_; }

 private:
  friend class PythonReader;
  std::string text_;                                  // blank where comments and docstrings were
  std::vector<std::pair<uint32_t, uint32_t>> words_;  // where each starts, and its length
  std::vector<Definition> definitions_;               // in the order of the text
  std::vector<std::string> siblings_;
};

}  // namespace archlight::truth
