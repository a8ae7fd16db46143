// graph_view.h: a spec tree as a drawing: which boxes are open, which edges run between what is visible.
//
// A closed box stands for all that is in it; an edge carries the shape of the tensor that flows along it, in
// the tree's own binding, and the name of the stream that it is read from. Groups of one kind, which see different
// values of streams, are one box: an axis that differs among them reads lowest..highest. Text, DOT and JSON print this
// one view.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analysis/bill.h"
#include "base/json.h"

namespace archlight::cli {

struct ViewBox {
  std::string id;                 // "layers.ffn_moe.self_attn"
  std::string label;              // "self_attn"
  std::string detail;             // "mla_attention", "op linear 7168 -> 1536", "x 58"
  std::string kind;               // "op", "call", "group"
  std::string cache;              // what decode keeps of it
  std::vector<std::string> sees;  // of a group: "2 of 'block_residual': layers 13-24"
  int parent = -1;                // the open box around it
  uint32_t order = 0;             // its first op in walking order
  bool open = false;
};

struct ViewEdge {
  int from = -1, to = -1;  // boxes
  std::string shape;
  std::string stream;  // empty for a plain edge
};

struct GraphView {
  std::vector<ViewBox> boxes;
  std::vector<ViewEdge> edges;
};

// `open` holds box ids, or "all"; boxes above `depth` levels are open anyway.
base::Result<GraphView> make_view(const analysis::Analysis& analysis, const std::vector<std::string>& open,
                                  int depth);

std::string view_text(const GraphView& view);
std::string view_dot(const GraphView& view, const std::string& title);
base::Json view_json(const GraphView& view);

}  // namespace archlight::cli
