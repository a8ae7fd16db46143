// The graph of the small model's layer beside made-up forward passes.
#include "guard/forward.h"

#include <gtest/gtest.h>

#include "guard/small.h"
#include "truth/source.h"

namespace archlight::guard::testing {
namespace {

Files anchored() {
  Files files = kSmall;
  files.at(kBlock) += "src: \"modeling_tiny.py: TinyBlock.forward\"\n";
  files.at(kAttn) += "src: \"modeling_tiny.py: TinyAttention\"\n";
  files.at(kModel) += "src: \"modeling_tiny.py\"\n";
  return files;
}

constexpr const char* kSource = R"(class TinyBlock(nn.Module):
    def forward(self, x):
        residual = x
        x = self.norm(x)
        x = self.attn(x)
        x = residual + x
        return x + self.mlp(x)

class TinyAttention(nn.Module):
    def forward(self, x):
        return self.o(attend(self.q(x), self.k(x), self.v(x)))
)";

std::string advice(const std::string& from, const std::string& to, const Files& files = anchored()) {
  std::string text = kSource;
  if (const size_t at = text.find(from); !from.empty() && at != std::string::npos)
    text.replace(at, from.size(), to);
  const base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(files);
  EXPECT_TRUE(library.ok());
  truth::Truth truth;
  truth.config = json(kConfig);
  truth.sources = {truth::Source::of_texts({{"modeling_tiny.py", text}}, "", "made up/")};
  const Report report = verify_all(*library, truth, {"duplicate"});
  EXPECT_EQ(lines_of(report), "") << "advice is no fault";
  return advice_of(report, "forward");
}

TEST(Forward, AgreesWithTheGraph) {
  EXPECT_EQ(advice("", ""), "");
  // Siblings may be called in any order, and a module more than once.
  EXPECT_EQ(advice("self.q(x), self.k(x), self.v(x)", "self.v(x), self.q(x), self.k(x)"), "");
  EXPECT_EQ(advice("x = self.norm(x)\n        x = self.attn(x)", "x = self.attn(self.norm(x)); self.norm(x)"),
            "");
}

TEST(Forward, AnotherOrderOfCalls) {
  EXPECT_EQ(advice("x = self.norm(x)\n        x = self.attn(x)", "x = self.norm(self.attn(x))"),
            "specs/components/library/block.yaml:5:3: [forward] TinyBlock.forward (modeling_tiny.py:2) calls "
            "self.attn "
            "before self.norm; expected 'norm' before 'attn', as the graph hands its value on\n");
  EXPECT_EQ(advice("self.o(attend(self.q(x), self.k(x), self.v(x)))", "attend(self.o(x), self.q(x))"),
            "specs/components/library/attn.yaml:20:3: [forward] TinyAttention.forward (modeling_tiny.py:10) "
            "calls self.o "
            "before self.q; expected 'q' before 'o', as the graph hands its value on\n");
}

TEST(Forward, AnotherNumberOfResiduals) {
  const std::string place = "specs/components/library/block.yaml:10:6: [forward] a layer 'layers.*' adds ";
  EXPECT_EQ(
      advice("        x = residual + x\n", ""),
      place +
          "2 times; expected once, as often as TinyBlock.forward (modeling_tiny.py:2) adds to a residual\n");
  EXPECT_EQ(advice("x = residual + x\n        return x + self.mlp(x)", "return self.mlp(x)"), "")
      << "nothing to compare";
  EXPECT_EQ(advice("        x = residual + x\n", "        if self.post:\n            x = residual + x\n"),
            "");
  EXPECT_EQ(advice("        x = residual + x\n", "        x = residual + x\n        x = residual + x\n"),
            place +
                "2 times; expected 3 times, as often as TinyBlock.forward (modeling_tiny.py:2) adds to a "
                "residual\n");
  EXPECT_EQ(
      advice(
          "", "",
          with(anchored(), kBlock, "out: { op: add, in: [mid, mlp] }", "out: { op: mul, in: [mid, mlp] }")),
      place +
          "once; expected 2 times, as often as TinyBlock.forward (modeling_tiny.py:2) adds to a residual\n");
}

TEST(Forward, ASourceThatIsNotAtHandIsNotCompared) {
  const base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(anchored());
  truth::Truth truth;
  truth.config = json(kConfig);
  const auto row = [&] {
    const Report report = verify_all(*library, truth);
    return *std::ranges::find(report.guards, "forward", &GuardRun::name);
  };
  EXPECT_EQ(row().not_run, "the forward source is not at hand; --source FOLDER gives one");
  truth.sources = {truth::Source::of_texts({{"other.py", "x = 1\n"}}, "", "made up/")};
  EXPECT_EQ(row().not_run, "no forward pass that its anchors name is at hand");
  truth.sources = {truth::Source::of_texts(
      {{"modeling_tiny.py",
        "class TinyBlock:\n  def forward(self, x):\n    return x\nclass TinyAttention: pass\n"}},
      "", "made up/")};
  EXPECT_EQ(row().not_run, "nothing in the forward passes at hand can be compared");
  truth.sources = {truth::Source::of_texts({{"modeling_tiny.py", kSource}}, "", "made up/")};
  // Of the block: norm before attn, norm and attn before mlp, and the sums. Of the attention: q, k and v before o.
  EXPECT_EQ(row().checks, 3 + 1 + 3);
  EXPECT_EQ(row().strength, Strength::kAdvises);
}

}  // namespace
}  // namespace archlight::guard::testing
