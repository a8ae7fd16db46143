// formats.h: which scheme the tensors of a module show, where its declaration says otherwise or nothing.
//
// Order  Tensors first. A module whose tensors are what the declaration leads to is as declared. Otherwise the schemes of
//        specs/quant are asked, the declared ones first, and plain: the one that explains every tensor of the module,
//        with shapes and dtypes where these are known, is what it is. Where none does, or names alone leave several, the
//        declaration stays, and the weight and packing guards say what does not fit it.
// Scope  Weights whose method in quant_context is `declared`. What a spec states is not the declaration's to say.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/bill.h"
#include "guard/tensor_names.h"
#include "truth/truth.h"

namespace archlight::guard {

struct SeenFormats {
  // As in StorageChoice: only of modules that differ from the declaration.
  std::map<std::string, std::map<std::vector<int64_t>, analysis::SeenFormat>> seen;
  std::vector<std::string> differences;  // a sentence for each kind of module
};

// `names` are those of the truth.
SeenFormats formats_seen(const analysis::Bill& bill, const truth::Truth& truth, const TensorNames& names);

}  // namespace archlight::guard
