// flow.h: which values a value is made of and goes into, in one phase's tree; shared by guards that follow values.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/tables.h"

namespace archlight::guard::internal {

// "node 'q_rope' (layers.*.self_attn.q_rope)"
std::string described(const graph::Node& node);

class Flow {
 public:
  explicit Flow(const analysis::Analysis& analysis);

  const std::vector<graph::NodeId>& readers(graph::NodeId id) const { return readers_[id]; }
  // Is `of` the call, or inside it? Everything is inside no call (-1).
  bool inside(int call, int of) const;
  // A node and all that it is computed from, or that is computed from it, as far as the component around it.
  std::vector<graph::NodeId> behind(graph::NodeId from, int call) const;
  std::vector<graph::NodeId> ahead(graph::NodeId from, int call) const;
  // The same, no further than what `stop` holds of.
  std::vector<graph::NodeId> behind_until(graph::NodeId from, int call,
                                          const std::function<bool(const graph::Node&)>& stop) const;

  // Attention: ops that work on (query, key) pairs; of those, the ones that take what the context keeps among their
  // operands; of those, the ones that make the axis of keys.
  bool on_pairs(graph::NodeId id) const;
  bool joins_context(graph::NodeId id) const;
  bool is_score(graph::NodeId id) const;
  std::vector<graph::NodeId> context_of(graph::NodeId id) const;  // the operands that the context keeps
  // The kept entries that a value comes through, the nearest on each way: what these were made of was kept for them.
  std::vector<graph::NodeId> kept_behind(graph::NodeId from, int call) const;

 private:
  std::vector<graph::NodeId> reach(
      graph::NodeId from, int call,
      const std::function<const std::vector<graph::NodeId>&(graph::NodeId)>& next) const;

  const graph::SpecTree& tree_;
  std::vector<std::vector<graph::NodeId>> readers_;
};

}  // namespace archlight::guard::internal
