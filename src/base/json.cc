#include "base/json.h"

#include <algorithm>
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

// Python writes non-finite floats as NaN, Infinity and -Infinity, which JSON does not have. As strings they keep
// their spelling; `added` holds where quotes were put in, as bytes of the result.
std::string quote_non_finite(const std::string& text, std::vector<size_t>& added) {
  constexpr std::string_view kWords[] = {"-Infinity", "Infinity", "NaN"};
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    if (in_string) {
      const bool escape = text[i] == '\\' && i + 1 < text.size();
      in_string = text[i] != '"';
      out.append(text, i, escape ? 2 : 1);
      i += escape ? 2 : 1;
      continue;
    }
    size_t length = 0;
    for (std::string_view word : kWords)
      if (length == 0 && text.compare(i, word.size(), word) == 0) length = word.size();
    if (length == 0) {
      in_string = text[i] == '"';
      out += text[i++];
      continue;
    }
    added.push_back(out.size());
    out += '"' + text.substr(i, length) + '"';
    added.push_back(out.size() - 1);
    i += length;
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<const Json>> parse_json(const std::string& text, const std::string& shown_as) {
  const auto source = std::make_shared<SourceText>(SourceText{shown_as, text});
  auto out = std::make_shared<Json>();
  Faults faults;
  bool too_deep = false;
  size_t fault_byte = 0;
  std::string fault_text;
  const auto parse = [&](const std::string& json) {
    std::vector<std::set<std::string>> keys;
    const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
      if (static_cast<size_t>(depth) > kMaxDepth) too_deep = true;
      if (event == Json::parse_event_t::object_start) keys.emplace_back();
      if (event == Json::parse_event_t::object_end) keys.pop_back();
      if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second && faults.size() < 20)
        faults.push_back(fault_at({source, 0, 0, 0}, "the key '" + value.get<std::string>() + "' stands twice in one object", "each key once"));
      return !too_deep;
    };
    try {
      *out = Json::parse(json, watch);
      return true;
    } catch (const Json::parse_error& error) {
      fault_byte = error.byte;
      fault_text = error.what();
    } catch (const Json::out_of_range& error) {  // a number past what a double holds
      fault_byte = 0;
      fault_text = error.what();
    }
    return false;
  };
  if (!parse(text)) {
    std::vector<size_t> added;
    const std::string quoted = too_deep ? std::string() : quote_non_finite(text, added);
    if (!added.empty()) faults.clear();
    if (added.empty() || !parse(quoted)) {
      const auto before = std::count_if(added.begin(), added.end(), [&](size_t at) { return at < fault_byte; });
      const std::string wrong = "not valid JSON: " + fault_text;
      faults.push_back(fault_byte == 0 ? fault_at({source, 0, 0, 0}, wrong) : fault_at(place(source, fault_byte - static_cast<size_t>(before)), wrong));
    }
  }
  if (too_deep) faults.push_back(fault_at({source, 0, 0, 0}, "nested deeper than 128 levels", "a flatter document"));
  if (!faults.empty()) return faults;
  return std::shared_ptr<const Json>(std::move(out));
}

std::string dump_json(const Json& value) { return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace archlight::base
