#include "guard/structural.h"

#include <nlohmann/json.hpp>

#include "graph/tree.h"

namespace archlight::guard {
namespace {

void dims_as_stated(const analysis::Bill& bill, int64_t* checks, base::Faults* faults) {
  const spec::Model& model = *bill.binding->model;
  for (const spec::DimDecl& dim : model.dims) {
    const auto info = bill.library->dims().find(dim.name);
    const spec::BoundDim* bound = bill.binding->find(dim.name);
    if (info == bill.library->dims().end() || !bound) continue;
    for (const std::string& key : info->second.config_keys) {
      std::string full;
      const base::Json* stated = spec::config_value(model, *bill.binding->config, key, &full);
      if (!stated || !stated->is_number_integer()) continue;
      ++*checks;
      const expr::Rational value{stated->get<int64_t>(), 1};
      if (bound->value == value) continue;
      faults->push_back({dim.at, "dim '" + dim.name + "' is " + expr::to_string(bound->value),
                         expr::to_string(value) + ", config." + full, "bind it to that key", "structural"});
    }
  }
}

void tied_as_stated(const analysis::Bill& bill, int64_t* checks, base::Faults* faults) {
  std::string full;
  const base::Json* stated =
      spec::config_value(*bill.binding->model, *bill.binding->config, "tie_word_embeddings", &full);
  if (!stated || !stated->is_boolean()) return;
  for (const analysis::Param& param : bill.prefill->params) {
    if (param.tied_to.empty()) continue;
    ++*checks;
    if (param.tied == stated->get<bool>()) continue;
    faults->push_back(
        {bill.prefill->tree->nodes[param.node].decl->at,
         "'" + param.path + "' is " + (param.tied ? "tied to '" : "not tied to '") + param.tied_to + "'",
         "config." + full + ", which is " + (param.tied ? "false" : "true"), "let tied_when follow that key",
         "structural"});
  }
}

void layers_as_listed(const analysis::Bill& bill, int64_t* checks, base::Faults* faults) {
  std::string full;
  const base::Json* types =
      spec::config_value(*bill.binding->model, *bill.binding->config, "layer_types", &full);
  if (!types || !types->is_array()) return;
  const analysis::Analysis& decode = *bill.decode;
  for (size_t g = 0; g < decode.tree->groups.size(); ++g) {
    const graph::Group& group = decode.tree->groups[g];
    if (!group.apart.empty()) continue;
    bool window = false, whole = false;
    for (const analysis::Cache& cache : decode.caches) {
      if (decode.tree->nodes[cache.node].group != static_cast<int>(g)) continue;
      (cache.growth == spec::CacheEntry::Growth::kWindow ? window : whole) = true;
    }
    for (int64_t layer : group.layers) {
      if (layer < 0 || layer >= static_cast<int64_t>(types->size())) continue;
      const base::Json& type = (*types)[static_cast<size_t>(layer)];
      const bool sliding = type == "sliding_attention", everything = type == "full_attention";
      if (!sliding && !everything) continue;
      ++*checks;
      if (sliding ? window && !whole : whole && !window) continue;
      faults->push_back({decode.tree->calls[static_cast<size_t>(group.call)].component->at,
                         "layer " + std::to_string(layer) + " of stack '" + group.stack + "' keeps " +
                             (window && whole ? "a window and the whole context"
                              : window        ? "a window"
                              : whole         ? "the whole context"
                                              : "nothing"),
                         sliding ? "a window, since config." + full + " says sliding_attention"
                                 : "the whole context, since config." + full + " says full_attention",
                         "let a layer rule follow that list", "structural"});
      break;  // one layer of a group speaks for it
    }
  }
}

}  // namespace

void check_structural(const Subject& subject, Findings& out) {
  dims_as_stated(*subject.bill, &out.checks, &out.faults);
  tied_as_stated(*subject.bill, &out.checks, &out.faults);
  layers_as_listed(*subject.bill, &out.checks, &out.faults);
}

}  // namespace archlight::guard
