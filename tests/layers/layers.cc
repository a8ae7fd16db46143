// layers.cc: layers.txt is read word by word, so that each room and edge keeps its column; includes are found
// line by line with block comments blanked out. Nothing else of C++ is understood, which is enough for a
// directive that stands alone on its line.
#include "layers/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include "base/file.h"

namespace archlight::layers {
namespace {

using base::Diagnostic;
using base::Faults;
using base::SourceText;
using base::Span;

struct Word {
  std::string text;
  Span at;
};

struct Room {
  Word name;
  std::vector<Word> includes;
};

struct Layers {
  std::vector<Room> rooms;  // in order of line: lowest room first
  Faults faults;

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const Room& room : rooms) out.push_back(room.name.text);
    return out;
  }
  // The position of a room, or none.
  std::optional<size_t> find(const std::string& name) const {
    for (size_t i = 0; i < rooms.size(); ++i)
      if (rooms[i].name.text == name) return i;
    return std::nullopt;
  }
  // The room that holds a path such as "deploy/comm/ring.h": the longest room that is a folder of it.
  std::optional<size_t> room_of(const std::string& path) const {
    std::optional<size_t> best;
    for (size_t i = 0; i < rooms.size(); ++i) {
      const std::string& name = rooms[i].name.text;
      if (path.compare(0, name.size() + 1, name + "/") != 0) continue;
      if (!best || name.size() > rooms[*best].name.text.size()) best = i;
    }
    return best;
  }
  bool declares(size_t from, const std::string& to) const {
    const std::vector<Word>& edges = rooms[from].includes;
    return std::any_of(edges.begin(), edges.end(), [&](const Word& edge) { return edge.text == to; });
  }
};

Diagnostic fault(Span at, std::string wrong, std::string expected, std::string fix) {
  return {std::move(at), std::move(wrong), std::move(expected), std::move(fix), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

bool is_room_name(const std::string& text) {
  return !text.empty() && text.front() != '/' && text.back() != '/' &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::islower(c) || c == '_' || c == '/'; });
}

Layers read_layers(const std::string& text) {
  Layers out;
  const auto source = std::make_shared<const SourceText>(SourceText{"src/layers.txt", text});
  int number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    const size_t end = std::min(line.find('#'), line.size());
    std::vector<Word> words;
    size_t colon = std::string::npos;
    for (size_t i = 0; i < end;) {
      if (line[i] == ':' && colon == std::string::npos) colon = words.size();
      if (std::isspace(static_cast<unsigned char>(line[i])) || line[i] == ':') {
        ++i;
        continue;
      }
      const size_t start = i;
      while (i < end && !std::isspace(static_cast<unsigned char>(line[i])) && line[i] != ':') ++i;
      words.push_back({line.substr(start, i - start),
                       {source, number, static_cast<int>(start) + 1, static_cast<int>(i - start)}});
    }
    if (words.empty() && colon == std::string::npos) continue;
    if (colon != 1) {
      out.faults.push_back(fault({source, number, 1, 1}, "this line names no room",
                                 "'room: the rooms it includes'", "write the room, a colon, then its rooms"));
      continue;
    }
    bool well_formed = true;
    for (const Word& word : words) {
      if (is_room_name(word.text)) continue;
      out.faults.push_back(fault(word.at, fmt::format("'{}' is no name of a room", word.text),
                                 "a folder under src/ in lower case", "name the folder"));
      well_formed = false;
    }
    if (!well_formed) continue;
    if (out.find(words[0].text)) {
      out.faults.push_back(fault(words[0].at, fmt::format("the room '{}' has two lines", words[0].text),
                                 "one line for each room", "join the two lines"));
      continue;
    }
    out.rooms.push_back({words[0], {words.begin() + 1, words.end()}});
  }

  for (size_t from = 0; from < out.rooms.size(); ++from) {
    const std::string& name = out.rooms[from].name.text;
    std::set<std::string> seen;
    for (const Word& edge : out.rooms[from].includes) {
      const std::optional<size_t> to = out.find(edge.text);
      if (!to) {
        out.faults.push_back(fault(edge.at,
                                   fmt::format("'{}' includes the unknown room '{}'", name, edge.text),
                                   "a room with a line above", base::did_you_mean(edge.text, out.names())));
      } else if (*to >= from) {
        out.faults.push_back(fault(edge.at, fmt::format("'{}' includes '{}' upward", name, edge.text),
                                   "a room from a line above its own",
                                   *to == from
                                       ? "remove it; a room always includes itself"
                                       : fmt::format("remove it, or move the line of '{}' up", edge.text)));
      } else if (!seen.insert(edge.text).second) {
        out.faults.push_back(fault(edge.at, fmt::format("'{}' includes '{}' twice", name, edge.text),
                                   "each room once", "remove one of the two"));
      }
    }
  }
  return out;
}

struct Include {
  std::string path;
  bool quoted = false;
  Span at;  // of the path
};

// Blanks /* */ comments, keeping lines and columns. A string literal that opens a comment would confuse it;
// none stands on an #include's line.
std::string without_comments(const std::string& text) {
  std::string out = text;
  bool in_comment = false, in_string = false, in_line_comment = false;
  for (size_t i = 0; i < out.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (c == '\n') {
      in_string = in_line_comment = false;
    } else if (in_comment) {
      if (c == '*' && next == '/') {
        in_comment = false;
        out[i + 1] = ' ';
        out[i++] = ' ';
      } else {
        out[i] = ' ';
      }
    } else if (in_line_comment) {
      continue;
    } else if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '/' && next == '/') {
      in_line_comment = true;
    } else if (c == '/' && next == '*') {
      in_comment = true;
      out[i + 1] = ' ';
      out[i++] = ' ';
    }
  }
  return out;
}

std::vector<Include> includes_of(const SourceFile& file) {
  const auto source = std::make_shared<const SourceText>(SourceText{"src/" + file.path, file.text});
  std::vector<Include> out;
  int number = 0;
  for (const std::string& line : lines_of(without_comments(file.text))) {
    ++number;
    const auto skip = [&](size_t i) { return std::min(line.find_first_not_of(" \t", i), line.size()); };
    size_t i = skip(0);
    if (i == line.size() || line[i] != '#') continue;
    i = skip(i + 1);
    if (line.compare(i, 7, "include") != 0) continue;
    i = skip(i + 7);
    if (i == line.size() || (line[i] != '"' && line[i] != '<')) continue;
    const size_t close = line.find(line[i] == '"' ? '"' : '>', i + 1);
    if (close == std::string::npos) continue;
    out.push_back({line.substr(i + 1, close - i - 1),
                   line[i] == '"',
                   {source, number, static_cast<int>(i) + 1, static_cast<int>(close - i) + 1}});
  }
  return out;
}

bool has_folder(const std::string& path, const std::string& folder) {
  return ("/" + path).find("/" + folder + "/") != std::string::npos;
}

std::string target_of(const std::string& room) {
  std::string out = "archlight_" + room;
  std::replace(out.begin(), out.end(), '/', '_');
  return out;
}

}  // namespace

base::Result<Tree> read_tree(const std::string& folder) {
  namespace fs = std::filesystem;
  Tree tree;
  base::Result<std::string> layers = base::read_file(folder + "/layers.txt");
  if (!layers) return layers.faults();
  tree.layers = *layers;
  Faults faults;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    static const std::set<std::string> kEndings = {".h", ".hh", ".hpp", ".inc", ".c", ".cc", ".cpp", ".cxx"};
    if (!entry.is_regular_file() || kEndings.count(entry.path().extension().string()) == 0) continue;
    base::Result<std::string> text = base::read_file(entry.path().string());
    if (!text) {
      base::append(faults, text.faults());
      continue;
    }
    tree.sources.push_back({entry.path().lexically_relative(folder).generic_string(), *text});
  }
  if (!faults.empty()) return faults;
  std::sort(tree.sources.begin(), tree.sources.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return tree;
}

Faults check_includes(const Tree& tree) {
  Layers layers = read_layers(tree.layers);
  Faults faults = std::move(layers.faults);
  std::set<std::string> paths;
  for (const SourceFile& file : tree.sources) paths.insert(file.path);

  std::set<size_t> inhabited;
  std::set<std::pair<size_t, size_t>> used;
  for (const SourceFile& file : tree.sources) {
    const std::optional<size_t> from = layers.room_of(file.path);
    if (!from) {
      const auto source = std::make_shared<const SourceText>(SourceText{"src/" + file.path, file.text});
      faults.push_back(fault({source, 1, 1, 1}, "this source lies in no room",
                             "a folder with a line in src/layers.txt",
                             "move it to a room, or add the room's line"));
      continue;
    }
    inhabited.insert(*from);
    const std::string& name = layers.rooms[*from].name.text;
    for (const Include& include : includes_of(file)) {
      // An angled include is a library's, unless it names a file of ours.
      if (!include.quoted && paths.count(include.path) == 0) continue;
      const std::optional<size_t> to = layers.room_of(include.path);
      if (!to) {
        faults.push_back(
            fault(include.at, fmt::format("the include '{}' starts with no room", include.path),
                  "a path from src/, the room first, or <> for a library",
                  base::did_you_mean(include.path.substr(0, include.path.find('/')), layers.names())));
        continue;
      }
      const std::string& target = layers.rooms[*to].name.text;
      if (!include.quoted)
        faults.push_back(fault(include.at, fmt::format("'{}' is ours and stands in <>", include.path),
                               fmt::format("#include \"{}\"", include.path), "write it with quotes"));
      if (has_folder(include.path, "..") || has_folder(include.path, "."))
        faults.push_back(fault(include.at,
                               fmt::format("the include '{}' steps out of its folder", include.path),
                               "a path from src/ without dots", "write the path from src/"));
      if (*to == *from) continue;
      used.insert({*from, *to});
      if (has_folder(include.path.substr(target.size() + 1), "internal"))
        faults.push_back(fault(include.at,
                               fmt::format("'{}' includes an internal part of '{}'", name, target),
                               fmt::format("a header of '{}' outside internal/", target),
                               "move the header out of internal/, or use the room's own"));
      if (*to > *from)
        faults.push_back(fault(include.at, fmt::format("'{}' includes '{}' upward", name, target),
                               "a room from a line above its own in src/layers.txt",
                               fmt::format("move what both need down to '{}' or below", name)));
      else if (!layers.declares(*from, target))
        faults.push_back(fault(
            include.at, fmt::format("'{}' includes '{}', an undeclared edge", name, target),
            fmt::format("one of: {}",
                        [&] {
                          std::vector<std::string> names;
                          for (const Word& edge : layers.rooms[*from].includes) names.push_back(edge.text);
                          return names.empty() ? std::string("none")
                                               : fmt::format("{}", fmt::join(names, ", "));
                        }()),
            fmt::format("add '{}' to the line of '{}' in src/layers.txt and argue for it", target, name)));
    }
  }

  for (size_t from = 0; from < layers.rooms.size(); ++from) {
    for (const Word& edge : layers.rooms[from].includes) {
      const std::optional<size_t> to = layers.find(edge.text);
      if (!to || *to >= from || used.count({from, *to}) > 0) continue;
      if (inhabited.count(from) == 0 || inhabited.count(*to) == 0) continue;
      faults.push_back(fault(
          edge.at, fmt::format("no source of '{}' includes '{}'", layers.rooms[from].name.text, edge.text),
          "only edges in use", "remove the edge"));
    }
  }
  return faults;
}

Faults check_links(const Tree& tree, const std::string& links) {
  const Layers layers = read_layers(tree.layers);
  Faults faults;
  std::map<std::string, std::set<std::string>> built;  // target of ours -> targets of ours that it links
  for (const std::string& line : lines_of(links)) {
    std::istringstream words(line);
    std::string target, link;
    words >> target;
    if (!target.empty() && target.back() == ':') target.pop_back();
    if (target.empty()) continue;
    std::set<std::string>& ours = built[target];
    while (words >> link)
      if (link.rfind("archlight_", 0) == 0 && link != "archlight_options") ours.insert(link);
  }

  std::set<std::string> known;
  std::string highest;
  for (const Room& room : layers.rooms) {
    const std::string target = target_of(room.name.text);
    known.insert(target);
    const auto found = built.find(target);
    if (found == built.end()) continue;  // a room without a .cc has no library
    highest = target;
    std::set<std::string> declared;
    for (const Word& edge : room.includes) {
      const std::string below = target_of(edge.text);
      if (built.count(below) == 0) continue;
      declared.insert(below);
      if (found->second.count(below) == 0)
        faults.push_back(fault(edge.at, fmt::format("the target '{}' does not link '{}'", target, below),
                               "a link for each declared edge", "link the room in CMake"));
    }
    for (const std::string& link : found->second)
      if (declared.count(link) == 0)
        faults.push_back(fault(room.name.at,
                               fmt::format("the target '{}' links '{}', an undeclared edge", target, link),
                               "a link for each declared edge and no other", "remove the link in CMake"));
  }
  for (const auto& [target, ours] : built) {
    const Span whole = layers.rooms.empty() ? Span{} : layers.rooms.back().name.at;
    if (target == "archlight") {
      for (const std::string& link : ours)
        if (link != highest)
          faults.push_back(fault(whole, fmt::format("the program links '{}'", link),
                                 fmt::format("'{}' alone, the highest room", highest),
                                 "remove the link in CMake"));
    } else if (known.count(target) == 0) {
      faults.push_back(fault(whole, fmt::format("the target '{}' belongs to no room", target),
                             "one library for each line of src/layers.txt",
                             "add the room's line, or remove the target"));
    }
  }
  return faults;
}

}  // namespace archlight::layers
