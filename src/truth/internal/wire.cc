#include "truth/internal/wire.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <memory>

namespace archlight::truth {
namespace {

constexpr double kLeastBytesPerS = 8 << 10;
constexpr size_t kFill = 16 << 10;

std::chrono::steady_clock::duration seconds(double value) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(value));
}

bool is_ip_address(const std::string& host) {
  in6_addr scratch;
  return inet_pton(AF_INET, host.c_str(), &scratch) == 1 || inet_pton(AF_INET6, host.c_str(), &scratch) == 1;
}

std::string handshake_problem(SSL* ssl) {
  const long verdict = SSL_get_verify_result(ssl);
  if (verdict != X509_V_OK)
    return std::string("the certificate is refused: ") + X509_verify_cert_error_string(verdict);
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code ? ERR_reason_error_string(code) : nullptr;
  return std::string("the TLS handshake failed: ") + (reason ? reason : "no reason given");
}

}  // namespace

TlsTrust::~TlsTrust() {
  SSL_CTX_free(context_);
}

SSL_CTX* TlsTrust::context() {
  std::call_once(once_, [this] {
    context_ = SSL_CTX_new(TLS_client_method());
    if (!context_) return;
    SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_default_verify_paths(context_);
  });
  return context_;
}

Wire::Wire(const WireSettings& settings) : settings_(settings) {
  start();
}

Wire::~Wire() {
  if (ssl_) SSL_free(ssl_);
  if (fd_ >= 0) close(fd_);
}

void Wire::open(const Url& url) {
  connect_any(url);
  if (url.tls) shake_hands(url);
}

void Wire::start() {
  started_ = moved_ = Clock::now();
  received_ = 0;
}

bool Wire::quiet() const {
  if (!buffer_.empty() || (ssl_ && SSL_pending(ssl_) > 0)) return false;
  pollfd waiting{fd_, POLLIN, 0};
  return poll(&waiting, 1, 0) == 0;
}

void Wire::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    if (ssl_) {
      size_t put = 0;
      ERR_clear_error();
      if (SSL_write_ex(ssl_, bytes.data(), bytes.size(), &put) == 1)
        bytes.remove_prefix(put);
      else
        wait_for_tls(0, "while the request was sent");
      continue;
    }
    const ssize_t put = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put > 0)
      bytes.remove_prefix(static_cast<size_t>(put));
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      wait(POLLOUT);
    else if (errno != EINTR)
      throw WireFailure{Trouble::kDropped,
                        std::string("while the request was sent: ") + std::strerror(errno)};
  }
}

std::string Wire::read_line(size_t& left) {
  size_t searched = 0;
  for (;;) {
    const size_t end = buffer_.find('\n', searched);
    const size_t used = end == std::string::npos ? buffer_.size() : end + 1;
    if (used > left) throw WireFailure{Trouble::kMalformed, "the head of the answer does not end"};
    if (end != std::string::npos) {
      left -= used;
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, used);
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return line;
    }
    searched = buffer_.size();
    if (!fill(kFill)) throw WireFailure{Trouble::kDropped, "the connection closed before the answer"};
  }
}

bool Wire::read_some(uint64_t length, std::string& out) {
  if (buffer_.empty() && !fill(static_cast<size_t>(std::min<uint64_t>(length, kFill)))) return false;
  const size_t take = static_cast<size_t>(std::min<uint64_t>(length, buffer_.size()));
  out.append(buffer_, 0, take);
  buffer_.erase(0, take);
  return true;
}

Wire::Clock::time_point Wire::limit() const {
  const auto patience = seconds(settings_.timeout_s);
  const auto at_least_rate = started_ + patience + seconds(static_cast<double>(received_) / kLeastBytesPerS);
  return std::min({at_least_rate, moved_ + patience, settings_.deadline});
}

void Wire::check(Clock::time_point until) const {
  if (settings_.stop && settings_.stop->load()) throw WireFailure{Trouble::kStopped, "stopped"};
  if (Clock::now() < until) return;
  throw WireFailure{Trouble::kTimeout, received_ == 0
                                           ? fmt::format("no answer within {:g} s", settings_.timeout_s)
                                           : fmt::format("the answer stalled after {} bytes", received_)};
}

void Wire::wait(short events, std::optional<Clock::time_point> until) {
  for (;;) {
    const auto end = until ? std::min(*until, limit()) : limit();
    check(end);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd waiting{fd_, events, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::clamp<long long>(left, 0, 100)));
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) throw WireFailure{Trouble::kDropped, std::strerror(errno)};
  }
}

// `result` of an SSL call: waits where the call may be made again, throws where not.
void Wire::wait_for_tls(int result, const char* when) {
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return wait(POLLIN);
    case SSL_ERROR_WANT_WRITE:
      return wait(POLLOUT);
    default:
      throw WireFailure{Trouble::kDropped, std::string("the TLS connection broke ") + when};
  }
}

// One read of up to `most` bytes into the buffer; false at the end of the stream.
bool Wire::fill(size_t most) {
  check(limit());
  const size_t before = buffer_.size();
  buffer_.resize(before + most);
  size_t got = 0;
  bool ended = false;
  while (got == 0 && !ended) {
    if (ssl_) {
      ERR_clear_error();
      if (SSL_read_ex(ssl_, buffer_.data() + before, most, &got) == 1) break;
      if (SSL_get_error(ssl_, 0) == SSL_ERROR_ZERO_RETURN)
        ended = true;
      else
        wait_for_tls(0, "while the answer was read");
      continue;
    }
    const ssize_t read = recv(fd_, buffer_.data() + before, most, 0);
    if (read > 0)
      got = static_cast<size_t>(read);
    else if (read == 0)
      ended = true;
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      wait(POLLIN);
    else if (errno != EINTR)
      throw WireFailure{Trouble::kDropped, std::string("while the answer was read: ") + std::strerror(errno)};
  }
  buffer_.resize(before + got);
  received_ += got;
  if (got > 0) moved_ = Clock::now();
  return !ended;
}

// Tries each address of the name; one may use its share of the time left, so that a dead one does not starve
// the next.
void Wire::connect_any(const Url& url) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &found);
  if (error != 0)
    throw WireFailure{Trouble::kName,
                      fmt::format("the name '{}' does not resolve: {}", url.host, gai_strerror(error))};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  int addresses_left = 0;
  for (const addrinfo* at = found; at; at = at->ai_next) ++addresses_left;
  std::string problem = "no address";
  for (const addrinfo* at = found; at; at = at->ai_next, --addresses_left) {
    if (fd_ >= 0) close(fd_);
    fd_ = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol);
    if (fd_ < 0) {
      problem = std::strerror(errno);
      continue;
    }
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd_, at->ai_addr, at->ai_addrlen) == 0) return;
    int reason = errno;
    if (reason == EINPROGRESS) {
      const auto now = Clock::now();
      try {
        wait(POLLOUT, now + (limit() - now) / addresses_left);
      } catch (const WireFailure& failure) {
        if (failure.trouble != Trouble::kTimeout) throw;
        problem = "it does not answer";
        continue;
      }
      socklen_t size = sizeof reason;
      if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &reason, &size) == 0 && reason == 0) return;
    }
    problem = std::strerror(reason);
  }
  throw WireFailure{Trouble::kConnect, fmt::format("no connection to {}: {}", url.authority(), problem)};
}

void Wire::shake_hands(const Url& url) {
  SSL_CTX* const context = settings_.trust->context();
  ssl_ = context ? SSL_new(context) : nullptr;
  if (!ssl_ || SSL_set_fd(ssl_, fd_) != 1) throw WireFailure{Trouble::kTls, "OpenSSL cannot start"};
  const bool address = is_ip_address(url.host);
  const int named = address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), url.host.c_str())
                            : SSL_set1_host(ssl_, url.host.c_str());
  if (named != 1 || (!address && SSL_set_tlsext_host_name(ssl_, url.host.c_str()) != 1))
    throw WireFailure{Trouble::kTls, "the host name cannot be checked"};
  static constexpr unsigned char kProtocols[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  SSL_set_alpn_protos(ssl_, kProtocols, sizeof kProtocols);
  for (;;) {
    ERR_clear_error();
    const int result = SSL_connect(ssl_);
    if (result == 1) return;
    const int error = SSL_get_error(ssl_, result);
    if (error == SSL_ERROR_SYSCALL) throw WireFailure{Trouble::kDropped, "the TLS handshake was cut off"};
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
      throw WireFailure{Trouble::kTls, handshake_problem(ssl_)};
    wait(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT);
  }
}

NoSigpipe::NoSigpipe() {
  sigset_t pipe_only, before;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
  was_blocked_ = sigismember(&before, SIGPIPE) == 1;
}

NoSigpipe::~NoSigpipe() {
  if (was_blocked_) return;
  sigset_t pipe_only;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  const timespec now = {};
  while (sigtimedwait(&pipe_only, nullptr, &now) == SIGPIPE) {
  }
  pthread_sigmask(SIG_UNBLOCK, &pipe_only, nullptr);
}

}  // namespace archlight::truth
