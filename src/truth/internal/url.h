// url.h: addresses, and the names that become parts of addresses and of cache paths.
//
// Names   A repository, a revision and a file name come from a person or from a stranger's JSON. Each passes
//         its check here before it reaches a URL or a path: no '..', no control byte, no endless name, and a
//         '/' only where a repository or a revision has one.
// Errors  The name_problem functions return what is wrong in words, or nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace archlight::truth {

struct Url {
  bool tls = false;
  std::string host;  // lower case; an IPv6 address without its brackets
  int port = 0;
  std::string target;  // path and query, starts with '/'; for an endpoint, without a trailing '/'

  std::string authority() const;  // host and port as a Host header shows them
  std::string origin() const;  // scheme://host:port, always with the port: two equal origins are one server
  std::string text() const;
};

// An absolute http or https address without user, password, spaces or control bytes. The fragment is dropped.
std::optional<Url> parse_url(std::string_view text);
// What a Location header means, seen from `base`: absolute, //host/path, /path or path relative to base's
// folder.
std::optional<Url> resolve_location(const Url& base, std::string_view location);

// All but letters, digits and "-._~" as %XX, '/' included: safe as one segment of a URL or one name in a
// folder. (The names "." and ".." are refused by the checks below.)
std::string percent_encode(std::string_view text);

// "name" or "org/name": letters, digits, "-._", each part 1 to 96 bytes, no "..", no "--".
std::optional<std::string> repo_problem(std::string_view repo);
// A branch, tag, "refs/pr/1" or commit: up to 200 bytes of letters, digits and "-._/", no "..", no empty
// part.
std::optional<std::string> revision_problem(std::string_view revision);
// One file in the repository's root: up to 200 bytes of letters, digits and "-._+=@", no leading dot, no
// "..".
std::optional<std::string> file_name_problem(std::string_view name);
// A full commit id: 40 lower-case hex digits.
bool is_commit(std::string_view revision);

}  // namespace archlight::truth
