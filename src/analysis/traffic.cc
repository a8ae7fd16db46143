#include "analysis/traffic.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/yaml.h"

namespace archlight::analysis {

using base::Dtype;
using expr::Expr;
using graph::NodeId;

namespace {

Expr product(expr::ExprPool& pool, const Shape& shape) {
  return shape.empty() ? pool.constant(1) : pool.mul(shape);
}

// What an operand rests on in memory: itself, or what a view shows; cached entries end the search.
class Roots {
 public:
  explicit Roots(const graph::SpecTree& tree) : tree_(tree), met_by_(tree.nodes.size(), 0) {}

  // Each node is met once, however many views lead to it.
  const std::vector<NodeId>& of(NodeId operand) {
    ++search_;
    out_.clear();
    open_ = {operand};
    while (!open_.empty()) {
      const NodeId at = open_.back();
      open_.pop_back();
      if (std::exchange(met_by_[at], search_) == search_) continue;
      const graph::Node& node = tree_.nodes[at];
      if (node.cache || node.op->traffic != spec::Traffic::kView || node.in.empty())
        out_.push_back(at);
      else
        open_.insert(open_.end(), node.in.rbegin(), node.in.rend());
    }
    return out_;
  }

 private:
  const graph::SpecTree& tree_;
  std::vector<size_t> met_by_;  // by node, the last search that met it
  size_t search_ = 0;
  std::vector<NodeId> open_, out_;
};

}  // namespace

Expr Traffic::bytes(NodeId node) const {
  return weights[node] + activations[node] + kv_read[node] + kv_write[node];
}

Expr entry_tokens(const Analysis& analysis, const Cache& cache) {
  expr::ExprPool& pool = *analysis.pool;
  switch (cache.growth) {
    case spec::CacheEntry::Growth::kPerToken:
      return analysis.s_ctx;
    case spec::CacheEntry::Growth::kWindow:
    case spec::CacheEntry::Growth::kChunk:  // at most: a chunk that has just begun holds fewer
      return pool.min(analysis.s_ctx, cache.amount);
    case spec::CacheEntry::Growth::kRatio:
      return pool.floor_div(analysis.s_ctx, cache.amount);
    case spec::CacheEntry::Growth::kFixed:
      return pool.constant(1);
  }
  return {};
}

std::optional<Expr> engine_name(const Analysis& analysis, const EngineInUse& in_use, std::string_view name) {
  if (const std::optional<Dtype> dtype = base::dtype_from_name(name)) return width_of(analysis, *dtype);
  const auto option = std::ranges::find(in_use.options, name, &spec::EngineOption::name);
  if (option == in_use.options.end()) return analysis.dim(name);
  if (analysis.binding.dims == Dims::kNumbers)
    return analysis.pool->constant(expr::Rational{option->value, 1});
  return analysis.pool->symbol(in_use.engine->name + "." + option->name,
                               {expr::Rational{option->least, 1}, std::nullopt}, true);
}

namespace {

// Bytes of one element of a cache entry: its own dtype, the model's, or what the cache is kept in.
Expr cache_width(const Analysis& analysis, const Cache& cache, const Traffic& traffic) {
  if (cache.dtype) return width_of(analysis, *cache.dtype);
  return cache.model_dtype ? width_of(analysis, traffic.activation_dtype)
                           : kv_width_of(analysis, traffic.kv_dtype);
}

// The entry's last axis.
Expr width_in(const Analysis& analysis, const Cache& cache) {
  return analysis.shape[cache.node].back();
}

const spec::EntryLayout* layout_of(const Cache& cache, const Traffic& traffic) {
  return traffic.precision ? traffic.precision->layout_of(cache.kind) : nullptr;
}

Expr elements_of(const Analysis& analysis, const Cache& cache, const spec::EntryPart& part) {
  if (part.elements.empty()) return cache.per_token;
  return part.elements.instantiate(*analysis.pool, [&](std::string_view name) -> std::optional<Expr> {
    if (name == "elements") return cache.per_token;
    if (name == "width") return width_in(analysis, cache);
    if (name == "rows") return cache.per_token / width_in(analysis, cache);
    return analysis.dim(name);
  });
}

Expr laid_out(const Analysis& analysis, const Cache& cache, const spec::EntryLayout& layout,
              const Traffic& traffic) {
  Expr out = analysis.pool->constant(0);
  for (const spec::EntryPart& part : layout.parts)
    out = out + elements_of(analysis, cache, part) *
                    width_of(analysis, part.dtype.value_or(traffic.activation_dtype));
  return out;
}

// What a part has no elements for.
std::optional<base::Diagnostic> layout_fault(const Analysis& analysis, const Cache& cache,
                                             const spec::EntryLayout& layout) {
  for (const spec::EntryPart& part : layout.parts) {
    const Expr elements = elements_of(analysis, cache, part);
    const std::optional<expr::Rational> number = elements.constant();
    if (elements.is_error() || (number && (!number->is_integer() || number->num < 0)))
      return base::fault_at(part.at,
                            "'" + part.elements.text() + "' of entry '" + layout.kind +
                                (elements.is_error() ? "' cannot be evaluated: " + elements.error_text()
                                                     : "' is " + expr::to_text(elements)),
                            "a whole number of elements, over elements, rows, width and the model's dims");
  }
  return std::nullopt;
}

const spec::EngineEntry* row_of(const Cache& cache, const Traffic& traffic) {
  return traffic.engine ? traffic.engine->engine->entry(cache.kind, cache.growth) : nullptr;
}

Expr by_engine(const Analysis& analysis, const Cache& cache, const EngineInUse& in_use,
               const expr::Formula& formula) {
  return formula.instantiate(*analysis.pool, [&](std::string_view name) -> std::optional<Expr> {
    if (name == "elements") return cache.per_token;
    if (name == "width") return width_in(analysis, cache);
    if (name == "rows") return cache.per_token / width_in(analysis, cache);
    if (name == "tokens") return entry_tokens(analysis, cache);
    if (name == "B") return analysis.batch;
    if (name == "s_ctx") return analysis.s_ctx;
    if (name == "window") return cache.amount;
    return engine_name(analysis, in_use, name);
  });
}

// Of an entry's bytes, the share of one element.
Expr element_bytes(const Analysis& analysis, const Cache& cache, const Traffic& traffic) {
  if (const spec::EntryLayout* layout = layout_of(cache, traffic))
    return laid_out(analysis, cache, *layout, traffic) / cache.per_token;
  const spec::EngineEntry* row = row_of(cache, traffic);
  return row && !row->bytes.empty()
             ? by_engine(analysis, cache, *traffic.engine, row->bytes) / cache.per_token
             : cache_width(analysis, cache, traffic);
}

}  // namespace

Expr entry_bytes(const Analysis& analysis, const Cache& cache, const Traffic& traffic) {
  if (const spec::EntryLayout* layout = layout_of(cache, traffic))
    return laid_out(analysis, cache, *layout, traffic);
  const spec::EngineEntry* row = row_of(cache, traffic);
  return row && !row->bytes.empty() ? by_engine(analysis, cache, *traffic.engine, row->bytes)
                                    : cache.per_token * cache_width(analysis, cache, traffic);
}

Expr entry_held(const Analysis& analysis, const Cache& cache, const Traffic& traffic) {
  const spec::EngineEntry* row = row_of(cache, traffic);
  return row && !row->held.empty() ? by_engine(analysis, cache, *traffic.engine, row->held)
                                   : analysis.batch * entry_tokens(analysis, cache);
}

std::vector<Dtype> engine_dtypes(const spec::Engine& engine) {
  std::vector<Dtype> out;
  for (const spec::EngineEntry& entry : engine.entries)
    for (const expr::Formula* formula : {&entry.bytes, &entry.held})
      if (!formula->empty())
        for (const std::string& name : formula->names())
          if (const std::optional<Dtype> dtype = base::dtype_from_name(name)) out.push_back(*dtype);
  for (const spec::EngineBuffer& buffer : engine.buffers)
    for (const std::string& name : buffer.bytes.names())
      if (const std::optional<Dtype> dtype = base::dtype_from_name(name)) out.push_back(*dtype);
  return out;
}

Dtype kv_dtype(const spec::Binding& binding, const spec::Library& library, Dtype plain, std::string* origin) {
  const auto declared = [&](const base::Json* declaration, const std::string& where) -> std::optional<Dtype> {
    if (!declaration) return std::nullopt;
    for (const spec::KvFormat& row : library.kv_formats()) {
      const std::optional<std::string> value = spec::declared_text(*declaration, row.key);
      if (!value || *value != row.equals) continue;
      if (origin) *origin = where + "." + row.key + " = " + row.equals;
      return row.dtype;
    }
    return std::nullopt;
  };
  if (const std::optional<Dtype> found = declared(binding.quant_declaration, binding.quant_origin))
    return *found;
  if (binding.quant_config) {
    const base::Json* inner = spec::config_value(*binding.model, *binding.quant_config, "quantization");
    if (const std::optional<Dtype> found = declared(inner, "hf_quant_config.json")) return *found;
  }
  if (origin) *origin = "the model's dtype, since the checkpoint declares no cache format";
  return plain;
}

base::Result<Traffic> traffic_of(const Analysis& analysis, const Analysis& stored, const Storage& storage,
                                 std::shared_ptr<const EngineInUse> engine,
                                 const spec::Precision* precision) {
  const graph::SpecTree& tree = *analysis.tree;
  expr::ExprPool& pool = *analysis.pool;
  const Expr zero = pool.constant(0);
  Traffic out;
  out.engine = std::move(engine);
  out.precision = precision;
  for (const Cache& cache : analysis.caches)
    if (const spec::EntryLayout* layout = layout_of(cache, out))
      if (std::optional<base::Diagnostic> fault = layout_fault(analysis, cache, *layout)) return *fault;
  out.activation_dtype = storage.plain_dtype;
  out.kv_dtype = kv_dtype(*tree.binding, *tree.library, storage.plain_dtype, &out.kv_dtype_origin);
  const Expr act_width = width_of(analysis, out.activation_dtype);
  for (auto* table : {&out.weights, &out.activations, &out.kv_read, &out.kv_write})
    table->assign(tree.nodes.size(), zero);

  // Stored bytes by the parameter's path and name, in this analysis's pool.
  std::map<std::pair<std::string, std::string>, std::vector<size_t>> by_path;  // several: one per layer group
  for (size_t p = 0; p < stored.params.size(); ++p)
    by_path[{stored.params[p].path, stored.params[p].name}].push_back(p);

  for (const Param& param : analysis.params) {
    if (tree.nodes[param.node].done) continue;
    const auto found = by_path.find({param.path, param.name});
    const auto group_fits = [&](size_t p) {
      const int own = param.group, other = stored.params[p].group;
      return (own < 0) == (other < 0) &&
             (own < 0 || tree.groups[own].layers == stored.tree->groups[other].layers);
    };
    const auto match = found == by_path.end() ? std::vector<size_t>::const_iterator{}
                                              : std::ranges::find_if(found->second, group_fits);
    if (found == by_path.end() || match == found->second.end())
      return base::fault_at(tree.nodes[param.node].decl->at,
                            "the " + std::string(graph::phase_name(tree.phase)) + " graph reads weight '" +
                                param.path + "." + param.name + "', which the stored graph lacks",
                            "a weight that the base component stores");
    const Param& base_param = stored.params[*match];
    // Rows that split a group's layers are averaged by their share, exact in the sum over the group.
    if (storage.of_param[*match].empty()) continue;  // of a part that the checkpoint does not store
    const StoredTensor& first = storage.tensors[storage.of_param[*match][0]];
    Expr bytes = stored.pool->constant(0), rows = bytes, sum = bytes;
    bool alike = true;
    size_t mains = 0;
    for (size_t row : storage.of_param[*match]) {
      const StoredTensor& tensor = storage.tensors[row];
      if (!tensor.present && !tensor.tied) continue;
      alike = alike && tensor.count == first.count;
      bytes = bytes + tensor.bytes();
      sum = sum + tensor.bytes() * tensor.count;
      if (tensor.main) rows = rows + tensor.count / stored.pool->constant(tensor.parts);
      if (tensor.main) ++mains;
    }
    if (rows.is_zero()) continue;
    // One weight with its scales, in as many modules as keep its parts: alike in all copies.
    alike = alike && mains == static_cast<size_t>(first.parts);
    Expr per_copy = alike ? bytes : sum / rows;
    // A stacked tensor holds the innermost copies of its layer, and so lacks their index.
    size_t indices = base_param.group >= 0 ? 1 : 0;
    for (int call : stored.tree->calls_around(base_param.node))
      if (stored.copies[call]) ++indices;
    if (base_param.copies_call >= 0 && first.indices.size() < indices)
      per_copy = per_copy / stored.copies[base_param.copies_call];
    Expr read = expr::copy_to(per_copy, pool);
    if (!(param.elements == param.base_elements)) read = read * param.elements / param.base_elements;
    if (tree.nodes[param.node].op->traffic == spec::Traffic::kGather)
      read = read * product(pool, analysis.computed[param.node]) / param.base_elements;
    // Of side-by-side copies, only those that this step's tokens choose.
    for (int call : tree.calls_around(param.node)) {
      if (tree.calls[call].copies.empty() || !tree.calls[call].splits_tokens) continue;
      const Expr copies = analysis.copies[call];
      read = read * pool.min(copies, analysis.batch * analysis.s_query * analysis.active[call]) / copies;
    }
    out.weights[param.node] = out.weights[param.node] + read;
  }

  std::map<NodeId, const Cache*> caches;
  for (const Cache& cache : analysis.caches) caches.emplace(cache.node, &cache);
  const auto moves = [&](NodeId id, std::optional<size_t> operand, Expr bytes) {
    out.activation_moves.push_back({id, operand, graph::kNone, bytes});
    out.activations[id] = out.activations[id] + bytes;
  };
  std::set<std::pair<int, NodeId>> charged;  // by the reading layers' group
  Roots roots(tree);
  for (NodeId id = 0; id < tree.nodes.size(); ++id) {
    const graph::Node& node = tree.nodes[id];
    if (node.done) continue;
    if (const auto own = caches.find(id); own != caches.end()) {
      Expr written = product(pool, analysis.computed[id]);
      if (analysis.writes[id]) written = written * *analysis.writes[id] / analysis.computed[id][1];
      out.kv_write[id] = written * element_bytes(analysis, *own->second, out);
    }
    if (node.op->traffic == spec::Traffic::kView) continue;
    for (size_t o = 0; o < node.in.size(); ++o) {
      const NodeId operand = node.in[o];
      bool plain = false;
      for (NodeId root : roots.of(operand)) {
        if (const auto cache = caches.find(root); cache != caches.end()) {
          if (!charged.emplace(node.group, root).second) continue;
          Expr tokens = entry_tokens(analysis, *cache->second);
          if (cache->second->growth == spec::CacheEntry::Growth::kWindow)
            tokens = pool.min(analysis.s_ctx, cache->second->amount + analysis.s_query - 1);
          else if (cache->second->growth ==
                   spec::CacheEntry::Growth::kChunk)  // from the first query's chunk on
            tokens =
                analysis.s_ctx - pool.floor_div(analysis.s_ctx - analysis.s_query, cache->second->amount) *
                                     cache->second->amount;
          else if (analysis.reads[id] && cache->second->growth == spec::CacheEntry::Growth::kFixed)
            tokens = *analysis.reads[id] / analysis.shape[root][1];
          else if (analysis.reads[id])
            tokens = *analysis.reads[id];
          const Expr bytes = analysis.batch * tokens * entry_bytes(analysis, *cache->second, out);
          out.kv_reads.push_back({id, o, root, bytes});
          out.kv_read[id] = out.kv_read[id] + bytes;
        } else if (tree.nodes[root].op->traffic != spec::Traffic::kOnChip) {
          plain = true;
        }
      }
      if (plain) moves(id, o, analysis.elements_read(operand, id) * act_width);
    }
    if (node.op->traffic != spec::Traffic::kOnChip && !node.cache)
      moves(id, std::nullopt, product(pool, analysis.computed[id]) * act_width);
  }
  return out;
}

}  // namespace archlight::analysis
