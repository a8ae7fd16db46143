// Small made-up records of families whose releases no header is at hand of: every name, dtype and shape.
//
// tests/records/generate.py makes them of the releases' tensor names, with sizes that differ from each other; it reads
// nothing of specs/. Tensors and bytes are its own sums.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/int128.h"
#include "guard/support.h"

namespace archlight::guard::testing {
namespace {

using base::with_commas;

struct Cut {
  const char* id;
  int64_t tensors, bytes;
  const char* config;
};

const Cut kCuts[] = {
    {"cut/Kimi-K2.5", 91, 3134260,
     R"({"architectures": ["KimiK25ForConditionalGeneration"], "model_type": "kimi_k25", "dtype":
         "bfloat16", "text_config": {"hidden_size": 256, "vocab_size": 1000, "num_hidden_layers": 2,
         "first_k_dense_replace": 1, "num_attention_heads": 4, "num_key_value_heads": 4, "q_lora_rank": 96,
         "kv_lora_rank": 128, "qk_nope_head_dim": 48, "qk_rope_head_dim": 16, "v_head_dim": 40,
         "intermediate_size": 448, "moe_intermediate_size": 64, "n_routed_experts": 3, "n_shared_experts": 1,
         "num_experts_per_tok": 2, "num_nextn_predict_layers": 0, "tie_word_embeddings": false,
         "quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized", "ignore":
         ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
         "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"], "config_groups": {"group_0": {"targets": ["Linear"],
         "weights": {"num_bits": 4, "type": "int", "group_size": 32, "strategy": "group", "symmetric": true,
         "dynamic": false}}}}}, "vision_config": {"vt_hidden_size": 72, "vt_num_hidden_layers": 2,
         "vt_num_attention_heads": 3, "vt_intermediate_size": 100, "patch_size": 14, "init_pos_emb_height":
         5, "init_pos_emb_width": 6, "merge_kernel_size": [2, 2], "text_hidden_size": 256, "mm_hidden_size":
         72}})"},
    {"cut/LongCat-Flash", 96, 1228848,
     R"({"architectures": ["LongcatFlashForCausalLM"], "model_type": "longcat_flash", "hidden_size": 96,
         "num_layers": 2, "vocab_size": 500, "num_attention_heads": 4, "q_lora_rank": 24, "kv_lora_rank": 40,
         "qk_nope_head_dim": 12, "qk_rope_head_dim": 8, "v_head_dim": 20, "ffn_hidden_size": 160,
         "expert_ffn_hidden_size": 48, "n_routed_experts": 4, "zero_expert_num": 2, "moe_topk": 3,
         "torch_dtype": "bfloat16"})"},
    {"cut/MiniMax-M3", 93, 865496,
     R"({"architectures": ["MiniMaxM3SparseForConditionalGeneration"], "model_type": "minimax_m3_vl",
         "torch_dtype": "bfloat16", "text_config": {"hidden_size": 96, "vocab_size": 500,
         "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 32,
         "rotary_dim": 12, "intermediate_size": 40, "dense_intermediate_size": 128,
         "shared_intermediate_size": 56, "n_shared_experts": 1, "num_local_experts": 3,
         "num_experts_per_tok": 2, "moe_layer_freq": [0, 1, 1], "use_qk_norm": true,
         "sparse_attention_config": {"use_sparse_attention": true, "sparse_index_dim": 24,
         "sparse_num_index_heads": 2, "sparse_topk_blocks": 5, "sparse_block_size": 7,
         "sparse_attention_freq": [0, 1, 1]}}, "vision_config": {"hidden_size": 20, "num_hidden_layers": 1,
         "num_attention_heads": 2, "intermediate_size": 36, "patch_size": 7, "img_token_compression_config":
         {"spatial_merge_size": 2, "temporal_patch_size": 2}}, "projector_hidden_size": 44})"},
    {"cut/Kimi-K3", 218, 3083056,
     R"({"architectures": ["KimiK3ForConditionalGeneration"], "model_type": "kimi_k3", "dtype": "bfloat16",
         "text_config": {"hidden_size": 160, "vocab_size": 1000, "num_hidden_layers": 5,
         "first_k_dense_replace": 1, "attn_res_block_size": 2, "num_attention_heads": 3,
         "num_key_value_heads": 3, "q_lora_rank": 48, "kv_lora_rank": 40, "qk_nope_head_dim": 24,
         "qk_rope_head_dim": 8, "v_head_dim": 20, "mla_use_nope": true, "mla_use_output_gate": true,
         "linear_attn_config": {"kda_layers": [1, 2, 3], "full_attn_layers": [4, 5], "num_heads": 3,
         "head_dim": 32, "short_conv_kernel_size": 4, "gate_lower_bound": -5.0, "use_full_rank_gate": true},
         "intermediate_size": 448, "moe_intermediate_size": 96, "routed_expert_hidden_size": 64,
         "latent_moe_use_norm": true, "num_experts": 3, "num_shared_experts": 2, "num_experts_per_token": 2,
         "tie_word_embeddings": false, "quantization_config": {"quant_method": "compressed-tensors",
         "format": "mxfp4-pack-quantized", "ignore": ["re:.*self_attn.*", "re:.*shared_experts.*",
         "re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "re:.*lm_head.*", "re:.*vision_tower.*",
         "re:.*mm_projector.*"], "config_groups": {"group_0": {"format": "mxfp4-pack-quantized", "targets":
         ["Linear"], "weights": {"num_bits": 4, "type": "float", "group_size": 32, "strategy": "group",
         "symmetric": true, "dynamic": false}}}}}, "vision_config": {"vt_hidden_size": 48, "qkv_hidden_size":
         60, "vt_num_hidden_layers": 2, "vt_num_attention_heads": 3, "vt_intermediate_size": 100,
         "patch_size": 14, "init_pos_emb_height": 5, "init_pos_emb_width": 6, "merge_kernel_size": [2, 2],
         "text_hidden_size": 160, "mm_hidden_size": 48, "attn_bias": false, "linear_bias": false,
         "patch_embed_proj_bias": false}})"},
    {"cut/Hunyuan-Large", 70, 787648,
     R"({"architectures": ["HunYuanForCausalLM"], "model_type": "hunyuan", "hidden_size": 96,
         "num_hidden_layers": 4, "num_attention_heads": 6, "num_key_value_heads": 2, "intermediate_size": 80,
         "moe_intermediate_size": 72, "num_experts": 2, "moe_topk": 1, "num_shared_expert": 1,
         "use_mixed_mlp_moe": true, "use_qk_norm": true, "use_cla": true, "cla_share_factor": 2,
         "tie_word_embeddings": true, "vocab_size": 500, "torch_dtype": "bfloat16"})"},
};

TEST(CutRecords, AreVerifiedToTheByte) {
  for (const Cut& cut : kCuts) {
    SCOPED_TRACE(cut.id);
    const truth::Truth truth = generated(cut.id, json(cut.config));
    EXPECT_EQ(static_cast<int64_t>(truth.tensors.size()), cut.tensors);
    const Report report = verify_all(specs(), truth);
    EXPECT_EQ(lines_of(report), "");
    EXPECT_EQ(remarks_of(report), "");
    EXPECT_EQ(verdict_name(report.verdict), "verified");
    if (!report.bill) continue;
    EXPECT_EQ(with_commas(*report.bill->find("storage.bytes")->value.integer()), with_commas(cut.bytes));
  }
}

}  // namespace
}  // namespace archlight::guard::testing
