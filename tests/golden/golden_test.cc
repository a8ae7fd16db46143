// Golden numbers: each tests/golden/*.yaml states a model, what it is bound to, and numbers derived by hand
// in comments.
//
// Keys of a file
//   name     one sentence
//   model    a spec of specs/models
//   config   a config.json written out, or the hub id of a snapshot
//   quant_config  hf_quant_config.json, written out
//   bind     phase (prefill or decode), batch, prompt or context, engine and its engine_options, precision (a profile of specs/precision), dtype (what activations
//   and cache must be
//   in) scope    {layer: N, stack: its name where several have such a layer, nodes: [names] or under: module path}: part of one layer, all of its ops when
//   neither is said expect   without scope: a quantity of the bill, as `archlight explain` names them
//            with scope: params, flops (matrix products), vector_flops, weight_bytes, activation_bytes,
//            kv_read_bytes, kv_write_bytes, bytes, kv_bytes (the cache of one request at this context),
//            arithmetic_intensity
// A whole number must be exact; a decimal is compared at its own places; '36.00 MiB' and the like name their
// unit. Every number is looked up twice: as the numeric walk gives it, and as the formula of the symbolic
// walk evaluates.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/yaml.h"
#include "support/bills.h"
#include "truth/snapshot.h"

namespace archlight::testing {
namespace {

using base::Json;
using base::Yaml;
using expr::Expr;

std::vector<std::string> golden_files() {
  std::vector<std::string> out;
  const base::Result<std::vector<std::string>> names = base::list_files(ARCHLIGHT_SOURCE_DIR "/tests/golden");
  if (names)
    for (const std::string& name : *names)
      if (name.ends_with(".yaml")) out.push_back(name.substr(0, name.size() - 5));
  return out;
}

Json json_of(const Yaml& node) {
  if (node.is_map()) {
    Json out = Json::object();
    for (const base::YamlEntry& entry : node.entries) out[entry.key] = json_of(entry.value);
    return out;
  }
  if (node.is_sequence()) {
    Json out = Json::array();
    for (const Yaml& item : node.items) out.push_back(json_of(item));
    return out;
  }
  if (node.is_null()) return nullptr;
  if (!node.quoted) {
    const Json parsed = Json::parse(node.text, nullptr, false);
    if (!parsed.is_discarded()) return parsed;
  }
  return node.text;
}

std::string text(const Yaml& map, std::string_view key) {
  const Yaml* value = map.find(key);
  return value && value->is_scalar() ? value->text : std::string();
}

int64_t whole(const Yaml& map, std::string_view key, int64_t fallback) {
  const std::string value = text(map, key);
  return value.empty() ? fallback : std::stoll(value);
}

// "4.29 GiB", "228.30", "4718592" beside the exact value.
bool agrees(const std::string& expected, const expr::Rational& value, std::string* shown) {
  const size_t space = expected.find(' ');
  const std::string number = expected.substr(0, space),
                    unit = space == std::string::npos ? "" : expected.substr(space + 1);
  const size_t dot = number.find('.');
  if (dot == std::string::npos && unit.empty()) {
    *shown = expr::to_string(value);
    return *shown == number;
  }
  const std::map<std::string, double> units = {
      {"", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"GB", 1e9}};
  if (!units.contains(unit)) return false;
  const size_t places = dot == std::string::npos ? 0 : number.size() - dot - 1;
  *shown = fmt::format("{:.{}f}", expr::to_double(value) / units.at(unit), places) +
           (unit.empty() ? "" : " " + unit);
  return *shown == expected;
}

// A part of one layer: its nodes, and sums over them.
struct Part {
  const analysis::Bill& bill;
  bool decode;
  int group = -1;
  std::vector<graph::NodeId> nodes;

  const analysis::Analysis& walked() const { return decode ? *bill.decode : *bill.prefill; }
  const analysis::Traffic& traffic() const { return decode ? bill.decode_traffic : bill.prefill_traffic; }

  template <typename Of>
  Expr sum(Of of) const {
    Expr out = walked().pool->constant(0);
    for (graph::NodeId id : nodes) out = out + of(id) * walked().in_layer[id];
    return out;
  }

  std::optional<Expr> value(const std::string& key) const {
    const analysis::Analysis& a = walked();
    const auto flops = [&](spec::Unit unit) {
      return sum([&](graph::NodeId id) {
        return a.tree->nodes[id].op->unit == unit ? a.flops[id] : a.pool->constant(0);
      });
    };
    const auto cells = [&](const std::vector<Expr>& table) {
      return sum([&](graph::NodeId id) { return table[id]; });
    };
    const auto bytes = [&] { return sum([&](graph::NodeId id) { return traffic().bytes(id); }); };
    if (key == "flops") return flops(spec::Unit::kMatmul);
    if (key == "vector_flops") return flops(spec::Unit::kVector);
    if (key == "weight_bytes") return cells(traffic().weights);
    if (key == "activation_bytes") return cells(traffic().activations);
    if (key == "kv_read_bytes") return cells(traffic().kv_read);
    if (key == "kv_write_bytes") return cells(traffic().kv_write);
    if (key == "bytes") return bytes();
    if (key == "arithmetic_intensity") return flops(spec::Unit::kMatmul) / bytes();
    const auto here = [&](graph::NodeId id) { return std::ranges::find(nodes, id) != nodes.end(); };
    Expr out = a.pool->constant(0);
    if (key == "params") {
      for (const analysis::Param& param : a.params)
        if (here(param.node)) out = out + param.elements * a.in_layer[param.node];
      return out;
    }
    if (key == "kv_bytes") {
      for (const analysis::Cache& cache : a.caches)
        if (here(cache.node))
          out = out + analysis::entry_tokens(a, cache) * analysis::entry_bytes(a, cache, traffic());
      return out;
    }
    return std::nullopt;
  }
};

class Golden : public ::testing::TestWithParam<std::string> {
 protected:
  // The config that the file writes out or names.
  void open(const Yaml& root) {
    const Yaml* config = root.find("config");
    ASSERT_TRUE(config) << "no config";
    std::shared_ptr<const Json> published, quant;
    if (config->is_map()) {
      published = std::make_shared<const Json>(json_of(*config));
      if (const Yaml* given = root.find("quant_config"))
        quant = std::make_shared<const Json>(json_of(*given));
    } else {
      const std::optional<std::string> file = truth::find_snapshot(ARCHLIGHT_SOURCE_DIR, config->text);
      ASSERT_TRUE(file) << "no snapshot " << config->text;
      const base::Result<truth::Truth> truth = truth::read_snapshot(*file);
      ASSERT_TRUE(truth.ok()) << base::render_all(truth.faults());
      published = truth->config;
      quant = truth->quant_config;
    }
    const std::shared_ptr<const spec::Library> library = own_library();
    if (!precision_.empty()) {
      const base::Result<const spec::Precision*> precision = library->precision(precision_);
      ASSERT_TRUE(precision.ok()) << base::render_all(precision.faults());
      input_.precision = {library, *precision};
    }
    const base::Result<const spec::Model*> model = library->model(text(root, "model"));
    ASSERT_TRUE(model.ok()) << base::render_all(model.faults());
    base::Result<spec::Binding> binding = spec::bind(**model, published, quant);
    ASSERT_TRUE(binding.ok()) << base::render_all(binding.faults());
    const auto bound = std::make_shared<const spec::Binding>(std::move(*binding));
    for (analysis::Dims dims : {analysis::Dims::kNumbers, analysis::Dims::kFormulas}) {
      base::Result<BillPtr> bill = analysis::make_bill(library, bound, dims, input_);
      ASSERT_TRUE(bill.ok()) << base::render_all(bill.faults());
      (dims == analysis::Dims::kNumbers ? numbers_ : formulas_) = *bill;
    }
  }

  Part part(const BillPtr& bill, const Yaml& scope) const {
    Part out{*bill, decode_, -1, {}};
    const graph::SpecTree& tree = *out.walked().tree;
    const int64_t layer = whole(scope, "layer", -1);
    const std::string stack = text(scope, "stack");
    // A layer of the main stack where it has one of that index, else of what is counted apart.
    for (bool apart : {false, true})
      for (size_t g = 0; g < tree.groups.size(); ++g)
        if (out.group < 0 && tree.groups[g].apart.empty() != apart &&
            (stack.empty() || tree.groups[g].stack == stack) &&
            std::ranges::find(tree.groups[g].layers, layer) != tree.groups[g].layers.end())
          out.group = static_cast<int>(g);
    EXPECT_GE(out.group, 0) << "no layer " << layer;
    const Yaml* names = scope.find("nodes");
    const std::string under = text(scope, "under");
    for (graph::NodeId id = 0; id < tree.nodes.size(); ++id) {
      const graph::Node& node = tree.nodes[id];
      if (node.group != out.group) continue;
      const bool named =
          !names || std::ranges::any_of(names->items, [&](const Yaml& n) { return n.text == node.name; });
      const std::string prefix = tree.groups[node.group].stack + ".*." + under + ".";
      if (named && (under.empty() || (node.path + ".").starts_with(prefix))) out.nodes.push_back(id);
    }
    if (names)
      EXPECT_EQ(out.nodes.size(), names->items.size()) << "a name is missing, or stands in several places";
    EXPECT_FALSE(out.nodes.empty());
    return out;
  }

  std::optional<Expr> value(const BillPtr& bill, const Yaml* scope, const std::string& key) const {
    if (scope) return part(bill, *scope).value(key);
    const analysis::Quantity* quantity = bill->find(key);
    return quantity ? std::optional(quantity->value) : std::nullopt;
  }

  analysis::BillInput input_;
  std::string precision_;
  bool decode_ = false;
  BillPtr numbers_, formulas_;
};

TEST_P(Golden, Holds) {
  const std::string file = "tests/golden/" + GetParam() + ".yaml";
  const base::Result<Yaml> root = base::load_yaml(std::string(ARCHLIGHT_SOURCE_DIR) + "/" + file, file);
  ASSERT_TRUE(root.ok()) << base::render_all(root.faults());
  SCOPED_TRACE(text(*root, "name"));
  for (const std::string& key : root->keys())
    EXPECT_TRUE(
        (std::set<std::string>{"name", "model", "config", "quant_config", "bind", "scope", "expect"}.contains(
            key)))
        << key;
  static const Yaml kNothing;
  const Yaml& bind = root->find("bind") ? *root->find("bind") : kNothing;
  decode_ = text(bind, "phase") == "decode";
  input_.batch = whole(bind, "batch", input_.batch);
  input_.prompt = whole(bind, "prompt", input_.prompt);
  input_.context = whole(bind, "context", input_.context);
  input_.engine = text(bind, "engine");
  precision_ = text(bind, "precision");
  if (const Yaml* options = bind.find("engine_options"))
    for (const base::YamlEntry& option : options->entries)
      input_.engine_options[option.key] = std::stoll(option.value.text);
  open(*root);
  if (HasFatalFailure()) return;
  if (const std::string dtype = text(bind, "dtype"); !dtype.empty()) {
    EXPECT_EQ(base::dtype_from_torch_name(dtype == "bf16" ? "bfloat16" : dtype),
              numbers_->decode_traffic.activation_dtype);
    EXPECT_EQ(numbers_->decode_traffic.kv_dtype, numbers_->decode_traffic.activation_dtype);
  }

  std::map<std::string, expr::Rational, std::less<>> symbols;
  for (const analysis::SymbolValue& symbol : analysis::bill_symbols(*formulas_))
    symbols.emplace(symbol.name, symbol.value);
  const auto value_of = [&](std::string_view name) -> std::optional<expr::Rational> {
    const auto it = symbols.find(name);
    return it == symbols.end() ? std::nullopt : std::optional(it->second);
  };
  const Yaml* expected = root->find("expect");
  ASSERT_TRUE(expected && !expected->entries.empty());
  for (const base::YamlEntry& entry : expected->entries) {
    const std::optional<Expr> number = value(numbers_, root->find("scope"), entry.key);
    const std::optional<Expr> formula = value(formulas_, root->find("scope"), entry.key);
    ASSERT_TRUE(number && formula) << "no quantity " << entry.key;
    const base::Result<expr::Rational> evaluated = expr::evaluate(*formula, value_of);
    ASSERT_TRUE(evaluated.ok()) << base::render_all(evaluated.faults());
    std::string shown;
    EXPECT_TRUE(number->constant() && agrees(entry.value.text, *number->constant(), &shown))
        << file << ":" << entry.value.at.line << ": " << entry.key << " is " << shown
        << " by numbers, expected " << entry.value.text;
    EXPECT_TRUE(agrees(entry.value.text, *evaluated, &shown))
        << file << ":" << entry.value.at.line << ": " << entry.key << " is " << shown
        << " by formula, expected " << entry.value.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, ::testing::ValuesIn(golden_files()),
                         [](const auto& info) { return info.param; });

// Without files the suite above would pass by having nothing to say.
TEST(GoldenFiles, Exist) {
  EXPECT_GE(golden_files().size(), 15u);
}

}  // namespace
}  // namespace archlight::testing
