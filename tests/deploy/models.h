// models.h: real models bound for deployment tests.
#pragma once

#include "deploy/estimate.h"
#include "support/bills.h"
#include "truth/snapshot.h"

namespace archlight::testing {

inline base::Result<Bound> snapshot_model(const std::string& repo) {
  const std::optional<std::string> file = truth::find_snapshot(ARCHLIGHT_SOURCE_DIR, repo);
  if (!file) return base::fault_at({}, "no snapshot of " + repo);
  const base::Result<truth::Truth> truth = truth::read_snapshot(*file);
  if (!truth) return truth.faults();
  const base::Result<const spec::Model*> model = own_library()->model_for(*truth->config);
  if (!model) return model.faults();
  base::Result<spec::Binding> binding = spec::bind(**model, truth->config, truth->quant_config);
  if (!binding) return binding.faults();
  return Bound{own_library(), std::make_shared<const spec::Binding>(std::move(*binding))};
}

inline deploy::Plan plan_of(const std::string& text) {
  const base::Result<deploy::Plan> plan = deploy::parse_plan(text);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : messages(plan.faults()));
  return plan.ok() ? *plan : deploy::Plan{};
}

inline base::Result<deploy::Estimate> estimate_of(const std::string& repo, const std::string& gpu,
                                                  const std::string& assumptions,
                                                  const deploy::Request& request) {
  const base::Result<Bound> bound = snapshot_model(repo);
  if (!bound) return bound.faults();
  const base::Result<deploy::Gpu> found = deploy::find_gpu(ARCHLIGHT_SOURCE_DIR "/specs/gpus", gpu);
  if (!found) return found.faults();
  const base::Result<deploy::Assumptions> set =
      deploy::load_assumptions(ARCHLIGHT_SOURCE_DIR "/specs/assumptions", assumptions);
  if (!set) return set.faults();
  return deploy::estimate(bound->library, bound->binding, {}, *found, *set, request);
}

}  // namespace archlight::testing
