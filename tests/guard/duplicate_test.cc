// Specs that say what another says already.
#include "guard/duplicate.h"

#include <gtest/gtest.h>

#include "guard/small.h"

namespace archlight::guard::testing {
namespace {

std::string advice(const Files& files) {
  const base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(files);
  EXPECT_TRUE(library.ok()) << (library.ok() ? "" : base::render_all(library.faults()));
  truth::Truth truth;
  truth.config = json(kConfig);
  return advice_of(verify_all(*library, truth), "duplicate");
}

// The small model with its attention copied into a draft that it uses instead.
Files drafted() {
  Files files = with(kSmall, kModel, "attention: attn", "attention: my_attn");
  files.at(kModel) += "drafts: [my_attn]\n";
  files["components/drafts/my_attn.yaml"] =
      "# Written anew.\n" + files.at(kAttn) + "src: \"somewhere else\"\n";
  return files;
}

TEST(Duplicate, ADraftThatIsALibraryComponent) {
  EXPECT_EQ(advice(kSmall), "");
  EXPECT_EQ(advice(drafted()),
            "specs/components/drafts/my_attn.yaml:2:1: [duplicate] this draft says nearly what component "
            "'attn' says, but for "
            "nothing; expected that component, with a dim or a condition for what differs\n");
  // One line of twenty-one is another: still nearly the same.
  EXPECT_EQ(advice(with(drafted(), "components/drafts/my_attn.yaml",
                        "q_rope: { op: rope, in: q_heads, dim: d_head }",
                        "q_rope:   { op: rope,  in: q_heads, dim: \"d_head\" }")),
            "specs/components/drafts/my_attn.yaml:2:1: [duplicate] this draft says nearly what component "
            "'attn' says, but for "
            "q_rope: { op: rope, in: q_heads, dim: \"d_head\" }; expected that component, with a dim or a "
            "condition for what "
            "differs\n");
  // Of another role it is no duplicate, nor is what differs in more.
  Files other = drafted();
  std::string& text = other.at("components/drafts/my_attn.yaml");
  for (const char* name : {"q_heads", "k_heads", "v_heads"})
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 9))
      text.replace(at, 7, std::string(1, name[0]) + "_parted");
  EXPECT_EQ(advice(other), "");
}

TEST(Duplicate, AModelThatIsAnother) {
  Files files = kSmall;
  files["models/twin.yaml"] = "# The same for another architecture.\n" + kSmall.at(kModel);
  std::string& text = files.at("models/twin.yaml");
  text.replace(text.find("SmallForCausalLM"), 16, "OtherForCausalLM");
  EXPECT_EQ(advice(files),
            "specs/models/small.yaml:1:1: [duplicate] this says nearly what specs/models/twin.yaml says, but "
            "for nothing; "
            "expected one model for both, with all of their architectures under match\n");
}

}  // namespace
}  // namespace archlight::guard::testing
