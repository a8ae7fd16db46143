// Precision profiles: how entries and weights are laid out, and what is said of profiles that cannot be.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/bills.h"

namespace archlight::testing {
namespace {

// The bill of a made-up model under profile p, or what is wrong.
base::Result<BillPtr> under(const Made& made, analysis::BillInput input = {},
                            analysis::Dims dims = analysis::Dims::kNumbers) {
  const base::Result<Bound> bound = made.bind();
  if (!bound) return bound.faults();
  const base::Result<const spec::Precision*> precision = bound->library->precision("p");
  if (!precision) return precision.faults();
  input.precision = {bound->library, *precision};
  return analysis::make_bill(bound->library, bound->binding, dims, input);
}

std::string number(const BillPtr& bill, const std::string& key) {
  const analysis::Quantity* quantity = bill->find(key);
  return quantity ? expr::to_string(*quantity->value.constant()) : "none";
}

Made with_profile(const std::string& text) {
  return tiny().plus("precision/p.yaml", text);
}

// Two heads of width 4 in three layers: 8 elements an entry, 16 bytes of BF16.
const char* const kScaledKeys = R"(label: keys with scales
source: made up
cache:
  key: [{ what: values, dtype: F8_E4M3 }, { what: scales, dtype: F32, elements: rows }]
)";

TEST(Precision, WhatIsNotNamedKeepsItsFormat) {
  const base::Result<BillPtr> bill = under(with_profile(kScaledKeys));
  ASSERT_TRUE(bill.ok()) << messages(bill.faults());
  // 8 values of one byte and 2 scales of four
  EXPECT_EQ(number(*bill, "kv.entry.key.layer_bytes_per_token"), "16");
  // 8 values of two bytes
  EXPECT_EQ(number(*bill, "kv.entry.value.layer_bytes_per_token"), "16");
  EXPECT_EQ(number(*bill, "kv.bytes_per_token"), "96");
  // 3 layers write one token's entries and read those of 4,096
  EXPECT_EQ(number(*bill, "decode.kv_write_bytes"), "96");
  EXPECT_EQ(number(*bill, "decode.kv_read_bytes"), "393216");
}

// The formula of each quantity evaluates to its number, under a profile too.
TEST(Precision, FormulasAndNumbersAgree) {
  const Made made = with_profile(kScaledKeys);
  const analysis::BillInput input{.batch = 2, .prompt = 3, .context = 7};
  const base::Result<BillPtr> numbers = under(made, input),
                              formulas = under(made, input, analysis::Dims::kFormulas);
  ASSERT_TRUE(numbers.ok() && formulas.ok());
  std::map<std::string, expr::Rational, std::less<>> symbols;
  for (const analysis::SymbolValue& symbol : analysis::bill_symbols(**formulas))
    symbols.emplace(symbol.name, symbol.value);
  const auto value_of = [&](std::string_view name) -> std::optional<expr::Rational> {
    const auto it = symbols.find(name);
    return it == symbols.end() ? std::nullopt : std::optional(it->second);
  };
  for (const analysis::Quantity& quantity : (*formulas)->quantities) {
    const base::Result<expr::Rational> value = expr::evaluate(quantity.value, value_of);
    ASSERT_TRUE(value.ok()) << quantity.key << messages(value.faults());
    EXPECT_EQ(expr::to_string(*value), number(*numbers, quantity.key)) << quantity.key;
  }
}

TEST(Precision, WeightsByRole) {
  Made made = with_profile(R"(label: halves
source: made up
weights:
  ffn_dense: { method: half }
)");
  made.files["quant/half.yaml"] = R"(label: "two values a byte"
declared_by: [{ never: declared }]
scope: { ops: [linear] }
tensors: [{ suffix: .weight, dtype: U8, shape: [out, "in / 2"], main: true }]
source: made up
)";
  const base::Result<BillPtr> bill = under(made);
  ASSERT_TRUE(bill.ok()) << messages(bill.faults());
  // three layers of 3 * 8*16 weights at half a byte
  EXPECT_EQ(number(*bill, "storage.dtype.U8_bytes"), "576");
  // the rest in BF16: 2 * (32*8 * 2 + 8 + 3 * 4 * 8*8)
  EXPECT_EQ(number(*bill, "storage.dtype.BF16_bytes"), "2576");
  // all linear layers: 3 * (4 * 64 + 384) + 256 of the head
  const base::Result<BillPtr> all = under(made.with("precision/p.yaml", "ffn_dense:", "default:"));
  ASSERT_TRUE(all.ok()) << messages(all.faults());
  EXPECT_EQ(number(*all, "storage.dtype.U8_bytes"), "1088");
}

struct Row {
  const char* from;
  const char* to;
  const char* message;
};

TEST(Precision, Faults) {
  const Made made = with_profile(R"(label: all
source: made up
cache:
  key: [{ what: values, dtype: F8_E4M3, elements: "rows * width" }]
weights:
  ffn_dense: { method: none }
)");
  const Row rows[] = {
      {"label: all\n", "",
       "specs/precision/p.yaml:1:1: precision profile 'p' has no 'label'; expected 'label': a text"},
      {"dtype: F8_E4M3", "dtype: FP8",
       "specs/precision/p.yaml:4:32: unknown dtype 'FP8'; expected a safetensors dtype such as BF16, "
       "F8_E4M3, F4, or "
       "'model'"},
      {"[{ what: values, dtype: F8_E4M3, elements: \"rows * width\" }]", "[]",
       "specs/precision/p.yaml:4:8: entry 'key' has no part; expected a list of {what, dtype, elements}"},
      {"what: values, ", "",
       "specs/precision/p.yaml:4:9: a part of entry 'key' has no 'what'; expected 'what': a text"},
      {"method: none", "method: declared",
       "specs/precision/p.yaml:6:14: the choice for role 'ffn_dense' is 'declared'; expected a scheme of "
       "specs/quant, "
       "or none; leave the role out: what a profile does not name keeps its own format"},
      {"rows * width", "rows * widths",
       "specs/precision/p.yaml:4:9: 'rows * widths' of entry 'key' cannot be evaluated: 'widths' is not "
       "known here; "
       "expected a whole number of elements, over elements, rows, width and the model's dims"},
      {"rows * width", "width / 3",
       "specs/precision/p.yaml:4:9: 'width / 3' of entry 'key' is 4/3; expected a whole number of elements, "
       "over "
       "elements, rows, width and the model's dims"},
      {"ffn_dense:", "ffn_dens:",
       "specs/precision/p.yaml:6:13: precision profile 'p' chooses for role 'ffn_dens'; expected default, or "
       "a role of "
       "specs/roles.yaml; did you mean 'ffn_dense'?"},
  };
  const base::Result<BillPtr> fine = under(made);
  EXPECT_TRUE(fine.ok()) << messages(fine.faults());
  for (const Row& row : rows) {
    SCOPED_TRACE(row.to);
    const base::Result<BillPtr> bill = under(made.with("precision/p.yaml", row.from, row.to));
    ASSERT_FALSE(bill.ok());
    EXPECT_EQ(messages(bill.faults()), row.message);
  }
  const base::Result<BillPtr> nothing = under(
      with_profile("label: other\nsource: made up\ncache: { latent: [{ what: values, dtype: BF16 }] }\n"));
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(
      messages(nothing.faults()),
      "precision profile 'p' rewrites nothing of model 'tiny', which keeps cache entries key, value; "
      "expected a "
      "profile of one of these entries, or of weights that it has; this one is of entries latent; 'archlight "
      "precisions' lists what each profile is about");
  const base::Result<BillPtr> empty = under(with_profile("label: empty\nsource: made up\n"));
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(messages(empty.faults()),
            "specs/precision/p.yaml:1:1: precision profile 'p' rewrites nothing; expected 'cache', "
            "'weights', or both");
}

// A kind that no component keeps would never be rewritten.
TEST(Precision, ProfilesSpeakOfEntriesThatAreKept) {
  std::set<std::string> kept;
  for (const std::string& name : own_library()->component_names()) {
    const base::Result<const spec::Component*> component = own_library()->any_component(name);
    ASSERT_TRUE(component.ok()) << name;
    for (const spec::CacheEntry& entry : (*component)->cache) kept.insert(entry.kind);
  }
  EXPECT_FALSE(own_library()->precisions().empty());
  for (const auto& [name, precision] : own_library()->precisions())
    for (const spec::EntryLayout& layout : precision.cache)
      EXPECT_TRUE(kept.contains(layout.kind)) << name << ": " << layout.kind;
}

}  // namespace
}  // namespace archlight::testing
