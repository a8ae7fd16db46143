// Seeded short runs of the fuzz targets; a failure prints its input.
#include <gtest/gtest.h>

#include <random>

#include "fuzz/truth_targets.h"

namespace archlight::truth {
namespace {

// Copies, cuts, repeats and flips of the seeds, with the words of the format thrown in.
std::string mutate(const std::vector<std::string>& seeds, const std::vector<std::string>& words,
                   std::mt19937_64& random) {
  const auto below = [&](size_t limit) { return limit == 0 ? 0 : static_cast<size_t>(random() % limit); };
  std::string text = seeds[below(seeds.size())];
  for (size_t step = below(6); step > 0; --step) {
    const size_t at = below(text.size() + 1), length = below(std::min<size_t>(text.size() - at, 40) + 1);
    switch (below(6)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(below(text.size() + 1), below(60)));
        break;
      case 2:
        text.insert(at, words[below(words.size())]);
        break;
      case 3:
        text.replace(at, length, words[below(words.size())]);
        break;
      case 4:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 5:
        if (at < text.size()) text[at] = static_cast<char>('0' + below(10));
        break;
    }
  }
  return text;
}

TEST(Fuzz, SafetensorsHeader) {
  std::vector<std::string> seeds;
  for (
      const auto& [json, data_bytes] : std::vector<std::pair<std::string, size_t>>{
          {"{}", 0},
          {R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F8_E4M3","shape":[3,5],"data_offsets":[0,15]},"b":{"dtype":"F32","shape":[],"data_offsets":[15,19]}})",
           19},
          {R"({ "b" : {"data_offsets":[0,512], "shape":[16,16],"dtype":"BF16"}, "\u00e9\n" : {"dtype":"I64","shape":[0,2],"data_offsets":[0,0]} }    )",
           512},
          {R"({"w":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]},"__metadata__":null})", 3}})
    seeds.push_back(json + std::string(data_bytes, '\0'));
  const std::vector<std::string> words = {"{",
                                          "}",
                                          "[",
                                          "]",
                                          ",",
                                          ":",
                                          "\"",
                                          "\\",
                                          "\\u0000",
                                          "\\ud83d\\ude00",
                                          "\\ud800",
                                          " ",
                                          "\n",
                                          std::string(1, '\0'),
                                          "\xc3\xa9",
                                          "\xff",
                                          "null",
                                          "0",
                                          "1",
                                          "-1",
                                          "1e3",
                                          "00",
                                          "18446744073709551615",
                                          "18446744073709551616",
                                          "4294967296",
                                          "\"dtype\":\"F4\"",
                                          "\"shape\":[1,2]",
                                          "\"data_offsets\":[0,1]",
                                          "\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}",
                                          "\"__metadata__\":{}",
                                          ",\"b\":"};
  std::mt19937_64 random(20260601);
  for (int round = 0; round < 60'000; ++round) {
    // The length in front mostly fits what the mutation left of the header.
    const std::string text = mutate(seeds, words, random);
    const size_t header = text.find_last_not_of('\0') + 1;
    const size_t length = random() % 8 == 0 ? random() % (text.size() + 2) : header;
    std::string file;
    for (int i = 0; i < 8; ++i) file += static_cast<char>(length >> (8 * i) & 0xff);
    fuzz_safetensors_header(file + text);
  }
}

TEST(Fuzz, Config) {
  const std::vector<std::string> seeds = {
      R"({"architectures":["A"],"hidden_size":4096,"rms_norm_eps":1e-06,"rope_scaling":{"factor":8.0,"type":"yarn"},"sliding_window":null,"tie":true})",
      R"({"metadata":{"total_size":12},"weight_map":{"a.weight":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}})",
      R"({"repo_id_on_hf":"org/name","level":"params","total_parameters":12,"checks":["element total 12 equals the hub API safetensors.total","hub API (x) says BF16 1 and U8 2; so"],"partial":true})",
      "name\tdtype\tshape\tbytes\tshard\na\tBF16\t2x4\t16\ts\nb\tF32\tscalar\t4\ts\n",
      "shard\tfile_bytes\tsha256\nmodel.safetensors\t12\tabc\n",
      R"({"a":[NaN,-Infinity,Infinity,0.1,1e308,-0.0,18446744073709551615,-9223372036854775808]})"};
  const std::vector<std::string> words = {"{",       "}",
                                          "[",       "]",
                                          ",",       ":",
                                          "\"",      "\\",
                                          "\\u0000", "\\ud800",
                                          "NaN",     "-Infinity",
                                          "null",    "true",
                                          "1e999",   "-0",
                                          "1.5",     "99999999999999999999",
                                          "\t",      "\n",
                                          "x",       "scalar",
                                          "\"a\":1", "../",
                                          "\xff",    std::string(200, '['),
                                          "{\"a\":"};
  std::mt19937_64 random(20260602);
  for (int round = 0; round < 30'000; ++round) fuzz_config(mutate(seeds, words, random));
}

}  // namespace
}  // namespace archlight::truth
