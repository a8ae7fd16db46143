// Method  exchange() writes the request, reads the head, decides from the head alone how many bytes of the body it
//         will take, and takes those. The connection is kept only when the body's end was seen.
#include "truth/internal/http.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace archlight::truth {
namespace {

constexpr size_t kMaxHead = 64 << 10;       // the hub's heads are 2 to 4 KiB
constexpr size_t kMaxErrorBody = 64 << 10;  // read for its message, and to keep the connection
constexpr int kMaxInterim = 8;              // 1xx answers before the real one

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// All of `text` as one unsigned number, nothing else around it.
std::optional<uint64_t> number(std::string_view text, int base = 10) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

[[noreturn]] void malformed(std::string detail) {
  throw WireFailure{Trouble::kMalformed, std::move(detail)};
}

std::string request_text(const HttpRequest& request) {
  std::string out =
      fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n", request.url.target, request.url.authority());
  // identity: a range of compressed bytes would be of no use.
  out += "User-Agent: archlight\r\nAccept: */*\r\nAccept-Encoding: identity\r\n";
  if (const auto& range = request.range)
    out += fmt::format("Range: bytes={}-{}\r\n", range->begin, range->begin + range->length - 1);
  for (const auto& [name, value] : request.headers) out += fmt::format("{}: {}\r\n", name, value);
  return out + "\r\n";
}

// "HTTP/1.1 206 Partial Content" to 206; `keep` is false for HTTP/1.0.
int parse_status(std::string_view line, bool& keep) {
  const bool known = line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ");
  const auto status = known && line.size() >= 12 ? number(line.substr(9, 3)) : std::nullopt;
  if (!status || *status < 100 || *status > 599 || (line.size() > 12 && line[12] != ' '))
    malformed(fmt::format("not an HTTP answer: '{}'", line.substr(0, 60)));
  keep = line[7] == '1';
  return static_cast<int>(*status);
}

// Status and headers; `keep` says whether the connection outlives the body.
void read_head(Wire& wire, HttpReply& reply, bool& keep) {
  size_t left = kMaxHead;
  for (int answer = 0; answer <= kMaxInterim; ++answer) {
    reply.headers.clear();
    reply.status = parse_status(wire.read_line(left), keep);
    for (std::string line = wire.read_line(left); !line.empty(); line = wire.read_line(left)) {
      const size_t colon = line.find(':');
      if (colon == std::string::npos || colon == 0 || line.find_first_of(" \t") < colon)
        malformed(fmt::format("not a header line: '{}'", line.substr(0, 60)));
      reply.headers.emplace_back(lower(line.substr(0, colon)),
                                 trim(std::string_view(line).substr(colon + 1)));
    }
    if (reply.status >= 200) {
      if (const auto said = reply.header("connection"); !said.empty()) keep = lower(said) == "keep-alive";
      return;
    }
  }
  malformed("interim answers without end");
}

// How the body ends: chunked, after `length` bytes, or, with neither, at the connection's end.
struct Framing {
  bool chunked = false;
  std::optional<uint64_t> length;
};

Framing framing(const HttpReply& reply) {
  Framing out;
  if (reply.status == 204 || reply.status == 304) return {false, 0};
  for (const auto& [name, value] : reply.headers) {
    if (name == "transfer-encoding") {
      if (lower(value) != "chunked") malformed("an unknown transfer encoding");
      out.chunked = true;
    } else if (name == "content-length") {
      const auto length = number(value);
      if (!length || (out.length && *out.length != *length)) malformed("a content length that is no number");
      out.length = length;
    } else if (name == "content-encoding" && !value.empty() && lower(value) != "identity") {
      malformed("a compressed body where plain bytes were asked");
    }
  }
  if (out.chunked) out.length.reset();
  return out;
}

// Exactly `length` bytes appended to `out`.
void read_exactly(Wire& wire, uint64_t length, std::string& out) {
  for (const uint64_t end = out.size() + length; out.size() < end;) {
    if (!wire.read_some(end - out.size(), out))
      throw WireFailure{Trouble::kDropped, fmt::format("the body ended {} bytes early", end - out.size())};
  }
}

// Reads the body while it stays within `most`. True: its end was seen. False: it is longer; `most` bytes were
// taken.
bool read_body(Wire& wire, const Framing& framing, uint64_t most, std::string& out) {
  if (framing.length) {
    read_exactly(wire, std::min(*framing.length, most), out);
    return *framing.length <= most;
  }
  if (!framing.chunked) {
    while (out.size() <= most)
      if (!wire.read_some(most + 1 - out.size(), out)) return true;
    out.resize(most);
    return false;
  }
  size_t left = kMaxHead + most;  // size lines of one-byte chunks take more room than the bytes
  for (;;) {
    const std::string line = wire.read_line(left);
    const auto size = number(trim(std::string_view(line).substr(0, line.find(';'))), 16);
    if (!size) malformed("a chunk without a size");
    if (*size == 0) break;
    const uint64_t room = most - out.size();
    read_exactly(wire, std::min(*size, room), out);
    if (*size > room) return false;
    if (!wire.read_line(left).empty()) malformed("a chunk longer than its size");
  }
  while (!wire.read_line(left).empty()) {
  }
  return true;
}

// What a 206 must be: the bytes asked, or fewer where the file ends.
void check_range(const ByteRange& asked, const Framing& framing, HttpReply& reply, uint64_t& length) {
  const std::string_view said = reply.header("content-range");
  const auto range = parse_content_range(said);
  if (!range)
    throw WireFailure{Trouble::kBadRange,
                      fmt::format("the answer's Content-Range is '{}'", said.substr(0, 80))};
  const uint64_t last = std::min(asked.begin + asked.length, range->total) - 1;
  if (range->begin != asked.begin || range->end != last)
    throw WireFailure{Trouble::kBadRange,
                      fmt::format("asked for bytes {}-{}, the answer holds {}-{} of {}", asked.begin,
                                  asked.begin + asked.length - 1, range->begin, range->end, range->total)};
  length = range->end - range->begin + 1;
  if (framing.length && *framing.length != length)
    throw WireFailure{Trouble::kBadRange,
                      fmt::format("{} bytes announced for a range of {}", *framing.length, length)};
  reply.total_bytes = range->total;
}

// True when the connection may be used again.
bool exchange(Wire& wire, const HttpRequest& request, HttpReply& reply) {
  wire.write_all(request_text(request));
  bool keep = false;
  read_head(wire, reply, keep);
  const Framing body = framing(reply);
  if (reply.status == 206 && request.range) {
    uint64_t length = 0;
    check_range(*request.range, body, reply, length);
    if (!read_body(wire, body, length, reply.body) || reply.body.size() != length)
      throw WireFailure{Trouble::kBadRange, fmt::format("{} bytes announced, another number came", length)};
    return keep && (body.length || body.chunked);
  }
  const bool success = reply.status >= 200 && reply.status < 300;
  if (success && request.range)
    throw WireFailure{Trouble::kIgnoredRange,
                      fmt::format("the whole file instead of {} bytes", request.range->length)};
  if (success && reply.status != 200)
    malformed(fmt::format("the status {} where the whole file was asked", reply.status));
  const uint64_t most = success ? request.max_body : kMaxErrorBody;
  if (success && body.length && *body.length > most)
    throw WireFailure{Trouble::kTooLarge,
                      fmt::format("{} bytes, more than the {} this reader takes", *body.length, most)};
  const bool whole = read_body(wire, body, most, reply.body);
  if (success && !whole)
    throw WireFailure{Trouble::kTooLarge, fmt::format("more than the {} bytes this reader takes", most)};
  return keep && whole && (body.length || body.chunked);
}

}  // namespace

std::string_view HttpReply::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  if (lower(text.substr(0, 6)) != "bytes ") return std::nullopt;
  text = trim(text.substr(6));
  const size_t dash = text.find('-');
  const size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || dash > slash) return std::nullopt;
  const auto begin = number(text.substr(0, dash));
  const auto end = number(text.substr(dash + 1, slash - dash - 1));
  const auto total = number(text.substr(slash + 1));
  if (!begin || !end || !total || *begin > *end || *end >= *total) return std::nullopt;
  return ContentRange{*begin, *end, *total};
}

HttpReply HttpConnection::get(const HttpRequest& request) {
  for (bool kept = wire_ && wire_->quiet();; kept = false) {
    HttpReply reply;
    try {
      if (kept) {
        wire_->start();
      } else {
        wire_ = std::make_unique<Wire>(settings_);
        wire_->open(request.url);
      }
      if (!exchange(*wire_, request, reply)) wire_.reset();
      return reply;
    } catch (const WireFailure& failure) {
      // A server may close a kept connection at the moment it is used; it answered nothing, so nothing is
      // lost.
      const bool stale = kept && failure.trouble == Trouble::kDropped && wire_->received() == 0;
      wire_.reset();
      if (stale) continue;
      reply.trouble = failure.trouble;
      reply.detail = failure.detail;
      reply.body.clear();
      return reply;
    }
  }
}

}  // namespace archlight::truth
