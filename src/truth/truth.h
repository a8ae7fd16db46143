// truth.h: what upstream published about one model, and how much of it is known.
//
// Levels  header  every tensor's name, dtype, shape and byte range
//         index   every tensor's name and the exact total of data bytes
//         count   the stored element total, recorded by the hub
//         config  nothing but the config
// Errors  A malformed file is a fault at its place; a missing one names what was looked for and where.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/int128.h"
#include "base/json.h"
#include "base/result.h"

namespace archlight::truth {

class Source;

enum class Level { kConfig, kCount, kIndex, kHeader };
std::string_view level_name(Level level);

// Every tensor of a checkpoint in one arena: names in one string, shapes in one vector.
class TensorTable {
 public:
  struct Row {
    uint64_t name_begin = 0;
    uint32_t name_length = 0;
    base::Dtype dtype = base::Dtype::kBF16;
    uint8_t rank = 0;
    uint32_t shape_begin = 0;
    uint32_t shard = 0;
    uint64_t begin = 0;  // byte range inside the shard's data section
    uint64_t end = 0;
  };

  size_t size() const { return rows_.size(); }
  std::string_view name(size_t i) const {
    return std::string_view(names_).substr(rows_[i].name_begin, rows_[i].name_length);
  }
  base::Dtype dtype(size_t i) const { return rows_[i].dtype; }
  std::span<const uint64_t> shape(size_t i) const {
    return {shapes_.data() + rows_[i].shape_begin, rows_[i].rank};
  }
  uint64_t bytes(size_t i) const { return rows_[i].end - rows_[i].begin; }
  const Row& row(size_t i) const { return rows_[i]; }
  base::Int128 total_bytes() const;

  // `bytes` may be absent (dtype width times shape); shards are numbered by the caller.
  void add(std::string_view name, base::Dtype dtype, std::span<const uint64_t> shape, uint64_t begin,
           uint64_t end, uint32_t shard);
  void reserve(size_t tensors, size_t name_bytes);

 private:
  std::string names_;
  std::vector<uint64_t> shapes_;
  std::vector<Row> rows_;
};

struct ShardFile {
  std::string name;
  std::optional<uint64_t> file_bytes;
};

struct Truth {
  std::string repo;                          // hub id, or the folder's name
  std::string revision;                      // commit, when known
  std::string origin;                        // "snapshot", "folder ...", "hub ...", in words for a person
  std::shared_ptr<const base::Json> config;  // null when none was published
  std::shared_ptr<const base::Json> quant_config;  // hf_quant_config.json, null when none
  std::shared_ptr<const base::Json> gguf;          // metadata of a GGUF file, null where there is none
  Level level = Level::kConfig;
  bool partial = false;  // header level of only a part of the tensors: totals cannot be checked

  TensorTable tensors;                            // level header
  std::vector<std::string> names;                 // level index, sorted
  std::optional<base::Int128> index_total_bytes;  // metadata.total_size of the index
  std::optional<base::Int128> recorded_elements;  // the hub's element total, see guard/count.h for its rules
  std::string recorded_elements_source;
  std::vector<ShardFile> shards;
  std::vector<std::string> notes;  // surprises worth a line in the output
  std::string card;                // the model card, README.md; empty where it is not at hand
  std::vector<std::shared_ptr<const Source>>
      sources;  // the forward source, as far as it is at hand (source.h)
};

struct OpenOptions {
  std::string home;        // folder of snapshots/; empty: base::home_folder()
  std::string revision;    // empty: the default branch
  bool offline = false;    // never ask the hub; what an earlier read left in its cache still counts
  bool hub_first = false;  // ask the hub even when a snapshot exists
  bool progress = true;    // lines on stderr while a hub read takes long
};

// MODEL is a hub id ("org/name"), a local folder (published files, or a record of data/checkpoints' form), a
// .safetensors or .gguf file, or a snapshot name ("org--name" or "org/name").
base::Result<Truth> open_truth(const std::string& model, const OpenOptions& options = {});

}  // namespace archlight::truth
