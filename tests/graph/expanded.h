// expanded.h: what comes of expanding a made-up model with one text changed.
#pragma once

#include <span>
#include <string>

#include "graph/tree.h"
#include "support/made_up.h"

namespace archlight::testing {

// The faults of both phases' graphs, or "ok".
inline std::string outcome(const Made& made) {
  const base::Result<Bound> bound = made.bind();
  if (!bound) return messages(bound.faults());
  for (graph::Phase phase : {graph::Phase::kPrefill, graph::Phase::kDecode}) {
    const base::Result<graph::SpecTree> tree = graph::build_tree(*bound->library, *bound->binding, phase);
    if (!tree) return (phase == graph::Phase::kDecode ? "decode: " : "") + messages(tree.faults());
  }
  return "ok";
}

inline void check(std::span<const Bend> rows, const Made& made = tiny()) {
  check_bends(outcome, rows, made);
}

}  // namespace archlight::testing
