// faults.h: the room's ways to say what is wrong with a file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/diagnostic.h"

namespace archlight::truth {

// A fault about a file as a whole, or about what its text already places.
inline base::Diagnostic file_fault(const std::string& file, std::string wrong, std::string expected = {},
                                   std::string fix = {}) {
  base::Diagnostic out;
  out.at.source = std::make_shared<base::SourceText>(base::SourceText{file, {}});
  out.wrong = std::move(wrong);
  out.expected = std::move(expected);
  out.fix = std::move(fix);
  return out;
}

// What this machine cannot check: the input is well formed but the evidence is not at hand.
inline base::Diagnostic not_verifiable(const std::string& file, std::string wrong, std::string expected = {},
                                       std::string fix = {}) {
  base::Diagnostic out = file_fault(file, std::move(wrong), std::move(expected), std::move(fix));
  out.guard = "not_verifiable";
  return out;
}

// A name for a message: whole when short, its start and its length when not.
inline std::string short_name(std::string_view name) {
  if (name.size() <= 120) return std::string(name);
  size_t cut = 80;
  while (cut > 0 && (static_cast<unsigned char>(name[cut]) & 0xc0) == 0x80) --cut;  // not inside a character
  return std::string(name.substr(0, cut)) + "... (" + std::to_string(name.size()) + " bytes)";
}

}  // namespace archlight::truth
