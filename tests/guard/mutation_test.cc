// Each spec with one thing wrong, against records: which guard says so, and what no guard can see.
//
// The mutants of a file are all that mutants.h knows. A mutant is caught when a record that the spec verifies (or,
// where only a total is known, agrees with) does so no longer; a shared component is held against the records of every model that uses it. The records
// are generated from published facts or made up in the same form with sizes that differ from each other
// (tests/records/generate.py), and published indexes. What survives must be explained below.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "guard/mutants.h"
#include "guard/support.h"

namespace archlight::guard::testing {
namespace {

struct Record {
  const char* record;             // of the generator, or a snapshot where `config` is null
  const char* config = nullptr;   // the snapshot of its config
  const char* changes = nullptr;  // to that config; null removes a key
};

struct Tested {
  const char* spec;
  std::vector<const char*> components, adapters, quants;
  std::vector<Record> evidence;
};

#define BLOCK_FP8 R"("quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]})"

#define CUT_DSA CUT_DSA_OF("5")
#define CUT_DSA_OF(layers)                                                                    \
  R"({"vocab_size": 1000, "hidden_size": 640, "num_hidden_layers": )" layers                  \
  R"(, "num_attention_heads": 4, )"                                                           \
  R"("num_key_value_heads": 4, "intermediate_size": 896, "n_routed_experts": 6, )"            \
  R"("num_experts_per_tok": 3, "moe_intermediate_size": 384, )"                               \
  R"("first_k_dense_replace": 2, "q_lora_rank": 320, "qk_nope_head_dim": 96, )"               \
  R"("qk_rope_head_dim": 32, "v_head_dim": 160, "index_n_heads": 3, "index_head_dim": 112, )" \
  R"("index_topk": 77)"

#define CUT_FULL R"(, "n_shared_experts": 2)"
#define CUT_BARE \
  R"(, "num_nextn_predict_layers": null, "n_shared_experts": null, "tie_word_embeddings": true)"

const Tested kSubjects[] = {
    {"llama",
     {"gqa_attention", "swiglu", "pre_norm"},
     {"hf_causal_lm"},
     {"fp8_tensor", "bnb_int8"},
     {{"cut/Llama", "meta-llama--Llama-3.1-8B",
       R"({"vocab_size": 1000, "hidden_size": 640, "num_hidden_layers": 3, "num_attention_heads": 8,
           "num_key_value_heads": 2, "head_dim": 96, "intermediate_size": 896, "attention_bias": true,
           "mlp_bias": true, "tie_word_embeddings": true})"},
      {"meta-llama/Llama-3.1-8B", "meta-llama--Llama-3.1-8B",
       R"({"head_dim": null, "attention_bias": null, "mlp_bias": null, "tie_word_embeddings": null})"},
      {"nvidia/Llama-3.1-70B-Instruct-FP8", "nvidia--Llama-3.1-70B-Instruct-FP8"},
      {"meta-llama--Llama-3.1-8B-Instruct.bnb-int8"},
      {"kleberbaum--Pygmalion-7b-Merged"},
      {"instructlab--granite-7b-lab"}}},
    {"qwen3",
     {"gqa_attention", "swiglu", "pre_norm"},
     {"hf_causal_lm"},
     {"fp8_block", "fp8_tensor", "mlx_affine"},
     {{"cut/Qwen3", "Qwen--Qwen3-0.6B",
       R"({"vocab_size": 1000, "hidden_size": 640, "num_hidden_layers": 3, "num_attention_heads": 8,
           "num_key_value_heads": 2, "head_dim": 96, "intermediate_size": 896, "attention_bias": true,)" BLOCK_FP8
       "}"},
      {"Qwen/Qwen3-8B", "Qwen--Qwen3-8B",
       R"({"head_dim": null, "attention_bias": null, "tie_word_embeddings": null})"},
      {"Qwen/Qwen3-32B-FP8-Static-PerTensor", "Qwen--Qwen3-32B-FP8-Static-PerTensor"},
      {"lmstudio-community--Qwen3-14B-MLX-4bit"}}},
    {"qwen3_moe",
     {"gqa_attention", "swiglu", "moe_ffn_softmax_topk", "pre_norm"},
     {"hf_causal_lm"},
     {"fp8_block"},
     {{"cut/Qwen3-MoE", "Qwen--Qwen3-30B-A3B-FP8",
       R"({"vocab_size": 1000, "hidden_size": 640, "num_hidden_layers": 6, "num_attention_heads": 8,
           "num_key_value_heads": 2, "head_dim": 96, "intermediate_size": 896, "num_experts": 7,
           "num_experts_per_tok": 5, "moe_intermediate_size": 384, "attention_bias": true,
           "decoder_sparse_step": 2, "mlp_only_layers": [3], "tie_word_embeddings": true})"},
      {"Qwen/Qwen3-30B-A3B", "Qwen--Qwen3-30B-A3B",
       R"({"attention_bias": null, "decoder_sparse_step": null, "tie_word_embeddings": null})"},
      {"Qwen/Qwen3-30B-A3B", "Qwen--Qwen3-30B-A3B"}}},
    {"mixtral",
     {"gqa_attention", "swiglu", "moe_ffn_softmax_topk", "pre_norm"},
     {"hf_causal_lm", "mixtral"},
     {},
     {{"cut/Mixtral", "mistralai--Mixtral-8x7B-Instruct-v0.1",
       R"({"vocab_size": 1000, "hidden_size": 640, "num_hidden_layers": 3, "num_attention_heads": 8,
           "num_key_value_heads": 2, "head_dim": 96, "intermediate_size": 896, "num_local_experts": 7,
           "num_experts_per_tok": 5, "tie_word_embeddings": true})"},
      {"mistralai/Mixtral-8x7B-Instruct-v0.1", "mistralai--Mixtral-8x7B-Instruct-v0.1",
       R"({"head_dim": null, "tie_word_embeddings": null})"},
      {"mistralai/Mixtral-8x7B-Instruct-v0.1", "mistralai--Mixtral-8x7B-Instruct-v0.1"}}},
    {"gpt_oss",
     {"gqa_sink_attention", "gqa_sink_window_attention", "moe_ffn_topk_softmax_bias", "swiglu_clamped_fused",
      "pre_norm"},
     {"hf_causal_lm", "gpt_oss"},
     {"mxfp4"},
     {{"cut/gpt-oss", "openai--gpt-oss-20b",
       R"({"vocab_size": 1000, "hidden_size": 640, "num_hidden_layers": 5, "num_attention_heads": 8,
           "num_key_value_heads": 2, "head_dim": 96, "intermediate_size": 384, "num_local_experts": 7,
           "num_experts_per_tok": 5, "experts_per_token": 5, "attention_bias": false,
           "tie_word_embeddings": true, "layer_types": ["sliding_attention", "full_attention",
           "sliding_attention", "full_attention", "sliding_attention"]})"},
      {"openai/gpt-oss-20b", "openai--gpt-oss-20b",
       R"({"attention_bias": null, "tie_word_embeddings": null})"},
      {"openai--gpt-oss-20b"},
      {"openai--gpt-oss-120b"}}},
    {"deepseek_v3",
     {"mla_attention", "mla_attention_absorbed", "swiglu", "moe_ffn_gate_routing_bias", "pre_norm",
      "mtp_layer"},
     {"hf_causal_lm"},
     {"fp8_block"},
     {{"cut/DeepSeek-V3", "deepseek-ai--DeepSeek-V3",
       R"({"vocab_size": 1000, "hidden_size": 640, "num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 4,
           "intermediate_size": 896, "n_routed_experts": 6, "num_experts_per_tok": 3, "n_shared_experts": 2,
           "moe_intermediate_size": 384, "first_k_dense_replace": 2})"},
      {"cut/DeepSeek-V3", "deepseek-ai--DeepSeek-V3",
       R"({"vocab_size": 1000, "hidden_size": 640, "num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 4,
           "intermediate_size": 896, "n_routed_experts": 6, "num_experts_per_tok": 3, "n_shared_experts": 2,
           "moe_intermediate_size": 384, "first_k_dense_replace": 2, "tie_word_embeddings": null})"},
      {"cut/Kimi-K2", "moonshotai--Kimi-K2-Instruct",
       R"({"vocab_size": 1000, "hidden_size": 640, "num_hidden_layers": 3, "num_attention_heads": 5, "num_key_value_heads": 5,
           "intermediate_size": 896, "n_routed_experts": 6, "num_experts_per_tok": 3, "n_shared_experts": null,
           "moe_intermediate_size": 384, "first_k_dense_replace": 1, "num_nextn_predict_layers": null,
           "q_lora_rank": null, "tie_word_embeddings": true})"}}},
    {"deepseek_v32",
     {"mla_sparse_attention", "mla_sparse_core", "dsa_indexer", "swiglu", "moe_ffn_gate_routing_bias",
      "pre_norm", "mtp_layer"},
     {"hf_causal_lm"},
     {"fp8_block"},
     {{"cut/DeepSeek-V3.2", "deepseek-ai--DeepSeek-V3.2", CUT_DSA CUT_FULL "}"},
      {"cut/DeepSeek-V3.2-bare", "deepseek-ai--DeepSeek-V3.2", CUT_DSA CUT_BARE "}"},
      {"cut/DeepSeek-V3.2", "deepseek-ai--DeepSeek-V3.2",
       CUT_DSA CUT_FULL R"(, "tie_word_embeddings": null})"}}},
    {"glm_moe_dsa",
     {"mla_sparse_attention", "mla_sparse_choosing_attention", "mla_sparse_shared_attention",
      "mla_sparse_core", "dsa_indexer", "swiglu", "moe_ffn_gate_routing_bias", "pre_norm",
      "mtp_layer_shared"},
     {"hf_causal_lm"},
     {"fp8_block"},
     {{"cut/GLM-5", "zai-org--GLM-5-FP8", CUT_DSA CUT_FULL R"(, "qk_head_dim": 128})"},
      {"cut/GLM-5-bare", "zai-org--GLM-5-FP8", CUT_DSA CUT_BARE R"(, "qk_head_dim": null})"},
      {"cut/GLM-5", "zai-org--GLM-5-FP8",
       CUT_DSA CUT_FULL R"(, "qk_head_dim": null, "tie_word_embeddings": null})"},
      // Which layers share: by a list, by a pattern of letters, and by an interval: full where max(layer - offset + 1, 0)
      // is a multiple of it, of 3 behind layer 1 and of 2 behind layer 2, where no offset is stated.
      {"cut/GLM-5.2-early", "zai-org--GLM-5.2-FP8",
       CUT_DSA_OF("6") CUT_FULL
       R"(, "qk_head_dim": null, "index_topk_freq": null,)"
       R"( "indexer_types": ["full", "shared", "shared", "full", "shared", "shared"],)"
       R"( "mlp_layer_types": ["dense", "dense", "sparse", "sparse", "sparse", "sparse"]})"},
      {"cut/GLM-5.2-early", "zai-org--GLM-5.2-FP8",
       CUT_DSA_OF("6") CUT_FULL
       R"(, "qk_head_dim": null, "index_topk_freq": null,)"
       R"( "indexer_types": null, "index_topk_pattern": "FSSFSS", "mlp_layer_types": null})"},
      {"cut/GLM-5.2-early", "zai-org--GLM-5.2-FP8",
       CUT_DSA_OF("6") CUT_FULL
       R"(, "qk_head_dim": null, "index_topk_freq": 3,)"
       R"( "index_skip_topk_offset": 1, "indexer_types": null, "mlp_layer_types": null})"},
      {"cut/GLM-5.2", "zai-org--GLM-5.2-FP8",
       CUT_DSA CUT_FULL R"(, "qk_head_dim": null, "index_topk_freq": 2, "index_skip_topk_offset": 2,)"
                        R"( "indexer_types": ["full", "full", "shared", "full", "shared"],)"
                        R"( "mlp_layer_types": ["dense", "dense", "sparse", "sparse", "sparse"]})"},
      // The same by the interval: full where max(layer - 2 + 1, 0) is even, in layers 0, 1 and 3.
      {"cut/GLM-5.2", "zai-org--GLM-5.2-FP8",
       CUT_DSA CUT_FULL R"(, "qk_head_dim": null, "index_topk_freq": 2, "index_skip_topk_offset": null,)"
                        R"( "indexer_types": null, "mlp_layer_types": null})"}}},
};

// What survives, by file and mutant ('*' for any text), and why no guard of this kind can see it.
struct Explained {
  const char* file;
  const char* what;
  const char* why;
};

// Reasons that many share.
constexpr const char* kInferred = "equal: the operand's axis says it; stated, it is held against that axis";
constexpr const char* kLabel = "equal: no tensor bears this name";
constexpr const char* kOrder = "equal: a sum or product in another order";
constexpr const char* kResidual =
    "which values of the stream's shape are added is in no tensor: only the forward pass tells";
constexpr const char* kAlike = "tensors of one shape and use: which is which is in their names alone";
constexpr const char* kNoParameters = "equal: roles divide parameters, and this op stores none";
constexpr const char* kFilesWin =
    "read where the config is silent, and then the files' own width is taken and noted";
constexpr const char* kStated = "every config at hand states the key";
constexpr const char* kNoWindow =
    "no record at hand of these has a window in use, so the rule takes no layer";
constexpr const char* kEveryLayer = "every config at hand makes each layer behind the dense ones MoE";
constexpr const char* kSharedTables =
    "a prediction layer's own norm, table or head may be a copy of the main model's";
constexpr const char* kStored = "every record at hand stores it";
constexpr const char* kIgnoreAgrees =
    "equal here: the list names only what the scope leaves out anyway, or the reverse";
constexpr const char* kNamesOnly = "an index has no shapes or dtypes, and the total stays";

const Explained kExplained[] = {
    // What any file may have.
    {"*", "drop *.dim", kInferred},
    {"models/*", "default of dim tied_head plus 1",
     "of a config without the key: a stored head may be a copy"},
    {"models/*", "drop layers.inputs", "equal: the entry above feeds a stack that names no inputs"},
    {"models/*", "*stream hidden of *",
     "equal: a block's first input and output carry on where nothing says so"},
    {"models/*", "drop *.streams", "equal: a block's first input and output carry on where nothing says so"},
    {"models/*", "drop shape of stream *", "equal: values are held against a shape, and it makes none"},
    {"models/*", "drop default_dtype", kFilesWin},
    {"models/*", "default_dtype to *", kFilesWin},
    {"models/*", "drop scale_dtype", kFilesWin},
    {"models/*", "scale_dtype to *", kFilesWin},
    {"models/*", "dim qk_norm plus 1", "equal: a flag is on when it is not 0"},
    // No record of these has a window in use, so the rule that would take it takes no layer.
    {"models/mixtra*", "*attention_window*", kNoWindow},
    {"models/mixtra*", "drop layers.layers*", kNoWindow},
    {"models/qwen3*", "*attention_window*", kNoWindow},
    {"models/qwen3*", "*uses_window*", kNoWindow},
    {"models/qwen3*", "*d_window*", kNoWindow},
    {"models/qwen3*", "*first_window_layer*", kNoWindow},
    {"models/qwen3*", "drop layers.layers", kNoWindow},
    {"models/qwen3*", "*layers.layers[0]*", kNoWindow},
    {"models/deepseek_v*", "*layers.layers[1]*", kEveryLayer},
    {"models/deepseek_v*", "*moe_layer_freq*", kEveryLayer},
    {"models/glm_moe_dsa*", "*layers.layers[3]*", "equal: layers that no rule takes are of the same kind"},
    {"models/glm_moe_dsa*", "*moe_layer_freq*", kEveryLayer},
    {"models/deepseek_v*", "rename mtp", kLabel},
    {"models/glm_moe_dsa*", "rename mtp", kLabel},
    {"models/deepseek_v*", "method of default to fp8_block", "equal: what its configs declare"},
    {"models/glm_moe_dsa*", "method of default to fp8_block", "equal: what its configs declare"},
    {"models/*", "override dtype", "equal: what an override leaves plain has the plain dtype"},
    {"models/glm_moe_dsa.yaml", "dim mtp_*_shared plus 1", kSharedTables},
    {"models/gpt_oss.yaml", "default of dim *_bias plus 1", "equal: a flag is on when it is not 0"},
    {"models/gpt_oss.yaml", "default of dim d_head plus 1", kStated},
    {"models/gpt_oss.yaml", "drop default of dim d_head", kStated},
    {"models/gpt_oss.yaml", "drop choice for default", "equal: no method is none"},
    {"models/gpt_oss.yaml", "method of default to mxfp4", "equal: the scheme takes copies only"},
    {"models/mixtral.yaml", "drop quant_context",
     "equal for records that declare no scheme and state a dtype"},
    {"models/mixtral.yaml", "drop choice for default", "equal for records that declare no scheme"},
    {"models/mixtral.yaml", "method of default to none", "equal for records that declare no scheme"},
    {"models/qwen3_moe.yaml", "default of dim d_head plus 1", kStated},
    {"models/qwen3_moe.yaml", "drop default of dim d_head", kStated},

    {"components/library/gqa_*", "swap names of k_proj and v_proj", kAlike},
    {"components/library/gqa_*", "swap k_heads and v_heads in in", kAlike},
    {"components/library/gqa_*", "swap names of k_heads and v_heads", kAlike},
    {"components/library/*", "rename probs", kLabel},
    {"components/library/mla_attention_absorbed.yaml", "rename q_absorbed", kLabel},
    {"components/library/mla_attention_absorbed.yaml", "rename context", kLabel},
    {"components/library/mla_attention_absorbed.yaml", "other role",
     "equal: a variant stands in its base's slot"},

    {"components/library/mla_sparse_core.yaml", "rename q_absorbed", kLabel},
    {"components/library/mla_sparse_core.yaml", "rename context", kLabel},
    {"components/library/mla_sparse_attention.yaml", "drop indexer.role", "equal: the component's own role"},
    {"components/library/mla_sparse_core.yaml", "other kind of cache entry k_pe_rope",
     "a rope key is a key: the kind is its name in the bill"},
    {"components/library/mla_sparse_choosing_attention.yaml", "drop indexer.role",
     "equal: the component's own role"},
    {"components/library/mla_sparse_*attention.yaml", "rename core", kLabel},
    {"components/library/dsa_indexer.yaml", "cache k_heads for k", "the same elements, seen as one head"},
    {"components/library/dsa_indexer.yaml", "other role", "equal: the call states the role"},

    {"components/library/moe_*", "drop gate_scores.role", kNoParameters},
    {"components/library/moe_*", "drop gate_normalized.role", kNoParameters},
    {"components/library/moe_*", "drop gate_weights.role", kNoParameters},
    {"components/library/moe_*", "drop chosen*.role", kNoParameters},
    {"components/library/moe_ffn_gate_routing_bias.yaml", "rewire shared_experts from x to combine",
     kResidual},
    {"components/library/moe_ffn_gate_routing_bias.yaml", "swap operands of out", kOrder},

    {"components/library/mtp_layer_shared.yaml", "*shared_head.norm.tied*", kSharedTables},
    {"components/library/mtp_layer_shared.yaml", "rename shared_head.head", kSharedTables},
    {"components/library/mtp_layer*", "role of *norm to norm", "a norm, and counted apart under either role"},
    {"components/library/mtp_layer*", "swap operands of joined", kAlike},
    {"components/library/mtp_layer*", "swap enorm and hnorm in in", kAlike},
    {"components/library/mtp_layer*", "swap names of enorm and hnorm", kAlike},
    {"components/library/mtp_layer*", "rename decoder", kLabel},
    {"components/library/mtp_layer*", "rewire shared_head.norm from decoder to hidden", kResidual},
    {"components/library/mtp_layer*", "output *",
     "one prediction layer: what it would hand to a second is unread"},

    {"components/library/pre_norm.yaml", "swap operands of *_residual", kOrder},
    {"components/library/pre_norm.yaml", "rewire *_residual from *", kResidual},
    {"components/library/pre_norm.yaml", "rewire post_attention_layernorm from attention_residual to hidden",
     kResidual},

    {"components/library/swiglu.yaml", "swap operands of gated", kOrder},
    {"components/library/swiglu.yaml", "swap names of gate_proj and up_proj", kAlike},
    {"components/library/swiglu_clamped_fused.yaml", "swap operands of gl*", kOrder},
    {"components/library/swiglu_clamped_fused.yaml", "swap operands of gated", kOrder},
    {"components/library/swiglu_clamped_fused.yaml", "rewire gate_scaled from gate_clamped to up_clamped",
     kAlike},
    {"components/library/swiglu_clamped_fused.yaml", "rewire glu from gate_clamped to gate_sigmoid", kAlike},
    {"components/library/swiglu_clamped_fused.yaml", "swap gate_clamped and up_clamped in in", kAlike},
    {"components/library/swiglu_clamped_fused.yaml", "swap names of gate* and up*", kAlike},
    {"components/library/swiglu_clamped_fused.yaml", "other role", "equal: its call says routed_experts"},

    {"quant/*", "drop ignore", kIgnoreAgrees},
    {"quant/fp8_tensor.yaml", "drop optional of *", kStored},
    {"quant/fp8_tensor.yaml", "drop modules of *", "more modules may have it, and in the records none does"},
    {"quant/fp8_tensor.yaml", "drop plain of *", "in the records every k_proj and v_proj is quantised"},
    {"quant/fp8_tensor.yaml", "drop scope.not_roles", kIgnoreAgrees},
    {"quant/bnb_int8.yaml", "swap axes of .weight", kNamesOnly},
    {"quant/mlx_affine.yaml", "swap axes of *", kNamesOnly},
    {"quant/mlx_affine.yaml", "dtype of *", "any 16-bit type meets the total"},
    {"quant/mlx_affine.yaml", "drop scope.not_roles", "equal: norms are no matrices"},
    {"quant/mlx_affine.yaml", "default of group", "equal: the record declares the default's value"},
    {"quant/mxfp4.yaml", "drop declared_by", "equal: the spec names the scheme itself"},
    {"quant/mxfp4.yaml", "drop scope.copies", kIgnoreAgrees},
};

bool matches(std::string_view pattern, std::string_view text) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  for (size_t at = star; at <= text.size(); ++at)
    if (matches(pattern.substr(star + 1), text.substr(at))) return true;
  return false;
}

std::vector<std::string> files_of(const Tested& subject) {
  std::vector<std::string> out = {"models/" + std::string(subject.spec) + ".yaml"};
  for (const char* name : subject.components) out.push_back(fmt::format("components/library/{}.yaml", name));
  for (const char* name : subject.adapters) out.push_back(fmt::format("adapters/{}.yaml", name));
  for (const char* name : subject.quants) out.push_back(fmt::format("quant/{}.yaml", name));
  return out;
}

std::vector<std::string> all_files() {
  std::set<std::string> out;
  for (const Tested& subject : kSubjects)
    out.merge([&] {
      const std::vector<std::string> files = files_of(subject);
      return std::set<std::string>(files.begin(), files.end());
    }());
  return {out.begin(), out.end()};
}

truth::Truth truth_of(const Record& evidence) {
  if (!evidence.config) return snapshot(evidence.record);
  const truth::Truth from = snapshot(evidence.config);
  truth::Truth truth = generated(
      evidence.record, evidence.changes ? config_with(*from.config, evidence.changes) : from.config);
  truth.quant_config = from.quant_config;
  return truth;
}

std::map<std::string, std::string> bill_of(const Report& report) {
  std::map<std::string, std::string> out;
  for (const analysis::Quantity& quantity : report.bill->quantities)
    out[quantity.key] = expr::to_text(quantity.value);
  return out;
}

// A model with the files it needs, what it is held against, and what it says when nothing is wrong.
struct Setting {
  const Tested* subject;
  std::map<std::string, std::string> files;
  std::shared_ptr<spec::Library> library;
  std::vector<truth::Truth> truths;
  std::vector<Verdict> verdicts;
  std::vector<std::string>
      advice;  // of the packing guard: tensors that are not as the spec leads one to expect
  std::vector<std::map<std::string, std::string>> bills;
};

std::string packing_advice(const Report& report) {
  std::string out;
  for (const base::Diagnostic& advice : report.advice)
    if (advice.guard == "packing") out += advice.message() + "\n";
  return out;
}

Setting setting_of(const Tested& subject) {
  Setting out;
  out.subject = &subject;
  std::vector<std::string> files = files_of(subject);
  for (const char* file :
       {"dims.yaml", "roles.yaml", "kv_cache.yaml", "config_keys.yaml", "counting.yaml", "declarations.yaml"})
    files.push_back(file);
  for (const std::string& file : files) {
    const base::Result<std::string> text =
        base::read_file(fmt::format("{}/specs/{}", ARCHLIGHT_SOURCE_DIR, file), 1 << 20);
    EXPECT_TRUE(text.ok()) << file;
    if (text) out.files.emplace(file, *text);
  }
  base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(out.files);
  EXPECT_TRUE(library.ok()) << (library ? std::string() : base::render_all(library.faults()));
  if (!library) return out;
  out.library = *library;
  for (const Record& evidence : subject.evidence) {
    out.truths.push_back(truth_of(evidence));
    const Report report = verify_all(out.library, out.truths.back());
    EXPECT_TRUE(report.verdict == Verdict::kVerified || report.verdict == Verdict::kAgrees)
        << evidence.record << "\n"
        << lines_of(report);
    out.verdicts.push_back(report.verdict);
    out.advice.push_back(packing_advice(report));
    out.bills.push_back(report.bill ? bill_of(report) : std::map<std::string, std::string>());
  }
  return out;
}

class Mutation : public ::testing::TestWithParam<std::string> {};

TEST_P(Mutation, IsCaughtOrExplained) {
  const std::string& file = GetParam();
  std::vector<Setting> settings;
  Names names;
  for (const Tested& subject : kSubjects)
    for (const char* name : subject.adapters)
      if (std::ranges::find(names.adapters, name) == names.adapters.end()) names.adapters.push_back(name);
  std::set<std::string> dims, components;
  for (const Tested& subject : kSubjects) {
    const std::vector<std::string> files = files_of(subject);
    if (std::ranges::find(files, file) == files.end()) continue;
    settings.push_back(setting_of(subject));
    ASSERT_TRUE(settings.back().library);
    const spec::Model* model = *settings.back().library->model(subject.spec);
    if (names.dims.empty())
      for (const spec::DimDecl& dim : model->dims) names.dims.push_back(dim.name);
    for (const char* name : subject.components)
      if (components.insert(name).second) names.components.push_back(name);
    if (names.roles.empty())
      for (const auto& [role, unused] : settings.back().library->roles()) names.roles.push_back(role);
  }

  std::map<std::string, size_t> caught;
  std::map<std::string, size_t> by_reason;
  std::set<std::string_view> used;
  size_t made = 0, unexplained = 0;
  for (const Mutant& mutant : mutants_of(file, settings[0].files.at(file), names)) {
    ++made;
    std::string by, changes;
    for (const Setting& setting : settings) {
      if (!by.empty()) break;
      const base::Result<std::shared_ptr<spec::Library>> library =
          setting.library->with({{file, mutant.text}});
      if (!library) by = "load";
      for (size_t i = 0; i < setting.truths.size() && by.empty(); ++i) {
        const Report report = verify_all(*library, setting.truths[i]);
        if (report.verdict != setting.verdicts[i]) {
          by = report.faults.empty() ? "load" : report.faults[0].guard;
          continue;
        }
        // Tensors decide over a declaration, and say so.
        if (packing_advice(report) != setting.advice[i]) {
          by = "packing advises";
          continue;
        }
        for (const auto& [key, value] : bill_of(report))
          if (changes.empty() && (!setting.bills[i].contains(key) || setting.bills[i].at(key) != value))
            changes = key;
      }
    }
    if (!by.empty()) {
      ++caught[by];
      continue;
    }
    const auto why = std::ranges::find_if(kExplained, [&](const Explained& row) {
      return matches(row.file, file) && matches(row.what, mutant.what);
    });
    const bool explained = why != std::end(kExplained);
    std::cout << "  survives: " << file << ": " << mutant.what
              << (changes.empty() ? "" : ", though " + changes + " changes") << ": "
              << (explained ? why->why : "NOT EXPLAINED") << "\n";
    if (explained) used.insert(why->what);
    explained ? ++by_reason[why->why] : ++unexplained;
    EXPECT_TRUE(explained) << file << ": " << mutant.what << "\n" << mutant.text;
  }
  size_t survived = unexplained;
  for (const auto& [why, count] : by_reason) survived += count;
  std::cout << "  " << file << ": " << made << " mutants, " << survived << " survive;";
  for (const auto& [guard, count] : caught) std::cout << " " << guard << " " << count;
  std::cout << "\n";
  // A row that explains nothing any more goes.
  for (const Explained& row : kExplained)
    if (std::string_view(row.file) == file) {
      EXPECT_TRUE(used.contains(row.what)) << file << ": no mutant '" << row.what << "' survives";
    }
  EXPECT_GE(made, file.starts_with("models/") ? 100u : file.starts_with("components/") ? 20u : 3u);
}

INSTANTIATE_TEST_SUITE_P(Specs, Mutation, ::testing::ValuesIn(all_files()),
                         [](const ::testing::TestParamInfo<std::string>& row) {
                           std::string name = row.param.substr(0, row.param.size() - 5);
                           std::ranges::replace_if(
                               name, [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

}  // namespace
}  // namespace archlight::guard::testing
