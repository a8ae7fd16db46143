// What each op computes, run on tiny tensors of doubles and held against its row: the output's shape, the
// count of arithmetic steps, and whether a partial sum may pass.
//
// A step is one multiplication, addition, comparison, division or exp. Partial is judged from the numbers
// alone: each when f is linear in every operand by itself, together when in all at once, none otherwise.
#include <gtest/gtest.h>

#include <cmath>
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
  double& at(int row, int i) { return data[static_cast<size_t>(row * last() + i)]; }
  double at(int row, int i) const { return data[static_cast<size_t>(row * last() + i)]; }
  double& at(int a, int b, int c, int d) {
    return data[static_cast<size_t>(((a * shape[1] + b) * shape[2] + c) * shape[3] + d)];
  }
  double at(int a, int b, int c, int d) const {
    return data[static_cast<size_t>(((a * shape[1] + b) * shape[2] + c) * shape[3] + d)];
  }
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
      {"attention_score", kQueryKey, "in: [a, b]", score},
      {"attention_softmax", kScores.c_str(), "in: s", causal_softmax},
      {"attention_apply", kScores.c_str(), "in: [s, b]", apply},
      {"combine",
       "e: { op: hidden_input, dims: { dim: 8 } }; b: { op: hidden_input, dims: { dim: 2 } };"
       "a: { op: dispatch, in: [e, b] }",
       "in: [a, b]", combine},
      {"last_tokens", kVector8, "in: a", last_token},
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
  EXPECT_EQ(left, "embedding hidden_input topk take dispatch");
}

}  // namespace
}  // namespace archlight::analysis
