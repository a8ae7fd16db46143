// The pool: one node per form, found by hash.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "expr/internal/store.h"

namespace archlight::expr {
namespace {

constexpr uint32_t kEmpty = UINT32_MAX;
constexpr size_t kBlock = 4096;

uint64_t mix(uint64_t seed, uint64_t value) {
  // The finalizer of splitmix64 over a running sum: cheap, and good enough for open addressing.
  uint64_t x = seed * 0x9e3779b97f4a7c15u + value;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint32_t hash_rational(const Rational& r) {
  uint64_t h = mix(1, static_cast<uint64_t>(r.num));
  const uint64_t top = static_cast<uint64_t>(r.num >> 64);
  if (top + 1 > 1) h = mix(h, top);  // neither 0 nor -1: more than 64 bits
  if (r.den != 1) h = mix(mix(h, static_cast<uint64_t>(r.den)), static_cast<uint64_t>(r.den >> 64));
  return static_cast<uint32_t>(h ^ (h >> 32));
}

uint32_t hash_text(uint64_t seed, std::string_view text) {
  uint64_t h = seed;
  for (unsigned char c : text) h = (h ^ c) * 0x100000001b3u;
  h = mix(seed, h);
  return static_cast<uint32_t>(h ^ (h >> 32));
}

uint32_t hash_operands(Kind kind, Ids operands) {
  uint64_t h = static_cast<uint64_t>(kind) + 2;
  for (uint32_t id : operands) h = mix(h, id);
  return static_cast<uint32_t>(h ^ (h >> 32));
}

int16_t saturate_degree(int64_t degree) {
  return static_cast<int16_t>(std::clamp<int64_t>(degree, INT16_MIN, INT16_MAX));
}

}  // namespace

ExprPool::Store::Store() : table(256, kEmpty) {
  nodes.reserve(128);
  constants.reserve(64);
  constant({0, 1});
  constant({1, 1});
  constant({-1, 1});
}

template <typename Matches>
size_t ExprPool::Store::find(uint32_t hash, Matches matches) const {
  const size_t mask = table.size() - 1;
  size_t slot = hash & mask;
  while (table[slot] != kEmpty && !(nodes[table[slot]].hash == hash && matches(nodes[table[slot]])))
    slot = (slot + 1) & mask;
  return slot;
}

void ExprPool::Store::grow() {
  std::vector<uint32_t> larger(table.size() * 2, kEmpty);
  const size_t mask = larger.size() - 1;
  for (uint32_t id = 0; id < nodes.size(); ++id) {
    size_t slot = nodes[id].hash & mask;
    while (larger[slot] != kEmpty) slot = (slot + 1) & mask;
    larger[slot] = id;
  }
  table = std::move(larger);
}

uint32_t ExprPool::Store::append(Node node, size_t slot) {
  const uint32_t id = static_cast<uint32_t>(nodes.size());
  nodes.push_back(node);
  table[slot] = id;
  if (nodes.size() * 2 > table.size()) grow();
  return id;
}

const uint32_t* ExprPool::Store::keep(Ids ids) {
  if (ids.size() > block_left_) {
    const size_t size = std::max(kBlock, ids.size());
    blocks_.push_back(std::make_unique<uint32_t[]>(size));
    block_next_ = blocks_.back().get();
    block_left_ = size;
  }
  uint32_t* out = block_next_;
  std::copy(ids.begin(), ids.end(), out);
  block_next_ += ids.size();
  block_left_ -= ids.size();
  return out;
}

uint32_t ExprPool::Store::constant(const Rational& value) {
  const uint32_t hash = hash_rational(value);
  const size_t slot =
      find(hash, [&](const Node& n) { return n.kind == Kind::kConstant && constants[n.payload] == value; });
  if (table[slot] != kEmpty) return table[slot];
  constants.push_back(value);
  return append({.kind = Kind::kConstant,
                 .integral = value.is_integer(),
                 .hash = hash,
                 .payload = static_cast<uint32_t>(constants.size() - 1)},
                slot);
}

uint32_t ExprPool::Store::symbol(std::string_view name, const Interval& bounds, bool integral) {
  const uint32_t hash = hash_text(3, name);
  const size_t slot =
      find(hash, [&](const Node& n) { return n.kind == Kind::kSymbol && symbols[n.payload].name == name; });
  if (table[slot] != kEmpty) return table[slot];
  symbols.push_back({std::string(name), bounds, integral});
  return append({.kind = Kind::kSymbol,
                 .integral = integral,
                 .degree = 1,
                 .hash = hash,
                 .payload = static_cast<uint32_t>(symbols.size() - 1)},
                slot);
}

uint32_t ExprPool::Store::error(std::string text) {
  const uint32_t hash = hash_text(5, text);
  const size_t slot =
      find(hash, [&](const Node& n) { return n.kind == Kind::kError && errors[n.payload] == text; });
  if (table[slot] != kEmpty) return table[slot];
  errors.push_back(std::move(text));
  return append({.kind = Kind::kError, .hash = hash, .payload = static_cast<uint32_t>(errors.size() - 1)},
                slot);
}

uint32_t ExprPool::Store::intern(Kind kind, Ids operands) {
  const uint32_t hash = hash_operands(kind, operands);
  size_t slot = find(hash, [&](const Node& n) {
    return n.kind == kind && n.count == operands.size() &&
           std::equal(operands.begin(), operands.end(), n.operands);
  });
  if (table[slot] != kEmpty) return table[slot];

  Node node{.kind = kind, .hash = hash, .count = static_cast<uint32_t>(operands.size())};
  uint32_t height = 0;
  uint64_t size = 1;
  bool all_integral = true;
  for (uint32_t id : operands) {
    const Node& operand = nodes[id];
    height = std::max<uint32_t>(height, operand.height + 1u);
    size += operand.tree_size;
    all_integral = all_integral && operand.integral;
  }
  if (height > kMaxHeight)
    return error(fmt::format("an expression nested deeper than {} levels", kMaxHeight));
  node.height = static_cast<uint16_t>(height);
  node.tree_size = static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
  node.degree = 1;
  node.integral = all_integral;
  switch (kind) {
    case Kind::kAdd: {
      int16_t degree = INT16_MIN;
      for (uint32_t id : operands) degree = std::max(degree, nodes[id].degree);
      node.degree = degree;
      break;
    }
    case Kind::kMul: {
      int64_t degree = 0;
      for (uint32_t id : operands) degree += nodes[id].degree;
      node.degree = saturate_degree(degree);
      break;
    }
    case Kind::kPow: {
      const uint32_t exponent = operands[1];
      if (is_constant(exponent)) {
        const base::Int128 n = std::clamp<base::Int128>(value(exponent).num, -100'000, 100'000);
        node.degree = saturate_degree(static_cast<int64_t>(n) * nodes[operands[0]].degree);
        node.integral = all_integral && n >= 0;
      } else {
        const Interval& range = bounds(exponent);
        node.integral = all_integral && range.low && range.low->num >= 0;
        slot = find(hash, [](const Node&) { return false; });  // bounds() may have made nodes
      }
      break;
    }
    case Kind::kSelect:
      node.integral = nodes[operands[1]].integral && nodes[operands[2]].integral;
      break;
    case Kind::kFloorDiv:
    case Kind::kCeilDiv:
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kEqual:
      node.integral = true;
      break;
    case Kind::kMod:
    case Kind::kMin:
    case Kind::kMax:
    case Kind::kConstant:
    case Kind::kSymbol:
    case Kind::kError:
      break;
  }
  node.operands = keep(operands);
  return append(node, slot);
}

ExprPool::ExprPool() : store_(std::make_unique<Store>()) {}
ExprPool::~ExprPool() = default;

namespace {
Interval at_least_one() {
  return {Rational{1, 1}, std::nullopt};
}
}  // namespace

Expr ExprPool::constant(base::Int128 value) {
  return {this, store_->constant({value, 1})};
}
Expr ExprPool::constant(const Rational& value) {
  return {this, store_->constant(value)};
}
Expr ExprPool::symbol(std::string_view name) {
  return {this, store_->symbol(name, at_least_one(), true)};
}
Expr ExprPool::symbol(std::string_view name, const Interval& bounds, bool integer) {
  return {this, store_->symbol(name, bounds, integer)};
}
Expr ExprPool::error(std::string text) {
  return {this, store_->error(std::move(text))};
}
size_t ExprPool::size() const {
  return store_->nodes.size();
}

Kind Expr::kind() const {
  return store_of(*this).kind(id_);
}
std::span<const uint32_t> Expr::operand_ids() const {
  return store_of(*this).operands(id_);
}
Expr Expr::operand(size_t i) const {
  return {pool_, store_of(*this).operands(id_)[i]};
}
size_t Expr::operand_count() const {
  return store_of(*this).node(id_).count;
}

std::optional<Rational> Expr::constant() const {
  const Store& store = store_of(*this);
  if (!store.is_constant(id_)) return std::nullopt;
  return store.value(id_);
}

std::optional<base::Int128> Expr::integer() const {
  const Store& store = store_of(*this);
  if (!store.is_constant(id_) || !store.value(id_).is_integer()) return std::nullopt;
  return store.value(id_).num;
}

bool Expr::is_zero() const {
  return pool_ && id_ == Store::kZero;
}
bool Expr::is_one() const {
  return pool_ && id_ == Store::kOne;
}

std::string_view Expr::symbol_name() const {
  assert(kind() == Kind::kSymbol && "only a symbol has a name");
  return store_of(*this).symbol_info(id_).name;
}

std::string Expr::error_text() const {
  assert(is_error() && "only an error has a text");
  const Store& store = store_of(*this);
  return store.errors[store.node(id_).payload];
}

bool is_integral(Expr e) {
  return store_of(e).node(e.id()).integral;
}

}  // namespace archlight::expr
