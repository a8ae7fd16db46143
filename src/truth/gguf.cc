#include "truth/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_set>

#include "base/file.h"
#include "base/int128.h"
#include "truth/internal/faults.h"

namespace archlight::truth {
namespace {

using base::Faults;
using base::Json;
using base::UInt128;

constexpr size_t kMaxFaults = 20;
constexpr uint64_t kFirstWindow = uint64_t{1} << 20;
constexpr uint64_t kMaxKey = 65'535, kMaxText = uint64_t{64} << 20, kMaxName = 1'024;
constexpr uint64_t kKeptNumbers = 4'096;
constexpr uint32_t kMaxAxes = 4;
constexpr uint64_t kMaxAlignment = uint64_t{1} << 20;
// The shortest entry: an empty key's length, a type, one byte. The shortest tensor: a name's length, one axis.
constexpr uint64_t kLeastEntry = 8 + 4 + 1, kLeastTensor = 8 + 4 + 8 + 4 + 8;

enum ValueType : uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64,
  kTypes
};
constexpr uint64_t kWidths[kTypes] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

struct Stop {};

struct Ends {
  uint64_t needed;
};

class GgufReader {
 public:
  GgufReader(std::string_view bytes, std::optional<uint64_t> file_bytes, const std::string& file,
             uint32_t shard, TensorTable& into, GgufHeader& header)
      : bytes_(bytes), file_bytes_(file_bytes), file_(file), shard_(shard), into_(into), header_(header) {}

  // Throws Ends where the header goes on behind the bytes at hand.
  Faults read() {
    try {
      start();
      entries();
      alignment();
      tensors();
      place();
    } catch (const Stop&) {
    }
    if (more_faults_)
      faults_.push_back(file_fault(file_, fmt::format("{} more faults of this kind", more_faults_)));
    if (faults_.empty()) keep();
    return std::move(faults_);
  }

 private:
  struct Tensor {
    std::string name;
    base::Dtype dtype = base::Dtype::kF32;
    std::vector<uint64_t> shape;
    uint64_t begin = 0, end = 0;
  };

  [[noreturn]] void stop(uint64_t at, std::string wrong, std::string expected = {}, std::string fix = {}) {
    faults_.push_back(
        file_fault(file_, fmt::format("byte {}: {}", at, wrong), std::move(expected), std::move(fix)));
    throw Stop();
  }
  void tensor_fault(const std::string& name, std::string wrong, std::string expected) {
    if (faults_.size() >= kMaxFaults) {
      ++more_faults_;
      return;
    }
    faults_.push_back(
        file_fault(file_, fmt::format("tensor '{}': {}", short_name(name), wrong), std::move(expected)));
  }

  // Bytes of the file behind this place, as far as that is known.
  uint64_t left() const { return file_bytes_ ? *file_bytes_ - at_ : kMaxGgufHeader; }

  // The next `count` bytes are at hand when this returns.
  void need(uint64_t count, const char* what) {
    if (count <= bytes_.size() - at_) return;
    if (file_bytes_ && count > *file_bytes_ - at_)
      stop(at_, fmt::format("the file ends inside {}", what),
           fmt::format("{} bytes more than its {}", count - (*file_bytes_ - at_), *file_bytes_),
           "the file is cut off: fetch it again");
    if (count > kMaxGgufHeader - std::min(at_, kMaxGgufHeader))
      stop(at_, fmt::format("the header goes on past {} bytes", kMaxGgufHeader), "a header of a real model");
    throw Ends{at_ + count};
  }
  template <typename T>
  T number(const char* what) {
    need(sizeof(T), what);
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::string_view text(uint64_t most, const char* what) {
    const uint64_t place = at_;
    const uint64_t length = number<uint64_t>(what);
    if (length > most || length > left())
      stop(place, fmt::format("{} of {} bytes", what, length),
           fmt::format("at most {}", std::min(most, left())));
    need(length, what);
    const std::string_view out = bytes_.substr(at_, length);
    at_ += length;
    return out;
  }

  void start() {
    need(4, "the magic");
    if (bytes_.substr(0, 4) != "GGUF")
      stop(0, fmt::format("the file does not start with 'GGUF'"), "a GGUF file");
    at_ = 4;
    version_ = number<uint32_t>("the version");
    if (version_ == 0x02000000 || version_ == 0x03000000)
      stop(4, "a big-endian file", "a little-endian one", "convert it on the machine it is for");
    if (version_ != 2 && version_ != 3) stop(4, fmt::format("version {}", version_), "2 or 3");
    tensor_count_ = number<uint64_t>("the number of tensors");
    entry_count_ = number<uint64_t>("the number of metadata entries");
    if (tensor_count_ > left() / kLeastTensor)
      stop(8, fmt::format("{} tensors", tensor_count_),
           fmt::format("at most {}, for which the file has room", left() / kLeastTensor));
    if (entry_count_ > left() / kLeastEntry)
      stop(16, fmt::format("{} metadata entries", entry_count_),
           fmt::format("at most {}, for which the file has room", left() / kLeastEntry));
  }

  static std::string utf8(std::string_view bytes) {
    // Texts that are not UTF-8 are kept readable, since JSON has no others.
    const std::string dumped = Json(std::string(bytes)).dump(-1, ' ', false, Json::error_handler_t::replace);
    return Json::parse(dumped).get<std::string>();
  }

  Json scalar(uint32_t type) {
    switch (type) {
      case kUint8:
        return number<uint8_t>("a value");
      case kInt8:
        return number<int8_t>("a value");
      case kUint16:
        return number<uint16_t>("a value");
      case kInt16:
        return number<int16_t>("a value");
      case kUint32:
        return number<uint32_t>("a value");
      case kInt32:
        return number<int32_t>("a value");
      case kFloat32:
        return number<float>("a value");
      case kBool: {
        const uint8_t value = number<uint8_t>("a value");
        if (value > 1) stop(at_ - 1, fmt::format("a truth value of {}", value), "0 or 1");
        return value == 1;
      }
      case kUint64:
        return number<uint64_t>("a value");
      case kInt64:
        return number<int64_t>("a value");
      case kFloat64:
        return number<double>("a value");
      default:
        return nullptr;
    }
  }

  Json value(uint32_t type) {
    if (type == kString) return utf8(text(kMaxText, "a text"));
    if (type != kArray) {
      if (type >= kTypes) stop(at_ - 4, fmt::format("metadata of type {}", type), "0 to 12");
      return scalar(type);
    }
    const uint32_t of = number<uint32_t>("an array's type");
    const uint64_t place = at_;
    const uint64_t length = number<uint64_t>("an array's length");
    if (of == kArray) stop(at_ - 12, "an array of arrays", "an array of plain values");
    if (of >= kTypes) stop(at_ - 12, fmt::format("an array of type {}", of), "0 to 12");
    const uint64_t width = of == kString ? 8 : kWidths[of];
    if (length > left() / width)
      stop(place, fmt::format("an array of {} values", length),
           fmt::format("at most {}, for which the file has room", left() / width));
    if (of != kString && length <= kKeptNumbers) {
      Json out = Json::array();
      for (uint64_t i = 0; i < length; ++i) out.push_back(scalar(of));
      return out;
    }
    if (of == kString) {
      for (uint64_t i = 0; i < length; ++i) text(kMaxText, "a text");
    } else {
      need(length * width, "an array");
      at_ += length * width;
    }
    return {{"length", length}};
  }

  void entries() {
    Json metadata = Json::object();
    for (uint64_t i = 0; i < entry_count_; ++i) {
      const uint64_t place = at_;
      const std::string key = utf8(text(kMaxKey, "a key"));
      if (metadata.contains(key))
        stop(place, fmt::format("the key '{}' stands twice", short_name(key)), "each key once");
      const uint32_t type = number<uint32_t>("a value's type");
      metadata[key] = value(type);
    }
    header_.metadata = std::make_shared<const Json>(std::move(metadata));
  }

  void alignment() {
    const auto it = header_.metadata->find("general.alignment");
    if (it == header_.metadata->end()) return;
    if (!it->is_number_unsigned() || it->get<uint64_t>() == 0 || it->get<uint64_t>() > kMaxAlignment ||
        it->get<uint64_t>() % 8 != 0)
      stop(at_, "general.alignment is " + it->dump().substr(0, 40), "a multiple of 8, at most 1,048,576");
    alignment_ = it->get<uint64_t>();
  }

  void tensors() {
    std::unordered_set<std::string> names;
    for (uint64_t i = 0; i < tensor_count_; ++i) {
      Tensor tensor;
      const uint64_t place = at_;
      tensor.name = std::string(text(kMaxName, "a tensor's name"));
      if (tensor.name.empty()) stop(place, "a tensor without a name", "a name");
      if (!names.insert(tensor.name).second)
        stop(place, fmt::format("the tensor '{}' stands twice", short_name(tensor.name)), "each name once");
      const uint32_t axes = number<uint32_t>("a number of axes");
      if (axes > kMaxAxes)
        stop(at_ - 4, fmt::format("'{}' has {} axes", short_name(tensor.name), axes), "at most 4");
      UInt128 elements = 1;
      for (uint32_t a = 0; a < axes; ++a) {
        tensor.shape.push_back(number<uint64_t>("an axis"));
        elements *= tensor.shape.back();
        if (elements > static_cast<UInt128>(INT64_MAX))
          stop(at_ - 8, fmt::format("'{}' has more than 2^63 elements", short_name(tensor.name)),
               "a real tensor");
      }
      const uint32_t type = number<uint32_t>("a tensor's type");
      const std::optional<base::Dtype> dtype = base::dtype_from_ggml_id(type);
      if (!dtype)
        stop(at_ - 4, fmt::format("'{}' has the type {}, which is not known", short_name(tensor.name), type),
             "a type of ggml that files hold");
      tensor.dtype = *dtype;
      tensor.begin = number<uint64_t>("an offset");
      const base::DtypeBlock block = base::dtype_block(tensor.dtype);
      const uint64_t row = tensor.shape.empty() ? 1 : tensor.shape[0];
      if (row % static_cast<uint64_t>(block.elements) != 0)
        tensor_fault(tensor.name,
                     fmt::format("rows of {} elements in {}", row, base::dtype_name(tensor.dtype)),
                     fmt::format("a multiple of its block of {}", block.elements));
      const UInt128 size =
          elements / static_cast<unsigned>(block.elements) * static_cast<unsigned>(block.bytes);
      const UInt128 end = tensor.begin + size;
      if (end > UINT64_MAX)
        stop(at_ - 8, fmt::format("'{}' ends past 2^64", short_name(tensor.name)), "a place inside the file");
      tensor.end = static_cast<uint64_t>(end);
      if (tensor.begin % alignment_ != 0)
        tensor_fault(tensor.name, fmt::format("offset {}", tensor.begin),
                     fmt::format("a multiple of the alignment, {}", alignment_));
      std::ranges::reverse(tensor.shape);
      found_.push_back(std::move(tensor));
    }
  }

  // Where the data begin, and that every tensor lies in them apart from the others.
  void place() {
    header_.data_begin = (at_ + alignment_ - 1) / alignment_ * alignment_;
    std::vector<const Tensor*> order;
    for (const Tensor& tensor : found_) order.push_back(&tensor);
    std::ranges::stable_sort(order, {},
                             [](const Tensor* tensor) { return std::pair(tensor->begin, tensor->end); });
    const Tensor* last = nullptr;
    for (const Tensor* tensor : order) {
      if (last && tensor->begin < last->end && tensor->end > tensor->begin)
        tensor_fault(tensor->name,
                     fmt::format("bytes {} to {} overlap those of '{}', which end at {}", tensor->begin,
                                 tensor->end, short_name(last->name), last->end),
                     "ranges without overlap");
      if (!last || tensor->end > last->end) last = tensor;
    }
    if (!last || !file_bytes_) return;
    const uint64_t data = *file_bytes_ - std::min(*file_bytes_, header_.data_begin);
    if (last->end > data)
      tensor_fault(
          last->name,
          fmt::format("ends at byte {} of the data, but the file has {} data bytes", last->end, data),
          "all bytes of every tensor");
  }

  void keep() {
    size_t name_bytes = 0;
    for (const Tensor& tensor : found_) name_bytes += tensor.name.size();
    if (into_.size() == 0) into_.reserve(found_.size(), name_bytes);
    for (const Tensor& tensor : found_)
      into_.add(tensor.name, tensor.dtype, tensor.shape, tensor.begin, tensor.end, shard_);
  }

  const std::string_view bytes_;
  const std::optional<uint64_t> file_bytes_;
  const std::string& file_;
  const uint32_t shard_;
  TensorTable& into_;
  GgufHeader& header_;
  uint64_t at_ = 0, tensor_count_ = 0, entry_count_ = 0, alignment_ = 32;
  uint32_t version_ = 0;
  std::vector<Tensor> found_;
  Faults faults_;
  size_t more_faults_ = 0;
};

}  // namespace

Faults parse_gguf(std::string_view bytes, std::optional<uint64_t> file_bytes, const std::string& file,
                  uint32_t shard, TensorTable& into, GgufHeader& header, uint64_t* more) {
  if (more) *more = 0;
  if (file_bytes && *file_bytes < bytes.size()) file_bytes = bytes.size();
  try {
    return GgufReader(bytes, file_bytes, file, shard, into, header).read();
  } catch (const Ends& ends) {
    if (more) {
      *more = ends.needed;
      return {};
    }
    return {file_fault(file, fmt::format("byte {}: the header goes on", bytes.size()), "the whole header")};
  }
}

Faults read_gguf_file(const std::string& path, uint32_t shard, TensorTable& into, GgufHeader& header) {
  const base::Result<uint64_t> size = base::file_size(path);
  if (!size) return size.faults();
  for (uint64_t window = kFirstWindow;;) {
    const base::Result<std::string> bytes = base::read_file_range(path, 0, std::min(window, *size));
    if (!bytes) return bytes.faults();
    uint64_t more = 0;
    Faults faults = parse_gguf(*bytes, *size, path, shard, into, header, &more);
    if (!faults.empty() || more == 0) return faults;
    window = std::max(window * 4, more);
  }
}

std::vector<std::string> gguf_set(const std::string& name) {
  // "-00001-of-00003.gguf"
  constexpr size_t kTail = 20;
  if (name.size() <= kTail || !name.ends_with(".gguf")) return {name};
  const std::string tail = name.substr(name.size() - kTail);
  const auto digits = [](const std::string& text) {
    return text.find_first_not_of("0123456789") == std::string::npos;
  };
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || !digits(tail.substr(1, 5)) ||
      !digits(tail.substr(10, 5)))
    return {name};
  const int of = std::stoi(tail.substr(10, 5));
  if (of < 1 || std::stoi(tail.substr(1, 5)) < 1 || std::stoi(tail.substr(1, 5)) > of) return {name};
  std::vector<std::string> out;
  for (int part = 1; part <= of; ++part)
    out.push_back(fmt::format("{}-{:05}-of-{:05}.gguf", name.substr(0, name.size() - kTail), part, of));
  return out;
}

Faults join_gguf(const std::string& place, const std::vector<GgufHeader>& parts, Truth& into) {
  Faults faults;
  const auto stated = [&](size_t part, const char* key) -> std::optional<uint64_t> {
    const auto it = parts[part].metadata->find(key);
    if (it == parts[part].metadata->end() || !it->is_number_integer() || it->get<int64_t>() < 0)
      return std::nullopt;
    return it->get<uint64_t>();
  };
  for (size_t part = 0; part < parts.size(); ++part) {
    const auto differs = [&](const char* key, uint64_t is) {
      if (const std::optional<uint64_t> said = stated(part, key); said && *said != is)
        faults.push_back(file_fault(place + into.shards[part].name, fmt::format("{} is {}", key, *said),
                                    std::to_string(is), "the parts of one model, all of them"));
    };
    differs("split.no", part);
    differs("split.count", parts.size());
    differs("split.tensors.count", into.tensors.size());
  }
  into.gguf = parts[0].metadata;
  into.level = Level::kHeader;
  return faults;
}

}  // namespace archlight::truth
