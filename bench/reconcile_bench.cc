// DeepSeek-V3's full per-tensor record held against its spec: header text to tensor table, tensor table to
// verdict. The record is the one that tests/records generates from published facts; it is no downloaded
// header.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string_view>

#include "base/file.h"
#include "deepseek_v3.h"
#include "guard/verify.h"
#include "truth/safetensors.h"

namespace archlight::bench {
namespace {

struct Header {
  std::string json;
  uint64_t data_bytes = 0;
  size_t tensors = 0;
};

std::string_view take(std::string_view& rest, char separator) {
  const size_t at = std::min(rest.find(separator), rest.size());
  const std::string_view out = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return out;
}

// The record as one safetensors header, in the record's order.
const Header& header() {
  static const Header made = [] {
    const std::string tsv =
        must(base::read_file(ARCHLIGHT_BINARY_DIR "/records/deepseek-ai--DeepSeek-V3.tsv"));
    Header out;
    out.json = "{\"__metadata__\":{\"format\":\"pt\"}";
    std::string_view rest = tsv;
    take(rest, '\n');
    while (!rest.empty()) {
      std::string_view line = take(rest, '\n');
      const std::string_view name = take(line, '\t'), dtype = take(line, '\t');
      std::string shape(take(line, '\t'));
      if (shape == "scalar") shape.clear();
      std::replace(shape.begin(), shape.end(), 'x', ',');
      const uint64_t end = out.data_bytes + std::stoull(std::string(take(line, '\t')));
      out.json += fmt::format(",\"{}\":{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", name,
                              dtype, shape, out.data_bytes, end);
      out.data_bytes = end;
      ++out.tensors;
    }
    out.json += "}";
    return out;
  }();
  return made;
}

void parse(truth::TensorTable& table) {
  const base::Faults faults = truth::parse_header(header().json, header().data_bytes, "header", 0, table);
  if (faults.empty() && table.size() == header().tensors) return;
  std::cerr << base::render_all(faults) << "\n";
  std::abort();
}

void BM_ParseHeader(benchmark::State& state) {
  header();
  for (auto _ : state) {
    truth::TensorTable table;
    parse(table);
    benchmark::DoNotOptimize(table);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(header().json.size()));
  state.counters["tensors"] = static_cast<double>(header().tensors);
  state.counters["header_bytes"] = static_cast<double>(header().json.size());
}
BENCHMARK(BM_ParseHeader)->Unit(benchmark::kMillisecond);

const truth::Truth& full_truth() {
  static const truth::Truth made = [] {
    truth::Truth out = deepseek_v3().truth;
    out.level = truth::Level::kHeader;
    out.names.clear();
    parse(out.tensors);
    return out;
  }();
  return made;
}

void verdict(const truth::Truth& truth) {
  const guard::Report report = guard::verify(deepseek_v3().library, deepseek_v3().binding, truth);
  if (report.verdict == guard::Verdict::kVerified) return;
  std::cerr << base::render_all(report.faults) << "\n";
  std::abort();
}

// Parsed table to verdict, every guard.
void BM_Verify(benchmark::State& state) {
  const truth::Truth& truth = full_truth();
  for (auto _ : state) verdict(truth);
}
BENCHMARK(BM_Verify)->Unit(benchmark::kMillisecond);

// Header text to verdict.
void BM_Reconcile(benchmark::State& state) {
  truth::Truth truth = full_truth();
  for (auto _ : state) {
    truth.tensors = {};
    parse(truth.tensors);
    verdict(truth);
  }
}
BENCHMARK(BM_Reconcile)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace archlight::bench
