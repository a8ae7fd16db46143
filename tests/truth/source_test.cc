// Folders of sources: which files a name means.
#include "truth/source.h"

#include <gtest/gtest.h>

#include "truth/model_folder.h"

namespace archlight::truth {
namespace {

class Sources : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root() + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  std::string root() const { return testing::TempDir() + "archlight_source_" + std::to_string(getpid()); }
  void TearDown() override { std::filesystem::remove_all(root()); }
  std::shared_ptr<const Source> opened() {
    base::Result<std::shared_ptr<const Source>> out = Source::open(root());
    EXPECT_TRUE(out.ok()) << (out.ok() ? "" : base::render_all(out.faults()));
    return out.ok() ? *out : nullptr;
  }
  using Paths = std::vector<std::string>;
};

TEST_F(Sources, AFileIsNamedByTheEndOfItsPath) {
  write("models/tiny/modeling_tiny.py", "x = 1\n");
  write("models/tiny/not_modeling_tiny.py", "x = 1\n");
  write(".git/modeling_tiny.py", "x = 1\n");
  write("notes.txt", "");
  const auto source = opened();
  EXPECT_EQ(source->find("modeling_tiny.py", ""), (Paths{"models/tiny/modeling_tiny.py"}));
  EXPECT_EQ(source->find("tiny/modeling_tiny.py", ""), (Paths{"models/tiny/modeling_tiny.py"}));
  EXPECT_EQ(source->find("modeling_other.py", ""), Paths{});
  EXPECT_EQ(source->names(), (Paths{"modeling_tiny.py", "not_modeling_tiny.py"}));
  EXPECT_TRUE(source->file("models/tiny/modeling_tiny.py").ok());
}

TEST_F(Sources, AnOwnerNarrowsIt) {
  write("org/One/inference/model.py", "x = 1\n");
  write("other--two/inference/model.py", "x = 1\n");
  write("engine/models/tiny.py", "x = 1\n");
  write("library/models/tiny.py", "x = 1\n");
  const auto source = opened();
  EXPECT_EQ(source->find("inference/model.py", "org/one"), (Paths{"org/One/inference/model.py"}));
  EXPECT_EQ(source->find("inference/model.py", "other/two"), (Paths{"other--two/inference/model.py"}));
  EXPECT_EQ(source->find("inference/model.py", "org/three"), Paths{})
      << "another repository's file is not its";
  EXPECT_EQ(source->find("models/tiny.py", "engine"), (Paths{"engine/models/tiny.py"}));
  EXPECT_EQ(source->find("models/tiny.py", "nobody").size(), 2u) << "a package that no folder names";
}

TEST_F(Sources, OfOneRepository) {
  const auto hub = Source::of_texts({{"modeling_tiny.py", "x = 1\n"}}, "org/One", "hub x/");
  EXPECT_EQ(hub->find("modeling_tiny.py", ""), (Paths{"modeling_tiny.py"}));
  EXPECT_EQ(hub->find("modeling_tiny.py", "org/one"), (Paths{"modeling_tiny.py"}));
  EXPECT_EQ(hub->find("modeling_tiny.py", "org/Two"), Paths{});
  EXPECT_EQ(hub->find("modeling_tiny.py", "engine"), (Paths{"modeling_tiny.py"}));
  EXPECT_TRUE(hub->file("modeling_tiny.py").ok());
}

TEST_F(Sources, WhatIsNoSourceIsRefused) {
  EXPECT_EQ(
      Source::open(root()).faults()[0].message(),
      root() +
          ": cannot be listed: No such file or directory; expected a folder that holds the forward source");
  write("readme.txt", "");
  EXPECT_EQ(
      Source::open(root()).faults()[0].message(),
      root() +
          ": holds no .py file; expected a folder that holds the forward source; give a checkout of the "
          "library, or the folder with modeling_*.py");
  write("modeling_big.py", std::string(5 << 20, '#'));
  write("modeling_binary.py", std::string("\x7f"
                                          "ELF\0",
                                          5));
  const auto source = opened();
  EXPECT_EQ(source->file("modeling_big.py").faults()[0].message(),
            root() + "/modeling_big.py: holds 5242880 bytes, more than the 4194304 this reader takes");
  EXPECT_EQ(source->file("modeling_binary.py").faults()[0].message(),
            root() +
                "/modeling_binary.py:1:5: byte 0x00 stands in no UTF-8 text; expected a Python source, as "
                "published");
  EXPECT_FALSE(source->file("modeling_none.py").ok());
}

}  // namespace
}  // namespace archlight::truth
