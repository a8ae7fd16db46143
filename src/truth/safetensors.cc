// Method  One pass over the header with a reader for exactly its schema: nothing nests deeper than an entry, so there
//         is no recursion and no tree, and a fault knows its byte. A general JSON parser walks about 25 structural
//         characters per tensor; this one reads the same text at memory-like speed and checks it in the same pass.
//         UTF-8 is checked by simdjson up front. Names are hashed while they are read and checked for duplicates at
//         the end. Entries usually stand in the order of their bytes, so coverage is checked while reading and the
//         rows are sorted only where that fails.
#include "truth/safetensors.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <unordered_set>

#include "base/file.h"
#include "truth/internal/faults.h"
#include "truth/internal/name_set.h"

namespace archlight::truth {
namespace {

using base::Dtype;
using base::Faults;
using base::UInt128;

constexpr size_t kMaxRank = 32;
constexpr size_t kMaxFaults = 20;
constexpr uint64_t kLengthBytes = 8;

struct Stop {};

static_assert(std::endian::native == std::endian::little, "words below are read as the file's bytes lie");

constexpr uint64_t kOnes = 0x0101010101010101ULL, kHigh = 0x8080808080808080ULL;

uint64_t load8(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, 8);
  return word;
}

// The high bit of each byte that is a quote, a backslash or a control character. A borrow can mark bytes
// above a true one too, so only the lowest mark is to be trusted.
uint64_t string_ends(uint64_t word) {
  const uint64_t quote = word ^ (kOnes * '"'), slash = word ^ (kOnes * '\\');
  return (((quote - kOnes) & ~quote) | ((slash - kOnes) & ~slash) | ((word - kOnes * 0x20) & ~word)) & kHigh;
}

// The value of 8 digits that were shifted so that the number's last digit is the highest byte, each 0 to 9:
// pairs, then fours, then all.
uint64_t eight_digits(uint64_t digits) {
  digits = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ffULL;
  digits = (digits * 100 + (digits >> 16)) & 0x0000ffff0000ffffULL;
  return (digits * 10000 + (digits >> 32)) & 0xffffffffULL;
}

constexpr std::array<uint64_t, 9> kPowersOfTen = {1,      10,      100,      1000,     10000,
                                                  100000, 1000000, 10000000, 100000000};

std::string describe_byte(unsigned char c) {
  return c > 0x20 && c < 0x7f ? fmt::format("'{}'", static_cast<char>(c)) : fmt::format("byte 0x{:02x}", c);
}

// Where a text that is not UTF-8 stops being it.
size_t first_bad_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    size_t length = 1;
    while (length < 4 && at + length < text.size() &&
           (static_cast<unsigned char>(text[at + length]) & 0xc0) == 0x80)
      ++length;
    if (!simdjson::validate_utf8(text.data() + at, length)) return at;
    at += length;
  }
  return at;
}

class HeaderReader {
 public:
  HeaderReader(std::string_view json, std::optional<uint64_t> data_bytes, const std::string& file,
               uint32_t shard, TensorTable& into)
      : json_(json),
        data_bytes_(data_bytes),
        file_(file),
        shard_(shard),
        into_(into),
        first_row_(into.size()),
        at_(json.data()),
        end_(json.data() + json.size()) {}

  Faults read() {
    try {
      read_object();
      check_names();
      if (faults_.empty()) check_coverage();
    } catch (const Stop&) {
    }
    if (more_ > 0) faults_.push_back(file_fault(file_, fmt::format("{} more faults of this kind", more_)));
    return std::move(faults_);
  }

 private:
  [[noreturn]] void stop(const char* place, std::string wrong, std::string expected = {},
                         std::string fix = {}) {
    faults_.push_back(file_fault(
        file_, fmt::format("byte {}: {}", kLengthBytes + static_cast<uint64_t>(place - json_.data()), wrong),
        std::move(expected), std::move(fix)));
    throw Stop();
  }
  // A tensor's own fault: reading goes on, so that one run reports all of them.
  void tensor_fault(std::string_view name, std::string wrong, std::string expected = {},
                    std::string fix = {}) {
    if (faults_.size() >= kMaxFaults) {
      ++more_;
      return;
    }
    faults_.push_back(file_fault(file_, fmt::format("tensor '{}': {}", short_name(name), wrong),
                                 std::move(expected), std::move(fix)));
  }

  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  std::string found() const {
    return at_ == end_ ? std::string("the end of the header")
                       : describe_byte(static_cast<unsigned char>(*at_));
  }
  void expect(char c, const char* what) {
    if (at_ != end_ && *at_ == c) {
      ++at_;
      return;
    }
    skip_space();
    if (at_ == end_ || *at_ != c) stop(at_, "found " + found(), what);
    ++at_;
  }
  // After a value: true for ',', false for `close`.
  bool another(char close, const char* what) {
    skip_space();
    if (at_ != end_ && *at_ == ',') {
      ++at_;
      skip_space();
      return true;
    }
    if (at_ == end_ || *at_ != close) stop(at_, "found " + found(), what);
    ++at_;
    return false;
  }

  // The text of a JSON string; a view into the header, or into `scratch` when it holds escapes.
  std::string_view string(std::string& scratch, const char* what) {
    if (at_ == end_ || *at_ != '"') {
      skip_space();
      if (at_ == end_ || *at_ != '"') stop(at_, "found " + found(), what);
    }
    const char* start = ++at_;
    while (end_ - at_ >= 8) {
      const uint64_t ends = string_ends(load8(at_));
      if (ends == 0) {
        at_ += 8;
        continue;
      }
      at_ += std::countr_zero(ends) / 8;
      break;
    }
    for (;; ++at_) {
      if (at_ == end_) stop(start - 1, "a string without its closing quote");
      const unsigned char c = static_cast<unsigned char>(*at_);
      if (c == '"') return {start, static_cast<size_t>(at_++ - start)};
      if (c == '\\') return escaped_string(start, scratch);
      if (c < 0x20)
        stop(at_, fmt::format("byte 0x{:02x} inside a string", c),
             "control characters written as \\u escapes");
    }
  }

  uint32_t hex4() {
    if (end_ - at_ < 4) stop(at_, "a \\u escape is cut off", "four hexadecimal digits");
    uint32_t out = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = *at_;
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) stop(at_, "found " + found() + " in a \\u escape", "four hexadecimal digits");
      out = out * 16 + static_cast<uint32_t>(digit);
    }
    return out;
  }

  std::string_view escaped_string(const char* start, std::string& scratch) {
    scratch.assign(start, at_);
    for (;;) {
      if (at_ == end_) stop(start - 1, "a string without its closing quote");
      const unsigned char c = static_cast<unsigned char>(*at_);
      if (c == '"') {
        ++at_;
        return scratch;
      }
      if (c < 0x20)
        stop(at_, fmt::format("byte 0x{:02x} inside a string", c),
             "control characters written as \\u escapes");
      if (c != '\\') {
        scratch += static_cast<char>(c);
        ++at_;
        continue;
      }
      const char* escape = at_++;
      if (at_ == end_) stop(start - 1, "a string without its closing quote");
      switch (const char kind = *at_++) {
        case '"':
        case '\\':
        case '/':
          scratch += kind;
          break;
        case 'b':
          scratch += '\b';
          break;
        case 'f':
          scratch += '\f';
          break;
        case 'n':
          scratch += '\n';
          break;
        case 'r':
          scratch += '\r';
          break;
        case 't':
          scratch += '\t';
          break;
        case 'u': {
          uint32_t code = hex4();
          if (code >= 0xd800 && code < 0xdc00) {
            if (end_ - at_ < 2 || at_[0] != '\\' || at_[1] != 'u')
              stop(escape, "half of a surrogate pair", "a whole character");
            at_ += 2;
            const uint32_t low = hex4();
            if (low < 0xdc00 || low > 0xdfff) stop(escape, "half of a surrogate pair", "a whole character");
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
          } else if (code >= 0xdc00 && code <= 0xdfff) {
            stop(escape, "half of a surrogate pair", "a whole character");
          }
          append_utf8(code, scratch);
          break;
        }
        default:
          stop(escape, "an escape that JSON does not have");
      }
    }
  }

  static void append_utf8(uint32_t code, std::string& out) {
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xc0 | code >> 6);
      out += static_cast<char>(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      out += static_cast<char>(0xe0 | code >> 12);
      out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      out += static_cast<char>(0xf0 | code >> 18);
      out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
      out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (code & 0x3f));
    }
  }

  uint64_t whole_number(const char* what) {
    skip_space();
    const char* start = at_;
    uint64_t value = 0;
    while (end_ - at_ >= 8 && at_ - start <= 8) {  // 16 digits cannot overflow
      const uint64_t digits = load8(at_) ^ (kOnes * '0');
      const uint64_t others = (digits | (digits + kOnes * (0x80 - 10))) & kHigh;
      if (others == 0) {
        value = value * kPowersOfTen[8] + eight_digits(digits);
        at_ += 8;
        continue;
      }
      const int count = std::countr_zero(others) / 8;
      if (count > 0)
        value = value * kPowersOfTen[static_cast<size_t>(count)] + eight_digits(digits << (64 - 8 * count));
      at_ += count;
      break;
    }
    for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
      const uint64_t digit = static_cast<uint64_t>(*at_ - '0');
      if (value > UINT64_MAX / 10 || (value == UINT64_MAX / 10 && digit > UINT64_MAX % 10))
        stop(start, "a number past 2^64-1", what);
      value = value * 10 + digit;
    }
    if (at_ == start) {
      if (at_ != end_ && *at_ == '-') stop(at_, "a negative number", what);
      stop(at_, "found " + found(), what);
    }
    if (*start == '0' && at_ - start > 1) stop(start, "a number with a leading zero", what);
    if (at_ != end_ && (*at_ == '.' || *at_ == 'e' || *at_ == 'E'))
      stop(start, "a number with a fraction or an exponent", what);
    return value;
  }

  void read_object() {
    if (json_.size() > kMaxHeaderBytes)
      stop(at_, fmt::format("the header holds {} bytes", json_.size()), "at most 100,000,000");
    if (!simdjson::validate_utf8(json_.data(), json_.size()))
      stop(at_ + first_bad_utf8(json_), "not valid UTF-8", "a JSON object in UTF-8");
    if (at_ == end_ || *at_ != '{') stop(at_, "found " + found(), "'{', the header's JSON object");
    ++at_;
    skip_space();
    if (at_ != end_ && *at_ == '}') {
      ++at_;
    } else {
      do read_entry();
      while (another('}', "',' or '}' after an entry"));
    }
    for (; at_ != end_; ++at_)
      if (*at_ != ' ')
        stop(at_, "found " + found() + " after the header's object", "spaces up to the header's end");
  }

  void read_entry() {
    const char* place = at_;
    const std::string_view name = string(name_scratch_, "a tensor's name in quotes");
    expect(':', "':' after a name");
    if (name == "__metadata__") {
      if (metadata_seen_) stop(place, "__metadata__ stands twice", "it once");
      metadata_seen_ = true;
      read_metadata();
      return;
    }
    if (name.size() > UINT32_MAX) stop(place, "a name of more than 2^32 bytes");
    expect('{', "an object with dtype, shape and data_offsets");
    Dtype dtype = Dtype::kU8;
    size_t rank = 0;
    uint64_t begin = 0, end = 0;
    int seen = 0;
    skip_space();
    do {
      const char* key_place = at_;
      const int bit = read_key(name);
      if (seen & bit)
        stop(key_place, fmt::format("a key stands twice in the entry of tensor '{}'", short_name(name)),
             "each key once");
      seen |= bit;
      if (bit == kDtype) {
        dtype = read_dtype(name);
      } else if (bit == kShape) {
        rank = read_shape(name);
      } else {
        expect('[', "data_offsets as [begin, end]");
        begin = first_offset();
        expect(',', "two offsets");
        skip_space();
        end_text_ = at_;
        end = whole_number("an offset: a whole number below 2^64");
        end_text_size_ = static_cast<size_t>(at_ - end_text_);
        last_end_read_ = end;
        expect(']', "']' after two offsets");
      }
    } while (another('}', "',' or '}' in an entry"));
    if (seen != (kDtype | kShape | kOffsets))
      stop(place,
           fmt::format("the entry of tensor '{}' lacks {}", short_name(name),
                       !(seen & kDtype)   ? "dtype"
                       : !(seen & kShape) ? "shape"
                                          : "data_offsets"),
           "dtype, shape and data_offsets");

    into_.add(name, dtype, {shape_.data(), rank}, begin, end, shard_);
    hashes_.push_back(hash_name(name));
    check_entry(name, dtype, rank, begin, end);
  }

  // Most tensors begin where the one before ended, in the same digits.
  uint64_t first_offset() {
    if (end_text_ != nullptr && static_cast<size_t>(end_ - at_) > end_text_size_ &&
        at_[end_text_size_] == ',' && std::memcmp(at_, end_text_, end_text_size_) == 0) {
      at_ += end_text_size_;
      return last_end_read_;
    }
    return whole_number("an offset: a whole number below 2^64");
  }

  static constexpr int kDtype = 1, kShape = 2, kOffsets = 4;

  // The key and its colon. The spelling without spaces is compared whole.
  int read_key(std::string_view name) {
    if (end_ - at_ >= 16) {
      if (std::memcmp(at_, "\"dtype\":", 8) == 0) return at_ += 8, kDtype;
      if (std::memcmp(at_, "\"shape\":", 8) == 0) return at_ += 8, kShape;
      if (std::memcmp(at_, "\"data_offsets\":", 15) == 0) return at_ += 15, kOffsets;
    }
    const char* place = at_;
    const std::string_view key = string(key_scratch_, "a key of the entry: dtype, shape or data_offsets");
    const int bit = key == "dtype" ? kDtype : key == "shape" ? kShape : key == "data_offsets" ? kOffsets : 0;
    if (bit == 0)
      stop(place, fmt::format("the key '{}' in the entry of tensor '{}'", short_name(key), short_name(name)),
           "dtype, shape and data_offsets");
    expect(':', "':' after a key");
    return bit;
  }

  void read_metadata() {
    skip_space();
    if (end_ - at_ >= 4 && std::memcmp(at_, "null", 4) == 0) {  // MLX writes null where there is none
      at_ += 4;
      return;
    }
    expect('{', "__metadata__ as an object of strings");
    skip_space();
    if (at_ != end_ && *at_ == '}') {
      ++at_;
      return;
    }
    std::unordered_set<std::string> keys;
    do {
      const char* place = at_;
      const std::string key(string(key_scratch_, "a key of __metadata__ in quotes"));
      expect(':', "':' after a key");
      skip_space();
      if (at_ == end_ || *at_ != '"')
        stop(at_, fmt::format("the value of '{}' in __metadata__ is not a string", short_name(key)),
             "a string");
      string(value_scratch_, "a string");
      if (!keys.insert(key).second)
        stop(place, fmt::format("the key '{}' stands twice in __metadata__", short_name(key)), "it once");
    } while (another('}', "',' or '}' in __metadata__"));
  }

  Dtype read_dtype(std::string_view name) {
    const char* place = at_;
    const std::string_view tag = string(value_scratch_, "a dtype in quotes");
    // A file holds a handful of dtypes: the ones seen so far are tried first.
    for (size_t i = 0; i < dtypes_known_; ++i)
      if (dtypes_[i].tag == tag) return dtypes_[i].dtype;
    const std::optional<Dtype> dtype = base::dtype_from_name(tag);
    if (!dtype)
      stop(place,
           fmt::format("the dtype '{}' of tensor '{}' is not known", short_name(tag), short_name(name)),
           "a safetensors dtype such as BF16, F32, F8_E4M3, U8 or I64");
    if (dtypes_known_ < dtypes_.size()) dtypes_[dtypes_known_++] = {base::dtype_name(*dtype), *dtype};
    return *dtype;
  }

  size_t read_shape(std::string_view name) {
    expect('[', "the shape as a list");
    skip_space();
    if (at_ != end_ && *at_ == ']') {
      ++at_;
      return 0;
    }
    size_t rank = 0;
    do {
      if (rank == kMaxRank)
        stop(at_, fmt::format("the shape of tensor '{}' has more than {} axes", short_name(name), kMaxRank));
      shape_[rank++] = whole_number("an axis length: a whole number below 2^64");
    } while (another(']', "',' or ']' in a shape"));
    return rank;
  }

  std::string shape_text(size_t rank) const {
    std::string out = "[";
    for (size_t i = 0; i < rank; ++i) out += fmt::format("{}{}", i ? ", " : "", shape_[i]);
    return out + "]";
  }

  void check_entry(std::string_view name, Dtype dtype, size_t rank, uint64_t begin, uint64_t end) {
    if (begin > end)
      return tensor_fault(name, fmt::format("data_offsets [{}, {}] run backwards", begin, end),
                          "begin <= end");
    // Axes of length 0 aside, the product must fit in 64 bits whatever the order of the axes.
    UInt128 elements = 1;
    bool empty = false;
    for (size_t i = 0; i < rank; ++i) {
      if (shape_[i] == 0) {
        empty = true;
        continue;
      }
      elements *= shape_[i];
      if (elements > UINT64_MAX)
        return tensor_fault(name,
                            fmt::format("the shape {} has more than 2^64-1 elements", shape_text(rank)));
    }
    if (empty) elements = 0;
    const UInt128 bits = elements * static_cast<unsigned>(base::dtype_bits(dtype));
    if (bits % 8 != 0)
      return tensor_fault(
          name,
          fmt::format("the shape {} of {} takes {} bits", shape_text(rank), base::dtype_name(dtype),
                      base::to_string(static_cast<base::Int128>(bits))),
          "a whole number of bytes");
    if (bits / 8 != end - begin)
      return tensor_fault(
          name, fmt::format("the shape {} of {} takes {} bytes but data_offsets [{}, {}] span {}",
                            shape_text(rank), base::dtype_name(dtype),
                            base::to_string(static_cast<base::Int128>(bits / 8)), begin, end, end - begin));
    in_order_ = in_order_ && begin == last_end_;
    last_end_ = end;
  }

  // After reading, so that the table's slots can be asked for ahead of their use.
  void check_names() {
    NameSet names(into_, hashes_.size());
    for (size_t i = 0; i < hashes_.size(); ++i) {
      if (i + 8 < hashes_.size()) names.prefetch(hashes_[i + 8]);
      const uint32_t row = static_cast<uint32_t>(first_row_ + i);
      switch (names.add(row, hashes_[i])) {
        case NameSet::Added::kNew:
          break;
        case NameSet::Added::kDuplicate:
          tensor_fault(into_.name(row), "stands twice", "each name once");
          break;
        case NameSet::Added::kCrowded:
          faults_.push_back(
              file_fault(file_, "hundreds of names with one hash", "tensor names as a model has them"));
          return;
      }
    }
  }

  void check_coverage() {
    uint64_t covered = last_end_;
    std::string_view last = into_.size() > first_row_ ? into_.name(into_.size() - 1) : std::string_view();
    if (!in_order_) {
      std::vector<uint32_t> order;
      order.reserve(into_.size() - first_row_);
      for (size_t i = first_row_; i < into_.size(); ++i) order.push_back(static_cast<uint32_t>(i));
      std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        const TensorTable::Row &x = into_.row(a), &y = into_.row(b);
        return std::tie(x.begin, x.end, a) < std::tie(y.begin, y.end, b);
      });
      covered = 0;
      for (uint32_t i : order) {
        const TensorTable::Row& row = into_.row(i);
        if (row.begin < covered)
          tensor_fault(into_.name(i),
                       fmt::format("data_offsets [{}, {}] overlap those of '{}', which end at {}", row.begin,
                                   row.end, short_name(last), covered),
                       "ranges without overlap");
        else if (row.begin > covered)
          tensor_fault(into_.name(i),
                       fmt::format("data_offsets [{}, {}] leave bytes {} to {} before them to no tensor",
                                   row.begin, row.end, covered, row.begin),
                       "ranges without gap");
        if (row.end >= covered) last = into_.name(i);
        covered = std::max(covered, row.end);
      }
    }
    if (!data_bytes_ || !faults_.empty()) return;
    if (covered > *data_bytes_)
      tensor_fault(
          last,
          fmt::format("ends at byte {} of the data, but the file has {} data bytes", covered, *data_bytes_),
          "all bytes of every tensor", "the file is cut off: fetch it again");
    if (covered < *data_bytes_)
      faults_.push_back(
          file_fault(file_,
                     fmt::format("{} bytes follow the last tensor, which ends at byte {} of the data",
                                 *data_bytes_ - covered, covered),
                     "the file to end with the last tensor"));
  }

  struct KnownDtype {
    std::string_view tag;
    Dtype dtype = Dtype::kU8;
  };

  const std::string_view json_;
  const std::optional<uint64_t> data_bytes_;
  const std::string& file_;
  const uint32_t shard_;
  TensorTable& into_;
  const size_t first_row_;
  std::vector<uint64_t> hashes_;
  const char* at_;
  const char* const end_;
  Faults faults_;
  size_t more_ = 0;
  bool metadata_seen_ = false;
  bool in_order_ = true;
  uint64_t last_end_ = 0;
  const char* end_text_ = nullptr;
  size_t end_text_size_ = 0;
  uint64_t last_end_read_ = 0;
  std::string name_scratch_, key_scratch_, value_scratch_;
  std::array<uint64_t, kMaxRank> shape_ = {};
  std::array<KnownDtype, 24> dtypes_ = {};
  size_t dtypes_known_ = 0;
};

// What a file that is no safetensors file most likely is.
std::string what_instead(std::string_view first) {
  if (first.substr(0, 8) == "version ")
    return "this is a Git LFS pointer: fetch the file itself with 'git lfs pull'";
  if (first.substr(0, 4) == "GGUF") return "this is a GGUF file";
  if (first.substr(0, 4) == std::string_view("PK\x03\x04", 4))
    return "this is a zip, as PyTorch's .bin files are: convert it to safetensors";
  if (first.substr(0, 1) == "<") return "this looks like a web page, not the file it stands for";
  if (first.substr(0, 1) == "{") return "this looks like JSON text without the 8 length bytes";
  return {};
}

}  // namespace

base::Result<uint64_t> header_length(std::string_view first_bytes, uint64_t file_bytes,
                                     const std::string& file) {
  if (first_bytes.size() < kLengthBytes)
    return file_fault(file, fmt::format("holds {} bytes", first_bytes.size()),
                      "a safetensors file, which starts with an 8-byte header length");
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | static_cast<unsigned char>(first_bytes[static_cast<size_t>(i)]);
  if (length > kMaxHeaderBytes)
    return file_fault(file, fmt::format("byte 0: a header length of {} bytes", length), "at most 100,000,000",
                      what_instead(first_bytes));
  if (length < 2)
    return file_fault(file, fmt::format("byte 0: a header length of {} bytes", length),
                      "at least 2, for an empty JSON object");
  if (file_bytes != 0 && (file_bytes < kLengthBytes || length > file_bytes - kLengthBytes))
    return file_fault(file,
                      fmt::format("byte 0: a header length of {} bytes, but the file ends after {}", length,
                                  file_bytes - std::min(file_bytes, kLengthBytes)),
                      "the whole header", "the file is cut off: fetch it again");
  return length;
}

base::Faults parse_header(std::string_view json, std::optional<uint64_t> data_bytes, const std::string& file,
                          uint32_t shard, TensorTable& into) {
  // Room for the usual 130 bytes per tensor, of which about half are the name.
  if (into.size() == 0) into.reserve(json.size() / 130 + 1, json.size() / 2);
  return HeaderReader(json, data_bytes, file, shard, into).read();
}

base::Faults read_safetensors_file(const std::string& path, uint32_t shard, TensorTable& into) {
  base::Result<uint64_t> size = base::file_size(path);
  if (!size) return size.faults();
  base::Result<std::string> first = base::read_file_range(path, 0, std::min<uint64_t>(*size, kLengthBytes));
  if (!first) return first.faults();
  base::Result<uint64_t> length = header_length(*first, *size, path);
  if (!length) return length.faults();
  base::Result<std::string> json = base::read_file_range(path, kLengthBytes, *length);
  if (!json) return json.faults();
  return parse_header(*json, *size - kLengthBytes - *length, path, shard, into);
}

}  // namespace archlight::truth
