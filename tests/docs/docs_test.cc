// The commands of README.md and docs/**/*.md, run as they stand.
//
// Form   A ```console block: lines that start with "$ " are commands, the lines behind one its output, stdout
//        and stderr together, compared exactly. A line "..." stands for any lines. A command that ends with
//        another status than 0 shows it in a last line "[status N]". './run' and 'archlight' are the built
//        program; sh runs a command in the project's folder, without network.
// Walk   ```yaml walk FILE and ```console walk blocks of docs/adding.md are steps: files are written and commands run in
//        one empty folder, one after another, with PROJECT for the project's folder and ARCHLIGHT_HOME=home.
// Write  scripts/refresh-docs puts what the commands print now into the blocks.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/bill.h"
#include "base/file.h"

namespace archlight {
namespace {

const std::string kRoot = ARCHLIGHT_SOURCE_DIR;
const std::string kBuilt = std::filesystem::absolute(ARCHLIGHT_BINARY_DIR);

struct Command {
  std::string place;  // README.md:12
  std::string text;
  std::vector<std::string> expected;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::vector<std::string> documents() {
  std::vector<std::string> out = {"README.md"};
  for (const char* folder : {"docs/", "docs/guards/"}) {
    const auto names = base::list_files(kRoot + "/" + folder);
    for (const std::string& name : *names)
      if (name.ends_with(".md")) out.push_back(folder + name);
  }
  return out;
}

std::vector<Command> commands_of(const std::string& file) {
  std::vector<Command> out;
  const std::vector<std::string> lines = lines_of(*base::read_file(kRoot + "/" + file));
  bool inside = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("```")) {
      inside = !inside && lines[i] == "```console";
      if (inside && i + 1 < lines.size() && !lines[i + 1].starts_with("$ "))
        ADD_FAILURE() << file << ":" << i + 2 << ": a console block starts with a command, '$ ...'";
    } else if (inside && lines[i].starts_with("$ ")) {
      out.push_back({file + ":" + std::to_string(i + 1), lines[i].substr(2), {}});
    } else if (inside && !out.empty()) {
      out.back().expected.push_back(lines[i]);
    }
  }
  EXPECT_FALSE(inside) << file << ": a console block that does not end";
  for (Command& command : out)
    while (!command.expected.empty() && command.expected.back().empty()) command.expected.pop_back();
  return out;
}

std::vector<std::string> output_of(std::string text, const std::string& folder = kRoot,
                                   const std::string& settings = {}) {
  for (size_t at = text.find("./run"); at != std::string::npos; at = text.find("./run", at))
    text.replace(at, 5, "archlight");
  const std::string line = "cd '" + folder + "' && " + settings + "PATH='" + kBuilt +
                           ":'\"$PATH\" HF_HUB_OFFLINE=1 " + "XDG_CACHE_HOME='" + testing::TempDir() +
                           "archlight_docs' sh -c '" + text + "' 2>&1";
  FILE* pipe = popen(line.c_str(), "r");
  std::string out;
  std::array<char, 65536> buffer;
  while (const size_t got = fread(buffer.data(), 1, buffer.size(), pipe)) out.append(buffer.data(), got);
  const int status = pclose(pipe);
  std::vector<std::string> lines = lines_of(out);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    lines.push_back("[status " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1) + "]");
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// Does the output match from line `at` on, "..." taking as few lines as it can?
bool matches(const std::vector<std::string>& expected, size_t e, const std::vector<std::string>& actual,
             size_t a, size_t& furthest) {
  for (; e < expected.size(); ++e, ++a) {
    if (expected[e] == "...") {
      for (size_t skip = a; skip <= actual.size(); ++skip)
        if (matches(expected, e + 1, actual, skip, furthest)) return true;
      return false;
    }
    if (a >= actual.size() || actual[a] != expected[e]) {
      furthest = std::max(furthest, e);
      return false;
    }
  }
  furthest = std::max(furthest, e);
  return a == actual.size();
}

TEST(Docs, EveryConsoleBlockShowsWhatTheCommandPrints) {
  size_t count = 0;
  for (const std::string& file : documents())
    for (const Command& command : commands_of(file)) {
      ++count;
      EXPECT_EQ(command.text.find('\''), std::string::npos)
          << command.place << ": a quote that sh -c cannot hold";
      const std::vector<std::string> actual = output_of(command.text);
      size_t furthest = 0;
      if (matches(command.expected, 0, actual, 0, furthest)) continue;
      const size_t colon = command.place.rfind(':');
      const size_t line = std::stoul(command.place.substr(colon + 1)) + 1 + furthest;
      std::string shown;
      for (const std::string& text : actual) shown += "  " + text + "\n";
      ADD_FAILURE() << file << ":" << line << ": '$ " << command.text
                    << "' prints something else from here on; expected '"
                    << (furthest < command.expected.size() ? command.expected[furthest]
                                                           : std::string("nothing more"))
                    << "'; its output now:\n"
                    << shown;
    }
  EXPECT_GE(count, 12u);
}

// A model, a scheme and a rule, added from start to finish: each step's output is the page's.
TEST(Docs, TheStepsOfAddingRunAsTheyStand) {
  const std::string page = "docs/adding.md";
  const std::string folder = testing::TempDir() + "archlight_walk_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const std::string settings =
      "ARCHLIGHT_HOME=home PROJECT='" + std::filesystem::canonical(kRoot).string() + "' ";
  const std::vector<std::string> lines = lines_of(*base::read_file(kRoot + "/" + page));
  size_t commands = 0, files = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string kFile = "```yaml walk ";
    if (lines[i].starts_with(kFile)) {
      std::string text;
      const std::string name = lines[i].substr(kFile.size());
      for (++i; i < lines.size() && lines[i] != "```"; ++i) text += lines[i] + "\n";
      ASSERT_TRUE(base::write_file(folder + "/" + name, text).empty()) << page << ":" << i << ": " << name;
      ++files;
    } else if (lines[i] == "```console walk") {
      for (++i; i < lines.size() && lines[i] != "```";) {
        ASSERT_TRUE(lines[i].starts_with("$ ")) << page << ":" << i + 1;
        const std::string command = lines[i].substr(2), place = page + ":" + std::to_string(i + 1);
        std::vector<std::string> expected;
        for (++i; i < lines.size() && lines[i] != "```" && !lines[i].starts_with("$ "); ++i)
          expected.push_back(lines[i]);
        const std::vector<std::string> actual = output_of(command, folder, settings);
        ++commands;
        size_t furthest = 0;
        if (matches(expected, 0, actual, 0, furthest)) continue;
        std::string shown;
        for (const std::string& text : actual) shown += "  " + text + "\n";
        ADD_FAILURE() << place << ": '$ " << command << "' prints\n" << shown;
      }
    }
  }
  EXPECT_GE(commands, 15u);
  EXPECT_GE(files, 4u);
  std::filesystem::remove_all(folder);
}

// The rows of README.md's table of accuracy are what validate says: level, verdict and both numbers.
TEST(Docs, TheAccuracyTableIsWhatTheCommandSays) {
  const std::vector<std::string> lines = lines_of(*base::read_file(kRoot + "/README.md"));
  size_t rows = 0;
  bool inside = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("| model | level | verdict |")) {
      inside = true;
      continue;
    }
    inside = inside && lines[i].starts_with("|");
    if (!inside || lines[i].starts_with("|---")) continue;
    std::vector<std::string> cells;
    for (size_t at = lines[i].find('|'); at + 1 < lines[i].size(); at = lines[i].find('|', at + 1))
      cells.push_back(lines[i].substr(at + 2, lines[i].find('|', at + 1) - at - 3));
    ASSERT_EQ(cells.size(), 6u) << "README.md:" << i + 1;
    const std::string model = cells[0].substr(1, cells[0].size() - 2);
    std::string answer;
    for (const std::string& line : output_of("archlight validate " + model + " --json"))
      if (!line.starts_with("[status")) answer += line + "\n";
    const base::Json body = base::Json::parse(answer);
    EXPECT_EQ(cells[1], body["evidence"]["level"].get<std::string>()) << "README.md:" << i + 1;
    EXPECT_EQ(cells[2], body["evidence"]["verdict"].get<std::string>()) << "README.md:" << i + 1;
    const base::Json& row = body["evidence"]["comparisons"][0];
    const auto number = [&](const std::string& side) {
      return base::with_commas(row.value(side + "_" + cells[3], int64_t{-1}));
    };
    EXPECT_EQ(cells[4], number("ours")) << "README.md:" << i + 1;
    EXPECT_EQ(cells[5], number("published")) << "README.md:" << i + 1;
    ++rows;
  }
  EXPECT_GE(rows, 5u);
}

// The complete examples of docs/spec-language.md: ```yaml blocks that start with "# specs/FILE" are read
// beside the project's own, the ```json block is the config of the model among them.
TEST(Docs, TheSpecLanguagesExamplesLoadAndEvaluate) {
  std::map<std::string, std::string> files;
  std::string config, *block = nullptr;
  const std::vector<std::string> lines = lines_of(*base::read_file(kRoot + "/docs/spec-language.md"));
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    if (lines[i] == "```json") {
      block = &config;
    } else if (lines[i] == "```yaml") {
      ASSERT_TRUE(lines[i + 1].starts_with("# specs/")) << "line " << i + 2;
      block = &files[lines[i + 1].substr(8)];
    } else if (lines[i] == "```") {
      block = nullptr;
    } else if (block) {
      *block += lines[i] + "\n";
    }
  }
  EXPECT_EQ(files.size(), 5u);
  std::string& model = files["models/tiny_moe.yaml"];
  const std::string as_shown = model;
  const auto value = [&](const char* key, const char* precision) -> base::Result<expr::Rational> {
    const auto library = spec::Library::open_with(kRoot + "/specs", files);
    if (!library) return library.faults();
    for (const std::string& name : (*library)->component_names())
      if (const auto component = (*library)->any_component(name); !component) return component.faults();
    const auto json = base::parse_json(config, "config.json");
    if (!json) return json.faults();
    const auto described = (*library)->model_for(**json);
    if (!described) return described.faults();
    const auto bound = spec::bind(**described, *json, nullptr);
    if (!bound) return bound.faults();
    analysis::BillInput input;
    if (*precision) {
      const auto profile = (*library)->precision(precision);
      if (!profile) return profile.faults();
      input.precision = {*library, *profile};
    }
    const auto bill = analysis::make_bill(*library, std::make_shared<const spec::Binding>(*bound),
                                          analysis::Dims::kNumbers, input);
    if (!bill) return bill.faults();
    return *(*bill)->find(key)->value.constant();
  };
  const auto total = [&] { return value("params.total", ""); };
  const auto told = [](const base::Result<expr::Rational>& result) {
    return result ? expr::to_string(*result) : base::render_all(result.faults());
  };
  // embedding, head and norm 2*1000*64 + 64; four attentions of 4*64*64 with two norms of 64; one FFN of
  // 3*64*128; three of a 64x8 router and 8 experts of 3*64*32
  const int attention = 4 * 64 * 64 + 2 * 64, moe = 64 * 8 + 8 * 3 * 64 * 32;
  EXPECT_EQ(told(total()), std::to_string(2 * 1000 * 64 + 64 + 4 * attention + 3 * 64 * 128 + 3 * moe));
  // Four layers keep a key of 4 heads * 16 bytes with 4 scales of 2, and a value of 4 * 16 * 2; the experts' weights are
  // bytes: 3 layers * 8 experts * 3*64*32.
  EXPECT_EQ(told(value("kv.bytes_per_token", "tiny_int8_keys")), "800");
  EXPECT_EQ(told(value("storage.dtype.I8_bytes", "tiny_int8_keys")), "147456");
  // With the example's own attention in place, which has no other weights.
  model = "drafts: [windowed_attention]\n" + as_shown;
  const auto replace = [&](const std::string& from, const std::string& to) {
    ASSERT_NE(model.find(from), std::string::npos);
    model.replace(model.find(from), from.size(), to);
  };
  replace("attention: gqa_attention", "attention: windowed_attention");
  replace("  d_ff:", "  d_window: \"16\"\n  d_ff:");
  EXPECT_EQ(told(total()), std::to_string(2 * 1000 * 64 + 64 + 4 * attention + 3 * 64 * 128 + 3 * moe));
}

// Every relative link of the documentation leads somewhere, and so does every docs/ reference in a header.
TEST(Docs, LinksLeadToFilesAndAnchors) {
  const auto anchors_of = [](const std::string& file) {
    std::vector<std::string> out;
    for (const std::string& line : lines_of(*base::read_file(kRoot + "/" + file))) {
      if (const size_t at = line.find("<a id=\""); at != std::string::npos)
        out.push_back(line.substr(at + 7, line.find('"', at + 7) - at - 7));
      if (!line.starts_with('#')) continue;
      std::string anchor;
      for (const char c : line.substr(std::min(line.find(' ') + 1, line.size()))) {
        if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_')
          anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        else if (c == ' ')
          anchor += '-';
      }
      out.push_back(anchor);
    }
    return out;
  };
  const auto check = [&](const std::string& place, const std::string& folder, const std::string& link) {
    const size_t hash = link.find('#');
    const std::string name = link.substr(0, hash);
    const std::string path = name.empty() ? place.substr(0, place.find(':')) : folder + name;
    EXPECT_TRUE(base::file_exists(kRoot + "/" + path) || base::folder_exists(kRoot + "/" + path))
        << place << ": '" << link << "' leads nowhere";
    if (hash == std::string::npos || !base::file_exists(kRoot + "/" + path)) return;
    const std::vector<std::string> anchors = anchors_of(path);
    EXPECT_NE(std::ranges::find(anchors, link.substr(hash + 1)), anchors.end())
        << place << ": '" << path << "' has no heading for '" << link.substr(hash) << "'";
  };
  for (const std::string& file : documents()) {
    const std::vector<std::string> lines = lines_of(*base::read_file(kRoot + "/" + file));
    for (size_t i = 0; i < lines.size(); ++i)
      for (size_t at = lines[i].find("]("); at != std::string::npos; at = lines[i].find("](", at + 1)) {
        const std::string link = lines[i].substr(at + 2, lines[i].find(')', at) - at - 2);
        if (link.find("://") == std::string::npos)
          check(file + ":" + std::to_string(i + 1), file.substr(0, file.rfind('/') + 1), link);
      }
  }
  const auto rooms = base::list_folders(kRoot + "/src");
  for (const std::string& room : *rooms) {
    const auto names = base::list_files(kRoot + "/src/" + room);
    for (const std::string& name : *names) {
      if (!name.ends_with(".h")) continue;
      const std::string file = "src/" + room + "/" + name;
      const std::vector<std::string> lines = lines_of(*base::read_file(kRoot + "/" + file));
      for (size_t i = 0; i < lines.size(); ++i)
        for (size_t at = lines[i].find("docs/"); at != std::string::npos;
             at = lines[i].find("docs/", at + 1)) {
          size_t end = at;
          while (end < lines[i].size() && (std::isalnum(static_cast<unsigned char>(lines[i][end])) ||
                                           std::string("_./#-").find(lines[i][end]) != std::string::npos))
            ++end;
          std::string link = lines[i].substr(at, end - at);
          while (link.ends_with('.')) link.pop_back();
          check(file + ":" + std::to_string(i + 1), "", link);
        }
    }
  }
}

}  // namespace
}  // namespace archlight
