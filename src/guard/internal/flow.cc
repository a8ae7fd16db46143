#include "guard/internal/flow.h"

#include <algorithm>

namespace archlight::guard::internal {

using graph::Node;
using graph::NodeId;

std::string described(const Node& node) {
  return "node '" + node.name + "' (" + node.path + ")";
}

Flow::Flow(const analysis::Analysis& analysis) : tree_(*analysis.tree), readers_(tree_.nodes.size()) {
  for (NodeId id = 0; id < tree_.nodes.size(); ++id)
    for (NodeId in : tree_.nodes[id].in) readers_[in].push_back(id);
}

bool Flow::inside(int call, int of) const {
  for (; of >= 0; of = tree_.calls[of].parent)
    if (of == call) return true;
  return call < 0;
}

std::vector<NodeId> Flow::behind(NodeId from, int call) const {
  return reach(from, call, [&](NodeId id) -> const std::vector<NodeId>& { return tree_.nodes[id].in; });
}

std::vector<NodeId> Flow::ahead(NodeId from, int call) const {
  return reach(from, call, [&](NodeId id) -> const std::vector<NodeId>& { return readers_[id]; });
}

std::vector<NodeId> Flow::behind_until(NodeId from, int call,
                                       const std::function<bool(const Node&)>& stop) const {
  static const std::vector<NodeId> none;
  return reach(from, call, [&](NodeId id) -> const std::vector<NodeId>& {
    return stop(tree_.nodes[id]) ? none : tree_.nodes[id].in;
  });
}

std::vector<NodeId> Flow::reach(NodeId from, int call,
                                const std::function<const std::vector<NodeId>&(NodeId)>& next) const {
  std::vector<NodeId> out = {from};
  for (size_t i = 0; i < out.size(); ++i)
    for (NodeId id : next(out[i]))
      if (inside(call, tree_.nodes[id].call) && std::ranges::find(out, id) == out.end()) out.push_back(id);
  return out;
}

bool Flow::on_pairs(NodeId id) const {
  return spec::works_on_pairs(*tree_.nodes[id].op);
}

bool Flow::joins_context(NodeId id) const {
  return spec::meets_context(*tree_.nodes[id].op);
}

bool Flow::is_score(NodeId id) const {
  return spec::is_score(*tree_.nodes[id].op);
}

std::vector<NodeId> Flow::context_of(NodeId id) const {
  std::vector<NodeId> out;
  const Node& node = tree_.nodes[id];
  for (size_t i = 0; i < node.in.size(); ++i)
    if (spec::is_context(*node.op, i)) out.push_back(node.in[i]);
  return out;
}

std::vector<NodeId> Flow::kept_behind(NodeId from, int call) const {
  std::vector<NodeId> out = behind_until(from, call, [](const Node& node) { return node.cache != nullptr; });
  std::erase_if(out, [&](NodeId id) { return !tree_.nodes[id].cache; });
  return out;
}

}  // namespace archlight::guard::internal
