#include "guard/analysis_guard.h"

#include <map>
#include <nlohmann/json.hpp>

#include "graph/tree.h"

namespace archlight::guard {

using base::Int128;

base::Faults check_phases(const analysis::Bill& bill, int64_t* checks) {
  base::Faults faults;
  struct Share {
    Int128 stored = 0, read = 0;
    base::Span at;
    std::string name;
  };
  std::map<std::string, Share> by_weight;
  const auto key = [](const analysis::Analysis& analysis, const analysis::Param& param) {
    const int group = param.group;
    const std::string layers = group < 0 || analysis.tree->groups[group].layers.empty()
                                   ? ""
                                   : std::to_string(analysis.tree->groups[group].layers[0]);
    return layers + "|" + param.path + "|" + param.name;
  };
  for (const analysis::Param& param : bill.prefill->params) {
    Share& share = by_weight[key(*bill.prefill, param)];
    share.stored += param.elements.integer().value_or(0);
    share.at = bill.prefill->tree->nodes[param.node].decl->at;
    share.name = param.path + (param.name.empty() ? "" : "." + param.name);
  }
  for (const analysis::Param& param : bill.decode->params) {
    Share& share = by_weight[key(*bill.decode, param)];
    share.read += param.elements.integer().value_or(0);
    if (!share.at.source) share.at = bill.decode->tree->nodes[param.node].decl->at;
    if (share.name.empty()) share.name = param.path;
  }
  for (const auto& [unused, share] : by_weight) {
    ++*checks;
    if (share.stored == share.read) continue;
    faults.push_back({share.at,
                      "decode reads " + base::with_commas(share.read) + " elements of '" + share.name + "'",
                      base::with_commas(share.stored) + ", all that prefill stores",
                      "make the decode variant's shares add up to the stored weight", "analysis"});
  }
  return faults;
}

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
                         expr::to_string(value) + ", config." + full, "bind it to that key", "analysis"});
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
         "analysis"});
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
                         "let a layer rule follow that list", "analysis"});
      break;  // one layer of a group speaks for it
    }
  }
}

}  // namespace

base::Faults check_config(const analysis::Bill& bill, int64_t* checks) {
  base::Faults faults;
  dims_as_stated(bill, checks, &faults);
  tied_as_stated(bill, checks, &faults);
  layers_as_listed(bill, checks, &faults);
  return faults;
}

}  // namespace archlight::guard
