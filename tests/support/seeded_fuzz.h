// seeded_fuzz.h: a fuzz target on its corpus and on mutations of it; a seed gives the same ones anywhere.
//
// For CI, where a coverage-guided run would be too long: it guards what was found once and the near misses
// around it. A target fails by ending the process or by letting an exception out, as under libFuzzer. Then
// the input is written to `findings_folder` and stderr tells seed, number, file and, for a short input, a
// test to paste.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace archlight::fuzz {

struct SeededRun {
  std::string name;           // of the target
  std::string corpus_folder;  // read in order of name; without it, the run starts from an empty input
  std::string findings_folder;
  uint64_t seed = 1;
  int count = 1000;            // mutations, after the corpus itself
  size_t max_bytes = 1 << 16;  // longer mutations are cut
};

// The number of inputs that ran.
int run_seeded(int (*one_input)(const uint8_t* data, size_t size), const SeededRun& run);

// One mutation of an input: a few edits among flips of bits, cut, doubled, moved and foreign pieces, extreme
// numbers, deep nesting and long runs. An input whose first 8 bytes are the length of the rest,
// little-endian, mostly keeps that length right, so that a mutation reaches past it.
std::string mutate(const std::string& input, const std::vector<std::string>& corpus, std::mt19937_64& random,
                   size_t max_bytes);

}  // namespace archlight::fuzz
