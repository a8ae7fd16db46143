#include "spec/component.h"

#include <algorithm>
#include <set>

#include "spec/internal/reader.h"

namespace archlight::spec {
namespace {

using base::fault_at;
using base::Faults;
using base::Result;
using base::Yaml;
using internal::Reader;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

Operand parse_operand(const Yaml& node, Faults& faults) {
  Operand out;
  out.at = node.at;
  if (!node.is_scalar()) {
    faults.push_back(fault_at(node.at, "an operand is " + node.describe(), "the name of a node or input"));
    return out;
  }
  std::string_view rest = trim(node.text);
  if (rest.ends_with("?")) {
    out.optional = true;
    rest.remove_suffix(1);
  }
  while (true) {
    const size_t bar = rest.find('|');
    const std::string_view name = trim(rest.substr(0, bar));
    if (name.empty())
      faults.push_back(fault_at(node.at, "an empty name in '" + node.text + "'",
                                "a name, or 'a | b' for the first that exists"));
    out.alternatives.emplace_back(name);
    if (bar == std::string_view::npos) return out;
    rest.remove_prefix(bar + 1);
  }
}

std::vector<NamedFormula> parse_dims(const Yaml& node, const std::string& what, Faults& faults) {
  std::vector<NamedFormula> out;
  for (const base::YamlEntry& entry :
       internal::read_map(node, "'dims' of " + what, "a map of axis names to formulas", faults))
    out.push_back({entry.key, internal::read_formula(entry.value, faults), entry.key_at});
  return out;
}

std::vector<WeightAxis> parse_weight_axes(const Yaml& node, const std::string& what, Faults& faults) {
  std::vector<WeightAxis> out;
  for (const Yaml& item : internal::read_list(node, "'weight_axes' of " + what,
                                              "a list with one entry per axis of the weight", faults)) {
    Reader reader(item, "a weight axis of " + what, faults);
    WeightAxis axis;
    axis.replicated = reader.flag("replicated");
    axis.world = reader.text("world");
    axis.parts = reader.formula("parts");
    axis.fit = reader.text("fit");
    reader.finish();
    if (item.is_map() && axis.replicated == !axis.world.empty())
      faults.push_back(fault_at(item.at, "a weight axis is neither replicated nor split, or both",
                                "{replicated: true} or {world: NAME, parts: FORMULA}"));
    out.push_back(std::move(axis));
  }
  return out;
}

// A dtype's name, 'model', or the config key that names it with a default.
void read_entry_dtype(const Yaml& node, CacheEntry& out, Faults& faults) {
  std::string name;
  if (node.is_map()) {
    Reader reader(node, "the dtype of a cache entry", faults);
    out.dtype_key = reader.required_text("config");
    name = reader.required_text("default");
    out.dtype_source = reader.required_text("source");
    reader.finish();
  } else {
    name = internal::read_text(node, "the dtype of a cache entry", faults);
  }
  out.model_dtype = name == "model";
  out.dtype = base::dtype_from_name(name);
  if (!name.empty() && !out.model_dtype && !out.dtype)
    faults.push_back(fault_at(node.at, "unknown dtype '" + name + "'",
                              "a dtype of tensor files, as F32, or 'model' for the model's own",
                              base::did_you_mean(name, {"F32", "F16", "BF16", "F8_E4M3", "model"})));
}

CacheEntry parse_cache_entry(const Yaml& node, Faults& faults) {
  Reader reader(node, "a cache entry", faults);
  CacheEntry out;
  out.at = node.at;
  out.node = reader.required_text("node");
  out.kind = reader.required_text("kind");
  out.when = reader.formula("when");
  const bool window = reader.has("window"), chunk = reader.has("chunk"), ratio = reader.has("ratio");
  const expr::Formula window_formula = reader.formula("window"), chunk_formula = reader.formula("chunk"),
                      ratio_formula = reader.formula("ratio");
  const bool fixed = reader.flag("fixed");
  if (window + chunk + ratio + fixed > 1)
    faults.push_back(fault_at(node.at, "a cache entry with two growth laws",
                              "one of window, chunk, ratio, fixed, or none for per-token growth"));
  if (window) {
    out.growth = CacheEntry::Growth::kWindow;
    out.amount = window_formula;
  } else if (chunk) {
    out.growth = CacheEntry::Growth::kChunk;
    out.amount = chunk_formula;
  } else if (ratio) {
    out.growth = CacheEntry::Growth::kRatio;
    out.amount = ratio_formula;
  } else if (fixed) {
    out.growth = CacheEntry::Growth::kFixed;
  }
  if (const Yaml* dtype = reader.get("dtype")) read_entry_dtype(*dtype, out, faults);
  reader.finish();
  return out;
}

// A comparison of two formulas: the first relation that stands outside every parenthesis.
std::optional<Axiom> parse_comparison(const std::string& text, const base::Span& at, Faults& faults) {
  constexpr std::string_view kRelations[] = {"==", "<=", ">=", "<", ">"};
  Axiom out;
  out.text = text;
  out.at = at;
  size_t found = std::string::npos;
  std::string_view relation;
  int depth = 0;
  for (size_t i = 0; i < text.size() && relation.empty(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth != 0) continue;
    for (const std::string_view candidate : kRelations)
      if (relation.empty() && text.compare(i, candidate.size(), candidate) == 0) {
        found = i;
        relation = candidate;
      }
  }
  if (relation.empty()) {
    faults.push_back(
        fault_at(at, "axiom '" + text + "' compares nothing",
                 "one of ==, <=, >=, <, > between two formulas, as in \"kv_tokens <= d_window\""));
    return std::nullopt;
  }
  const auto side = [&](std::string_view part) -> expr::Formula {
    Result<expr::Formula> formula = expr::Formula::parse(part, at);
    if (formula) return std::move(*formula);
    base::append(faults, formula.faults());
    return {};
  };
  out.left = side(trim(std::string_view(text).substr(0, found)));
  const std::string_view right = trim(std::string_view(text).substr(found + relation.size()));
  if (right == "constant" && relation == "==") return out;
  out.right = side(right);
  out.relation = relation == "=="       ? Axiom::Relation::kEqual
                 : relation.size() == 2 ? Axiom::Relation::kAtMost
                                        : Axiom::Relation::kBelow;
  if (relation.front() == '>') std::swap(out.left, out.right);
  return out;
}

std::vector<Axiom> parse_axioms(const Yaml& node, Faults& faults) {
  std::vector<Axiom> out;
  for (const Yaml& item : internal::read_list(node, "'axioms'", "a list of comparisons", faults)) {
    std::optional<Axiom> axiom;
    if (item.is_map()) {
      Reader reader(item, "an axiom", faults);
      const expr::Formula when = reader.formula("when");
      axiom = parse_comparison(reader.required_text("holds"), item.at, faults);
      reader.finish();
      if (axiom) axiom->when = when;
    } else {
      axiom = parse_comparison(internal::read_text(item, "an axiom", faults), item.at, faults);
    }
    if (axiom) out.push_back(std::move(*axiom));
  }
  return out;
}

Op parse_custom_op(const base::YamlEntry& entry, Faults& faults) {
  Reader reader(entry.value, "custom op '" + entry.key + "'", faults);
  const std::string params = reader.text("params"), flops = reader.text("flops", "0"),
                    shape = reader.required_text("shape");
  const std::string partial = reader.text("partial", "none"), coupled = reader.text("coupled");
  const std::string unit = reader.text("unit", "vector"), source = reader.required_text("source");
  const std::string holds = reader.text("holds"), numbers = reader.text("numbers");
  reader.finish();
  if (find_builtin_op(entry.key))
    faults.push_back(fault_at(entry.key_at, "custom op '" + entry.key + "' has the name of a built-in op",
                              "a name of its own"));
  OpRow row{
      entry.key, params, flops, shape, Partial::kNone, coupled, Unit::kVector, Traffic::kReadWrite, source,
      holds,     0,      {},    {},    numbers};
  if (partial == "each")
    row.partial = Partial::kEach;
  else if (partial == "together")
    row.partial = Partial::kTogether;
  else if (partial != "none")
    faults.push_back(fault_at(entry.value.at, "partial is '" + partial + "'", "each, together or none"));
  if (unit == "matmul")
    row.unit = Unit::kMatmul;
  else if (unit == "move")
    row.unit = Unit::kMove;
  else if (unit != "vector")
    faults.push_back(fault_at(entry.value.at, "unit is '" + unit + "'", "matmul, vector or move"));
  if (shape.empty()) return {};
  Result<Op> op = compile_op(row, entry.value.at);
  if (!op) {
    base::append(faults, op.faults());
    return {};
  }
  if (op->kind == ShapeKind::kSource || op->kind == ShapeKind::kExplicit)
    faults.push_back(fault_at(
        entry.value.at, "custom op '" + entry.key + "' is of kind " + std::string(shape_kind_name(op->kind)),
        "one of preserve, broadcast, axis_replace, axis_select, axis_concat, contract, permute",
        "source and explicit ops are built in, since their map cannot be read off a pattern"));
  return std::move(*op);
}

}  // namespace

const NodeDecl* Component::find(std::string_view node) const {
  for (const auto* list : {&graph, &weights})
    for (const NodeDecl& decl : *list)
      if (decl.name == node) return &decl;
  return nullptr;
}

std::vector<Operand> parse_operands(const Yaml& node, Faults& faults) {
  std::vector<Operand> out;
  if (node.is_sequence())
    for (const Yaml& item : node.items) out.push_back(parse_operand(item, faults));
  else
    out.push_back(parse_operand(node, faults));
  return out;
}

bool parse_prefill_only(const Yaml* phase, Faults& faults) {
  if (!phase) return false;
  const std::string text = internal::read_text(*phase, "'phase'", faults);
  if (text != "prefill" && !text.empty())
    faults.push_back(fault_at(phase->at, "phase is '" + text + "'", "prefill, or no phase for both",
                              base::did_you_mean(text, {"prefill"})));
  return text == "prefill";
}

NodeDecl parse_node(const Yaml& node, const std::string& name, const base::Span& name_at, Faults& faults) {
  const std::string what = "node '" + name + "'";
  Reader reader(node, what, faults);
  NodeDecl out;
  out.name = name;
  out.at = name_at;
  int targets = 0;
  const auto target = [&](const char* key, NodeDecl::Target kind) {
    const Yaml* value = reader.get(key);
    if (!value) return;
    ++targets;
    out.target = kind;
    out.target_name = internal::read_text(*value, std::string("'") + key + "' of " + what, faults);
    out.target_at = value->at;
  };
  target("op", NodeDecl::Target::kOp);
  target("component", NodeDecl::Target::kComponent);
  target("slot", NodeDecl::Target::kSlot);
  if (targets != 1 && node.is_map())
    faults.push_back(fault_at(name_at,
                              what + (targets == 0 ? " says neither op, component nor slot"
                                                   : " says more than one of op, component, slot"),
                              "exactly one of them"));
  if (const Yaml* in = reader.get("in")) out.in = parse_operands(*in, faults);
  if (const Yaml* dims = reader.get("dims")) out.dims = parse_dims(*dims, what, faults);
  if (const Yaml* dim = reader.get("dim"))
    out.dims.push_back({"dim", internal::read_formula(*dim, faults), dim->at});
  out.when = reader.formula("when");
  out.bias = reader.formula("bias");
  out.copies = reader.formula("copies");
  out.active = reader.formula("active");
  out.split = reader.text("split");
  out.weight_of = reader.text("weight_of");
  out.role = reader.text("role");
  out.has_path = reader.has("path");
  out.path = reader.text("path", name);
  out.mask = reader.text("mask", "causal");
  if (out.mask != "causal" && out.mask != "none")
    faults.push_back(fault_at(node.find("mask")->at, "mask is '" + out.mask + "'", "causal or none",
                              base::did_you_mean(out.mask, {"causal", "none"})));
  out.window = reader.formula("window");
  out.ratio = reader.formula("ratio");
  out.chunk = reader.formula("chunk");
  if (!out.window.empty() && !out.chunk.empty())
    faults.push_back(fault_at(node.at, "node '" + name + "' has a window and a chunk", "one of the two"));
  if (const Yaml* axes = reader.get("weight_axes")) out.weight_axes = parse_weight_axes(*axes, what, faults);
  out.tied_to = reader.text("tied_to");
  out.tied_when = reader.formula("tied_when");
  out.apart = reader.text("apart");
  out.prefill_only = parse_prefill_only(reader.get("phase"), faults);
  out.src = reader.text("src");
  out.src_at = reader.place("src");
  reader.finish();
  if (!out.active.empty() && out.copies.empty())
    faults.push_back(
        fault_at(name_at, what + " has 'active' without 'copies'", "copies: how many stand side by side"));
  else if (!out.active.empty() && out.split.empty())
    faults.push_back(fault_at(name_at, what + " has 'active' without 'split'",
                              "split: tokens, so that each copy works on its share of them"));
  return out;
}

std::optional<Computes> parse_computes(const Yaml& node, std::span<const Op> own, Faults& faults) {
  const std::string form = "a map of vector ops to how many nodes have each";
  if (!node.is_map()) {
    faults.push_back(fault_at(node.at, "'computes' is " + node.describe(), form));
    return std::nullopt;
  }
  Computes out;
  out.at = node.at;
  std::vector<std::string> known;
  for (const Op& op : own)
    if (op.unit == Unit::kVector) known.push_back(op.name);
  for (const Op& op : builtin_ops())
    if (op.unit == Unit::kVector) known.push_back(op.name);
  for (const base::YamlEntry& entry : node.entries) {
    if (std::ranges::find(known, entry.key) == known.end())
      faults.push_back(fault_at(entry.key_at, "'computes' counts '" + entry.key + "'",
                                "an op of unit vector, of the ops table or the file's own",
                                base::did_you_mean(entry.key, known)));
    out.ops.push_back({entry.key, internal::read_formula(entry.value, faults), entry.key_at});
  }
  return out;
}

Result<Component> parse_component(const Yaml& root, const std::string& name) {
  Faults faults;
  Reader reader(root, "component '" + name + "'", faults);
  Component out;
  out.name = name;
  out.at = root.at;
  out.role = reader.required_text("role");
  if (reader.has("inputs")) out.inputs = reader.texts("inputs");
  out.outputs = reader.texts("outputs");
  if (const Yaml* cache = reader.get("cache")) {
    Reader inner(*cache, "'cache' of component '" + name + "'", faults);
    out.cache_family = inner.text("family");
    if (const Yaml* entries = inner.require("entries", "entries: [{node: NAME, kind: NAME}]"))
      for (const Yaml& item :
           internal::read_list(*entries, "'entries' of the cache", "a list of {node, kind}", faults))
        out.cache.push_back(parse_cache_entry(item, faults));
    inner.finish();
  }
  if (const Yaml* variant = reader.get("decode_variant")) out.decode_variant_at = variant->at;
  out.decode_variant = reader.text("decode_variant");
  out.variant_of = reader.text("variant_of");
  for (const base::YamlEntry& entry : reader.map("custom_ops", "a map of op names to rows"))
    out.custom_ops.push_back(parse_custom_op(entry, faults));
  if (reader.require("graph", "graph: {name: {op: ..., in: ...}}"))
    for (const base::YamlEntry& entry : reader.map("graph", "a map of node names to nodes"))
      out.graph.push_back(parse_node(entry.value, entry.key, entry.key_at, faults));
  for (const base::YamlEntry& entry : reader.map("weights", "a map of names to stored weights")) {
    out.weights.push_back(parse_node(entry.value, entry.key, entry.key_at, faults));
    const NodeDecl& weight = out.weights.back();
    if (!weight.in.empty() || !weight.when.empty() || !weight.weight_of.empty())
      faults.push_back(fault_at(entry.key_at, "weight '" + entry.key + "' is written as a node of the graph",
                                "an op with dims, and nothing that it computes on"));
    if (std::ranges::none_of(out.graph, [&](const NodeDecl& node) { return node.weight_of == entry.key; }))
      faults.push_back(fault_at(entry.key_at, "no node reads weight '" + entry.key + "'",
                                "nodes that say weight_of: " + entry.key));
  }
  for (const base::YamlEntry& entry : reader.map("stream_out", "a map of stream names to nodes")) {
    out.stream_out.emplace_back(entry.key, internal::read_text(entry.value, "a stream's node", faults));
    out.stream_out_places.push_back(entry.key_at);
  }
  if (const Yaml* reads = reader.get("reads")) out.reads_at = reads->at;
  out.reads = reader.texts("reads");
  if (const Yaml* axioms = reader.get("axioms")) out.axioms = parse_axioms(*axioms, faults);
  if (const Yaml* computes = reader.get("computes"))
    out.computes = parse_computes(*computes, out.custom_ops, faults);
  out.src = reader.text("src");
  out.src_at = reader.place("src");
  reader.finish();
  if (!faults.empty()) return faults;
  return out;
}

}  // namespace archlight::spec
