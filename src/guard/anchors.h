// anchors.h: what a `src` text says of the forward source, and whether the source bears it out.
//
// Form     anchors, parted by ';'. An anchor is [OWNER] FILE: ITEM, ITEM, ... Without a file it stands in the one before.
// File     the end of a path, in .py. What stands before it says whose it is: a repository, "org/name", or a package, "vllm".
// Item     a name: a class, a method as Class.method, a function, or any word of the class or function named before it.
//          Code in backticks stands in what was named before it, or anywhere in the file; layout does not matter.
// Prose    an item's further words, whatever stands in parentheses, and items that begin with a plain lower-case word. Prose is
//          not looked for. Neither are files that are no .py.
// Streams  A stream's text without a file is of the files that its model names; without backticks, all of it is code.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "truth/source.h"

namespace archlight::guard {

struct Anchor {
  struct Item {
    std::string text;
    bool code = false;  // of backticks
  };
  std::string text;  // as written, for a person
  std::string owner, file;
  std::vector<Item> items;
};

using Sources = std::vector<std::shared_ptr<const truth::Source>>;

std::vector<Anchor> parse_anchors(std::string_view src, bool of_stream = false);

struct Held {
  enum class State { kFound, kWrong, kAbsent, kUnreadable, kProse };
  State state = State::kAbsent;
  std::string where;                              // the file that bears it out, or the nearest to that
  int64_t checks = 0;                             // the file and each item
  base::Faults faults;                            // of kWrong at `at`, of kUnreadable in the source
  std::shared_ptr<const truth::PythonFile> file;  // of kFound
  std::vector<const truth::PythonFile::Definition*> named;  // and what its names are there
};

// Of several files that end so, one that bears out all of it is enough. `home` are the anchors of the model, whose files a
// stream's own stands in.
Held hold(const Anchor& anchor, const Sources& sources, const base::Span& at,
          std::span<const Anchor> home = {});

}  // namespace archlight::guard
