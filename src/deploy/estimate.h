// estimate.h: what a model costs to serve on given GPUs under a plan: whether it fits, how many requests at once, how long a
// step takes.
//
// Memory   Weights of one GPU under the layout, without what is counted apart; the cache of one request on the GPUs that serve
//          it, each entry by its own law at the full context; what is left decides how many requests fit.
// Time     TTFT: a prefill of one request per attention group. TPOT: one decode step of the whole batch at the full context.
// Units    Bytes, seconds, requests, tokens/s.
// Errors   A plan that does not fit the model, weights that leave no room, a batch past what fits.
// Source   docs/sources.md#estimate.
#pragma once

#include <memory>
#include <optional>

#include "deploy/step.h"

namespace archlight::deploy {

struct Request {
  Plan plan;
  int64_t input_tokens = 1024, output_tokens = 1024;
  std::optional<int64_t> batch;  // requests of one attention group; none: as many as fit
};

struct Estimate {
  Request request;
  Gpu gpu;
  Assumptions assumptions;
  double memory_bytes = 0, usable_bytes = 0, weight_bytes = 0, cache_budget_bytes = 0;
  double cache_per_request_bytes = 0;
  int64_t most_requests = 0, batch = 0;  // of one attention group
  LayoutTable decode_layout, prefill_layout;
  StepTime decode, prefill;

  int64_t groups() const { return request.plan.dp; }
  double ttft_s() const { return prefill.seconds(); }
  double tpot_s() const { return decode.seconds(); }
  double tokens_per_s_per_gpu() const;
};

base::Result<Estimate> estimate(std::shared_ptr<const spec::Library> library,
                                std::shared_ptr<const spec::Binding> binding,
                                const analysis::StorageChoice& choice, const Gpu& gpu,
                                const Assumptions& assumptions, const Request& request);

}  // namespace archlight::deploy
