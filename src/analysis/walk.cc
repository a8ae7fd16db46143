// Each node is met once, in tree order, so its operands' shapes stand when it is reached. A node's axis names
// are bound from three sides that must agree: its own `dims`, its operands' shapes, and the model's dims.
#include "analysis/walk.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "analysis/attention_pairs.h"
#include "base/yaml.h"

namespace archlight::analysis {
namespace {

using base::fault_at;
using base::Faults;
using base::Result;
using expr::Expr;
using graph::NodeId;

struct Letters {
  std::vector<std::pair<std::string_view, Expr>> values;
  const Expr* find(std::string_view name) const {
    for (const auto& [key, value] : values)
      if (key == name) return &value;
    return nullptr;
  }
};

constexpr size_t kMaxRank = 32;  // as tensor files have

Expr product(expr::ExprPool& pool, const Shape& axes, size_t from = 0) {
  if (axes.size() <= from) return pool.constant(1);
  return pool.mul(std::span<const Expr>(axes).subspan(from));
}

class Walker {
 public:
  Walker(std::shared_ptr<const graph::SpecTree> tree, const PhaseBinding& binding) : tree_(*tree) {
    out_.pool = std::make_shared<expr::ExprPool>();
    out_.tree = std::move(tree);
    out_.binding = binding;
  }

  Result<std::shared_ptr<const Analysis>> run() {
    bind_phase();
    bind_dims();
    const size_t n = tree_.nodes.size();
    out_.shape.resize(n);
    out_.computed.resize(n);
    out_.flops.resize(n);
    out_.reads.resize(n);
    out_.writes.resize(n);
    pairs_.resize(n);
    out_.in_layer.resize(n);
    out_.active_in_layer.resize(n);
    for (const graph::Group& group : tree_.groups) out_.layers.push_back(instantiate(group.count, -1));
    scopes_.resize(tree_.scopes.size());
    call_counts();
    for (NodeId id = 0; id < n; ++id) {
      visit(id);
      if (faults_.size() > 50) break;
    }
    check_carries();
    if (faults_.empty()) check_streams();
    if (faults_.empty()) check_values();
    if (!faults_.empty()) return faults_;
    return std::make_shared<const Analysis>(std::move(out_));
  }

 private:
  // Geometry is the shape guard's business; what cannot be evaluated at all the analysis guard's.
  void fail(const base::Span& at, std::string wrong, std::string expected = {}, std::string fix = {},
            const char* guard = "shape") {
    if (faults_.size() >= 100) return;
    faults_.push_back(fault_at(at, std::move(wrong), std::move(expected), std::move(fix)));
    faults_.back().guard = guard;
  }

  void bind_phase() {
    expr::ExprPool& pool = *out_.pool;
    const PhaseBinding& b = out_.binding;
    out_.batch = b.batch ? pool.constant(*b.batch) : pool.symbol("B");
    const bool decode = tree_.phase == graph::Phase::kDecode;
    out_.s_query = b.s_query ? pool.constant(*b.s_query) : decode ? pool.constant(1) : pool.symbol("s_query");
    out_.s_ctx = b.s_ctx ? pool.constant(*b.s_ctx) : decode ? pool.symbol("s_ctx") : out_.s_query;
    globals_.emplace("B", out_.batch);
    globals_.emplace("s_query", out_.s_query);
    globals_.emplace("s_ctx", out_.s_ctx);
    globals_.emplace("s_logits", decode ? out_.s_query : pool.constant(1));
  }

  void bind_dims() {
    expr::ExprPool& pool = *out_.pool;
    const auto bind = [&](const std::string& name, const expr::Rational& value) {
      if (out_.binding.dims == Dims::kNumbers) {
        globals_.emplace(name, pool.constant(value));
      } else if (value.num >= 1 && value.is_integer()) {
        globals_.emplace(name, pool.symbol(name));
      } else {
        globals_.emplace(
            name,
            pool.symbol(name,
                        {expr::Rational{std::min<base::Int128>(value.num, 0), value.num < 0 ? value.den : 1},
                         std::nullopt},
                        value.is_integer()));
      }
    };
    for (const spec::BoundDim& dim : tree_.binding->dims) bind(dim.name, dim.value);
    for (const graph::Derived& derived : tree_.derived) {
      if (derived.literal)
        globals_.emplace(derived.name, out_.pool->constant(derived.value));
      else
        bind(derived.name, derived.value);
    }
  }

  std::optional<Expr> lookup(std::string_view name, int scope) {
    if (scope >= 0) {
      auto& cached = scopes_[scope];
      if (const auto it = cached.find(name); it != cached.end()) return it->second;
      for (const spec::NamedFormula& named : tree_.scopes[scope].names)
        if (named.name == name) {
          const Expr value = instantiate(named.formula, tree_.scopes[scope].parent);
          cached.emplace(name, value);
          return value;
        }
      return lookup(name, tree_.scopes[scope].parent);
    }
    const auto it = globals_.find(name);
    return it == globals_.end() ? std::nullopt : std::optional(it->second);
  }

  Expr instantiate(const expr::Formula& formula, int scope, const Letters* letters = nullptr) {
    return formula.instantiate(*out_.pool, [&](std::string_view name) -> std::optional<Expr> {
      if (letters)
        if (const Expr* value = letters->find(name)) return *value;
      return lookup(name, scope);
    });
  }

  void call_counts() {
    expr::ExprPool& pool = *out_.pool;
    call_instances_.reserve(tree_.calls.size());
    for (const graph::Call& call : tree_.calls) {
      Expr all = call.parent >= 0 ? call_instances_[call.parent].first : pool.constant(1);
      Expr active = call.parent >= 0 ? call_instances_[call.parent].second : pool.constant(1);
      Expr copies;
      out_.active.emplace_back();
      if (!call.copies.empty()) {
        copies = instantiate(call.copies, call.copies_scope);
        all = all * copies;
        const Expr used = instantiate(call.active, call.copies_scope);
        active = active * used;
        out_.active.back() = used;
        if (copies.is_constant() && used.is_constant() && (copies - used).constant()->num < 0)
          fail(call.decl->at,
               "'" + call.name + "' (" + call.path + ") uses " + expr::to_text(used) + " of " +
                   expr::to_text(copies) + " copies",
               "at most as many as there are", "check 'active'", "analysis");
      }
      call_instances_.emplace_back(all, active);
      out_.copies.push_back(copies);
    }
  }

  // A producer's shape as a consumer elsewhere sees it: entering copies that share the tokens out divides the
  // token axis, leaving them multiplies it.
  Shape seen_from(NodeId producer, int consumer_call) {
    Shape shape = out_.shape[producer];
    const int from = tree_.nodes[producer].call;
    if (from == consumer_call || shape.size() < 2) return shape;
    const auto inside = [&](int call, int of) {
      for (; of >= 0; of = tree_.calls[of].parent)
        if (of == call) return true;
      return false;
    };
    for (int call = from; call >= 0; call = tree_.calls[call].parent)
      if (tree_.calls[call].splits_tokens && !inside(call, consumer_call))
        shape[1] = shape[1] * out_.copies[call];
    for (int call = consumer_call; call >= 0; call = tree_.calls[call].parent)
      if (tree_.calls[call].splits_tokens && !inside(call, from)) shape[1] = shape[1] / out_.copies[call];
    return shape;
  }

  std::string text_of(const Shape& shape) {
    std::string text = "[";
    for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + expr::to_text(shape[i]);
    return text + "]";
  }

  // Binds a name to an axis, or holds the two together.
  void unify(Letters& letters, std::string_view name, Expr axis, const graph::Node& node, size_t operand) {
    const Expr* bound = letters.find(name);
    if (!bound) {
      letters.values.emplace_back(name, axis);
      return;
    }
    if (*bound == axis || expr::same_value(*bound, axis)) return;
    base::Span at = node.decl->at;
    for (const spec::NamedFormula& named : node.decl->dims)
      if (named.name == name) at = named.at;
    const std::string from = operand < node.in.size() ? tree_.nodes[node.in[operand]].name : "its output";
    fail(at,
         "'" + std::string(name) + "' of node '" + node.name + "' (" + node.path + ") is " +
             expr::to_text(*bound),
         expr::to_text(axis) + ", the axis of '" + from + "' " +
             (operand < node.in.size() ? text_of(seen_from(node.in[operand], node.call)) : ""));
  }

  void visit(NodeId id) {
    const graph::Node& node = tree_.nodes[id];
    const spec::Op& op = *node.op;
    expr::ExprPool& pool = *out_.pool;
    const size_t faults_before = faults_.size();
    // A node behind a faulty one has nothing to say.
    if (std::ranges::any_of(node.in, [&](NodeId in) { return out_.shape[in].empty(); })) return;

    Letters letters;
    for (const spec::NamedFormula& named : node.decl->dims) {
      const Expr value = instantiate(named.formula, node.scope);
      if (value.is_error()) {
        fail(named.formula.at(),
             "'" + named.name + "' of node '" + node.name + "' (" + node.path +
                 ") cannot be evaluated: " + value.error_text(),
             "dims of the model, or names that the calls around bind", nearest_dim(named.formula, node.scope),
             "analysis");
        return;
      }
      letters.values.emplace_back(named.name, value);
    }

    // Operands: plain names first, expressions once every plain name is bound.
    std::vector<std::pair<std::string_view, Shape>> rests;
    std::vector<std::tuple<const spec::AxisPattern*, Expr, size_t>> expressions;
    if (op.repeats_last && (!letters.find("n") || out_.binding.dims == Dims::kNumbers))
      unify(letters, "n", pool.constant(static_cast<int64_t>(node.in.size() - op.operands.size() + 1)), node,
            node.in.size());
    for (size_t o = 0; o < node.in.size(); ++o) {
      const std::vector<spec::AxisPattern>& pattern = op.operands[std::min(o, op.operands.size() - 1)];
      const Shape shape = seen_from(node.in[o], node.call);
      const bool has_rest = !pattern.empty() && !pattern[0].rest.empty();
      const size_t plain = pattern.size() - (has_rest ? 1 : 0);
      if (has_rest ? shape.size() < plain : shape.size() != plain) {
        fail(node.decl->at,
             "node '" + node.name + "' (" + node.path + ") gets " + text_of(shape) + " from '" +
                 tree_.nodes[node.in[o]].name + "'",
             (has_rest ? "at least " : "") + std::to_string(plain) + " axes, as op '" + op.name +
                 "' takes: " + op.shape_text);
        return;
      }
      const size_t lead = shape.size() - plain;
      if (has_rest) {
        Shape rest(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(lead));
        const auto known = std::ranges::find(rests, std::string_view(pattern[0].rest),
                                             &std::pair<std::string_view, Shape>::first);
        if (known == rests.end()) {
          rests.emplace_back(pattern[0].rest, std::move(rest));
        } else if (!same(known->second, rest)) {
          fail(node.decl->at,
               "node '" + node.name + "' (" + node.path + ") joins " +
                   text_of(seen_from(node.in[0], node.call)) + " and " + text_of(shape),
               "equal leading axes");
          return;
        }
      }
      for (size_t i = 0; i < plain; ++i) {
        const spec::AxisPattern& axis = pattern[i + (has_rest ? 1 : 0)];
        if (!axis.name.empty())
          unify(letters, axis.name, shape[lead + i], node, o);
        else
          expressions.emplace_back(&axis, shape[lead + i], o);
      }
    }
    for (const auto& [axis, actual, operand] : expressions) {
      const Expr wanted = instantiate(axis->formula, node.scope, &letters);
      if (report_error(wanted, node, "an axis")) return;
      if (wanted == actual || expr::same_value(wanted, actual)) continue;
      fail(node.decl->at,
           "node '" + node.name + "' (" + node.path + ") wants " + axis->formula.text() + " = " +
               expr::to_text(wanted),
           expr::to_text(actual) + ", the axis of '" + tree_.nodes[node.in[operand]].name + "'");
    }
    if (faults_.size() > faults_before) return;
    for (const auto& [name, rest] : rests) letters.values.emplace_back(name, product(pool, rest));
    if (!op.holds.empty() && instantiate(op.holds, node.scope, &letters).is_zero()) {
      std::string values;
      for (const std::string& name : op.holds.names())
        if (const Expr* value = letters.find(name))
          values += (values.empty() ? "" : ", ") + name + " = " + expr::to_text(*value);
      fail(node.decl->at, "node '" + node.name + "' (" + node.path + ") has " + values,
           op.holds.text() + ", as op '" + op.name + "' needs");
      return;
    }

    // Output.
    Shape shape;
    for (const spec::AxisPattern& axis : op.output) {
      if (!axis.rest.empty()) {
        for (const auto& [name, rest] : rests)
          if (name == axis.rest) shape.insert(shape.end(), rest.begin(), rest.end());
        continue;
      }
      Expr value;
      if (!axis.name.empty()) {
        const Expr* bound = letters.find(axis.name);
        if (bound)
          value = *bound;
        else if (const std::optional<Expr> global = lookup(axis.name, node.scope))
          value = *global;
        else
          value = pool.error("node '" + node.name + "' does not say '" + axis.name + "'");
      } else {
        value = instantiate(axis.formula, node.scope, &letters);
      }
      if (report_error(value, node, "an output axis")) return;
      shape.push_back(value);
    }

    if (shape.size() > kMaxRank) {
      fail(node.decl->at,
           "node '" + node.name + "' (" + node.path + ") has " + std::to_string(shape.size()) + " axes",
           "at most 32");
      return;
    }

    // Work.
    std::optional<Expr> pairs;
    if (!count_pairs(node, letters, pairs)) return;
    if (pairs) letters.values.emplace_back("pairs", *pairs);
    // A weighted sum ends them: what is computed from it is of tokens again.
    if (!spec::meets_context(op) || spec::is_score(op)) pairs_[id] = pairs;
    out_.flops[id] = node.done ? pool.constant(0) : instantiate(op.flops, node.scope, &letters);
    if (report_error(out_.flops[id], node, "the flops")) return;
    if (!op.reads.empty()) {
      out_.reads[id] = instantiate(op.reads, node.scope, &letters);
      if (report_error(*out_.reads[id], node, "what it reads")) return;
    }
    if (!op.writes.empty()) {
      out_.writes[id] = instantiate(op.writes, node.scope, &letters);
      if (report_error(*out_.writes[id], node, "what it writes")) return;
    }

    out_.in_layer[id] = node.call >= 0 ? call_instances_[node.call].first : pool.constant(1);
    out_.active_in_layer[id] = node.call >= 0 ? call_instances_[node.call].second : pool.constant(1);
    out_.computed[id] = shape;
    if (node.cache) shape = keep(id, node, shape);
    out_.shape[id] = std::move(shape);
    add_params(id, node, letters);
  }

  // The (query, key) pairs that a node works on: a score makes them from its mask; ops behind it work on the same,
  // joined scores on both.
  bool count_pairs(const graph::Node& node, const Letters& letters, std::optional<Expr>& pairs) {
    expr::ExprPool& pool = *out_.pool;
    const spec::Op& op = *node.op;
    if (!spec::meets_context(op)) {
      const bool joins = op.kind == spec::ShapeKind::kAxisConcat;
      if (!joins && op.kind != spec::ShapeKind::kPreserve && !spec::works_on_pairs(op)) return true;
      for (size_t i = 0; i < (joins ? node.in.size() : 1); ++i)
        if (const std::optional<Expr>& of = pairs_[node.in[i]]) pairs = pairs ? *pairs + *of : *of;
      if (pairs || !spec::works_on_pairs(op)) return true;
    } else if (!spec::is_score(op) && pairs_[node.in[0]]) {
      pairs = pairs_[node.in[0]];  // a weighted sum
      return true;
    }
    const Expr *s = letters.find("s"), *t = letters.find("t"), *chosen = letters.find("k");
    std::optional<Expr> window, chunk, ratio, most;
    if (!node.decl->window.empty()) window = instantiate(node.decl->window, node.scope);
    if (!node.decl->chunk.empty()) chunk = instantiate(node.decl->chunk, node.scope);
    if (!node.decl->ratio.empty()) ratio = instantiate(node.decl->ratio, node.scope);
    if (op.positions > 0 && chosen) most = *chosen;
    const auto at_least_one = [&](const std::optional<Expr>& value, const char* what, const char* expected) {
      const std::optional<expr::Rational> number = value ? value->constant() : std::nullopt;
      if (!number || compare(*number, {1, 1}) >= 0) return true;
      fail(node.decl->at,
           "node '" + node.name + "' (" + node.path + ") sees " + what + expr::to_string(*number) + " tokens",
           expected);
      return false;
    };
    if (!at_least_one(window, "a window of ", "at least 1, its own") ||
        !at_least_one(chunk, "a chunk of ", "at least 1, its own") ||
        !at_least_one(ratio, "one entry for ", "at least 1"))
      return false;
    if (!s || !t) return true;
    pairs = ratio || most
                ? entry_pairs(pool, *s, ratio ? out_.s_ctx : *t, ratio.value_or(pool.constant(1)), most)
                : attention_pairs(pool, *s, *t, node.decl->mask == "causal", window, chunk);
    return true;
  }

  bool same(const Shape& a, const Shape& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!(a[i] == b[i]) && !expr::same_value(a[i], b[i])) return false;
    return true;
  }

  // The dim that a formula's unknown name may have meant.
  std::string nearest_dim(const expr::Formula& formula, int scope) {
    std::vector<std::string> known;
    for (const spec::BoundDim& dim : tree_.binding->dims) known.push_back(dim.name);
    for (int at = scope; at >= 0; at = tree_.scopes[at].parent)
      for (const spec::NamedFormula& named : tree_.scopes[at].names) known.push_back(named.name);
    for (const std::string& name : formula.names())
      if (!lookup(name, scope)) return base::did_you_mean(name, known);
    return {};
  }

  bool report_error(Expr value, const graph::Node& node, const std::string& what) {
    if (!value.is_error()) return false;
    fail(node.decl->at,
         what + " of node '" + node.name + "' (" + node.path + ") cannot be evaluated: " + value.error_text(),
         value.error_text().find("overflow") != std::string::npos
             ? "counts that fit 128 bits"
             : "names bound by the node's dims, its operands or the model's dims",
         {}, "analysis");
    return true;
  }

  void entry_dtype(const spec::CacheEntry& entry, Cache& row) {
    row.dtype = entry.dtype;
    row.model_dtype = entry.model_dtype;
    if (entry.dtype) row.dtype_origin = "the cache entry's own dtype";
    if (entry.dtype_key.empty()) return;
    row.dtype_origin = entry.dtype_source;
    std::string where;
    const base::Json* value =
        spec::config_value(*tree_.binding->model, *tree_.binding->config, entry.dtype_key, &where);
    if (!value || !value->is_string()) return;
    row.dtype = base::dtype_from_torch_name(value->get_ref<const std::string&>());
    row.model_dtype = false;
    row.dtype_origin = "config." + where;
    if (!row.dtype)
      fail(entry.at, "config." + where + " is " + value->dump() + ", no dtype that is known",
           "a dtype as torch spells it, as float32", {}, "analysis");
  }

  // A cached node is computed for the step's tokens and seen over the context.
  Shape keep(NodeId id, const graph::Node& node, Shape shape) {
    const spec::CacheEntry& entry = *node.cache;
    expr::ExprPool& pool = *out_.pool;
    Cache row;
    row.node = id;
    row.kind = entry.kind;
    row.family = tree_.calls[node.call].component->cache_family;
    row.growth = entry.growth;
    row.apart = node.apart;
    row.group = node.group;
    entry_dtype(entry, row);
    if (!entry.amount.empty()) row.amount = instantiate(entry.amount, node.scope);
    if (row.amount && row.amount.is_error()) {
      fail(entry.amount.at(),
           "the growth of cache entry '" + node.name + "' cannot be evaluated: " + row.amount.error_text(),
           "dims of the model", nearest_dim(entry.amount, node.scope), "analysis");
      return shape;
    }
    if (entry.growth == spec::CacheEntry::Growth::kFixed) {
      row.per_token = product(pool, shape, 1);
      out_.caches.push_back(std::move(row));
      return shape;
    }
    const bool ratio = entry.growth == spec::CacheEntry::Growth::kRatio;
    if (shape.size() < 3 || (!ratio && !(shape[1] == out_.s_query))) {
      fail(entry.at, "the cache keeps '" + node.name + "' of shape " + text_of(shape),
           "[B, s_query, ...]: one entry per token", "or fixed: true for a state");
      return shape;
    }
    row.per_token = product(pool, shape, 2);
    shape[1] = ratio ? pool.floor_div(out_.s_ctx, row.amount) : out_.s_ctx;
    out_.caches.push_back(std::move(row));
    return shape;
  }

  void add_params(NodeId id, const graph::Node& node, const Letters& letters) {
    expr::ExprPool& pool = *out_.pool;
    for (const spec::ParamPattern& pattern : node.op->params) {
      if (pattern.optional && !node.biased) continue;
      Param param;
      param.node = id;
      param.name = pattern.name;
      param.path = node.weight_base ? node.weight_path : node.path;
      param.op = node.weight_base ? node.weight_base_op->name : node.op->name;
      param.role = node.role;
      param.apart = node.apart;
      param.group = node.group;
      for (int call = node.call; call >= 0 && param.copies_call < 0; call = tree_.calls[call].parent)
        if (!tree_.calls[call].copies.empty()) param.copies_call = call;
      for (const expr::Formula& axis : pattern.axes)
        param.axes.push_back(instantiate(axis, node.scope, &letters));
      for (const Expr& axis : param.axes)
        if (report_error(axis, node, "a parameter axis")) return;
      param.elements = product(pool, param.axes);
      param.base_axes = param.axes;
      param.base_elements = param.elements;
      if (node.weight_base) {
        Letters stored;
        for (const spec::NamedFormula& named : node.weight_base->dims)
          stored.values.emplace_back(named.name, instantiate(named.formula, node.scope));
        param.base_axes.clear();
        for (const expr::Formula& axis : node.weight_base_op->params[0].axes)
          param.base_axes.push_back(instantiate(axis, node.scope, &stored));
        for (const Expr& axis : param.base_axes)
          if (report_error(axis, node, "an axis of the weight it reads")) return;
        param.base_elements = product(pool, param.base_axes);
        param.name = node.weight_base_op->params[0].name;
      }
      if (!node.decl->tied_to.empty() && pattern.name == "weight") {
        param.tied = node.tied;
        param.tied_to = node.decl->tied_to;
        for (const Param& other : out_.params)
          if (param.tied && other.name == param.name &&
              (tree_.nodes[other.node].call == node.call || tree_.nodes[other.node].call < 0) &&
              tree_.nodes[other.node].name == param.tied_to && !same(other.axes, param.axes))
            fail(node.decl->at,
                 "node '" + node.name + "' is tied to '" + param.tied_to + "' with a weight of " +
                     text_of(param.axes),
                 text_of(other.axes) + ", the weight it repeats");
      }
      if (!node.weight_base && !stored_.insert({node.group, param.path + '\n' + param.name}).second)
        fail(node.decl->at,
             "node '" + node.name + "' stores '" + param.path + (param.name.empty() ? "" : ".") + param.name +
                 "', which another node stores already",
             "a path of its own");
      out_.params.push_back(std::move(param));
    }
  }

  // What a layer hands on must have the shape of what it got, or the next layer would see another.
  void check_carries() {
    for (const graph::Group& group : tree_.groups)
      for (const graph::Group::Carry& carry : group.carries) {
        const Shape in = seen_from(carry.in, -1), out = seen_from(carry.out, -1);
        if (!in.empty() && !out.empty() && !same(in, out))
          fail(tree_.calls[group.call].component->at,
               "a layer of stack '" + group.stack + "' turns " + text_of(in) + " into " + text_of(out),
               "the stream's own shape, since the next layer reads it");
      }
  }

  // A stream's declared shape is that of each value, as readers see it. The trunk is of this step's tokens, however its
  // declaration calls them.
  void check_streams() {
    for (const graph::Stream& stream : tree_.streams) {
      if (stream.decl->shape.empty()) continue;
      Letters tokens;
      if (stream.kind == spec::StreamDecl::Kind::kCarried) tokens.values.emplace_back("s_ctx", out_.s_query);
      Shape declared;
      for (const expr::Formula& axis : stream.decl->shape) {
        declared.push_back(instantiate(axis, -1, &tokens));
        if (!declared.back().is_error()) continue;
        fail(axis.at(),
             "an axis of stream '" + stream.name + "' cannot be evaluated: " + declared.back().error_text(),
             "dims of the model, B, s_query, s_ctx", nearest_dim(axis, -1), "analysis");
        return;
      }
      for (const graph::Stream::Value& value : stream.values) {
        const Shape made = seen_from(value.node, -1);
        if (made.empty() || same(made, declared)) continue;
        const graph::Node& node = tree_.nodes[value.node];
        fail(stream.at,
             "stream '" + stream.name + "' of stack '" + stream.stack + "' is declared " + text_of(declared),
             text_of(made) + ", the shape of '" + node.name + "' (" + node.path + ") in " +
                 std::string(graph::phase_name(tree_.phase)));
        break;
      }
    }
  }

  // Overflow and division by zero travel as error values; none may stay in a table.
  void check_values() {
    for (NodeId id = 0; id < tree_.nodes.size(); ++id)
      for (const Expr& value : {out_.flops[id], out_.in_layer[id], out_.active_in_layer[id]})
        if (value.is_error()) {
          report_error(value, tree_.nodes[id], "a count");
          return;
        }
    for (const Param& param : out_.params) {
      if (report_error(param.base_elements, tree_.nodes[param.node], "the size of a parameter")) return;
      const std::optional<base::Int128> size = param.base_elements.integer();
      if (param.base_elements.is_constant() && (!size || *size <= 0)) {
        fail(tree_.nodes[param.node].decl->at,
             "parameter '" + param.path + "." + param.name + "' has " + expr::to_text(param.base_elements) +
                 " elements",
             "a positive whole number", "check the dims that its axes are made of");
        return;
      }
    }
  }

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Names = std::unordered_map<std::string, Expr, Hash, std::equal_to<>>;

  const graph::SpecTree& tree_;
  Analysis out_;
  Names globals_;
  std::vector<Names> scopes_;
  std::vector<std::pair<Expr, Expr>> call_instances_;
  std::vector<std::optional<Expr>> pairs_;        // by node, of scores and what is computed on them
  std::set<std::pair<int, std::string>> stored_;  // group; path and name of each parameter
  Faults faults_;
};

}  // namespace

Result<std::shared_ptr<const Analysis>> walk(std::shared_ptr<const graph::SpecTree> tree,
                                             const PhaseBinding& binding) {
  return Walker(std::move(tree), binding).run();
}

}  // namespace archlight::analysis
