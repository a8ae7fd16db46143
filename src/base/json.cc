#include "base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/yaml.h"

namespace archlight::base {
namespace {

constexpr size_t kMaxDepth = 128;

Span place(const std::shared_ptr<const SourceText>& source, size_t byte) {
  const std::string& text = source->text;
  const size_t end = std::min(byte == 0 ? 0 : byte - 1, text.size());
  const int line =
      1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(end), '\n'));
  const size_t start = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
  return {source, line, static_cast<int>(end - (start == std::string::npos ? 0 : start + 1)) + 1, 1};
}

// Builds the document from the parser's events: depth and duplicate keys are seen while it grows. (The library's own
// callback parser walks an object's members at the end of each of them, which is quadratic in a hostile file.)
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(Json& root) : root_(root) {}

  size_t fault_byte = 0;   // counts from 1; 0: no place
  std::string fault_text;  // empty: the text is JSON
  std::vector<std::string> duplicates;
  bool too_deep = false;

  bool null() override { return put(nullptr) != nullptr; }
  bool boolean(bool value) override { return put(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return put(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return put(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override { return put(value) != nullptr; }
  bool string(string_t& value) override { return put(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    key_ = std::move(name);
    if (stack_.back()->contains(key_) && duplicates.size() < 20) duplicates.push_back(key_);
    return true;
  }
  bool parse_error(size_t byte, const std::string&, const Json::exception& error) override {
    fault_text = error.what();
    // A number past what a double holds comes without a place.
    fault_byte = dynamic_cast<const Json::parse_error*>(&error) != nullptr ? byte : 0;
    return false;
  }

 private:
  Json* put(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (stack_.back()->is_array()) {
      stack_.back()->push_back(std::move(value));
      return &stack_.back()->back();
    }
    Json& slot = (*stack_.back())[key_];
    slot = std::move(value);
    return &slot;
  }
  bool open(Json value) {
    too_deep = stack_.size() >= kMaxDepth;
    if (!too_deep) stack_.push_back(put(std::move(value)));
    return !too_deep;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  Json& root_;
  std::vector<Json*> stack_;
  std::string key_;
};

// Python writes non-finite floats as NaN, Infinity and -Infinity, which JSON does not have. As strings they
// keep their spelling; `added` holds where quotes were put in, as bytes of the result.
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
  // The library takes a NUL for the end of the text, whatever follows it.
  if (const size_t nul = text.find('\0'); nul != std::string::npos)
    return fault_at(place(source, nul + 1), "not valid JSON: a NUL byte", "JSON text");
  auto out = std::make_shared<Json>();
  Builder first(*out);
  Json::sax_parse(text, &first);
  std::vector<size_t> added;
  const std::string quoted = first.fault_text.empty() ? std::string() : quote_non_finite(text, added);
  Builder second(*out);
  if (!added.empty()) Json::sax_parse(quoted, &second);
  const Builder& builder = added.empty() ? first : second;

  Faults faults;
  for (const std::string& key : builder.duplicates)
    faults.push_back(
        fault_at({source, 0, 0, 0}, "the key '" + key + "' stands twice in one object", "each key once"));
  if (builder.too_deep)
    faults.push_back(fault_at({source, 0, 0, 0}, "nested deeper than 128 levels", "a flatter document"));
  if (!builder.fault_text.empty()) {
    const auto before =
        std::count_if(added.begin(), added.end(), [&](size_t at) { return at < builder.fault_byte; });
    const std::string wrong = "not valid JSON: " + builder.fault_text;
    faults.push_back(builder.fault_byte == 0
                         ? fault_at({source, 0, 0, 0}, wrong)
                         : fault_at(place(source, builder.fault_byte - static_cast<size_t>(before)), wrong));
  }
  if (!faults.empty()) return faults;
  return std::shared_ptr<const Json>(std::move(out));
}

std::string dump_json(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace archlight::base
