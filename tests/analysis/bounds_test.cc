// What a spec may ask for: each row of the first table asks for memory or time without bound, and is told where
// and why not. Most were found by fuzzing or by looking for what it would find.
#include <gtest/gtest.h>

#include "support/bills.h"

namespace archlight::testing {
namespace {

std::string repeated(int count, const auto& line) {
  std::string out;
  for (int i = 0; i < count; ++i) out += line(i);
  return out;
}
std::string n(int i) {
  return std::to_string(i);
}

const char* const kModel = "models/tiny.yaml";
const char* const kLayer = "components/library/layer.yaml";
const char* const kMlp = "components/library/mlp.yaml";

// tiny() with another network between gate and down; `graph` ends in a node 'y' as wide as the model.
Made network(const std::string& graph, const std::string& custom = {}) {
  return tiny().plus(kMlp, "role: ffn_dense\n" + custom + "graph:\n" + graph + "outputs: [y]\n");
}

TEST(Bounds, LayersAndCopiesAreCountedBeforeTheirIndicesAreWritten) {
  const Made copied =
      tiny().with(kLayer, "{ slot: ffn, in: first }", "{ slot: ffn, in: first, copies: 1000000 }");
  EXPECT_EQ(outcome(copied.with(kModel, "repeat: n_layers", "repeat: 2000")),
            "specs/components/library/mlp.yaml:3:3: the model stores more than 5,000,000 tensors up to "
            "'layers.*.mlp.*.gate'; expected fewer layers or copies");
}

TEST(Bounds, Stacks) {
  const std::string stacks = repeated(3, [](int i) {
    return "  - { name: s" + n(i) +
           ", repeat: 800, inputs: [layers], streams: { h: { carries: true } }, path: s" + n(i) + " }\n";
  });
  EXPECT_EQ(outcome(tiny().with(kModel, "  - { name: norm,", stacks + "  - { name: norm,")),
            "specs/models/tiny.yaml:21:5: the model's stacks hold more than 2,000 layers; expected a smaller "
            "model");
  const std::string rules =
      "    layers:\n" +
      repeated(251, [](int i) { return "      - { where: layer == " + n(i) + ", ffn: mlp }\n"; }) +
      "      - { rest: true, ffn: mlp }\n";
  EXPECT_EQ(outcome(tiny()
                        .with(kModel, "repeat: n_layers", "repeat: 2000")
                        .with(kModel, "  - { name: norm,", rules + "  - { name: norm,")),
            "specs/models/tiny.yaml:15:5: the model's layer rules times their layers are more than 500,000; "
            "expected a smaller model");
}

TEST(Bounds, KindsOfLayer) {
  const std::string rules = "    layers:\n" + repeated(501, [](int i) {
                              return "      - { count: 1, ffn: mlp, dims: { d_ff: " + n(i + 1) + " } }\n";
                            });
  const std::string fault =
      "specs/models/tiny.yaml:15:5: the model has more than 500 kinds of layer; expected a "
      "smaller model";
  EXPECT_EQ(outcome(tiny()
                        .with(kModel, "repeat: n_layers", "repeat: 501")
                        .with(kModel, "  - { name: norm,", rules + "  - { name: norm,")),
            fault);
}

TEST(Bounds, ChainOfDims) {
  const std::string chain =
      repeated(300, [](int i) { return "  z" + n(i) + ": z" + n(i + 1) + "\n"; }) + "  z300: \"1\"\n";
  EXPECT_EQ(outcome(tiny().with(kModel, "dims:\n", "dims:\n" + chain)),
            "specs/models/tiny.yaml:207:3: dim 'z200' stands at the end of a chain of 200 dims; expected a "
            "shorter chain");
}

TEST(Bounds, PathsAreShort) {
  const std::string path(1100, 'p');
  EXPECT_EQ(
      outcome(tiny().with(kMlp, "gate:  { op", "gate:  { path: " + path + ", op")),
      "specs/components/library/mlp.yaml:3:3: node 'gate' has a module path of 1113 letters; expected at "
      "most 1,000");
}

TEST(Bounds, AxesAndOperands) {
  const std::string axes = repeated(40, [](int) { return std::string(",a"); }).substr(1);
  const std::string y = "  y: { op: scale, in: x, dim: d_model }\n";
  EXPECT_EQ(
      outcome(network(
          y, "custom_ops:\n  wide: { shape: \"axis_replace: [*r,a] -> [" + axes + "]\", source: s }\n")),
      "specs/components/library/mlp.yaml:3:9: a shape pattern of more than 32 axes; expected at most 32, "
      "as tensor files have");
  const std::string operands = repeated(17, [](int) { return std::string("[*r,a] "); });
  EXPECT_EQ(
      outcome(network(
          y, "custom_ops:\n  many: { shape: \"broadcast: " + operands + "-> [*r,a]\", source: s }\n")),
      "specs/components/library/mlp.yaml:3:9: op 'many' takes more than 16 operands; expected at most 16");
  const std::string chain = "  v0: { op: twice, in: x }\n" + repeated(40, [](int i) {
                              return "  v" + n(i + 1) + ": { op: twice, in: v" + n(i) + " }\n";
                            });
  // Each adds an axis to the three of its input; the thirtieth would be the 33rd.
  EXPECT_EQ(outcome(network(chain + y,
                            "custom_ops:\n  twice: { shape: \"axis_replace: [*r,a] -> [*r,a,a]\", "
                            "source: s }\n"))
                .substr(0, 122),
            "specs/components/library/mlp.yaml:34:3: [shape] node 'v29' (layers.*.mlp.v29) has 33 axes; "
            "expected at "
            "most 32");
}

// Views of views of one value, each read twice: 2^100 ways lead to it, and one search meets it once.
TEST(Bounds, ViewsAreMetOnce) {
  const std::string views = repeated(100, [](int i) {
    const std::string from = "w" + n(i), to = n(i + 1);
    return "  v" + to + ": { op: concat_view, in: [" + from + ", " + from + "] }\n  w" + to +
           ": { op: slice, in: v" + to + ", dims: { out: 1 } }\n";
  });
  EXPECT_EQ(outcome(network("  w0: { op: linear, in: x, dims: { in: d_model, out: 1 } }\n" + views +
                            "  y: { op: linear, in: w100, dims: { in: 1, out: d_model } }\n")),
            "ok");
}

TEST(Bounds, ScopesAreEvaluatedOnce) {
  // Twenty calls deep, each mentions the name above it ten times: 10^20 ways to the same number.
  Made made = tiny();
  for (int i = 0; i < 20; ++i)
    made = made.plus(
        "components/library/deep" + n(i) + ".yaml",
        "role: ffn_dense\ngraph:\n  a: { component: " + (i < 19 ? "deep" + n(i + 1) : "mlp") +
            ", in: x, dims: { d_ff: \"d_ff - d_ff + d_ff - d_ff + d_ff - d_ff + d_ff - d_ff + d_ff - "
            "d_ff + d_ff + 1\" } }\noutputs: [a]\n");
  const base::Result<BillPtr> bill = bill_of(made.with(kModel, "ffn: mlp", "ffn: deep0").bind());
  ASSERT_TRUE(bill) << messages(bill.faults());
  EXPECT_EQ(count_of(**bill, "params.layer.layers.ffn_dense"), 3 * 8 * (16 + 20));
}

TEST(Bounds, AWeightThatIsNone) {
  const Made made = tiny()
                        .with(kMlp, "role: ffn_dense\n", "role: ffn_dense\ndecode_variant: fast\n")
                        .plus("components/library/fast.yaml",
                              "role: ffn_dense\nvariant_of: mlp\ngraph:\n  down: { op: linear, in: x, dims: "
                              "{ in: d_model, out: "
                              "d_model }, weight_of: act }\noutputs: [down]\n");
  EXPECT_EQ(outcome(made),
            "specs/components/library/fast.yaml:4:3: node 'down' reads the weight of 'act', which has none; "
            "expected a node of component 'mlp'");
}

TEST(Bounds, PatternsOfIgnoredModules) {
  const auto listed = [](int count) {
    const std::string entries = repeated(count, [](int i) { return ", \"re:layer" + n(i) + "\""; }).substr(2);
    return tiny()
        .with("config", "\"dtype\"",
              "\"quantization_config\": {\"quant_method\": \"q\", \"ignore\": [" + entries + "]}, \"dtype\"")
        .with(kModel, "model:\n", "quant_context: { per_role: { default: { method: declared } } }\nmodel:\n")
        .plus("quant/q.yaml",
              "label: l\nsource: s\ndeclared_by: [{ quant_method: q }]\nscope: { ops: [linear] }\n"
              "ignore: { keys: [ignore] }\ntensors:\n"
              "  - { suffix: .weight, dtype: U8, main: true, shape: [out, in] }\n");
  };
  EXPECT_EQ(outcome(listed(1000)), "ok");
  EXPECT_EQ(
      outcome(listed(1001)),
      "config.json: config.quantization_config leaves out modules by 1001 patterns; expected at most 1,000");
}

TEST(Bounds, StoredAxes) {
  const Made made =
      tiny().with("config", "\"dtype\"", "\"quantization_config\": {\"quant_method\": \"q\"}, \"dtype\"");
  const auto scheme = [](const std::string& axis) {
    return "label: l\nsource: s\ndeclared_by: [{ quant_method: q }]\nscope: { ops: [linear] }\ntensors:\n"
           "  - { suffix: .weight, dtype: U8, main: true, shape: [\"" +
           axis + "\", in] }\n";
  };
  const Made declared = made.with(kModel, "model:\n",
                                  "quant_context: { per_role: { default: { method: declared } } }\nmodel:\n");
  EXPECT_EQ(outcome(declared.plus("quant/q.yaml", scheme("out"))), "ok");
  const std::string wrong = outcome(declared.plus("quant/q.yaml", scheme("out - 1000")));
  EXPECT_EQ(
      wrong.substr(0, wrong.find('\n')),
      "specs/quant/q.yaml:6:5: 'out - 1000' of layers.*.self_attn.q_proj.weight is -992; expected a whole "
      "number: the weight's width must divide");
  EXPECT_EQ(outcome(tiny().with(kModel, "model:\n",
                                "buffers: [{ path: \"\", shape: [1], dtype: F32, source: s }]\nmodel:\n")),
            "specs/models/tiny.yaml:13:11: a buffer has an empty path; expected its module path");
}

}  // namespace
}  // namespace archlight::testing
