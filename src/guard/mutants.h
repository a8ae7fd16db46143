// mutants.h: specs with one thing wrong, made by editing their YAML trees.
//
// Every place that a spec file states something is changed in each way the kinds below know; nothing is drawn
// at random, so a run covers all of them and names each.
//   drop      a node, a cache entry, a rule, a key
//   bypass    a node goes and its readers read what it read
//   swap      two dims of a node; the inputs, dims or names of two nodes of one op; the operands of a node
//   width     a formula plus one; a name in it that is another dim
//   rename    a node that stores something, or a module path, with all that refers to it
//   rewire    an operand reads the node before, or the component's input; a stream is kept from elsewhere
//   op        an op of the same operands in its place
//   other     a value of a closed set becomes another: role, dtype, method, component, config key, how a stream is read
// A promise (axioms, computes, stores) is no statement of the model, and stays.
#pragma once

#include <string>
#include <vector>

#include "base/yaml.h"

namespace archlight::guard {

struct Mutant {
  std::string file;  // under specs/
  std::string what;  // "bypass q_norm"
  std::string text;  // the whole file

  std::string kind() const { return what.substr(0, what.find(' ')); }
};

struct Names {
  std::vector<std::string> dims;        // that the model binds
  std::vector<std::string> components;  // of the library
  std::vector<std::string> roles;
  std::vector<std::string> adapters;  // that models name
};

// `file` is under specs/ and says by its folder what it is; a text that is no YAML has no mutants.
std::vector<Mutant> mutants_of(const std::string& file, const std::string& text, const Names& names);

// A tree as YAML text.
std::string emit(const base::Yaml& node);

}  // namespace archlight::guard
