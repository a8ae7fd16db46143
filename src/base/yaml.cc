#include "base/yaml.h"

#include <yaml.h>

#include <algorithm>
#include <set>

#include "base/file.h"

namespace archlight::base {
namespace {

constexpr int kMaxDepth = 200;
constexpr int kMaxNodes = 200'000;

// Builds the tree from libyaml's events, one at a time, so that a hostile file is bounded while it is read.
class Builder {
 public:
  explicit Builder(std::shared_ptr<const SourceText> source) : source_(std::move(source)) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(source_->text.data()),
                                 source_->text.size());
  }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder() { yaml_parser_delete(&parser_); }

  Result<Yaml> read() {
    while (!done_) {
      yaml_event_t event;
      if (!yaml_parser_parse(&parser_, &event)) {
        faults_.push_back(syntax());
        break;
      }
      const bool goes_on = take(event);
      yaml_event_delete(&event);
      if (!goes_on) break;
    }
    if (faults_.empty() && documents_ == 0)
      return fault_at({source_, 1, 1, 1}, "the file is empty", "a YAML document");
    if (!faults_.empty()) return faults_;
    return std::move(root_);
  }

 private:
  struct Frame {
    Yaml node;
    bool has_key = false;
    std::string key;
    Span key_at;
    std::set<std::string, std::less<>> seen;
  };

  Span span(const yaml_mark_t& mark, size_t length = 1) const {
    return {source_, static_cast<int>(mark.line) + 1, static_cast<int>(mark.column) + 1,
            static_cast<int>(length)};
  }

  Diagnostic syntax() const {
    std::string wrong = "not valid YAML: ";
    if (parser_.context) wrong += std::string(parser_.context) + ", ";
    wrong += parser_.problem ? parser_.problem : "it cannot be read";
    // A byte that is no character has an offset and no mark.
    if (parser_.error != YAML_READER_ERROR) return fault_at(span(parser_.problem_mark), std::move(wrong));
    const std::string_view before = std::string_view(source_->text).substr(0, parser_.problem_offset);
    const size_t line = static_cast<size_t>(std::ranges::count(before, '\n')), start = before.rfind('\n') + 1;
    return fault_at({source_, static_cast<int>(line) + 1, static_cast<int>(before.size() - start) + 1, 1},
                    std::move(wrong), "UTF-8 text");
  }

  // False where reading stops.
  bool take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        if (++documents_ < 2) return true;
        return stop({source_, 0, 0, 0}, "a second document behind '---'", "one document per file",
                    "put it into a file of its own");
      case YAML_ALIAS_EVENT:
        return stop(span(event.start_mark), "an alias ('*name')", "the value itself",
                    "write it out: specs name a place for every value");
      case YAML_SCALAR_EVENT: {
        const auto& scalar = event.data.scalar;
        Yaml node;
        node.text.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
        node.quoted = scalar.style != YAML_PLAIN_SCALAR_STYLE;
        node.at = span(event.start_mark, scalar.length);
        const bool null = !node.quoted && (node.text.empty() || node.text == "~" || node.text == "null");
        node.kind = null ? Yaml::Kind::kNull : Yaml::Kind::kScalar;
        if (null) node.text.clear();
        return plain(node.at, scalar.anchor) && put(std::move(node));
      }
      case YAML_SEQUENCE_START_EVENT:
        return plain(span(event.start_mark), event.data.sequence_start.anchor) &&
               open(span(event.start_mark), Yaml::Kind::kSequence);
      case YAML_MAPPING_START_EVENT:
        return plain(span(event.start_mark), event.data.mapping_start.anchor) &&
               open(span(event.start_mark), Yaml::Kind::kMap);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT: {
        Yaml node = std::move(stack_.back().node);
        stack_.pop_back();
        return put(std::move(node));
      }
      case YAML_STREAM_END_EVENT:
        done_ = true;
        return true;
      default:
        return true;
    }
  }

  bool stop(const Span& at, std::string wrong, std::string expected, std::string fix = {}) {
    faults_.push_back(fault_at(at, std::move(wrong), std::move(expected), std::move(fix)));
    return false;
  }

  bool plain(const Span& at, const yaml_char_t* anchor) {
    return !anchor || stop(at, "an anchor ('&name')", "a plain value",
                           "write values out: specs name a place for every value");
  }

  bool open(const Span& at, Yaml::Kind kind) {
    if (stack_.size() >= kMaxDepth) return stop(at, "nesting deeper than 200 levels", "a flatter file");
    if (!stack_.empty() && stack_.back().node.is_map() && !stack_.back().has_key)
      return stop(at, "a map or list as a key", "a name");
    Frame frame;
    frame.node.kind = kind;
    frame.node.at = at;
    stack_.push_back(std::move(frame));
    return true;
  }

  bool put(Yaml node) {
    if (++count_ > kMaxNodes) return stop(node.at, "more than 200,000 values in one file", "a smaller file");
    if (stack_.empty()) {
      root_ = std::move(node);
      return true;
    }
    Frame& top = stack_.back();
    if (top.node.is_sequence()) {
      top.node.items.push_back(std::move(node));
    } else if (!top.has_key) {
      top.has_key = true;
      top.key = node.text;
      top.key_at = node.at;
      if (!top.seen.insert(node.text).second)
        faults_.push_back(fault_at(node.at, "the key '" + node.text + "' stands twice in one map",
                                   "each key once", "remove one of the two"));
    } else {
      top.has_key = false;
      top.node.entries.push_back({std::move(top.key), top.key_at, std::move(node)});
    }
    return true;
  }

  std::shared_ptr<const SourceText> source_;
  yaml_parser_t parser_;
  Yaml root_;
  Faults faults_;
  std::vector<Frame> stack_;
  int count_ = 0, documents_ = 0;
  bool done_ = false;
};

}  // namespace

const Yaml* Yaml::find(std::string_view key) const {
  for (const YamlEntry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

std::vector<std::string> Yaml::keys() const {
  std::vector<std::string> out;
  for (const YamlEntry& entry : entries) out.push_back(entry.key);
  return out;
}

std::string Yaml::describe() const {
  switch (kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kScalar:
      return "'" + text + "'";
    case Kind::kSequence:
      return "a list";
    case Kind::kMap:
      return "a map";
  }
  return {};
}

Diagnostic fault_at(const Span& at, std::string wrong, std::string expected, std::string fix) {
  return {at, std::move(wrong), std::move(expected), std::move(fix), {}};
}

Result<Yaml> parse_yaml(std::shared_ptr<const SourceText> source) {
  if (source->text.size() > (1 << 20))
    return fault_at({source, 0, 0, 0}, "holds more than 1 MiB", "a spec file");
  return Builder(std::move(source)).read();
}

Result<Yaml> load_yaml(const std::string& path, const std::string& shown_as) {
  Result<std::string> text = read_file(path, 1 << 20);
  if (!text) return text.faults();
  return parse_yaml(std::make_shared<SourceText>(SourceText{shown_as, std::move(*text)}));
}

}  // namespace archlight::base
