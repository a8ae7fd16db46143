#include "guard/borrowed.h"

#include <algorithm>

#include "guard/count.h"

namespace archlight::guard {

using analysis::StorageChoice;
using base::Int128;

namespace {

constexpr size_t kMostParts = 4;
// A vocabulary is resized by a few rows; what differs by more may be anything that is as wide.
constexpr Int128 kLeastRows = 16, kMostOfRows = 16;  // so many, or one in so many

Int128 whole(const expr::Expr& value) {
  return value.integer().value_or(0);
}

Int128 magnitude(Int128 value) {
  return value < 0 ? -value : value;
}

}  // namespace

Lender::Lender(const analysis::Bill& bill, const spec::Library& library) : bill_(bill), library_(library) {
  const std::vector<analysis::Param>& params = bill.prefill->params;
  for (const analysis::Param& param : params)
    if (!param.apart.empty() && std::ranges::find(parts_, param.apart) == parts_.end())
      parts_.push_back(param.apart);
  if (parts_.size() > kMostParts) parts_.resize(kMostParts);
  for (const bool plain : {false, true}) {
    if (plain && bill.storage.declared_scheme.empty()) continue;
    for (size_t mask = 0; mask < size_t{1} << parts_.size(); ++mask) {
      StorageChoice choice;
      choice.declared_plain = plain;
      for (size_t i = 0; i < parts_.size(); ++i)
        if (mask >> i & 1) choice.absent.insert(parts_[i]);
      add(choice);
    }
  }
  // Where only the lender's tensors said how it is stored.
  if (ways_.empty()) ways_.push_back({bill.storage, {}, {}});
  // The table of tokens, and the head where it is a matrix of its own.
  for (const analysis::Param& param : params) {
    const bool table = param.base_axes.size() == 2 && param.apart.empty();
    if (table && param.role == "embedding" && rows_ == 0 && whole(param.base_axes[0]) > 0) {
      rows_ = whole(param.base_axes[0]);
      embedding_row_ = whole(param.base_elements) / rows_;
    }
  }
  for (const analysis::Param& param : params)
    if (rows_ > 0 && param.role == "head" && !param.tied && param.base_axes.size() == 2 &&
        whole(param.base_axes[0]) == rows_)
      head_row_ += whole(param.base_elements) / rows_;
}

void Lender::add(const StorageChoice& choice) {
  base::Result<analysis::Storage> storage = analysis::storage_of(*bill_.prefill, choice);
  if (!storage) return;
  std::vector<Way>& to = choice.scheme.empty() ? ways_ : by_scheme_;
  to.push_back({std::move(*storage), choice.scheme, {choice.absent.begin(), choice.absent.end()}});
}

bool Lender::meets(const Way& way, Int128 recorded) const {
  const spec::Counting& counting = library_.counting();
  return !combinations_for(way.storage, counting, nullptr, recorded).empty() ||
         std::ranges::any_of(counting.alternatives, [&](const spec::CountList& list) {
           return !combinations_for(way.storage, counting, &list, recorded).empty();
         });
}

void Lender::hold_vocabulary(Int128 recorded, Loan& loan) const {
  std::optional<Int128> fewest;
  for (const Way& way : ways_) {
    const Int128 total = counted_total(way.storage, library_.counting(), nullptr);
    for (const bool no_head : {false, true}) {
      if (embedding_row_ == 0 || (no_head && head_row_ == 0)) continue;
      const Int128 ours = no_head ? total - head_row_ * rows_ : total;
      const Int128 row = no_head ? embedding_row_ : embedding_row_ + head_row_;
      const Int128 more = recorded - ours;
      const Int128 few = std::min(rows_ - 1, std::max(kLeastRows, rows_ / kMostOfRows));
      if (more % row != 0 || magnitude(more / row) > few || (fewest && magnitude(more / row) >= *fewest))
        continue;
      fewest = magnitude(more / row);
      loan.fit = Loan::Fit::kVocabulary;
      loan.no_head = no_head;
      loan.rows = static_cast<int64_t>(more / row);
      loan.ours = total;
      loan.without = way.without;
    }
  }
}

Loan Lender::hold(std::optional<Int128> recorded) {
  Loan out;
  if (!recorded) return out;
  for (const Way& way : ways_)
    if (meets(way, *recorded)) {
      out.fit = Loan::Fit::kEqual;
      out.ours = *recorded;
      out.without = way.without;
      return out;
    }
  // A checkpoint that declares its own format has no other; which of the schemes is it, where it declares none?
  if (!schemes_made_ && bill_.storage.declared_scheme.empty())
    for (const auto& [name, scheme] : library_.quants()) {
      if (scheme.declared_by.empty()) continue;
      StorageChoice choice;
      choice.scheme = name;
      add(choice);
      if (parts_.empty()) continue;
      choice.absent.insert(parts_.begin(), parts_.end());
      add(choice);
    }
  schemes_made_ = true;
  for (const Way& way : by_scheme_)
    if (!combinations_for(way.storage, library_.counting(), nullptr, *recorded).empty()) {
      out.fit = Loan::Fit::kEqual;
      out.ours = *recorded;
      if (!out.schemes.empty() && out.without != way.without) continue;
      out.schemes.push_back(way.scheme);
      out.without = way.without;
    }
  if (out.fit == Loan::Fit::kEqual) return out;
  out.fit = Loan::Fit::kDiffers;
  for (const Way& way : ways_) {
    const Int128 ours = counted_total(way.storage, library_.counting(), nullptr);
    if (out.ours == 0 || magnitude(ours - *recorded) < magnitude(out.ours - *recorded)) out.ours = ours;
  }
  hold_vocabulary(*recorded, out);
  return out;
}

}  // namespace archlight::guard
