// result.h: a value or the diagnostics that say why there is none. Faults in input travel here; broken
// invariants assert.
#pragma once

#include <cassert>
#include <utility>
#include <variant>
#include <vector>

#include "base/diagnostic.h"

namespace archlight::base {

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Diagnostic fault) : state_(std::vector<Diagnostic>{std::move(fault)}) {}
  Result(std::vector<Diagnostic> faults) : state_(std::move(faults)) {
    assert(!std::get<1>(state_).empty() && "a failed Result says why");
  }

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  // By value, so that a part of a temporary result can be kept.
  T value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const std::vector<Diagnostic>& faults() const { return std::get<1>(state_); }

 private:
  std::variant<T, std::vector<Diagnostic>> state_;
};

// A check that yields nothing but faults; empty means it passed.
using Faults = std::vector<Diagnostic>;

inline void append(Faults& to, const Faults& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace archlight::base
