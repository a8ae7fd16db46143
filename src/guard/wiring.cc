#include "guard/wiring.h"

#include <algorithm>
#include <set>

#include "guard/internal/flow.h"

namespace archlight::guard {
namespace {

using analysis::Analysis;
using expr::Expr;
using graph::Node;
using graph::NodeId;
using internal::described;
using spec::CacheEntry;

// What attention reads a kept entry as, and the type of its own that it may have beside the cache's: words of a list. What a
// config key with a source names is not held against it.
struct Kind {
  std::string_view name;
  bool key, value;
  std::string_view dtypes = "cache";
};
constexpr Kind kKinds[] = {
    {"key", true, false},
    {"rope_key", true, false},
    {"value", false, true},
    {"latent", true, true},
    {"window_entry", true, true},
    {"compressed_entry", true, true},
    {"index_key", true, false, "F8_E4M3"},
    {"cross_key", true, false},
    {"cross_value", false, true},
    {"conv_state", false, false, "model"},
    {"conv_state_q", false, false, "model"},
    {"conv_state_k", false, false, "model"},
    {"conv_state_v", false, false, "model"},
    {"recurrent_state", false, false, "F32 model"},
    {"compressor_state", false, false, "F32"},
};

class Wiring : private internal::Flow {
 public:
  Wiring(const Analysis& analysis, int64_t* checks, std::set<std::string>* said, base::Faults* faults)
      : Flow(analysis),
        analysis_(analysis),
        tree_(*analysis.tree),
        checks_(*checks),
        said_(*said),
        faults_(*faults) {}

  void run() {
    every_value_is_read();
    for (NodeId id = 0; id < tree_.nodes.size(); ++id)
      if (joins_context(id)) attention(id);
    for (const analysis::Cache& cache : analysis_.caches) kept(cache);
    if (tree_.phase == graph::Phase::kPrefill) {
      parts();
      heads();
    }
    for (NodeId id = 0; id < tree_.nodes.size(); ++id) {
      positions(id);
      joins(id);
      if (tree_.phase == graph::Phase::kDecode) once_per_token(id);
    }
    for (size_t call = 0; call < tree_.calls.size(); ++call) {
      routed(static_cast<int>(call));
      call_role(tree_.calls[call]);
    }
    roles();
  }

 private:
  void fail(const base::Span& at, std::string wrong, std::string expected, std::string fix = {}) {
    if (!said_.insert(wrong).second) return;
    faults_.push_back({at, std::move(wrong), std::move(expected), std::move(fix), "wiring"});
  }

  void every_value_is_read() {
    for (NodeId id = 0; id < tree_.nodes.size(); ++id) {
      ++checks_;
      if (tree_.nodes[id].done || !readers(id).empty() ||
          std::ranges::find(tree_.results, id) != tree_.results.end())
        continue;
      const Node& node = tree_.nodes[id];
      fail(node.decl->at, described(node) + " is computed and never read",
           "a reader, or a place among the outputs", "read it, or leave it out");
    }
    for (NodeId id = 0; id < tree_.nodes.size(); ++id) {
      const Node& node = tree_.nodes[id];
      if (node.done) continue;
      for (NodeId in : node.in) {
        if (!tree_.nodes[in].done || tree_.nodes[in].cache) continue;
        ++checks_;
        fail(node.decl->at,
             "a decode step's " + described(node) + " reads '" + tree_.nodes[in].name +
                 "', which prefill alone computes",
             "a cache entry that keeps it",
             "keep it as a fixed state, or let the reader be of phase prefill");
      }
    }
    for (const graph::Call& call : tree_.calls)
      for (size_t i = 0; i < call.inputs.size() && i < call.component->inputs.size(); ++i) {
        ++checks_;
        const std::vector<NodeId>& reading = readers(call.inputs[i]);
        const int id = static_cast<int>(&call - tree_.calls.data());
        if (call.done || call.output == call.inputs[i] ||
            std::ranges::any_of(reading, [&](NodeId reader) { return inside(id, tree_.nodes[reader].call); }))
          continue;
        fail(call.component->at,
             "component '" + call.component->name + "' never reads its input '" + call.component->inputs[i] +
                 "'",
             "a reader", "read it, or take it from the inputs");
      }
  }

  // ---- parts that are counted apart

  const std::string& part_of(NodeId id) const {
    const Node& node = tree_.nodes[id];
    return node.group < 0 ? node.apart : tree_.groups[static_cast<size_t>(node.group)].apart;
  }

  // Is an operand handed from layer to layer by a stream that layers read, as a tower's features are?
  bool by_read_stream(const Node& node, size_t operand) const {
    const int stream = operand < node.in_streams.size() ? node.in_streams[operand] : -1;
    return stream >= 0 && tree_.streams[static_cast<size_t>(stream)].kind != spec::StreamDecl::Kind::kCarried;
  }

  // What works on a part's values belongs to the part, up to the node that places them among the main model's; and so does
  // what nothing but the part reads.
  void parts() {
    for (NodeId id = 0; id < tree_.nodes.size(); ++id) {
      const Node& node = tree_.nodes[id];
      for (size_t i = 0; i < node.in.size(); ++i) {
        const std::string& part = part_of(node.in[i]);
        if (part.empty()) continue;
        ++checks_;
        const Node& from = tree_.nodes[node.in[i]];
        const bool placed = std::ranges::any_of(from.in, [&](NodeId in) { return part_of(in).empty(); });
        if (part_of(id) == part || placed || by_read_stream(node, i)) continue;
        fail(node.decl->at,
             described(node) + " works on '" + from.name + "', which is counted apart as '" + part + "'",
             "the same part, up to the node that places its values", "apart: " + part);
      }
      if (!part_of(id).empty() || readers(id).empty() ||
          std::ranges::find(tree_.results, id) != tree_.results.end())
        continue;
      ++checks_;
      const std::string& part = part_of(readers(id)[0]);
      // What places a part's values hands the main model's own on.
      const auto inside = [&](NodeId reader) {
        return part_of(reader) == part &&
               std::ranges::none_of(readers(reader), [&](NodeId next) { return part_of(next).empty(); });
      };
      if (!part.empty() && std::ranges::all_of(readers(id), inside))
        fail(node.decl->at, described(node) + " is read by part '" + part + "' alone and not counted in it",
             "the part that it is for", "apart: " + part);
    }
  }

  // The main model's head works on the positions that get logits, not on every token of a prompt.
  void heads() {
    if (analysis_.s_query.integer() == 1) return;
    for (const analysis::Param& param : analysis_.params) {
      const Node& node = tree_.nodes[param.node];
      if (param.role != "head" || !part_of(param.node).empty() || node.in.empty()) continue;
      const analysis::Shape& shape = analysis_.shape[node.in[0]];
      if (shape.size() < 3) continue;
      ++checks_;
      if (expr::same_value(shape[1], analysis_.s_query))
        fail(node.decl->at, described(node) + " makes logits of every token of the prompt",
             "those of the positions that are sampled", "put last_tokens before it");
    }
  }

  // Values that a cache keeps side by side are joined by looking at them; what a step has just made is not.
  void joins(NodeId id) {
    const Node& node = tree_.nodes[id];
    const bool views = node.op->name == "concat_view";
    if ((!views && node.op->name != "concat") || node.in.size() != 2 || on_pairs(id)) return;
    ++checks_;
    const auto kept = [&](NodeId in) { return tree_.nodes[in].cache != nullptr; };
    if (std::ranges::all_of(node.in, kept) == views) return;
    // Writing an entry is what copies.
    if (views && std::ranges::all_of(readers(id), kept)) return;
    fail(node.decl->at,
         described(node) + (views ? " takes '" : " copies '") + tree_.nodes[node.in[0]].name + "' and '" +
             tree_.nodes[node.in[1]].name +
             (views ? "' as they stand, which no cache keeps" : "', which the cache keeps"),
         views ? "concat, which writes them side by side" : "concat_view, which reads them as they stand");
  }

  // ---- attention: ops that work on (query, key) pairs

  // What works on the pairs of a score: caps, biases, the softmax, and the weighted sum that ends it.
  std::vector<NodeId> pairs_ahead(NodeId score) const {
    std::vector<NodeId> out;
    const auto add = [&](NodeId of) {
      for (NodeId reader : readers(of))
        if (on_pairs(reader) && std::ranges::find(out, reader) == out.end()) out.push_back(reader);
    };
    add(score);
    for (size_t i = 0; i < out.size(); ++i)
      if (!joins_context(out[i])) add(out[i]);
    return out;
  }
  // Whether a softmax stands between a score and this value.
  bool softened(NodeId id) const {
    for (; on_pairs(id) && !joins_context(id); id = tree_.nodes[id].in[0])
      if (!tree_.nodes[id].op->coupled.empty()) return true;
    return !on_pairs(id);
  }

  static std::string mask_of(const Node& node) {
    return node.decl->mask + (node.decl->window.empty() ? "" : " within " + node.decl->window.text()) +
           (node.decl->chunk.empty() ? "" : " in chunks of " + node.decl->chunk.text()) +
           (node.decl->ratio.empty() ? "" : ", one entry in " + node.decl->ratio.text());
  }

  size_t rotations_behind(NodeId from, int call) const {
    return static_cast<size_t>(std::ranges::count_if(
        behind(from, call), [&](NodeId id) { return tree_.nodes[id].op->name == "rope"; }));
  }

  // The parts that a value is joined from, through ops that only look at it another way; empty when it is not.
  std::vector<Expr> parts_of(NodeId id) const {
    while (true) {
      const Node& node = tree_.nodes[id];
      if (node.op->kind == spec::ShapeKind::kAxisConcat) {
        std::vector<Expr> out;
        for (NodeId in : node.in) out.push_back(analysis_.shape[in].back());
        return out;
      }
      if (node.op->traffic != spec::Traffic::kView || node.in.size() != 1) return {};
      id = node.in[0];
    }
  }

  void attention(NodeId id) {
    const Node& node = tree_.nodes[id];
    const base::Span& at = node.decl->at;
    const bool score = is_score(id);
    const std::string what = described(node);
    if (score)
      for (NodeId reader : pairs_ahead(id))  // a sum over two sets has two masks
        if (!joins_context(reader) || context_of(reader).size() == 1) same_mask(id, reader);
    if (!score) {
      ++checks_;
      if (!softened(node.in[0]))
        fail(at, what + " weights values by the raw scores of '" + tree_.nodes[node.in[0]].name + "'",
             "weights that a softmax made");
    }
    if (score) {
      checks_ += 2;
      if ((rotations_behind(node.in[0], node.call) > 0) != (rotations_behind(node.in[1], node.call) > 0))
        fail(at,
             what + (rotations_behind(node.in[0], node.call)
                         ? " compares a rotated query with a key that is not"
                         : " compares a rotated key with a query that is not"),
             "rope on both sides, or on neither");
      const std::vector<Expr> query = parts_of(node.in[0]), key = parts_of(node.in[1]);
      if (!query.empty() && !key.empty() &&
          !std::ranges::equal(query, key, [](Expr a, Expr b) { return expr::same_value(a, b); }))
        fail(
            at,
            what + " compares " + parts_text(query) + " of the query with " + parts_text(key) + " of the key",
            "parts of equal widths, in one order", "join both in the same order");
    }
    if (node.decl->mask != "causal" || analysis_.tree->binding->model->prefill_only) return;
    const std::vector<NodeId> contexts = context_of(id);
    for (NodeId context : contexts) {
      const std::vector<NodeId> entries = kept_behind(context, node.call);
      const bool compressed = std::ranges::any_of(entries, [&](NodeId entry) {
        return tree_.nodes[entry].cache->growth == CacheEntry::Growth::kRatio;
      });
      if (!over_context(context) && !compressed) continue;
      ++checks_;
      if (entries.empty())
        fail(at, what + " reads " + (score ? "keys" : "values") + " that no cache entry keeps",
             "an entry of the component's cache behind '" + tree_.nodes[context].name + "'",
             "decode would see this step's tokens only");
      for (NodeId entry : entries) {
        const CacheEntry& cache = *tree_.nodes[entry].cache;
        ++checks_;
        const std::string wanted = law_of(node), kept = law_of(cache);
        if (cache.growth == CacheEntry::Growth::kFixed)
          fail(cache.at,
               "the cache keeps '" + cache.node + "' as a fixed state, and " + what + " reads it by token",
               "an entry that grows");
        // A weighted sum over two sets has the masks of the scores that it was joined from.
        else if (contexts.size() == 1 && wanted != kept)
          fail(cache.at, "the cache entry '" + cache.node + "' has " + kept,
               wanted + ", that of " + what + " which reads it");
      }
    }
  }

  // Whether a value stands at the context's positions, and not at those of a tower of its own token count.
  bool over_context(NodeId id) const {
    const analysis::Shape& shape = analysis_.shape[id];
    return shape.size() < 2 || expr::same_value(shape[1], analysis_.s_ctx) ||
           expr::same_value(shape[1], analysis_.s_query);
  }

  // A cache holds what attention reads: a step that computes on every kept token again keeps the wrong value.
  void once_per_token(NodeId id) {
    const Node& node = tree_.nodes[id];
    if (node.done || on_pairs(id) || node.op->unit == spec::Unit::kMove || node.call < 0) return;
    const analysis::Shape& shape = analysis_.computed[id];
    if (shape.size() < 3 || analysis_.s_ctx == analysis_.s_query || !(shape[1] == analysis_.s_ctx)) return;
    ++checks_;
    std::string kept;
    for (NodeId in : node.in)
      for (NodeId entry : kept_behind(in, node.call)) kept = tree_.nodes[entry].name;
    if (kept.empty()) return;
    fail(node.decl->at, "decode computes " + described(node) + " again for every token of the context",
         "work on this step's tokens alone",
         "keep '" + node.name + "' rather than '" + kept + "', or give the component a decode variant");
  }

  // How many entries there are for the tokens, as an op sees them and as a cache keeps them.
  static std::string law_of(const Node& node) {
    return !node.decl->window.empty()  ? "window " + node.decl->window.text()
           : !node.decl->chunk.empty() ? "chunk " + node.decl->chunk.text()
           : !node.decl->ratio.empty() ? "one entry in " + node.decl->ratio.text()
                                       : "no window";
  }
  static std::string law_of(const CacheEntry& cache) {
    switch (cache.growth) {
      case CacheEntry::Growth::kWindow:
        return "window " + cache.amount.text();
      case CacheEntry::Growth::kChunk:
        return "chunk " + cache.amount.text();
      case CacheEntry::Growth::kRatio:
        return "one entry in " + cache.amount.text();
      case CacheEntry::Growth::kPerToken:
      case CacheEntry::Growth::kFixed:
        return "no window";
    }
    return {};
  }

  void same_mask(NodeId a, NodeId b) {
    ++checks_;
    const Node &first = tree_.nodes[a], &second = tree_.nodes[b];
    if (mask_of(first) == mask_of(second)) return;
    fail(second.decl->at, described(second) + " has mask " + mask_of(second),
         mask_of(first) + ", that of '" + first.name + "' before it");
  }

  static std::string parts_text(const std::vector<Expr>& parts) {
    std::string out;
    for (const Expr& part : parts) out += (out.empty() ? "" : ", ") + expr::to_text(part);
    return "[" + out + "]";
  }

  // ---- cache

  // Does a view tell heads apart, or join them? Of one head there is nothing to tell apart.
  bool regroups(NodeId id) const {
    const Node& node = tree_.nodes[id];
    if (node.op->kind != spec::ShapeKind::kPermute || node.op->traffic != spec::Traffic::kView) return false;
    const analysis::Shape& shape = analysis_.computed[id].size() > analysis_.computed[node.in[0]].size()
                                       ? analysis_.computed[id]
                                       : analysis_.computed[node.in[0]];
    return shape.size() < 4 || shape[shape.size() - 2].integer() != 1;
  }

  void kept(const analysis::Cache& cache) {
    const Node& node = tree_.nodes[cache.node];
    for (NodeId reader : readers(cache.node))
      if (regroups(reader))
        fail(node.cache->at,
             "the cache keeps '" + node.cache->node + "', which " + described(tree_.nodes[reader]) +
                 " looks at by heads",
             "the value as attention reads it", "keep '" + tree_.nodes[reader].name + "'");
    const auto kind = std::ranges::find(kKinds, std::string_view(cache.kind), &Kind::name);
    if (kind == std::end(kKinds)) return;
    ++checks_;
    const spec::CacheEntry& entry = *node.cache;
    const std::string own = entry.model_dtype ? "model"
                            : entry.dtype     ? std::string(base::dtype_name(*entry.dtype))
                                              : "cache";
    if (entry.dtype_key.empty() &&
        (" " + std::string(kind->dtypes) + " ").find(" " + own + " ") == std::string::npos)
      fail(entry.at,
           "the cache keeps '" + entry.node + "' of kind " + cache.kind + " in the type '" + own + "'",
           "one of " + std::string(kind->dtypes) + ", or a config key with its source");
    if (!kind->key && !kind->value) return;
    ++checks_;
    bool key = false, value = false;
    const std::vector<NodeId> reading = ahead(cache.node, node.call);
    for (NodeId id : reading) {
      if (!joins_context(id)) continue;
      // It is read as a key where it stands behind what the context keeps.
      const int reader = tree_.nodes[id].call;
      for (NodeId context : context_of(id)) {
        const std::vector<NodeId> through = behind(context, inside(node.call, reader) ? node.call : reader);
        if (std::ranges::find(through, cache.node) != through.end()) (is_score(id) ? key : value) = true;
      }
    }
    const auto text = [](bool as_key, bool as_value) {
      return std::string(as_key && as_value ? "key and value"
                         : as_key           ? "key"
                         : as_value         ? "value"
                                            : "neither");
    };
    if (key == kind->key && value == kind->value) return;
    fail(node.cache->at,
         "the cache entry '" + node.cache->node + "' of kind " + cache.kind + " is read as " +
             text(key, value),
         text(kind->key, kind->value) + " by attention");
  }

  // ---- routing

  // Positions that a choice makes are no numbers to compute with, and only such positions choose.
  void positions(NodeId id) {
    const Node& node = tree_.nodes[id];
    const auto chooses = [](const Node& from) {
      return from.op->name == "topk" || from.op->name == "topk_keys" || from.op->name == "topk_key_blocks" ||
             from.op->name == "token_choice";
    };
    for (size_t i = 0; i < node.in.size(); ++i) {
      const Node& from = tree_.nodes[node.in[i]];
      const bool taken_as = node.op->positions == static_cast<int>(i) + 1, chosen = chooses(from);
      if (!chosen && !taken_as) continue;
      ++checks_;
      if (!chosen) {
        fail(node.decl->at, described(node) + " chooses by '" + from.name + "', which is no choice",
             "positions that a topk made");
      } else if (!taken_as && node.op->unit != spec::Unit::kMove) {
        fail(node.decl->at, described(node) + " computes with the positions that '" + from.name + "' chose",
             "the values at those positions", "take them first");
      } else if (node.op->name == "take" && taken_as && !from.in.empty()) {
        const Expr chosen_of = analysis_.shape[from.in[0]].back(),
                   taken_of = analysis_.shape[node.in[0]].back();
        if (!expr::same_value(chosen_of, taken_of))
          fail(node.decl->at,
               described(node) + " takes from " + expr::to_text(taken_of) + " values of '" +
                   tree_.nodes[node.in[0]].name + "'",
               expr::to_text(chosen_of) + ", those that '" + from.name + "' chose among");
      } else if (taken_as && from.op->name.starts_with("topk_key")) {
        // Keys are chosen among those that are read: kept under one law, as many of them.
        const Expr chosen_of = analysis_.shape[from.in[0]].back(), read = analysis_.shape[node.in[i - 1]][1];
        if (!expr::same_value(chosen_of, read))
          fail(node.decl->at,
               described(node) + " reads chosen ones of " + expr::to_text(read) + " entries of '" +
                   tree_.nodes[node.in[i - 1]].name + "'",
               expr::to_text(chosen_of) + ", those that '" + from.name + "' chose among");
      }
    }
  }

  void routed(int id) {
    const graph::Call& call = tree_.calls[id];
    if (!call.splits_tokens) return;
    const auto first = std::ranges::find(tree_.nodes, id, &Node::call);
    if (call.inputs.empty() || first == tree_.nodes.end()) return;
    const NodeId in = call.inputs[0];
    const size_t inner = static_cast<size_t>(first - tree_.nodes.begin());
    if (analysis_.shape[in].size() < 2) return;
    ++checks_;
    const Expr active = analysis_.active_in_layer[inner] / analysis_.active_in_layer[in],
               wanted = analysis_.s_query * active, got = analysis_.shape[in][1];
    if (expr::same_value(wanted, got)) return;
    fail(call.decl->at,
         "node '" + call.name + "' (" + call.path + ") lets each token use " + expr::to_text(active) +
             " copies, and '" + tree_.nodes[in].name + "' hands it " +
             expr::to_text(got / analysis_.s_query) + " of each",
         "as many as are chosen");
  }

  // ---- roles

  // What a component is when it is called by name: its own role says which slot it could fill.
  void call_role(const graph::Call& call) {
    if (!call.decl || call.decl->target != spec::NodeDecl::Target::kComponent) return;
    const auto role = tree_.library->roles().find(call.role);
    if (role == tree_.library->roles().end()) return;
    ++checks_;
    const std::string what = "node '" + call.name + "' (" + call.path + ")";
    // What has no path of its own is a part of what calls it, and has its role; a part may have a slot's role.
    const graph::Call* around = call.parent >= 0 ? &tree_.calls[static_cast<size_t>(call.parent)] : nullptr;
    const bool part = around && call.decl->role.empty() && around->role == call.role;
    if (around && call.decl->role.empty() && call.decl->has_path && call.decl->path.empty() && !part)
      fail(call.decl->at, what + " has no path of its own and the role '" + call.role + "'",
           "'" + around->role + "', that of what it is a part of", "state a role where it is another");
    if (!role->second.fills.empty() && !part)
      fail(call.decl->at, what + " calls a component by name and has the role '" + call.role + "' of a slot",
           "a role of its own, such as shared_experts");
    else if (role->second.copies != call.splits_tokens)
      fail(call.decl->at,
           what + " has the role '" + call.role + "' and " +
               (call.splits_tokens ? "shares tokens out to copies" : "no copies that share tokens out"),
           call.splits_tokens ? "a role of copies: routed_experts"
                              : "another role, or copies with split: tokens");
  }

  void roles() {
    const auto& table = tree_.library->roles();
    // A role inherited from a template or slot is for what it stores; one that is stated is for the op itself.
    const auto held = [&](const Node& node, const std::string& name, const std::string& op) {
      const auto role = table.find(name);
      if (role == table.end()) return;
      const spec::RoleInfo& info = role->second;
      ++checks_;
      if (info.has_ops && std::ranges::find(info.ops, op) == info.ops.end())
        fail(node.decl->at, described(node) + " of op '" + op + "' has the role '" + name + "'",
             info.ops.empty() ? "a role for what it is: this one is for templates"
                              : "a role that such an op may have");
      else if (!node.decl->role.empty() && !info.fills.empty())
        fail(node.decl->at, described(node) + " has the role '" + name + "' of a component",
             "a role that fills no slot");
    };
    for (const Node& node : tree_.nodes)
      if (!node.decl->role.empty()) held(node, node.decl->role, node.op->name);
    for (const analysis::Param& param : analysis_.params) {
      const Node& node = tree_.nodes[param.node];
      if (param.role.empty())
        fail(node.decl->at, described(node) + " stores '" + param.name + "' and has no role",
             "a role of specs/roles.yaml, which its totals stand under");
      else if (node.decl->role.empty())
        held(node, param.role, param.op);
    }
  }

  const Analysis& analysis_;
  const graph::SpecTree& tree_;
  int64_t& checks_;
  std::set<std::string>& said_;
  base::Faults& faults_;
};

// Decode keeps what prefill keeps, entry by entry: the step reads what earlier steps wrote.
void same_entries(const analysis::Bill& bill, int64_t* checks, base::Faults* faults) {
  struct Entry {
    std::string text;
    base::Span at;
  };
  const auto entries = [](const Analysis& analysis) {
    std::vector<Entry> out;
    for (const analysis::Cache& cache : analysis.caches) {
      const Node& node = analysis.tree->nodes[cache.node];
      std::string text = "'" + node.name + "' (" + node.path + ") as " + cache.kind + ", " +
                         expr::to_text(cache.per_token) + " elements";
      if (cache.growth == CacheEntry::Growth::kWindow) text += " within " + node.cache->amount.text();
      if (cache.growth == CacheEntry::Growth::kChunk) text += " in chunks of " + node.cache->amount.text();
      if (cache.growth == CacheEntry::Growth::kRatio) text += ", one in " + node.cache->amount.text();
      if (cache.growth == CacheEntry::Growth::kFixed) text += " in all";
      out.push_back({std::move(text), node.cache->at});
    }
    return out;
  };
  const std::vector<Entry> prefill = entries(*bill.prefill), decode = entries(*bill.decode);
  std::set<std::string> said;
  const auto missing = [&](const std::vector<Entry>& of, const std::vector<Entry>& in, const char* phase,
                           const char* other) {
    for (const Entry& entry : of) {
      ++*checks;
      if (std::ranges::find(in, entry.text, &Entry::text) != in.end()) continue;
      if (!said.insert(entry.text).second) continue;
      faults->push_back({entry.at, std::string(phase) + " keeps " + entry.text,
                         std::string("the same entry in ") + other,
                         "give a component and its decode variant the same cache", "wiring"});
    }
  };
  missing(prefill, decode, "prefill", "decode");
  missing(decode, prefill, "decode", "prefill");
}

}  // namespace

base::Faults check_wiring(const analysis::Bill& bill, int64_t* checks) {
  base::Faults faults;
  std::set<std::string> said;
  for (const Analysis* analysis : {bill.prefill.get(), bill.decode.get()})
    Wiring(*analysis, checks, &said, &faults).run();
  same_entries(bill, checks, &faults);
  return faults;
}

}  // namespace archlight::guard
