// name_set.h: the names of a TensorTable as a hash set of row numbers, so that a name is stored once.
//
// Method  Open addressing over a power of two of slots, at most half full. A slot keeps the upper half of the hash
//         beside the row, so a name is compared only where 32 bits already agree. The hash is seeded per process from
//         nothing secret: a crafted file can slow it down but bounded by kMaxProbes, past which the caller is told
//         and treats the file as hostile.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "truth/truth.h"

namespace archlight::truth {

// Sixteen bytes a step: the halves of their 128-bit product, folded.
inline uint64_t hash_name(std::string_view name) {
  constexpr uint64_t kFirst = 0x9e3779b97f4a7c15ULL, kSecond = 0xff51afd7ed558ccdULL;
  uint64_t hash = kFirst ^ name.size();
  const auto mix = [&](uint64_t a, uint64_t b) {
    const base::UInt128 product = static_cast<base::UInt128>(a ^ hash) * (b ^ kSecond);
    hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ kFirst;
  };
  const char* at = name.data();
  size_t left = name.size();
  uint64_t words[2];
  for (; left >= 16; at += 16, left -= 16) {
    std::memcpy(words, at, 16);
    mix(words[0], words[1]);
  }
  words[0] = words[1] = 0;
  std::memcpy(words, at, left);
  mix(words[0], words[1]);
  mix(hash >> 32, hash);
  return hash;
}

class NameSet {
 public:
  static constexpr int kMaxProbes = 512;
  enum class Added { kNew, kDuplicate, kCrowded };

  NameSet(const TensorTable& table, size_t expected) : table_(table) {
    size_t slots = 64;
    while (slots < 2 * expected) slots *= 2;
    slots_.assign(slots, Slot{});
  }

  // Adds row `row`, which the table already holds.
  Added add(uint32_t row) { return add(row, hash_name(table_.name(row))); }
  Added add(uint32_t row, uint64_t hash) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    size_t at = hash & (slots_.size() - 1);
    for (int probe = 0; probe < kMaxProbes; ++probe, at = (at + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[at];
      if (slot.row == kEmpty) {
        slot = {row, static_cast<uint32_t>(hash >> 32)};
        ++count_;
        return Added::kNew;
      }
      if (slot.tag == static_cast<uint32_t>(hash >> 32) && table_.name(slot.row) == table_.name(row)) {
        last_found_ = slot.row;
        return Added::kDuplicate;
      }
    }
    return Added::kCrowded;
  }

  void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]); }

  // The row of a name, or -1.
  int64_t find(std::string_view name) const {
    const uint64_t hash = hash_name(name);
    size_t at = hash & (slots_.size() - 1);
    for (int probe = 0; probe < kMaxProbes; ++probe, at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.row == kEmpty) return -1;
      if (slot.tag == static_cast<uint32_t>(hash >> 32) && table_.name(slot.row) == name) return slot.row;
    }
    return -1;
  }

  // After kDuplicate: the row that held the name before.
  uint32_t last_found() const { return last_found_; }

 private:
  static constexpr uint32_t kEmpty = UINT32_MAX;
  struct Slot {
    uint32_t row = kEmpty;
    uint32_t tag = 0;
  };

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.row == kEmpty) continue;
      size_t at = hash_name(table_.name(slot.row)) & (slots_.size() - 1);
      while (slots_[at].row != kEmpty) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  const TensorTable& table_;
  std::vector<Slot> slots_;
  size_t count_ = 0;
  uint32_t last_found_ = 0;
};

}  // namespace archlight::truth
