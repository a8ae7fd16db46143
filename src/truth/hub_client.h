// hub_client.h: reads a repository on the hub without a weight byte: small files whole, tensor headers by range.
//
// Environment  HF_ENDPOINT (default https://huggingface.co), HF_TOKEN, HF_HUB_OFFLINE, XDG_CACHE_HOME.
// Cache        $XDG_CACHE_HOME/archlight/hub/<endpoint>/<org--name>/<commit>/..., written whole or not at all;
//              keyed by commit and etag, so a pinned commit never asks twice, a moved branch asks again only for
//              what changed, and an interrupted read goes on where it stopped. internal/hub_cache.h has the form.
// Requests     one for the revision (commit, file list, gating); per shard bytes 0-7 and then exactly the header,
//              by way of one redirect: three small requests and never a weight byte. In parallel, bounded.
// Errors       401 private or bad token, 403 gated, 404 missing, no safetensors, offline without a copy: each says
//              what to do, and those that mean "not verifiable here" carry the guard not_verifiable. 429 and 5xx
//              are tried again with back-off, honouring Retry-After. docs/hub.md lists them.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "truth/truth.h"

namespace archlight::truth {

struct HubOptions {
  std::string endpoint;  // empty: $HF_ENDPOINT or the public hub
  std::string token;     // empty: $HF_TOKEN
  std::string cache;     // empty: the XDG cache
  std::string file;  // a .gguf file of the repository, or the first of a set; empty: the repository's weights
  std::string revision;  // a branch, a tag or a commit; empty: main
  bool offline = false;  // also $HF_HUB_OFFLINE=1
  bool progress = true;  // lines on stderr: one that updates on a terminal, a few elsewhere
  int parallel = 8;      // connections, 1 to 64
  int tries = 5;
  double first_backoff_s = 0.5;
  double longest_wait_s = 300;       // a Retry-After beyond this ends the read
  double timeout_s = 30;             // of one stall
  double total_s = 1800;             // of the whole read; what came by then stays in the cache
  std::function<void(double)> wait;  // waits between tries, on any worker; empty: sleeps
};

// config.json, hf_quant_config.json when there is one, the index and every shard's header: level header.
base::Result<Truth> read_hub(const std::string& repo, const HubOptions& options);

}  // namespace archlight::truth
