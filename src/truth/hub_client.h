// hub_client.h: reads a repository on the hub without a weight byte: small files whole, tensor headers by range.
//
// Environment  HF_ENDPOINT (default https://huggingface.co), HF_TOKEN, HF_HUB_OFFLINE, XDG_CACHE_HOME.
// Cache        $XDG_CACHE_HOME/archlight/hub/<endpoint>/<repo>/<commit>/..., written whole or not at all; keyed by
//              commit and etag, so a pinned revision never asks twice and a moved branch is noticed.
// Requests     per shard: one range for the length and the header's start, one more where the header is longer;
//              at most one HEAD-like request for the revision. In parallel, bounded.
// Errors       401 private or bad token, 403 gated, 404 missing, no safetensors, offline without a copy: each says
//              what to do. 429 and 5xx are tried again with back-off, honouring Retry-After.
#pragma once

#include <string>

#include "base/result.h"
#include "truth/truth.h"

namespace archlight::truth {

struct HubOptions {
  std::string endpoint;   // empty: $HF_ENDPOINT or the public hub
  std::string token;      // empty: $HF_TOKEN
  std::string cache;      // empty: the XDG cache
  std::string revision;   // empty: main
  bool offline = false;   // also $HF_HUB_OFFLINE=1
  bool progress = true;
  int parallel = 8;
  int tries = 5;
  double first_backoff_s = 0.5;
  double timeout_s = 30;
};

// config.json, hf_quant_config.json when there is one, the index and every shard's header.
base::Result<Truth> read_hub(const std::string& repo, const HubOptions& options);

}  // namespace archlight::truth
