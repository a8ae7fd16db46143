// estimate: a deployment in text and JSON. Times are of the speed of light: no implementation is faster.
#include "deploy/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/units.h"
#include "cli/commands.h"

namespace archlight::cli {
namespace {

using base::Json;
using base::Result;
using deploy::Bound;
using deploy::OpTime;
using deploy::StepTime;

constexpr Bound kBounds[] = {Bound::kMemory, Bound::kCommunication, Bound::kCompute};

std::string milliseconds(double seconds) {
  return fmt::format("{:.3f} ms", seconds * 1e3);
}

// A share as a picture: twenty cells.
std::string bar(double share) {
  return std::string(static_cast<size_t>(std::lround(std::clamp(share, 0.0, 1.0) * 20)), '#');
}

std::string counted(double value) {
  return base::with_commas(static_cast<base::Int128>(std::llround(value)));
}

std::map<std::string, double> by_role(const StepTime& step) {
  std::map<std::string, double> out;
  for (const OpTime& row : step.ops)
    out[row.collective ? "communication" : row.role.empty() ? "other" : row.role] += row.seconds();
  return out;
}

std::string step_text(const StepTime& step, size_t longest) {
  const double all = step.seconds();
  std::vector<std::vector<std::string>> shares;
  for (const Bound bound : kBounds) {
    const double share = step.seconds_of(bound) / all;
    shares.push_back(
        {std::string(deploy::bound_name(bound)), fmt::format("{:.1f} %", 100 * share), bar(share)});
  }
  std::string out = "  bound by\n" + table({"", ">", ""}, shares, "    ");
  std::vector<std::pair<double, std::string>> roles;
  for (const auto& [role, seconds] : by_role(step)) roles.emplace_back(-seconds, role);
  std::ranges::sort(roles);
  shares.clear();
  for (const auto& [seconds, role] : roles)
    shares.push_back(
        {role, milliseconds(-seconds), fmt::format("{:.1f} %", 100 * -seconds / all), bar(-seconds / all)});
  out += "  by role\n" + table({"", ">", ">", ""}, shares, "    ");
  std::vector<const OpTime*> rows;
  for (const OpTime& row : step.ops) rows.push_back(&row);
  std::ranges::stable_sort(rows,
                           [](const OpTime* a, const OpTime* b) { return a->seconds() > b->seconds(); });
  const size_t shown = std::min(longest, rows.size());
  std::vector<std::vector<std::string>> lines;
  double rest = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const OpTime& row = *rows[i];
    if (i >= shown) {
      rest += row.seconds();
      continue;
    }
    lines.push_back({row.path, row.op, row.matmul, fmt::format("{:.0f}", row.times),
                     fmt::format("{:.3f}", row.compute_s * 1e3), fmt::format("{:.3f}", row.memory_s * 1e3),
                     fmt::format("{:.3f}", row.communication_s * 1e3),
                     std::string(deploy::bound_name(row.bound()))});
  }
  out += fmt::format("  the {} ops that take longest, all their layers together, in ms\n", shown) +
         table({"", "", "type", ">layers", ">compute", ">memory", ">wire", "bound"}, lines, "    ");
  if (rows.size() > shown)
    out += fmt::format("    {} more ops: {} together (--ops {} shows them)\n", rows.size() - shown,
                       milliseconds(rest), rows.size());
  return out;
}

Json step_json(const StepTime& step) {
  Json out = {{"step_s", step.seconds()}, {"ops", Json::array()}};
  for (const Bound bound : kBounds)
    out["bound_by"][std::string(deploy::bound_name(bound)) + "_s"] = step.seconds_of(bound);
  for (const auto& [role, seconds] : by_role(step)) out["by_role"][role + "_s"] = seconds;
  for (const OpTime& row : step.ops) {
    Json op = {{"path", row.path},
               {"op", row.op},
               {"role", row.role},
               {"layers", row.times},
               {"flops", row.flops},
               {"weight_bytes", row.weight_bytes},
               {"activation_bytes", row.activation_bytes},
               {"kv_read_bytes", row.kv_read_bytes},
               {"kv_write_bytes", row.kv_write_bytes},
               {"wire_bytes", row.wire_bytes},
               {"compute_s", row.compute_s},
               {"memory_s", row.memory_s},
               {"communication_s", row.communication_s},
               {"bound", deploy::bound_name(row.bound())}};
    if (!row.matmul.empty()) op["matmul"] = row.matmul;
    if (row.collective) op["ranks_gpus"] = row.collective->ranks;
    out["ops"].push_back(std::move(op));
  }
  return out;
}

Json estimate_json(const Session& session, const deploy::Estimate& answer, const EstimateOptions& shape) {
  const deploy::Plan& plan = answer.request.plan;
  const auto groups = static_cast<double>(answer.groups());
  Json out = {{"schema", "archlight.estimate/1"},
              {"model", shown_name(session)},
              {"evidence", evidence_json(session)},
              {"gpu", {{"id", answer.gpu.id}, {"name", answer.gpu.name}}},
              {"plan", {{"text", plan.text()}, {"total_gpus", plan.gpus()}, {"groups", answer.groups()}}},
              {"assumptions", {{"name", answer.assumptions.name}, {"label", answer.assumptions.label}}},
              {"input_tokens", answer.request.input_tokens},
              {"output_tokens", answer.request.output_tokens},
              {"memory",
               {{"gpu_bytes", answer.memory_bytes},
                {"usable_bytes", answer.usable_bytes},
                {"weight_bytes", answer.weight_bytes},
                {"cache_budget_bytes", answer.cache_budget_bytes},
                {"cache_per_request_bytes", answer.cache_per_request_bytes},
                {"most_requests", answer.most_requests}}},
              {"batch_requests", answer.batch},
              {"decode", step_json(answer.decode)},
              {"prefill", step_json(answer.prefill)},
              {"ttft_s", answer.ttft_s()},
              {"tpot_s", answer.tpot_s()},
              {"tokens_per_s_per_gpu", answer.tokens_per_s_per_gpu()},
              {"input_tokens_per_s_per_gpu", static_cast<double>(answer.request.input_tokens) * groups /
                                                 answer.ttft_s() / static_cast<double>(plan.gpus())}};
  if (shape.usd_per_gpu_hour > 0) {
    const double per_s = shape.usd_per_gpu_hour / 3600;
    out["per_million_output_tokens_usd"] = per_s / answer.tokens_per_s_per_gpu() * 1e6;
    out["per_million_input_tokens_usd"] = per_s / out["input_tokens_per_s_per_gpu"].get<double>() * 1e6;
  }
  if (answer.gpu.tdp_w > 0) out["output_token_joules"] = answer.gpu.tdp_w / answer.tokens_per_s_per_gpu();
  return out;
}

void estimate_text(const Session& session, const deploy::Estimate& answer, const EstimateOptions& shape,
                   std::ostream& out) {
  const deploy::Plan& plan = answer.request.plan;
  const int64_t context = answer.request.input_tokens + answer.request.output_tokens;
  out << fmt::format("{} on {} x {}, {}\n", shown_name(session), plan.gpus(), answer.gpu.name, plan.text());
  out << "  evidence     " << evidence_line(session) << "\n";
  out << "  assumptions  " << answer.assumptions.name << ": " << answer.assumptions.label << "\n";
  out << "  times        speed of light: each op at the largest of its compute, memory and wire time, one "
         "after the "
         "other\n\n";
  const auto gib = [](double bytes) { return base::human_binary_bytes(bytes); };
  const auto share = [&](double bytes) { return bar(bytes / answer.memory_bytes); };
  out << "Memory of one GPU\n"
      << table({"", ">", ""},
               {{"memory", gib(answer.memory_bytes), share(answer.memory_bytes)},
                {fmt::format("usable ({:.0f} %)", 100 * answer.assumptions.usable_memory),
                 gib(answer.usable_bytes), share(answer.usable_bytes)},
                {"weights", gib(answer.weight_bytes), share(answer.weight_bytes)},
                {"left for the cache", gib(answer.cache_budget_bytes), share(answer.cache_budget_bytes)},
                {fmt::format("cache of one request, {} tokens", base::with_commas(context)),
                 gib(answer.cache_per_request_bytes), ""}},
               "  ");
  out << fmt::format("  {} requests fit in each of {} attention groups, limited by the cache\n\n",
                     base::with_commas(answer.most_requests), answer.groups());
  out << fmt::format("Decode: {} requests in each group at context {}\n", base::with_commas(answer.batch),
                     base::with_commas(context));
  out << fmt::format("  TPOT {}, {} tokens/s per GPU, {} in all\n", milliseconds(answer.tpot_s()),
                     counted(answer.tokens_per_s_per_gpu()),
                     counted(answer.tokens_per_s_per_gpu() * static_cast<double>(plan.gpus())));
  out << step_text(answer.decode, shape.ops) << "\n";
  out << fmt::format("Prefill: one request of {} tokens in each group\n",
                     base::with_commas(answer.request.input_tokens));
  out << fmt::format("  TTFT {}\n", milliseconds(answer.ttft_s())) << step_text(answer.prefill, shape.ops);
  const Json all = estimate_json(session, answer, shape);
  if (all.contains("per_million_output_tokens_usd"))
    out << fmt::format(
        "\nAt {} USD per GPU and hour: {:.4f} USD per million output tokens, {:.4f} per million input "
        "tokens\n",
        shape.usd_per_gpu_hour, all["per_million_output_tokens_usd"].get<double>(),
        all["per_million_input_tokens_usd"].get<double>());
}

}  // namespace

int estimate(const std::string& model, const EstimateOptions& shape, const Options& options,
             std::ostream& out, std::ostream& err) {
  Result<std::string> home = base::home_folder();
  if (!home) return no_answer(home.faults(), options, out, err);
  base::Faults faults;
  Result<deploy::Gpu> gpu = deploy::find_gpu(*home + "/specs/gpus", shape.gpu);
  if (!gpu) append(faults, gpu.faults());
  Result<deploy::Plan> plan = deploy::parse_plan(shape.plan);
  if (!plan) append(faults, plan.faults());
  Result<deploy::Assumptions> assumptions =
      deploy::load_assumptions(*home + "/specs/assumptions", shape.assumptions);
  if (!assumptions) append(faults, assumptions.faults());
  if (!faults.empty()) return no_answer(faults, options, out, err);
  Result<std::shared_ptr<const Session>> opened = open_session(model, options);
  if (!opened) return no_answer(opened.faults(), options, out, err);
  const Session& session = **opened;
  if (!session.report.bill) return no_bill(session, options, out, err);
  deploy::Request request;
  request.plan = *plan;
  request.input_tokens = shape.input_tokens;
  request.output_tokens = shape.output_tokens;
  if (shape.batch > 0) request.batch = shape.batch;
  Result<deploy::Estimate> answer =
      deploy::estimate(session.library, session.binding, session.report.choice, *gpu, *assumptions, request);
  if (!answer) return no_answer(answer.faults(), options, out, err);
  if (options.json)
    print_json(out, estimate_json(session, *answer, shape));
  else
    estimate_text(session, *answer, shape, out);
  return session.report.verdict == guard::Verdict::kWrong ? kWrong : kVerified;
}

int gpus(const Options& options, std::ostream& out, std::ostream& err) {
  Result<std::string> home = base::home_folder();
  if (!home) return no_answer(home.faults(), options, out, err);
  Result<std::map<std::string, deploy::Gpu>> all = deploy::load_gpus(*home + "/specs/gpus");
  if (!all) return no_answer(all.faults(), options, out, err);
  Json rows = Json::array();
  std::vector<std::vector<std::string>> lines;
  for (const auto& [id, gpu] : *all) {
    Json row = {{"id", id},
                {"name", gpu.name},
                {"vendor", gpu.vendor},
                {"memory_bytes", gpu.memory_bytes},
                {"memory_bytes_per_s", gpu.memory_bytes_per_s},
                {"node_gpus", gpu.gpus_per_node},
                {"domain_gpus", gpu.gpus_per_domain},
                {"sources", gpu.sources},
                {"peak_flops_per_s", gpu.peak_flops_per_s}};
    if (gpu.link_bytes_per_s > 0) row["link_bytes_per_s"] = gpu.link_bytes_per_s;
    if (gpu.network_bytes_per_s > 0) row["network_bytes_per_s"] = gpu.network_bytes_per_s;
    if (gpu.tdp_w > 0) row["tdp_watts"] = gpu.tdp_w;
    rows.push_back(std::move(row));
    const auto rate = [&](const char* dtype) {
      const std::optional<double> peak = gpu.peak(dtype);
      return peak ? fmt::format("{:.0f}", *peak / 1e12) : std::string("-");
    };
    lines.push_back({id, gpu.name, base::human_binary_bytes(static_cast<double>(gpu.memory_bytes)),
                     fmt::format("{:.0f}", gpu.memory_bytes_per_s / 1e9),
                     rate(gpu.peak("bf16") ? "bf16" : "fp16"), rate("fp8"), rate("fp4"), rate("int8"),
                     gpu.link_bytes_per_s > 0 ? fmt::format("{:.0f}", gpu.link_bytes_per_s / 1e9) : "-",
                     std::to_string(gpu.gpus_per_domain)});
  }
  if (options.json)
    print_json(out, {{"schema", "archlight.gpus/1"}, {"gpus", rows}});
  else
    out << table(
        {"", "", ">memory", ">GB/s", ">BF16 TFLOP/s", ">FP8", ">FP4", ">INT8", ">link GB/s", ">domain"},
        lines);
  return kVerified;
}

}  // namespace archlight::cli
