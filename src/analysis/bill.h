// bill.h: everything Archlight says of a model before deployment, as named quantities over the tables.
//
// A quantity is an Expr: a number when the analyses are bound to numbers, its formula when bound to symbols.
// Both faces of the product print this one list, so a number and its formula cannot differ.
//
// Keys    params.*     logical parameters: of the unquantised weights, each counted once
//         storage.*    stored elements and bytes
//         kv.*         what decode keeps for one request; kv.held_* what an engine reserves for the batch
//         prefill.*, decode.*   FLOPs, bytes and arithmetic intensity of one step
// Units   In the quantity: parameters, elements, bytes, flops, flops_per_byte.
// Source  docs/sources.md, by key.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/storage.h"
#include "analysis/traffic.h"
#include "analysis/walk.h"

namespace archlight::analysis {

struct Quantity {
  std::string key;
  std::string unit;
  std::string title;
  expr::Expr value;
};

struct BillInput {
  int64_t batch = 1;
  int64_t prompt = 4096;    // tokens of the prefill step
  int64_t context = 4096;   // tokens a decode step attends to
  std::string engine = {};  // of specs/engines, whose way of keeping the cache counts; none: the model's own
  std::map<std::string, int64_t> engine_options = {};
  std::shared_ptr<const spec::Precision> precision = nullptr;  // none: the checkpoint's own formats
};

// One model under one config: both phases, storage, traffic, and the quantities.
struct Bill {
  std::shared_ptr<const spec::Library> library;  // the trees point into it
  std::shared_ptr<const spec::Binding> binding;
  std::shared_ptr<const Analysis> prefill, decode;  // the same where the model has no decode phase
  Storage storage;
  Traffic prefill_traffic, decode_traffic;
  BillInput input;
  std::vector<Quantity> quantities;

  bool decodes() const { return !binding->model->prefill_only; }
  const Quantity* find(std::string_view key) const;
};

// A precision profile that rewrites nothing of the model is a fault.
// With Dims::kFormulas the dims, batch and lengths stay symbols: B, s_query (prefill), s_ctx (decode).
base::Result<std::shared_ptr<const Bill>> make_bill(std::shared_ptr<const spec::Library> library,
                                                    std::shared_ptr<const spec::Binding> binding, Dims dims,
                                                    const BillInput& input, const StorageChoice& choice = {});

// The value of a formula's symbols under an input, with origins: dims, derived counts, B, s_query, s_ctx.
std::vector<SymbolValue> bill_symbols(const Bill& bill);

}  // namespace archlight::analysis
