// GGUF files against the specs: a small one from its bytes to its verdict, and the recorded listings of real ones under
// their model's config. Bytes of a block: 144 for 256 values of Q4_K, 210 for 256 of Q6_K.
#include "spec/gguf.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/int128.h"
#include "guard/support.h"
#include "truth/gguf_bytes.h"

namespace archlight::guard::testing {
namespace {

using base::with_commas;
using truth::GgufBytes;
using truth::le;

constexpr uint32_t kF32 = 0, kQ4 = 12, kQ6 = 14;

// Two layers of width 256: 4 heads and 2 key heads of 64, a network of 512, 256 words.
GgufBytes tiny_llama() {
  GgufBytes out;
  out.text("general.architecture", "llama").u32("llama.block_count", 2).u32("llama.embedding_length", 256);
  out.u32("llama.feed_forward_length", 512).u32("llama.attention.head_count", 4);
  out.u32("llama.attention.head_count_kv", 2).u32("llama.context_length", 128);
  std::string words = le<uint32_t>(8) + le<uint64_t>(256);
  for (int i = 0; i < 256; ++i) words += truth::gguf_text("w");
  out.entry("tokenizer.ggml.tokens", 9, words);
  const auto matrix = [&](const std::string& name, uint64_t in, uint64_t rows, uint32_t type) {
    out.tensor(name, {in, rows}, type, in * rows / 256 * (type == kQ4 ? 144 : 210));
  };
  matrix("token_embd.weight", 256, 256, kQ4);
  matrix("output.weight", 256, 256, kQ6);
  out.tensor("output_norm.weight", {256}, kF32, 1024);
  for (int layer = 0; layer < 2; ++layer) {
    const std::string blk = "blk." + std::to_string(layer) + ".";
    out.tensor(blk + "attn_norm.weight", {256}, kF32, 1024)
        .tensor(blk + "ffn_norm.weight", {256}, kF32, 1024);
    matrix(blk + "attn_q.weight", 256, 256, kQ4);
    matrix(blk + "attn_k.weight", 256, 128, kQ4);
    // A mix: the first layer's values and down projections are of the finer type.
    matrix(blk + "attn_v.weight", 256, 128, layer == 0 ? kQ6 : kQ4);
    matrix(blk + "attn_output.weight", 256, 256, kQ4);
    matrix(blk + "ffn_gate.weight", 256, 512, kQ4);
    matrix(blk + "ffn_up.weight", 256, 512, kQ4);
    matrix(blk + "ffn_down.weight", 512, 256, layer == 0 ? kQ6 : kQ4);
  }
  return out;
}

Report verified(const truth::Truth& file, const std::string& adapter) {
  const base::Result<const spec::Model*> model = specs()->model_for(*file.config);
  EXPECT_TRUE(model.ok());
  base::Result<spec::Binding> binding = spec::bind(**model, file.config, nullptr);
  EXPECT_TRUE(binding.ok()) << base::render_all(binding.faults());
  binding->adapter = adapter;
  return verify(specs(), std::make_shared<const spec::Binding>(std::move(*binding)), file);
}

base::Result<spec::GgufConfig> config_of(const truth::Truth& file) {
  std::set<std::string> names;
  for (size_t i = 0; i < file.tensors.size(); ++i) names.emplace(file.tensors.name(i));
  return spec::config_of_gguf(specs()->gguf(), *file.gguf, names, "m.gguf");
}

base::Result<truth::Truth> opened(const GgufBytes& bytes) {
  const std::string folder = ::testing::TempDir() + "archlight_gguf_guard_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  EXPECT_TRUE(base::write_file(folder + "/m.gguf", bytes.file()).empty());
  base::Result<truth::Truth> out = truth::open_truth(folder + "/m.gguf");
  std::filesystem::remove_all(folder);
  return out;
}

TEST(Gguf, ASmallFileFromItsBytes) {
  base::Result<truth::Truth> file = opened(tiny_llama());
  ASSERT_TRUE(file.ok());
  const base::Result<spec::GgufConfig> config = config_of(*file);
  ASSERT_TRUE(config.ok()) << base::render_all(config.faults());
  EXPECT_EQ(*config->config,
            base::Json::parse(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
              "torch_dtype": "float16", "hidden_size": 256, "num_hidden_layers": 2, "intermediate_size": 512,
              "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256, "max_position_embeddings": 128,
              "tie_word_embeddings": false})"));
  file->config = config->config;
  const Report report = verified(*file, config->adapter);
  EXPECT_EQ(lines_of(report), "");
  EXPECT_EQ(verdict_name(report.verdict), "verified");
  EXPECT_EQ(report.advice.size(), 0u);
  // 3 + 2 * 9 tensors: 5 norms; of 16 matrices the output, one v and one down are Q6_K.
  EXPECT_EQ(remarks_of(report), "tensors by type: 5 F32, 13 Q4_K, 3 Q6_K\n");
  // A layer's matrices: 256*(256 + 128 + 128 + 256) + 3*256*512 = 589,824 values; embedding and head 65,536 each.
  // Q6_K: 65,536 + 32,768 + 131,072 = 229,376 values, 188,160 bytes. Q4_K: 2*589,824 + 131,072 - 229,376 = 1,081,344
  // values, 608,256 bytes. Norms: 5 * 1,024.
  EXPECT_EQ(with_commas(*report.bill->find("storage.bytes")->value.integer()), "801,536");
  EXPECT_EQ(with_commas(*report.bill->find("params.total")->value.integer()),
            with_commas(2 * 589824 + 131072 + 5 * 256));
  // A decode step reads all of it, of the embedding table one row of 144 bytes in place of 256.
  EXPECT_EQ(with_commas(*report.bill->find("decode.weight_bytes")->value.integer()),
            with_commas(801536 - 256 * 144 + 144));
  // Keys and values of F16: 2 layers * 2 * 128 * 2 bytes.
  EXPECT_EQ(with_commas(*report.bill->find("kv.bytes_per_token")->value.integer()), "1,024");
}

TEST(Gguf, WhatDoesNotFitIsAFault) {
  const auto wrong = [](GgufBytes bytes) {
    base::Result<truth::Truth> file = opened(bytes);
    if (!file.ok()) return base::render_all(file.faults());
    const base::Result<spec::GgufConfig> config = config_of(*file);
    if (!config.ok()) return config.faults()[0].message();
    file->config = config->config;
    const Report report = verified(*file, config->adapter);
    EXPECT_EQ(verdict_name(report.verdict), "wrong");
    return report.faults.empty() ? std::string() : report.faults[0].message();
  };
  GgufBytes missing = tiny_llama();
  missing.tensors.pop_back();
  EXPECT_NE(wrong(missing).find("the checkpoint has no tensor 'blk.1.ffn_down.weight'"), std::string::npos);
  GgufBytes more = tiny_llama();
  more.tensor("blk.0.attn_q.bias", {256}, kF32, 1024);
  EXPECT_NE(wrong(more).find("tensor 'blk.0.attn_q.bias' is claimed by no leaf"), std::string::npos);
  GgufBytes wide = tiny_llama();
  wide.tensors.back().axes = {256, 512};  // as many bytes, other axes
  EXPECT_NE(wrong(wide).find("tensor 'blk.1.ffn_down.weight' is "), std::string::npos);
  GgufBytes other;
  other.text("general.architecture", "bitnet");
  EXPECT_EQ(
      wrong(other).substr(0, wrong(other).find("; expected")),
      "m.gguf: [not_verifiable] general.architecture is 'bitnet', which no row of specs/gguf.yaml describes");
  EXPECT_NE(wrong(GgufBytes{}).find("the metadata name no general.architecture"), std::string::npos);
  // Of the same architecture by name, and routed otherwise: 3 is a softmax over the chosen logits.
  GgufBytes weighted;
  weighted.text("general.architecture", "deepseek2").u32("deepseek2.expert_gating_func", 3);
  EXPECT_NE(wrong(weighted).find("of a kind that no row of specs/gguf.yaml describes"), std::string::npos);
}

// Listings of real files, which state no metadata: under their model's own config they agree to the last byte. The
// converters leave the prediction layer out.
TEST(Gguf, RecordedListings) {
  struct Row {
    const char *snapshot, *config;
    int64_t tensors, bytes;
  };
  const Row rows[] = {
      {"unsloth--DeepSeek-R1-GGUF.Q4_K_M", "deepseek-ai--DeepSeek-R1", 1025, 404424884224},
      {"deepseek-ai--DeepSeek-R1.gguf-f16-mla", "deepseek-ai--DeepSeek-R1", 1147, 1344314562560},
      {"deepseek-ai--DeepSeek-V2-Lite.gguf-f16-mla", "deepseek-ai--DeepSeek-V2-Lite", 431, 31533283328}};
  for (const Row& row : rows) {
    truth::Truth listing = snapshot(row.snapshot);
    ASSERT_EQ(static_cast<int64_t>(listing.tensors.size()), row.tensors) << row.snapshot;
    EXPECT_EQ(with_commas(listing.tensors.total_bytes()), with_commas(row.bytes));
    listing.config = config_with(*snapshot(row.config).config,
                                 R"({"num_nextn_predict_layers": 0, "quantization_config": null})");
    const Report report = verified(listing, "gguf_deepseek2");
    EXPECT_EQ(lines_of(report), "") << row.snapshot;
    EXPECT_EQ(verdict_name(report.verdict), "verified") << row.snapshot;
    ASSERT_TRUE(report.bill);
    EXPECT_EQ(with_commas(*report.bill->find("storage.bytes")->value.integer()), with_commas(row.bytes));
  }
}

}  // namespace
}  // namespace archlight::guard::testing
