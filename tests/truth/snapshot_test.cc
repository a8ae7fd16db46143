#include "truth/snapshot.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "truth/model_folder.h"
#include "truth/record.h"

namespace archlight::truth {
namespace {

const std::string kHome = ARCHLIGHT_SOURCE_DIR;

TEST(Snapshot, AllOpenAndSayTheirLevel) {
  const base::Result<std::vector<SnapshotInfo>> all = list_snapshots(kHome);
  ASSERT_TRUE(all.ok()) << base::render_all(all.faults());
  std::map<std::string_view, int> levels;
  int configs = 0, quant_configs = 0, aliases = 0;
  for (const SnapshotInfo& info : *all) {
    if (!info.alias_of.empty()) {
      ++aliases;
      continue;
    }
    ++levels[level_name(info.level)];
    configs += info.has_config;
    quant_configs += info.has_quant_config;
  }
  // 140 records and 86 configs share 20 names, and 8 configs came one by one, one of them to a record: 213 files,
  // and 11 ids under which a record is also known.
  EXPECT_EQ(aliases, 11);
  EXPECT_EQ(levels["header"] + levels["index"] + levels["count"] + levels["config"], 213);
  // 6 header and 2 partial records, and 3 listings of GGUF files; a fourth has types that are not known.
  EXPECT_EQ(levels["header"], 11);
  // 91 records.
  EXPECT_EQ(levels["index"], 91);
  EXPECT_EQ(quant_configs, 27);
  // 123 records and 86 + 8 config folders, 20 of them shared.
  EXPECT_EQ(configs, 123 + 86 + 8 - 20);
}

TEST(Snapshot, ARecordOpensAsItsFolderDoes) {
  for (const char* name : {"Qwen--Qwen3-0.6B", "openai--gpt-oss-20b", "nvidia--DeepSeek-R1-0528-FP4.layer0",
                           "lizpreciatior--lzlv_70b_fp16_hf", "togethercomputer--RedPajama-INCITE-7B-Base",
                           "ibm-granite--granite-docling-258M", "01-ai--Yi-1.5-6B-Chat.slerp"}) {
    SCOPED_TRACE(name);
    const base::Result<Truth> folder = read_record(kHome + "/tests/truth/records/" + name);
    const std::optional<std::string> path = find_snapshot(kHome, name);
    ASSERT_TRUE(folder.ok() && path);
    const base::Result<Truth> snapshot = read_snapshot(*path);
    ASSERT_TRUE(snapshot.ok()) << base::render_all(snapshot.faults());
    EXPECT_EQ(snapshot->repo, folder->repo);
    EXPECT_EQ(snapshot->level, folder->level);
    EXPECT_EQ(snapshot->partial, folder->partial);
    EXPECT_EQ(snapshot->names, folder->names);
    EXPECT_EQ(snapshot->index_total_bytes, folder->index_total_bytes);
    ASSERT_EQ(snapshot->tensors.size(), folder->tensors.size());
    for (size_t i = 0; i < folder->tensors.size(); ++i) {
      EXPECT_EQ(snapshot->tensors.name(i), folder->tensors.name(i));
      EXPECT_EQ(snapshot->tensors.row(i).end, folder->tensors.row(i).end);
    }
    ASSERT_EQ(snapshot->shards.size(), folder->shards.size());
    for (size_t i = 0; i < folder->shards.size(); ++i)
      EXPECT_EQ(snapshot->shards[i].file_bytes, folder->shards[i].file_bytes);
    ASSERT_EQ(snapshot->config == nullptr, folder->config == nullptr);
    if (folder->config) {
      EXPECT_EQ(*snapshot->config, *folder->config);
    }
  }
}

TEST(Snapshot, ConfigRecordAndCatalogueCombine) {
  // Record of file sizes with a hub total, config from beside them, another copy of it, the same total in the
  // catalogue.
  const base::Result<Truth> r1 = read_snapshot(*find_snapshot(kHome, "deepseek-ai/DeepSeek-R1"));
  ASSERT_TRUE(r1.ok());
  EXPECT_EQ(r1->level, Level::kCount);
  EXPECT_EQ(r1->recorded_elements, base::Int128{684531386000});
  EXPECT_EQ(r1->recorded_elements_source,
            "hub catalogue of 2026-06-19, commit 56d4cbbb4d29f4355bab4b9a39ccb717a14ad5ad");
  EXPECT_EQ(r1->shards.size(), 163u);
  EXPECT_EQ(r1->notes.back(),
            "another published copy of config.json differs in: aux_loss_alpha, pretraining_tp, seq_aux");
  // Config and catalogue only.
  const base::Result<Truth> v3 = read_snapshot(*find_snapshot(kHome, "deepseek-ai/DeepSeek-V3"));
  ASSERT_TRUE(v3.ok());
  EXPECT_EQ(v3->level, Level::kCount);
  EXPECT_EQ((*v3->config)["num_hidden_layers"], 61);
  // Index level keeps its level; the hub's total comes along with its own rules.
  const base::Result<Truth> oss = read_snapshot(*find_snapshot(kHome, "openai/gpt-oss-20b"));
  ASSERT_TRUE(oss.ok());
  EXPECT_EQ(oss->level, Level::kIndex);
  EXPECT_EQ(oss->recorded_elements, base::Int128{21511953984});
  // A variant has no figure of the repository it was made from.
  const base::Result<Truth> variant = read_snapshot(*find_snapshot(kHome, "Qwen--Qwen3-4B.resized-vocab"));
  ASSERT_TRUE(variant.ok());
  EXPECT_FALSE(variant->recorded_elements);
  // An id under which the repository is known today.
  const base::Result<Truth> alias = read_snapshot(*find_snapshot(kHome, "meta-llama/Llama-3.1-8B"));
  ASSERT_TRUE(alias.ok());
  EXPECT_EQ(alias->origin, "snapshot meta-llama--Meta-Llama-3.1-8B");
  EXPECT_EQ(alias->recorded_elements, base::Int128{8030261248});
}

TEST(Snapshot, Catalogue) {
  const base::Result<std::optional<CatalogueRow>> row = catalogue_row(kHome, "meta-llama/Llama-3.2-1B");
  ASSERT_TRUE(row.ok() && *row);
  EXPECT_EQ((*row)->elements, base::Int128{1235814400});
  EXPECT_EQ((*row)->revision, "4e20de362430cd3b72f300e6b0f18e50e7166e08");
  EXPECT_EQ((*row)->gated, "manual");
  EXPECT_TRUE((*row)->has_safetensors);
  EXPECT_TRUE((*row)->bases.empty());
  const base::Result<std::optional<CatalogueRow>> made = catalogue_row(kHome, "Qwen/Qwen3-4B-FP8");
  ASSERT_TRUE(made.ok() && *made && (*made)->bases.size() == 1);
  EXPECT_EQ((*made)->bases[0].relation + " of " + (*made)->bases[0].repo, "quantized of Qwen/Qwen3-4B");
  EXPECT_EQ(catalogue_rows(kHome)->size(), 4301u);
  EXPECT_EQ(*recorded_elements(kHome, "Qwen/Qwen3-14B"), base::Int128{14768307200});
  EXPECT_FALSE(*recorded_elements(kHome, "Qwen/Qwen3-14"));
  EXPECT_FALSE(*recorded_elements(kHome, ""));
  EXPECT_FALSE(*recorded_elements(kHome, "Qwen/Qwen3-14B\t14768307200"));
}

std::string read_all(const std::string& path) {
  const base::Result<std::string> bytes = base::read_file(path);
  return bytes ? *bytes : std::string("unreadable");
}

TEST(Snapshot, SameInputSameBytesInAnyOrder) {
  const ModelFolder home("home");
  const std::string records = kHome + "/tests/truth/records/";
  const ModelFolder config("openai--gpt-oss-20b");
  config.write("config.json", R"({"b": [0.1, Infinity], "a": {"z": 1e-06, "y": null}})");
  for (const char* order : {"one", "two"})
    std::filesystem::create_directories(home.path() + "/" + order + "/snapshots");
  const ImportOptions options = {"", "from a test", {"a note"}};
  const auto add = [&](const std::string& what, const std::string& where, const ImportOptions& with) {
    const base::Result<std::vector<std::string>> files =
        import_snapshot(what, home.path() + "/" + where + "/snapshots", with);
    EXPECT_TRUE(files.ok()) << base::render_all(files.faults());
  };
  add(records + "openai--gpt-oss-20b", "one", {});
  add(config.path(), "one", options);
  add(config.path(), "two", options);
  add(records + "openai--gpt-oss-20b", "two", {});
  add(records + "openai--gpt-oss-20b", "two", {});
  const std::string file = "/snapshots/openai--gpt-oss-20b.json.zst";
  EXPECT_EQ(read_all(home.path() + "/one" + file), read_all(home.path() + "/two" + file));
  const base::Result<Truth> truth = read_snapshot(home.path() + "/one" + file);
  ASSERT_TRUE(truth.ok()) << base::render_all(truth.faults());
  EXPECT_EQ(truth->level, Level::kIndex);
  EXPECT_EQ(truth->notes.back(), "a note");
}

TEST(Snapshot, APublishedFolderKeepsItsOffsets) {
  const ModelFolder home("home");
  std::filesystem::create_directories(home.path() + "/snapshots");
  const ModelFolder model("org--model");
  model.write("config.json", R"({"hidden_size": 4})");
  model.write(
      "model.safetensors",
      ModelFolder::tensor_file(
          R"({"a":{"dtype":"BF16","shape":[2,2],"data_offsets":[4,12]},"b":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
          12));
  ASSERT_TRUE(import_snapshot(model.path(), home.path() + "/snapshots").ok());
  const base::Result<Truth> truth = read_snapshot(*find_snapshot(home.path(), "org/model"));
  ASSERT_TRUE(truth.ok()) << base::render_all(truth.faults());
  EXPECT_EQ(truth->level, Level::kHeader);
  EXPECT_EQ(truth->repo, "org/model");
  ASSERT_EQ(truth->tensors.size(), 2u);
  EXPECT_EQ(truth->tensors.name(0), "b");
  EXPECT_EQ(truth->tensors.row(1).begin, 4u);
  EXPECT_EQ(truth->tensors.row(1).end, 12u);
  EXPECT_EQ((*truth->config)["hidden_size"], 4);
}

TEST(Snapshot, Faults) {
  const ModelFolder home("home");
  std::filesystem::create_directories(home.path() + "/snapshots");
  const std::string snapshots = home.path() + "/snapshots";
  const auto add = [&](const std::string& path, const ImportOptions& options = {}) {
    const base::Result<std::vector<std::string>> files = import_snapshot(path, snapshots, options);
    return files ? std::string("added") : home.messages(files.faults());
  };
  const ModelFolder nameless("model");
  nameless.write("config.json", "{}");
  EXPECT_NE(
      add(nameless.path())
          .find("the folder's name 'model' is no hub id; expected org--name; give the name to file it under"),
      std::string::npos);
  EXPECT_EQ(add(nameless.path(), {"org--model", "", {}}), "added");
  EXPECT_EQ(add(home.path() + "/none"),
            "F/none: no such file or folder; expected a record, a config folder, a published model folder, "
            "or a .csv catalogue");
  home.write("c.txt", "id");
  EXPECT_EQ(add(home.path() + "/c.txt"),
            "F/c.txt: is no folder and no .csv; expected a record, a config folder, a published model "
            "folder, or a .csv catalogue");
  home.write("c.csv", "id,parameter_count\na/b,1\n");
  EXPECT_EQ(add(home.path() + "/c.csv"),
            "F/c.csv: no column 'sha'; expected id, parameter_count, sha, gated, has_safetensors, license, "
            "base_models");
  const std::string head = "id,parameter_count,sha,gated,has_safetensors,license,tags,base_models\n";
  home.write("c.csv", head + "a/b,1,c,False,True,mit\n");
  EXPECT_EQ(add(home.path() + "/c.csv"), "F/c.csv: record 2 has 6 fields; expected 8, as the head line");
  home.write("c.csv", head + "a/b,many,c,False,True,mit,,\n");
  EXPECT_EQ(add(home.path() + "/c.csv"),
            "F/c.csv: record 2 has the id 'a/b' and the parameter_count 'many'; expected an id, and a whole "
            "number or nothing");
  home.write("c.csv", head + "a/b,1,c,False,True,mit,,\na/b,2,c,False,True,mit,,\n");
  EXPECT_EQ(add(home.path() + "/c.csv"), "F/c.csv: the id 'a/b' stands twice; expected each repository once");
  home.write("c.csv", head +
                          "z/z,,c,manual,False,mit,,\na/b,12,\"c,\n\"\"d\",False,True,mit,\"x, y\","
                          "\"z/z,merge:z/z,y/y,merge:y/y,merge:z/z\"\n");
  EXPECT_EQ(add(home.path() + "/c.csv"), "added");
  const base::Result<std::optional<CatalogueRow>> row = catalogue_row(home.path(), "a/b");
  ASSERT_TRUE(row.ok() && *row);
  EXPECT_EQ((*row)->elements, base::Int128{12});
  EXPECT_EQ((*row)->revision, "c, \"d");
  ASSERT_EQ((*row)->bases.size(), 2u);
  EXPECT_EQ((*row)->bases[1].relation + " " + (*row)->bases[1].repo, "merge y/y");
  EXPECT_FALSE((*catalogue_row(home.path(), "z/z"))->elements);
  const base::Result<std::vector<CatalogueRow>> rows = catalogue_rows(home.path());
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->front().repo + " " + rows->back().repo, "a/b z/z");
  // One of an earlier form says how to make it anew.
  home.write("snapshots/catalogue.tsv.zst", base::zstd_compress("# old\nid\n"
                                                                "a/b\t1\tc\tFalse\tTrue\tmit\n"));
  EXPECT_EQ(home.messages(catalogue_rows(home.path()).faults()),
            "F/snapshots/catalogue.tsv.zst: the line of 'a/b' has 6 fields; expected 7, separated by tabs; "
            "make it again "
            "with 'archlight snapshots add FILE.csv'");

  home.write("snapshots/bad--one.json.zst", base::zstd_compress("{\"format\":2}"));
  EXPECT_EQ(home.messages(read_snapshot(snapshots + "/bad--one.json.zst").faults()),
            "F/snapshots/bad--one.json.zst: not a snapshot of format 1; expected {\"format\": 1, ...}; make "
            "it again with 'archlight snapshots add'");
  home.write("snapshots/bad--one.json.zst", base::zstd_compress("{\"format\":1,\"alias_of\":\"../../x\"}"));
  EXPECT_EQ(home.messages(read_snapshot(snapshots + "/bad--one.json.zst").faults()),
            "F/snapshots/bad--one.json.zst: an alias of '../../x'; expected a snapshot's name");
  home.write("snapshots/bad--one.json.zst", base::zstd_compress("{\"format\":1,\"alias_of\":\"bad--one\"}"));
  EXPECT_EQ(
      home.messages(read_snapshot(snapshots + "/bad--one.json.zst").faults()),
      "F/snapshots/bad--one.json.zst: an alias of the alias 'bad--one'; expected a snapshot's own name");
  EXPECT_FALSE(list_snapshots(home.path()).ok());
}

}  // namespace
}  // namespace archlight::truth
