#include "spec/model.h"

#include <algorithm>

#include "spec/internal/reader.h"

namespace archlight::spec {
namespace {

using base::fault_at;
using base::Faults;
using base::Result;
using base::Yaml;
using internal::Reader;

std::vector<std::string> split_path(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t dot = text.find('.');
    out.emplace_back(text.substr(0, dot));
    if (dot == std::string_view::npos) break;
    text.remove_prefix(dot + 1);
  }
  return out;
}

std::vector<base::Dtype> read_dtypes(const std::vector<std::string>& names, const base::Span& at,
                                     Faults& faults) {
  std::vector<base::Dtype> out;
  for (const std::string& name : names) {
    if (const std::optional<base::Dtype> dtype = base::dtype_from_name(name))
      out.push_back(*dtype);
    else
      faults.push_back(fault_at(at, "unknown dtype '" + name + "'",
                                "a safetensors dtype such as BF16, F16, F32, F8_E4M3"));
  }
  return out;
}

std::string strip_config(const std::string& key) {
  return key.starts_with("config.") ? key.substr(7) : key;
}

DimDecl parse_dim(const base::YamlEntry& entry, Faults& faults) {
  DimDecl out;
  out.name = entry.key;
  out.at = entry.key_at;
  const Yaml& value = entry.value;
  if (value.is_scalar()) {
    // A plain key keeps its name for the trace; anything else is a formula, in which config.KEY is a name too.
    const bool plain =
        value.text.starts_with("config.") &&
        value.text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") ==
            std::string::npos;
    if (plain)
      out.config_keys.push_back(strip_config(value.text));
    else
      out.formula = internal::read_formula(value, faults);
    return out;
  }
  Reader reader(value, "dim '" + entry.key + "'", faults);
  for (const std::string& key : reader.texts("config")) out.config_keys.push_back(strip_config(key));
  out.formula = reader.formula("formula");
  out.fallback = reader.formula("default");
  out.null_value = reader.formula("when_null");
  out.is = reader.text("is");
  out.entry = reader.text("entries");
  out.entries = !out.entry.empty() && out.entry != "false";
  if (out.entry == "true" || out.entry == "false") out.entry.clear();
  out.unset = reader.text("unset");
  out.source = reader.text("source");
  reader.finish();
  if (value.is_map() && out.config_keys.empty() && out.formula.empty())
    faults.push_back(
        fault_at(entry.key_at, "dim '" + entry.key + "' has no origin", "config: KEY, or a formula"));
  if (!out.fallback.empty() && out.source.empty())
    faults.push_back(fault_at(entry.key_at, "the default of dim '" + entry.key + "' has no source",
                              "source: where upstream says so", "name the file and line that sets it"));
  return out;
}

StreamDecl parse_stream(const base::YamlEntry& entry, Faults& faults) {
  StreamDecl out;
  out.name = entry.key;
  out.at = entry.key_at;
  Reader reader(entry.value, "stream '" + entry.key + "'", faults);
  out.carries = reader.flag("carries");
  for (const Yaml& axis : reader.list("shape", "a list of axes"))
    out.shape.push_back(internal::read_formula(axis, faults));
  out.src = reader.text("src");
  out.src_at = reader.place("src");
  out.from = reader.text("from");
  out.when = reader.formula("when");
  for (const char* side : {"before", "after"}) {
    const Yaml* chosen = reader.get(side);
    if (!chosen) continue;
    if (!out.selection.empty())
      faults.push_back(fault_at(entry.key_at, "stream '" + entry.key + "' takes both before and after layers",
                                "before: what enters a layer, or after: what leaves it"));
    out.selection = side;
    if (chosen->is_scalar()) {
      out.chosen = chosen->text;
      if (out.chosen != "every" && !out.chosen.starts_with("config."))
        faults.push_back(fault_at(
            chosen->at, std::string("'") + side + "' of stream '" + entry.key + "' is '" + chosen->text + "'",
            "every, {every: N}, config.KEY, or a list of layers"));
    } else if (chosen->is_map()) {
      Reader inner(*chosen, std::string("'") + side + "' of stream '" + entry.key + "'", faults);
      out.chosen = "every " + inner.required_text("every");
      out.every = inner.formula("every");
      inner.finish();
    } else {
      for (const Yaml& item : chosen->items) {
        out.chosen += (out.chosen.empty() ? "" : ",") + internal::read_text(item, "a layer", faults);
        out.listed.push_back(internal::read_formula(item, faults));
      }
    }
  }
  out.index = reader.text("index");
  out.read = reader.text("read");
  if (!out.read.empty() && out.read != "each" && out.read != "all" && out.read != "concat")
    faults.push_back(fault_at(entry.value.at, "read is '" + out.read + "'", "each, all or concat",
                              base::did_you_mean(out.read, {"each", "all", "concat"})));
  reader.finish();
  const auto fail = [&](const std::string& wrong, const char* expected) {
    faults.push_back(fault_at(entry.key_at, "stream '" + entry.key + "' " + wrong, expected));
  };
  if (!out.index.empty() && out.index != "block")
    fail("counts its elements by '" + out.index + "'",
         "index: block, or no index: layers of the stack from 0");
  const bool appends = !out.from.empty() || !out.selection.empty();
  if (out.carries && (appends || !out.read.empty()))
    fail("carries and is appended too",
         "{carries: true}, or {from: NAME, after: LAYERS, read: MODE, src: TEXT}");
  else if (!out.from.empty() && out.selection.empty())
    fail("takes from '" + out.from + "' on no layer",
         "before: or after: every, a config key, or a list of layers");
  else if (out.from.empty() && !out.selection.empty())
    fail("takes from nothing", "from: a carried stream, out, or a node of the block");
  else if (!out.carries && !appends && !out.shape.empty() && !out.read.empty())
    fail("is published by components and has a read mode",
         "{shape: [...], src: TEXT}: a later layer reads the last value; or from: with read:");
  else if (!out.carries && !appends && out.shape.empty() && !out.src.empty())
    fail("has a src and no origin",
         "{shape: [...], src: TEXT} where components publish it, {from: NAME, after: LAYERS, src: TEXT} "
         "where it is "
         "appended");
  else if (!out.carries && (appends || !out.shape.empty()) && out.src.empty())
    fail("has no src", "src: the line of the forward source that hands it over");
  return out;
}

LayerRule parse_layer_rule(const Yaml& node, Faults& faults) {
  LayerRule out;
  out.at = node.at;
  if (!node.is_map()) {
    faults.push_back(fault_at(node.at, "a layer rule is " + node.describe(),
                              "{count|where|config|listed|rest: ..., slot: fill}"));
    return out;
  }
  int kinds = 0;
  for (const base::YamlEntry& entry : node.entries) {
    if (entry.key == "where" && (node.find("config") || node.find("listed"))) {
      out.also = internal::read_formula(entry.value, faults);
    } else if (entry.key == "count" || entry.key == "where") {
      ++kinds;
      out.kind = entry.key == "count" ? LayerRule::Kind::kCount : LayerRule::Kind::kWhere;
      out.formula = internal::read_formula(entry.value, faults);
    } else if (entry.key == "config" || entry.key == "listed") {
      ++kinds;
      out.kind = entry.key == "config" ? LayerRule::Kind::kConfigEquals : LayerRule::Kind::kListed;
      for (const std::string& key :
           internal::read_texts(entry.value, "the config key of a layer rule", faults))
        out.config_keys.push_back(strip_config(key));
    } else if (entry.key == "equals") {
      out.equals = internal::read_texts(entry.value, "'equals'", faults);
    } else if (entry.key == "first") {
      const std::string first = internal::read_text(entry.value, "'first'", faults);
      if (first == "0" || first == "1")
        out.first = first == "1" ? 1 : 0;
      else
        faults.push_back(fault_at(entry.value.at, "a list of layers counts from " + first, "0 or 1"));
    } else if (entry.key == "optional") {
      out.optional = entry.value.text == "true";
      if (!out.optional)
        faults.push_back(
            fault_at(entry.value.at, "'optional' is " + entry.value.describe(), "optional: true"));
    } else if (entry.key == "rest") {
      ++kinds;
      out.kind = LayerRule::Kind::kRest;
      if (entry.value.text != "true")
        faults.push_back(fault_at(entry.value.at, "'rest' is " + entry.value.describe(), "rest: true"));
    } else if (entry.key == "dims") {
      for (const base::YamlEntry& dim :
           internal::read_map(entry.value, "'dims' of a layer rule", "a map of names to formulas", faults))
        out.dims.push_back({dim.key, internal::read_formula(dim.value, faults), dim.key_at});
    } else if (entry.key == "per_layer") {
      for (const base::YamlEntry& dim : internal::read_map(entry.value, "'per_layer' of a layer rule",
                                                           "a map of dim names to config lists", faults))
        out.per_layer.push_back(parse_dim(dim, faults));
    } else {
      out.fills.emplace_back(
          entry.key, internal::read_text(entry.value, "the fill of slot '" + entry.key + "'", faults));
    }
  }
  if (kinds != 1)
    faults.push_back(fault_at(
        node.at, "a layer rule with " + std::to_string(kinds) + " conditions",
        "exactly one of count, where, config, listed, rest; where may stand beside config or listed"));
  if (out.optional && out.kind != LayerRule::Kind::kConfigEquals)
    faults.push_back(
        fault_at(node.at, "a layer rule is optional without a list of the config",
                 "optional: true beside config and equals; a list of 'listed' may always be absent"));
  if (out.kind == LayerRule::Kind::kConfigEquals && out.equals.empty())
    faults.push_back(
        fault_at(node.at, "a layer rule with config but no equals", "{config: KEY, equals: TEXT}"));
  return out;
}

StackDecl parse_stack(const Yaml& node, Faults& faults) {
  StackDecl out;
  out.at = node.at;
  Reader reader(node, "a layer stack", faults);
  out.name = reader.required_text("name");
  out.repeat = reader.formula("repeat");
  if (!reader.has("repeat")) out.repeat = *expr::Formula::parse("1", node.at);  // a stack of one layer
  if (const Yaml* inputs = reader.get("inputs")) out.inputs = parse_operands(*inputs, faults);
  for (const base::YamlEntry& entry : reader.map("streams", "a map of stream names"))
    out.streams.push_back(parse_stream(entry, faults));
  out.block = reader.text("block");
  for (const Yaml& item : reader.list("layers", "a list of rules"))
    out.layers.push_back(parse_layer_rule(item, faults));
  for (const base::YamlEntry& dim : reader.map("per_layer", "a map of dim names to config lists"))
    out.per_layer.push_back(parse_dim(dim, faults));
  out.path = reader.text("path", out.name);
  out.first_index = reader.formula("first_index");
  out.apart = reader.text("apart");
  out.prefill_only = parse_prefill_only(reader.get("phase"), faults);
  reader.finish();
  return out;
}

BufferDecl parse_buffer(const Yaml& item, Faults& faults) {
  Reader inner(item, "a buffer", faults);
  BufferDecl buffer;
  buffer.at = item.at;
  buffer.path = inner.required_text("path");
  if (buffer.path.empty())
    faults.push_back(fault_at(item.at, "a buffer has an empty path", "its module path"));
  buffer.name = inner.text("name");
  inner.require("shape", "a list of axes");
  for (const Yaml& axis : inner.list("shape", "a list of axes"))
    buffer.shape.push_back(internal::read_formula(axis, faults));
  for (const Yaml& axis : inner.list("or_shape", "a list of axes"))
    buffer.or_shape.push_back(internal::read_formula(axis, faults));
  buffer.dtypes = read_dtypes(inner.texts("dtype"), item.at, faults);
  buffer.optional = inner.flag("optional");
  if (!buffer.or_shape.empty() && !buffer.optional)
    faults.push_back(fault_at(item.at, "a buffer that is always stored has an 'or_shape'",
                              "optional: true; files or a total tell which shape it has"));
  buffer.source = inner.required_text("source");
  inner.finish();
  if (buffer.dtypes.empty())
    faults.push_back(fault_at(item.at, "a buffer has no dtype", "dtype: F32, or a list of those seen"));
  return buffer;
}

QuantContext parse_quant_context(const Yaml& node, Faults& faults) {
  QuantContext out;
  Reader reader(node, "'quant_context'", faults);
  for (const base::YamlEntry& entry : reader.map("per_role", "a map of roles to {method: NAME}"))
    out.per_role.emplace_back(entry.key, parse_quant_choice(entry.value, entry.key, faults));
  for (const Yaml& item : reader.list("override", "a list of {nodes, method or dtype}")) {
    Reader inner(item, "a quant override", faults);
    QuantOverride row;
    row.at = item.at;
    row.nodes = inner.texts("nodes");
    row.method = inner.text("method");
    std::vector<std::string> names = inner.texts("dtype");
    row.or_plain = std::erase(names, "model") > 0;
    const std::vector<base::Dtype> dtypes = read_dtypes(names, item.at, faults);
    if (!dtypes.empty()) row.dtype = dtypes[0];
    row.optional = inner.flag("optional");
    for (const Yaml& axis : inner.list("shape", "a list of formulas over dims"))
      row.shape.push_back(internal::read_formula(axis, faults));
    row.source = inner.text("source");
    inner.finish();
    if (row.nodes.empty())
      faults.push_back(fault_at(item.at, "a quant override names no nodes", "nodes: [path, ...]"));
    out.overrides.push_back(std::move(row));
  }
  const auto one = [&](const char* key) -> std::optional<base::Dtype> {
    const std::vector<base::Dtype> dtypes = read_dtypes(reader.texts(key), node.at, faults);
    return dtypes.empty() ? std::nullopt : std::optional(dtypes[0]);
  };
  out.default_dtype = one("default_dtype");
  out.scale_dtype = one("scale_dtype");
  for (const base::YamlEntry& entry :
       reader.map("schemes", "a map of declared schemes to those that stand for them"))
    out.schemes.emplace_back(entry.key, internal::read_text(entry.value, "'" + entry.key + "'", faults));
  reader.finish();
  return out;
}

}  // namespace

QuantChoice parse_quant_choice(const Yaml& node, const std::string& role, Faults& faults) {
  QuantChoice out;
  out.at = node.at;
  if (!node.is_map())
    faults.push_back(
        fault_at(node.at, "the choice for role '" + role + "' is " + node.describe(), "{method: NAME}"));
  for (const base::YamlEntry& entry : node.entries) {
    const std::string value = internal::read_text(entry.value, "'" + entry.key + "'", faults);
    if (entry.key == "method")
      out.method = value;
    else
      out.params.emplace_back(entry.key, value);
  }
  if (node.is_map() && out.method.empty())
    faults.push_back(fault_at(node.at, "the choice for role '" + role + "' has no method",
                              "method: a scheme of specs/quant, none, or declared"));
  return out;
}

const std::string* Model::component_of(std::string_view slot) const {
  for (const auto& [filled, component] : components)
    if (filled == slot) return &component;
  return nullptr;
}

const base::Span* Model::place_of(std::string_view slot) const {
  for (size_t i = 0; i < components.size(); ++i)
    if (components[i].first == slot) return &component_places[i];
  return nullptr;
}

Result<Model> parse_model(const Yaml& root, const std::string& name) {
  Faults faults;
  Reader reader(root, "model '" + name + "'", faults);
  Model out;
  out.name = name;
  out.at = root.at;
  if (const Yaml* match = reader.get("match")) {
    Reader inner(*match, "'match'", faults);
    out.architectures = inner.texts("architectures");
    out.model_types = inner.texts("model_types");
    inner.finish();
  }
  if (reader.has("config_roots")) out.config_roots = reader.texts("config_roots");
  for (const base::YamlEntry& entry : reader.map("components", "a map of slots to component names")) {
    out.components.emplace_back(
        entry.key, internal::read_text(entry.value, "the component of slot '" + entry.key + "'", faults));
    out.component_places.push_back(entry.value.at);
  }
  for (const base::YamlEntry& entry : reader.map("dims", "a map of dim names to formulas"))
    out.dims.push_back(parse_dim(entry, faults));
  for (const Yaml& item : reader.list("model", "a list of nodes and stacks")) {
    ModelEntry entry;
    if (item.is_map() && !item.find("op") && !item.find("component") && !item.find("slot")) {
      entry.stack = parse_stack(item, faults);
    } else {
      const Yaml* node_name = item.find("name");
      if (!node_name) faults.push_back(fault_at(item.at, "an entry of 'model' has no name", "name: NAME"));
      // The name is a key of the list form only; the rest reads as any node.
      Yaml copy = item;
      std::erase_if(copy.entries, [](const base::YamlEntry& e) { return e.key == "name"; });
      entry.node =
          parse_node(copy, node_name ? node_name->text : "?", node_name ? node_name->at : item.at, faults);
    }
    out.entries.push_back(std::move(entry));
  }
  if (const Yaml* quant = reader.get("quant_context")) out.quant = parse_quant_context(*quant, faults);
  out.adapters = reader.texts("adapter");
  out.optional = reader.texts("optional");
  for (const Yaml& item : reader.list("buffers", "a list of {path, shape, dtype, source}"))
    out.buffers.push_back(parse_buffer(item, faults));
  for (const base::YamlEntry& entry : reader.map("ignores", "a map of config keys to reasons")) {
    const std::string reason = internal::read_text(entry.value, "why '" + entry.key + "' is ignored", faults);
    if (entry.value.is_scalar() && reason.empty())
      faults.push_back(fault_at(entry.key_at, "config key '" + entry.key + "' is ignored without a reason",
                                "why it changes nothing here"));
    out.ignores.push_back({strip_config(entry.key), reason, entry.key_at});
  }
  for (const base::YamlEntry& entry : reader.map("holds", "a map of config keys to formulas"))
    out.holds.push_back({strip_config(entry.key), internal::read_formula(entry.value, faults), entry.key_at});
  for (const base::YamlEntry& entry : reader.map("lists", "a map of config lists to their lengths"))
    out.lists.push_back({strip_config(entry.key), internal::read_formula(entry.value, faults), entry.key_at});
  const std::vector<std::string> phases = reader.texts("phases");
  out.prefill_only = phases == std::vector<std::string>{"prefill"};
  if (const Yaml* said = reader.get("phases"); said && !out.prefill_only)
    faults.push_back(fault_at(said->at, "'phases' is not [prefill]",
                              "phases: [prefill] where decode has no meaning, or no such key"));
  out.drafts = reader.texts("drafts");
  if (const Yaml* computes = reader.get("computes")) out.computes = parse_computes(*computes, {}, faults);
  out.max_context = strip_config(reader.text("max_context"));
  out.src = reader.text("src");
  out.src_at = reader.place("src");
  out.note = reader.text("note");
  reader.finish();
  if (!faults.empty()) return faults;
  return out;
}

Result<Adapter> parse_adapter(const Yaml& root, const std::string& name, std::string* extends) {
  Faults faults;
  Reader reader(root, "adapter '" + name + "'", faults);
  Adapter out;
  out.name = name;
  *extends = reader.text("extends");
  if (const Yaml* parent = reader.get("extends")) out.extends_at = parent->at;
  reader.require("paths", "a map of canonical module paths to checkpoint paths");
  for (const base::YamlEntry& entry :
       reader.map("paths", "a map of canonical module paths to checkpoint paths")) {
    AdapterRule rule;
    rule.at = entry.key_at;
    rule.from = split_path(entry.key);
    if (entry.value.is_map()) {
      Reader inner(entry.value, "the rule for '" + entry.key + "'", faults);
      for (const std::string& part : inner.texts("parts")) rule.parts.push_back(split_path(part));
      if (rule.parts.empty())
        rule.to = split_path(inner.required_text("path"));
      else
        rule.to = rule.parts[0];
      if (rule.parts.size() > 16)
        faults.push_back(fault_at(
            rule.at, "the rule for '" + entry.key + "' has " + std::to_string(rule.parts.size()) + " parts",
            "at most 16"));
      rule.join = inner.text("join", ".");
      rule.stacked = inner.flag("stacked");
      rule.transposed = inner.flag("transposed");
      inner.finish();
    } else {
      rule.to =
          split_path(internal::read_text(entry.value, "the checkpoint path of '" + entry.key + "'", faults));
    }
    out.rules.push_back(std::move(rule));
  }
  for (const Yaml& item : reader.list("buffers", "a list of {path, name, shape, dtype, source}"))
    out.buffers.push_back(parse_buffer(item, faults));
  reader.finish();
  if (!faults.empty()) return faults;
  return out;
}

}  // namespace archlight::spec
