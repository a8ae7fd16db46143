// Method  One pass over the tree with a cursor finds definitions, comments and docstrings; a function's body is then walked
//         once more for what it calls and adds, branch by branch. Both keep their depth bounded.
#include "truth/python.h"

#include <fmt/format.h>
#include <tree_sitter/api.h>

#include <algorithm>
#include <memory>

#include "truth/internal/faults.h"

extern "C" const TSLanguage* tree_sitter_python();

namespace archlight::truth {
namespace {

constexpr size_t kMaxWords = 60'000;
constexpr int kMaxDepth = 1'000;
constexpr uint64_t kMaxParseMicroseconds = 20'000'000;
constexpr std::string_view kForm = "a Python source, as published";

bool in_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\\';
}

// Of [from, to): where each word starts, and its length.
std::vector<std::pair<uint32_t, uint32_t>> words_of(std::string_view text) {
  std::vector<std::pair<uint32_t, uint32_t>> out;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at++;
    if (blank(text[start])) continue;
    if (in_word(text[start]))
      while (at < text.size() && in_word(text[at])) ++at;
    out.emplace_back(static_cast<uint32_t>(start), static_cast<uint32_t>(at - start));
  }
  return out;
}

// No parser can find more tokens: one for each sign, identifier and digit, two for each line.
size_t most_tokens(std::string_view text) {
  size_t out = 2;
  bool number = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') out += 2;
    if (blank(c) && c != '\\') continue;
    const bool starts = at == 0 || !in_word(c) || !in_word(text[at - 1]);
    if (starts) number = c >= '0' && c <= '9';
    out += starts || number || static_cast<unsigned char>(c) >= 0x80;
  }
  return out;
}

// The place of a byte, with the line itself for the caret.
base::Diagnostic fault_at_byte(const std::string& shown_as, std::string_view text, size_t byte,
                               std::string wrong) {
  base::Diagnostic out = file_fault(shown_as, std::move(wrong), std::string(kForm));
  const std::string_view before = text.substr(0, byte);
  out.at.line = static_cast<int>(std::ranges::count(before, '\n')) + 1;
  const size_t start = before.rfind('\n');
  out.at.column = static_cast<int>(start == std::string_view::npos ? byte : byte - start - 1) + 1;
  return out;
}

// The first byte that belongs to no UTF-8 text, or npos.
size_t no_text(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const size_t length = byte < 0x80 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    if (byte == 0 || (byte >= 0x80 && byte < 0xc2) || byte > 0xf4 || at + length > text.size()) return at;
    for (size_t i = 1; i < length; ++i)
      if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return at;
    at += length;
  }
  return std::string_view::npos;
}

struct Tree {
  TSTree* tree;
  explicit Tree(std::string_view text) {
    TSParser* parser = ts_parser_new();
    ts_parser_set_language(parser, tree_sitter_python());
    ts_parser_set_timeout_micros(parser, kMaxParseMicroseconds);
    tree = ts_parser_parse_string(parser, nullptr, text.data(), static_cast<uint32_t>(text.size()));
    ts_parser_delete(parser);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() {
    if (tree) ts_tree_delete(tree);
  }
};

// In one pass: asking for one child after the other would begin anew each time.
std::vector<TSNode> children_of(TSNode node) {
  std::vector<TSNode> out;
  if (ts_node_is_null(node)) return out;
  TSTreeCursor cursor = ts_tree_cursor_new(node);
  for (bool more = ts_tree_cursor_goto_first_child(&cursor); more;
       more = ts_tree_cursor_goto_next_sibling(&cursor))
    if (const TSNode child = ts_tree_cursor_current_node(&cursor); ts_node_is_named(child))
      out.push_back(child);
  ts_tree_cursor_delete(&cursor);
  return out;
}

bool holds_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

}  // namespace

class PythonReader {
 public:
  PythonReader(std::string text, const std::string& shown_as) : shown_as_(shown_as) {
    file_.text_ = std::move(text);
  }

  base::Result<PythonFile> read() {
    const std::string& text = file_.text_;
    if (const size_t byte = no_text(text); byte != std::string_view::npos)
      return fault_at_byte(
          shown_as_, text, byte,
          fmt::format("byte {:#04x} stands in no UTF-8 text", static_cast<unsigned char>(text[byte])));
    if (const size_t tokens = most_tokens(text); tokens > kMaxWords)
      return file_fault(shown_as_, fmt::format("the source has {} words", tokens),
                        fmt::format("at most {}", kMaxWords));
    const Tree parsed(text);
    if (!parsed.tree) return file_fault(shown_as_, "the source takes too long to parse", std::string(kForm));
    tree_ = parsed.tree;
    const TSNode root = ts_tree_root_node(tree_);
    if (base::Faults faults = outline(root); !faults.empty()) return faults;
    for (const auto& [from, to] : blanks_)
      for (uint32_t at = from; at < to; ++at)
        if (file_.text_[at] != '\n') file_.text_[at] = ' ';
    file_.words_ = words_of(file_.text_);
    for (size_t i = 0; i < file_.definitions_.size(); ++i) {
      PythonFile::Definition& definition = file_.definitions_[i];
      definition.first = word_at(ts_node_start_byte(nodes_[i]));
      definition.last = word_at(ts_node_end_byte(nodes_[i]));
      if (definition.is_class) continue;
      const TSNode body = field(nodes_[i], "body");
      calls_ = &definition.calls;
      definition.residuals = walk(body);
    }
    return std::move(file_);
  }

 private:
  static TSNode field(TSNode node, std::string_view name) {
    return ts_node_child_by_field_name(node, name.data(), static_cast<uint32_t>(name.size()));
  }
  static std::string_view type(TSNode node) {
    return ts_node_is_null(node) ? std::string_view() : ts_node_type(node);
  }
  std::string_view text(TSNode node) const {
    if (ts_node_is_null(node)) return {};
    const uint32_t from = ts_node_start_byte(node);
    return std::string_view(file_.text_).substr(from, ts_node_end_byte(node) - from);
  }
  size_t word_at(uint32_t byte) const {
    return static_cast<size_t>(
        std::ranges::lower_bound(file_.words_, byte, {}, [](const auto& word) { return word.first; }) -
        file_.words_.begin());
  }

  // Definitions, comments, docstrings, imports; and the first place that is no Python.
  base::Faults outline(TSNode root) {
    TSTreeCursor cursor = ts_tree_cursor_new(root);
    std::vector<std::pair<int, std::string>> around;  // definitions, by the depth at which they stand
    base::Faults faults;
    for (int depth = 0; faults.empty();) {
      const TSNode node = ts_tree_cursor_current_node(&cursor);
      while (!around.empty() && around.back().first >= depth) around.pop_back();
      if (const std::string_view kind = ts_node_type(node); kind == "ERROR" || ts_node_is_missing(node))
        faults.push_back(
            fault_at_byte(shown_as_, file_.text_, ts_node_start_byte(node), "no Python from here on"));
      else if (depth > kMaxDepth)
        faults.push_back(fault_at_byte(shown_as_, file_.text_, ts_node_start_byte(node),
                                       fmt::format("nested deeper than {} levels", kMaxDepth)));
      else if (kind == "class_definition" || kind == "function_definition")
        define(node, kind == "class_definition", depth, around);
      else if (kind == "comment" || is_docstring(node))
        blanks_.emplace_back(ts_node_start_byte(node), ts_node_end_byte(node));
      else if (kind == "import_from_statement")
        import(node);
      if (ts_tree_cursor_goto_first_child(&cursor)) {
        ++depth;
        continue;
      }
      while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
        if (!ts_tree_cursor_goto_parent(&cursor)) {
          ts_tree_cursor_delete(&cursor);
          return faults;
        }
        --depth;
      }
    }
    ts_tree_cursor_delete(&cursor);
    return faults;
  }

  void define(TSNode node, bool is_class, int depth, std::vector<std::pair<int, std::string>>& around) {
    PythonFile::Definition made;
    made.name = (around.empty() ? std::string() : around.back().second + ".") +
                std::string(text(field(node, "name")));
    made.is_class = is_class;
    made.line = static_cast<int>(ts_node_start_point(node).row) + 1;
    for (const TSNode base : children_of(field(node, "superclasses"))) made.bases.emplace_back(text(base));
    around.emplace_back(depth, made.name);
    file_.definitions_.push_back(std::move(made));
    nodes_.push_back(node);
  }

  static bool is_docstring(TSNode node) {
    return type(node) == "expression_statement" && ts_node_named_child_count(node) == 1 &&
           type(ts_node_named_child(node, 0)) == "string";
  }

  // `from .name import x`
  void import(TSNode node) {
    const std::string_view from = text(field(node, "module_name"));
    if (from.size() > 1 && from[0] == '.' && from.find('.', 1) == std::string_view::npos)
      file_.siblings_.emplace_back(from.substr(1));
  }

  // The calls of a piece of code, in order of evaluation, and its residual sums.
  Times walk(TSNode node) {
    const std::string_view kind = type(node);
    if (kind == "function_definition" || kind == "class_definition" || kind == "lambda") return {};
    if (kind == "if_statement") return branches(node);
    const std::vector<TSNode> children = children_of(node);
    if (kind == "conditional_expression" && children.size() == 3) {
      const Times before = walk(children[1]), then = walk(children[0]);
      return add(before, either(then, walk(children[2])));
    }
    Times out;
    if (kind == "binary_operator" && text(field(node, "operator")) == "+") {
      out = add(out, sum(node));
    } else {
      for (const TSNode child : children) out = add(out, walk(child));
    }
    if (kind == "for_statement" || kind == "while_statement") return {0, out.most > 0 ? Times::kMany : 0};
    if (kind == "call") out = add(out, call(node));
    // x, residual = self.norm(x, residual): the sum is in what is called.
    if (kind == "assignment" && type(field(node, "left")) == "pattern_list")
      for (const TSNode target : children_of(field(node, "left")))
        if (residual_name(target)) out = add(out, {0, Times::kMany});
    if (kind == "augmented_assignment" && text(field(node, "operator")) == "+=" &&
        (residual_name(field(node, "left")) || residual_name(field(node, "right")) ||
         calls_module(field(node, "right"))))
      out = add(out, {1, 1});
    return out;
  }

  static Times add(Times a, Times b) {
    return {std::min(a.least + b.least, Times::kMany), std::min(a.most + b.most, Times::kMany)};
  }
  static Times either(Times a, Times b) { return {std::min(a.least, b.least), std::max(a.most, b.most)}; }

  Times branches(TSNode node) {
    Times before = walk(field(node, "condition"));
    Times out = walk(field(node, "consequence"));
    bool otherwise = false;
    for (const TSNode child : children_of(node)) {
      if (type(child) == "else_clause") otherwise = true;
      if (type(child) == "else_clause" || type(child) == "elif_clause") out = either(out, walk(child));
    }
    return add(before, otherwise ? out : either(out, {}));
  }

  // A chain a + b + c: as many residual sums as it has signs, where one of its operands is a residual.
  Times sum(TSNode node) {
    std::vector<TSNode> operands;
    for (; type(node) == "binary_operator" && text(field(node, "operator")) == "+";
         node = field(node, "left"))
      operands.push_back(field(node, "right"));
    operands.push_back(node);
    std::ranges::reverse(operands);
    Times out;
    bool residual = false, plain = false, module = false;
    for (const TSNode operand : operands) {
      out = add(out, walk(operand));
      residual = residual || residual_name(operand);
      plain = plain || type(operand) == "identifier";
      module = module || calls_module(operand);
    }
    const int signs = static_cast<int>(operands.size()) - 1;
    return residual || (plain && module) ? add(out, {signs, signs}) : out;
  }

  Times call(TSNode node) {
    const TSNode callee = field(node, "function");
    std::string_view name = text(callee);
    if (const std::string_view module = module_of(name); !module.empty()) calls_->emplace_back(module);
    if (const size_t dot = name.rfind('.'); dot != std::string_view::npos) name = name.substr(dot + 1);
    if (name.find("add") == std::string_view::npos) return {};
    const std::vector<TSNode> arguments = children_of(field(node, "arguments"));
    const bool residual =
        std::ranges::any_of(arguments, [&](TSNode argument) { return residual_name(argument); });
    return residual ? Times{1, 1} : Times{};
  }

  // A residual by its name, scaled or not.
  bool residual_name(TSNode node) const {
    const std::string_view kind = type(node);
    if (kind == "parenthesized_expression") {
      const std::vector<TSNode> inner = children_of(node);
      return inner.size() == 1 && residual_name(inner[0]);
    }
    if (kind == "binary_operator" && text(field(node, "operator")) == "*")
      return residual_name(field(node, "left")) || residual_name(field(node, "right"));
    return (kind == "identifier" || kind == "attribute") &&
           holds_any(text(node), {"resid", "shortcut", "identity"});
  }

  // "norm" of self.norm, self.norm[i] and self.norm.forward; nothing of self.bias.float, which calls no module.
  static std::string_view module_of(std::string_view callee) {
    if (!callee.starts_with("self.")) return {};
    callee.remove_prefix(5);
    size_t end = 0;
    while (end < callee.size() && in_word(callee[end])) ++end;
    const std::string_view behind = callee.substr(end);
    const bool module =
        behind.empty() || behind == ".forward" || (behind.starts_with('[') && behind.ends_with(']'));
    return module ? callee.substr(0, end) : std::string_view();
  }

  bool calls_module(TSNode node) const {
    return type(node) == "call" && !module_of(text(field(node, "function"))).empty();
  }

  const std::string& shown_as_;
  PythonFile file_;
  TSTree* tree_ = nullptr;
  std::vector<TSNode> nodes_;  // of each definition
  std::vector<std::pair<uint32_t, uint32_t>> blanks_;
  std::vector<std::string>* calls_ = nullptr;
};

base::Result<PythonFile> PythonFile::parse(std::string text, const std::string& shown_as) {
  return PythonReader(std::move(text), shown_as).read();
}

const PythonFile::Definition* PythonFile::find(std::string_view name) const {
  std::string wanted(name);
  for (int hop = 0; hop < 20; ++hop) {
    // Of two definitions of one name the last counts, as in Python.
    const auto it = std::ranges::find(definitions_.rbegin(), definitions_.rend(), wanted, &Definition::name);
    if (it != definitions_.rend()) return &*it;
    const size_t dot = wanted.rfind('.');
    if (dot == std::string::npos) return nullptr;
    const Definition* owner = find(wanted.substr(0, dot));
    if (!owner || !owner->is_class) return nullptr;
    const Definition* base = nullptr;
    for (size_t i = 0; i < owner->bases.size() && !base; ++i)
      if (owner->bases[i] != owner->name && owner->bases[i].find('.') == std::string::npos)
        base = find(owner->bases[i]);
    if (!base) return nullptr;
    wanted = base->name + wanted.substr(dot);
  }
  return nullptr;
}

bool PythonFile::holds(std::string_view code, const Definition* within) const {
  const auto wanted = words_of(code);
  const size_t first = within ? within->first : 0, last = within ? within->last : words_.size();
  if (wanted.empty() || last - first < wanted.size()) return false;
  const auto spelled = [](std::string_view text, const std::pair<uint32_t, uint32_t>& word) {
    return text.substr(word.first, word.second);
  };
  for (size_t at = first; at + wanted.size() <= last; ++at) {
    size_t same = 0;
    while (same < wanted.size() && spelled(text_, words_[at + same]) == spelled(code, wanted[same])) ++same;
    if (same == wanted.size()) return true;
  }
  return false;
}

}  // namespace archlight::truth
