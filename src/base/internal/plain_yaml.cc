// Recursive descent over the text. Wherever the text leaves the form that the header states, the reader gives up: it
// never decides what another YAML reader might decide differently.
#include "base/internal/plain_yaml.h"

#include <algorithm>
#include <string_view>

namespace archlight::base::internal {
namespace {

constexpr int kMostLevels = 100;
constexpr size_t kLongestKey = 1000;  // yaml-cpp reads a key of up to 1,024 bytes as one
constexpr size_t kMostEntries = 1000;
constexpr int kMostNodes = 100'000;

struct GiveUp {};

class PlainReader {
 public:
  explicit PlainReader(const std::shared_ptr<const SourceText>& source)
      : source_(source), text_(source->text) {}

  Yaml run() {
    for (const char c : text_)
      if (c != '\n' && (c < ' ' || c > '~')) throw GiveUp();
    check_line();
    to_content();
    if (done()) throw GiveUp();
    Yaml root = block_node(-1, false);
    if (!done() || root.is_scalar() || root.is_null()) throw GiveUp();
    return root;
  }

 private:
  bool done() const { return at_ == text_.size(); }
  char here() const { return done() ? '\n' : text_[at_]; }
  // The end of the text ends its last line.
  char behind() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\n'; }
  static bool blank(char c) { return c == ' ' || c == '\n'; }
  int column() const { return static_cast<int>(at_ - line_start_); }
  Span place(int length = 1) const { return {source_, line_, column() + 1, length}; }

  void expect(bool holds) const {
    if (!holds) throw GiveUp();
  }

  // Lines that mean something to YAML as a whole: directives, the borders of documents.
  void check_line() const {
    const std::string_view rest = text_.substr(at_, 3);
    expect(rest != "---" && rest != "..." && !rest.starts_with('%'));
  }

  // Past spaces, comments and line ends, to what stands next. Says whether that is on another line, or nowhere.
  bool to_content() {
    bool crossed = false;
    while (!done()) {
      if (text_[at_] == ' ') {
        ++at_;
      } else if (text_[at_] == '#') {
        expect(column() == 0 || text_[at_ - 1] == ' ');
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_[at_] == '\n') {
        ++at_;
        ++line_;
        line_start_ = at_;
        crossed = true;
        check_line();
      } else {
        return crossed;
      }
    }
    return true;
  }

  void count() { expect(++nodes_ <= kMostNodes); }

  // A scalar up to the end of its line, to a comment, or to the ':' of a key; in flow also to ',' and brackets.
  Yaml scalar(bool flow) {
    count();
    Yaml out;
    out.kind = Yaml::Kind::kScalar;
    out.at = place();
    if (const char quote = here(); quote == '"' || quote == '\'') {
      ++at_;
      size_t taken = at_;  // what stands before is in the text
      while (here() != quote) {
        expect(here() != '\n');
        if (quote == '"' && here() == '\\') {
          expect(behind() == '"' || behind() == '\\');
          out.text += text_.substr(taken, at_ - taken);
          taken = ++at_;
        }
        ++at_;
      }
      out.text += text_.substr(taken, at_ - taken);
      ++at_;
      expect(blank(here()) || here() == ':' || (flow && (here() == ',' || here() == ']' || here() == '}')));
      out.quoted = true;
    } else {
      // What starts an anchor, a tag, a block scalar, a list or a key of another form.
      expect(std::string_view(",[]{}#&*!|>%@`?:").find(here()) == std::string_view::npos && !blank(here()));
      if (here() == '-')
        expect(!blank(behind()) && std::string_view(",[]{}").find(behind()) == std::string_view::npos);
      const size_t first = at_;
      while (here() != '\n') {
        if (here() == ':' && blank(behind())) break;
        if (here() == ' ' && behind() == '#') break;
        if (flow) {
          if (here() == ',' || here() == ']' || here() == '}') break;
          expect(here() != '[' && here() != '{' && here() != '?');
          expect(here() != ':' || std::string_view(",[]{}").find(behind()) == std::string_view::npos);
        }
        ++at_;
      }
      size_t end = at_;
      while (text_[end - 1] == ' ') --end;
      expect(here() != ':' || end == at_);
      out.text = text_.substr(first, end - first);
    }
    out.at.length = static_cast<int>(out.text.size());
    if (!out.quoted && (out.text == "~" || out.text == "null" || out.text == "Null" || out.text == "NULL")) {
      out.kind = Yaml::Kind::kNull;
      out.text.clear();
      out.at.length = 1;
    }
    return out;
  }

  // A key that has been read, at its ':'.
  void add_key(Yaml& map, Yaml key) {
    expect(here() == ':' && blank(behind()) && key.is_scalar() && key.text.size() <= kLongestKey);
    expect(map.entries.size() < kMostEntries && !map.find(key.text));
    ++at_;
    map.entries.push_back({std::move(key.text), std::move(key.at), {}});
  }

  Yaml flow_node() {
    if (here() != '[' && here() != '{') return scalar(true);
    expect(++levels_ <= kMostLevels);
    count();
    const bool is_map = here() == '{';
    const char close = is_map ? '}' : ']';
    Yaml out;
    out.kind = is_map ? Yaml::Kind::kMap : Yaml::Kind::kSequence;
    out.at = place();
    ++at_;
    to_content();
    while (here() != close || !out.items.empty() || !out.entries.empty()) {
      expect(!done());
      if (is_map) {
        add_key(out, scalar(true));
        to_content();
        out.entries.back().value = flow_node();
      } else {
        out.items.push_back(flow_node());
      }
      to_content();
      if (here() == close) break;
      expect(here() == ',');
      ++at_;
      to_content();
    }
    expect(!done());
    ++at_;
    --levels_;
    return out;
  }

  // What stands here, in a collection whose entries start at column `outer`. Ends at the next line's content. `inside`
  // says that it stands behind a key, where no block collection can start.
  Yaml block_node(int outer, bool inside) {
    expect(++levels_ <= kMostLevels);
    Yaml out;
    if (here() == '-' && blank(behind())) {
      expect(!inside);
      out = block_list();
    } else if (here() == '[' || here() == '{') {
      out = flow_node();
      expect(to_content());
    } else {
      const int first = column();
      Yaml read = scalar(false);
      if (here() == ':') {
        expect(!inside);
        out = block_map(std::move(read), first);
      } else {
        out = std::move(read);
        expect(to_content());
      }
    }
    // Deeper lines would belong to what has ended.
    expect(done() || column() <= outer);
    --levels_;
    return out;
  }

  // Behind ':' or '-' of a collection whose entries start at `outer`.
  Yaml entry(int outer, bool key) {
    const bool below = to_content();
    expect(!done() && (!below || column() > outer));
    return block_node(outer, key && !below);
  }

  Yaml block_map(Yaml key, int first) {
    count();
    Yaml out;
    out.kind = Yaml::Kind::kMap;
    out.at = key.at;
    out.at.length = 1;
    while (true) {
      add_key(out, std::move(key));
      out.entries.back().value = entry(first, true);
      if (done() || column() < first) return out;
      expect(here() != '-' || !blank(behind()));
      key = scalar(false);
    }
  }

  Yaml block_list() {
    count();
    const int first = column();
    Yaml out;
    out.kind = Yaml::Kind::kSequence;
    out.at = place();
    while (true) {
      ++at_;
      out.items.push_back(entry(first, false));
      if (done() || column() < first) return out;
      expect(here() == '-' && blank(behind()));
    }
  }

  const std::shared_ptr<const SourceText>& source_;
  const std::string_view text_;
  size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
  int levels_ = 0;
  int nodes_ = 0;
};

}  // namespace

std::optional<Yaml> read_plain_yaml(const std::shared_ptr<const SourceText>& source) {
  try {
    return PlainReader(source).run();
  } catch (const GiveUp&) {
    return std::nullopt;
  }
}

}  // namespace archlight::base::internal
