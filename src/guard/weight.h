// weight.h: the weight and packing guards: every tensor of the checkpoint against every leaf of the spec.
#pragma once

#include "guard/tensor_names.h"
#include "guard/verify.h"

namespace archlight::guard {

struct TensorFaults {
  base::Faults weight;   // unclaimed, missing, wrong element count or bytes
  base::Faults packing;  // right elements in a wrong stored shape or dtype
  int64_t weight_checks = 0;
  int64_t packing_checks = 0;
  base::Int128 variable_bytes = 0;  // of tensors whose length only the file knows
};

// Against full headers; `names` are those of the table. A partial table misses nothing it does not list.
TensorFaults check_tensors(const analysis::Bill& bill, const truth::TensorTable& tensors,
                           const TensorNames& names, const std::string& origin, bool partial);
// Against names alone.
TensorFaults check_names(const analysis::Bill& bill, const TensorNames& names, const std::string& origin);

}  // namespace archlight::guard
