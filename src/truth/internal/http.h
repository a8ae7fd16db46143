// http.h: GET over HTTP/1.1 with a bound on everything the other side can send.
//
// Bounds   Response head 64 KiB, body what the request allows, time as wire.h counts it. A server that drips,
//          never ends, or answers a range with the whole file costs one timeout or one head, not a download.
// Ranges   A 206 must name the range that was asked, clipped by the file's end at most, and the file's total
//          size. Anything else, a 200 with the whole file included, ends the exchange at the head.
// Why own  The client of cpp-httplib 0.11.4 matches the status line with a recursive regex and overflows its
//          stack at 100,000 bytes of reason phrase, bounds neither the head nor the time of an exchange, and
//          raises SIGPIPE.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "truth/internal/url.h"
#include "truth/internal/wire.h"

namespace archlight::truth {

struct ByteRange {
  uint64_t begin = 0;
  uint64_t length = 0;  // at least 1
};

struct HttpRequest {
  Url url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<ByteRange> range;
  uint64_t max_body = 0;  // of a body without a range
};

struct HttpReply {
  Trouble trouble = Trouble::kNone;
  std::string detail;  // of the trouble, in words
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;                                          // of an error status: its first 64 KiB at most
  std::optional<uint64_t> total_bytes;                       // of the file, from Content-Range

  std::string_view header(std::string_view name) const;  // the first of that name, or empty
};

struct ContentRange {
  uint64_t begin = 0;
  uint64_t end = 0;  // last byte, inclusive
  uint64_t total = 0;
};
// "bytes 0-7/1234". Nothing when malformed, outside its own total, or when the total is '*'.
std::optional<ContentRange> parse_content_range(std::string_view text);

// One server, one connection that is kept while both sides like it. Not for two threads at once.
class HttpConnection {
 public:
  explicit HttpConnection(const WireSettings& settings) : settings_(settings) {}

  // Each request goes to the same origin. A kept connection that the server closed meanwhile is opened anew.
  HttpReply get(const HttpRequest& request);

 private:
  WireSettings settings_;
  std::unique_ptr<Wire> wire_;
};

}  // namespace archlight::truth
