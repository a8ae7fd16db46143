#!/usr/bin/env python3
"""Small made-up checkpoints, one or two of a family: config.json and a safetensors header with every tensor.

Families whose published checkpoints are known here by a total alone, or by their config. Each function writes down which
tensors the publisher's code builds and what it calls them, and the config keys that it reads; sizes are small and differ
from each other, so that one in place of another shows. Nothing here reads the project's specs: guards hold the specs
against these, and `archlight guards measure --with FOLDER` measures them so.

    small.py FOLDER      FOLDER/made--NAME/{config.json, model.safetensors}; the data behind a header is a hole

Needs Python 3.9 and its standard library.
"""

import json
import os
import struct
import sys
from math import prod

BYTES = {"BF16": 2, "F16": 2, "F32": 4, "I64": 8, "F8_E4M3": 1, "U8": 1}
V, H = 1000, 96


class Made:
    def __init__(self, architecture, model_type, dtype="BF16", **config):
        names = {"BF16": "bfloat16", "F16": "float16", "F32": "float32"}
        self.dtype = dtype
        self.config = {"architectures": [architecture], "model_type": model_type, "torch_dtype": names[dtype],
                       **config}
        self.rows = []

    def add(self, name, *shape, dtype=None):
        self.rows.append((name, dtype or self.dtype, shape))

    def weight(self, module, *shape, bias=False, dtype=None):
        self.add(module + ".weight", *shape, dtype=dtype)
        if bias:
            self.add(module + ".bias", shape[0], dtype=dtype)

    def norm(self, module, width, bias=False):
        self.weight(module, width, bias=bias)

    def attention(self, module, h, heads, kv, d, bias=False, o_bias=None, v=None, names=("q_proj", "k_proj", "v_proj", "o_proj")):
        v = v or d
        self.weight(f"{module}.{names[0]}", heads * d, h, bias=bias)
        self.weight(f"{module}.{names[1]}", kv * d, h, bias=bias)
        self.weight(f"{module}.{names[2]}", kv * v, h, bias=bias)
        self.weight(f"{module}.{names[3]}", h, heads * v, bias=bias if o_bias is None else o_bias)

    def swiglu(self, module, h, width, names=("gate_proj", "up_proj", "down_proj"), bias=False):
        self.weight(f"{module}.{names[0]}", width, h, bias=bias)
        self.weight(f"{module}.{names[1]}", width, h, bias=bias)
        self.weight(f"{module}.{names[2]}", h, width, bias=bias)


def cohere2():
    m = Made("Cohere2ForCausalLM", "cohere2", hidden_size=H, intermediate_size=160, num_hidden_layers=5,
             num_attention_heads=6, num_key_value_heads=2, vocab_size=V, sliding_window=4096,
             sliding_window_pattern=4, layer_norm_eps=1e-5, hidden_act="silu", attention_bias=False,
             rope_theta=50000, logit_scale=0.25, tie_word_embeddings=True)
    m.weight("model.embed_tokens", V, H)
    for n in range(5):
        layer = f"model.layers.{n}"
        m.norm(layer + ".input_layernorm", H)
        m.attention(layer + ".self_attn", H, 6, 2, 16)
        m.swiglu(layer + ".mlp", H, 160)
    m.norm("model.norm", H)
    return m


def llama_like(architecture, model_type, layers=3, heads=6, kv=2, d=20, ff=160, head=True, bias=False, block=None, **config):
    m = Made(architecture, model_type, hidden_size=H, intermediate_size=ff, num_hidden_layers=layers,
             num_attention_heads=heads, num_key_value_heads=kv, vocab_size=V, rms_norm_eps=1e-6,
             hidden_act="silu", tie_word_embeddings=not head, **config)
    m.weight("model.embed_tokens", V, H)
    for n in range(layers):
        layer = f"model.layers.{n}"
        if block:
            block(m, layer, n)
            continue
        m.norm(layer + ".input_layernorm", H)
        m.attention(layer + ".self_attn", H, heads, kv, d, bias=bias)
        m.norm(layer + ".post_attention_layernorm", H)
        m.swiglu(layer + ".mlp", H, ff, bias=bias)
    m.norm("model.norm", H)
    if head:
        m.weight("lm_head", V, H)
    return m


def ernie4_5():
    return llama_like("Ernie4_5ForCausalLM", "ernie4_5", head=False, head_dim=20, use_bias=False, rope_theta=500000.0)


def ernie4_5_moe():
    def block(m, layer, n):
        m.norm(layer + ".input_layernorm", H)
        m.attention(layer + ".self_attn", H, 6, 2, 20)
        m.norm(layer + ".post_attention_layernorm", H)
        if n == 0:
            m.swiglu(layer + ".mlp", H, 160)
            return
        m.weight(layer + ".mlp.gate", 7, H, dtype="F32")
        m.add(layer + ".mlp.moe_statics.e_score_correction_bias", 1, 7, dtype="F32")
        for e in range(7):
            m.swiglu(f"{layer}.mlp.experts.{e}", H, 40)
        m.swiglu(layer + ".mlp.shared_experts", H, 80)
    return llama_like("Ernie4_5_MoeForCausalLM", "ernie4_5_moe", head=False, block=block, head_dim=20, use_bias=False,
                      moe_num_experts=7, moe_k=3, moe_intermediate_size=40, moe_num_shared_experts=2,
                      moe_layer_start_index=1, moe_layer_end_index=2, moe_layer_interval=1, rope_theta=500000.0)


def exaone4(window):
    def block(m, layer, n):
        m.attention(layer + ".self_attn", H, 6, 2, 20)
        m.norm(layer + ".self_attn.q_norm", 20)
        m.norm(layer + ".self_attn.k_norm", 20)
        m.norm(layer + ".post_attention_layernorm", H)
        m.swiglu(layer + ".mlp", H, 160)
        m.norm(layer + ".post_feedforward_layernorm", H)
    kinds = {"sliding_window": 4096, "sliding_window_pattern": "LLLG"} if window else {"sliding_window": None}
    return llama_like("Exaone4ForCausalLM", "exaone4", layers=5, head=window, block=block, head_dim=20,
                      rope_theta=1000000, **kinds)


def gemma2():
    def block(m, layer, n):
        m.norm(layer + ".input_layernorm", H)
        m.attention(layer + ".self_attn", H, 6, 2, 20)
        m.norm(layer + ".post_attention_layernorm", H)
        m.norm(layer + ".pre_feedforward_layernorm", H)
        m.swiglu(layer + ".mlp", H, 160)
        m.norm(layer + ".post_feedforward_layernorm", H)
    m = llama_like("Gemma2ForCausalLM", "gemma2", layers=3, head=False, block=block, head_dim=20, sliding_window=4096,
                   attention_bias=False, attn_logit_softcapping=50.0, final_logit_softcapping=30.0,
                   query_pre_attn_scalar=256, rope_theta=10000.0, hidden_activation="gelu_pytorch_tanh")
    m.config["hidden_act"] = "gelu_pytorch_tanh"
    return m


def gemma3():
    t, w = 3, 48
    m = Made("Gemma3ForConditionalGeneration", "gemma3",
             text_config=dict(model_type="gemma3_text", hidden_size=H, intermediate_size=160, num_hidden_layers=7,
                              num_attention_heads=6, num_key_value_heads=2, head_dim=20, vocab_size=V,
                              sliding_window=1024, sliding_window_pattern=6, rms_norm_eps=1e-6,
                              hidden_activation="gelu_pytorch_tanh", rope_theta=1000000.0),
             vision_config=dict(model_type="siglip_vision_model", hidden_size=w, intermediate_size=72,
                                num_hidden_layers=t, num_attention_heads=4, patch_size=14, image_size=112),
             mm_tokens_per_image=16)
    text = "language_model.model"
    m.weight(text + ".embed_tokens", V, H)
    for n in range(7):
        layer = f"{text}.layers.{n}"
        m.norm(layer + ".input_layernorm", H)
        m.attention(layer + ".self_attn", H, 6, 2, 20)
        m.norm(layer + ".self_attn.q_norm", 20)
        m.norm(layer + ".self_attn.k_norm", 20)
        m.norm(layer + ".post_attention_layernorm", H)
        m.norm(layer + ".pre_feedforward_layernorm", H)
        m.swiglu(layer + ".mlp", H, 160)
        m.norm(layer + ".post_feedforward_layernorm", H)
    m.norm(text + ".norm", H)
    m.add("multi_modal_projector.mm_input_projection_weight", w, H)
    m.norm("multi_modal_projector.mm_soft_emb_norm", w)
    tower = "vision_tower.vision_model"
    siglip(m, tower, w, 72, t, 64, 14)
    return m


def siglip(m, tower, w, ff, layers, patches, patch):
    m.weight(tower + ".embeddings.patch_embedding", w, 3, patch, patch)
    m.add(tower + ".embeddings.patch_embedding.bias", w)
    m.weight(tower + ".embeddings.position_embedding", patches, w)
    for n in range(layers):
        layer = f"{tower}.encoder.layers.{n}"
        m.norm(layer + ".layer_norm1", w, bias=True)
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            m.weight(f"{layer}.self_attn.{name}", w, w, bias=True)
        m.norm(layer + ".layer_norm2", w, bias=True)
        m.weight(layer + ".mlp.fc1", ff, w, bias=True)
        m.weight(layer + ".mlp.fc2", w, ff, bias=True)
    m.norm(tower + ".post_layernorm", w, bias=True)


def glm4_moe():
    def block(m, layer, n):
        m.norm(layer + ".input_layernorm", H)
        m.attention(layer + ".self_attn", H, 6, 2, 20, bias=True, o_bias=False)
        m.norm(layer + ".self_attn.q_norm", 20)
        m.norm(layer + ".self_attn.k_norm", 20)
        m.norm(layer + ".post_attention_layernorm", H)
        if n < 1:
            m.swiglu(layer + ".mlp", H, 160)
            return
        m.weight(layer + ".mlp.gate", 7, H)
        m.add(layer + ".mlp.gate.e_score_correction_bias", 7, dtype="F32")
        for e in range(7):
            m.swiglu(f"{layer}.mlp.experts.{e}", H, 40)
        m.swiglu(layer + ".mlp.shared_experts", H, 80)
    m = llama_like("Glm4MoeForCausalLM", "glm4_moe", head=True, block=block, head_dim=20, n_routed_experts=7,
                   n_shared_experts=2, num_experts_per_tok=3, moe_intermediate_size=40, first_k_dense_replace=1,
                   use_qk_norm=True, attention_bias=True, partial_rotary_factor=0.5, rope_theta=1000000,
                   num_nextn_predict_layers=1, norm_topk_prob=True, routed_scaling_factor=2.5)
    layer = "model.layers.3"
    m.weight(layer + ".eh_proj", H, 2 * H)
    m.norm(layer + ".enorm", H)
    m.norm(layer + ".hnorm", H)
    block(m, layer, 3)
    m.norm(layer + ".shared_head.norm", H)
    m.weight(layer + ".embed_tokens", V, H)
    m.weight(layer + ".shared_head.head", V, H)
    return m


def granite():
    return llama_like("GraniteForCausalLM", "granite", heads=6, d=16, head=False, bias=True, attention_bias=True,
                      mlp_bias=True, rope_theta=10000.0, embedding_multiplier=12.0, logits_scaling=16.0,
                      residual_multiplier=0.22, attention_multiplier=0.015625)


def granite_moe_hybrid():
    heads, p, g, s, conv = 12, 16, 1, 24, 4
    inner = heads * p
    def block(m, layer, n):
        m.norm(layer + ".input_layernorm", H)
        if n == 2:
            m.attention(layer + ".self_attn", H, 6, 2, 16)
        else:
            mamba2_tensors(m, layer + ".mamba", H, heads, p, g, s, conv, norm=True)
        m.norm(layer + ".post_attention_layernorm", H)
        m.weight(layer + ".block_sparse_moe.router.layer", 7, H)
        m.add(layer + ".block_sparse_moe.input_linear.weight", 7, 80, H)
        m.add(layer + ".block_sparse_moe.output_linear.weight", 7, H, 40)
        m.weight(layer + ".shared_mlp.input_linear", 112, H)
        m.weight(layer + ".shared_mlp.output_linear", H, 56)
    return llama_like("GraniteMoeHybridForCausalLM", "granitemoehybrid", layers=4, ff=40, head=False, block=block,
                      shared_intermediate_size=56, num_local_experts=7, num_experts_per_tok=3, mamba_n_heads=heads,
                      mamba_d_head=p, mamba_n_groups=g, mamba_d_state=s, mamba_d_conv=conv, mamba_expand=2,
                      mamba_conv_bias=True, mamba_proj_bias=False, attention_bias=False,
                      layer_types=["mamba", "mamba", "attention", "mamba"], position_embedding_type="nope",
                      embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22,
                      attention_multiplier=0.015625, rope_theta=10000.0)


def mamba2_tensors(m, module, h, heads, p, g, s, conv, norm=True, conv_bias=True, proj_bias=False):
    inner, mixed = heads * p, heads * p + 2 * g * s
    m.weight(module + ".in_proj", inner + mixed + heads, h, bias=proj_bias)
    m.add(module + ".conv1d.weight", mixed, 1, conv)
    if conv_bias:
        m.add(module + ".conv1d.bias", mixed)
    m.add(module + ".dt_bias", heads)
    m.add(module + ".A_log", heads)
    m.add(module + ".D", heads)
    if norm:
        m.norm(module + ".norm", inner)
    m.weight(module + ".out_proj", h, inner, bias=proj_bias)


def mamba2():
    m = Made("Mamba2ForCausalLM", "mamba2", hidden_size=H, vocab_size=V, num_hidden_layers=3, num_heads=12, head_dim=16,
             n_groups=2, state_size=24, conv_kernel=4, expand=2, use_conv_bias=True, use_bias=False,
             tie_word_embeddings=False, hidden_act="silu", layer_norm_epsilon=1e-5, residual_in_fp32=True)
    m.weight("backbone.embeddings", V, H)
    for n in range(3):
        m.norm(f"backbone.layers.{n}.norm", H)
        mamba2_tensors(m, f"backbone.layers.{n}.mixer", H, 12, 16, 2, 24, 4)
    m.norm("backbone.norm_f", H)
    m.weight("lm_head", V, H)
    return m


def mamba1_tensors(m, module, h, inner, s, conv, rank, norms=False, conv_bias=True, proj_bias=False):
    m.weight(module + ".in_proj", 2 * inner, h, bias=proj_bias)
    m.add(module + ".conv1d.weight", inner, 1, conv)
    if conv_bias:
        m.add(module + ".conv1d.bias", inner)
    m.weight(module + ".x_proj", rank + 2 * s, inner)
    m.weight(module + ".dt_proj", inner, rank, bias=True)
    m.add(module + ".A_log", inner, s)
    m.add(module + ".D", inner)
    m.weight(module + ".out_proj", h, inner, bias=proj_bias)
    if norms:
        m.norm(module + ".dt_layernorm", rank)
        m.norm(module + ".b_layernorm", s)
        m.norm(module + ".c_layernorm", s)


def mamba1():
    m = Made("MambaForCausalLM", "mamba", dtype="F32", hidden_size=H, vocab_size=V, num_hidden_layers=3, state_size=16,
             conv_kernel=4, expand=2, intermediate_size=192, time_step_rank=6, use_conv_bias=True, use_bias=False,
             hidden_act="silu", layer_norm_epsilon=1e-5, residual_in_fp32=True, tie_word_embeddings=True)
    m.weight("backbone.embeddings", V, H)
    for n in range(3):
        m.norm(f"backbone.layers.{n}.norm", H)
        mamba1_tensors(m, f"backbone.layers.{n}.mixer", H, 192, 16, 4, 6)
    m.norm("backbone.norm_f", H)
    return m


def jamba():
    def block(m, layer, n):
        m.norm(layer + ".input_layernorm", H)
        if n % 8 == 4:
            m.attention(layer + ".self_attn", H, 6, 2, 16)
        else:
            mamba1_tensors(m, layer + ".mamba", H, 192, 16, 4, 6, norms=True)
        m.norm(layer + ".pre_ff_layernorm", H)
        if n % 2 == 1:
            m.weight(layer + ".feed_forward.router", 5, H)
            for e in range(5):
                m.swiglu(f"{layer}.feed_forward.experts.{e}", H, 160)
        else:
            m.swiglu(layer + ".feed_forward", H, 160)
    m = llama_like("JambaForCausalLM", "jamba", layers=8, head=True, block=block, attn_layer_period=8, attn_layer_offset=4,
                   expert_layer_period=2, expert_layer_offset=1, num_experts=5, num_experts_per_tok=2, mamba_d_state=16,
                   mamba_d_conv=4, mamba_expand=2, mamba_dt_rank=6, mamba_conv_bias=True, mamba_proj_bias=False)
    m.rows = [("model.final_layernorm.weight" if name == "model.norm.weight" else name, d, s) for name, d, s in m.rows]
    return m


def falcon_h1():
    def block(m, layer, n):
        m.norm(layer + ".input_layernorm", H)
        m.attention(layer + ".self_attn", H, 6, 2, 20)
        mamba2_tensors(m, layer + ".mamba", H, 9, 16, 3, 24, 4)
        m.norm(layer + ".pre_ff_layernorm", H)
        m.swiglu(layer + ".feed_forward", H, 160)
    m = llama_like("FalconH1ForCausalLM", "falcon_h1", head=True, block=block, head_dim=20, mamba_d_ssm=144, mamba_n_heads=9,
                   mamba_d_head=16, mamba_n_groups=3, mamba_d_state=24, mamba_d_conv=4, mamba_expand=2,
                   mamba_conv_bias=True, mamba_proj_bias=False, mamba_rms_norm=True, attention_bias=False,
                   mlp_bias=False, rope_theta=100000000000.0)
    m.rows = [("model.final_layernorm.weight" if name == "model.norm.weight" else name, d, s) for name, d, s in m.rows]
    return m


def lfm2():
    kinds = ["conv", "conv", "full_attention", "conv"]
    m = Made("Lfm2ForCausalLM", "lfm2", hidden_size=H, vocab_size=V, num_hidden_layers=4, num_attention_heads=6,
             num_key_value_heads=2, layer_types=kinds, block_ff_dim=200, block_auto_adjust_ff_dim=False,
             block_ffn_dim_multiplier=1.0, block_multiple_of=256, conv_L_cache=3, conv_bias=False, norm_eps=1e-5,
             rope_theta=1000000.0, tie_embedding=True)
    m.weight("model.embed_tokens", V, H)
    for n, kind in enumerate(kinds):
        layer = f"model.layers.{n}"
        if kind == "conv":
            m.add(layer + ".conv.conv.weight", H, 1, 3)
            m.weight(layer + ".conv.in_proj", 3 * H, H)
            m.weight(layer + ".conv.out_proj", H, H)
        else:
            m.attention(layer + ".self_attn", H, 6, 2, 16, names=("q_proj", "k_proj", "v_proj", "out_proj"))
            m.norm(layer + ".self_attn.q_layernorm", 16)
            m.norm(layer + ".self_attn.k_layernorm", 16)
        m.swiglu(layer + ".feed_forward", H, 200, names=("w1", "w3", "w2"))
        m.norm(layer + ".operator_norm", H)
        m.norm(layer + ".ffn_norm", H)
    m.norm("model.embedding_norm", H)
    return m


def llama4():
    def block(m, layer, n):
        m.norm(layer + ".input_layernorm", H)
        m.attention(layer + ".self_attn", H, 6, 2, 20)
        m.norm(layer + ".post_attention_layernorm", H)
        if n % 2 == 1:
            m.weight(layer + ".feed_forward.router", 7, H)
            m.add(layer + ".feed_forward.experts.gate_up_proj", 7, H, 320)
            m.add(layer + ".feed_forward.experts.down_proj", 7, 160, H)
            m.swiglu(layer + ".feed_forward.shared_expert", H, 160)
        else:
            m.swiglu(layer + ".feed_forward", H, 224)
    m = llama_like("Llama4ForCausalLM", "llama4_text", layers=5, head=True, block=block, head_dim=20,
                      intermediate_size_mlp=224, num_local_experts=7, num_experts_per_tok=1,
                   interleave_moe_layer_step=2, attention_chunk_size=8192, use_qk_norm=True, rope_theta=500000.0,
                   attention_bias=False)
    # The published checkpoints are the multimodal model's.
    m.rows = [("language_model." + name, d, s) for name, d, s in m.rows]
    return m


def olmo2(window):
    def block(m, layer, n):
        m.attention(layer + ".self_attn", H, 6, 2, 16)
        m.norm(layer + ".self_attn.q_norm", 96)
        m.norm(layer + ".self_attn.k_norm", 32)
        m.norm(layer + ".post_attention_layernorm", H)
        m.swiglu(layer + ".mlp", H, 160)
        m.norm(layer + ".post_feedforward_layernorm", H)
    kinds = ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention", "sliding_attention"]
    more = {"sliding_window": 4096, "layer_types": kinds} if window else {}
    name = "3" if window else "2"
    return llama_like(f"Olmo{name}ForCausalLM", f"olmo{name}", layers=5, head=True, block=block, attention_bias=False,
                      rope_theta=500000, **more)


def kimi_linear():
    def block(m, layer, n):
        m.norm(layer + ".input_layernorm", H)
        a = layer + ".self_attn"
        if n == 3:
            m.weight(a + ".q_proj", 6 * 40, H)
            m.weight(a + ".kv_a_proj_with_mqa", 56 + 8, H)
            m.norm(a + ".kv_a_layernorm", 56)
            m.weight(a + ".kv_b_proj", 6 * (32 + 24), 56)
            m.weight(a + ".o_proj", H, 6 * 24)
        else:
            for name in ("q", "k", "v"):
                m.weight(f"{a}.{name}_proj", 5 * 16, H)
                m.add(f"{a}.{name}_conv1d.weight", 5 * 16, 1, 4)
            m.add(a + ".A_log", 1, 1, 5, 1, dtype="F32")
            m.add(a + ".dt_bias", 5 * 16, dtype="F32")
            m.weight(a + ".f_a_proj", 16, H)
            m.weight(a + ".f_b_proj", 5 * 16, 16)
            m.weight(a + ".b_proj", 5, H)
            m.weight(a + ".g_a_proj", 16, H)
            m.weight(a + ".g_b_proj", 5 * 16, 16)
            m.norm(a + ".o_norm", 16)
            m.weight(a + ".o_proj", H, 5 * 16)
        m.norm(layer + ".post_attention_layernorm", H)
        if n < 1:
            m.swiglu(layer + ".mlp", H, 160)
            return
        moe = layer + ".block_sparse_moe"
        m.weight(moe + ".gate", 7, H)
        m.add(moe + ".gate.e_score_correction_bias", 7, dtype="F32")
        for e in range(7):
            m.swiglu(f"{moe}.experts.{e}", H, 44, names=("w1", "w3", "w2"))
        m.swiglu(moe + ".shared_experts", H, 44)
    return llama_like("KimiLinearForCausalLM", "kimi_linear", layers=5, kv=6, head=True, block=block, head_dim=72,
                      moe_intermediate_size=44, num_experts=7, num_experts_per_token=3, num_shared_experts=1,
                      first_k_dense_replace=1, moe_layer_freq=1, kv_lora_rank=56, q_lora_rank=None,
                      qk_nope_head_dim=32, qk_rope_head_dim=8, v_head_dim=24, mla_use_nope=True,
                      linear_attn_config=dict(full_attn_layers=[4], kda_layers=[1, 2, 3, 5], head_dim=16, num_heads=5,
                                              short_conv_kernel_size=4))


def step3p5():
    kinds = ["full_attention", "sliding_attention", "sliding_attention", "sliding_attention", "full_attention"]
    def block(m, layer, n):
        heads = 6 if kinds[n] == "full_attention" else 10
        m.norm(layer + ".input_layernorm", H)
        m.attention(layer + ".self_attn", H, heads, 2, 20)
        m.norm(layer + ".self_attn.q_norm", 20)
        m.norm(layer + ".self_attn.k_norm", 20)
        m.weight(layer + ".self_attn.g_proj", heads, H)
        m.norm(layer + ".post_attention_layernorm", H)
        if n < 3:
            m.swiglu(layer + ".mlp", H, 160)
            return
        m.weight(layer + ".moe.gate", 7, H)
        m.add(layer + ".moe.router_bias", 7, dtype="F32")
        m.add(layer + ".moe.gate_proj.weight", 7, 40, H)
        m.add(layer + ".moe.up_proj.weight", 7, 40, H)
        m.add(layer + ".moe.down_proj.weight", 7, H, 40)
        m.swiglu(layer + ".share_expert", H, 48)
    return llama_like("Step3p5ForCausalLM", "step3p5", layers=5, head=True, block=block, num_attention_groups=2, head_dim=20,
                      moe_intermediate_size=40, moe_num_experts=7, moe_top_k=3, share_expert_dim=48,
                      sliding_window=512, layer_types=kinds,
                      attention_other_setting=dict(attention_type="sliding_attention", num_attention_heads=10,
                                                   num_attention_groups=2, head_dim=20))


def whisper():
    w, ff = 64, 144
    m = Made("WhisperForConditionalGeneration", "whisper", dtype="F16", d_model=w, encoder_layers=2, decoder_layers=3,
             encoder_attention_heads=4, decoder_attention_heads=8, encoder_ffn_dim=ff, decoder_ffn_dim=176,
             vocab_size=V, num_mel_bins=20, max_source_positions=30, max_target_positions=28,
             activation_function="gelu")

    def attention(module):
        m.weight(module + ".q_proj", w, w, bias=True)
        m.weight(module + ".k_proj", w, w)
        m.weight(module + ".v_proj", w, w, bias=True)
        m.weight(module + ".out_proj", w, w, bias=True)
    m.add("model.encoder.conv1.weight", w, 20, 3)
    m.add("model.encoder.conv1.bias", w)
    m.add("model.encoder.conv2.weight", w, w, 3)
    m.add("model.encoder.conv2.bias", w)
    m.weight("model.encoder.embed_positions", 30, w)
    for n in range(2):
        layer = f"model.encoder.layers.{n}"
        attention(layer + ".self_attn")
        m.norm(layer + ".self_attn_layer_norm", w, bias=True)
        m.weight(layer + ".fc1", ff, w, bias=True)
        m.weight(layer + ".fc2", w, ff, bias=True)
        m.norm(layer + ".final_layer_norm", w, bias=True)
    m.norm("model.encoder.layer_norm", w, bias=True)
    m.weight("model.decoder.embed_tokens", V, w)
    m.weight("model.decoder.embed_positions", 28, w)
    for n in range(3):
        layer = f"model.decoder.layers.{n}"
        attention(layer + ".self_attn")
        m.norm(layer + ".self_attn_layer_norm", w, bias=True)
        attention(layer + ".encoder_attn")
        m.norm(layer + ".encoder_attn_layer_norm", w, bias=True)
        m.weight(layer + ".fc1", 176, w, bias=True)
        m.weight(layer + ".fc2", w, 176, bias=True)
        m.norm(layer + ".final_layer_norm", w, bias=True)
    m.norm("model.decoder.layer_norm", w, bias=True)
    return m


def bert():
    m = Made("BertModel", "bert", dtype="F32", hidden_size=H, intermediate_size=160, num_hidden_layers=3,
             num_attention_heads=6, vocab_size=V, max_position_embeddings=72, type_vocab_size=2, hidden_act="gelu",
             layer_norm_eps=1e-12, position_embedding_type="absolute")
    m.weight("embeddings.word_embeddings", V, H)
    m.weight("embeddings.position_embeddings", 72, H)
    m.weight("embeddings.token_type_embeddings", 2, H)
    m.norm("embeddings.LayerNorm", H, bias=True)
    for n in range(3):
        layer = f"encoder.layer.{n}"
        for name in ("query", "key", "value"):
            m.weight(f"{layer}.attention.self.{name}", H, H, bias=True)
        m.weight(layer + ".attention.output.dense", H, H, bias=True)
        m.norm(layer + ".attention.output.LayerNorm", H, bias=True)
        m.weight(layer + ".intermediate.dense", 160, H, bias=True)
        m.weight(layer + ".output.dense", H, 160, bias=True)
        m.norm(layer + ".output.LayerNorm", H, bias=True)
    m.weight("pooler.dense", H, H, bias=True)
    return m


def gpt2():
    m = Made("GPT2LMHeadModel", "gpt2", dtype="F32", n_embd=H, n_layer=3, n_head=6, n_positions=72, n_ctx=72, vocab_size=V,
             activation_function="gelu_new", layer_norm_epsilon=1e-5)
    m.weight("transformer.wte", V, H)
    m.weight("transformer.wpe", 72, H)
    for n in range(3):
        layer = f"transformer.h.{n}"
        m.norm(layer + ".ln_1", H, bias=True)
        # Conv1D keeps its weight with the input first.
        for name, inputs, outputs in [("attn.c_attn", H, 3 * H), ("attn.c_proj", H, H)]:
            m.add(f"{layer}.{name}.weight", inputs, outputs)
            m.add(f"{layer}.{name}.bias", outputs)
        m.norm(layer + ".ln_2", H, bias=True)
        for name, inputs, outputs in [("mlp.c_fc", H, 4 * H), ("mlp.c_proj", 4 * H, H)]:
            m.add(f"{layer}.{name}.weight", inputs, outputs)
            m.add(f"{layer}.{name}.bias", outputs)
    m.norm("transformer.ln_f", H, bias=True)
    return m


def gpt_neox_classifier():
    m = Made("GPTNeoXForSequenceClassification", "gpt_neox", dtype="F32", hidden_size=H, intermediate_size=160,
             num_hidden_layers=3, num_attention_heads=6, vocab_size=V, rotary_pct=0.25, rotary_emb_base=10000,
             hidden_act="gelu", layer_norm_eps=1e-5, use_parallel_residual=True,
             id2label={"0": "a", "1": "b", "2": "c"}, tie_word_embeddings=False)
    m.weight("gpt_neox.embed_in", V, H)
    for n in range(3):
        layer = f"gpt_neox.layers.{n}"
        m.norm(layer + ".input_layernorm", H, bias=True)
        m.norm(layer + ".post_attention_layernorm", H, bias=True)
        m.weight(layer + ".attention.query_key_value", 3 * H, H, bias=True)
        m.weight(layer + ".attention.dense", H, H, bias=True)
        m.weight(layer + ".mlp.dense_h_to_4h", 160, H, bias=True)
        m.weight(layer + ".mlp.dense_4h_to_h", H, 160, bias=True)
    m.norm("gpt_neox.final_layer_norm", H, bias=True)
    m.weight("score", 3, H)
    return m


def minimax_m2():
    def block(m, layer, n):
        m.norm(layer + ".input_layernorm", H)
        m.attention(layer + ".self_attn", H, 6, 2, 20)
        m.norm(layer + ".self_attn.q_norm", 120)  # over all heads
        m.norm(layer + ".self_attn.k_norm", 40)
        m.norm(layer + ".post_attention_layernorm", H)
        moe = layer + ".block_sparse_moe"
        m.weight(moe + ".gate", 7, H, dtype="F32")
        m.add(moe + ".e_score_correction_bias", 7, dtype="F32")
        for e in range(7):
            m.swiglu(f"{moe}.experts.{e}", H, 160, names=("w1", "w3", "w2"))
    return llama_like("MiniMaxM2ForCausalLM", "minimax_m2", head=True, block=block, head_dim=20, rotary_dim=10,
                      num_local_experts=7, num_experts_per_tok=3, use_qk_norm=True, qk_norm_type="per_layer",
                      scoring_func="sigmoid", use_routing_bias=True, shared_intermediate_size=0,
                      rope_theta=5000000)


def qwen3_next():
    def full(m, a):
        m.weight(a + ".q_proj", 2 * 6 * 20, H)  # queries and their gates
        m.weight(a + ".k_proj", 2 * 20, H)
        m.weight(a + ".v_proj", 2 * 20, H)
        m.weight(a + ".o_proj", H, 6 * 20)
        m.norm(a + ".q_norm", 20)
        m.norm(a + ".k_norm", 20)

    def block(m, layer, n):
        m.norm(layer + ".input_layernorm", H)
        if n % 4 == 3:
            full(m, layer + ".self_attn")
        else:
            k, v, kd, vd = 3, 6, 16, 24
            a = layer + ".linear_attn"
            m.weight(a + ".in_proj_qkvz", 2 * k * kd + 2 * v * vd, H)
            m.weight(a + ".in_proj_ba", 2 * v, H)
            m.add(a + ".conv1d.weight", 2 * k * kd + v * vd, 1, 4)
            m.add(a + ".dt_bias", v)
            m.add(a + ".A_log", v)
            m.norm(a + ".norm", vd)
            m.weight(a + ".out_proj", H, v * vd)
        experts(m, layer)

    def experts(m, layer):
        m.norm(layer + ".post_attention_layernorm", H)
        m.weight(layer + ".mlp.gate", 7, H)
        for e in range(7):
            m.swiglu(f"{layer}.mlp.experts.{e}", H, 40)
        m.swiglu(layer + ".mlp.shared_expert", H, 48)
        m.weight(layer + ".mlp.shared_expert_gate", 1, H)
    m = llama_like("Qwen3NextForCausalLM", "qwen3_next", layers=5, head=True, block=block, head_dim=20,
                   decoder_sparse_step=1, full_attention_interval=4, linear_conv_kernel_dim=4,
                   linear_key_head_dim=16, linear_num_key_heads=3, linear_num_value_heads=6, linear_value_head_dim=24,
                   mlp_only_layers=[], moe_intermediate_size=40, norm_topk_prob=True, num_experts=7,
                   num_experts_per_tok=3, partial_rotary_factor=0.5, rope_theta=10000000,
                   shared_expert_intermediate_size=48, use_sliding_window=False)
    m.weight("mtp.fc", H, 2 * H)
    m.norm("mtp.pre_fc_norm_embedding", H)
    m.norm("mtp.pre_fc_norm_hidden", H)
    m.norm("mtp.layers.0.input_layernorm", H)
    full(m, "mtp.layers.0.self_attn")
    experts(m, "mtp.layers.0")
    m.norm("mtp.norm", H)
    return m


def nemotron_h(pattern, **config):
    m = Made("NemotronHForCausalLM", "nemotron_h", hidden_size=H, intermediate_size=160, vocab_size=V,
             num_hidden_layers=len(pattern), hybrid_override_pattern=pattern, num_attention_heads=6,
             num_key_value_heads=2, conv_kernel=4, expand=2, mamba_head_dim=16, mamba_num_heads=9, n_groups=3,
             ssm_state_size=24, mamba_proj_bias=False, mlp_bias=False, use_bias=False, attention_bias=False,
             use_conv_bias=True, mamba_hidden_act="silu", mlp_hidden_act="relu2", layer_norm_epsilon=1e-5,
             sliding_window=None, tie_word_embeddings=False, **config)
    m.weight("backbone.embeddings", V, H)
    for n, kind in enumerate(pattern):
        layer = f"backbone.layers.{n}"
        m.norm(layer + ".norm", H)
        mixer = layer + ".mixer"
        if kind == "M":
            mamba2_tensors(m, mixer, H, 9, 16, 3, 24, 4)
        elif kind == "*":
            m.attention(mixer, H, 6, 2, 20)
        elif kind == "-":
            m.weight(mixer + ".up_proj", 160, H)
            m.weight(mixer + ".down_proj", H, 160)
        else:
            m.weight(mixer + ".gate", 7, H)
            m.add(mixer + ".gate.e_score_correction_bias", 7, dtype="F32")
            for e in range(7):
                m.weight(f"{mixer}.experts.{e}.up_proj", 40, H)
                m.weight(f"{mixer}.experts.{e}.down_proj", H, 40)
            m.weight(mixer + ".shared_experts.up_proj", 56, H)
            m.weight(mixer + ".shared_experts.down_proj", H, 56)
    m.norm("backbone.norm_f", H)
    m.weight("lm_head", V, H)
    return m


def nemotron_nas():
    def attention(group=None):
        return dict(n_heads_in_group=group, no_op=group is None, num_sink_tokens=None, replace_with_linear=False,
                    sparsify=None, unshifted_sink=False, use_prefill_window_in_sink_attention=False, window_length=None)

    def ffn(mult=None):
        return dict(ffn_mult=mult, no_op=mult is None, replace_with_linear=False, sparsify=None)
    blocks = [(3, 2.625), (2, 5.25), (None, 1.3125), (3, None)]

    def width(mult):  # two thirds, up to a multiple of 256
        return -(-int(2 * mult * H / 3) // 256) * 256

    def block(m, layer, n):
        group, mult = blocks[n]
        if group:
            m.norm(layer + ".input_layernorm", H)
            m.attention(layer + ".self_attn", H, 6, 6 // group, 16)
        if mult:
            m.norm(layer + ".post_attention_layernorm", H)
            m.swiglu(layer + ".mlp", H, width(mult))
    m = llama_like("DeciLMForCausalLM", "nemotron-nas", layers=4, head=True, block=block, attention_bias=False, mlp_bias=False,
                   block_configs=[{"attention": attention(g), "ffn": ffn(f)} for g, f in blocks], rope_theta=500000.0)
    m.config["intermediate_size"] = m.config["num_key_value_heads"] = None
    return m


def qwen3_vl(moe):
    w, ff, merged = 48, 72, 4 * 48
    text = dict(model_type="qwen3_vl_text", attention_bias=False, head_dim=20, hidden_act="silu", hidden_size=H,
                intermediate_size=160, num_attention_heads=6, num_hidden_layers=4, num_key_value_heads=2,
                rms_norm_eps=1e-6, rope_theta=5000000, vocab_size=V)
    if moe:
        text.update(model_type="qwen3_vl_moe_text", decoder_sparse_step=1, mlp_only_layers=[], moe_intermediate_size=40,
                    norm_topk_prob=True, num_experts=7, num_experts_per_tok=3)
    else:
        text["tie_word_embeddings"] = True
    kind = "qwen3_vl_moe" if moe else "qwen3_vl"
    m = Made("Qwen3VLMoeForConditionalGeneration" if moe else "Qwen3VLForConditionalGeneration", kind,
             text_config=text, tie_word_embeddings=not moe,
             vision_config=dict(model_type=kind, deepstack_visual_indexes=[0, 1, 3], depth=5,
                                hidden_act="gelu_pytorch_tanh", hidden_size=w, in_channels=3, intermediate_size=ff,
                                num_heads=4, num_position_embeddings=64, out_hidden_size=H, patch_size=16,
                                spatial_merge_size=2, temporal_patch_size=2))
    tower = "model.visual"
    m.add(tower + ".patch_embed.proj.weight", w, 3, 2, 16, 16)
    m.add(tower + ".patch_embed.proj.bias", w)
    m.weight(tower + ".pos_embed", 64, w)
    for n in range(5):
        block = f"{tower}.blocks.{n}"
        m.norm(block + ".norm1", w, bias=True)
        m.norm(block + ".norm2", w, bias=True)
        m.weight(block + ".attn.qkv", 3 * w, w, bias=True)
        m.weight(block + ".attn.proj", w, w, bias=True)
        m.weight(block + ".mlp.linear_fc1", ff, w, bias=True)
        m.weight(block + ".mlp.linear_fc2", w, ff, bias=True)
    for merger, width in [("merger", w)] + [(f"deepstack_merger_list.{i}", merged) for i in range(3)]:
        m.norm(f"{tower}.{merger}.norm", width, bias=True)
        m.weight(f"{tower}.{merger}.linear_fc1", merged, merged, bias=True)
        m.weight(f"{tower}.{merger}.linear_fc2", H, merged, bias=True)
    m.weight("model.language_model.embed_tokens", V, H)
    for n in range(4):
        layer = f"model.language_model.layers.{n}"
        m.norm(layer + ".input_layernorm", H)
        m.attention(layer + ".self_attn", H, 6, 2, 20)
        m.norm(layer + ".self_attn.q_norm", 20)
        m.norm(layer + ".self_attn.k_norm", 20)
        m.norm(layer + ".post_attention_layernorm", H)
        if moe:
            m.weight(layer + ".mlp.gate", 7, H)
            m.add(layer + ".mlp.experts.gate_up_proj", 7, H, 80)
            m.add(layer + ".mlp.experts.down_proj", 7, 40, H)
        else:
            m.swiglu(layer + ".mlp", H, 160)
    m.norm("model.language_model.norm", H)
    if moe:
        m.weight("lm_head", V, H)
    return m


def mimo_v2():
    kinds, sparse = [0, 1, 1, 0, 1], [0, 1, 1, 1, 1]

    def attention(m, a, window):
        kv = 3 if window else 2
        m.attention(a, H, 6, kv, 40, v=24)
        if window:
            m.add(a + ".attention_sink_bias", 6)

    def block(m, layer, n):
        m.norm(layer + ".input_layernorm", H)
        attention(m, layer + ".self_attn", kinds[n])
        m.norm(layer + ".post_attention_layernorm", H)
        if not sparse[n]:
            m.swiglu(layer + ".mlp", H, 160)
            return
        m.weight(layer + ".mlp.gate", 7, H)
        m.add(layer + ".mlp.gate.e_score_correction_bias", 7, dtype="F32")
        for e in range(7):
            m.swiglu(f"{layer}.mlp.experts.{e}", H, 44)
    m = llama_like("MiMoV2FlashForCausalLM", "mimo_v2_flash", layers=5, head=True, block=block, head_dim=40, v_head_dim=24,
                   add_full_attention_sink_bias=False, add_swa_attention_sink_bias=True, attention_bias=False,
                   attention_chunk_size=128, attention_value_scale=0.707, hybrid_layer_pattern=kinds,
                   layernorm_epsilon=1e-5, moe_intermediate_size=44, moe_layer_freq=sparse, n_group=1,
                   n_routed_experts=7, n_shared_experts=None, norm_topk_prob=True, num_experts_per_tok=3,
                   partial_rotary_factor=0.4, rope_theta=5000000, routed_scaling_factor=None, scoring_func="sigmoid",
                   sliding_window=128, sliding_window_size=128, swa_head_dim=40, swa_num_attention_heads=6,
                   swa_num_key_value_heads=3, swa_rope_theta=10000, swa_v_head_dim=24, topk_group=1,
                   topk_method="noaux_tc")
    del m.config["rms_norm_eps"]
    for n in range(3):
        layer = f"model.mtp.layers.{n}"
        m.weight(layer + ".eh_proj", H, 2 * H)
        m.norm(layer + ".enorm", H)
        m.norm(layer + ".hnorm", H)
        m.norm(layer + ".input_layernorm", H)
        attention(m, layer + ".self_attn", True)
        m.norm(layer + ".pre_mlp_layernorm", H)
        m.swiglu(layer + ".mlp", H, 160)
        m.norm(layer + ".final_layernorm", H)
    return m


def idefics3():
    w = 48
    m = Made("Idefics3ForConditionalGeneration", "idefics3", scale_factor=4, tie_word_embeddings=True, vocab_size=V,
             text_config=dict(model_type="llama", attention_bias=False, head_dim=20, hidden_act="silu", hidden_size=H,
                              intermediate_size=160, mlp_bias=False, num_attention_heads=6, num_hidden_layers=3,
                              num_key_value_heads=2, rms_norm_eps=1e-5, rope_theta=100000.0, tie_word_embeddings=True,
                              vocab_size=V),
             vision_config=dict(model_type="idefics3_vision", hidden_act="gelu_pytorch_tanh", hidden_size=w, image_size=128,
                                intermediate_size=72, layer_norm_eps=1e-6, num_attention_heads=4, num_channels=3,
                                num_hidden_layers=2, patch_size=16))
    siglip(m, "model.vision_model", w, 72, 2, 64, 16)
    m.weight("model.connector.modality_projection.proj", H, w * 16)
    m.weight("model.text_model.embed_tokens", V, H)
    for n in range(3):
        layer = f"model.text_model.layers.{n}"
        m.norm(layer + ".input_layernorm", H)
        m.attention(layer + ".self_attn", H, 6, 2, 20)
        m.norm(layer + ".post_attention_layernorm", H)
        m.swiglu(layer + ".mlp", H, 160)
    m.norm("model.text_model.norm", H)
    return m


ALL = {
    "cohere2": cohere2, "ernie4_5": ernie4_5, "ernie4_5_moe": ernie4_5_moe,
    "exaone4": lambda: exaone4(True), "exaone4-whole": lambda: exaone4(False),
    "gemma2": gemma2, "gemma3": gemma3, "glm4_moe": glm4_moe, "granite": granite,
    "granite_moe_hybrid": granite_moe_hybrid, "mamba2": mamba2, "mamba1": mamba1, "jamba": jamba,
    "falcon_h1": falcon_h1, "lfm2": lfm2, "llama4": llama4, "olmo2": lambda: olmo2(False),
    "olmo3": lambda: olmo2(True), "kimi_linear": kimi_linear, "step3p5": step3p5, "whisper": whisper, "bert": bert,
    "gpt2": gpt2, "gpt_neox_classifier": gpt_neox_classifier, "minimax_m2": minimax_m2, "qwen3_next": qwen3_next,
    "nemotron_h": lambda: nemotron_h("M-M*-M-", attention_head_dim=20),
    "nemotron_h-experts": lambda: nemotron_h("MEM*EM", n_routed_experts=7, num_experts_per_tok=3, n_shared_experts=1,
                                             moe_intermediate_size=40, moe_shared_expert_intermediate_size=56,
                                             norm_topk_prob=True, routed_scaling_factor=2.5, head_dim=20),
    "nemotron_nas": nemotron_nas, "qwen3_vl": lambda: qwen3_vl(False), "qwen3_vl_moe": lambda: qwen3_vl(True),
    "mimo_v2": mimo_v2, "idefics3": idefics3,
}

# Further keys that published configs of these families state, which say again what others say or change no size.
PUBLISHED = {
    "cohere2": dict(order_of_interleaved_layers="local_attn_first", layer_switch=4, use_parallel_block=True,
                    use_gated_activation=True, use_embedding_sharing=True, use_parallel_embedding=True,
                    position_embedding_type="rope_gptj", rotary_pct=1.0, use_qk_norm=False),
    "ernie4_5": dict(compression_ratio=1.0, ignored_index=-100),
    "ernie4_5_moe": dict(moe_use_aux_free=True, moe_capacity=[64, 64, 64], moe_gate="topk", moe_norm_min=1e-12,
                         multi_token_pred_lambda=0.3, micro_batch_size=-1),
    "gemma2": dict(sliding_window_size=lambda c: c["sliding_window"]),
    "mamba1": dict(d_model=H, d_inner=lambda c: c.get("intermediate_size", 2 * H), n_layer=lambda c: c["num_hidden_layers"],
                   pad_vocab_size_multiple=8, fused_add_norm=True, rms_norm=True, time_step_scale=1.0),
    "mamba2": dict(intermediate_size=lambda c: c["num_heads"] * c["head_dim"], time_step_rank=6, time_step_scale=1.0,
                   norm_before_gate=True, rms_norm=True),
    "falcon_h1": dict(mamba_use_mlp=True, mlp_expansion_factor=8, time_step_rank="auto", attention_in_multiplier=1.0,
                      lm_head_multiplier=0.039, mamba_norm_before_gate=False, projectors_bias=False),
    "lfm2": dict(num_heads=lambda c: c["num_attention_heads"], block_dim=H, conv_dim=H, conv_dim_out=H,
                 block_use_swiglu=True, use_pos_enc=True, theta=1000000.0),
    "granite_moe_hybrid": dict(normalization_function="rmsnorm", init_method="mup"),
    "step3p5": dict(use_moe=True, use_qk_norm=True, use_head_wise_attn_gate=True, moe_layers_enum="3,4", moe_every_n_layer=1,
                    moe_layer_offset=0, norm_expert_weight=True, moe_router_activation="sigmoid", att_impl_type="GQA"),
    "nemotron_h": dict(num_query_groups=lambda c: c["num_key_value_heads"]),
    "whisper": dict(is_encoder_decoder=True, num_hidden_layers=lambda c: c["encoder_layers"], classifier_proj_size=256,
                    median_filter_width=7, mask_time_min_masks=2, forced_decoder_ids=[[1, 50259]]),
}


def write(folder, made):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(made.config, file, indent=1, sort_keys=True)
        file.write("\n")
    head, at = {"__metadata__": {"format": "pt"}}, 0
    for name, dtype, shape in made.rows:
        size = BYTES[dtype] * prod(shape)
        head[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + at)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for name, make in ALL.items():
        made = make()
        for key, value in PUBLISHED.get(name, {}).items():
            made.config[key] = value(made.config) if callable(value) else value
        write(os.path.join(sys.argv[1], "made--" + name), made)


if __name__ == "__main__":
    main()
