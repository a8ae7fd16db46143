// Any text in place of one file of specs/, the others as they are: the first letter says which file and which
// small config is bound. What loads evaluates with numbers and with symbols, and every formula comes to its
// number; or there are faults, each with a message. Bounds of the trees, of stored tensors and of formulas hold
// whatever the text asks for.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "analysis/bill.h"
#include "base/file.h"
#include "guard/weight.h"

namespace {

using namespace archlight;

constexpr const char* kLlama = R"({"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 64,
  "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
  "head_dim": 16, "vocab_size": 256, "max_position_embeddings": 512, "tie_word_embeddings": true,
  "attention_bias": true, "mlp_bias": false, "rms_norm_eps": 1e-5})";

constexpr const char* kDeepseek = R"({"model_type": "deepseek_v3", "torch_dtype": "bfloat16",
  "hidden_size": 256, "vocab_size": 512, "num_hidden_layers": 3, "first_k_dense_replace": 1,
  "num_nextn_predict_layers": 1, "num_attention_heads": 4, "q_lora_rank": 128, "kv_lora_rank": 128,
  "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32, "intermediate_size": 384,
  "moe_intermediate_size": 128, "n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2,
  "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128],
    "modules_to_not_convert": ["lm_head", "re:.*layers.1.self_attn.*"]}})";

constexpr const char* kGptOss = R"({"model_type": "gpt_oss", "torch_dtype": "bfloat16", "hidden_size": 64,
  "vocab_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
  "head_dim": 16, "sliding_window": 32, "intermediate_size": 64, "num_local_experts": 4,
  "num_experts_per_tok": 2, "attention_bias": true,
  "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
  "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}})";

struct Place {
  const char* file;
  const char* model;
  const char* config;
  const char* precision = "";  // a profile that the bill is made under
};

// The letters 'a', 'b', ... in this order; any other first byte is taken modulo their number.
constexpr Place kPlaces[] = {
    {"models/llama.yaml", "llama", kLlama},
    {"models/deepseek_v3.yaml", "deepseek_v3", kDeepseek},
    {"models/gpt_oss.yaml", "gpt_oss", kGptOss},
    {"components/library/gqa_attention.yaml", "llama", kLlama},
    {"components/library/swiglu.yaml", "llama", kLlama},
    {"components/library/pre_norm.yaml", "gpt_oss", kGptOss},
    {"components/library/gqa_sink_window_attention.yaml", "gpt_oss", kGptOss},
    {"components/library/moe_ffn_gate_routing_bias.yaml", "deepseek_v3", kDeepseek},
    {"components/library/mla_attention.yaml", "deepseek_v3", kDeepseek},
    {"components/library/mla_attention_absorbed.yaml", "deepseek_v3", kDeepseek},
    {"quant/fp8_block.yaml", "deepseek_v3", kDeepseek},
    {"quant/mxfp4.yaml", "gpt_oss", kGptOss},
    {"adapters/hf_causal_lm.yaml", "llama", kLlama},
    {"adapters/gpt_oss.yaml", "gpt_oss", kGptOss},
    {"kv_cache.yaml", "deepseek_v3", kDeepseek},
    {"roles.yaml", "gpt_oss", kGptOss},
    {"precision/fp4_cache.yaml", "deepseek_v3", kDeepseek, "fp4_cache"},
    {"precision/w4a16.yaml", "llama", kLlama, "w4a16"},
};

void require(bool holds, const std::string& property) {
  if (holds) return;
  std::cerr << "broken: " << property << "\n";
  std::abort();
}

// False, for the callers that end there.
bool check(const base::Faults& faults) {
  for (const base::Diagnostic& fault : faults)
    require(!fault.message().empty() && !fault.render().empty(), "a fault says what is wrong");
  return false;
}

// The real specs, with every component read.
const spec::Library& library() {
  static const std::shared_ptr<const spec::Library> opened = [] {
    base::Result<std::shared_ptr<spec::Library>> out = spec::Library::open(ARCHLIGHT_SOURCE_DIR "/specs");
    require(out.ok(), "specs/ loads");
    for (const std::string& name : (*out)->component_names()) (void)(*out)->any_component(name);
    return *out;
  }();
  return *opened;
}

// The formulas come to the numbers.
void compare(const analysis::Bill& numbers, const analysis::Bill& formulas) {
  require(numbers.quantities.size() == formulas.quantities.size(), "one list of quantities");
  const std::vector<analysis::SymbolValue> symbols = analysis::bill_symbols(formulas);
  const auto value_of = [&](std::string_view name) -> std::optional<expr::Rational> {
    for (const analysis::SymbolValue& symbol : symbols)
      if (symbol.name == name) return symbol.value;
    return std::nullopt;
  };
  for (size_t i = 0; i < numbers.quantities.size(); ++i) {
    const analysis::Quantity &number = numbers.quantities[i], &formula = formulas.quantities[i];
    require(number.key == formula.key, "one list of quantities");
    const std::optional<expr::Rational> exact = number.value.constant();
    require(exact.has_value(), number.key + " is a number");
    const base::Result<expr::Rational> value = expr::evaluate(formula.value, value_of);
    // A written-out formula may pass 128 bits on its way to a number that does not.
    if (!value)
      check(value.faults());
    else
      require(*value == *exact, number.key + " is its formula's value");
    if (i % 8 == 0)
      require(!expr::to_text(formula.value).empty() && !expr::to_latex(formula.value).empty() &&
                  !expr::to_json(formula.value).empty(),
              "a formula prints");
  }
}

// Loads a text in its place and evaluates the model that reads it; true when that came to numbers and formulas.
bool evaluate(const Place& place, const std::string& text) {
  const base::Result<std::shared_ptr<spec::Library>> read = library().with({{place.file, text}});
  if (!read) return check(read.faults());
  const base::Result<const spec::Model*> model = (*read)->model(place.model);
  require(model.ok(), "the model is there");
  const base::Result<std::shared_ptr<const base::Json>> config =
      base::parse_json(place.config, "config.json");
  require(config.ok(), "the config reads");
  base::Result<spec::Binding> bound = spec::bind(**model, *config, nullptr);
  if (!bound) return check(bound.faults());
  const auto binding = std::make_shared<const spec::Binding>(std::move(*bound));
  analysis::BillInput input;
  input.batch = 2;
  input.prompt = 48;
  input.context = 96;
  if (*place.precision) {
    const base::Result<const spec::Precision*> precision = (*read)->precision(place.precision);
    require(precision.ok(), "the profile is there");
    input.precision = {*read, *precision};
  }
  const auto numbers = analysis::make_bill(*read, binding, analysis::Dims::kNumbers, input);
  const auto formulas = analysis::make_bill(*read, binding, analysis::Dims::kFormulas, input);
  if (!numbers) check(numbers.faults());
  if (!formulas) check(formulas.faults());
  if (numbers) {
    const std::vector<std::string> names = {"lm_head.weight", "model.layers.0.self_attn.o_proj.weight"};
    const guard::TensorFaults found = guard::check_names(**numbers, guard::TensorNames(names), "fuzz");
    check(found.weight);
  }
  if (!numbers || !formulas) return false;
  compare(**numbers, **formulas);
  return true;
}

// A place whose own file does not come to a bill would make all its inputs shallow.
bool real_files_evaluate() {
  for (const Place& place : kPlaces) {
    const base::Result<std::string> text =
        base::read_file(std::string(ARCHLIGHT_SOURCE_DIR "/specs/") + place.file);
    require(text.ok() && evaluate(place, *text), std::string("specs/") + place.file + " comes to a bill");
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool deep = real_files_evaluate();
  if (!deep || size == 0 || size > 10'000) return 0;
  constexpr size_t kCount = std::size(kPlaces);
  const Place& place = kPlaces[data[0] >= 'a' && data[0] < 'a' + kCount ? data[0] - 'a' : data[0] % kCount];
  evaluate(place, std::string(reinterpret_cast<const char*>(data + 1), size - 1));
  return 0;
}
