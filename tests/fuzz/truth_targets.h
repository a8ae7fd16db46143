// truth_targets.h: what the fuzz targets of the truth room do with one input. The targets run these under a
// coverage guide, the truth room's tests with seeded mutations. A broken property aborts with the input's
// size.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/json.h"
#include "truth/index.h"
#include "truth/internal/record_parts.h"
#include "truth/safetensors.h"

namespace archlight::truth {

inline void require(bool holds, const char* property, const std::string& input) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s, on %zu bytes:\n", property, input.size());
  for (unsigned char c : input.substr(0, 4000))
    std::fprintf(stderr, c >= 0x20 && c < 0x7f ? "%c" : "\\x%02x", c);
  std::fprintf(stderr, "\n");
  std::abort();
}

struct ReferenceTensor {
  std::string name;
  base::Dtype dtype = base::Dtype::kU8;
  std::vector<uint64_t> shape;
  uint64_t begin = 0, end = 0;
};

// The format's rules over a general JSON parser, as plainly as they can be said; none when a rule is broken.
inline std::optional<std::vector<ReferenceTensor>> reference_header(const std::string& json,
                                                                    uint64_t data_bytes) {
  if (json.empty() || json[0] != '{') return std::nullopt;
  const std::string text = json.substr(0, json.find_last_not_of(' ') + 1);
  if (text.back() != '}') return std::nullopt;
  const base::Result<std::shared_ptr<const base::Json>> document = base::parse_json(text, "reference");
  if (!document || !(*document)->is_object()) return std::nullopt;
  std::vector<ReferenceTensor> out;
  for (const auto& [name, entry] : (*document)->items()) {
    if (name == "__metadata__") {
      if (entry.is_null()) continue;
      if (!entry.is_object()) return std::nullopt;
      for (const auto& [key, value] : entry.items())
        if (!value.is_string()) return std::nullopt;
      continue;
    }
    if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry.contains("shape") ||
        !entry.contains("data_offsets"))
      return std::nullopt;
    const base::Json &dtype = entry["dtype"], &shape = entry["shape"], &offsets = entry["data_offsets"];
    if (!dtype.is_string() || !shape.is_array() || shape.size() > 32 || !offsets.is_array() ||
        offsets.size() != 2)
      return std::nullopt;
    if (!offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned()) return std::nullopt;
    const std::optional<base::Dtype> known = base::dtype_from_name(dtype.get<std::string>());
    if (!known) return std::nullopt;
    ReferenceTensor tensor{name, *known, {}, offsets[0].get<uint64_t>(), offsets[1].get<uint64_t>()};
    base::UInt128 elements = 1;
    bool empty = false;
    for (const base::Json& axis : shape) {
      if (!axis.is_number_unsigned()) return std::nullopt;
      tensor.shape.push_back(axis.get<uint64_t>());
      if (tensor.shape.back() == 0)
        empty = true;
      else
        elements *= tensor.shape.back();
      if (elements > UINT64_MAX) return std::nullopt;
    }
    const base::UInt128 bits = (empty ? 0 : elements) * static_cast<unsigned>(base::dtype_bits(*known));
    if (tensor.begin > tensor.end || bits % 8 != 0 || bits / 8 != tensor.end - tensor.begin)
      return std::nullopt;
    out.push_back(std::move(tensor));
  }
  std::sort(out.begin(), out.end(), [](const ReferenceTensor& a, const ReferenceTensor& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t covered = 0;
  for (const ReferenceTensor& tensor : out) {
    if (tensor.begin != covered) return std::nullopt;
    covered = tensor.end;
  }
  if (covered != data_bytes) return std::nullopt;
  return out;
}

// The input is a whole file.
inline void fuzz_safetensors_header(const std::string& file) {
  TensorTable open_end;
  (void)parse_header(file, std::nullopt, "fuzz", 0, open_end);
  const base::Result<uint64_t> length =
      header_length(std::string_view(file).substr(0, 8), file.size(), "fuzz");
  if (!length) return;
  require(*length <= file.size() - 8, "a header lies in its file", file);
  const std::string json = file.substr(8, *length);
  const uint64_t data_bytes = file.size() - 8 - *length;
  TensorTable table;
  const base::Faults faults = parse_header(json, data_bytes, "fuzz", 3, table);
  for (const base::Diagnostic& fault : faults)
    require(fault.message().size() < 10'000, "messages are short", file);
  // A general reader takes NaN as Python writes it; a header has no place for it.
  if (json.find("NaN") != std::string::npos || json.find("Infinity") != std::string::npos) return;
  std::optional<std::vector<ReferenceTensor>> reference = reference_header(json, data_bytes);
  require(reference.has_value() == faults.empty(), "the header is accepted as the format's rules say", file);
  if (!reference) return;
  require(table.size() == reference->size(), "as many tensors", file);
  require(table.total_bytes() == base::Int128{data_bytes}, "the tensors fill the data", file);
  std::vector<size_t> order(table.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tuple(table.row(a).begin, table.row(a).end, table.name(a)) <
           std::tuple(table.row(b).begin, table.row(b).end, table.name(b));
  });
  for (size_t i = 0; i < order.size(); ++i) {
    const ReferenceTensor& expected = (*reference)[i];
    const std::span<const uint64_t> shape = table.shape(order[i]);
    require(table.name(order[i]) == expected.name && table.dtype(order[i]) == expected.dtype &&
                table.row(order[i]).begin == expected.begin && table.row(order[i]).end == expected.end &&
                std::equal(shape.begin(), shape.end(), expected.shape.begin(), expected.shape.end()),
            "the same tensors", file);
  }
}

// A text as a config, an index, a record's source and tables. What is read prints to a text that reads as the
// same.
inline void fuzz_config(const std::string& input) {
  const base::Result<std::shared_ptr<const base::Json>> json = base::parse_json(input, "fuzz");
  if (json) {
    const std::string printed = base::dump_json(**json);
    const base::Result<std::shared_ptr<const base::Json>> again = base::parse_json(printed, "fuzz");
    require(again.ok() && **again == **json && base::dump_json(**again) == printed,
            "a document prints and reads as itself", input);
    if ((*json)->is_object()) {
      Truth truth;
      (void)apply_source(**json, "org--name", "fuzz", truth);
    }
  } else {
    for (const base::Diagnostic& fault : json.faults())
      require(fault.render().size() < 10'000, "messages are short", input);
  }
  if (const base::Result<Index> index = parse_index(input, "fuzz")) {
    require(index->names.size() == index->shard_of.size() &&
                std::is_sorted(index->names.begin(), index->names.end()),
            "an index is sorted", input);
    for (uint32_t shard : index->shard_of) require(shard < index->shards.size(), "a shard has a name", input);
    for (const std::string& shard : index->shards)
      require(plain_file_name(shard), "a shard is in the folder", input);
  }
  TensorTable table;
  std::vector<ShardFile> shards;
  (void)parse_tensor_rows(input, "fuzz", table, shards);
  (void)parse_shard_rows(input, "fuzz", shards);
}

}  // namespace archlight::truth
