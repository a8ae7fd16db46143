// hub_server.h: a hub and its content store on two loopback ports, as the real ones answer, with a log of
// requests.
//
// The hub describes revisions, redirects small files to a relative address and large ones to the store's
// port, asks for a token where told to, and answers errors with x-error-code. The store serves ranges of
// exactly what it has. RawServer plays what a well-made server cannot: it writes any bytes and closes when it
// likes.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "truth/hub_client.h"
#include "truth/internal/hub_cache.h"

namespace archlight::truth {

// A folder that goes away with the test.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "hub_test.XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A safetensors file whose header is exactly `header_bytes` long (0: as long as it is), padded with spaces as
// the format allows: one F32 tensor of `elements` elements under `name`. Data bytes are 'W', so that one that
// is read shows.
inline std::string safetensors_file(const std::string& name, size_t elements, size_t header_bytes = 0) {
  std::string header = fmt::format(R"({{"{}":{{"dtype":"F32","shape":[{}],"data_offsets":[0,{}]}}}})", name,
                                   elements, elements * 4);
  if (header_bytes > header.size()) header.resize(header_bytes, ' ');
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return out + header + std::string(elements * 4, 'W');
}

inline uint64_t header_end(const std::string& file) {
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | static_cast<unsigned char>(file[static_cast<size_t>(i)]);
  return 8 + length;
}

inline const std::string kCommitA(40, 'a');
inline const std::string kCommitB(40, 'b');

class FakeHub {
 public:
  struct Seen {
    bool store = false;
    std::string path;
    std::string range;
    std::string authorization;
  };
  using Hook = std::function<bool(const httplib::Request&, httplib::Response&)>;

  std::string repo = "org/model";
  std::map<std::string, std::map<std::string, std::string>> commits;  // commit, file name, contents
  std::map<std::string, std::string> branches;                        // branch, commit
  std::string token;                                                  // asked of every request, when set
  bool gated = false;         // files need the token, the description does not
  bool describes = true;      // serves /api/models
  Hook hub_hook, store_hook;  // true: answered

  FakeHub() {
    for (httplib::Server* server : {&hub_, &store_}) {
      server->new_task_queue = [] { return new httplib::ThreadPool(24); };
      server->set_keep_alive_max_count(1000);
      server->set_tcp_nodelay(
          true);  // head and body are two writes: without it each answer waits 40 ms for an ACK
    }
    hub_.Get(".*", [this](const httplib::Request& request, httplib::Response& reply) {
      note(false, request);
      if (!(hub_hook && hub_hook(request, reply))) answer(request, reply);
    });
    store_.Get(".*", [this](const httplib::Request& request, httplib::Response& reply) {
      note(true, request);
      if (!(store_hook && store_hook(request, reply))) serve(request, reply);
    });
    hub_port_ = hub_.bind_to_any_port("127.0.0.1");
    store_port_ = store_.bind_to_any_port("127.0.0.1");
    threads_.emplace_back([this] { hub_.listen_after_bind(); });
    threads_.emplace_back([this] { store_.listen_after_bind(); });
  }
  ~FakeHub() { stop(); }

  void stop() {
    while (!threads_.empty() && (!hub_.is_running() || !store_.is_running())) std::this_thread::yield();
    hub_.stop();
    store_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  // Two shards with an index, at branch main and commit a.
  void publish_two_shards() {
    std::map<std::string, std::string>& files = commits[kCommitA];
    files["config.json"] = R"({"model_type": "test", "hidden_size": 8})";
    files["model-00001-of-00002.safetensors"] = safetensors_file("first", 1000);
    files["model-00002-of-00002.safetensors"] = safetensors_file("second", 500);
    // 1000 * 4 + 500 * 4 = 6000 bytes of data.
    files["model.safetensors.index.json"] =
        R"({"metadata": {"total_size": 6000}, "weight_map": {"first": "model-00001-of-00002.safetensors",)"
        R"( "second": "model-00002-of-00002.safetensors"}})";
    branches["main"] = kCommitA;
  }
  void publish_single(const std::string& file) {
    commits[kCommitA] = {{"config.json", "{}"}, {"model.safetensors", file}};
    branches["main"] = kCommitA;
  }

  std::string endpoint() const { return fmt::format("http://127.0.0.1:{}", hub_port_); }
  std::string store_address() const { return fmt::format("http://127.0.0.1:{}", store_port_); }
  HubOptions options(const std::string& cache) const {
    HubOptions out;
    out.endpoint = endpoint();
    out.cache = cache;
    out.progress = false;
    out.first_backoff_s = 0.001;
    out.timeout_s = 10;
    return out;
  }

  std::vector<Seen> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  // Requests whose path holds `part`.
  size_t count(const std::string& part) {
    size_t out = 0;
    for (const Seen& one : seen()) out += one.path.find(part) != std::string::npos;
    return out;
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    seen_.clear();
  }
  static bool is_large(const std::string& file) { return file.ends_with(".safetensors"); }

  // The store's ordinary answer, for hooks that sometimes let a request pass.
  void serve(const httplib::Request& request, httplib::Response& reply) {
    for (const auto& [commit, files] : commits)
      for (const auto& [name, contents] : files)
        if (request.path == "/blob/" + sha256_hex(contents))
          return reply.set_content(contents, "application/octet-stream");
    reply.status = 404;
  }
  // The hub's ordinary answer.
  void answer(const httplib::Request& request, httplib::Response& reply) {
    const auto refuse = [&](int status, const char* code) {
      reply.status = status;
      if (*code) reply.set_header("X-Error-Code", code);
    };
    const bool authorized = token.empty() || request.get_header_value("Authorization") == "Bearer " + token;
    const std::string api = "/api/models/" + repo + "/revision/";
    const std::string resolve = "/" + repo + "/resolve/";
    const std::string inside = "/api/resolve-cache/models/" + repo + "/";
    if (!authorized && !gated) return refuse(401, "");
    if (request.path.starts_with(api)) {
      if (!describes) return refuse(404, "");
      const std::string commit = commit_of(request.path.substr(api.size()));
      if (commit.empty()) return refuse(404, "RevisionNotFound");
      return reply.set_content(description(commit), "application/json");
    }
    if (request.path.starts_with("/api/models/")) return refuse(404, describes ? "RepoNotFound" : "");
    if (!authorized) return refuse(403, "GatedRepo");
    const bool outside = request.path.starts_with(resolve);
    if (!outside && !request.path.starts_with(inside)) return refuse(404, "RepoNotFound");
    const std::string rest = request.path.substr(outside ? resolve.size() : inside.size());
    const size_t slash = rest.rfind('/');
    const std::string commit = commit_of(rest.substr(0, slash)), name = rest.substr(slash + 1);
    if (commit.empty()) return refuse(404, "RevisionNotFound");
    reply.set_header("X-Repo-Commit", commit);
    const auto file = commits[commit].find(name);
    if (file == commits[commit].end()) return refuse(404, "EntryNotFound");
    const std::string etag = sha256_hex(file->second);
    if (is_large(name)) {
      reply.set_header("X-Linked-Etag", "\"" + etag + "\"");
      reply.set_header("X-Linked-Size", std::to_string(file->second.size()));
      return reply.set_redirect(store_address() + "/blob/" + etag + "?signature=s3cr3t", 302);
    }
    if (outside) return reply.set_redirect(inside + commit + "/" + name, 307);
    reply.set_header("ETag", "\"" + etag.substr(0, 40) + "\"");
    reply.set_content(file->second, "text/plain");
  }

 private:
  std::string commit_of(const std::string& revision) {
    if (commits.contains(revision)) return revision;
    const auto branch = branches.find(revision);
    return branch == branches.end() ? std::string() : branch->second;
  }

  std::string description(const std::string& commit) {
    nlohmann::json out = {
        {"id", repo}, {"sha", commit}, {"gated", gated ? nlohmann::json("auto") : nlohmann::json(false)}};
    out["siblings"] = nlohmann::json::array();
    for (const auto& [name, contents] : commits[commit]) {
      const std::string etag = sha256_hex(contents);
      nlohmann::json file = {{"rfilename", name}, {"size", contents.size()}, {"blobId", etag.substr(0, 40)}};
      if (is_large(name)) file["lfs"] = {{"sha256", etag}, {"size", contents.size()}, {"pointerSize", 134}};
      out["siblings"].push_back(file);
    }
    return out.dump();
  }

  void note(bool store, const httplib::Request& request) {
    const std::lock_guard lock(mutex_);
    seen_.push_back(
        {store, request.path, request.get_header_value("Range"), request.get_header_value("Authorization")});
  }

  httplib::Server hub_, store_;
  int hub_port_ = 0, store_port_ = 0;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::vector<Seen> seen_;
};

// Answers the n-th request (from 0, over all connections) with the bytes that `script` gives; then closes, or
// keeps the connection when the script says so.
class RawServer {
 public:
  struct Answer {
    std::string bytes;
    bool keep = false;
    bool endless = false;  // writes the bytes again and again until the client has enough
    int pause_ms = 0;      // between those writes
  };
  using Script = std::function<Answer(const std::string& head, int number)>;

  explicit RawServer(Script script) : script_(std::move(script)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 64), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    accepter_ = std::thread([this] { accept_all(); });
  }
  ~RawServer() {
    stop_ = true;
    shutdown(listener_, SHUT_RDWR);
    accepter_.join();
    close(listener_);
    {
      const std::lock_guard lock(mutex_);
      for (const int open : open_) shutdown(open, SHUT_RDWR);
    }
    for (std::thread& thread : connections_) thread.join();
  }

  int port() const { return port_; }
  std::string address() const { return fmt::format("http://127.0.0.1:{}", port_); }
  int requests() const { return requests_; }
  uint64_t sent() const { return sent_; }

 private:
  void accept_all() {
    while (!stop_) {
      const int client = accept(listener_, nullptr, nullptr);
      if (client < 0) continue;
      {
        const std::lock_guard lock(mutex_);
        open_.insert(client);
      }
      connections_.emplace_back([this, client] { serve(client); });
    }
  }

  void serve(int client) {
    std::string buffer;
    for (bool keep = true; keep && !stop_;) {
      size_t end;
      while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
        char bytes[4096];
        const ssize_t got = recv(client, bytes, sizeof bytes, 0);
        if (got <= 0) break;
        buffer.append(bytes, static_cast<size_t>(got));
      }
      if (end == std::string::npos) break;
      const Answer answer = script_(buffer.substr(0, end + 2), requests_++);
      buffer.erase(0, end + 4);
      keep = answer.keep;
      do {
        const ssize_t put = send(client, answer.bytes.data(), answer.bytes.size(), MSG_NOSIGNAL);
        if (put <= 0) break;
        sent_ += static_cast<uint64_t>(put);
        if (answer.pause_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(answer.pause_ms));
      } while (answer.endless && !stop_);
    }
    const std::lock_guard lock(mutex_);
    open_.erase(client);
    close(client);
  }

  Script script_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<int> requests_ = 0;
  std::atomic<uint64_t> sent_ = 0;
  std::mutex mutex_;
  std::set<int> open_;
  std::thread accepter_;
  std::vector<std::thread> connections_;
};

}  // namespace archlight::truth
