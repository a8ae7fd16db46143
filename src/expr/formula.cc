// Recursive descent to a postfix program; instantiation runs the program on values that are plain rationals
// until a symbol forces an expression.
#include "expr/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "expr/internal/store.h"

namespace archlight::expr {
namespace {

using base::Diagnostic;
using base::Int128;

constexpr size_t kMaxLength = 10'000;
constexpr int kMaxNesting = 200;

enum class Op : uint8_t {
  kConstant,  // index of a constant
  kName,      // index of a name
  kNegate,
  kSum,      // `count` values, those with a bit of `inverted` subtracted
  kProduct,  // `count` values, those with a bit of `inverted` divided by
  kFloorDiv,
  kMod,
  kCeilDiv,
  kPow,
  kMin,
  kMax,
  kSelect,
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,
  kNot,
  kAnd,
  kOr,
};

struct Step {
  Op op;
  uint32_t count = 2;     // values taken from the stack
  uint32_t index = 0;     // of a leaf
  uint64_t inverted = 0;  // bit i: the i-th value
};

constexpr uint32_t kMaxChain = 64;  // bits of `inverted`

struct Function {
  std::string_view name;
  Op op;
  uint32_t least, most;
};

constexpr uint32_t kAny = UINT32_MAX;
constexpr Function kFunctions[] = {
    {"ceil_div", Op::kCeilDiv, 2, 2}, {"floor_div", Op::kFloorDiv, 2, 2},
    {"max", Op::kMax, 1, kAny},       {"min", Op::kMin, 1, kAny},
    {"pow", Op::kPow, 2, 2},          {"select", Op::kSelect, 3, 3},
};

const Function* find_function(std::string_view name) {
  for (const Function& function : kFunctions)
    if (function.name == name) return &function;
  return nullptr;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_part(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '.';
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct Token {
  enum Kind { kEnd, kNumber, kName, kSign } kind = kEnd;
  std::string_view text;
  size_t start = 0;
};

}  // namespace

struct Formula::Steps {
  std::string text;
  base::Span at;
  std::vector<std::string> names;
  std::vector<Rational> constants;
  std::vector<Step> steps;
  size_t depth = 0;  // of the value stack
};

namespace {

// The first fault stays here and ends the parse.
class Parser {
 public:
  Parser(std::string_view text, const base::Span& at, std::vector<std::string>& names,
         std::vector<Rational>& constants, std::vector<Step>& steps)
      : text_(text), at_(at), names_(names), constants_(constants), steps_(steps) {}

  std::optional<Diagnostic> parse() {
    if (text_.size() > kMaxLength) {
      fail(0, text_.size(), fmt::format("a formula of {} characters", text_.size()),
           fmt::format("at most {}", kMaxLength), "split it into named parts");
      return fault_;
    }
    next();
    if (!fault_ && token_.kind == Token::kEnd) {
      fail(0, 1, "an empty formula", "a number, a name or '('", "");
      return fault_;
    }
    if (!fault_) parse_or();
    if (!fault_ && token_.kind != Token::kEnd) unexpected("an operator or the end");
    return fault_;
  }

  size_t deepest() const { return deepest_; }

 private:
  bool fail(size_t start, size_t length, std::string wrong, std::string expected, std::string fix) {
    if (fault_) return false;
    Diagnostic fault;
    fault.at = at_;
    if (at_.line > 0) fault.at.column = std::max(at_.column, 1) + static_cast<int>(start);
    fault.at.length = static_cast<int>(length);
    fault.wrong = std::move(wrong);
    fault.expected = std::move(expected);
    fault.fix = std::move(fix);
    // Without a place the reader still needs to know where in the text.
    if (at_.line <= 0)
      fault.wrong += fmt::format(" at character {} of '{}'", start + 1, text_.substr(0, 200));
    fault_ = std::move(fault);
    return false;
  }

  bool unexpected(std::string_view expected) {
    if (token_.kind == Token::kEnd)
      return fail(text_.size(), 1, "the formula ends too early", std::string(expected), "");
    std::string fix;
    if (token_.kind == Token::kSign) {
      if (token_.text == "=") fix = "write == for equality";
      if (token_.text == "(") fix = "write * between factors";
      if (token_.text == "*" && token_.start > 0 && text_[token_.start - 1] == '*')
        fix = "write ^ for a power";
    } else if (token_.start > 0 && is_digit(text_[token_.start - 1])) {
      fix = "write * between factors";
    }
    return fail(token_.start, token_.text.size(), fmt::format("unexpected '{}'", token_.text),
                std::string(expected), std::move(fix));
  }

  void next() {
    while (place_ < text_.size() && is_space(text_[place_])) ++place_;
    token_ = {Token::kEnd, {}, place_};
    if (place_ == text_.size()) return;
    const size_t start = place_;
    const char c = text_[place_];
    if (is_letter(c)) {
      while (place_ < text_.size() && is_name_part(text_[place_])) ++place_;
      token_ = {Token::kName, text_.substr(start, place_ - start), start};
      return;
    }
    if (is_digit(c)) {
      while (place_ < text_.size() && is_digit(text_[place_])) ++place_;
      if (place_ + 1 < text_.size() && text_[place_] == '.' && is_digit(text_[place_ + 1])) {
        ++place_;
        while (place_ < text_.size() && is_digit(text_[place_])) ++place_;
      }
      token_ = {Token::kNumber, text_.substr(start, place_ - start), start};
      return;
    }
    for (std::string_view sign : {"//", "==", "!=", "<=", ">="}) {
      if (text_.substr(place_, 2) != sign) continue;
      place_ += 2;
      token_ = {Token::kSign, text_.substr(start, 2), start};
      return;
    }
    if (std::string_view("+-*/%^(),<>=").find(c) != std::string_view::npos) {
      ++place_;
      token_ = {Token::kSign, text_.substr(start, 1), start};
      return;
    }
    std::string fix;
    if (c == '&') fix = "write 'and'";
    if (c == '|') fix = "write 'or'";
    if (c == '!') fix = "write 'not'";
    if (c == '[' || c == '{') fix = "group with ( and )";
    fail(start, 1, fmt::format("unexpected character '{}'", c),
         "a number, a name, an operator or a parenthesis", std::move(fix));
  }

  bool at_sign(std::string_view sign) const { return token_.kind == Token::kSign && token_.text == sign; }
  bool at_word(std::string_view word) const { return token_.kind == Token::kName && token_.text == word; }
  static bool is_word(std::string_view name) { return name == "and" || name == "or" || name == "not"; }

  void emit(const Step& step, size_t takes) {
    steps_.push_back(step);
    height_ = height_ - takes + 1;
    deepest_ = std::max(deepest_, height_);
  }
  void emit(Op op, uint32_t takes) { emit({.op = op, .count = takes}, takes); }

  // One level of nesting for the time of its life.
  struct Nested {
    explicit Nested(Parser& p) : parser(p) {
      if (++parser.nesting_ > kMaxNesting)
        parser.fail(parser.token_.start, 1, "a formula nested too deep",
                    fmt::format("at most {} levels", kMaxNesting), "split it into named parts");
    }
    ~Nested() { --parser.nesting_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    Parser& parser;
  };

  void parse_or() {
    parse_and();
    while (!fault_ && at_word("or")) {
      next();
      parse_and();
      emit(Op::kOr, 2);
    }
  }

  void parse_and() {
    parse_not();
    while (!fault_ && at_word("and")) {
      next();
      parse_not();
      emit(Op::kAnd, 2);
    }
  }

  void parse_not() {
    if (!at_word("not")) return parse_comparison();
    const Nested nested(*this);
    if (fault_) return;
    next();
    parse_not();
    emit(Op::kNot, 1);
  }

  bool at_comparison() const {
    for (std::string_view sign : {"==", "!=", "<", "<=", ">", ">="})
      if (at_sign(sign)) return true;
    return false;
  }

  void parse_comparison() {
    const size_t first = steps_.size();
    parse_sum();
    if (fault_ || !at_comparison()) return;
    const std::string_view sign = token_.text;
    next();
    const size_t second = steps_.size();
    parse_sum();
    if (fault_) return;
    // a > b is b < a: the operands trade places.
    if (sign[0] == '>')
      std::rotate(steps_.begin() + static_cast<std::ptrdiff_t>(first),
                  steps_.begin() + static_cast<std::ptrdiff_t>(second), steps_.end());
    // Either order of two programs runs within the sum of their depths.
    deepest_ = std::max(deepest_, height_ + steps_.size() - first);
    emit(sign == "=="       ? Op::kEqual
         : sign == "!="     ? Op::kNotEqual
         : sign.size() == 2 ? Op::kLessEqual
                            : Op::kLess,
         2);
    if (at_comparison())
      fail(token_.start, token_.text.size(), fmt::format("a second comparison '{}'", token_.text),
           "one comparison", "join two with 'and'");
  }

  void parse_sum() {
    parse_product();
    Step chain{.op = Op::kSum, .count = 1};
    while (!fault_ && (at_sign("+") || at_sign("-"))) {
      if (chain.count == kMaxChain) close(chain);
      if (at_sign("-")) chain.inverted |= uint64_t{1} << chain.count;
      ++chain.count;
      next();
      parse_product();
    }
    close(chain);
  }

  void parse_product() {
    parse_unary();
    Step chain{.op = Op::kProduct, .count = 1};
    while (!fault_ && (at_sign("*") || at_sign("/") || at_sign("//") || at_sign("%"))) {
      if (at_sign("*") || at_sign("/")) {
        if (chain.count == kMaxChain) close(chain);
        if (at_sign("/")) chain.inverted |= uint64_t{1} << chain.count;
        ++chain.count;
        next();
        parse_unary();
      } else {
        close(chain);
        const Op op = at_sign("%") ? Op::kMod : Op::kFloorDiv;
        next();
        parse_unary();
        emit(op, 2);
      }
    }
    close(chain);
  }

  // Emits a chain of one level, of more than one value, and starts anew with its result.
  void close(Step& chain) {
    if (chain.count > 1) emit(chain, chain.count);
    chain.count = 1;
    chain.inverted = 0;
  }

  void parse_unary() {
    if (!at_sign("-")) return parse_power();
    const Nested nested(*this);
    if (fault_) return;
    next();
    // The least integer has no positive counterpart, so a minus is read with its number. -2^2 is -(2^2).
    if (token_.kind == Token::kNumber) {
      const Token number = token_;
      size_t after = place_;
      while (after < text_.size() && is_space(text_[after])) ++after;
      if (after == text_.size() || text_[after] != '^') return parse_number(number, true);
    }
    parse_unary();
    emit(Op::kNegate, 1);
  }

  void parse_power() {
    parse_atom();
    if (fault_ || !at_sign("^")) return;
    const Nested nested(*this);
    if (fault_) return;
    next();
    parse_unary();
    emit(Op::kPow, 2);
  }

  void parse_number(Token token, bool negative) {
    std::string digits = negative ? "-" : "";
    Int128 scale = 1;
    bool fits = true, fraction = false;
    for (char c : token.text) {
      if (c == '.') {
        fraction = true;
        continue;
      }
      digits += c;
      if (!fraction) continue;
      const std::optional<Int128> next_scale = base::checked_mul(scale, 10);
      fits = fits && next_scale.has_value();
      if (next_scale) scale = *next_scale;
    }
    const std::optional<Int128> num = base::parse_int128(digits);
    const std::optional<Rational> value = num && fits ? make_rational(*num, scale) : std::nullopt;
    if (!value) {
      fail(token.start, token.text.size(), "a number that passes 128 bits", "at most 2^127 - 1", "");
      return;
    }
    next();
    if (!fault_ && token_.kind == Token::kName && token_.start == token.start + token.text.size()) {
      const bool exponent = token_.text.size() > 1 && (token_.text[0] == 'e' || token_.text[0] == 'E');
      fail(token_.start, token_.text.size(), fmt::format("'{}' directly after a number", token_.text),
           "an operator", exponent ? "write 10^n for a power of ten" : "write * between factors");
      return;
    }
    const auto known = std::find(constants_.begin(), constants_.end(), *value);
    const uint32_t index = static_cast<uint32_t>(known - constants_.begin());
    if (known == constants_.end()) constants_.push_back(*value);
    emit({.op = Op::kConstant, .count = 0, .index = index}, 0);
  }

  void parse_atom() {
    if (fault_) return;
    if (token_.kind == Token::kNumber) return parse_number(token_, false);
    if (token_.kind == Token::kName && !is_word(token_.text)) return parse_name();
    if (!at_sign("(")) {
      unexpected("a number, a name or '('");
      return;
    }
    const Nested nested(*this);
    if (fault_) return;
    const size_t open = token_.start;
    next();
    parse_or();
    if (!fault_) close_parenthesis(open);
  }

  void close_parenthesis(size_t open) {
    if (at_sign(")")) return next();
    if (token_.kind == Token::kEnd)
      fail(open, 1, "a '(' that nothing closes", "')' before the end of the formula", "");
    else
      unexpected("an operator or ')'");
  }

  void parse_name() {
    const Token name = token_;
    next();
    if (fault_) return;
    const Function* function = find_function(name.text);
    if (!at_sign("(")) {
      if (function) {
        fail(name.start, name.text.size(), fmt::format("the function {} without its arguments", name.text),
             "'(' after it", "");
        return;
      }
      const auto known = std::find(names_.begin(), names_.end(), name.text);
      const uint32_t index = static_cast<uint32_t>(known - names_.begin());
      if (known == names_.end()) names_.emplace_back(name.text);
      emit({.op = Op::kName, .count = 0, .index = index}, 0);
      return;
    }
    if (!function) {
      std::vector<std::string> all;
      for (const Function& f : kFunctions) all.emplace_back(f.name);
      std::string fix = base::did_you_mean(name.text, all);
      if (fix.empty() && name.text == "ceil") fix = "write ceil_div(a, b)";
      if (fix.empty()) fix = "write * between factors if it is a name";
      fail(name.start, name.text.size(), fmt::format("unknown function '{}'", name.text),
           "ceil_div, floor_div, max, min, pow or select", std::move(fix));
      return;
    }
    const Nested nested(*this);
    if (fault_) return;
    const size_t open = token_.start;
    next();
    uint32_t count = 0;
    if (!at_sign(")")) {
      while (!fault_) {
        parse_or();
        ++count;
        if (fault_ || !at_sign(",")) break;
        next();
      }
    }
    if (fault_) return;
    if (!at_sign(")")) {
      if (token_.kind == Token::kEnd)
        fail(open, 1, "a '(' that nothing closes", "',' or ')' before the end of the formula", "");
      else
        unexpected("an operator, ',' or ')'");
      return;
    }
    if (count < function->least || count > function->most) {
      const std::string wanted = function->most == kAny ? fmt::format("at least {}", function->least)
                                                        : fmt::format("{}", function->least);
      fail(name.start, name.text.size(),
           fmt::format("{} with {} argument{}", name.text, count, count == 1 ? "" : "s"), wanted, "");
      return;
    }
    next();
    emit(function->op, count);
  }

  std::string_view text_;
  base::Span at_;
  std::vector<std::string>& names_;
  std::vector<Rational>& constants_;
  std::vector<Step>& steps_;
  size_t place_ = 0;
  Token token_;
  int nesting_ = 0;
  size_t height_ = 0, deepest_ = 0;
  std::optional<Diagnostic> fault_;
};

// A value on the stack: a rational while everything below it is constant, else a node.
struct Value {
  Rational constant;
  uint32_t id = 0;
  bool is_node = false;
};

class Machine {
 public:
  Machine(Store& store, Value* stack) : store_(store), stack_(stack) {}

  void push(const Rational& constant) { stack_[size_++] = {constant, 0, false}; }
  void push(uint32_t node) {
    if (store_.is_constant(node))
      push(store_.value(node));
    else
      stack_[size_++] = {{}, node, true};
  }

  void run(const Step& step) {
    Value* in = stack_ + (size_ - step.count);
    Value* end = stack_ + size_;
    size_ -= step.count;
    const bool constant = std::none_of(in, end, [](const Value& v) { return v.is_node; });
    switch (step.op) {
      case Op::kConstant:
      case Op::kName:
        break;
      case Op::kNegate:
        return constant ? fold_chain(Kind::kAdd, zero_minus(in), 2, 2) : push(store_.negate(in->id));
      case Op::kSum:
        return constant ? fold_chain(Kind::kAdd, in, step.count, step.inverted) : chain(in, step);
      case Op::kProduct:
        return constant ? fold_chain(Kind::kMul, in, step.count, step.inverted) : chain(in, step);
      case Op::kFloorDiv:
        return call(Kind::kFloorDiv, in, step.count, constant);
      case Op::kMod:
        return call(Kind::kMod, in, step.count, constant);
      case Op::kCeilDiv:
        return call(Kind::kCeilDiv, in, step.count, constant);
      case Op::kPow:
        return call(Kind::kPow, in, step.count, constant);
      case Op::kMin:
        return call(Kind::kMin, in, step.count, constant);
      case Op::kMax:
        return call(Kind::kMax, in, step.count, constant);
      case Op::kSelect:
        return select(in[0], in[1], in[2]);
      case Op::kLess:
        return call(Kind::kLess, in, step.count, constant);
      case Op::kLessEqual:
        return call(Kind::kLessEqual, in, step.count, constant);
      case Op::kEqual:
        return call(Kind::kEqual, in, step.count, constant);
      case Op::kNotEqual:
        call(Kind::kEqual, in, step.count, constant);
        return one_minus(stack_[--size_]);
      case Op::kNot:
        return negation(in[0]);
      case Op::kAnd:
        return select(in[0], truth(in[1]), {{0, 1}, 0, false});
      case Op::kOr:
        return select(in[0], {{1, 1}, 0, false}, truth(in[1]));
    }
  }

  uint32_t result() { return node(stack_[0]); }

 private:
  uint32_t node(const Value& v) { return v.is_node ? v.id : store_.constant(v.constant); }

  const Value* zero_minus(const Value* in) {
    pair_ = {Value{{0, 1}, 0, false}, *in};
    return pair_.data();
  }

  void fold_chain(Kind kind, const Value* in, uint32_t count, uint64_t inverted) {
    Rational out = in[0].constant;
    for (uint32_t i = 1; i < count; ++i) {
      const Rational& operand = in[i].constant;
      const bool inverse = (inverted >> i & 1) != 0;
      const std::optional<Rational> next = kind == Kind::kAdd
                                               ? (inverse ? subtract(out, operand) : add(out, operand))
                                           : inverse ? divide(out, operand)
                                                     : multiply(out, operand);
      if (!next) return push(store_.error(chain_fault(kind, out, operand, inverse)));
      out = *next;
    }
    push(out);
  }

  static std::string chain_fault(Kind kind, const Rational& a, const Rational& b, bool inverse) {
    if (kind == Kind::kMul && inverse && b.num == 0) return to_string(a) + " / 0 divides by zero";
    const std::string_view what =
        kind == Kind::kAdd ? (inverse ? "difference" : "sum") : (inverse ? "quotient" : "product");
    return fmt::format("the {} of {} and {} overflows 128 bits", what, to_string(a), to_string(b));
  }

  void chain(const Value* in, const Step& step) {
    std::array<uint32_t, kMaxChain> ids;
    for (uint32_t i = 0; i < step.count; ++i) {
      uint32_t id = node(in[i]);
      if ((step.inverted >> i & 1) != 0)
        id = step.op == Op::kSum ? store_.negate(id) : store_.divide(Store::kOne, id);
      ids[i] = id;
    }
    const Ids operands{ids.data(), step.count};
    push(step.op == Op::kSum ? store_.add(operands) : store_.mul(operands));
  }

  void call(Kind kind, const Value* in, uint32_t count, bool constant) {
    if (constant && count == 2) {
      const std::array values{in[0].constant, in[1].constant};
      if (const std::optional<Rational> out = compute(kind, values)) return push(*out);
      return push(store_.error(fault_of(kind, values)));
    }
    std::vector<uint32_t> ids(count);
    for (uint32_t i = 0; i < count; ++i) ids[i] = node(in[i]);
    push(store_.make(kind, ids));
  }

  void select(const Value& condition, const Value& then, const Value& otherwise) {
    if (!condition.is_node) {
      const Value chosen = condition.constant.num != 0 ? then : otherwise;
      stack_[size_++] = chosen;
      return;
    }
    const uint32_t c = node(condition), a = node(then), b = node(otherwise);
    push(store_.select(c, a, b));
  }

  void one_minus(const Value& v) {
    if (!v.is_node) return push(Rational{v.constant.num == 0 ? 1 : 0, 1});
    push(store_.subtract(Store::kOne, v.id));
  }

  // Not of a comparison is another comparison; of anything else, whether it is zero.
  void negation(const Value& v) {
    if (!v.is_node) return push(Rational{v.constant.num == 0 ? 1 : 0, 1});
    const Ids operands = store_.operands(v.id);
    const Kind kind = store_.kind(v.id);
    if (kind == Kind::kLess) return push(store_.less_equal(operands[1], operands[0]));
    if (kind == Kind::kLessEqual) return push(store_.less(operands[1], operands[0]));
    if (store_.is_boolean(v.id)) return push(store_.subtract(Store::kOne, v.id));
    push(store_.equal(v.id, Store::kZero));
  }

  // 0 or 1: whether it is not zero.
  Value truth(const Value& v) {
    if (!v.is_node) return {{v.constant.num != 0 ? 1 : 0, 1}, 0, false};
    if (store_.is_boolean(v.id) || store_.is_error(v.id)) return v;
    const uint32_t id = store_.subtract(Store::kOne, store_.equal(v.id, Store::kZero));
    if (store_.is_constant(id)) return {store_.value(id), 0, false};
    return {{}, id, true};
  }

  Store& store_;
  Value* stack_;
  size_t size_ = 0;
  std::array<Value, 2> pair_;
};

constexpr size_t kInlineStack = 16;

template <typename ValueOf>
uint32_t run(const std::vector<Step>& steps, const std::vector<Rational>& constants, size_t depth,
             Store& store, ValueOf value_of) {
  std::array<Value, kInlineStack> inline_stack;
  std::vector<Value> heap;
  Value* stack = inline_stack.data();
  if (depth > kInlineStack) {
    heap.resize(depth);
    stack = heap.data();
  }
  Machine machine(store, stack);
  for (const Step& step : steps) {
    if (step.op == Op::kConstant)
      machine.push(constants[step.index]);
    else if (step.op == Op::kName)
      machine.push(value_of(step.index));
    else
      machine.run(step);
  }
  return machine.result();
}

}  // namespace

base::Result<Formula> Formula::parse(std::string_view text, const base::Span& at) {
  auto steps = std::make_shared<Steps>();
  steps->text = std::string(text);
  steps->at = at;
  Parser parser(steps->text, at, steps->names, steps->constants, steps->steps);
  if (std::optional<Diagnostic> fault = parser.parse()) return *std::move(fault);
  steps->depth = parser.deepest();
  Formula out;
  out.steps_ = std::move(steps);
  return out;
}

const std::string& Formula::text() const {
  return steps_->text;
}
const base::Span& Formula::at() const {
  return steps_->at;
}
const std::vector<std::string>& Formula::names() const {
  return steps_->names;
}

Expr Formula::instantiate(ExprPool& pool,
                          const std::function<std::optional<Expr>(std::string_view)>& value_of) const {
  assert(steps_ && "an empty formula has no value");
  Store& store = PoolAccess::store(pool);
  const Steps& s = *steps_;
  const auto of_name = [&](uint32_t index) {
    const std::optional<Expr> value = value_of(s.names[index]);
    if (!value) return store.error(fmt::format("'{}' is not known here", s.names[index]));
    assert(value->pool() == &pool && "a name is replaced by an expression of the pool");
    return value->id();
  };
  return {&pool, run(s.steps, s.constants, s.depth, store, of_name)};
}

Expr Formula::instantiate(ExprPool& pool, std::span<const Expr> values) const {
  assert(steps_ && "an empty formula has no value");
  assert(values.size() == steps_->names.size() && "one value per name, in the order of names()");
  const auto of_name = [&](uint32_t index) { return values[index].id(); };
  return {&pool, run(steps_->steps, steps_->constants, steps_->depth, PoolAccess::store(pool), of_name)};
}

}  // namespace archlight::expr
