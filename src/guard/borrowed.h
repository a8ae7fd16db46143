// borrowed.h: a recorded element total held against a spec under a config that another repository published.
//
// A repository may be known by its total alone, while one that it was made from, or that was made from it, published its
// config. Where the total is what the spec gives under that config, nothing contradicts the loan. Where it is not, the
// spec is not wrong: a fine-tune may have resized its vocabulary, a conversion stores packed words, and the config may
// not be the repository's.
// Formats  The lender's own, and all weights plain, since quantisation is what such repositories differ in.
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
    kEqual,       // in the lender's own format
    kPlainEqual,  // with no weight quantised
    kVocabulary,  // but for whole rows of the tables of tokens
    kDiffers,
  };
  Fit fit = Fit::kNothingRecorded;
  base::Int128 ours = 0;           // the spec's total that is nearest to the recorded one
  int64_t rows = 0;                // kVocabulary: rows that the repository has more, or fewer where negative
  std::vector<std::string> rules;  // of specs/counting.yaml, where they change what counts
};

// Totals of one lender; made once, asked for each repository that borrows.
class Lender {
 public:
  Lender(const analysis::Bill& bill, const spec::Counting& counting);
  Loan hold(std::optional<base::Int128> recorded) const;

 private:
  struct Way {
    analysis::Storage storage;
    bool plain = false;
  };
  const spec::Counting& counting_;
  std::vector<Way> ways_;
  base::Int128 row_ = 0,
               rows_ = 0;  // elements of one token's rows in all tables of tokens; how many there are
};

}  // namespace archlight::guard
