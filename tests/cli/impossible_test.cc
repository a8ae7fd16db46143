// What a config or a folder may not say: values that no model can have and files that are there but cannot be read are
// input errors that name the key or the file, never a number.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace archlight::cli {
namespace {

using base::Json;

struct Row {
  const char* change;   // merged into the tiny config
  const char* message;  // what the first line holds
};

constexpr Row kRows[] = {
    {R"({"num_hidden_layers": true})",
     "dim 'n_layers' is true (config.num_hidden_layers); expected a number"},
    {R"({"num_hidden_layers": [2]})",
     "config.num_hidden_layers is [2], which dim 'n_layers' reads; expected a number"},
    {R"({"num_hidden_layers": 0})",
     "dim 'n_layers' is 0 (config.num_hidden_layers); expected a whole number, at least 1"},
    {R"({"num_hidden_layers": -1})",
     "dim 'n_layers' is -1 (config.num_hidden_layers); expected a whole number, at least 1"},
    {R"({"num_hidden_layers": 2.5})",
     "dim 'n_layers' is 5/2 (config.num_hidden_layers); expected a whole number, at least 1"},
    {R"({"hidden_size": 0})", "dim 'd_model' is 0 (config.hidden_size); expected a whole number, at least 1"},
    {R"({"attention_bias": 2})", "dim 'qkv_bias' is 2 (config.attention_bias); expected true or false"},
    {R"({"torch_dtype": "float99"})",
     "config.json: torch_dtype is \"float99\"; expected a dtype's name, such as \"bfloat16\""},
    {R"({"torch_dtype": "float32", "dtype": "bfloat16"})",
     "config.json: dtype is 'bfloat16'; expected F32, as config.torch_dtype says"},
    {R"({"quantization_config": 5})",
     "config.json: quantization_config is 5; expected an object that declares a quantisation, or no such "
     "key"},
};

TEST(Impossible, ConfigValuesAreInputErrors) {
  for (const Row& row : kRows) {
    const Folder folder;
    Json config = Json::parse(kTinyConfig);
    config.update(Json::parse(row.change));
    folder.write("config.json", config.dump());
    const Ran ran = archlight({"inspect", folder.path()});
    EXPECT_EQ(ran.status, 2) << row.change;
    EXPECT_EQ(ran.out, "") << row.change;
    EXPECT_NE(ran.err.find(row.message), std::string::npos) << row.change << "\n" << ran.err;
  }
}

TEST(Impossible, NumbersOfADeclaration) {
  for (const auto& [change, message] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"({"quantization_config": {"quant_method": "gptq", "bits": -4, "group_size": 32}})",
            "'bits' of quant scheme 'gptq' is -4 (config.quantization_config); expected a whole number, at "
            "least 1"},
           {R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": ["a", 128]}})",
            "config.quantization_config.weight_block_size.0 is a; expected a whole number, as scheme "
            "'fp8_block' reads it"}}) {
    const Folder folder;
    Json config = Json::parse(kTinyConfig);
    config.update(Json::parse(change));
    folder.write("config.json", config.dump());
    const Ran ran = archlight({"inspect", folder.path()});
    EXPECT_EQ(ran.status, 1) << change;
    EXPECT_NE(ran.err.find(message), std::string::npos) << change << "\n" << ran.err;
  }
}

// A file that is there and cannot be read must not pass for absent.
TEST(Impossible, FilesThatAreNone) {
  for (const char* name : {"model.safetensors", "hf_quant_config.json", "model.safetensors.index.json"}) {
    const Folder folder;
    folder.write("config.json", kTinyConfig);
    std::filesystem::create_symlink("nowhere", folder.path() + "/" + name);
    const Ran ran = archlight({"validate", folder.path()});
    EXPECT_EQ(ran.status, 2) << name;
    EXPECT_NE(ran.err.find(std::string(name) + ": is no file that can be read"), std::string::npos)
        << ran.err;
  }
  const Folder folder;
  ASSERT_EQ(mkfifo((folder.path() + "/config.json").c_str(), 0600), 0);
  EXPECT_EQ(archlight({"inspect", folder.path()}).status, 2);
  const std::string pipe = folder.path() + "/spec.yaml";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Ran ran = archlight({"validate", pipe});
  EXPECT_EQ(ran.status, 2);
  EXPECT_NE(ran.err.find("is not a regular file"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace archlight::cli
