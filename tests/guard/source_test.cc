// What a `src` text says, and what a made-up source says of it.
#include "guard/source.h"

#include <gtest/gtest.h>

#include "guard/small.h"

namespace archlight::guard::testing {
namespace {

// "owner|file|name;`code`" of each anchor.
std::string shown(const std::string& src, bool of_stream = false) {
  std::string out;
  for (const Anchor& anchor : parse_anchors(src, of_stream)) {
    out += (out.empty() ? "" : " / ") + anchor.owner + "|" + anchor.file + "|";
    for (size_t i = 0; i < anchor.items.size(); ++i)
      out +=
          (i ? ";" : "") + (anchor.items[i].code ? "`" + anchor.items[i].text + "`" : anchor.items[i].text);
  }
  return out;
}

TEST(Anchors, AreReadAsWritten) {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {"modeling_tiny.py", "|modeling_tiny.py|"},
      {"modeling_tiny.py: TinyBlock.forward", "|modeling_tiny.py|TinyBlock.forward"},
      {"org/One inference/model.py: MLA.forward, Gate", "org/One|inference/model.py|MLA.forward;Gate"},
      {"engine/models/tiny.py: TinyBlock", "|engine/models/tiny.py|TinyBlock"},
      {"a.py: A.forward; B (for the norms); b.py: C", "|a.py|A.forward / |a.py|B / |b.py|C"},
      {"a.py: A.forward for one expert, use_gate true, whose norm is per group", "|a.py|A.forward;use_gate"},
      {"a.py: A.forward, `x = f(a, b); y`, hidden", "|a.py|A.forward;`x = f(a, b); y`"},
      {"a.py: A.forward (see B.forward, `c`)", "|a.py|A.forward"},
      {"README_WEIGHTS.md: MTP module", "|README_WEIGHTS.md|MTP"},
      {"modeling_tiny.py in the library", "|modeling_tiny.py|"},
      {"times hidden_size ** -0.5", "||"},
      {"`unended", "||`unended`"},
      {"", ""},
      {" ; ", ""},
  };
  for (const auto& [src, parts] : rows) EXPECT_EQ(shown(src), parts) << src;
  // Of streams: a sentence with code, or code alone.
  EXPECT_EQ(shown("TinyAttention.forward threads `prev_topk` across layers", true),
            "||TinyAttention.forward;`prev_topk`");
  EXPECT_EQ(shown("history = torch.cat(", true), "||`history = torch.cat(`");
  EXPECT_EQ(shown("a.py: A.forward", true), "|a.py|A.forward");
}

constexpr const char* kSource = R"(
def mask_of(window):
    return window

class TinyAttention(nn.Module):
    def __init__(self, config):
        self.window = config.sliding_window

    def forward(self, x, prev_topk):
        # the_old_way(x)
        return mask_of(x), prev_topk

class TinyBlock(TinyAttention):
    pass
)";

Sources tiny(const std::string& text = kSource, const std::string& repo = "") {
  return {truth::Source::of_texts({{"modeling_tiny.py", text}}, repo, "made up/")};
}

std::string held(const std::string& src, const Sources& sources, const std::string& home = "") {
  std::string out;
  const std::vector<Anchor> home_anchors = parse_anchors(home);
  for (const Anchor& anchor : parse_anchors(src, !home.empty())) {
    const Held got = hold(anchor, sources, {}, home_anchors);
    if (!out.empty()) out += "\n";
    switch (got.state) {
      case Held::State::kFound:
        out += "found " + std::to_string(got.checks);
        break;
      case Held::State::kAbsent:
        out += "absent";
        break;
      case Held::State::kProse:
        out += "prose";
        break;
      case Held::State::kWrong:
      case Held::State::kUnreadable:
        out += got.faults[0].message();
    }
  }
  return out;
}

TEST(Anchors, AreHeldAgainstASource) {
  const std::string expected =
      "; expected a class, a method as Class.method, a function, or a word of what was named before it";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"modeling_tiny.py", "found 1"},
      {"modeling_tiny.py: TinyAttention.forward, prev_topk, mask_of", "found 4"},
      {"modeling_tiny.py: TinyBlock.forward", "found 2"},  // of its base
      {"modeling_tiny.py: TinyAttention.forward, sliding_window",
       "found 3"},  // a word of the class around it
      {"modeling_tiny.py: TinyAttention.window", "found 2"},
      {"modeling_tiny.py: TinyAttention.forward, `mask_of( x )`", "found 3"},
      {"modeling_tiny.py: TinyAttention.forwards", "modeling_tiny.py defines no 'TinyAttention.forwards'" +
                                                       expected + "; did you mean 'TinyAttention.forward'?"},
      {"modeling_tiny.py: TinyAttenton.forward", "modeling_tiny.py defines no 'TinyAttenton.forward'" +
                                                     expected + "; did you mean 'TinyAttention.forward'?"},
      {"modeling_tiny.py: TinyAttention, the_old_way",
       "'the_old_way' stands nowhere in modeling_tiny.py, TinyAttention" + expected},  // in a comment alone
      {"modeling_tiny.py: mask_of, `config.sliding_window`",
       "the code 'config.sliding_window' stands nowhere in modeling_tiny.py, mask_of; expected a piece of "
       "its code, "
       "comments apart"},
      {"modeling_other.py: TinyAttention", "absent"},
      {"engine/modeling_tiny.py: TinyAttention", "absent"},
      {"README.md: TinyAttention", "prose"},
      {"for readers", "prose"},
      {"modeling_tiny.py: TinyBlock; TinyMissing; modeling_other.py: A",
       "found 2\nmodeling_tiny.py defines no 'TinyMissing'" + expected + "\nabsent"},
  };
  for (const auto& [src, outcome] : rows) EXPECT_EQ(held(src, tiny()), outcome) << src;
  EXPECT_EQ(held("modeling_tiny.py: TinyBlock", {}), "absent");
}

TEST(Anchors, WhoseSourceItIsCounts) {
  const Sources sources = tiny(kSource, "org/one");
  EXPECT_EQ(held("org/One modeling_tiny.py: TinyBlock", sources), "found 2");
  EXPECT_EQ(held("org/Two modeling_tiny.py: TinyBlock", sources), "absent");
  EXPECT_EQ(held("org/Two modeling_tiny.py: Nothing", sources), "absent");
}

// Two versions of a file: the one that bears the anchor out counts.
TEST(Anchors, OneOfSeveralFilesIsEnough) {
  const Sources sources = {truth::Source::of_texts({{"old/modeling_tiny.py", "class Old: pass\n"},
                                                    {"new/modeling_tiny.py", "class New: pass\n"},
                                                    {"torn/modeling_tiny.py", "x = 1\nclass :\n"}},
                                                   "", "made up/")};
  EXPECT_EQ(held("modeling_tiny.py: Old", sources), "found 2");
  EXPECT_EQ(held("modeling_tiny.py: New", sources), "found 2");
  EXPECT_EQ(
      held("torn/modeling_tiny.py: New", sources),
      "made up/torn/modeling_tiny.py:2:1: no Python from here on; expected a Python source, as published");
}

TEST(Anchors, AStreamsCodeIsInTheFilesOfItsModel) {
  EXPECT_EQ(held("`prev_topk`", tiny(), "modeling_tiny.py: TinyBlock"), "found 2");
  EXPECT_EQ(held("return mask_of(x)", tiny(), "modeling_tiny.py"), "found 2");
  EXPECT_EQ(held("return mask_of(y)", tiny(), "modeling_tiny.py"),
            "the code 'return mask_of(y)' stands nowhere in modeling_tiny.py; expected a piece of its code, "
            "comments apart");
  EXPECT_EQ(held("return mask_of(x)", tiny(), "modeling_other.py"), "absent");
}

// The small model of small.h with anchors, and a layer that reads another's keys.
Files anchored() {
  Files files = with(kSmall, kModel, "repeat: 2, inputs: [embed], streams: { hidden: { carries: true } } }",
                     R"y(repeat: 4, inputs: [embed],
      layers: [{ count: 2, attention: attention }, { rest: true, attention: reader }],
      streams: { hidden: { carries: true }, keys: { shape: [B, s_ctx, n_heads, d_head], src: "hands `prev_topk` on" },
                 values: { shape: [B, s_ctx, n_heads, d_head], src: "return mask_of(x)" } } })y");
  files.at(kModel) += "src: \"modeling_tiny.py: TinyBlock\"\n";
  files.at(kAttn) +=
      "stream_out: { keys: k_rope, values: v_heads }\nsrc: \"modeling_tiny.py: TinyAttention.forward\"\n";
  files["components/library/reader.yaml"] = R"(role: attention
reads: [keys, values]
graph:
  q: { op: linear, in: x, dims: { in: d_model, out: "n_heads * d_head" } }
  q_heads: { op: split_heads, in: q, dims: { heads: n_heads, width: d_head } }
  q_rope: { op: rope, in: q_heads, dim: d_head }
  scores: { op: attention_score, in: [q_rope, keys], window: d_window }
  probs: { op: attention_softmax, in: scores, window: d_window }
  context: { op: attention_apply, in: [probs, values], window: d_window }
  merged: { op: merge_heads, in: context, dims: { heads: n_heads, width: d_head } }
  o: { op: linear, in: merged, dims: { in: "n_heads * d_head", out: d_model } }
outputs: [o]
)";
  return files;
}

Report report_of(const Files& files, const Sources& sources, const std::set<std::string>& without = {}) {
  const base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(files);
  EXPECT_TRUE(library.ok()) << (library.ok() ? "" : base::render_all(library.faults()));
  truth::Truth truth;
  truth.config = json(kConfig);
  truth.sources = sources;
  return verify_all(*library, truth, without);
}

const GuardRun& source_row(const Report& report) {
  return *std::ranges::find(report.guards, "source", &GuardRun::name);
}

TEST(SourceGuard, HoldsEveryAnchorOfAModel) {
  const Report report = report_of(anchored(), tiny());
  EXPECT_EQ(lines_of(report), "");
  // The model's file and class, the attention's, each stream's file and code, and the two streams themselves.
  EXPECT_TRUE(source_row(report).ran);
  EXPECT_EQ(source_row(report).checks, 2 + 2 + 2 + 2 + 2);

  const Report none = report_of(anchored(), {});
  EXPECT_EQ(lines_of(none), "");
  EXPECT_FALSE(source_row(none).ran);
  EXPECT_EQ(source_row(none).not_run, "the forward source is not at hand; --source FOLDER gives one");
  EXPECT_EQ(none.verdict, report.verdict) << "a source that is not at hand changes no verdict";
  const Report other = report_of(anchored(), {truth::Source::of_texts({{"other.py", ""}}, "", "x/")});
  EXPECT_EQ(source_row(other).not_run, "no file that its anchors name is in the source at hand");
}

TEST(SourceGuard, AnAnchorThatTheSourceDoesNotBearOutBlocks) {
  const std::vector<std::tuple<const char*, const char*, const char*, const char*>> rows = {
      {kModel, "modeling_tiny.py: TinyBlock", "modeling_tiny.py: TinyBlok",
       "specs/models/small.yaml:14:6: [source] modeling_tiny.py defines no 'TinyBlok'; expected a class, a "
       "method as "
       "Class.method, a function, or a word of what was named before it; did you mean 'TinyBlock'?\n"},
      {kModel, "`prev_topk`", "`prev_topk_indices`",
       "specs/models/small.yaml:9:94: [source] the code 'prev_topk_indices' stands nowhere in "
       "modeling_tiny.py; expected "
       "a piece of its code, comments apart\n"},
      {kModel, "return mask_of(x)", "return mask_of(x, y)",
       "specs/models/small.yaml:10:69: [source] the code 'return mask_of(x, y)' stands nowhere in "
       "modeling_tiny.py; "
       "expected a piece of its code, comments apart\n"},
      {kAttn, "TinyAttention.forward", "TinyAttention.call",
       "specs/components/library/attn.yaml:23:6: [source] modeling_tiny.py defines no 'TinyAttention.call'; "
       "expected a "
       "class, a method as Class.method, a function, or a word of what was named before it; did you mean "
       "'TinyAttention'?\n"},
  };
  for (const auto& [file, from, to, faults] : rows) {
    const Files bent = with(anchored(), file, from, to);
    const Report report = report_of(bent, tiny());
    EXPECT_EQ(lines_of(report), faults) << to;
    EXPECT_EQ(report.verdict, Verdict::kWrong);
    EXPECT_EQ(source_row(report).faults, 1);
    EXPECT_EQ(lines_of(report_of(bent, tiny(), {"source"})), "") << "no other guard sees it";
    EXPECT_EQ(lines_of(report_of(bent, {})), "");
  }
}

// Whoever gives a source that cannot be read is told so; the spec is not wrong for it, and not verified either.
TEST(SourceGuard, ASourceThatCannotBeReadLeavesItOpen) {
  const Report report = report_of(anchored(), tiny("x = 1\nclass :\n"));
  EXPECT_EQ(
      lines_of(report),
      "made up/modeling_tiny.py:2:1: [not_verifiable] no Python from here on; expected a Python source, as "
      "published\n");
  EXPECT_EQ(report.verdict, Verdict::kNotVerifiable);
}

// Every anchor of the project's own specs can be read, and none of them is empty by a slip of its form.
TEST(Library, EveryAnchorNamesAFileOrSaysWhy) {
  const auto rows = library_anchors(*specs(), {});
  ASSERT_TRUE(rows.ok());
  EXPECT_GT(rows->size(), 200u);
  for (const LibraryAnchor& row : *rows) {
    EXPECT_NE(row.held.state, Held::State::kFound) << "without a source";
    EXPECT_NE(row.held.state, Held::State::kWrong) << "without a source";
  }
}

}  // namespace
}  // namespace archlight::guard::testing
