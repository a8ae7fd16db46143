#include <gtest/gtest.h>

#include "truth/model_folder.h"
#include "truth/truth.h"

namespace archlight::truth {
namespace {

OpenOptions offline() {
  OpenOptions options;
  options.home = ARCHLIGHT_SOURCE_DIR;
  options.offline = true;
  options.progress = false;
  return options;
}

std::string error_of(const std::string& model, const OpenOptions& options = offline()) {
  const base::Result<Truth> truth = open_truth(model, options);
  return truth ? "opened" : truth.faults()[0].message();
}

TEST(OpenTruth, APathBeforeASnapshotBeforeTheHub) {
  const ModelFolder folder("Qwen--Qwen3-8B");
  folder.write("model.safetensors", ModelFolder::one_tensor("a"));
  EXPECT_EQ(open_truth(folder.path(), offline())->origin, "folder " + folder.path());
  EXPECT_EQ(open_truth(folder.path() + "/model.safetensors", offline())->level, Level::kHeader);
  const char* record = ARCHLIGHT_SOURCE_DIR "/tests/truth/records/openai--gpt-oss-20b";
  EXPECT_EQ(open_truth(record, offline())->origin.substr(7), record);
  EXPECT_EQ(open_truth("Qwen/Qwen3-8B", offline())->origin, "snapshot Qwen--Qwen3-8B");
  EXPECT_EQ(open_truth("Qwen--Qwen3-8B", offline())->origin, "snapshot Qwen--Qwen3-8B");
  EXPECT_EQ(open_truth("Qwen--Qwen3-4B.resized-vocab", offline())->origin,
            "snapshot Qwen--Qwen3-4B.resized-vocab");
}

// What cannot be checked here carries the guard not_verifiable; a wrong argument does not.
TEST(OpenTruth, NotVerifiableHere) {
  const base::Result<Truth> known = open_truth("Qwen/Qwen3-4B-FP8", offline());
  ASSERT_FALSE(known.ok());
  EXPECT_EQ(known.faults()[0].guard, "not_verifiable");
  EXPECT_EQ(known.faults()[0].message(),
            "Qwen/Qwen3-4B-FP8: [not_verifiable] the hub catalogue of 2026-06-19 knows it at commit "
            "96b30dc13593a244a5e59e84687309f53c375cfa with 4,411,646,016 "
            "stored elements, but no config.json and no tensor header of it is here, and the hub was not "
            "asked (offline); expected a snapshot, a local folder, or "
            "an answer of the hub; fetch config.json and the index into a folder named org--name and run "
            "'archlight snapshots add FOLDER'");
  EXPECT_EQ(error_of("nobody/nothing").substr(0, 113),
            "nobody/nothing: [not_verifiable] no snapshot of it is here, and the hub was not asked "
            "(offline); expected a snaps");
  OpenOptions pinned = offline();
  pinned.revision = "abc";
  EXPECT_EQ(error_of("Qwen/Qwen3-8B", pinned),
            "Qwen/Qwen3-8B: [not_verifiable] the snapshot is of no recorded commit, and the hub was not "
            "asked (offline); expected commit abc");
  pinned.revision = "2fc06364715b967f1860aea9cf38778875588b17";
  EXPECT_EQ(error_of("Qwen/Qwen3.5-0.8B", pinned), "opened");
}

TEST(OpenTruth, AWrongArgument) {
  EXPECT_EQ(error_of(""),
            "<argument>: an empty MODEL; expected a hub id (org/name), a folder, a .safetensors or .gguf "
            "file, or a "
            "snapshot");
  EXPECT_EQ(error_of("Qwen--Qwen3-8b"),
            "Qwen--Qwen3-8b: no such file, folder or snapshot; expected a hub id (org/name), a folder, a "
            ".safetensors or .gguf file, or a snapshot; did you mean 'Qwen--Qwen3-8B'?");
  for (const char* model : {"../x", "./a/b", "/no/such/folder", "a/b/c", "a b/c", "a/", "/b", "..", "."})
    EXPECT_EQ(error_of(model).find("not_verifiable"), std::string::npos) << model;
}

}  // namespace
}  // namespace archlight::truth
