// Where tensors stand, and which collectives follow, against what is derived by hand.
#include <gtest/gtest.h>

#include <map>

#include "deploy/models.h"

namespace archlight::testing {
namespace {

using deploy::Collective;
using deploy::LayoutTable;
using graph::NodeId;

struct Laid {
  BillPtr bill;
  LayoutTable prefill, decode;
};

base::Result<Laid> lay(const std::string& repo, const std::string& plan,
                       const analysis::BillInput& input = {}) {
  const base::Result<Bound> bound = snapshot_model(repo);
  if (!bound) return bound.faults();
  base::Result<BillPtr> bill = bill_of(*bound, input);
  if (!bill) return bill.faults();
  base::Result<LayoutTable> prefill = deploy::propagate(*(*bill)->prefill, plan_of(plan));
  if (!prefill) return prefill.faults();
  base::Result<LayoutTable> decode = deploy::propagate(*(*bill)->decode, plan_of(plan));
  if (!decode) return decode.faults();
  return Laid{*bill, *std::move(prefill), *std::move(decode)};
}

// "o_proj all_reduce x32 4096": whose value, what, in how many layers, elements of one.
std::vector<std::string> collectives(const analysis::Analysis& analysis, const LayoutTable& layout) {
  std::vector<std::string> out;
  for (const Collective& row : layout.collectives) {
    const graph::Node& node = analysis.tree->nodes[row.producer];
    if (!node.apart.empty()) continue;
    if (row.consumer != graph::kNone && !analysis.tree->nodes[row.consumer].apart.empty()) continue;
    out.push_back(node.name + " " + std::string(deploy::collective_name(row.kind)) + " over " +
                  std::to_string(row.ranks) + " x" + expr::to_text(row.times) + " " +
                  expr::to_text(row.elements));
  }
  return out;
}

using Rows = std::vector<std::string>;

const std::vector<std::string> kModels = {"deepseek-ai/DeepSeek-V3", "meta-llama/Meta-Llama-3.1-8B",
                                          "Qwen/Qwen3-30B-A3B", "openai/gpt-oss-20b"};

TEST(Layout, OneGpuNeedsNoCollective) {
  for (const std::string& repo : kModels) {
    const base::Result<Laid> laid = lay(repo, "tp=1");
    ASSERT_TRUE(laid.ok()) << repo << messages(laid.faults());
    EXPECT_TRUE(laid->prefill.collectives.empty()) << repo;
    EXPECT_TRUE(laid->decode.collectives.empty()) << repo;
  }
}

// Llama-3.1-8B, 32 layers, hidden 4096, vocabulary 128,256. Row-parallel o_proj and down_proj each owe one sum a layer; the
// vocabulary's rows are split, so the embedding owes one too, and logits are gathered.
TEST(Layout, DenseTensorParallelism) {
  const base::Result<Laid> laid = lay("meta-llama/Meta-Llama-3.1-8B", "tp=8", {1, 512, 512});
  ASSERT_TRUE(laid.ok()) << messages(laid.faults());
  EXPECT_EQ(collectives(*laid->bill->decode, laid->decode),
            (Rows{"embed_tokens all_reduce over 8 x1 4096", "o_proj all_reduce over 8 x32 4096",
                  "down_proj all_reduce over 8 x32 4096", "lm_head all_gather over 8 x1 128256"}));
  EXPECT_EQ(
      collectives(*laid->bill->prefill, laid->prefill),
      (Rows{"embed_tokens all_reduce over 8 x1 2097152", "o_proj all_reduce over 8 x32 2097152",
            "down_proj all_reduce over 8 x32 2097152", "lm_head all_gather over 8 x1 128256"}));  // 512*4096
}

// With the trunk's tokens split between the parts of a layer, each all-reduce is a reduce-scatter and an all-gather.
TEST(Layout, SequenceParallelismMovesTheSameBytes) {
  const base::Result<Laid> laid = lay("meta-llama/Meta-Llama-3.1-8B", "tp=8,sp=1", {1, 512, 512});
  ASSERT_TRUE(laid.ok()) << messages(laid.faults());
  EXPECT_EQ(collectives(*laid->bill->prefill, laid->prefill),
            (Rows{"embed_tokens reduce_scatter over 8 x1 2097152",
                  "input_layernorm all_gather over 8 x32 2097152", "o_proj reduce_scatter over 8 x32 2097152",
                  "post_attention_layernorm all_gather over 8 x32 2097152",
                  "down_proj reduce_scatter over 8 x32 2097152", "sampled all_reduce over 8 x1 4096",
                  "lm_head all_gather over 8 x1 128256"}));
}

// 8 key-value heads over 16 GPUs: each head on two of them, in weight and cache alike.
TEST(Layout, KeyHeadsFewerThanGpusAreKeptTwice) {
  const base::Result<Laid> laid = lay("meta-llama/Meta-Llama-3.1-8B", "tp=16");
  ASSERT_TRUE(laid.ok()) << messages(laid.faults());
  const analysis::Analysis& decode = *laid->bill->decode;
  const auto share = [&](const std::string& path) {
    for (size_t p = 0; p < decode.params.size(); ++p)
      if (decode.params[p].path == path) return expr::to_string(laid->decode.share(laid->decode.params[p]));
    return std::string("no such weight");
  };
  EXPECT_EQ(share("layers.*.self_attn.q_proj"), "1/16");
  EXPECT_EQ(share("layers.*.self_attn.k_proj"), "1/8");
  EXPECT_EQ(share("layers.*.self_attn.o_proj"), "1/16");
  EXPECT_EQ(share("layers.*.mlp.gate_proj"), "1/16");
  for (const analysis::Cache& cache : decode.caches)
    EXPECT_EQ(expr::to_string(laid->decode.share(laid->decode.kept[cache.node])), "1/8");
}

// MLA's latent has no heads: tensor parallelism keeps it whole on every GPU, attention data parallelism spreads requests,
// decode context parallelism the tokens.
TEST(Layout, MlaLatentIsReplicatedUnderTensorParallelism) {
  const auto kept = [&](const std::string& plan) {
    const base::Result<Laid> laid = lay("deepseek-ai/DeepSeek-V3", plan, {8, 512, 4096});
    EXPECT_TRUE(laid.ok()) << messages(laid.faults());
    return laid ? expr::to_string(laid->decode.share(laid->decode.kept[laid->bill->decode->caches[0].node]))
                : "";
  };
  EXPECT_EQ(kept("tp=8"), "1");
  EXPECT_EQ(kept("dp=8,ep=8"), "1/8");
  EXPECT_EQ(kept("tp=8,dcp=8"), "1/8");
  EXPECT_EQ(kept("tp=2,cp=4"), "1/4");
}

// DeepSeek-V3, 8 requests a GPU: each token's vector goes to its 8 experts and what they make comes back; 58 layers. The
// exchange holds 64 tokens * 8 copies * 7168 together.
TEST(Layout, ExpertsOverAttentionDataParallelism) {
  const base::Result<Laid> laid = lay("deepseek-ai/DeepSeek-V3", "dp=8,ep=8", {64, 1, 4096});
  ASSERT_TRUE(laid.ok()) << messages(laid.faults());
  EXPECT_EQ(collectives(*laid->bill->decode, laid->decode),
            (Rows{"dispatch all_to_all over 8 x58 3670016", "down_proj all_to_all over 8 x58 3670016"}));
}

// Where every GPU has all tokens, each runs its own experts on them, and one sum a layer serves routed and shared experts.
TEST(Layout, ExpertsUnderTensorParallelismNeedNoDispatch) {
  for (const char* plan : {"tp=8", "tp=8,ep=8"}) {
    const base::Result<Laid> laid = lay("deepseek-ai/DeepSeek-V3", plan, {1, 1, 4096});
    ASSERT_TRUE(laid.ok()) << messages(laid.faults());
    EXPECT_EQ(collectives(*laid->bill->decode, laid->decode),
              (Rows{"embed_tokens all_reduce over 8 x1 7168", "o_proj all_reduce over 8 x3 7168",
                    "down_proj all_reduce over 8 x3 7168", "o_proj all_reduce over 8 x58 7168",
                    "out all_reduce over 8 x58 7168", "lm_head all_gather over 8 x1 129280"}))
        << plan;
  }
}

// All tokens gathered to all experts: their vectors once, not once per expert, and one scattered sum back.
TEST(Layout, GatheredExperts) {
  const base::Result<Laid> laid =
      lay("deepseek-ai/DeepSeek-V3", "dp=8,ep=8,exchange=all_gather", {64, 1, 4096});
  ASSERT_TRUE(laid.ok()) << messages(laid.faults());
  Rows rows = collectives(*laid->bill->decode, laid->decode);
  EXPECT_EQ(rows,
            (Rows{"post_attention_layernorm all_gather over 8 x58 458752", "chosen all_gather over 8 x58 512",
                  "gate_weights all_gather over 8 x58 512", "combine reduce_scatter over 8 x58 458752"}));
}

// Every GPU's share of weights, work and cache adds up to the model's, and what is on several GPUs is there as often as the
// axes say on which it is whole.
TEST(Layout, SharesAddUp) {
  for (const std::string& repo : kModels)
    for (const char* plan : {"tp=2", "tp=4,dp=2", "dp=4,ep=4", "tp=2,dp=2,ep=4", "cp=2,tp=2", "tp=4,sp=1"}) {
      const base::Result<Laid> laid = lay(repo, plan, {8, 512, 4096});
      ASSERT_TRUE(laid.ok()) << repo << " " << plan << " " << messages(laid.faults());
      for (const LayoutTable* layout : {&laid->prefill, &laid->decode}) {
        const int64_t gpus = layout->mesh.gpus();
        const auto holds = [&](const deploy::Layout& each) {
          int64_t copies = 1;
          for (size_t m = 0; m < each.size(); ++m)
            if (!each[m].is_sharded()) copies *= layout->mesh.axes[m].size;
          return expr::multiply(layout->share(each), expr::Rational{gpus, 1}) == expr::Rational{copies, 1};
        };
        for (const deploy::Layout& each : layout->params) EXPECT_TRUE(holds(each)) << repo << " " << plan;
        for (const deploy::Layout& each : layout->work) EXPECT_TRUE(holds(each)) << repo << " " << plan;
        for (const deploy::Layout& each : layout->kept) EXPECT_TRUE(holds(each)) << repo << " " << plan;
      }
    }
}

TEST(Layout, DegreesThatLeaveSomethingOver) {
  const auto refused = [](const std::string& repo, const std::string& plan) {
    const base::Result<Laid> laid = lay(repo, plan);
    return laid ? "ok" : messages(laid.faults());
  };
  EXPECT_EQ(refused("deepseek-ai/DeepSeek-V3", "dp=7,ep=7"),
            "ep=7 leaves 4 of 256 experts over; expected a divisor of 256; try ep=4");
  EXPECT_NE(refused("meta-llama/Meta-Llama-3.1-8B", "tp=3")
                .find("a degree of 3 over the tp leaves 2 of n_heads = 32 over; expected a divisor of 32, or "
                      "a multiple of it; "
                      "try tp=2"),
            std::string::npos)
      << refused("meta-llama/Meta-Llama-3.1-8B", "tp=3");
}

}  // namespace
}  // namespace archlight::testing
