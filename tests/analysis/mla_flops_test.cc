// One layer of DeepSeek-V3, every op of it, from the architecture's own numbers of multiply-adds.
//
// H 7168, 128 heads, query rank q 1536, latent c 512, position-free n 128, rope r 64, value v 128; dense
// width 18432; 256 experts of width 2048, 8 used, 1 shared. One multiply-add is 2 FLOPs. Prefill counts the
// causal half: s tokens make s*(s+1)/2 pairs.
#include <gtest/gtest.h>

#include "support/bills.h"
#include "truth/snapshot.h"

namespace archlight::testing {
namespace {

constexpr int64_t H = 7168, heads = 128, q = 1536, c = 512, n = 128, r = 64, v = 128;
constexpr int64_t dense = 18432, expert = 2048, experts = 256, used = 8;

struct Work {
  int64_t matmul = 0, vector = 0;
  bool operator==(const Work&) const = default;
};

// Per token: the layer's two norms (square, add, scale, weight: 4 steps) and two residual additions.
Work frame() {
  return {0, 2 * 4 * H + 2 * H};
}

Work swiglu(int64_t width) {  // silu is 4 steps, the gate one more
  return {2 * 3 * H * width, (4 + 1) * width};
}

// Per token: compressed query and its norm, expansion, rope of the query heads; compressed latent with the
// rope key, its norm, rope of that key; output projection. A rotation costs 3 steps per element.
Work projections() {
  return {2 * (H * q + q * heads * (n + r) + H * (c + r) + heads * v * H),
          4 * q + 3 * heads * r + 4 * c + 3 * r};
}

Work moe() {
  Work out;
  out.matmul = 2 * H * experts;                  // the gate
  out.vector = 3 * experts + experts + experts;  // sigmoid, correction bias, one compare per candidate
  out.vector += 2 * used + used;                 // sum and division, the scaling factor
  for (int64_t i = 0; i < used + 1; ++i) {       // the chosen experts and the shared one
    out.matmul += swiglu(expert).matmul;
    out.vector += swiglu(expert).vector;
  }
  out.vector += 2 * used * H + H;  // weighted sum of the chosen, plus the shared one
  return out;
}

Work ffn(bool sparse) {
  return sparse ? moe() : swiglu(dense);
}

// One token against t cached ones: queries go into the latent space, attention reads 576-wide keys and
// 512-wide values, and each head's result comes back through the value half of the up-projection.
Work absorbed(int64_t t, bool sparse) {
  Work out = projections();
  out.matmul += 2 * heads * (n * c + c * v);
  out.matmul += 2 * heads * t * ((c + r) + c);
  out.vector += 5 * heads * t;
  return {out.matmul + ffn(sparse).matmul, out.vector + ffn(sparse).vector + frame().vector};
}

Work expanded(int64_t s, bool sparse) {
  const int64_t pairs = s * (s + 1) / 2;
  const Work per_token = projections();
  Work out{s * per_token.matmul, s * per_token.vector};
  out.matmul += s * 2 * c * heads * (n + v);  // keys and values rebuilt for every token
  out.matmul += 2 * heads * pairs * ((n + r) + v);
  out.vector += 5 * heads * pairs;
  return {out.matmul + s * ffn(sparse).matmul, out.vector + s * (ffn(sparse).vector + frame().vector)};
}

base::Result<Bound> deepseek_v3() {
  const base::Result<truth::Truth> truth =
      truth::read_snapshot(*truth::find_snapshot(ARCHLIGHT_SOURCE_DIR, "deepseek-ai/DeepSeek-V3"));
  if (!truth) return truth.faults();
  base::Result<spec::Binding> binding =
      spec::bind(**own_library()->model("deepseek_v3"), truth->config, truth->quant_config);
  if (!binding) return binding.faults();
  return Bound{own_library(), std::make_shared<const spec::Binding>(std::move(*binding))};
}

// What the walk says of one layer of a group.
Work walked(const analysis::Analysis& analysis, size_t group) {
  Work out;
  const graph::Group& layers = analysis.tree->groups[group];
  for (graph::NodeId id = layers.first; id < layers.last; ++id) {
    const std::optional<base::Int128> flops = (analysis.flops[id] * analysis.in_layer[id]).integer();
    EXPECT_TRUE(flops) << analysis.tree->nodes[id].path;
    const spec::Unit unit = analysis.tree->nodes[id].op->unit;
    if (unit == spec::Unit::kMatmul) out.matmul += static_cast<int64_t>(*flops);
    if (unit == spec::Unit::kVector) out.vector += static_cast<int64_t>(*flops);
  }
  return out;
}

TEST(MlaFlops, OneLayerByHand) {
  const base::Result<Bound> bound = deepseek_v3();
  ASSERT_TRUE(bound.ok()) << messages(bound.faults());
  for (const int64_t tokens : {1, 2, 4096, 131072}) {
    analysis::BillInput input;
    input.prompt = input.context = tokens;
    const base::Result<BillPtr> bill = bill_of(bound, input);
    ASSERT_TRUE(bill.ok()) << messages(bill.faults());
    for (const bool sparse : {false, true}) {
      const size_t group = sparse ? 1 : 0;
      EXPECT_EQ(walked(*(*bill)->decode, group).matmul, absorbed(tokens, sparse).matmul)
          << tokens << " " << sparse;
      EXPECT_EQ(walked(*(*bill)->decode, group).vector, absorbed(tokens, sparse).vector)
          << tokens << " " << sparse;
      EXPECT_EQ(walked(*(*bill)->prefill, group).matmul, expanded(tokens, sparse).matmul)
          << tokens << " " << sparse;
      EXPECT_EQ(walked(*(*bill)->prefill, group).vector, expanded(tokens, sparse).vector)
          << tokens << " " << sparse;
    }
    // The whole step: 3 dense and 58 sparse layers, the final norm, and the head for the sampled token.
    const auto step = [&](auto layer, int64_t normed) {
      const Work a = layer(tokens, false), b = layer(tokens, true);
      return Work{3 * a.matmul + 58 * b.matmul + 2 * H * 129280,
                  3 * a.vector + 58 * b.vector + normed * 4 * H};
    };
    EXPECT_EQ(count_of(**bill, "decode.matmul_flops"), step(absorbed, 1).matmul);
    EXPECT_EQ(count_of(**bill, "decode.vector_flops"), step(absorbed, 1).vector);
    EXPECT_EQ(count_of(**bill, "prefill.matmul_flops"), step(expanded, tokens).matmul);
    EXPECT_EQ(count_of(**bill, "prefill.vector_flops"), step(expanded, tokens).vector);
  }
}

// Absorbing pays where many cached tokens meet few new ones: rebuilding K and V costs c*heads*(n+v) per
// cached token.
TEST(MlaFlops, WhyDecodeAbsorbs) {
  const int64_t t = 4096, rebuilt = t * 2 * c * heads * (n + v) + 2 * heads * t * (n + r + v);
  const int64_t latent = 2 * heads * (n * c + c * v) + 2 * heads * t * (c + r + c);
  EXPECT_LT(latent, rebuilt / 100);
}

}  // namespace
}  // namespace archlight::testing
