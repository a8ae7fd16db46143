// Method  One answer gives the commit and the file list; everything after it is asked at that commit, so a branch
//         that moves meanwhile changes nothing. Headers are read by workers, each with its own connections, and are
//         stored as they arrive; parsing follows in shard order, so the result is the same on every run.
#include "truth/hub_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/json.h"
#include "truth/gguf.h"
#include "truth/index.h"
#include "truth/internal/assemble.h"
#include "truth/internal/faults.h"
#include "truth/internal/hub_cache.h"
#include "truth/internal/hub_faults.h"
#include "truth/internal/progress.h"
#include "truth/internal/repository.h"
#include "truth/safetensors.h"
#include "truth/source.h"

namespace archlight::truth {
namespace {

constexpr uint64_t kMaxDescription = uint64_t{64} << 20;
constexpr uint64_t kMaxConfig = uint64_t{16} << 20;
constexpr uint64_t kMaxIndex = uint64_t{128} << 20;
constexpr uint64_t kMaxAllHeaders = uint64_t{512} << 20;  // the largest published sets have 20 to 30 MB
constexpr size_t kMaxShards = 10'000;                     // the largest published sets have a few hundred
constexpr uint64_t kLengthBytes = 8;
constexpr const char* kCard = "README.md";
constexpr uint64_t kMaxCard = uint64_t{4} << 20;
constexpr size_t kMaxSources = 32;  // files of forward source; published models have one to five

std::string env(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool env_is_on(const char* name) {
  std::string value = env(name);
  for (char& c : value) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return value == "1" || value == "true" || value == "yes" || value == "on";
}

base::Result<Url> find_endpoint(const HubOptions& options) {
  std::string text = options.endpoint.empty() ? env("HF_ENDPOINT") : options.endpoint;
  if (text.empty()) text = "https://huggingface.co";
  std::optional<Url> url = parse_url(text);
  if (!url || url->target.find('?') != std::string::npos)
    return file_fault("HF_ENDPOINT", fmt::format("'{}' is no address of a hub", short_name(text)),
                      "https://host or http://host:port, without a user or a query");
  while (url->target.ends_with('/')) url->target.pop_back();
  return *url;
}

base::Result<std::string> find_token(const HubOptions& options) {
  std::string token = options.token.empty() ? env("HF_TOKEN") : options.token;
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!token.empty() && blank(token.back())) token.pop_back();
  while (!token.empty() && blank(token.front())) token.erase(0, 1);
  // A line break inside would let a token add headers of its own.
  if (token.size() > 4096 ||
      !std::all_of(token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7f; }))
    return file_fault("HF_TOKEN",
                      "the token holds blanks or bytes outside ASCII, or is longer than 4096 bytes",
                      "a token as the hub shows it");
  return token;
}

// The modules of the repository itself that a config names: "modeling_x.py" of {"AutoModel": "modeling_x.XModel"}. Those
// of tokenizers and processors are no part of the forward pass, nor are other repositories' ("org/name--modeling_x.X").
std::vector<std::string> modules_of(const base::Json& config) {
  std::vector<std::string> out;
  if (!config.is_object() || !config.contains("auto_map") || !config["auto_map"].is_object()) return out;
  for (const auto& [kind, value] : config["auto_map"].items()) {
    if (!kind.starts_with("AutoModel") || !value.is_string()) continue;
    const auto& text = value.get_ref<const std::string&>();
    const size_t dot = text.rfind('.');
    if (dot == std::string::npos || text.find("--") != std::string::npos) continue;
    std::string name = text.substr(0, dot);
    std::ranges::replace(name, '.', '/');
    name += ".py";
    if (!file_name_problem(name) && std::ranges::find(out, name) == out.end()) out.push_back(std::move(name));
  }
  return out;
}

class HubReader {
 public:
  HubReader(HubTarget target, HubCache cache, bool offline, int parallel, FetchPolicy policy, bool progress)
      : target_(std::move(target)),
        cache_(std::move(cache)),
        offline_(offline),
        parallel_(parallel),
        progress_(progress, target_.repo) {
    policy.on_retry = [this](const std::string& notice) { progress_.say(notice); };
    shared_.policy = std::move(policy);
  }

  base::Result<Truth> read() {
    if (base::Faults faults = find_commit(); !faults.empty()) return faults;
    base::Result<std::vector<std::string>> gguf = find_gguf();
    if (!gguf) return gguf.faults();
    if (!gguf->empty()) {
      base::Faults faults = read_gguf(*gguf);
      if (faults.empty()) faults = check_distinct(shown_as(""), truth_);
      if (!faults.empty()) return faults;
      name_truth();
      return std::move(truth_);
    }
    if (base::Faults faults = read_configs(); !faults.empty()) return faults;
    base::Result<std::vector<std::string>> shards = find_shards();
    if (!shards) return shards.faults();
    if (base::Faults faults = read_headers(*shards); !faults.empty()) return faults;
    base::Faults faults = check_distinct(shown_as(""), truth_);
    if (faults.empty() && index_) faults = compare_index(shown_as(index_name_), *index_, truth_);
    if (!faults.empty()) return faults;
    note_index_total(truth_);

    truth_.level = Level::kHeader;
    name_truth();
    read_source();
    read_card();
    if (repository_.elements) {
      truth_.recorded_elements = *repository_.elements;
      truth_.recorded_elements_source = "the hub's safetensors.total";
    }
    return std::move(truth_);
  }

 private:
  void name_truth() {
    truth_.repo = target_.repo;
    truth_.revision = commit_;
    truth_.origin = fmt::format("hub {} at {}", target_.page(), commit_.empty() ? target_.revision : commit_);
    if (!repository_.id.empty() && repository_.id != target_.repo)
      truth_.notes.push_back(fmt::format("the hub calls this model '{}' now", short_name(repository_.id)));
  }

  // For faults: the address at the revision as the person said it.
  std::string shown_as(const std::string& file) const {
    return fmt::format("{}/resolve/{}/{}", target_.page(), target_.revision, file);
  }

  Url url_of(const std::string& file) const {
    Url url = target_.endpoint;
    const std::string& at = commit_.empty() ? target_.revision : commit_;
    url.target += fmt::format("/{}/resolve/{}/{}", target_.repo, percent_encode(at), percent_encode(file));
    return url;
  }

  base::Diagnostic fault(const std::string& file, const FetchReply& reply) const {
    return hub_fault(target_, file.empty() ? target_.page() : shown_as(file), file, reply);
  }

  HubCache::Loaded load(const EntryKey& key) {
    HubCache::Loaded loaded = cache_.load(key);
    if (loaded.state == HubCache::State::kDamaged)
      truth_.notes.push_back(fmt::format("the cache's copy of {} was damaged{}",
                                         key.name.empty() ? "the file list" : key.name,
                                         offline_ ? "" : " and was read again"));
    return loaded;
  }

  void store(const EntryKey& key, const CacheEntry& entry) {
    if (cache_.store(key, entry).empty() || cache_fault_.exchange(true)) return;
    progress_.say(fmt::format("the cache at {} cannot be written; going on without it", cache_.folder()));
  }

  base::Diagnostic missing_offline(const std::vector<std::string>& files) const {
    std::string names;
    for (size_t i = 0; i < std::min<size_t>(files.size(), 5); ++i) names += (i ? ", " : "") + files[i];
    if (files.size() > 5) names += fmt::format(" and {} more", files.size() - 5);
    return not_verifiable(
        target_.page(),
        fmt::format("offline, and the cache has no copy of {} at revision '{}'", names, target_.revision),
        cache_.enabled() ? "an earlier read of the same revision in " + cache_.folder()
                         : "a cache folder: XDG_CACHE_HOME or HOME is not set",
        "read it once without HF_HUB_OFFLINE, or give a local folder");
  }

  // The commit that the revision means, and what is known of its files.
  base::Faults find_commit() {
    const EntryKey ref{EntryKind::kRef, {}, target_.revision};
    const bool pinned = is_commit(target_.revision);
    HubCache::Loaded known = pinned ? HubCache::Loaded{} : cache_.load(ref);
    std::string cached = pinned ? target_.revision : known.entry.bytes;
    if (!is_commit(cached)) cached.clear();
    if (!cached.empty() && (pinned || offline_)) {
      const HubCache::Loaded loaded = load({EntryKind::kRepository, cached, {}});
      if (loaded.state == HubCache::State::kGood) return take_repository(loaded.entry.bytes);
    }
    if (offline_) return {missing_offline({"the file list"})};

    Url url = target_.endpoint;
    url.target +=
        fmt::format("/api/models/{}/revision/{}?blobs=true", target_.repo, percent_encode(target_.revision));
    const FetchReply reply = fetcher_.get(url, std::nullopt, kMaxDescription);
    if (reply.ok()) {
      if (base::Faults faults = take_repository(reply.http.body); !faults.empty()) return faults;
      if (pinned && commit_ != target_.revision)
        return {file_fault(
            url.text(), fmt::format("asked for commit {}, the hub describes {}", target_.revision, commit_),
            "the commit that was asked", "check HF_ENDPOINT")};
    } else if (reply.http.trouble == Trouble::kNone && reply.http.status == 404 &&
               reply.http.header("x-error-code").empty()) {
      // A mirror may serve files without describing them.
      if (base::Faults faults = find_commit_by_config(reply); !faults.empty()) return faults;
    } else {
      if (!cached.empty())
        target_.fallback = "HF_HUB_OFFLINE=1 reads the cached commit " + cached.substr(0, 12);
      return {fault("", reply)};
    }
    if (commit_.empty()) return {};
    store({EntryKind::kRepository, commit_, {}}, {repository_text(repository_), {}, {}, false});
    if (!pinned) store(ref, {commit_, {}, {}, false});
    return {};
  }

  base::Faults take_repository(const std::string& text) {
    base::Result<Repository> parsed = parse_repository(text, target_.page());
    if (!parsed) return parsed.faults();
    repository_ = std::move(*parsed);
    commit_ = repository_.commit;
    target_.gated = repository_.gated;
    return {};
  }

  base::Faults find_commit_by_config(const FetchReply& description) {
    FetchReply reply = fetcher_.get(url_of("config.json"), std::nullopt, kMaxConfig);
    if (!reply.ok()) return {reply.http.status == 404 ? fault("", description) : fault("config.json", reply)};
    commit_ = is_commit(reply.repo_commit)  ? reply.repo_commit
              : is_commit(target_.revision) ? target_.revision
                                            : "";
    repository_.commit = commit_;
    config_text_ = reply.http.body;
    if (commit_.empty()) {
      cache_ = HubCache();
      truth_.notes.push_back("the hub names no commit for this revision, so nothing was cached");
    } else {
      store({EntryKind::kFile, commit_, "config.json"}, {reply.http.body, reply.etag, {}, false});
    }
    return {};
  }

  // A small file's text; nothing where the commit has none.
  base::Result<std::optional<std::string>> small_file(const std::string& name, uint64_t max_bytes) {
    using Text = std::optional<std::string>;
    if (repository_.lacks(name)) return Text();
    if (name == "config.json" && config_text_) return Text(std::move(config_text_));
    const EntryKey key{EntryKind::kFile, commit_, name};
    HubCache::Loaded loaded = load(key);
    if (loaded.state == HubCache::State::kGood)
      return loaded.entry.absent ? Text() : Text(std::move(loaded.entry.bytes));
    const RepositoryFile* listed = repository_.find(name);
    if (listed) {
      if (auto same = cache_.same_elsewhere(key, listed->etag)) {
        store(key, *same);
        return Text(std::move(same->bytes));
      }
    }
    if (offline_) return missing_offline({name});
    const FetchReply reply = fetcher_.get(
        url_of(name), std::nullopt, max_bytes, [&](const FetchReply& got) -> std::optional<std::string> {
          if (listed && listed->bytes && *listed->bytes != got.http.body.size())
            return fmt::format("{} bytes of '{}', whose size is {}", got.http.body.size(), name,
                               *listed->bytes);
          return commit_problem(got);
        });
    if (reply.http.trouble == Trouble::kNone && reply.http.status == 404 && !listed) {
      store(key, {{}, {}, {}, true});
      return Text();
    }
    if (!reply.ok()) return fault(name, reply);
    store(key, {reply.http.body, listed ? listed->etag : reply.etag, {}, false});
    return Text(reply.http.body);
  }

  std::optional<std::string> commit_problem(const FetchReply& got) const {
    if (commit_.empty() || got.repo_commit.empty() || got.repo_commit == commit_) return std::nullopt;
    return fmt::format("asked at commit {}, answered at '{}'", commit_, short_name(got.repo_commit));
  }

  base::Faults read_json(const std::string& name, std::shared_ptr<const base::Json>& into) {
    base::Result<std::optional<std::string>> text = small_file(name, kMaxConfig);
    if (!text) return text.faults();
    if (!*text) return {};
    base::Result<std::shared_ptr<const base::Json>> json = base::parse_json(**text, shown_as(name));
    if (!json) return json.faults();
    if (!(*json)->is_object())
      return {file_fault(shown_as(name), "not a JSON object", "a config: {\"key\": value, ...}")};
    into = *json;
    return {};
  }

  // The model card is for advice alone: without it nothing is amiss.
  void read_card() {
    if (!repository_.find(kCard)) return;
    if (base::Result<std::optional<std::string>> text = small_file(kCard, kMaxCard); text && *text)
      truth_.card = std::move(**text);
  }

  // The files that config.auto_map names, and those beside them that they import. What cannot be had leaves the source
  // not at hand, and the read as good as without it.
  void read_source() {
    if (!truth_.config) return;
    std::vector<std::string> wanted = modules_of(*truth_.config);
    std::vector<std::pair<std::string, std::string>> texts;
    for (size_t i = 0; i < wanted.size() && i < kMaxSources; ++i) {
      const std::string name = wanted[i];
      base::Result<std::optional<std::string>> text = small_file(name, kMaxSourceBytes);
      if (!text || !*text) {
        truth_.notes.push_back(
            fmt::format("the forward source {} is not at hand: {}", name,
                        text ? "the repository has no such file" : text.faults()[0].wrong));
        continue;
      }
      texts.emplace_back(name, **text);
      const base::Result<PythonFile> parsed = PythonFile::parse(std::move(**text), shown_as(name));
      if (!parsed) continue;  // who asks for it is told
      const size_t slash = name.rfind('/');
      for (const std::string& sibling : parsed->siblings()) {
        const std::string file =
            (slash == std::string::npos ? "" : name.substr(0, slash + 1)) + sibling + ".py";
        if (!sibling.starts_with("configuration_") && !file_name_problem(file) && !repository_.lacks(file) &&
            std::ranges::find(wanted, file) == wanted.end())
          wanted.push_back(file);
      }
    }
    if (!texts.empty())
      truth_.sources.push_back(Source::of_texts(std::move(texts), target_.repo, shown_as("")));
  }

  base::Faults read_configs() {
    if (base::Faults faults = read_json("config.json", truth_.config); !faults.empty()) return faults;
    if (!truth_.config)
      return {not_verifiable(shown_as("config.json"), "the repository has no config.json",
                             "the config beside the weights: without it no bill can be made",
                             "check that the id names a transformers-style model, or give a local folder")};
    return read_json("hf_quant_config.json", truth_.quant_config);
  }

  base::Result<std::vector<std::string>> find_shards() {
    base::Result<WeightFiles> weights = find_weights(repository_, target_.page());
    if (!weights) return weights.faults();
    if (!weights->index.empty()) {
      base::Result<std::optional<std::string>> text = small_file(weights->index, kMaxIndex);
      if (!text) return text.faults();
      if (*text) return shards_of_index(weights->index, **text);
    }
    return std::vector<std::string>{weights->single};
  }

  base::Result<std::vector<std::string>> shards_of_index(const std::string& name, const std::string& text) {
    base::Result<Index> index = parse_index(text, shown_as(name));
    if (!index) return index.faults();
    if (index->shards.size() > kMaxShards)
      return file_fault(shown_as(name), fmt::format("the index names {} shards", index->shards.size()),
                        fmt::format("at most {}", kMaxShards));
    for (const std::string& shard : index->shards) {
      std::optional<std::string> problem = file_name_problem(shard);
      if (!problem && !shard.ends_with(".safetensors"))
        problem = fmt::format("the shard '{}' is no .safetensors file", shard);
      if (problem)
        return file_fault(shown_as(name), *problem, "names such as model-00001-of-00002.safetensors");
    }
    truth_.index_total_bytes = index->total_bytes;
    truth_.notes.insert(truth_.notes.end(), index->notes.begin(), index->notes.end());
    index_name_ = name;
    index_ = std::move(*index);
    return index_->shards;
  }

  base::Faults read_headers(const std::vector<std::string>& shards) {
    std::vector<CacheEntry> headers(shards.size());
    std::vector<size_t> wanted;
    for (size_t i = 0; i < shards.size(); ++i)
      if (!take_cached_header(shards[i], headers[i])) wanted.push_back(i);
    if (offline_ && !wanted.empty()) {
      std::vector<std::string> names;
      for (const size_t i : wanted) names.push_back(shards[i]);
      return {missing_offline(names)};
    }
    if (!wanted.empty())
      if (base::Faults faults = fetch_headers(shards, wanted, headers); !faults.empty()) return faults;

    uint64_t all = 0;
    for (const CacheEntry& header : headers) all += header.bytes.size();
    truth_.tensors.reserve(all / 130 + 1, all / 2);  // as parse_header expects of one file
    base::Faults faults;
    for (size_t i = 0; i < shards.size() && faults.size() < 20; ++i) {
      const uint64_t data_bytes = *headers[i].file_bytes - kLengthBytes - headers[i].bytes.size();
      base::append(faults, parse_header(headers[i].bytes, data_bytes, shown_as(shards[i]),
                                        static_cast<uint32_t>(i), truth_.tensors));
      truth_.shards.push_back({shards[i], headers[i].file_bytes});
      headers[i].bytes = {};
    }
    return faults;
  }

  bool take_cached_header(const std::string& shard, CacheEntry& into) {
    const EntryKey key{EntryKind::kHeader, commit_, shard};
    const auto fits = [](const CacheEntry& entry) {
      return entry.file_bytes && *entry.file_bytes >= kLengthBytes + entry.bytes.size();
    };
    HubCache::Loaded loaded = load(key);
    if (loaded.state == HubCache::State::kGood && fits(loaded.entry)) {
      into = std::move(loaded.entry);
      return true;
    }
    const RepositoryFile* listed = repository_.find(shard);
    std::optional<CacheEntry> same = listed ? cache_.same_elsewhere(key, listed->etag) : std::nullopt;
    if (!same || !fits(*same)) return false;
    store(key, *same);
    into = std::move(*same);
    return true;
  }

  base::Faults fetch_headers(const std::vector<std::string>& shards, const std::vector<size_t>& wanted,
                             std::vector<CacheEntry>& headers) {
    progress_.start(wanted.size());
    std::vector<base::Faults> faults(wanted.size());
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      Fetcher fetcher(shared_);
      for (size_t turn = next++; turn < wanted.size() && !shared_.stop; turn = next++) {
        base::Result<CacheEntry> header = fetch_header(fetcher, shards[wanted[turn]]);
        if (header) {
          progress_.step(header->bytes.size());
          headers[wanted[turn]] = std::move(*header);
        } else if (!shared_.stop.exchange(true)) {
          faults[turn] = header.faults();  // the first; the others were stopped by it
        }
      }
    };
    std::vector<std::thread> workers;
    for (size_t i = 0; i < std::min<size_t>(wanted.size(), static_cast<size_t>(parallel_)); ++i)
      workers.emplace_back(work);
    for (std::thread& worker : workers) worker.join();
    for (const base::Faults& some : faults)
      if (!some.empty()) return some;
    return {};
  }

  // The .gguf files that are asked for: by name, or because the repository has no safetensors.
  base::Result<std::vector<std::string>> find_gguf() {
    if (!target_.file.empty()) {
      if (const auto problem = file_name_problem(target_.file))
        return file_fault(shown_as(target_.file), *problem, "a file of the repository");
      return gguf_set(target_.file);
    }
    if (!repository_.listed) return std::vector<std::string>();
    std::vector<std::string> sets;
    for (const auto& [name, file] : repository_.files) {
      if (name.ends_with(".safetensors")) return std::vector<std::string>();
      if (name.ends_with(".gguf") && !file_name_problem(name) && gguf_set(name)[0] == name)
        sets.push_back(name);
    }
    if (sets.size() == 1) return gguf_set(sets[0]);
    if (sets.empty()) return std::vector<std::string>();
    return not_verifiable(
        target_.page(),
        fmt::format("the repository has {} GGUF models, first '{}'", sets.size(), short_name(sets[0])),
        "one of them", fmt::format("name it: {}/{}", target_.repo, short_name(sets[0])));
  }

  base::Faults read_gguf(const std::vector<std::string>& files) {
    std::vector<GgufHeader> parts(files.size());
    for (size_t i = 0; i < files.size(); ++i) {
      const uint32_t shard = static_cast<uint32_t>(i);
      CacheEntry entry;
      if (take_cached_header(files[i], entry)) {
        if (base::Faults faults = parse_gguf(entry.bytes, entry.file_bytes, shown_as(files[i]), shard,
                                             truth_.tensors, parts[i], nullptr);
            !faults.empty())
          return faults;
      } else if (offline_) {
        return {missing_offline({files[i]})};
      } else if (base::Faults faults = fetch_gguf(files[i], shard, entry, parts[i]); !faults.empty()) {
        return faults;
      }
      truth_.shards.push_back({files[i], entry.file_bytes});
    }
    return join_gguf(shown_as(""), parts, truth_);
  }

  // A file whose size is not what was said of it before, by an earlier answer, a redirect or the listing.
  std::optional<std::string> size_problem_of(const FetchReply& got, std::optional<uint64_t> total,
                                             const RepositoryFile* listed) const {
    const uint64_t said = *got.http.total_bytes;
    for (const std::optional<uint64_t>& other :
         {total, got.linked_bytes, listed ? listed->bytes : std::nullopt})
      if (other && *other != said)
        return fmt::format("a file of {} bytes where {} were announced", said, *other);
    return commit_problem(got);
  }

  // The header's length is not written anywhere: the window grows until the header is in it.
  base::Faults fetch_gguf(const std::string& file, uint32_t shard, CacheEntry& entry, GgufHeader& header) {
    constexpr uint64_t kStart = 24, kFirstWindow = uint64_t{1} << 20;
    const RepositoryFile* listed = repository_.find(file);
    std::optional<uint64_t> total;
    const auto problem = [&](const FetchReply& got) { return size_problem_of(got, total, listed); };
    const FetchReply first = fetcher_.get(url_of(file), ByteRange{0, kStart}, 0, problem);
    if (first.http.trouble == Trouble::kNone && first.http.status == 416)
      return {file_fault(shown_as(file), "the file is empty", "a GGUF file")};
    if (!first.ok()) return {fault(file, first)};
    total = first.http.total_bytes;
    if (first.http.body.substr(0, 4) != "GGUF")
      return parse_gguf(first.http.body, std::nullopt, shown_as(file), shard, truth_.tensors, header,
                        nullptr);
    for (uint64_t window = kFirstWindow;;) {
      const FetchReply got = fetcher_.get(url_of(file), ByteRange{0, std::min(window, *total)}, 0, problem);
      if (!got.ok()) return {fault(file, got)};
      uint64_t more = 0;
      base::Faults faults =
          parse_gguf(got.http.body, *total, shown_as(file), shard, truth_.tensors, header, &more);
      if (!faults.empty()) return faults;
      if (more == 0) {
        const uint64_t kept = std::min<uint64_t>(header.data_begin, got.http.body.size());
        entry = {got.http.body.substr(0, kept), listed ? listed->etag : first.etag, total, false};
        store({EntryKind::kHeader, commit_, file}, entry);
        return {};
      }
      window = std::max(window * 4, more);
    }
  }

  // Two ranges: the length, then exactly the header. The second goes straight to where the first was
  // redirected.
  base::Result<CacheEntry> fetch_header(Fetcher& fetcher, const std::string& shard) {
    const Url url = url_of(shard);
    const RepositoryFile* listed = repository_.find(shard);
    std::optional<uint64_t> total;
    const auto size_problem = [&](const FetchReply& got) { return size_problem_of(got, total, listed); };
    const FetchReply first = fetcher.get(url, ByteRange{0, kLengthBytes}, 0, size_problem);
    if (first.http.trouble == Trouble::kNone && first.http.status == 416)
      return file_fault(shown_as(shard), "the file is empty",
                        "a safetensors file, which starts with its header's length");
    if (!first.ok()) return fault(shard, first);
    total = first.http.total_bytes;
    base::Result<uint64_t> length = header_length(first.http.body, *total, shown_as(shard));
    if (!length) return length.faults();
    if (all_headers_.fetch_add(*length) + *length > kMaxAllHeaders)
      return file_fault(shown_as(shard), "the headers of all shards together pass 512 MiB",
                        "a set of tensor headers");

    const ByteRange rest{kLengthBytes, *length};
    FetchReply second = fetcher.get(first.final_url, rest, 0, size_problem);
    // A signed address that ran out: the hub gives a new one.
    const int status = second.http.trouble == Trouble::kNone ? second.http.status : 0;
    if ((status == 401 || status == 403 || status == 404 || status == 410) &&
        first.final_url.text() != url.text())
      second = fetcher.get(url, rest, 0, size_problem);
    if (!second.ok()) return fault(shard, second);
    CacheEntry entry{std::move(second.http.body), listed ? listed->etag : first.etag, total, false};
    if (entry.bytes.size() != *length)
      return file_fault(shown_as(shard), fmt::format("{} of {} header bytes", entry.bytes.size(), *length),
                        "the whole header");
    store({EntryKind::kHeader, commit_, shard}, entry);
    return entry;
  }

  HubTarget target_;
  HubCache cache_;
  bool offline_;
  int parallel_;
  Progress progress_;
  FetchShared shared_;
  Fetcher fetcher_{shared_};  // of the thread that reads the small files
  std::atomic<bool> cache_fault_ = false;
  std::atomic<uint64_t> all_headers_ = 0;

  Repository repository_;
  std::string commit_;  // empty: the hub names none
  std::optional<std::string> config_text_;
  std::string index_name_;
  std::optional<Index> index_;
  Truth truth_;
};

}  // namespace

base::Result<Truth> read_hub(const std::string& repo, const HubOptions& options) {
  base::Faults faults;
  base::Result<Url> endpoint = find_endpoint(options);
  base::Result<std::string> token = find_token(options);
  if (!endpoint) base::append(faults, endpoint.faults());
  if (!token) base::append(faults, token.faults());
  HubTarget target;
  target.repo = repo;
  target.revision = options.revision.empty() ? "main" : options.revision;
  target.file = options.file;
  if (const auto problem = repo_problem(repo))
    faults.push_back(file_fault(short_name(repo), *problem, "a model id such as org/name"));
  if (const auto problem = revision_problem(target.revision))
    faults.push_back(file_fault(short_name(repo), *problem, "a branch, a tag or a commit"));
  if (!faults.empty()) return faults;
  target.endpoint = *endpoint;
  target.has_token = !token->empty();

  FetchPolicy policy;
  policy.endpoint = *endpoint;
  policy.token = *token;
  policy.tries = std::clamp(options.tries, 1, 20);
  policy.first_backoff_s = options.first_backoff_s;
  policy.longest_wait_s = options.longest_wait_s;
  policy.timeout_s = options.timeout_s;
  policy.deadline = std::chrono::steady_clock::now() +
                    std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                        std::chrono::duration<double>(std::clamp(options.total_s, 0.0, 1e6)));
  policy.wait = options.wait;
  const HubCache cache(options.cache.empty() ? HubCache::default_root() : options.cache, *endpoint, repo);
  const NoSigpipe quiet;
  HubReader reader(std::move(target), cache, options.offline || env_is_on("HF_HUB_OFFLINE"),
                   std::clamp(options.parallel, 1, 64), std::move(policy), options.progress);
  return reader.read();
}

}  // namespace archlight::truth
