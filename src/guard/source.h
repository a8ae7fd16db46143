// source.h: the forward source behind a spec: every `src` anchor (anchors.h) is found in it, where it is at hand.
//
// Whose   The model's own `src`; those of its streams and nodes; those of every component that it uses, in both phases.
// Streams Each has a layer that produces it and one that reads it.
// Open    A source that is at hand and cannot be read: no fault of the spec, and no pass.
// Source  --source FOLDER; the .py files beside a local model's config; on the hub, the files that config.auto_map names.
#pragma once

#include <string>
#include <vector>

#include "guard/anchors.h"
#include "guard/guards.h"

namespace archlight::guard {

void check_source(const Subject& subject, Findings& out);

// One anchor of the library, held.
struct LibraryAnchor {
  std::string of;  // "models/llama", "components/gqa_attention"
  base::Span at;
  Anchor anchor;
  Held held;
};
// Every anchor of every spec, in order of files and lines.
base::Result<std::vector<LibraryAnchor>> library_anchors(const spec::Library& library,
                                                         const Sources& sources);

}  // namespace archlight::guard
