// gpu.h: one accelerator as published, from specs/gpus/NAME.yaml.
//
// Keys    name, vendor, memory_bytes, memory_bandwidth_bytes_per_s, peak_dense_flops_per_s {dtype: rate},
//         where published, link_bytes_per_s (per accelerator and direction over all its scale-up links), gpus_per_node, gpus_per_domain
//         (accelerators that reach each other over that link), network_bytes_per_s (per accelerator and direction between
//         domains), l2_bytes, pcie_bytes_per_s, tdp_w, note, sources, derived, alternatives, prices.
// Units   Bytes, bytes/s, FLOP/s without sparsity (one multiply-add is 2), watts, US dollars an hour.
// Errors  At the file's line: a missing or unknown key, a rate that is no positive number, an id without a file.
// Source  Each file's own `sources`; where sources differ, `alternatives` keeps the others.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace archlight::deploy {

struct GpuPrice {
  double usd_per_gpu_hour = 0;
  std::string kind, source;
};

struct Gpu {
  std::string id, name, vendor, note;
  int64_t memory_bytes = 0;
  double memory_bytes_per_s = 0;
  std::map<std::string, double> peak_flops_per_s;  // by dtype: bf16, fp8, fp4, int8, ...
  double link_bytes_per_s = 0;                     // 0: none
  double network_bytes_per_s = 0;                  // 0: none
  int64_t gpus_per_node = 1, gpus_per_domain = 1;
  double tdp_w = 0;  // 0: not known
  std::map<std::string, std::string> sources;
  std::vector<GpuPrice> prices;

  // The dense rate of a matrix product in this dtype; none where the chip has none.
  std::optional<double> peak(const std::string& dtype) const;
};

// Every file of `folder` (specs/gpus), by id.
base::Result<std::map<std::string, Gpu>> load_gpus(const std::string& folder);
// One of them; a fault names the nearest.
base::Result<Gpu> find_gpu(const std::string& folder, const std::string& id);

}  // namespace archlight::deploy
