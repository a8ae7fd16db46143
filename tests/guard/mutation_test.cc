// Each spec with one thing wrong, against its strongest records: which guard says so, and what no guard can see.
//
// The mutants are all that mutants.h knows of a model's file, its components, its adapter and the quant schemes
// that its records use. A mutant is caught when a record that the spec verifies is verified no longer. Records
// are generated from published facts (full_record_test.cc) or published indexes; the small made-up ones come
// first, since most mutants fall there.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "guard/mutants.h"
#include "guard/support.h"

namespace archlight::guard::testing {
namespace {

struct Evidence {
  const char* record;    // "generated ID" or "snapshot NAME"
  const char* config;    // the snapshot of the config, for a generated one
  const char* changes;   // to that config
};

struct Subject {
  const char* spec;
  std::vector<const char*> components, adapters, quants;
  std::vector<Evidence> evidence;
  size_t least;  // mutants that must be made
};

const Subject kSubjects[] = {
    {"llama",
     {"gqa_attention", "swiglu", "pre_norm"},
     {"hf_causal_lm"},
     {"fp8_tensor"},
     {{"generated meta-llama/Llama-3.2-1B", "meta-llama--Llama-3.2-1B", nullptr},
      {"generated meta-llama/Llama-3.1-8B", "meta-llama--Llama-3.1-8B", nullptr},
      {"snapshot ibm-granite--granite-3b-code-instruct-128k", nullptr, nullptr},
      {"snapshot meta-llama--Llama-2-70b-chat-hf", nullptr, nullptr}},
     0},
    {"qwen3",
     {"gqa_attention", "swiglu", "pre_norm"},
     {"hf_causal_lm"},
     {"fp8_block", "fp8_tensor"},
     {{"generated Qwen/Qwen3-0.6B-FP8", "Qwen--Qwen3-0.6B",
       R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})"},
      {"generated Qwen/Qwen3-4B", "Qwen--Qwen3-4B", nullptr},
      {"generated Qwen/Qwen3-32B-FP8-Static-PerTensor", "Qwen--Qwen3-32B-FP8-Static-PerTensor", nullptr}},
     0},
    {"qwen3_moe",
     {"gqa_attention", "swiglu", "moe_ffn_softmax_topk", "pre_norm"},
     {"hf_causal_lm"},
     {"fp8_block"},
     {{"generated cut/Qwen3-MoE", "Qwen--Qwen3-30B-A3B-FP8",
       R"({"vocab_size": 1000, "hidden_size": 640, "num_hidden_layers": 3, "num_attention_heads": 8,
           "num_key_value_heads": 2, "head_dim": 96, "intermediate_size": 896, "num_experts": 6,
           "num_experts_per_tok": 4, "moe_intermediate_size": 384})"},
      {"generated Qwen/Qwen3-30B-A3B", "Qwen--Qwen3-30B-A3B", nullptr}},
     0},
    {"mixtral",
     {"gqa_attention", "swiglu", "moe_ffn_softmax_topk", "pre_norm"},
     {"hf_causal_lm", "mixtral"},
     {},
     {{"generated mistralai/Mixtral-8x7B-Instruct-v0.1", "mistralai--Mixtral-8x7B-Instruct-v0.1", nullptr}},
     0},
    {"gpt_oss",
     {"gqa_sink_attention", "gqa_sink_window_attention", "moe_ffn_topk_softmax_bias", "swiglu_clamped_fused",
      "pre_norm"},
     {"hf_causal_lm", "gpt_oss"},
     {"mxfp4"},
     {{"generated openai/gpt-oss-20b", "openai--gpt-oss-20b", nullptr}},
     0},
    {"deepseek_v3",
     {"mla_attention", "mla_attention_absorbed", "swiglu", "moe_ffn_gate_routing_bias", "pre_norm", "mtp_layer"},
     {"hf_causal_lm"},
     {"fp8_block"},
     {{"generated cut/DeepSeek-V3", "deepseek-ai--DeepSeek-V3",
       R"({"vocab_size": 1000, "hidden_size": 640, "num_hidden_layers": 5, "num_attention_heads": 4,
           "intermediate_size": 896, "n_routed_experts": 6, "num_experts_per_tok": 3,
           "moe_intermediate_size": 384, "first_k_dense_replace": 2})"},
      {"generated deepseek-ai/DeepSeek-V3", "deepseek-ai--DeepSeek-V3", nullptr},
      {"generated moonshotai/Kimi-K2-Instruct", "moonshotai--Kimi-K2-Instruct", nullptr}},
     0},
};

truth::Truth truth_of(const Evidence& evidence) {
  const std::string_view record = evidence.record;
  if (record.starts_with("snapshot ")) return snapshot(std::string(record.substr(9)));
  const truth::Truth from = snapshot(evidence.config);
  truth::Truth truth =
      generated(std::string(record.substr(10)),
                evidence.changes ? config_with(*from.config, evidence.changes) : from.config);
  truth.quant_config = from.quant_config;
  return truth;
}

// Of a spec that verifies: every quantity, to see what a mutant changes.
std::map<std::string, std::string> bill_of(const Report& report) {
  std::map<std::string, std::string> out;
  for (const analysis::Quantity& quantity : report.bill->quantities)
    out[quantity.key] = expr::to_text(quantity.value);
  return out;
}

class Mutation : public ::testing::TestWithParam<Subject> {};

TEST_P(Mutation, IsCaughtOrExplained) {
  const Subject& subject = GetParam();
  std::map<std::string, std::string> files;
  const auto take = [&](const std::string& file) {
    const base::Result<std::string> text = base::read_file(ARCHLIGHT_SOURCE_DIR "/specs/" + file);
    ASSERT_TRUE(text.ok()) << file;
    files.emplace(file, *text);
  };
  for (const char* file : {"dims.yaml", "roles.yaml", "kv_cache.yaml"}) take(file);
  std::vector<std::string> mutated = {"models/" + std::string(subject.spec) + ".yaml"};
  for (const char* name : subject.components) mutated.push_back(fmt::format("components/library/{}.yaml", name));
  for (const char* name : subject.adapters) mutated.push_back(fmt::format("adapters/{}.yaml", name));
  for (const char* name : subject.quants) mutated.push_back(fmt::format("quant/{}.yaml", name));
  for (const std::string& file : mutated) take(file);

  std::vector<truth::Truth> truths;
  std::vector<std::map<std::string, std::string>> bills;
  const auto base_library = spec::Library::from_texts(files);
  ASSERT_TRUE(base_library.ok()) << base::render_all(base_library.faults());
  for (const Evidence& evidence : subject.evidence) {
    truths.push_back(truth_of(evidence));
    const Report report = verify_all(*base_library, truths.back());
    ASSERT_EQ(verdict_name(report.verdict), "verified") << evidence.record << "\n" << lines_of(report);
    bills.push_back(bill_of(report));
  }

  Names names;
  const spec::Model* model = *(*base_library)->model(subject.spec);
  for (const spec::DimDecl& dim : model->dims) names.dims.push_back(dim.name);
  for (const char* name : subject.components) names.components.push_back(name);
  for (const auto& [role, unused] : (*base_library)->roles()) names.roles.push_back(role);

  std::map<std::string, size_t> caught;
  size_t made = 0, survived = 0;
  for (const std::string& file : mutated)
    for (const Mutant& mutant : mutants_of(file, files.at(file), names)) {
      ++made;
      std::map<std::string, std::string> with = files;
      with[mutant.file] = mutant.text;
      const auto library = spec::Library::from_texts(with);
      if (std::getenv("MUT")) std::cerr << mutant.file << ": " << mutant.what << "\n";
      std::string by, changes;
      if (!library) {
        by = "load";
      } else {
        for (size_t i = 0; i < truths.size() && by.empty(); ++i) {
          const Report report = verify_all(*library, truths[i]);
          if (report.verdict != Verdict::kVerified) {
            by = report.faults.empty() ? "load" : report.faults[0].guard;
            continue;
          }
          for (const auto& [key, value] : bill_of(report))
            if (changes.empty() && bills[i][key] != value) changes = key;
        }
      }
      if (!by.empty()) {
        ++caught[by];
        continue;
      }
      ++survived;
      std::cout << "survives: " << mutant.file << ": " << mutant.what << (changes.empty() ? "" : "  CHANGES " + changes) << "\n";
    }
  std::cout << subject.spec << ": " << made << " mutants, " << survived << " survive;";
  for (const auto& [guard, count] : caught) std::cout << " " << guard << " " << count;
  std::cout << "\n";
  EXPECT_GE(made, subject.least);
}

INSTANTIATE_TEST_SUITE_P(Specs, Mutation, ::testing::ValuesIn(kSubjects),
                         [](const ::testing::TestParamInfo<Subject>& row) { return std::string(row.param.spec); });

}  // namespace
}  // namespace archlight::guard::testing
