// rules.h: the rows of the simplifier.
//
// A rule takes a node whose operands are simplified and gives a form of the same value, or the node itself
// where it does not match. "Same" is wherever the node has a value: dividing out a common factor may give one
// also where that factor is zero.
#pragma once

#include <span>
#include <string_view>

#include "expr/internal/store.h"

namespace archlight::expr {

struct Rule {
  std::string_view name;
  std::string_view identity;
  Kind on;
  uint32_t (*rewrite)(Store& store, uint32_t id);
};

// Phases, in the order in which a node tries them.
std::span<const Rule> division_rules();
std::span<const Rule> choice_rules();
std::span<const Rule> sum_rules();

// The terms of a sum, or the one term that another form is.
inline Ids terms_of(const Store& store, const uint32_t& id) {
  return store.kind(id) == Kind::kAdd ? store.operands(id) : Ids{&id, 1};
}

// b - a is never negative; always positive.
bool never_above(Store& store, uint32_t a, uint32_t b);
bool always_below(Store& store, uint32_t a, uint32_t b);

}  // namespace archlight::expr
