// attention and attention_backward, by their definition (ir/attrs.h).
#include <algorithm>
#include <cmath>

#include "ir/eval/elements.h"
#include "ir/eval/eval.h"

namespace spmd::eval {
namespace {

// Sizes, and flat indices of elements.
struct Layout {
  int64_t batch, queries, heads, groups, size, keys, value_size;

  int64_t query(int64_t b, int64_t t, int64_t h, int64_t g) const {
    return ((b * queries + t) * heads + h) * groups + g;
  }
  int64_t key(int64_t b, int64_t s, int64_t h) const { return (b * keys + s) * heads + h; }
  int64_t row(int64_t b, int64_t h, int64_t g, int64_t t) const {
    return ((b * heads + h) * groups + g) * queries + t;
  }
};

Layout layout_of(std::span<const Literal> operands) {
  const Dims& q = operands[0].type().shape;
  const Dims& v = operands[2].type().shape;
  return {q[0], q[1], q[2], q[3], q[4], v[1], v[3]};
}

template <typename F>
void for_each_query(const Layout& l, F&& f) {
  for (int64_t b = 0; b < l.batch; ++b) {
    for (int64_t h = 0; h < l.heads; ++h) {
      for (int64_t g = 0; g < l.groups; ++g) {
        for (int64_t t = 0; t < l.queries; ++t) f(b, t, h, g);
      }
    }
  }
}

template <typename T>
T dot(const Elements<T>& a, int64_t a_row, const Elements<T>& b, int64_t b_row, int64_t size) {
  T sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += a[a_row * size + i] * b[b_row * size + i];
  return sum;
}

// The scaled products of a query with the keys that it sees.
template <typename T>
std::vector<T> scores(const Layout& l, const AttentionAttrs& attrs, const Elements<T>& query,
                      const Elements<T>& key, int64_t b, int64_t t, int64_t h, int64_t g) {
  const int64_t seen = attrs.causal ? std::min(l.keys, t + 1) : l.keys;
  std::vector<T> row;
  for (int64_t s = 0; s < seen; ++s) {
    row.push_back(dot(query, l.query(b, t, h, g), key, l.key(b, s, h), l.size) *
                  static_cast<T>(attrs.scale));
  }
  return row;
}

// Numbers of the accumulation type, rounded to the operands' type and back.
template <typename T>
std::vector<T> rounded(const std::vector<T>& row, DType sums, DType dtype) {
  Literal literal({sums, {static_cast<int64_t>(row.size())}});
  std::copy(row.begin(), row.end(), literal.mutable_as<T>());
  const Literal back = convert(convert(literal, dtype), sums).expanded();
  return std::vector<T>(back.as<T>(), back.as<T>() + row.size());
}

template <typename T>
Literals forward(const Invocation& in, std::span<const Literal> operands) {
  const Layout l = layout_of(operands);
  const auto& attrs = in.attrs<AttentionAttrs>();
  const DType sums = operands[0].type().dtype;
  const Elements<T> query(operands[0]), key(operands[1]), value(operands[2]);
  Literal output(in.result_type(0).with_dtype(sums)), statistics(in.result_type(1));
  T* out = output.mutable_as<T>();
  T* stats = statistics.mutable_as<T>();
  for_each_query(l, [&](int64_t b, int64_t t, int64_t h, int64_t g) {
    std::vector<T> row = scores(l, attrs, query, key, b, t, h, g);
    const T largest = *std::max_element(row.begin(), row.end());
    T sum = 0;
    for (T& x : row) sum += x = std::exp(x - largest);
    for (T& x : row) x /= sum;
    stats[l.row(b, h, g, t)] = largest + std::log(sum);
    row = rounded(row, sums, in.result_type(0).dtype);
    for (int64_t e = 0; e < l.value_size; ++e) {
      T total = 0;
      for (size_t s = 0; s < row.size(); ++s) {
        total += row[s] * value[l.key(b, static_cast<int64_t>(s), h) * l.value_size + e];
      }
      out[l.query(b, t, h, g) * l.value_size + e] = total;
    }
  });
  return {convert(output, in.result_type(0).dtype), statistics};
}

// With p the probabilities and d the products of the output's gradient with the values, the scores
// have the gradient p * (d - sum of p * d), and that sum is the output times its gradient.
template <typename T>
Literals backward(const Invocation& in, std::span<const Literal> operands) {
  const Layout l = layout_of(operands);
  const auto& attrs = in.attrs<AttentionAttrs>();
  const DType dtype = in.result_type(0).dtype, sums = operands[0].type().dtype;
  const Elements<T> query(operands[0]), key(operands[1]), value(operands[2]), output(operands[3]),
      statistics(operands[4]), gradient(operands[5]);
  Literals results;
  for (size_t i = 0; i < 3; ++i) {
    results.emplace_back(in.result_type(i).with_dtype(sums));
    std::fill_n(results[i].mutable_as<T>(), results[i].type().num_elements(), T{0});
  }
  T* d_query = results[0].mutable_as<T>();
  T* d_key = results[1].mutable_as<T>();
  T* d_value = results[2].mutable_as<T>();
  for_each_query(l, [&](int64_t b, int64_t t, int64_t h, int64_t g) {
    const int64_t q = l.query(b, t, h, g);
    std::vector<T> p = scores(l, attrs, query, key, b, t, h, g), d_scores;
    for (T& x : p) x = std::exp(x - statistics[l.row(b, h, g, t)]);
    const T mean = dot(gradient, q, output, q, l.value_size);
    for (size_t s = 0; s < p.size(); ++s) {
      const T d = dot(gradient, q, value, l.key(b, static_cast<int64_t>(s), h), l.value_size);
      d_scores.push_back(p[s] * (d - mean) * static_cast<T>(attrs.scale));
    }
    p = rounded(p, sums, dtype);
    d_scores = rounded(d_scores, sums, dtype);
    for (size_t s = 0; s < p.size(); ++s) {
      const int64_t k = l.key(b, static_cast<int64_t>(s), h);
      for (int64_t i = 0; i < l.size; ++i) {
        d_query[q * l.size + i] += d_scores[s] * key[k * l.size + i];
        d_key[k * l.size + i] += d_scores[s] * query[q * l.size + i];
      }
      for (int64_t e = 0; e < l.value_size; ++e) {
        d_value[k * l.value_size + e] += p[s] * gradient[q * l.value_size + e];
      }
    }
  });
  for (Literal& result : results) result = convert(result, dtype);
  return results;
}

}  // namespace

Literals eval_attention(const Invocation& in) {
  Literals operands;
  for (const Literal& operand : in.operands) operands.push_back(widen(operand).expanded());
  const bool is_forward = in.op.code == OpCode::kAttention;
  if (operands[0].type().dtype == DType::kF64) {
    return is_forward ? forward<double>(in, operands) : backward<double>(in, operands);
  }
  return is_forward ? forward<float>(in, operands) : backward<float>(in, operands);
}

}  // namespace spmd::eval
