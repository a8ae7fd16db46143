// Questions that were asked in the field, answered through the command as it is used. The derivations stand in
// tests/golden/field_*.yaml.
#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace archlight::cli {
namespace {

using base::Json;

// A quantity of `inspect --json`.
int64_t answer(std::vector<std::string> arguments, const std::string& key) {
  arguments.insert(arguments.begin(), "inspect");
  arguments.insert(arguments.end(), {"--json", "--offline"});
  const Ran ran = archlight(arguments);
  const Json body = Json::parse(ran.out, nullptr, false);
  if (!body.is_object() || !body.contains("quantities") || !body["quantities"].contains(key)) {
    ADD_FAILURE() << arguments[1] << " has no " << key << "\n" << ran.out.substr(0, 400);
    return -1;
  }
  for (const auto& [unit, value] : body["quantities"][key].items())
    if (value.is_number_integer()) return value;
  return -1;
}

constexpr int64_t kMiB = 1 << 20;

// 61 layers of (512 + 64) * 2 bytes, on every tensor-parallel rank.
TEST(Field, OneLatentForAllHeads) {
  EXPECT_EQ(answer({"moonshotai/Kimi-K2-Instruct"}, "kv.bytes_per_token"), 70272);
}

TEST(Field, TwoBuffersOfOneCache) {
  const std::vector<std::string> asked = {"google--gemma-3-4b-it.text-only",
                                          "--context",
                                          "131072",
                                          "--engine",
                                          "llama_cpp",
                                          "--engine-option",
                                          "ubatch=512"};
  EXPECT_EQ(answer(asked, "kv.held.full_attention.bytes"), 2560 * kMiB);
  EXPECT_EQ(answer(asked, "kv.held.sliding_attention.bytes"), 174 * kMiB);
  EXPECT_EQ(answer(asked, "kv.held_bytes"), 2734 * kMiB);
}

TEST(Field, CacheGrowsWithTokensAndStatesWithSequences) {
  const std::vector<std::string> asked = {
      "nvidia/Qwen3.6-27B-NVFP4", "--batch", "4", "--context", "65536", "--engine", "llama_cpp"};
  EXPECT_EQ(answer(asked, "kv.bytes_per_token"), 65536);
  EXPECT_EQ(answer(asked, "kv.held.attention_full.bytes"), 16384 * kMiB);
  EXPECT_EQ(answer(asked, "kv.fixed_state_bytes"), 1496250 * kMiB / 10000);      // 149.625 MiB
  EXPECT_EQ(answer(asked, "kv.held.attention_linear.bytes"), 5985 * kMiB / 10);  // 598.5 MiB
}

// 14.9575 GiB of tensors and 32 MiB of cosines and sines are 14.9888 GiB.
TEST(Field, WhatALogCallsGB) {
  EXPECT_EQ(answer({"meta-llama/Llama-3.1-8B", "--engine", "vllm"}, "storage.bytes"),
            int64_t{8030261248} * 2);
  EXPECT_EQ(answer({"meta-llama/Llama-3.1-8B", "--engine", "vllm"}, "storage.engine.rope_table_bytes"),
            32 * kMiB);
  EXPECT_EQ(answer({"meta-llama/Llama-3.1-8B", "--engine", "vllm"}, "storage.loaded_bytes"),
            int64_t{8030261248} * 2 + 32 * kMiB);
}

// An input table is a lookup, a tied one is read as the head.
TEST(Field, WeightsThatATokenReads) {
  EXPECT_EQ(answer({"meta-llama/Llama-3.1-8B"}, "decode.weight_bytes"), 15009857536);
  EXPECT_EQ(answer({"meta-llama/Llama-3.2-1B"}, "decode.weight_bytes"), 2471632896);
  const Folder folder;
  folder.write("config.json",
               R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 8192, "num_hidden_layers": 80,
                   "num_attention_heads": 64, "num_key_value_heads": 8, "intermediate_size": 28672,
                   "vocab_size": 128256, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})");
  folder.write("hf_quant_config.json",
               R"({"quantization": {"quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}})");
  EXPECT_EQ(answer({folder.path()}, "decode.weight_bytes"), 40607713472);
}

TEST(Field, AttentionApartFromTheWeights) {
  const Folder llama, mla;
  llama.write("config.json",
              R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 32,
                  "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 11008,
                  "vocab_size": 32000, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})");
  EXPECT_EQ(answer({llama.path(), "--batch", "4", "--prompt", "8192"}, "prefill.attention_flops"),
            70377334112256);
  mla.write("config.json",
            R"({"architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 2048, "num_hidden_layers": 27,
                "num_attention_heads": 16, "q_lora_rank": null, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
                "qk_rope_head_dim": 64, "v_head_dim": 128, "intermediate_size": 10944,
                "moe_intermediate_size": 1408, "n_routed_experts": 64, "n_shared_experts": 2,
                "num_experts_per_tok": 6, "first_k_dense_replace": 1, "vocab_size": 102400,
                "torch_dtype": "bfloat16"})");
  EXPECT_EQ(answer({mla.path(), "--batch", "4", "--prompt", "8192"}, "prefill.attention_flops"),
            27 * int64_t{1374557306880});
}

TEST(Field, WorkOfALongPrompt) {
  EXPECT_EQ(answer({"meta-llama/Llama-3.1-8B", "--prompt", "50000"}, "prefill.matmul_flops"),
            1353306343473152);
}

}  // namespace
}  // namespace archlight::cli
