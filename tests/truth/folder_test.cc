#include "truth/folder.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "truth/model_folder.h"

namespace archlight::truth {
namespace {

const std::string kPointer =
    "version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, '0') + "\nsize 4976698672\n";

TEST(Folder, OneFileWithItsConfigs) {
  const ModelFolder folder;
  folder.write("config.json", R"({"hidden_size": 4})");
  folder.write("hf_quant_config.json", R"({"quantization": {}})");
  folder.write("model.safetensors", ModelFolder::one_tensor("a"));
  folder.write("adapter.safetensors",
               ModelFolder::one_tensor("b"));  // beside model.safetensors: not the model's
  const base::Result<Truth> truth = read_folder(folder.path());
  ASSERT_TRUE(truth.ok()) << folder.messages(truth.faults());
  EXPECT_EQ(truth->level, Level::kHeader);
  EXPECT_EQ(truth->repo, "org--model");
  EXPECT_EQ((*truth->config)["hidden_size"], 4);
  EXPECT_TRUE(truth->quant_config != nullptr);
  ASSERT_EQ(truth->tensors.size(), 1u);
  EXPECT_EQ(truth->tensors.name(0), "a");
  ASSERT_EQ(truth->shards.size(), 1u);
  // 8 + the header + 8 bytes of data.
  EXPECT_EQ(truth->shards[0].file_bytes,
            8 + std::string(R"({"a":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}})").size() + 8);

  const base::Result<Truth> file = read_tensor_file(folder.path() + "/adapter.safetensors");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->tensors.name(0), "b");
  EXPECT_TRUE(file->config == nullptr);
  EXPECT_TRUE(read_tensor_file(folder.path() + "/model.safetensors")->config != nullptr);
}

TEST(Folder, ShardsAndTheirIndex) {
  const ModelFolder folder;
  folder.write("config.json", "{}");
  folder.write("1.safetensors", ModelFolder::one_tensor("a"));
  folder.write("2.safetensors", ModelFolder::one_tensor("b"));
  const auto read = [&](const std::string& index) {
    folder.write("model.safetensors.index.json", index);
    const base::Result<Truth> truth = read_folder(folder.path());
    if (!truth) return folder.messages(truth.faults());
    std::string out(level_name(truth->level));
    for (const std::string& note : truth->notes) out += " | " + note;
    return out;
  };
  EXPECT_EQ(read(R"({"metadata":{"total_size":16},"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})"),
            "header");
  EXPECT_EQ(read(R"({"metadata":{"total_size":32},"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})"),
            "header | the index's total_size 32 is wrong: the headers hold 16 bytes");
  EXPECT_EQ(read(R"({"metadata":{"total_size":16},"weight_map":{"a":"2.safetensors","b":"1.safetensors"}})"),
            "F/model.safetensors.index.json: weight_map['a'] is '2.safetensors', but the tensor is in "
            "'1.safetensors'; expected the shard that holds it\n"
            "F/model.safetensors.index.json: weight_map['b'] is '1.safetensors', but the tensor is in "
            "'2.safetensors'; expected the shard that holds it");
  EXPECT_EQ(read(R"({"weight_map":{"a":"1.safetensors","c":"2.safetensors"}})"),
            "F/model.safetensors.index.json: weight_map['c'] is '2.safetensors', whose header has no such "
            "tensor; expected the shard that holds it\n"
            "F/model.safetensors.index.json: weight_map lacks the tensor 'b' of '2.safetensors'; expected "
            "every tensor of the shards");
  EXPECT_EQ(read(R"({"weight_map":{"a":"1.safetensors","c":"3.safetensors"}})"),
            "F/model.safetensors.index.json: 1 of the index's 2 shard files are missing, first "
            "'3.safetensors'; expected all of them, or none for a "
            "check against the index alone; fetch the rest, or move the others away");
  EXPECT_EQ(read(R"({"metadata":{"total_size":16},"weight_map":{"a":"8.safetensors","c":"9.safetensors"}})"),
            "index | none of the index's shard files is here, so only names and the total are known");
  folder.write("3.safetensors", ModelFolder::one_tensor("a"));
  EXPECT_EQ(
      read(R"({"weight_map":{"a":"1.safetensors","c":"3.safetensors"}})"),
      "F/3.safetensors: the tensor 'a' stands in '1.safetensors' too; expected each tensor in one shard");
  folder.write("3.safetensors", kPointer);
  EXPECT_EQ(read(R"({"weight_map":{"a":"1.safetensors","c":"3.safetensors"}})"),
            "F/3.safetensors: 1 of 2 shard files are Git LFS pointers; expected all files fetched, or none; "
            "fetch them with 'git lfs pull'");
  EXPECT_EQ(
      read(R"({"metadata":{"total_size":9},"weight_map":{"c":"3.safetensors"}})"),
      "index | the shard files are Git LFS pointers, so only names, the total and file sizes are known");
}

TEST(Folder, WithoutAnIndex) {
  const ModelFolder set;
  set.write("model-00001-of-00002.safetensors", ModelFolder::one_tensor("a"));
  set.write("model-00002-of-00002.safetensors", ModelFolder::one_tensor("b"));
  const base::Result<Truth> whole = read_folder(set.path());
  ASSERT_TRUE(whole.ok()) << set.messages(whole.faults());
  EXPECT_EQ(whole->level, Level::kHeader);
  EXPECT_EQ(whole->tensors.size(), 2u);
  EXPECT_EQ(whole->tensors.row(1).shard, 1u);

  std::filesystem::remove(set.path() + "/model-00002-of-00002.safetensors");
  set.write("other.safetensors", ModelFolder::one_tensor("c"));
  EXPECT_EQ(set.messages(read_folder(set.path()).faults()),
            "F: holds 2 .safetensors files, first 'model-00001-of-00002.safetensors', without an index; "
            "expected an index, model.safetensors, or one whole numbered set");

  const ModelFolder pointer;
  pointer.write("config.json", "{}");
  pointer.write("model.safetensors", kPointer);
  const base::Result<Truth> size = read_folder(pointer.path());
  ASSERT_TRUE(size.ok());
  EXPECT_EQ(size->level, Level::kConfig);
  EXPECT_EQ(size->shards[0].file_bytes, 4976698672u);

  const ModelFolder pickles;
  pickles.write("config.json", "{}");
  pickles.write("pytorch_model.bin.index.json",
                R"({"metadata":{"total_size":8},"weight_map":{"a":"pytorch_model-00001-of-00001.bin"}})");
  const base::Result<Truth> names = read_folder(pickles.path());
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(names->level, Level::kIndex);
  EXPECT_EQ(names->names, std::vector<std::string>{"a"});
  EXPECT_EQ(names->notes[0], "the names come from a PyTorch .bin index; pickled weights are not read");
}

TEST(Folder, Faults) {
  const ModelFolder folder;
  EXPECT_EQ(folder.messages(read_folder(folder.path()).faults()),
            "F: holds no config.json, no .safetensors file and no index; expected a model folder as "
            "published, or a tensor record");
  folder.write("config.json", "[1]");
  EXPECT_EQ(folder.messages(read_folder(folder.path()).faults()),
            "F/config.json: not a JSON object; expected a config: {\"key\": value, ...}");
  folder.write("config.json", "{\n  \"a\": 1,\n  b\n}");
  EXPECT_EQ(folder.messages(read_folder(folder.path()).faults()).substr(0, 39),
            "F/config.json:3:3: not valid JSON: [jso");
  folder.write("config.json", "{}");
  const base::Result<Truth> config = read_folder(folder.path());
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->level, Level::kConfig);
  EXPECT_EQ(config->notes, std::vector<std::string>{"the folder has no weights"});
  folder.write("a.safetensors.index.json", "{}");
  folder.write("b.safetensors.index.json", "{}");
  EXPECT_EQ(folder.messages(read_folder(folder.path()).faults()),
            "F: holds 2 indexes: 'a.safetensors.index.json', 'b.safetensors.index.json'; expected "
            "model.safetensors.index.json, or one index");
}

}  // namespace
}  // namespace archlight::truth
