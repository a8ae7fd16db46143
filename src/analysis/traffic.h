// traffic.h: bytes that one step moves between memory and the processor, as a view over shapes and storage.
//
// Rules   Every op reads its operands and writes its output once; nothing is fused but what the op table says stays
//         on chip (the [query, key] matrix of attention). Views move nothing. A cached entry is read once per layer,
//         by whichever op meets it first, however many views of it there are;
//         a layer that reads another's entry through a stream reads it as often as its own. A weight is read once; of a layer's
//         routed experts, at most as many as the step's tokens choose: min(copies, B * s_query * active), exact for
//         one token, an upper bound beyond.
// Chosen  Attention over chosen keys reads as many entries as are chosen for one query, of several queries at most
//         all that is kept: min(kept, s_query * chosen), an upper bound beyond one. A ring of slots is written one
//         slot a token; its reader's row says how many it reads.
// Window  A step of s_query tokens reads min(s_ctx, window + s_query - 1) entries of a window-capped cache.
// Units   Bytes per instance of a node; activations in the plain dtype of the checkpoint.
// Errors  At a precision profile's part whose elements cannot be evaluated for an entry of this model.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "analysis/storage.h"
#include "analysis/walk.h"
#include "spec/engine.h"
#include "spec/precision.h"

namespace archlight::analysis {

struct EngineInUse {
  const spec::Engine* engine = nullptr;
  std::vector<spec::EngineOption> options;  // with the values in use
};

// One edge's part of a node's bytes: an operand's, or with no operand the output's.
struct Move {
  graph::NodeId node = graph::kNone;
  std::optional<size_t> operand;
  graph::NodeId entry = graph::kNone;  // of a cache read, the kept node
  expr::Expr bytes;
};

struct Traffic {
  std::vector<expr::Expr> weights, activations, kv_read, kv_write;  // by node; every cell has a value
  std::vector<Move> activation_moves, kv_reads;                     // what two of them are the sums of
  base::Dtype activation_dtype = base::Dtype::kBF16;
  base::Dtype kv_dtype = base::Dtype::kBF16;
  std::string kv_dtype_origin;
  std::shared_ptr<const EngineInUse> engine;   // none: the cache is kept as the components say
  const spec::Precision* precision = nullptr;  // goes before both, where it names an entry's kind

  expr::Expr bytes(graph::NodeId node) const;
};

// `stored` is the walk that stores weights (prefill) with its storage; `analysis` may be any phase of the
// same model.
base::Result<Traffic> traffic_of(const Analysis& analysis, const Analysis& stored, const Storage& storage,
                                 std::shared_ptr<const EngineInUse> engine = nullptr,
                                 const spec::Precision* precision = nullptr);

// Tokens of the context that an entry holds: all of it, at most its window, one in its ratio; 1 for a fixed
// state.
expr::Expr entry_tokens(const Analysis& analysis, const Cache& cache);

// Bytes that one token adds to an entry in one layer, of a fixed state all of it: by the precision profile, by the
// engine's format, or elements in their own dtype, the model's, or what the cache is kept in.
expr::Expr entry_bytes(const Analysis& analysis, const Cache& cache, const Traffic& traffic);
// For how many tokens of the batch the entry has room (states, where it is fixed): the engine's rule, or those that are
// there.
expr::Expr entry_held(const Analysis& analysis, const Cache& cache, const Traffic& traffic);
// What a name means in every formula of an engine: a dtype's bytes, an option, a dim.
std::optional<expr::Expr> engine_name(const Analysis& analysis, const EngineInUse& in_use,
                                      std::string_view name);
// The dtypes that an engine's formats name.
std::vector<base::Dtype> engine_dtypes(const spec::Engine& engine);

// The type a checkpoint's cache is kept in.
base::Dtype kv_dtype(const spec::Binding& binding, const spec::Library& library, base::Dtype plain,
                     std::string* origin);

}  // namespace archlight::analysis
