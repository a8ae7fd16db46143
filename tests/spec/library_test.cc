// Which files of specs/ are read when, and whose faults they are.
#include "spec/library.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "support/made_up.h"

namespace archlight::testing {
namespace {

// A copy of the project's specs/ that one test may break.
class Copy {
 public:
  Copy() : path_(::testing::TempDir() + "archlight_specs_" + std::to_string(getpid())) {
    std::filesystem::copy(ARCHLIGHT_SOURCE_DIR "/specs", path_, std::filesystem::copy_options::recursive);
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  ~Copy() { std::filesystem::remove_all(path_); }

  void write(const std::string& file, const std::string& text) const {
    std::ofstream(path_ + "/" + file, std::ios::binary) << text;
  }
  std::shared_ptr<spec::Library> open() const {
    base::Result<std::shared_ptr<spec::Library>> library = spec::Library::open(path_);
    EXPECT_TRUE(library.ok()) << (library.ok() ? "" : messages(library.faults()));
    return library.ok() ? *library : nullptr;
  }

 private:
  std::string path_;
};

std::vector<std::string> read_under(const spec::Library& library, const std::string& folder) {
  std::vector<std::string> out;
  for (const std::string& file : library.files_read())
    if (file.starts_with(folder)) out.push_back(file);
  return out;
}

constexpr const char* kLlama = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama"})";

TEST(Library, ReadsOnlyWhatIsAskedFor) {
  const Made made =
      tiny()
          .plus("models/other.yaml",
                "match: { architectures: [Other] }\ndims: {}\nmodel:\n  - { name: a, op: embedding, "
                "dims: { vocab: 1, dim: 1 } }\n")
          .plus("adapters/plain.yaml", "paths: {}\n")
          .plus("adapters/more.yaml", "extends: plain\npaths: {}\n");
  const Copy copy;
  for (const auto& [file, text] : made.files)
    if (file.find('/') != std::string::npos) copy.write(file, text);  // the project's tables stay
  const std::shared_ptr<spec::Library> library = copy.open();
  ASSERT_TRUE(library);
  EXPECT_EQ(read_under(*library, "models/"), std::vector<std::string>{});
  EXPECT_EQ(read_under(*library, "components/"), std::vector<std::string>{});
  EXPECT_EQ(read_under(*library, "adapters/"), std::vector<std::string>{});

  // No other file of specs/models holds the letters.
  const base::Result<const spec::Model*> model = library->model_for(*json(R"({"architectures": ["Tiny"]})"));
  ASSERT_TRUE(model.ok()) << messages(model.faults());
  EXPECT_EQ((*model)->name, "tiny");
  EXPECT_EQ(read_under(*library, "models/"), std::vector<std::string>{"models/tiny.yaml"});

  ASSERT_TRUE(library->adapter("more", {}).ok());
  EXPECT_EQ(read_under(*library, "adapters/"),
            (std::vector<std::string>{"adapters/more.yaml", "adapters/plain.yaml"}));

  // Names alone ask for nothing.
  EXPECT_GT(library->component_names().size(), 50u);
  EXPECT_GT(library->model_names().size(), 50u);
  EXPECT_EQ(read_under(*library, "components/"), std::vector<std::string>{});
  ASSERT_TRUE(library->any_component("swiglu").ok());
  EXPECT_EQ(read_under(*library, "components/"), std::vector<std::string>{"components/library/swiglu.yaml"});
}

TEST(Library, WholeLibraryHasNoFault) {
  const base::Faults faults = own_library()->load_all();
  EXPECT_EQ(messages(faults), "");
  EXPECT_EQ(read_under(*own_library(), "models/").size(), own_library()->model_names().size());
}

TEST(Library, AFaultElsewhereIsNoFaultOfThisModel) {
  const Copy copy;
  copy.write("models/broken.yaml", "match: { architectures: [Broken] }\nmodle: []\n");
  copy.write("components/library/broken.yaml", "role: [\n");
  copy.write("adapters/broken.yaml", "extends: nothing_such\npaths: {}\n");
  const std::shared_ptr<spec::Library> library = copy.open();
  ASSERT_TRUE(library);
  const base::Result<const spec::Model*> llama = library->model_for(*json(kLlama));
  ASSERT_TRUE(llama.ok()) << messages(llama.faults());
  EXPECT_EQ((*llama)->name, "llama");

  // What asks for the file has its fault,
  const base::Result<const spec::Model*> broken =
      library->model_for(*json(R"({"architectures": ["Broken"]})"));
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(messages(broken.faults()).find("specs/models/broken.yaml:2:1: unknown key 'modle'"),
            std::string::npos)
      << messages(broken.faults());
  const base::Result<const spec::Adapter*> adapter = library->adapter("broken", {});
  ASSERT_FALSE(adapter.ok());
  EXPECT_TRUE(adapter.faults()[0].message().starts_with(
      "specs/adapters/broken.yaml:1:10: adapter 'broken' extends 'nothing_such', which is unknown"))
      << messages(adapter.faults());

  // and so has the whole library, of every file at once.
  const std::string all = messages(library->load_all());
  for (const char* place : {"specs/models/broken.yaml:2:1: ", "specs/components/library/broken.yaml:",
                            "specs/adapters/broken.yaml:1:10: "})
    EXPECT_NE(all.find(place), std::string::npos) << place << " is not in\n" << all;
}

TEST(Library, AFaultInATableOrASchemeRefusesTheLibrary) {
  for (const char* file : {"dims.yaml", "roles.yaml", "config_keys.yaml", "quant/fp8_block.yaml"}) {
    const Copy copy;
    copy.write(file, "a: [\n");
    const base::Result<std::shared_ptr<spec::Library>> library =
        spec::Library::open(::testing::TempDir() + "archlight_specs_" + std::to_string(getpid()));
    ASSERT_FALSE(library.ok()) << file;
    EXPECT_TRUE(library.faults()[0].message().starts_with("specs/" + std::string(file) + ":")) << file;
  }
}

// An escape may write what the text does not show.
TEST(Library, AnArchitectureWithAnEscapeIsFound) {
  const Copy copy;
  copy.write("models/escaped.yaml",
             "match: { architectures: [\"\\x54inyTwo\"] }\ndims: {}\nmodel:\n"
             "  - { name: a, op: embedding, dims: { vocab: 1, dim: 1 } }\n");
  const std::shared_ptr<spec::Library> library = copy.open();
  ASSERT_TRUE(library);
  const base::Result<const spec::Model*> model =
      library->model_for(*json(R"({"architectures": ["TinyTwo"]})"));
  ASSERT_TRUE(model.ok()) << messages(model.faults());
  EXPECT_EQ((*model)->name, "escaped");
}

TEST(Library, ChangedFilesAreReadAnew) {
  const Made made = tiny();
  const base::Result<std::shared_ptr<spec::Library>> library = spec::Library::from_texts(made.files);
  ASSERT_TRUE(library.ok()) << messages(library.faults());
  const std::string& text = made.files.at("models/tiny.yaml");
  const base::Result<std::shared_ptr<spec::Library>> changed =
      (*library)->with({{"models/tiny.yaml", "max_context: config.most\n" + text}});
  ASSERT_TRUE(changed.ok()) << messages(changed.faults());
  EXPECT_EQ((**(*library)->model("tiny")).max_context, "");
  EXPECT_EQ((**(*changed)->model("tiny")).max_context, "most");
}

}  // namespace
}  // namespace archlight::testing
