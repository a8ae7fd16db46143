// seeded_fuzz.cc: draws are taken modulo a bound, since the distributions of <random> differ between
// libraries.
#include "support/seeded_fuzz.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "base/file.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace archlight::fuzz {
namespace {

// What the process is at, for the report of a dying one.
struct Current {
  const SeededRun* run = nullptr;
  const std::string* input = nullptr;
  int number = 0;
} current;

void put(const char* text) {
  const ssize_t ignored = write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(ignored);
}

// Nothing here allocates: the heap may be what broke.
void report() {
  if (current.run == nullptr) return;
  const SeededRun& run = *current.run;
  const std::string& input = *current.input;
  current.run = nullptr;
  char line[1024];
  std::snprintf(line, sizeof line, "\nfuzz target %s failed: seed %llu, input %d, %zu bytes\n",
                run.name.c_str(), static_cast<unsigned long long>(run.seed), current.number, input.size());
  put(line);
  char path[1024];
  std::snprintf(path, sizeof path, "%s/%s-%llu-%d", run.findings_folder.c_str(), run.name.c_str(),
                static_cast<unsigned long long>(run.seed), current.number);
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0) {
    const ssize_t written = write(file, input.data(), input.size());
    close(file);
    std::snprintf(line, sizeof line, "%s to %s; copy it to tests/fuzz/corpus/%s/\n",
                  written == static_cast<ssize_t>(input.size()) ? "written" : "partly written", path,
                  run.name.c_str());
    put(line);
  }
  if (input.size() > 400) return;
  std::snprintf(line, sizeof line, "TEST(Found, Seed%lluInput%d) {\n  const std::string input(\"",
                static_cast<unsigned long long>(run.seed), current.number);
  put(line);
  for (const unsigned char c : input) {
    // Octal, since a hexadecimal escape would swallow the digits after it.
    if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '?')
      std::snprintf(line, sizeof line, "%c", c);
    else
      std::snprintf(line, sizeof line, "\\%03o", c);
    put(line);
  }
  std::snprintf(line, sizeof line, "\", %zu);\n", input.size());
  put(line);
  put("  // the call, and the fault it must give\n}\n");
}

void on_signal(int signal) {
  report();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void report_when_dying() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(&report);
  std::signal(SIGABRT, &on_signal);
#else
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, &on_signal);
#endif
}

size_t below(std::mt19937_64& random, size_t bound) {
  return bound == 0 ? 0 : random() % bound;
}

bool is_prefixed(const std::string& input) {
  if (input.size() < 8) return false;
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | static_cast<unsigned char>(input[static_cast<size_t>(i)]);
  return length == input.size() - 8;
}

void set_prefix(std::string& input) {
  uint64_t length = input.size() - 8;
  for (size_t i = 0; i < 8; ++i, length >>= 8) input[i] = static_cast<char>(length & 0xff);
}

constexpr const char* kNumbers[] = {"0",
                                    "-1",
                                    "1",
                                    "127",
                                    "255",
                                    "65536",
                                    "2147483648",
                                    "4294967296",
                                    "9007199254740993",
                                    "9223372036854775807",
                                    "9223372036854775808",
                                    "18446744073709551615",
                                    "18446744073709551616",
                                    "170141183460469231731687303715884105727",
                                    "1e309",
                                    "-0",
                                    "0.5",
                                    "1e-400",
                                    "00",
                                    "0x10"};
constexpr const char* kPieces[] = {
    "\"", "'",  "\\",   "\\u0000", "\\ud800",   "\xff", "\xc0\x80", "\xed\xa0\x80", "\xef\xbb\xbf", "{",
    "}",  "[",  "]",    "(",       ")",         ":",    ",",        "null",         "true",         "{}",
    "[]", "\n", "\r\n", "\t",      "#",         "&a ",  "*a",       "<<: ",         "- ",           "? ",
    "| ", "//", "%",    "**",      "ceil_div(", "min(", "max("};

void edit(std::string& text, const std::vector<std::string>& corpus, std::mt19937_64& random) {
  const size_t at = below(random, text.size() + 1);
  const size_t length = std::min(text.size() - at, 1 + below(random, below(random, 4) == 0 ? 256 : 8));
  switch (below(random, 12)) {
    case 0:  // one bit
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(random, 8)));
      return;
    case 1:  // one byte
      if (at < text.size()) text[at] = static_cast<char>(random());
      return;
    case 2:  // leave a piece out
      text.erase(at, length);
      return;
    case 3:  // double a piece
      text.insert(at, text.substr(at, length));
      return;
    case 4: {  // move a piece
      const std::string piece = text.substr(at, length);
      text.erase(at, length);
      text.insert(below(random, text.size() + 1), piece);
      return;
    }
    case 5:  // cut
      text.resize(at);
      return;
    case 6:  // a piece that means something to one of the readers
      text.insert(at, kPieces[below(random, std::size(kPieces))]);
      return;
    case 7: {  // another number
      const size_t digits = text.find_first_of("0123456789", at);
      const size_t from = digits == std::string::npos ? at : digits;
      const size_t to = std::min(text.find_first_not_of("0123456789", from), text.size());
      text.replace(from, to - from, kNumbers[below(random, std::size(kNumbers))]);
      return;
    }
    case 8: {  // a piece of another input
      if (corpus.empty()) return;
      const std::string& other = corpus[below(random, corpus.size())];
      const size_t start = below(random, other.size() + 1);
      text.insert(at, other.substr(start, 1 + below(random, 64)));
      return;
    }
    case 9: {  // deep
      constexpr const char* kDeep[] = {"[", "{\"a\":", "(", "- ", "-", "!", "{a: "};
      const char* open = kDeep[below(random, std::size(kDeep))];
      std::string deep;
      for (size_t i = below(random, 2000); i > 0; --i) deep += open;
      text.insert(at, deep);
      return;
    }
    case 10: {  // long
      const char c = text.empty() ? 'a' : text[std::min(at, text.size() - 1)];
      text.insert(at, below(random, 5000), c);
      return;
    }
    default: {  // two bytes change places
      if (text.size() < 2) return;
      std::swap(text[below(random, text.size())], text[below(random, text.size())]);
      return;
    }
  }
}

}  // namespace

std::string mutate(const std::string& input, const std::vector<std::string>& corpus, std::mt19937_64& random,
                   size_t max_bytes) {
  const bool keep_prefix = is_prefixed(input) && below(random, 4) != 0;
  std::string body = keep_prefix ? input.substr(8) : input;
  for (size_t edits = 1 + below(random, 4); edits > 0; --edits) edit(body, corpus, random);
  if (keep_prefix) body.insert(0, 8, '\0');
  if (body.size() > max_bytes) body.resize(max_bytes);
  if (keep_prefix && body.size() >= 8) set_prefix(body);
  return body;
}

int run_seeded(int (*one_input)(const uint8_t* data, size_t size), const SeededRun& run) {
  std::vector<std::string> corpus;
  if (const base::Result<std::vector<std::string>> names = base::list_files(run.corpus_folder)) {
    for (const std::string& name : *names)
      if (const base::Result<std::string> bytes = base::read_file(run.corpus_folder + "/" + name))
        corpus.push_back(*bytes);
  }
  if (corpus.empty()) corpus.emplace_back();
  std::error_code ignored;
  std::filesystem::create_directories(run.findings_folder, ignored);

  report_when_dying();
  std::mt19937_64 random(run.seed);
  int ran = 0;
  // noexcept: an exception that leaves the target ends the process, as under libFuzzer.
  const auto one = [&](const std::string& input) noexcept {
    current = {&run, &input, ran++};
    one_input(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  };
  for (const std::string& input : corpus) one(input);
  for (int i = 0; i < run.count; ++i)
    one(mutate(corpus[below(random, corpus.size())], corpus, random, run.max_bytes));
  current = {};
  return ran;
}

}  // namespace archlight::fuzz
