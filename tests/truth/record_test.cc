#include "truth/record.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "truth/model_folder.h"

namespace archlight::truth {
namespace {

const std::string kRecords = std::string(ARCHLIGHT_SOURCE_DIR) + "/tests/truth/records/";

std::string summary(const Truth& truth) {
  std::string out(level_name(truth.level));
  if (truth.partial) out += " partial";
  if (truth.tensors.size())
    out += " tensors=" + std::to_string(truth.tensors.size()) +
           " bytes=" + base::to_string(truth.tensors.total_bytes());
  if (!truth.names.empty()) out += " names=" + std::to_string(truth.names.size());
  if (truth.index_total_bytes) out += " total=" + base::to_string(*truth.index_total_bytes);
  if (truth.recorded_elements) out += " elements=" + base::to_string(*truth.recorded_elements);
  if (!truth.shards.empty()) out += " shards=" + std::to_string(truth.shards.size());
  out += truth.config ? "" : " no config";
  return out;
}

// One record of each kind; the figures are those of its source.json.
TEST(Record, EveryLevel) {
  const std::pair<const char*, const char*> cases[] = {
      {"Qwen--Qwen3-0.6B", "header tensors=311 bytes=1503264768 elements=751632384 shards=1"},
      {"nvidia--DeepSeek-R1-0528-FP4.layer0",
       "header partial tensors=24 bytes=2450554912 shards=1 no config"},
      {"openai--gpt-oss-20b", "index names=459 total=13761264768 shards=3"},
      // metadata {}, and a total written as a float.
      {"lizpreciatior--lzlv_70b_fp16_hf", "index names=723 shards=15"},
      {"togethercomputer--RedPajama-INCITE-7B-Base", "index names=484 total=13731385408 shards=2"},
      {"01-ai--Yi-1.5-6B-Chat.slerp", "index names=291 total=12122071040 shards=3"},
      {"meta-llama--Meta-Llama-3.1-8B", "count elements=8030261248"},
      {"Qwen--Qwen3-30B-A3B", "count elements=30532122624"},
      // No worked-out tensors: the hub total is the record.
      {"moonshotai--Kimi-K2-Instruct", "count elements=1026470731056"},
      // The hub counts packed blocks twice: BF16 2167371072 + U8 118244966400, not the 63081444672 stored.
      {"openai--gpt-oss-120b", "count elements=120412337472"},
      // The hub's figure is the BF16 count, 2944 below the stored total.
      {"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "count elements=31577937344"},
      {"ibm-granite--granite-docling-258M", "config shards=1"},
      {"google--gemma-3-1b-pt", "config no config"},
      {"microsoft--bitnet-b1.58-2B-4T.gguf", "config no config"},
  };
  for (const auto& [name, expected] : cases) {
    ASSERT_TRUE(is_record(kRecords + name)) << name;
    const base::Result<Truth> truth = read_record(kRecords + name);
    ASSERT_TRUE(truth.ok()) << base::render_all(truth.faults());
    EXPECT_EQ(summary(*truth), expected) << name;
  }
}

TEST(Record, AVariantKeepsItsOwnName) {
  EXPECT_EQ(read_record(kRecords + "Qwen--Qwen3-0.6B")->repo, "Qwen/Qwen3-0.6B");
  EXPECT_EQ(read_record(kRecords + "meta-llama--Meta-Llama-3.1-8B")->repo, "meta-llama/Llama-3.1-8B");
  const base::Result<Truth> variant = read_record(kRecords + "01-ai--Yi-1.5-6B-Chat.slerp");
  EXPECT_EQ(variant->repo, "01-ai/Yi-1.5-6B-Chat.slerp");
  EXPECT_EQ(variant->notes[0], "recorded from: 01-ai/Yi-1.5-6B-Chat (mergekit slerp)");
  EXPECT_EQ(read_record(kRecords + "nvidia--DeepSeek-R1-0528-FP4.layer0")->repo,
            "nvidia/DeepSeek-R1-0528-FP4.layer0");
}

TEST(Record, SurprisesAreNotes) {
  EXPECT_EQ(read_record(kRecords + "lizpreciatior--lzlv_70b_fp16_hf")->notes,
            (std::vector<std::string>{
                "no total_size; embed_tokens and lm_head are F32 while everything else is F16",
                "index metadata is {} (no total_size)", "the index's metadata has no total_size"}));
  EXPECT_EQ(read_record(kRecords + "microsoft--bitnet-b1.58-2B-4T.gguf")->notes[0],
            "recorded from a listing of a GGUF file's tensors, without its metadata");
}

TEST(Record, WorkedOutTensorsAreReachableButNotTruth) {
  EXPECT_EQ(read_record(kRecords + "openai--gpt-oss-20b")->tensors.size(), 0u);
  const base::Result<TensorTable> derived = load_derived_tensors(kRecords + "openai--gpt-oss-20b");
  ASSERT_TRUE(derived.ok());
  EXPECT_EQ(derived->size(), 459u);
  EXPECT_EQ(derived->total_bytes(), base::Int128{13761264768});
}

TEST(Record, TensorRowsAreChecked) {
  const ModelFolder folder("org--name");
  folder.write("source.json", R"({"repo_id_on_hf":"org/name","level":"header","total_bytes":20})");
  const std::string head = "name\tdtype\tshape\tbytes\tshard\n";
  const auto read = [&](const std::string& rows) {
    folder.write("tensors.tsv.zst", base::zstd_compress(rows));
    const base::Result<Truth> truth = read_record(folder.path());
    return truth ? summary(*truth) : folder.messages(truth.faults());
  };
  const std::string file = "F/tensors.tsv.zst";
  EXPECT_EQ(read(head + "a\tBF16\t2x4\t16\ts\nb\tF32\tscalar\t4\ts\n"),
            "header tensors=2 bytes=20 shards=1 no config");
  EXPECT_EQ(read(head + "a\tBF16\t2x4\t16\ts\n"),
            "F/source.json: total_bytes is 20; expected 16, the sum of tensors.tsv.zst");
  EXPECT_EQ(
      read("name\tdtype\n"),
      file + ":1:1: not the head of a tensor table; expected name, dtype, shape, bytes, shard, with tabs");
  EXPECT_EQ(read(head + "a\tf16\t2\t4\ts\n"),
            file + ":2:1: the dtype 'f16' of 'a' is not known; expected a safetensors dtype");
  EXPECT_EQ(read(head + "a\tF16\t2xx2\t8\ts\n"),
            file + ":2:1: the shape '2xx2' of 'a'; expected axis lengths joined by 'x', or 'scalar'");
  EXPECT_EQ(read(head + "a\tF16\t\t8\ts\n"),
            file + ":2:1: the shape '' of 'a'; expected axis lengths joined by 'x', or 'scalar'");
  EXPECT_EQ(
      read(head + "a\tF16\t4294967296x4294967296\t8\ts\n"),
      file +
          ":2:1: the shape '4294967296x4294967296' of 'a'; expected axis lengths joined by 'x', or 'scalar'");
  EXPECT_EQ(read(head + "a\tF16\t2\t5\ts\n"),
            file + ":2:1: 'a' states 5 bytes; expected 4, its shape times the width of F16");
  EXPECT_EQ(read(head + "a\tF16\t2\t\ts\n"),
            file + ":2:1: 'a' states  bytes; expected 4, its shape times the width of F16");
  folder.write("tensors.tsv.zst", "not zstd");
  EXPECT_FALSE(read_record(folder.path()).ok());
  folder.write("source.json", R"({"repo_id_on_hf":"org/name","level":"rumour"})");
  EXPECT_EQ(folder.messages(read_record(folder.path()).faults()),
            "F/source.json: the level 'rumour'; expected header, header (partial), header (GGUF), index, "
            "params, size or modules");
}

}  // namespace
}  // namespace archlight::truth
