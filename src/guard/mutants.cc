#include "guard/mutants.h"

#include <algorithm>
#include <functional>

#include "spec/op.h"

namespace archlight::guard {
namespace {

using base::Yaml;
using base::YamlEntry;

bool plain(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c == '/';
  });
}

Yaml scalar(std::string text) {
  Yaml out;
  out.kind = Yaml::Kind::kScalar;
  out.text = std::move(text);
  out.quoted = !plain(out.text);
  return out;
}

Yaml* find(Yaml& map, const std::string& key) {
  for (YamlEntry& entry : map.entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

void erase(Yaml& map, const std::string& key) {
  std::erase_if(map.entries, [&](const YamlEntry& entry) { return entry.key == key; });
}

void set(Yaml& map, const std::string& key, std::string text) {
  if (Yaml* value = find(map, key))
    *value = scalar(std::move(text));
  else
    map.entries.push_back({key, {}, scalar(std::move(text))});
}

// The next of a list after one value, around the end; the same value where there is no other.
std::string after(const std::vector<std::string>& list, const std::string& value) {
  const auto it = std::ranges::find(list, value);
  if (it == list.end()) return list.empty() ? value : list[0];
  return it + 1 == list.end() ? list[0] : *(it + 1);
}

// "a | b?" with one name replaced.
std::string replaced_name(const std::string& operand, const std::string& from, const std::string& to) {
  std::string out;
  for (size_t at = 0; at < operand.size();) {
    size_t end = at;
    while (end < operand.size() && (std::isalnum(static_cast<unsigned char>(operand[end])) ||
                                    operand[end] == '_' || operand[end] == '.'))
      ++end;
    if (end == at) {
      out += operand[at++];
      continue;
    }
    const std::string word = operand.substr(at, end - at);
    out += word == from ? to : word;
    at = end;
  }
  return out;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' || text[end] == '.'))
      ++end;
    if (end > at && !std::isdigit(static_cast<unsigned char>(text[at])))
      out.push_back(text.substr(at, end - at));
    at = std::max(end, at + 1);
  }
  return out;
}

void rename_operands(Yaml& in, const std::string& from, const std::string& to) {
  if (in.is_scalar()) in = scalar(replaced_name(in.text, from, to));
  for (Yaml& item : in.items) rename_operands(item, from, to);
}

// Everything in a file that refers to a node by name.
void rename_references(Yaml& root, const std::string& from, const std::string& to) {
  for (const char* list : {"graph", "model"})
    if (Yaml* nodes = find(root, list)) {
      const auto rename_in = [&](Yaml& node) {
        for (const char* key : {"in", "inputs", "tied_to"})
          if (Yaml* in = find(node, key)) rename_operands(*in, from, to);
      };
      for (YamlEntry& entry : nodes->entries) rename_in(entry.value);
      for (Yaml& item : nodes->items) rename_in(item);
    }
  if (Yaml* outputs = find(root, "outputs")) rename_operands(*outputs, from, to);
  if (Yaml* cache = find(root, "cache"))
    if (Yaml* entries = find(*cache, "entries"))
      for (Yaml& entry : entries->items)
        if (Yaml* node = find(entry, "node")) rename_operands(*node, from, to);
}

// Ops that take the same operands.
const std::pair<const char*, const char*> kOtherOps[] = {
    {"silu", "sigmoid"},       {"sigmoid", "silu"},       {"rmsnorm", "layernorm"}, {"rope", "rmsnorm"},
    {"softmax", "normalize"},  {"normalize", "softmax"},  {"add", "mul"},           {"mul", "add"},
    {"concat", "concat_view"}, {"concat_view", "concat"}, {"clamp", "shift"},       {"shift", "clamp"},
    {"scale", "sigmoid"},      {"slice", "linear"},       {"topk", "linear"},       {"linear", "slice"},
    {"param_add", "scale"},    {"last_tokens", "scale"},
};

class Maker {
 public:
  Maker(const std::string& file, const Yaml& root, const Names& names)
      : file_(file), root_(root), names_(names) {}

  std::vector<Mutant> run() {
    if (file_.starts_with("components/")) component();
    if (file_.starts_with("models/")) model();
    if (file_.starts_with("adapters/")) adapter();
    if (file_.starts_with("quant/")) quant();
    return std::move(out_);
  }

 private:
  using Edit = std::function<void(Yaml&)>;

  void add(std::string what, const Edit& edit) {
    Yaml copy = root_;
    edit(copy);
    std::string text = emit(copy);
    if (text == emit(root_)) return;  // no change
    out_.push_back({file_, std::move(what), std::move(text)});
  }

  // ---- nodes, of a component's graph or of a model's list

  bool listed() const { return root_.find("model") != nullptr; }
  Yaml& list(Yaml& root) const { return *find(root, listed() ? "model" : "graph"); }
  size_t size() const {
    return listed() ? root_.find("model")->items.size() : root_.find("graph")->entries.size();
  }
  Yaml& node(Yaml& root, size_t i) const {
    return listed() ? list(root).items[i] : list(root).entries[i].value;
  }
  const Yaml& node(size_t i) const { return node(const_cast<Yaml&>(root_), i); }
  std::string name(size_t i) const {
    return listed() ? node(i).find("name")->text : root_.find("graph")->entries[i].key;
  }
  std::string op(size_t i) const {
    const Yaml* value = node(i).find("op");
    return value ? value->text : std::string();
  }
  void set_name(Yaml& root, size_t i, const std::string& to) const {
    if (listed())
      set(list(root).items[i], "name", to);
    else
      list(root).entries[i].key = to;
  }
  void erase_node(Yaml& root, size_t i) const {
    if (listed())
      list(root).items.erase(list(root).items.begin() + static_cast<ptrdiff_t>(i));
    else
      list(root).entries.erase(list(root).entries.begin() + static_cast<ptrdiff_t>(i));
  }

  static std::vector<std::string> operands(const Yaml& node) {
    std::vector<std::string> out;
    for (const char* key : {"in", "inputs"})
      if (const Yaml* in = node.find(key)) {
        if (in->is_scalar()) out.push_back(in->text);
        for (const Yaml& item : in->items) out.push_back(item.text);
      }
    return out;
  }
  static void set_operand(Yaml& node, size_t i, const std::string& to) {
    for (const char* key : {"in", "inputs"})
      if (Yaml* in = find(node, key)) {
        if (in->is_scalar())
          *in = scalar(to);
        else
          in->items[i] = scalar(to);
      }
  }

  void node_mutants(size_t i) {
    const std::string self = name(i);
    const Yaml& own = node(i);
    add("drop " + self, [&](Yaml& root) { erase_node(root, i); });
    const std::vector<std::string> in = operands(own);
    for (const std::string& operand : in) {
      const std::string first = words_of(operand)[0];
      add("bypass " + self + " by " + first, [&](Yaml& root) {
        erase_node(root, i);
        rename_references(root, self, first);
      });
    }
    if (in.size() == 2)
      add("swap operands of " + self, [&](Yaml& root) {
        set_operand(node(root, i), 0, in[1]);
        set_operand(node(root, i), 1, in[0]);
      });
    // Rewire each operand to the node before and to the input.
    std::vector<std::string> others;
    if (i > 0) others.push_back(name(i - 1));
    const Yaml* inputs = root_.find("inputs");
    if (!listed()) others.push_back(inputs && inputs->is_sequence() ? inputs->items[0].text : "x");
    for (size_t o = 0; o < in.size(); ++o)
      for (const std::string& other : others)
        if (other != words_of(in[o])[0])
          add("rewire " + self + " from " + in[o] + " to " + other,
              [&](Yaml& root) { set_operand(node(root, i), o, other); });

    const spec::Op* row = spec::find_builtin_op(op(i));
    if (!row || !row->params.empty())
      add("rename " + self, [&](Yaml& root) {
        set_name(root, i, self + "_x");
        rename_references(root, self, self + "_x");
      });
    for (const auto& [from, to] : kOtherOps)
      if (op(i) == from)
        add("op " + self + " from " + from + " to " + to, [&](Yaml& root) { set(node(root, i), "op", to); });

    if (const Yaml* dims = own.find("dims")) {
      const std::vector<std::string> keys = dims->keys();
      for (size_t a = 0; a < keys.size(); ++a)
        for (size_t b = a + 1; b < keys.size(); ++b)
          add("swap " + keys[a] + " and " + keys[b] + " of " + self, [&](Yaml& root) {
            Yaml& map = *find(node(root, i), "dims");
            std::swap(*find(map, keys[a]), *find(map, keys[b]));
          });
      for (const std::string& key : keys)
        formula(self + ".dims." + key, dims->find(key)->text,
                [&](Yaml& root) -> Yaml& { return *find(*find(node(root, i), "dims"), key); });
    }
    for (const char* key : {"dim", "copies", "active", "window", "ratio", "chunk", "repeat", "first_index"})
      if (const Yaml* value = own.find(key))
        formula(self + "." + key, value->text,
                [&](Yaml& root) -> Yaml& { return *find(node(root, i), key); });
    for (const char* key : {"when", "bias", "tied_when"})
      if (const Yaml* value = own.find(key))
        add("negate " + self + "." + key,
            [&](Yaml& root) { set(node(root, i), key, "(" + value->text + ") == 0"); });
    for (const char* key :
         {"dim",         "when",  "bias",      "copies",  "active",    "split",   "mask",      "window",
          "ratio",       "chunk", "weight_of", "tied_to", "tied_when", "path",    "role",      "apart",
          "first_index", "block", "layers",    "inputs",  "repeat",    "streams", "per_layer", "phase"})
      if (own.find(key)) add("drop " + self + "." + key, [&](Yaml& root) { erase(node(root, i), key); });
    if (row && row->name.starts_with("attention_") && !own.find("mask"))
      add("mask of " + self, [&](Yaml& root) { set(node(root, i), "mask", "none"); });
    if (const Yaml* role = own.find("role"))
      for (const char* other : {"norm", "attention"})
        if (role->text != other)
          add("role of " + self + " to " + other, [&](Yaml& root) { set(node(root, i), "role", other); });
    if (const Yaml* path = own.find("path"))
      add("other path of " + self, [&](Yaml& root) { set(node(root, i), "path", path->text + "x"); });
    for (const char* key : {"component", "block"})
      if (const Yaml* value = own.find(key))
        add(std::string("other ") + key + " of " + self,
            [&](Yaml& root) { set(node(root, i), key, after(names_.components, value->text)); });
    if (own.find("slot"))
      add("other slot of " + self, [&](Yaml& root) { set(node(root, i), "slot", "head"); });
    if (own.find("layers")) layer_rules(i);
    if (const Yaml* streams = own.find("streams"))
      stream_mutants(*streams, self,
                     [this, i](Yaml& root) -> Yaml& { return *find(node(root, i), "streams"); });
    if (const Yaml* dims = own.find("per_layer"))
      dim_mutants(*dims, "per-layer dim ",
                  [this, i](Yaml& root) -> Yaml& { return *find(node(root, i), "per_layer"); });
  }

  using At = std::function<Yaml&(Yaml&)>;

  // What crosses the layers of a stack, and where it is from.
  void stream_mutants(const Yaml& streams, const std::string& stack, const At& at) {
    for (const YamlEntry& stream : streams.entries) {
      const std::string which = "stream " + stream.key + " of " + stack;
      const auto one = [&](Yaml& root) -> Yaml& { return *find(at(root), stream.key); };
      add("drop " + which, [&](Yaml& root) { erase(at(root), stream.key); });
      if (!stream.value.is_map()) continue;
      for (const char* key : {"carries", "shape", "from", "before", "after", "read", "when"})
        if (stream.value.find(key))
          add(std::string("drop ") + key + " of " + which, [&](Yaml& root) { erase(one(root), key); });
      if (const Yaml* from = stream.value.find("from"))
        for (const char* other : {"out", "hidden"})
          if (from->text != other)
            add(std::string("rewire ") + which + " to " + other,
                [&](Yaml& root) { set(one(root), "from", other); });
      for (const auto& [key, other] : {std::pair("before", "after"), std::pair("after", "before")})
        if (const Yaml* layers = stream.value.find(key)) {
          add(std::string("other ") + key + " of " + which, [&](Yaml& root) {
            const Yaml kept = *layers;
            erase(one(root), key);
            one(root).entries.push_back({other, {}, kept});
          });
          if (layers->is_map() && layers->find("every"))
            formula(which + "." + key, layers->find("every")->text,
                    [&](Yaml& root) -> Yaml& { return *find(*find(one(root), key), "every"); });
          if (layers->is_sequence() && !layers->items.empty()) {
            formula(which + "." + key, layers->items[0].text,
                    [&](Yaml& root) -> Yaml& { return find(one(root), key)->items[0]; });
            add("drop an element of " + which, [&](Yaml& root) { find(one(root), key)->items.pop_back(); });
          }
        }
      if (const Yaml* read = stream.value.find("read"))
        for (const char* other : {"each", "all", "concat"})
          if (read->text != other)
            add("other read of " + which + ": " + other, [&](Yaml& root) { set(one(root), "read", other); });
      if (const Yaml* when = stream.value.find("when"))
        add("negate " + which + ".when",
            [&](Yaml& root) { set(one(root), "when", "(" + when->text + ") == 0"); });
      if (const Yaml* shape = stream.value.find("shape"))
        for (size_t a = 0; a < shape->items.size(); ++a)
          add("width " + which + "[" + std::to_string(a) + "] plus 1", [&](Yaml& root) {
            find(one(root), "shape")->items[a] = scalar("(" + shape->items[a].text + ") + 1");
          });
    }
  }

  // Two nodes of one op exchange their inputs, dims and names.
  void sibling_mutants() {
    for (size_t a = 0; a < size(); ++a)
      for (size_t b = a + 1; b < size() && b < a + 4; ++b) {
        if (op(a).empty() || op(a) != op(b)) continue;
        const std::string both = name(a) + " and " + name(b);
        for (const char* key : {"in", "dims"})
          if (node(a).find(key) && node(b).find(key))
            add("swap " + both + " in " + key,
                [&](Yaml& root) { std::swap(*find(node(root, a), key), *find(node(root, b), key)); });
        add("swap names of " + both, [&](Yaml& root) {
          set_name(root, a, name(b));
          set_name(root, b, name(a));
        });
      }
  }

  // A formula plus one, and each name in it as another of the model's dims.
  void formula(const std::string& where, const std::string& text, const std::function<Yaml&(Yaml&)>& at) {
    add("width " + where + " plus 1", [&](Yaml& root) { at(root) = scalar("(" + text + ") + 1"); });
    std::vector<std::string> seen;
    for (const std::string& word : words_of(text)) {
      if (std::ranges::find(seen, word) != seen.end()) continue;
      seen.push_back(word);
      const std::string other = after(names_.dims, word);
      add("width " + where + ": " + other + " for " + word,
          [&](Yaml& root) { at(root) = scalar(replaced_name(text, word, other)); });
    }
  }

  void component() {
    for (size_t i = 0; i < size(); ++i) node_mutants(i);
    sibling_mutants();
    if (const Yaml* cache = root_.find("cache")) {
      const std::vector<Yaml>& entries = cache->find("entries")->items;
      const auto entry = [](Yaml& root, size_t e) -> Yaml& {
        return find(*find(root, "cache"), "entries")->items[e];
      };
      add("drop cache", [&](Yaml& root) { erase(root, "cache"); });
      for (size_t e = 0; e < entries.size(); ++e) {
        const std::string kept = entries[e].find("node")->text;
        add("drop cache entry " + kept, [&](Yaml& root) {
          std::vector<Yaml>& items = find(*find(root, "cache"), "entries")->items;
          items.erase(items.begin() + static_cast<ptrdiff_t>(e));
        });
        for (size_t i = 0; i < size(); ++i)
          if (name(i) != kept)
            add("cache " + name(i) + " for " + kept,
                [&](Yaml& root) { set(entry(root, e), "node", name(i)); });
        for (const char* key : {"chunk", "when", "dtype"})
          if (entries[e].find(key))
            add(std::string("drop ") + key + " of cache entry " + kept,
                [&](Yaml& root) { erase(entry(root, e), key); });
        if (const Yaml* when = entries[e].find("when"))
          add("negate when of cache entry " + kept,
              [&](Yaml& root) { set(entry(root, e), "when", "(" + when->text + ") == 0"); });
        add("other dtype of cache entry " + kept, [&](Yaml& root) {
          const Yaml* dtype = entries[e].find("dtype");
          set(entry(root, e), "dtype", dtype && dtype->text == "F32" ? "BF16" : "F32");
        });
        add("other kind of cache entry " + kept,
            [&](Yaml& root) { set(entry(root, e), "kind", e == 0 ? "value" : "key"); });
        if (entries[e].find("window"))
          add("drop window of cache entry " + kept, [&](Yaml& root) { erase(entry(root, e), "window"); });
        else
          add("window of cache entry " + kept, [&](Yaml& root) { set(entry(root, e), "window", "128"); });
        add("ratio of cache entry " + kept, [&](Yaml& root) {
          erase(entry(root, e), "window");
          set(entry(root, e), "ratio", "4");
        });
        add("cache entry " + kept + " fixed", [&](Yaml& root) {
          erase(entry(root, e), "window");
          set(entry(root, e), "fixed", "true");
        });
      }
    }
    if (const Yaml* weights = root_.find("weights"))
      for (const YamlEntry& weight : weights->entries) {
        add("drop weight " + weight.key, [&](Yaml& root) { erase(*find(root, "weights"), weight.key); });
        if (const Yaml* dims = weight.value.find("dims"))
          for (const std::string& key : dims->keys())
            formula("weight " + weight.key + "." + key, dims->find(key)->text, [&](Yaml& root) -> Yaml& {
              return *find(*find(*find(*find(root, "weights"), weight.key), "dims"), key);
            });
      }
    for (const char* key :
         {"decode_variant", "variant_of", "inputs", "outputs", "role", "reads", "stream_out"})
      if (root_.find(key)) add(std::string("drop ") + key, [&](Yaml& root) { erase(root, key); });
    if (const Yaml* outputs = root_.find("outputs"); outputs && size() > 1)
      for (size_t i = 0; i < size(); ++i)
        if (name(i) != outputs->items[0].text)
          add("output " + name(i), [&](Yaml& root) { find(root, "outputs")->items[0] = scalar(name(i)); });
    if (const Yaml* role = root_.find("role"))
      add("other role", [&](Yaml& root) { set(root, "role", after(names_.roles, role->text)); });
  }

  void layer_rules(size_t i) {
    const std::string self = name(i);
    const std::vector<Yaml>& rules = node(i).find("layers")->items;
    const auto rule = [&](Yaml& root, size_t r) -> Yaml& { return find(node(root, i), "layers")->items[r]; };
    for (size_t r = 0; r < rules.size(); ++r) {
      const std::string which = self + ".layers[" + std::to_string(r) + "]";
      add("drop " + which, [&](Yaml& root) {
        std::vector<Yaml>& items = find(node(root, i), "layers")->items;
        items.erase(items.begin() + static_cast<ptrdiff_t>(r));
      });
      for (const char* key : {"count", "where"})
        if (const Yaml* value = rules[r].find(key))
          formula(which + "." + key, value->text,
                  [&](Yaml& root) -> Yaml& { return *find(rule(root, r), key); });
      if (const Yaml* dims = rules[r].find("per_layer"))
        dim_mutants(*dims, "per-layer dim ",
                    [&](Yaml& root) -> Yaml& { return *find(rule(root, r), "per_layer"); });
      if (const Yaml* dims = rules[r].find("dims"))
        for (const std::string& key : dims->keys())
          formula(which + ".dims." + key, dims->find(key)->text,
                  [&](Yaml& root) -> Yaml& { return *find(*find(rule(root, r), "dims"), key); });
      for (const char* key : {"config", "equals", "listed"})
        if (const Yaml* value = rules[r].find(key); value && value->is_scalar())
          add("other " + which + "." + key, [&](Yaml& root) { set(rule(root, r), key, value->text + "_x"); });
      if (r + 1 < rules.size())
        add("swap fills of " + which + " and the next", [&](Yaml& root) {
          Yaml &a = rule(root, r), &b = rule(root, r + 1);
          std::swap(a.entries.back(), b.entries.back());
        });
    }
  }

  void model() {
    for (size_t i = 0; i < size(); ++i) node_mutants(i);
    sibling_mutants();
    if (const Yaml* components = root_.find("components"))
      for (const YamlEntry& slot : components->entries) {
        add("drop component of " + slot.key, [&](Yaml& root) { erase(*find(root, "components"), slot.key); });
        for (const std::string& other : names_.components)
          if (other != slot.value.text)
            add("component of " + slot.key + " to " + other,
                [&](Yaml& root) { set(*find(root, "components"), slot.key, other); });
      }
    if (const Yaml* stated = root_.find("dims"))
      dim_mutants(*stated, "dim ", [](Yaml& root) -> Yaml& { return *find(root, "dims"); });
    quant_context();
    if (const Yaml* adapter = root_.find("adapter")) {
      add("drop adapter", [&](Yaml& root) { erase(root, "adapter"); });
      add("other adapter", [&](Yaml& root) { set(root, "adapter", after(names_.adapters, adapter->text)); });
    }
    if (const Yaml* buffers = root_.find("buffers"))
      for (size_t b = 0; b < buffers->items.size(); ++b) {
        const Yaml& own = buffers->items[b];
        const std::string which = "buffer " + own.find("path")->text;
        const auto buffer = [&](Yaml& root) -> Yaml& { return find(root, "buffers")->items[b]; };
        add("drop " + which, [&](Yaml& root) { erase(root, "buffers"); });
        add("drop optional of " + which, [&](Yaml& root) { erase(buffer(root), "optional"); });
        add("other path of " + which,
            [&](Yaml& root) { set(buffer(root), "path", own.find("path")->text + "_x"); });
        add("dtype of " + which, [&](Yaml& root) { set(buffer(root), "dtype", "F64"); });
        if (const Yaml* shape = own.find("shape"); shape && !shape->items.empty())
          formula(which + ".shape", shape->items[0].text,
                  [&](Yaml& root) -> Yaml& { return find(buffer(root), "shape")->items[0]; });
      }
    add("other architectures",
        [&](Yaml& root) { set(*find(root, "match"), "architectures", "OtherForCausalLM"); });
  }

  void dim_mutants(const Yaml& dims, const std::string& word, const At& map) {
    const auto at = [&](Yaml& root, const std::string& key) -> Yaml& { return *find(map(root), key); };
    const auto key_of = [](const Yaml& value) {
      const Yaml* config = value.is_map() ? value.find("config") : &value;
      if (config && config->is_sequence()) config = &config->items[0];
      return config ? config->text : std::string();
    };
    for (size_t i = 0; i < dims.entries.size(); ++i) {
      const YamlEntry& dim = dims.entries[i];
      add("drop " + word + dim.key, [&](Yaml& root) { erase(map(root), dim.key); });
      const std::string key = key_of(dim.value);
      if (dim.value.is_scalar()) {
        add(word + dim.key + " plus 1",
            [&](Yaml& root) { at(root, dim.key) = scalar("(" + dim.value.text + ") + 1"); });
        if (!key.starts_with("config.")) continue;
        // The config key of the next dim that has a plain one.
        for (size_t step = 1; step < dims.entries.size(); ++step) {
          const YamlEntry& other = dims.entries[(i + step) % dims.entries.size()];
          if (!other.value.is_scalar() || !other.value.text.starts_with("config.")) continue;
          add(word + dim.key + " from " + other.value.text,
              [&](Yaml& root) { at(root, dim.key) = other.value; });
          break;
        }
        continue;
      }
      add("other config key of " + word + dim.key,
          [&](Yaml& root) { set(at(root, dim.key), "config", key + "_x"); });
      if (const Yaml* fallback = dim.value.find("default")) {
        add("default of " + word + dim.key + " plus 1",
            [&](Yaml& root) { set(at(root, dim.key), "default", "(" + fallback->text + ") + 1"); });
        add("drop default of " + word + dim.key, [&](Yaml& root) { erase(at(root, dim.key), "default"); });
      }
    }
  }

  void quant_context() {
    const Yaml* context = root_.find("quant_context");
    if (!context) return;
    const auto at = [](Yaml& root) -> Yaml& { return *find(root, "quant_context"); };
    add("drop quant_context", [&](Yaml& root) { erase(root, "quant_context"); });
    for (const char* key : {"default_dtype", "scale_dtype"})
      if (const Yaml* value = context->find(key)) {
        add(std::string("drop ") + key, [&](Yaml& root) { erase(at(root), key); });
        for (const char* dtype : {"F32", "BF16", "U8"})
          if (value->text != dtype)
            add(std::string(key) + " to " + dtype, [&](Yaml& root) { set(at(root), key, dtype); });
      }
    if (const Yaml* roles = context->find("per_role"))
      for (const YamlEntry& row : roles->entries) {
        const auto choice = [&](Yaml& root) -> Yaml& { return *find(*find(at(root), "per_role"), row.key); };
        add("drop choice for " + row.key, [&](Yaml& root) { erase(*find(at(root), "per_role"), row.key); });
        for (const char* method : {"none", "declared", "fp8_block", "mxfp4"})
          if (const Yaml* own = row.value.find("method"); own && own->text != method)
            add("method of " + row.key + " to " + method,
                [&](Yaml& root) { set(choice(root), "method", method); });
        if (row.value.find("group_size"))
          add("group_size of " + row.key, [&](Yaml& root) { set(choice(root), "group_size", "16"); });
      }
    if (const Yaml* overrides = context->find("override"))
      for (size_t o = 0; o < overrides->items.size(); ++o) {
        const auto row = [&](Yaml& root) -> Yaml& { return find(at(root), "override")->items[o]; };
        add("drop override", [&](Yaml& root) { erase(at(root), "override"); });
        add("override dtype", [&](Yaml& root) { set(row(root), "dtype", "BF16"); });
        if (const Yaml* nodes = overrides->items[o].find("nodes"); nodes && !nodes->items.empty())
          add("override nodes", [&](Yaml& root) { set(row(root), "nodes", nodes->items[0].text + "_x"); });
      }
  }

  void adapter() {
    if (root_.find("extends")) add("drop extends", [&](Yaml& root) { erase(root, "extends"); });
    const Yaml* paths = root_.find("paths");
    if (!paths) return;
    for (const YamlEntry& rule : paths->entries) {
      const auto at = [&](Yaml& root) -> Yaml& { return *find(*find(root, "paths"), rule.key); };
      add("drop rule " + rule.key, [&](Yaml& root) { erase(*find(root, "paths"), rule.key); });
      if (rule.value.is_scalar()) {
        add("other path of " + rule.key, [&](Yaml& root) { at(root) = scalar(rule.value.text + "x"); });
        continue;
      }
      if (const Yaml* path = rule.value.find("path"))
        add("other path of " + rule.key, [&](Yaml& root) { set(at(root), "path", path->text + "x"); });
      for (const char* key : {"join", "stacked"})
        if (rule.value.find(key))
          add(std::string("drop ") + key + " of " + rule.key, [&](Yaml& root) { erase(at(root), key); });
    }
  }

  void quant() {
    if (!root_.find("tensors")) return;
    const std::vector<Yaml>& tensors = root_.find("tensors")->items;
    for (size_t t = 0; t < tensors.size(); ++t) {
      const std::string suffix = tensors[t].find("suffix")->text;
      const auto at = [&](Yaml& root) -> Yaml& { return find(root, "tensors")->items[t]; };
      add("drop tensor " + suffix, [&](Yaml& root) {
        std::vector<Yaml>& items = find(root, "tensors")->items;
        items.erase(items.begin() + static_cast<ptrdiff_t>(t));
      });
      add("rename tensor " + suffix, [&](Yaml& root) { set(at(root), "suffix", suffix + "_x"); });
      add("dtype of " + suffix, [&](Yaml& root) { set(at(root), "dtype", "I16"); });
      for (const char* key : {"main", "optional", "modules", "plain", "alone"})
        if (tensors[t].find(key))
          add(std::string("drop ") + key + " of " + suffix, [&](Yaml& root) { erase(at(root), key); });
      const Yaml* shape = tensors[t].find("shape");
      if (!shape) continue;
      for (size_t a = 0; a < shape->items.size(); ++a)
        add("width " + suffix + "[" + std::to_string(a) + "] plus 1", [&](Yaml& root) {
          find(at(root), "shape")->items[a] = scalar("(" + shape->items[a].text + ") + 1");
        });
      if (shape->items.size() > 1)
        add("swap axes of " + suffix, [&](Yaml& root) {
          std::swap(find(at(root), "shape")->items[0], find(at(root), "shape")->items[1]);
        });
    }
    for (const char* key : {"scope", "ignore", "params", "declared_by"})
      if (root_.find(key)) add(std::string("drop ") + key, [&](Yaml& root) { erase(root, key); });
    if (const Yaml* scope = root_.find("scope"))
      for (const std::string& key : scope->keys())
        add("drop scope." + key, [&](Yaml& root) { erase(*find(root, "scope"), key); });
    if (const Yaml* params = root_.find("params"))
      for (const YamlEntry& param : params->entries)
        add("default of " + param.key, [&](Yaml& root) {
          set(*find(*find(root, "params"), param.key), "default", "64");
          set(*find(*find(root, "params"), param.key), "key", "absent");
        });
  }

  const std::string& file_;
  const Yaml& root_;
  const Names& names_;
  std::vector<Mutant> out_;
};

}  // namespace

std::string emit(const Yaml& node) {
  std::string out;
  switch (node.kind) {
    case Yaml::Kind::kNull:
      return "~";
    case Yaml::Kind::kScalar:
      if (!node.quoted && plain(node.text)) return node.text;
      out = "\"";
      for (char c : node.text) out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
      return out + "\"";
    case Yaml::Kind::kSequence:
      for (const Yaml& item : node.items) out += (out.empty() ? "" : ", ") + emit(item);
      return "[" + out + "]";
    case Yaml::Kind::kMap:
      for (const YamlEntry& entry : node.entries)
        out += (out.empty() ? "" : ",\n") + emit(scalar(entry.key)) + ": " + emit(entry.value);
      return "{" + out + "}";
  }
  return out;
}

std::vector<Mutant> mutants_of(const std::string& file, const std::string& text, const Names& names) {
  const base::Result<Yaml> root =
      base::parse_yaml(std::make_shared<base::SourceText>(base::SourceText{file, text}));
  if (!root) return {};
  return Maker(file, *root, names).run();
}

}  // namespace archlight::guard
