// GGUF headers, written byte by byte; numbers of bytes are counted by hand from the format.
#include "truth/gguf.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "truth/gguf_bytes.h"

namespace archlight::truth {
namespace {

std::string outcome(const std::string& bytes) {
  TensorTable table;
  GgufHeader header;
  const base::Faults faults = parse_gguf(bytes, bytes.size(), "f.gguf", 0, table, header, nullptr);
  if (!faults.empty()) {
    EXPECT_EQ(table.size(), 0u);
    std::string out;
    for (const base::Diagnostic& fault : faults) out += (out.empty() ? "" : "\n") + fault.message();
    return out;
  }
  std::string out;
  for (size_t i = 0; i < table.size(); ++i) {
    out += (i ? "\n" : "") + std::string(table.name(i)) + " " + std::string(base::dtype_name(table.dtype(i)));
    for (uint64_t axis : table.shape(i)) out += " " + std::to_string(axis);
    out += " = " + std::to_string(table.bytes(i)) + " at " + std::to_string(table.row(i).begin);
  }
  return out;
}

GgufBytes small() {
  GgufBytes out;
  out.text("general.architecture", "llama").u32("llama.block_count", 2);
  // 2 rows of 512 values in blocks of 256 to 144 bytes: 4 blocks; 96 float of 4 bytes.
  out.tensor("a.weight", {512, 2}, 12, 576).tensor("b.weight", {96}, 0, 384);
  return out;
}

TEST(Gguf, TensorsAndMetadata) {
  EXPECT_EQ(outcome(small().file()), "a.weight Q4_K 2 512 = 576 at 0\nb.weight F32 96 = 384 at 576");
  TensorTable table;
  GgufHeader header;
  const std::string bytes = small().file();
  EXPECT_TRUE(parse_gguf(bytes, bytes.size(), "f.gguf", 0, table, header, nullptr).empty());
  EXPECT_EQ(*header.metadata,
            base::Json::parse(R"({"general.architecture": "llama", "llama.block_count": 2})"));
  // 24 bytes; key 8+20, type 4, text 8+5 = 45; 8+17+4+4 = 33; a: 8+8+4+16+4+8 = 48; b: 8+8+4+8+4+8 = 40; 190 -> 192.
  EXPECT_EQ(header.data_begin, 192u);
  EXPECT_EQ(small().file().size(), 192u + 960u);
}

TEST(Gguf, EveryKindOfValue) {
  GgufBytes made;
  made.entry("u8", 0, le<uint8_t>(200)).entry("i8", 1, le<int8_t>(-3)).entry("u16", 2, le<uint16_t>(65535));
  made.entry("i16", 3, le<int16_t>(-300)).entry("i32", 5, le<int32_t>(-70000)).entry("f32", 6, le(0.5F));
  made.entry("yes", 7, le<uint8_t>(1))
      .entry("u64", 10, le<uint64_t>(1) + "")
      .entry("i64", 11, le<int64_t>(-1));
  made.entry("f64", 12, le(0.25));
  made.entry("numbers", 9, le<uint32_t>(4) + le<uint64_t>(2) + le<uint32_t>(7) + le<uint32_t>(8));
  made.entry("words", 9,
             le<uint32_t>(8) + le<uint64_t>(3) + gguf_text("a") + gguf_text("") + gguf_text("bc"));
  made.entry("long", 9, le<uint32_t>(0) + le<uint64_t>(5000) + std::string(5000, 'x'));
  made.text("broken", "\xff");
  TensorTable table;
  GgufHeader header;
  const std::string bytes = made.file();
  ASSERT_TRUE(parse_gguf(bytes, bytes.size(), "f.gguf", 0, table, header, nullptr).empty());
  EXPECT_EQ(*header.metadata,
            base::Json::parse(R"({"u8": 200, "i8": -3, "u16": 65535, "i16": -300, "i32": -70000, "f32": 0.5,
              "yes": true, "u64": 1, "i64": -1, "f64": 0.25, "numbers": [7, 8], "words": {"length": 3},
              "long": {"length": 5000}, "broken": "\ufffd"})"));
}

TEST(Gguf, OtherAlignmentAndVersion) {
  GgufBytes made;
  made.version = 2;
  made.alignment = 64;
  made.u32("general.alignment", 64).tensor("a", {3}, 0, 12).tensor("b", {3}, 1, 6);
  EXPECT_EQ(outcome(made.file()), "a F32 3 = 12 at 0\nb F16 3 = 6 at 64");
  EXPECT_EQ(outcome(GgufBytes{}.u32("general.alignment", 12).file()),
            "f.gguf: byte 57: general.alignment is 12; expected a multiple of 8, at most 1,048,576");
}

// Bytes and elements of each type's block, as facts of ggml-common.h; one row of one block each.
TEST(Gguf, BlocksOfEachType) {
  struct Row {
    uint32_t id;
    const char* name;
    uint64_t elements, bytes;
  };
  const Row rows[] = {
      {0, "F32", 1, 4},         {1, "F16", 1, 2},         {30, "BF16", 1, 2},       {24, "I8", 1, 1},
      {25, "I16", 1, 2},        {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},
      {2, "Q4_0", 32, 18},      {3, "Q4_1", 32, 20},      {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},
      {8, "Q8_0", 32, 34},      {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},
      {13, "Q5_K", 256, 176},   {14, "Q6_K", 256, 210},   {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74},
      {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},   {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},
      {22, "IQ2_S", 256, 82},   {23, "IQ4_XS", 256, 136}, {29, "IQ1_M", 256, 56},   {34, "TQ1_0", 256, 54},
      {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},    {40, "NVFP4", 64, 36},
  };
  for (const Row& row : rows) {
    GgufBytes made;
    made.tensor("t", {row.elements}, row.id, row.bytes);
    EXPECT_EQ(outcome(made.file()), "t " + std::string(row.name) + " " + std::to_string(row.elements) +
                                        " = " + std::to_string(row.bytes) + " at 0");
    EXPECT_EQ(base::dtype_from_ggml_name(row.name), base::dtype_from_ggml_id(row.id));
  }
  for (uint32_t id : {4U, 5U, 9U, 15U, 31U, 36U, 255U, 0xffffffffU})
    EXPECT_FALSE(base::dtype_from_ggml_id(id)) << id;
}

TEST(Gguf, FaultsHaveTheirPlace) {
  const std::string good = small().file();
  const auto with = [&](size_t at, const std::string& bytes) {
    std::string out = good;
    return out.replace(at, bytes.size(), bytes);
  };
  EXPECT_EQ(outcome(with(0, "GGML")),
            "f.gguf: byte 0: the file does not start with 'GGUF'; expected a GGUF file");
  EXPECT_EQ(outcome(with(4, le<uint32_t>(1))), "f.gguf: byte 4: version 1; expected 2 or 3");
  EXPECT_EQ(
      outcome(with(4, le<uint32_t>(0x03000000))),
      "f.gguf: byte 4: a big-endian file; expected a little-endian one; convert it on the machine it is for");
  // 1,152 - 16 bytes are left behind the count, 32 for the shortest tensor; behind the next 1,128, 13 an entry.
  EXPECT_EQ(outcome(with(8, le<uint64_t>(UINT64_MAX))),
            "f.gguf: byte 8: 18446744073709551615 tensors; expected at most 35, for which the file has room");
  EXPECT_EQ(outcome(with(16, le<uint64_t>(1'000'000))),
            "f.gguf: byte 16: 1000000 metadata entries; expected at most 86, for which the file has room");
  EXPECT_EQ(outcome(with(24, le<uint64_t>(70'000))),
            "f.gguf: byte 24: a key of 70000 bytes; expected at most 1120");
  EXPECT_EQ(outcome(with(52, le<uint32_t>(13))), "f.gguf: byte 52: metadata of type 13; expected 0 to 12");
  // Tensor a: its name at 102, axes at 118, type at 138, offset at 142.
  EXPECT_EQ(outcome(with(118, le<uint32_t>(5))),
            "f.gguf: byte 118: 'a.weight' has 5 axes; expected at most 4");
  EXPECT_EQ(outcome(with(122, le<uint64_t>(uint64_t{1} << 62))),
            "f.gguf: byte 130: 'a.weight' has more than 2^63 elements; expected a real tensor");
  EXPECT_EQ(outcome(with(138, le<uint32_t>(99))),
            "f.gguf: byte 138: 'a.weight' has the type 99, which is not known; expected a type of ggml that "
            "files hold");
  EXPECT_EQ(
      outcome(with(122, le<uint64_t>(500))),
      "f.gguf: tensor 'a.weight': rows of 500 elements in Q4_K; expected a multiple of its block of 256");
  EXPECT_EQ(
      outcome(with(142, le<uint64_t>(8))),
      "f.gguf: tensor 'a.weight': offset 8; expected a multiple of the alignment, 32\n"
      "f.gguf: tensor 'b.weight': bytes 576 to 960 overlap those of 'a.weight', which end at 584; expected "
      "ranges without overlap");
  EXPECT_EQ(outcome(with(142, le<uint64_t>(UINT64_MAX - 31))),
            "f.gguf: byte 142: 'a.weight' ends past 2^64; expected a place inside the file");
  EXPECT_EQ(outcome(with(142, le<uint64_t>(3200))),
            "f.gguf: tensor 'a.weight': ends at byte 3776 of the data, but the file has 960 data bytes; "
            "expected all "
            "bytes of every tensor");
  EXPECT_EQ(outcome(small().tensor("a.weight", {1}, 0, 4).file()),
            "f.gguf: byte 190: the tensor 'a.weight' stands twice; expected each name once");
  EXPECT_EQ(outcome(small().u32("llama.block_count", 3).file()),
            "f.gguf: byte 102: the key 'llama.block_count' stands twice; expected each key once");
}

TEST(Gguf, HostileArrays) {
  const auto array = [](const std::string& value) {
    return outcome(GgufBytes{}.entry("k", 9, value).file());
  };
  // The array's type stands at 24 + 8 + 1 + 4.
  EXPECT_EQ(array(le<uint32_t>(9) + le<uint64_t>(1) + le<uint32_t>(9) + le<uint64_t>(1)),
            "f.gguf: byte 37: an array of arrays; expected an array of plain values");
  EXPECT_EQ(array(le<uint32_t>(77) + le<uint64_t>(1)),
            "f.gguf: byte 37: an array of type 77; expected 0 to 12");
  EXPECT_EQ(array(le<uint32_t>(8) + le<uint64_t>(UINT64_MAX / 2)),
            "f.gguf: byte 41: an array of 9223372036854775807 values; expected at most 1, for which the file "
            "has room");
  EXPECT_EQ(array(le<uint32_t>(12) + le<uint64_t>(UINT64_MAX / 8 + 1)),
            "f.gguf: byte 41: an array of 2305843009213693952 values; expected at most 1, for which the file "
            "has room");
  EXPECT_EQ(outcome(GgufBytes{}.entry("k", 7, le<uint8_t>(2)).file()),
            "f.gguf: byte 37: a truth value of 2; expected 0 or 1");
}

// A file cut anywhere in its header or its data is refused; a window that ends in the header asks for more.
TEST(Gguf, CutOff) {
  const std::string good = small().file();
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(outcome(good.substr(0, size)).find("f.gguf: "), std::string::npos) << size;
  for (size_t size = 0; size < 190; ++size) {
    TensorTable table;
    GgufHeader header;
    uint64_t more = 0;
    EXPECT_TRUE(parse_gguf(good.substr(0, size), good.size(), "f", 0, table, header, &more).empty()) << size;
    EXPECT_GT(more, size);
    EXPECT_LE(more, 190u);
    EXPECT_EQ(table.size(), 0u);
  }
  TensorTable table;
  GgufHeader header;
  uint64_t more = 1;
  EXPECT_TRUE(parse_gguf(good.substr(0, 190), good.size(), "f", 0, table, header, &more).empty());
  EXPECT_EQ(more, 0u);
  EXPECT_EQ(table.size(), 2u);
}

TEST(Gguf, NamesOfASet) {
  EXPECT_EQ(gguf_set("x.gguf"), std::vector<std::string>{"x.gguf"});
  EXPECT_EQ(
      gguf_set("x-00002-of-00003.gguf"),
      (std::vector<std::string>{"x-00001-of-00003.gguf", "x-00002-of-00003.gguf", "x-00003-of-00003.gguf"}));
  EXPECT_EQ(gguf_set("x-00004-of-00003.gguf").size(), 1u);
  EXPECT_EQ(gguf_set("-00001-of-00003.gguf").size(), 1u);
  EXPECT_EQ(gguf_set("x-0000a-of-00003.gguf").size(), 1u);
}

class GgufFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "archlight_gguf_" + std::to_string(getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(base::write_file(folder_ + "/" + name, bytes).empty());
  }
  std::string opened(const std::string& model) {
    const base::Result<Truth> truth = open_truth(model);
    if (!truth) {
      std::string text = truth.faults()[0].message();
      for (size_t at = text.find(folder_); at != std::string::npos; at = text.find(folder_))
        text.replace(at, folder_.size(), "F");
      return text;
    }
    EXPECT_EQ(truth->level, Level::kHeader);
    EXPECT_TRUE(truth->gguf);
    return std::to_string(truth->tensors.size()) + " tensors in " + std::to_string(truth->shards.size()) +
           " files, " + std::to_string(static_cast<int64_t>(truth->tensors.total_bytes())) + " bytes";
  }
  std::string folder_;
};

GgufBytes part(uint32_t number, uint32_t of, uint32_t tensors, const std::string& name) {
  GgufBytes out;
  if (number == 0) out.text("general.architecture", "llama");
  out.entry("split.no", 2, le(static_cast<uint16_t>(number)));
  out.entry("split.count", 2, le(static_cast<uint16_t>(of)));
  out.entry("split.tensors.count", 5, le(static_cast<int32_t>(tensors)));
  out.tensor(name, {64}, 0, 256);
  return out;
}

TEST_F(GgufFolder, AFileAndAFolder) {
  write("m.gguf", small().file());
  EXPECT_EQ(opened(folder_ + "/m.gguf"), "2 tensors in 1 files, 960 bytes");
  EXPECT_EQ(opened(folder_), "2 tensors in 1 files, 960 bytes");
  write("n.gguf", small().file());
  EXPECT_EQ(
      opened(folder_),
      "F: holds 2 .gguf files, first 'm.gguf'; expected one file, or one whole set; give the file itself");
}

TEST_F(GgufFolder, ASet) {
  write("m-00001-of-00002.gguf", part(0, 2, 2, "a").file());
  EXPECT_NE(opened(folder_ + "/m-00001-of-00002.gguf").find("F/m-00002-of-00002.gguf: "), std::string::npos);
  write("m-00002-of-00002.gguf", part(1, 2, 2, "b").file());
  EXPECT_EQ(opened(folder_), "2 tensors in 2 files, 512 bytes");
  EXPECT_EQ(opened(folder_ + "/m-00002-of-00002.gguf"), "2 tensors in 2 files, 512 bytes");
  write("m-00002-of-00002.gguf", part(1, 2, 3, "b").file());
  EXPECT_EQ(
      opened(folder_),
      "F/m-00002-of-00002.gguf: split.tensors.count is 3; expected 2; the parts of one model, all of them");
  write("m-00002-of-00002.gguf", part(0, 2, 2, "b").file());
  EXPECT_EQ(opened(folder_),
            "F/m-00002-of-00002.gguf: split.no is 0; expected 1; the parts of one model, all of them");
  write("m-00002-of-00002.gguf", part(1, 2, 2, "a").file());
  EXPECT_EQ(opened(folder_),
            "F/m-00002-of-00002.gguf: the tensor 'a' stands in 'm-00001-of-00002.gguf' too; expected each "
            "tensor in one shard");
}

// A header longer than the first window of 1 MiB.
TEST_F(GgufFolder, ALongHeader) {
  GgufBytes made = small();
  std::string words = le<uint32_t>(8) + le<uint64_t>(200'000);
  for (int i = 0; i < 200'000; ++i) words += gguf_text("word" + std::to_string(i));
  made.entry("tokenizer.ggml.tokens", 9, words);
  write("m.gguf", made.file());
  EXPECT_EQ(opened(folder_ + "/m.gguf"), "2 tensors in 1 files, 960 bytes");
}

}  // namespace
}  // namespace archlight::truth
