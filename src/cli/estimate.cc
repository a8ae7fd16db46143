#include "deploy/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/units.h"
#include "cli/commands.h"

namespace archlight::cli {
namespace {

using base::Result;

std::string ms(double seconds) {
  return fmt::format("{:.3f} ms", seconds * 1e3);
}

void step_table(const deploy::StepTime& step, std::ostream& out) {
  std::map<std::pair<std::string, std::string>, std::vector<double>> by_role;
  std::vector<std::vector<std::string>> rows;
  for (const deploy::OpTime& op : step.ops)
    rows.push_back({op.path, op.op, op.matmul, fmt::format("{:.0f}", op.times),
                    fmt::format("{:.3f}", op.compute_s * 1e3), fmt::format("{:.3f}", op.memory_s * 1e3),
                    fmt::format("{:.3f}", op.communication_s * 1e3),
                    std::string(deploy::bound_name(op.bound()))});
  out << table({"", "", "", ">layers", ">compute ms", ">memory ms", ">comm ms", "bound"}, rows, "  ");
  const double all = step.seconds();
  out << fmt::format("  {}: memory {:.1f} %, communication {:.1f} %, compute {:.1f} %\n", ms(all),
                     100 * step.seconds_of(deploy::Bound::kMemory) / all,
                     100 * step.seconds_of(deploy::Bound::kCommunication) / all,
                     100 * step.seconds_of(deploy::Bound::kCompute) / all);
}

}  // namespace

int estimate(const std::string& model, const EstimateOptions& shape, const Options& options,
             std::ostream& out, std::ostream& err) {
  Result<std::string> home = base::home_folder();
  if (!home) return no_answer(home.faults(), options, out, err);
  Result<deploy::Gpu> gpu = deploy::find_gpu(*home + "/specs/gpus", shape.gpu);
  if (!gpu) return no_answer(gpu.faults(), options, out, err);
  Result<deploy::Plan> plan = deploy::parse_plan(shape.plan);
  if (!plan) return no_answer(plan.faults(), options, out, err);
  Result<deploy::Assumptions> assumptions =
      deploy::load_assumptions(*home + "/specs/assumptions", shape.assumptions);
  if (!assumptions) return no_answer(assumptions.faults(), options, out, err);
  Result<std::shared_ptr<const Session>> session = open_session(model, options);
  if (!session) return no_answer(session.faults(), options, out, err);
  deploy::Request request;
  request.plan = *plan;
  request.input_tokens = shape.input_tokens;
  request.output_tokens = shape.output_tokens;
  if (shape.batch > 0) request.batch = shape.batch;
  Result<deploy::Estimate> answer = deploy::estimate((*session)->library, (*session)->binding,
                                                     (*session)->report.choice, *gpu, *assumptions, request);
  if (!answer) return no_answer(answer.faults(), options, out, err);
  out << fmt::format("{} on {} x {}, {}\n", shown_name(**session), plan->gpus(), gpu->name, plan->text());
  out << fmt::format("  weights {} of {} usable, {} for the cache; {} a request; {} requests of {} tokens\n",
                     base::human_binary_bytes(answer->weight_bytes),
                     base::human_binary_bytes(answer->usable_bytes),
                     base::human_binary_bytes(answer->cache_budget_bytes),
                     base::human_binary_bytes(answer->cache_per_request_bytes), answer->most_requests,
                     shape.input_tokens + shape.output_tokens);
  out << "Decode\n";
  step_table(answer->decode, out);
  out << "Prefill\n";
  step_table(answer->prefill, out);
  out << fmt::format("  TTFT {}, TPOT {}, {:.0f} tokens/s per GPU\n", ms(answer->ttft_s()),
                     ms(answer->tpot_s()), answer->tokens_per_s_per_gpu());
  return kVerified;
}

}  // namespace archlight::cli
