#include "truth/truth.h"

namespace archlight::truth {

std::string_view level_name(Level level) {
  switch (level) {
    case Level::kConfig:
      return "config";
    case Level::kCount:
      return "count";
    case Level::kIndex:
      return "index";
    case Level::kHeader:
      return "header";
  }
  return {};
}

base::Int128 TensorTable::total_bytes() const {
  base::Int128 total = 0;  // at most 2^32 rows of at most 2^64 bytes: no overflow
  for (const Row& row : rows_) total += row.end - row.begin;
  return total;
}

void TensorTable::add(std::string_view name, base::Dtype dtype, std::span<const uint64_t> shape,
                      uint64_t begin, uint64_t end, uint32_t shard) {
  Row row;
  row.name_begin = names_.size();
  row.name_length = static_cast<uint32_t>(name.size());
  row.dtype = dtype;
  row.rank = static_cast<uint8_t>(shape.size());
  row.shape_begin = static_cast<uint32_t>(shapes_.size());
  row.shard = shard;
  row.begin = begin;
  row.end = end;
  names_.append(name);
  for (uint64_t axis : shape) shapes_.push_back(axis);
  rows_.push_back(row);
}

void TensorTable::reserve(size_t tensors, size_t name_bytes) {
  names_.reserve(name_bytes);
  shapes_.reserve(tensors * 2);
  rows_.reserve(tensors);
}

}  // namespace archlight::truth
