// folder.h: a model as its publisher laid it out on disk, and a single tensor file.
//
// Reads   config.json, hf_quant_config.json, and the first of: an index with its shards, model.safetensors, a whole
//         numbered set without an index, the folder's only .safetensors file, its only .gguf file or set, a PyTorch .bin index
//         (names only).
// Levels  header where every shard is there; index where only the index is, or where the shards are Git LFS pointers
//         (which give file sizes); config where no weights are described.
// Errors  Some shards of an index missing, an index that disagrees with the shards' headers, a name in two shards.
#pragma once

#include <string>

#include "base/result.h"
#include "truth/truth.h"

namespace archlight::truth {

base::Result<Truth> read_folder(const std::string& folder);
base::Result<Truth> read_tensor_file(const std::string& path);
// A .gguf file; of "x-00001-of-00003.gguf" and its like the whole set, which must be there.
base::Result<Truth> read_gguf_files(const std::string& path);

// The last name of a path; of the folder it stands for where that is "." or "..".
std::string folder_name(const std::string& folder);

// Configs, indexes and tensor files that are there and cannot be read as files: links to nothing, folders, pipes. They
// are faults, since what is there must not pass for absent.
base::Faults refuse_irregular(const std::string& folder);

// config.json and hf_quant_config.json of a folder, where they exist.
base::Faults read_configs(const std::string& folder, Truth& into);

}  // namespace archlight::truth
