// fetch.h: a GET that arrives: redirects followed, passing troubles tried again.
//
// Redirects  At most 5, relative or to another server; never from https to http. The token goes to the endpoint's own
//            scheme, host and port and nowhere else.
// Retries    429, 408, 5xx, dropped, short, timed out, or an answer for another range: again after
//            first_backoff_s * 2^k, halved or raised by half at random, or what Retry-After says when that is
//            more. One worker's Retry-After holds all of them. Bounded by tries, longest_wait_s and the
//            deadline.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "truth/internal/http.h"

namespace archlight::truth {

struct FetchPolicy {
  Url endpoint;
  std::string token;  // empty: none
  int tries = 5;
  double first_backoff_s = 0.5;
  double longest_wait_s = 300;
  double timeout_s = 30;
  std::chrono::steady_clock::time_point deadline;
  std::function<void(double)> wait;                  // empty: sleeps
  std::function<void(const std::string&)> on_retry;  // told before each wait, from any worker
};

// What all workers of one read share.
struct FetchShared {
  FetchPolicy policy;
  std::shared_ptr<TlsTrust> trust = std::make_shared<TlsTrust>();
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> requests = 0;

  void hold_until(std::chrono::steady_clock::time_point until);
  std::chrono::steady_clock::time_point held_until();

 private:
  std::mutex mutex_;
  std::chrono::steady_clock::time_point held_until_;
};

struct FetchReply {
  HttpReply http;                        // of the last answer
  Url final_url;                         // where it came from
  std::string repo_commit;               // the hub's x-repo-commit
  std::string etag;                      // x-linked-etag, else etag, without quotes and W/
  std::optional<uint64_t> linked_bytes;  // x-linked-size: the hub's word on the file's size
  int tries = 0;
  double asked_wait_s = 0;  // the last Retry-After

  bool ok() const { return http.trouble == Trouble::kNone && http.status >= 200 && http.status < 300; }
};

// A worker's connections. Not for two threads at once.
class Fetcher {
 public:
  explicit Fetcher(FetchShared& shared) : shared_(shared) {}

  // `check` names what is wrong with a good answer's contents, which then counts as a passing trouble.
  using Check = std::function<std::optional<std::string>(const FetchReply&)>;
  FetchReply get(const Url& url, std::optional<ByteRange> range, uint64_t max_body, const Check& check = {});

 private:
  FetchReply follow(Url url, std::optional<ByteRange> range, uint64_t max_body);

  FetchShared& shared_;
  std::map<std::string, std::unique_ptr<HttpConnection>> connections_;  // by origin
};

// Seconds from now that a Retry-After header asks for: a number, or an HTTP date seen from `now_unix_s`.
std::optional<double> parse_retry_after(std::string_view value, int64_t now_unix_s);

}  // namespace archlight::truth
