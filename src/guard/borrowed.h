// borrowed.h: a recorded element total held against a spec under a config that another repository published.
//
// A repository may be known by its total alone, while one that it was made from, or that was made from it, published its
// config. Where the total is what the spec gives under that config, nothing contradicts the loan. Where it is not, the
// spec is not wrong: a fine-tune may have resized its vocabulary, a conversion stores words and scales, and the config
// may not be the repository's.
// Ways     The lender's own format; all weights plain; without the parts that are counted apart (a tower, prediction
//          layers); and, where none of these meets the total, every scheme of specs/quant with its own numbers.
// Rules    Those of count.h: optional tensors, parts and dtypes as any total decides them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/bill.h"
#include "base/int128.h"
#include "spec/library.h"

namespace archlight::guard {

struct Loan {
  enum class Fit {
    kNothingRecorded,
    kEqual,       // in one of the ways
    kVocabulary,  // but for the head, or for whole rows of the tables of tokens
    kDiffers,
  };
  Fit fit = Fit::kNothingRecorded;
  base::Int128 ours = 0;  // the spec's total that is nearest to the recorded one
  std::vector<std::string>
      schemes;  // kEqual: under which of them, where it is not the lender's format or none
  std::vector<std::string> without;  // kEqual: parts that are not stored
  bool no_head = false;              // kVocabulary: the head of the lender's model is not there
  int64_t rows = 0;  // kVocabulary: rows of one token that are there beyond the lender's, or lacking
};

// Totals of one lender; made once, asked for each repository that borrows.
class Lender {
 public:
  Lender(const analysis::Bill& bill, const spec::Library& library);
  Loan hold(std::optional<base::Int128> recorded);

 private:
  struct Way {
    analysis::Storage storage;
    std::string scheme;
    std::vector<std::string> without;
  };
  void add(const analysis::StorageChoice& choice);
  bool meets(const Way& way, base::Int128 recorded) const;
  void hold_vocabulary(base::Int128 recorded, Loan& loan) const;

  const analysis::Bill& bill_;
  const spec::Library& library_;
  std::vector<std::string> parts_;  // counted apart
  std::vector<Way> ways_, by_scheme_;
  bool schemes_made_ = false;
  base::Int128 rows_ = 0, embedding_row_ = 0,
               head_row_ = 0;  // of the tables of tokens; elements of a row in each
};

}  // namespace archlight::guard
