#include "guard/internal/promises.h"

#include <algorithm>
#include <map>
#include <set>

namespace archlight::guard::internal {
namespace {

using analysis::Analysis;
using base::Int128;
using expr::Expr;
using expr::Rational;

class Computed {
 public:
  Computed(const Analysis& analysis, Findings& out)
      : analysis_(analysis), tree_(*analysis.tree), out_(out), counts_(tree_.calls.size() + 1) {
    for (const graph::Node& node : tree_.nodes)
      if (node.op->unit == spec::Unit::kVector) ++counts_[static_cast<size_t>(node.call + 1)][node.op->name];
  }

  // `call` is -1 for the model's own list.
  void hold(const spec::Computes& promise, int call, const std::string& what, const std::string& where) {
    const std::map<std::string, int64_t>& has = counts_[static_cast<size_t>(call + 1)];
    const int scope = call < 0 ? -1 : tree_.calls[static_cast<size_t>(call)].scope;
    for (const spec::NamedFormula& row : promise.ops) {
      ++out_.checks;
      const Expr promised = value(row.formula, scope);
      const auto count = has.find(row.name);
      const int64_t own = count == has.end() ? 0 : count->second;
      if (promised.is_error())
        say(row.at, what + " promises '" + row.name + "' so often: " + promised.error_text(),
            "a count, over dims");
      else if (!promised.integer() || *promised.integer() != own)
        say(row.at, what + " promises " + expr::to_text(promised) + " of op '" + row.name + "', and " +
                        where + " has " + std::to_string(own));
    }
    for (const auto& [op, count] : has)
      if (std::ranges::find(promise.ops, op, &spec::NamedFormula::name) == promise.ops.end())
        say(promise.at,
            what + " promises no op '" + op + "', and " + where + " has " + std::to_string(count));
  }

 private:
  void say(const base::Span& at, std::string wrong, std::string expected = "as many as are promised") {
    if (said_.insert(wrong).second)
      out_.faults.push_back(
          {at, std::move(wrong), std::move(expected), "mend the graph, or the promise", "axiom"});
  }

  Expr value(const expr::Formula& formula, int scope) {
    return formula.instantiate(*analysis_.pool, [&](std::string_view name) { return lookup(name, scope); });
  }
  std::optional<Expr> lookup(std::string_view name, int scope) {
    for (int at = scope; at >= 0; at = tree_.scopes[static_cast<size_t>(at)].parent)
      for (const spec::NamedFormula& named : tree_.scopes[static_cast<size_t>(at)].names)
        if (named.name == name) return value(named.formula, tree_.scopes[static_cast<size_t>(at)].parent);
    return analysis_.dim(name);
  }

  const Analysis& analysis_;
  const graph::SpecTree& tree_;
  Findings& out_;
  std::vector<std::map<std::string, int64_t>> counts_;  // by call, the model's own list first
  std::set<std::string> said_;
};

int64_t bits_of(const std::optional<base::Dtype>& dtype, int64_t plain) {
  return dtype ? base::dtype_bits(*dtype) : plain;
}

// Every choice of values that a scheme's params may have.
std::vector<std::map<std::string, int64_t>> choices_of(const spec::QuantScheme& scheme) {
  std::vector<std::map<std::string, int64_t>> out = {{}};
  for (const spec::QuantParam& param : scheme.params) {
    std::vector<int64_t> values = param.values;
    if (param.has_fallback && std::ranges::find(values, param.fallback) == values.end())
      values.push_back(param.fallback);
    if (values.empty()) values = {64, 128};
    std::vector<std::map<std::string, int64_t>> next;
    for (const auto& known : out)
      for (int64_t value : values) {
        next.push_back(known);
        next.back()[param.name] = value;
      }
    out = std::move(next);
  }
  return out;
}

}  // namespace

void check_computes(const analysis::Bill& bill, Findings& out) {
  const spec::Model& model = *bill.binding->model;
  Computed prefill(*bill.prefill, out);
  if (model.computes) prefill.hold(*model.computes, -1, "the model", "its list");
  const auto graph_of = [](const graph::Call& call) { return "its graph in " + call.path; };
  for (size_t id = 0; id < bill.prefill->tree->calls.size(); ++id) {
    const graph::Call& call = bill.prefill->tree->calls[id];
    if (call.component->computes)
      prefill.hold(*call.component->computes, static_cast<int>(id),
                   "component '" + call.component->name + "'", graph_of(call));
  }
  if (!bill.decodes()) return;
  Computed decode(*bill.decode, out);
  for (size_t id = 0; id < bill.decode->tree->calls.size(); ++id) {
    const graph::Call& call = bill.decode->tree->calls[id];
    if (call.component != call.stored && call.component->computes)
      decode.hold(*call.component->computes, static_cast<int>(id), "component '" + call.component->name + "'",
                  graph_of(call));
  }
}

void check_stores(const analysis::Bill& bill, Findings& out) {
  constexpr std::pair<int64_t, int64_t> kSizes[] = {{3840, 7680}, {15360, 3840}};
  std::set<std::string> schemes;
  for (const analysis::StoredTensor& tensor : bill.storage.tensors) schemes.insert(tensor.scheme);
  const int64_t plain = base::dtype_bits(bill.storage.plain_dtype);
  expr::ExprPool pool;
  for (const std::string& name : schemes) {
    const auto found = bill.library->quants().find(name);
    if (found == bill.library->quants().end() || found->second.stores.empty()) continue;
    const spec::QuantScheme& scheme = found->second;
    bool said = false;
    for (const auto& choice : choices_of(scheme))
      for (const auto& [rows, columns] : kSizes) {
        const auto value = [&](const expr::Formula& formula) {
          return formula.instantiate(pool, [&](std::string_view symbol) -> std::optional<Expr> {
            if (symbol == "out") return pool.constant(rows);
            if (symbol == "in") return pool.constant(columns);
            if (symbol == "plain") return pool.constant(plain);
            const auto param = choice.find(std::string(symbol));
            return param == choice.end() ? std::nullopt : std::optional(pool.constant(param->second));
          });
        };
        Expr stored = pool.constant(0);
        for (const spec::StoredPattern& tensor : scheme.tensors) {
          if (tensor.optional || tensor.variable || !tensor.modules.empty() || tensor.dtypes.empty())
            continue;
          Expr elements = pool.constant(1);
          for (const expr::Formula& axis : tensor.shape) elements = elements * value(axis);
          stored = stored + elements * pool.constant(bits_of(tensor.dtypes[0], plain));
        }
        const Expr promised = value(scheme.stores);
        ++out.checks;
        if (said || (!promised.is_error() && !stored.is_error() && promised == stored)) continue;
        said = true;
        std::string with;
        for (const auto& [param, number] : choice) with += ", " + param + " " + std::to_string(number);
        out.faults.push_back({scheme.stores_at,
                              "scheme '" + name + "' promises " + scheme.stores.text() + " bits, " +
                                  (promised.is_error() ? promised.error_text() : expr::to_text(promised)) +
                                  " for a weight of " + std::to_string(rows) + " by " +
                                  std::to_string(columns) + with,
                              (stored.is_error() ? stored.error_text() : expr::to_text(stored)) +
                                  ", those of its tensors that are always there",
                              "mend the tensors, or the promise", "axiom"});
      }
  }
}

}  // namespace archlight::guard::internal
