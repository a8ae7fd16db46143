// Expansion follows the YAML: a model's entries in order; a stack as one block per distinct layer; a
// component call as its graph in the caller's place. Conditions are decided here, on the bound dims, so that
// the walk meets only ops that exist; everything else stays a formula.
#include "graph/tree.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/yaml.h"
#include "graph/internal/schedule.h"
#include "graph/internal/streams.h"
#include "graph/internal/structural.h"

namespace archlight::graph {
namespace {

using base::fault_at;
using base::Faults;
using base::Result;
using spec::NamedFormula;
using spec::NodeDecl;
using spec::Operand;

constexpr int kMaxCallDepth = 24;
constexpr size_t kMaxNodes = 20'000;
constexpr int64_t kMaxLayers = 2'000;
constexpr size_t kMaxGroups = 500;
constexpr int64_t kMaxRuleTests = 500'000;  // layer rules times layers
constexpr size_t kMaxPath = 1'000;

// What a name inside a component stands for: a node, or nothing since its condition is off.
struct Value {
  NodeId node = kNone;
  bool failed = false;      // a fault was reported; readers stay silent
  bool stack = false;       // what a stack hands on: its last layer's output
  int stream = -1;          // it was read from this stream
  int joined = -1;          // values of a stream that become one node where a reader asks
  std::string absent = {};  // why there is nothing, where it is not a condition of the node's own
  bool present() const { return node != kNone || joined >= 0; }
};
const Value kFailed{kNone, true};

// Values of a stream that a reader sees as one.
struct Joined {
  internal::Seen seen;
  int call = -1, group = -1;
  std::string path, role;
  NodeId node = kNone;
};

// A node, and the stream that it was read from.
struct Input {
  NodeId node = kNone;
  int stream = -1;
};

std::string join_path(const std::string& a, const std::string& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return a + "." + b;
}

template <typename T>
std::string joined(const T& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

class Builder {
 public:
  Builder(const spec::Library& library, const spec::Binding& binding, Phase phase)
      : library_(library), binding_(binding), model_(*binding.model) {
    tree_.library = &library;
    tree_.binding = &binding;
    tree_.phase = phase;
  }

  Result<SpecTree> run() {
    std::map<std::string, Value> names;
    entries_ = &names;
    std::string above;                        // the entry before this one
    Value last;                               // of the main model
    std::map<std::string, Value> last_apart;  // of what is counted apart, its last node
    for (const spec::ModelEntry& entry : model_.entries) {
      const std::string& name = entry.stack ? entry.stack->name : entry.node->name;
      if (streams_.find(name) || streams_.left_out(name))
        fail(entry.stack ? entry.stack->at : entry.node->at,
             "an entry of 'model' and a stream are named '" + name + "'", "a name of its own");
      if (names.contains(name))
        fail(entry.stack ? entry.stack->at : entry.node->at,
             "two entries of 'model' are named '" + name + "'", "a name of its own");
      if (entry.stack) {
        const Value out = add_stack(*entry.stack, names, above);
        names[entry.stack->name] = out;
        if (out.failed)  // what reads its streams has nothing to say
          for (const spec::StreamDecl& stream : entry.stack->streams) names.emplace(stream.name, kFailed);
      } else {
        const NodeDecl& decl = *entry.node;
        const size_t first = tree_.nodes.size();
        apart_ = decl.apart;
        names[decl.name] = add_node(decl, names, "", "", -1, -1, -1, nullptr, 0);
        for (size_t i = first; i < tree_.nodes.size(); ++i)
          tree_.program.push_back({-1, static_cast<NodeId>(i)});
      }
      above = name;
      const std::string& apart = entry.stack ? entry.stack->apart : entry.node->apart;
      if (apart.empty())
        last = names[name];
      else if (!entry.stack)
        last_apart[apart] = names[name];
      if (faults_.size() > 50) break;
    }
    for (const auto& [apart, value] : last_apart)
      if (value.present()) tree_.results.push_back(settle(value).node);
    if (last.present()) tree_.results.push_back(settle(last).node);
    if (model_.entries.empty())
      fail(model_.at, "model '" + model_.name + "' has no 'model' section", "a list of nodes and stacks");
    if (faults_.empty()) streams_.finish();
    if (!faults_.empty()) return faults_;
    return std::move(tree_);
  }

 private:
  void fail(const base::Span& at, std::string wrong, std::string expected = {}, std::string fix = {}) {
    if (faults_.size() < 100)
      faults_.push_back(fault_at(at, std::move(wrong), std::move(expected), std::move(fix)));
  }

  std::optional<expr::Rational> number(const expr::Formula& formula, int scope) {
    return structural_.number(formula, scope, std::nullopt, faults_);
  }

  bool holds(const expr::Formula& when, int scope) {
    if (when.empty()) return true;
    const std::optional<expr::Rational> value = number(when, scope);
    return value && value->num != 0;
  }

  // The node behind a value; values of a stream become one here.
  Input settle(const Value& value) {
    if (value.joined < 0) return {value.node, value.stream};
    Joined& joined = joined_[static_cast<size_t>(value.joined)];
    if (joined.node != kNone) return {joined.node, -1};
    const Stream& stream = tree_.streams[static_cast<size_t>(joined.seen.stream)];
    auto decl = std::make_shared<NodeDecl>();
    decl->name = stream.name;
    decl->at = decl->target_at = stream.at;
    decl->target_name = joined.seen.mode == internal::ReadMode::kConcat ? "concat_all" : "stack";
    if (Result<expr::Formula> n = expr::Formula::parse(streams_.count_text(joined.seen), stream.at))
      decl->dims.push_back({"n", std::move(*n), stream.at});
    Node node;
    node.name = stream.name;
    node.path = join_path(joined.path, stream.name);
    node.role = joined.role;
    node.op = spec::find_builtin_op(decl->target_name);
    node.decl = decl.get();
    node.call = joined.call;
    node.group = joined.group;
    node.in = joined.seen.nodes;
    node.in_streams.assign(node.in.size(), joined.seen.stream);
    node.apart = joined.group >= 0 ? tree_.groups[static_cast<size_t>(joined.group)].apart : apart_;
    node.done = (joined.call >= 0 && tree_.calls[static_cast<size_t>(joined.call)].done) ||
                std::ranges::all_of(node.in, [&](NodeId in) { return tree_.nodes[in].done; });
    tree_.made_decls.push_back(std::move(decl));
    joined.node = static_cast<NodeId>(tree_.nodes.size());
    tree_.nodes.push_back(std::move(node));
    return {joined.node, -1};
  }

  // What a reader is handed of what it sees.
  Value value_of(const internal::Seen& seen, int call, int group, const std::string& path,
                 const std::string& role) {
    Value out;
    out.absent = seen.absent;
    if (seen.nodes.empty()) return out;
    if (seen.mode == internal::ReadMode::kLast || seen.mode == internal::ReadMode::kEach) {
      out.node = seen.nodes[0];
      out.stream = tree_.streams[static_cast<size_t>(seen.stream)].kind == spec::StreamDecl::Kind::kCarried
                       ? -1
                       : seen.stream;
      return out;
    }
    out.joined = static_cast<int>(joined_.size());
    joined_.push_back({seen, call, group, path, role});
    return out;
  }

  std::optional<Value> resolve(const Operand& operand, const std::map<std::string, Value>& names,
                               const std::string& reader, bool in_component) {
    std::string absent;
    for (const std::string& name : operand.alternatives) {
      const auto it = names.find(name);
      if (it == names.end() && !in_component) {
        if (const std::optional<int> stream = streams_.find(name)) {
          const std::optional<internal::Seen> seen = streams_.see_whole(*stream, operand.at, reader);
          if (!seen) return std::nullopt;
          streams_.note_reader(*seen, -1, -1);
          const Value value = value_of(*seen, -1, -1, "", "");
          if (value.present()) return value;
          absent = value.absent;
          continue;
        }
        if (streams_.left_out(name)) continue;
      }
      if (it == names.end()) {
        std::vector<std::string> known;
        for (const auto& [other, unused] : names) known.push_back(other);
        // "layers[3]", "layers.3": a layer of a stack.
        const size_t joint = name.find_first_of("[.");
        const bool layer = joint != std::string::npos && names.contains(name.substr(0, joint));
        fail(operand.at, reader + " reads '" + name + "', which is not defined above it",
             "one of " + joined(known),
             layer ? "to read layer i's output, give the stack an append stream: NAME: { from: hidden, "
                     "after: [i] }"
                   : base::did_you_mean(name, known));
        return std::nullopt;
      }
      if (it->second.failed) return std::nullopt;
      if (it->second.present()) return it->second;
      if (!it->second.absent.empty()) absent = it->second.absent;
    }
    if (operand.optional) return Value{};
    if (!absent.empty()) {
      fail(operand.at, reader + " reads " + absent, "a value",
           "mark the operand optional with '?', give an alternative with 'a | b', or let a layer rule choose "
           "which "
           "layers read");
      return std::nullopt;
    }
    fail(operand.at,
         reader + " reads '" + joined(operand.alternatives) + "', which its condition leaves out here",
         "a node that exists for this config",
         "give an alternative with 'a | b', or mark it optional with '?'");
    return std::nullopt;
  }

  // Adds one graph entry; returns what its name stands for.
  Value add_node(const NodeDecl& decl, const std::map<std::string, Value>& names, const std::string& path,
                 const std::string& role, int call, int group, int scope, const spec::Component* base,
                 int depth) {
    const std::string what = "node '" + decl.name + "'";
    if (!decl.apart.empty() && call >= 0)
      fail(decl.at, what + " of a component is counted apart", "'apart' on entries of 'model'");
    std::vector<NodeId> in;
    std::vector<int> in_streams;
    bool missing = false, from_stack = false;
    if (!holds(decl.when, scope)) {
      // A node that keeps its shape and is left out hands its input on: an absent norm is the value before it.
      const spec::Op* op = decl.target == NodeDecl::Target::kOp ? find_op(decl.target_name, call) : nullptr;
      if (op && op->kind == spec::ShapeKind::kPreserve && decl.in.size() == 1) {
        for (const std::string& name : decl.in[0].alternatives)
          if (const auto it = names.find(name); it != names.end() && it->second.present()) return it->second;
      }
      return {};
    }
    for (const Operand& operand : decl.in) {
      const std::optional<Value> value = resolve(operand, names, what, call >= 0);
      if (!value) {
        missing = true;
      } else if (value->present()) {
        const Input input = settle(*value);
        in.push_back(input.node);
        in_streams.push_back(input.stream);
        from_stack = from_stack || value->stack;
      }
    }
    if (missing) return kFailed;
    const bool own = decl.prefill_only && tree_.phase == Phase::kDecode;
    const bool done = own || (call >= 0 && tree_.calls[call].done);
    if (own && decl.target == NodeDecl::Target::kOp && !in.empty() && !tree_.nodes[in[0]].done)
      return {in[0], false, false, in_streams[0], -1, {}};
    if (tree_.nodes.size() > kMaxNodes || tree_.calls.size() > kMaxNodes || depth > kMaxCallDepth) {
      fail(decl.at,
           depth > kMaxCallDepth ? "components nest deeper than 24 calls"
                                 : "the model expands to more than 20,000 ops or calls",
           "a smaller graph");
      return kFailed;
    }
    const std::string own_path = join_path(path, decl.path);
    if (own_path.size() > kMaxPath) {
      fail(decl.at, what + " has a module path of " + std::to_string(own_path.size()) + " letters",
           "at most 1,000");
      return kFailed;
    }
    const std::string own_role = decl.role.empty() ? role : decl.role;
    if (!decl.role.empty() && !library_.roles().contains(decl.role)) {
      std::vector<std::string> known;
      for (const auto& [name, unused] : library_.roles()) known.push_back(name);
      fail(decl.at, "unknown role '" + decl.role + "'", "a role of specs/roles.yaml",
           base::did_you_mean(decl.role, known));
    }
    if (decl.target != NodeDecl::Target::kOp)
      return add_call(decl, std::move(in), std::move(in_streams), own_path, own_role, call, group, scope,
                      done, depth);

    const spec::Op* op = find_op(decl.target_name, call);
    if (!op) {
      std::vector<std::string> known;
      for (const spec::Op& candidate : spec::builtin_ops()) known.push_back(candidate.name);
      fail(decl.target_at, "unknown op '" + decl.target_name + "'", "an op from the ops table",
           base::did_you_mean(decl.target_name, known));
      return kFailed;
    }
    if (in.size() < decl.in.size() && in.size() == 1 && adds_to_first(*op))
      return {in[0], false, false, in_streams[0], -1, {}};
    if (op->repeats_last ? in.size() < op->operands.size() : in.size() != op->operands.size()) {
      fail(decl.at, what + " hands " + std::to_string(in.size()) + " operands to op '" + op->name + "'",
           (op->repeats_last ? "at least " : "") + std::to_string(op->operands.size()) + ", as in " +
               op->shape_text);
      return kFailed;
    }
    if (!fits_op(decl, *op, names, from_stack)) return kFailed;
    Node node;
    node.name = decl.name;
    node.path = own_path;
    node.role = own_role;
    node.op = op;
    node.decl = &decl;
    node.call = call;
    node.group = group;
    node.scope = scope;
    node.in = std::move(in);
    node.in_streams = std::move(in_streams);
    node.apart = group >= 0 ? tree_.groups[group].apart : apart_;
    node.done = done;
    if (!decl.weight_of.empty()) {
      const NodeDecl* stored = base ? base->find(decl.weight_of) : nullptr;
      node.weight_base = stored;
      node.weight_base_op = stored ? find_op(stored->target_name, call) : nullptr;
      if (!stored || !node.weight_base_op || node.weight_base_op->params.empty()) {
        fail(decl.at,
             what + " reads the weight of '" + decl.weight_of + "'" + (stored ? ", which has none" : ""),
             base ? "a node of component '" + base->name + "'" : "a decode variant, whose base stores it");
        return kFailed;
      }
      node.weight_path = join_path(path, stored->path);
    }
    node.biased = !decl.bias.empty() && holds(decl.bias, scope);
    node.tied = !decl.tied_to.empty() && holds(decl.tied_when, scope);
    tree_.nodes.push_back(std::move(node));
    return {static_cast<NodeId>(tree_.nodes.size() - 1)};
  }

  // Whether an op without weights hands on its first operand's shape, so that without the other it hands on the operand.
  static bool adds_to_first(const spec::Op& op) {
    const auto same = [](const spec::AxisPattern& a, const spec::AxisPattern& b) {
      return a.rest == b.rest && a.name == b.name && a.formula.empty() && b.formula.empty();
    };
    return op.kind == spec::ShapeKind::kBroadcast || (op.params.empty() && op.operands.size() == 2 &&
                                                      std::ranges::equal(op.operands[0], op.output, same));
  }

  // Every key of a node must mean something to its op; one that does not would change no number and mislead.
  bool fits_op(const NodeDecl& decl, const spec::Op& op, const std::map<std::string, Value>& names,
               bool from_stack) {
    const size_t before = faults_.size();
    const std::string what = "node '" + decl.name + "'", of = "op '" + op.name + "'";
    for (const NamedFormula& named : decl.dims)
      if (std::ranges::find(op.names, named.name) == op.names.end())
        fail(named.at, what + " binds '" + named.name + "', which " + of + " does not name",
             op.names.empty() ? "no dims" : "one of " + joined(op.names),
             base::did_you_mean(named.name, op.names));
    if (!decl.copies.empty() || !decl.split.empty())
      fail(decl.at, what + " makes copies of an op", "copies of a component",
           "put the op into a component, or give it the axis");
    const auto optional = [](const spec::ParamPattern& param) { return param.optional; };
    if (!decl.bias.empty() && std::ranges::none_of(op.params, optional))
      fail(decl.at, what + " has 'bias', yet " + of + " has no optional parameter", "no 'bias' here");
    const bool masked = op.flops_text.find("pairs") != std::string::npos;
    for (const auto& [key, formula] : {std::pair("window", &decl.window), std::pair("chunk", &decl.chunk),
                                       std::pair("ratio", &decl.ratio)})
      if (!formula->empty() && !masked)
        fail(decl.at, what + " has '" + key + "', yet " + of + " has no mask",
             std::string("'") + key + "' on the attention ops");
    if (!decl.weight_axes.empty() &&
        (op.params.empty() || decl.weight_axes.size() != op.params[0].axes.size()))
      fail(decl.at,
           what + " says of " + std::to_string(decl.weight_axes.size()) + " weight axes how they split",
           op.params.empty() ? "none, since " + of + " has no weight"
                             : "one entry for each of " + op.params_text);
    if (!decl.weight_of.empty() && op.params.empty())
      fail(decl.at, what + " reads the weight of '" + decl.weight_of + "', yet " + of + " has none",
           "an op with a weight");
    if (!decl.tied_to.empty() && !names.contains(decl.tied_to) && !entries_->contains(decl.tied_to)) {
      std::vector<std::string> known;
      for (const auto* in : {&names, entries_})
        for (const auto& [name, unused] : *in)
          if (std::ranges::find(known, name) == known.end()) known.push_back(name);
      fail(decl.at, what + " is tied to '" + decl.tied_to + "', which is not defined above it",
           "one of " + joined(known), base::did_you_mean(decl.tied_to, known));
    }
    if (from_stack && op.kind == spec::ShapeKind::kAxisSelect && op.operands.size() == 1)
      fail(decl.at, what + " slices a stack, whose value is its last layer's output",
           "a node of the model, or a stream of the stack",
           "to read layer i's output, give the stack an append stream: NAME: { from: hidden, after: [i] }");
    return faults_.size() == before;
  }

  const spec::Op* find_op(const std::string& name, int call) {
    for (int at = call; at >= 0; at = tree_.calls[at].parent)
      for (const spec::Op& op : tree_.calls[at].component->custom_ops)
        if (op.name == name) return &op;
    return spec::find_builtin_op(name);
  }

  const spec::Component* fill_of(const std::string& slot, int group, const base::Span& at) {
    std::string fill = slot;
    if (group >= 0) {
      asked_[group].push_back(slot);
      for (const auto& [name, value] : fills_[group])
        if (name == slot) fill = value;
    }
    const std::string* named = model_.component_of(fill);
    if (!named && fill == slot) {
      std::vector<std::string> known;
      for (const auto& [name, unused] : model_.components) known.push_back(name);
      fail(at, "slot '" + slot + "' is not filled",
           "'" + slot + "' under the model's components or in the layer rule",
           base::did_you_mean(slot, known));
      return nullptr;
    }
    // The place that chose the component, where the model or a layer rule did.
    base::Span chosen_at = at;
    if (named)
      chosen_at = *model_.place_of(fill);
    else if (group >= 0 && fill != slot)
      chosen_at = rule_at_[group];
    Result<const spec::Component*> component = library_.component(named ? *named : fill, model_, chosen_at);
    if (!component) {
      base::append(faults_, component.faults());
      return nullptr;
    }
    const std::string& role = (*component)->role;
    const auto info = library_.roles().find(role);
    if (role != slot && (info == library_.roles().end() || info->second.fills != slot)) {
      fail(chosen_at,
           "component '" + (*component)->name + "' of role '" + role + "' stands in slot '" + slot + "'",
           "a component whose role fills '" + slot + "'");
      return nullptr;
    }
    return *component;
  }

  Value add_call(const NodeDecl& decl, std::vector<NodeId> in, std::vector<int> in_streams,
                 const std::string& path, const std::string& role, int call, int group, int scope, bool done,
                 int depth) {
    const spec::Component* component = nullptr;
    if (decl.target == NodeDecl::Target::kSlot) {
      component = fill_of(decl.target_name, group, decl.target_at);
    } else {
      Result<const spec::Component*> found = library_.component(decl.target_name, model_, decl.target_at);
      if (!found)
        base::append(faults_, found.faults());
      else
        component = *found;
    }
    if (!component) return kFailed;
    Call made;
    made.name = decl.name;
    made.decl = &decl;
    made.parent = call;
    made.group = group;
    made.path = path;
    made.done = done;
    made.role = decl.role.empty() ? component->role : role;
    made.inputs = std::move(in);
    made.input_streams = std::move(in_streams);
    if (!decl.copies.empty()) {
      made.copies = decl.copies;
      made.active = decl.active.empty() ? decl.copies : decl.active;
      made.copies_scope = scope;
      made.path = join_path(path, "*");
      if (!decl.split.empty() && decl.split != "tokens")
        fail(decl.at, "split is '" + decl.split + "'", "tokens: each copy gets its share of the token axis");
      made.splits_tokens = !decl.split.empty();
      const std::optional<expr::Rational> value = number(decl.copies, scope);
      if (!value || !value->is_integer() || value->num < 1 || value->num > 1'000'000) {
        if (value)
          fail(decl.at, "node '" + decl.name + "' has " + expr::to_string(*value) + " copies",
               "a whole number from 1 to 1,000,000");
        return kFailed;
      }
      made.copies_value = static_cast<int64_t>(value->num);
    }
    for (int around = call; around >= 0; around = tree_.calls[around].parent)
      if (tree_.calls[around].stored == component) {
        fail(decl.target_at,
             "component '" + component->name + "' calls itself through node '" + decl.name + "'",
             "a component that does not contain itself");
        return kFailed;
      }
    return expand(std::move(made), component, decl.dims, scope, decl.at, depth);
  }

  // Walks a component's graph in place. `dims` are read in `outer`, the caller's scope.
  Value expand(Call made, const spec::Component* component, std::span<const NamedFormula> dims, int outer,
               const base::Span& at, int depth) {
    made.stored = component;
    made.component = component;
    if (tree_.phase == Phase::kDecode && !component->decode_variant.empty()) {
      Result<const spec::Component*> variant =
          library_.component(component->decode_variant, model_, component->decode_variant_at);
      if (!variant) {
        base::append(faults_, variant.faults());
        return kFailed;
      }
      if ((*variant)->variant_of != component->name) {
        fail((*variant)->at,
             "component '" + (*variant)->name + "' is named as a decode variant of '" + component->name + "'",
             "variant_of: " + component->name);
        return kFailed;
      }
      made.component = *variant;
    }
    const spec::Component& walked = *made.component;
    if (made.inputs.size() != walked.inputs.size()) {
      fail(at, "component '" + walked.name + "' gets " + std::to_string(made.inputs.size()) + " inputs",
           std::to_string(walked.inputs.size()) + ": " + joined(walked.inputs));
      return kFailed;
    }
    made.scope = static_cast<int>(tree_.scopes.size());
    tree_.scopes.push_back({outer, dims});
    const int call = static_cast<int>(tree_.calls.size());
    std::map<std::string, Value> names;
    made.input_streams.resize(made.inputs.size(), -1);
    for (size_t i = 0; i < walked.inputs.size(); ++i)
      names[walked.inputs[i]] = {made.inputs[i], false, false, made.input_streams[i], -1, {}};
    if (!read_streams(walked, call, made, names)) return kFailed;
    const int group = made.group, parent = made.parent;
    const std::string path = made.path, role = made.role;
    const int scope = made.scope;
    const spec::Component* stored = made.stored;
    tree_.calls.push_back(std::move(made));
    for (const NodeDecl& decl : walked.graph) {
      if (names.contains(decl.name)) {
        const bool stream = std::ranges::find(walked.reads, decl.name) != walked.reads.end();
        fail(decl.at,
             "node '" + decl.name + "' has the name of " + (stream ? "a stream that is read" : "an input"),
             "a name of its own");
        continue;
      }
      names[decl.name] = add_node(decl, names, path, role, call, group, scope, stored, depth + 1);
      if (faults_.size() > 50) return kFailed;
    }
    for (const spec::CacheEntry& entry : walked.cache) {
      if (model_.prefill_only) break;  // nothing is kept where no later step reads it
      if (!holds(entry.when, scope)) continue;
      const auto it = names.find(entry.node);
      if (it != names.end() && it->second.failed) continue;
      if (it == names.end() || !it->second.present()) {
        std::vector<std::string> known;
        for (const NodeDecl& decl : walked.graph) known.push_back(decl.name);
        fail(entry.at,
             "the cache keeps '" + entry.node + "', which component '" + walked.name + "' does not compute",
             "a node of its graph", base::did_you_mean(entry.node, known));
        continue;
      }
      const NodeId kept = settle(it->second).node;
      if (tree_.nodes[kept].call < 0)  // a node that is left out hands its input on
        fail(entry.at,
             "the cache keeps '" + entry.node + "', which is left out here: what it hands on is '" +
                 tree_.nodes[kept].name + "', which no component computes",
             "a node that the component computes");
      else
        tree_.nodes[kept].cache = &entry;
    }
    if (walked.outputs.size() != 1 && (walked.outputs.empty() || walked.role != "block")) {
      fail(walked.at,
           "component '" + walked.name + "' has " + std::to_string(walked.outputs.size()) + " outputs",
           "exactly one");
      return kFailed;
    }
    const auto out = names.find(walked.outputs[0]);
    if (out == names.end() || !out->second.present()) {
      std::vector<std::string> known;
      for (const NodeDecl& decl : walked.graph) known.push_back(decl.name);
      if (faults_.empty())
        fail(
            walked.at,
            "component '" + walked.name + "' hands on '" + walked.outputs[0] + "', which it does not compute",
            "a node of its graph", base::did_you_mean(walked.outputs[0], known));
      return kFailed;
    }
    const Input handed = settle(out->second);
    if (!publish_streams(walked, names, parent < 0)) return kFailed;
    if (parent < 0 && run_) {
      for (const auto& [name, value] : names)
        if (value.node != kNone) run_->nodes.emplace(name, value.node);
      run_->nodes.emplace("", handed.node);
    }
    // What a block computes beyond the stream it hands on leaves the model: logits of a prediction layer.
    for (size_t i = 1; i < walked.outputs.size(); ++i) {
      const auto further = names.find(walked.outputs[i]);
      if (further == names.end() || !further->second.present()) {
        fail(
            walked.at,
            "component '" + walked.name + "' hands on '" + walked.outputs[i] + "', which it does not compute",
            "a node of its graph");
        continue;
      }
      tree_.results.push_back(settle(further->second).node);
    }
    tree_.calls[call].output = handed.node;
    return {handed.node, false, false, handed.stream, -1, {}};
  }

  // The streams that a component reads become names of its graph, and n_STREAM the number of values that it sees.
  bool read_streams(const spec::Component& component, int call, Call& made,
                    std::map<std::string, Value>& names) {
    std::vector<NamedFormula> counts;
    for (const std::string& name : component.reads) {
      const std::string reader = "component '" + component.name + "'";
      if (names.contains(name)) {
        fail(component.reads_at, reader + " has an input and a stream named '" + name + "'",
             "a name of its own");
        return false;
      }
      std::optional<internal::Seen> seen;
      if (run_) {
        seen = streams_.see(name, component.reads_at, reader);
      } else if (const std::optional<int> stream = streams_.find(name)) {
        seen = streams_.see_whole(*stream, component.reads_at, reader);
      } else if (streams_.left_out(name)) {
        seen.emplace();
        seen->absent = "stream '" + name + "', which its condition leaves out";
      } else {
        fail(component.reads_at, reader + " reads stream '" + name + "', which no stack above declares",
             "a stream of an earlier stack");
      }
      if (!seen) return false;
      const auto reads_it = [&](const NodeDecl& decl) {
        return std::ranges::any_of(decl.in, [&](const Operand& operand) {
          return std::ranges::find(operand.alternatives, name) != operand.alternatives.end();
        });
      };
      if (std::ranges::none_of(component.graph, reads_it)) {
        fail(component.reads_at, reader + " reads stream '" + name + "', and no node of it has it as operand",
             "in: " + name + " at one of its nodes");
        return false;
      }
      if (run_ && std::ranges::find(run_->seen, seen->stream, &internal::Seen::stream) == run_->seen.end())
        run_->seen.push_back(*seen);
      streams_.note_reader(*seen, made.group, call);
      names[name] = value_of(*seen, call, made.group, made.path, made.role);
      if (Result<expr::Formula> n = expr::Formula::parse(streams_.count_text(*seen), component.reads_at)) {
        std::string count = "n_" + name;
        for (char& c : count)
          if (c == '.') c = '_';
        counts.push_back({count, std::move(*n), component.reads_at});
      }
    }
    if (!counts.empty()) made.scope = add_scope(std::move(counts), made.scope);
    return true;
  }

  bool publish_streams(const spec::Component& component, const std::map<std::string, Value>& names,
                       bool block) {
    for (size_t i = 0; i < component.stream_out.size(); ++i) {
      const auto& [stream, node] = component.stream_out[i];
      const base::Span& at = component.stream_out_places[i];
      const auto it = names.find(node);
      if (it != names.end() && it->second.failed) return false;
      if (it == names.end()) {
        std::vector<std::string> known;
        for (const NodeDecl& decl : component.graph) known.push_back(decl.name);
        fail(at, "component '" + component.name + "' publishes '" + node + "', which it does not compute",
             "a node of its graph", base::did_you_mean(node, known));
        return false;
      }
      if (!run_) {
        fail(at, "component '" + component.name + "' publishes stream '" + stream + "' outside a stack",
             "a component of a stack's layers");
        return false;
      }
      const NodeId published = settle(it->second).node;
      if (block && std::ranges::find(further_, stream) != further_.end())
        carried_out_[stream] = published;
      else
        streams_.publish(*run_, stream, published, at, component.name);
    }
    return true;
  }

  // A scope whose names no declaration holds.
  int add_scope(std::vector<NamedFormula> names, int parent) {
    tree_.made_names.push_back(std::make_shared<const std::vector<NamedFormula>>(std::move(names)));
    tree_.scopes.push_back({parent, *tree_.made_names.back()});
    return static_cast<int>(tree_.scopes.size()) - 1;
  }

  // Values that the table of dims rules out, as for the model's own dims.
  void check_layer_dims(const spec::StackDecl& stack, const internal::Kinds& kinds) {
    std::set<std::string> said;
    for (const internal::Kind& kind : kinds.kinds)
      for (size_t i = 0; i < kind.dims.size(); ++i) {
        const size_t own = i - std::min(i, stack.per_layer.size());
        const spec::DimDecl& decl = i < stack.per_layer.size()
                                        ? stack.per_layer[i]
                                        : stack.layers[static_cast<size_t>(kind.rule)].per_layer[own];
        std::optional<base::Diagnostic> fault = library_.check_value(kind.dims[i], decl.at);
        if (fault && said.insert(fault->message()).second) faults_.push_back(std::move(*fault));
      }
  }

  Value add_stack(const spec::StackDecl& stack, const std::map<std::string, Value>& names,
                  const std::string& above) {
    const std::optional<expr::Rational> repeat = number(stack.repeat, -1);
    if (!repeat) return kFailed;
    if (!repeat->is_integer() || repeat->num < 0 || repeat->num > kMaxLayers) {
      fail(stack.at, "stack '" + stack.name + "' repeats " + expr::to_string(*repeat) + " times",
           "a whole number from 0 to 2,000");
      return kFailed;
    }
    const int64_t layers = static_cast<int64_t>(repeat->num);
    layers_ += layers;
    rule_tests_ += layers * static_cast<int64_t>(stack.layers.size());
    if (layers_ > kMaxLayers || rule_tests_ > kMaxRuleTests) {
      fail(stack.at,
           layers_ > kMaxLayers ? "the model's stacks hold more than 2,000 layers"
                                : "the model's layer rules times their layers are more than 500,000",
           "a smaller model");
      return kFailed;
    }
    int64_t first_index = 0;
    if (!stack.first_index.empty()) {
      const std::optional<expr::Rational> first = number(stack.first_index, -1);
      if (first && (!first->is_integer() || first->num < 0 || first->num > 1'000'000))
        fail(stack.first_index.at(), "stack '" + stack.name + "' starts at index " + expr::to_string(*first),
             "a whole number from 0 to 1,000,000");
      if (!faults_.empty()) return kFailed;
      first_index = static_cast<int64_t>(first->num);
    }
    if (!faults_.empty()) return kFailed;
    streams_.open(stack, layers, first_index);
    if (!faults_.empty()) return kFailed;
    const Value out = add_layers(stack, layers, first_index, names, above);
    if (faults_.empty()) streams_.close();
    return out;
  }

  // A stack's inputs: nodes, and streams that give each iteration an element of its own.
  struct StackInput {
    Input input;
    int by_iteration = -1;  // the stream
  };

  bool stack_inputs(const spec::StackDecl& stack, int64_t layers, const std::map<std::string, Value>& names,
                    const std::string& above, std::vector<StackInput>& out) {
    const std::string what = "stack '" + stack.name + "'";
    std::vector<Operand> operands = stack.inputs;
    if (operands.empty() && !above.empty()) operands.push_back({{above}, false, stack.at});
    if (operands.empty()) {
      fail(stack.at, what + " has no inputs", "inputs: [the node that feeds its first layer]");
      return false;
    }
    for (const Operand& operand : operands) {
      const std::string& name = operand.alternatives[0];
      const std::optional<int> stream = names.contains(name) ? std::nullopt : streams_.find(name);
      const Stream* of = stream ? &tree_.streams[static_cast<size_t>(*stream)] : nullptr;
      if (of && of->kind == spec::StreamDecl::Kind::kAppended &&
          (of->decl->read.empty() || of->decl->read == "each")) {
        if (static_cast<int64_t>(of->values.size()) != layers) {
          fail(stack.at,
               what + " repeats " + std::to_string(layers) + " times over the " +
                   std::to_string(of->values.size()) + " elements of stream '" + name + "' of stack '" +
                   of->stack + "'",
               "an iteration for each element", "read: concat at the stream makes one input of all of them");
          return false;
        }
        out.push_back({{}, *stream});
        continue;
      }
      if (layers == 0 && (streams_.left_out(name) || (of && of->values.empty()))) {
        out.push_back({{}, -1});
        continue;
      }
      const size_t first = tree_.nodes.size();
      const std::optional<Value> value = resolve(operand, names, what, false);
      if (!value || !value->present()) return false;
      out.push_back({settle(*value), -1});
      for (size_t i = first; i < tree_.nodes.size(); ++i)
        tree_.program.push_back({-1, static_cast<NodeId>(i)});
    }
    return true;
  }

  const spec::Component* block_of(const spec::StackDecl& stack) {
    std::string slot = stack.block;
    if (slot.empty()) slot = model_.component_of(stack.name) ? stack.name : "block";
    const std::string* block = model_.component_of(slot);
    Result<const spec::Component*> component =
        library_.component(block ? *block : stack.block, model_, stack.at);
    if (!component) {
      base::append(faults_, component.faults());
      return nullptr;
    }
    if ((*component)->role != "block") {
      fail(stack.at,
           "stack '" + stack.name + "' repeats component '" + (*component)->name + "' of role '" +
               (*component)->role + "'",
           "a component of role block");
      return nullptr;
    }
    return *component;
  }

  // Which of the block's inputs each carried stream enters by: the first by the first, further ones by their names.
  bool carried_inputs(const spec::StackDecl& stack, const spec::Component& block, std::vector<size_t>& out) {
    further_.clear();
    for (size_t c = 0; c < streams_.carried().size(); ++c) {
      const Stream& stream = tree_.streams[static_cast<size_t>(streams_.carried()[c])];
      if (c == 0) {
        out.push_back(0);
        continue;
      }
      const auto input = std::ranges::find(block.inputs, stream.name);
      const bool published =
          std::ranges::any_of(block.stream_out, [&](const auto& row) { return row.first == stream.name; });
      if (input == block.inputs.end() || input == block.inputs.begin() || !published) {
        fail(stream.at,
             "stack '" + stack.name + "' carries '" + stream.name + "' beside its first stream, and block '" +
                 block.name + "' " +
                 (published ? "has no such input behind its first" : "does not hand it on"),
             "inputs: [" + (block.inputs.empty() ? "x" : block.inputs[0]) + ", " + stream.name +
                 "] and stream_out: {" + stream.name + ": NODE} in the block");
        return false;
      }
      out.push_back(static_cast<size_t>(input - block.inputs.begin()));
      further_.push_back(stream.name);
    }
    return true;
  }

  Value add_layers(const spec::StackDecl& stack, int64_t layers, int64_t first_index,
                   const std::map<std::string, Value>& names, const std::string& above) {
    std::vector<StackInput> inputs;
    if (!stack_inputs(stack, layers, names, above, inputs)) return kFailed;
    if (layers == 0) return {inputs[0].input.node, false, true, inputs[0].input.stream, -1, {}};
    const internal::Kinds kinds = internal::kinds_of_layers(stack, layers, structural_, faults_);
    if (!faults_.empty()) return kFailed;
    check_layer_dims(stack, kinds);
    if (!faults_.empty()) return kFailed;
    const std::vector<internal::LayerScopes> layer_scopes =
        internal::scopes_of_kinds(stack, kinds, binding_, tree_.derived);
    const spec::Component* block = block_of(stack);
    std::vector<size_t> positions;
    if (!block || !carried_inputs(stack, *block, positions)) return kFailed;
    const bool iterates =
        std::ranges::any_of(inputs, [](const StackInput& in) { return in.by_iteration >= 0; });
    if (positions.empty() && layers > 1 && !iterates) {
      fail(stack.at,
           "stack '" + stack.name + "' repeats " + std::to_string(layers) +
               " layers, and nothing passes from one to the next",
           "streams: {hidden: {carries: true}}");
      return kFailed;
    }
    for (size_t position : positions)
      if (position >= inputs.size() || inputs[position].by_iteration >= 0) {
        fail(stack.at, "stack '" + stack.name + "' carries what starts from no single node",
             "an input for each carried stream",
             "a stream that gives each layer an element stands behind them among the inputs");
        return kFailed;
      }

    // Groups stand in the order of their first layer.
    std::vector<internal::GroupRun> runs;
    std::vector<const internal::GroupRun*> of_layer;
    std::vector<NodeId> entering;
    for (size_t position : positions) entering.push_back(inputs[position].input.node);
    const size_t first_group = tree_.groups.size();
    runs.reserve(kMaxGroups);
    for (int64_t layer = 0; layer < layers; ++layer) {
      streams_.enter(layer, entering);
      const int k = kinds.of_layer[static_cast<size_t>(layer)];
      auto run = std::ranges::find_if(runs, [&](const internal::GroupRun& candidate) {
        return candidate.kind == k && std::ranges::all_of(candidate.seen, [&](const internal::Seen& seen) {
                 return streams_.sees_alike(seen);
               });
      });
      if (run == runs.end()) {
        if (tree_.groups.size() == kMaxGroups) {
          fail(stack.at, "the model has more than 500 kinds of layer", "a smaller model");
          return kFailed;
        }
        runs.emplace_back();
        runs.back().kind = k;
        if (!add_group(stack, *block, kinds, layer_scopes[static_cast<size_t>(k)], positions, inputs,
                       runs.back()))
          return kFailed;
        run = runs.end() - 1;
      }
      tree_.groups[static_cast<size_t>(run->id)].layers.push_back(first_index + layer);
      streams_.leave(*run);
      if (!faults_.empty()) return kFailed;
      entering = run->out;
      of_layer.push_back(&*run);
    }
    check_fills(stack, *block, kinds, runs);
    name_groups(stack, kinds, first_group);
    kinds_ += static_cast<int>(kinds.kinds.size());
    NodeId out = positions.empty() ? of_layer.back()->nodes.at("") : inputs[0].input.node;
    if (!stack.apart.empty()) tree_.results.push_back(out);
    return {out, false, true, -1, -1, {}};
  }

  // Expands one layer, at the layer that the streams are at.
  bool add_group(const spec::StackDecl& stack, const spec::Component& block, const internal::Kinds& kinds,
                 const internal::LayerScopes& scopes, const std::vector<size_t>& positions,
                 std::vector<StackInput>& inputs, internal::GroupRun& run) {
    const int rule = kinds.kinds[static_cast<size_t>(run.kind)].rule;
    const spec::LayerRule* own = stack.layers.empty() ? nullptr : &stack.layers[static_cast<size_t>(rule)];
    run.id = static_cast<int>(tree_.groups.size());
    Group group;
    group.stack = stack.name;
    group.apart = stack.apart;
    group.kind = kinds_ + run.kind;
    group.dims = kinds.kinds[static_cast<size_t>(run.kind)].dims;
    fills_.push_back(own ? own->fills : std::vector<std::pair<std::string, std::string>>{});
    asked_.emplace_back();
    rule_at_.push_back(own ? own->at : stack.at);
    streams_.add_group(own);
    Call call;
    call.name = stack.name;
    call.path = join_path(stack.path, "*");
    call.role = "block";
    call.done = stack.prefill_only && tree_.phase == Phase::kDecode;
    call.group = run.id;
    group.call = static_cast<int>(tree_.calls.size());
    group.first = static_cast<NodeId>(tree_.nodes.size());
    for (const StackInput& input : inputs) {
      if (input.by_iteration < 0) {
        call.inputs.push_back(input.input.node);
        call.input_streams.push_back(input.input.stream);
        continue;
      }
      const internal::Seen seen = streams_.see_input(input.by_iteration);
      run.seen.push_back(seen);
      streams_.note_reader(seen, run.id, group.call);
      call.inputs.push_back(seen.nodes[0]);
      call.input_streams.push_back(seen.stream);
    }
    tree_.groups.push_back(std::move(group));
    tree_.program.push_back({run.id, kNone});
    int outer = -1;
    for (const std::vector<NamedFormula>& names : scopes.names) outer = add_scope(names, outer);
    run_ = &run;
    carried_out_.clear();
    const Value out = expand(std::move(call), &block,
                             own ? std::span<const NamedFormula>(own->dims) : std::span<const NamedFormula>(),
                             outer, stack.at, 0);
    run_ = nullptr;
    Group& made = tree_.groups[static_cast<size_t>(run.id)];
    made.last = static_cast<NodeId>(tree_.nodes.size());
    if (!out.present() || !faults_.empty()) return false;
    for (size_t c = 0; c < positions.size(); ++c) {
      const int stream = streams_.carried()[c];
      const NodeId next =
          c == 0 ? out.node : carried_out_.at(tree_.streams[static_cast<size_t>(stream)].name);
      made.carries.push_back({stream, inputs[positions[c]].input.node, next});
      tree_.streams[static_cast<size_t>(stream)].values.push_back({next, run.id, -1});
      inputs[positions[c]].input = {next, -1};
      run.out.push_back(next);
    }
    for (const internal::Seen& seen : run.seen) {
      if (seen.stream < 0 ||
          tree_.streams[static_cast<size_t>(seen.stream)].kind == spec::StreamDecl::Kind::kCarried)
        continue;
      made.sees.push_back({seen.stream, std::string(internal::read_name(seen.mode)), seen.nodes.size()});
      streams_.mark_sees(run.id);
    }
    return true;
  }

  // A fill that no group of its kind asks for.
  void check_fills(const spec::StackDecl& stack, const spec::Component& block, const internal::Kinds& kinds,
                   const std::vector<internal::GroupRun>& runs) {
    for (size_t k = 0; k < kinds.kinds.size(); ++k) {
      if (stack.layers.empty()) return;
      const spec::LayerRule& own = stack.layers[static_cast<size_t>(kinds.kinds[k].rule)];
      std::vector<std::string> asked;
      for (const internal::GroupRun& run : runs)
        if (run.kind == static_cast<int>(k))
          asked.insert(asked.end(), asked_[static_cast<size_t>(run.id)].begin(),
                       asked_[static_cast<size_t>(run.id)].end());
      for (const auto& [slot, unused] : own.fills)
        if (std::ranges::find(asked, slot) == asked.end())
          fail(own.at, "a layer rule fills slot '" + slot + "', which block '" + block.name + "' lacks",
               asked.empty() ? "no slot" : "one of " + joined(asked), base::did_you_mean(slot, asked));
    }
  }

  // Labels and counts, once every layer has its group. Keys and graph paths are made of the labels.
  void name_groups(const spec::StackDecl& stack, const internal::Kinds& kinds, size_t first_group) {
    std::set<std::string> taken;
    for (size_t g = first_group; g < tree_.groups.size(); ++g) {
      Group& group = tree_.groups[g];
      const internal::Kind& kind = kinds.kinds[static_cast<size_t>(group.kind - kinds_)];
      group.kind_label = group.label = kind.label;
      const auto of_kind = [&](const Group& other) { return other.kind == group.kind; };
      const bool alone = std::ranges::count_if(tree_.groups, of_kind) == 1;
      const int64_t size = static_cast<int64_t>(group.layers.size());
      if (!alone) {
        std::string sees;
        for (const Group::Sees& seen : group.sees) {
          const auto differs = [&](const Group& other) {
            return of_kind(other) && std::ranges::none_of(other.sees, [&](const Group::Sees& s) {
                     return s.stream == seen.stream && s.count == seen.count;
                   });
          };
          if (std::ranges::none_of(tree_.groups, differs)) continue;
          const std::string& name = tree_.streams[static_cast<size_t>(seen.stream)].name;
          group.label += (group.label.empty() ? "" : "_") + name + "_" + std::to_string(seen.count);
          sees += (sees.empty() ? "" : ", ") + std::to_string(seen.count) + " of '" + name + "'";
        }
        if (sees.empty() && group.label.empty()) group.label = "kind_1";
        const std::string stem = group.label;
        for (int n = 2; !taken.insert(group.label).second; ++n) group.label = stem + "_" + std::to_string(n);
        group.count = internal::count_of_layers(stack, size, group.label,
                                                "layers " + layers_text(group.layers) + " of stack '" +
                                                    stack.name + "', which see " +
                                                    (sees.empty() ? "the same values of its streams" : sees),
                                                tree_.derived);
      } else if (kind.whole_rule) {
        group.count = internal::count_of_rule(
            stack, kind.rule, size, group.label.empty() ? std::to_string(kind.rule + 1) : group.label,
            structural_, tree_.derived);
      } else {
        group.count = internal::count_of_layers(stack, size, group.label,
                                                "layers " + layers_text(group.layers) + " of stack '" +
                                                    stack.name + "', which agree in their per-layer dims",
                                                tree_.derived);
      }
    }
    for (Stream& stream : tree_.streams)
      for (Stream::Value& value : stream.values)
        if (value.layer < 0 && value.group >= 0)
          value.layer = tree_.groups[static_cast<size_t>(value.group)].layers[0];
  }

  const spec::Library& library_;
  const spec::Binding& binding_;
  const spec::Model& model_;
  SpecTree tree_;
  internal::Structural structural_{binding_, tree_.scopes, tree_.derived};
  std::vector<std::vector<std::pair<std::string, std::string>>> fills_;  // per group
  std::vector<std::vector<std::string>> asked_;                          // per group, the slots of its block
  std::vector<base::Span> rule_at_;                                      // per group
  internal::Streams streams_{tree_, structural_, faults_};
  std::vector<Joined> joined_;
  internal::GroupRun* run_ = nullptr;          // of the group that is being expanded
  std::vector<std::string> further_;           // carried streams of its stack behind the first
  std::map<std::string, NodeId> carried_out_;  // what its block hands on of them
  int kinds_ = 0;                              // of the stacks so far
  int64_t layers_ = 0, rule_tests_ = 0;
  const std::map<std::string, Value>* entries_ =
      nullptr;         // of the model's list: what a component may be tied to
  std::string apart_;  // of the entry of the model's list that is being added
  Faults faults_;
};

}  // namespace

std::string_view phase_name(Phase phase) {
  return phase == Phase::kPrefill ? "prefill" : "decode";
}

std::string layers_text(std::span<const int64_t> layers) {
  constexpr int kMaxRanges = 12;
  std::string out;
  int ranges = 0;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i + 1;
    while (end < layers.size() && layers[end] == layers[end - 1] + 1) ++end;
    if (++ranges > kMaxRanges) return out + " and " + std::to_string(layers.size() - i) + " more";
    out += (out.empty() ? "" : ", ") + std::to_string(layers[i]);
    if (end > i + 1) out += (end == i + 2 ? ", " : "-") + std::to_string(layers[end - 1]);
    i = end;
  }
  return out;
}

std::vector<int> SpecTree::calls_around(NodeId node) const {
  std::vector<int> out;
  for (int call = nodes[node].call; call >= 0; call = calls[call].parent) out.push_back(call);
  return out;
}

Result<SpecTree> build_tree(const spec::Library& library, const spec::Binding& binding, Phase phase) {
  return Builder(library, binding, phase).run();
}

}  // namespace archlight::graph
