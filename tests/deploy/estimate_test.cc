// DeepSeek-V3 on 8 B200 from its own bytes, and what a plan may not do.
#include <gtest/gtest.h>

#include "deploy/models.h"

namespace archlight::testing {
namespace {

using deploy::Estimate;
using deploy::OpTime;
using deploy::Request;

Request request_of(const std::string& plan, std::optional<int64_t> batch = {}) {
  Request out;
  out.plan = plan_of(plan);
  out.batch = batch;
  return out;
}

const OpTime* row_of(const deploy::StepTime& step, const std::string& op, double layers) {
  for (const OpTime& row : step.ops)
    if (row.op == op && row.times == layers) return &row;
  return nullptr;
}

// Of 673,150,611,808 bytes without MTP, 58 layers of 256 experts are 256 * 2,554,954,752 = 654,068,416,512 and shared out
// over 8 GPUs; the other 19,082,195,296 are on each. 180 GiB * 0.9 = 162 GiB. One request keeps 70,272 bytes a token:
// 2,048 tokens are 143,917,056. (173,946,175,488 - 100,840,747,360) / 143,917,056 = 507.9.
TEST(Estimate, DeepSeekV3OnEightB200Fits) {
  const base::Result<Estimate> answer =
      estimate_of("deepseek-ai/DeepSeek-V3", "b200_sxm", "article", request_of("dp=8,ep=8"));
  ASSERT_TRUE(answer.ok()) << messages(answer.faults());
  EXPECT_DOUBLE_EQ(answer->weight_bytes, 654068416512.0 / 8 + 19082195296.0);
  EXPECT_DOUBLE_EQ(answer->usable_bytes, 162.0 * (1 << 30));
  EXPECT_DOUBLE_EQ(answer->cache_per_request_bytes, 2048.0 * 70272);
  EXPECT_EQ(answer->most_requests, 507);
  EXPECT_EQ(answer->batch, 507);
}

// 507 tokens a GPU to 8 experts each, 7168 elements of 2 bytes, 7 of 8 elsewhere, there and back, 58 layers, 900 GB/s.
TEST(Estimate, DeepSeekV3ExchangesItsTokens) {
  const base::Result<Estimate> answer =
      estimate_of("deepseek-ai/DeepSeek-V3", "b200_sxm", "article", request_of("dp=8,ep=8"));
  ASSERT_TRUE(answer.ok()) << messages(answer.faults());
  const double bytes = 507.0 * 8 * 7168 * 2 * 7 / 8 * 58;
  for (const char* op : {"dispatch_all_to_all", "combine_all_to_all"}) {
    const OpTime* row = row_of(answer->decode, op, 58);
    ASSERT_NE(row, nullptr) << op;
    EXPECT_DOUBLE_EQ(row->wire_bytes, bytes);
    EXPECT_DOUBLE_EQ(row->communication_s, bytes / 900e9);
    EXPECT_EQ(row->bound(), deploy::Bound::kCommunication);
  }
  EXPECT_NEAR(answer->decode.seconds_of(deploy::Bound::kCommunication), 6.5e-3, 0.1e-3);
}

// FP8 with a scale per 128 and a header of 16 bytes is 7,408 bytes a token; of 8 GPUs 8*(1 - C(224,8)/C(256,8)) hold one of
// a token's 8 experts, 5.2947 on average, a product of eight fractions.
TEST(Estimate, EnginesSendOneCopyToEachGpu) {
  const base::Result<Estimate> answer =
      estimate_of("deepseek-ai/DeepSeek-V3", "b200_sxm", "standard", request_of("dp=8,ep=8", 100));
  ASSERT_TRUE(answer.ok()) << messages(answer.faults());
  double none = 1;
  for (int i = 0; i < 8; ++i) none *= (224.0 - i) / (256.0 - i);
  const double ranks = 8 * (1 - none);
  EXPECT_NEAR(ranks, 5.29, 0.01);
  const OpTime* row = row_of(answer->decode, "dispatch_all_to_all", 58);
  ASSERT_NE(row, nullptr);
  EXPECT_NEAR(row->wire_bytes, 100 * ranks * 7408 * 7 / 8 * 58, 1);
}

// The attention core of one layer at context 2,048, 507 requests: one kernel, whose scores stay on chip.
TEST(Estimate, AttentionIsOneKernel) {
  const base::Result<Estimate> answer =
      estimate_of("deepseek-ai/DeepSeek-V3", "b200_sxm", "article", request_of("dp=8,ep=8"));
  ASSERT_TRUE(answer.ok()) << messages(answer.faults());
  const OpTime* core = row_of(answer->decode, "attention_score attention_apply", 58);
  ASSERT_NE(core, nullptr);
  // 2 * 128 heads * 2048 keys * (576 + 512) a request
  EXPECT_DOUBLE_EQ(core->flops, 507.0 * 58 * 2 * 128 * 2048 * (576 + 512));
  EXPECT_DOUBLE_EQ(core->kv_read_bytes, 507.0 * 58 * 2048 * 1152);
  // queries in, context out, 2 bytes each
  EXPECT_DOUBLE_EQ(core->activation_bytes, 507.0 * 58 * 128 * (576 + 512) * 2);
  EXPECT_EQ(core->bound(), deploy::Bound::kMemory);
}

// 1536 columns of an expert are 12 blocks of 128: eight GPUs would cut within one, four do not.
TEST(Estimate, PartsAreWholeBlocks) {
  const auto outcome = [](const std::string& repo, const std::string& plan) {
    const base::Result<Estimate> answer = estimate_of(repo, "h200_sxm", "standard", request_of(plan));
    return answer ? "ok" : messages(answer.faults());
  };
  const std::string refused = outcome("Qwen/Qwen3-235B-A22B-FP8", "tp=8");
  EXPECT_NE(
      refused.find(
          "1536 long, into parts of 192, within its 12 blocks of 128; expected whole blocks on each GPU, "
          "which its scales stand for; try 4"),
      std::string::npos)
      << refused;
  EXPECT_EQ(outcome("Qwen/Qwen3-235B-A22B-FP8", "tp=4"), "ok");
  EXPECT_EQ(outcome("Qwen/Qwen3-235B-A22B-FP8", "tp=8,ep=8"), "ok");
  EXPECT_NE(outcome("Qwen/Qwen3-30B-A3B-FP8", "tp=4").find("into parts of 192"), std::string::npos);
}

TEST(Estimate, WhatDoesNotFitIsRefused) {
  const auto outcome = [](const std::string& repo, const Request& request) {
    const base::Result<Estimate> answer = estimate_of(repo, "h100_sxm", "standard", request);
    return answer ? "ok" : messages(answer.faults());
  };
  EXPECT_NE(
      outcome("deepseek-ai/DeepSeek-V3", request_of("dp=8,ep=8")).find("of which 73.60 GiB may be used"),
      std::string::npos)
      << outcome("deepseek-ai/DeepSeek-V3", request_of("dp=8,ep=8"));
  EXPECT_NE(outcome("meta-llama/Meta-Llama-3.1-8B", request_of("tp=1", 1000000))
                .find("a batch of 1000000 requests per attention group does not fit"),
            std::string::npos);
}

// More bandwidth or a faster link never slows an op.
TEST(Estimate, FasterPartsNeverSlowAnOp) {
  const base::Result<Bound> bound = snapshot_model("Qwen/Qwen3-30B-A3B");
  ASSERT_TRUE(bound.ok());
  const base::Result<deploy::Gpu> gpu = deploy::find_gpu(ARCHLIGHT_SOURCE_DIR "/specs/gpus", "h100_sxm");
  const base::Result<deploy::Assumptions> set =
      deploy::load_assumptions(ARCHLIGHT_SOURCE_DIR "/specs/assumptions", "standard");
  ASSERT_TRUE(gpu.ok() && set.ok());
  const auto step = [&](const deploy::Gpu& chip) {
    return deploy::estimate(bound->library, bound->binding, {}, chip, *set, request_of("tp=2,dp=2,ep=4", 16));
  };
  const base::Result<Estimate> plain = step(*gpu);
  ASSERT_TRUE(plain.ok()) << messages(plain.faults());
  for (int part = 0; part < 3; ++part) {
    deploy::Gpu faster = *gpu;
    if (part == 0) faster.memory_bytes_per_s *= 2;
    if (part == 1) faster.link_bytes_per_s *= 2;
    if (part == 2)
      for (auto& [dtype, rate] : faster.peak_flops_per_s) rate *= 2;
    const base::Result<Estimate> other = step(faster);
    ASSERT_TRUE(other.ok());
    ASSERT_EQ(other->decode.ops.size(), plain->decode.ops.size());
    for (size_t i = 0; i < plain->decode.ops.size(); ++i)
      EXPECT_LE(other->decode.ops[i].seconds(), plain->decode.ops[i].seconds());
  }
}

TEST(Gpus, EveryFileIsReadAndNamesItsSources) {
  const base::Result<std::map<std::string, deploy::Gpu>> gpus =
      deploy::load_gpus(ARCHLIGHT_SOURCE_DIR "/specs/gpus");
  ASSERT_TRUE(gpus.ok()) << messages(gpus.faults());
  EXPECT_EQ(gpus->size(), 34U);
  for (const auto& [id, gpu] : *gpus) EXPECT_FALSE(gpu.sources.empty()) << id;
  EXPECT_NE(messages(deploy::find_gpu(ARCHLIGHT_SOURCE_DIR "/specs/gpus", "b200_smx").faults())
                .find("did you mean 'b200_sxm'?"),
            std::string::npos);
}

}  // namespace
}  // namespace archlight::testing
