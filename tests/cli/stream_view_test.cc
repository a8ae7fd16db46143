// How drawings show what crosses layers: edges that name their stream, groups of one kind as one box.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/graph_view.h"
#include "support/bills.h"
#include "support/stream_models.h"

namespace archlight::cli {
namespace {

GraphView view_of(const testing::Made& made, const std::vector<std::string>& open) {
  const base::Result<testing::BillPtr> bill = testing::bill_of(made.bind(), {1, 5, 7});
  EXPECT_TRUE(bill.ok()) << (bill.ok() ? "" : testing::messages(bill.faults()));
  if (!bill) return {};
  base::Result<GraphView> view = make_view(*(*bill)->prefill, open, 0);
  EXPECT_TRUE(view.ok()) << (view.ok() ? "" : testing::messages(view.faults()));
  return view ? *view : GraphView();
}

TEST(StreamView, ASharedChoice) {
  EXPECT_EQ(view_text(view_of(testing::shared_choice(), {})),
            "embed  (embedding weight[32, 8])\n"
            "+ layers.full  (1 layer, layer)\n"
            "    <- embed [1, 5, 8]\n"
            "+ layers.shared  (4 layers, layer)\n"
            "    <- layers.full [1, 5, 8]\n"
            "    <- layers.full [1, 5, 4]  stream picked\n"
            "+ layers.full_2  (1 layer, layer)\n"
            "    <- layers.shared [1, 5, 8]\n"
            "norm  (rmsnorm weight[8])\n"
            "    <- layers.full_2 [1, 5, 8]\n"
            "head  (linear weight[32, 8])\n"
            "    <- norm [1, 5, 8]\n");
}

// Five groups of two kinds are two boxes; what they weigh is their own history.
TEST(StreamView, AWeighedHistory) {
  const GraphView view = view_of(testing::weighed_history(), {});
  EXPECT_EQ(view_text(view),
            "embed  (embedding weight[32, 8])\n"
            "+ layers.mlp  (3 layers, residual)\n"
            "    sees 0 of 'block_residual': layer 0\n"
            "    sees 1 of 'block_residual': layer 2\n"
            "    sees 2 of 'block_residual': layer 4\n"
            "    <- embed [1, 5, 8]\n"
            "    <- embed [1, 5, 8]  stream block_residual\n"
            "    <- layers.mlp_2 [1, 5, 8]\n"
            "    <- layers.mlp_2 [1, 5, 8]  stream block_residual\n"
            "+ layers.mlp_2  (2 layers, residual)\n"
            "    sees 1 of 'block_residual': layer 1\n"
            "    sees 2 of 'block_residual': layer 3\n"
            "    <- embed [1, 5, 8]  stream block_residual\n"
            "    <- layers.mlp [1, 5, 8]\n"
            "    <- layers.mlp_2 [1, 5, 8]  stream block_residual\n"
            "block_residual  (stack)\n"
            "    <- embed [1, 5, 8]  stream block_residual\n"
            "    <- layers.mlp_2 [1, 5, 8]  stream block_residual\n"
            "all  (stack_onto)\n"
            "    <- block_residual [1, 5, 3, 8]\n"
            "    <- layers.mlp [1, 5, 8]\n"
            "+ output  (weigh)\n"
            "    <- all [1, 5, 4, 8]\n"
            "norm  (rmsnorm weight[8])\n"
            "    <- output [1, 5, 8]\n"
            "head  (linear weight[32, 8])\n"
            "    <- norm [1, 5, 8]\n");
  const std::string dot = view_dot(view, "t");
  EXPECT_NE(dot.find("[label=\"block_residual [1, 5, 8]\", style=dashed];"), std::string::npos) << dot;
  const base::Json json = view_json(view);
  EXPECT_EQ(json["edges"][1]["stream"], "block_residual");
  EXPECT_EQ(json["boxes"][1]["sees"][1], "1 of 'block_residual': layer 2");
}

// Opened, an axis that differs from group to group shows its range: 2 candidates in layer 1, 3 in layer 3.
TEST(StreamView, OneBoxForAKind) {
  const std::string text = view_text(view_of(testing::weighed_history(), {"layers.mlp_2"}));
  EXPECT_NE(text.find("  before  (stack_onto)\n"
                      "      <- block_residual [1, 5, 1..2, 8]\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  + weighed  (weigh)\n"
                      "      <- before [1, 5, 2..3, 8]\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("before"), text.rfind("before  (")) << text;
}

// A state is kept in front of layers 0, 12, .. 84 of 93; layer l sees those of earlier layers, ceil(l / 12) of them. Four
// kinds of layers: the dense first, delta attention inside a block and at its start, latent attention.
TEST(StreamView, HistoriesOfARealModel) {
  const Ran ran = archlight({"inspect", "moonshotai/Kimi-K3", "--offline"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_NE(
      ran.out.find("1 x layers (attention_kda); 61 x layers (attention_kda_starts_block_0); 24 x layers "
                   "(attention_mla); 7 x layers (attention_kda_starts_block_1)\n"),
      std::string::npos)
      << ran.out.substr(0, 1000);
  EXPECT_NE(
      ran.out.find(
          "block_residual, values that layers of layers see: 0 in 0; 1 in 1-12; 2 in 13-24; 3 in 25-36; "
          "4 in 37-48; 5 in 49-60; 6 in 61-72; 7 in 73-84; 8 in 85-92\n"),
      std::string::npos)
      << ran.out.substr(0, 1000);
}

}  // namespace
}  // namespace archlight::cli
