// What each op computes, run on tiny tensors of doubles and held against its row: the output's shape, the
// count of arithmetic steps, and whether a partial sum may pass.
//
// A step is one multiplication, addition, comparison, division or exp. Partial is judged from the numbers
// alone: each when f is linear in every operand by itself, together when in all at once, none otherwise.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>

#include "support/bills.h"

namespace archlight::analysis {
namespace {

constexpr int kBatch = 2, kTokens = 3;

struct Tensor {
  std::vector<int> shape;
  std::vector<double> data;

  explicit Tensor(std::vector<int> axes) : shape(std::move(axes)) {
    data.resize(static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>())));
  }
  int last() const { return shape.back(); }
  int rows() const { return static_cast<int>(data.size()) / last(); }
  double& at(int row, int i) { return data[static_cast<size_t>(int64_t{row} * last() + i)]; }
  double at(int row, int i) const { return data[static_cast<size_t>(int64_t{row} * last() + i)]; }
  // Row-major, by all indices of a tensor of rank 3 or 4.
  double& at(int a, int b, int c) { return at(a * shape[1] + b, c); }
  double at(int a, int b, int c) const { return at(a * shape[1] + b, c); }
  double& at(int a, int b, int c, int d) { return at((a * shape[1] + b) * shape[2] + c, d); }
  double at(int a, int b, int c, int d) const { return at((a * shape[1] + b) * shape[2] + c, d); }
};

using Tensors = std::vector<Tensor>;
using Meaning = std::function<Tensor(const Tensors&, int64_t& steps)>;

Tensor with_last(const Tensor& x, int last) {
  std::vector<int> shape = x.shape;
  shape.back() = last;
  return Tensor(shape);
}

// One value at a time, `steps` each.
Meaning elementwise(double (*f)(double), int steps_each) {
  return [=](const Tensors& in, int64_t& steps) {
    Tensor out = in[0];
    for (double& value : out.data) value = f(value), steps += steps_each;
    return out;
  };
}

Meaning pairwise(double (*f)(double, double)) {
  return [=](const Tensors& in, int64_t& steps) {
    Tensor out = in[0];
    for (size_t i = 0; i < out.data.size(); ++i) out.data[i] = f(in[0].data[i], in[1].data[i]), ++steps;
    return out;
  };
}

double weight(int i, int j) {
  return std::sin(3.0 * i + 5.0 * j + 1);
}

Tensor linear(const Tensors& in, int64_t& steps) {
  Tensor out = with_last(in[0], 5);
  for (int r = 0; r < out.rows(); ++r)
    for (int o = 0; o < 5; ++o)
      for (int i = 0; i < in[0].last(); ++i) out.at(r, o) += weight(o, i) * in[0].at(r, i), steps += 2;
  return out;
}

Tensor head_linear(const Tensors& in, int64_t& steps) {  // [B,s,2,4] -> [B,s,2,5]
  Tensor out = with_last(in[0], 5);
  for (int r = 0; r < out.rows(); ++r)
    for (int o = 0; o < 5; ++o)
      for (int i = 0; i < in[0].last(); ++i)
        out.at(r, o) += weight(o + 7 * (r % 2), i) * in[0].at(r, i), steps += 2;
  return out;
}

Tensor rmsnorm(const Tensors& in, int64_t& steps) {
  Tensor out = in[0];
  for (int r = 0; r < out.rows(); ++r) {
    double sum = 0;
    for (int i = 0; i < out.last(); ++i) sum += in[0].at(r, i) * in[0].at(r, i), steps += 2;
    for (int i = 0; i < out.last(); ++i)
      out.at(r, i) = in[0].at(r, i) / std::sqrt(sum / out.last()) * weight(i, 0), steps += 2;
  }
  return out;
}

Tensor layernorm(const Tensors& in, int64_t& steps) {
  Tensor out = in[0];
  for (int r = 0; r < out.rows(); ++r) {
    double mean = 0, sum = 0;
    for (int i = 0; i < out.last(); ++i) mean += in[0].at(r, i) / out.last(), ++steps;
    for (int i = 0; i < out.last(); ++i) out.at(r, i) -= mean, sum += out.at(r, i) * out.at(r, i), steps += 3;
    for (int i = 0; i < out.last(); ++i) out.at(r, i) *= weight(i, 0) / std::sqrt(sum + 1e-6), steps += 2;
  }
  return out;
}

// Halves rotated against each other: two multiplications and one addition for each element.
Tensor rope(const Tensors& in, int64_t& steps) {
  Tensor out = in[0];
  const int half = out.last() / 2;
  for (int r = 0; r < out.rows(); ++r)
    for (int i = 0; i < out.last(); ++i) {
      const double sign = i < half ? -1 : 1, angle = r * (i % half + 1);
      out.at(r, i) =
          in[0].at(r, i) * std::cos(angle) + sign * in[0].at(r, (i + half) % out.last()) * std::sin(angle);
      steps += 3;
    }
  return out;
}

Tensor softmax(const Tensors& in, int64_t& steps) {
  Tensor out = in[0];
  for (int r = 0; r < out.rows(); ++r) {
    double most = out.at(r, 0), sum = 0;
    for (int i = 0; i < out.last(); ++i) most = std::max(most, out.at(r, i)), ++steps;
    for (int i = 0; i < out.last(); ++i) sum += out.at(r, i) = std::exp(out.at(r, i) - most), steps += 3;
    for (int i = 0; i < out.last(); ++i) out.at(r, i) /= sum, ++steps;
  }
  return out;
}

Tensor normalize(const Tensors& in, int64_t& steps) {
  Tensor out = in[0];
  for (int r = 0; r < out.rows(); ++r) {
    double sum = 0;
    for (int i = 0; i < out.last(); ++i) sum += out.at(r, i), ++steps;
    for (int i = 0; i < out.last(); ++i) out.at(r, i) /= sum, ++steps;
  }
  return out;
}

Tensor param_add(const Tensors& in, int64_t& steps) {
  Tensor out = in[0];
  for (int r = 0; r < out.rows(); ++r)
    for (int i = 0; i < out.last(); ++i) out.at(r, i) += weight(i, 1), ++steps;
  return out;
}

Meaning selected(int first, int stride, int count) {
  return [=](const Tensors& in, int64_t&) {
    Tensor out = with_last(in[0], count);
    for (int r = 0; r < out.rows(); ++r)
      for (int i = 0; i < count; ++i) out.at(r, i) = in[0].at(r, first + i * stride);
    return out;
  };
}

Tensor concat(const Tensors& in, int64_t&) {
  Tensor out = with_last(in[0], in[0].last() + in[1].last());
  for (int r = 0; r < out.rows(); ++r)
    for (int i = 0; i < out.last(); ++i)
      out.at(r, i) = i < in[0].last() ? in[0].at(r, i) : in[1].at(r, i - in[0].last());
  return out;
}

Tensor split_heads(const Tensors& in, int64_t&) {
  Tensor out({kBatch, kTokens, 2, in[0].last() / 2});
  out.data = in[0].data;  // a view: heads outermost
  return out;
}

Tensor merge_heads(const Tensors& in, int64_t&) {
  Tensor out({kBatch, kTokens, in[0].shape[2] * in[0].shape[3]});
  out.data = in[0].data;
  return out;
}

Tensor broadcast_heads(const Tensors& in, int64_t&) {
  Tensor out({kBatch, kTokens, 2, in[0].last()});
  for (int r = 0; r < out.rows(); ++r)
    for (int i = 0; i < out.last(); ++i) out.at(r, i) = in[0].at(r / 2, i);
  return out;
}

Tensor stack(const Tensors& in, int64_t&) {
  Tensor out({kBatch, kTokens, 2, in[0].last()});
  for (int r = 0; r < out.rows(); ++r)
    for (int i = 0; i < out.last(); ++i) out.at(r, i) = in[static_cast<size_t>(r % 2)].at(r / 2, i);
  return out;
}

Tensor stack_onto(const Tensors& in, int64_t&) {
  Tensor out({kBatch, kTokens, 3, in[0].last()});
  for (int r = 0; r < out.rows(); ++r)
    for (int i = 0; i < out.last(); ++i)
      out.at(r, i) = r % 3 < 2 ? in[0].at(r / 3 * 2 + r % 3, i) : in[1].at(r / 3, i);
  return out;
}

Tensor weighted_sum(const Tensors& in, int64_t& steps) {  // [B,s,2] [B,s,2,4]
  Tensor out = with_last(in[0], in[1].last());
  for (int r = 0; r < out.rows(); ++r)
    for (int i = 0; i < out.last(); ++i)
      for (int n = 0; n < in[0].last(); ++n)
        out.at(r, i) += in[0].at(r, n) * in[1].at(r * 2 + n, i), steps += 2;
  return out;
}

Tensor outer(const Tensors& in, int64_t& steps) {  // [B,s,2] [B,s,8]
  Tensor out({kBatch, kTokens, in[0].last(), in[1].last()});
  for (int r = 0; r < in[0].rows(); ++r)
    for (int n = 0; n < in[0].last(); ++n)
      for (int i = 0; i < out.last(); ++i)
        out.at(r * in[0].last() + n, i) = in[0].at(r, n) * in[1].at(r, i), ++steps;
  return out;
}

Tensor mix_copies(const Tensors& in, int64_t& steps) {  // [B,s,3,2] [B,s,2,4]
  Tensor out({kBatch, kTokens, in[0].shape[2], in[1].last()});
  for (int r = 0; r < out.rows(); ++r)
    for (int i = 0; i < out.last(); ++i)
      for (int m = 0; m < in[0].last(); ++m)
        out.at(r, i) += in[0].at(r, m) * in[1].at(r / in[0].shape[2] * in[0].last() + m, i), steps += 2;
  return out;
}

// 4 query heads on 2 key heads; the query at position i sees keys 0..i.
Tensor score(const Tensors& in, int64_t& steps) {
  Tensor out({kBatch, 4, kTokens, kTokens});
  for (int b = 0; b < kBatch; ++b)
    for (int h = 0; h < 4; ++h)
      for (int s = 0; s < kTokens; ++s)
        for (int t = 0; t <= s; ++t)
          for (int d = 0; d < in[0].last(); ++d)
            out.at(b, h, s, t) += in[0].at(b, s, h, d) * in[1].at(b, t, h / 2, d), steps += 2;
  return out;
}

Tensor causal_softmax(const Tensors& in, int64_t& steps) {
  Tensor out(in[0].shape);
  for (int b = 0; b < kBatch; ++b)
    for (int h = 0; h < in[0].shape[1]; ++h)
      for (int s = 0; s < kTokens; ++s) {
        double most = -1e9, sum = 0;
        for (int t = 0; t <= s; ++t) most = std::max(most, in[0].at(b, h, s, t)), ++steps;
        for (int t = 0; t <= s; ++t)
          sum += out.at(b, h, s, t) = std::exp(in[0].at(b, h, s, t) - most), steps += 3;
        for (int t = 0; t <= s; ++t) out.at(b, h, s, t) /= sum, ++steps;
      }
  return out;
}

// One value per pair that the mask lets through; the others stay masked.
Meaning on_pairs(double (*f)(double score, int head, int distance), int steps_each) {
  return [=](const Tensors& in, int64_t& steps) {
    Tensor out(in[0].shape);
    for (int b = 0; b < kBatch; ++b)
      for (int h = 0; h < in[0].shape[1]; ++h)
        for (int s = 0; s < kTokens; ++s)
          for (int t = 0; t <= s; ++t)
            out.at(b, h, s, t) = f(in[0].at(b, h, s, t), h, s - t), steps += steps_each;
    return out;
  };
}

Tensor apply(const Tensors& in, int64_t& steps) {  // [B,4,s,t] [B,t,2,d] -> [B,s,4,d]
  Tensor out({kBatch, kTokens, 4, in[1].last()});
  for (int b = 0; b < kBatch; ++b)
    for (int h = 0; h < 4; ++h)
      for (int s = 0; s < kTokens; ++s)
        for (int t = 0; t <= s; ++t)
          for (int d = 0; d < in[1].last(); ++d)
            out.at(b, s, h, d) += in[0].at(b, h, s, t) * in[1].at(b, t, h / 2, d), steps += 2;
  return out;
}

Tensor combine(const Tensors& in, int64_t& steps) {  // [B,s*2,dim] [B,s,2] -> [B,s,dim]
  Tensor out({kBatch, kTokens, in[0].last()});
  for (int r = 0; r < out.rows(); ++r)
    for (int k = 0; k < 2; ++k)
      for (int i = 0; i < out.last(); ++i)
        out.at(r, i) += in[0].at(2 * r + k, i) * in[1].at(r, k), steps += 2;
  return out;
}

Tensor last_token(const Tensors& in, int64_t&) {
  Tensor out({kBatch, 1, in[0].last()});
  for (int b = 0; b < kBatch; ++b)
    for (int i = 0; i < out.last(); ++i) out.at(b, i) = in[0].at(b * kTokens + kTokens - 1, i);
  return out;
}

Tensor scaled_by_norm(const Tensors& in, int64_t& steps, bool mean, bool weighted) {
  Tensor out = in[0];
  for (int r = 0; r < out.rows(); ++r) {
    double sum = 0;
    for (int i = 0; i < out.last(); ++i) sum += in[0].at(r, i) * in[0].at(r, i), steps += 2;
    for (int i = 0; i < out.last(); ++i) {
      out.at(r, i) /= std::sqrt(mean ? sum / out.last() : sum), ++steps;
      if (weighted) out.at(r, i) *= weight(i, 0), ++steps;
    }
  }
  return out;
}

Tensor conv1d(const Tensors& in, int64_t& steps) {  // stride 1, 3 taps, nothing beyond the ends: 3 -> 1 token
  Tensor out({kBatch, 1, 5});
  for (int b = 0; b < kBatch; ++b)
    for (int o = 0; o < 5; ++o)
      for (int i = 0; i < in[0].last(); ++i)
        for (int k = 0; k < 3; ++k) out.at(b, 0, o) += weight(o + 9 * k, i) * in[0].at(b, k, i), steps += 2;
  return out;
}

Tensor transposed_conv1d(const Tensors& in, int64_t& steps) {  // stride 1, 3 taps: 3 -> 5 tokens
  Tensor out({kBatch, 5, 5});
  for (int b = 0; b < kBatch; ++b)
    for (int s = 0; s < kTokens; ++s)
      for (int o = 0; o < 5; ++o)
        for (int i = 0; i < in[0].last(); ++i)
          for (int k = 0; k < 3; ++k)
            out.at(b, s + k, o) += weight(o + 9 * k, i) * in[0].at(b, s, i), steps += 2;
  return out;
}

Tensor causal_conv1d(const Tensors& in, int64_t& steps) {  // 4 taps: 3 columns of state before the tokens
  Tensor out = in[0];
  for (int b = 0; b < kBatch; ++b)
    for (int s = 0; s < kTokens; ++s)
      for (int i = 0; i < out.last(); ++i) {
        out.at(b, s, i) = 0;
        for (int k = 0; k < 4; ++k) {
          const int from = s - 3 + k;
          out.at(b, s, i) += weight(i, k) * (from < 0 ? in[1].at(b, i, from + 3) : in[0].at(b, from, i));
          steps += 2;
        }
      }
  return out;
}

Tensor conv_state(const Tensors& in, int64_t&) {  // the last two tokens, channels in front
  Tensor out({kBatch, in[0].last(), 2});
  for (int b = 0; b < kBatch; ++b)
    for (int i = 0; i < in[0].last(); ++i)
      for (int k = 0; k < 2; ++k) out.at(b, i, k) = in[0].at(b, kTokens - 2 + k, i);
  return out;
}

Tensor gate(const Tensors& in, int64_t& steps) {  // also of heads: one number per row
  Tensor out = in[0];
  for (int r = 0; r < out.rows(); ++r)
    for (int i = 0; i < out.last(); ++i) out.at(r, i) *= in[1].data[static_cast<size_t>(r)], ++steps;
  return out;
}

Tensor head_mul(const Tensors& in, int64_t& steps) {
  Tensor out = in[0];
  for (int r = 0; r < out.rows(); ++r)
    for (int i = 0; i < out.last(); ++i) out.at(r, i) *= weight(r % 2, 1), ++steps;
  return out;
}

Tensor repeat_heads(const Tensors& in, int64_t&) {  // 2 groups, 4 heads
  Tensor out({kBatch, kTokens, 4, in[0].last()});
  for (int r = 0; r < out.rows(); ++r)
    for (int i = 0; i < out.last(); ++i) out.at(r, i) = in[0].at(r / 2, i);
  return out;
}

Tensor repeat_tokens(const Tensors& in, int64_t&) {  // none, once or twice, and the last one to the end
  Tensor out({kBatch, 5, in[0].last()});
  for (int b = 0; b < kBatch; ++b)
    for (int s = 0, from = 0, left = 0; s < 5; ++s) {
      const auto times = [&](int token) { return static_cast<int>(1000 * in[1].at(b, token, 0)) % 3; };
      if (s == 0) left = times(0);
      while (left == 0 && from + 1 < kTokens) left = times(++from);
      if (left > 0) --left;
      for (int i = 0; i < in[0].last(); ++i) out.at(b, s, i) = in[0].at(b, from, i);
    }
  return out;
}

Tensor join_tokens(const Tensors& in, int64_t&) {
  Tensor out({kBatch, 1, kTokens * in[0].last()});
  out.data = in[0].data;
  return out;
}

Tensor pool_tokens(const Tensors& in, int64_t& steps) {
  Tensor out({kBatch, 1, in[0].last()});
  for (int b = 0; b < kBatch; ++b)
    for (int s = 0; s < kTokens; ++s)
      for (int i = 0; i < in[0].last(); ++i) out.at(b, 0, i) += in[0].at(b, s, i), ++steps;
  return out;
}

Tensor concat_tokens(const Tensors& in, int64_t&) {  // 3 tokens before one of a tower
  Tensor out({kBatch, kTokens + 1, in[0].last()});
  for (int b = 0; b < kBatch; ++b)
    for (int s = 0; s <= kTokens; ++s)
      for (int i = 0; i < out.last(); ++i)
        out.at(b, s, i) = s < kTokens ? in[0].at(b, s, i) : in[1].at(b, 0, i);
  return out;
}

Meaning with_tokens(int tokens) {  // zeros behind, or the first ones
  return [=](const Tensors& in, int64_t&) {
    Tensor out({kBatch, tokens, in[0].last()});
    for (int b = 0; b < kBatch; ++b)
      for (int s = 0; s < std::min(tokens, kTokens); ++s)
        for (int i = 0; i < out.last(); ++i) out.at(b, s, i) = in[0].at(b, s, i);
    return out;
  };
}

Meaning at_tokens(bool add) {  // one vector of a tower, at the second token
  return [=](const Tensors& in, int64_t& steps) {
    Tensor out = in[0];
    for (int b = 0; b < kBatch; ++b)
      for (int i = 0; i < out.last(); ++i) {
        out.at(b, 1, i) = in[1].at(b, 0, i) + (add ? out.at(b, 1, i) : 0);
        if (add) ++steps;
      }
    return out;
  };
}

// x [B,s,4,p], dt and decay [B,s,4], B [B,s,2,n]: the state after the last token.
Tensor ssd_state(const Tensors& in, int64_t& steps) {
  const int p = in[0].last(), n = in[3].last();
  Tensor state({kBatch, 4, p, n});
  for (int b = 0; b < kBatch; ++b)
    for (int s = 0; s < kTokens; ++s)
      for (int h = 0; h < 4; ++h)
        for (int i = 0; i < p; ++i) {
          const double x = in[0].at(b, s, h, i) * in[1].at(b, s, h);
          ++steps;
          for (int j = 0; j < n; ++j) {
            double& cell = state.at(b, h, i, j);
            cell = cell * in[2].at(b, s, h) + x * in[3].at(b, s, h / 2, j), steps += 3;
          }
        }
  return state;
}

// What each token reads of one state. A state's rows are its own axis (delta) or the output's (ssd).
Meaning state_read(bool output_first) {
  return [=](const Tensors& in, int64_t& steps) {
    const int heads = in[0].shape[1], rows = in[0].shape[2], columns = in[0].shape[3];
    const int width = output_first ? rows : columns, per_group = heads / in[1].shape[2];
    Tensor out({kBatch, kTokens, heads, width});
    for (int b = 0; b < kBatch; ++b)
      for (int s = 0; s < kTokens; ++s)
        for (int h = 0; h < heads; ++h)
          for (int i = 0; i < rows; ++i)
            for (int j = 0; j < columns; ++j) {
              const double key = in[1].at(b, s, h / per_group, output_first ? j : i);
              out.at(b, s, h, output_first ? i : j) += in[0].at(b, h, i, j) * key, steps += 2;
            }
    return out;
  };
}

Tensor selective_state(const Tensors& in, int64_t& steps) {  // x, dt [B,s,d], B [B,s,n]
  const int d = in[0].last(), n = in[2].last();
  Tensor state({kBatch, d, n}), rate({d, n});
  for (int i = 0; i < d; ++i)
    for (int j = 0; j < n; ++j) rate.at(i, j) = -std::exp(weight(i, j)), steps += 2;
  for (int b = 0; b < kBatch; ++b)
    for (int s = 0; s < kTokens; ++s)
      for (int i = 0; i < d; ++i) {
        const double x = in[0].at(b, s, i) * in[1].at(b, s, i);
        ++steps;
        for (int j = 0; j < n; ++j) {
          double& cell = state.at(b, i, j);
          cell = std::exp(in[1].at(b, s, i) * rate.at(i, j)) * cell + x * in[2].at(b, s, j), steps += 5;
        }
      }
  return state;
}

Tensor selective_read(const Tensors& in, int64_t& steps) {
  Tensor out({kBatch, kTokens, in[0].shape[1]});
  for (int b = 0; b < kBatch; ++b)
    for (int s = 0; s < kTokens; ++s)
      for (int i = 0; i < out.last(); ++i)
        for (int j = 0; j < in[0].last(); ++j)
          out.at(b, s, i) += in[0].at(b, i, j) * in[1].at(b, s, j), steps += 2;
  return out;
}

// k [B,s,2,n] or [B,s,4,n], v [B,s,4,p], decay [B,s,4] or per channel, beta [B,s,4].
Meaning delta_state(bool channels) {
  return [=](const Tensors& in, int64_t& steps) {
    const int n = in[0].last(), p = in[1].last(), per_group = 4 / in[0].shape[2];
    Tensor state({kBatch, 4, n, p});
    for (int b = 0; b < kBatch; ++b)
      for (int s = 0; s < kTokens; ++s)
        for (int h = 0; h < 4; ++h) {
          const auto key = [&](int i) { return in[0].at(b, s, h / per_group, i); };
          for (int i = 0; i < n; ++i)
            for (int j = 0; j < p; ++j)
              state.at(b, h, i, j) *= channels ? in[2].at(b, s, h, i) : in[2].at(b, s, h), ++steps;
          for (int j = 0; j < p; ++j) {
            double seen = 0;
            for (int i = 0; i < n; ++i) seen += state.at(b, h, i, j) * key(i), steps += 2;
            const double step = (in[1].at(b, s, h, j) - seen) * in[3].at(b, s, h);
            steps += 2;
            for (int i = 0; i < n; ++i) state.at(b, h, i, j) += key(i) * step, steps += 2;
          }
        }
    return state;
  };
}

Tensor linear_state(const Tensors& in, int64_t& steps) {  // k [B,s,2,n], v [B,s,4,p]
  Tensor state({kBatch, 4, in[0].last(), in[1].last()});
  for (int b = 0; b < kBatch; ++b)
    for (int s = 0; s < kTokens; ++s)
      for (int h = 0; h < 4; ++h)
        for (int i = 0; i < in[0].last(); ++i)
          for (int j = 0; j < in[1].last(); ++j) {
            double& cell = state.at(b, h, i, j);
            cell = cell * (0.5 + 0.1 * h) + in[0].at(b, s, h / 2, i) * in[1].at(b, s, h, j), steps += 3;
          }
  return state;
}

Tensor score_relu(const Tensors& in, int64_t& steps) {  // of allowed pairs only
  Tensor out(in[0].shape);
  for (int b = 0; b < kBatch; ++b)
    for (int h = 0; h < in[0].shape[1]; ++h)
      for (int s = 0; s < kTokens; ++s)
        for (int t = 0; t <= s; ++t) out.at(b, h, s, t) = std::max(in[0].at(b, h, s, t) - 1, 0.0), ++steps;
  return out;
}

Tensor score_sum(const Tensors& in, int64_t& steps) {  // [B,4,s,t] [B,s,4] -> [B,s,t]
  Tensor out({kBatch, kTokens, kTokens});
  for (int b = 0; b < kBatch; ++b)
    for (int h = 0; h < in[0].shape[1]; ++h)
      for (int s = 0; s < kTokens; ++s)
        for (int t = 0; t <= s; ++t) out.at(b, s, t) += in[0].at(b, h, s, t) * in[1].at(b, s, h), steps += 2;
  return out;
}

// The keys that the query at position s chose: the last two of those that it sees.
int chosen(int s, int i) {
  return std::max(s - 1, 0) + i;
}

Tensor selected_score(const Tensors& in, int64_t& steps) {  // [B,s,4,d] [B,t,2,d] [B,s,2] -> [B,4,s,2]
  Tensor out({kBatch, 4, kTokens, 2});
  for (int b = 0; b < kBatch; ++b)
    for (int h = 0; h < 4; ++h)
      for (int s = 0; s < kTokens; ++s)
        for (int i = 0; i < std::min(s + 1, 2); ++i)
          for (int d = 0; d < in[0].last(); ++d)
            out.at(b, h, s, i) += in[0].at(b, s, h, d) * in[1].at(b, chosen(s, i), h / 2, d), steps += 2;
  return out;
}

Tensor selected_apply(const Tensors& in, int64_t& steps) {  // [B,4,s,2] [B,t,2,d] [B,s,2] -> [B,s,4,d]
  Tensor out({kBatch, kTokens, 4, in[1].last()});
  for (int b = 0; b < kBatch; ++b)
    for (int h = 0; h < 4; ++h)
      for (int s = 0; s < kTokens; ++s)
        for (int i = 0; i < std::min(s + 1, 2); ++i)
          for (int d = 0; d < in[1].last(); ++d)
            out.at(b, s, h, d) += in[0].at(b, h, s, i) * in[1].at(b, chosen(s, i), h / 2, d), steps += 2;
  return out;
}

// The keys that group g's own choice took for the query at position s: those up to the query, or those before it.
int chosen_by(int g, int s, int i) {
  return g == 0 ? chosen(s, i) : std::min(i, s);
}

Tensor group_selected_score(const Tensors& in,
                            int64_t& steps) {  // [B,s,4,d] [B,t,2,d] [B,s,2,2] -> [B,4,s,2]
  Tensor out({kBatch, 4, kTokens, 2});
  for (int b = 0; b < kBatch; ++b)
    for (int h = 0; h < 4; ++h)
      for (int s = 0; s < kTokens; ++s)
        for (int i = 0; i < std::min(s + 1, 2); ++i)
          for (int d = 0; d < in[0].last(); ++d)
            out.at(b, h, s, i) += in[0].at(b, s, h, d) * in[1].at(b, chosen_by(h / 2, s, i), h / 2, d),
                steps += 2;
  return out;
}

Tensor group_selected_apply(const Tensors& in,
                            int64_t& steps) {  // [B,4,s,2] [B,t,2,d] [B,s,2,2] -> [B,s,4,d]
  Tensor out({kBatch, kTokens, 4, in[1].last()});
  for (int b = 0; b < kBatch; ++b)
    for (int h = 0; h < 4; ++h)
      for (int s = 0; s < kTokens; ++s)
        for (int i = 0; i < std::min(s + 1, 2); ++i)
          for (int d = 0; d < in[1].last(); ++d)
            out.at(b, s, h, d) += in[0].at(b, h, s, i) * in[1].at(b, chosen_by(h / 2, s, i), h / 2, d),
                steps += 2;
  return out;
}

// The scores of both sets stand behind each other; of the second set all visible ones, or the chosen two.
Meaning joint_apply(bool choice) {
  return [=](const Tensors& in, int64_t& steps) {
    const int keys = kTokens;
    Tensor out({kBatch, kTokens, 4, in[1].last()});
    for (int b = 0; b < kBatch; ++b)
      for (int h = 0; h < 4; ++h)
        for (int s = 0; s < kTokens; ++s)
          for (int d = 0; d < in[1].last(); ++d) {
            for (int t = 0; t <= s; ++t)
              out.at(b, s, h, d) += in[0].at(b, h, s, t) * in[1].at(b, t, h / 2, d), steps += 2;
            for (int i = 0; i < (choice ? std::min(s + 1, 2) : s + 1); ++i)
              out.at(b, s, h, d) +=
                  in[0].at(b, h, s, keys + i) * in[2].at(b, choice ? chosen(s, i) : i, h / 2, d),
                  steps += 2;
          }
    return out;
  };
}

Tensor ring_state(const Tensors& in, int64_t&) {  // the last two tokens
  Tensor out({kBatch, 2, in[0].last()});
  for (int b = 0; b < kBatch; ++b)
    for (int i = 0; i < 2; ++i)
      for (int d = 0; d < in[0].last(); ++d) out.at(b, i, d) = in[0].at(b, kTokens - 2 + i, d);
  return out;
}

// One entry of 4 channels from 3 tokens of 8 and the 3 before them: the former half of each token's channels belongs
// to the entry of the window behind it, the latter half to its own. State: 3 earlier tokens' vectors and gates.
Tensor compress_tokens(const Tensors& in, int64_t& steps) {
  Tensor out({kBatch, 1, 4});
  for (int b = 0; b < kBatch; ++b) {
    Tensor gates({kTokens, 8});
    for (int s = 0; s < kTokens; ++s)
      for (int d = 0; d < 8; ++d) gates.at(s, d) = in[1].at(b, s, d) + weight(s, d), ++steps;
    for (int d = 0; d < 4; ++d) {
      const auto slot = [&](int i, bool gate) {
        return i < 3  ? in[2].at(b, 3 + i, (gate ? 8 : 0) + d)
               : gate ? gates.at(i - 3, 4 + d)
                      : in[0].at(b, i - 3, 4 + d);
      };
      double most = slot(0, true), sum = 0;
      std::array<double, 6> share{};
      for (int i = 0; i < 6; ++i) most = std::max(most, slot(i, true)), ++steps;
      for (int i = 0; i < 6; ++i)
        sum += share[static_cast<size_t>(i)] = std::exp(slot(i, true) - most), steps += 3;
      for (int i = 0; i < 6; ++i) share[static_cast<size_t>(i)] /= sum, ++steps;
      for (int i = 0; i < 6; ++i)
        out.at(b, 0, d) += share[static_cast<size_t>(i)] * slot(i, false), steps += 2;
    }
  }
  return out;
}

struct Case {
  const char* op;
  const char* operands;  // entries of a model's list that make a, b
  const char* node;      // in and dims
  Meaning f;
};

const char* const kVector8 = "a: { op: hidden_input, dims: { dim: 8 } }";
const char* const kTwoVectors8 =
    "a: { op: hidden_input, dims: { dim: 8 } }; b: { op: hidden_input, dims: { dim: 8 } }";
const char* const kHeads =
    "x: { op: hidden_input, dims: { dim: 8 } }; a: { op: split_heads, in: x, dims: { heads: 2, width: 4 } }";
const char* const kQueryKey =
    "x: { op: hidden_input, dims: { dim: 16 } }; a: { op: split_heads, in: x, dims: { heads: 4, width: 4 } };"
    "y: { op: hidden_input, dims: { dim: 8 } }; b: { op: split_heads, in: y, dims: { heads: 2, width: 4 } }";
// x and v: 4 heads of 2; k and c: 2 groups of 4; w: 4 numbers per token; f: 4 heads of 4.
const std::string kStates =
    "x0: { op: hidden_input, dims: { dim: 8 } }; x: { op: split_heads, in: x0, dims: { heads: 4, width: 2 } "
    "};"
    "k0: { op: hidden_input, dims: { dim: 8 } }; k: { op: split_heads, in: k0, dims: { heads: 2, width: 4 } "
    "};"
    "c0: { op: hidden_input, dims: { dim: 8 } }; c: { op: split_heads, in: c0, dims: { heads: 2, width: 4 } "
    "};"
    "f0: { op: hidden_input, dims: { dim: 16 } }; f: { op: split_heads, in: f0, dims: { heads: 4, width: 4 } "
    "};"
    "w: { op: hidden_input, dims: { dim: 4 } }; u: { op: hidden_input, dims: { dim: 4 } }";
const std::string kSsd = kStates + "; s: { op: ssd_state, in: [x, w, u, k] }";
const std::string kDelta = kStates + "; s: { op: delta_state, in: [k, x, w, u] }";
const std::string kSelective =
    "x: { op: hidden_input, dims: { dim: 4 } }; d: { op: hidden_input, dims: { dim: 4 } };"
    "e: { op: hidden_input, dims: { dim: 2 } }";
const std::string kSelected = kSelective + "; s: { op: selective_state, in: [x, d, e] }";
const char* const kConv =
    "a: { op: hidden_input, dims: { dim: 8 } }; c: { op: hidden_input, dims: { dim: 8 } };"
    "b: { op: conv_state, in: c, dims: { state: 3 } }";
const char* const kTower =
    "a: { op: hidden_input, dims: { dim: 8 } }; b: { op: tower_input, dims: { tokens: 1, dim: 8 } }";
const char* const kChooser =
    "x: { op: hidden_input, dims: { dim: 16 } }; a: { op: split_heads, in: x, dims: { heads: 4, width: 4 } };"
    "y: { op: hidden_input, dims: { dim: 8 } }; b: { op: split_heads, in: y, dims: { heads: 2, width: 4 } };"
    "w: { op: hidden_input, dims: { dim: 4 } }; s: { op: attention_score, in: [a, b] };"
    "m: { op: score_sum, in: [s, w] }; c: { op: topk_keys, in: m, dims: { keys: 2 } }";
const std::string kChosen = std::string(kChooser) + "; q: { op: selected_score, in: [a, b, c] }";
// An index of two heads, each of which chooses for one of the two key heads.
const char* const kGroupChooser =
    "x: { op: hidden_input, dims: { dim: 16 } }; a: { op: split_heads, in: x, dims: { heads: 4, width: 4 } };"
    "y: { op: hidden_input, dims: { dim: 8 } }; b: { op: split_heads, in: y, dims: { heads: 2, width: 4 } };"
    "v: { op: hidden_input, dims: { dim: 8 } }; i: { op: split_heads, in: v, dims: { heads: 2, width: 4 } };"
    "s: { op: attention_score, in: [i, b] }; c: { op: topk_key_blocks, in: s, dims: { keys: 2 } }";
const std::string kGroupChosen =
    std::string(kGroupChooser) + "; q: { op: group_selected_score, in: [a, b, c] }";
const std::string kBoth = std::string(kChooser) +
                          "; r: { op: attention_score, in: [a, b] };"
                          "j: { op: concat_view, in: [s, r] }";
const std::string kBothChosen = kChosen + "; j: { op: concat_view, in: [s, q] }";
const char* const kCompressed =
    "a: { op: hidden_input, dims: { dim: 8 } }; b: { op: hidden_input, dims: { dim: 8 } };"
    "p: { op: concat, in: [a, b] }; c: { op: ring_state, in: p, dims: { slots: 6 } }";
const std::string kScores = std::string(kQueryKey) + "; s: { op: attention_score, in: [a, b] }";

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"linear", kVector8, "in: a, dims: { in: 8, out: 5 }", linear},
      {"head_linear", kHeads, "in: a, dims: { heads: 2, in: 4, out: 5 }", head_linear},
      {"rmsnorm", kVector8, "in: a, dim: 8", rmsnorm},
      {"layernorm", kVector8, "in: a, dim: 8", layernorm},
      {"rope", kVector8, "in: a, dim: 8", rope},
      {"silu", kVector8, "in: a, dim: 8", elementwise([](double x) { return x / (1 + std::exp(-x)); }, 4)},
      {"sigmoid", kVector8, "in: a, dim: 8", elementwise([](double x) { return 1 / (1 + std::exp(-x)); }, 3)},
      {"clamp", kVector8, "in: a, dim: 8", elementwise([](double x) { return std::min(x, 0.5); }, 1)},
      {"shift", kVector8, "in: a, dim: 8", elementwise([](double x) { return x + 1; }, 1)},
      {"scale", kVector8, "in: a, dim: 8", elementwise([](double x) { return 2.5 * x; }, 1)},
      {"normalize", kVector8, "in: a, dim: 8", normalize},
      {"softmax", kVector8, "in: a, dim: 8", softmax},
      {"param_add", kVector8, "in: a, dim: 8", param_add},
      {"add", kTwoVectors8, "in: [a, b]", pairwise([](double x, double y) { return x + y; })},
      {"mul", kTwoVectors8, "in: [a, b]", pairwise([](double x, double y) { return x * y; })},
      {"slice", kVector8, "in: a, dims: { in: 8, out: 3 }", selected(2, 1, 3)},
      {"interleaved_slice", kVector8, "in: a, dims: { in: 8, out: 4 }", selected(1, 2, 4)},
      {"concat", kTwoVectors8, "in: [a, b]", concat},
      {"concat_view", kTwoVectors8, "in: [a, b]", concat},
      {"split_heads", kVector8, "in: a, dims: { heads: 2, width: 4 }", split_heads},
      {"merge_heads", kHeads, "in: a, dims: { heads: 2, width: 4 }", merge_heads},
      {"broadcast_heads", kVector8, "in: a, dims: { heads: 2, width: 8 }", broadcast_heads},
      {"stack", kTwoVectors8, "in: [a, b]", stack},
      {"stack_onto",
       "x: { op: hidden_input, dims: { dim: 8 } }; a: { op: split_heads, in: x, dims: { heads: 2, width: 4 } "
       "};"
       "b: { op: hidden_input, dims: { dim: 4 } }",
       "in: [a, b]", stack_onto},
      {"concat_all", kTwoVectors8, "in: [a, b]", concat},
      {"copies", kVector8, "in: a, dims: { n: 2 }", broadcast_heads},
      {"weighted_sum",
       "a: { op: hidden_input, dims: { dim: 2 } }; x: { op: hidden_input, dims: { dim: 8 } };"
       "b: { op: split_heads, in: x, dims: { heads: 2, width: 4 } }",
       "in: [a, b]", weighted_sum},
      {"outer", "a: { op: hidden_input, dims: { dim: 2 } }; b: { op: hidden_input, dims: { dim: 8 } }",
       "in: [a, b]", outer},
      {"mix_copies",
       "w: { op: hidden_input, dims: { dim: 6 } }; a: { op: split_heads, in: w, dims: { heads: 3, width: 2 } "
       "};"
       "x: { op: hidden_input, dims: { dim: 8 } }; b: { op: split_heads, in: x, dims: { heads: 2, width: 4 } "
       "}",
       "in: [a, b]", mix_copies},
      {"attention_score", kQueryKey, "in: [a, b]", score},
      {"attention_softmax", kScores.c_str(), "in: s", causal_softmax},
      // Divide, tanh, times; slope times distance, added; a table's number, added.
      {"attention_softcap", kScores.c_str(), "in: s",
       on_pairs([](double x, int, int) { return 5 * std::tanh(x / 5); }, 3)},
      {"attention_alibi", kScores.c_str(), "in: s",
       on_pairs([](double x, int h, int distance) { return x - std::pow(2.0, -h) * distance - 1; }, 2)},
      {"attention_position_bias", kScores.c_str(), "in: s, dims: { buckets: 8 }",
       on_pairs([](double x, int h, int distance) { return x + weight(h, distance); }, 1)},
      {"attention_apply", kScores.c_str(), "in: [s, b]", apply},
      {"score_relu", kScores.c_str(), "in: s", score_relu},
      {"score_sum", kChooser, "in: [s, w]", score_sum},
      {"selected_score", kChooser, "in: [a, b, c]", selected_score},
      {"selected_apply", kChosen.c_str(), "in: [q, b, c]", selected_apply},
      {"group_selected_score", kGroupChooser, "in: [a, b, c]", group_selected_score},
      {"group_selected_apply", kGroupChosen.c_str(), "in: [q, b, c]", group_selected_apply},
      {"joint_apply", kBoth.c_str(), "in: [j, b, b]", joint_apply(false)},
      {"joint_selected_apply", kBothChosen.c_str(), "in: [j, b, b, c]", joint_apply(true)},
      {"ring_state", kVector8, "in: a, dims: { slots: 2 }", ring_state},
      {"compress_tokens", kCompressed, "in: [a, b, c], dims: { t: 1, out: 4, ratio: 3 }", compress_tokens},
      {"combine",
       "e: { op: hidden_input, dims: { dim: 8 } }; b: { op: hidden_input, dims: { dim: 2 } };"
       "a: { op: dispatch, in: [e, b] }",
       "in: [a, b]", combine},
      {"last_tokens", kVector8, "in: a", last_token},
      {"unit_rmsnorm", kVector8, "in: a, dim: 8",
       [](const Tensors& in, int64_t& steps) { return scaled_by_norm(in, steps, true, false); }},
      {"l2norm", kVector8, "in: a, dim: 8",
       [](const Tensors& in, int64_t& steps) { return scaled_by_norm(in, steps, false, false); }},
      {"gelu", kVector8, "in: a, dim: 8",
       elementwise([](double x) { return x * 0.5 * (1 + std::tanh(0.8 * (x + 0.04 * x * x * x))); }, 9)},
      {"leaky_relu", kVector8, "in: a, dim: 8", elementwise([](double x) { return x > 1 ? x : x / 8; }, 2)},
      {"relu", kVector8, "in: a, dim: 8", elementwise([](double x) { return std::max(x - 1, 0.0); }, 1)},
      {"relu_squared", kVector8, "in: a, dim: 8",
       elementwise([](double x) { return std::max(x - 1, 0.0) * std::max(x - 1, 0.0); }, 2)},
      {"tanh", kVector8, "in: a, dim: 8", elementwise([](double x) { return std::tanh(x); }, 1)},
      {"softplus", kVector8, "in: a, dim: 8",
       elementwise([](double x) { return std::log(1 + std::exp(x)); }, 3)},
      {"param_mul", kVector8, "in: a, dim: 8", elementwise([](double x) { return 1.5 * x; }, 1)},
      {"param_decay", kVector8, "in: a, dim: 8",
       elementwise([](double x) { return std::exp(-std::exp(0.5) * x); }, 4)},
      {"learned_position", kVector8, "in: a, dims: { positions: 16, dim: 8 }",
       elementwise([](double x) { return x + 0.7; }, 1)},
      {"conv1d", kVector8, "in: a, dims: { out: 5, kernel: 3, t: 1 }", conv1d},
      {"transposed_conv1d", kVector8, "in: a, dims: { out: 5, kernel: 3, t: 5 }", transposed_conv1d},
      {"conv2d", kVector8, "in: a, dims: { in: 8, out: 5, height: 1, width: 3, t: 1 }", conv1d},
      {"causal_conv1d", kConv, "in: [a, b], dims: { kernel: 4 }", causal_conv1d},
      {"conv_state", kVector8, "in: a, dims: { state: 2 }", conv_state},
      {"gate", "a: { op: hidden_input, dims: { dim: 8 } }; b: { op: hidden_input, dims: { dim: 1 } }",
       "in: [a, b]", gate},
      {"gate_heads", kStates.c_str(), "in: [x, w]", gate},
      {"head_mul", kHeads, "in: a, dims: { heads: 2 }", head_mul},
      {"repeat_heads", kHeads, "in: a, dims: { groups: 2, heads: 4 }", repeat_heads},
      {"join_tokens", kVector8, "in: a, dims: { t: 1, group: 3 }", join_tokens},
      {"pool_tokens", kVector8, "in: a, dims: { t: 1 }", pool_tokens},
      {"concat_tokens", kTower, "in: [a, b]", concat_tokens},
      {"repeat_tokens",
       "a: { op: hidden_input, dims: { dim: 8 } }; b: { op: hidden_input, dims: { dim: 1 } }",
       "in: [a, b], dims: { t: 5 }", repeat_tokens},
      {"pad_tokens", kVector8, "in: a, dims: { t: 5 }", with_tokens(5)},
      {"cut_tokens", kVector8, "in: a, dims: { t: 2 }", with_tokens(2)},
      {"place_tokens", kTower, "in: [a, b]", at_tokens(false)},
      {"add_at_tokens", kTower, "in: [a, b]", at_tokens(true)},
      {"ssd_state", kStates.c_str(), "in: [x, w, u, k]", ssd_state},
      {"ssd_read", kSsd.c_str(), "in: [s, c]", state_read(true)},
      {"selective_state", kSelective.c_str(), "in: [x, d, e]", selective_state},
      {"selective_read", kSelected.c_str(), "in: [s, e]", selective_read},
      {"delta_state", kStates.c_str(), "in: [k, x, w, u]", delta_state(false)},
      {"delta_state_channels", kStates.c_str(), "in: [f, x, f, w]", delta_state(true)},
      {"delta_read", kDelta.c_str(), "in: [s, c]", state_read(false)},
      {"linear_attention_state", kStates.c_str(), "in: [k, x]", linear_state},
  };
  return all;
}

// The walk of a model that is these entries alone.
std::shared_ptr<const Analysis> walked(const Case& row) {
  std::string model = "match: { architectures: [Tiny] }\nmodel:\n", entries = row.operands;
  entries += std::string("; y: { op: ") + row.op + ", " + row.node + " }";
  if (std::string(row.operands).find("y:") != std::string::npos)
    entries.replace(entries.rfind("; y:"), 4, "; z:");
  for (size_t at = 0; at < entries.size();) {
    const size_t end = std::min(entries.find(';', at), entries.size());
    const std::string entry = entries.substr(at, end - at);
    const size_t colon = entry.find(':'), open = entry.find('{');
    const size_t first = entry.find_first_not_of(' ');
    model += "  - { name: " + entry.substr(first, colon - first) + ", " + entry.substr(open + 1) + "\n";
    at = end + 1;
  }
  testing::Made made;
  made.config = "{}";
  made.files = {{"models/tiny.yaml", model}};
  base::Result<testing::Bound> bound = made.bind();
  EXPECT_TRUE(bound.ok()) << model << (bound.ok() ? "" : testing::messages(bound.faults()));
  if (!bound) return nullptr;
  base::Result<graph::SpecTree> tree =
      graph::build_tree(*bound->library, *bound->binding, graph::Phase::kPrefill);
  EXPECT_TRUE(tree.ok()) << model << (tree.ok() ? "" : testing::messages(tree.faults()));
  if (!tree) return nullptr;
  PhaseBinding at;
  at.batch = kBatch;
  at.s_query = at.s_ctx = kTokens;
  base::Result<std::shared_ptr<const Analysis>> out =
      walk(std::make_shared<const graph::SpecTree>(std::move(*tree)), at);
  EXPECT_TRUE(out.ok()) << model << (out.ok() ? "" : testing::messages(out.faults()));
  // The tree points into the library, which lives as long as the returned walk.
  static std::vector<testing::Bound> kept;
  kept.push_back(*bound);
  return out ? *out : nullptr;
}

Tensor filled(const Shape& shape, std::mt19937& random) {
  std::vector<int> axes;
  for (const expr::Expr& axis : shape) axes.push_back(static_cast<int>(*axis.integer()));
  Tensor out(axes);
  std::uniform_real_distribution<double> value(0.1, 2);  // positive: sums to divide by stay away from zero
  for (double& x : out.data) x = value(random);
  return out;
}

Tensor sum(const Tensor& a, const Tensor& b) {
  Tensor out = a;
  for (size_t i = 0; i < out.data.size(); ++i) out.data[i] += b.data[i];
  return out;
}

bool close(const Tensor& a, const Tensor& b) {
  for (size_t i = 0; i < a.data.size(); ++i)
    if (std::abs(a.data[i] - b.data[i]) > 1e-9 * (1 + std::abs(a.data[i]))) return false;
  return a.shape == b.shape;
}

TEST(OpMeaning, ShapeStepsAndPartialSums) {
  std::mt19937 random(20240607);
  for (const Case& row : cases()) {
    const std::shared_ptr<const Analysis> analysis = walked(row);
    ASSERT_TRUE(analysis) << row.op;
    const graph::NodeId id = static_cast<graph::NodeId>(analysis->tree->nodes.size() - 1);
    const graph::Node& node = analysis->tree->nodes[id];
    ASSERT_EQ(node.op->name, row.op);
    Tensors first, second, both;
    for (graph::NodeId in : node.in) {
      first.push_back(filled(analysis->shape[in], random));
      second.push_back(filled(analysis->shape[in], random));
      both.push_back(sum(first.back(), second.back()));
    }

    int64_t steps = 0;
    const Tensor out = row.f(first, steps);
    std::string shape = "[";
    for (size_t i = 0; i < out.shape.size(); ++i) shape += (i ? ", " : "") + std::to_string(out.shape[i]);
    EXPECT_EQ(testing::text_of(analysis->shape[id]), shape + "]") << row.op;
    EXPECT_EQ(expr::to_text(analysis->flops[id]), std::to_string(steps)) << row.op;

    int64_t ignored = 0;
    const auto f = [&](const Tensors& in) { return row.f(in, ignored); };
    bool each = true;
    for (size_t i = 0; i < first.size(); ++i) {
      if (static_cast<int>(i) + 1 == node.op->positions) continue;  // positions are no values to add up
      Tensors mixed = first, other = first;
      mixed[i] = both[i];
      other[i] = second[i];
      each = each && close(f(mixed), sum(f(first), f(other)));
    }
    const bool together = close(f(both), sum(f(first), f(second)));
    const spec::Partial judged = each       ? spec::Partial::kEach
                                 : together ? spec::Partial::kTogether
                                            : spec::Partial::kNone;
    EXPECT_EQ(spec::partial_name(node.op->partial), spec::partial_name(judged)) << row.op;
  }
}

// Rows without arithmetic of their own to run here are named, so that a new row does not slip by unseen.
TEST(OpMeaning, RowsLeftOut) {
  std::string left;
  for (const spec::Op& op : spec::builtin_ops())
    if (std::ranges::none_of(cases(), [&](const Case& row) { return op.name == row.op; }))
      left += (left.empty() ? "" : " ") + op.name;
  EXPECT_EQ(left,
            "embedding hidden_input tower_input tower_embedding learned_tokens stored_token patch_embed "
            "patch_embed_3d "
            "topk_keys topk_key_blocks topk take dispatch token_choice");
}

}  // namespace
}  // namespace archlight::analysis
