#include "truth/internal/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace archlight::truth {
namespace {

constexpr size_t kMaxUrl = 16'384;  // signed CDN addresses run to 2 or 3 KB

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

bool printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

// What is wrong with bytes of a name, each either a letter, a digit or one of `also`.
std::optional<std::string> bytes_problem(std::string_view what, std::string_view text, std::string_view also,
                                         size_t longest) {
  if (text.empty()) return fmt::format("{} is empty", what);
  if (text.size() > longest)
    return fmt::format("{} is {} bytes long, more than {}", what, text.size(), longest);
  for (const char c : text)
    if (!is_letter_or_digit(c) && also.find(c) == std::string_view::npos)
      return fmt::format("{} '{}' holds a byte outside letters, digits and '{}'", what, text, also);
  if (text.find("..") != std::string_view::npos) return fmt::format("{} '{}' holds '..'", what, text);
  return std::nullopt;
}

}  // namespace

std::string Url::authority() const {
  const std::string shown = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == (tls ? 443 : 80) ? shown : fmt::format("{}:{}", shown, port);
}

std::string Url::origin() const {
  return fmt::format("{}://{}:{}", tls ? "https" : "http", host, port);
}

std::string Url::text() const {
  return (tls ? "https://" : "http://") + authority() + target;
}

std::optional<Url> parse_url(std::string_view text) {
  if (text.size() > kMaxUrl || !printable_ascii(text)) return std::nullopt;
  text = text.substr(0, text.find('#'));
  const size_t scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos) return std::nullopt;
  const std::string scheme = lower(text.substr(0, scheme_end));
  Url url;
  if (scheme != "http" && scheme != "https") return std::nullopt;
  url.tls = scheme == "https";
  text.remove_prefix(scheme_end + 3);
  const size_t authority_end = std::min(text.find_first_of("/?"), text.size());
  std::string_view authority = text.substr(0, authority_end);
  url.target = std::string(text.substr(authority_end));
  if (url.target.empty() || url.target[0] == '?') url.target.insert(0, "/");

  std::string_view host = authority;
  std::string_view port;
  const bool bracketed = !authority.empty() && authority[0] == '[';
  if (bracketed) {
    const size_t close = authority.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    host = authority.substr(1, close - 1);
    port = authority.substr(close + 1);
  } else if (const size_t colon = authority.find(':'); colon != std::string_view::npos) {
    host = authority.substr(0, colon);
    port = authority.substr(colon);
  }
  const auto host_byte = [&](char c) {
    return is_letter_or_digit(c) || c == '.' || (bracketed ? c == ':' : c == '-' || c == '_');
  };
  if (host.empty() || host.size() > 253 || !std::all_of(host.begin(), host.end(), host_byte))
    return std::nullopt;
  url.host = lower(host);
  url.port = url.tls ? 443 : 80;
  if (!port.empty()) {
    if (port[0] != ':') return std::nullopt;
    port.remove_prefix(1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
    if (error != std::errc() || end != port.data() + port.size()) return std::nullopt;
    if (url.port < 1 || url.port > 65535) return std::nullopt;
  }
  return url;
}

std::optional<Url> resolve_location(const Url& base, std::string_view location) {
  if (location.empty() || location.size() > kMaxUrl || !printable_ascii(location)) return std::nullopt;
  location = location.substr(0, location.find('#'));
  const size_t colon = location.find(':');
  if (colon != std::string_view::npos && colon < location.find_first_of("/?")) return parse_url(location);
  if (location.starts_with("//")) return parse_url((base.tls ? "https:" : "http:") + std::string(location));
  Url url = base;
  const std::string path = base.target.substr(0, base.target.find('?'));
  if (location.starts_with('/'))
    url.target = std::string(location);
  else if (location.starts_with('?'))
    url.target = path + std::string(location);
  else
    url.target = path.substr(0, path.rfind('/') + 1) + std::string(location);
  return url;
}

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_letter_or_digit(c) || std::string_view("-._~").find(c) != std::string_view::npos)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::optional<std::string> repo_problem(std::string_view repo) {
  const auto part_problem = [](std::string_view part) -> std::optional<std::string> {
    if (const auto problem = bytes_problem("the model id's part", part, "-._", 96)) return problem;
    if (part.find("--") != std::string_view::npos)
      return fmt::format("the model id's part '{}' holds '--'", part);
    if (part.front() == '.' || part.front() == '-' || part.back() == '.' || part.back() == '-')
      return fmt::format("the model id's part '{}' begins or ends with a dot or a dash", part);
    return std::nullopt;
  };
  const size_t slash = repo.find('/');
  if (const auto problem = part_problem(repo.substr(0, slash))) return problem;
  return slash == std::string_view::npos ? std::nullopt : part_problem(repo.substr(slash + 1));
}

std::optional<std::string> revision_problem(std::string_view revision) {
  if (const auto problem = bytes_problem("the revision", revision, "-._/", 200)) return problem;
  if (revision.front() == '/' || revision.back() == '/' || revision.find("//") != std::string_view::npos)
    return fmt::format("the revision '{}' has an empty part", revision);
  for (size_t at = 0; at != std::string_view::npos; at = revision.find('/', at)) {
    if (revision[at] == '/') ++at;
    if (revision[at] == '.' || revision[at] == '-')
      return fmt::format("a part of the revision '{}' begins with a dot or a dash", revision);
  }
  return std::nullopt;
}

std::optional<std::string> file_name_problem(std::string_view name) {
  if (const auto problem = bytes_problem("the file name", name, "-._+=@", 200)) return problem;
  if (name.front() == '.' || name.front() == '-')
    return fmt::format("the file name '{}' begins with a dot or a dash", name);
  return std::nullopt;
}

bool is_commit(std::string_view revision) {
  return revision.size() == 40 && std::all_of(revision.begin(), revision.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace archlight::truth
