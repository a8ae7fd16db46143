#include "guard/guards.h"

#include <algorithm>

#include "guard/analysis_guard.h"
#include "guard/axiom.h"
#include "guard/card.h"
#include "guard/duplicate.h"
#include "guard/forward.h"
#include "guard/schedule.h"
#include "guard/source.h"
#include "guard/structural.h"
#include "guard/wiring.h"

namespace archlight::guard {
namespace {

void run_analysis(const Subject& subject, Findings& out) {
  base::append(out.faults, check_phases(*subject.bill, &out.checks));
  out.checks += static_cast<int64_t>(subject.bill->quantities.size());
}

void run_wiring(const Subject& subject, Findings& out) {
  base::append(out.faults, check_wiring(*subject.bill, &out.checks));
}

constexpr Guard kGuards[] = {
    {.name = "shape",
     .checks = "every operand fits its op, in both phases, with dims as numbers and again as symbols",
     .against = "the op table's patterns; the model's dims"},
    {.name = "analysis",
     .checks = "both phases evaluate, and decode reads exactly the weights that prefill stores",
     .against = "the evaluation itself",
     .run = run_analysis},
    {.name = "wiring",
     .checks = "values flow as attention, caches and routing need",
     .against = "what holds for softmax attention and routed experts as such",
     .run = run_wiring},
    {.name = "schedule",
     .checks = "every config key that decides a number is read, and per-layer lists are covered exactly",
     .against = "the config; specs/config_keys.yaml",
     .run = check_schedule,
     .needs_bill = false},
    {.name = "structural",
     .checks = "dims, tying, rope, masks, windows, norms and kinds of layer; nothing declared and unused",
     .against = "the config, where it states a thing whatever the family",
     .run = check_structural},
    {.name = "axiom",
     .checks = "what is promised of caches, graphs and stored weights; of caches for every context length",
     .against = "the evaluation on symbols, or one context length that refutes it",
     .run = check_axioms},
    {.name = "source",
     .checks = "every anchor of the spec is found; each stream has a producer and a reader",
     .against = "the forward source, where it is at hand",
     .run = check_source},
    {.name = "weight",
     .checks = "every tensor's name, element count and bytes, both ways, and the totals",
     .against = "tensor headers; the index; recorded totals; file sizes"},
    {.name = "packing",
     .checks = "every tensor's stored shape and dtype",
     .against = "tensor headers and the schemes of specs/quant"},
    {.name = "forward",
     .strength = Strength::kAdvises,
     .checks = "modules are called in the graph's order, and a layer adds as often to its residual",
     .against = "forward() of the classes that anchors name",
     .run = check_forward},
    {.name = "card",
     .strength = Strength::kAdvises,
     .checks = "the number of parameters",
     .against = "what the model card says of it",
     .run = check_card},
    {.name = "duplicate",
     .strength = Strength::kAdvises,
     .checks = "no draft and no model says nearly what another says",
     .against = "the other files of specs",
     .run = check_duplicates},
};

}  // namespace

std::string_view strength_name(Strength strength) {
  switch (strength) {
    case Strength::kBlocks:
      return "blocks";
    case Strength::kAdvises:
      return "advises";
  }
  return {};
}

std::span<const Guard> guards() {
  return kGuards;
}

const Guard* find_guard(std::string_view name) {
  const auto it = std::ranges::find(kGuards, name, &Guard::name);
  return it == std::end(kGuards) ? nullptr : it;
}

std::vector<std::string> guard_names() {
  std::vector<std::string> out;
  for (const Guard& guard : kGuards) out.emplace_back(guard.name);
  return out;
}

}  // namespace archlight::guard
