// What must hold for every model: the formula evaluated is the number walked, unlike layers stay sums, and a
// config number moves only what its symbols reach.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "support/bills.h"
#include "truth/snapshot.h"

namespace archlight::testing {
namespace {

using expr::Rational;

// One of each kind that the specs describe: dense, tied, mixed layers, experts, windows, latent attention,
// FP8 in its forms, packed integers.
constexpr const char* kModels[] = {
    "meta-llama--Llama-3.1-8B",
    "meta-llama--Llama-3.1-405B",
    "meta-llama--Llama-3.2-1B",
    "Qwen--Qwen3-0.6B",
    "Qwen--Qwen3-32B",
    "Qwen--Qwen3-32B-FP8",
    "Qwen--Qwen3-30B-A3B",
    "Qwen--Qwen3-235B-A22B-FP8",
    "Qwen--Qwen3-Coder-480B-A35B-Instruct",
    "mistralai--Mixtral-8x22B-v0.1",
    "openai--gpt-oss-20b",
    "openai--gpt-oss-120b",
    "deepseek-ai--DeepSeek-V3",
    "moonshotai--Kimi-K2-Instruct",
    "TheBloke--MythoMax-L2-13B-GPTQ",
    "nvidia--Llama-3.1-70B-Instruct-FP8",
};

base::Result<Bound> opened(const std::string& name) {
  const std::optional<std::string> file = truth::find_snapshot(ARCHLIGHT_SOURCE_DIR, name);
  if (!file) return base::fault_at({}, "no snapshot " + name);
  const base::Result<truth::Truth> truth = truth::read_snapshot(*file);
  if (!truth) return truth.faults();
  const base::Result<const spec::Model*> model = own_library()->model_for(*truth->config);
  if (!model) return model.faults();
  base::Result<spec::Binding> binding = spec::bind(**model, truth->config, truth->quant_config);
  if (!binding) return binding.faults();
  return Bound{own_library(), std::make_shared<const spec::Binding>(std::move(*binding))};
}

std::map<std::string, Rational, std::less<>> values_at(const analysis::Bill& bill,
                                                       const analysis::BillInput& input) {
  std::map<std::string, Rational, std::less<>> out;
  for (const analysis::SymbolValue& symbol : analysis::bill_symbols(bill))
    out.emplace(symbol.name, symbol.value);
  out["B"] = {input.batch, 1};
  out["s_query"] = {input.prompt, 1};
  out["s_ctx"] = {input.context, 1};
  return out;
}

TEST(Properties, TheFormulaEvaluatedIsTheNumberWalked) {
  std::mt19937_64 random(61);
  const auto upto = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(1, most)(random); };
  for (const char* name : kModels) {
    const base::Result<Bound> bound = opened(name);
    ASSERT_TRUE(bound.ok()) << name << messages(bound.faults());
    const base::Result<BillPtr> formulas = bill_of(bound, {}, analysis::Dims::kFormulas);
    ASSERT_TRUE(formulas.ok()) << name << messages(formulas.faults());
    for (int round = 0; round < 3; ++round) {
      analysis::BillInput input;  // the first round as asked for by default, then anything from one token on
      if (round > 0)
        input = {upto(512), upto(round == 1 ? 300 : 100'000), upto(round == 1 ? 300 : 1'000'000)};
      const base::Result<BillPtr> numbers = bill_of(bound, input);
      ASSERT_TRUE(numbers.ok()) << name << messages(numbers.faults());
      ASSERT_EQ((*numbers)->quantities.size(), (*formulas)->quantities.size()) << name;
      const auto values = values_at(**formulas, input);
      for (size_t i = 0; i < (*numbers)->quantities.size(); ++i) {
        const analysis::Quantity &number = (*numbers)->quantities[i], &formula = (*formulas)->quantities[i];
        ASSERT_EQ(number.key, formula.key) << name;
        const base::Result<Rational> evaluated =
            expr::evaluate(formula.value, [&](std::string_view symbol) -> std::optional<Rational> {
              const auto it = values.find(symbol);
              return it == values.end() ? std::nullopt : std::optional(it->second);
            });
        ASSERT_TRUE(evaluated.ok()) << name << " " << formula.key << messages(evaluated.faults());
        ASSERT_TRUE(number.value.constant())
            << name << " " << number.key << " = " << expr::to_text(number.value);
        EXPECT_EQ(expr::to_string(*evaluated), expr::to_string(*number.value.constant()))
            << name << " " << number.key << " at batch " << input.batch << ", prompt " << input.prompt
            << ", context " << input.context;
      }
    }
  }
}

// Parts add up to their whole, whatever the model.
TEST(Properties, PartsAddUp) {
  for (const char* name : kModels) {
    const base::Result<BillPtr> made = bill_of(opened(name));
    ASSERT_TRUE(made.ok()) << name << messages(made.faults());
    const analysis::Bill& bill = **made;
    const auto sum_of = [&](const std::string& prefix, const std::string& suffix) {
      int64_t sum = 0;
      for (const analysis::Quantity& quantity : bill.quantities)
        if (quantity.key.starts_with(prefix) && quantity.key.ends_with(suffix))
          sum += count_of(bill, quantity.key);
      return sum;
    };
    EXPECT_EQ(sum_of("params.role.", ""), count_of(bill, "params.total")) << name;
    EXPECT_EQ(sum_of("storage.dtype.", "_bytes"), count_of(bill, "storage.bytes")) << name;
    EXPECT_EQ(count_of(bill, "storage.main_bytes") + sum_of("storage.apart.", "_bytes"),
              count_of(bill, "storage.bytes"))
        << name;
    EXPECT_EQ(sum_of("kv.entry.", ".bytes_per_token"), count_of(bill, "kv.bytes_per_token")) << name;
    for (const char* phase : {"prefill", "decode"}) {
      const std::string p = phase;
      EXPECT_EQ(count_of(bill, p + ".weight_bytes") + count_of(bill, p + ".activation_bytes") +
                    count_of(bill, p + ".kv_read_bytes") + count_of(bill, p + ".kv_write_bytes"),
                count_of(bill, p + ".bytes"))
          << name;
    }
    EXPECT_LE(count_of(bill, "params.active"), count_of(bill, "params.total")) << name;
  }
}

TEST(Properties, UnlikeLayersStaySums) {
  const base::Result<BillPtr> made =
      bill_of(opened("deepseek-ai--DeepSeek-V3"), {}, analysis::Dims::kFormulas);
  ASSERT_TRUE(made.ok());
  for (const char* key : {"params.total", "params.active", "storage.bytes", "decode.matmul_flops",
                          "decode.bytes", "prefill.matmul_flops"}) {
    const std::string text = text_of(**made, key);
    EXPECT_NE(text.find("n_dense_layers*("), std::string::npos) << key << ": " << text;
    EXPECT_NE(text.find(")*(n_layers - n_dense_layers)"), std::string::npos) << key << ": " << text;
  }
  const base::Result<BillPtr> windows = bill_of(opened("openai--gpt-oss-20b"), {}, analysis::Dims::kFormulas);
  ASSERT_TRUE(windows.ok());
  EXPECT_EQ(text_of(**windows, "layers.sliding_attention"), "n_layers_sliding_attention");
  const std::string kv = text_of(**windows, "kv.bytes_at_context");
  EXPECT_NE(kv.find("n_layers_sliding_attention"), std::string::npos) << kv;
  EXPECT_NE(kv.find("min(d_window, s_ctx)"), std::string::npos) << kv;
}

// A number of the config moves exactly quantities whose formula names a dim that reads it.
TEST(Properties, ANumberMovesOnlyWhatNamesIt) {
  const base::Json original = {{"hidden_size", 64},
                               {"num_hidden_layers", 6},
                               {"num_attention_heads", 8},
                               {"num_key_value_heads", 2},
                               {"head_dim", 8},
                               {"intermediate_size", 96},
                               {"moe_intermediate_size", 32},
                               {"num_experts", 16},
                               {"num_experts_per_tok", 2},
                               {"vocab_size", 512},
                               {"decoder_sparse_step", 2},
                               {"torch_dtype", "bfloat16"}};
  const std::pair<const char*, std::pair<const char*, int>> changes[] = {
      {"hidden_size", {"d_model", 128}},          {"num_attention_heads", {"n_heads", 16}},
      {"num_key_value_heads", {"n_kv_heads", 4}}, {"head_dim", {"d_head", 16}},
      {"intermediate_size", {"d_ff", 80}},        {"moe_intermediate_size", {"d_expert", 48}},
      {"num_experts", {"n_experts", 32}},         {"num_experts_per_tok", {"top_k", 3}},
      {"vocab_size", {"n_vocab", 600}},
  };
  // One token, so that no expert count is at its limit, where it would stop moving.
  const analysis::BillInput input{1, 1, 7};
  const base::Result<BillPtr> formulas =
      bill_of(bind_to(own_library(), "qwen3_moe", original.dump()), input, analysis::Dims::kFormulas);
  const base::Result<BillPtr> before = bill_of(bind_to(own_library(), "qwen3_moe", original.dump()), input);
  ASSERT_TRUE(formulas.ok() && before.ok());
  for (const auto& [key, change] : changes) {
    base::Json changed = original;
    changed[key] = change.second;
    const base::Result<BillPtr> after = bill_of(bind_to(own_library(), "qwen3_moe", changed.dump()), input);
    ASSERT_TRUE(after.ok()) << key << messages(after.faults());
    int moved = 0;
    for (const analysis::Quantity& quantity : (*before)->quantities) {
      const std::vector<std::string> symbols = expr::symbols_of((*formulas)->find(quantity.key)->value);
      const bool names = std::ranges::find(symbols, change.first) != symbols.end();
      const bool moves = text_of(**after, quantity.key) != expr::to_text(quantity.value);
      EXPECT_EQ(moves, names) << key << ": " << quantity.key << " = " << text_of(**formulas, quantity.key);
      moved += moves;
    }
    EXPECT_GT(moved, 3) << key;
    EXPECT_LT(moved, static_cast<int>((*before)->quantities.size())) << key;
  }
}

}  // namespace
}  // namespace archlight::testing
