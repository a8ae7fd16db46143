// Expressions: what the walk does for every cell (instantiate with numbers, with symbols), what a sweep does
// for every point (tape), and the simplifier.
#include <benchmark/benchmark.h>

#include <array>

#include "expr/expr.h"
#include "expr/formula.h"
#include "expr/tape.h"

namespace archlight::expr {
namespace {

using base::Int128;

constexpr const char* kLinear = "2*r*in*out";
// Attention on latents with a window: every kind of operation that a cost formula uses.
constexpr const char* kAttention =
    "2*batch*heads*s*min(context + s, window)*(kv_lora + rope) + ceil_div(context + s, block)*block*(kv_lora "
    "+ rope)";

Formula formula(const char* text) {
  return *Formula::parse(text);
}

void BM_ParseLinear(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Formula::parse(kLinear));
}
BENCHMARK(BM_ParseLinear);

void BM_InstantiateConstantLookup(benchmark::State& state) {
  const Formula f = formula(kLinear);
  ExprPool pool;
  const Expr r = pool.constant(Int128{4096}), in = pool.constant(Int128{7168}),
             out = pool.constant(Int128{18432});
  const std::function<std::optional<Expr>(std::string_view)> value_of =
      [&](std::string_view name) -> std::optional<Expr> {
    return name == "r" ? r : name == "in" ? in : out;
  };
  for (auto _ : state) benchmark::DoNotOptimize(f.instantiate(pool, value_of));
}
BENCHMARK(BM_InstantiateConstantLookup);

void BM_InstantiateConstant(benchmark::State& state) {
  const Formula f = formula(kLinear);
  ExprPool pool;
  const std::array values{pool.constant(Int128{4096}), pool.constant(Int128{7168}),
                          pool.constant(Int128{18432})};
  for (auto _ : state) benchmark::DoNotOptimize(f.instantiate(pool, values));
}
BENCHMARK(BM_InstantiateConstant);

std::vector<Expr> symbols(ExprPool& pool, const Formula& f) {
  std::vector<Expr> out;
  for (const std::string& name : f.names()) out.push_back(pool.symbol(name));
  return out;
}

std::vector<Expr> numbers(ExprPool& pool, const Formula& f) {
  std::vector<Expr> out;
  for (size_t i = 0; i < f.names().size(); ++i)
    out.push_back(pool.constant(Int128{64} + Int128{7} * static_cast<Int128>(i)));
  return out;
}

void BM_InstantiateConstantAttention(benchmark::State& state) {
  const Formula f = formula(kAttention);
  ExprPool pool;
  const std::vector<Expr> values = numbers(pool, f);
  for (auto _ : state) benchmark::DoNotOptimize(f.instantiate(pool, values));
}
BENCHMARK(BM_InstantiateConstantAttention);

// The form is there already, as for the second of two like layers.
void BM_InstantiateSymbolicAgain(benchmark::State& state, const char* text) {
  const Formula f = formula(text);
  ExprPool pool;
  const std::vector<Expr> values = symbols(pool, f);
  for (auto _ : state) benchmark::DoNotOptimize(f.instantiate(pool, values));
}
BENCHMARK_CAPTURE(BM_InstantiateSymbolicAgain, linear, kLinear);
BENCHMARK_CAPTURE(BM_InstantiateSymbolicAgain, attention, kAttention);

// A pool of its own each time: what one analysis pays, pool included.
void BM_InstantiateSymbolicFresh(benchmark::State& state) {
  const Formula f = formula(kAttention);
  for (auto _ : state) {
    ExprPool pool;
    benchmark::DoNotOptimize(f.instantiate(pool, symbols(pool, f)));
  }
}
BENCHMARK(BM_InstantiateSymbolicFresh);

// A walk's worth: 250 nodes of six formulas each, with one size that differs per node, in a pool of their
// own.
void BM_Walk(benchmark::State& state) {
  const bool symbolic = state.range(0) != 0;
  const Formula linear = formula(kLinear), attention = formula(kAttention);
  for (auto _ : state) {
    ExprPool pool;
    std::vector<Expr> small = symbolic ? symbols(pool, linear) : numbers(pool, linear);
    std::vector<Expr> large = symbolic ? symbols(pool, attention) : numbers(pool, attention);
    Expr total = pool.constant(Int128{0});
    for (int node = 0; node < 250; ++node) {
      small.back() = pool.constant(Int128{1024 + 8 * node});
      for (int i = 0; i < 5; ++i) total = total + linear.instantiate(pool, small);
      large.back() = small.back();
      total = total + attention.instantiate(pool, large);
    }
    benchmark::DoNotOptimize(total);
  }
}
BENCHMARK(BM_Walk)->ArgName("symbolic")->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

void BM_SumOfManyTerms(benchmark::State& state) {
  for (auto _ : state) {
    ExprPool pool;
    std::vector<Expr> terms;
    for (int i = 0; i < state.range(0); ++i)
      terms.push_back((i + 1) * pool.symbol("n" + std::to_string(i % 50)));
    benchmark::DoNotOptimize(pool.add(terms));
  }
}
BENCHMARK(BM_SumOfManyTerms)->Arg(1000)->Unit(benchmark::kMicrosecond);

void BM_SimplifyFresh(benchmark::State& state) {
  const Formula f = formula("min(ceil_div(a*b, b), a + 1)*((n + 63)//64) + b*(n//b) + n%b");
  for (auto _ : state) {
    ExprPool pool;
    benchmark::DoNotOptimize(simplify(f.instantiate(pool, symbols(pool, f))));
  }
}
BENCHMARK(BM_SimplifyFresh);

void BM_ExpandPower(benchmark::State& state) {
  const Formula f = formula("(a + b + c)^8");  // 45 terms
  for (auto _ : state) {
    ExprPool pool;
    benchmark::DoNotOptimize(expand(f.instantiate(pool, symbols(pool, f))));
  }
}
BENCHMARK(BM_ExpandPower)->Unit(benchmark::kMicrosecond);

void BM_ToText(benchmark::State& state) {
  ExprPool pool;
  const Formula f = formula(kAttention);
  const Expr e = f.instantiate(pool, symbols(pool, f));
  for (auto _ : state) benchmark::DoNotOptimize(to_text(e));
}
BENCHMARK(BM_ToText);

// One point of a sweep, three ways.
void BM_Evaluate(benchmark::State& state) {
  ExprPool pool;
  const Formula f = formula(kAttention);
  const Expr e = f.instantiate(pool, symbols(pool, f));
  const auto value_of = [](std::string_view name) {
    return std::optional<Rational>({static_cast<Int128>(64 + name.size()), 1});
  };
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(e, value_of));
}
BENCHMARK(BM_Evaluate);

void BM_TapeExact(benchmark::State& state) {
  ExprPool pool;
  const Formula f = formula(kAttention);
  const std::array outputs{f.instantiate(pool, symbols(pool, f))};
  const Tape tape = *Tape::compile(outputs, f.names());
  std::vector<Rational> inputs;
  for (const std::string& name : f.names()) inputs.push_back({static_cast<Int128>(64 + name.size()), 1});
  for (auto _ : state) benchmark::DoNotOptimize(tape.run(inputs));
}
BENCHMARK(BM_TapeExact);

void BM_TapeDouble(benchmark::State& state) {
  ExprPool pool;
  const Formula f = formula(kAttention);
  const std::array outputs{f.instantiate(pool, symbols(pool, f))};
  const Tape tape = *Tape::compile(outputs, f.names());
  std::vector<double> inputs;
  for (const std::string& name : f.names()) inputs.push_back(static_cast<double>(64 + name.size()));
  double out = 0;
  for (auto _ : state) {
    tape.run_double(inputs, {&out, 1});
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(BM_TapeDouble);

}  // namespace
}  // namespace archlight::expr
