#include "deploy/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/yaml.h"

namespace archlight::deploy {
namespace {

using base::fault_at;
using base::Faults;
using base::Result;

struct Degree {
  const char* key;
  int64_t Plan::*field;
};
constexpr Degree kDegrees[] = {
    {"tp", &Plan::tp},
    {"dp", &Plan::dp},
    {"cp", &Plan::cp},
    {"pp", &Plan::pp},
    {"ep", &Plan::ep},
    {"expert_tp", &Plan::expert_tp},
    {"dense_tp", &Plan::dense_tp},
    {"vocab_tp", &Plan::vocab_tp},
    {"dcp", &Plan::dcp},
    {"redundant_experts", &Plan::redundant_experts},
};
constexpr int64_t kMostGpus = 1 << 20;

std::vector<std::string> plan_keys() {
  std::vector<std::string> out;
  for (const Degree& degree : kDegrees) out.emplace_back(degree.key);
  out.insert(out.end(), {"ep_load_factor", "sp", "cp_scheme", "exchange"});
  return out;
}

template <typename T>
bool number(std::string_view text, T& value) {
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && at == text.data() + text.size();
}

}  // namespace

std::string Plan::text() const {
  std::string out;
  const Plan plain;
  for (const Degree& degree : kDegrees)
    if (this->*degree.field != plain.*degree.field)
      out += fmt::format("{}{}={}", out.empty() ? "" : ",", degree.key, this->*degree.field);
  const auto put = [&](bool differs, const std::string& word) {
    if (differs) out += (out.empty() ? "" : ",") + word;
  };
  put(ep_load_factor != 1.0, fmt::format("ep_load_factor={}", ep_load_factor));
  put(sequence_parallel, "sp=1");
  put(context == ContextScheme::kUlysses, "cp_scheme=ulysses");
  put(exchange == ExpertExchange::kAllGather, "exchange=all_gather");
  return out.empty() ? "one GPU" : out;
}

Result<Plan> parse_plan(const std::string& text) {
  Plan out;
  Faults faults;
  const auto fail = [&](std::string wrong, std::string expected, std::string fix = {}) {
    faults.push_back(fault_at({}, std::move(wrong), std::move(expected), std::move(fix)));
  };
  std::vector<std::string> seen;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find(',', from), text.size());
    const std::string part = text.substr(from, end - from);
    from = end + 1;
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) {
      fail("'" + part + "' in the plan is no KEY=VALUE", "degrees as in tp=8,ep=8");
      continue;
    }
    const std::string key = part.substr(0, equals), value = part.substr(equals + 1);
    if (std::ranges::find(seen, key) != seen.end()) {
      fail("the plan says '" + key + "' twice", "each key once");
      continue;
    }
    seen.push_back(key);
    if (key == "ep_load_factor") {
      if (!number(value, out.ep_load_factor) || !(out.ep_load_factor >= 1) || out.ep_load_factor > 1e6)
        fail("ep_load_factor is '" + value + "'",
             "a number of at least 1: the fullest rank's tokens over the mean");
    } else if (key == "sp") {
      if (value != "0" && value != "1") fail("sp is '" + value + "'", "0 or 1");
      out.sequence_parallel = value == "1";
    } else if (key == "cp_scheme") {
      if (value != "gather" && value != "ulysses") fail("cp_scheme is '" + value + "'", "gather or ulysses");
      if (value == "ulysses") out.context = ContextScheme::kUlysses;
    } else if (key == "exchange") {
      if (value != "all_to_all" && value != "all_gather")
        fail("exchange is '" + value + "'", "all_to_all or all_gather");
      if (value == "all_gather") out.exchange = ExpertExchange::kAllGather;
    } else if (const auto row = std::ranges::find(kDegrees, key, &Degree::key); row != std::end(kDegrees)) {
      const int64_t least = key == "redundant_experts" ? 0 : 1;
      if (!number(value, out.*row->field) || out.*row->field < least || out.*row->field > kMostGpus)
        fail(key + " is '" + value + "'", fmt::format("a whole number from {} to {}", least, kMostGpus));
    } else {
      std::string all;
      for (const std::string& known : plan_keys()) all += (all.empty() ? "" : ", ") + known;
      fail("the plan has no '" + key + "'", "one of " + all, base::did_you_mean(key, plan_keys()));
    }
  }
  if (!faults.empty()) return faults;
  return out;
}

int64_t Mesh::gpus() const {
  int64_t out = 1;
  for (const MeshAxis& axis : axes) out *= axis.size;
  return out;
}

Result<Mesh> make_mesh(const Plan& plan, const std::vector<int64_t>& head_counts) {
  Faults faults;
  const auto fail = [&](std::string wrong, std::string expected, std::string fix = {}) {
    faults.push_back(fault_at({}, std::move(wrong), std::move(expected), std::move(fix)));
  };
  const int64_t stage = plan.stage_gpus();
  if (plan.tp > kMostGpus / plan.dp || plan.tp * plan.dp > kMostGpus / plan.cp)
    return fault_at({}, "the plan has more than 1,048,576 GPUs in a stage", "tp*dp*cp below that");
  if (stage % plan.ep != 0) {
    int64_t most = plan.ep;
    while (most > 1 && stage % most != 0) --most;
    return fault_at({},
                    fmt::format("ep={} does not divide the {} GPUs of a stage (tp*dp*cp)", plan.ep, stage),
                    fmt::format("a divisor of {}", stage), fmt::format("try ep={}", most));
  }
  const int64_t expert_tp = plan.expert_tp ? plan.expert_tp : stage / plan.ep;
  if (expert_tp * plan.ep != stage)
    fail(fmt::format("ep={} times expert_tp={} is {}", plan.ep, expert_tp, plan.ep * expert_tp),
         fmt::format("the {} GPUs of a stage, tp*dp*cp", stage),
         fmt::format("try expert_tp={}", stage / plan.ep));
  const int64_t dense_tp = plan.dense_tp ? plan.dense_tp : plan.tp;
  const int64_t vocab_tp = plan.vocab_tp ? plan.vocab_tp : plan.tp;
  if (plan.tp % plan.dcp != 0)
    fail(fmt::format("dcp={} does not divide tp={}", plan.dcp, plan.tp),
         "a divisor of tp, whose GPUs it uses");
  // Sizes of the worlds, from the innermost rank on; each pair must nest.
  std::vector<std::pair<int64_t, std::string>> bounds = {
      {plan.tp, "tp"},        {plan.tp * plan.cp, "tp*cp"}, {stage, "tp*cp*dp"}, {expert_tp, "expert_tp"},
      {dense_tp, "dense_tp"}, {vocab_tp, "vocab_tp"},       {plan.dcp, "dcp"}};
  for (const int64_t heads : head_counts)
    if (heads > 0 && heads < plan.tp && plan.tp % heads == 0)
      bounds.emplace_back(plan.tp / heads, fmt::format("tp over {} heads", heads));
  std::ranges::sort(bounds);
  for (size_t i = 0; i + 1 < bounds.size() && faults.empty(); ++i)
    if (bounds[i + 1].first % bounds[i].first != 0)
      fail(fmt::format("{} = {} and {} = {} do not nest", bounds[i].second, bounds[i].first,
                       bounds[i + 1].second, bounds[i + 1].first),
           "degrees of which the smaller divides the larger, so that each GPU has one place in both");
  if (faults.empty() && bounds.back().first > stage)
    fail(fmt::format("{} = {} is more than the {} GPUs of a stage", bounds.back().second, bounds.back().first,
                     stage),
         "at most tp*dp*cp");
  if (!faults.empty()) return faults;
  Mesh out;
  int64_t below = 1;
  for (const auto& [bound, name] : bounds) {
    if (bound == below) continue;
    MeshAxis axis;
    axis.size = bound / below;
    axis.stride = below;
    axis.tp = bound <= plan.tp;
    axis.cp = !axis.tp && bound <= plan.tp * plan.cp;
    axis.dp = !axis.tp && !axis.cp;
    axis.dcp = bound <= plan.dcp;
    axis.expert_tp = bound <= expert_tp;
    axis.ep = !axis.expert_tp;
    axis.dense = bound <= dense_tp;
    axis.vocab = bound <= vocab_tp;
    axis.name = axis.tp ? "tp" : axis.cp ? "cp" : "dp";
    out.axes.insert(out.axes.begin(), axis);
    below = bound;
  }
  for (MeshAxis& axis : out.axes) {
    const std::string base = axis.name.substr(0, 2);
    const auto alike = [&](const MeshAxis& other) { return other.name.substr(0, 2) == base; };
    if (std::ranges::count_if(out.axes, alike) < 2) continue;
    int at = 0;
    for (MeshAxis& each : out.axes)
      if (alike(each)) each.name = fmt::format("{}.{}", base, ++at);
  }
  return out;
}

}  // namespace archlight::deploy
