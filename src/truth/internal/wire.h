// wire.h: one connection to one server, with or without TLS, behind one clock.
//
// Time    No wait longer than timeout_s, no average below 8 KiB/s past the first timeout_s, nothing past the
//         deadline. Connecting and the handshake count, so a server that drips bytes gains nothing.
// TLS     1.2 or later; certificate and host name verified against the system's trust store, which OpenSSL
//         finds by itself or by SSL_CERT_FILE and SSL_CERT_DIR.
// Errors  Thrown as WireFailure inside this room's HTTP code; http.cc turns each into a reply.
#pragma once

#include <openssl/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "truth/internal/url.h"

namespace archlight::truth {

enum class Trouble {
  kNone,
  kName,     // the host name does not resolve
  kConnect,  // no connection
  kTls,      // handshake or certificate
  kTimeout,
  kDropped,       // closed before the answer was whole
  kMalformed,     // not HTTP, or a head past its bound
  kBadRange,      // a 206 for other bytes than asked, or of another length
  kIgnoredRange,  // 200 with the whole file where a range was asked
  kTooLarge,      // a whole body past its bound
  kRedirects,     // too many, or to an address that is refused
  kStopped,       // the caller's stop flag
};

struct WireFailure {
  Trouble trouble;
  std::string detail;
};

// The certificates that are trusted, read on first use: the system's 140 take about 50 ms, so all connections
// of a read share one.
class TlsTrust {
 public:
  TlsTrust() = default;
  ~TlsTrust();
  TlsTrust(const TlsTrust&) = delete;
  TlsTrust& operator=(const TlsTrust&) = delete;
  SSL_CTX* context();  // null when OpenSSL cannot start; from any thread

 private:
  std::once_flag once_;
  SSL_CTX* context_ = nullptr;
};

struct WireSettings {
  double timeout_s = 30;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  const std::atomic<bool>* stop = nullptr;  // ends a running exchange within a tenth of a second
  std::shared_ptr<TlsTrust> trust = std::make_shared<TlsTrust>();
};

class Wire {
 public:
  explicit Wire(const WireSettings& settings);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  void open(const Url& url);
  // An exchange's clock and byte count start here.
  void start();
  uint64_t received() const { return received_; }
  // No byte waits and the server has not closed: a kept connection that is not quiet is of no use.
  bool quiet() const;

  void write_all(std::string_view bytes);
  // The next line without its end. `left` is what the head may still hold; a longer line is a failure.
  std::string read_line(size_t& left);
  // Appends 1 to `length` bytes to `out`; false at the connection's clean end.
  bool read_some(uint64_t length, std::string& out);

 private:
  using Clock = std::chrono::steady_clock;

  // The moment by which the exchange must have moved on.
  Clock::time_point limit() const;
  void check(Clock::time_point until) const;
  void wait(short events, std::optional<Clock::time_point> until = std::nullopt);
  void wait_for_tls(int result, const char* when);
  bool fill(size_t most);
  void connect_any(const Url& url);
  void shake_hands(const Url& url);

  int fd_ = -1;
  SSL* ssl_ = nullptr;
  std::string buffer_;
  WireSettings settings_;
  Clock::time_point started_, moved_;
  uint64_t received_ = 0;
};

// Writing to a connection that the other side closed raises SIGPIPE, which ends a process by default. While
// this object lives, the thread that made it, and threads it starts meanwhile, see an error code instead.
class NoSigpipe {
 public:
  NoSigpipe();
  ~NoSigpipe();
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  bool was_blocked_ = false;
};

}  // namespace archlight::truth
