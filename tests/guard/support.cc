#include "guard/support.h"

#include <gtest/gtest.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "truth/snapshot.h"

namespace archlight::guard::testing {

std::shared_ptr<const spec::Library> specs() {
  static const std::shared_ptr<const spec::Library> library = [] {
    base::Result<std::shared_ptr<spec::Library>> opened = spec::Library::open(ARCHLIGHT_SOURCE_DIR "/specs");
    EXPECT_TRUE(opened.ok()) << base::render_all(opened.faults());
    return opened ? *opened : nullptr;
  }();
  return library;
}

truth::Truth snapshot(const std::string& name) {
  const std::optional<std::string> path = truth::find_snapshot(ARCHLIGHT_SOURCE_DIR, name);
  EXPECT_TRUE(path) << name;
  if (!path) return {};
  base::Result<truth::Truth> truth = truth::read_snapshot(*path);
  EXPECT_TRUE(truth.ok()) << name << "\n" << (truth ? std::string() : base::render_all(truth.faults()));
  return truth ? std::move(*truth) : truth::Truth();
}

namespace {

void add_line(truth::TensorTable& table, std::string_view name, std::string_view dtype,
              std::string_view shape, uint64_t& offset) {
  const std::optional<base::Dtype> type = base::dtype_from_name(dtype);
  ASSERT_TRUE(type) << dtype;
  std::vector<uint64_t> axes;
  uint64_t elements = 1;
  if (shape != "scalar")
    for (size_t at = 0; at <= shape.size();) {
      const size_t end = std::min(shape.find('x', at), shape.size());
      uint64_t axis = 0;
      std::from_chars(shape.data() + at, shape.data() + end, axis);
      axes.push_back(axis);
      elements *= axis;
      at = end + 1;
    }
  const uint64_t bytes = elements * static_cast<uint64_t>(base::dtype_bits(*type)) / 8;
  table.add(name, *type, axes, offset, offset + bytes, 0);
  offset += bytes;
}

// Splits at one character; empty parts stay.
std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  while (true) {
    const size_t end = text.find(at);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

truth::Truth generated(const std::string& id, std::shared_ptr<const base::Json> config) {
  truth::Truth truth;
  truth.repo = id;
  truth.origin = "generated from published facts, not a downloaded header";
  truth.config = std::move(config);
  truth.level = truth::Level::kHeader;
  std::string file = id;
  if (const size_t slash = file.find('/'); slash != std::string::npos) file.replace(slash, 1, "--");
  const std::string path = fmt::format("{}/records/{}.tsv", ARCHLIGHT_BINARY_DIR, file);
  const base::Result<std::string> text = base::read_file(path);
  EXPECT_TRUE(text.ok()) << (text ? std::string() : base::render_all(text.faults()));
  if (!text) return truth;
  uint64_t offset = 0;
  std::string_view rest = *text;
  rest.remove_prefix(rest.find('\n') + 1);
  for (std::string_view line : split(rest, '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string_view> cells = split(line, '\t');
    add_line(truth.tensors, cells[0], cells[1], cells[2], offset);
  }
  return truth;
}

truth::TensorTable table(std::string_view lines) {
  truth::TensorTable out;
  uint64_t offset = 0;
  for (std::string_view line : split(lines, '\n')) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) continue;
    const std::vector<std::string_view> cells = split(line, ' ');
    add_line(out, cells[0], cells[1], cells[2], offset);
  }
  return out;
}

std::shared_ptr<const base::Json> json(const std::string& text) {
  base::Result<std::shared_ptr<const base::Json>> parsed = base::parse_json(text, "config.json");
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed ? *parsed : nullptr;
}

std::shared_ptr<const base::Json> config_with(const base::Json& config, const std::string& changes) {
  auto out = std::make_shared<base::Json>(config);
  out->merge_patch(*json(changes));
  return out;
}

Report verify_all(std::shared_ptr<const spec::Library> library, const truth::Truth& truth,
                  const std::set<std::string>& without) {
  Report refused;
  refused.level = truth.level;
  const auto refuse = [&](const base::Faults& faults) {
    for (base::Diagnostic fault : faults) {
      if (fault.guard.empty()) fault.guard = "load";
      refused.faults.push_back(std::move(fault));
    }
    return refused;
  };
  const base::Result<const spec::Model*> model = library->model_for(*truth.config);
  if (!model) return refuse(model.faults());
  base::Result<spec::Binding> binding = spec::bind(**model, truth.config, truth.quant_config);
  if (!binding) return refuse(binding.faults());
  return verify(library, std::make_shared<const spec::Binding>(std::move(*binding)), truth, {}, without);
}

std::string lines_of(const Report& report) {
  std::string out;
  for (const base::Diagnostic& fault : report.faults) out += fault.message() + "\n";
  return out;
}

std::string advice_of(const Report& report) {
  std::string out;
  for (const base::Diagnostic& advice : report.advice) out += advice.message() + "\n";
  return out;
}

std::string advice_of(const Report& report, std::string_view guard) {
  std::string out;
  for (const base::Diagnostic& advice : report.advice)
    if (advice.guard == guard) out += advice.message() + "\n";
  return out;
}

std::string remarks_of(const Report& report) {
  std::string out;
  for (const std::string& remark : report.remarks) out += remark + "\n";
  return out;
}

}  // namespace archlight::guard::testing
