#include "guard/structural.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/tree.h"
#include "guard/internal/flow.h"
#include "guard/internal/unused.h"

namespace archlight::guard {
namespace {

using analysis::Analysis;
using base::Json;
using expr::Rational;
using graph::Group;
using graph::Node;
using graph::NodeId;
using internal::described;
using internal::Flow;

std::string layer_of(const Group& group, int64_t layer) {
  return "layer " + std::to_string(layer) + " of stack '" + group.stack + "'";
}

// A key that states a fact, and what it says.
struct Stated {
  std::string key;  // with its root
  const Json* value = nullptr;
  const spec::ConfigKey* row = nullptr;
};

// What one kind of layer does, read off the tree.
struct Layer {
  const Group* group = nullptr;
  std::vector<NodeId> scores;
  std::vector<NodeId> ropes;
  bool window = false, whole = false, state = false, routed = false;
};

class Structural {
 public:
  Structural(const Subject& subject, Findings& out)
      : library_(subject.library),
        binding_(*subject.bill->binding),
        model_(*binding_.model),
        config_(*binding_.config),
        prefill_(*subject.bill->prefill),
        decode_(*subject.bill->decode),
        tree_(*prefill_.tree),
        flow_(prefill_),
        out_(out) {}

  void run() {
    dims();
    tied();
    find_layers();
    kinds();
    feed_forward();
    rope();
    masks();
    windows();
    norms();
    kinds_of_norm();
    activation();
    routers();
    internal::check_unused(library_, model_, out_);
  }

 private:
  void fail(const base::Span& at, std::string wrong, std::string expected, std::string fix = {}) {
    if (!said_.insert(wrong).second) return;
    out_.faults.push_back({at, std::move(wrong), std::move(expected), std::move(fix), "structural"});
  }

  // ---- facts of the config

  bool ignored(const std::string& key) const {
    return std::ranges::any_of(model_.ignores, [&](const spec::IgnoredKey& row) {
      return key == row.key || key.ends_with("." + row.key) || key.starts_with(row.key + ".");
    });
  }

  std::optional<Stated> at(const std::string& key, const spec::ConfigKey* row) const {
    Stated out;
    out.value = spec::config_value(model_, config_, key, &out.key);
    out.row = row;
    if (!out.value || ignored(out.key) || ignored(key) || (row && meaningless(*row))) return std::nullopt;
    return out;
  }

  // Does another key make this one mean nothing?
  bool meaningless(const spec::ConfigKey& row) const {
    return std::ranges::any_of(row.unless, [&](const auto& pair) {
      const Json* other = spec::config_value(model_, config_, pair.first);
      return other &&
             (pair.second == "*" ? !spec::is_off(*other, nullptr) : spec::plain_text(*other) == pair.second);
    });
  }

  // Every key that states the fact, in the order of the table; those of rope also where configs group them.
  std::vector<Stated> stated(std::string_view fact) const {
    std::vector<Stated> out;
    for (const std::string& name : library_.config_keys().stating(fact))
      for (const char* group : {"", "rope_parameters.", "rope_scaling."})
        if (const std::optional<Stated> found = at(group + name, library_.config_keys().find(name)))
          out.push_back(*found);
    return out;
  }

  std::optional<bool> flag(std::string_view fact, std::string* key = nullptr) const {
    for (const Stated& each : stated(fact))
      if (each.value->is_boolean()) {
        if (key) *key = each.key;
        return each.value->get<bool>();
      }
    return std::nullopt;
  }

  // The entry of a per-layer list as `values` translates it; none where it says nothing of the layer.
  static const std::string* entry(const Stated& list, int64_t layer) {
    if (!list.value->is_array() || layer < 0 || layer >= static_cast<int64_t>(list.value->size()))
      return nullptr;
    const std::string text = spec::plain_text((*list.value)[static_cast<size_t>(layer)]);
    const auto found = std::ranges::find(list.row->values, text, &std::pair<std::string, std::string>::first);
    return found == list.row->values.end() ? nullptr : &found->second;
  }

  // ---- dims and tying

  void dims() {
    for (const spec::DimDecl& dim : model_.dims) {
      const auto info = library_.dims().find(dim.name);
      const spec::BoundDim* bound = binding_.find(dim.name);
      if (info == library_.dims().end() || !bound) continue;
      for (const std::string& key : info->second.config_keys) {
        const std::optional<Stated> found = at(key, nullptr);
        if (!found || !found->value->is_number_integer()) continue;
        ++out_.checks;
        const Rational value{found->value->get<int64_t>(), 1};
        if (bound->value == value) continue;
        fail(dim.at, "dim '" + dim.name + "' is " + expr::to_string(bound->value),
             expr::to_string(value) + ", config." + found->key, "bind it to that key");
      }
    }
  }

  void tied() {
    std::string key;
    const std::optional<bool> ties = flag("tied_head", &key);
    if (!ties) return;
    for (const analysis::Param& param : prefill_.params) {
      if (param.tied_to.empty() || !param.apart.empty()) continue;  // prediction layers share tables anyway
      ++out_.checks;
      if (param.tied == *ties) continue;
      fail(tree_.nodes[param.node].decl->at,
           "'" + param.path + "' is " + (param.tied ? "tied to '" : "not tied to '") + param.tied_to + "'",
           "config." + key + ", which is " + (param.tied ? "false" : "true"),
           "let tied_when follow that key");
    }
  }

  // ---- the trunk's layers

  bool rests_on_layer_count(const expr::Formula& formula, int depth = 0) const {
    if (formula.empty() || depth > 20) return false;
    return std::ranges::any_of(formula.names(), [&](const std::string& name) {
      const auto info = library_.dims().find(name);
      if (info != library_.dims().end() && info->second.kind == "layer_count" &&
          !info->second.config_keys.empty())
        return true;
      const auto decl = std::ranges::find(model_.dims, name, &spec::DimDecl::name);
      return decl != model_.dims.end() && rests_on_layer_count(decl->formula, depth + 1);
    });
  }

  void find_layers() {
    std::set<std::string> trunk;
    for (const spec::ModelEntry& entry : model_.entries)
      if (entry.stack && entry.stack->apart.empty() && rests_on_layer_count(entry.stack->repeat))
        trunk.insert(entry.stack->name);
    for (size_t g = 0; g < tree_.groups.size(); ++g) {
      const Group& group = tree_.groups[g];
      if (!group.apart.empty() || (!trunk.empty() && !trunk.contains(group.stack))) continue;
      Layer layer{.group = &group};
      for (NodeId id = group.first; id < group.last; ++id) {
        if (flow_.joins_context(id) && flow_.is_score(id)) layer.scores.push_back(id);
        if (tree_.nodes[id].op->name == "rope") layer.ropes.push_back(id);
      }
      for (const graph::Call& call : tree_.calls)
        layer.routed = layer.routed || (call.group == static_cast<int>(g) && call.splits_tokens);
      kept(static_cast<int>(g), layer);
      layers_.push_back(std::move(layer));
    }
  }

  // What the layer's attention finds kept: its own entries; those of an earlier layer where it keeps none.
  void kept(int group, Layer& layer) const {
    const auto add = [&](const spec::CacheEntry& entry) {
      using Growth = spec::CacheEntry::Growth;
      (entry.growth == Growth::kWindow || entry.growth == Growth::kChunk ? layer.window
       : entry.growth == Growth::kFixed                                  ? layer.state
                                                                         : layer.whole) = true;
    };
    const graph::SpecTree& tree = *decode_.tree;
    bool own = false;
    for (const analysis::Cache& cache : decode_.caches)
      if (tree.nodes[cache.node].group == group) {
        add(*tree.nodes[cache.node].cache);
        own = true;
      }
    if (own) return;
    const Flow flow(decode_);
    for (NodeId id = 0; id < tree.nodes.size(); ++id)
      if (tree.nodes[id].group == group && flow.joins_context(id) && flow.is_score(id))
        for (NodeId entry : flow.behind_until(tree.nodes[id].in[1], -1,
                                              [](const Node& node) { return node.cache != nullptr; }))
          if (tree.nodes[entry].cache) add(*tree.nodes[entry].cache);
  }

  static std::string kept_text(const Layer& layer) {
    if (layer.window && layer.whole) return "a window and the whole context";
    if (layer.window) return "a window";
    if (layer.whole) return "the whole context";
    return layer.state ? "a state" : "nothing";
  }

  const base::Span& block_of(const Layer& layer) const {
    return tree_.calls[static_cast<size_t>(layer.group->call)].component->at;
  }

  void kinds() {
    for (const Stated& list : stated("layer_kinds"))
      for (const Layer& layer : layers_)
        for (int64_t index : layer.group->layers) {
          const std::string* kind = entry(list, index);
          if (!kind) continue;
          ++out_.checks;
          const bool fits = *kind == "window"  ? layer.window && !layer.whole
                            : *kind == "whole" ? layer.whole && !layer.window
                            : *kind == "state" ? layer.state && !layer.whole && !layer.window
                                               : !layer.state && !layer.whole && !layer.window;
          if (fits) continue;
          const std::string wanted = *kind == "window"  ? "a window"
                                     : *kind == "whole" ? "the whole context"
                                     : *kind == "state" ? "a state"
                                                        : "nothing";
          fail(block_of(layer), layer_of(*layer.group, index) + " keeps " + kept_text(layer),
               wanted + ", since config." + list.key + " says " +
                   spec::plain_text((*list.value)[static_cast<size_t>(index)]),
               "let a layer rule follow that list");
          break;  // one layer of a group speaks for it
        }
    for (const Stated& every : stated("whole_every"))
      if (every.value->is_number_integer() && every.value->get<int64_t>() > 1)
        for (const Layer& layer : layers_)
          for (int64_t index : layer.group->layers) {
            ++out_.checks;
            const bool wanted = (index + 1) % every.value->get<int64_t>() == 0;
            if (layer.whole == wanted) continue;
            fail(block_of(layer), layer_of(*layer.group, index) + " keeps " + kept_text(layer),
                 std::string(wanted ? "the whole context" : "less than the whole context") +
                     ", since config." + every.key + " is " + every.value->dump(),
                 "let a layer rule follow that key");
            break;
          }
  }

  void feed_forward() {
    const auto hold = [&](const Layer& layer, int64_t index, bool routed, const std::string& why) {
      ++out_.checks;
      if (layer.routed == routed) return true;
      fail(block_of(layer),
           layer_of(*layer.group, index) + (layer.routed ? " has routed experts" : " has no routed experts"),
           (routed ? "some, since " : "none, since ") + why, "let a layer rule follow that key");
      return false;
    };
    for (const Stated& list : stated("ffn_kinds"))
      for (const Layer& layer : layers_)
        for (int64_t index : layer.group->layers)
          if (const std::string* kind = entry(list, index))
            if (!hold(layer, index, *kind == "routed",
                      "config." + list.key + " says " +
                          spec::plain_text((*list.value)[static_cast<size_t>(index)])))
              break;
    const std::vector<Stated> experts = stated("experts");
    const auto some = std::ranges::find_if(
        experts, [](const Stated& each) { return !spec::is_off(*each.value, each.row); });
    if (some == experts.end()) return;
    ++out_.checks;
    if (!layers_.empty() && std::ranges::none_of(layers_, &Layer::routed))
      fail(block_of(layers_[0]), "no layer has routed experts",
           "some, since config." + some->key + " is " + some->value->dump().substr(0, 40));
    for (const Stated& list : stated("dense_layers"))
      if (list.value->is_array())
        for (const Layer& layer : layers_)
          for (int64_t index : layer.group->layers)
            if (std::ranges::find(*list.value, Json(index)) != list.value->end() &&
                !hold(layer, index, false, "config." + list.key + " lists it"))
              break;
    for (const Stated& count : stated("leading_dense"))
      if (count.value->is_number_integer())
        for (const Layer& layer : layers_)
          for (int64_t index : layer.group->layers) {
            const std::string why = "config." + count.key + " is " + count.value->dump();
            const int64_t dense = count.value->get<int64_t>();
            if (index < dense && !hold(layer, index, false, why)) break;
          }
  }

  // ---- rope

  // Text of the layer's own kind, as rope_parameters.KIND names it.
  std::string kind_name(const Layer& layer) const {
    for (const Stated& list : stated("layer_kinds"))
      if (const int64_t index = layer.group->layers[0];
          list.value->is_array() && index < static_cast<int64_t>(list.value->size()))
        return spec::plain_text((*list.value)[static_cast<size_t>(index)]);
    return {};
  }

  std::optional<Stated> fraction_of(const Layer& layer) const {
    for (const std::string& name : library_.config_keys().stating("rotary_fraction")) {
      const spec::ConfigKey* row = library_.config_keys().find(name);
      if (const std::string kind = kind_name(layer); !kind.empty())
        if (const std::optional<Stated> found = at("rope_parameters." + kind + "." + name, row)) return found;
    }
    for (const Stated& each : stated("rotary_fraction"))
      if (each.value->is_number()) return each;
    return std::nullopt;
  }

  // Does what a rope turns rest on a dim whose value has a source: a family's own part of a head?
  bool sourced(const Node& node) const {
    for (const spec::NamedFormula& named : node.decl->dims)
      for (const std::string& name : named.formula.names())
        if (const auto decl = std::ranges::find(model_.dims, name, &spec::DimDecl::name);
            decl != model_.dims.end() && !decl->source.empty())
          return true;
    return false;
  }

  void rope() {
    const std::vector<Stated> widths = stated("rotary_width");
    bool any = false, attends = false;
    for (const Layer& layer : layers_) {
      any = any || !layer.ropes.empty();
      attends = attends || !layer.scores.empty();
      for (NodeId id : layer.ropes) turned(layer, id, widths);
      if (layer.scores.empty()) continue;
      for (const Stated& list : stated("rope_layers"))
        for (int64_t index : layer.group->layers) {
          const std::string* kind = entry(list, index);
          if (!kind) continue;
          ++out_.checks;
          if ((*kind == "rope") == !layer.ropes.empty()) continue;
          fail(block_of(layer),
               layer_of(*layer.group, index) + (layer.ropes.empty() ? " has no rope" : " has rope"),
               (layer.ropes.empty() ? "rope" : "none") + (", since config." + list.key + " says ") +
                   spec::plain_text((*list.value)[static_cast<size_t>(index)]));
          break;
        }
    }
    std::string key;
    if (const std::optional<bool> none = flag("no_rope", &key); none && *none) {
      ++out_.checks;
      for (const Layer& layer : layers_)
        if (!layer.ropes.empty())
          fail(tree_.nodes[layer.ropes[0]].decl->at,
               described(tree_.nodes[layer.ropes[0]]) + " rotates, and config." + key + " is true",
               "no rope");
      return;
    }
    const std::vector<Stated> bases = stated("rope_base");
    if (bases.empty() || !attends) return;
    ++out_.checks;
    if (!any)
      fail(block_of(layers_[0]), "no layer rotates queries and keys",
           "rope, since config." + bases[0].key + " is " + bases[0].value->dump().substr(0, 40),
           "where the forward pass rotates nothing, ignores: { " + bases[0].key + ": WHY }");
  }

  void turned(const Layer& layer, NodeId id, const std::vector<Stated>& widths) {
    const Node& node = tree_.nodes[id];
    const std::optional<base::Int128> turns = prefill_.shape[id].back().integer();
    if (!turns) return;
    const auto differs = [&](base::Int128 wanted, const std::string& why) {
      fail(node.decl->at, described(node) + " rotates " + base::with_commas(*turns) + " of each head",
           base::with_commas(wanted) + why);
    };
    for (const Stated& width : widths)
      if (width.value->is_number_integer() && width.value->get<int64_t>() > 0) {
        ++out_.checks;
        if (*turns != width.value->get<int64_t>())
          differs(width.value->get<int64_t>(), ", which is config." + width.key);
        return;
      }
    // The head that it is a part of: what a score compares.
    std::optional<base::Int128> head;
    for (NodeId score : layer.scores)
      for (NodeId operand : tree_.nodes[score].in) {
        const std::vector<NodeId> made_of = flow_.behind(operand, node.call);
        if (std::ranges::find(made_of, id) != made_of.end()) head = prefill_.shape[operand].back().integer();
      }
    if (!head) return;
    ++out_.checks;
    if (const std::optional<Stated> fraction = fraction_of(layer)) {
      const double share = fraction->value->get<double>();
      const auto part = static_cast<base::Int128>(base::to_double(*head) * share);
      // Frequencies in proportion turn the whole head, most of it by nothing.
      const std::string type = fraction->key.substr(0, fraction->key.rfind('.') + 1) + "rope_type";
      const Json* proportional = spec::config_value(model_, config_, type);
      const bool whole = proportional && *proportional == "proportional" && *turns == *head;
      if (*turns != part && !whole)
        differs(part, ", which is config." + fraction->key + " = " + fraction->value->dump() + " of " +
                          base::with_commas(*head));
    } else if (*turns != *head && !sourced(node)) {
      differs(*head, ", the whole head, since neither config nor a dim with a source says a part");
    }
  }

  // ---- masks and windows

  void masks() {
    std::string why;
    std::optional<bool> causal = flag("causal", &why);
    if (causal) why = "config." + why + " is " + (*causal ? "true" : "false");
    if (std::string key; flag("bidirectional", &key).value_or(false)) {
      causal = false;
      why = "config." + key + " is true";
    }
    if (const Json* names = spec::config_value(model_, config_, "architectures");
        !causal && names && names->is_array())
      for (const Json& name : *names)
        if (name.is_string() && name.get<std::string>().ends_with("ForCausalLM")) {
          causal = true;
          why = "the architecture is " + name.get<std::string>();
        }
    if (!causal) return;
    for (const Layer& layer : layers_)
      for (NodeId id : layer.scores) {
        const Node& node = tree_.nodes[id];
        ++out_.checks;
        if ((node.decl->mask == "causal") == *causal) continue;
        fail(node.decl->at, described(node) + " has mask " + node.decl->mask,
             std::string(*causal ? "causal" : "none") + ", since " + why);
      }
  }

  // Does a window rest on a key or a source, where the config states it under no key that is known?
  bool stated_elsewhere(const expr::Formula& window) const {
    return std::ranges::any_of(window.names(), [&](const std::string& name) {
      const spec::BoundDim* bound = binding_.find(name);
      const auto decl = std::ranges::find(model_.dims, name, &spec::DimDecl::name);
      return (bound && bound->origin.starts_with("config.")) ||
             (decl != model_.dims.end() && !decl->source.empty());
    });
  }

  void windows() {
    std::optional<Stated> width;
    for (const Stated& each : stated("window"))
      if (each.value->is_number_integer() && !spec::is_off(*each.value, each.row) && !width) width = each;
    std::string off_key;
    const bool off = !flag("window_in_use", &off_key).value_or(true);
    bool any = false;
    for (const Layer& layer : layers_) any = any || layer.window;
    for (const analysis::Cache& cache : decode_.caches) {
      const Node& node = decode_.tree->nodes[cache.node];
      if (cache.growth != spec::CacheEntry::Growth::kWindow ||
          std::ranges::none_of(
              layers_, [&](const Layer& layer) { return layer.group == &tree_.groups[0] + node.group; }))
        continue;
      ++out_.checks;
      const std::string what = "the cache entry '" + node.cache->node + "' (" + node.path + ") keeps ";
      if (off)
        fail(node.cache->at, what + "a window", "the whole context, since config." + off_key + " is false");
      else if (!width) {
        if (!stated_elsewhere(node.cache->amount))
          fail(node.cache->at, what + "a window of " + node.cache->amount.text(),
               "a window that the config states, or that a dim gives a source for");
      } else if (const auto kept = cache.amount.integer();
                 kept && *kept != width->value->get<int64_t>() && !stated_elsewhere(node.cache->amount)) {
        fail(node.cache->at, what + "a window of " + base::with_commas(*kept),
             base::with_commas(width->value->get<int64_t>()) + ", which is config." + width->key);
      }
    }
    if (!width || off || any || layers_.empty()) return;
    // A list of kinds without a window says that no layer has one.
    for (const Stated& list : stated("layer_kinds")) {
      bool lists_window = false;
      for (const Layer& layer : layers_)
        for (int64_t index : layer.group->layers)
          if (const std::string* kind = entry(list, index)) lists_window = lists_window || *kind == "window";
      if (!lists_window) return;
    }
    for (const Layer& layer : layers_)
      for (int64_t index : layer.group->layers)
        if (beyond_window_layers(index)) {
          ++out_.checks;
          fail(block_of(layer), "no layer keeps a window",
               "one of " + base::with_commas(width->value->get<int64_t>()) + ", since config." + width->key +
                   " is set and in use",
               "where the forward pass has none, ignores: { " + width->key + ": WHY }");
          return;
        }
  }

  // Where configs say from which layer on windows are used: is this layer behind it?
  bool beyond_window_layers(int64_t index) const {
    for (const Stated& from : stated("window_from"))
      if (from.value->is_number_integer()) return index >= from.value->get<int64_t>();
    return true;
  }

  // ---- norms and activations

  void norms() {
    std::string key;
    const std::optional<bool> wanted = flag("qk_norm", &key);
    if (!wanted) return;
    bool any = false, attends = false;
    const Node* first = nullptr;
    for (const Layer& layer : layers_)
      for (NodeId id : layer.scores) {
        attends = true;
        if (!first) first = &tree_.nodes[id];
        for (NodeId operand : tree_.nodes[id].in)
          for (NodeId made_of : flow_.behind_until(operand, tree_.nodes[id].call, [](const Node& node) {
                 return node.op->unit == spec::Unit::kMatmul;
               }))
            any = any || tree_.nodes[made_of].op->name.find("norm") != std::string::npos;
      }
    if (!attends) return;
    ++out_.checks;
    if (any != *wanted)
      fail(first->decl->at,
           described(*first) +
               (any ? " compares normalised queries and keys" : " compares queries and keys without a norm"),
           (*wanted ? "norms on them" : "no norms on them") + (", since config." + key + " is ") +
               (*wanted ? "true" : "false"));
  }

  // Norms on the trunk itself: of its blocks, and of the model's own list.
  void kinds_of_norm() {
    const std::vector<Stated> rms = stated("rms_norm");
    for (NodeId id = 0; id < tree_.nodes.size(); ++id) {
      const Node& node = tree_.nodes[id];
      if (node.op->name != "layernorm") continue;
      ++out_.checks;
      if (node.decl->bias.empty() && node.decl->src.empty())
        fail(node.decl->at, described(node) + " is a layer norm that stores no bias",
             "a bias, or src: the class whose layer norm has none", "rmsnorm, where there is no mean either");
      const bool trunk = node.call < 0
                             ? node.apart.empty() && node.role == "norm"
                             : tree_.calls[static_cast<size_t>(node.call)].component->role == "block" &&
                                   in_trunk(node.group);
      if (trunk && !rms.empty())
        fail(node.decl->at, described(node) + " is a layer norm",
             "rmsnorm, since config." + rms[0].key + " is " + rms[0].value->dump());
    }
  }

  bool in_trunk(int group) const {
    return std::ranges::any_of(
        layers_, [&](const Layer& layer) { return layer.group - tree_.groups.data() == group; });
  }

  void activation() {
    for (const Stated& stated_here : stated("activation")) {
      if (!stated_here.value->is_string()) continue;
      const std::string text = stated_here.value->get<std::string>();
      std::set<std::string> all, meant;
      for (const auto& [word, ops] : stated_here.row->values)
        for (size_t from = 0; from < ops.size();) {
          const size_t end = std::min(ops.find(' ', from), ops.size());
          all.insert(ops.substr(from, end - from));
          if (word == text) meant.insert(ops.substr(from, end - from));
          from = end + 1;
        }
      if (meant.empty()) continue;
      for (const Layer& layer : layers_)
        for (NodeId id = layer.group->first; id < layer.group->last; ++id) {
          const Node& node = tree_.nodes[id];
          if (!in_feed_forward(node) || !all.contains(node.op->name)) continue;
          ++out_.checks;
          if (meant.contains(node.op->name)) continue;
          const std::string wrong = described(node) + " computes " + node.op->name;
          fail(node.decl->at, wrong, *meant.begin() + ", since config." + stated_here.key + " is " + text,
               "where the forward pass computes another, ignores: { " + stated_here.key + ": WHY }");
        }
      return;
    }
  }

  // What scores and weights experts: the nodes beside the experts, in the component that calls them.
  void routers() {
    const std::vector<Stated> scores = stated("router_score"), norms = stated("router_norm"),
                              factors = stated("router_factor");
    std::set<std::string> known;  // every op that a word of the table means
    for (const Stated& score : scores)
      for (const auto& [word, op] : score.row->values) known.insert(op);
    for (const graph::Call& call : tree_.calls) {
      if (!call.splits_tokens || call.parent < 0 || !in_trunk(call.group)) continue;
      const base::Span& at = tree_.calls[static_cast<size_t>(call.parent)].component->at;
      const std::string what = "the router of '" + tree_.calls[static_cast<size_t>(call.parent)].path + "'";
      std::set<std::string> ops;
      bool chosen = false, softmax_of_chosen = false;
      for (const Node& node : tree_.nodes)
        if (node.call == call.parent) {
          ops.insert(node.op->name);
          chosen = chosen || node.op->name == "topk";
          softmax_of_chosen = softmax_of_chosen || (chosen && node.op->name == "softmax");
        }
      for (const Stated& score : scores) {
        const std::string word = spec::plain_text(*score.value);
        const auto meant =
            std::ranges::find(score.row->values, word, &std::pair<std::string, std::string>::first);
        if (meant == score.row->values.end()) continue;
        ++out_.checks;
        const bool other = std::ranges::any_of(
            known, [&](const std::string& op) { return op != meant->second && ops.contains(op); });
        if (!ops.contains(meant->second) || (other && !softmax_of_chosen))
          fail(at, what + " does not score by " + meant->second,
               meant->second + ", since config." + score.key + " is " + word);
      }
      for (const Stated& norm : norms) {
        if (!norm.value->is_boolean()) continue;
        ++out_.checks;
        const bool has = ops.contains("normalize") || softmax_of_chosen;
        if (has != norm.value->get<bool>())
          fail(at,
               what +
                   (has ? " makes the chosen scores add up to one" : " leaves the chosen scores as they are"),
               "the other, since config." + norm.key + " is " + norm.value->dump());
      }
      for (const Stated& factor : factors) {
        if (spec::is_off(*factor.value, factor.row)) continue;
        ++out_.checks;
        if (!ops.contains("scale"))
          fail(at, what + " multiplies by no factor",
               "a scale, since config." + factor.key + " is " + factor.value->dump());
      }
    }
  }

  // In a component that stands in the slot of a feed-forward network, not in its router.
  bool in_feed_forward(const Node& node) const {
    if (node.role == "router") return false;
    for (int call = node.call; call >= 0; call = tree_.calls[call].parent)
      if (tree_.calls[call].component->role == "expert") return true;
    for (int call = node.call; call >= 0; call = tree_.calls[call].parent)
      if (const auto role = library_.roles().find(tree_.calls[call].component->role);
          role != library_.roles().end() && role->second.fills == "ffn")
        return true;
    return false;
  }

  const spec::Library& library_;
  const spec::Binding& binding_;
  const spec::Model& model_;
  const Json& config_;
  const Analysis &prefill_, &decode_;
  const graph::SpecTree& tree_;
  Flow flow_;
  Findings& out_;
  std::vector<Layer> layers_;
  std::set<std::string> said_;
};

}  // namespace

void check_structural(const Subject& subject, Findings& out) {
  Structural(subject, out).run();
}

bool holds_by_layer(std::string_view fact) {
  return fact == "layer_kinds" || fact == "ffn_kinds" || fact == "dense_layers" || fact == "rope_layers";
}

}  // namespace archlight::guard
