// hub_faults.h: what went wrong between this machine and the hub, in words, with a fix.
#pragma once

#include <string>

#include "base/diagnostic.h"
#include "truth/internal/fetch.h"

namespace archlight::truth {

// Whom a fault talks about.
struct HubTarget {
  Url endpoint;
  std::string repo;
  std::string revision;  // as the person said it
  bool has_token = false;
  bool gated = false;    // the hub's description says so
  std::string fallback;  // "" or advice that names a cached copy
  std::string file;      // a .gguf file that is asked for

  std::string page() const { return endpoint.text() + "/" + repo; }
};

// `shown_as` is the address of what was asked; `file` its name, empty for the repository itself.
base::Diagnostic hub_fault(const HubTarget& target, const std::string& shown_as, const std::string& file,
                           const FetchReply& reply);

}  // namespace archlight::truth
