// head.h: whether a model's head repeats its embedding table, has a matrix of its own, or is not there, and what says so.
//
// Evidence  In this order: the checkpoint's tensors; the config's flag, nested before the top; the family's default. A head
//           without tensors under a config that says outright that it is not tied is no tie: the checkpoint has none.
#pragma once

#include <string>
#include <vector>

#include "guard/verify.h"

namespace archlight::guard {

struct Head {
  enum class Kind { kTied, kOwn, kNone } kind = Kind::kOwn;
  std::string path;      // "lm_head"
  std::string table;     // whose weight it repeats or might: "embed_tokens"
  std::string evidence;  // "model.lm_head.weight is stored; config.tie_word_embeddings"
};

std::string_view head_kind_name(Head::Kind kind);
// Of each node that a spec says may be tied, in order, without those counted apart.
std::vector<Head> heads_of(const Report& report, const truth::Truth& truth);

// Paths of heads that the names of a complete checkpoint lack although the config says that they are not tied;
// `storage` is what the bill's model stores, under the names that the checkpoint has.
std::vector<std::string> heads_missing(const analysis::Bill& bill, const analysis::Storage& storage,
                                       const std::vector<std::string_view>& names);

}  // namespace archlight::guard
