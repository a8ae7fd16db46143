// Every snapshot against the specs: which are verified, at which level, and why the others are not.
//
// The numbers are not this program's: data bytes are metadata.total_size of the published index, elements the
// hub's recorded totals (the catalogue, and the fact sheets' checks), file bytes the sizes in the Git LFS
// pointers. The tables name every snapshot, so that one added without an expectation fails.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/int128.h"
#include "guard/support.h"
#include "truth/snapshot.h"

namespace archlight::guard::testing {
namespace {

using base::Int128;
using base::with_commas;

struct Described {
  const char* name;
  const char* level;
  const char* verdict;
  // header, index: data bytes; count: elements; config: bytes of the files, 0 where not even these are known.
  int64_t published;
  const char* why = "";  // of those that neither verify nor agree
};

const Described kDescribed[] = {
    {"01-ai--Yi-1.5-6B-Chat.slerp", "index", "verified", 12122071040},
    {"BAAI--bge-large-zh-v1.5", "config", "agrees", 1302138752},
    {"ByteDance-Seed--UI-TARS-1.5-7B", "index", "verified", 33168666624},
    {"DAMO-NLP-SG--VideoLLaMA3-7B.CogStream", "index", "verified", 16089489888},
    {"EleutherAI--pythia-410m.seqcls3", "config", "agrees", 1415337224},
    {"FreedomIntelligence--openPangu-Embedded-7B", "index", "verified", 16061784576},
    {"HuggingFaceH4--zephyr-7b-beta", "index", "verified", 14483464192},
    {"MBZUAI--AIN.fp32", "index", "verified", 33165502464},
    {"MiniMaxAI--MiniMax-M1", "index", "verified", 912210767872},
    {"MiniMaxAI--MiniMax-M2.5", "count", "agrees", 228703644928},
    {"MiniMaxAI--MiniMax-M2.7", "count", "agrees", 228703644928},
    {"OpenAssistant--oasst-rm-2.1-pythia-1.4b", "index", "verified", 5246377988},
    {"OpenAssistant--oasst-rm-2.1-pythia-1.4b-epoch-2.5", "index", "verified", 5246377988},
    {"Orenguteng--Lexi-Llama-3-8B-Uncensored.odd-total", "index", "wrong", 17671135232,
     "16,060,522,496 by the spec, 1,610,612,736 fewer"},
    {"Qwen--Qwen-72B", "index", "verified", 144575840256},
    {"Qwen--Qwen-7B", "index", "verified", 15442649088},
    {"Qwen--Qwen-7B-Chat-Int4", "index", "verified", 5860564992},
    {"Qwen--Qwen-VL-Chat-Int4", "index", "verified", 9731786240},
    {"Qwen--Qwen1.5-14B-Chat.finetune", "index", "verified", 28334581760},
    {"Qwen--Qwen2.5-0.5B.fp16", "config", "agrees", 988097536},
    {"Qwen--Qwen2.5-3B", "index", "verified", 6171877376},
    {"Qwen--Qwen2.5-VL-7B-Instruct", "index", "verified", 16584333312},
    {"Qwen--Qwen3-0.6B", "header", "verified", 1503264768},
    {"Qwen--Qwen3-1.7B", "count", "agrees", 2031739904},
    {"Qwen--Qwen3-14B", "count", "agrees", 14768307200},
    {"Qwen--Qwen3-235B-A22B", "count", "agrees", 235093634560},
    {"Qwen--Qwen3-235B-A22B-FP8", "count", "agrees", 235107904512},
    {"Qwen--Qwen3-30B-A3B", "count", "agrees", 30532122624},
    {"Qwen--Qwen3-30B-A3B-FP8", "count", "agrees", 30533947392},
    {"Qwen--Qwen3-32B", "count", "agrees", 32762123264},
    {"Qwen--Qwen3-32B-FP8", "count", "agrees", 32764027904},
    {"Qwen--Qwen3-32B-FP8-Static-PerTensor", "config", "not verifiable", 0},
    {"Qwen--Qwen3-4B", "count", "agrees", 4022468096},
    {"Qwen--Qwen3-4B.resized-vocab", "index", "verified", 8043569152},
    {"Qwen--Qwen3-8B", "count", "agrees", 8190735360},
    {"Qwen--Qwen3-Coder-480B-A35B-Instruct", "count", "agrees", 480154875392},
    {"Qwen--Qwen3-Next-80B-A3B-Instruct", "count", "agrees", 81324862720},
    {"Qwen--Qwen3-VL-235B-A22B-Instruct", "count", "agrees", 235670022896},
    {"Qwen--Qwen3-VL-2B-Instruct", "count", "agrees", 2127532032},
    {"Qwen--Qwen3-VL-30B-A3B-Instruct", "count", "agrees", 31070754032},
    {"Qwen--Qwen3-VL-32B-Instruct", "count", "agrees", 33357390064},
    {"Qwen--Qwen3-VL-32B-Thinking", "count", "agrees", 33357390064},
    {"Qwen--Qwen3-VL-4B-Instruct", "count", "agrees", 4437815808},
    {"Qwen--Qwen3-VL-8B-Instruct", "count", "agrees", 8767123696},
    {"Qwen--Qwen3.5-122B-A10B", "count", "agrees", 125086497008},
    {"Qwen--Qwen3.5-27B", "count", "agrees", 27781427952},
    {"Qwen--Qwen3.5-27B.subset", "header", "not verifiable", 0},
    {"Qwen--Qwen3.5-35B-A3B", "count", "agrees", 35951822704},
    {"Qwen--Qwen3.5-35B-A3B.REAP-25B", "index", "verified", 50182743296},
    {"Qwen--Qwen3.5-397B-A17B", "count", "agrees", 403397928944},
    {"SakuraLLM--Sakura-14B-Qwen2.5-v1.0", "index", "verified", 29540067328},
    {"Salesforce--xgen-mm-phi3-mini-instruct-interleave-r-v1.5", "index", "verified", 17437028876},
    {"SeaLLMs--SeaLLMs-v3-7B-Chat", "index", "verified", 15231233024},
    {"THUDM--chatglm3-6b", "index", "verified", 12487168064},
    {"TehVenom--Pygmalion-7b-Merged-Safetensors", "index", "verified", 13476835328},
    {"TheBloke--Genz-70b-GPTQ", "config", "agrees", 26774982616},
    {"TheBloke--Llama-2-7B-fp16.fp32-resave", "index", "verified", 26953670656},
    {"TheBloke--MythoMax-L2-13B-GPTQ", "config", "agrees", 7259435192},
    {"TheBloke--Wizard-Vicuna-30B-Uncensored-GPTQ", "config", "agrees", 16940128464},
    {"TheBloke--wizard-mega-13B-GPTQ", "config", "agrees", 7454797240},
    {"TinyLlama--TinyLlama-1.1B-Chat-v1.0.single-shard-index", "index", "verified", 2200096768},
    {"XiaomiMiMo--MiMo-7B", "index", "verified", 15666819072},
    {"XiaomiMiMo--MiMo-7B-Base", "config", "not verifiable", 0},
    {"XiaomiMiMo--MiMo-V2-Flash", "config", "not verifiable", 0},
    {"Youssofal--Qwen3.8-27B-MTPLX-Optimized-Speed", "index", "verified", 20444027360},
    {"adept--fuyu-8b", "index", "verified", 18816477184},
    {"allenai--Molmo-7B-D-0924.nf4", "index", "agrees", 6661964712},
    {"allenai--olmOCR-7B-0225-preview", "index", "verified", 16582751232},
    {"ascend-tribe--openPangu-Embedded-7B", "index", "verified", 16061784576},
    {"bigscience--bloom", "index", "verified", 352494542848},
    {"bigscience--bloom-560m", "config", "agrees", 1118459450},
    {"bryce-hoehn--Qwen3.5-25B-REAP-A3B-Coding", "index", "verified", 50182743296},
    {"canopylabs--orpheus-3b-0.1-ft.nf4", "config", "agrees", 2456339440},
    {"canopylabs--orpheus-3b.fp32", "index", "verified", 13203468288},
    {"cognitivecomputations--Dolphin3.0-R1-Mistral-24B", "index", "verified", 47144847360},
    {"cognitivecomputations--dolphin-mixtral-8x7b", "index", "verified", 93405618176},
    {"cyankiwi--gemma-4-26B-A4B-it-AWQ-4bit", "index", "wrong", 17191252228,
     "17,186,571,212 by the spec, 4,681,016 fewer"},  // its total was summed from file sizes, headers included
    {"deepseek-ai--DeepSeek-OCR", "index", "verified", 6672212480},
    {"deepseek-ai--DeepSeek-OCR.fp32", "index", "verified", 13344427016},
    {"deepseek-ai--DeepSeek-R1", "count", "agrees", 684531386000},
    {"deepseek-ai--DeepSeek-V2-Lite", "count", "agrees", 15706484224},
    {"deepseek-ai--DeepSeek-V3", "count", "agrees", 684531386000},
    {"deepseek-ai--DeepSeek-V3.2", "count", "agrees", 685396921376},
    {"deepseek-ai--DeepSeek-V4-Flash", "count", "agrees", 158069433298},
    {"deepseek-ai--DeepSeek-V4-Pro", "count", "agrees", 861608274846},
    {"facebook--nllb-200-distilled-1.3B.sonar", "index", "verified", 5482553344},
    {"facebook--seamless-m4t-v2-large", "index", "verified", 9236998676},
    {"fishaudio--s2-pro", "index", "verified", 9123704832},
    {"google--gemma-2b", "index", "verified", 5012344832},
    {"google--gemma-2b-it", "index", "verified", 5012344832},
    {"google--gemma-3-4b-it.text-only", "index", "verified", 7760526336},
    {"google--gemma-4-26B-A4B", "count", "agrees", 26544131376},
    {"google--gemma-4-31B-it", "index", "verified", 62546177752},
    {"google--gemma-4-E2B", "count", "agrees", 5123178051},
    {"google--gemma-4-E2B-it", "header", "verified", 10246357958},
    {"google--gemma-4-E4B", "count", "agrees", 7996156490},
    {"google--gemma-4-E4B-it", "count", "agrees", 7996156490},
    {"google--paligemma-3b-pt-224", "index", "verified", 11693865920},
    {"google--t5-v1_1-xxl.encoder", "index", "verified", 9524621312},
    // The hub counts 5,596,853,760 parameters of two bytes, as the spec does; 256 rows of 2304 are over.
    {"google--t5gemma-2b-2b", "index", "wrong", 11194887168, "11,193,707,520 by the spec, 1,179,648 fewer"},
    {"ibm-granite--granite-3.1-1b-a400m-instruct", "index", "verified", 5338513408},
    {"ibm-granite--granite-3b-code-instruct-128k", "index", "verified", 6965007360},
    {"ibm-granite--granite-docling-258M", "config", "agrees", 515093104},
    {"instructlab--granite-7b-lab", "index", "verified", 13476962304},
    {"internlm--internlm-20b", "index", "verified", 40177428480},
    {"internlm--internlm2-chat-1_8b", "index", "verified", 3778220032},
    {"intfloat--multilingual-e5-small", "config", "agrees", 470641600},
    {"kleberbaum--Pygmalion-7b-Merged", "index", "verified", 13476835328},
    {"liuhaotian--llava-v1.5-7b", "index", "verified", 13518798848},
    {"lizpreciatior--lzlv_70b_fp16_hf", "index", "not verifiable", 0,
     "the index records no total_size: names are checked, sizes are not"},
    {"lmstudio-community--Qwen3-1.7B-MLX-bf16", "index", "verified", 3441149952},
    {"lmstudio-community--Qwen3-14B-4bit", "index", "verified", 8307783680},
    {"lmstudio-community--Qwen3-14B-MLX-4bit", "index", "verified", 8307783680},
    {"mattshumer--Reflection-Llama-3.1-70B", "index", "verified", 282215219200},
    {"meta-llama--Llama-2-70b-chat-hf", "index", "verified", 137953316864},
    {"meta-llama--Llama-2-7b-hf.merged", "index", "verified", 13476831232},
    {"meta-llama--Llama-3.1-405B", "count", "agrees", 405853388800},
    {"meta-llama--Llama-3.1-70B", "count", "agrees", 70553706496},
    {"meta-llama--Llama-3.1-8B", "count", "agrees", 8030261248},
    {"meta-llama--Llama-3.1-8B-Instruct.bnb-int8", "index", "verified", 9086705888},
    {"meta-llama--Llama-3.2-1B", "count", "agrees", 1235814400},
    {"meta-llama--Llama-3.2-1B-Instruct", "count", "agrees", 1235814400},
    {"meta-llama--Llama-3.2-3B.one-tensor-per-shard", "index", "verified", 6425499648},
    {"meta-llama--Llama-4-Maverick-17B-128E-Instruct", "count", "agrees", 401583781376},
    {"meta-llama--Llama-4-Scout-17B-16E-Instruct", "count", "agrees", 108641793536},
    {"meta-llama--Meta-Llama-3-8B-Instruct.chinese-fp16", "index", "verified", 16060522496},
    {"meta-llama--Meta-Llama-3.1-405B", "count", "agrees", 405853388800},
    {"meta-llama--Meta-Llama-3.1-70B", "count", "agrees", 70553706496},
    {"meta-llama--Meta-Llama-3.1-8B", "count", "agrees", 8030261248},
    {"microsoft--DialoGPT-medium.fp16", "config", "agrees", 709676376},
    {"microsoft--Phi-3-mini-128k-instruct", "index", "verified", 7642159104},
    {"microsoft--Phi-3-mini-4k-instruct.39-shards", "index", "verified", 7642159104},
    {"microsoft--WizardLM-2-8x22B", "index", "verified", 281241268224},
    {"microsoft--phi-2.fp32-finetune", "index", "verified", 11100197340},
    {"microsoft--phi-2.mixformer", "index", "verified", 11118735360},
    {"mistralai--Mistral-7B-Instruct-v0.1.fp16-finetune", "index", "verified", 14483464192},
    {"mistralai--Mistral-7B-Instruct-v0.3.consolidated", "config", "agrees", 14496078512},
    {"mistralai--Mixtral-8x22B-v0.1", "config", "not verifiable", 0},
    {"mistralai--Mixtral-8x7B-Instruct-v0.1", "index", "verified", 93405585408},
    {"mistralai--Mixtral-8x7B-v0.1", "config", "not verifiable", 0},
    {"mlx--Mistral-Small-4-119B-2603-4bit", "index", "verified", 66949842944},
    {"mlx-community--Qwen2.5-14B-Instruct-3bit", "index", "verified", 6463203328},
    {"moonshotai--Kimi-K2-Instruct", "count", "agrees", 1026470731056},
    {"moonshotai--Kimi-K2.5", "count", "agrees", 1058589420528},
    // Released after the catalogue: no total is recorded that it could be held against.
    {"moonshotai--Kimi-K3", "config", "not verifiable", 0},
    {"nvidia--DeepSeek-V3.1-NVFP4", "count", "agrees", 393632819968},
    {"nvidia--DeepSeek-V3.2-NVFP4", "count", "agrees", 394498304256},
    {"nvidia--DeepSeek-V4-Flash-NVFP4", "count", "agrees", 166726476754},
    {"nvidia--DeepSeek-V4-Pro-NVFP4", "count", "agrees", 909964405662},
    {"nvidia--GLM-5-NVFP4", "count", "agrees", 435238854912},
    {"nvidia--GLM-5.1-NVFP4", "count", "agrees", 381523333632},
    {"nvidia--GLM-5.2-NVFP4", "config", "not verifiable", 0},
    {"nvidia--Gemma-4-26B-A4B-NVFP4", "count", "agrees", 14386941232},
    {"nvidia--Gemma-4-31B-IT-NVFP4", "count", "agrees", 20868591152},
    {"nvidia--Llama-3.1-70B-Instruct-FP8", "count", "agrees", 70553706496},
    {"nvidia--Llama-3_3-Nemotron-Super-49B-v1", "count", "agrees", 49867145216},
    {"nvidia--Kimi-K2.5-NVFP4", "config", "not verifiable", 0},
    {"nvidia--Kimi-K2.6-NVFP4", "config", "not verifiable", 0},
    {"nvidia--Kimi-K2.7-Code-NVFP4", "config", "not verifiable", 0},
    {"nvidia--LocateAnything-3B", "index", "verified", 7661331936},
    {"nvidia--MiniMax-M2.5-NVFP4", "count", "agrees", 116349510656},
    {"nvidia--MiniMax-M2.7-NVFP4", "count", "agrees", 116349510656},
    {"nvidia--MiniMax-M3-NVFP4", "config", "not verifiable", 0},
    {"nvidia--NV-Embed-v2", "index", "verified", 15702032384},
    {"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "count", "agrees", 31577937344},
    {"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4", "count", "agrees", 18237772608},
    {"nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8", "count", "agrees", 123611012096},
    {"nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", "count", "not verifiable", 67228556288,
     "hf_quant_config.json declares scheme nvfp4 and does not say for which modules"},
    {"nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", "count", "agrees", 560524578816},
    {"nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-FP8", "config", "not verifiable", 0},
    {"nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-NVFP4", "count", "not verifiable", 335038821080,
     "hf_quant_config.json declares scheme nvfp4 and does not say for which modules"},
    {"nvidia--NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4", "config", "not verifiable", 0},
    {"nvidia--Nemotron-H-56B-Base-8K", "count", "agrees", 56324350464},
    {"nvidia--OpenMath-CodeLlama-13b-Python-hf", "index", "verified", 26031728640},
    {"nvidia--Qwen3-235B-A22B-NVFP4", "count", "agrees", 132806618624},
    {"nvidia--Qwen3.5-122B-A10B-NVFP4", "count", "agrees", 64580759280},
    {"nvidia--Qwen3.5-397B-A17B-NVFP4", "config", "not verifiable", 0},
    {"nvidia--Qwen3.6-27B-NVFP4", "config", "not verifiable", 0},
    {"nvidia--Qwen3.6-35B-A3B-NVFP4", "count", "agrees", 18683860336},
    {"openai--gpt-oss-120b", "count", "agrees", 120412337472},
    {"openai--gpt-oss-20b", "index", "verified", 13761264768},
    // The index's total is that of an F32 upstream; the seven files hold half of it, which is what the spec says.
    {"openbmb--MiniCPM-Llama3-V-2_5.fp16", "index", "agrees", 34148369344},
    {"openbmb--MiniCPM-V-2", "index", "verified", 6869931584},
    {"openbmb--Scicore-Omics", "index", "wrong", 16383087296,
     "tensor 'gene_projector.proj.0.bias' is claimed by no leaf of the spec"},
    {"prithivMLmods--Triangulum-10B", "index", "verified", 20611307520},
    {"segolilylabs--Lily-Cybersecurity-7B-v0.2", "index", "verified", 28966928384},
    {"semcoder--SemCoder-6.7B", "index", "verified", 13481025536},
    {"sgl-project--DeepSeek-V4-Flash-FP8", "config", "not verifiable", 0},
    {"sgl-project--DeepSeek-V4-Pro-FP8", "config", "not verifiable", 0},
    {"stepfun-ai--Step-3.7-Flash", "count", "agrees", 201365316160},
    {"stepfun-ai--Step-3.7-Flash-FP8", "count", "agrees", 201376928320},
    {"taide--Llama-3.1-TAIDE-LX-8B-Chat", "index", "verified", 17043562496},
    {"taide--Llama3-TAIDE-LX-8B-Chat", "index", "verified", 17043562496},
    {"tiiuae--falcon-180B-chat", "index", "verified", 359045130240},
    // The writer counted each of 32 masks of 2048*2048 BOOL as an eighth of its 4194304 bytes.
    {"togethercomputer--RedPajama-INCITE-7B-Base", "index", "verified", 13731385408},
    {"yanolja--EEVE-Korean-Instruct-10.8B.fp32", "index", "verified", 43219697664},
    {"zai-org--GLM-5", "count", "agrees", 753864139008},
    {"zai-org--GLM-5-FP8", "count", "agrees", 753910024032},
    {"zai-org--GLM-5.1", "count", "agrees", 753864139008},
    {"zai-org--GLM-5.1-FP8", "count", "agrees", 753910024032},
    {"zai-org--GLM-5.2", "count", "agrees", 753329940480},
    {"zai-org--GLM-5.2-FP8", "count", "agrees", 753375793584},
    {"zai-org--chatglm3-6b", "index", "verified", 12487168064},
};

struct Refused {
  const char* name;
  const char* architecture;
};

// Of architectures that no spec describes.
const Refused kRefused[] = {
    {"Logics-MLLM--Logics-Thinking-8B", "LogicsForConditionalGeneration"},
    {"MiniMaxAI--MiniMax-M3", "MiniMaxM3ForCausalLM"},
    {"deepseek-ai--DeepSeek-OCR-2", "DeepseekOCR2ForCausalLM"},
    {"llava-hf--LLaVA-NeXT-Video-7B-hf.nf4-lora", "LlavaNextVideoForConditionalGeneration"},
};

// Names and shapes alone: without a config there is no architecture to bind.
const char* const kWithoutConfig[] = {
    "LGAI-EXAONE--EXAONE-4.0-1.2B",
    "LiquidAI--LFM2-350M",
    "Qwen--Qwen2.5-Omni-3B.thinker",
    "Qwen--Qwen3-30B-A3B.transgqa",
    "Qwen--Qwen3.5-0.8B",
    "baidu--ERNIE-4.5-21B-A3B.paddle-internal",
    "baidu--ERNIE-4.5-300B-A47B.paddle-internal",
    "deepseek-ai--DeepSeek-R1.gguf-f16-mla",
    "deepseek-ai--DeepSeek-V2-Lite.gguf-f16-mla",
    "dominguesm--mambarim-110m",
    "google--gemma-3-1b-pt",
    "microsoft--bitnet-b1.58-2B-4T.gguf",
    "mlx-community--embeddinggemma-300m-bf16",
    "nvidia--DeepSeek-R1-0528-FP4.layer0",
    "unsloth--DeepSeek-R1-GGUF.Q4_K_M",
    "zai-org--GLM-4.6.mergekit",
};

Report report_of(const std::string& name, const truth::Truth& truth) {
  EXPECT_TRUE(truth.config) << name;
  return verify_all(specs(), truth);
}

TEST(Corpus, EverySnapshotHasAnExpectation) {
  std::set<std::string> listed, expected;
  const auto snapshots = truth::list_snapshots(ARCHLIGHT_SOURCE_DIR);
  ASSERT_TRUE(snapshots.ok());
  for (const truth::SnapshotInfo& info : *snapshots) listed.insert(info.name);
  for (const Described& row : kDescribed) expected.insert(row.name);
  for (const Refused& row : kRefused) expected.insert(row.name);
  for (const char* name : kWithoutConfig) expected.insert(name);
  // An oddity with a test of its own below.
  expected.insert("moonshotai--Kimi-K2.bf16-grouped");
  EXPECT_EQ(listed, expected);
}

TEST(Corpus, DescribedSnapshotsReconcileAtTheirLevel) {
  for (const Described& row : kDescribed) {
    SCOPED_TRACE(row.name);
    const truth::Truth truth = snapshot(row.name);
    const Report report = report_of(row.name, truth);
    EXPECT_EQ(truth::level_name(report.level), row.level);
    EXPECT_EQ(verdict_name(report.verdict), row.verdict) << lines_of(report);
    const bool fine =
        std::string_view(row.verdict) == "verified" || std::string_view(row.verdict) == "agrees";
    if (fine) {
      EXPECT_EQ(lines_of(report), "");
    } else if (*row.why) {
      EXPECT_NE((lines_of(report) + remarks_of(report)).find(row.why), std::string::npos)
          << lines_of(report) << remarks_of(report);
    }

    const std::string_view level = row.level;
    if (level == "config") {
      Int128 files = 0;
      for (const truth::ShardFile& shard : truth.shards) files += shard.file_bytes.value_or(0);
      EXPECT_EQ(with_commas(files), with_commas(row.published));
      if (row.published) {
        EXPECT_NE(
            remarks_of(report).find("the files hold " + with_commas(row.published) + " bytes: the spec's "),
            std::string::npos)
            << remarks_of(report);
      }
      continue;
    }
    if (!row.published || !report.bill) continue;
    ASSERT_FALSE(report.comparisons.empty());
    const Comparison& main = report.comparisons[0];
    EXPECT_EQ(main.unit, level == "count" ? "elements" : "bytes");
    EXPECT_EQ(with_commas(main.published), with_commas(row.published));
    // An index whose total is not that of its files leaves names and the files' sizes.
    const bool refuted = remarks_of(report).find("is not that of these files") != std::string::npos;
    EXPECT_EQ(main.equal(), fine && !refuted) << with_commas(main.ours);
    // An index that agrees has tensors whose length only the files know, which no quantity counts; a writer that
    // counts otherwise than it stores is named.
    if (std::string_view(row.verdict) == "verified" && level != "count" && main.rules.empty()) {
      EXPECT_EQ(with_commas(*report.bill->find("storage.bytes")->value.integer()),
                with_commas(row.published));
    }
  }
}

// 1,610,612,736 bytes are what full-width k_proj and v_proj would add: 32 layers * 2 * (4096 - 1024) * 4096
// * 2.
TEST(Corpus, OddTotalIsWrongByExactlyTwoFullWidthProjections) {
  static_assert(int64_t{32} * 2 * (4096 - 1024) * 4096 * 2 == 1610612736);
  const Report report = report_of("odd-total", snapshot("Orenguteng--Lexi-Llama-3-8B-Uncensored.odd-total"));
  EXPECT_EQ(lines_of(report),
            "metadata.total_size of the index: [weight] stored bytes are 17,671,135,232 as published; "
            "expected 16,060,522,496 by the spec, 1,610,612,736 fewer\n");
  ASSERT_EQ(report.comparisons.size(), 1u);
  EXPECT_EQ(with_commas(report.comparisons[0].published - report.comparisons[0].ours), "1,610,612,736");
}

TEST(Corpus, ArchitecturesWithoutASpecAreRefusedByName) {
  for (const Refused& row : kRefused) {
    const truth::Truth truth = snapshot(row.name);
    ASSERT_TRUE(truth.config) << row.name;
    const auto model = specs()->model_for(*truth.config);
    ASSERT_FALSE(model.ok()) << row.name;
    const base::Diagnostic& fault = model.faults()[0];
    EXPECT_EQ(fault.guard, "not_verifiable") << row.name;
    EXPECT_NE(
        fault.wrong.find("no model spec describes architecture '" + std::string(row.architecture) + "'"),
        std::string::npos)
        << row.name << ": " << fault.message();
  }
}

TEST(Corpus, WithoutArchitecturesTheModelTypeDecides) {
  EXPECT_FALSE(snapshot("fishaudio--s2-pro").config->contains("architectures"));
  const base::Json unknown = {{"model_type", "fish_qwen4_omni"}};
  const auto model = specs()->model_for(unknown);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.faults()[0].guard, "not_verifiable");
  EXPECT_EQ(model.faults()[0].wrong, "no model spec describes model_type 'fish_qwen4_omni'");
}

TEST(Corpus, RecordsWithoutAConfigHaveNone) {
  for (const char* name : kWithoutConfig) EXPECT_FALSE(snapshot(name).config) << name;
}

// Tensor lists whose publishers' configs are not at hand, under configs written down here from what their names and
// shapes show. A traced module's list counts as a part: a trace sees what the forward pass touched, in the dtypes that it was
// loaded in.
TEST(Corpus, ListsWithoutAConfigHoldUnderOneWrittenDown) {
  const auto under = [](const char* name, const char* config) {
    truth::Truth truth = snapshot(name);
    truth.config = json(config);
    return report_of(name, truth);
  };
  const Report small = under("Qwen--Qwen3.5-0.8B", R"({
      "architectures": ["Qwen3_5ForConditionalGeneration"], "tie_word_embeddings": true,
      "text_config": {"hidden_size": 1024, "vocab_size": 248320, "num_hidden_layers": 24,
        "full_attention_interval": 4, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 256,
        "linear_num_key_heads": 16, "linear_num_value_heads": 16, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "intermediate_size": 3584,
        "mtp_num_hidden_layers": 1, "mamba_ssm_dtype": "float32", "dtype": "bfloat16",
        "rope_parameters": {"partial_rotary_factor": 0.25, "rope_theta": 10000000}},
      "vision_config": {"depth": 12, "hidden_size": 768, "intermediate_size": 3072, "num_heads": 12,
        "out_hidden_size": 1024, "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2,
        "in_channels": 3, "num_position_embeddings": 2304}})");
  EXPECT_EQ(verdict_name(small.verdict), "verified") << lines_of(small);
  EXPECT_EQ(with_commas(*small.bill->find("storage.bytes")->value.integer()), "1,746,882,752");
  const Report lfm = under("LiquidAI--LFM2-350M", R"({
      "architectures": ["Lfm2ForCausalLM"], "hidden_size": 1024, "vocab_size": 65536, "num_hidden_layers": 16,
      "num_attention_heads": 16, "num_key_value_heads": 8, "full_attn_idxs": [2, 5, 8, 10, 12, 14],
      "block_ff_dim": 6656, "block_auto_adjust_ff_dim": true, "block_ffn_dim_multiplier": 1.0,
      "block_multiple_of": 256, "conv_L_cache": 3, "conv_bias": false, "torch_dtype": "bfloat16"})");
  EXPECT_EQ(lines_of(lfm), "");
  EXPECT_EQ(with_commas(*lfm.bill->find("storage.bytes")->value.integer()), "708,967,936");
  const Report mamba = under("dominguesm--mambarim-110m", R"({
      "architectures": ["MambaForCausalLM"], "hidden_size": 768, "vocab_size": 32000, "num_hidden_layers": 12,
      "state_size": 16, "conv_kernel": 4, "expand": 2, "intermediate_size": 1536, "time_step_rank": 48,
      "use_conv_bias": true, "use_bias": false, "torch_dtype": "float16"})");
  EXPECT_EQ(lines_of(mamba), "");
  // The trace's 140,226,048 bytes and D, which it does not show: 12 vectors of 1,536 in F32.
  EXPECT_EQ(with_commas(*mamba.bill->find("storage.bytes")->value.integer()), "140,299,776");
}

// Records without a config, under the config that their publisher states: names, shapes and bytes are the record's.
struct Stated {
  const char* name;
  const char* config;
  const char* level;
  const char* verdict;
  int64_t published;  // bytes
  const char* why = "";
};

const Stated kStated[] = {
    {"google--gemma-3-1b-pt",
     R"({"architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "hidden_size": 1152,
         "num_hidden_layers": 26, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256,
         "intermediate_size": 6912, "vocab_size": 262144, "sliding_window": 512, "sliding_window_pattern": 6,
         "torch_dtype": "float16"})",
     "count", "agrees", 999885952},
    // The writer's total is 3,858,240 bytes below what its 44,689 tensors hold; the hub's element total is met.
    {"zai-org--GLM-4.6.mergekit",
     R"({"architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe", "hidden_size": 5120,
         "num_hidden_layers": 92, "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
         "intermediate_size": 12288, "moe_intermediate_size": 1536, "n_routed_experts": 160,
         "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "use_qk_norm": true,
         "attention_bias": true, "partial_rotary_factor": 0.5, "num_nextn_predict_layers": 1,
         "vocab_size": 151552, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})",
     "index", "wrong", 713567968192, "713,571,826,432 by the spec, 3,858,240 more"},
    {"baidu--ERNIE-4.5-21B-A3B.paddle-internal",
     R"({"architectures": ["ErnieForCausalLM"], "hidden_size": 2560, "num_hidden_layers": 28,
         "num_attention_heads": 20, "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 12288,
         "moe_intermediate_size": 1536, "moe_num_experts": 64, "moe_k": 6, "moe_num_shared_experts": 2,
         "moe_layer_start_index": 1, "use_bias": false, "vocab_size": 103424, "tie_word_embeddings": true,
         "torch_dtype": "bfloat16"})",
     "header", "verified", 43650875776},
    {"baidu--ERNIE-4.5-300B-A47B.paddle-internal",
     R"({"architectures": ["ErnieForCausalLM"], "hidden_size": 8192, "num_hidden_layers": 54,
         "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 28672,
         "moe_intermediate_size": 3584, "moe_num_experts": 64, "moe_k": 8, "moe_num_shared_experts": 0,
         "moe_layer_start_index": 3, "use_bias": false, "vocab_size": 103424, "tie_word_embeddings": false,
         "torch_dtype": "bfloat16"})",
     "header", "verified", 598968326528},
};

TEST(Corpus, RecordsWithoutAConfigReconcileUnderTheStatedOne) {
  for (const Stated& row : kStated) {
    SCOPED_TRACE(row.name);
    truth::Truth truth = snapshot(row.name);
    truth.config = json(row.config);
    const Report report = verify_all(specs(), truth);
    EXPECT_EQ(truth::level_name(report.level), row.level);
    EXPECT_EQ(verdict_name(report.verdict), row.verdict) << lines_of(report) << remarks_of(report);
    EXPECT_NE(lines_of(report).find(row.why), std::string::npos) << lines_of(report);
    EXPECT_FALSE(report.comparisons.empty()) << remarks_of(report);
    if (report.comparisons.empty()) continue;
    EXPECT_EQ(with_commas(report.comparisons[0].published), with_commas(row.published));
  }
}

// Element totals that the hub recorded of repositories whose config is not at hand, or not as released: under the config
// of a re-export, or one written down from what the publisher states.
struct Recorded {
  const char* id;
  const char* snapshot;  // whose config it is, with `changes` (null removes a key)
  const char* changes;
  int64_t elements;
};

const Recorded kRecorded[] = {
    // 61 buffers of 128 numbers, where the first release has 61 of 56.
    {"moonshotai/Kimi-K2-Instruct-0905", "moonshotai--Kimi-K2-Instruct",
     R"({"max_position_embeddings": 262144})", 1026470735448},
    {"moonshotai/Kimi-K2-Thinking", "moonshotai--Kimi-K2-Instruct",
     R"({"max_position_embeddings": 262144, "quantization_config": {"weight_block_size": null, "fmt": null, "activation_scheme": null,
         "quant_method": "compressed-tensors",
         "format": "pack-quantized", "quantization_status": "compressed",
         "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
                    "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"],
         "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int",
           "group_size": 32, "strategy": "group", "symmetric": true, "dynamic": false}}}}})",
     1058118284416},
    {"moonshotai/Kimi-K2.6", "moonshotai--Kimi-K2.5", "{}", 1058589420528},
    {"moonshotai/Kimi-K2.7-Code", "moonshotai--Kimi-K2.5", "{}", 1058589420528},
    // A public model list's figure.
    {"meituan-longcat/LongCat-Flash-Chat", nullptr,
     R"({"architectures": ["LongcatFlashForCausalLM"], "model_type": "longcat_flash", "attention_method": "MLA",
         "attention_bias": false, "hidden_size": 6144, "num_layers": 28, "vocab_size": 131072,
         "num_attention_heads": 64, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
         "qk_rope_head_dim": 64, "v_head_dim": 128, "ffn_hidden_size": 12288, "expert_ffn_hidden_size": 2048,
         "n_routed_experts": 512, "zero_expert_num": 256, "zero_expert_type": "identity", "moe_topk": 12,
         "mla_scale_q_lora": true, "mla_scale_kv_lora": true, "torch_dtype": "bfloat16"})",
     561862880256},
    {"MiniMaxAI/MiniMax-M3", "nvidia--MiniMax-M3-NVFP4", R"({"quantization_config": null})", 427040140160},
    // One scale byte for 32 inputs of every projection of attention, index and networks: 13,239,705,600.
    {"MiniMaxAI/MiniMax-M3-MXFP8", "nvidia--MiniMax-M3-NVFP4",
     R"({"quantization_config": {"quant_method": "mxfp8", "quant_algo": null, "quantized_layers": null,
         "exclude_modules": null, "ignored_layers": ["lm_head", "vision_tower",
         "multi_modal_projector", "patch_merge_mlp"]}})",
     440279845760},
};

TEST(Corpus, RecordedTotalsAreMetUnderStatedConfigs) {
  for (const Recorded& row : kRecorded) {
    SCOPED_TRACE(row.id);
    truth::Truth truth;
    base::Json config = base::Json::object();
    if (row.snapshot) config = *snapshot(row.snapshot).config;
    config.merge_patch(*json(row.changes));
    truth.repo = row.id;
    truth.config = std::make_shared<const base::Json>(std::move(config));
    truth.level = truth::Level::kCount;
    truth.recorded_elements = row.elements;
    truth.recorded_elements_source = "the hub's element total";
    const Report report = verify_all(specs(), truth);
    EXPECT_EQ(verdict_name(report.verdict), "agrees") << lines_of(report) << remarks_of(report);
    EXPECT_FALSE(report.comparisons.empty()) << remarks_of(report);
    if (report.comparisons.empty()) continue;
    EXPECT_EQ(with_commas(report.comparisons[0].ours), with_commas(row.elements));
  }
}

// A re-export whose config names the architecture but lacks what makes it latent attention.
TEST(Corpus, ConfigWithoutALatentIsRefusedAtTheDim) {
  const Report report = report_of("grouped", snapshot("moonshotai--Kimi-K2.bf16-grouped"));
  EXPECT_EQ(verdict_name(report.verdict), "not verifiable");
  EXPECT_EQ(report.guards.size(), 0u);
  EXPECT_EQ(lines_of(report).find("specs/models/deepseek_v3.yaml:18:3: [load] config.json has no "
                                  "'kv_lora_rank', which dim 'd_kv_lora' reads; expected the key under the "
                                  "top level"),
            0u)
      << lines_of(report);
}

}  // namespace
}  // namespace archlight::guard::testing
