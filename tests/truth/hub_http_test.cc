// The wire: answers that are not what was asked, servers that drip, drop, or never end, and TLS.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <csignal>
#include <random>

#include "base/file.h"
#include "truth/hub_client.h"
#include "truth/hub_server.h"
#include "truth/internal/fetch.h"
#include "truth/internal/http.h"

namespace archlight::truth {
namespace {

using Answer = RawServer::Answer;

std::string trouble_name(Trouble trouble) {
  const char* names[] = {"none",      "name",      "connect",       "tls",       "timeout",   "dropped",
                         "malformed", "bad range", "ignored range", "too large", "redirects", "stopped"};
  return names[static_cast<int>(trouble)];
}

HttpReply get(const std::string& address, std::optional<ByteRange> range, double timeout_s = 10) {
  HttpConnection connection(WireSettings{timeout_s});
  return connection.get({*parse_url(address + "/file"), {}, range, 1000});
}

// "206 'bytes' of total" or the trouble.
std::string shown(const HttpReply& reply) {
  if (reply.trouble != Trouble::kNone) return trouble_name(reply.trouble);
  return fmt::format("{} '{}'{}", reply.status, reply.body,
                     reply.total_bytes ? fmt::format(" of {}", *reply.total_bytes) : "");
}

struct Row {
  std::string answer, want;
};

void check_rows(const std::vector<Row>& rows, std::optional<ByteRange> range) {
  for (const Row& row : rows) {
    RawServer server([&](const std::string&, int) { return Answer{row.answer}; });
    EXPECT_EQ(shown(get(server.address(), range)), row.want) << row.answer.substr(0, 300);
  }
}

TEST(HubHttp, AnswersToARange) {
  const std::string ok = "HTTP/1.1 206 Partial Content\r\n";
  check_rows(
      {
          {ok + "Content-Range: bytes 8-11/100\r\nContent-Length: 4\r\n\r\nabcd", "206 'abcd' of 100"},
          {ok + "content-range:bytes 8-11/100\r\n\r\nabcd", "206 'abcd' of 100"},
          {ok + "Content-Range: bytes 8-11/100\r\nTransfer-Encoding: "
                "chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n",
           "206 'abcd' of 100"},
          // The file ends inside the range.
          {ok + "Content-Range: bytes 8-9/10\r\nContent-Length: 2\r\n\r\nab", "206 'ab' of 10"},
          // Another start, another end, an end before the file's.
          {ok + "Content-Range: bytes 0-3/100\r\nContent-Length: 4\r\n\r\nabcd", "bad range"},
          {ok + "Content-Range: bytes 8-12/100\r\nContent-Length: 5\r\n\r\nabcde", "bad range"},
          {ok + "Content-Range: bytes 8-10/100\r\nContent-Length: 3\r\n\r\nabc", "bad range"},
          // No range said, no total, nonsense.
          {ok + "Content-Length: 4\r\n\r\nabcd", "bad range"},
          {ok + "Content-Range: bytes 8-11/*\r\nContent-Length: 4\r\n\r\nabcd", "bad range"},
          {ok + "Content-Range: bytes 8-11/9\r\nContent-Length: 4\r\n\r\nabcd", "bad range"},
          {ok + "Content-Range: lines 8-11/100\r\nContent-Length: 4\r\n\r\nabcd", "bad range"},
          {ok + "Content-Type: multipart/byteranges; boundary=x\r\nContent-Length: 4\r\n\r\nabcd",
           "bad range"},
          // The body's length differs from the range's.
          {ok + "Content-Range: bytes 8-11/100\r\nContent-Length: 3\r\n\r\nabc", "bad range"},
          {ok + "Content-Range: bytes 8-11/100\r\nContent-Length: 5\r\n\r\nabcde", "bad range"},
          {ok + "Content-Range: bytes 8-11/100\r\n\r\nabc", "bad range"},
          {ok + "Content-Range: bytes 8-11/100\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
           "bad range"},
          // Short reads.
          {ok + "Content-Range: bytes 8-11/100\r\nContent-Length: 4\r\n\r\nabc", "dropped"},
          {ok + "Content-Range: bytes 8-11/100\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nab", "dropped"},
          {ok + "Content-Range: bytes 8-", "dropped"},
          {"", "dropped"},
          // The whole file.
          {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + std::string(100, 'W'), "ignored range"},
          {"HTTP/1.1 204 No Content\r\n\r\n", "ignored range"},
          {"HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */0\r\nContent-Length: 0\r\n\r\n",
           "416 ''"},
          {"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nnot", "404 'not'"},
          {ok + "Content-Range: bytes 8-11/100\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
           "malformed"},
      },
      ByteRange{8, 4});
}

TEST(HubHttp, AnswersToAWholeFile) {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  check_rows(
      {
          {ok + "Content-Length: 4\r\n\r\nabcd", "200 'abcd'"},
          {"HTTP/1.1 200\r\nContent-Length: 4\r\n\r\nabcd", "200 'abcd'"},
          {"HTTP/1.0 200 OK\r\n\r\nuntil the end", "200 'until the end'"},
          {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok + "Content-Length: 1\r\n\r\na", "200 'a'"},
          {ok + "Transfer-Encoding: chunked\r\n\r\n0\r\nTrailer: x\r\n\r\n", "200 ''"},
          {ok + "Transfer-Encoding: chunked\r\n\r\n4\r\nabcdX\r\n0\r\n\r\n", "malformed"},
          {ok + "Transfer-Encoding: chunked\r\n\r\nz\r\n", "malformed"},
          {ok + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "malformed"},
          {ok + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n" + std::string(2000, 'x'),
           "too large"},
          {ok + "Transfer-Encoding: gzip, chunked\r\n\r\n", "malformed"},
          {ok + "Content-Length: 1001\r\n\r\n", "too large"},
          {ok + "Content-Length: 18446744073709551616\r\n\r\n", "malformed"},
          {ok + "Content-Length: -1\r\n\r\n", "malformed"},
          {ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "malformed"},
          {ok + "\r\n" + std::string(1001, 'x'), "too large"},
          {ok + "no colon\r\n\r\n", "malformed"},
          {ok + " folded: x\r\n\r\n", "malformed"},
          {"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-3/9\r\nContent-Length: 4\r\n\r\nabcd",
           "malformed"},
          {"HTTP/2 200\r\n\r\n", "malformed"},
          {"HTTP/1.1 999 X\r\n\r\n", "malformed"},
          {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "malformed"},
          // A status line of 200,000 bytes and a head of as many.
          {"HTTP/1.1 200 " + std::string(200'000, 'a') + "\r\nContent-Length: 2\r\n\r\nok", "malformed"},
          {ok + "X: " + std::string(200'000, 'a') + "\r\n\r\n", "malformed"},
      },
      std::nullopt);
}

TEST(HubHttp, AnswersWithoutEnd) {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"HTTP/1.1 100 Continue\r\n\r\n", "malformed"},
      {"a", "malformed"},
      {ok + "\r\n" + std::string(1000, 'x'), "too large"},
      {ok, "malformed"},  // a status line as a header line has no colon
      {ok + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n",
       "malformed"},  // then no size where one is due
      {"HTTP/1.1 500 Oops\r\nContent-Length: 99999999999\r\n\r\n" + std::string(1000, 'x'), "500"},
  };
  for (const auto& [answer, want] : rows) {
    RawServer server([&](const std::string&, int) { return Answer{answer, false, true}; });
    EXPECT_TRUE(shown(get(server.address(), std::nullopt)).starts_with(want)) << answer.substr(0, 100);
  }
}

// Seeded mutants of good answers: each ends, with the bytes of the range or with a trouble.
TEST(HubHttp, MutatedAnswersEnd) {
  const std::string seeds[] = {
      "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 8-11/100\r\nContent-Length: 4\r\n\r\nabcd",
      "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 8-11/100\r\nTransfer-Encoding: chunked\r\n\r\n"
      "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"};
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::minstd_rand random(seed + 1);
    std::string answer = seeds[seed % 2];
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
      const size_t at = random() % answer.size();
      switch (random() % 4) {
        case 0:
          answer[at] = static_cast<char>(random());
          break;
        case 1:
          answer.erase(at, 1 + random() % 8);
          break;
        case 2:
          answer.insert(at, answer.substr(random() % answer.size(), random() % 20));
          break;
        default:
          answer[at] = "0123456789\r\n: -/"[random() % 16];
          break;
      }
      if (answer.empty()) answer = "x";
    }
    RawServer server([&](const std::string&, int) { return Answer{answer}; });
    const HttpReply reply = get(server.address(), ByteRange{8, 4});
    if (reply.trouble == Trouble::kNone && reply.status == 206) {
      EXPECT_LE(reply.body.size(), 4u) << "seed " << seed;
      EXPECT_TRUE(reply.total_bytes.has_value()) << "seed " << seed;
    }
    EXPECT_NE(reply.trouble, Trouble::kTimeout) << "seed " << seed;
  }
}

// The body is never read: what the server got rid of fits the two sockets' buffers.
TEST(HubHttp, WholeFileForARangeIsNotDownloaded) {
  RawServer server([](const std::string&, int) {
    return Answer{"HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n" + std::string(1 << 16, 'W'),
                  false, true};
  });
  const HttpReply reply = get(server.address(), ByteRange{0, 8});
  EXPECT_EQ(reply.trouble, Trouble::kIgnoredRange);
  EXPECT_EQ(reply.body, "");
  EXPECT_LT(server.sent(), 64u << 20);
}

TEST(HubHttp, SilenceAndDripsTimeOut) {
  RawServer silent([](const std::string&, int) { return Answer{"", true}; });
  EXPECT_EQ(shown(get(silent.address(), std::nullopt, 0.2)), "timeout");
  RawServer half([](const std::string&, int) {
    return Answer{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", true};
  });
  EXPECT_EQ(shown(get(half.address(), std::nullopt, 0.2)), "timeout");
  // 200 bytes a second, each of them in time: less than the least rate.
  RawServer drip([](const std::string&, int) { return Answer{"H", false, true, 5}; });
  EXPECT_EQ(shown(get(drip.address(), std::nullopt, 0.2)), "timeout");
}

TEST(HubHttp, ConnectionsAreKeptAndReopened) {
  // Says that it keeps the connection, and closes it after every second answer.
  RawServer server([](const std::string&, int number) {
    return Answer{fmt::format("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{}", number), number % 2 == 0};
  });
  HttpConnection connection(WireSettings{10});
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(shown(connection.get({*parse_url(server.address()), {}, std::nullopt, 10})),
              fmt::format("200 '{}'", i));
  EXPECT_EQ(server.requests(), 6);
}

TEST(HubHttp, RequestIsWhatWasMeant) {
  std::string head;
  RawServer server([&](const std::string& got, int) {
    head = got;
    return Answer{"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"};
  });
  get(server.address(), ByteRange{8, 99'993});
  EXPECT_EQ(head,
            fmt::format("GET /file HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nUser-Agent: archlight\r\nAccept: */*\r\n"
                        "Accept-Encoding: identity\r\nRange: bytes=8-100000\r\n",
                        server.port()));
}

TEST(HubHttp, WriteToAClosedPipeEndsNoProcess) {
  void (*const before)(int) = std::signal(SIGPIPE, SIG_DFL);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  {
    const NoSigpipe quiet;
    EXPECT_EQ(write(ends[1], "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
  }
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
  close(ends[1]);
  std::signal(SIGPIPE, before);
}

// A whole read whose store misbehaves `bad` times and then behaves.
class HubStore : public testing::Test {
 protected:
  void SetUp() override {
    hub.publish_single(file);
    options.parallel = 1;
  }

  std::string good(const std::string& head) const {
    const size_t at = head.find("Range: bytes=") + 13;
    const size_t begin = std::stoull(head.substr(at)), end = std::stoull(head.substr(head.find('-', at) + 1));
    return fmt::format(
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {}-{}/{}\r\nContent-Length: {}\r\n\r\n{}",
        begin, end, file.size(), end - begin + 1, file.substr(begin, end - begin + 1));
  }
  base::Result<Truth> read(const RawServer& store) {
    hub.hub_hook = [&](const httplib::Request& request, httplib::Response& reply) {
      if (!request.path.ends_with("/model.safetensors")) return false;
      reply.set_redirect(store.address() + "/x", 302);
      return true;
    };
    return read_hub(hub.repo, options);
  }
  void recovers(const std::string& bad, int times) {
    TempFolder fresh;
    options.cache = fresh.path();
    RawServer store([&](const std::string& head, int number) {
      return Answer{number < times ? bad : good(head), true};
    });
    const base::Result<Truth> got = read(store);
    EXPECT_TRUE(got.ok()) << bad << (got.ok() ? "" : got.faults()[0].message());
    EXPECT_EQ(store.requests(), times + 2) << bad;
  }

  const std::string file = safetensors_file("weight", 10, 300);
  TempFolder cache;
  FakeHub hub;
  HubOptions options = hub.options(cache.path());
};

TEST_F(HubStore, PassingTroublesAreTriedAgain) {
  options.timeout_s = 0.3;  // a short body on a kept connection shows as a stall
  recovers("HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n", 2);
  recovers("HTTP/1.1 429 X\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n", 3);
  recovers("HTTP/1.1 503 X\r\nContent-Length: 1\r\n\r\nx", 1);
  recovers("HTTP/1.1 206 X\r\nContent-Range: bytes 1-8/1000\r\nContent-Length: 8\r\n\r\nabcdefgh", 2);
  recovers("HTTP/1.1 206 X\r\nContent-Range: bytes 0-7/1000\r\nContent-Length: 8\r\n\r\nabc", 1);
}

TEST_F(HubStore, DroppedConnectionsAreTriedAgain) {
  for (const std::string bad :
       {"", "HTTP/1.1 206 Par",
        "HTTP/1.1 206 X\r\nContent-Range: bytes 0-7/1000\r\nContent-Length: 8\r\n\r\nabc"}) {
    TempFolder fresh;
    options.cache = fresh.path();
    RawServer store([&](const std::string& head, int number) {
      return number < 2 ? Answer{bad} : Answer{good(head), true};
    });
    EXPECT_TRUE(read(store).ok()) << bad;
    EXPECT_EQ(store.requests(), 4);
  }
}

TEST_F(HubStore, LastingTroublesAreNamed) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "the connection closed before the answer (2 tries)"},
      {"HTTP/1.1 206 X\r\nContent-Range: bytes 1-8/1000\r\nContent-Length: 8\r\n\r\nabcdefgh",
       "asked for bytes 0-7, the answer holds 1-8 of 1000 (2 tries)"},
      {"HTTP/1.1 206 X\r\nContent-Range: bytes 0-7/1000\r\nContent-Length: 8\r\n\r\nabc",
       "the body ended 5 bytes early (2 tries)"},
      {"HTTP/1.1 200 X\r\nContent-Length: 400\r\n\r\n",
       "ignores ranges: it sends the whole file instead of 8 bytes"},
      {"HTTP/1.1 206 X\r\nContent-Range: bytes 0-7/999\r\nContent-Length: 8\r\n\r\n" + file.substr(0, 8),
       fmt::format("a file of 999 bytes where {} were announced (2 tries)", file.size())},
  };
  options.tries = 2;
  for (const auto& [answer, want] : rows) {
    RawServer store([&](const std::string&, int) { return Answer{answer}; });
    const base::Result<Truth> got = read(store);
    ASSERT_FALSE(got.ok()) << answer;
    EXPECT_NE(got.faults()[0].message().find(want), std::string::npos) << got.faults()[0].message();
    EXPECT_EQ(got.faults()[0].guard, "not_verifiable");
  }
}

// A file that changes its size between the two ranges is two files.
TEST_F(HubStore, TotalThatChangesBetweenRequestsIsNoticed) {
  hub.describes = false;  // so that no other word on the size is known
  options.tries = 1;
  RawServer store([&](const std::string& head, int number) {
    std::string answer = good(head);
    if (number == 1) answer.replace(answer.find(fmt::format("/{}\r", file.size())), 4, "/9999");
    return Answer{answer, true};
  });
  const base::Result<Truth> got = read(store);
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.faults()[0].message().find(" bytes where "), std::string::npos) << got.faults()[0].message();
}

// A certificate for `name` ("IP:127.0.0.1") that signs itself, valid from now for `days`.
struct Certificate {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* x509 = X509_new();

  Certificate(const std::string& name, int days) {
    X509_set_version(x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -86400 * 10);
    X509_gmtime_adj(X509_getm_notAfter(x509), 86400L * days);
    X509_set_pubkey(x509, key);
    X509_NAME* subject = X509_get_subject_name(x509);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"),
                               -1, -1, 0);
    X509_set_issuer_name(x509, subject);
    X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, name.c_str());
    X509_add_ext(x509, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(x509, key, EVP_sha256());
  }
  ~Certificate() {
    X509_free(x509);
    EVP_PKEY_free(key);
  }
  std::string pem() const {
    BIO* memory = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(memory, x509);
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(memory, &bytes);
    std::string out(bytes, static_cast<size_t>(size));
    BIO_free(memory);
    return out;
  }
};

class HubTls : public testing::Test {
 protected:
  // What a GET over TLS gives when the server shows `certificate` and the system trusts `trusted`.
  std::string get_with(const Certificate& certificate, const Certificate& trusted,
                       const std::string& body = "over TLS") {
    TempFolder folder;
    EXPECT_TRUE(base::write_file(folder.path() + "/trust.pem", trusted.pem()).empty());
    setenv("SSL_CERT_FILE", (folder.path() + "/trust.pem").c_str(), 1);
    httplib::SSLServer server(certificate.x509, certificate.key);
    server.Get(".*", [&](const httplib::Request&, httplib::Response& reply) {
      reply.set_content(body, "text/plain");
    });
    const int port = server.bind_to_any_port("127.0.0.1");
    std::thread thread([&] { server.listen_after_bind(); });
    HttpReply reply;
    {
      HttpConnection connection(WireSettings{10});
      reply = connection.get(
          {*parse_url(fmt::format("https://127.0.0.1:{}/x", port)), {}, std::nullopt, 1 << 20});
    }
    while (!server.is_running()) std::this_thread::yield();
    server.stop();
    thread.join();
    unsetenv("SSL_CERT_FILE");
    return reply.trouble == Trouble::kNone ? reply.body : trouble_name(reply.trouble) + ": " + reply.detail;
  }
};

TEST_F(HubTls, TrustedCertificateForTheHost) {
  const Certificate certificate("IP:127.0.0.1", 10);
  EXPECT_EQ(get_with(certificate, certificate), "over TLS");
  const std::string large(1 << 20, 'x');  // many records
  EXPECT_EQ(get_with(certificate, certificate, large), large);
}

TEST_F(HubTls, UntrustedCertificate) {
  EXPECT_EQ(get_with(Certificate("IP:127.0.0.1", 10), Certificate("IP:127.0.0.1", 10)).substr(0, 32),
            "tls: the certificate is refused:");
}

TEST_F(HubTls, CertificateForAnotherHost) {
  const Certificate certificate("DNS:other.example", 10);
  EXPECT_EQ(get_with(certificate, certificate), "tls: the certificate is refused: IP address mismatch");
}

TEST_F(HubTls, ExpiredCertificate) {
  const Certificate certificate("IP:127.0.0.1", -1);
  EXPECT_EQ(get_with(certificate, certificate), "tls: the certificate is refused: certificate has expired");
}

TEST_F(HubTls, PlainServerBehindAnHttpsAddress) {
  RawServer server([](const std::string&, int) { return Answer{"HTTP/1.1 400 X\r\n\r\n"}; });
  HttpConnection connection(WireSettings{0.3});
  const Url url = *parse_url(fmt::format("https://127.0.0.1:{}/", server.port()));
  EXPECT_EQ(connection.get({url, {}, std::nullopt, 10}).trouble,
            Trouble::kTimeout);  // it waits for a head that never ends
}

// From https to http is refused, whatever the hub says: the answer could then be anyone's.
TEST_F(HubTls, NoRedirectFromHttpsToHttp) {
  const Certificate certificate("IP:127.0.0.1", 10);
  TempFolder folder;
  ASSERT_TRUE(base::write_file(folder.path() + "/trust.pem", certificate.pem()).empty());
  setenv("SSL_CERT_FILE", (folder.path() + "/trust.pem").c_str(), 1);
  FakeHub plain;
  httplib::SSLServer server(certificate.x509, certificate.key);
  server.Get(".*", [&](const httplib::Request&, httplib::Response& reply) {
    reply.set_redirect(plain.endpoint() + "/x", 302);
  });
  HubOptions options = plain.options(folder.path());
  options.endpoint = fmt::format("https://127.0.0.1:{}", server.bind_to_any_port("127.0.0.1"));
  std::thread thread([&] { server.listen_after_bind(); });
  const base::Result<Truth> got = read_hub("org/model", options);
  while (!server.is_running()) std::this_thread::yield();
  server.stop();
  thread.join();
  unsetenv("SSL_CERT_FILE");
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.faults()[0].message().find("a redirect from https to http"), std::string::npos)
      << got.faults()[0].message();
  EXPECT_EQ(plain.seen().size(), 0u);
}

}  // namespace
}  // namespace archlight::truth
