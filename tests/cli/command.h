// command.h: the command in this process, its two streams as texts; and a folder for one test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace archlight::cli {

struct Ran {
  int status = -1;
  std::string out, err;
};

inline Ran archlight(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {"archlight"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::ostringstream out, err;
  Ran ran;
  ran.status = run(static_cast<int>(argv.size()), argv.data(), out, err);
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

inline std::string record_folder(const std::string& name) {
  return std::string(ARCHLIGHT_SOURCE_DIR) + "/tests/truth/records/" + name;
}

class Folder {
 public:
  explicit Folder(const std::string& name = "org--model")
      : root_(testing::TempDir() + "archlight_cli_" + std::to_string(getpid()) + "_" +
              std::to_string(made()++)),
        path_(root_ + "/" + name) {
    std::filesystem::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(root_); }

  const std::string& path() const { return path_; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << bytes;
    return path_ + "/" + name;
  }

 private:
  static int& made() {
    static int count = 0;
    return count;
  }
  std::string root_, path_;
};

// A checkpoint of one layer: hidden 8, 2 heads of 4, one key head, inner width 12, vocabulary 10, untied,
// BF16.
//   embed_tokens 10x8, lm_head 10x8, norm 8, two layer norms of 8, q and o 8x8, k and v 4x8, gate and up
//   12x8, down 8x12: 80 + 80 + 8 + 16 + 128 + 64 + 288 = 664 parameters, 1,328 bytes.
inline constexpr const char* kTinyConfig =
    R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":8,"intermediate_size":12,)"
    R"("num_attention_heads":2,"num_hidden_layers":1,"num_key_value_heads":1,"vocab_size":10,)"
    R"("torch_dtype":"bfloat16","max_position_embeddings":64})";

// Its safetensors file; a tensor's shape may be given another value.
inline std::string tiny_file(const std::string& changed = {}, const std::string& shape = {}) {
  struct Tensor {
    std::string name, shape;
    int elements;
  };
  const std::string layer = "model.layers.0.";
  const std::vector<Tensor> tensors = {
      {"lm_head.weight", "[10,8]", 80},
      {"model.embed_tokens.weight", "[10,8]", 80},
      {layer + "input_layernorm.weight", "[8]", 8},
      {layer + "mlp.down_proj.weight", "[8,12]", 96},
      {layer + "mlp.gate_proj.weight", "[12,8]", 96},
      {layer + "mlp.up_proj.weight", "[12,8]", 96},
      {layer + "post_attention_layernorm.weight", "[8]", 8},
      {layer + "self_attn.k_proj.weight", "[4,8]", 32},
      {layer + "self_attn.o_proj.weight", "[8,8]", 64},
      {layer + "self_attn.q_proj.weight", "[8,8]", 64},
      {layer + "self_attn.v_proj.weight", "[4,8]", 32},
      {"model.norm.weight", "[8]", 8},
  };
  std::string json = "{";
  int at = 0;
  for (const Tensor& tensor : tensors) {
    const int end = at + tensor.elements * 2;
    json += (at ? ",\"" : "\"") + tensor.name + R"(":{"dtype":"BF16","shape":)" +
            (tensor.name == changed ? shape : tensor.shape) + R"(,"data_offsets":[)" + std::to_string(at) +
            "," + std::to_string(end) + "]}";
    at = end;
  }
  json += "}";
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(json.size() >> (8 * i) & 0xff);
  return out + json + std::string(static_cast<size_t>(at), '\0');
}

}  // namespace archlight::cli
