#include "layers/layers.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace archlight::layers {
namespace {

constexpr const char* kLayers =
    "# lowest first\n"
    "base:\n"
    "expr:  base\n"
    "graph: base expr\n";

// What a tree with these sources is told, one message a line.
std::string told(std::vector<SourceFile> sources, std::string layers = kLayers) {
  std::string out;
  for (const base::Diagnostic& fault : check_includes({std::move(layers), std::move(sources)}))
    out += fault.message() + "\n";
  return out;
}

std::string told_of_links(const std::string& links, std::string layers = kLayers) {
  std::string out;
  for (const base::Diagnostic& fault : check_links({std::move(layers), {}}, links))
    out += fault.message() + "\n";
  return out;
}

TEST(Layers, DeclaredEdgesPass) {
  EXPECT_EQ(
      told({{"base/a.h", ""},
            {"expr/b.h", "#include <vector>\n\n#include \"base/a.h\"\n#include \"expr/internal/c.h\"\n"},
            {"expr/internal/c.h", ""},
            {"graph/d.cc", "#include \"base/a.h\"\n  #  include \"expr/b.h\"  // why\n"}}),
      "");
}

TEST(Layers, UndeclaredEdge) {
  EXPECT_EQ(told({{"base/a.h", ""},
                  {"expr/b.h", ""},
                  {"graph/c.cc", "#include \"base/a.h\"\n#include \"expr/b.h\"\n"}},
                 "base:\nexpr:\ngraph: base\n"),
            "src/graph/c.cc:2:10: 'graph' includes 'expr', an undeclared edge; expected one of: base; add "
            "'expr' to the "
            "line of 'graph' in src/layers.txt and argue for it\n");
  EXPECT_EQ(told({{"base/a.h", ""}, {"expr/b.h", "#include \"base/a.h\"\n"}}, "base:\nexpr:\n"),
            "src/expr/b.h:1:10: 'expr' includes 'base', an undeclared edge; expected one of: none; add "
            "'base' to the "
            "line of 'expr' in src/layers.txt and argue for it\n");
}

TEST(Layers, UpwardInclude) {
  EXPECT_EQ(
      told({{"base/a.cc", "// text\n#include \"expr/b.h\"\n"}, {"expr/b.h", "#include \"base/a.h\"\n"}}),
      "src/base/a.cc:2:10: 'base' includes 'expr' upward; expected a room from a line above its own in "
      "src/layers.txt; move what both need down to 'base' or below\n");
}

TEST(Layers, UpwardLine) {
  EXPECT_EQ(told({}, "base: expr\nexpr: base expr\n"),
            "src/layers.txt:1:7: 'base' includes 'expr' upward; expected a room from a line above its own; "
            "remove it, "
            "or move the line of 'expr' up\n"
            "src/layers.txt:2:12: 'expr' includes 'expr' upward; expected a room from a line above its own; "
            "remove it; "
            "a room always includes itself\n");
}

TEST(Layers, AnotherRoomsInternal) {
  EXPECT_EQ(
      told({{"base/internal/a.h", ""}, {"expr/b.cc", "#include \"base/internal/a.h\"\n"}}),
      "src/expr/b.cc:1:10: 'expr' includes an internal part of 'base'; expected a header of 'base' outside "
      "internal/; move the header out of internal/, or use the room's own\n");
}

TEST(Layers, UnusedEdge) {
  EXPECT_EQ(told({{"base/a.h", ""},
                  {"expr/b.h", "#include \"base/a.h\"\n"},
                  {"graph/c.h", "#include \"expr/b.h\"\n"}}),
            "src/layers.txt:4:8: no source of 'graph' includes 'base'; expected only edges in use; remove "
            "the edge\n");
}

TEST(Layers, EdgesOfEmptyRoomsRest) {
  EXPECT_EQ(told({{"base/a.h", ""}}), "");
  EXPECT_EQ(told({{"graph/a.h", ""}}), "");
}

TEST(Layers, FileThatListsRooms) {
  EXPECT_EQ(
      told({}, "base:\nexpr: bass\nexpr:\ngraph\n: base\nBad: base\nspec: base base\n"),
      "src/layers.txt:3:1: the room 'expr' has two lines; expected one line for each room; join the two "
      "lines\n"
      "src/layers.txt:4:1: this line names no room; expected 'room: the rooms it includes'; write the room, "
      "a "
      "colon, then its rooms\n"
      "src/layers.txt:5:1: this line names no room; expected 'room: the rooms it includes'; write the room, "
      "a "
      "colon, then its rooms\n"
      "src/layers.txt:6:1: 'Bad' is no name of a room; expected a folder under src/ in lower case; name the "
      "folder\n"
      "src/layers.txt:2:7: 'expr' includes the unknown room 'bass'; expected a room with a line above; did "
      "you "
      "mean 'base'?\n"
      "src/layers.txt:7:12: 'spec' includes 'base' twice; expected each room once; remove one of the two\n");
}

TEST(Layers, SourceInNoRoom) {
  EXPECT_EQ(told({{"main.cc", "int main() {}\n"}, {"lost/a.h", ""}}),
            "src/main.cc:1:1: this source lies in no room; expected a folder with a line in src/layers.txt; "
            "move it to a "
            "room, or add the room's line\n"
            "src/lost/a.h:1:1: this source lies in no room; expected a folder with a line in src/layers.txt; "
            "move it to "
            "a room, or add the room's line\n");
}

TEST(Layers, PathsStartAtTheRoom) {
  EXPECT_EQ(told({{"base/a.h", ""}, {"base/b.cc", "#include \"a.h\"\n#include \"bass/a.h\"\n"}}),
            "src/base/b.cc:1:10: the include 'a.h' starts with no room; expected a path from src/, the room "
            "first, or "
            "<> for a library\n"
            "src/base/b.cc:2:10: the include 'bass/a.h' starts with no room; expected a path from src/, the "
            "room first, "
            "or <> for a library; did you mean 'base'?\n");
  EXPECT_EQ(told({{"base/a.h", ""}, {"base/b.cc", "#include <base/a.h>\n#include <base/of_a_library.h>\n"}}),
            "src/base/b.cc:1:10: 'base/a.h' is ours and stands in <>; expected #include \"base/a.h\"; write "
            "it with "
            "quotes\n");
  EXPECT_EQ(
      told({{"base/b.cc", "#include \"base/../expr/a.h\"\n"}}),
      "src/base/b.cc:1:10: the include 'base/../expr/a.h' steps out of its folder; expected a path from src/ "
      "without dots; write the path from src/\n");
}

TEST(Layers, CommentsAreNoIncludes) {
  EXPECT_EQ(told({{"base/a.cc",
                   "// #include \"expr/b.h\"\n/* one\n#include \"expr/b.h\"\n*/ const char* s = \"/*\";\n"
                   "#include \"expr/b.h\"\n"}}),
            "src/base/a.cc:5:10: 'base' includes 'expr' upward; expected a room from a line above its own in "
            "src/layers.txt; move what both need down to 'base' or below\n");
}

TEST(Layers, RoomsWithinRooms) {
  const std::string layers = "base:\ndeploy/comm: base\ndeploy: base deploy/comm\n";
  EXPECT_EQ(told({{"base/a.h", ""},
                  {"deploy/comm/ring.h", "#include \"base/a.h\"\n#include \"deploy/plan.h\"\n"},
                  {"deploy/plan.h", "#include \"base/a.h\"\n#include \"deploy/comm/ring.h\"\n"}},
                 layers),
            "src/deploy/comm/ring.h:2:10: 'deploy/comm' includes 'deploy' upward; expected a room from a "
            "line above its "
            "own in src/layers.txt; move what both need down to 'deploy/comm' or below\n");
  EXPECT_EQ(told_of_links("archlight_base:\narchlight_deploy_comm: archlight_base\n"
                          "archlight_deploy: archlight_base archlight_deploy_comm\n",
                          layers),
            "");
}

TEST(Layers, LinksFollowTheLines) {
  EXPECT_EQ(told_of_links("archlight_base: archlight_options fmt::fmt\narchlight_expr: archlight_base\n"
                          "archlight_graph: archlight_expr archlight_base\narchlight: archlight_graph\n"),
            "");
  EXPECT_EQ(told_of_links("archlight_base: archlight_expr\narchlight_expr:\n"),
            "src/layers.txt:2:1: the target 'archlight_base' links 'archlight_expr', an undeclared edge; "
            "expected a link "
            "for each declared edge and no other; remove the link in CMake\n"
            "src/layers.txt:3:8: the target 'archlight_expr' does not link 'archlight_base'; expected a link "
            "for each "
            "declared edge; link the room in CMake\n");
  EXPECT_EQ(told_of_links("archlight_base:\narchlight_expr: archlight_base\narchlight: archlight_base\n"
                          "archlight_more: archlight_base\n"),
            "src/layers.txt:4:1: the program links 'archlight_base'; expected 'archlight_expr' alone, the "
            "highest room; "
            "remove the link in CMake\n"
            "src/layers.txt:4:1: the target 'archlight_more' belongs to no room; expected one library for "
            "each line of "
            "src/layers.txt; add the room's line, or remove the target\n");
}

// The project itself.
TEST(Layers, ThisProject) {
  const base::Result<Tree> tree = read_tree(ARCHLIGHT_SOURCE_DIR "/src");
  ASSERT_TRUE(tree.ok()) << base::render_all(tree.faults());
  EXPECT_GT(tree->sources.size(), 10u);
  EXPECT_EQ(base::render_all(check_includes(*tree)), "");
  const base::Result<std::string> links = base::read_file(ARCHLIGHT_BINARY_DIR "/links.txt");
  ASSERT_TRUE(links.ok()) << base::render_all(links.faults());
  EXPECT_NE(links->find("archlight_base:"), std::string::npos);
  EXPECT_EQ(base::render_all(check_links(*tree, *links)), "");
}

}  // namespace
}  // namespace archlight::layers
