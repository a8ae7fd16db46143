#include "analysis/bill.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/yaml.h"
#include "spec/context.h"

namespace archlight::analysis {
namespace {

using base::Faults;
using base::Result;
using expr::Expr;
using graph::NodeId;

// The longest context that the config states.
std::optional<expr::Rational> published(const Bill& bill, std::string* key = nullptr) {
  spec::PublishedContext context =
      spec::published_context(*bill.binding->model, *bill.binding->config, bill.library->rope_scaling());
  if (key) *key = context.key;
  return context.tokens;
}

// Where an engine's formulas have no value for this model, or one below 0: the engine does not keep such a cache.
Faults engine_faults(const Bill& bill, const Traffic& traffic) {
  Faults faults;
  if (!traffic.engine) return faults;
  const EngineInUse& in_use = *traffic.engine;
  for (const Cache& cache : bill.decode->caches) {
    const spec::EngineEntry* row = in_use.engine->entry(cache.kind, cache.growth);
    if (!row) continue;
    const auto check = [&](const expr::Formula& formula, const Expr& value, const std::string& what) {
      const std::optional<expr::Rational> number = value.constant();
      if (formula.empty() || (!value.is_error() && !(number && number->num < 0))) return;
      base::Diagnostic fault = base::fault_at(
          formula.at(),
          "engine '" + in_use.engine->name + "' has no " + what + " for cache entry '" + cache.kind +
              "' of model '" + bill.binding->model->name +
              "': " + (value.is_error() ? value.error_text() : "it is " + expr::to_string(*number)),
          "a number, at least 0, from the dims of the model");
      fault.guard = "not_verifiable";
      if (std::ranges::none_of(
              faults, [&](const base::Diagnostic& known) { return known.message() == fault.message(); }))
        faults.push_back(std::move(fault));
    };
    check(row->bytes, entry_bytes(*bill.decode, cache, traffic), "bytes");
    check(row->held, entry_held(*bill.decode, cache, traffic), "room");
  }
  return faults;
}

class Maker {
 public:
  explicit Maker(Bill& bill) : bill_(bill), pre_(*bill.prefill), dec_(*bill.decode) {}

  void run() {
    params();
    storage();
    if (bill_.decode_traffic.engine) loaded();
    if (bill_.decodes()) kv();
    phase("prefill", pre_, bill_.prefill_traffic);
    if (bill_.decodes()) phase("decode", dec_, bill_.decode_traffic);
  }

 private:
  void put(std::string key, std::string unit, std::string title, Expr value) {
    bill_.quantities.push_back({std::move(key), std::move(unit), std::move(title), value});
  }

  // Parts that are counted apart, in order of appearance, without those that this checkpoint does not store.
  std::vector<std::string> aparts() const {
    std::vector<std::string> out;
    for (const graph::Group& group : pre_.tree->groups)
      if (!group.apart.empty() && std::ranges::find(out, group.apart) == out.end())
        out.push_back(group.apart);
    for (const graph::Node& node : pre_.tree->nodes)
      if (!node.apart.empty() && std::ranges::find(out, node.apart) == out.end()) out.push_back(node.apart);
    std::erase_if(out, [&](const std::string& apart) { return bill_.storage.absent.contains(apart); });
    return out;
  }

  // A weight that the checkpoint lacks, and with it the node's work.
  bool gone(const Param& param) const { return bill_.storage.absent_modules.contains(param.path); }
  bool gone(const Analysis& analysis, NodeId node) const {
    return !bill_.storage.absent_modules.empty() &&
           std::ranges::any_of(std::ranges::equal_range(analysis.params, node, {}, &Param::node),
                               [&](const Param& param) { return gone(param); });
  }

  static std::string kind_key(const graph::Group& group) {
    return group.kind_label.empty() ? group.stack : group.kind_label;
  }

  // A quantity of one layer. The groups of a kind, which see different values of streams, share its key where they agree
  // with the first of them; one that does not has its own.
  void put_layer(const Analysis& analysis, size_t g, const std::string& prefix, const std::string& suffix,
                 const std::string& unit, const std::string& title, Expr value) {
    const std::vector<graph::Group>& groups = analysis.tree->groups;
    std::string key = kind_key(groups[g]);
    const auto first = std::ranges::find(groups, groups[g].kind, &graph::Group::kind);
    if (static_cast<size_t>(first - groups.begin()) < g) {
      const Quantity* known = bill_.find(prefix + key + suffix);
      if (known && (known->value == value || expr::same_value(known->value, value))) return;
      key = groups[g].label;
    }
    put(prefix + key + suffix, unit, title + " in one " + key + " layer", value);
  }

  std::optional<Expr> params_of(NodeId node, bool active) const {
    std::optional<Expr> sum;
    // A node's parameters stand together, in the order of the nodes.
    for (const Param& param : std::ranges::equal_range(pre_.params, node, {}, &Param::node)) {
      if (param.tied || gone(param)) continue;
      Expr value = param.elements;
      if (active) value = value * pre_.active_in_layer[node] / pre_.in_layer[node];
      sum = sum ? *sum + value : value;
    }
    return sum;
  }

  void params() {
    put("params.total", "parameters", "parameters, each weight once",
        pre_.total([&](NodeId node) { return params_of(node, false); }));
    put("params.active", "parameters", "parameters that one token uses",
        pre_.total([&](NodeId node) { return params_of(node, true); }));
    const auto by_role = [&](const std::string& role) {
      return pre_.total([&](NodeId node) -> std::optional<Expr> {
        return pre_.tree->nodes[node].role == role ? params_of(node, false) : std::nullopt;
      });
    };
    std::vector<std::string> roles;
    for (const Param& param : pre_.params)
      if (param.apart.empty() && !param.tied && !gone(param) &&
          std::ranges::find(roles, param.role) == roles.end())
        roles.push_back(param.role);
    for (const std::string& role : roles)
      put("params.role." + role, "parameters", "parameters of role " + role, by_role(role));
    for (size_t g = 0; g < pre_.tree->groups.size(); ++g) {
      const graph::Group& group = pre_.tree->groups[g];
      if (!group.apart.empty()) continue;
      for (const std::string& role : roles) {
        std::optional<Expr> sum;
        for (NodeId node = group.first; node < group.last; ++node)
          if (pre_.tree->nodes[node].role == role)
            if (const std::optional<Expr> value = params_of(node, false))
              sum = sum ? *sum + *value * pre_.in_layer[node] : *value * pre_.in_layer[node];
        if (sum)
          put_layer(pre_, g, "params.layer.", "." + role, "parameters", "parameters of role " + role, *sum);
      }
      const std::vector<graph::Group>& groups = pre_.tree->groups;
      const auto of_kind = [&](const graph::Group& other) { return other.kind == group.kind; };
      if (std::ranges::find_if(groups, of_kind) - groups.begin() != static_cast<std::ptrdiff_t>(g)) continue;
      std::vector<Expr> layers;
      for (size_t h = g; h < groups.size(); ++h)
        if (of_kind(groups[h])) layers.push_back(pre_.layers[h]);
      put("layers." + kind_key(group), "layers", "layers of kind " + kind_key(group), pre_.pool->add(layers));
    }
    for (const std::string& apart : aparts())
      put("params.apart." + apart, "parameters", "parameters of " + apart + ", counted apart",
          pre_.total([&](NodeId node) { return params_of(node, false); }, apart));
  }

  // The sum over stored rows of a chosen kind, one layer group at a time.
  template <typename Chosen, typename ValueOf>
  Expr stored_sum(Chosen chosen, ValueOf value_of) const {
    expr::ExprPool& pool = *pre_.pool;
    std::vector<std::pair<Expr, std::vector<Expr>>> by_count;
    for (const StoredTensor& tensor : bill_.storage.tensors) {
      if (!tensor.present || !chosen(tensor)) continue;
      // Group terms by layer count, so that a sum stays count * (...) per kind of layer.
      const int group = tensor.param == ~size_t{0} ? -1 : pre_.params[tensor.param].group;
      const Expr layers = group >= 0 && !tensor.indices.empty() ? pre_.layers[group] : pool.constant(1);
      const bool whole_group = group >= 0 && !tensor.indices.empty() &&
                               tensor.indices[0].size() == pre_.tree->groups[group].layers.size();
      const Expr factor = whole_group ? layers : tensor.count;
      Expr inner = value_of(tensor);
      if (whole_group && tensor.indices.size() > 1) inner = inner * tensor.count / layers;
      auto it = std::ranges::find_if(by_count, [&](const auto& row) { return row.first == factor; });
      if (it == by_count.end()) {
        by_count.push_back({factor, {}});
        it = by_count.end() - 1;
      }
      it->second.push_back(inner);
    }
    std::vector<Expr> sums;
    for (const auto& [factor, inner] : by_count) sums.push_back(factor * pool.add(inner));
    return sums.empty() ? pool.constant(0) : pool.add(sums);
  }

  void storage() {
    const auto bytes = [](const StoredTensor& tensor) { return tensor.bytes(); };
    const auto elements = [](const StoredTensor& tensor) { return tensor.elements(); };
    const auto all = [](const StoredTensor&) { return true; };
    put("storage.bytes", "bytes", "stored bytes, all tensors", stored_sum(all, bytes));
    put("storage.elements", "elements", "stored elements, all tensors", stored_sum(all, elements));
    put("storage.main_bytes", "bytes", "stored bytes of the main model",
        stored_sum([](const StoredTensor& t) { return t.apart.empty(); }, bytes));
    for (const std::string& apart : aparts())
      put("storage.apart." + apart + "_bytes", "bytes", "stored bytes of " + apart,
          stored_sum([&](const StoredTensor& t) { return t.apart == apart; }, bytes));
    std::map<std::string_view, base::Dtype> dtypes;
    for (const StoredTensor& tensor : bill_.storage.tensors)
      if (tensor.present) dtypes.emplace(base::dtype_name(tensor.dtype), tensor.dtype);
    for (const auto& [name, dtype] : dtypes)
      put("storage.dtype." + std::string(name) + "_bytes", "bytes", "stored bytes in " + std::string(name),
          stored_sum([&](const StoredTensor& t) { return t.dtype == dtype; }, bytes));
    if (std::ranges::any_of(bill_.storage.tensors, [](const StoredTensor& t) {
          return t.present && !t.main && t.param != ~size_t{0};
        }))
      put("storage.scale_bytes", "bytes", "stored bytes beside quantised weights: scales, zero points",
          stored_sum([](const StoredTensor& t) { return !t.main && t.param != ~size_t{0}; }, bytes));
    const auto routed = [](const StoredTensor& t) { return t.apart.empty() && t.role == "routed_experts"; };
    if (std::ranges::any_of(bill_.storage.tensors, routed)) {
      const Expr experts = stored_sum(routed, bytes);
      put("storage.routed_experts_bytes", "bytes", "stored bytes of all routed experts", experts);
      for (const Param& param : pre_.params)
        if (param.role == "routed_experts" && param.copies_call >= 0) {
          put("storage.one_routed_expert_bytes", "bytes",
              "stored bytes of one routed expert, over all its layers",
              experts / pre_.copies[param.copies_call]);
          break;
        }
      put("storage.without_routed_experts_bytes", "bytes",
          "stored bytes of the main model without its routed experts",
          stored_sum([&](const StoredTensor& t) { return t.apart.empty() && t.role != "routed_experts"; },
                     bytes));
    }
  }

  Expr kv_bytes(const Cache& cache) const { return entry_bytes(dec_, cache, bill_.decode_traffic); }

  Expr per_token(const Cache& cache) const {
    return cache.growth == spec::CacheEntry::Growth::kRatio ? kv_bytes(cache) / cache.amount
                                                            : kv_bytes(cache);
  }

  // Of one kind in one layer, where the same entries of the same size are kept in all layers that keep any.
  std::optional<Expr> in_each_layer(const std::string& kind) const {
    struct Layer {
      int group;
      std::vector<const spec::CacheEntry*> entries;
      Expr bytes;
    };
    std::vector<Layer> layers;
    for (const Cache& cache : dec_.caches) {
      if (cache.kind != kind || !cache.apart.empty()) continue;
      if (layers.empty() || layers.back().group != cache.group)
        layers.push_back({cache.group, {}, dec_.pool->constant(0)});
      layers.back().entries.push_back(dec_.tree->nodes[cache.node].cache);
      layers.back().bytes = layers.back().bytes + per_token(cache);
    }
    const bool alike = std::ranges::all_of(layers, [&](const Layer& layer) {
      return layer.entries == layers[0].entries && expr::same_value(layer.bytes, layers[0].bytes);
    });
    return alike ? std::optional(layers[0].bytes) : std::nullopt;
  }

  void kv() {
    const auto sum = [&](auto chosen, const std::string& apart = {}) {
      return dec_.total(
          [&](NodeId node) -> std::optional<Expr> {
            for (const Cache& cache : dec_.caches)
              if (cache.node == node) return chosen(cache);
            return std::nullopt;
          },
          apart);
    };
    using Growth = spec::CacheEntry::Growth;
    const auto some = [&](Growth growth) {
      return std::ranges::any_of(dec_.caches,
                                 [&](const Cache& c) { return c.growth == growth && c.apart.empty(); });
    };
    put("kv.bytes_per_token", "bytes", "cache that each further token adds, within every window",
        sum([&](const Cache& c) -> std::optional<Expr> {
          if (c.growth == Growth::kFixed) return std::nullopt;
          return per_token(c);
        }));
    if (some(Growth::kWindow) || some(Growth::kChunk))
      put("kv.bytes_per_token_beyond_windows", "bytes",
          "cache that each further token adds once every window is full",
          sum([&](const Cache& c) -> std::optional<Expr> {
            if (c.growth == Growth::kFixed || c.growth == Growth::kWindow || c.growth == Growth::kChunk)
              return std::nullopt;
            return per_token(c);
          }));
    std::vector<std::string> kinds;
    for (const Cache& cache : dec_.caches)
      if (cache.apart.empty() && std::ranges::find(kinds, cache.kind) == kinds.end())
        kinds.push_back(cache.kind);
    for (const std::string& kind : kinds) {
      const auto first = std::ranges::find_if(
          dec_.caches, [&](const Cache& c) { return c.kind == kind && c.apart.empty(); });
      if (first->growth == Growth::kFixed) {
        put("kv.entry." + kind + ".state_bytes", "bytes", "state '" + kind + "' over all layers",
            sum([&](const Cache& c) -> std::optional<Expr> {
              return c.kind == kind ? std::optional(kv_bytes(c)) : std::nullopt;
            }));
        if (const std::optional<Expr> layer = in_each_layer(kind))
          put("kv.entry." + kind + ".layer_state_bytes", "bytes", "state '" + kind + "' in one layer",
              *layer);
        continue;
      }
      put("kv.entry." + kind + ".bytes_per_token", "bytes",
          "cache entry '" + kind + "' over all layers, per token",
          sum([&](const Cache& c) -> std::optional<Expr> {
            return c.kind == kind ? std::optional(per_token(c)) : std::nullopt;
          }));
      if (const std::optional<Expr> layer = in_each_layer(kind))
        put("kv.entry." + kind + ".layer_bytes_per_token", "bytes",
            "cache entry '" + kind + "' in one layer, per token", *layer);
    }
    put("kv.fixed_state_bytes", "bytes", "state that does not grow with the context",
        sum([&](const Cache& c) -> std::optional<Expr> {
          return c.growth == Growth::kFixed ? std::optional(kv_bytes(c)) : std::nullopt;
        }));
    put("kv.bytes_at_context", "bytes", "cache of one request at the decode context",
        sum([&](const Cache& c) -> std::optional<Expr> { return entry_tokens(dec_, c) * kv_bytes(c); }));
    for (size_t g = 0; g < dec_.tree->groups.size(); ++g) {
      const graph::Group& group = dec_.tree->groups[g];
      std::vector<std::pair<std::string, Expr>> lines;  // one for a kind, of which a layer may keep several
      if (!group.apart.empty()) continue;
      for (const Cache& cache : dec_.caches) {
        if (cache.group != static_cast<int>(g)) continue;
        const Expr bytes = entry_tokens(dec_, cache) * kv_bytes(cache);
        const auto line = std::ranges::find(lines, cache.kind, &std::pair<std::string, Expr>::first);
        if (line == lines.end())
          lines.emplace_back(cache.kind, bytes);
        else
          line->second = line->second + bytes;
      }
      Expr all = dec_.pool->constant(0);
      for (const auto& [kind, bytes] : lines) {
        put_layer(dec_, g, "kv.layer.", "." + kind + ".bytes_at_context", "bytes",
                  "cache entry '" + kind + "'", bytes);
        all = all + bytes;
      }
      if (lines.size() > 1) put_layer(dec_, g, "kv.layer.", ".bytes_at_context", "bytes", "all entries", all);
    }
    if (bill_.decode_traffic.engine) held();
    for (const std::string& apart : aparts())
      if (std::ranges::any_of(dec_.caches, [&](const Cache& c) { return c.apart == apart; }))
        put("kv.apart." + apart + ".bytes_per_token", "bytes",
            "cache of " + apart + " per token, kept only when it runs",
            sum([&](const Cache& c) -> std::optional<Expr> { return kv_bytes(c); }, apart));
  }

  // The channels of a head that rotate, where all layers agree on them.
  std::optional<Expr> rope_width() const {
    std::optional<Expr> out;
    for (NodeId node = 0; node < pre_.tree->nodes.size(); ++node) {
      const graph::Node& rope = pre_.tree->nodes[node];
      if (rope.op->name != "rope" || !rope.apart.empty() || pre_.shape[node].empty()) continue;
      if (out && !(*out == pre_.shape[node].back())) return std::nullopt;
      out = pre_.shape[node].back();
    }
    return out;
  }

  // The tables that an engine makes, and what it loads with them.
  void loaded() {
    const EngineInUse& in_use = *bill_.decode_traffic.engine;
    std::vector<Expr> all;
    const std::optional<expr::Rational> context = published(bill_);
    for (const spec::EngineBuffer& buffer : in_use.engine->buffers) {
      bool known = true;
      const Expr bytes =
          buffer.bytes.instantiate(*pre_.pool, [&](std::string_view name) -> std::optional<Expr> {
            std::optional<Expr> out;
            if (name == "max_context")
              out = !context ? std::nullopt
                    : pre_.binding.dims == Dims::kNumbers
                        ? std::optional(pre_.pool->constant(*context))
                        : std::optional(
                              pre_.pool->symbol("max_context", {expr::Rational{1, 1}, std::nullopt}, true));
            else if (name == "rope_width")
              out = rope_width();
            else if (name == "model")
              out = width_of(pre_, bill_.storage.plain_dtype);
            else
              out = engine_name(pre_, in_use, name);
            known = known && out;
            return out;
          });
      if (!known) continue;
      put("storage.engine." + buffer.name + "_bytes", "bytes",
          "'" + buffer.name + "' that " + in_use.engine->name + " makes beside the stored tensors", bytes);
      all.push_back(bytes);
    }
    if (all.empty()) return;
    all.push_back(stored_sum([](const StoredTensor&) { return true; },
                             [](const StoredTensor& t) { return t.bytes(); }));
    put("storage.loaded_bytes", "bytes", "stored bytes and the tables that " + in_use.engine->name + " makes",
        pre_.pool->add(all));
  }

  // What an engine keeps room for: of the whole batch, for the layers of each kind, and in all.
  void held() {
    const std::string by = ", as " + bill_.decode_traffic.engine->engine->name + " reserves it for the batch";
    const auto bytes = [&](const Cache& c) {
      return entry_held(dec_, c, bill_.decode_traffic) * kv_bytes(c) * dec_.instances(c.node);
    };
    std::vector<std::string> kinds;
    std::map<std::string, std::vector<Expr>> parts;
    std::vector<Expr> all;
    for (const Cache& cache : dec_.caches) {
      if (!cache.apart.empty()) continue;
      const std::string kind = cache.group < 0
                                   ? std::string("head")
                                   : kind_key(dec_.tree->groups[static_cast<size_t>(cache.group)]);
      if (!parts.contains(kind)) kinds.push_back(kind);
      parts[kind].push_back(bytes(cache));
      all.push_back(parts[kind].back());
    }
    if (kinds.size() > 1)
      for (const std::string& kind : kinds)
        put("kv.held." + kind + ".bytes", "bytes", "cache of all " + kind + " layers" + by,
            dec_.pool->add(parts[kind]));
    put("kv.held_bytes", "bytes", "cache" + by, all.empty() ? dec_.pool->constant(0) : dec_.pool->add(all));
  }

  void phase(const std::string& name, const Analysis& analysis, const Traffic& traffic) {
    const auto flops = [&](spec::Unit unit) {
      return analysis.total([&](NodeId node) -> std::optional<Expr> {
        return analysis.tree->nodes[node].op->unit == unit && !gone(analysis, node)
                   ? std::optional(analysis.flops[node])
                   : std::nullopt;
      });
    };
    const Expr matmul = flops(spec::Unit::kMatmul);
    for (const std::string& apart : aparts())
      put(name + ".apart." + apart + "_matmul_flops", "flops",
          "matrix products of one " + name + " step in " + apart + ", counted apart",
          analysis.total(
              [&](NodeId node) -> std::optional<Expr> {
                return analysis.tree->nodes[node].op->unit == spec::Unit::kMatmul
                           ? std::optional(analysis.flops[node])
                           : std::nullopt;
              },
              apart));
    put(name + ".matmul_flops", "flops",
        "matrix products of one " + name + " step; of attention only the allowed pairs", matmul);
    std::vector<bool> weighted(analysis.tree->nodes.size(), false);
    for (const Param& param : analysis.params) weighted[param.node] = true;
    put(name + ".attention_flops", "flops", "of these, products without weights: attention and states",
        analysis.total([&](NodeId node) -> std::optional<Expr> {
          if (analysis.tree->nodes[node].op->unit != spec::Unit::kMatmul || weighted[node])
            return std::nullopt;
          return analysis.flops[node];
        }));
    put(name + ".vector_flops", "flops", "other arithmetic of one " + name + " step",
        flops(spec::Unit::kVector));
    const auto table = [&](const std::vector<Expr>& cells) {
      return analysis.total(
          [&](NodeId node) { return gone(analysis, node) ? std::nullopt : std::optional(cells[node]); });
    };
    put(name + ".weight_bytes", "bytes", "weights read", table(traffic.weights));
    put(name + ".activation_bytes", "bytes", "activations read and written, unfused",
        table(traffic.activations));
    put(name + ".kv_read_bytes", "bytes", "cache read", table(traffic.kv_read));
    put(name + ".kv_write_bytes", "bytes", "cache written", table(traffic.kv_write));
    const Expr bytes = analysis.total([&](NodeId node) {
      return gone(analysis, node) ? std::nullopt : std::optional(traffic.bytes(node));
    });
    put(name + ".bytes", "bytes", "all bytes moved by one " + name + " step", bytes);
    put(name + ".arithmetic_intensity", "flops_per_byte", "matmul FLOPs per byte moved", matmul / bytes);
  }

  Bill& bill_;
  const Analysis& pre_;
  const Analysis& dec_;
};

// A profile that is about nothing of this model would give its own numbers under another name.
std::optional<base::Diagnostic> rewrites_nothing(const Bill& bill, const spec::Precision& precision) {
  const auto join = [](const std::set<std::string>& names) {
    std::string out;
    for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
    return out.empty() ? std::string("none") : out;
  };
  std::set<std::string> kept, laid_out;
  for (const Cache& cache : bill.decode->caches) {
    kept.insert(cache.kind);
    if (precision.layout_of(cache.kind)) return std::nullopt;
  }
  if (std::ranges::any_of(bill.storage.tensors, &StoredTensor::rewritten)) return std::nullopt;
  for (const spec::EntryLayout& layout : precision.cache) laid_out.insert(layout.kind);
  return base::fault_at(
      {},
      "precision profile '" + precision.name + "' rewrites nothing of model '" + bill.binding->model->name +
          "', which keeps cache entries " + join(kept),
      "a profile of one of these entries, or of weights that it has; this one is of entries " +
          join(laid_out),
      "'archlight precisions' lists what each profile is about");
}

}  // namespace

const Quantity* Bill::find(std::string_view key) const {
  for (const Quantity& quantity : quantities)
    if (quantity.key == key) return &quantity;
  return nullptr;
}

Result<std::shared_ptr<const Bill>> make_bill(std::shared_ptr<const spec::Library> library,
                                              std::shared_ptr<const spec::Binding> binding, Dims dims,
                                              const BillInput& input, const StorageChoice& choice) {
  auto bill = std::make_shared<Bill>();
  bill->library = library;
  bill->binding = binding;
  bill->input = input;
  const bool numbers = dims == Dims::kNumbers;
  const auto walked = [&](graph::Phase phase) -> Result<std::shared_ptr<const Analysis>> {
    Result<graph::SpecTree> tree = graph::build_tree(*library, *binding, phase);
    if (!tree) return tree.faults();
    PhaseBinding at;
    at.dims = dims;
    if (numbers) {
      at.batch = input.batch;
      if (phase == graph::Phase::kPrefill)
        at.s_query = at.s_ctx = input.prompt;
      else
        at.s_ctx = input.context;
    }
    return walk(std::make_shared<const graph::SpecTree>(std::move(*tree)), at);
  };
  Result<std::shared_ptr<const Analysis>> prefill = walked(graph::Phase::kPrefill);
  if (!prefill) return prefill.faults();
  Result<std::shared_ptr<const Analysis>> decode = bill->decodes() ? walked(graph::Phase::kDecode) : prefill;
  if (!decode) return decode.faults();
  bill->prefill = *prefill;
  bill->decode = *decode;
  const spec::Precision* precision = input.precision.get();
  Result<Storage> storage = storage_of(*bill->prefill, choice, precision);
  if (!storage) return storage.faults();
  bill->storage = std::move(*storage);
  std::shared_ptr<const EngineInUse> engine;
  if (!input.engine.empty()) {
    Result<const spec::Engine*> named = library->engine(input.engine);
    if (!named) return named.faults();
    Result<std::vector<spec::EngineOption>> options = spec::engine_options(**named, input.engine_options);
    if (!options) return options.faults();
    engine = std::make_shared<const EngineInUse>(EngineInUse{*named, std::move(*options)});
  }
  Result<Traffic> pre = traffic_of(*bill->prefill, *bill->prefill, bill->storage, engine, precision);
  if (!pre) return pre.faults();
  Result<Traffic> dec = traffic_of(*bill->decode, *bill->prefill, bill->storage, engine, precision);
  if (!dec) return dec.faults();
  if (const Faults faults = engine_faults(*bill, *dec); !faults.empty()) return faults;
  bill->prefill_traffic = std::move(*pre);
  bill->decode_traffic = std::move(*dec);
  if (precision)
    if (std::optional<base::Diagnostic> fault = rewrites_nothing(*bill, *precision)) return *fault;
  Maker(*bill).run();
  for (const Quantity& quantity : bill->quantities)
    if (quantity.value.is_error())
      return base::fault_at(
          binding->model->at,
          "quantity '" + quantity.key + "' cannot be evaluated: " + quantity.value.error_text(),
          "a count that fits 128 bits", "check the config's sizes and the batch and context asked for");
  return std::shared_ptr<const Bill>(std::move(bill));
}

std::vector<SymbolValue> bill_symbols(const Bill& bill) {
  std::vector<SymbolValue> out = symbol_values(*bill.prefill);
  out.insert(out.end(), bill.storage.scheme_values.begin(), bill.storage.scheme_values.end());
  std::map<base::Dtype, std::string> widths;
  widths.emplace(bill.storage.plain_dtype, bill.storage.plain_dtype_origin);
  for (const StoredTensor& tensor : bill.storage.tensors)
    widths.emplace(tensor.dtype,
                   tensor.scheme == "none"
                       ? "stored by " + tensor.name
                       : "scheme " + tensor.scheme + ", " +
                             (tensor.rewritten ? "precision profile " + bill.input.precision->name
                                               : bill.storage.declared_origin));
  for (const Cache& cache : bill.decode->caches) {
    if (cache.dtype) widths.emplace(*cache.dtype, cache.dtype_origin);
    if (!bill.input.precision) continue;
    if (const spec::EntryLayout* layout = bill.input.precision->layout_of(cache.kind))
      for (const spec::EntryPart& part : layout->parts)
        if (part.dtype) widths.emplace(*part.dtype, "precision profile " + bill.input.precision->name);
  }
  if (const std::shared_ptr<const EngineInUse>& used = bill.decode_traffic.engine) {
    for (const base::Dtype dtype : engine_dtypes(*used->engine))
      widths.emplace(dtype, "engine " + used->engine->name + ": " + used->engine->source);
    std::string key;
    if (const std::optional<expr::Rational> context = published(bill, &key))
      out.push_back({"max_context", *context, "config." + key});
    for (const spec::EngineOption& option : used->options)
      out.push_back(
          {used->engine->name + "." + option.name,
           {option.value, 1},
           (bill.input.engine_options.contains(option.name) ? "asked for: " : "the engine's own: ") +
               option.meaning});
  }
  for (const auto& [dtype, origin] : widths)
    out.push_back({"bytes_" + std::string(base::dtype_name(dtype)),
                   *expr::make_rational(base::dtype_block(dtype).bytes, base::dtype_block(dtype).elements),
                   origin});
  out.push_back({"bytes_kv", *expr::make_rational(base::dtype_bits(bill.decode_traffic.kv_dtype), 8),
                 std::string(base::dtype_name(bill.decode_traffic.kv_dtype)) + ": " +
                     bill.decode_traffic.kv_dtype_origin});
  out.push_back({"B", {bill.input.batch, 1}, "the batch asked for"});
  out.push_back({"s_query", {bill.input.prompt, 1}, "the prompt length asked for"});
  out.push_back({"s_ctx", {bill.input.context, 1}, "the decode context asked for"});
  return out;
}

}  // namespace archlight::analysis
