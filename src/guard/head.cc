#include "guard/head.h"

#include <algorithm>
#include <set>

namespace archlight::guard {
namespace {

using analysis::Bill;
using analysis::Param;
using analysis::StoredTensor;

// Nodes that may be tied: of the main model alone, since prediction layers share tables anyway.
std::vector<const Param*> tied_or_not(const Bill& bill) {
  std::vector<const Param*> out;
  for (const Param& param : bill.prefill->params)
    if (!param.tied_to.empty() && param.apart.empty() && param.name == "weight") out.push_back(&param);
  return out;
}

// The dims that decide whether a node is tied.
std::vector<const spec::BoundDim*> deciding(const Bill& bill, const Param& param) {
  std::vector<const spec::BoundDim*> out;
  const expr::Formula& when = bill.prefill->tree->nodes[param.node].decl->tied_when;
  if (when.empty()) return out;
  for (const std::string& name : when.names())
    if (const spec::BoundDim* dim = bill.binding->find(name)) out.push_back(dim);
  return out;
}

}  // namespace

std::string_view head_kind_name(Head::Kind kind) {
  switch (kind) {
    case Head::Kind::kTied:
      return "tied";
    case Head::Kind::kOwn:
      return "own";
    case Head::Kind::kNone:
      return "none";
  }
  return {};
}

std::vector<Head> heads_of(const Report& report, const truth::Truth& truth) {
  std::vector<Head> out;
  if (!report.bill) return out;
  const Bill& bill = *report.bill;
  const bool names_known =
      (truth.level == truth::Level::kHeader || truth.level == truth::Level::kIndex) && !truth.partial;
  for (const Param* param : tied_or_not(bill)) {
    Head head;
    head.path = param->path;
    head.table = param->tied_to;
    const bool gone = bill.storage.absent_modules.contains(param->path);
    head.kind = gone ? Head::Kind::kNone : param->tied ? Head::Kind::kTied : Head::Kind::kOwn;
    std::vector<std::string> said;
    if (names_known) {
      const auto stored = std::ranges::find_if(bill.storage.tensors, [&](const StoredTensor& tensor) {
        return tensor.module == param->path && tensor.present;
      });
      said.push_back(stored == bill.storage.tensors.end() ? "no tensor of it is stored"
                                                          : stored->name + " is stored");
    }
    for (const spec::BoundDim* dim : deciding(bill, *param)) {
      const size_t since = dim->origin.find(", since ");
      said.push_back(dim->origin.starts_with("config.")
                         ? dim->origin + " is " + (dim->value.num == 0 ? "false" : "true")
                     : since == std::string::npos ? dim->origin
                                                  : dim->origin.substr(since + 8));
    }
    for (const std::string& each : said) head.evidence += (head.evidence.empty() ? "" : "; ") + each;
    out.push_back(std::move(head));
  }
  return out;
}

namespace {

// The module of a stored name, with a star for each index: what stands in front of its last segment.
std::string module_of(std::string_view name) {
  std::string out;
  const size_t end = name.rfind('.');
  if (end == std::string_view::npos) return out;
  for (size_t from = 0; from <= end;) {
    const size_t dot = std::min(name.find('.', from), end);
    const std::string_view part = name.substr(from, dot - from);
    const bool index = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    out += (from == 0 ? "" : ".") + (index ? std::string("*") : std::string(part));
    from = dot + 1;
  }
  return out;
}

}  // namespace

std::vector<std::string> heads_missing(const Bill& bill, const analysis::Storage& storage,
                                       const TensorNames& names) {
  std::vector<std::string> out;
  const auto any_name = [&](auto holds) {
    for (size_t i = 0; i < names.size(); ++i)
      if (holds(names.name(i))) return true;
    return false;
  };
  for (const Param* param : tied_or_not(bill)) {
    const std::vector<const spec::BoundDim*> dims = deciding(bill, *param);
    // Outright: by a key that says of heads whether they are tied.
    const std::vector<std::string> stating = bill.library->config_keys().stating("tied_head");
    const bool outright = !dims.empty() && std::ranges::all_of(dims, [&](const spec::BoundDim* dim) {
      const std::string key = dim->origin.substr(dim->origin.rfind('.') + 1);
      return dim->origin.starts_with("config.") && dim->boolean && dim->value.num == 0 &&
             (stating.empty() || std::ranges::find(stating, key) != stating.end());
    });
    if (param->tied || !outright) continue;
    // However it is stored, as scales and packed words too, its names start with its module.
    std::string own;
    for (const StoredTensor& tensor : storage.tensors)
      if (tensor.module == param->path) own = tensor.name.substr(0, tensor.name.rfind('.') + 1);
    if (any_name([&](std::string_view name) { return name.starts_with(own); })) continue;
    // A name of no module that the spec has may be the head's under another name.
    std::set<std::string> modules;
    for (const StoredTensor& tensor : storage.tensors) modules.insert(module_of(tensor.name));
    const bool held = any_name([&](std::string_view name) { return !modules.contains(module_of(name)); });
    if (!held) out.push_back(param->path);
  }
  return out;
}

}  // namespace archlight::guard
