#include "truth/safetensors.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/file.h"

namespace archlight::truth {
namespace {

const std::string kFiles = std::string(ARCHLIGHT_SOURCE_DIR) + "/tests/truth/safetensors_files/";

std::string messages(const base::Faults& faults) {
  std::string out;
  for (const base::Diagnostic& fault : faults) out += (out.empty() ? "" : "\n") + fault.message();
  return out;
}

std::string parse(std::string_view json, std::optional<uint64_t> data_bytes = std::nullopt) {
  TensorTable table;
  const base::Faults faults = parse_header(json, data_bytes, "x", 0, table);
  return faults.empty() ? "parsed" : messages(faults);
}

std::string length_bytes(uint64_t length) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(length >> (8 * i) & 0xff);
  return out;
}

std::vector<std::vector<std::string>> manifest() {
  std::vector<std::vector<std::string>> rows;
  std::ifstream file(kFiles + "MANIFEST.tsv");
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> fields;
    std::stringstream stream(line);
    for (std::string field; std::getline(stream, field, '\t');) fields.push_back(field);
    rows.push_back(fields);
  }
  rows.erase(rows.begin());
  return rows;
}

// Files found in public repositories, as MANIFEST.tsv describes them; of the large ones only the header is
// kept.
TEST(Safetensors, RealFilesReadAsTheirManifestSays) {
  // The two that are no whole files, with what is wrong with them.
  const std::map<std::string, std::string> refused = {
      {"INVALID_5_trailing_bytes.safetensors",
       "x: 5 bytes follow the last tensor, which ends at byte 32768 of the data; expected the file to end "
       "with the last tensor"},
      {"inkling-small-shard-09.header-only.safetensors",
       "x: tensor 'model.visual.layers.linear_2.weight': ends at byte 17806118924 of the data, but the file "
       "has 0 data bytes; "
       "expected all bytes of every tensor; the file is cut off: fetch it again"},
  };
  size_t files = 0;
  for (const std::vector<std::string>& row : manifest()) {
    const std::string& name = row[0];
    SCOPED_TRACE(name);
    const uint64_t bytes = std::stoull(row[1]), header_bytes = std::stoull(row[6]);
    TensorTable table;
    base::Faults faults;
    if (row.back() == "whole") {
      faults = read_safetensors_file(kFiles + name, 0, table);
      for (base::Diagnostic& fault : faults)
        fault.at.source = std::make_shared<base::SourceText>(base::SourceText{"x", {}});
    } else {
      const base::Result<std::string> packed = base::read_file(kFiles + name + ".head.zst");
      ASSERT_TRUE(packed.ok());
      const base::Result<std::string> head = base::zstd_decompress(*packed, name);
      ASSERT_TRUE(head.ok());
      const base::Result<uint64_t> length = header_length(std::string_view(*head).substr(0, 8), bytes, "x");
      ASSERT_TRUE(length.ok());
      EXPECT_EQ(*length, header_bytes);
      faults = parse_header(std::string_view(*head).substr(8), bytes - 8 - *length, "x", 0, table);
    }
    ++files;
    if (const auto fault = refused.find(name); fault != refused.end()) {
      EXPECT_EQ(messages(faults), fault->second);
      continue;
    }
    EXPECT_EQ(messages(faults), "");
    EXPECT_EQ(table.size(), std::stoull(row[3]));
    EXPECT_EQ(table.total_bytes(), base::Int128{bytes - 8 - header_bytes});
    std::set<std::string> dtypes;
    size_t scalars = 0;
    for (size_t i = 0; i < table.size(); ++i) {
      dtypes.emplace(base::dtype_name(table.dtype(i)));
      scalars += table.shape(i).empty();
    }
    std::string joined;
    for (const std::string& dtype : dtypes) joined += (joined.empty() ? "" : "/") + dtype;
    EXPECT_EQ(joined, row[4]);
    EXPECT_EQ(scalars, std::stoull(row[5]));
  }
  EXPECT_EQ(files, 31u);
}

TEST(Safetensors, HeaderLength) {
  struct Case {
    std::string first;
    uint64_t file_bytes;
    std::string message;
  };
  const Case cases[] = {
      {length_bytes(2), 10, "2"},
      {length_bytes(2), 0, "2"},
      {length_bytes(100'000'000), 100'000'008, "100000000"},
      {"", 0, "x: holds 0 bytes; expected a safetensors file, which starts with an 8-byte header length"},
      {length_bytes(5).substr(0, 7), 7,
       "x: holds 7 bytes; expected a safetensors file, which starts with an 8-byte header length"},
      {length_bytes(0), 8,
       "x: byte 0: a header length of 0 bytes; expected at least 2, for an empty JSON object"},
      {length_bytes(1), 9,
       "x: byte 0: a header length of 1 bytes; expected at least 2, for an empty JSON object"},
      {length_bytes(uint64_t{1} << 63), 1000,
       "x: byte 0: a header length of 9223372036854775808 bytes; expected at most 100,000,000"},
      {length_bytes(UINT64_MAX), 1000,
       "x: byte 0: a header length of 18446744073709551615 bytes; expected at most 100,000,000"},
      {length_bytes(130'000'000), 130'000'100,
       "x: byte 0: a header length of 130000000 bytes; expected at most 100,000,000"},
      {length_bytes(100), 107,
       "x: byte 0: a header length of 100 bytes, but the file ends after 99; expected the whole header; the "
       "file is cut off: fetch it again"},
      {length_bytes(100), 3,
       "x: byte 0: a header length of 100 bytes, but the file ends after 0; expected the whole header; the "
       "file is cut off: fetch it again"},
      {"version https://git-lfs", 130,
       "x: byte 0: a header length of 2336927755350992246 bytes; expected at most 100,000,000; this is a Git "
       "LFS pointer: fetch the file "
       "itself with 'git lfs pull'"},
      {std::string("GGUF\x03\0\0\0", 8), 1000,
       "x: byte 0: a header length of 14064895815 bytes; expected at most 100,000,000; this is a GGUF file"},
      {"<!doctype html>", 500,
       "x: byte 0: a header length of 8104636974849335612 bytes; expected at most 100,000,000; this looks "
       "like a web page, not the file it stands for"},
  };
  for (const Case& c : cases) {
    const base::Result<uint64_t> length = header_length(c.first, c.file_bytes, "x");
    EXPECT_EQ(length ? std::to_string(*length) : messages(length.faults()), c.message);
  }
}

TEST(Safetensors, LegalHeaders) {
  EXPECT_EQ(parse("{}", 0), "parsed");
  EXPECT_EQ(parse("{}      ", 0), "parsed");
  EXPECT_EQ(parse(R"({"__metadata__":{}})", 0), "parsed");
  EXPECT_EQ(parse(R"({"__metadata__":null,"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})", 1),
            "parsed");
  EXPECT_EQ(
      parse(R"({"a":{"data_offsets":[0,4],"shape":[],"dtype":"F32"},"__metadata__":{"k":"v\n\"","":""}})", 4),
      "parsed");
  // A 0 among the axes, at the start, in the middle and at the end of the data.
  EXPECT_EQ(
      parse(
          R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"b":{"dtype":"I8","shape":[3],"data_offsets":[0,3]},
    "c":{"dtype":"F64","shape":[7,0,9],"data_offsets":[3,3]}})",
          3),
      "parsed");
  // Entries in any order, the last bytes first.
  EXPECT_EQ(parse(R"({ "b" : { "shape" : [ 2 , 3 ] , "dtype" : "BF16" , "data_offsets" : [ 1 , 13 ] } ,
    "a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})",
                  13),
            "parsed");
  // Two F4 elements, four F6 elements: whole bytes.
  EXPECT_EQ(
      parse(
          R"({"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]},"b":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[1,4]}})",
          4),
      "parsed");
  // The largest length that a range can have.
  EXPECT_EQ(
      parse(R"({"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,18446744073709551615]}})"),
      "parsed");

  TensorTable table;
  EXPECT_EQ(messages(parse_header(
                R"({"\u0061\ud83d\ude00\/\u00e9":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})", 1, "x", 7,
                table)),
            "");
  EXPECT_EQ(table.name(0), "a\xf0\x9f\x98\x80/\xc3\xa9");
  EXPECT_EQ(table.row(0).shard, 7u);
}

TEST(Safetensors, HostileHeaders) {
  struct Case {
    std::string json;
    std::optional<uint64_t> data_bytes;
    std::string message;
  };
  const std::string kTail = R"(,"shape":[1],"data_offsets":[0,1]}})";
  const auto shape = [](const std::string& list) {
    return R"({"a":{"dtype":"U8","shape":)" + list + R"(,"data_offsets":[0,1]}})";
  };
  const auto offsets = [](const std::string& list) {
    return R"({"a":{"dtype":"U8","shape":[1],"data_offsets":)" + list + "}}";
  };
  const Case cases[] = {
      // The object itself. Bytes count from the start of the file, so the header's first is 8.
      {"", {}, "x: byte 8: found the end of the header; expected '{', the header's JSON object"},
      {"  {}", {}, "x: byte 8: found byte 0x20; expected '{', the header's JSON object"},
      {"\xef\xbb\xbf{}", {}, "x: byte 8: found byte 0xef; expected '{', the header's JSON object"},
      {"[]", {}, "x: byte 8: found '['; expected '{', the header's JSON object"},
      {"{", {}, "x: byte 9: found the end of the header; expected a tensor's name in quotes"},
      {"{}{}", {}, "x: byte 10: found '{' after the header's object; expected spaces up to the header's end"},
      {std::string("{}\0\0", 4),
       {},
       "x: byte 10: found byte 0x00 after the header's object; expected spaces up to the header's end"},
      {"{}\n",
       {},
       "x: byte 10: found byte 0x0a after the header's object; expected spaces up to the header's end"},
      {"{1:2}", {}, "x: byte 9: found '1'; expected a tensor's name in quotes"},
      {R"({"a"})", {}, "x: byte 12: found '}'; expected ':' after a name"},
      {R"({"a":1})", {}, "x: byte 13: found '1'; expected an object with dtype, shape and data_offsets"},
      {R"({"a":null})", {}, "x: byte 13: found 'n'; expected an object with dtype, shape and data_offsets"},
      {R"({"a":)" + std::string(100000, '['),
       {},
       "x: byte 13: found '['; expected an object with dtype, shape and data_offsets"},
      {R"({"a":)" + std::string(100000, '{'),
       {},
       "x: byte 14: found '{'; expected a key of the entry: dtype, shape or data_offsets"},
      {R"({"__metadata__":{"a":)" + std::string(100000, '{'),
       {},
       "x: byte 29: the value of 'a' in __metadata__ is not a string; expected a string"},
      // Strings.
      {R"({"abc)", {}, "x: byte 9: a string without its closing quote"},
      {R"({"abcdefghijklmnop)", {}, "x: byte 9: a string without its closing quote"},
      {R"({"abc\)", {}, "x: byte 9: a string without its closing quote"},
      {"{\"a\nb\":{}}",
       {},
       "x: byte 11: byte 0x0a inside a string; expected control characters written as \\u escapes"},
      {std::string("{\"abcdefgh\0\":{}}", 16),
       {},
       "x: byte 18: byte 0x00 inside a string; expected control characters written as \\u escapes"},
      {R"({"a\x":{}})", {}, "x: byte 11: an escape that JSON does not have"},
      {R"({"\u12)", {}, "x: byte 12: a \\u escape is cut off; expected four hexadecimal digits"},
      {R"({"\u12G4":{}})", {}, "x: byte 14: found 'G' in a \\u escape; expected four hexadecimal digits"},
      {R"({"\ud800":{}})", {}, "x: byte 10: half of a surrogate pair; expected a whole character"},
      {R"({"\ud800\u0041":{}})", {}, "x: byte 10: half of a surrogate pair; expected a whole character"},
      {R"({"\udc00":{}})", {}, "x: byte 10: half of a surrogate pair; expected a whole character"},
      {"{\"abc\xff\":{}}", {}, "x: byte 13: not valid UTF-8; expected a JSON object in UTF-8"},
      {"{\"\xc3\":{}}", {}, "x: byte 10: not valid UTF-8; expected a JSON object in UTF-8"},
      {"{\"\xed\xa0\x80\":{}}", {}, "x: byte 10: not valid UTF-8; expected a JSON object in UTF-8"},
      // Entries.
      {R"({"a":{}})", {}, "x: byte 14: found '}'; expected a key of the entry: dtype, shape or data_offsets"},
      {R"({"a":{"dtype":"U8","shape":[1]}})",
       {},
       "x: byte 9: the entry of tensor 'a' lacks data_offsets; expected dtype, shape and data_offsets"},
      {R"({"a":{"shape":[1],"data_offsets":[0,1]}})",
       {},
       "x: byte 9: the entry of tensor 'a' lacks dtype; expected dtype, shape and data_offsets"},
      {R"({"a":{"dtype":"U8","dtype":"U8")" + kTail,
       {},
       "x: byte 27: a key stands twice in the entry of tensor 'a'; expected each key once"},
      {R"({"a":{"dtype":"U8","extra":1)" + kTail,
       {},
       "x: byte 27: the key 'extra' in the entry of tensor 'a'; expected dtype, shape and data_offsets"},
      {R"({"a":{"dtype":"Q8_0")" + kTail,
       {},
       "x: byte 22: the dtype 'Q8_0' of tensor 'a' is not known; expected a safetensors dtype such as BF16, "
       "F32, F8_E4M3, U8 or I64"},
      {R"({"a":{"dtype":"bf16")" + kTail,
       {},
       "x: byte 22: the dtype 'bf16' of tensor 'a' is not known; expected a safetensors dtype such as BF16, "
       "F32, F8_E4M3, U8 or I64"},
      {R"({"a":{"dtype":7)" + kTail, {}, "x: byte 22: found '7'; expected a dtype in quotes"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},})",
       {},
       "x: byte 61: found '}'; expected a tensor's name in quotes"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],}})",
       {},
       "x: byte 60: found '}'; expected a key of the entry: dtype, shape or data_offsets"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})",
       {},
       "x: byte 60: found the end of the header; expected ',' or '}' after an entry"},
      // Names.
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
       2, "x: tensor 'a': stands twice; expected each name once"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"\u0061":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
       2, "x: tensor 'a': stands twice; expected each name once"},
      // Numbers.
      {shape("[-1]"),
       {},
       "x: byte 36: a negative number; expected an axis length: a whole number below 2^64"},
      {shape("[1.5]"),
       {},
       "x: byte 36: a number with a fraction or an exponent; expected an axis length: a whole number below "
       "2^64"},
      {shape("[1e3]"),
       {},
       "x: byte 36: a number with a fraction or an exponent; expected an axis length: a whole number below "
       "2^64"},
      {shape("[01]"),
       {},
       "x: byte 36: a number with a leading zero; expected an axis length: a whole number below 2^64"},
      {shape("[18446744073709551616]"),
       {},
       "x: byte 36: a number past 2^64-1; expected an axis length: a whole number below 2^64"},
      {shape("[99999999999999999999999999]"),
       {},
       "x: byte 36: a number past 2^64-1; expected an axis length: a whole number below 2^64"},
      {shape("[\"1\"]"), {}, "x: byte 36: found '\"'; expected an axis length: a whole number below 2^64"},
      {shape("[1 2]"), {}, "x: byte 38: found '2'; expected ',' or ']' in a shape"},
      {shape("[1,]"), {}, "x: byte 38: found ']'; expected an axis length: a whole number below 2^64"},
      {shape("[[1]]"), {}, "x: byte 36: found '['; expected an axis length: a whole number below 2^64"},
      {shape("1"), {}, "x: byte 35: found '1'; expected the shape as a list"},
      {shape("[" + std::string(80, '1') + "]"),
       {},
       "x: byte 36: a number past 2^64-1; expected an axis length: a whole number below 2^64"},
      {shape("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"),
       {},
       "x: byte 100: the shape of tensor 'a' has more than 32 axes"},
      {offsets("[0]"), {}, "x: byte 56: found ']'; expected two offsets"},
      {offsets("[0,1,2]"), {}, "x: byte 58: found ','; expected ']' after two offsets"},
      {offsets("[]"), {}, "x: byte 55: found ']'; expected an offset: a whole number below 2^64"},
      {offsets("{}"), {}, "x: byte 54: found '{'; expected data_offsets as [begin, end]"},
      {offsets("[0,-1]"), {}, "x: byte 57: a negative number; expected an offset: a whole number below 2^64"},
      // Sizes.
      {shape("[2]"), {}, "x: tensor 'a': the shape [2] of U8 takes 2 bytes but data_offsets [0, 1] span 1"},
      {offsets("[1,0]"), {}, "x: tensor 'a': data_offsets [1, 0] run backwards; expected begin <= end"},
      {shape("[4294967296,4294967296]"),
       {},
       "x: tensor 'a': the shape [4294967296, 4294967296] has more than 2^64-1 elements"},
      {shape("[0,4294967296,4294967296]"),
       {},
       "x: tensor 'a': the shape [0, 4294967296, 4294967296] has more than 2^64-1 elements"},
      {R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})",
       {},
       "x: tensor 'a': the shape [3] of F4 takes 12 bits; expected a whole number of bytes"},
      {R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,0]}})",
       {},
       "x: tensor 'a': the shape [] of F32 takes 4 bytes but data_offsets [0, 0] span 0"},
      // Coverage.
      {offsets("[1,2]"), 2,
       "x: tensor 'a': data_offsets [1, 2] leave bytes 0 to 1 before them to no tensor; expected ranges "
       "without gap"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
       3,
       "x: tensor 'b': data_offsets [1, 3] overlap those of 'a', which end at 2; expected ranges without "
       "overlap"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}})",
       5,
       "x: tensor 'b': data_offsets [3, 5] leave bytes 2 to 3 before them to no tensor; expected ranges "
       "without gap"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})",
       4,
       "x: tensor 'b': data_offsets [2, 2] overlap those of 'a', which end at 4; expected ranges without "
       "overlap"},
      {offsets("[0,1]"), 3,
       "x: 2 bytes follow the last tensor, which ends at byte 1 of the data; expected the file to end with "
       "the last tensor"},
      {"{}", 3,
       "x: 3 bytes follow the last tensor, which ends at byte 0 of the data; expected the file to end with "
       "the last tensor"},
      {offsets("[0,1]"), 0,
       "x: tensor 'a': ends at byte 1 of the data, but the file has 0 data bytes; expected all bytes of "
       "every tensor; the file is cut off: fetch it again"},
      // Metadata.
      {R"({"__metadata__":{"a":1}})",
       {},
       "x: byte 29: the value of 'a' in __metadata__ is not a string; expected a string"},
      {R"({"__metadata__":{"a":{"b":"c"}}})",
       {},
       "x: byte 29: the value of 'a' in __metadata__ is not a string; expected a string"},
      {R"({"__metadata__":{"a":"1","a":"2"}})",
       {},
       "x: byte 33: the key 'a' stands twice in __metadata__; expected it once"},
      {R"({"__metadata__":{},"__metadata__":{}})",
       {},
       "x: byte 27: __metadata__ stands twice; expected it once"},
      {R"({"__metadata__":[]})", {}, "x: byte 24: found '['; expected __metadata__ as an object of strings"},
      {R"({"__metadata__":"pt"})",
       {},
       "x: byte 24: found '\"'; expected __metadata__ as an object of strings"},
  };
  for (const Case& c : cases) EXPECT_EQ(parse(c.json, c.data_bytes), c.message) << c.json.substr(0, 100);
}

TEST(Safetensors, EveryCutOfAHeaderIsRefused) {
  const std::string whole =
      R"({"__metadata__":{"format":"pt"},"model.a\u00e9":{"dtype":"F8_E4M3","shape":[3,5],"data_offsets":[0,15]},"b":{"dtype":"F32","shape":[],"data_offsets":[15,19]}})";
  EXPECT_EQ(parse(whole, 19), "parsed");
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(parse(whole.substr(0, length), 19), "parsed") << length;
}

TEST(Safetensors, NamesOfAMegabyteAreReadAndShortenedInMessages) {
  const std::string name(1'000'000, 'n');
  EXPECT_EQ(parse("{\"" + name + R"(":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", 3), "parsed");
  EXPECT_EQ(parse("{\"" + name + R"(":{"dtype":"U8","shape":[3],"data_offsets":[0,2]}})", 2),
            "x: tensor '" + std::string(80, 'n') +
                "... (1000000 bytes)': the shape [3] of U8 takes 3 bytes but data_offsets [0, 2] span 2");
}

TEST(Safetensors, ReportsManyFaultsButNotEndlessly) {
  std::string json = "{";
  for (int i = 0; i < 100; ++i)
    json += (i ? ",\"" : "\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[2],"data_offsets":[0,1]})";
  TensorTable table;
  const base::Faults faults = parse_header(json + "}", 1, "x", 0, table);
  ASSERT_EQ(faults.size(), 21u);
  EXPECT_EQ(faults[20].message(), "x: 80 more faults of this kind");
}

// Readers that fetch a header in windows have lost bytes at a window's end; any length must come out whole.
TEST(Safetensors, AnyLengthNearAFetchWindow) {
  for (size_t target = 99'990; target <= 100'010; ++target) {
    std::string json = "{";
    uint64_t end = 0;
    size_t tensors = 0;
    const auto entry = [&](const std::string& name) {
      const std::string text = (json.size() > 1 ? ",\"" : "\"") + name +
                               R"(":{"dtype":"BF16","shape":[4],"data_offsets":[)" + std::to_string(end) +
                               "," + std::to_string(end + 8) + "]}";
      return text;
    };
    while (json.size() + 300 < target) {
      json += entry("model.layers." + std::to_string(tensors) + ".weight");
      end += 8;
      ++tensors;
    }
    const size_t rest = target - 1 - json.size() - entry("").size();
    json += entry(std::string(rest, 'z')) + "}";
    end += 8;
    ++tensors;
    ASSERT_EQ(json.size(), target);
    TensorTable table;
    EXPECT_EQ(messages(parse_header(json, end, "x", 0, table)), "") << target;
    ASSERT_EQ(table.size(), tensors);
    EXPECT_EQ(table.name(tensors - 1), std::string(rest, 'z'));
    EXPECT_EQ(table.row(tensors - 1).end, end);
  }
}

// Numbers are read eight digits at a time: every length must agree with the plain reading.
TEST(Safetensors, NumbersOfEveryLength) {
  for (int digits = 1; digits <= 19; ++digits)
    for (const char* pattern : {"1234567890123456789", "9999999999999999999", "1000000000000000000"}) {
      const std::string number = std::string(pattern).substr(0, static_cast<size_t>(digits));
      for (const std::string& padding : {std::string(), std::string(20, ' ')}) {
        TensorTable table;
        const std::string json =
            R"({"a":{"dtype":"U8","shape":[)" + number + R"(],"data_offsets":[0,)" + number + padding + "]}}";
        ASSERT_EQ(messages(parse_header(json, std::nullopt, "x", 0, table)), "");
        EXPECT_EQ(table.shape(0)[0], std::stoull(number));
        EXPECT_EQ(table.row(0).end, std::stoull(number));
      }
    }
}

}  // namespace
}  // namespace archlight::truth
