#include "analysis/tables.h"

namespace archlight::analysis {

using expr::Expr;
using graph::NodeId;

std::optional<Expr> Analysis::dim(std::string_view name) const {
  const auto value = [&](const expr::Rational& number) {
    return binding.dims == Dims::kNumbers ? pool->constant(number) : pool->symbol(name);
  };
  if (const spec::BoundDim* bound = tree->binding->find(name)) return value(bound->value);
  for (const graph::Derived& derived : tree->derived)
    if (derived.name == name) return derived.literal ? pool->constant(derived.value) : value(derived.value);
  return std::nullopt;
}

Expr Analysis::instances(NodeId node) const {
  const int group = tree->nodes[node].group;
  return group < 0 ? in_layer[node] : in_layer[node] * layers[group];
}

Expr Analysis::total(const std::function<std::optional<Expr>(NodeId)>& value_of,
                     const std::string& apart) const {
  std::vector<Expr> sums, inner;
  int open = -1;
  const auto close = [&] {
    if (open >= 0 && !inner.empty()) sums.push_back(layers[open] * pool->add(inner));
    inner.clear();
    open = -1;
  };
  for (NodeId id = 0; id < tree->nodes.size(); ++id) {
    const graph::Node& node = tree->nodes[id];
    if (node.group != open) close();
    if (node.apart != apart) continue;
    const std::optional<Expr> value = value_of(id);
    if (!value) continue;
    if (node.group < 0) {
      sums.push_back(*value);
    } else {
      open = node.group;
      inner.push_back(*value * in_layer[id]);
    }
  }
  close();
  return sums.empty() ? pool->constant(0) : pool->add(sums);
}

Expr Analysis::elements_read(NodeId producer, NodeId consumer) const {
  Expr elements = pool->mul(shape[producer]);
  // Per instance of the consumer: all instances of the producer are shared out evenly.
  if (tree->nodes[producer].call == tree->nodes[consumer].call) return elements;
  const auto inside = [&](int call, int of) {
    for (; of >= 0; of = tree->calls[of].parent)
      if (of == call) return true;
    return false;
  };
  for (int call = tree->nodes[producer].call; call >= 0; call = tree->calls[call].parent)
    if (tree->calls[call].splits_tokens && !inside(call, tree->nodes[consumer].call))
      elements = elements * copies[call];
  for (int call = tree->nodes[consumer].call; call >= 0; call = tree->calls[call].parent)
    if (tree->calls[call].splits_tokens && !inside(call, tree->nodes[producer].call))
      elements = elements / copies[call];
  return elements;
}

std::vector<SymbolValue> symbol_values(const Analysis& analysis) {
  std::vector<SymbolValue> out;
  for (const spec::BoundDim& dim : analysis.tree->binding->dims)
    out.push_back({dim.name, dim.value, dim.origin});
  for (const graph::Derived& derived : analysis.tree->derived)
    if (!derived.literal) out.push_back({derived.name, derived.value, derived.origin});
  return out;
}

}  // namespace archlight::analysis
