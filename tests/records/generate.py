#!/usr/bin/env python3
"""Per-tensor records of published checkpoints: generated from published facts, not a downloaded header.

Each family below writes down which tensors its checkpoints hold, as the reference code and the file listings of their
publishers describe them, with sizes from the published config.json. Nothing here reads the project's specs: tests
hold the specs against these lists, and these lists against totals that the hub recorded for the real files.

    generate.py check                   every model's totals against the recorded ones; status 1 on a difference
    generate.py list                    the known ids
    generate.py tsv ID                  name, dtype, shape (4096x1024, or scalar), bytes, shard (not known: empty)
    generate.py tables FOLDER [ID...]   the same as FOLDER/org--name.tsv for the ids, or for all,
                                        with the small made-up models that tests use beside the published ones
    generate.py header ID FILE          a safetensors header without the data behind it; with --sparse the file has
                                        its full length, of which the header alone takes room on disk
    generate.py compare ID FILE         against a table of the same columns, .tsv or .tsv.zst, in any order

Needs Python 3.9 and its standard library; compare also needs zstd for .zst.
"""

import argparse
import dataclasses
import json
import os
import struct
import subprocess
import sys
from math import prod

BYTES = {"BF16": 2, "F16": 2, "F32": 4, "F8_E4M3": 1, "F8_E8M0": 1, "U8": 1, "I8": 1, "I32": 4, "I64": 8}
BLOCK = 128  # FP8 checkpoints keep one scale per 128x128 block of a weight: quantization_config.weight_block_size


@dataclasses.dataclass(frozen=True)
class Model:
    """Sizes by their names in config.json, and what the hub recorded. None: the family has no such size."""

    family: str
    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    intermediate_size: int
    experts: int = 0
    moe_intermediate_size: int = 0
    # Whether lm_head.weight is in the files. Not the same as tie_word_embeddings: several tied models store it.
    stores_head: bool = True
    # The dtype of FP8 block scales; "scalar": one F32 scale per tensor and one per input; None: weights are BF16.
    fp8_scales: str = None
    # F32 scalars k_scale and v_scale of an FP8 cache, stored under k_proj and v_proj.
    cache_scales: bool = False
    # DeepSeek-V3's graph: dense layers before the first MoE layer, prediction layers after the last, and the length
    # of a rotary buffer stored with each layer (0: none).
    first_dense: int = 0
    mtp_layers: int = 0
    inv_freq: int = 0
    routing_bias: bool = True
    q_rank: int = 1536  # 0: one full q_proj
    shared_experts: int = 1
    latent: tuple = (512, 128, 64, 128)  # kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim
    # Heads and width of the indexer of sparse attention; None: attention is dense.
    index: tuple = None
    # Layers without an indexer of their own: they attend to what the last layer with one chose.
    shared_index: tuple = ()
    # DeepSeek-V4: tokens to a compressed entry per layer (0: none), layers that choose experts by token id, parallel copies
    # of the trunk, groups and width of the output projection, and how routed experts are stored: those of the main layers
    # and those of the prediction layer.
    ratios: tuple = ()
    hash_layers: int = 3
    topk: int = 6
    copies: int = 4
    output: tuple = None
    expert_formats: tuple = ("fp4", "fp4")
    # Whether the prediction layer stores an embedding and a head of its own.
    mtp_tables: bool = True
    # Biases of the attention's and the dense network's projections; layers of a MoE model that are dense.
    attention_bias: bool = False
    mlp_bias: bool = False
    dense_layers: tuple = ()
    # Recorded: elements as the hub shows them (safetensors.total), and where known tensors and bytes.
    recorded_elements: int = 0
    recorded_tensors: int = 0
    recorded_bytes: int = 0


def same(model, **changes):
    return dataclasses.replace(model, **changes)


# Sizes are those of the repository's own config.json unless a line says otherwise. recorded_elements is the hub's
# parameter count on 2026-06-19. recorded_bytes is total_size of the published index where one is quoted.
LLAMA = Model("llama", 128256, 4096, 32, 32, 8, 128, 14336)
QWEN = Model("qwen3", 151936, 4096, 36, 32, 8, 128, 12288)
DEEPSEEK_V3 = Model("deepseek_v3", 129280, 7168, 61, 128, 128, 128, 18432, experts=256, moe_intermediate_size=2048,
                    fp8_scales="F32", first_dense=3, mtp_layers=1, recorded_elements=684531386000)
KIMI_K2 = same(DEEPSEEK_V3, vocab_size=163840, num_attention_heads=64, num_key_value_heads=64, experts=384,
               first_dense=1, mtp_layers=0,
               # One buffer a layer of hidden_size/num_attention_heads/2 = 7168/64/2 numbers.
               inv_freq=56, recorded_elements=1026470731056)

# Sizes of V2 (236B) as arXiv 2405.04434, section 3.1.2 states them.
DEEPSEEK_V2 = same(DEEPSEEK_V3, vocab_size=102400, hidden_size=5120, num_hidden_layers=60, intermediate_size=12288,
                   experts=160, moe_intermediate_size=1536, shared_experts=2, first_dense=1, mtp_layers=0,
                   routing_bias=False, fp8_scales=None, recorded_elements=235741434880)
DEEPSEEK_V2_LITE = same(DEEPSEEK_V2, hidden_size=2048, num_hidden_layers=27, num_attention_heads=16,
                        num_key_value_heads=16, intermediate_size=10944, experts=64, moe_intermediate_size=1408,
                        q_rank=0, recorded_elements=15706484224)
DEEPSEEK_V32 = same(DEEPSEEK_V3, index=(64, 128), recorded_elements=685396921376)
GLM_5 = same(DEEPSEEK_V3, vocab_size=154880, hidden_size=6144, num_hidden_layers=78, num_attention_heads=64,
             num_key_value_heads=64, intermediate_size=12288, q_rank=2048, latent=(512, 192, 64, 256), index=(32, 128),
             mtp_tables=False, fp8_scales=None, recorded_elements=753864139008)

# Indexers in layers 0 to 2 and then in every fourth, 6, 10 ... 74: index_topk_freq 4, index_skip_topk_offset 3.
GLM_52 = same(GLM_5, shared_index=tuple(n for n in range(78) if n > 2 and n % 4 != 2), recorded_elements=753329940480)

# Sizes and ratios of the repositories' config.json: windows alone in Flash's first two layers, 128 tokens to an entry in
# Pro's, and then 4 and 128 in turn, ending with 4.
DEEPSEEK_V4 = Model("deepseek_v4", 129280, 4096, 43, 64, 1, 512, 0, experts=256, moe_intermediate_size=2048, q_rank=1024,
                    mtp_layers=1, index=(64, 128), output=(8, 1024), mtp_tables=False,
                    ratios=(0, 0) + tuple(4 if n % 2 == 0 else 128 for n in range(2, 43)), recorded_elements=158069433298)
DEEPSEEK_V4_PRO = same(DEEPSEEK_V4, hidden_size=7168, num_hidden_layers=61, num_attention_heads=128, experts=384,
                       moe_intermediate_size=3072, q_rank=1536, output=(16, 1024),
                       ratios=(128, 128) + tuple(4 if n % 2 == 0 else 128 for n in range(2, 61)),
                       recorded_elements=861608274846)

MODELS = {
    "deepseek-ai/DeepSeek-V4-Flash": DEEPSEEK_V4,
    "deepseek-ai/DeepSeek-V4-Pro": DEEPSEEK_V4_PRO,
    # Before post-training: experts as all other matrices, and copies of the table and the head in the prediction layer.
    "deepseek-ai/DeepSeek-V4-Flash-Base": same(DEEPSEEK_V4, expert_formats=("fp8", "fp8"), mtp_tables=True,
                                               recorded_elements=292021347282),
    "deepseek-ai/DeepSeek-V4-Pro-Base": same(DEEPSEEK_V4_PRO, expert_formats=("fp8", "fp8"), mtp_tables=True,
                                             recorded_elements=1600790440862),
    "nvidia/DeepSeek-V4-Flash-NVFP4": same(DEEPSEEK_V4, expert_formats=("nvfp4", "fp4"), recorded_elements=166726476754),
    "nvidia/DeepSeek-V4-Pro-NVFP4": same(DEEPSEEK_V4_PRO, expert_formats=("nvfp4", "fp4"),
                                         recorded_elements=909964405662),
    "deepseek-ai/DeepSeek-V3.2": DEEPSEEK_V32,
    "zai-org/GLM-5": GLM_5,
    "zai-org/GLM-5-FP8": same(GLM_5, fp8_scales="F32", recorded_elements=753910024032),
    "zai-org/GLM-5.2": GLM_52,
    "zai-org/GLM-5.2-FP8": same(GLM_52, fp8_scales="F32", recorded_elements=753375793584),
    # A full q_proj, one dense layer, two shared experts as one network; no routing bias and no prediction layer.
    "deepseek-ai/DeepSeek-V2-Lite": DEEPSEEK_V2_LITE,
    "deepseek-ai/DeepSeek-V2": DEEPSEEK_V2,
    "deepseek-ai/DeepSeek-V3": DEEPSEEK_V3,
    "deepseek-ai/DeepSeek-V3.1": DEEPSEEK_V3,
    "deepseek-ai/DeepSeek-R1": DEEPSEEK_V3,
    "moonshotai/Kimi-K2-Instruct": KIMI_K2,
    "meta-llama/Llama-3.1-8B": same(LLAMA, recorded_elements=8030261248),
    "meta-llama/Llama-3.1-70B": same(LLAMA, hidden_size=8192, num_hidden_layers=80, num_attention_heads=64,
                                     intermediate_size=28672, recorded_elements=70553706496),
    "meta-llama/Llama-3.1-405B": same(LLAMA, hidden_size=16384, num_hidden_layers=126, num_attention_heads=128,
                                      intermediate_size=53248, recorded_elements=405853388800),
    # Sizes as publicly known, borne out by the exact total; one copy of the tied embedding is stored.
    "meta-llama/Llama-3.2-1B": same(LLAMA, hidden_size=2048, num_hidden_layers=16, head_dim=64,
                                    intermediate_size=8192, stores_head=False, recorded_elements=1235814400),
    # Tied, and yet the head is stored (311 tensors in the file's header).
    "Qwen/Qwen3-0.6B": same(QWEN, hidden_size=1024, num_hidden_layers=28, num_attention_heads=16,
                            intermediate_size=3072, recorded_elements=751632384, recorded_tensors=311,
                            recorded_bytes=1503264768),
    "Qwen/Qwen3-1.7B": same(QWEN, hidden_size=2048, num_hidden_layers=28, num_attention_heads=16,
                            intermediate_size=6144, recorded_elements=2031739904),
    # Sizes from the config.json of a fine-tune whose vocabulary alone differs; tied, the head is not stored.
    "Qwen/Qwen3-4B": same(QWEN, hidden_size=2560, intermediate_size=9728, stores_head=False,
                          recorded_elements=4022468096),
    "Qwen/Qwen3-8B": same(QWEN, recorded_elements=8190735360),
    # Sizes from the config.json of a quantised copy.
    "Qwen/Qwen3-14B": same(QWEN, hidden_size=5120, num_hidden_layers=40, num_attention_heads=40,
                           intermediate_size=17408, recorded_elements=14768307200),
    "Qwen/Qwen3-32B": same(QWEN, hidden_size=5120, num_hidden_layers=64, num_attention_heads=64,
                           intermediate_size=25600, recorded_elements=32762123264),
    "Qwen/Qwen3-30B-A3B": same(QWEN, family="qwen3_moe", hidden_size=2048, num_hidden_layers=48,
                               num_key_value_heads=4, intermediate_size=6144, experts=128, moe_intermediate_size=768,
                               recorded_elements=30532122624),
    "Qwen/Qwen3-235B-A22B": same(QWEN, family="qwen3_moe", num_hidden_layers=94, num_attention_heads=64,
                                 num_key_value_heads=4, experts=128, moe_intermediate_size=1536,
                                 recorded_elements=235093634560),
    "Qwen/Qwen3-Coder-480B-A35B-Instruct": same(QWEN, family="qwen3_moe", hidden_size=6144, num_hidden_layers=62,
                                                num_attention_heads=96, intermediate_size=8192, experts=160,
                                                moe_intermediate_size=2560, recorded_elements=480154875392),
    "mistralai/Mixtral-8x7B-Instruct-v0.1": Model("mixtral", 32000, 4096, 32, 32, 8, 128, 14336, experts=8,
                                                  recorded_tensors=995, recorded_bytes=93405585408),
    # The element count is that of a fine-tune in the same layout, alpindale/WizardLM-2-8x22B.
    "mistralai/Mixtral-8x22B-v0.1": Model("mixtral", 32000, 6144, 56, 48, 8, 128, 16384, experts=8,
                                          recorded_elements=140620634112, recorded_tensors=1739,
                                          recorded_bytes=281241268224),
    "openai/gpt-oss-20b": Model("gpt_oss", 201088, 2880, 24, 64, 8, 64, 2880, experts=32, attention_bias=True,
                                recorded_elements=21511953984, recorded_tensors=459, recorded_bytes=13761264768),
    "openai/gpt-oss-120b": Model("gpt_oss", 201088, 2880, 36, 64, 8, 64, 2880, experts=128, attention_bias=True,
                                 recorded_elements=120412337472),
}
# Block FP8 with BF16 scales. The 4B stores its tied head here, its BF16 original does not.
for name, elements in {"0.6B": 751659264, "1.7B": 2031825920, "4B": 4411646016, "8B": 8191159296,
                       "14B": 14769113600, "32B": 32764027904, "30B-A3B": 30533947392, "235B-A22B": 235107904512,
                       "Coder-480B-A35B-Instruct": 480184064000}.items():
    MODELS[f"Qwen/Qwen3-{name}-FP8"] = same(MODELS[f"Qwen/Qwen3-{name}"], fp8_scales="BF16", stores_head=True,
                                            recorded_elements=elements, recorded_tensors=0, recorded_bytes=0)
# ModelOpt's static FP8: quant_algo FP8 with kv_cache_quant_algo FP8 and lm_head left out, by hf_quant_config.json. No total
# of the Qwen3 was recorded.
for name, original, elements in [("Qwen/Qwen3-32B-FP8-Static-PerTensor", "Qwen/Qwen3-32B", 0),
                                 ("nvidia/Llama-3.1-70B-Instruct-FP8", "meta-llama/Llama-3.1-70B", 70553706496)]:
    MODELS[name] = same(MODELS[original], fp8_scales="scalar", cache_scales=True, recorded_elements=elements)


# Made-up small models of the families, for tests that hold many variants of a spec against one record. No two of their
# sizes are equal, so that one size in place of another shows, and what the published ones leave at its default differs
# from it: head_dim, biases, dense layers, a full q_proj.
SMALL = Model("llama", 1000, 640, 3, 8, 2, 96, 896)
CUTS = {
    "cut/Llama": same(SMALL, attention_bias=True, mlp_bias=True, stores_head=False),
    "cut/Qwen3": same(SMALL, family="qwen3", attention_bias=True, fp8_scales="BF16", stores_head=False),
    # Of six layers 1, 3 and 5 are MoE by decoder_sparse_step 2, but 3 is listed as dense.
    "cut/Qwen3-MoE": same(SMALL, family="qwen3_moe", num_hidden_layers=6, experts=7, moe_intermediate_size=384,
                          attention_bias=True, fp8_scales="BF16", dense_layers=(0, 2, 3, 4), stores_head=False),
    "cut/Mixtral": same(SMALL, family="mixtral", experts=7, stores_head=False),
    "cut/gpt-oss": same(SMALL, family="gpt_oss", num_hidden_layers=5, intermediate_size=384, experts=7,
                        stores_head=False),
    "cut/DeepSeek-V3": same(DEEPSEEK_V3, vocab_size=1000, hidden_size=640, num_hidden_layers=5, num_attention_heads=4,
                            intermediate_size=896, experts=6, moe_intermediate_size=384, first_dense=2,
                            shared_experts=2, recorded_elements=0),
    # With a full q_proj and without shared experts, as the code of the family also allows.
    "cut/Kimi-K2": same(DEEPSEEK_V3, vocab_size=1000, hidden_size=640, num_hidden_layers=3, num_attention_heads=5,
                        intermediate_size=896, experts=6, moe_intermediate_size=384, first_dense=1, mtp_layers=0,
                        q_rank=0, shared_experts=0, inv_freq=64, stores_head=False, recorded_elements=0),
}
# All kinds of layers, with and without hash routing, and no two sizes alike.
CUTS["cut/DeepSeek-V4"] = same(DEEPSEEK_V4, vocab_size=1000, hidden_size=640, num_hidden_layers=6, num_attention_heads=6,
                               head_dim=96, experts=7, moe_intermediate_size=384, q_rank=320, output=(3, 224),
                               index=(5, 112), ratios=(128, 4, 0, 4, 128, 0), hash_layers=3, topk=5, copies=2,
                               recorded_elements=0)
CUTS["cut/DeepSeek-V4-Base"] = same(CUTS["cut/DeepSeek-V4"], expert_formats=("fp8", "fp8"), mtp_tables=True)
# The indexer's cuts; the bare ones without prediction layers and shared experts, with a tied head.
for name, model in {"DeepSeek-V3.2": same(DEEPSEEK_V32), "GLM-5": same(GLM_5, fp8_scales="F32")}.items():
    CUTS["cut/" + name] = same(model, vocab_size=1000, hidden_size=640, num_hidden_layers=5, num_attention_heads=4,
                               intermediate_size=896, experts=6, moe_intermediate_size=384, first_dense=2,
                               shared_experts=2, q_rank=320, latent=(512, 96, 32, 160), index=(3, 112),
                               recorded_elements=0)
    if name == "GLM-5":
        CUTS["cut/GLM-5.2"] = same(CUTS["cut/GLM-5"], shared_index=(2, 4))
        CUTS["cut/GLM-5.2-early"] = same(CUTS["cut/GLM-5"], num_hidden_layers=6, shared_index=(1, 2, 4, 5))
    CUTS[f"cut/{name}-bare"] = same(CUTS["cut/" + name], mtp_layers=0, shared_experts=0, stores_head=False)


for name, family in {"Kimi-K2.5": "kimi_k25", "LongCat-Flash": "longcat_flash", "MiniMax-M3": "minimax_m3",
                     "Kimi-K3": "kimi_k3", "Hunyuan-Large": "hunyuan"}.items():
    CUTS["cut/" + name] = same(SMALL, family=family)


class Record:
    """The tensors of one checkpoint, in the order of its modules: (name, dtype, shape)."""

    def __init__(self, model):
        self.scales = model.fp8_scales
        self.rows = []

    def add(self, name, dtype, *shape):
        self.rows.append((name, dtype, shape))

    def weight(self, module, *shape):
        self.add(module + ".weight", "BF16", *shape)

    def linear(self, module, rows, columns, bias=False):
        """y = W x with W (rows, columns), under the checkpoint's quantisation."""
        if self.scales == "scalar":
            self.add(module + ".weight", "F8_E4M3", rows, columns)
            self.add(module + ".weight_scale", "F32")
            self.add(module + ".input_scale", "F32")
        elif self.scales:
            self.add(module + ".weight", "F8_E4M3", rows, columns)
            self.add(module + ".weight_scale_inv", self.scales, -(-rows // BLOCK), -(-columns // BLOCK))
        else:
            self.weight(module, rows, columns)
        if bias:
            self.add(module + ".bias", "BF16", rows)

    def swiglu(self, module, hidden, width, names=("gate_proj", "up_proj", "down_proj"), bias=False):
        gate, up, down = names
        self.linear(f"{module}.{gate}", width, hidden, bias)
        self.linear(f"{module}.{up}", width, hidden, bias)
        self.linear(f"{module}.{down}", hidden, width, bias)


def grouped_attention(record, m, module, bias=False, head_norms=False):
    h, d = m.hidden_size, m.head_dim
    record.linear(module + ".q_proj", m.num_attention_heads * d, h, bias)
    record.linear(module + ".k_proj", m.num_key_value_heads * d, h, bias)
    record.linear(module + ".v_proj", m.num_key_value_heads * d, h, bias)
    record.linear(module + ".o_proj", h, m.num_attention_heads * d, bias)
    if m.cache_scales:
        record.add(module + ".k_proj.k_scale", "F32")
        record.add(module + ".v_proj.v_scale", "F32")
    if head_norms:
        record.weight(module + ".q_norm", d)
        record.weight(module + ".k_norm", d)


def decoder(record, m, attention, feed_forward):
    """Embedding, layers with a norm before each half, final norm, head."""
    h = m.hidden_size
    record.weight("model.embed_tokens", m.vocab_size, h)
    for n in range(m.num_hidden_layers):
        layer = f"model.layers.{n}"
        record.weight(layer + ".input_layernorm", h)
        attention(layer + ".self_attn")
        record.weight(layer + ".post_attention_layernorm", h)
        feed_forward(layer, n)
    record.weight("model.norm", h)
    if m.stores_head:
        record.weight("lm_head", m.vocab_size, h)


def llama(record, m):
    decoder(record, m, lambda name: grouped_attention(record, m, name, bias=m.attention_bias),
            lambda layer, n: record.swiglu(layer + ".mlp", m.hidden_size, m.intermediate_size, bias=m.mlp_bias))


def qwen3(record, m):
    decoder(record, m, lambda name: grouped_attention(record, m, name, bias=m.attention_bias, head_norms=True),
            lambda layer, n: record.swiglu(layer + ".mlp", m.hidden_size, m.intermediate_size))


def qwen3_moe(record, m):
    def experts(layer, n):
        if n in m.dense_layers:
            record.swiglu(layer + ".mlp", m.hidden_size, m.intermediate_size)
            return
        record.weight(layer + ".mlp.gate", m.experts, m.hidden_size)
        for e in range(m.experts):
            record.swiglu(f"{layer}.mlp.experts.{e}", m.hidden_size, m.moe_intermediate_size)

    decoder(record, m, lambda name: grouped_attention(record, m, name, bias=m.attention_bias, head_norms=True),
            experts)


def mixtral(record, m):
    def experts(layer, n):
        record.weight(layer + ".block_sparse_moe.gate", m.experts, m.hidden_size)
        for e in range(m.experts):
            # w1 gates, w3 goes up, w2 goes down.
            record.swiglu(f"{layer}.block_sparse_moe.experts.{e}", m.hidden_size, m.intermediate_size,
                          ("w1", "w3", "w2"))

    decoder(record, m, lambda name: grouped_attention(record, m, name), experts)


def gpt_oss(record, m):
    h, i, e = m.hidden_size, m.intermediate_size, m.experts

    def attention(module):
        grouped_attention(record, m, module, bias=m.attention_bias)
        record.add(module + ".sinks", "BF16", m.num_attention_heads)

    def mxfp4(name, rows, columns):
        # 32 values share a scale byte and take 16 bytes, two to a byte.
        record.add(name + "_blocks", "U8", e, rows, columns // 32, 16)
        record.add(name + "_scales", "U8", e, rows, columns // 32)
        record.add(name + "_bias", "BF16", e, rows)

    def experts(layer, n):
        record.weight(layer + ".mlp.router", e, h)
        record.add(layer + ".mlp.router.bias", "BF16", e)
        mxfp4(layer + ".mlp.experts.gate_up_proj", 2 * i, h)
        mxfp4(layer + ".mlp.experts.down_proj", h, i)

    decoder(record, m, attention, experts)


def deepseek_v3(record, m):
    h, heads = m.hidden_size, m.num_attention_heads
    q_rank = m.q_rank
    kv_rank, nope, rope, v_dim = m.latent

    def indexer(module):
        heads, width = m.index
        record.linear(module + ".wq_b", heads * width, q_rank)
        record.linear(module + ".wk", width, h)
        record.add(module + ".k_norm.weight", "F32", width)
        record.add(module + ".k_norm.bias", "F32", width)
        record.weight(module + ".weights_proj", heads, h)  # stays BF16

    def latent_attention(module):
        if q_rank:
            record.linear(module + ".q_a_proj", q_rank, h)
            record.weight(module + ".q_a_layernorm", q_rank)
            record.linear(module + ".q_b_proj", heads * (nope + rope), q_rank)
        else:
            record.linear(module + ".q_proj", heads * (nope + rope), h)
        record.linear(module + ".kv_a_proj_with_mqa", kv_rank + rope, h)
        record.weight(module + ".kv_a_layernorm", kv_rank)
        record.linear(module + ".kv_b_proj", heads * (nope + v_dim), kv_rank)
        record.linear(module + ".o_proj", h, heads * v_dim)
        if m.index and int(module.split(".")[2]) not in m.shared_index:
            indexer(module + ".indexer")
        if m.inv_freq:
            record.add(module + ".rotary_emb.inv_freq", "F32", m.inv_freq)

    def feed_forward(layer, n):
        if n < m.first_dense:
            record.swiglu(layer + ".mlp", h, m.intermediate_size)
            return
        record.weight(layer + ".mlp.gate", m.experts, h)
        if m.routing_bias:
            record.add(layer + ".mlp.gate.e_score_correction_bias", "F32", m.experts)
        for e in range(m.experts):
            record.swiglu(f"{layer}.mlp.experts.{e}", h, m.moe_intermediate_size)
        if m.shared_experts:  # one network, as wide as all of them
            record.swiglu(layer + ".mlp.shared_experts", h, m.shared_experts * m.moe_intermediate_size)

    decoder(record, m, latent_attention, feed_forward)
    for n in range(m.num_hidden_layers, m.num_hidden_layers + m.mtp_layers):
        layer = f"model.layers.{n}"
        if m.mtp_tables:
            record.weight(layer + ".embed_tokens", m.vocab_size, h)
        record.weight(layer + ".enorm", h)
        record.weight(layer + ".hnorm", h)
        record.weight(layer + ".eh_proj", h, 2 * h)  # stays BF16
        record.weight(layer + ".input_layernorm", h)
        latent_attention(layer + ".self_attn")
        record.weight(layer + ".post_attention_layernorm", h)
        feed_forward(layer, n)
        record.weight(layer + ".shared_head.norm", h)
        if m.mtp_tables:
            record.weight(layer + ".shared_head.head", m.vocab_size, h)


def deepseek_v4(record, m):
    h, heads, d, rank, mix = m.hidden_size, m.num_attention_heads, m.head_dim, m.q_rank, m.copies
    groups, out = m.output

    def fp8(module, rows, columns):
        record.add(module + ".weight", "F8_E4M3", rows, columns)
        record.add(module + ".scale", "F8_E8M0", -(-rows // BLOCK), -(-columns // BLOCK))

    def expert(module, kind):
        for name, rows, columns in [("w1", m.moe_intermediate_size, h), ("w3", m.moe_intermediate_size, h),
                                    ("w2", h, m.moe_intermediate_size)]:
            module_name = f"{module}.{name}"
            if kind == "fp8":
                fp8(module_name, rows, columns)
            elif kind == "fp4":  # two values a byte, a power of two for 32
                record.add(module_name + ".weight", "I8", rows, columns // 2)
                record.add(module_name + ".scale", "F8_E8M0", rows, columns // 32)
            else:
                record.add(module_name + ".weight", "U8", rows, columns // 2)
                record.add(module_name + ".weight_scale", "F8_E4M3", rows, columns // 16)
                record.add(module_name + ".weight_scale_2", "F32")
                record.add(module_name + ".input_scale", "F32")

    def compressor(module, ratio, width):
        wide = width * (2 if ratio == 4 else 1)
        record.weight(module + ".wkv", wide, h)
        record.weight(module + ".wgate", wide, h)
        record.add(module + ".ape", "F32", ratio, wide)
        record.weight(module + ".norm", width)

    def hyper(name, mixes, scales):
        record.add(name + "_fn", "F32", mixes, mix * h)
        record.add(name + "_base", "F32", mixes)
        record.add(name + "_scale", "F32", scales)

    def layer(name, ratio, hashed, kind):
        record.weight(name + ".attn_norm", h)
        record.weight(name + ".ffn_norm", h)
        attn = name + ".attn"
        fp8(attn + ".wq_a", rank, h)
        record.weight(attn + ".q_norm", rank)
        fp8(attn + ".wq_b", heads * d, rank)
        fp8(attn + ".wkv", d, h)
        record.weight(attn + ".kv_norm", d)
        fp8(attn + ".wo_a", groups * out, heads * d // groups)
        fp8(attn + ".wo_b", h, groups * out)
        record.add(attn + ".attn_sink", "F32", heads)
        if ratio:
            compressor(attn + ".compressor", ratio, d)
        if ratio == 4:
            index_heads, width = m.index
            fp8(attn + ".indexer.wq_b", index_heads * width, rank)
            record.weight(attn + ".indexer.weights_proj", index_heads, h)
            compressor(attn + ".indexer.compressor", ratio, width)
        record.weight(name + ".ffn.gate", m.experts, h)
        if hashed:
            record.add(name + ".ffn.gate.tid2eid", "I64", m.vocab_size, m.topk)
        else:
            record.add(name + ".ffn.gate.bias", "F32", m.experts)
        for e in range(m.experts):
            expert(f"{name}.ffn.experts.{e}", kind)
        shared = m.shared_experts * m.moe_intermediate_size
        for part, rows, columns in [("w1", shared, h), ("w3", shared, h), ("w2", h, shared)]:
            fp8(f"{name}.ffn.shared_experts.{part}", rows, columns)
        hyper(name + ".hc_attn", (2 + mix) * mix, 3)
        hyper(name + ".hc_ffn", (2 + mix) * mix, 3)

    record.weight("embed", m.vocab_size, h)
    for n in range(m.num_hidden_layers):
        layer(f"layers.{n}", m.ratios[n], n < m.hash_layers, m.expert_formats[0])
    hyper("hc_head", mix, 1)
    record.weight("norm", h)
    record.weight("head", m.vocab_size, h)
    for n in range(m.mtp_layers):
        name = f"mtp.{n}"
        layer(name, 0, False, m.expert_formats[1])
        record.weight(name + ".enorm", h)
        record.weight(name + ".hnorm", h)
        fp8(name + ".e_proj", h, h)
        fp8(name + ".h_proj", h, h)
        record.weight(name + ".norm", h)
        hyper(name + ".hc_head", mix, 1)
        if m.mtp_tables:
            record.weight(name + ".emb.tok_emb", m.vocab_size, h)
            record.weight(name + ".head", m.vocab_size, h)


# Families known by made-up small records alone: each function holds its own sizes, the config that goes with them stands in
# tests/guard/cut_record_test.cc. Names are those of the releases, as engines that load them write them down.


def latent_set(record, module, h, heads, q_rank, kv_rank, nope, rope, v_dim):
    record.weight(module + ".q_a_proj", q_rank, h)
    record.weight(module + ".q_a_layernorm", q_rank)
    record.weight(module + ".q_b_proj", heads * (nope + rope), q_rank)
    record.weight(module + ".kv_a_proj_with_mqa", kv_rank + rope, h)
    record.weight(module + ".kv_a_layernorm", kv_rank)
    record.weight(module + ".kv_b_proj", heads * (nope + v_dim), kv_rank)
    record.weight(module + ".o_proj", h, heads * v_dim)


def moonvit(record, h, width, ffn, layers, patch, grid, bias):
    """The tower of Kimi's vision models: `width` of all heads together, biases and layer norms or neither."""
    def weight(module, *shape):
        record.weight(module, *shape)
        if bias:
            record.add(module + ".bias", "BF16", shape[0])

    weight("vision_tower.patch_embed.proj", h, 3, patch, patch)
    record.weight("vision_tower.patch_embed.pos_emb", *grid, h)
    for n in range(layers):
        block = f"vision_tower.encoder.blocks.{n}"
        weight(block + ".norm0", h)
        weight(block + ".norm1", h)
        weight(block + ".wqkv", 3 * width, h)
        weight(block + ".wo", h, width)
        weight(block + ".mlp.fc0", ffn, h)
        weight(block + ".mlp.fc1", h, ffn)
    weight("vision_tower.encoder.final_layernorm", h)


def kimi_k25(record, _):
    """Two layers, the first dense; experts as 4-bit integers in words of 8, a BF16 scale for 32."""
    h, vocab, experts, mi = 256, 1000, 3, 64
    record.weight("language_model.model.embed_tokens", vocab, h)
    for n in range(2):
        layer = f"language_model.model.layers.{n}"
        record.weight(layer + ".input_layernorm", h)
        latent_set(record, layer + ".self_attn", h, 4, 96, 128, 48, 16, 40)
        record.weight(layer + ".post_attention_layernorm", h)
        if n == 0:
            record.swiglu(layer + ".mlp", h, 448)
            continue
        record.weight(layer + ".mlp.gate", experts, h)
        record.add(layer + ".mlp.gate.e_score_correction_bias", "F32", experts)
        for e in range(experts):
            for name, rows, columns in [("gate_proj", mi, h), ("up_proj", mi, h), ("down_proj", h, mi)]:
                module = f"{layer}.mlp.experts.{e}.{name}"
                record.add(module + ".weight_packed", "I32", rows, columns // 8)
                record.add(module + ".weight_scale", "BF16", rows, columns // 32)
                record.add(module + ".weight_shape", "I32", 2)
        record.swiglu(layer + ".mlp.shared_experts", h, mi)
    record.weight("language_model.model.norm", h)
    record.weight("language_model.lm_head", vocab, h)
    moonvit(record, 72, 72, 100, 2, 14, (5, 6), True)
    for name, rows, columns in [("proj.0", 288, 288), ("proj.2", h, 288)]:
        record.weight("mm_projector." + name, rows, columns)
        record.add(f"mm_projector.{name}.bias", "BF16", rows)
    record.weight("mm_projector.pre_norm", 72)
    record.add("mm_projector.pre_norm.bias", "BF16", 72)


def longcat_flash(record, _):
    """Two layers of two attentions, 4 experts and 2 that compute nothing, one prediction layer."""
    h, vocab, ffn = 96, 500, 160
    latent = (h, 4, 24, 40, 12, 8, 20)
    record.weight("model.embed_tokens", vocab, h)
    for n in range(2):
        layer = f"model.layers.{n}"
        for j in range(2):
            record.weight(f"{layer}.input_layernorm.{j}", h)
            record.weight(f"{layer}.post_attention_layernorm.{j}", h)
            latent_set(record, f"{layer}.self_attn.{j}", *latent)
            record.swiglu(f"{layer}.mlps.{j}", h, ffn)
        record.weight(layer + ".mlp.router.classifier", 6, h)
        record.add(layer + ".mlp.router.e_score_correction_bias", "F32", 6)
        for e in range(4):
            record.swiglu(f"{layer}.mlp.experts.{e}", h, 48)
    record.weight("model.norm", h)
    record.weight("lm_head", vocab, h)
    mtp = "model.mtp.layers.0"
    record.weight("model.mtp.embed_tokens", vocab, h)
    record.weight(mtp + ".enorm.m", h)
    record.weight(mtp + ".hnorm.m", h)
    record.weight(mtp + ".eh_proj", h, 2 * h)
    record.weight(mtp + ".input_layernorm", h)
    record.weight(mtp + ".post_attention_layernorm", h)
    latent_set(record, mtp + ".self_attn", *latent)
    record.swiglu(mtp + ".transformer_layer.mlp", h, ffn)
    record.weight("model.mtp.norm", h)


def minimax_m3(record, _):
    """A dense layer that sees everything, two over chosen blocks with experts; a tower of one layer."""
    h, vocab, experts, mi = 96, 500, 3, 40
    record.weight("language_model.model.embed_tokens", vocab, h)
    for n in range(3):
        layer = f"language_model.model.layers.{n}"
        record.weight(layer + ".input_layernorm", h)
        record.weight(layer + ".post_attention_layernorm", h)
        for name, rows, columns in [("q", 6 * 32, h), ("k", 2 * 32, h), ("v", 2 * 32, h), ("o", h, 6 * 32)]:
            record.weight(f"{layer}.self_attn.{name}_proj", rows, columns)
        record.weight(layer + ".self_attn.q_norm", 32)
        record.weight(layer + ".self_attn.k_norm", 32)
        if n == 0:
            record.swiglu(layer + ".mlp", h, 128)
            continue
        record.weight(layer + ".self_attn.index_q_proj", 2 * 24, h)
        record.weight(layer + ".self_attn.index_k_proj", 24, h)
        record.weight(layer + ".self_attn.index_q_norm", 24)
        record.weight(layer + ".self_attn.index_k_norm", 24)
        moe = layer + ".block_sparse_moe"
        record.weight(moe + ".gate", experts, h)
        record.add(moe + ".e_score_correction_bias", "F32", experts)
        for e in range(experts):
            record.swiglu(f"{moe}.experts.{e}", h, mi, ("w1", "w3", "w2"))
        record.swiglu(moe + ".shared_experts", h, 56)
    record.weight("language_model.model.norm", h)
    record.weight("language_model.lm_head", vocab, h)

    def biased(module, *shape):
        record.weight(module, *shape)
        record.add(module + ".bias", "BF16", shape[0])

    tower = "vision_tower.vision_model"
    record.weight(tower + ".embeddings.patch_embedding", 20, 3, 2, 7, 7)
    biased(tower + ".pre_layrnorm", 20)
    layer = tower + ".encoder.layers.0"
    for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
        biased(f"{layer}.self_attn.{name}", 20, 20)
    biased(layer + ".layer_norm1", 20)
    biased(layer + ".layer_norm2", 20)
    biased(layer + ".mlp.fc1", 36, 20)
    biased(layer + ".mlp.fc2", 20, 36)
    biased("multi_modal_projector.linear_1", 44, 20)
    biased("multi_modal_projector.linear_2", h, 44)
    biased("patch_merge_mlp.linear_1", 44, 4 * h)
    biased("patch_merge_mlp.linear_2", h, 44)


def kimi_k3(record, _):
    """Five layers: delta attention but for the fourth and the last, the first dense, experts on a latent of 64."""
    h, vocab, experts, latent, mi = 160, 1000, 3, 64, 96
    heads, width = 3, 32
    record.weight("language_model.model.embed_tokens", vocab, h)
    for n in range(5):
        layer = f"language_model.model.layers.{n}"
        record.weight(layer + ".input_layernorm", h)
        record.weight(layer + ".post_attention_layernorm", h)
        for name in ("self_attention_res", "mlp_res"):
            record.weight(f"{layer}.{name}_norm", h)
            record.weight(f"{layer}.{name}_proj", 1, h)
        a = layer + ".self_attn"
        if n in (3, 4):
            latent_set(record, a, h, 3, 48, 40, 24, 8, 20)
            record.weight(a + ".g_proj", 3 * 20, h)
        else:
            inner = heads * width
            for name in "qkv":
                record.weight(f"{a}.{name}_proj", inner, h)
                record.weight(f"{a}.{name}_conv1d", inner, 1, 4)
            record.weight(a + ".f_a_proj", width, h)
            record.weight(a + ".f_b_proj", inner, width)
            record.weight(a + ".b_proj", heads, h)
            record.add(a + ".A_log", "F32", width)  # padded: only the first three are used
            record.add(a + ".dt_bias", "F32", inner)
            record.weight(a + ".o_norm", width)
            record.weight(a + ".g_proj", inner, h)
            record.weight(a + ".o_proj", h, inner)
        if n == 0:
            record.swiglu(layer + ".mlp", h, 448)
            continue
        moe = layer + ".block_sparse_moe"
        record.weight(moe + ".gate", experts, h)
        record.add(moe + ".gate.e_score_correction_bias", "F32", experts)
        record.weight(moe + ".routed_expert_down_proj", latent, h)
        record.weight(moe + ".routed_expert_norm", latent)
        record.weight(moe + ".routed_expert_up_proj", h, latent)
        for e in range(experts):
            for name, rows, columns in [("w1", mi, latent), ("w3", mi, latent), ("w2", latent, mi)]:
                record.add(f"{moe}.experts.{e}.{name}.weight_packed", "U8", rows, columns // 2)
                record.add(f"{moe}.experts.{e}.{name}.weight_scale", "U8", rows, columns // 32)
        record.swiglu(moe + ".shared_experts", h, 2 * mi)
    record.weight("language_model.model.output_attn_res_norm", h)
    record.weight("language_model.model.output_attn_res_proj", 1, h)
    record.weight("language_model.model.norm", h)
    record.weight("language_model.lm_head", vocab, h)
    moonvit(record, 48, 60, 100, 2, 14, (5, 6), False)
    record.weight("mm_projector.proj.0", 192, 192)
    record.weight("mm_projector.proj.2", h, 192)
    record.weight("mm_projector.post_norm", h)


def hunyuan(record, _):
    """Four layers of which the second and the fourth read the one before; two experts and a shared network."""
    h, vocab = 96, 500
    record.weight("model.embed_tokens", vocab, h)
    for n in range(4):
        layer = f"model.layers.{n}"
        record.weight(layer + ".input_layernorm", h)
        record.weight(layer + ".post_attention_layernorm", h)
        for name, rows, columns in [("q", 96, h), ("k", 32, h), ("v", 32, h), ("o", h, 96)]:
            if n % 2 == 0 or name in "qo":
                record.weight(f"{layer}.self_attn.{name}_proj", rows, columns)
        record.weight(layer + ".self_attn.query_layernorm", 16)
        record.weight(layer + ".self_attn.key_layernorm", 16)
        record.weight(layer + ".mlp.gate.wg", 2, h)
        for e in range(2):
            record.swiglu(f"{layer}.mlp.experts.{e}", h, 72)
        record.swiglu(layer + ".mlp.shared_mlp", h, 80)
    record.weight("model.norm", h)


FAMILIES = {"llama": llama, "qwen3": qwen3, "qwen3_moe": qwen3_moe, "mixtral": mixtral, "gpt_oss": gpt_oss,
            "deepseek_v3": deepseek_v3, "deepseek_v4": deepseek_v4,
            "kimi_k25": kimi_k25, "longcat_flash": longcat_flash, "minimax_m3": minimax_m3, "kimi_k3": kimi_k3,
            "hunyuan": hunyuan}


def rows_of(model):
    record = Record(model)
    FAMILIES[model.family](record, model)
    return record.rows


def size_of(row):
    _, dtype, shape = row
    return BYTES[dtype] * prod(shape)


def hub_elements(rows):
    """The hub's count: a scalar counts nothing, a byte of MXFP4 blocks counts twice for its two values."""
    return sum(prod(shape) * (2 if name.endswith("_blocks") else 1) for name, _, shape in rows if shape)


def table(rows):
    lines = ["name\tdtype\tshape\tbytes\tshard"]
    for row in rows:
        name, dtype, shape = row
        lines.append(f"{name}\t{dtype}\t{'x'.join(map(str, shape)) or 'scalar'}\t{size_of(row)}\t")
    return "\n".join(lines) + "\n"


def read_table(path):
    if path.endswith(".zst"):
        text = subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout.decode()
    else:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    return {line.split("\t")[0]: tuple(line.split("\t")[1:4]) for line in text.splitlines()[1:]}


def header(rows):
    """The first bytes of a safetensors file: length, then JSON padded with spaces to a multiple of 8."""
    entries, offset = {"__metadata__": {"format": "pt"}}, 0
    for row in rows:
        name, dtype, shape = row
        end = offset + size_of(row)
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text, offset


class Checker:
    def __init__(self):
        self.failed = 0

    def equal(self, what, got, expected):
        if got != expected:
            self.failed += 1
            print(f"{what} is {got:,}; expected {expected:,}")


def check_deepseek_v3(checker, rows):
    """To the byte, each figure derived apart from the code above.

    stored      one byte each for 680,571,043,840 F8 elements, two for 3,918,786,560 in BF16, four for 41,555,600 in
                F32: 680,571,043,840 + 7,837,573,120 + 166,222,400
    one expert  its index in 58 layers: 58 * (3*2048*7168 + 3*(2048/128)*(7168/128)*4) = 58 * 44,050,944
    """
    what = "DeepSeek-V3: "
    checker.equal(what + "tensors", len(rows), 91991)
    for dtype, elements in {"F8_E4M3": 680571043840, "BF16": 3918786560, "F32": 41555600}.items():
        checker.equal(what + dtype + " elements", sum(prod(s) for _, d, s in rows if d == dtype), elements)
    mtp = sum(size_of(row) for row in rows if row[0].startswith("model.layers.61."))
    main = [row for row in rows if not row[0].startswith("model.layers.61.")]
    checker.equal(what + "stored bytes", sum(map(size_of, rows)), 688574839360)
    checker.equal(what + "bytes without MTP", sum(map(size_of, main)), 673150611808)
    checker.equal(what + "bytes of MTP", mtp, 15424227552)
    for e in (0, 137, 255):
        checker.equal(f"{what}bytes of routed expert {e}",
                      sum(size_of(row) for row in main if f".mlp.experts.{e}." in row[0]), 2554954752)
    checker.equal(what + "bytes without MTP and routed experts",
                  sum(size_of(row) for row in main if ".mlp.experts." not in row[0]), 19082195296)


def check():
    checker = Checker()
    cached = {}
    print(f"{'id':42} {'tensors':>8} {'hub elements':>17} {'bytes':>17}")
    for model_id, model in MODELS.items():
        rows = cached.setdefault(model, None) or rows_of(model)
        cached[model] = rows
        total = sum(map(size_of, rows))
        print(f"{model_id:42} {len(rows):8} {hub_elements(rows):17,} {total:17,}")
        checker.equal(f"{model_id}: different names", len({row[0] for row in rows}), len(rows))
        if model.recorded_elements:
            checker.equal(f"{model_id}: hub elements", hub_elements(rows), model.recorded_elements)
        if model.recorded_tensors:
            checker.equal(f"{model_id}: tensors", len(rows), model.recorded_tensors)
        if model.recorded_bytes:
            checker.equal(f"{model_id}: bytes", total, model.recorded_bytes)
    check_deepseek_v3(checker, rows_of(DEEPSEEK_V3))
    rows = rows_of(DEEPSEEK_V32)
    for dtype, elements in {"F8_E4M3": 681408069632, "BF16": 3947229184, "F32": 41622560}.items():
        checker.equal(f"DeepSeek-V3.2: {dtype} elements", sum(prod(s) for _, d, s in rows if d == dtype), elements)
    rows = rows_of(DEEPSEEK_V4)
    for dtype, elements in {"I8": 141733920768, "F8_E8M0": 8858737664, "F8_E4M3": 6023020544, "BF16": 1415259264,
                            "F32": 36168018, "I64": 2327040}.items():
        checker.equal(f"DeepSeek-V4-Flash: {dtype} elements", sum(prod(s) for _, d, s in rows if d == dtype), elements)
    # gpt-oss-120b as stored, before the hub's second count of block bytes.
    rows = rows_of(MODELS["openai/gpt-oss-120b"])
    for ending, elements in {"_blocks": 57330892800, "_scales": 3583180800}.items():
        checker.equal("gpt-oss-120b: bytes of " + ending, sum(size_of(r) for r in rows if r[0].endswith(ending)),
                      elements)
    checker.equal("gpt-oss-120b: BF16 elements", sum(prod(s) for _, d, s in rows if d == "BF16"), 2167371072)
    print(f"{checker.failed} differences" if checker.failed else "all totals as recorded")
    return 1 if checker.failed else 0


def compare(model_id, path):
    ours = {name: (dtype, "x".join(map(str, shape)) or "scalar", str(size_of((name, dtype, shape))))
            for name, dtype, shape in rows_of(MODELS[model_id])}
    theirs = read_table(path)
    differences = [f"{name}: {ours.get(name, 'missing here')} here, {theirs.get(name, 'missing there')} there"
                   for name in sorted(ours.keys() | theirs.keys()) if ours.get(name) != theirs.get(name)]
    for line in differences[:20]:
        print(line)
    print(f"{len(ours)} tensors here, {len(theirs)} there, {len(differences)} differences")
    return 1 if differences else 0


def write_tables(folder, ids):
    os.makedirs(folder, exist_ok=True)
    models = {**MODELS, **CUTS}
    for model_id in ids or models:
        path = os.path.join(folder, model_id.replace("/", "--") + ".tsv")
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(table(rows_of(models[model_id])))
        os.replace(path + ".new", path)


def write_header(model_id, path, sparse):
    head, data_bytes = header(rows_of(MODELS[model_id]))
    with open(path, "wb") as file:
        file.write(head)
        if sparse:
            file.truncate(len(head) + data_bytes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check")
    commands.add_parser("list")
    for command, arguments in {"tsv": ["id"], "header": ["id", "file"], "compare": ["id", "file"]}.items():
        sub = commands.add_parser(command)
        for argument in arguments:
            sub.add_argument(argument, **({"choices": MODELS, "metavar": "ID"} if argument == "id" else {}))
        if command == "header":
            sub.add_argument("--sparse", action="store_true")
    tables = commands.add_parser("tables")
    tables.add_argument("folder")
    tables.add_argument("ids", nargs="*", metavar="ID")
    args = parser.parse_args()
    if args.command == "check":
        return check()
    if args.command == "list":
        print("\n".join(MODELS))
    elif args.command == "tsv":
        sys.stdout.write(table(rows_of(MODELS[args.id])))
    elif args.command == "tables":
        unknown = [model_id for model_id in args.ids if model_id not in MODELS and model_id not in CUTS]
        if unknown:
            parser.error("unknown id " + ", ".join(unknown))
        write_tables(args.folder, args.ids)
    elif args.command == "header":
        write_header(args.id, args.file, args.sparse)
    elif args.command == "compare":
        return compare(args.id, args.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
