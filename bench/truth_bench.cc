// Header parsing on a text of the size of a 671B mixture-of-experts checkpoint: 61 layers of 256 experts with
// three projections, each a weight and a scale, and the tensors around them; about 92,000 tensors and 12 MB
// in one header.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <iostream>

#include "truth/safetensors.h"

namespace archlight::truth {
namespace {

struct Header {
  std::string json = "{\"__metadata__\":{\"format\":\"pt\"}";
  uint64_t end = 0;
  size_t tensors = 0;

  void add(const std::string& name, const char* dtype, uint64_t width, uint64_t rows, uint64_t columns) {
    const uint64_t begin = end;
    end += width * rows * columns;
    json += fmt::format(",\"{}\":{{\"dtype\":\"{}\",\"shape\":[{},{}],\"data_offsets\":[{},{}]}}", name,
                        dtype, rows, columns, begin, end);
    ++tensors;
  }
  void add_quantised(const std::string& module, uint64_t rows, uint64_t columns) {
    add(module + ".weight", "F8_E4M3", 1, rows, columns);
    add(module + ".weight_scale_inv", "F32", 4, (rows + 127) / 128, (columns + 127) / 128);
  }
};

const Header& header() {
  static const Header made = [] {
    Header out;
    out.add("model.embed_tokens.weight", "BF16", 2, 129280, 7168);
    for (int layer = 0; layer < 62; ++layer) {
      const std::string at = fmt::format("model.layers.{}.", layer);
      for (const char* projection : {"q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"})
        out.add_quantised(at + "self_attn." + projection, 7168, 2048);
      out.add(at + "mlp.gate.weight", "BF16", 2, 256, 7168);
      if (layer < 3) continue;
      for (int expert = 0; expert < 256; ++expert)
        for (const char* projection : {"gate_proj", "up_proj", "down_proj"})
          out.add_quantised(fmt::format("{}mlp.experts.{}.{}", at, expert, projection), 2048, 7168);
    }
    out.json += "}";
    return out;
  }();
  return made;
}

void BM_ParseHeader(benchmark::State& state) {
  const Header& text = header();
  for (auto _ : state) {
    TensorTable table;
    if (base::Faults faults = parse_header(text.json, text.end, "header", 0, table);
        !faults.empty() || table.size() != text.tensors) {
      std::cerr << base::render_all(faults) << "\n";
      std::abort();
    }
    benchmark::DoNotOptimize(table);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(text.json.size()));
  state.counters["tensors"] = static_cast<double>(text.tensors);
  state.counters["header_bytes"] = static_cast<double>(text.json.size());
}
BENCHMARK(BM_ParseHeader)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace archlight::truth
