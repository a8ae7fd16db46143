#include "truth/internal/assemble.h"

#include <fmt/format.h>

#include <algorithm>

#include "truth/internal/faults.h"
#include "truth/internal/name_set.h"

namespace archlight::truth {

base::Faults check_distinct(const std::string& place, const Truth& truth) {
  base::Faults faults;
  if (truth.shards.size() < 2) return faults;
  NameSet names(truth.tensors, truth.tensors.size());
  for (uint32_t row = 0; row < truth.tensors.size() && faults.size() < 20; ++row)
    if (names.add(row) == NameSet::Added::kDuplicate)
      faults.push_back(
          file_fault(place + truth.shards[truth.tensors.row(row).shard].name,
                     fmt::format("the tensor '{}' stands in '{}' too", short_name(truth.tensors.name(row)),
                                 truth.shards[truth.tensors.row(names.last_found()).shard].name),
                     "each tensor in one shard"));
  return faults;
}

base::Faults compare_index(const std::string& shown_as, const Index& index, const Truth& truth) {
  base::Faults faults;
  NameSet names(truth.tensors, truth.tensors.size());
  for (uint32_t row = 0; row < truth.tensors.size(); ++row) names.add(row);
  const auto fault = [&](std::string wrong, std::string expected) {
    if (faults.size() < 20) faults.push_back(file_fault(shown_as, std::move(wrong), std::move(expected)));
  };
  for (size_t i = 0; i < index.names.size(); ++i) {
    const int64_t row = names.find(index.names[i]);
    const std::string& said = index.shards[index.shard_of[i]];
    if (row < 0) {
      fault(fmt::format("weight_map['{}'] is '{}', whose header has no such tensor",
                        short_name(index.names[i]), said),
            "the shard that holds it");
    } else if (const std::string& held = truth.shards[truth.tensors.row(static_cast<size_t>(row)).shard].name;
               held != said) {
      fault(fmt::format("weight_map['{}'] is '{}', but the tensor is in '{}'", short_name(index.names[i]),
                        said, held),
            "the shard that holds it");
    }
  }
  for (size_t row = 0; row < truth.tensors.size(); ++row)
    if (!std::binary_search(index.names.begin(), index.names.end(), truth.tensors.name(row)))
      fault(fmt::format("weight_map lacks the tensor '{}' of '{}'", short_name(truth.tensors.name(row)),
                        truth.shards[truth.tensors.row(row).shard].name),
            "every tensor of the shards");
  return faults;
}

void note_index_total(Truth& truth) {
  const base::Int128 total = truth.tensors.total_bytes();
  if (truth.index_total_bytes && *truth.index_total_bytes != total)
    truth.notes.push_back(fmt::format("the index's total_size {} is wrong: the headers hold {} bytes",
                                      base::with_commas(*truth.index_total_bytes), base::with_commas(total)));
}

}  // namespace archlight::truth
