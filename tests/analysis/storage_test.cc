// How parameters are stored: adapters, tied heads, biases, buffers, and quantisation by role, override and
// ignore list.
#include <gtest/gtest.h>

#include "support/bills.h"

namespace archlight::testing {
namespace {

const char* const kModel = "models/tiny.yaml";
const char* const kLayer = "components/library/layer.yaml";
const char* const kMlp = "components/library/mlp.yaml";

// The present tensors whose name holds `part`: "name dtype [shape] xcount", one a line, in order.
std::string stored(const Made& made, std::string_view part, const analysis::StorageChoice& choice = {}) {
  const base::Result<BillPtr> bill = bill_of(made.bind(), {}, analysis::Dims::kNumbers, choice);
  if (!bill) return messages(bill.faults());
  std::string out;
  for (const analysis::StoredTensor& tensor : (*bill)->storage.tensors)
    if (tensor.present && tensor.name.find(part) != std::string::npos)
      out += (out.empty() ? "" : "\n") + tensor.name + " " + std::string(base::dtype_name(tensor.dtype)) +
             " " + text_of(tensor.shape) + " x" + expr::to_text(tensor.count);
  return out;
}

int64_t counted(const Made& made, std::string_view key, const analysis::StorageChoice& choice = {}) {
  const base::Result<BillPtr> bill = bill_of(made.bind(), {}, analysis::Dims::kNumbers, choice);
  EXPECT_TRUE(bill.ok()) << (bill.ok() ? "" : messages(bill.faults()));
  return bill ? count_of(**bill, key) : -1;
}

TEST(Storage, PlainTensors) {
  EXPECT_EQ(stored(tiny(), "mlp."),
            "layers.*.mlp.gate.weight BF16 [16, 8] x3\nlayers.*.mlp.up.weight BF16 [16, 8] "
            "x3\nlayers.*.mlp.down.weight BF16 [8, 16] x3");
  // embedding and head 2*32*8, norm 8; a layer: attention 4*8*8, mlp 3*8*16
  EXPECT_EQ(counted(tiny(), "storage.elements"), 520 + 3 * (256 + 384));
  EXPECT_EQ(counted(tiny(), "storage.bytes"), 2 * 2440);
  analysis::StorageChoice wide;
  wide.plain_dtype = base::Dtype::kF32;
  EXPECT_EQ(counted(tiny(), "storage.bytes", wide), 4 * 2440);
  EXPECT_EQ(outcome(tiny().with("config", ", \"dtype\": \"bfloat16\"", "")),
            "specs/models/tiny.yaml:1:1: neither the config nor the spec names a dtype; expected torch_dtype "
            "in config.json, or default_dtype in quant_context");
}

TEST(Storage, BiasesFollowTheirCondition) {
  const Made made =
      tiny()
          .with(kMlp, "in: gated, dims:", "in: gated, bias: with_bias, dims:")
          .with(kModel, "  d_ff:", "  with_bias: { config: bias, default: 0, source: s }\n  d_ff:");
  EXPECT_EQ(stored(made, "down"), "layers.*.mlp.down.weight BF16 [8, 16] x3");
  EXPECT_EQ(stored(made.with("config", "\"layers\"", "\"bias\": true, \"layers\""), "down"),
            "layers.*.mlp.down.weight BF16 [8, 16] x3\nlayers.*.mlp.down.bias BF16 [8] x3");
}

TEST(Storage, TiedHead) {
  const Made made =
      tiny()
          .with(kModel, "in: norm, dims: { in: d_model, out: n_vocab }",
                "in: norm, dims: { in: d_model, out: n_vocab }, tied_to: embed, tied_when: tied")
          .with(kModel, "  d_ff:", "  tied: { config: tied, default: 0, source: s }\n  d_ff:");
  const Made tied = made.with("config", "\"layers\"", "\"tied\": true, \"layers\"");
  EXPECT_EQ(counted(made, "params.total"), 2440);
  EXPECT_EQ(counted(tied, "params.total"), 2440 - 256);
  EXPECT_EQ(counted(tied, "storage.elements"), 2440 - 256);
  EXPECT_EQ(stored(tied, "head"), "");
  // A file that holds the copy all the same stores it, and it stays no parameter of its own.
  analysis::StorageChoice copy;
  copy.present = {"head.weight"};
  EXPECT_EQ(counted(tied, "storage.elements", copy), 2440);
  EXPECT_EQ(counted(tied, "params.total", copy), 2440 - 256);
  // It is read as a head in full: 32*8*2 bytes, beside one row as embedding.
  EXPECT_EQ(counted(tied, "decode.weight_bytes"), counted(made, "decode.weight_bytes"));
}

TEST(Storage, Adapters) {
  const Made experts = tiny().with(kLayer, "{ slot: ffn, in: first }", "{ slot: ffn, in: first, copies: 4 }");
  const auto adapted = [&](const std::string& paths) {
    return stored(experts.with(kModel, "model:\n", "adapter: plain\nmodel:\n")
                      .plus("adapters/plain.yaml", "paths: " + paths + "\n"),
                  "down");
  };
  EXPECT_EQ(stored(experts, "down"), "layers.*.mlp.*.down.weight BF16 [8, 16] x12");
  EXPECT_EQ(adapted("{ layers: model.layers }"), "model.layers.*.mlp.*.down.weight BF16 [8, 16] x12");
  EXPECT_EQ(adapted("{ layers: model.layers, layers.*.mlp: h.*.moe }"),
            "h.*.moe.*.down.weight BF16 [8, 16] x12");
  EXPECT_EQ(adapted("{ layers.*.mlp.*.down: { path: h.*.down_proj, stacked: true } }"),
            "h.*.down_proj.weight BF16 [4, 8, 16] x3");
  EXPECT_EQ(adapted("{ layers.*.mlp.*.down: { path: h.*.down_proj, stacked: true, join: _ } }"),
            "h.*.down_proj BF16 [4, 8, 16] x3");
  // Equal shares of the first axis, kept apart.
  const std::string parts = "{ layers.*.mlp.*.down: { parts: [h.*.e.*.a, h.*.e.*.b] } }";
  EXPECT_EQ(adapted(parts), "");
  const Made apart = experts.with(kModel, "model:\n", "adapter: plain\nmodel:\n")
                         .plus("adapters/plain.yaml", "paths: " + parts + "\n");
  EXPECT_EQ(stored(apart, "h."), "h.*.e.*.a.weight BF16 [4, 16] x12\nh.*.e.*.b.weight BF16 [4, 16] x12");
  for (const char* key : {"params.total", "storage.bytes", "prefill.weight_bytes", "decode.weight_bytes"})
    EXPECT_EQ(counted(apart, key), counted(experts, key)) << key;
  EXPECT_EQ(stored(experts.with(kModel, "model:\n", "adapter: plane\nmodel:\n")
                       .plus("adapters/plain.yaml", "paths: { layers: x }\n"),
                   "down"),
            "specs/models/tiny.yaml:1:1: unknown adapter 'plane'; expected one of plain");
  // What an adapter extends stands behind its own rules.
  EXPECT_EQ(stored(experts.with(kModel, "model:\n", "adapter: plain\nmodel:\n")
                       .plus("adapters/plain.yaml", "extends: base\npaths: { layers.*.mlp: h.*.moe }\n")
                       .plus("adapters/base.yaml", "paths: { layers.*.mlp: lost, layers: model.layers }\n"),
                   "_proj"),
            "model.layers.*.self_attn.q_proj.weight BF16 [8, 8] x3\nmodel.layers.*.self_attn.k_proj.weight "
            "BF16 [8, 8] x3\n"
            "model.layers.*.self_attn.v_proj.weight BF16 [8, 8] x3\nmodel.layers.*.self_attn.o_proj.weight "
            "BF16 [8, 8] x3");
}

TEST(Storage, Buffers) {
  const Made made = tiny().with(kModel, "model:\n",
                                "buffers:\n  - { path: layers.*.self_attn.freq, shape: [d_head // 2], dtype: "
                                "[F32, BF16], optional: true, source: s }\n"
                                "  - { path: positions, shape: [n_vocab], dtype: I64, source: s }\nmodel:\n");
  EXPECT_EQ(stored(made, "freq"), "");
  EXPECT_EQ(stored(made, "positions"), "positions I64 [32] x1");
  analysis::StorageChoice choice;
  choice.present = {"layers.*.self_attn.freq"};
  EXPECT_EQ(stored(made, "freq", choice), "layers.*.self_attn.freq F32 [2] x3");
  choice.tensor_dtype["layers.*.self_attn.freq"] = base::Dtype::kBF16;
  EXPECT_EQ(stored(made, "freq", choice), "layers.*.self_attn.freq BF16 [2] x3");
  const Made two = made.with(kModel, "shape: [d_head // 2],", "shape: [d_head // 2], or_shape: [d_head],");
  EXPECT_EQ(stored(two, "freq", choice), "layers.*.self_attn.freq BF16 [2] x3");
  choice.or_shaped = {"layers.*.self_attn.freq"};
  EXPECT_EQ(stored(two, "freq", choice), "layers.*.self_attn.freq BF16 [4] x3");
  EXPECT_EQ(counted(made, "params.total"), 2440);  // a buffer is no parameter
  EXPECT_EQ(counted(made, "storage.bytes"), 2 * 2440 + 32 * 8);
}

// One byte per weight and an F32 scale per `group` inputs.
Made quantised(const std::string& context, const std::string& config = "") {
  return tiny()
      .plus("quant/grouped.yaml",
            "label: l\nsource: s\ndeclared_by: [{ quant_method: grouped }]\nparams: { group: { key: "
            "group_size, default: 4 } }\n"
            "scope: { ops: [linear], not_roles: [head] }\nignore: { keys: [skip], match: path }\n"
            "tensors:\n  - { suffix: .q, dtype: I8, shape: [out, in], main: true }\n  - { suffix: .s, dtype: "
            "[F32, BF16], shape: [out, in / group] }\n")
      .with(kModel, "model:\n", "quant_context: " + context + "\nmodel:\n")
      .with(kModel, "in: norm, dims", "in: norm, role: head, dims")
      .with("config", "\"layers\": 3", "\"layers\": 3" + config);
}

TEST(Storage, QuantByRole) {
  const Made made = quantised("{ per_role: { ffn_dense: { method: grouped } } }");
  EXPECT_EQ(stored(made, "down"), "layers.*.mlp.down.q I8 [8, 16] x3\nlayers.*.mlp.down.s F32 [8, 4] x3");
  EXPECT_EQ(stored(made, "o_proj"), "layers.*.self_attn.o_proj.weight BF16 [8, 8] x3");
  EXPECT_EQ(counted(made, "params.total"), 2440);  // parameters do not change with their storage
  EXPECT_EQ(counted(made, "storage.scale_bytes"), 3 * 4 * (2 * 16 * 8 / 4 + 8 * 16 / 4));
  // a role's numbers, by key or by the scheme's own name
  EXPECT_EQ(stored(quantised("{ per_role: { ffn_dense: { method: grouped, group_size: 8 } } }"), "down.s"),
            "layers.*.mlp.down.s F32 [8, 2] x3");
  EXPECT_EQ(stored(quantised("{ per_role: { ffn_dense: { method: grouped, group: 2 } } }"), "down.s"),
            "layers.*.mlp.down.s F32 [8, 8] x3");
  EXPECT_EQ(
      stored(quantised("{ per_role: { ffn_dense: { method: grouped } }, scale_dtype: BF16 }"), "down.s"),
      "layers.*.mlp.down.s BF16 [8, 4] x3");
}

TEST(Storage, QuantOverride) {
  EXPECT_EQ(stored(quantised("{ per_role: { default: { method: grouped } }, override: [{ nodes: "
                             "[layers.*.mlp.down, layers.*.mlp.up], method: none, source: s }] }"),
                   "mlp"),
            "layers.*.mlp.gate.q I8 [16, 8] x3\nlayers.*.mlp.gate.s F32 [16, 2] x3\nlayers.*.mlp.up.weight "
            "BF16 [16, 8] x3\nlayers.*.mlp.down.weight BF16 [8, 16] x3");
  EXPECT_EQ(stored(quantised("{ override: [{ nodes: [norm], dtype: F32, source: s }] }"), "norm"),
            "norm.weight F32 [8] x1");
  // a padded tensor: stored as stated, counted as what the weight is
  const Made padded = quantised("{ override: [{ nodes: [norm], shape: [d_model + 4], source: s }] }");
  EXPECT_EQ(stored(padded, "norm"), "norm.weight BF16 [12] x1");
  EXPECT_EQ(counted(padded, "storage.elements") - counted(tiny(), "storage.elements"), 4);
  EXPECT_EQ(counted(padded, "params.total"), counted(tiny(), "params.total"));
  // the scheme's scope: an embedding is no linear, the head's role is left out
  const Made all = quantised("{ per_role: { default: { method: grouped } } }");
  EXPECT_EQ(stored(all, "embed"), "embed.weight BF16 [32, 8] x1");
  EXPECT_EQ(stored(all, "head"), "head.weight BF16 [32, 8] x1");
}

TEST(Storage, QuantDeclared) {
  const std::string declared = "{ per_role: { default: { method: declared } } }";
  EXPECT_EQ(stored(quantised(declared), "down"), "layers.*.mlp.down.weight BF16 [8, 16] x3");
  EXPECT_EQ(stored(quantised(declared,
                             ", \"quantization_config\": {\"quant_method\": \"grouped\", \"group_size\": 8}"),
                   "down"),
            "layers.*.mlp.down.q I8 [8, 16] x3\nlayers.*.mlp.down.s F32 [8, 2] x3");
  // An ignore list splits a group's layers: the quantised ones first.
  EXPECT_EQ(stored(quantised(declared,
                             ", \"quantization_config\": {\"quant_method\": \"grouped\", \"skip\": "
                             "[\"layers.1.mlp.down\", \"layers.2\"]}"),
                   "mlp.down"),
            "layers.*.mlp.down.q I8 [8, 16] x1\nlayers.*.mlp.down.s F32 [8, 4] x1\nlayers.*.mlp.down.weight "
            "BF16 [8, 16] x2");
  const Made split = quantised(
      declared,
      ", \"quantization_config\": {\"quant_method\": \"grouped\", \"skip\": [\"layers.1.mlp.down\"]}");
  // down: two layers of 128 bytes and 32 scales, one plain of 256 bytes; a decode step reads the same
  const Made none = quantised(declared, ", \"quantization_config\": {\"quant_method\": \"grouped\"}");
  EXPECT_EQ(counted(split, "storage.bytes") - counted(none, "storage.bytes"), 256 - (128 + 32 * 4));
  EXPECT_EQ(counted(split, "decode.weight_bytes") - counted(none, "decode.weight_bytes"),
            256 - (128 + 32 * 4));
}

TEST(Storage, Faults) {
  EXPECT_EQ(outcome(quantised("{ per_role: { ffn_dense: { method: groupd } } }")),
            "specs/models/tiny.yaml:13:41: unknown quant scheme 'groupd'; expected one of grouped; did you "
            "mean 'grouped'?");
  EXPECT_EQ(outcome(quantised("{ per_role: { ffn_dense: { method: grouped, group_sise: 8 } } }")),
            "specs/models/tiny.yaml:13:41: method 'grouped' is given group_sise: 8; expected a whole number "
            "for one of group, group_size; did you mean 'group_size'?");
  EXPECT_EQ(outcome(quantised("{ per_role: { ffn_dense: { method: grouped, group_size: many } } }")),
            "specs/models/tiny.yaml:13:41: method 'grouped' is given group_size: many; expected a whole "
            "number for one of group, group_size; did you mean 'group_size'?");
  EXPECT_EQ(outcome(quantised("{ per_role: { ffn_dense: { method: none, group_size: 8 } } }")),
            "specs/models/tiny.yaml:13:41: method 'none' is given group_size: 8; expected no further key");
  EXPECT_EQ(
      outcome(quantised("{ per_role: { ffn_dense: { method: grouped, group_size: 5 } } }")),
      "specs/quant/grouped.yaml:9:5: 'in / group' of layers.*.mlp.gate.s is 8/5; expected a whole number: "
      "the weight's width must divide\nspecs/quant/grouped.yaml:9:5: 'in / group' of layers.*.mlp.up.s is "
      "8/5; expected a whole number: the weight's width must divide\nspecs/quant/grouped.yaml:9:5: 'in / "
      "group' of layers.*.mlp.down.s is 16/5; expected a whole number: the weight's width must divide");
  EXPECT_EQ(outcome(quantised("{ override: [{ nodes: [layers.*.mlp.sideways], dtype: F32, source: s }] }")),
            "specs/models/tiny.yaml:13:29: the override for 'layers.*.mlp.sideways' hits no parameter; "
            "expected a canonical module path of this model, '*' for each index");
  EXPECT_EQ(outcome(quantised("{ override: [{ nodes: [layers.*.mlp.sideways], method: none, source: s }] }")),
            "specs/models/tiny.yaml:13:29: the override for 'layers.*.mlp.sideways' hits no parameter; "
            "expected a canonical module path of this model, '*' for each index");
  EXPECT_EQ(
      outcome(quantised("{ override: [{ nodes: [norm], shape: [4], source: s }] }")),
      "specs/models/tiny.yaml:13:29: the stored shape of 'norm' is 4 where the weight is 8; expected as "
      "much or more");
  EXPECT_EQ(outcome(quantised("{ override: [{ nodes: [norm], shape: [1, d_model], source: s }] }")),
            "specs/models/tiny.yaml:13:29: the stored shape of 'norm' has 2 axes; expected 1, those of the "
            "weight");
  EXPECT_EQ(outcome(quantised("{ per_role: { ffn_dens: { method: none } } }")),
            "specs/models/tiny.yaml:13:40: quant_context chooses for role 'ffn_dens'; expected default, or a "
            "role of specs/roles.yaml; did you mean 'ffn_dense'?");
  EXPECT_EQ(outcome(quantised("{ per_role: { default: { method: declared } } }",
                              ", \"quantization_config\": {\"quant_method\": \"group\"}")),
            "config.json: [not_verifiable] config.quantization_config declares a quantisation that no file "
            "of specs/quant describes: {\"quant_method\":\"group\"}; expected a scheme of specs/quant; add "
            "specs/quant/<name>.yaml with a declared_by that matches");
}

}  // namespace
}  // namespace archlight::testing
