#include "cli/graph_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/yaml.h"
#include "graph/tree.h"

namespace archlight::cli {
namespace {

using analysis::Analysis;
using graph::NodeId;

// The axes of an edge; of groups drawn as one, the shortest and the longest.
using Axes = std::vector<std::pair<expr::Expr, expr::Expr>>;

bool less(const expr::Expr& a, const expr::Expr& b) {
  const std::optional<expr::Rational> x = a.constant(), y = b.constant();
  return x && y && compare(*x, *y) < 0;
}

std::string axes_text(const Axes& axes) {
  std::string out = "[";
  for (size_t i = 0; i < axes.size(); ++i) {
    out += (i ? ", " : "") + expr::to_text(axes[i].first);
    if (!(axes[i].first == axes[i].second)) out += ".." + expr::to_text(axes[i].second);
  }
  return out + "]";
}

std::string shape_text(const analysis::Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + expr::to_text(shape[i]);
  return out + "]";
}

class Viewer {
 public:
  Viewer(const Analysis& analysis, const std::vector<std::string>& open, int depth)
      : analysis_(analysis), tree_(*analysis.tree), open_(open), depth_(depth) {}

  base::Result<GraphView> run() {
    for (size_t call = 0; call < tree_.calls.size(); ++call) add_call(static_cast<int>(call));
    for (const std::string& id : open_)
      if (id != "all" && std::ranges::find(ids_, id) == ids_.end())
        return base::fault_at({}, "no block '" + id + "' in this model", "a block's path, or all",
                              base::did_you_mean(id, ids_));
    for (NodeId node = 0; node < tree_.nodes.size(); ++node) add_node(node);
    for (NodeId node = 0; node < tree_.nodes.size(); ++node)
      for (size_t i = 0; i < tree_.nodes[node].in.size(); ++i) add_edge(node, i);
    for (size_t e = 0; e < out_.edges.size(); ++e) out_.edges[e].shape = axes_text(axes_[e].axes);
    sort_by_order();
    return std::move(out_);
  }

 private:
  struct EdgeAxes {
    Axes axes;
    int kind = -1, group = -1;  // of the reader
  };

  // What a node reads, between what is visible. A box that reads what earlier layers of its own put into a stream has an
  // edge to itself.
  void add_edge(NodeId node, size_t operand) {
    const NodeId in = tree_.nodes[node].in[operand];
    const int stream = tree_.nodes[node].in_streams[operand];
    const int from = visible(in), to = visible(node);
    if (from < 0 || to < 0 || (from == to && stream < 0)) return;
    EdgeAxes made;
    for (const expr::Expr& axis : analysis_.shape[in]) made.axes.emplace_back(axis, axis);
    made.group = tree_.nodes[node].group;
    made.kind = made.group < 0 ? -1 : tree_.groups[static_cast<size_t>(made.group)].kind;
    const std::string name = stream < 0 ? "" : tree_.streams[static_cast<size_t>(stream)].name;
    for (size_t e = 0; e < out_.edges.size(); ++e) {
      const ViewEdge& edge = out_.edges[e];
      if (edge.from != from || edge.to != to || edge.stream != name) continue;
      EdgeAxes& known = axes_[e];
      if (known.axes == made.axes) return;
      const bool same_kind = known.kind >= 0 && known.kind == made.kind && known.group != made.group;
      if (!same_kind || known.axes.size() != made.axes.size()) continue;
      for (size_t i = 0; i < made.axes.size(); ++i) {
        if (less(made.axes[i].first, known.axes[i].first)) known.axes[i].first = made.axes[i].first;
        if (less(known.axes[i].second, made.axes[i].second)) known.axes[i].second = made.axes[i].second;
      }
      return;
    }
    out_.edges.push_back({from, to, {}, name});
    axes_.push_back(std::move(made));
  }

  // Boxes in walking order; parents stand before what is in them.
  void sort_by_order() {
    std::vector<int> order(out_.boxes.size()), at(out_.boxes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::ranges::stable_sort(order, {}, [&](int i) { return out_.boxes[i].order; });
    std::vector<ViewBox> boxes;
    for (size_t i = 0; i < order.size(); ++i) {
      at[order[i]] = static_cast<int>(i);
      boxes.push_back(std::move(out_.boxes[order[i]]));
    }
    for (ViewBox& box : boxes)
      if (box.parent >= 0) box.parent = at[box.parent];
    for (ViewEdge& edge : out_.edges) edge = {at[edge.from], at[edge.to], edge.shape, edge.stream};
    out_.boxes = std::move(boxes);
  }

  // The first op at or below a call; the call itself is created before any of them.
  uint32_t first_node(int call) const {
    for (NodeId node = 0; node < tree_.nodes.size(); ++node)
      for (int at = tree_.nodes[node].call; at >= 0; at = tree_.calls[at].parent)
        if (at == call) return node;
    return ~uint32_t{0};
  }

  bool is_open(const std::string& id, int level) const {
    return level < depth_ || std::ranges::find(open_, id) != open_.end() ||
           std::ranges::find(open_, "all") != open_.end() ||
           std::ranges::any_of(open_, [&](const std::string& wanted) {
             return wanted.size() > id.size() && wanted.starts_with(id) && wanted[id.size()] == '.';
           });
  }

  void add_call(int call) {
    const graph::Call& c = tree_.calls[call];
    const bool group = c.parent < 0 && c.group >= 0 && tree_.groups[c.group].call == call;
    ViewBox box;
    const int parent_box = c.parent >= 0 ? box_of_call_[c.parent] : -1;
    int level = 0;
    for (int at = c.parent; at >= 0; at = tree_.calls[at].parent) ++level;
    if (group) {
      const graph::Group& g = tree_.groups[c.group];
      size_t layers = 0;
      for (const graph::Group& other : tree_.groups)
        if (other.kind == g.kind) layers += other.layers.size();
      box.id = g.stack + (g.kind_label.empty() ? "" : "." + g.kind_label);
      box.label = box.id;
      box.kind = "group";
      box.detail = fmt::format("{} layer{}, {}", layers, layers == 1 ? "" : "s", c.component->name);
    } else {
      box.id = (c.parent < 0 ? "" : ids_of_call_[c.parent] + ".") + c.name;
      box.label = c.name;
      box.kind = "call";
      box.detail = c.component->name + (c.copies.empty() ? "" : fmt::format(" x {}", c.copies_value));
    }
    ids_of_call_.push_back(box.id);
    // A further group of its kind is drawn where the first is.
    if (const auto known = call_of_id_.find(box.id);
        known != call_of_id_.end() && c.group >= 0 && tree_.calls[known->second].group != c.group) {
      open_call_.push_back(open_call_[known->second]);
      box_of_call_.push_back(box_of_call_[known->second]);
      if (group) note_sees(out_.boxes, box_of_call_.back(), c.group);
      return;
    }
    call_of_id_.emplace(box.id, call);
    ids_.push_back(box.id);
    const bool shown = parent_box < 0 ? c.parent < 0 : out_.boxes[parent_box].open;
    box.open = shown && is_open(box.id, level);
    box.parent = parent_box;
    box.order = first_node(call);
    open_call_.push_back(box.open);
    if (shown) {
      box_of_call_.push_back(static_cast<int>(out_.boxes.size()));
      out_.boxes.push_back(std::move(box));
      if (group) note_sees(out_.boxes, box_of_call_.back(), c.group);
    } else {
      box_of_call_.push_back(parent_box);  // inside a closed box: that box stands for it
    }
  }

  // Which layers of a group see how much of an appended stream.
  void note_sees(std::vector<ViewBox>& boxes, int box, int group) const {
    const graph::Group& g = tree_.groups[static_cast<size_t>(group)];
    for (const graph::Group::Sees& sees : g.sees) {
      const graph::Stream& stream = tree_.streams[static_cast<size_t>(sees.stream)];
      if (stream.kind == spec::StreamDecl::Kind::kAppended)
        boxes[box].sees.push_back(fmt::format("{} of '{}': layer{} {}", sees.count, stream.name,
                                              g.layers.size() == 1 ? "" : "s", graph::layers_text(g.layers)));
    }
  }

  void add_node(NodeId id) {
    const graph::Node& node = tree_.nodes[id];
    const bool shown = node.call < 0 || (open_call_[node.call] && out_.boxes[box_of_call_[node.call]].open);
    if (!shown) {
      box_of_node_.push_back(box_of_call_[node.call]);
      return;
    }
    ViewBox box;
    box.id = node.call < 0 ? node.name : ids_of_call_[node.call] + "." + node.name;
    if (const auto known = node_of_id_.find(box.id);
        known != node_of_id_.end() && tree_.nodes[known->second].group != node.group) {
      box_of_node_.push_back(box_of_node_[known->second]);
      return;
    }
    node_of_id_.emplace(box.id, id);
    box.label = node.name;
    box.kind = "op";
    box.detail = node.op->name;
    for (const analysis::Param& param : analysis_.params)
      if (param.node == id)
        box.detail += " " + (param.name.empty() ? node.name : param.name) + shape_text(param.axes);
    if (node.done) box.detail += ", done in prefill";
    if (node.cache) box.cache = node.cache->kind;
    box.parent = node.call < 0 ? -1 : box_of_call_[node.call];
    box.order = id;
    box_of_node_.push_back(static_cast<int>(out_.boxes.size()));
    out_.boxes.push_back(std::move(box));
  }

  int visible(NodeId node) const { return box_of_node_[node]; }

  const Analysis& analysis_;
  const graph::SpecTree& tree_;
  const std::vector<std::string>& open_;
  int depth_;
  GraphView out_;
  std::vector<std::string> ids_, ids_of_call_;
  std::vector<int> box_of_call_, box_of_node_;
  std::vector<bool> open_call_;
  std::map<std::string, int> call_of_id_;     // the first of its id
  std::map<std::string, NodeId> node_of_id_;  // the same of ops
  std::vector<EdgeAxes> axes_;                // beside the edges
};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace

base::Result<GraphView> make_view(const Analysis& analysis, const std::vector<std::string>& open, int depth) {
  return Viewer(analysis, open, depth).run();
}

std::string view_text(const GraphView& view) {
  std::string out;
  const auto print = [&](auto&& self, int parent, int indent) -> void {
    for (size_t i = 0; i < view.boxes.size(); ++i) {
      const ViewBox& box = view.boxes[i];
      if (box.parent != parent) continue;
      out += std::string(static_cast<size_t>(indent) * 2, ' ') +
             (box.kind == "op" ? ""
              : box.open       ? "- "
                               : "+ ") +
             box.label + "  (" + box.detail + ")" +
             (box.cache.empty() ? "" : "  [cached: " + box.cache + "]") + "\n";
      std::vector<std::string> ins;
      for (const ViewEdge& edge : view.edges)
        if (edge.to == static_cast<int>(i)) {
          // Beside it, a name is enough; from elsewhere, its path.
          const ViewBox& from = view.boxes[edge.from];
          ins.push_back((from.parent == box.parent ? from.label : from.id) + " " + edge.shape +
                        (edge.stream.empty() ? "" : "  stream " + edge.stream));
        }
      for (const std::string& sees : box.sees)
        out += std::string(static_cast<size_t>(indent) * 2 + 4, ' ') + "sees " + sees + "\n";
      for (const std::string& in : ins)
        out += std::string(static_cast<size_t>(indent) * 2 + 4, ' ') + "<- " + in + "\n";
      if (box.open) self(self, static_cast<int>(i), indent + 1);
    }
  };
  print(print, -1, 0);
  return out;
}

std::string view_dot(const GraphView& view, const std::string& title) {
  std::string out = "digraph model {\n  label=" + quoted(title) +
                    "; labelloc=t; rankdir=TB; compound=true;\n  node [shape=box, fontname=\"Helvetica\", "
                    "fontsize=10];\n  edge [fontname=\"Helvetica\", fontsize=8];\n";
  const auto print = [&](auto&& self, int parent, int indent) -> void {
    const std::string pad(static_cast<size_t>(indent) * 2, ' ');
    for (size_t i = 0; i < view.boxes.size(); ++i) {
      const ViewBox& box = view.boxes[i];
      if (box.parent != parent) continue;
      if (box.open) {
        out += pad + fmt::format("subgraph cluster_{} {{\n{}  label={};\n", i, pad,
                                 quoted(box.label + " (" + box.detail + ")"));
        self(self, static_cast<int>(i), indent + 1);
        out += pad + "}\n";
      } else {
        out += pad + fmt::format("b{} [label={}{}];\n", i,
                                 quoted(box.label + "\n" + box.detail +
                                        (box.cache.empty() ? "" : "\ncached: " + box.cache)),
                                 box.kind == "op"
                                     ? (box.cache.empty() ? "" : ", style=filled, fillcolor=\"#fff3c4\"")
                                     : ", style=\"rounded,filled\", fillcolor=\"#dbe9f6\"");
      }
    }
  };
  print(print, -1, 1);
  for (const ViewEdge& edge : view.edges)
    out += fmt::format("  b{} -> b{} [label={}{}];\n", edge.from, edge.to,
                       quoted((edge.stream.empty() ? "" : edge.stream + " ") + edge.shape),
                       edge.stream.empty() ? "" : ", style=dashed");
  return out + "}\n";
}

base::Json view_json(const GraphView& view) {
  base::Json out = {{"boxes", base::Json::array()}, {"edges", base::Json::array()}};
  for (const ViewBox& box : view.boxes) {
    base::Json row = {
        {"id", box.id}, {"label", box.label}, {"kind", box.kind}, {"detail", box.detail}, {"open", box.open}};
    if (box.parent >= 0) row["parent"] = view.boxes[box.parent].id;
    if (!box.cache.empty()) row["cache"] = box.cache;
    if (!box.sees.empty()) row["sees"] = box.sees;
    out["boxes"].push_back(std::move(row));
  }
  for (const ViewEdge& edge : view.edges) {
    base::Json row = {
        {"from", view.boxes[edge.from].id}, {"to", view.boxes[edge.to].id}, {"shape", edge.shape}};
    if (!edge.stream.empty()) row["stream"] = edge.stream;
    out["edges"].push_back(std::move(row));
  }
  return out;
}

}  // namespace archlight::cli
