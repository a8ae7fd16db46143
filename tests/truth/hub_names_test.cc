// Addresses, and names before they become parts of one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "truth/internal/fetch.h"
#include "truth/internal/url.h"

namespace archlight::truth {
namespace {

TEST(HubNames, Addresses) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      // text, as understood: origin and target; "" where refused
      {"https://huggingface.co", "https://huggingface.co:443 /"},
      {"HTTPS://HuggingFace.CO/a/b?c=d#e", "https://huggingface.co:443 /a/b?c=d"},
      {"http://127.0.0.1:8080/x", "http://127.0.0.1:8080 /x"},
      {"http://[::1]:99/x", "http://::1:99 /x"},
      {"http://host?q", "http://host:80 /?q"},
      {"ftp://host/x", ""},
      {"http://", ""},
      {"http://user:pass@host/", ""},
      {"http://host:0/", ""},
      {"http://host:65536/", ""},
      {"http://host:/", ""},
      {"http://host:80x/", ""},
      {"http://[::1", ""},
      {"http://[::1]x/", ""},
      {"http://ho st/", ""},
      {"http://host/a b", ""},
      {"http://host/a\r\nX: y", ""},
      {"host/x", ""},
  };
  for (const auto& [text, want] : rows) {
    const std::optional<Url> url = parse_url(text);
    EXPECT_EQ(url ? url->origin() + " " + url->target : "", want) << text;
  }
  EXPECT_EQ(parse_url("http://h/" + std::string(20'000, 'x')), std::nullopt);
  EXPECT_EQ(parse_url("http://[::1]:99/x")->authority(), "[::1]:99");
  EXPECT_EQ(parse_url("https://h:443/x")->text(), "https://h/x");
}

TEST(HubNames, Locations) {
  const Url base = *parse_url("https://hub:8443/org/model/resolve/main/config.json?x=1");
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"https://cdn/blob?sig=a%2Fb", "https://cdn/blob?sig=a%2Fb"},
      {"/api/resolve-cache/x", "https://hub:8443/api/resolve-cache/x"},
      {"//cdn/blob", "https://cdn/blob"},
      {"other.json", "https://hub:8443/org/model/resolve/main/other.json"},
      {"?y=2", "https://hub:8443/org/model/resolve/main/config.json?y=2"},
      {"/time/12:30", "https://hub:8443/time/12:30"},
      {"javascript:alert(1)", ""},
      {"file:///etc/passwd", ""},
      {"", ""},
      {"/a\tb", ""},
  };
  for (const auto& [location, want] : rows) {
    const std::optional<Url> url = resolve_location(base, location);
    EXPECT_EQ(url ? url->text() : "", want) << location;
  }
}

TEST(HubNames, Repositories) {
  for (const std::string good : {"gpt2", "org/model", "Org_1/Model-1.5_x", "a/b"})
    EXPECT_EQ(repo_problem(good), std::nullopt) << good;
  for (const std::string bad :
       {"", "/", "org/", "/model", "a/b/c", "../x", "org/..", "org/a..b", ".org/x", "org/-x", "org/x.",
        "org/a b", "org/a%2fb", "org/a?b", "org\\x", "a--b/c", "org/x\n", "org/\xc3\xa9"})
    EXPECT_NE(repo_problem(bad), std::nullopt) << bad;
  EXPECT_EQ(repo_problem("org/" + std::string(96, 'x')), std::nullopt);
  EXPECT_NE(repo_problem("org/" + std::string(97, 'x')), std::nullopt);
}

TEST(HubNames, Revisions) {
  for (const std::string good : {"main", "refs/pr/1", "v1.0", "feature_x-y"})
    EXPECT_EQ(revision_problem(good), std::nullopt) << good;
  for (const std::string bad :
       {"", "/", "a//b", "../a", "a/..", "a/.b", "-a", "a/-b", "a b", "a?b", "a#b", "a%2f", "a/"})
    EXPECT_NE(revision_problem(bad), std::nullopt) << bad;
  EXPECT_EQ(percent_encode("refs/pr/1"), "refs%2Fpr%2F1");
  EXPECT_TRUE(is_commit(std::string(40, '0')));
  EXPECT_FALSE(is_commit(std::string(39, '0')));
  EXPECT_FALSE(is_commit(std::string(40, 'A')));
}

TEST(HubNames, Files) {
  for (const std::string good :
       {"model.safetensors", "model-00001-of-00002.safetensors", "a+b=c@d.safetensors"})
    EXPECT_EQ(file_name_problem(good), std::nullopt) << good;
  for (const std::string bad : {"", ".", "..", ".hidden", "-x", "a/b", "a\\b", "a..b", "a b", "a\nb", "a%b"})
    EXPECT_NE(file_name_problem(bad), std::nullopt) << bad;
  EXPECT_NE(file_name_problem(std::string(201, 'x')), std::nullopt);
}

TEST(HubNames, ContentRanges) {
  const auto shown = [](std::string_view text) {
    const std::optional<ContentRange> range = parse_content_range(text);
    return range ? fmt::format("{} {} {}", range->begin, range->end, range->total) : std::string();
  };
  EXPECT_EQ(shown("bytes 0-7/1234"), "0 7 1234");
  EXPECT_EQ(shown("Bytes 8-9/10"), "8 9 10");
  for (const char* bad :
       {"", "bytes 0-7/*", "bytes */1234", "bytes 7-0/9", "bytes 0-9/9", "0-7/9", "bytes 0-7", "bytes a-7/9",
        "bytes 0-7/9x", "bytes -7/9", "bytes 0-18446744073709551616/9"})
    EXPECT_EQ(shown(bad), "") << bad;
}

TEST(HubNames, RetryAfter) {
  // 06 Nov 1994 08:49:37 GMT is 784111777 s after the epoch: date -ud '1994-11-06 08:49:37' +%s
  EXPECT_EQ(parse_retry_after("17", 0), 17.0);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 784111747), 30.0);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 784111800), 0.0);
  for (const char* bad : {"", "soon", "-3", "1.5", "Sun, 06 Nov 1994", "17 s"})
    EXPECT_EQ(parse_retry_after(bad, 0), std::nullopt) << bad;
}

}  // namespace
}  // namespace archlight::truth
