#include "base/yaml.h"

#include <gtest/gtest.h>

namespace archlight::base {
namespace {

Result<Yaml> parse(std::string text) {
  return parse_yaml(std::make_shared<SourceText>(SourceText{"a.yaml", std::move(text)}));
}

std::string error_of(std::string text) {
  Result<Yaml> result = parse(std::move(text));
  return result ? "parsed" : result.faults()[0].message();
}

TEST(Yaml, KeepsOrderAndMarks) {
  Result<Yaml> root = parse("b: 1\na:\n  - x\n  - \"12\"\n");
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(root->keys(), (std::vector<std::string>{"b", "a"}));
  const Yaml& second = root->find("a")->items[1];
  EXPECT_EQ(second.at.line, 4);
  EXPECT_EQ(second.at.column, 5);
  EXPECT_TRUE(second.quoted);
}

TEST(Yaml, ErrorsHaveAPlace) {
  EXPECT_EQ(error_of("a: 1\na: 2\n"),
            "a.yaml:2:1: the key 'a' stands twice in one map; expected each key once; remove one of the two");
  EXPECT_EQ(error_of("a: [1, 2\n").substr(0, 7), "a.yaml:");
  EXPECT_EQ(error_of(""), "a.yaml:1:1: the file is empty; expected a YAML document");
  EXPECT_EQ(error_of("a: &x 1\nb: *x\n").substr(0, 12), "a.yaml:1:4: ");
  EXPECT_EQ(error_of("a: 1\n\xff: 2\n"),
            "a.yaml:2:1: not valid YAML: invalid leading UTF-8 octet; expected UTF-8 text");
  EXPECT_EQ(error_of("a: 1\n---\nb: 2\n"),
            "a.yaml: a second document behind '---'; expected one document per file; put it into a file of "
            "its own");
  EXPECT_EQ(error_of("? [a]\n: b\n"), "a.yaml:1:3: a map or list as a key; expected a name");
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += '[';
  EXPECT_EQ(error_of(deep).substr(0, 7), "a.yaml:");
}

}  // namespace
}  // namespace archlight::base
