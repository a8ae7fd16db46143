#include "truth/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "truth/internal/faults.h"

namespace archlight::truth {

using base::Json;

bool plain_file_name(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

base::Result<Index> parse_index(const std::string& text, const std::string& shown_as) {
  base::Result<std::shared_ptr<const Json>> parsed = base::parse_json(text, shown_as);
  if (!parsed) return parsed.faults();
  const Json& root = **parsed;
  if (!root.is_object())
    return file_fault(shown_as, "the index is no JSON object", "{\"metadata\": ..., \"weight_map\": ...}");
  const auto map = root.find("weight_map");
  if (map == root.end() || !map->is_object() || map->empty())
    return file_fault(shown_as, "the index has no weight_map with entries",
                      "\"weight_map\": {tensor: shard file}");

  Index index;
  base::Faults faults;
  index.names.reserve(map->size());
  for (const auto& [name, shard] : map->items()) {
    if (faults.size() >= 20) break;
    if (!shard.is_string()) {
      faults.push_back(file_fault(shown_as, "weight_map['" + short_name(name) + "'] is not a string",
                                  "the name of a shard file"));
      continue;
    }
    const std::string& file = shard.get_ref<const std::string&>();
    if (!plain_file_name(file)) {
      faults.push_back(file_fault(
          shown_as, "weight_map['" + short_name(name) + "'] names the file '" + short_name(file) + "'",
          "a plain file name in the same folder"));
      continue;
    }
    index.names.push_back(name);
    index.shards.push_back(file);
  }
  if (!faults.empty()) return faults;
  // The parser's objects are ordered maps, so names are sorted; shards become a sorted set of numbers.
  std::vector<std::string> files = index.shards;
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  for (const std::string& file : index.shards)
    index.shard_of.push_back(
        static_cast<uint32_t>(std::lower_bound(files.begin(), files.end(), file) - files.begin()));
  index.shards = std::move(files);

  const auto metadata = root.find("metadata");
  if (metadata == root.end() || metadata->is_null()) {
    index.notes.push_back("the index has no metadata, so no total of bytes");
    return index;
  }
  if (!metadata->is_object())
    return file_fault(shown_as, "the index's metadata is no object", "{\"total_size\": bytes}");
  const auto total = metadata->find("total_size");
  if (total == metadata->end()) {
    index.notes.push_back("the index's metadata has no total_size");
  } else if (total->is_number_unsigned()) {
    index.total_bytes = total->get<uint64_t>();
  } else if (total->is_number_float() && total->get<double>() >= 0 &&
             total->get<double>() < 9007199254740992.0 &&
             std::floor(total->get<double>()) == total->get<double>()) {
    // Below 2^53 a float without a fraction is an exact count.
    index.total_bytes = static_cast<base::Int128>(total->get<double>());
    index.notes.push_back(
        "the index writes total_size as a float; some writers count a BOOL element as an eighth of a byte");
  } else {
    return file_fault(shown_as, "the index's total_size is " + short_name(total->dump()),
                      "a whole number of bytes");
  }
  return index;
}

}  // namespace archlight::truth
