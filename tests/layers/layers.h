// layers.h: do the includes and the links under src/ keep to src/layers.txt?
//
// A room is a folder under src/ with a line in layers.txt, `room: the rooms it may include`, all of them from
// lines above. Judged, each fault at its file:line:col:
//   - a malformed line, a room named twice, an unknown room, an edge to the same or a lower line
//   - a source file in no room, an include that does not start with a room
//   - an include along an undeclared edge, or of another room's internal/
//   - a declared edge that no include uses; rooms without any source are left alone on both ends
//   - a target whose links differ from its line
// Out of scope: preprocessor conditions (each branch counts) and includes of libraries.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/result.h"

namespace archlight::layers {

struct SourceFile {
  std::string path;  // from src/, as in "expr/tape.cc"
  std::string text;
};

struct Tree {
  std::string layers;  // the text of layers.txt
  std::vector<SourceFile> sources;
};

// The C++ sources of a folder in order of path, with its layers.txt.
base::Result<Tree> read_tree(const std::string& folder);

// Faults in layers.txt first, then those of each source, then edges that nothing uses.
base::Faults check_includes(const Tree& tree);

// `links` is what the build wrote: one line per target, "expr: archlight_base fmt::fmt"; the library of room
// a/b is archlight_a_b, and names that do not start with archlight_ are libraries. The program's line is
// "archlight" and links the highest room alone.
base::Faults check_links(const Tree& tree, const std::string& links);

}  // namespace archlight::layers
