// step.h: how long one step takes on one GPU at the speed of light, op by op.
//
// Rule    An op's time is the largest of its compute, memory and communication time; a step's is their sum, nothing
//         overlaps. A collective is an op of its own.
// Rates   Matrix products at the dense rate of the type that the weight's scheme is multiplied in (its file's `matmul`), or
//         the activations' where the GPU lacks it. Other arithmetic is not timed: it runs beside the bytes it moves.
// Wire    All-reduce 2(n-1)/n of the tensor per GPU, all-gather and reduce-scatter (n-1)/n, all-to-all (n-1)/n of a GPU's
//         own part; on the scale-up link where the group lies within its domain, otherwise on the network, for the part
//         that leaves the domain, whichever takes longer.
// Units   FLOPs, bytes, seconds; of one GPU, over all layers of the op's kind.
// Source  docs/sources.md#step; facts of each GPU in its file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/bill.h"
#include "deploy/assumptions.h"
#include "deploy/gpu.h"
#include "deploy/layout.h"

namespace archlight::deploy {

enum class Bound : uint8_t { kCompute, kMemory, kCommunication };
std::string_view bound_name(Bound bound);

struct OpTime {
  graph::NodeId node = graph::kNone;
  const Collective* collective = nullptr;  // of a row that moves a value between GPUs
  std::string path, op, role, matmul;      // matmul: the type that its products run in
  double times = 1;                        // layers
  double flops = 0, weight_bytes = 0, activation_bytes = 0, kv_read_bytes = 0, kv_write_bytes = 0,
         wire_bytes = 0;
  double compute_s = 0, memory_s = 0, communication_s = 0;

  double bytes() const { return weight_bytes + activation_bytes + kv_read_bytes + kv_write_bytes; }
  double seconds() const { return std::max({compute_s, memory_s, communication_s}); }
  Bound bound() const;
};

struct StepTime {
  std::vector<OpTime> ops;  // in walking order, collectives behind the value that they move
  double seconds() const;
  double seconds_of(Bound bound) const;
};

// `stored` is the walk that stores weights, with its storage; `analysis` the phase's own. Both bound to numbers, B all
// requests of the instance.
StepTime step_time(const analysis::Analysis& analysis, const analysis::Traffic& traffic,
                   const analysis::Analysis& stored, const analysis::Storage& storage,
                   const LayoutTable& layout, const Gpu& gpu, const Assumptions& assumptions);

}  // namespace archlight::deploy
