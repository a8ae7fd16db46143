// Tied, a matrix of its own, or none: flags that are absent, false, nested or at odds, with and without a stored head.
#include "guard/head.h"

#include "guard/small.h"

namespace archlight::guard::testing {
namespace {

// The small model, whose head is tied by a flag that is looked for in text_config first; the family's default is true.
Files tied_by_flag(const std::string& fallback = "1") {
  Files files = with(kSmall, kModel, "tied_when: 0", "tied_when: tied_head");
  files =
      with(files, kModel, "dims: {",
           "config_roots: [text_config, '']\ndims: { tied_head: { config: tie_word_embeddings, default: " +
               fallback + ", source: the family's },");
  return files;
}

// Every tensor of it but the head: a table of 50 x 64, and in each layer a norm, four of 64 x 64, a router of 6 x 64 and
// six experts of 24 x 64 and 64 x 24.
std::string tensors() {
  std::string out = "embed.weight BF16 50x64\n";
  for (const std::string layer : {"layers.0.", "layers.1."}) {
    out += layer + "norm.weight BF16 64\n";
    for (const char* name : {"q", "k", "v", "o"}) out += layer + "attn." + name + ".weight BF16 64x64\n";
    out += layer + "mlp.gate.weight BF16 6x64\n";
    for (int expert = 0; expert < 6; ++expert) {
      const std::string path = layer + "mlp.experts." + std::to_string(expert);
      out += path + ".up.weight BF16 24x64\n" + path + ".down.weight BF16 64x24\n";
    }
  }
  return out;
}
constexpr int64_t kWithoutHead = 50 * 64 + 2 * (64 + 4 * 64 * 64 + 6 * 64 + 6 * 2 * 24 * 64);

struct Found {
  std::string verdict, head, advice;
  int64_t parameters = 0, logits_flops = 0;
};

Found found(const Files& files, const std::string& flags, bool head_stored) {
  const base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(files);
  EXPECT_TRUE(library.ok()) << base::render_all(library.faults());
  truth::Truth truth;
  truth.config = json(R"({"architectures": ["SmallForCausalLM"], "num_experts_per_tok": 2)" +
                      (flags.empty() ? "" : ", " + flags) + "}");
  truth.level = truth::Level::kHeader;
  const std::string text = tensors() + (head_stored ? "head.weight BF16 50x64\n" : "");
  truth.tensors = table(text);
  const Report report = verify_all(*library, truth);
  Found out;
  out.verdict = verdict_name(report.verdict);
  if (report.verdict == Verdict::kWrong) out.verdict += ": " + lines_of(report);
  for (const Head& head : heads_of(report, truth))
    out.head += head.path + " " + std::string(head_kind_name(head.kind)) + ": " + head.evidence;
  out.advice = advice_of(report);
  if (report.bill) {
    out.parameters = static_cast<int64_t>(report.bill->find("params.total")->value.constant()->num);
    out.logits_flops = static_cast<int64_t>(report.bill->find("decode.matmul_flops")->value.constant()->num);
  }
  return out;
}

constexpr int64_t kHead = 50 * 64;

TEST(Head, AnAbsentFlagIsTheFamilys) {
  const Found tied = found(tied_by_flag(), "", false);
  EXPECT_EQ(tied.verdict, "verified");
  EXPECT_EQ(tied.head,
            "head tied: no tensor of it is stored; config.tie_word_embeddings is absent: the family's");
  EXPECT_EQ(tied.parameters, kWithoutHead);
  const Found own = found(tied_by_flag("0"), "", true);
  EXPECT_EQ(own.verdict, "verified");
  EXPECT_EQ(own.head, "head own: head.weight is stored; config.tie_word_embeddings is absent: the family's");
  EXPECT_EQ(own.parameters, kWithoutHead + kHead);
}

TEST(Head, OfItsOwn) {
  const Found own = found(tied_by_flag(), R"("tie_word_embeddings": false)", true);
  EXPECT_EQ(own.verdict, "verified");
  EXPECT_EQ(own.head, "head own: head.weight is stored; config.tie_word_embeddings is false");
  EXPECT_EQ(own.advice.find("[weight]"), std::string::npos);
}

// No tensor and an outright "false": nothing is tied, and there is no head, nor the work of one.
TEST(Head, NoneOfAnEmbeddingModel) {
  const Found own = found(tied_by_flag(), R"("tie_word_embeddings": false)", true);
  const Found none = found(tied_by_flag(), R"("tie_word_embeddings": false)", false);
  EXPECT_EQ(none.verdict, "verified");
  EXPECT_EQ(none.head, "head none: no tensor of it is stored; config.tie_word_embeddings is false");
  EXPECT_EQ(none.parameters, kWithoutHead);
  EXPECT_EQ(own.logits_flops - none.logits_flops, 2 * kHead);
  EXPECT_NE(
      none.advice.find("[weight] no tensor of 'head' is stored, and the config says that it is not tied"),
      std::string::npos)
      << none.advice;
  // The family's word is not outright: a tensor is missing.
  EXPECT_NE(found(tied_by_flag("0"), "", false).verdict.find("wrong: "), std::string::npos);
}

TEST(Head, TheNestedFlagGoesFirst) {
  const Found nested = found(tied_by_flag("0"), R"("text_config": {"tie_word_embeddings": true})", false);
  EXPECT_EQ(nested.verdict, "verified");
  EXPECT_EQ(nested.head,
            "head tied: no tensor of it is stored; config.text_config.tie_word_embeddings is true");
  EXPECT_EQ(nested.advice.find("tie_word"), std::string::npos);
  const Found at_odds =
      found(tied_by_flag("0"),
            R"("tie_word_embeddings": false, "text_config": {"tie_word_embeddings": true})", false);
  EXPECT_EQ(at_odds.verdict, "verified");
  EXPECT_EQ(at_odds.head,
            "head tied: no tensor of it is stored; config.text_config.tie_word_embeddings is true");
  EXPECT_NE(at_odds.advice.find(
                "config.tie_word_embeddings is false, and config.text_config.tie_word_embeddings, which "
                "is read, is true; expected one value"),
            std::string::npos)
      << at_odds.advice;
}

}  // namespace
}  // namespace archlight::guard::testing
