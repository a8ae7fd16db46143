#include "guard/weight.h"

#include <fmt/format.h>

#include <algorithm>

#include "guard/internal/claims.h"

namespace archlight::guard {
namespace {

using base::Faults;
using internal::Claim;
using internal::Claims;

constexpr size_t kShown = 20;

// Collects faults of one kind; past the first twenty they are counted.
class Kind {
 public:
  Kind(std::string guard, std::string what) : guard_(std::move(guard)), what_(std::move(what)) {}
  bool full() {
    ++count_;
    return count_ > kShown;
  }
  void add(base::Span at, std::string wrong, std::string expected, std::string fix = {}) {
    faults_.push_back({std::move(at), std::move(wrong), std::move(expected), std::move(fix), guard_});
  }
  void finish(Faults& into, const base::Span& file) {
    if (count_ > kShown)
      faults_.push_back({file, fmt::format("{} more {}", count_ - kShown, what_), "none", {}, guard_});
    base::append(into, faults_);
  }

 private:
  std::string guard_, what_;
  size_t count_ = 0;
  Faults faults_;
};

std::string shape_text(std::span<const uint64_t> shape) {
  if (shape.empty()) return "scalar";
  std::string out;
  for (uint64_t axis : shape) out += (out.empty() ? "" : "x") + std::to_string(axis);
  return out;
}

class Checker {
 public:
  Checker(const analysis::Bill& bill, const TensorNames& names, const std::string& origin)
      : bill_(bill), names_(names), claims_(bill.storage, names) {
    file_.source = std::make_shared<base::SourceText>(base::SourceText{origin, {}});
  }

  base::Span leaf(const analysis::StoredTensor& tensor) const {
    if (tensor.param == ~size_t{0}) {
      for (const spec::BufferDecl& buffer : bill_.binding->model->buffers)
        if (buffer.path == tensor.module) return buffer.at;
      return bill_.binding->model->at;
    }
    return bill_.prefill->tree->nodes[bill_.prefill->params[tensor.param].node].decl->at;
  }

  void unclaimed(size_t tensor, bool twice) {
    if (unclaimed_.full()) return;
    const std::string_view name = names_.name(tensor);
    if (twice) {
      unclaimed_.add(file_, "tensor '" + std::string(name.substr(0, 300)) + "' stands there twice",
                     "each tensor once");
      return;
    }
    std::string key;
    std::vector<int64_t> values;
    canonical_name(name.substr(0, 400), key, values);
    if (leaf_names_.empty()) leaf_names_ = claims_.leaf_names();
    const bool known = std::ranges::binary_search(leaf_names_, key);
    const std::string near = known ? std::string() : base::nearest(key, leaf_names_);
    unclaimed_.add(file_,
                   "tensor '" + std::string(name.substr(0, 300)) + "' is claimed by no leaf of the spec",
                   known ? "an index inside the spec's layers and experts"
                         : "a leaf or buffer of specs/models/" + bill_.binding->model->name + ".yaml",
                   near.empty() ? std::string() : "the nearest leaf is '" + near + "'");
  }

  void header(size_t tensor_index, base::Dtype dtype, std::span<const uint64_t> shape, uint64_t bytes) {
    bool twice = false;
    Claim* claim = claims_.take(tensor_index, &twice);
    ++out_.weight_checks;
    if (!claim) return unclaimed(tensor_index, twice);
    const analysis::StoredTensor& tensor = bill_.storage.tensors[claim->row];
    if (tensor.variable) {
      out_.variable_bytes += static_cast<base::Int128>(bytes);
      return;
    }
    ++out_.packing_checks;
    const bool same_shape = std::ranges::equal(shape, claim->shape);
    if (same_shape && dtype == tensor.dtype) return;
    base::Int128 expected = 1, actual = 1;
    for (uint64_t axis : claim->shape) expected *= static_cast<base::Int128>(axis);
    for (uint64_t axis : shape)
      actual = base::checked_mul(actual, static_cast<base::Int128>(axis)).value_or(-1);
    const auto side = [](base::Dtype type, std::span<const uint64_t> axes) {
      return std::string(base::dtype_name(type)) + " " + shape_text(axes);
    };
    const std::string wrong = "tensor '" + std::string(names_.name(tensor_index)) + "' is " +
                              side(dtype, shape) + " in the checkpoint";
    const std::string wanted =
        side(tensor.dtype, claim->shape) + (tensor.scheme == "none" ? "" : " under scheme " + tensor.scheme);
    if (expected != actual) {
      if (!wrong_size_.full())
        wrong_size_.add(leaf(tensor), wrong + fmt::format(", {} elements", base::with_commas(actual)),
                        wanted + fmt::format(", {} elements", base::with_commas(expected)));
    } else if (!wrong_packing_.full()) {
      wrong_packing_.add(leaf(tensor), wrong, wanted);
    }
  }

  void name_only(size_t tensor) {
    ++out_.weight_checks;
    bool twice = false;
    if (!claims_.take(tensor, &twice)) unclaimed(tensor, twice);
  }

  TensorFaults finish(bool partial) {
    for (Claim& claim : claims_.all()) {
      const analysis::StoredTensor& tensor = bill_.storage.tensors[claim.row];
      // A part of a checkpoint may lack anything; an optional tensor may be absent, but as a whole.
      if (partial || (tensor.optional && claim.seen_count == 0)) continue;
      out_.weight_checks += static_cast<int64_t>(claim.seen.size());
      for (size_t i = 0; i < claim.seen.size(); ++i) {
        if (claim.seen[i] || missing_.full()) continue;
        missing_.add(leaf(tensor),
                     "the checkpoint has no tensor '" + Claims::instance_name(tensor, claim, i) +
                         "', which this leaf stores",
                     tensor.optional ? "all of its instances or none" : "every leaf stored");
      }
    }
    unclaimed_.finish(out_.weight, file_);
    missing_.finish(out_.weight, file_);
    wrong_size_.finish(out_.weight, file_);
    wrong_packing_.finish(out_.packing, file_);
    return std::move(out_);
  }

 private:
  const analysis::Bill& bill_;
  const TensorNames& names_;
  Claims claims_;
  base::Span file_;
  std::vector<std::string> leaf_names_;
  TensorFaults out_;
  Kind unclaimed_{"weight", "unclaimed tensors"};
  Kind missing_{"weight", "leaves without a tensor"};
  Kind wrong_size_{"weight", "tensors of another size"};
  Kind wrong_packing_{"packing", "tensors stored in another form"};
};

}  // namespace

TensorFaults check_tensors(const analysis::Bill& bill, const truth::TensorTable& tensors,
                           const TensorNames& names, const std::string& origin, bool partial) {
  Checker checker(bill, names, origin);
  for (size_t i = 0; i < tensors.size(); ++i)
    checker.header(i, tensors.dtype(i), tensors.shape(i), tensors.bytes(i));
  return checker.finish(partial);
}

TensorFaults check_names(const analysis::Bill& bill, const TensorNames& names, const std::string& origin) {
  Checker checker(bill, names, origin);
  for (size_t i = 0; i < names.size(); ++i) checker.name_only(i);
  return checker.finish(false);
}

}  // namespace archlight::guard
