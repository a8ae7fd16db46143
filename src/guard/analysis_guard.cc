#include "guard/analysis_guard.h"

#include <map>

#include "graph/tree.h"

namespace archlight::guard {

using base::Int128;

base::Faults check_phases(const analysis::Bill& bill, int64_t* checks) {
  base::Faults faults;
  struct Share {
    Int128 stored = 0, prefill = 0, read = 0;
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
    share.stored = param.base_elements.integer().value_or(0);
    share.prefill += param.elements.integer().value_or(0);
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
    if (share.stored != share.prefill) {
      faults.push_back(
          {share.at,
           "prefill reads " + base::with_commas(share.prefill) + " elements of '" + share.name + "'",
           base::with_commas(share.stored) + ", all that is stored",
           "make the parts that nodes read by weight_of add up to the stored weight", "analysis"});
      continue;
    }
    if (share.stored == share.read) continue;
    faults.push_back({share.at,
                      "decode reads " + base::with_commas(share.read) + " elements of '" + share.name + "'",
                      base::with_commas(share.stored) + ", all that prefill stores",
                      "make the decode variant's shares add up to the stored weight", "analysis"});
  }
  return faults;
}

}  // namespace archlight::guard
