// snapshot_form.h: the words of a snapshot file, shared by its writer and its reader.
#pragma once

#include <cstddef>

namespace archlight::truth {

inline constexpr int kSnapshotFormat = 1;
inline constexpr const char* kSnapshotEnd = ".json.zst";
inline constexpr const char* kCatalogueFile = "catalogue.tsv.zst";
inline constexpr const char* kCatalogueHead =
    "id\tparameter_count\tsha\tgated\thas_safetensors\tlicense\tbase_models";
inline constexpr size_t kCatalogueFields = 7;

}  // namespace archlight::truth
