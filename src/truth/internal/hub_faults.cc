#include "truth/internal/hub_faults.h"

#include <fmt/format.h>

#include "truth/internal/faults.h"

namespace archlight::truth {
namespace {

struct Words {
  std::string wrong, expected, fix;
};

std::string after_tries(const FetchReply& reply) {
  return reply.tries > 1 ? fmt::format(" ({} tries)", reply.tries) : std::string();
}

Words trouble_words(const HubTarget& target, const FetchReply& reply) {
  const std::string host = reply.final_url.authority();
  const std::string detail = reply.http.detail + after_tries(reply);
  switch (reply.http.trouble) {
    case Trouble::kName:
    case Trouble::kConnect:
      return {detail, "a hub that can be reached",
              "check the network and HF_ENDPOINT, or set HF_HUB_OFFLINE=1 to read only the cache"};
    case Trouble::kTls:
      return {fmt::format("{}: {}", host, detail), "a certificate that this system trusts",
              "install ca-certificates, check the clock, or name the issuer's file in SSL_CERT_FILE"};
    case Trouble::kTimeout:
      return {fmt::format("{}: {}", host, detail), {}, "try again: what was read stays in the cache"};
    case Trouble::kDropped:
      return {fmt::format("{}: {}", host, detail), "a whole answer",
              "try again: what was read stays in the cache"};
    case Trouble::kBadRange:
      return {fmt::format("{}: {}", host, detail), "the bytes that were asked",
              "try again; if it stays, HF_ENDPOINT or a proxy alters answers"};
    case Trouble::kIgnoredRange:
      return {fmt::format("{} ignores ranges: it sends {}", host, reply.http.detail),
              "206 and the range alone, since weights are not downloaded",
              "set HF_ENDPOINT to a hub that serves ranges, or give a local folder"};
    case Trouble::kMalformed:
    case Trouble::kTooLarge:
    case Trouble::kRedirects:
      return {fmt::format("{}: {}", host, detail), "an answer as the hub gives it",
              "check HF_ENDPOINT and any proxy"};
    case Trouble::kStopped:
    case Trouble::kNone:
      break;
  }
  return {fmt::format("{}: the read was stopped", target.page()), {}, {}};
}

Words missing_words(const HubTarget& target, const std::string& file, std::string_view code) {
  if (code == "EntryNotFound" || (code.empty() && !file.empty()))
    return {fmt::format("'{}' has no file '{}' at revision '{}' (404)", target.repo, file, target.revision),
            {},
            fmt::format("see {}/tree/{} for what it has", target.page(), target.revision)};
  if (code == "RevisionNotFound")
    return {fmt::format("'{}' has no revision '{}' (404)", target.repo, target.revision),
            "a branch, a tag or a full commit id", fmt::format("see {}/refs for what it has", target.page())};
  return {fmt::format("there is no model '{}' with a revision '{}' at {} (404)", target.repo, target.revision,
                      target.endpoint.text()),
          "a model id such as org/name", "check the spelling of the id and of the revision"};
}

Words status_words(const HubTarget& target, const std::string& file, const FetchReply& reply) {
  const int status = reply.http.status;
  const std::string_view code = reply.http.header("x-error-code");
  const bool from_hub = reply.final_url.origin() == target.endpoint.origin();
  const std::string tokens = target.endpoint.text() + "/settings/tokens";
  std::string said(reply.http.header("x-error-message").substr(0, 200));
  if (!said.empty()) said = ", saying: " + said;
  if (!from_hub)
    return {fmt::format("{} answers {}{}", reply.final_url.authority(), status, after_tries(reply)),
            "the bytes that the hub's redirect leads to", "try again: what was read stays in the cache"};
  const bool refused = status == 401 || status == 403;
  if (code == "GatedRepo" || (refused && code.empty() && target.gated))
    return {
        fmt::format("'{}' is gated ({})", target.repo, status), "an account that has accepted its licence",
        target.has_token
            ? fmt::format("accept the licence at {} with the account that HF_TOKEN belongs to", target.page())
            : fmt::format("accept the licence at {}, then set HF_TOKEN to a read token from {}",
                          target.page(), tokens)};
  switch (status) {
    case 401:
      if (target.has_token)
        return {fmt::format("the hub refuses the token for '{}' (401){}", target.repo, said),
                "a token that may read it",
                fmt::format("check the id's spelling, or set HF_TOKEN to a new read token from {}", tokens)};
      return {fmt::format("'{}' is private, or there is no such model (401)", target.repo),
              "a model that anyone may read, or a token",
              fmt::format("check the id's spelling, or set HF_TOKEN to a read token from {}", tokens)};
    case 403:
      return {fmt::format("the hub forbids '{}' to this token (403){}", target.repo, said),
              "a token with read access to it",
              fmt::format("accept the licence at {} if it has one, or give HF_TOKEN the rights to read it",
                          target.page())};
    case 404:
      return missing_words(target, file, code);
    case 416:
      return {"the file is shorter than the bytes asked of it (416)", "a safetensors file", {}};
    case 429:
      return {reply.asked_wait_s > 0
                  ? fmt::format("the hub limits this machine's requests (429) and asks to wait "
                                "{:.0f} s{}",
                                reply.asked_wait_s, after_tries(reply))
                  : fmt::format("the hub limits this machine's requests (429){}", after_tries(reply)),
              {},
              target.has_token ? "wait, then try again: what was read stays in the cache"
                               : "wait, then try again, or set HF_TOKEN for a higher limit"};
    default:
      return {fmt::format("the hub answers {}{}{}", status, after_tries(reply), said),
              {},
              status >= 500 ? "try again later: what was read stays in the cache" : "check HF_ENDPOINT"};
  }
}

}  // namespace

base::Diagnostic hub_fault(const HubTarget& target, const std::string& shown_as, const std::string& file,
                           const FetchReply& reply) {
  Words words =
      reply.http.trouble == Trouble::kNone ? status_words(target, file, reply) : trouble_words(target, reply);
  if (!target.fallback.empty()) words.fix += (words.fix.empty() ? "" : "; ") + target.fallback;
  return not_verifiable(shown_as, std::move(words.wrong), std::move(words.expected), std::move(words.fix));
}

}  // namespace archlight::truth
