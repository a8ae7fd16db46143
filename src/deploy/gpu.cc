#include "deploy/gpu.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/yaml.h"
#include "spec/reader.h"

namespace archlight::deploy {
namespace {

using base::fault_at;
using base::Faults;
using base::Result;
using base::Yaml;
using spec::Reader;

double positive(const Yaml* node, const std::string& what, Faults& faults) {
  if (!node) return 0;
  double value = 0;
  const char* end = node->text.data() + node->text.size();
  const auto [at, error] = std::from_chars(node->text.data(), end, value);
  if (!node->is_scalar() || node->quoted || error != std::errc() || at != end || !(value > 0) ||
      value > 1e30) {
    faults.push_back(
        fault_at(node->at, what + " is " + node->describe(), "a positive number, without a unit"));
    return 0;
  }
  return value;
}

int64_t whole(const Yaml* node, const std::string& what, Faults& faults) {
  const double value = positive(node, what, faults);
  if (value > 9e15 || value != static_cast<double>(static_cast<int64_t>(value))) {
    faults.push_back(fault_at(node->at, what + " is " + node->describe(), "a whole number below 9e15"));
    return 0;
  }
  return static_cast<int64_t>(value);
}

Result<Gpu> parse_gpu(const Yaml& root, const std::string& id) {
  Faults faults;
  Reader reader(root, "GPU", faults);
  Gpu out;
  out.id = id;
  out.name = reader.required_text("name");
  out.vendor = reader.required_text("vendor");
  out.note = reader.text("note");
  out.memory_bytes = whole(reader.require("memory_bytes", "bytes"), "'memory_bytes'", faults);
  out.memory_bytes_per_s = positive(reader.require("memory_bandwidth_bytes_per_s", "bytes/s"),
                                    "'memory_bandwidth_bytes_per_s'", faults);
  for (const base::YamlEntry& entry : reader.map("peak_dense_flops_per_s", "a map from dtype to FLOP/s"))
    out.peak_flops_per_s[entry.key] = positive(&entry.value, "the rate of '" + entry.key + "'", faults);
  out.link_bytes_per_s = positive(reader.get("link_bytes_per_s"), "'link_bytes_per_s'", faults);
  out.network_bytes_per_s = positive(reader.get("network_bytes_per_s"), "'network_bytes_per_s'", faults);
  out.gpus_per_node = whole(reader.require("gpus_per_node", "a count"), "'gpus_per_node'", faults);
  out.gpus_per_domain = whole(reader.require("gpus_per_domain", "a count"), "'gpus_per_domain'", faults);
  out.tdp_w = positive(reader.get("tdp_w"), "'tdp_w'", faults);
  for (const char* known : {"l2_bytes", "pcie_bytes_per_s", "derived", "alternatives"}) reader.get(known);
  for (const base::YamlEntry& entry : reader.map("sources", "a map from group of fields to its source"))
    out.sources[entry.key] = entry.value.text;
  for (const Yaml& item : reader.list("prices", "a list of maps")) {
    const Yaml *rate = item.find("usd_per_gpu_hour"), *kind = item.find("kind"),
               *source = item.find("source");
    if (!rate) continue;  // a machine's price, or its power
    out.prices.push_back(
        {positive(rate, "'usd_per_gpu_hour'", faults), kind ? kind->text : "", source ? source->text : ""});
  }
  reader.finish();
  if (!faults.empty()) return faults;
  return out;
}

}  // namespace

std::optional<double> Gpu::peak(const std::string& dtype) const {
  const auto it = peak_flops_per_s.find(dtype);
  return it == peak_flops_per_s.end() ? std::nullopt : std::optional(it->second);
}

Result<std::map<std::string, Gpu>> load_gpus(const std::string& folder) {
  std::map<std::string, Gpu> out;
  Faults faults;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
    if (file.path().extension() != ".yaml") continue;
    const std::string id = file.path().stem().string();
    Result<Yaml> root = base::load_yaml(file.path().string(), "specs/gpus/" + id + ".yaml");
    if (!root) {
      append(faults, root.faults());
      continue;
    }
    Result<Gpu> gpu = parse_gpu(*root, id);
    if (gpu)
      out.emplace(id, *std::move(gpu));
    else
      append(faults, gpu.faults());
  }
  if (!faults.empty()) return faults;
  if (out.empty()) return fault_at({}, "no GPU file is in " + folder, "NAME.yaml files");
  return out;
}

Result<Gpu> find_gpu(const std::string& folder, const std::string& id) {
  const std::filesystem::path path = std::filesystem::path(folder) / (id + ".yaml");
  std::error_code error;
  const bool plain = id.find('/') == std::string::npos && !id.empty();
  if (plain && std::filesystem::is_regular_file(path, error)) {
    Result<Yaml> root = base::load_yaml(path.string(), "specs/gpus/" + id + ".yaml");
    if (!root) return root.faults();
    return parse_gpu(*root, id);
  }
  std::vector<std::string> known;
  for (const auto& file : std::filesystem::directory_iterator(folder, error))
    if (file.path().extension() == ".yaml") known.push_back(file.path().stem().string());
  std::ranges::sort(known);
  std::string all;
  for (const std::string& name : known) all += (all.empty() ? "" : ", ") + name;
  return fault_at({}, "no GPU '" + id + "' is known", "one of " + all, base::did_you_mean(id, known));
}

}  // namespace archlight::deploy
