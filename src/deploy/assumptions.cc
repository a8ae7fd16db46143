#include "deploy/assumptions.h"

#include <algorithm>
#include <charconv>

#include "base/file.h"
#include "base/yaml.h"
#include "spec/reader.h"

namespace archlight::deploy {
namespace {

using base::fault_at;
using base::Faults;
using base::Result;
using base::Yaml;
using spec::Reader;

double amount(const Yaml* node, double fallback, double least, double most, const std::string& what,
              Faults& faults) {
  if (!node) return fallback;
  double value = 0;
  const char* end = node->text.data() + node->text.size();
  const auto [at, error] = std::from_chars(node->text.data(), end, value);
  if (!node->is_scalar() || node->quoted || error != std::errc() || at != end || !(value >= least) ||
      value > most) {
    faults.push_back(fault_at(node->at, what + " is " + node->describe(),
                              "a number from " + std::to_string(least) + " to " + std::to_string(most)));
    return fallback;
  }
  return value;
}

WireFormat wire(Reader& reader, const char* key, Faults& faults) {
  WireFormat out;
  const Yaml* node = reader.get(key);
  if (!node) return out;
  Reader inner(*node, std::string("'") + key + "'", faults);
  out.bytes_per_element = amount(inner.get("bytes_per_element"), 2, 0, 8, "'bytes_per_element'", faults);
  out.bytes_per_token = amount(inner.get("bytes_per_token"), 0, 0, 1e6, "'bytes_per_token'", faults);
  const std::string copies = inner.text("copies", "experts");
  if (copies != "experts" && copies != "ranks")
    faults.push_back(fault_at(node->at, "'copies' is '" + copies + "'", "experts or ranks"));
  out.once_per_rank = copies == "ranks";
  inner.finish();
  return out;
}

}  // namespace

Result<Assumptions> load_assumptions(const std::string& folder, const std::string& name) {
  const std::string shown = "specs/assumptions/" + name + ".yaml", path = folder + "/" + name + ".yaml";
  if (name.empty() || name.find('/') != std::string::npos || !base::file_exists(path)) {
    std::vector<std::string> known;
    if (Result<std::vector<std::string>> files = base::list_files(folder))
      for (const std::string& file : *files)
        if (file.ends_with(".yaml")) known.push_back(file.substr(0, file.size() - 5));
    std::string all;
    for (const std::string& each : known) all += (all.empty() ? "" : ", ") + each;
    return fault_at({}, "no assumptions '" + name + "' are known", "one of " + all,
                    base::did_you_mean(name, known));
  }
  Result<Yaml> root = base::load_yaml(path, shown);
  if (!root) return root.faults();
  Faults faults;
  Reader reader(*root, "assumptions", faults);
  Assumptions out;
  out.name = name;
  out.label = reader.required_text("label");
  out.source = reader.required_text("source");
  out.usable_memory = amount(reader.get("usable_memory"), 0.9, 0.01, 1, "'usable_memory'", faults);
  out.reserved_bytes = amount(reader.get("reserved_bytes"), 0, 0, 1e15, "'reserved_bytes'", faults);
  for (const char* key : {"memory_bytes_per_s", "link_bytes_per_s"})
    for (const base::YamlEntry& entry : reader.map(key, "a map from GPU to bytes/s"))
      (std::string_view(key) == "link_bytes_per_s" ? out.link_bytes_per_s
                                                   : out.memory_bytes_per_s)[entry.key] =
          amount(&entry.value, 0, 1, 1e18, "the rate of '" + entry.key + "'", faults);
  out.dispatch = wire(reader, "dispatch", faults);
  out.combine = wire(reader, "combine", faults);
  out.collective_latency_s =
      amount(reader.get("collective_latency_s"), 0, 0, 1, "'collective_latency_s'", faults);
  reader.finish();
  if (!faults.empty()) return faults;
  return out;
}

}  // namespace archlight::deploy
