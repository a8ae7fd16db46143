#include "guard/internal/unused.h"

#include <algorithm>
#include <map>
#include <set>

namespace archlight::guard::internal {
namespace {

using spec::Component;
using spec::NodeDecl;

class Unused {
 public:
  Unused(const spec::Library& library, const spec::Model& model, Findings& out)
      : library_(library), model_(model), out_(out) {}

  void run() {
    for (size_t i = 0; i < model_.components.size(); ++i)
      reach(model_.components[i].second, model_.component_places[i]);
    for (const spec::ModelEntry& entry : model_.entries) {
      if (entry.node) node(*entry.node);
      if (entry.stack) stack(*entry.stack);
    }
    if (unknown_) return;  // a component that does not load: said where the tree is built
    for (const spec::BufferDecl& buffer : model_.buffers)
      for (const std::vector<expr::Formula>* shape : {&buffer.shape, &buffer.or_shape})
        for (const expr::Formula& axis : *shape) name(axis);
    for (const spec::QuantOverride& row : model_.quant.overrides)
      for (const expr::Formula& axis : row.shape) name(axis);
    for (const spec::NamedFormula& held : model_.holds) name(held.formula);
    for (const spec::NamedFormula& list : model_.lists) name(list.formula);
    dims();
    fills();
    custom_ops();
    for (const std::string& draft : model_.drafts) {
      ++out_.checks;
      if (!reached_.contains(draft))
        fail(model_.at, "draft '" + draft + "' is allowed and never used", "a component that is it");
    }
  }

 private:
  void fail(const base::Span& at, std::string wrong, std::string expected) {
    out_.faults.push_back(
        {at, std::move(wrong), std::move(expected), "use it, or leave it out", "structural"});
  }

  void name(const expr::Formula& formula) {
    if (!formula.empty()) named_.insert(formula.names().begin(), formula.names().end());
  }
  void name(const std::vector<spec::NamedFormula>& formulas) {
    for (const spec::NamedFormula& each : formulas) name(each.formula);
  }

  void node(const NodeDecl& decl) {
    name(decl.dims);
    for (const expr::Formula* formula :
         {&decl.when, &decl.bias, &decl.copies, &decl.active, &decl.window, &decl.tied_when})
      name(*formula);
    for (const spec::WeightAxis& axis : decl.weight_axes) name(axis.parts);
    switch (decl.target) {
      case NodeDecl::Target::kOp:
        computed_.insert(decl.target_name);
        // An axis that a node leaves open is the dim of its name.
        if (const spec::Op* op = spec::find_builtin_op(decl.target_name))
          named_.insert(op->names.begin(), op->names.end());
        break;
      case NodeDecl::Target::kComponent:
        reach(decl.target_name, decl.target_at);
        break;
      case NodeDecl::Target::kSlot:
        asked_.insert(decl.target_name);
        break;
    }
  }

  void stack(const spec::StackDecl& decl) {
    name(decl.repeat);
    name(decl.first_index);
    asked_.insert(!decl.block.empty() ? decl.block : model_.component_of(decl.name) ? decl.name : "block");
    if (!decl.block.empty() && !model_.component_of(decl.block)) reach(decl.block, decl.at);
    for (const spec::StreamDecl& stream : decl.streams) {
      for (const expr::Formula& axis : stream.shape) name(axis);
      for (const expr::Formula& layer : stream.listed) name(layer);
      name(stream.every);
      name(stream.when);
    }
    per_layer(decl.per_layer);
    for (const spec::LayerRule& rule : decl.layers) {
      per_layer(rule.per_layer);
      name(rule.formula);
      name(rule.also);
      name(rule.dims);
      for (const auto& [slot, fill] : rule.fills) {
        asked_.insert(fill);
        if (!model_.component_of(fill)) reach(fill, rule.at);
      }
    }
  }

  void per_layer(const std::vector<spec::DimDecl>& dims) {
    for (const spec::DimDecl& dim : dims) {
      per_layer_.push_back(&dim);
      for (const expr::Formula* formula : {&dim.formula, &dim.fallback, &dim.null_value}) name(*formula);
    }
  }

  void reach(const std::string& component, const base::Span& at) {
    if (!reached_.emplace(component, nullptr).second) return;
    const base::Result<const Component*> found = library_.component(component, model_, at);
    if (!found) {
      unknown_ = true;
      return;
    }
    reached_[component] = *found;
    for (const NodeDecl& decl : (*found)->graph) node(decl);
    for (const spec::CacheEntry& entry : (*found)->cache) {
      name(entry.amount);
      name(entry.when);
    }
    for (const spec::Op& op : (*found)->custom_ops) named_.insert(op.names.begin(), op.names.end());
    if (!(*found)->decode_variant.empty()) reach((*found)->decode_variant, (*found)->decode_variant_at);
  }

  // A dim is used where something names it, or a dim that is used.
  void dims() {
    for (bool more = true; more;) {
      const size_t before = named_.size();
      for (const spec::DimDecl& dim : model_.dims)
        if (named_.contains(dim.name))
          for (const expr::Formula* formula : {&dim.formula, &dim.fallback, &dim.null_value}) name(*formula);
      more = named_.size() > before;
    }
    std::vector<const spec::DimDecl*> all = per_layer_;
    for (const spec::DimDecl& dim : model_.dims) all.push_back(&dim);
    for (const spec::DimDecl* each : all) {
      const spec::DimDecl& dim = *each;
      ++out_.checks;
      if (!named_.contains(dim.name))
        fail(dim.at, "dim '" + dim.name + "' is bound and never used",
             "a node, a rule or a dim that names it");
    }
  }

  void fills() {
    for (size_t i = 0; i < model_.components.size(); ++i) {
      ++out_.checks;
      const std::string& slot = model_.components[i].first;
      if (!asked_.contains(slot))
        fail(model_.component_places[i], "component '" + slot + "' of the model is never called",
             "a slot or a layer rule that names it");
    }
  }

  void custom_ops() {
    for (const auto& [component, loaded] : reached_)
      for (const spec::Op& op : loaded->custom_ops) {
        ++out_.checks;
        if (!computed_.contains(op.name))
          fail(loaded->at, "custom op '" + op.name + "' of component '" + component + "' is never computed",
               "a node of that op");
      }
  }

  const spec::Library& library_;
  const spec::Model& model_;
  Findings& out_;
  std::vector<const spec::DimDecl*> per_layer_;
  std::map<std::string, const Component*> reached_;
  std::set<std::string> named_, asked_, computed_;
  bool unknown_ = false;
};

}  // namespace

void check_unused(const spec::Library& library, const spec::Model& model, Findings& out) {
  Unused(library, model, out).run();
}

}  // namespace archlight::guard::internal
