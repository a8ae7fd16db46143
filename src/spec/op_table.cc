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
    {"tower_input", "", "0", "source: -> [B,tokens,dim]", kNone, "", kMove, kView,
     "what a tower of its own token count gets: patches of an image, frames of a spectrogram"},
    {"tower_embedding", "weight[vocab,dim]", "0", "source: -> [B,tokens,dim]", kEach, "", kMove, kGather,
     "row gather of a tower of its own token count"},
    {"learned_tokens", "=[tokens,dim]", "0", "source: -> [B,tokens,dim]", kNone, "", kMove, kView,
     "stored vectors, the same for every request and named by the node: queries of a resampler"},
    {"stored_token", "=[dim]", "0", "source: -> [B,tokens,dim]", kNone, "", kMove, kView,
     "one stored vector, named by the node, at each of so many positions: a class token, the end of a line"},
    {"patch_embed", "weight[out,channels,height,width] bias?[out]", "2*B*tokens*channels*height*width*out",
     "source: -> [B,tokens,out]", kEach, "", kMatmul, kReadWrite,
     "a convolution whose stride is its kernel: one product per patch of an image"},
    {"patch_embed_3d", "weight[out,channels,frames,height,width] bias?[out]",
     "2*B*tokens*channels*frames*height*width*out", "source: -> [B,tokens,out]", kEach, "", kMatmul,
     kReadWrite, "the same over a few frames of a video"},

    // Products with stored weights.
    {"linear", "weight[out,in] bias?[out]", "2*r*in*out", "axis_replace: [*r,in] -> [*r,out]", kEach, "",
     kMatmul, kReadWrite, "y = x W^T (+ b)"},
    {"head_linear", "weight[heads,in,out]", "2*r*heads*in*out", "contract: [*r,heads,in] -> [*r,heads,out]",
     kEach, "", kMatmul, kReadWrite,
     "one matrix per head: MLA's absorbed up-projections, einsum over each head's slice"},
    {"conv1d", "weight[out,in,kernel] bias?[out]", "2*b*t*in*kernel*out", "explicit: [b,s,in] -> [b,t,out]",
     kEach, "", kMatmul, kReadWrite, "a strided convolution over the tokens: t of them come out"},
    {"transposed_conv1d", "weight[in,out,kernel] bias?[out]", "2*b*s*in*kernel*out",
     "explicit: [b,s,in] -> [b,t,out]", kEach, "", kMatmul, kReadWrite,
     "a strided convolution run backwards: each token adds to `kernel` of the t that come out"},
    {"conv2d", "weight[out,in,height,width] bias?[out]", "2*b*t*in*height*width*out",
     "explicit: [b,s,in] -> [b,t,out]", kEach, "", kMatmul, kReadWrite,
     "a convolution over the rows and columns that the tokens stand in: t of them come out"},
    {"causal_conv1d", "weight[dim,1,kernel] bias?[dim]", "2*b*s*dim*kernel",
     "explicit: [b,s,dim] [b,dim,state] -> [b,s,dim]", kTogether, "", kVector, kReadWrite,
     "each channel over its last `kernel` tokens, those before this step from the state",
     "state == kernel - 1 or state == kernel"},
    {"conv_state", "", "0", "explicit: [b,s,dim] -> [b,dim,state]", kEach, "", kMove, kView,
     "the last columns of a causal convolution's input"},

    // Norms and elementwise.
    {"rmsnorm", "weight[dim]", "4*r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "dim", kVector, kReadWrite,
     "square, add, scale, weight per element"},
    {"layernorm", "weight[dim] bias?[dim]", "6*r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "dim",
     kVector, kReadWrite, "mean, subtract, square, add, scale, weight per element"},
    {"unit_rmsnorm", "", "3*r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "dim", kVector, kReadWrite,
     "square, add, scale per element; no weight"},
    {"l2norm", "", "3*r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "dim", kVector, kReadWrite,
     "square, add, scale per element"},
    {"rope", "", "3*r*dim", "preserve: [*r,dim] -> [*r,dim]", kEach, "dim", kVector, kReadWrite,
     "a plane rotation per pair: 4 multiplications and 2 additions for 2 elements"},
    {"silu", "", "4*r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "", kVector, kReadWrite,
     "x * 1/(1+exp(-x))"},
    {"sigmoid", "", "3*r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "", kVector, kReadWrite,
     "1/(1+exp(-x))"},
    {"gelu", "", "9*r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "", kVector, kReadWrite,
     "tanh form: x * 0.5 * (1 + tanh(a * (x + b * x^3))), tanh as one step"},
    {"relu", "", "r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "", kVector, kReadWrite, "max(x, 0)"},
    {"leaky_relu", "", "2*r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "", kVector, kReadWrite,
     "x, or a share of it where it is negative"},
    {"relu_squared", "", "2*r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "", kVector, kReadWrite,
     "max(x, 0)^2"},
    {"tanh", "", "r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "", kVector, kReadWrite,
     "one step, as exp is"},
    {"softplus", "", "3*r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "", kVector, kReadWrite,
     "log(1 + exp(x))"},
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
    {"param_mul", "=[dim]", "r*dim", "preserve: [*r,dim] -> [*r,dim]", kEach, "", kVector, kReadWrite,
     "times a stored vector named by the node"},
    {"param_decay", "=[dim]", "4*r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "", kVector, kReadWrite,
     "exp(-exp(A) * x): exp, negate, times, exp; A is stored and named by the node"},
    {"head_mul", "=[heads]", "r*heads*width", "preserve: [*r,heads,width] -> [*r,heads,width]", kEach, "",
     kVector, kReadWrite, "each head times its stored number, named by the node"},
    {"learned_position", "weight[positions,dim]", "r*dim", "preserve: [*r,dim] -> [*r,dim]", kNone, "",
     kVector, kGather, "adds the row of a table that belongs to the token's position"},
    {"add", "", "r*dim", "broadcast: [*r,dim] [*r,dim] -> [*r,dim]", kTogether, "", kVector, kReadWrite,
     "a + b"},
    {"mul", "", "r*dim", "broadcast: [*r,dim] [*r,dim] -> [*r,dim]", kEach, "", kVector, kReadWrite, "a * b"},
    {"gate", "", "r*dim", "explicit: [*r,dim] [*r,one] -> [*r,dim]", kEach, "", kVector, kReadWrite,
     "a vector times one number", "one == 1"},
    {"gate_heads", "", "r*heads*width", "explicit: [*r,heads,width] [*r,heads] -> [*r,heads,width]", kEach,
     "", kVector, kReadWrite, "each head's vector times its number"},

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
    {"repeat_heads", "", "0", "explicit: [*r,groups,width] -> [*r,heads,width]", kEach, "", kMove, kView,
     "each group's vector read by its heads", "heads % groups == 0"},
    {"join_tokens", "", "0", "permute: [b,t*group,dim] -> [b,t,group*dim]", kEach, "", kMove, kReadWrite,
     "a few tokens side by side as one: pixel unshuffle, patch merging"},
    {"pool_tokens", "", "b*s*dim", "explicit: [b,s,dim] -> [b,t,dim]", kEach, "", kVector, kReadWrite,
     "the mean of a few tokens: an addition each, the division left out", "s % t == 0"},
    {"concat_tokens", "", "0", "explicit: [b,s,dim] [b,t,dim] -> [b,s+t,dim]", kTogether, "", kMove,
     kReadWrite, "tokens before other tokens: a class token, the queries behind the patches"},
    {"repeat_tokens", "", "0", "explicit: [b,s,dim] [b,s,one] -> [b,t,dim]", kNone, "", kMove, kReadWrite,
     "each token as often as its number says, t in all", "one == 1"},
    {"pad_tokens", "", "0", "explicit: [b,s,dim] -> [b,t,dim]", kEach, "", kMove, kReadWrite,
     "zeros behind the tokens, so that windows divide them", "t >= s"},
    {"cut_tokens", "", "0", "explicit: [b,s,dim] -> [b,t,dim]", kEach, "", kMove, kView,
     "a contiguous part of the tokens: all but a class token, or but padding", "t <= s"},
    {"place_tokens", "", "0", "explicit: [b,s,dim] [b,t,dim] -> [b,s,dim]", kTogether, "", kMove, kReadWrite,
     "a tower's vectors stand where the prompt has placeholders"},
    {"add_at_tokens", "", "b*t*dim", "explicit: [b,s,dim] [b,t,dim] -> [b,s,dim]", kTogether, "", kVector,
     kReadWrite, "a tower's vectors are added where the prompt has placeholders"},

    // Values of several layers, and copies of one.
    {"stack", "", "0", "explicit: [*r,dim]... -> [*r,n,dim]", kTogether, "", kMove, kView,
     "n values on an axis of their own, each read where it stands"},
    {"stack_onto", "", "0", "explicit: [*r,n,dim] [*r,dim] -> [*r,n+1,dim]", kTogether, "", kMove, kView,
     "one more value behind those of a stack"},
    {"concat_all", "", "0", "axis_concat: [*r,dim]... -> [*r,n*dim]", kTogether, "", kMove, kView,
     "n values one behind the other on the last axis, each read where it stands"},
    {"copies", "", "0", "explicit: [*r,dim] -> [*r,n,dim]", kEach, "", kMove, kReadWrite,
     "one value n times, each copy to go its own way: entry of a hyper-connected trunk"},
    {"weighted_sum", "", "2*r*n*dim", "contract: [*r,n] [*r,n,dim] -> [*r,dim]", kEach, "", kVector,
     kReadWrite, "n values summed by a weight per token each: one out of many"},
    {"outer", "", "r*n*dim", "explicit: [*r,n] [*r,dim] -> [*r,n,dim]", kEach, "", kVector, kReadWrite,
     "one value times n weights per token: many out of one"},
    {"mix_copies", "", "2*r*n*m*dim", "contract: [*r,n,m] [*r,m,dim] -> [*r,n,dim]", kEach, "", kVector,
     kReadWrite, "n weighted sums of m values, by a matrix per token"},

    // Attention. The [query, key] matrix never reaches memory in a fused attention kernel.
    {"attention_score", "", "2*b*h*d*pairs", "contract: [b,s,h,d] [b,t,g,d] -> [b,h,s,t]", kEach, "", kMatmul,
     kOnChip, "q . k for each allowed pair; g key heads serve h query heads", "h % g == 0"},
    {"attention_softmax", "=?[h]", "5*b*h*pairs", "preserve: [b,h,s,t] -> [b,h,s,t]", kNone, "t", kVector,
     kOnChip, "over the keys; a learned sink per head adds to the denominator only"},
    {"attention_softcap", "", "3*b*h*pairs", "preserve: [b,h,s,t] -> [b,h,s,t]", kNone, "", kVector, kOnChip,
     "c * tanh(x / c) of each score: divide, tanh as one step, times"},
    {"attention_alibi", "", "2*b*h*pairs", "preserve: [b,h,s,t] -> [b,h,s,t]", kNone, "", kVector, kOnChip,
     "adds the head's slope times the key's position: a constant of the head, nothing stored"},
    {"attention_position_bias", "weight?[buckets,h]", "b*h*pairs", "preserve: [b,h,s,t] -> [b,h,s,t]", kNone,
     "", kVector, kOnChip,
     "adds a number per head for the bucket of the distance, from the layer's own table or one it shares"},
    {"attention_apply", "", "2*b*h*d*pairs", "contract: [b,h,s,t] [b,t,g,d] -> [b,s,h,d]", kEach, "t",
     kMatmul, kReadWrite, "the weighted sum of values for each allowed pair", "h % g == 0"},

    // Attention over chosen keys. Scores of an indexer choose them; ops behind a score work on its pairs.
    {"score_relu", "", "b*h*pairs", "preserve: [b,h,s,t] -> [b,h,s,t]", kNone, "", kVector, kOnChip,
     "max(x, 0) of each score"},
    {"score_sum", "", "2*b*h*pairs", "contract: [b,h,s,t] [b,s,h] -> [b,s,t]", kEach, "", kVector, kReadWrite,
     "the weighted sum of each pair's scores over the heads"},
    {"topk_keys", "", "b*pairs", "explicit: [b,s,t] -> [b,s,min(keys,t)]", kNone, "t", kVector, kReadWrite,
     "the keys of the largest scores, all where there are fewer: one compare per candidate", "", 0, "", "",
     "keys"},
    {"selected_score", "", "2*b*h*d*pairs", "contract: [b,s,h,d] [b,t,g,d] [b,s,k] -> [b,h,s,k]", kEach, "t",
     kMatmul, kOnChip, "q . k for each chosen pair; fewer where fewer are visible", "h % g == 0", 3,
     "min(t, s*k)"},
    {"selected_apply", "", "2*b*h*d*pairs", "contract: [b,h,s,k] [b,t,g,d] [b,s,k] -> [b,s,h,d]", kEach, "t",
     kMatmul, kReadWrite, "the weighted sum of the chosen values", "h % g == 0", 3, "min(t, s*k)"},
    {"topk_key_blocks", "", "b*h*pairs", "explicit: [b,h,s,t] -> [b,s,h,min(keys,t)]", kNone, "t", kVector,
     kReadWrite,
     "each head's keys of the blocks whose largest scores are the largest: one compare per candidate", "", 0,
     "", "", "keys"},
    {"group_selected_score", "", "2*b*h*d*pairs", "contract: [b,s,h,d] [b,t,g,d] [b,s,g,k] -> [b,h,s,k]",
     kEach, "t", kMatmul, kOnChip, "the same where each key head has chosen keys of its own", "h % g == 0", 3,
     "min(t, s*k)"},
    {"group_selected_apply", "", "2*b*h*d*pairs", "contract: [b,h,s,k] [b,t,g,d] [b,s,g,k] -> [b,s,h,d]",
     kEach, "t", kMatmul, kReadWrite, "the weighted sum of each value head's chosen values", "h % g == 0", 3,
     "min(t, s*k)"},
    {"joint_apply", "", "2*b*h*d*pairs", "contract: [b,h,s,n] [b,t,g,d] [b,u,g,d] -> [b,s,h,d]", kNone, "n",
     kMatmul, kReadWrite, "the weighted sum of two sets of values under one softmax",
     "h % g == 0 and n == t + u"},
    {"joint_selected_apply", "", "2*b*h*d*pairs",
     "contract: [b,h,s,n] [b,t,g,d] [b,u,g,d] [b,s,k] -> [b,s,h,d]", kNone, "n", kMatmul, kReadWrite,
     "the same, of the second set the chosen ones", "h % g == 0 and n == t + k", 4},
    {"ring_state", "", "0", "explicit: [b,s,dim] -> [b,slots,dim]", kEach, "", kMove, kView,
     "the last tokens' vectors, each in its slot until it is overwritten", "", 0, "", "min(slots, s)"},
    {"compress_tokens", "=[ratio,dim]", "8*b*s*dim",
     "explicit: [b,s,dim] [b,s,dim] [b,slots,2*dim] -> [b,t,out]", kNone, "slots", kVector, kReadWrite,
     "one entry per `ratio` tokens: stored offsets on the gates, softmax over the tokens of its window, "
     "weighted "
     "sum; channels beyond `out` belong to the window before",
     "dim % out == 0 and slots == ratio*dim/out", 0, "min(slots, s*slots/ratio)"},

    // Recurrent states, one per sequence. Prefill counts the recurrence
    // too; the chunked form that engines run there does more products on fewer steps.
    {"ssd_state", "", "3*b*s*h*p*n + b*s*h*p", "explicit: [b,s,h,p] [b,s,h] [b,s,h] [b,s,g,n] -> [b,h,p,n]",
     kNone, "", kMatmul, kReadWrite, "Mamba-2: S = decay * S + (dt * x) B^T; operands x, dt, decay, B",
     "h % g == 0"},
    {"ssd_read", "", "2*b*s*h*p*n", "explicit: [b,h,p,n] [b,s,g,n] -> [b,s,h,p]", kEach, "", kMatmul,
     kReadWrite, "y = S C", "h % g == 0"},
    {"selective_state", "=[d,n]", "2*d*n + 5*b*s*d*n + b*s*d", "explicit: [b,s,d] [b,s,d] [b,s,n] -> [b,d,n]",
     kNone, "", kVector, kReadWrite,
     "Mamba-1: S = exp(dt * A) * S + (dt * x) B^T, A = -exp(stored); operands x, dt, B"},
    {"selective_read", "", "2*b*s*d*n", "explicit: [b,d,n] [b,s,n] -> [b,s,d]", kEach, "", kVector,
     kReadWrite, "y = S C"},
    {"delta_state", "", "5*b*s*h*n*p + 2*b*s*h*p",
     "explicit: [b,s,g,n] [b,s,h,p] [b,s,h] [b,s,h] -> [b,h,n,p]", kNone, "", kMatmul, kReadWrite,
     "gated delta rule: S = decay * S; S = S + k (beta * (v - S^T k))^T; operands k, v, decay, beta",
     "h % g == 0"},
    {"delta_state_channels", "", "5*b*s*h*n*p + 2*b*s*h*p",
     "explicit: [b,s,h,n] [b,s,h,p] [b,s,h,n] [b,s,h] -> [b,h,n,p]", kNone, "", kMatmul, kReadWrite,
     "the same with a decay per channel of the key"},
    {"linear_attention_state", "", "3*b*s*h*n*p", "explicit: [b,s,g,n] [b,s,h,p] -> [b,h,n,p]", kEach, "",
     kMatmul, kReadWrite, "S = decay * S + k v^T, the decay a constant of the head", "h % g == 0"},
    {"delta_read", "", "2*b*s*h*n*p", "explicit: [b,h,n,p] [b,s,g,n] -> [b,s,h,p]", kEach, "", kMatmul,
     kReadWrite, "o = S^T q", "h % g == 0"},

    // Routing.
    {"topk", "", "r*in", "axis_select: [*r,in] -> [*r,out]", kNone, "in", kVector, kReadWrite,
     "one compare per candidate", "out <= in"},
    {"take", "", "0", "axis_select: [*r,in] [*r,out] -> [*r,out]", kNone, "", kMove, kReadWrite,
     "values at chosen positions", "out <= in", 2},
    {"dispatch", "", "0", "explicit: [b,s,dim] [b,s,k] -> [b,s*k,dim]", kNone, "", kMove, kReadWrite,
     "each token's vector once per chosen expert", "", 2},
    {"token_choice", "=[vocab,k]", "0", "source: -> [B,s_query,k]", kNone, "", kMove, kGather,
     "positions that a table lists for each token id"},
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
    if (!number && word != "pairs" && !mentions(row.shape, word) && !mentions(row.params, word) &&
        !mentions(row.numbers, word))
      return false;
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
