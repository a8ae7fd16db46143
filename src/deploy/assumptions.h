// assumptions.h: what an estimate takes for granted, as a named set in specs/assumptions/NAME.yaml.
//
// Keys    label, source
//         usable_memory   the part of a GPU's memory that weights, activations and cache may fill
//         reserved_bytes  of that part, what the engine itself keeps
//         memory_bytes_per_s, link_bytes_per_s   {gpu id: rate}, where the set differs from the GPU's own file
//         dispatch, combine  {bytes_per_element, bytes_per_token, copies}: what one token's vector costs on the wire, and
//                         how often it is sent: `experts` once per chosen expert, `ranks` once per GPU that has any of
//                         them (expected, experts chosen alike)
//         collective_latency_s   added to every collective
// Units   Bytes, bytes/s, seconds, fractions.
// Errors  At the file's line.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace archlight::deploy {

struct WireFormat {
  double bytes_per_element = 2, bytes_per_token = 0;
  bool once_per_rank = false;
};

struct Assumptions {
  std::string name, label, source;
  double usable_memory = 0.9;
  double reserved_bytes = 0;
  std::map<std::string, double> memory_bytes_per_s, link_bytes_per_s;
  WireFormat dispatch, combine;
  double collective_latency_s = 0;
};

// A file of `folder` (specs/assumptions); a fault names the nearest.
base::Result<Assumptions> load_assumptions(const std::string& folder, const std::string& name);

}  // namespace archlight::deploy
