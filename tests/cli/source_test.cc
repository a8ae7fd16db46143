// validate --source and --anchors, on sources made up here.
#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace archlight::cli {
namespace {

// What the anchors of the llama spec and its parts name.
constexpr const char* kLlamaSource = R"(
class LlamaMLP(nn.Module):
    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))

class LlamaAttention(nn.Module):
    def forward(self, x):
        return x

class LlamaDecoderLayer(nn.Module):
    def forward(self, x):
        residual = x
        x = residual + self.self_attn(self.input_layernorm(x))
        residual = x
        return residual + self.mlp(self.post_attention_layernorm(x))

class LlamaForCausalLM(LlamaPreTrainedModel):
    def forward(self, x):
        return x
)";

std::string source_line(const Ran& ran) {
  const size_t at = ran.out.find("\n  source ");
  return at == std::string::npos ? ran.out : ran.out.substr(at + 3, ran.out.find('\n', at + 1) - at - 3);
}

TEST(ForwardSource, BesideALocalModel) {
  const Folder folder;
  folder.write("config.json", kTinyConfig);
  folder.write("model.safetensors", tiny_file());
  const Ran without = archlight({"validate", folder.path()});
  EXPECT_EQ(without.status, 0) << without.err;
  EXPECT_NE(source_line(without).find("not run: the forward source is not at hand"), std::string::npos)
      << without.out;

  folder.write("modeling_llama.py", kLlamaSource);
  const Ran with = archlight({"validate", folder.path()});
  EXPECT_EQ(with.status, 0) << with.err;
  EXPECT_NE(source_line(with).find("passed"), std::string::npos) << with.out;

  std::string renamed = kLlamaSource;
  renamed.replace(renamed.find("class LlamaMLP"), 14, "class LlamaMlp");
  folder.write("modeling_llama.py", renamed);
  const Ran wrong = archlight({"validate", folder.path()});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_NE(wrong.err.find("[source] modeling_llama.py defines no 'LlamaMLP.forward'"), std::string::npos)
      << wrong.err;
  EXPECT_EQ(archlight({"validate", folder.path(), "--without", "source"}).status, 3);

  folder.write("modeling_llama.py", std::string("\0\1\2", 3));
  const Ran binary = archlight({"validate", folder.path()});
  EXPECT_EQ(binary.status, 3);
  EXPECT_NE(binary.err.find("/modeling_llama.py:1:1: byte 0x00 stands in no UTF-8 text"), std::string::npos)
      << binary.err;
  folder.write("modeling_llama.py", std::string(100 << 20, 'x'));
  const Ran large = archlight({"validate", folder.path()});
  EXPECT_EQ(large.status, 3);
  EXPECT_NE(large.err.find("holds 104857600 bytes, more than the 4194304"), std::string::npos) << large.err;
}

TEST(ForwardSource, InAFolderOfItsOwn) {
  const Folder model, source("library");
  model.write("config.json", kTinyConfig);
  model.write("model.safetensors", tiny_file());
  std::filesystem::create_directories(source.path() + "/models/llama");
  source.write("models/llama/modeling_llama.py", kLlamaSource);
  const Ran ran = archlight({"validate", model.path(), "--source", source.path()});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_NE(source_line(ran).find("passed"), std::string::npos) << ran.out;

  const Ran none = archlight({"validate", model.path(), "--source", "/no/such/folder"});
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(none.err,
            "/no/such/folder: cannot be listed: No such file or directory; expected a folder that holds the "
            "forward "
            "source\n");
}

TEST(ForwardSource, AnchorsOfEverySpec) {
  const Folder source("library");
  source.write("modeling_llama.py", kLlamaSource);
  const Ran ran = archlight({"validate", "--anchors", "--source", source.path(), "--json"});
  const auto body = nlohmann::json::parse(ran.out);
  int64_t rows = 0, found = 0;
  for (const auto& row : body["anchors"]) {
    ++rows;
    if (row["state"] != "found") continue;
    ++found;
    EXPECT_EQ(row["file"], "modeling_llama.py");
  }
  EXPECT_EQ(body["found_anchors"], found);
  EXPECT_GE(found, 4);  // the model, its attention, its feed-forward network, its block
  EXPECT_GT(rows, 200);
  const Ran missing = archlight({"validate", "--anchors"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_EQ(missing.err,
            "no forward source to hold anchors against; expected --source FOLDER; give a checkout of the "
            "library whose "
            "models the specs describe\n");
  EXPECT_EQ(archlight({"validate"}).status, 2);
  EXPECT_EQ(archlight({"validate", "Qwen--Qwen3-8B", "--anchors"}).status, 2);
}

}  // namespace
}  // namespace archlight::cli
