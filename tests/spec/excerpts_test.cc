// The spec language is stated by examples; each loads here as it stands, and its fields are read back. Where
// an example is a fragment (a list of stacks, a map of streams) it is wrapped into the least that holds it.
#include <gtest/gtest.h>

#include "spec/library.h"
#include "support/stream_models.h"

namespace archlight::spec {
namespace {

base::Yaml yaml(const std::string& text) {
  base::Result<base::Yaml> root =
      base::parse_yaml(std::make_shared<base::SourceText>(base::SourceText{"excerpt.yaml", text}));
  EXPECT_TRUE(root.ok()) << (root.ok() ? "" : base::render_all(root.faults()));
  return root.ok() ? *root : base::Yaml();
}

template <typename T>
T read(const base::Result<T>& result) {
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : base::render_all(result.faults()));
  return result.ok() ? *result : T();
}

TEST(Excerpts, MlaComponent) {
  const Component mla =
      read(parse_component(yaml(R"yaml(# components/library/mla_attention.yaml — component: a DAG
role: attention                          # can fill the attention slot of a block template
cache:                                   # what's kept across steps during decode
  family: MLA
  entries:
    - { node: kv_a_layernorm, kind: latent }     # the compressed KV latent
    - { node: k_pe_rope,      kind: rope_key }   # the rope key shared by all heads
decode_variant: mla_attention_absorbed   # at decode, swap in a subgraph that computes in latent space
graph:
  kv_a_proj_with_mqa: { op: linear, in: x, dims: { in: d_model, out: "d_kv_lora + d_qk_rope" },
                        weight_axes: [{ replicated: true }, { replicated: true }] }
  kv_latent_slice:    { op: slice, in: kv_a_proj_with_mqa, dims: { in: "d_kv_lora + d_qk_rope", out: d_kv_lora } }
  kv_a_layernorm:     { op: rmsnorm, in: kv_latent_slice, dim: d_kv_lora }
  kv_b_proj:          { op: linear, in: kv_a_layernorm, dims: { in: d_kv_lora, out: "n_heads * (d_qk_nope + d_v_head)" },
                        weight_axes: [{ world: attention, parts: n_heads, fit: replica_cells }, { replicated: true }] }
  # … Q compression and decompression, head split, rope, attention_score, softmax, attention_apply, head merge
  o_proj:             { op: linear, in: o_merge_heads, dims: { in: "n_heads * d_v_head", out: d_model },
                        weight_axes: [{ replicated: true }, { world: attention, parts: n_heads, fit: replica_cells }] }
outputs: [o_proj]
)yaml"),
                           "mla_attention"));
  EXPECT_EQ(mla.role, "attention");
  EXPECT_EQ(mla.inputs, std::vector<std::string>{"x"});
  EXPECT_EQ(mla.outputs, std::vector<std::string>{"o_proj"});
  EXPECT_EQ(mla.decode_variant, "mla_attention_absorbed");
  EXPECT_EQ(mla.cache_family, "MLA");
  ASSERT_EQ(mla.cache.size(), 2u);
  EXPECT_EQ(mla.cache[0].node, "kv_a_layernorm");
  EXPECT_EQ(mla.cache[0].kind, "latent");
  EXPECT_EQ(mla.cache[1].kind, "rope_key");
  EXPECT_EQ(mla.cache[1].growth, CacheEntry::Growth::kPerToken);
  ASSERT_EQ(mla.graph.size(), 5u);
  const NodeDecl* kv_b = mla.find("kv_b_proj");
  ASSERT_TRUE(kv_b);
  EXPECT_EQ(kv_b->target_name, "linear");
  EXPECT_EQ(kv_b->in[0].alternatives[0], "kv_a_layernorm");
  EXPECT_EQ(kv_b->dims[1].name, "out");
  EXPECT_EQ(kv_b->dims[1].formula.text(), "n_heads * (d_qk_nope + d_v_head)");
  ASSERT_EQ(kv_b->weight_axes.size(), 2u);
  EXPECT_EQ(kv_b->weight_axes[0].world, "attention");
  EXPECT_EQ(kv_b->weight_axes[0].parts.text(), "n_heads");
  EXPECT_EQ(kv_b->weight_axes[0].fit, "replica_cells");
  EXPECT_TRUE(kv_b->weight_axes[1].replicated);
  EXPECT_EQ(mla.find("kv_a_layernorm")->dims[0].name, "dim");
}

TEST(Excerpts, DeepseekModel) {
  const Model model = read(parse_model(
      yaml(R"yaml(# models/deepseek_v3.yaml — model spec: fill components into slots, take dims from config
components:
  attention: mla_attention
  ffn_moe:   moe_ffn_gate_routing_bias
  block:     pre_norm
dims:
  n_heads:   config.num_attention_heads
  d_kv_lora: config.kv_lora_rank
  d_qk_rope: config.qk_rope_head_dim
)yaml"),
      "deepseek_v3"));
  ASSERT_TRUE(model.component_of("ffn_moe"));
  EXPECT_EQ(*model.component_of("ffn_moe"), "moe_ffn_gate_routing_bias");
  EXPECT_EQ(*model.component_of("attention"), "mla_attention");
  EXPECT_EQ(*model.component_of("block"), "pre_norm");
  ASSERT_EQ(model.dims.size(), 3u);
  EXPECT_EQ(model.dims[1].name, "d_kv_lora");
  EXPECT_EQ(model.dims[1].config_keys, std::vector<std::string>{"kv_lora_rank"});
}

TEST(Excerpts, DimsTable) {
  const std::map<std::string, DimInfo> dims = read(parse_dims_table(yaml(
      R"yaml(# arch/dims.yaml — global dimension table: each dim is classified once, including which parallelism can shard it
n_heads:   { kind: head_count, shardable_by: [attention] }
d_kv_lora: { kind: whole }                # the latent isn't split by head, so it can't be sharded
)yaml")));
  EXPECT_EQ(dims.at("n_heads").kind, "head_count");
  EXPECT_EQ(dims.at("n_heads").shardable_by, std::vector<std::string>{"attention"});
  EXPECT_EQ(dims.at("d_kv_lora").kind, "whole");
  EXPECT_TRUE(dims.at("d_kv_lora").shardable_by.empty());
}

std::vector<StackDecl> stacks(const std::string& fragment) {
  const Model model = read(parse_model(yaml("model:\n" + fragment), "m"));
  std::vector<StackDecl> out;
  for (const ModelEntry& entry : model.entries)
    if (entry.stack) out.push_back(*entry.stack);
  return out;
}

std::string indented(const std::string& fragment) {
  std::string out = "  - name: layers\n    ";
  for (char c : fragment) out += c == '\n' ? std::string("\n    ") : std::string(1, c);
  return out + "\n";
}

TEST(Excerpts, CarriedTrunk) {
  const std::vector<StackDecl> found = stacks(R"yaml(- name: layers
  repeat: n_layers
  inputs: [embed_tokens]
  streams:
    hidden: { carries: true }   # the trunk passed layer to layer; TP sharding is gathered at each layer exit automatically, no extra declaration needed
)yaml");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "layers");
  EXPECT_EQ(found[0].repeat.text(), "n_layers");
  EXPECT_EQ(found[0].inputs[0].alternatives, std::vector<std::string>{"embed_tokens"});
  ASSERT_EQ(found[0].streams.size(), 1u);
  EXPECT_EQ(found[0].streams[0].name, "hidden");
  EXPECT_TRUE(found[0].streams[0].carries);
}

TEST(Excerpts, IndexSharing) {
  const std::vector<StackDecl> found =
      stacks(indented(R"yaml(# models/glm_moe_dsa.yaml — declare the stream on the layer stack
streams:
  hidden: { carries: true }
  dsa_topk:
    shape: [B, s_query, n_topk_keys]
    src: "GlmMoeDsaAttention.forward threads `prev_topk_indices` across layers"
)yaml"));
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].streams.size(), 2u);
  const StreamDecl& stream = found[0].streams[1];
  EXPECT_EQ(stream.name, "dsa_topk");
  EXPECT_FALSE(stream.carries);
  ASSERT_EQ(stream.shape.size(), 3u);
  EXPECT_EQ(stream.shape[2].text(), "n_topk_keys");
  EXPECT_EQ(stream.src, "GlmMoeDsaAttention.forward threads `prev_topk_indices` across layers");

  // The two lines of the components on either end, in the least component that can hold them.
  const std::string rest = "role: attention\ngraph: { y: { op: silu, in: x } }\noutputs: [y]\n";
  const Component full = read(parse_component(
      yaml(
          R"yaml(# components/library/mla_dsa_attention.yaml — full layer: publish the computed top-k to the stream
stream_out: { dsa_topk: dsa_topk_mask }
)yaml" + rest),
      "mla_dsa_attention"));
  ASSERT_EQ(full.stream_out.size(), 1u);
  EXPECT_EQ(full.stream_out[0], (std::pair<std::string, std::string>("dsa_topk", "dsa_topk_mask")));
  const Component shared = read(parse_component(
      yaml(
          R"yaml(# components/library/mla_dsa_attention_shared.yaml — shared layer: read the stream instead of computing it
reads: [dsa_topk]
)yaml" + rest),
      "mla_dsa_attention_shared"));
  EXPECT_EQ(shared.reads, std::vector<std::string>{"dsa_topk"});
}

TEST(Excerpts, DeepStack) {
  const std::vector<StackDecl> found =
      stacks(std::string(archlight::testing::kDeepStack) + archlight::testing::kDeepStackReader);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].name, "visual.blocks");
  const StreamDecl& deepstack = found[0].streams[1];
  EXPECT_EQ(deepstack.from, "hidden");
  EXPECT_EQ(deepstack.selection, "after");
  EXPECT_EQ(deepstack.chosen, "config.vision_config.deepstack_visual_indexes");
  EXPECT_EQ(deepstack.index, "block");
  EXPECT_EQ(deepstack.src, "if layer_num in self.deepstack_visual_indexes:");
  EXPECT_EQ(found[1].inputs[0].alternatives, std::vector<std::string>{"deepstack"});
  EXPECT_EQ(found[1].repeat.text(), "n_deepstack");
  EXPECT_EQ(found[1].streams[0].from, "out");
  EXPECT_EQ(found[1].streams[0].chosen, "every");
  EXPECT_EQ(found[2].streams[1].name, "deepstack_feat");
  EXPECT_EQ(found[2].streams[1].read, "each");
  EXPECT_TRUE(found[2].streams[1].from.empty());
}

TEST(Excerpts, AttentionResiduals) {
  const std::vector<StackDecl> found = stacks(indented(R"yaml(streams:
  hidden: { carries: true }
  block_residual:
    from: hidden
    before: { every: Kar }               # entries of layers 0, Kar, 2·Kar …
    read: all                            # each layer reads the full history accumulated before it
    src: "block_residual = torch.cat("
)yaml"));
  ASSERT_EQ(found.size(), 1u);
  const StreamDecl& stream = found[0].streams[1];
  EXPECT_EQ(stream.from, "hidden");
  EXPECT_EQ(stream.selection, "before");
  EXPECT_EQ(stream.chosen, "every Kar");
  EXPECT_EQ(stream.read, "all");
  EXPECT_EQ(stream.src, "block_residual = torch.cat(");
}

TEST(Excerpts, QuantContext) {
  const Model model = read(parse_model(yaml(R"yaml(quant_context:
  per_role:
    ffn_moe: { method: mxfp4, group_size: 32 }
    default: { method: none }
  default_dtype: BF16
)yaml"),
                                       "gpt_oss"));
  ASSERT_EQ(model.quant.per_role.size(), 2u);
  EXPECT_EQ(model.quant.per_role[0].first, "ffn_moe");
  EXPECT_EQ(model.quant.per_role[0].second.method, "mxfp4");
  ASSERT_EQ(model.quant.per_role[0].second.params.size(), 1u);
  EXPECT_EQ(model.quant.per_role[0].second.params[0],
            (std::pair<std::string, std::string>("group_size", "32")));
  EXPECT_EQ(model.quant.per_role[1].second.method, "none");
  EXPECT_EQ(model.quant.default_dtype, base::Dtype::kBF16);
  EXPECT_FALSE(model.quant.scale_dtype);
}

// Other forms that the text describes in words: a hyper-connected trunk of several copies, an explicit list
// of layers for an append stream, and reading one joined along an axis.
TEST(Excerpts, StreamsInWords) {
  const std::vector<StackDecl> found = stacks(R"yaml(
  - name: layers
    repeat: n_layers
    streams:
      hidden: { carries: true, shape: [B, s_ctx, n_hidden_copies, d_model] }
      auxiliary: { from: hidden, after: [2, 19, 37], read: concat, src: "aux_hidden_states" }
)yaml");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].streams[0].shape.size(), 4u);
  EXPECT_EQ(found[0].streams[1].chosen, "2,19,37");
  EXPECT_EQ(found[0].streams[1].read, "concat");
}

}  // namespace
}  // namespace archlight::spec
