// gguf_bytes.h: a GGUF file written byte by byte, for tests that bend it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace archlight::truth {

template <typename T>
std::string le(T value) {
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}
inline std::string gguf_text(std::string_view text) {
  return le<uint64_t>(text.size()) + std::string(text);
}

struct GgufBytes {
  struct Tensor {
    std::string name;
    std::vector<uint64_t> axes;  // fastest first
    uint32_t type = 0;
    uint64_t offset = 0;
  };
  uint32_t version = 3;
  std::vector<std::string> entries;
  std::vector<Tensor> tensors;
  uint64_t alignment = 32;
  uint64_t data_bytes = 0;

  GgufBytes& u32(std::string_view key, uint32_t value) { return entry(key, 4, le(value)); }
  GgufBytes& text(std::string_view key, std::string_view value) { return entry(key, 8, gguf_text(value)); }
  GgufBytes& entry(std::string_view key, uint32_t type, const std::string& value) {
    entries.push_back(gguf_text(key) + le(type) + value);
    return *this;
  }
  // At the next aligned place behind the tensors so far; `bytes` is what it takes.
  GgufBytes& tensor(std::string name, std::vector<uint64_t> axes, uint32_t type, uint64_t bytes) {
    const uint64_t offset = (data_bytes + alignment - 1) / alignment * alignment;
    tensors.push_back({std::move(name), std::move(axes), type, offset});
    data_bytes = offset + bytes;
    return *this;
  }
  std::string header() const {
    std::string out = "GGUF" + le(version) + le<uint64_t>(tensors.size()) + le<uint64_t>(entries.size());
    for (const std::string& each : entries) out += each;
    for (const Tensor& each : tensors) {
      out += gguf_text(each.name) + le(static_cast<uint32_t>(each.axes.size()));
      for (uint64_t axis : each.axes) out += le(axis);
      out += le(each.type) + le(each.offset);
    }
    return out;
  }
  std::string file() const {
    std::string out = header();
    out.resize((out.size() + alignment - 1) / alignment * alignment + data_bytes);
    return out;
  }
};

}  // namespace archlight::truth
