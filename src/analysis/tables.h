// tables.h: the result of a walk: tables keyed by node id, and what joins them.
//
// Symbols  B requests; s_query tokens of each request in this step; s_ctx tokens that attention sees, the step's own
//          among them; s_logits of them get logits. Prefill binds s_ctx to s_query and s_logits to 1, decode s_query
//          to 1 and s_logits to s_query.
// Tables   shape    what a reader of the node sees, [B, tokens, ...]; a cached node is seen over the context
//          computed what the node itself computes
//          flops    per evaluation of one instance; instances say how many there are
//          reads    of a kept operand, how many entries the op reads for one request, where it is not all
//          writes   of a kept state, how many entries of one request a step writes, where it is not all
//          params   parameter tensors, by node
//          caches   what decode keeps
// Units    FLOPs; elements. Bytes are views (storage.h, traffic.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "expr/expr.h"
#include "graph/tree.h"
#include "spec/binding.h"

namespace archlight::analysis {

using Shape = std::vector<expr::Expr>;

enum class Dims { kNumbers, kFormulas };

struct PhaseBinding {
  Dims dims = Dims::kNumbers;
  std::optional<int64_t> batch, s_query, s_ctx;  // none: a symbol (or the phase's own rule, see above)
};

struct Param {
  graph::NodeId node = graph::kNone;
  std::string name;  // "weight", "bias"; empty: the tensor has the module's own path
  std::string path;  // canonical module path
  std::string op;    // the op that stores it
  std::string role;
  std::string apart;
  Shape axes;
  expr::Expr elements;  // of one instance, the part this node reads
  Shape base_axes;      // the stored tensor's axes; differs from axes for a decode variant's share
  expr::Expr base_elements;
  bool tied = false;  // repeats another's values: stored or not, it adds no parameter
  std::string tied_to;
  int group = -1;
  int copies_call = -1;  // the innermost call with copies around it
};

struct Cache {
  graph::NodeId node = graph::kNone;
  std::string kind;
  std::string family;
  spec::CacheEntry::Growth growth = spec::CacheEntry::Growth::kPerToken;
  expr::Expr amount;     // window or ratio
  expr::Expr per_token;  // elements per token and layer; of a fixed state: elements in all
  std::string apart;
  int group = -1;
  // The element type where it is not the cache's own: stated, or the model's.
  std::optional<base::Dtype> dtype;
  bool model_dtype = false;
  std::string dtype_origin;
};

struct Analysis {
  std::shared_ptr<expr::ExprPool> pool;
  std::shared_ptr<const graph::SpecTree> tree;
  PhaseBinding binding;
  expr::Expr batch, s_query, s_ctx;
  std::vector<Shape> shape;
  std::vector<Shape> computed;
  std::vector<expr::Expr> flops;
  std::vector<std::optional<expr::Expr>> reads, writes;
  // Copies of a node inside one layer, and those that one token uses; times the layers of its group, the
  // instances.
  std::vector<expr::Expr> in_layer;
  std::vector<expr::Expr> active_in_layer;
  std::vector<expr::Expr> layers;  // by group
  // By call, no value for a call without copies: how many there are, and how many one token uses.
  std::vector<expr::Expr> copies, active;
  std::vector<Param> params;
  std::vector<Cache> caches;

  // A dim or derived count as this analysis sees it.
  std::optional<expr::Expr> dim(std::string_view name) const;
  expr::Expr instances(graph::NodeId node) const;
  // The sum over the main model's nodes (or those apart under `apart`) of value times copies, one group's
  // layers at a time, so that a formula stays count * (layer) + count * (other layer) + the rest. A node
  // without a value adds nothing.
  expr::Expr total(const std::function<std::optional<expr::Expr>(graph::NodeId)>& value_of,
                   const std::string& apart = {}) const;
  // How many elements of `producer`'s output one instance of `consumer` reads.
  expr::Expr elements_read(graph::NodeId producer, graph::NodeId consumer) const;
};

// The value of every symbol that a formula of this analysis may name, for the trace: dims, derived counts.
struct SymbolValue {
  std::string name;
  expr::Rational value;
  std::string origin;
};
std::vector<SymbolValue> symbol_values(const Analysis& analysis);

}  // namespace archlight::analysis
