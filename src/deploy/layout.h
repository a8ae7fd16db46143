// layout.h: where each tensor of a walk stands under a plan, and the collectives that follow from it.
//
// States   Of each tensor on each mesh axis: Replicated, Sharded on one of its axes, or Partial: it still owes a sum. Experts
//          of a layer are sharded by their copies, which are no axis of a tensor.
// Rules    An op splits its work on a mesh axis by one letter of its row: operands with that letter are Sharded there, the
//          others Replicated, and so is the output, or Partial where the letter is summed away. A weight's placement
//          decides the letter; otherwise the one that moves the fewest bytes, and of equals the one that splits the work.
//          Replicated reads as any slice. What an op wants and its operand is not is a collective: Partial to Replicated
//          all-reduce, Partial to Sharded reduce-scatter, Sharded to Replicated all-gather, to another axis (or to experts)
//          all-to-all. An axis whose elements depend on each other is whole on one GPU, but for attention's keys, which
//          context parallelism joins by their log-sum-exp at once.
// Weights  An axis whose formula names a dim that dims.yaml gives to a world is split there in whole units of that dim.
// Units    Elements of the whole tensor; shares are exact fractions.
// Errors   A degree that leaves heads, experts or widths over: which dim, its value, and the nearest degree that divides it.
// Source   docs/sources.md#layout; facts of engines as each plan key says.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/storage.h"
#include "deploy/plan.h"
#include "expr/expr.h"
#include "graph/tree.h"

namespace archlight::deploy {

inline constexpr int kCopies = -1;  // the "axis" of experts: whole copies on each GPU

struct State {
  enum class Kind : uint8_t { kReplicated, kSharded, kPartial, kPartialLse } kind = Kind::kReplicated;
  int axis = 0;  // of a sharded tensor

  static State replicated() { return {}; }
  static State sharded(int axis) { return {Kind::kSharded, axis}; }
  static State partial(bool lse = false) { return {lse ? Kind::kPartialLse : Kind::kPartial, 0}; }
  bool is_sharded() const { return kind == Kind::kSharded; }
  bool is_partial() const { return kind == Kind::kPartial || kind == Kind::kPartialLse; }
  bool operator==(const State&) const = default;
};
using Layout = std::vector<State>;  // by mesh axis

enum class CollectiveKind : uint8_t { kAllReduce, kReduceScatter, kAllGather, kAllToAll };
std::string_view collective_name(CollectiveKind kind);

struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  graph::NodeId producer = graph::kNone, consumer = graph::kNone;  // no consumer: the step's result
  std::vector<int> axes;                                           // of the mesh
  int64_t ranks = 1, stride = 1;
  bool to_experts = false, from_experts = false;  // dispatch, combine
  bool lse = false;                               // joins attention over parts of the context
  expr::Expr elements;                            // of the tensor that the group holds together, in one layer
  expr::Expr times;                               // layers
};

struct LayoutTable {
  Plan plan;
  Mesh mesh;
  std::vector<Layout> made, kept;           // by node: as computed, and as a later step finds it
  std::vector<std::vector<Layout>> read;    // by node, by operand
  std::vector<Layout> work;                 // by node: Sharded where the work is split
  std::vector<Layout> params;               // by index into Analysis::params
  std::vector<expr::Rational> param_extra;  // by the same: padding and redundant copies, over what is stored
  std::vector<Collective> collectives;      // in walking order

  // The part of a tensor, or of an op's work, that one GPU has.
  expr::Rational share(const Layout& layout) const;
};

base::Result<LayoutTable> propagate(const analysis::Analysis& analysis, const Plan& plan);

// Scales stand for blocks of a weight: a GPU's part must be whole blocks. `stored` is the walk that the storage is of, and
// the layout its own. One fault for each weight that is cut within a block, with the nearest degree that is not.
base::Faults check_blocks(const analysis::Analysis& stored, const analysis::Storage& storage,
                          const LayoutTable& layout);

// The dims that a weight's axis is split by: its formula's, down to names of dims.yaml, with their worlds.
struct ShardableDim {
  std::string name;
  std::vector<std::string> worlds;
};
std::vector<ShardableDim> shardable_dims(const graph::SpecTree& tree, const expr::Formula& formula,
                                         int scope);

}  // namespace archlight::deploy
