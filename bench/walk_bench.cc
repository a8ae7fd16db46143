// One evaluation of DeepSeek-V3, step by step and whole: what loading specs/ costs, expanding the graph, the
// walk with numbers and with symbols, and the bill over both phases.
#include <benchmark/benchmark.h>

#include "analysis/bill.h"
#include "deepseek_v3.h"

namespace archlight::bench {
namespace {

using analysis::Dims;
using graph::Phase;

void BM_OpenLibrary(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(must(spec::Library::open(ARCHLIGHT_SOURCE_DIR "/specs")));
}
BENCHMARK(BM_OpenLibrary)->Unit(benchmark::kMillisecond);

void BM_Bind(benchmark::State& state) {
  const Opened& v3 = deepseek_v3();
  for (auto _ : state)
    benchmark::DoNotOptimize(must(spec::bind(*v3.binding->model, v3.truth.config, v3.truth.quant_config)));
}
BENCHMARK(BM_Bind)->Unit(benchmark::kMicrosecond);

void BM_BuildTree(benchmark::State& state, Phase phase) {
  const Opened& v3 = deepseek_v3();
  for (auto _ : state) benchmark::DoNotOptimize(must(graph::build_tree(*v3.library, *v3.binding, phase)));
}
BENCHMARK_CAPTURE(BM_BuildTree, prefill, Phase::kPrefill)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_BuildTree, decode, Phase::kDecode)->Unit(benchmark::kMicrosecond);

// The walk alone: shapes, FLOPs, parameters and caches of every node of every distinct layer.
void BM_Walk(benchmark::State& state, Phase phase, Dims dims) {
  const Opened& v3 = deepseek_v3();
  const auto tree =
      std::make_shared<const graph::SpecTree>(must(graph::build_tree(*v3.library, *v3.binding, phase)));
  analysis::PhaseBinding binding;
  binding.dims = dims;
  if (dims == Dims::kNumbers) {
    binding.batch = 1;
    binding.s_ctx = 4096;
    if (phase == Phase::kPrefill) binding.s_query = 4096;
  }
  for (auto _ : state) benchmark::DoNotOptimize(must(analysis::walk(tree, binding)));
  state.counters["nodes"] = static_cast<double>(tree->nodes.size());
}
BENCHMARK_CAPTURE(BM_Walk, prefill_numeric, Phase::kPrefill, Dims::kNumbers)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_Walk, decode_numeric, Phase::kDecode, Dims::kNumbers)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_Walk, prefill_symbolic, Phase::kPrefill, Dims::kFormulas)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_Walk, decode_symbolic, Phase::kDecode, Dims::kFormulas)->Unit(benchmark::kMicrosecond);

// Both graphs, both walks, storage, traffic and every quantity.
void BM_Bill(benchmark::State& state, Dims dims) {
  const Opened& v3 = deepseek_v3();
  for (auto _ : state)
    benchmark::DoNotOptimize(must(analysis::make_bill(v3.library, v3.binding, dims, {}, {})));
}
BENCHMARK_CAPTURE(BM_Bill, numeric, Dims::kNumbers)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Bill, symbolic, Dims::kFormulas)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace archlight::bench
