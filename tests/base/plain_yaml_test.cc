// The reader of plain YAML against yaml-cpp: where it reads a text at all, tree and places are equal.
#include "base/internal/plain_yaml.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/file.h"

namespace archlight::base {
namespace {

std::shared_ptr<const SourceText> source_of(std::string text) {
  return std::make_shared<SourceText>(SourceText{"a.yaml", std::move(text)});
}

// A tree with every place, as text.
void write(const Yaml& node, std::string& out) {
  const auto place = [&](const Span& at) {
    out += std::to_string(at.line) + ":" + std::to_string(at.column) + "+" + std::to_string(at.length) + " ";
  };
  place(node.at);
  out += node.describe() + (node.quoted ? " quoted\n" : "\n");
  for (const Yaml& item : node.items) write(item, out);
  for (const YamlEntry& entry : node.entries) {
    place(entry.key_at);
    out += entry.key + " = ";
    write(entry.value, out);
  }
}

std::string written(const Yaml& node) {
  std::string out;
  write(node, out);
  return out;
}

// Whether the plain reader took the text; it must not where yaml-cpp finds a fault, nor read it otherwise.
bool taken(const std::string& text) {
  const auto source = source_of(text);
  const std::optional<Yaml> plain = internal::read_plain_yaml(source);
  if (!plain) return false;
  const Result<Yaml> any = internal::read_any_yaml(source);
  if (!any) {
    ADD_FAILURE() << "a fault for yaml-cpp: " << any.faults()[0].message() << "\nin\n" << text;
    return true;
  }
  EXPECT_EQ(written(*plain), written(*any)) << "in\n" << text;
  return true;
}

TEST(PlainYaml, ReadsTheSpecs) {
  size_t files = 0, left = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ARCHLIGHT_SOURCE_DIR "/specs")) {
    if (entry.path().extension() != ".yaml") continue;
    const Result<std::string> text = read_file(entry.path(), 1 << 20);
    ASSERT_TRUE(text.ok());
    EXPECT_TRUE(taken(*text)) << entry.path()
                              << " is left to yaml-cpp, which takes about thirty times as long";
    ++files;
  }
  EXPECT_GT(files, 200u);
}

const std::vector<std::string> kTexts = {
    "a: 1\nb: [x, \"y z\", 'w', -1, re:v]\nc: {d: e, f: {g: [], h: {}}}\n",
    "# first\nmatch:\n  architectures: [Some]   # why\n  types:\n    - one\n    - two: 2\n      three: "
    "\"3\"\n"
    "    - - x\n      - y\nlast: ~\n",
    "- {a: null, b: \"c: d\", 'e': f#g}\n-   h: i\n    j: k\n- l",
    "a:\n  { b: c,   # d\n    e: [f,\n  g] }\nh:   i j  k   \n\n\nl: m",
    "\"a b\": 'c'\n'd': \"\"\ne:\n  f:\n    g: h\n  i: j:k\n",
    "formula: \"a * (b + c) // d\"\nquote: \"f(\\\"x\\\", \\\\)\"\nother: a*b-c\nlist: [a.*.b, \"*\", c/d, "
    "e<f, g=h]\n",
};

TEST(PlainYaml, ReadsTheFormsThatItsHeaderLists) {
  for (const std::string& text : kTexts) EXPECT_TRUE(taken(text)) << text;
}

TEST(PlainYaml, LeavesOtherFormsToYamlCpp) {
  for (const char* text : {"",
                           "a",
                           "~",
                           "a:\n",
                           "a:\nb: 1\n",
                           "a: |\n  b\n",
                           "a: >\n  b\n",
                           "a: &x 1\n",
                           "a: *x\n",
                           "a: !t b\n",
                           "a:\n- b\n",
                           "a: b\n  c\n",
                           "a: \"b\n  c\"\n",
                           "a: \"\\t\"\n",
                           "a: 'b''c'\n",
                           "---\na: b\n",
                           "a: b\n...\n",
                           "%YAML 1.2\n",
                           "? a\n: b\n",
                           "a: [b, c,]\n",
                           "a: {b}\n",
                           "a: {b: }\n",
                           "a: [b: c]\n",
                           "a: [b\n c]\n",
                           "a : b\n",
                           "a:\tb\n",
                           "a: \xc3\xa9\n",
                           "a: b: c\n",
                           "a: - b\n",
                           " a: b\nc: d\n",
                           "a: 1\na: 2\n",
                           "null: a\n",
                           "[a]: b\n",
                           "a: [b] c\n",
                           "a: \"b\" c\n",
                           "a: [b]#c\n",
                           "{a: b\n",
                           "a: [b\n",
                           "a: \"b\n"})
    EXPECT_FALSE(taken(text)) << text;
}

TEST(PlainYaml, AgreesWithYamlCppOnChangedTexts) {
  const std::string letters = " \n:-,[]{}#'\"|>?&*!%@`~ab1.\\/\t\n  ";
  std::mt19937_64 random(1);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  int read = 0;
  for (int i = 0; i < 60'000 && !HasFailure(); ++i) {
    std::string text = kTexts[below(kTexts.size())];
    for (size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
      const size_t at = below(text.size());
      switch (below(4)) {
        case 0:
          text[at] = letters[below(letters.size())];
          break;
        case 1:
          text.insert(at, 1, letters[below(letters.size())]);
          break;
        case 2:
          text.erase(at, 1 + below(3));
          break;
        default:
          text.insert(below(text.size()), text.substr(at, 1 + below(8)));
      }
    }
    read += taken(text);
  }
  // Enough of them stay plain for the comparison to mean something.
  EXPECT_GT(read, 10'000);
}

}  // namespace
}  // namespace archlight::base
