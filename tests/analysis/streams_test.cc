// What crosses layers, on made-up models whose counts are derived by hand: a trunk of several copies, features handed
// from tower to tower, a history that every layer weighs, a choice that later layers share, a cache that later layers
// read, layers joined for a head. Sizes are those of tiny(): width 8, 2 heads of 4, inner width 16, 32 words.
#include <gtest/gtest.h>

#include "support/bills.h"
#include "support/both_tracks.h"
#include "support/stream_models.h"

namespace archlight::testing {
namespace {

const char* const kModel = "models/tiny.yaml";

BillPtr made_bill(const Made& made, const analysis::BillInput& input = {}) {
  const base::Result<BillPtr> bill = bill_of(made.bind(), input);
  EXPECT_TRUE(bill.ok()) << (bill.ok() ? "" : messages(bill.faults()));
  return bill ? *bill : nullptr;
}

// "layers a[0-2] b[3, 4]": the groups of each stack, in order.
std::string groups_of(const analysis::Analysis& analysis) {
  std::string text, stack;
  for (const graph::Group& group : analysis.tree->groups) {
    if (group.stack != stack) text += (text.empty() ? "" : "; ") + group.stack;
    stack = group.stack;
    text += " " + group.label + "[" + graph::layers_text(group.layers) + "]";
  }
  return text;
}

// ---- a trunk of several copies

TEST(Streams, CarriedCopies) {
  const BillPtr bill = made_bill(hyper_connected(), {1, 5, 7});
  ASSERT_TRUE(bill);
  EXPECT_EQ(text_of(bill->prefill->shape[node_of(*bill->prefill, "layers.*.out")]), "[1, 5, 2, 8]");
  EXPECT_EQ(text_of(bill->decode->shape[node_of(*bill->decode, "layers.*.out")]), "[1, 1, 2, 8]");
  // Per token and layer: pre and post 2*16*2 each, comb 2*16*4, the network 3*2*8*16, together 1024; then fold 64 and
  // head 2*8*32.
  EXPECT_EQ(count_of(*bill, "prefill.matmul_flops"), 5 * (3 * 1024 + 64 + 512));
  // Per token and layer: sigmoid 3*2, weighted sum 2*2*8, outer 2*8, softmax 5*2*2, mix 2*2*2*8, add 2*8, silu 4*16, mul
  // 16: 234. Behind them sigmoid 6, weighted sum 32, norm 4*8.
  EXPECT_EQ(count_of(*bill, "prefill.vector_flops"), 5 * (3 * 234 + 6 + 32 + 32));
  // The copies are written out: 8 elements read and 16 written for each of 5 tokens, 2 bytes each.
  EXPECT_EQ(expr::to_text(bill->prefill_traffic.activations[node_of(*bill->prefill, "expanded")]), "240");
  EXPECT_EQ(both_tracks(hyper_connected(), {2, 5, 7}), "ok");
  EXPECT_EQ(outcome(hyper_connected().with(kModel, "s_ctx, n_copies, d_model]", "s_ctx, d_model]")),
            "specs/models/tiny.yaml:19:14: [shape] stream 'hidden' of stack 'layers' is declared [1, 4096, "
            "8]; expected "
            "[1, 4096, 2, 8], the shape of 'out' (layers.*.out) in prefill");
}

// ---- two streams carried side by side

TEST(Streams, TwoCarried) {
  const BillPtr bill = made_bill(two_carried(), {1, 5, 7});
  ASSERT_TRUE(bill);
  EXPECT_EQ(count_of(*bill, "params.total"), 3 * 64 + 520);
  // add and mul in each layer, the add behind, the norm
  EXPECT_EQ(count_of(*bill, "prefill.vector_flops"), 5 * (3 * 16 + 8 + 32));
  const graph::Node& joined = bill->prefill->tree->nodes[node_of(*bill->prefill, "joined")];
  EXPECT_EQ(bill->prefill->tree->nodes[joined.in[1]].name, "next");
  EXPECT_EQ(both_tracks(two_carried(), {2, 5, 7}), "ok");
  EXPECT_EQ(
      outcome(two_carried().with("components/library/pair.yaml", "stream_out: { prefix: next }\n", "")),
      "specs/models/tiny.yaml:16:41: stack 'layers' carries 'prefix' beside its first stream, and block "
      "'pair' "
      "does not hand it on; expected inputs: [hidden, prefix] and stream_out: {prefix: NODE} in the block");
  EXPECT_EQ(
      outcome(two_carried()
                  .with("components/library/pair.yaml", "inputs: [hidden, prefix]", "inputs: [hidden, other]")
                  .with("components/library/pair.yaml", "in: [prefix, y]", "in: [other, y]")
                  .with("components/library/pair.yaml", "in: [y, prefix]", "in: [y, other]")),
      "specs/models/tiny.yaml:16:41: stack 'layers' carries 'prefix' beside its first stream, and block "
      "'pair' "
      "has no such input behind its first; expected inputs: [hidden, prefix] and stream_out: {prefix: NODE} "
      "in "
      "the block");
}

// ---- one choice for several layers

TEST(Streams, SharedChoice) {
  const BillPtr bill = made_bill(shared_choice(), {1, 5, 7});
  ASSERT_TRUE(bill);
  // Layers 1, 2 read layer 0's choice, 4, 5 that of layer 3: alike, though the two publish from different groups.
  EXPECT_EQ(groups_of(*bill->prefill), "layers full[0] shared[1, 2, 4, 5] full_2[3]");
  // Attention 2*8*12 + 2*4*8 per token in all six layers, the network of layer 0, the head.
  EXPECT_EQ(count_of(*bill, "prefill.matmul_flops"), 5 * (6 * 256 + 768 + 512));
  // A topk's 12 compares in two layers; adds 16 in six; silu and mul 80 in one, silu 32 in five; the norm.
  EXPECT_EQ(count_of(*bill, "prefill.vector_flops"), 5 * (2 * 12 + 6 * 16 + 80 + 5 * 32 + 32));
  // A reader's take reads 12 candidates and 4 choices, and writes 4.
  const graph::NodeId taken = node_of(*bill->prefill, "layers.*.self_attn.taken", 1);
  EXPECT_EQ(expr::to_text(bill->prefill_traffic.activations[taken]), std::to_string(5 * 2 * (12 + 4 + 4)));
  EXPECT_EQ(both_tracks(shared_choice(), {2, 5, 7}), "ok");

  const graph::Stream& stream = bill->prefill->tree->streams[1];
  EXPECT_EQ(stream.name, "picked");
  EXPECT_EQ(stream.src, "`prev_topk` is threaded through the layers");
  ASSERT_EQ(stream.values.size(), 2u);
  EXPECT_EQ(stream.values[1].layer, 3);
  EXPECT_EQ(bill->prefill->tree->nodes[stream.values[1].node].name, "best");
  ASSERT_EQ(stream.readers.size(), 1u);
  EXPECT_EQ(stream.readers[0].group, 1);
}

// Publishers under other dims are not taken to be alike, whatever comes of it.
TEST(Streams, UnlikePublishersSplitTheirReaders) {
  const BillPtr bill = made_bill(shared_choice(", dims: { n_cand: 20 }"), {1, 5, 7});
  ASSERT_TRUE(bill);
  EXPECT_EQ(groups_of(*bill->prefill), "layers full[0] shared[1, 2] full_2[3] shared_2[4, 5]");
  EXPECT_EQ(count_of(*bill, "prefill.matmul_flops"), 5 * (5 * 256 + 2 * 8 * 20 + 64 + 768 + 512));
  EXPECT_EQ(count_of(*bill, "layers.shared"), 4);
  EXPECT_EQ(both_tracks(shared_choice(", dims: { n_cand: 20 }"), {2, 5, 7}), "ok");
  EXPECT_EQ(
      outcome(shared_choice(", dims: { n_top: 2 }")),
      "specs/components/library/shared.yaml:6:43: [shape] 'in' of node 'o' (layers.*.self_attn.o) is 4; "
      "expected "
      "2, the axis of 'taken' [1, 4096, 2]");
}

// ---- a cache that later layers read

TEST(Streams, SharedCache) {
  const BillPtr bill = made_bill(shared_cache(), {2, 40, 100});
  ASSERT_TRUE(bill);
  // 8 key and 8 value elements of 2 bytes per token in each of four layers; the readers keep nothing.
  EXPECT_EQ(count_of(*bill, "kv.bytes_per_token"), 4 * 32);
  EXPECT_EQ(count_of(*bill, "kv.bytes_at_context"), 2 * 16 * 32 + 2 * 100 * 32);
  EXPECT_EQ(count_of(*bill, "decode.kv_write_bytes"), 2 * 4 * 32);
  // All six layers read: three of them the window, three the context, for both requests.
  EXPECT_EQ(count_of(*bill, "decode.kv_read_bytes"), 2 * (3 * 16 * 32 + 3 * 100 * 32));
  // A prefill of 40 tokens sees at most min(40, 16 + 39) entries of a window.
  EXPECT_EQ(count_of(*bill, "prefill.kv_read_bytes"), 2 * 6 * 40 * 32);
  // The reader's own share: its scores read the keys, its weighted sum the values.
  const graph::NodeId scores = node_of(*bill->decode, "layers.*.self_attn.scores", 2);
  EXPECT_EQ(bill->decode->tree->groups[2].label, "local_reader");
  EXPECT_EQ(expr::to_text(bill->decode_traffic.kv_read[scores]), std::to_string(2 * 16 * 16));
  EXPECT_EQ(count_of(*bill, "params.total"), 520 + 4 * 256 + 2 * 128 + 6 * 384);
  // Per request: q, k, v, o 512 where they are all there, q and o 256 in the readers; scores and sums 2*2*2*4 for each
  // of 16 or 100 keys; the network 768; the head 512.
  EXPECT_EQ(count_of(*bill, "decode.matmul_flops"),
            2 * (4 * 512 + 2 * 256 + 3 * 16 * 32 + 3 * 100 * 32 + 6 * 768 + 512));
  EXPECT_EQ(both_tracks(shared_cache(), {2, 40, 100}), "ok");
}

// The reader's traffic follows the entry's own law and dtype.
TEST(Streams, SharedCacheGrowsByItsOwnLaw) {
  const Made fp8 =
      shared_cache()
          .with("components/library/whole.yaml", "kind: key }", "kind: key, dtype: F8_E4M3 }")
          .with("components/library/whole.yaml", "kind: value }", "kind: value, dtype: F8_E4M3 }");
  const BillPtr bill = made_bill(fp8, {1, 40, 100});
  ASSERT_TRUE(bill);
  EXPECT_EQ(count_of(*bill, "decode.kv_read_bytes"), 3 * 16 * 32 + 3 * 100 * 16);
}

// Cross-layer attention: three of six layers keep a cache, all six read one.
TEST(Streams, NeighboursShareACache) {
  const BillPtr bill = made_bill(paired_cache(), {2, 40, 100});
  ASSERT_TRUE(bill);
  EXPECT_EQ(groups_of(*bill->prefill), "layers whole[0, 2, 4] whole_reader[1, 3, 5]");
  EXPECT_EQ(count_of(*bill, "kv.bytes_per_token"), 3 * 32);
  EXPECT_EQ(count_of(*bill, "kv.bytes_at_context"), 3 * 32 * 100);
  EXPECT_EQ(count_of(*bill, "decode.kv_write_bytes"), 2 * 3 * 32);
  EXPECT_EQ(count_of(*bill, "decode.kv_read_bytes"), 2 * 6 * 100 * 32);
  EXPECT_EQ(count_of(*bill, "params.total"), 520 + 3 * 256 + 3 * 128 + 6 * 384);
  EXPECT_EQ(both_tracks(paired_cache(), {2, 40, 100}), "ok");
}

// "You only cache once": two windows of 16 and one whole cache, which the three layers of the second stack read.
TEST(Streams, OneCacheForTheSecondHalf) {
  const BillPtr bill = made_bill(one_cache(), {1, 40, 100});
  ASSERT_TRUE(bill);
  EXPECT_EQ(groups_of(*bill->prefill), "self local[0, 1] whole[2]; layers whole_reader[0-2]");
  EXPECT_EQ(count_of(*bill, "kv.bytes_per_token"), 3 * 32);
  EXPECT_EQ(count_of(*bill, "kv.bytes_per_token_beyond_windows"), 32);
  EXPECT_EQ(count_of(*bill, "kv.bytes_at_context"), 2 * 16 * 32 + 100 * 32);
  EXPECT_EQ(count_of(*bill, "decode.kv_read_bytes"), 2 * 16 * 32 + 4 * 100 * 32);
  EXPECT_EQ(count_of(*bill, "decode.kv_write_bytes"), 3 * 32);
  EXPECT_EQ(both_tracks(one_cache(), {1, 40, 100}), "ok");
}

// ---- features handed from tower to tower, in the words of the requirement

TEST(Streams, DeepStack) {
  const BillPtr bill = made_bill(deep_stack(), {1, 5, 7});
  ASSERT_TRUE(bill);
  EXPECT_EQ(
      groups_of(*bill->prefill),
      "visual.blocks [0-5]; visual.deepstack_merger_list [0-2]; language_model.layers deepstack_feat_1[0-2] "
      "deepstack_feat_0[3, 4]");
  // One product 2*8*8 in each of 6 + 3 + 5 layers, and the head.
  EXPECT_EQ(count_of(*bill, "prefill.matmul_flops"), 5 * (14 * 128 + 512));
  // Adds of 8: 6 in the tower, one where the towers meet, 5 in the text layers and 3 injections; the norm.
  EXPECT_EQ(count_of(*bill, "prefill.vector_flops"), 5 * (15 * 8 + 32));
  EXPECT_EQ(both_tracks(deep_stack(), {2, 5, 7}), "ok");
  const graph::SpecTree& tree = *bill->prefill->tree;
  std::string values;
  for (const graph::Stream& stream : tree.streams)
    for (const graph::Stream::Value& value : stream.values)
      if (stream.kind != spec::StreamDecl::Kind::kCarried)
        values += stream.name + ":" + tree.nodes[value.node].name + "@" + std::to_string(value.layer) + " ";
  EXPECT_EQ(values,
            "deepstack:out@1 deepstack:out@3 deepstack:out@4 deepstack_feat:y@0 deepstack_feat:y@1 "
            "deepstack_feat:y@2 ");
}

// Added at some tokens only, and in prefill only: where there is no element, and in a decode step, the layer's own value is
// handed on.
TEST(Streams, EachAddedAtTokens) {
  const Made made =
      deep_stack().with("components/library/text.yaml", "{ op: add, in: [second, 'deepstack_feat?'] }",
                        "{ op: add_at_tokens, in: [second, 'deepstack_feat?'], phase: prefill }");
  const BillPtr bill = made_bill(made, {1, 5, 7});
  ASSERT_TRUE(bill);
  EXPECT_EQ(count_of(*bill, "prefill.vector_flops"), 5 * (15 * 8 + 32));
  EXPECT_EQ(count_of(*bill, "decode.vector_flops"), 12 * 8 + 32);  // without the 3 injections
  EXPECT_EQ(both_tracks(made, {2, 5, 7}), "ok");
}

// Only some layers of the later stack read, by a rule.
TEST(Streams, EachByRule) {
  const Made made =
      deep_stack()
          .with(kModel, "# the injection nodes of the first n_deepstack layers read them one by one\n",
                "\n  layers: [{ count: n_deepstack, feature: take }, { rest: true, feature: none }]\n")
          .with("roles.yaml", "block: { meaning: m }", "block: { meaning: m }\nfeature: { meaning: m }")
          .with("components/library/text.yaml", "reads: [deepstack_feat]\n", "")
          .with("components/library/text.yaml", "{ op: add, in: [second, 'deepstack_feat?'] }",
                "{ slot: feature, in: second }")
          .plus("components/library/take.yaml",
                "role: feature\nreads: [deepstack_feat]\ngraph: { y: { op: add, in: [x, deepstack_feat] } "
                "}\noutputs: [y]\n")
          .plus("components/library/none.yaml",
                "role: feature\ngraph: { y: { op: scale, in: x, dim: d_model, when: 0 } }\noutputs: [y]\n");
  const BillPtr bill = made_bill(made, {1, 5, 7});
  ASSERT_TRUE(bill);
  EXPECT_EQ(count_of(*bill, "prefill.vector_flops"), 5 * (15 * 8 + 32));
  EXPECT_EQ(
      outcome(made.with(kModel, "count: n_deepstack,", "count: 2,")),
      "specs/models/tiny.yaml:27:5: stream 'deepstack_feat' of stack 'visual.deepstack_merger_list' has 3 "
      "elements, and 2 layers of stack 'language_model.layers' read one each; expected a reading layer for "
      "every "
      "element");
  EXPECT_EQ(
      outcome(made.with(kModel, "count: n_deepstack,", "count: 4,")),
      "specs/components/library/take.yaml:3:32: node 'y' reads element 3 of stream 'deepstack_feat' of stack "
      "'visual.deepstack_merger_list', which has 3; expected a value; mark the operand optional with '?', "
      "give an "
      "alternative with 'a | b', or let a layer rule choose which layers read");
}

// ---- a history that every layer weighs

TEST(Streams, WeighedHistory) {
  const BillPtr bill = made_bill(weighed_history(), {1, 5, 7});
  ASSERT_TRUE(bill);
  // Layer l sees ceil(l / 2) entries: 0, 1, 1, 2, 2; layers 0, 2, 4 start anew.
  EXPECT_EQ(groups_of(*bill->prefill),
            "layers mlp_block_residual_0[0] mlp_2_block_residual_1[1] mlp_block_residual_1[2] "
            "mlp_2_block_residual_2[3] mlp_block_residual_2[4]");
  // Candidates of the two mixes in layers 0 to 4: none and 2, 2 and 2, 2 and 3, 3 and 3, 3 and 4; behind the layers 4.
  // A mix of c: norm 4*8*c, logits 2*8*c (a product), softmax 5*c, weighted sum 2*8*c.
  const int64_t candidates = 2 + (2 + 2) + (2 + 3) + (3 + 3) + (3 + 4) + 4;
  EXPECT_EQ(count_of(*bill, "prefill.matmul_flops"), 5 * (16 * candidates + 5 * 128 + 5 * 768 + 512));
  // Adds: `added` in layers 1 and 3, `out` in all; silu and mul 80 per network; the norm.
  EXPECT_EQ(count_of(*bill, "prefill.vector_flops"), 5 * (53 * candidates + 7 * 8 + 5 * 80 + 32));
  // Nine mixes in layers and one behind them, 8 + 8 weights each.
  EXPECT_EQ(count_of(*bill, "params.total"), 10 * 16 + 5 * 64 + 5 * 384 + 520);
  // Layer 3 weighs 3 candidates first: their weights and 3 vectors read, one written.
  const graph::NodeId mixed = node_of(*bill->prefill, "layers.*.weighed.mixed", 3);
  EXPECT_EQ(expr::to_text(bill->prefill_traffic.activations[mixed]), std::to_string(5 * 2 * (3 + 24 + 8)));
  EXPECT_EQ(text_of(bill->decode->shape[node_of(*bill->decode, "layers.*.block_residual", 3)]),
            "[1, 1, 2, 8]");
  EXPECT_EQ(both_tracks(weighed_history(), {2, 5, 7}), "ok");
  // The groups of a kind are one entry of the bill where they agree; the first layer has no first mix.
  EXPECT_EQ(count_of(*bill, "layers.mlp"), 3);
  EXPECT_EQ(count_of(*bill, "layers.mlp_2"), 2);
  EXPECT_EQ(count_of(*bill, "params.layer.mlp.ffn_dense"), 384);
  EXPECT_FALSE(bill->find("params.layer.mlp_block_residual_1.ffn_dense"));
  const graph::SpecTree& tree = *bill->prefill->tree;
  EXPECT_EQ(tree.groups[0].kind, tree.groups[4].kind);
  EXPECT_EQ(tree.groups[3].sees[0].count, 2u);
}

// What is kept on every layer gives each layer a history of its own, and so a group.
TEST(Streams, HistoryOfEveryLayer) {
  const Made made = weighed_history().with("config", "\"every\": 2", "\"every\": 1");
  const BillPtr bill = made_bill(made, {1, 5, 7});
  ASSERT_TRUE(bill);
  EXPECT_EQ(bill->prefill->tree->groups.size(), 5u);
  // Every layer starts anew: none and 2, 2 and 3, 3 and 4, 4 and 5, 5 and 6; behind them 6.
  EXPECT_EQ(count_of(*bill, "prefill.matmul_flops"),
            5 * (16 * (2 + 5 + 7 + 9 + 11 + 6) + 5 * 128 + 5 * 768 + 512));
  EXPECT_EQ(both_tracks(made, {2, 5, 7}), "ok");
}

// ---- layers joined for a head

TEST(Streams, JoinedForAHead) {
  for (const Made& made : {joined_layers("[1, n_layers // 2, n_layers - 2]", "3 * d_model"),
                           joined_layers("[1, n_layers // 2, n_layers - 2]", "n_auxiliary * d_model"),
                           joined_layers("config.aux", "n_auxiliary * d_model", ", \"aux\": [1, 3, 4]")}) {
    const BillPtr bill = made_bill(made, {1, 5, 7});
    ASSERT_TRUE(bill);
    EXPECT_EQ(groups_of(*bill->prefill), "layers [0-5]");
    const graph::NodeId fc = node_of(*bill->prefill, "fc");
    EXPECT_EQ(text_of(bill->prefill->shape[bill->prefill->tree->nodes[fc].in[0]]), "[1, 5, 24]");
    EXPECT_EQ(expr::to_text(bill->prefill->flops[fc]), std::to_string(5 * 2 * 24 * 8));
    // Three vectors read and one written for each of 5 tokens.
    EXPECT_EQ(expr::to_text(bill->prefill_traffic.activations[fc]), std::to_string(5 * 2 * (24 + 8)));
    EXPECT_EQ(count_of(*bill, "params.apart.drafting"), 192);
    EXPECT_EQ(both_tracks(made, {2, 5, 7}), "ok");
  }
}

// The same as the input of another stack, whose layers all read it.
TEST(Streams, JoinedForAStack) {
  Made made = joined_layers("[1, 3, 4]", "3 * d_model");
  made = made.with(kModel,
                   "- { name: fc, op: linear, in: auxiliary, dims: { in: 3 * d_model, out: d_model }, apart: "
                   "drafting }\n",
                   "- { name: drafts, repeat: 2, inputs: [embed, auxiliary], block: draft, streams: { "
                   "hidden: { carries: "
                   "true } }, apart: drafting }\n")
             .plus("components/library/draft.yaml", R"(role: block
inputs: [x, features]
graph:
  fc:  { op: linear, in: features, dims: { in: 3 * d_model, out: d_model } }
  out: { op: add, in: [x, fc] }
outputs: [out]
)");
  const BillPtr bill = made_bill(made, {1, 5, 7});
  ASSERT_TRUE(bill);
  EXPECT_EQ(groups_of(*bill->prefill), "layers [0-5]; drafts [0, 1]");
  EXPECT_EQ(count_of(*bill, "params.apart.drafting"), 2 * 192);
  EXPECT_EQ(both_tracks(made, {2, 5, 7}), "ok");
}

}  // namespace
}  // namespace archlight::testing
