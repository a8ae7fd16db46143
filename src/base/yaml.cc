#include "base/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <set>

#include "base/file.h"
#include "base/internal/plain_yaml.h"

namespace archlight::base {
namespace {

constexpr int kMaxDepth = 200;
constexpr int kMaxNodes = 200'000;

// Builds the tree from yaml-cpp's event stream; its own node tree is skipped, so a hostile file is
// bounded while it is read.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(std::shared_ptr<const SourceText> source) : source_(std::move(source)) {}

  Yaml root;
  Faults faults;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Yaml node;
    node.at = span(mark);
    refuse_anchor(node.at, anchor);
    put(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    faults.push_back(fault_at(span(mark), "an alias ('*name')", "the value itself",
                              "write it out: specs name a place for every value"));
    throw Stop();
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Yaml node;
    node.kind = Yaml::Kind::kScalar;
    node.text = value;
    node.quoted = tag == "!";
    node.at = span(mark, static_cast<int>(value.size()));
    refuse_anchor(node.at, anchor);
    if (!node.quoted && (value == "~" || value == "null")) node.kind = Yaml::Kind::kNull;
    put(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, Yaml::Kind::kSequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, Yaml::Kind::kMap);
  }
  void OnMapEnd() override { close(); }

  struct Stop {};

 private:
  struct Frame {
    Yaml node;
    bool has_key = false;
    std::string key;
    Span key_at;
    std::set<std::string, std::less<>> seen;
  };

  Span span(const YAML::Mark& mark, int length = 1) const {
    return {source_, mark.line + 1, mark.column + 1, length};
  }

  void refuse_anchor(const Span& at, YAML::anchor_t anchor) {
    if (anchor == 0) return;
    faults.push_back(fault_at(at, "an anchor ('&name')", "a plain value",
                              "write values out: specs name a place for every value"));
    throw Stop();
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Yaml::Kind kind) {
    Frame frame;
    frame.node.kind = kind;
    frame.node.at = span(mark);
    refuse_anchor(frame.node.at, anchor);
    if (stack_.size() >= kMaxDepth) {
      faults.push_back(fault_at(frame.node.at, "nesting deeper than 200 levels", "a flatter file"));
      throw Stop();
    }
    if (!stack_.empty() && stack_.back().node.is_map() && !stack_.back().has_key) {
      faults.push_back(fault_at(frame.node.at, "a map or list as a key", "a name"));
      throw Stop();
    }
    stack_.push_back(std::move(frame));
  }

  void close() {
    Yaml node = std::move(stack_.back().node);
    stack_.pop_back();
    put(std::move(node));
  }

  void put(Yaml node) {
    if (++count_ > kMaxNodes) {
      faults.push_back(fault_at(node.at, "more than 200,000 values in one file", "a smaller file"));
      throw Stop();
    }
    if (stack_.empty()) {
      root = std::move(node);
      return;
    }
    Frame& top = stack_.back();
    if (top.node.is_sequence()) {
      top.node.items.push_back(std::move(node));
    } else if (!top.has_key) {
      top.has_key = true;
      top.key = node.text;
      top.key_at = node.at;
      if (!top.seen.insert(node.text).second)
        faults.push_back(fault_at(node.at, "the key '" + node.text + "' stands twice in one map",
                                  "each key once", "remove one of the two"));
    } else {
      top.has_key = false;
      top.node.entries.push_back({std::move(top.key), top.key_at, std::move(node)});
    }
  }

  std::shared_ptr<const SourceText> source_;
  std::vector<Frame> stack_;
  int count_ = 0;
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

Result<Yaml> internal::read_any_yaml(const std::shared_ptr<const SourceText>& source) {
  Builder builder(source);
  try {
    std::istringstream stream(source->text);
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder))
      return fault_at({source, 1, 1, 1}, "the file is empty", "a YAML document");
    if (builder.faults.empty() && parser.HandleNextDocument(builder))
      builder.faults.push_back(fault_at({source, 0, 0, 0}, "a second document behind '---'",
                                        "one document per file", "put it into a file of its own"));
  } catch (const YAML::Exception& error) {
    builder.faults.push_back(
        fault_at({source, error.mark.line + 1, error.mark.column + 1, 1}, "not valid YAML: " + error.msg));
  } catch (const Builder::Stop&) {
  }
  if (!builder.faults.empty()) return builder.faults;
  return std::move(builder.root);
}

Result<Yaml> parse_yaml(std::shared_ptr<const SourceText> source) {
  if (source->text.size() > (1 << 20))
    return fault_at({source, 0, 0, 0}, "holds more than 1 MiB", "a spec file");
  if (std::optional<Yaml> plain = internal::read_plain_yaml(source)) return std::move(*plain);
  return internal::read_any_yaml(source);
}

Result<Yaml> load_yaml(const std::string& path, const std::string& shown_as) {
  Result<std::string> text = read_file(path, 1 << 20);
  if (!text) return text.faults();
  return parse_yaml(std::make_shared<SourceText>(SourceText{shown_as, std::move(*text)}));
}

}  // namespace archlight::base
