// Parts of the language at work in made-up models: custom ops, copies in copies, windows, compressed and
// fixed caches, shares of a weight, per-rule dims.
#include <gtest/gtest.h>

#include "support/bills.h"
#include "support/both_tracks.h"

namespace archlight::testing {
namespace {

const char* const kModel = "models/tiny.yaml";
const char* const kMix = "components/library/mix.yaml";
const char* const kMlp = "components/library/mlp.yaml";

BillPtr made_bill(const Made& made, const analysis::BillInput& input = {},
                  analysis::Dims dims = analysis::Dims::kNumbers) {
  const base::Result<BillPtr> bill = bill_of(made.bind(), input, dims);
  EXPECT_TRUE(bill.ok()) << (bill.ok() ? "" : messages(bill.faults()));
  return bill ? *bill : nullptr;
}

TEST(Language, CustomOp) {
  // A bilinear gate with a stored [out, a, b] tensor: 2 multiply-adds for each of its elements and token.
  const Made made = tiny().with(
      kMlp, "graph:\n",
      "custom_ops:\n  bilinear: { params: 'core[out,a,b] shift?[out]', flops: 4*r*out*a*b, shape: 'contract: "
      "[*r,a] [*r,b] -> [*r,out]',\n"
      "              partial: each, unit: matmul, source: 'y_o = sum a_i W_oij b_j' }\n"
      "  twice: { flops: r*dim, shape: 'preserve: [*r,dim] -> [*r,dim]', source: two times }\ngraph:\n"
      "  mixed: { op: bilinear, in: [x, x], dims: { out: 3 }, bias: true }\n  again: { op: twice, in: mixed, "
      "dim: 3 }\n");
  const BillPtr bill = made_bill(made, {1, 5, 5});
  ASSERT_TRUE(bill);
  const analysis::Analysis& a = *bill->prefill;
  const graph::NodeId mixed = node_of(a, "layers.*.mlp.mixed"), again = node_of(a, "layers.*.mlp.again");
  EXPECT_EQ(text_of(a.shape[mixed]), "[1, 5, 3]");
  EXPECT_EQ(expr::to_text(a.flops[mixed]), std::to_string(4 * 5 * 3 * 8 * 8));
  EXPECT_EQ(expr::to_text(a.flops[again]), "15");
  EXPECT_EQ(count_of(*bill, "params.total"), 2440 + 3 * (3 * 8 * 8 + 3));
  // Weights 2 * (192 + 3) bytes; operand twice and output, 2 bytes each: 2 * (40 + 40 + 15).
  EXPECT_EQ(expr::to_text(bill->prefill_traffic.weights[mixed]), "390");
  EXPECT_EQ(expr::to_text(bill->prefill_traffic.activations[mixed]), "190");
}

TEST(Language, CustomOpHolds) {
  const auto taking = [](int out) {
    return tiny().with(kMlp, "graph:\n",
                       "custom_ops:\n  pick: { shape: 'axis_select: [*r,in] -> [*r,out]', holds: out * 2 <= "
                       "in, source: s }\ngraph:\n  p: { op: pick, in: x, dims: { out: " +
                           std::to_string(out) + " } }\n");
  };
  EXPECT_EQ(outcome(taking(4)), "ok");
  EXPECT_EQ(outcome(taking(5)),
            "specs/components/library/mlp.yaml:5:3: [shape] node 'p' (layers.*.mlp.p) has out = 5, in = 8; "
            "expected out * 2 <= in, as op 'pick' needs");
}

// A window caps what is kept and read; a prefill step reads further back for its first queries.
TEST(Language, CacheGrowth) {
  const auto growing = [](const std::string& law) {
    return tiny().with(kMix, "kind: key }", "kind: key" + law + " }");
  };
  // per token and layer: 8 key and 8 value elements, 2 bytes each; 3 layers; context 100
  const analysis::BillInput input{2, 40, 100};
  const auto kv = [&](const Made& made, const char* key) { return count_of(*made_bill(made, input), key); };
  EXPECT_EQ(kv(tiny(), "kv.bytes_at_context"), 3 * 100 * 32);
  EXPECT_EQ(kv(tiny(), "decode.kv_read_bytes"), 2 * 3 * 100 * 32);
  EXPECT_EQ(kv(tiny(), "decode.kv_write_bytes"), 2 * 3 * 32);
  EXPECT_EQ(kv(tiny(), "prefill.kv_write_bytes"), 2 * 3 * 40 * 32);
  const Made window = growing(", window: 16");
  EXPECT_EQ(kv(window, "kv.bytes_at_context"), 3 * (16 + 100) * 16);
  EXPECT_EQ(kv(window, "kv.bytes_per_token"), 3 * 32);
  EXPECT_EQ(kv(window, "kv.bytes_per_token_beyond_windows"), 3 * 16);
  EXPECT_EQ(kv(window, "decode.kv_read_bytes"), 2 * 3 * (16 + 100) * 16);
  EXPECT_EQ(kv(window, "prefill.kv_read_bytes"), 2 * 3 * (40 + 40) * 16);  // min(40, 16 + 39) entries
  const Made never = growing(", window: 1000");
  EXPECT_EQ(kv(never, "kv.bytes_at_context"), 3 * 100 * 32);
}

// One state per request, whatever the context.
TEST(Language, FixedState) {
  const Made made =
      tiny()
          .with(kMix, "{ node: k, kind: key }, ",
                "{ node: k, kind: key }, { node: state, kind: state, fixed: true }, ")
          .with(kMix, "  scores:", "  state:  { op: last_tokens, in: o_hidden }\n  scores:")
          .with(kMix,
                "  q_proj:", "  o_hidden: { op: linear, in: x, dims: { in: d_model, out: 5 } }\n  q_proj:");
  const BillPtr at_100 = made_bill(made, {1, 10, 100}), at_200 = made_bill(made, {1, 10, 200});
  EXPECT_EQ(count_of(*at_100, "kv.fixed_state_bytes"), 3 * 5 * 2);
  EXPECT_EQ(count_of(*at_200, "kv.fixed_state_bytes"), 3 * 5 * 2);
  EXPECT_EQ(count_of(*at_200, "kv.bytes_at_context") - count_of(*at_100, "kv.bytes_at_context"),
            3 * 100 * 32);
}

// Experts inside experts: counts multiply, and a name bound by a call serves its copies.
TEST(Language, CopiesInCopies) {
  const Made made =
      tiny()
          .plus("components/library/inner.yaml",
                "role: ffn_dense\ngraph:\n  leaf: { component: mlp, in: x, copies: n_inner, active: n_used, "
                "split: tokens, role: expert }\noutputs: [leaf]\n")
          .plus("components/library/outer.yaml",
                "role: ffn_dense\ngraph:\n  branch: { component: inner, in: x, copies: 3, active: 2, split: "
                "tokens, role: "
                "expert, dims: { n_inner: n_heads * 2, n_used: n_heads } }\noutputs: [branch]\n")
          .with(kModel, "ffn: mlp", "ffn: outer");
  const BillPtr bill = made_bill(made, {1, 1, 1});
  ASSERT_TRUE(bill);
  const graph::NodeId gate = node_of(*bill->decode, "layers.*.mlp.branch.*.leaf.*.gate");
  EXPECT_EQ(expr::to_text(bill->decode->in_layer[gate]), "12");
  EXPECT_EQ(expr::to_text(bill->decode->active_in_layer[gate]), "4");
  EXPECT_EQ(expr::to_text(bill->decode->instances(gate)), "36");
  // attention, embedding, head and norm 520 + 3*256; experts 36 of 384, of which a token uses 12
  EXPECT_EQ(count_of(*bill, "params.total"), 520 + 768 + 36 * 384);
  EXPECT_EQ(count_of(*bill, "params.active"), 520 + 768 + 12 * 384);
  // one token reads 2 of 3 branches and in each 2 of 4 leaves: of all 12, 256 bytes each, a third
  EXPECT_EQ(expr::to_text(bill->decode_traffic.weights[gate]), "256/3");
  const BillPtr formulas = made_bill(made, {}, analysis::Dims::kFormulas);
  EXPECT_EQ(text_of(*formulas, "params.layer.layers.expert"), "18*d_ff*d_model*n_heads");
}

// A decode variant that reads halves of a stored weight: the shares add up to it.
TEST(Language, SharesOfAWeight) {
  const Made made = tiny()
                        .with(kMix, "role: attention\n", "role: attention\ndecode_variant: folded\n")
                        .plus("components/library/folded.yaml", R"(role: expert
variant_of: mix
graph:
  q:   { op: linear, in: x, weight_of: q_proj, dims: { in: d_model, out: 8 } }
  lo:  { op: linear, in: q, weight_of: k_proj, dims: { in: 8, out: 4 } }
  hi:  { op: linear, in: q, weight_of: k_proj, dims: { in: 8, out: 4 } }
  k:   { op: concat, in: [lo, hi] }
  v:   { op: linear, in: k, weight_of: v_proj, dims: { in: 8, out: 8 } }
  o:   { op: linear, in: v, weight_of: o_proj, dims: { in: 8, out: 8 } }
outputs: [o]
)");
  const BillPtr bill = made_bill(made, {1, 1, 1});
  ASSERT_TRUE(bill);
  const graph::NodeId lo = node_of(*bill->decode, "layers.*.self_attn.lo");
  EXPECT_EQ(expr::to_text(bill->decode_traffic.weights[lo]), "64");  // half of 8*8*2 bytes
  EXPECT_EQ(count_of(*bill, "decode.weight_bytes"), count_of(*bill, "prefill.weight_bytes"));
  const auto faulty = made.with("components/library/folded.yaml", "weight_of: q_proj", "weight_of: qq_proj");
  EXPECT_EQ(outcome(faulty),
            "specs/components/library/folded.yaml:4:3: node 'q' reads the weight of 'qq_proj'; expected a "
            "node of component 'mix'");
}

// A rule may bind dims of its own layers.
TEST(Language, DimsOfARule) {
  const Made made = tiny().with(kModel, "inputs: [embed]\n",
                                "inputs: [embed]\n    layers: [{ count: 1, ffn: mlp, dims: { d_ff: 4 * "
                                "d_model } }, { rest: true, ffn: mlp }]\n");
  EXPECT_EQ(count_of(*made_bill(made), "params.total"), 520 + 3 * 256 + 3 * 8 * 32 + 2 * 384);
}

// Widths of a config list, one per layer: 520 parameters around the stack, 256 of attention and 24 per width in each
// layer, so 520 + 6*256 + 24*(16+32+16+32+16+16). A symbol stands for each width.
TEST(Language, DimsPerLayer) {
  const Made made =
      tiny()
          .with("config", "\"layers\": 3", "\"layers\": 6, \"widths\": [16, 32, 16, 32, 16, 16]")
          .with(kModel, "inputs: [embed]\n", "inputs: [embed]\n    per_layer: { d_ff: config.widths }\n");
  const BillPtr bill = made_bill(made);
  ASSERT_TRUE(bill);
  EXPECT_EQ(count_of(*bill, "params.total"), 520 + 6 * 256 + 24 * 128);
  EXPECT_EQ(count_of(*bill, "layers.d_ff_32"), 2);
  EXPECT_EQ(both_tracks(made, {2, 5, 7}), "ok");
  const BillPtr formulas = made_bill(made, {}, analysis::Dims::kFormulas);
  ASSERT_TRUE(formulas);
  EXPECT_EQ(text_of(*formulas, "params.layer.d_ff_32.ffn_dense"), "3*d_ff_2*d_model");
  const auto symbols = analysis::bill_symbols(*formulas);
  const auto second = std::ranges::find(symbols, "d_ff_2", &analysis::SymbolValue::name);
  ASSERT_NE(second, symbols.end());
  EXPECT_EQ(second->origin, "config.widths, layers 1, 3 of stack 'layers'");
}

// Two layers of a stack behind the main one, counted apart and indexed after it.
TEST(Language, CountedApart) {
  const Made made = tiny().with(
      kModel, "  - { name: norm",
      "  - name: extra\n    repeat: 2\n    inputs: [layers]\n    streams: { hidden: { carries: true } }\n    "
      "path: layers\n    first_index: n_layers\n    apart: drafting\n  - { name: norm");
  const BillPtr bill = made_bill(made);
  ASSERT_TRUE(bill);
  EXPECT_EQ(count_of(*bill, "params.total"), 2440);
  EXPECT_EQ(count_of(*bill, "params.apart.drafting"), 2 * 640);
  EXPECT_EQ(count_of(*bill, "storage.elements"), 2440 + 1280);
  EXPECT_EQ(count_of(*bill, "storage.main_bytes"), 2 * 2440);
  EXPECT_EQ(count_of(*bill, "storage.apart.drafting_bytes"), 2 * 1280);
  EXPECT_EQ(count_of(*bill, "kv.apart.drafting.bytes_per_token"), 2 * 32);
  EXPECT_EQ(count_of(*bill, "kv.bytes_per_token"), 3 * 32);
  std::vector<int64_t> layers;
  for (const analysis::StoredTensor& tensor : bill->storage.tensors)
    if (tensor.name == "layers.*.mlp.down.weight" && tensor.apart == "drafting") layers = tensor.indices[0];
  EXPECT_EQ(layers, (std::vector<int64_t>{3, 4}));
}

// What prefill alone computes: a tower of one patch embedding whose vectors take the place of embedded ones.
Made with_tower() {
  return tiny()
      .with("roles.yaml", "head: {", "tower: { meaning: m }\nhead: {")
      .with(kModel, "  - name: layers\n",
            "  - { name: patches, op: patch_embed, dims: { out: d_model, channels: 3, height: 2, width: 2, "
            "tokens: "
            "6 }, role: tower, apart: vision, phase: prefill }\n"
            "  - { name: placed, op: place_tokens, in: [embed, patches], apart: vision, phase: prefill }\n"
            "  - name: layers\n")
      .with(kModel, "inputs: [embed]", "inputs: [placed]");
}

TEST(Language, PrefillOnly) {
  const analysis::BillInput input{2, 10, 100};
  const BillPtr plain = made_bill(tiny(), input), bill = made_bill(with_tower(), input);
  ASSERT_TRUE(bill);
  // 2 requests of 6 patches, 3*2*2 values each onto 8: 2 * 12 * 12 * 8
  EXPECT_EQ(count_of(*bill, "prefill.apart.vision_matmul_flops"), 2 * 12 * 12 * 8);
  EXPECT_EQ(count_of(*bill, "decode.apart.vision_matmul_flops"), 0);
  EXPECT_EQ(count_of(*bill, "params.apart.vision"), 12 * 8);
  // The main model's numbers are those without the tower.
  for (const analysis::Quantity& quantity : plain->quantities)
    if (!quantity.key.starts_with("storage.")) {
      const analysis::Quantity* other = bill->find(quantity.key);
      ASSERT_TRUE(other) << quantity.key;
      EXPECT_EQ(expr::to_text(other->value), expr::to_text(quantity.value)) << quantity.key;
    }
  EXPECT_EQ(count_of(*bill, "storage.main_bytes"), count_of(*plain, "storage.bytes"));
}

// Keys and values of six frames, made once by prefill and read by every step.
TEST(Language, KeptForDecode) {
  const std::string cross = R"(role: attention
inputs: [x, memory]
cache:
  family: cross
  entries: [{ node: k, kind: cross_key, fixed: true }, { node: v, kind: cross_value, fixed: true }]
graph:
  q_proj: { op: linear, in: x, dims: { in: d_model, out: 8 } }
  k_proj: { op: linear, in: memory, phase: prefill, dims: { in: d_model, out: 8 } }
  v_proj: { op: linear, in: memory, phase: prefill, dims: { in: d_model, out: 8 } }
  q:      { op: split_heads, in: q_proj, dims: { heads: 2, width: 4 } }
  k:      { op: split_heads, in: k_proj, phase: prefill, dims: { heads: 2, width: 4 } }
  v:      { op: split_heads, in: v_proj, phase: prefill, dims: { heads: 2, width: 4 } }
  scores: { op: attention_score, in: [q, k], mask: none }
  probs:  { op: attention_softmax, in: scores, mask: none }
  mixed:  { op: attention_apply, in: [probs, v], mask: none }
  merged: { op: merge_heads, in: mixed, dims: { heads: 2, width: 4 } }
outputs: [merged]
)";
  const Made made =
      with_tower()
          .with("roles.yaml", "tower: {", "crossing: { meaning: m }\ntower: {")
          .plus("components/library/cross.yaml", cross)
          .with(kModel, "  - { name: norm, op: rmsnorm, in: layers,",
                "  - { name: crossed, component: cross, in: [layers, patches], role: crossing }\n  - { "
                "name: norm, op: rmsnorm, in: crossed,");
  const BillPtr bill = made_bill(made, {2, 10, 100});
  ASSERT_TRUE(bill);
  EXPECT_EQ(outcome(made), "ok");
  const auto flops = [&](const analysis::Analysis& a, const char* path) {
    return expr::to_text(a.flops[node_of(a, path)]);
  };
  EXPECT_EQ(flops(*bill->prefill, "crossed.k_proj"), std::to_string(2 * 2 * 6 * 8 * 8));
  EXPECT_EQ(flops(*bill->decode, "crossed.k_proj"), "0");
  // 2 requests, one query each, 6 keys of 8 channels
  EXPECT_EQ(flops(*bill->decode, "crossed.scores"), std::to_string(2 * 2 * 6 * 8));
  EXPECT_EQ(count_of(*bill, "kv.fixed_state_bytes"), 2 * 6 * 8 * 2);
  EXPECT_EQ(count_of(*bill, "kv.bytes_per_token"), 3 * 32);
  EXPECT_EQ(count_of(*bill, "decode.kv_read_bytes"), 2 * (3 * 100 * 32 + 192));
  EXPECT_EQ(count_of(*bill, "decode.kv_write_bytes"), 2 * 3 * 32);
  EXPECT_EQ(count_of(*bill, "prefill.kv_write_bytes"), 2 * (3 * 10 * 32 + 192));
  const graph::NodeId k_proj = node_of(*bill->decode, "crossed.k_proj");
  EXPECT_EQ(expr::to_text(bill->decode_traffic.weights[k_proj]), "0");
}

// Each query of a block sees that block: 6 queries of 3 keys.
TEST(Language, Blocks) {
  EXPECT_EQ(
      count_of(*made_bill(tiny()
                              .with(kMix, "in: [q, k] }", "in: [q, k], mask: none, window: 3 }")
                              .with(kMix, "in: scores }", "in: scores, mask: none, window: 3 }")
                              .with(kMix, "in: [probs, v] }", "in: [probs, v], mask: none, window: 3 }"),
                          {1, 6, 6}),
               "prefill.matmul_flops") -
          count_of(*made_bill(tiny()
                                  .with(kMix, "in: [q, k] }", "in: [q, k], mask: none }")
                                  .with(kMix, "in: scores }", "in: scores, mask: none }")
                                  .with(kMix, "in: [probs, v] }", "in: [probs, v], mask: none }"),
                              {1, 6, 6}),
                   "prefill.matmul_flops"),
      3 * 2 * 2 * 8 * (6 * 3 - 6 * 6));
}

// A list of the config: how long it is, and one of its entries.
TEST(Language, ListsOfTheConfig) {
  const Made made =
      tiny()
          .with("config", R"("layers": 3)", R"("marks": [9, 8, 7], "widths": {"inner": [4, 16]})")
          .with(kModel, "n_layers: config.layers", "n_layers: { config: marks, entries: true }")
          .with(kModel, "d_ff: config.inner", "d_ff: config.widths.inner.1");
  EXPECT_EQ(count_of(*made_bill(made), "params.total"), 2440);
  EXPECT_EQ(outcome(made.with(kModel, "widths.inner.1", "widths.inner.2")),
            "specs/models/tiny.yaml:10:3: config.json has no 'widths.inner.2', which dim 'd_ff' reads; "
            "expected the "
            "key under the top level");
  EXPECT_EQ(
      outcome(made.with(kModel, "{ config: marks, entries: true }", "{ config: words, entries: true }")),
      "specs/models/tiny.yaml:11:3: config.words is 32, whose entries dim 'n_layers' counts; expected a "
      "list or a map, or a text with one character per entry");
  // Of the entries, those that are a word: three of four, of a text three of its five characters.
  const auto counted = [&](const char* list, const char* entry) {
    return count_of(*made_bill(made.with("config", R"("marks": [9, 8, 7])", std::string("\"marks\": ") + list)
                                   .with(kModel, "entries: true", std::string("entries: ") + entry)),
                    "params.total");
  };
  EXPECT_EQ(counted(R"(["a", "b", "a", "a"])", "a"), 2440);
  EXPECT_EQ(counted(R"("SFSFS")", "S"), 2440);
  EXPECT_EQ(counted(R"([4, 4, 4, 128])", "4"), 2440);
}

TEST(Language, PhaseFaults) {
  EXPECT_EQ(outcome(with_tower().with(kModel, "patches], apart: vision, phase: prefill",
                                      "patches], apart: vision, phase: decode")),
            "specs/models/tiny.yaml:16:83: phase is 'decode'; expected prefill, or no phase for both");
}

}  // namespace
}  // namespace archlight::testing
