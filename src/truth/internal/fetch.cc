#include "truth/internal/fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <random>
#include <thread>

namespace archlight::truth {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxRedirects = 5;
constexpr size_t kMaxConnections = 4;  // the hub, its CDN, and room for a second CDN
constexpr int kNameTries = 2;  // a name that does not resolve twice is misspelt, or there is no network

Clock::duration seconds(double value) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(value));
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// May the same request succeed a moment later?
bool passing(const HttpReply& reply, int tries) {
  switch (reply.trouble) {
    case Trouble::kNone: {
      const int status = reply.status;
      return status == 408 || status == 425 || status == 429 || status == 500 || status == 502 ||
             status == 503 || status == 504;
    }
    case Trouble::kName:
      return tries < kNameTries;
    case Trouble::kConnect:
    case Trouble::kTimeout:
    case Trouble::kDropped:
    case Trouble::kBadRange:
      return true;
    case Trouble::kTls:
    case Trouble::kMalformed:
    case Trouble::kIgnoredRange:
    case Trouble::kTooLarge:
    case Trouble::kRedirects:
    case Trouble::kStopped:
      return false;
  }
  return false;
}

// Between half and one and a half, so that workers that failed together do not come back together.
double jitter() {
  thread_local std::minstd_rand generator(std::random_device{}());
  return std::uniform_real_distribution<double>(0.5, 1.5)(generator);
}

std::string unquoted(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  return std::string(etag.substr(0, 200));
}

std::string retry_notice(const FetchReply& reply, double wait_s, int tries) {
  const std::string why = reply.http.trouble == Trouble::kNone ? fmt::format("answered {}", reply.http.status)
                                                               : reply.http.detail;
  return fmt::format("{}: {}; try {} of {} in {:.1f} s", reply.final_url.authority(), why, reply.tries + 1,
                     tries, std::max(wait_s, 0.0));
}

}  // namespace

void FetchShared::hold_until(Clock::time_point until) {
  const std::lock_guard lock(mutex_);
  held_until_ = std::max(held_until_, until);
}

Clock::time_point FetchShared::held_until() {
  const std::lock_guard lock(mutex_);
  return held_until_;
}

std::optional<double> parse_retry_after(std::string_view value, int64_t now_unix_s) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (!value.empty() && error == std::errc() && end == value.data() + value.size())
    return static_cast<double>(number);
  if (value.size() > 64) return std::nullopt;
  // "Sun, 06 Nov 1994 08:49:37 GMT"
  std::tm date = {};
  const std::string text(value);
  const char* rest = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (!rest || *rest != '\0') return std::nullopt;
  return std::max(0.0, static_cast<double>(timegm(&date) - now_unix_s));
}

FetchReply Fetcher::follow(Url url, std::optional<ByteRange> range, uint64_t max_body) {
  const FetchPolicy& policy = shared_.policy;
  const std::string home = policy.endpoint.origin();
  FetchReply reply;
  for (int hop = 0;; ++hop) {
    const std::string origin = url.origin();
    if (connections_.size() >= kMaxConnections && !connections_.contains(origin)) connections_.clear();
    std::unique_ptr<HttpConnection>& connection = connections_[origin];
    if (!connection)
      connection = std::make_unique<HttpConnection>(
          WireSettings{policy.timeout_s, policy.deadline, &shared_.stop, shared_.trust});
    HttpRequest request{url, {}, range, max_body};
    if (origin == home && !policy.token.empty())
      request.headers.emplace_back("Authorization", "Bearer " + policy.token);
    ++shared_.requests;
    reply.http = connection->get(request);
    reply.final_url = url;
    if (origin == home && reply.http.trouble == Trouble::kNone) {
      const auto take = [&](std::string& into, std::string_view header) {
        if (into.empty()) into = unquoted(reply.http.header(header));
      };
      take(reply.repo_commit, "x-repo-commit");
      take(reply.etag, "x-linked-etag");
      if (!is_redirect(reply.http.status)) take(reply.etag, "etag");
      const std::string_view size = reply.http.header("x-linked-size");
      uint64_t bytes = 0;
      if (!size.empty() && std::from_chars(size.data(), size.data() + size.size(), bytes).ec == std::errc())
        reply.linked_bytes = bytes;
    }
    if (reply.http.trouble != Trouble::kNone || !is_redirect(reply.http.status)) return reply;
    const std::string_view location = reply.http.header("location");
    const std::optional<Url> next = resolve_location(url, location);
    const auto refuse = [&](std::string detail) {
      reply.http.trouble = Trouble::kRedirects;
      reply.http.detail = std::move(detail);
      return reply;
    };
    if (!next) return refuse(fmt::format("a redirect to '{}'", location.substr(0, 100)));
    if (url.tls && !next->tls)
      return refuse(fmt::format("a redirect from https to http, to {}", next->authority()));
    if (hop == kMaxRedirects) return refuse(fmt::format("more than {} redirects", kMaxRedirects));
    url = *next;
  }
}

FetchReply Fetcher::get(const Url& url, std::optional<ByteRange> range, uint64_t max_body,
                        const Check& check) {
  const FetchPolicy& policy = shared_.policy;
  Clock::time_point not_before = Clock::now();
  for (int tries = 1;; ++tries) {
    const double left =
        std::chrono::duration<double>(std::max(not_before, shared_.held_until()) - Clock::now()).count();
    if (left > 0) {
      if (policy.wait) {
        policy.wait(left);
      } else {
        const auto end = Clock::now() + seconds(left);
        while (!shared_.stop && Clock::now() < end)
          std::this_thread::sleep_for(
              std::min<Clock::duration>(end - Clock::now(), std::chrono::milliseconds(100)));
      }
    }
    FetchReply reply;
    reply.final_url = url;
    if (shared_.stop) {
      reply.http.trouble = Trouble::kStopped;
      return reply;
    }
    reply = follow(url, range, max_body);
    reply.tries = tries;
    if (reply.ok() && check) {
      if (auto problem = check(reply)) {
        reply.http.trouble = Trouble::kBadRange;
        reply.http.detail = std::move(*problem);
      }
    }
    if (reply.ok() || !passing(reply.http, tries)) return reply;

    double wait_s = policy.first_backoff_s * static_cast<double>(1 << std::min(tries - 1, 16)) * jitter();
    if (reply.http.trouble == Trouble::kNone) {
      if (const auto asked = parse_retry_after(reply.http.header("retry-after"), std::time(nullptr))) {
        reply.asked_wait_s = *asked;
        wait_s = std::max(wait_s, *asked);
      }
    }
    not_before = Clock::now() + seconds(std::min(wait_s, policy.longest_wait_s));
    if (tries >= policy.tries || reply.asked_wait_s > policy.longest_wait_s || not_before > policy.deadline)
      return reply;
    if (reply.asked_wait_s > 0) shared_.hold_until(not_before);
    if (policy.on_retry) policy.on_retry(retry_notice(reply, wait_s, policy.tries));
  }
}

}  // namespace archlight::truth
