// walk.h: the one evaluation. Walks a tree once and fills tables keyed by node id.
//
// Binding  Dims as numbers or as symbols, and so batch, query tokens and context: every cell is an Expr, a number when
//          all it rests on is bound, the formula otherwise. One code path serves both.
// Errors   At the node's line: a shape that does not fit its op, a name with no value, an overflow.
// Source   Op formulas: the row's own source; docs/sources.md.
#pragma once

#include <memory>

#include "analysis/tables.h"
#include "base/result.h"

namespace archlight::analysis {

base::Result<std::shared_ptr<const Analysis>> walk(std::shared_ptr<const graph::SpecTree> tree,
                                                   const PhaseBinding& binding);

}  // namespace archlight::analysis
