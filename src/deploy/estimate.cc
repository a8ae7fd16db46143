#include "deploy/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/units.h"
#include "base/yaml.h"

namespace archlight::deploy {
namespace {

using base::fault_at;
using base::Result;

double number(const expr::Expr& e) {
  const std::optional<expr::Rational> value = e.constant();
  return value ? to_double(*value) : 0;
}

// Bytes of the main model's weights on one GPU.
double weights_on_gpu(const analysis::Bill& bill, const LayoutTable& layout) {
  double sum = 0;
  for (const analysis::StoredTensor& tensor : bill.storage.tensors) {
    if (!tensor.present || !tensor.apart.empty()) continue;
    double bytes = number(tensor.bytes()) * number(tensor.count);
    if (tensor.param < layout.params.size())
      bytes *=
          to_double(layout.share(layout.params[tensor.param])) * to_double(layout.param_extra[tensor.param]);
    sum += bytes;
  }
  return sum;
}

// Bytes that one request's cache takes on each GPU of its group; batch is one request per group.
double cache_of_request(const analysis::Bill& bill, const LayoutTable& layout) {
  double sum = 0;
  const analysis::Analysis& decode = *bill.decode;
  for (const analysis::Cache& cache : decode.caches) {
    if (!cache.apart.empty()) continue;
    const double layers = cache.group < 0 ? 1 : number(decode.layers[static_cast<size_t>(cache.group)]);
    double bytes = number(analysis::entry_tokens(decode, cache)) *
                   number(analysis::entry_bytes(decode, cache, bill.decode_traffic)) * layers *
                   number(decode.in_layer[cache.node]);
    const Layout& kept = layout.kept[cache.node];
    for (size_t m = 0; m < kept.size(); ++m)
      if (kept[m].is_sharded() && kept[m].axis != 0) bytes /= static_cast<double>(layout.mesh.axes[m].size);
    sum += bytes;
  }
  return sum;
}

}  // namespace

double Estimate::tokens_per_s_per_gpu() const {
  return static_cast<double>(batch * groups()) / tpot_s() / static_cast<double>(request.plan.gpus());
}

Result<Estimate> estimate(std::shared_ptr<const spec::Library> library,
                          std::shared_ptr<const spec::Binding> binding, const analysis::StorageChoice& choice,
                          const Gpu& gpu, const Assumptions& assumptions, const Request& request) {
  Estimate out;
  out.request = request;
  out.gpu = gpu;
  out.assumptions = assumptions;
  if (request.plan.pp > 1)
    return fault_at({}, fmt::format("pp={} is not estimated yet", request.plan.pp), "pp=1");
  if (!gpu.peak("bf16") && !gpu.peak("fp16"))
    return fault_at(
        {}, fmt::format("no rate of 16-bit matrix products is published for {} ({})", gpu.name, gpu.id),
        "a GPU whose file has bf16 or fp16 under 'peak_dense_flops_per_s'");
  if (binding->model->prefill_only)
    return fault_at({}, "the model has no decode phase", "a model that generates tokens");
  const int64_t groups = request.plan.dp, context = request.input_tokens + request.output_tokens;
  analysis::BillInput input{groups, request.input_tokens, context};
  Result<std::shared_ptr<const analysis::Bill>> one =
      analysis::make_bill(library, binding, analysis::Dims::kNumbers, input, choice);
  if (!one) return one.faults();
  Result<LayoutTable> layout = propagate(*(*one)->prefill, request.plan);
  if (!layout) return layout.faults();
  if (base::Faults faults = check_blocks(*(*one)->prefill, (*one)->storage, *layout); !faults.empty())
    return faults;
  Result<LayoutTable> decode_layout = propagate(*(*one)->decode, request.plan);
  if (!decode_layout) return decode_layout.faults();
  out.memory_bytes = static_cast<double>(gpu.memory_bytes);
  out.usable_bytes = out.memory_bytes * assumptions.usable_memory;
  out.weight_bytes = weights_on_gpu(**one, *layout);
  out.cache_budget_bytes = out.usable_bytes - out.weight_bytes - assumptions.reserved_bytes;
  out.cache_per_request_bytes = cache_of_request(**one, *decode_layout);
  if (out.cache_budget_bytes <= 0)
    return fault_at({},
                    fmt::format("the weights of {} take {} of each {}, of which {} may be used",
                                request.plan.text(), base::human_binary_bytes(out.weight_bytes), gpu.name,
                                base::human_binary_bytes(out.usable_bytes)),
                    "weights that leave room for a cache",
                    "more GPUs, a larger ep or tp, or fewer bits per weight");
  if (!(out.cache_per_request_bytes > 0))
    return fault_at({}, "the model keeps no cache, so it makes no tokens one after the other",
                    "a model that generates tokens");
  out.most_requests = static_cast<int64_t>(std::floor(out.cache_budget_bytes / out.cache_per_request_bytes));
  if (out.most_requests < 1)
    return fault_at({},
                    fmt::format("one request of {} tokens takes {} of cache on a GPU with {} left", context,
                                base::human_binary_bytes(out.cache_per_request_bytes),
                                base::human_binary_bytes(out.cache_budget_bytes)),
                    "room for one request", "more GPUs, a shorter context, or fewer bits per cached element");
  out.batch = request.batch.value_or(out.most_requests);
  if (out.batch > out.most_requests)
    return fault_at({}, fmt::format("a batch of {} requests per attention group does not fit", out.batch),
                    fmt::format("at most {}, which the cache leaves room for", out.most_requests));
  out.prefill = step_time(*(*one)->prefill, (*one)->prefill_traffic, *(*one)->prefill, (*one)->storage,
                          *layout, gpu, assumptions);
  input.batch = out.batch * groups;
  Result<std::shared_ptr<const analysis::Bill>> all =
      analysis::make_bill(library, binding, analysis::Dims::kNumbers, input, choice);
  if (!all) return all.faults();
  Result<LayoutTable> full = propagate(*(*all)->decode, request.plan);
  if (!full) return full.faults();
  out.decode = step_time(*(*all)->decode, (*all)->decode_traffic, *(*all)->prefill, (*all)->storage, *full,
                         gpu, assumptions);
  // Rows point at collectives of these layouts, whose vectors move along.
  out.prefill_layout = *std::move(layout);
  out.decode_layout = *std::move(full);
  return out;
}

}  // namespace archlight::deploy
