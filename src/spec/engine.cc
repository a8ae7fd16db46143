#include "spec/engine.h"

#include <algorithm>

#include "base/dtype.h"
#include "base/int128.h"
#include "spec/reader.h"

namespace archlight::spec {
namespace {

using base::fault_at;
using base::Faults;
using base::Result;
using base::Yaml;
using Growth = CacheEntry::Growth;

struct GrowthName {
  Growth growth;
  std::string_view name;
};
constexpr GrowthName kGrowths[] = {{Growth::kPerToken, "token"},
                                   {Growth::kWindow, "window"},
                                   {Growth::kChunk, "chunk"},
                                   {Growth::kRatio, "ratio"},
                                   {Growth::kFixed, "fixed"}};
constexpr std::string_view kWords[] = {"elements", "rows", "width", "B", "s_ctx", "tokens"};
constexpr std::string_view kBufferWords[] = {"max_context", "rope_width", "model"};
constexpr int64_t kMostValue = 1'000'000'000;

int64_t whole(Reader& reader, const char* key, const std::string& fallback, Faults& faults) {
  const std::string text = fallback.empty() ? reader.required_text(key) : reader.text(key, fallback);
  const std::optional<base::Int128> value = base::parse_int128(text);
  if (value && *value >= 0 && *value <= kMostValue) return static_cast<int64_t>(*value);
  if (!text.empty())
    faults.push_back(fault_at(reader.node().at,
                              std::string(key) + " of " + reader.what() + " is '" + text + "'",
                              "a whole number from 0 to 1,000,000,000"));
  return 0;
}

EngineEntry parse_entry(const Yaml& node, Faults& faults) {
  Reader reader(node, "an entry of an engine", faults);
  EngineEntry out;
  out.kinds = reader.texts("kinds");
  for (const std::string& word : reader.texts("grows")) {
    const auto found = std::ranges::find(kGrowths, word, &GrowthName::name);
    if (found != std::end(kGrowths)) {
      out.grows.push_back(found->growth);
      continue;
    }
    std::vector<std::string> known;
    std::string all;
    for (const GrowthName& row : kGrowths) {
      known.emplace_back(row.name);
      all += (all.empty() ? "" : ", ") + known.back();
    }
    faults.push_back(fault_at(node.at, "unknown growth '" + word + "' of an engine's entry", "one of " + all,
                              base::did_you_mean(word, known)));
  }
  out.bytes = reader.formula("bytes");
  out.held = reader.formula("held");
  if (out.bytes.empty() && out.held.empty())
    faults.push_back(
        fault_at(node.at, "an entry of an engine says neither 'bytes' nor 'held'", "one of them"));
  out.source = reader.required_text("source");
  reader.finish();
  return out;
}

bool windows_only(const EngineEntry& entry) {
  return !entry.grows.empty() && std::ranges::all_of(entry.grows, [](Growth growth) {
    return growth == Growth::kWindow || growth == Growth::kChunk;
  });
}

}  // namespace

bool EngineEntry::fits(const std::string& kind, Growth growth) const {
  return (kinds.empty() || std::ranges::find(kinds, kind) != kinds.end()) &&
         (grows.empty() || std::ranges::find(grows, growth) != grows.end());
}

const EngineOption* Engine::option(std::string_view wanted) const {
  const auto found = std::ranges::find(options, wanted, &EngineOption::name);
  return found == options.end() ? nullptr : &*found;
}

const EngineEntry* Engine::entry(const std::string& kind, Growth growth) const {
  const auto found =
      std::ranges::find_if(entries, [&](const EngineEntry& row) { return row.fits(kind, growth); });
  return found == entries.end() ? nullptr : &*found;
}

Result<Engine> parse_engine(const Yaml& root, const std::string& name) {
  Faults faults;
  Reader reader(root, "engine '" + name + "'", faults);
  Engine out;
  out.name = name;
  out.at = root.at;
  out.label = reader.required_text("label");
  out.source = reader.required_text("source");
  for (const base::YamlEntry& entry : reader.map("options", "a map of {default, min, meaning}")) {
    Reader inner(entry.value, "option '" + entry.key + "'", faults);
    EngineOption option;
    option.name = entry.key;
    option.value = whole(inner, "default", {}, faults);
    option.least = whole(inner, "min", "1", faults);
    option.meaning = inner.required_text("meaning");
    inner.finish();
    if (option.value < option.least)
      faults.push_back(fault_at(
          entry.value.at,
          "option '" + option.name + "' is " + std::to_string(option.value) + " unless told otherwise",
          "at least " + std::to_string(option.least) + ", its min"));
    out.options.push_back(std::move(option));
  }
  for (const Yaml& item : reader.list("entries", "a list of {kinds, grows, bytes, held, source}"))
    out.entries.push_back(parse_entry(item, faults));
  for (const base::YamlEntry& entry : reader.map("buffers", "a map of {bytes, source}")) {
    Reader inner(entry.value, "buffer '" + entry.key + "'", faults);
    EngineBuffer buffer;
    buffer.name = entry.key;
    inner.require("bytes", "a formula");
    buffer.bytes = inner.formula("bytes");
    buffer.source = inner.required_text("source");
    inner.finish();
    out.buffers.push_back(std::move(buffer));
  }
  reader.finish();
  if (!faults.empty()) return faults;
  return out;
}

Faults check_engine_names(const Engine& engine, const std::vector<std::string>& dims) {
  Faults faults;
  const auto check = [&](const expr::Formula& formula, std::vector<std::string> known,
                         const std::string& words) {
    if (formula.empty()) return;
    for (const EngineOption& option : engine.options) known.push_back(option.name);
    known.insert(known.end(), dims.begin(), dims.end());
    for (const std::string& name : formula.names()) {
      if (base::dtype_from_name(name) || std::ranges::find(known, name) != known.end()) continue;
      faults.push_back(fault_at(formula.at(), "unknown name '" + name + "' in engine '" + engine.name + "'",
                                words + ", a dtype, an option or a dim", base::did_you_mean(name, known)));
    }
  };
  for (const EngineEntry& entry : engine.entries) {
    std::vector<std::string> known(std::begin(kWords), std::end(kWords));
    if (windows_only(entry)) known.emplace_back("window");
    for (const expr::Formula* formula : {&entry.bytes, &entry.held})
      check(*formula, known,
            "elements, rows, width, tokens, s_ctx, B, window in a row of windows and chunks alone");
  }
  for (const EngineBuffer& buffer : engine.buffers)
    check(buffer.bytes, {std::begin(kBufferWords), std::end(kBufferWords)}, "max_context, rope_width, model");
  return faults;
}

Result<std::vector<EngineOption>> engine_options(const Engine& engine,
                                                 const std::map<std::string, int64_t>& given) {
  std::vector<EngineOption> out = engine.options;
  Faults faults;
  for (const auto& [name, value] : given) {
    const auto found = std::ranges::find(out, name, &EngineOption::name);
    if (found == out.end()) {
      std::vector<std::string> known;
      for (const EngineOption& option : engine.options) known.push_back(option.name);
      faults.push_back(fault_at({}, "engine '" + engine.name + "' has no option '" + name + "'",
                                known.empty() ? "none: it has no options" : "one that it has",
                                base::did_you_mean(name, known)));
    } else if (value < found->least || value > kMostValue) {
      faults.push_back(
          fault_at({}, "option '" + name + "' of engine '" + engine.name + "' is " + std::to_string(value),
                   "a whole number from " + std::to_string(found->least) + " to 1,000,000,000"));
    } else {
      found->value = value;
    }
  }
  if (!faults.empty()) return faults;
  return out;
}

}  // namespace archlight::spec
