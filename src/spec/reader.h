// reader.h: reading a YAML map key by key: what is missing, unknown or of the wrong form becomes a fault at its
// place, and one run collects all of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/yaml.h"
#include "expr/formula.h"

namespace archlight::spec {

class Reader {
 public:
  // `what` names the thing in messages: "component", "node 'q_proj'".
  Reader(const base::Yaml& node, std::string what, base::Faults& faults);

  bool is_map() const { return node_.is_map(); }
  const base::Yaml& node() const { return node_; }
  const std::string& what() const { return what_; }

  // The value under a key, or null; the key counts as known.
  const base::Yaml* get(std::string_view key);
  const base::Yaml* require(std::string_view key, std::string_view form);
  bool has(std::string_view key) const { return node_.find(key) != nullptr; }
  // Where the value under a key stands; the whole map's place where there is none.
  base::Span place(std::string_view key) const { return has(key) ? node_.find(key)->at : node_.at; }

  std::string text(std::string_view key, std::string fallback = {});
  std::string required_text(std::string_view key);
  bool flag(std::string_view key, bool fallback = false);
  // A formula from a scalar; empty when the key is absent.
  expr::Formula formula(std::string_view key);
  // A list of texts, or one text as a list of one.
  std::vector<std::string> texts(std::string_view key);
  // The items of a list, the entries of a map; none when absent, a fault when of another form.
  std::span<const base::Yaml> list(std::string_view key, std::string_view form);
  std::span<const base::YamlEntry> map(std::string_view key, std::string_view form);

  // Every key that nothing asked for is a fault with the nearest known name.
  void finish();

 private:
  const base::Yaml& node_;
  std::string what_;
  base::Faults& faults_;
  std::vector<std::string> known_;
};

expr::Formula read_formula(const base::Yaml& node, base::Faults& faults);
std::span<const base::Yaml> read_list(const base::Yaml& node, const std::string& what, std::string_view form,
                                      base::Faults& faults);
std::span<const base::YamlEntry> read_map(const base::Yaml& node, const std::string& what,
                                          std::string_view form, base::Faults& faults);
std::string read_text(const base::Yaml& node, const std::string& what, base::Faults& faults);
// A list of texts, or one text as a list of one.
std::vector<std::string> read_texts(const base::Yaml& node, const std::string& what, base::Faults& faults);
// What is written in YAML where JSON would stand: maps, lists, whole numbers, true, false, null; the rest is text.
base::Json json_of(const base::Yaml& node);

}  // namespace archlight::spec
