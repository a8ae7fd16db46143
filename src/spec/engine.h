// engine.h: how an inference engine keeps a cache: its own entry formats and what it reserves.
//
// specs/engines/NAME.yaml
//   label, source
//   options   NAME: {default, min, meaning}: whole numbers that the engine is told on its command line
//   entries   rows of {kinds, grows, bytes, held, source}; a cache entry follows the first row that fits it, and is kept as
//             its component says where none does
//     kinds   kinds of entries; any when absent
//     grows   token, window, chunk, ratio, fixed; any when absent
//     bytes   of what one token adds to the entry in one layer, of a fixed state all of it
//     held    for how many tokens of the whole batch the engine keeps room; of a fixed state, how many states
//   buffers   NAME: {bytes, source}: tables that it makes beside the checkpoint's tensors, over max_context (as the config
//             states it), rope_width (channels of a head that rotate), model (bytes of the plain dtype) and the names
//             below but those of entries; left out where a model has no such value
// Names in formulas: elements (of one token's entry, or of the state), width (its last axis), rows (elements / width), B, s_ctx, tokens (of one request that the entry
//   holds), window (or chunk, in rows of these alone), dtypes (the bytes of one element), options, dims of dims.yaml.
// Errors  At the row: unknown growth, name or dtype, a value that no option may have.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/yaml.h"
#include "expr/formula.h"
#include "spec/component.h"

namespace archlight::spec {

struct EngineOption {
  std::string name, meaning;
  int64_t value = 0;  // the engine's own
  int64_t least = 1;
};

struct EngineEntry {
  std::vector<std::string> kinds;
  std::vector<CacheEntry::Growth> grows;
  expr::Formula bytes, held;  // empty: as the component says
  std::string source;

  bool fits(const std::string& kind, CacheEntry::Growth growth) const;
};

struct EngineBuffer {
  std::string name, source;
  expr::Formula bytes;
};

struct Engine {
  std::string name, label, source;
  base::Span at;
  std::vector<EngineOption> options;
  std::vector<EngineEntry> entries;
  std::vector<EngineBuffer> buffers;

  const EngineOption* option(std::string_view name) const;
  const EngineEntry* entry(const std::string& kind, CacheEntry::Growth growth) const;
};

base::Result<Engine> parse_engine(const base::Yaml& root, const std::string& name);
// Names in the engine's formulas that are none of the words above and no dim of the table.
base::Faults check_engine_names(const Engine& engine, const std::vector<std::string>& dims);

// Options of an engine as a command gives them: its own values where nothing is said.
// Errors  An option that it lacks, with the nearest; a value below the least.
base::Result<std::vector<EngineOption>> engine_options(const Engine& engine,
                                                       const std::map<std::string, int64_t>& given);

}  // namespace archlight::spec
