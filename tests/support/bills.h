// bills.h: bills of made-up and real models for tests, and numbers out of their cells.
#pragma once

#include "analysis/bill.h"
#include "support/made_up.h"

namespace archlight::testing {

using BillPtr = std::shared_ptr<const analysis::Bill>;

inline base::Result<BillPtr> bill_of(const base::Result<Bound>& bound, const analysis::BillInput& input = {},
                                     analysis::Dims dims = analysis::Dims::kNumbers,
                                     const analysis::StorageChoice& choice = {}) {
  if (!bound) return bound.faults();
  return analysis::make_bill(bound->library, bound->binding, dims, input, choice);
}

// "ok", or every fault's message.
inline std::string outcome(const Made& made) {
  const base::Result<BillPtr> bill = bill_of(made.bind());
  return bill ? "ok" : messages(bill.faults());
}

inline std::string text_of(const analysis::Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + expr::to_text(shape[i]);
  return out + "]";
}

inline std::string text_of(const analysis::Bill& bill, std::string_view key) {
  const analysis::Quantity* quantity = bill.find(key);
  return quantity ? expr::to_text(quantity->value) : "no " + std::string(key);
}

// The value of a quantity that is a whole number under its binding.
inline int64_t count_of(const analysis::Bill& bill, std::string_view key) {
  const analysis::Quantity* quantity = bill.find(key);
  EXPECT_NE(quantity, nullptr) << key;
  const std::optional<base::Int128> value = quantity ? quantity->value.integer() : std::nullopt;
  EXPECT_TRUE(value) << key << (quantity ? " = " + expr::to_text(quantity->value) : "");
  return value ? static_cast<int64_t>(*value) : -1;
}

inline graph::NodeId node_of(const analysis::Analysis& analysis, std::string_view path, int group = -2) {
  for (graph::NodeId id = 0; id < analysis.tree->nodes.size(); ++id)
    if (analysis.tree->nodes[id].path == path && (group == -2 || analysis.tree->nodes[id].group == group))
      return id;
  ADD_FAILURE() << "no node " << path;
  return 0;
}

}  // namespace archlight::testing
