// What the axiom guard says of promises: proven, refuted by a context length, or open.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "guard/internal/prove.h"
#include "guard/small.h"

namespace archlight::guard::testing {
namespace {

// The small model's attention keeps keys and values of 4 heads of 16 within a window of 128.
Files promising(const std::string& axioms) {
  return with(kSmall, kAttn, "graph:\n", "axioms: [" + axioms + "]\ngraph:\n");
}

std::string faults(const std::string& axioms) {
  return faults_of(promising(axioms));
}

Report report_of(const Files& files) {
  const base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(files);
  EXPECT_TRUE(library.ok()) << base::render_all(library.faults());
  truth::Truth truth;
  truth.config = json(kConfig);
  return verify_all(*library, truth);
}

TEST(Axiom, WhatHoldsForEveryContextIsProven) {
  for (const char* axiom : {
           "kv_elements == 2 * n_heads * d_head * min(s_ctx, d_window)",
           "kv_elements_per_token == 2 * n_heads * d_head",
           "kv_tokens <= d_window",
           "kv_tokens <= s_ctx",
           "kv_tokens < d_window + 1",
           "d_window >= key.tokens",
           "key.elements == value.elements",
           "kv_elements <= 2 * n_heads * d_head * d_window",
           "kv_elements <= 2 * n_heads * d_head * s_ctx",
           "kv_growth_when_full == 0",
           "state_elements == 0",
           "state_elements == constant",
           "kv_growth_when_full == constant",
           // True of this config's numbers alone: 2 * 4 * 16 * 128 = 16,384.
           "kv_elements <= 16384",
       })
    EXPECT_EQ(faults(fmt::format("\"{}\"", axiom)), "") << axiom;
}

TEST(Axiom, WhatFailsIsRefutedByAContextLength) {
  const auto fault = [](const std::string& axiom, const std::string& why) {
    return "specs/components/library/attn.yaml:7:10: [axiom] component 'attn' promises " + axiom +
           "; in layers.*.attn " + why +
           "; expected a promise for every context length; mend the cache, or the promise\n";
  };
  const auto expect = [&](const std::string& axiom, const std::string& why) {
    EXPECT_EQ(faults("\"" + axiom + "\""), fault(axiom, why));
  };
  // 2 sides * 4 heads * 16 = 128 elements a token; the window is full at 128 tokens.
  expect("kv_elements == 2 * n_heads * d_head * s_ctx",
         "the left is 16384 and the right 16512 at s_ctx = 129");
  expect("kv_elements_per_token == n_heads * d_head", "the left is 128 and the right 64 at s_ctx = 1");
  expect("kv_tokens <= d_window - 1", "the left is 128 and the right 127 at s_ctx = 128");
  expect("kv_tokens < d_window", "the left is 128 and the right 128 at s_ctx = 128");
  expect("kv_growth == constant", "it is 128 at s_ctx = 1 and 0 at s_ctx = 128");
  expect("kv_elements == constant", "it is 128 at s_ctx = 1 and 256 at s_ctx = 2");
}

// A cache that grows otherwise than its component promises, whatever its config.
TEST(Axiom, ACacheThatBreaksItsPromiseIsAFault) {
  const std::string axioms = "\"kv_tokens <= d_window\", \"kv_growth_when_full == 0\"";
  Files whole = promising(axioms);
  for (const char* entry : {"node: k_rope, kind: key", "node: v_heads, kind: value"})
    whole = with(whole, kAttn, std::string(entry) + ", window: d_window", entry);
  for (const char* op : {"in: [q_rope, k_rope]", "in: scores", "in: [probs, v_heads]"})
    whole = with(whole, kAttn, std::string(op) + ", window: d_window", op);
  EXPECT_EQ(
      faults_of(whole, kConfig, {"structural"}),
      "specs/components/library/attn.yaml:7:10: [axiom] component 'attn' promises kv_tokens <= d_window; in "
      "layers.*.attn the left is 129 and the right 128 at s_ctx = 129; expected a promise for every context "
      "length; mend the cache, or the promise\n"
      "specs/components/library/attn.yaml:7:35: [axiom] component 'attn' promises kv_growth_when_full == 0; "
      "in layers.*.attn the left is 128 and the right 0 at s_ctx = 1; expected a promise for every context "
      "length; mend the cache, or the promise\n");
}

TEST(Axiom, ACompressedCacheAndAState) {
  // One kept token in 4 for the keys; the values as a state of 4 heads of 16.
  Files files = promising(
      "\"key.elements == n_heads * d_head * (s_ctx // 4)\", \"key.tokens <= s_ctx / 4\", \"4 * key.tokens > "
      "s_ctx - 4\", "
      "\"key.per_token == n_heads * d_head / 4\", \"state_elements == n_heads * d_head\"");
  files =
      with(files, kAttn, "node: k_rope, kind: key, window: d_window", "node: k_rope, kind: key, ratio: 4");
  files = with(files, kAttn, "node: v_heads, kind: value, window: d_window",
               "node: v_heads, kind: value, fixed: true");
  const std::string said = lines_of(report_of(files));
  EXPECT_EQ(said.find("[axiom]"), std::string::npos) << said;
  EXPECT_EQ(said.find("neither proven"), std::string::npos) << said;
}

TEST(Axiom, WhatIsNeitherIsOpenAndVerifiesNothing) {
  // True, and past what is proven here: squares of a sum are compared, with a remainder in them.
  const std::string axiom = "(s_ctx % 3) * (3 - s_ctx % 3) <= 2";
  const Report report = report_of(promising("\"" + axiom + "\""));
  EXPECT_EQ(
      lines_of(report),
      "specs/components/library/attn.yaml:7:10: [not_verifiable] component 'attn' promises " + axiom +
          "; in layers.*.attn that is neither proven nor refuted; expected a form that can be decided: one "
          "formula on both sides, or a bound\n");
  EXPECT_EQ(verdict_name(report.verdict), "not verifiable");
  for (const GuardRun& run : report.guards)
    if (run.name == "axiom") {
      EXPECT_EQ(run.open, 1);
      EXPECT_EQ(run.faults, 0);
    }
}

TEST(Axiom, HoldsWhereItsConditionDoes) {
  EXPECT_EQ(faults("{ when: \"d_window == 0\", holds: \"kv_elements == s_ctx\" }"), "");
  EXPECT_NE(faults("{ when: \"d_window > 0\", holds: \"kv_elements == s_ctx\" }"), "");
}

TEST(Axiom, NamesAndFormsThatAreNone) {
  EXPECT_EQ(
      faults("\"kv_tokns <= d_window\""),
      "specs/components/library/attn.yaml:7:10: [axiom] component 'attn' promises kv_tokns <= d_window; "
      "'kv_tokns' is not known here; expected quantities of its cache, and dims; did you mean "
      "'kv_tokens'?\n");
  EXPECT_EQ(
      faults("\"kv_tokens\""),
      "specs/components/library/attn.yaml:7:10: [analysis] axiom 'kv_tokens' compares nothing; expected one "
      "of ==, <=, >=, <, > between two formulas, as in \"kv_tokens <= d_window\"\n");
}

TEST(Axiom, AComponentThatPromisesNothingGetsAdvice) {
  const Report report = report_of(kSmall);
  EXPECT_EQ(lines_of(report), "");
  EXPECT_EQ(advice_of(report),
            "specs/components/library/attn.yaml:1:1: [axiom] component 'attn' keeps a cache and promises "
            "nothing of "
            "it; expected axioms: how its entries grow, and what caps them\n");
}

// The small model's attention computes two ropes and a softmax of pairs; everything else in it is a matrix product or a
// view.
TEST(Axiom, WhatAGraphComputesIsCountedTwice) {
  const auto computing = [](const std::string& ops) {
    return faults_of(with(kSmall, kAttn, "graph:\n", "computes: { " + ops + " }\ngraph:\n"));
  };
  EXPECT_EQ(computing("rope: 2, attention_softmax: 1"), "");
  EXPECT_EQ(computing("rope: \"2 * (d_head > 0)\", attention_softmax: 1"), "");
  EXPECT_EQ(
      computing("rope: 1, attention_softmax: 1"),
      "specs/components/library/attn.yaml:7:13: [axiom] component 'attn' promises 1 of op 'rope', and its "
      "graph in layers.*.attn has 2; expected as many as are promised; mend the graph, or the promise\n");
  EXPECT_EQ(
      computing("rope: 2, attention_softmax: 1, silu: 1"),
      "specs/components/library/attn.yaml:7:44: [axiom] component 'attn' promises 1 of op 'silu', and its "
      "graph in layers.*.attn has 0; expected as many as are promised; mend the graph, or the promise\n");
  EXPECT_EQ(
      computing("rope: 2"),
      "specs/components/library/attn.yaml:7:11: [axiom] component 'attn' promises no op "
      "'attention_softmax', and its graph in layers.*.attn has 1; expected as many as are promised; mend "
      "the graph, or the promise\n");
  EXPECT_EQ(computing("rope: d_hed, attention_softmax: 1"),
            "specs/components/library/attn.yaml:7:13: [axiom] component 'attn' promises 'rope' so often: "
            "'d_hed' is not known here; expected a count, over dims; mend the graph, or the promise\n");
  EXPECT_EQ(
      computing("rop: 2"),
      "specs/components/library/attn.yaml:7:13: [analysis] 'computes' counts 'rop'; expected an op of unit "
      "vector, of the ops table or the file's own; did you mean 'rope'?\n");
  EXPECT_EQ(
      computing("linear: 4"),
      "specs/components/library/attn.yaml:7:13: [analysis] 'computes' counts 'linear'; expected an op of "
      "unit vector, of the ops table or the file's own\n");
}

TEST(Axiom, AModelPromisesWhatItsOwnListComputes) {
  const auto computing = [](const std::string& ops) {
    return faults_of(with(kSmall, kModel, "quant_context:", "computes: " + ops + "\nquant_context:"));
  };
  EXPECT_EQ(computing("{}"), "");
  EXPECT_EQ(
      computing("{ rmsnorm: 1 }"),
      "specs/models/small.yaml:10:13: [axiom] the model promises 1 of op 'rmsnorm', and its list has 0; "
      "expected as many as are promised; mend the graph, or the promise\n");
}

// 3,840 by 7,680 values of 8 bits, and a scale of 32 for 8 of them along the input: 235,929,600 + 117,964,800 bits.
TEST(Axiom, WhatStandsForAWeightIsCountedTwice) {
  const auto storing = [](const std::string& promise) {
    Files files = kSmall;
    files["models/small.yaml"] = with(kSmall, kModel, "{ default_dtype: BF16 }",
                                      "{ per_role: { default: { method: narrow } }, default_dtype: BF16 }")
                                     .at(kModel);
    files["quant/narrow.yaml"] =
        "label: narrow\nscope: { ops: [linear], not_roles: [head] }\n"
        "tensors:\n  - { suffix: .weight, dtype: I8, shape: [out, in], main: true }\n"
        "  - { suffix: .scale, dtype: F32, shape: [out, \"in / 8\"] }\n"
        "  - { suffix: .input_scale, dtype: F32, shape: [], optional: true }\nstores: \"" +
        promise + "\"\nsource: made up\n";
    return faults_of(files);
  };
  EXPECT_EQ(storing("8 * out * in + 32 * out * in / 8"), "");
  EXPECT_EQ(storing("12 * out * in"), "");
  EXPECT_EQ(
      storing("8 * out * in + 32 * out"),
      "specs/quant/narrow.yaml:7:9: [axiom] scheme 'narrow' promises 8 * out * in + 32 * out bits, "
      "236052480 for a weight of 3840 by 7680; expected 353894400, those of its tensors that are always "
      "there; mend the tensors, or the promise\n");
}

// Over small values of every symbol: what is called proven is true.
TEST(Axiom, WhatIsProvenIsTrue) {
  const char* const formulas[] = {"a",
                                  "b",
                                  "min(a, b)",
                                  "max(a, b)",
                                  "a // 2",
                                  "a + b",
                                  "2 * a",
                                  "min(a, 3) + b",
                                  "(a + 1) // 2",
                                  "a / 2",
                                  "max(a, 3)",
                                  "a * b",
                                  "min(a * b, 5)",
                                  "3",
                                  "a - min(a, b)",
                                  "(a + b) // 2",
                                  "max(a, b) - min(a, b)"};
  size_t proven = 0, missed = 0;
  for (const char* left : formulas)
    for (const char* right : formulas)
      for (const bool strictly : {false, true}) {
        expr::ExprPool pool;
        const auto made = [&](const char* text) {
          return expr::Formula::parse(text)->instantiate(
              pool, [&](std::string_view name) -> std::optional<expr::Expr> { return pool.symbol(name); });
        };
        const expr::Expr a = made(left), b = made(right);
        const bool says = internal::proven_at_most(a, b, strictly);
        bool is = true;
        for (int x = 1; x <= 9; ++x)
          for (int y = 1; y <= 9; ++y) {
            const auto value = [&](expr::Expr e) {
              return *expr::evaluate(e, [&](std::string_view name) -> std::optional<expr::Rational> {
                return expr::Rational{name == "a" ? x : y, 1};
              });
            };
            const int order = expr::compare(value(a), value(b));
            is = is && (strictly ? order < 0 : order <= 0);
          }
        EXPECT_FALSE(says && !is) << left << (strictly ? " < " : " <= ") << right;
        proven += says;
        missed += is && !says;
      }
  EXPECT_GT(proven, 60u);
  EXPECT_LE(missed, 25u);  // products of symbols, mostly, and what is true of these small values alone
}

}  // namespace
}  // namespace archlight::guard::testing
