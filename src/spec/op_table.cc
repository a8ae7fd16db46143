// The table of primitive ops. A new op is a row here and a golden test.
//
// Vector FLOPs count one per arithmetic step and element (exp and division as one each), a convention and no
// measurement; they are reported apart from matmul FLOPs and never added to them silently.
#include <algorithm>

#include "spec/op.h"

namespace archlight::spec {
namespace {

using enum Partial;
using enum Unit;
using enum Traffic;

constexpr OpRow kOps[] = {
    // Sources of a stream of tokens.
    {"embedding", "weight[vocab,dim]", "0", "source: -> [B,s_query,dim]", kEach, "", kMove, kGather,
     "row gather: each token reads one row of the table"},
    {"hidden_input", "", "0", "source: -> [B,s_query,dim]", kNone, "", kMove, kView,
     "a hidden state handed in from outside the walked graph"},

    // Products with stored weights.
    {"linear", "weight[out,in] bias?[out]", "2*r*in*out", "axis_replace: [*r,in] -> [*r,out]", kEach, "",
     kMatmul, kReadWrite, "y = x W^T (+ b)"},
    {"head_linear", "weight[heads,in,out]", "2*r*heads*in*out", "contract: [*r,heads,in] -> [*r,heads,out]",
     kEach, "", kMatmul, kReadWrite,
     "one matrix per head: MLA's absorbed up-projections, einsum over each head's slice"},

    // Norms and elementwise.
    {"rmsnorm", "weight[dim]", "4*r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "dim", kVector, kReadWrite,
     "square, add, scale, weight per element"},
    {"layernorm", "weight[dim] bias?[dim]", "6*r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "dim",
     kVector, kReadWrite, "mean, subtract, square, add, scale, weight per element"},
    {"rope", "", "3*r*dim", "preserve: [*r,dim] -> [*r,dim]", kEach, "dim", kVector, kReadWrite,
     "a plane rotation per pair: 4 multiplications and 2 additions for 2 elements"},
    {"silu", "", "4*r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "", kVector, kReadWrite,
     "x * 1/(1+exp(-x))"},
    {"sigmoid", "", "3*r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "", kVector, kReadWrite,
     "1/(1+exp(-x))"},
    {"clamp", "", "r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "", kVector, kReadWrite,
     "min and max with constants"},
    {"shift", "", "r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "", kVector, kReadWrite,
     "plus a constant"},
    {"scale", "", "r*dim", "preserve: [*r,dim] -> [*r,dim]", kEach, "", kVector, kReadWrite,
     "times a constant"},
    {"normalize", "", "2*r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "dim", kVector, kReadWrite,
     "divide by the sum"},
    {"softmax", "", "5*r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "dim", kVector, kReadWrite,
     "maximum, subtract, exp, add, divide per element"},
    {"param_add", "=[dim]", "r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "", kVector, kReadWrite,
     "adds a stored vector named by the node"},
    {"add", "", "r*dim", "broadcast: [*r,dim] [*r,dim] -> [*r,dim]", kTogether, "", kVector, kReadWrite,
     "a + b"},
    {"mul", "", "r*dim", "broadcast: [*r,dim] [*r,dim] -> [*r,dim]", kEach, "", kVector, kReadWrite, "a * b"},

    // Axes rearranged.
    {"slice", "", "0", "axis_select: [*r,in] -> [*r,out]", kEach, "", kMove, kView,
     "a contiguous part of the last axis", "out <= in"},
    {"interleaved_slice", "", "0", "axis_select: [*r,in] -> [*r,out]", kEach, "", kMove, kView,
     "every n-th element of the last axis", "out <= in"},
    {"concat", "", "0", "axis_concat: [*r,a] [*r,b] -> [*r,a+b]", kTogether, "", kMove, kReadWrite,
     "one tensor behind the other on the last axis"},
    {"concat_view", "", "0", "axis_concat: [*r,a] [*r,b] -> [*r,a+b]", kTogether, "", kMove, kView,
     "two values that already stand side by side in memory, read as one"},
    {"split_heads", "", "0", "permute: [*r,heads*width] -> [*r,heads,width]", kEach, "", kMove, kView,
     "view: the last axis as heads"},
    {"merge_heads", "", "0", "permute: [*r,heads,width] -> [*r,heads*width]", kEach, "", kMove, kView,
     "view: heads as one axis"},
    {"broadcast_heads", "", "0", "explicit: [*r,width] -> [*r,heads,width]", kEach, "", kMove, kView,
     "one vector read by every head"},

    // Attention. The [query, key] matrix never reaches memory in a fused attention kernel.
    {"attention_score", "", "2*b*h*d*pairs", "contract: [b,s,h,d] [b,t,g,d] -> [b,h,s,t]", kEach, "", kMatmul,
     kOnChip, "q . k for each allowed pair; g key heads serve h query heads", "h % g == 0"},
    {"attention_softmax", "=?[h]", "5*b*h*pairs", "preserve: [b,h,s,t] -> [b,h,s,t]", kNone, "t", kVector,
     kOnChip, "over the keys; a learned sink per head adds to the denominator only"},
    {"attention_apply", "", "2*b*h*d*pairs", "contract: [b,h,s,t] [b,t,g,d] -> [b,s,h,d]", kEach, "t",
     kMatmul, kReadWrite, "the weighted sum of values for each allowed pair", "h % g == 0"},

    // Routing.
    {"topk", "", "r*in", "axis_select: [*r,in] -> [*r,out]", kNone, "in", kVector, kReadWrite,
     "one compare per candidate", "out <= in"},
    {"take", "", "0", "axis_select: [*r,in] [*r,out] -> [*r,out]", kNone, "", kMove, kReadWrite,
     "values at chosen positions", "out <= in"},
    {"dispatch", "", "0", "explicit: [b,s,dim] [b,s,k] -> [b,s*k,dim]", kNone, "", kMove, kReadWrite,
     "each token's vector once per chosen expert"},
    // Logits are wanted where a token is sampled: of the last token in prefill, of every token of a decode step.
    {"last_tokens", "", "0", "explicit: [b,s,dim] -> [b,s_logits,dim]", kEach, "", kMove, kView,
     "engines project onto the vocabulary only the positions they sample from"},
    {"combine", "", "2*b*s*k*dim", "explicit: [b,s*k,dim] [b,s,k] -> [b,s,dim]", kEach, "", kVector,
     kReadWrite, "the weighted sum over each token's chosen experts"},
};

// A name in flops must be a name of the row's shape or params, or `pairs`.
constexpr bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

constexpr bool mentions(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const bool starts = at == 0 || !is_name_char(text[at - 1]);
    const bool ends = at + name.size() == text.size() || !is_name_char(text[at + name.size()]);
    if (starts && ends) return true;
  }
  return false;
}

constexpr bool well_formed(const OpRow& row) {
  size_t i = 0;
  while (i < row.flops.size()) {
    if (!is_name_char(row.flops[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < row.flops.size() && is_name_char(row.flops[end])) ++end;
    const std::string_view word = row.flops.substr(i, end - i);
    const bool number = word[0] >= '0' && word[0] <= '9';
    if (!number && word != "pairs" && !mentions(row.shape, word) && !mentions(row.params, word)) return false;
    i = end;
  }
  return !row.source.empty();
}

static_assert(std::ranges::all_of(kOps, well_formed),
              "a formula names a dim its row lacks, or a row lacks its source");

}  // namespace

std::span<const OpRow> op_rows() {
  return kOps;
}

}  // namespace archlight::spec
