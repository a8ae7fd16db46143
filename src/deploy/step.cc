#include "deploy/step.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace archlight::deploy {
namespace {

using analysis::Analysis;
using expr::Expr;
using graph::NodeId;

double number(const Expr& e) {
  const std::optional<expr::Rational> value = e.constant();
  return value ? to_double(*value) : 0;
}

// GPUs among `ranks` that hold at least one of a token's k experts, the token's own left out, when all experts are chosen
// alike: D*(1 - C(E - E/D, k)/C(E, k)), of which (D-1)/D are others.
double distinct_ranks(double experts, double ranks, double k) {
  double none = 1;  // that a rank has none of them
  const double each = experts / ranks;
  for (double i = 0; i < k; ++i) none *= std::max(0.0, (experts - each - i) / (experts - i));
  return ranks * (1 - none);
}

class Timer {
 public:
  Timer(const Analysis& analysis, const analysis::Traffic& traffic, const Analysis& stored,
        const analysis::Storage& storage, const LayoutTable& layout, const Gpu& gpu,
        const Assumptions& assumptions)
      : analysis_(analysis),
        tree_(*analysis.tree),
        traffic_(traffic),
        layout_(layout),
        gpu_(gpu),
        assumptions_(assumptions) {
    for (const analysis::Param& param : stored.params) {
      const size_t p = static_cast<size_t>(&param - stored.params.data());
      for (const size_t row : storage.of_param[p])
        if (storage.tensors[row].main)
          matmul_of_.emplace(std::pair(param.path, param.group < 0 ? -1 : 0), storage.tensors[row].scheme);
    }
    const auto rate = assumptions.memory_bytes_per_s.find(gpu.id);
    memory_rate_ = rate == assumptions.memory_bytes_per_s.end() ? gpu.memory_bytes_per_s : rate->second;
    const auto link = assumptions.link_bytes_per_s.find(gpu.id);
    link_rate_ = link == assumptions.link_bytes_per_s.end() ? gpu.link_bytes_per_s : link->second;
    for (size_t p = 0; p < analysis.params.size(); ++p) params_of_[analysis.params[p].node].push_back(p);
    for (const analysis::Move& move : traffic.activation_moves) moves_of_[move.node].push_back(&move);
    for (const analysis::Move& move : traffic.kv_reads) reads_of_[move.node].push_back(&move);
    for (const Collective& collective : layout.collectives)
      collectives_of_[collective.producer].push_back(&collective);
  }

  StepTime run() {
    StepTime out;
    const std::vector<NodeId> last = kernels();
    std::map<NodeId, OpTime> open;
    for (NodeId id = 0; id < tree_.nodes.size(); ++id) {
      if (!tree_.nodes[id].apart.empty()) continue;
      OpTime row = op(id);
      if (const auto begun = open.find(last[id]); begun != open.end()) row = joined(begun->second, row);
      if (last[id] != id)
        open[last[id]] = std::move(row);
      else if (row.flops > 0 || row.bytes() > 0)
        out.ops.push_back(std::move(row));
      for (const Collective* collective : collectives_of_[id]) {
        const NodeId reader = collective->consumer;
        if (reader != graph::kNone && !tree_.nodes[reader].apart.empty()) continue;
        if (OpTime moved = wire(*collective); moved.wire_bytes > 0) out.ops.push_back(std::move(moved));
      }
    }
    return out;
  }

 private:
  double share(const Layout& layout) const { return to_double(layout_.share(layout)); }

  // Of each node, the last node of the kernel that it runs in: what stays on chip is read in the kernel that makes it.
  std::vector<NodeId> kernels() const {
    std::vector<NodeId> last(tree_.nodes.size());
    for (NodeId id = 0; id < last.size(); ++id) last[id] = id;
    for (NodeId id = static_cast<NodeId>(last.size()); id-- > 0;)
      for (const NodeId in : tree_.nodes[id].in)
        if (tree_.nodes[in].op->traffic == spec::Traffic::kOnChip && last[in] == in) last[in] = last[id];
    return last;
  }

  static OpTime joined(const OpTime& first, const OpTime& then) {
    OpTime out = then;
    out.op = first.op + (then.flops > 0 || then.bytes() > 0 ? " " + then.op : "");
    if (out.matmul.empty()) out.matmul = first.matmul;
    out.flops += first.flops;
    out.weight_bytes += first.weight_bytes;
    out.activation_bytes += first.activation_bytes;
    out.kv_read_bytes += first.kv_read_bytes;
    out.kv_write_bytes += first.kv_write_bytes;
    out.compute_s += first.compute_s;
    out.memory_s += first.memory_s;
    return out;
  }

  double layers(NodeId id) const {
    const int group = tree_.nodes[id].group;
    return group < 0 ? 1 : number(analysis_.layers[static_cast<size_t>(group)]);
  }

  OpTime op(NodeId id) {
    const graph::Node& node = tree_.nodes[id];
    OpTime row;
    row.node = id;
    row.path = node.path;
    row.op = node.op->name;
    row.role = node.role;
    row.times = layers(id);
    const double copies = number(analysis_.in_layer[id]), times = row.times * copies;
    // The fullest rank of experts decides.
    bool experts = false;
    for (const int call : tree_.calls_around(id))
      experts = experts || tree_.calls[static_cast<size_t>(call)].splits_tokens;
    const double load = experts ? layout_.plan.ep_load_factor : 1;
    if (node.op->unit == spec::Unit::kMatmul)
      row.flops = number(analysis_.flops[id]) * times * share(layout_.work[id]) * load;
    const auto params = params_of_.find(id);
    double weights = 1;
    if (params != params_of_.end()) weights = share(layout_.params[params->second[0]]);
    row.weight_bytes = number(traffic_.weights[id]) * times * weights;
    for (const analysis::Move* move : moves_of_[id])
      row.activation_bytes += number(move->bytes) * times * load *
                              share(move->operand ? layout_.read[id][*move->operand] : layout_.made[id]);
    for (const analysis::Move* move : reads_of_[id])
      row.kv_read_bytes += number(move->bytes) * times * share(layout_.kept[move->entry]);
    row.kv_write_bytes = number(traffic_.kv_write[id]) * times * share(layout_.kept[id]);
    if (row.flops > 0) {
      row.matmul = "bf16";
      if (params != params_of_.end()) row.matmul = type_of(analysis_.params[params->second[0]]);
      std::optional<double> rate = gpu_.peak(row.matmul);
      if (!rate) {
        row.matmul = gpu_.peak("bf16") ? "bf16" : "fp16";
        rate = gpu_.peak(row.matmul);
      }
      row.compute_s = row.flops / *rate;
    }
    row.memory_s = row.bytes() / memory_rate_;
    return row;
  }

  // The type that products with a weight run in.
  std::string type_of(const analysis::Param& param) const {
    const auto scheme = matmul_of_.find({param.path, param.group < 0 ? -1 : 0});
    if (scheme == matmul_of_.end()) return "bf16";
    const auto found = tree_.library->quants().find(scheme->second);
    return found == tree_.library->quants().end() || found->second.matmul.empty() ? "bf16"
                                                                                  : found->second.matmul;
  }

  OpTime wire(const Collective& collective) const {
    OpTime row;
    row.node = collective.producer;
    row.collective = &collective;
    const graph::Node& node = tree_.nodes[collective.producer];
    row.path = node.path;
    row.role = node.role;
    row.op = std::string(collective.to_experts     ? "dispatch_all_to_all"
                         : collective.from_experts ? "combine_all_to_all"
                                                   : collective_name(collective.kind));
    row.times = number(collective.times);
    const double n = static_cast<double>(collective.ranks), part = (n - 1) / n;
    double width = number(analysis::width_of(analysis_, traffic_.activation_dtype));
    double elements = number(collective.elements);
    const bool exchange =
        collective.kind == CollectiveKind::kAllToAll && (collective.to_experts || collective.from_experts);
    if (exchange) {
      const WireFormat& format = collective.to_experts ? assumptions_.dispatch : assumptions_.combine;
      const NodeId id = collective.producer;
      const double vector = number(analysis_.shape[id].back());
      width = format.bytes_per_element + format.bytes_per_token / vector;
      if (format.once_per_rank) {
        const auto [experts, active] = routing(collective);
        elements *= distinct_ranks(experts, n, active) / active;
      }
      elements *= layout_.plan.ep_load_factor;
    }
    double bytes = elements * width;
    switch (collective.kind) {
      case CollectiveKind::kAllReduce:
        bytes *= 2 * part;
        break;
      case CollectiveKind::kAllGather:
      case CollectiveKind::kReduceScatter:
        bytes *= part;
        break;
      case CollectiveKind::kAllToAll:
        bytes *= part / n;
        break;
    }
    row.wire_bytes = bytes * row.times;
    // GPUs of the group that share a scale-up domain.
    const double domain = static_cast<double>(gpu_.gpus_per_domain),
                 stride = static_cast<double>(collective.stride);
    const double near = std::clamp(std::floor(domain / stride), 1.0, n);
    const double within = n > near ? row.wire_bytes * (near - 1) / (n - 1) : row.wire_bytes;
    const double beyond = row.wire_bytes - within;
    const double infinite = std::numeric_limits<double>::infinity();
    const double link = within > 0 ? (link_rate_ > 0 ? within / link_rate_ : infinite) : 0;
    const double network =
        beyond > 0 ? (gpu_.network_bytes_per_s > 0 ? beyond / gpu_.network_bytes_per_s : infinite) : 0;
    row.communication_s = std::max(link, network) + assumptions_.collective_latency_s * row.times;
    return row;
  }

  // Experts of the layer, and how many one token uses.
  std::pair<double, double> routing(const Collective& collective) const {
    for (const NodeId id : {collective.producer, collective.consumer})
      for (const int call : tree_.calls_around(id))
        if (tree_.calls[static_cast<size_t>(call)].splits_tokens)
          return {number(analysis_.copies[static_cast<size_t>(call)]),
                  number(analysis_.active[static_cast<size_t>(call)])};
    return {1, 1};
  }

  const Analysis& analysis_;
  const graph::SpecTree& tree_;
  const analysis::Traffic& traffic_;
  const LayoutTable& layout_;
  const Gpu& gpu_;
  const Assumptions& assumptions_;
  double memory_rate_ = 0, link_rate_ = 0;
  std::map<std::pair<std::string, int>, std::string> matmul_of_;  // scheme by path
  std::map<NodeId, std::vector<size_t>> params_of_;
  std::map<NodeId, std::vector<const analysis::Move*>> moves_of_, reads_of_;
  std::map<NodeId, std::vector<const Collective*>> collectives_of_;
};

}  // namespace

std::string_view bound_name(Bound bound) {
  switch (bound) {
    case Bound::kCompute:
      return "compute";
    case Bound::kMemory:
      return "memory";
    case Bound::kCommunication:
      return "communication";
  }
  return {};
}

Bound OpTime::bound() const {
  if (communication_s > std::max(compute_s, memory_s)) return Bound::kCommunication;
  return compute_s > memory_s ? Bound::kCompute : Bound::kMemory;
}

double StepTime::seconds() const {
  double sum = 0;
  for (const OpTime& row : ops) sum += row.seconds();
  return sum;
}

double StepTime::seconds_of(Bound bound) const {
  double sum = 0;
  for (const OpTime& row : ops)
    if (row.bound() == bound) sum += row.seconds();
  return sum;
}

StepTime step_time(const Analysis& analysis, const analysis::Traffic& traffic, const Analysis& stored,
                   const analysis::Storage& storage, const LayoutTable& layout, const Gpu& gpu,
                   const Assumptions& assumptions) {
  return Timer(analysis, traffic, stored, storage, layout, gpu, assumptions).run();
}

}  // namespace archlight::deploy
