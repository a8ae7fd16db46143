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

struct Evidence {
  const char* record;             // of the generator, or a snapshot where `config` is null
  const char* config = nullptr;   // the snapshot of its config
  const char* changes = nullptr;  // to that config; null removes a key
};

struct Subject {
  const char* spec;
  std::vector<const char*> components, adapters, quants;
  std::vector<Evidence> evidence;
};

#define BLOCK_FP8 R"("quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]})"

const Subject kSubjects[] = {
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
       R"({"vocab_size": 1000, "hidden_size": 640, "num_hidden_layers": 5, "num_attention_heads": 4,
           "intermediate_size": 896, "n_routed_experts": 6, "num_experts_per_tok": 3, "n_shared_experts": 2,
           "moe_intermediate_size": 384, "first_k_dense_replace": 2})"},
      {"cut/DeepSeek-V3", "deepseek-ai--DeepSeek-V3",
       R"({"vocab_size": 1000, "hidden_size": 640, "num_hidden_layers": 5, "num_attention_heads": 4,
           "intermediate_size": 896, "n_routed_experts": 6, "num_experts_per_tok": 3, "n_shared_experts": 2,
           "moe_intermediate_size": 384, "first_k_dense_replace": 2, "tie_word_embeddings": null})"},
      {"cut/Kimi-K2", "moonshotai--Kimi-K2-Instruct",
       R"({"vocab_size": 1000, "hidden_size": 640, "num_hidden_layers": 3, "num_attention_heads": 5,
           "intermediate_size": 896, "n_routed_experts": 6, "num_experts_per_tok": 3, "n_shared_experts": null,
           "moe_intermediate_size": 384, "first_k_dense_replace": 1, "num_nextn_predict_layers": null,
           "q_lora_rank": null, "tie_word_embeddings": true})"}}},
};

// What survives, by file and mutant ('*' for any text), and why no guard of this kind can see it.
struct Explained {
  const char* file;
  const char* what;
  const char* why;
};

const Explained kExplained[] = {
    {"", "", ""},
};

bool matches(std::string_view pattern, std::string_view text) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  for (size_t at = star; at <= text.size(); ++at)
    if (matches(pattern.substr(star + 1), text.substr(at))) return true;
  return false;
}

std::vector<std::string> files_of(const Subject& subject) {
  std::vector<std::string> out = {"models/" + std::string(subject.spec) + ".yaml"};
  for (const char* name : subject.components) out.push_back(fmt::format("components/library/{}.yaml", name));
  for (const char* name : subject.adapters) out.push_back(fmt::format("adapters/{}.yaml", name));
  for (const char* name : subject.quants) out.push_back(fmt::format("quant/{}.yaml", name));
  return out;
}

std::vector<std::string> all_files() {
  std::set<std::string> out;
  for (const Subject& subject : kSubjects)
    out.merge([&] {
      const std::vector<std::string> files = files_of(subject);
      return std::set<std::string>(files.begin(), files.end());
    }());
  return {out.begin(), out.end()};
}

truth::Truth truth_of(const Evidence& evidence) {
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
  const Subject* subject;
  std::map<std::string, std::string> files;
  std::shared_ptr<spec::Library> library;
  std::vector<truth::Truth> truths;
  std::vector<Verdict> verdicts;
  std::vector<std::map<std::string, std::string>> bills;
};

Setting setting_of(const Subject& subject) {
  Setting out;
  out.subject = &subject;
  std::vector<std::string> files = files_of(subject);
  for (const char* file : {"dims.yaml", "roles.yaml", "kv_cache.yaml"}) files.push_back(file);
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
  for (const Evidence& evidence : subject.evidence) {
    out.truths.push_back(truth_of(evidence));
    const Report report = verify_all(out.library, out.truths.back());
    EXPECT_TRUE(report.verdict == Verdict::kVerified || report.verdict == Verdict::kAgrees)
        << evidence.record << "\n"
        << lines_of(report);
    out.verdicts.push_back(report.verdict);
    out.bills.push_back(report.bill ? bill_of(report) : std::map<std::string, std::string>());
  }
  return out;
}

class Mutation : public ::testing::TestWithParam<std::string> {};

TEST_P(Mutation, IsCaughtOrExplained) {
  const std::string& file = GetParam();
  std::vector<Setting> settings;
  Names names;
  std::set<std::string> dims, components;
  for (const Subject& subject : kSubjects) {
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
  size_t made = 0, unexplained = 0;
  for (const Mutant& mutant : mutants_of(file, settings[0].files.at(file), names)) {
    ++made;
    std::string by, changes;
    for (const Setting& setting : settings) {
      if (!by.empty()) break;
      std::map<std::string, std::string> files = setting.files;
      files[file] = mutant.text;
      const base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(files);
      if (!library) by = "load";
      for (size_t i = 0; i < setting.truths.size() && by.empty(); ++i) {
        const Report report = verify_all(*library, setting.truths[i]);
        if (report.verdict != setting.verdicts[i]) {
          by = report.faults.empty() ? "load" : report.faults[0].guard;
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
    explained ? ++by_reason[why->why] : ++unexplained;
    EXPECT_TRUE(explained) << file << ": " << mutant.what << "\n" << mutant.text;
  }
  size_t survived = unexplained;
  for (const auto& [why, count] : by_reason) survived += count;
  std::cout << "  " << file << ": " << made << " mutants, " << survived << " survive;";
  for (const auto& [guard, count] : caught) std::cout << " " << guard << " " << count;
  std::cout << "\n";
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
