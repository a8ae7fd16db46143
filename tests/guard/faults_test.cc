// Each kind of difference between a spec and a checkpoint, on a model small enough to see whole: the full message,
// which names both sides and stands at the spec's leaf or in the checkpoint.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "guard/count.h"
#include "guard/support.h"

namespace archlight::guard::testing {
namespace {

// Two layers of a norm and three routed experts of two projections each.
const std::map<std::string, std::string> kTiny = {
    {"dims.yaml", "d_model: { kind: width }\n"},
    {"roles.yaml",
     R"(ffn_moe: { fills: ffn, meaning: "routed experts" }
routed_experts: { copies: true, meaning: "experts" }
expert: { meaning: "one expert" }
router: { meaning: "scores" }
block: { meaning: "a layer" }
norm: { meaning: "a norm" }
embedding: { meaning: "the table" }
head: { meaning: "logits" }
)"},
    {"models/tiny.yaml",
     R"(match: { architectures: [TinyForCausalLM] }
components: { ffn: routed, block: block }
dims:
  d_model: config.hidden_size
  n_vocab: config.vocab_size
  n_layers: config.num_hidden_layers
  n_experts: config.num_experts
  top_k: config.num_experts_per_tok
  d_expert: config.moe_intermediate_size
  tied: { config: tie_word_embeddings, default: 0, source: made up }
model:
  - { name: embed, op: embedding, dims: { vocab: n_vocab, dim: d_model }, role: embedding }
  - { name: layers, repeat: n_layers, inputs: [embed], streams: { hidden: { carries: true } } }
  - { name: last, op: last_tokens, in: layers }
  - { name: head, op: linear, in: last, dims: { in: d_model, out: n_vocab }, role: head, tied_to: embed, tied_when: tied }
quant_context:
  per_role: { default: { method: declared } }
  override: [{ nodes: [layers.*.mlp.gate], dtype: F32, source: made up }]
  default_dtype: BF16
buffers:
  - { path: layers.*.freq, shape: [4], or_shape: [5], dtype: [F32, F16], optional: true, source: made up }
)"},
    {"components/library/block.yaml",
     R"(role: block
inputs: [hidden]
graph:
  norm: { op: rmsnorm, in: hidden, dim: d_model, role: norm }
  mlp: { slot: ffn, in: norm }
  out: { op: add, in: [hidden, mlp] }
outputs: [out]
)"},
    {"components/library/routed.yaml",
     R"(role: ffn_moe
graph:
  gate: { op: linear, in: x, dims: { in: d_model, out: n_experts }, role: router }
  chosen: { op: topk, in: gate, dims: { in: n_experts, out: top_k }, role: router }
  weights: { op: take, in: [gate, chosen], role: router }
  dispatch: { op: dispatch, in: [x, chosen] }
  experts: { component: expert, in: dispatch, copies: n_experts, active: top_k, split: tokens, role: routed_experts }
  out: { op: combine, in: [experts, weights] }
outputs: [out]
)"},
    {"components/library/expert.yaml",
     R"(role: expert
graph:
  up: { op: linear, in: x, dims: { in: d_model, out: d_expert } }
  act: { op: silu, in: up, dim: d_expert }
  down: { op: linear, in: act, dims: { in: d_expert, out: d_model } }
outputs: [down]
)"},
};

constexpr const char* kConfig =
    R"({"architectures": ["TinyForCausalLM"], "hidden_size": 8, "vocab_size": 50, "num_hidden_layers": 2,
        "num_experts": 3, "num_experts_per_tok": 2, "moe_intermediate_size": 12, "torch_dtype": "bfloat16"})";
constexpr const char* kFp8 =
    R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [4, 8],
        "modules_to_not_convert": ["head"]}})";

using Lines = std::vector<std::string>;

// What the spec expects: 1 + 2 * (2 + 3 * 2) + 1 tensors.
Lines plain() {
  Lines out = {"embed.weight BF16 50x8"};
  for (int layer = 0; layer < 2; ++layer) {
    const std::string at = fmt::format("layers.{}.", layer);
    out.push_back(at + "norm.weight BF16 8");
    out.push_back(at + "mlp.gate.weight F32 3x8");
    for (int expert = 0; expert < 3; ++expert) {
      out.push_back(fmt::format("{}mlp.experts.{}.up.weight BF16 12x8", at, expert));
      out.push_back(fmt::format("{}mlp.experts.{}.down.weight BF16 8x12", at, expert));
    }
  }
  out.push_back("head.weight BF16 50x8");
  return out;
}

// The same with one F32 scale per block of 4x8 beside each expert's weight: [12, 8] has 3x1, [8, 12] has 2x2.
Lines quantised() {
  Lines out;
  for (const std::string& line : plain()) {
    if (line.find(".experts.") == std::string::npos) {
      out.push_back(line);
      continue;
    }
    const std::string name = line.substr(0, line.find(' '));
    const bool up = name.find(".up.") != std::string::npos;
    out.push_back(name + " F8_E4M3 " + (up ? "12x8" : "8x12"));
    out.push_back(name + "_scale_inv F32 " + (up ? "3x1" : "2x2"));
  }
  return out;
}

// A line per tensor, with some of them replaced by name; an empty text removes one, a new name is added.
Lines with(Lines lines, const std::map<std::string, std::string>& changes) {
  for (const auto& [name, form] : changes) {
    const auto it =
        std::ranges::find_if(lines, [&](const std::string& line) { return line.starts_with(name + " "); });
    if (it == lines.end())
      lines.push_back(name + " " + form);
    else if (form.empty())
      lines.erase(it);
    else
      *it = name + " " + form;
  }
  return lines;
}

std::shared_ptr<const spec::Library> tiny(const std::map<std::string, std::string>& replaced = {}) {
  std::map<std::string, std::string> files = kTiny;
  const base::Result<std::string> fp8 =
      base::read_file(ARCHLIGHT_SOURCE_DIR "/specs/quant/fp8_block.yaml", 1 << 20);
  EXPECT_TRUE(fp8.ok());
  files["quant/fp8_block.yaml"] = *fp8;
  for (const auto& [file, text] : replaced) files[file] = text;
  base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(files);
  EXPECT_TRUE(library.ok()) << (library ? std::string() : base::render_all(library.faults()));
  return *library;
}

truth::Truth header(const Lines& lines, const std::string& changes = "{}") {
  truth::Truth truth;
  truth.repo = "made/up";
  truth.config = config_with(*json(kConfig), changes);
  truth.level = truth::Level::kHeader;
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  truth.tensors = table(text);
  return truth;
}

truth::Truth index(const Lines& lines, base::Int128 total) {
  truth::Truth truth = header(lines);
  for (size_t i = 0; i < truth.tensors.size(); ++i) truth.names.emplace_back(truth.tensors.name(i));
  std::ranges::sort(truth.names);
  truth.tensors = {};
  truth.level = truth::Level::kIndex;
  truth.index_total_bytes = total;
  return truth;
}

Report of(const truth::Truth& truth) {
  return verify_all(tiny(), truth);
}

// 2 * (400 + 400) + 2 * (2*8 + 4*24 + 3 * 2 * 2*96)
constexpr int64_t kBytes = 4128;

TEST(Faults, NoneWhereBothSidesAgree) {
  const Report report = of(header(plain()));
  EXPECT_EQ(lines_of(report), "");
  EXPECT_EQ(remarks_of(report), "");
  EXPECT_EQ(verdict_name(report.verdict), "verified");
  ASSERT_EQ(report.comparisons.size(), 1u);
  EXPECT_EQ(base::to_string(report.comparisons[0].ours), std::to_string(kBytes));
  EXPECT_EQ(verdict_name(of(header(quantised(), kFp8)).verdict), "verified");
  EXPECT_EQ(verdict_name(of(index(plain(), kBytes)).verdict), "verified");
}

struct Case {
  const char* what;
  std::map<std::string, std::string> changes;  // to the header
  const char* faults;
};

void expect_each(const Lines& lines, const char* config, const std::vector<Case>& cases) {
  for (const Case& row : cases) {
    SCOPED_TRACE(row.what);
    const Report report = of(header(with(lines, row.changes), config));
    EXPECT_EQ(lines_of(report), row.faults);
    EXPECT_EQ(verdict_name(report.verdict), "wrong");
  }
}

// Masks of BOOL elements, which some writers of an index count as one bit each: 2 layers of 16 elements are 32 bytes in the
// files and 4 in the total. 4128 + 32 bytes are stored.
TEST(Faults, ATotalThatItsWriterCountedOtherwise) {
  const std::string model = kTiny.at("models/tiny.yaml");
  const std::map<std::string, std::string> masked = {
      {"models/tiny.yaml",
       model + "  - { path: layers.*.mask, shape: [16], dtype: BOOL, optional: true, source: made up }\n"},
      {"counting.yaml",
       "rules: []\nindex_writers: [{ name: bools are bits, dtype: BOOL, bits: 1, source: made up }]\n"}};
  const Lines lines = with(plain(), {{"layers.0.mask", "BOOL 16"}, {"layers.1.mask", "BOOL 16"}});
  const auto verdict = [&](base::Int128 total, const std::map<std::string, std::string>& specs) {
    const Report report = verify_all(tiny(specs), index(lines, total));
    return std::string(verdict_name(report.verdict)) + ": " + report.comparisons.at(0).outcome();
  };
  EXPECT_EQ(verdict(4160, masked), "verified: equal");
  EXPECT_EQ(verdict(4132, masked), "verified: equal after rule 'bools are bits'");
  EXPECT_EQ(verdict(4133, masked), "wrong: differs");
  std::map<std::string, std::string> without = masked;
  without.erase("counting.yaml");
  EXPECT_EQ(verdict(4132, without), "wrong: differs");
}

// An index whose total its files cannot hold: the 4,128 bytes are 6,000 with headers, and 200,000 are claimed.
TEST(Faults, ATotalThatIsNotThatOfTheFiles) {
  truth::Truth stale = index(plain(), 200'000);
  stale.shards = {{"model.safetensors", 6'000}};
  const Report report = of(stale);
  EXPECT_EQ(verdict_name(report.verdict), "agrees");
  EXPECT_EQ(lines_of(report), "");
  EXPECT_NE(
      remarks_of(report).find("metadata.total_size of the index is not that of these files, which hold 6,000 "
                              "bytes: the spec's 4,128 and 1,872 of headers"),
      std::string::npos)
      << remarks_of(report);
  // Where the spec's bytes do not fit either, nothing is forgiven.
  stale.shards = {{"model.safetensors", 4'000}};
  EXPECT_EQ(verdict_name(of(stale).verdict), "wrong");
  // Nor where sizes of files are not known.
  stale.shards.clear();
  EXPECT_EQ(verdict_name(of(stale).verdict), "wrong");
}

// A declaration that names a scheme and no module. The scheme stores two weights a byte.
//   nothing converted   400 + 400 + 2 * (8 + 24 + 3 * 2 * 96)     = 2,016 elements, 4,128 bytes
//   every expert        400 + 400 + 2 * (8 + 24 + 3 * 2 * 96 / 2) = 1,440 elements,
//                       2 * (400 + 400 + 2 * 8) + 4 * 2 * 24 + 2 * 3 * 2 * 48 = 2,400 bytes
struct OpenScope {
  int64_t recorded;
  const char* verdict;
  const char* faults;
};

const std::map<std::string, std::string> kHalf = {
    {"quant/half.yaml", R"(label: "two values a byte"
declared_by: [{ algo: HALF }]
scope: { ops: [linear], not_roles: [embedding, head, router, norm] }
tensors: [{ suffix: .weight, dtype: U8, shape: [out, "in / 2"], main: true }]
source: made up
)"},
    {"declarations.yaml",
     R"([{ name: algorithm alone, when: { algo: "*", modules: absent }, scope: open, source: made up }])"},
};
constexpr const char* kHalfDeclared = R"({"quantization_config": {"algo": "HALF"}})";

TEST(Faults, DeclarationWithoutModulesLeavesATotalOpenBetweenItsBounds) {
  const OpenScope rows[] = {
      {1440, "agrees", ""},
      {1700, "not verifiable",
       "the hub's recorded element total: [not_verifiable] stored elements, as the hub counts them are 1,700 "
       "as "
       "published; by the spec they are between 1,440 and 2,016, since config.quantization_config declares "
       "scheme half and does not say for which modules; expected a list of the modules that are converted or "
       "left out, or tensors that tell; read the tensor headers: ask with --hub, or add a snapshot that has "
       "them\n"},
      {1439, "wrong",
       "the hub's recorded element total: [weight] stored elements, as the hub counts them are 1,439 as "
       "published; expected 1,440 by the spec, 1 more\n"},
      {2017, "wrong",
       "the hub's recorded element total: [weight] stored elements, as the hub counts them are 2,017 as "
       "published; expected 1,440 by the spec, 577 fewer\n"},
  };
  for (const OpenScope& row : rows) {
    SCOPED_TRACE(row.recorded);
    truth::Truth truth = header({}, kHalfDeclared);
    truth.level = truth::Level::kCount;
    truth.recorded_elements = row.recorded;
    const Report report = verify_all(tiny(kHalf), truth);
    EXPECT_EQ(lines_of(report), row.faults);
    EXPECT_EQ(verdict_name(report.verdict), row.verdict);
    EXPECT_EQ(remarks_of(report),
              "config.quantization_config does not say which modules scheme half converts: stored bytes are "
              "between 2,400 and 4,128\n");
  }
  // Sizes of files are no better. Twelve weights of 1024 by 1024 are 6 MiB in halves and 24 MiB in BF16; the rest is
  // 2 * (2 * 5*1024 + 2*1024) + 4 * 2 * 3*1024 = 49,152 bytes.
  truth::Truth sized = header(
      {},
      R"({"hidden_size": 1024, "vocab_size": 5, "moe_intermediate_size": 1024, "quantization_config": {"algo": "HALF"}})");
  sized.level = truth::Level::kConfig;
  const std::pair<uint64_t, const char*> sizes[] = {
      {5'000'000, "wrong"}, {20'000'000, "not verifiable"}, {30'000'000, "wrong"}};
  for (const auto& [bytes, verdict] : sizes) {
    sized.shards = {{"model.safetensors", bytes}};
    EXPECT_EQ(verdict_name(verify_all(tiny(kHalf), sized).verdict), verdict) << bytes;
  }
  // Tensors say which are converted.
  const Report told = verify_all(tiny(kHalf), header(plain(), kHalfDeclared));
  EXPECT_EQ(lines_of(told) + remarks_of(told), "");
  EXPECT_EQ(verdict_name(told.verdict), "verified");
}

TEST(Faults, OfTensorsAndLeaves) {
  expect_each(
      plain(), "{}",
      {
          {"unclaimed",
           {{"layers.0.mlp.experts.0.upp.weight", "BF16 12x8"}},
           "made/up: [weight] tensor 'layers.0.mlp.experts.0.upp.weight' is claimed by no leaf of the spec; "
           "expected a leaf or buffer of specs/models/tiny.yaml; the nearest leaf is "
           "'layers.*.mlp.experts.*.up.weight'\n"
           "the tensor headers: [weight] stored bytes are 4,320 as published; expected 4,128 by the spec, "
           "192 fewer\n"},
          {"unclaimed and far from any leaf",
           {{"visual.patch_embed.proj.bias", "BF16 3"}},
           "made/up: [weight] tensor 'visual.patch_embed.proj.bias' is claimed by no leaf of the spec; "
           "expected a leaf or buffer of specs/models/tiny.yaml\n"
           "the tensor headers: [weight] stored bytes are 4,134 as published; expected 4,128 by the spec, 6 "
           "fewer\n"},
          {"missing",
           {{"layers.1.mlp.experts.2.down.weight", ""}},
           "specs/components/library/expert.yaml:5:3: [weight] the checkpoint has no tensor "
           "'layers.1.mlp.experts.2.down.weight', which this leaf stores; expected every leaf stored\n"
           "the tensor headers: [weight] stored bytes are 3,936 as published; expected 4,128 by the spec, "
           "192 more\n"},
          {"a whole expert missing",
           {{"layers.0.mlp.experts.1.up.weight", ""}, {"layers.0.mlp.experts.1.down.weight", ""}},
           "specs/components/library/expert.yaml:3:3: [weight] the checkpoint has no tensor "
           "'layers.0.mlp.experts.1.up.weight', which this leaf stores; expected every leaf stored\n"
           "specs/components/library/expert.yaml:5:3: [weight] the checkpoint has no tensor "
           "'layers.0.mlp.experts.1.down.weight', which this leaf stores; expected every leaf stored\n"
           "the tensor headers: [weight] stored bytes are 3,744 as published; expected 4,128 by the spec, "
           "384 more\n"},
          {"another size",
           {{"layers.1.mlp.experts.0.up.weight", "BF16 13x8"}},
           "specs/components/library/expert.yaml:3:3: [weight] tensor 'layers.1.mlp.experts.0.up.weight' is "
           "BF16 13x8 in the checkpoint, 104 elements; expected BF16 12x8, 96 elements\n"
           "the tensor headers: [weight] stored bytes are 4,144 as published; expected 4,128 by the spec, 16 "
           "fewer\n"},
          {"another dtype",
           {{"layers.1.norm.weight", "F32 8"}},
           "specs/components/library/block.yaml:4:3: [packing] tensor 'layers.1.norm.weight' is F32 8 in the "
           "checkpoint; expected BF16 8\n"
           "the tensor headers: [weight] stored bytes are 4,144 as published; expected 4,128 by the spec, 16 "
           "fewer\n"},
          {"transposed",
           {{"layers.1.mlp.experts.0.up.weight", "BF16 8x12"}},
           "specs/components/library/expert.yaml:3:3: [packing] tensor 'layers.1.mlp.experts.0.up.weight' is "
           "BF16 8x12 in the checkpoint; expected BF16 12x8\n"},
          {"dtype of an override",
           {{"layers.0.mlp.gate.weight", "BF16 3x8"}},
           "specs/components/library/routed.yaml:3:3: [packing] tensor 'layers.0.mlp.gate.weight' is BF16 "
           "3x8 in the checkpoint; expected F32 3x8\n"
           "the tensor headers: [weight] stored bytes are 4,080 as published; expected 4,128 by the spec, 48 "
           "more\n"},
          {"optional in one layer only",
           {{"layers.0.freq", "F32 4"}},
           "specs/models/tiny.yaml:21:5: [weight] the checkpoint has no tensor 'layers.1.freq', which this "
           "leaf stores; expected all of its instances or none\n"
           "the tensor headers: [weight] stored bytes are 4,144 as published; expected 4,160 by the spec, 16 "
           "more\n"},
          {"a layer beyond the stack",
           {{"layers.2.norm.weight", "BF16 8"}},
           "made/up: [weight] tensor 'layers.2.norm.weight' is claimed by no leaf of the spec; expected an "
           "index inside the spec's layers and experts\n"
           "the tensor headers: [weight] stored bytes are 4,144 as published; expected 4,128 by the spec, 16 "
           "fewer\n"},
          {"an expert beyond",
           {{"layers.1.mlp.experts.3.up.weight", "BF16 12x8"}},
           "made/up: [weight] tensor 'layers.1.mlp.experts.3.up.weight' is claimed by no leaf of the spec; "
           "expected an index inside the spec's layers and experts\n"
           "the tensor headers: [weight] stored bytes are 4,320 as published; expected 4,128 by the spec, "
           "192 fewer\n"},
          {"an index in another spelling",
           {{"layers.00.norm.weight", "BF16 8"}},
           "made/up: [weight] tensor 'layers.00.norm.weight' is claimed by no leaf of the spec; expected a "
           "leaf or buffer of specs/models/tiny.yaml; the nearest leaf is 'layers.*.norm.weight'\n"
           "the tensor headers: [weight] stored bytes are 4,144 as published; expected 4,128 by the spec, 16 "
           "fewer\n"},
          {"an index beyond any number",
           {{"layers.99999999999999999999.norm.weight", "BF16 8"}},
           "made/up: [weight] tensor 'layers.99999999999999999999.norm.weight' is claimed by no leaf of the "
           "spec; expected a leaf or buffer of specs/models/tiny.yaml\n"
           "the tensor headers: [weight] stored bytes are 4,144 as published; expected 4,128 by the spec, 16 "
           "fewer\n"},
      });
}

TEST(Faults, ATensorThatStandsTwice) {
  Lines lines = plain();
  lines.push_back("layers.0.norm.weight BF16 8");
  EXPECT_EQ(lines_of(of(header(lines))),
            "made/up: [weight] tensor 'layers.0.norm.weight' stands there twice; expected each tensor once\n"
            "the tensor headers: [weight] stored bytes are 4,144 as published; expected 4,128 by the spec, "
            "16 fewer\n");
}

TEST(Faults, OfScalesAndSchemes) {
  expect_each(
      quantised(), kFp8,
      {
          {"scale absent",
           {{"layers.0.mlp.experts.1.down.weight_scale_inv", ""}},
           "specs/components/library/expert.yaml:5:3: [weight] the checkpoint has no tensor "
           "'layers.0.mlp.experts.1.down.weight_scale_inv', which this leaf stores; expected every leaf "
           "stored\n"
           "the tensor headers: [weight] stored bytes are 3,128 as published; expected 3,144 by the spec, 16 "
           "more\n"},
          {"scale of another shape",
           {{"layers.0.mlp.experts.1.down.weight_scale_inv", "F32 4x1"}},
           "specs/components/library/expert.yaml:5:3: [packing] tensor "
           "'layers.0.mlp.experts.1.down.weight_scale_inv' is F32 4x1 in the checkpoint; expected F32 2x2 "
           "under scheme fp8_block\n"},
          {"scale of a type that the scheme does not have",
           {{"layers.0.mlp.experts.1.down.weight_scale_inv", "F16 2x2"}},
           "specs/components/library/expert.yaml:5:3: [packing] tensor "
           "'layers.0.mlp.experts.1.down.weight_scale_inv' is F16 2x2 in the checkpoint; expected F32 2x2 "
           "under scheme fp8_block\n"
           "the tensor headers: [weight] stored bytes are 3,136 as published; expected 3,144 by the spec, 8 "
           "more\n"},
          {"a scale beside a plain weight",
           {{"head.weight_scale_inv", "F32 13x1"}},
           "made/up: [weight] tensor 'head.weight_scale_inv' is claimed by no leaf of the spec; expected a "
           "leaf or buffer of specs/models/tiny.yaml\n"
           "the tensor headers: [weight] stored bytes are 3,196 as published; expected 3,144 by the spec, 52 "
           "fewer\n"},
      });
}

// Where a module's tensors are whole in themselves, they say how it is stored, whatever is declared; and it is said.
TEST(Faults, WhereTensorsAreNotAsDeclared) {
  struct Row {
    std::map<std::string, std::string> changes;
    const char* advice;
    int64_t bytes;
  };
  const Row rows[] = {
      // One scale in place of 2x2: blocks of 128x128 cover all of 8x12. 3 elements of 4 bytes fewer.
      {{{"layers.0.mlp.experts.1.down.weight_scale_inv", "F32 1x1"}},
       "layers.0.mlp.experts.1.down: scheme fp8_block by its tensors with block_out 128, block_in 128, with "
       "other "
       "numbers by config.quantization_config; the tensors win",
       3144 - 12},
      // 96 elements of 2 bytes for 96 of 1 and 4 scales of 4.
      {{{"layers.0.mlp.experts.1.down.weight_scale_inv", ""},
        {"layers.0.mlp.experts.1.down.weight", "BF16 8x12"}},
       "layers.0.mlp.experts.1.down: plain by its tensors, scheme fp8_block by config.quantization_config; "
       "the tensors "
       "win",
       3144 + 96 - 16},
  };
  for (const Row& row : rows) {
    const Report report = of(header(with(quantised(), row.changes), kFp8));
    EXPECT_EQ(lines_of(report), "");
    EXPECT_EQ(verdict_name(report.verdict), "verified");
    ASSERT_EQ(report.advice.size(), 1u);
    EXPECT_EQ(report.advice[0].wrong, row.advice);
    EXPECT_EQ(report.advice[0].guard, "packing");
    EXPECT_EQ(base::to_string(*report.bill->find("storage.bytes")->value.integer()),
              std::to_string(row.bytes));
  }
}

TEST(Faults, OfWhatAnIndexDeclares) {
  // Names alone: the scales say which modules are quantised, though nothing is declared.
  const Report report = of(index(quantised(), 3144));
  ASSERT_EQ(report.advice.size(), 2u);  // up and down
  EXPECT_EQ(report.advice[0].guard, "packing");
  for (const base::Diagnostic& advice : report.advice)
    EXPECT_TRUE(
        advice.wrong.ends_with("scheme fp8_block by its tensors, plain by no declaration; the tensors win"))
        << advice.wrong;
  // The numbers of the scheme stay its defaults: the total, which is of blocks of 4 and 8, tells.
  EXPECT_EQ(verdict_name(report.verdict), "wrong");
}

// The list leaves layer 1's experts plain: each part of the layers is held against its own form.
TEST(Faults, AnIgnoreListSplitsLayers) {
  constexpr const char* kSplit =
      R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [4, 8],
          "modules_to_not_convert": ["head", "layers.1.mlp.experts"]}})";
  Lines lines;
  for (const std::string& line : quantised()) {
    if (line.starts_with("layers.1.mlp.experts.")) {
      if (line.find("scale_inv") != std::string::npos) continue;
      lines.push_back(line.substr(0, line.find(' ')) +
                      (line.find(".up.") != std::string::npos ? " BF16 12x8" : " BF16 8x12"));
    } else {
      lines.push_back(line);
    }
  }
  EXPECT_EQ(lines_of(of(header(lines, kSplit))), "");
  EXPECT_EQ(
      lines_of(of(header(with(lines, {{"layers.1.mlp.experts.2.up.weight", "F8_E4M3 12x8"},
                                      {"layers.1.mlp.experts.2.up.weight_scale_inv", "F32 3x1"},
                                      {"layers.0.mlp.experts.2.up.weight_scale_inv", ""}}),
                         kSplit))),
      "made/up: [weight] tensor 'layers.1.mlp.experts.2.up.weight_scale_inv' is claimed by no leaf of the "
      "spec; expected an index inside the spec's layers and experts\n"
      "specs/components/library/expert.yaml:3:3: [weight] the checkpoint has no tensor "
      "'layers.0.mlp.experts.2.up.weight_scale_inv', which this leaf stores; expected every leaf stored\n"
      "specs/components/library/expert.yaml:3:3: [packing] tensor 'layers.1.mlp.experts.2.up.weight' is "
      "F8_E4M3 12x8 in the checkpoint; expected BF16 12x8\n"
      "the tensor headers: [weight] stored bytes are 3,540 as published; expected 3,636 by the spec, 96 "
      "more\n");
}

TEST(Faults, OfTotals) {
  EXPECT_EQ(lines_of(of(index(plain(), kBytes + 1))),
            "metadata.total_size of the index: [weight] stored bytes are 4,129 as published; expected 4,128 "
            "by the spec, 1 fewer\n");
  EXPECT_EQ(lines_of(of(index(with(plain(), {{"layers.1.norm.weight", ""}, {"layers.1.norm.bias", "BF16 8"}}),
                              kBytes))),
            "made/up: [weight] tensor 'layers.1.norm.bias' is claimed by no leaf of the spec; expected a "
            "leaf or buffer of specs/models/tiny.yaml; the nearest leaf is 'layers.*.norm.weight'\n"
            "specs/components/library/block.yaml:4:3: [weight] the checkpoint has no tensor "
            "'layers.1.norm.weight', which this leaf stores; expected every leaf stored\n");
  truth::Truth count = header({});
  count.level = truth::Level::kCount;
  // 400 + 400 + 2 * (8 + 24 + 3 * 2 * 96) elements.
  count.recorded_elements = 2016;
  EXPECT_EQ(verdict_name(of(count).verdict), "agrees");
  count.recorded_elements = 2015;
  count.recorded_elements_source = "the hub";
  const Report report = of(count);
  EXPECT_EQ(lines_of(report),
            "the hub: [weight] stored elements, as the hub counts them are 2,015 as published; expected "
            "2,016 by the spec, 1 more\n");
  EXPECT_EQ(verdict_name(report.verdict), "wrong");
  // Eight elements more are the optional buffer of both layers.
  count.recorded_elements = 2024;
  EXPECT_EQ(remarks_of(of(count)), "the recorded total is met only with layers.*.freq stored\n");
  // Ten are the same buffers of five numbers, the other length that they may have.
  count.recorded_elements = 2026;
  EXPECT_EQ(remarks_of(of(count)),
            "the recorded total is met only with layers.*.freq stored in its other shape\n");
  EXPECT_EQ(verdict_name(of(count).verdict), "agrees");
}

TEST(Faults, TheFilesOwnDtypeWinsAndIsSaid) {
  const Report report = of(header(plain(), R"({"torch_dtype": "float16"})"));
  EXPECT_EQ(lines_of(report), "");
  EXPECT_EQ(remarks_of(report),
            "unquantised tensors are BF16 wide, not F16 as config.torch_dtype says; the files win\n");
  EXPECT_EQ(verdict_name(report.verdict), "verified");
}

TEST(Faults, OptionalTensorsThatAreThereAreSaid) {
  EXPECT_EQ(lines_of(of(header(with(plain(), {{"layers.0.freq", "F32 5"}, {"layers.1.freq", "F32 5"}})))),
            "");
  const Lines lines = with(plain(), {{"layers.0.freq", "F16 4"}, {"layers.1.freq", "F16 4"}});
  const Report report = of(header(lines, R"({"tie_word_embeddings": true})"));
  EXPECT_EQ(lines_of(report), "");
  EXPECT_EQ(remarks_of(report),
            "stores head.weight, a copy of the tied embedding table\n"
            "stores layers.*.freq, which not every exporter writes\n");
  EXPECT_EQ(verdict_name(report.verdict), "verified");
}

TEST(Faults, OfAPartOfAHeader) {
  truth::Truth truth = header({"layers.0.norm.weight BF16 8"});
  truth.partial = true;
  const Report fine = of(truth);
  EXPECT_EQ(lines_of(fine), "");
  EXPECT_EQ(verdict_name(fine.verdict), "not verifiable");
  EXPECT_EQ(fine.comparisons.size(), 0u);
  truth = header({"layers.0.norm.weight BF16 9"});
  truth.partial = true;
  const Report wrong = of(truth);
  EXPECT_EQ(lines_of(wrong),
            "specs/components/library/block.yaml:4:3: [weight] tensor 'layers.0.norm.weight' is BF16 9 in "
            "the checkpoint, 9 elements; expected BF16 8, 8 elements\n");
  EXPECT_EQ(verdict_name(wrong.verdict), "wrong");
}

TEST(Faults, OfAnUndeclaredScheme) {
  const Report report =
      of(header(plain(), R"({"quantization_config": {"quant_method": "exl3", "bits": 4}})"));
  // Its tensors are plain, whatever it calls itself.
  EXPECT_EQ(lines_of(report), "");
  EXPECT_EQ(verdict_name(report.verdict), "verified");
  ASSERT_EQ(report.advice.size(), 1u);
  EXPECT_EQ(report.advice[0].wrong,
            "config.quantization_config declares a quantisation that no file of specs/quant describes: "
            "{\"bits\":4,\"quant_method\":\"exl3\"}");
  // Where no tensor is known, nothing says how it is stored.
  truth::Truth unknown = header(plain(), R"({"quantization_config": {"quant_method": "exl3", "bits": 4}})");
  unknown.tensors = {};
  unknown.level = truth::Level::kConfig;
  const Report refused = of(unknown);
  EXPECT_EQ(lines_of(refused),
            "config.json: [not_verifiable] config.quantization_config declares a quantisation that no file "
            "of specs/quant describes: {\"bits\":4,\"quant_method\":\"exl3\"}; expected a scheme of "
            "specs/quant; add specs/quant/<name>.yaml with a declared_by that matches\n");
  EXPECT_EQ(verdict_name(refused.verdict), "not verifiable");
}

TEST(Faults, OfAnOverrideThatHitsNothing) {
  std::string model = kTiny.at("models/tiny.yaml");
  model.replace(model.find("layers.*.mlp.gate"), 17, "layers.*.mlp.gait");
  EXPECT_EQ(lines_of(verify_all(tiny({{"models/tiny.yaml", model}}), header(plain()))),
            "specs/models/tiny.yaml:18:14: [analysis] the override for 'layers.*.mlp.gait' hits no "
            "parameter; expected a canonical module path of this model, '*' for each index\n");
}

TEST(Faults, PastTwentyOfAKindAreCounted) {
  Lines lines = plain();
  for (int i = 0; i < 23; ++i) lines.push_back(fmt::format("extra.{}.weight BF16 1", i));
  const Report report = of(header(lines, R"({"num_experts": 3})"));
  std::string last;
  for (const base::Diagnostic& fault : report.faults)
    if (fault.message().find("more") != std::string::npos) last += fault.message() + "\n";
  EXPECT_EQ(report.faults.size(), 22u);
  EXPECT_EQ(last, "made/up: [weight] 3 more unclaimed tensors; expected none\n");
  // Of nine experts three are stored: 2 layers * 6 * 2 weights are missing, and the gates are narrower.
  const Report missing = of(header(plain(), R"({"num_experts": 9})"));
  last.clear();
  for (const base::Diagnostic& fault : missing.faults)
    if (fault.message().find("more") != std::string::npos) last += fault.message() + "\n";
  EXPECT_EQ(last,
            "made/up: [weight] 4 more leaves without a tensor; expected none\n"
            "the tensor headers: [weight] stored bytes are 4,128 as published; expected 9,120 by the spec, "
            "4,992 more\n");
}

}  // namespace
}  // namespace archlight::guard::testing
