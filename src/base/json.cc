#include "base/json.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/yaml.h"

namespace archlight::base {
namespace {

constexpr size_t kMaxDepth = 128;

Span place(const std::shared_ptr<const SourceText>& source, size_t byte) {
  const std::string& text = source->text;
  const size_t end = std::min(byte == 0 ? 0 : byte - 1, text.size());
  const int line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(end), '\n'));
  const size_t start = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
  return {source, line, static_cast<int>(end - (start == std::string::npos ? 0 : start + 1)) + 1, 1};
}

}  // namespace

Result<std::shared_ptr<const Json>> parse_json(const std::string& text, const std::string& shown_as) {
  const auto source = std::make_shared<SourceText>(SourceText{shown_as, text});
  std::vector<std::set<std::string>> keys;
  Faults faults;
  bool too_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    if (static_cast<size_t>(depth) > kMaxDepth) too_deep = true;
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second && faults.size() < 20)
      faults.push_back(fault_at({source, 0, 0, 0}, "the key '" + value.get<std::string>() + "' stands twice in one object", "each key once"));
    return !too_deep;
  };
  auto out = std::make_shared<Json>();
  try {
    *out = Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    faults.push_back(fault_at(place(source, error.byte), std::string("not valid JSON: ") + error.what()));
  } catch (const Json::out_of_range&) {
    faults.push_back(fault_at({source, 0, 0, 0}, "a number is too large to hold", "numbers below 1.8e308"));
  }
  if (too_deep) faults.push_back(fault_at({source, 0, 0, 0}, "nested deeper than 128 levels", "a flatter document"));
  if (!faults.empty()) return faults;
  return std::shared_ptr<const Json>(std::move(out));
}

std::string dump_json(const Json& value) { return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace archlight::base
