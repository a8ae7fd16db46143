#include "guard/borrowed.h"

#include <algorithm>

#include "guard/count.h"

namespace archlight::guard {

using base::Int128;

namespace {

constexpr size_t kMostParts = 4;

Int128 whole(const expr::Expr& value) {
  return value.integer().value_or(0);
}

}  // namespace

Lender::Lender(const analysis::Bill& bill, const spec::Counting& counting) : counting_(counting) {
  const analysis::Analysis& stored = *bill.prefill;
  std::vector<std::string> parts;
  for (const std::string& part : bill.binding->model->optional)
    if (parts.size() < kMostParts &&
        std::ranges::any_of(stored.params, [&](const analysis::Param& param) { return param.apart == part; }))
      parts.push_back(part);
  for (const bool plain : {false, true}) {
    if (plain && bill.storage.declared_scheme.empty()) continue;
    for (size_t mask = 0; mask < size_t{1} << parts.size(); ++mask) {
      analysis::StorageChoice choice;
      choice.declared_plain = plain;
      for (size_t i = 0; i < parts.size(); ++i)
        if (mask >> i & 1) choice.absent.insert(parts[i]);
      if (base::Result<analysis::Storage> storage = analysis::storage_of(stored, choice))
        ways_.push_back({std::move(*storage), plain});
    }
  }
  // Where only the lender's tensors said how it is stored.
  if (ways_.empty()) ways_.push_back({bill.storage, false});
  // The table of tokens, and the head where it is a matrix of its own.
  for (const analysis::Param& param : stored.params)
    if (param.role == "embedding" && param.base_axes.size() == 2 && param.apart.empty() && rows_ == 0)
      rows_ = whole(param.base_axes[0]);
  for (const analysis::Param& param : stored.params)
    if (rows_ > 0 && !param.tied && (param.role == "embedding" || param.role == "head") &&
        !param.base_axes.empty() && whole(param.base_axes[0]) == rows_)
      row_ += whole(param.base_elements) / rows_;
}

Loan Lender::hold(std::optional<Int128> recorded) const {
  Loan out;
  if (!recorded) return out;
  out.fit = Loan::Fit::kDiffers;
  Int128 nearest = -1;
  for (const Way& way : ways_) {
    std::vector<const spec::CountList*> lists = {nullptr};
    for (const spec::CountList& list : counting_.alternatives) lists.push_back(&list);
    for (const spec::CountList* list : lists)
      if (!combinations_for(way.storage, counting_, list, *recorded).empty()) {
        out.fit = way.plain ? Loan::Fit::kPlainEqual : Loan::Fit::kEqual;
        out.ours = *recorded;
        out.rules.clear();
        if (list) out.rules.push_back(list->name);
        return out;
      }
    const Int128 ours = counted_total(way.storage, counting_, nullptr);
    const Int128 off = ours > *recorded ? ours - *recorded : *recorded - ours;
    if (nearest >= 0 && off >= nearest) continue;
    nearest = off;
    out.ours = ours;
  }
  const Int128 more = *recorded - out.ours;
  if (row_ > 0 && more % row_ == 0 && more / row_ > -rows_ && more / row_ < rows_) {
    out.fit = Loan::Fit::kVocabulary;
    out.rows = static_cast<int64_t>(more / row_);
  }
  return out;
}

}  // namespace archlight::guard
