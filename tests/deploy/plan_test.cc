// Plans as people write them, and the mesh that they come to.
#include <gtest/gtest.h>

#include "deploy/models.h"

namespace archlight::testing {
namespace {

using deploy::Mesh;
using deploy::MeshAxis;

std::string refused(const std::string& text) {
  const base::Result<deploy::Plan> plan = deploy::parse_plan(text);
  return plan ? "ok: " + plan->text() : messages(plan.faults());
}

std::string mesh_text(const std::string& text, const std::vector<int64_t>& heads = {}) {
  const base::Result<Mesh> mesh = deploy::make_mesh(plan_of(text), heads);
  if (!mesh) return messages(mesh.faults());
  std::string out;
  for (const MeshAxis& axis : mesh->axes)
    out += (out.empty() ? "" : " ") + axis.name + ":" + std::to_string(axis.size) + (axis.ep ? "e" : "");
  return out;
}

TEST(Plan, IsReadAndSaidAgain) {
  EXPECT_EQ(refused("tp=8,ep=8"), "ok: tp=8,ep=8");
  EXPECT_EQ(refused("ep=16,dp=16,ep_load_factor=1.25,exchange=all_gather"),
            "ok: dp=16,ep=16,ep_load_factor=1.25,exchange=all_gather");
  EXPECT_EQ(refused("tp=1"), "ok: one GPU");
}

TEST(Plan, FaultsSayWhatIsWrong) {
  EXPECT_EQ(refused("tp=0"), "tp is '0'; expected a whole number from 1 to 1048576");
  EXPECT_EQ(refused("tp=8,tp=4"), "the plan says 'tp' twice; expected each key once");
  EXPECT_EQ(refused("tp"), "'tp' in the plan is no KEY=VALUE; expected degrees as in tp=8,ep=8");
  EXPECT_EQ(
      refused("ep_load_factor=0.5"),
      "ep_load_factor is '0.5'; expected a number of at least 1: the fullest rank's tokens over the mean");
  EXPECT_NE(refused("vocabtp=2").find("did you mean 'vocab_tp'?"), std::string::npos) << refused("vocabtp=2");
  EXPECT_NE(refused("tp=99999999999999999999").find("whole number"), std::string::npos);
}

// Outermost first; 'e' marks axes over which experts are spread.
TEST(Mesh, IsCutWhereWorldsBeginAndEnd) {
  EXPECT_EQ(mesh_text("tp=1"), "");
  EXPECT_EQ(mesh_text("dp=8,ep=8"), "dp:8e");
  EXPECT_EQ(mesh_text("tp=8"), "tp:8");  // each expert over all of them
  EXPECT_EQ(mesh_text("tp=4,dp=2,ep=8"), "dp:2e tp:4e");
  EXPECT_EQ(mesh_text("tp=4,dp=2,ep=4"), "dp:2e tp.1:2e tp.2:2");  // two GPUs share an expert
  EXPECT_EQ(mesh_text("tp=16", {64, 8}), "tp.1:8 tp.2:2");         // 8 key heads, each twice
  EXPECT_EQ(mesh_text("tp=2,cp=2,dp=3,ep=12"), "dp:3e cp:2e tp:2e");
}

TEST(Mesh, WorldsMustNest) {
  EXPECT_EQ(
      mesh_text("tp=6,expert_tp=4,dp=2,ep=3"),
      "expert_tp = 4 and dense_tp = 6 do not nest; expected degrees of which the smaller divides the larger, "
      "so that each GPU has one place in both");
  EXPECT_EQ(mesh_text("dp=8,ep=3"),
            "ep=3 does not divide the 8 GPUs of a stage (tp*dp*cp); expected a divisor of 8; try ep=2");
  EXPECT_EQ(mesh_text("tp=4,dcp=3"),
            "dcp=3 does not divide tp=4; expected a divisor of tp, whose GPUs it uses");
}

}  // namespace
}  // namespace archlight::testing
