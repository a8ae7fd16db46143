// plan.h: how one model instance is laid out over GPUs, and the mesh that a plan comes to.
//
// Plan  tp      attention heads, and what follows them, over so many GPUs
//       dp      attention data parallelism: groups of tp*cp GPUs that each serve their own requests
//       cp      context parallelism: a request's tokens over so many GPUs
//       pp      pipeline stages
//       ep      groups over which routed experts are spread; expert_tp GPUs share each of them
//       dense_tp, vocab_tp   GPUs that share the dense and shared feed-forward networks; the embedding and head
//       dcp     decode context parallelism: so many of the tp GPUs each keep a part of the context
//       GPUs of a stage: tp*dp*cp = ep*expert_tp.
// Mesh  The GPUs of a stage as a box whose axes are cut wherever a world begins or ends, innermost first: rank order is
//       (dp, cp, tp) with tp fastest, experts (ep, expert_tp) with expert_tp fastest. So each tensor's layout is one state
//       per mesh axis.
// Errors  No place: a plan comes from a command line. Each says which degree, why, and the nearest that would do.
// Source  Rank order: vLLM distributed/parallel_state.py; docs/sources.md#plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace archlight::deploy {

enum class ContextScheme {
  kGather,
  kUlysses
};  // keys and values gathered; queries, keys and values turned to heads
enum class ExpertExchange { kAllToAll, kAllGather };

struct Plan {
  int64_t tp = 1, dp = 1, cp = 1, pp = 1, ep = 1;
  int64_t expert_tp = 0, dense_tp = 0, vocab_tp = 0;  // 0: stage/ep, tp, tp
  int64_t dcp = 1;
  bool sequence_parallel = false;  // the trunk's tokens over tp between the parts of a layer
  ContextScheme context = ContextScheme::kGather;
  ExpertExchange exchange = ExpertExchange::kAllToAll;
  int64_t redundant_experts = 0;
  double ep_load_factor = 1.0;  // the fullest rank's tokens over the mean

  int64_t stage_gpus() const { return tp * dp * cp; }
  int64_t gpus() const { return stage_gpus() * pp; }
  std::string text() const;  // "tp=1,dp=8,ep=8", what differs from one GPU
};

// "tp=8,ep=8,dp=8": the keys above, cp_scheme=gather|ulysses, exchange=all_to_all|all_gather, sp=0|1.
base::Result<Plan> parse_plan(const std::string& text);

// Which worlds a mesh axis belongs to.
struct MeshAxis {
  int64_t size = 1, stride = 1;
  bool tp = false, cp = false, dp = false;  // one of the three
  bool dcp = false;                         // a part of tp
  bool ep = false, expert_tp = false;       // one of the two
  bool dense = false, vocab = false;
  std::string name;  // "dp", "tp.1"
};

struct Mesh {
  std::vector<MeshAxis> axes;  // outermost first; none of size 1
  int64_t gpus() const;
};

// `head_counts`: numbers of heads of which a GPU holds whole ones; where tp is past one of them, its heads are kept more
// than once, and the mesh is cut there. Plans whose worlds do not nest are refused.
base::Result<Mesh> make_mesh(const Plan& plan, const std::vector<int64_t>& head_counts);

}  // namespace archlight::deploy
