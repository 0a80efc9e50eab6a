// dot_general: operands brought to [batch, rows, contracted] and [batch, contracted, columns].
#include "ir/eval/elements.h"
#include "ir/eval/eval.h"
#include "ir/eval/matmul.h"
#include "ir/eval/product_type.h"
#include "ir/eval/strided.h"

namespace spmd::eval {
namespace {

// The dimensions that are in neither list.
Dims free_dims(size_t rank, const Dims& batch, const Dims& contracting) {
  std::vector<bool> used(rank, false);
  for (int64_t d : batch) used[at(d)] = true;
  for (int64_t d : contracting) used[at(d)] = true;
  Dims free;
  for (size_t d = 0; d < rank; ++d) {
    if (!used[d]) free.push_back(static_cast<int64_t>(d));
  }
  return free;
}

int64_t product_of(const Dims& shape, const Dims& dims) {
  int64_t product = 1;
  for (int64_t d : dims) product *= shape[at(d)];
  return product;
}

Dims joined(const Dims& first, const Dims& second, const Dims& third) {
  Dims dims = first;
  dims.insert(dims.end(), second.begin(), second.end());
  dims.insert(dims.end(), third.begin(), third.end());
  return dims;
}

// `x` as the algorithm sees it: rounded to `dtype`, or to the sum of several numbers of that type
// when the algorithm splits its operands for more products.
Literal rounded_operand(const Literal& x, DType dtype, int components) {
  const Literal exact = widen(x);
  Literal sum = widen(convert(exact, dtype));
  if (exact.type().dtype != DType::kF32) return sum;
  for (int i = 1; i < components; ++i) {
    const auto combined = [&](const Literal& a, const Literal& b, float sign) {
      Literal result(a.type());
      const Elements<float> left(a), right(b);
      float* to = result.mutable_as<float>();
      for (int64_t k = 0; k < result.type().num_elements(); ++k) to[k] = left[k] + sign * right[k];
      return result;
    };
    const Literal rest = combined(exact, sum, -1.0f);
    sum = combined(sum, widen(convert(rest, dtype)), 1.0f);
  }
  return sum;
}

int components_of(const DotAlgorithm& algorithm, int stated) {
  // Algorithms may say only how many products they make of the components.
  const int implied = algorithm.primitive_operations >= 6   ? 3
                      : algorithm.primitive_operations >= 3 ? 2
                                                            : 1;
  return std::max(stated, implied);
}

}  // namespace

Literal eval_dot_general(const Invocation& in) {
  const auto& attrs = in.attrs<DotAttrs>();
  const TensorType& type = in.result_type();
  Literal lhs = in.operands[0], rhs = in.operands[1];
  DType sums = product_type(lhs.type().dtype, rhs.type().dtype, type.dtype);
  if (attrs.algorithm) {
    const DotAlgorithm& algorithm = *attrs.algorithm;
    lhs = rounded_operand(lhs, algorithm.lhs, components_of(algorithm, algorithm.lhs_components));
    rhs = rounded_operand(rhs, algorithm.rhs, components_of(algorithm, algorithm.rhs_components));
    sums = accumulation_type(algorithm.accumulation);
  }
  const Dims lhs_free = free_dims(lhs.type().shape.size(), attrs.lhs_batch, attrs.lhs_contracting);
  const Dims rhs_free = free_dims(rhs.type().shape.size(), attrs.rhs_batch, attrs.rhs_contracting);
  const int64_t batch = product_of(lhs.type().shape, attrs.lhs_batch);
  const int64_t m = product_of(lhs.type().shape, lhs_free);
  const int64_t n = product_of(rhs.type().shape, rhs_free);
  const int64_t k = product_of(lhs.type().shape, attrs.lhs_contracting);
  lhs = permuted(convert(lhs, sums), joined(attrs.lhs_batch, lhs_free, attrs.lhs_contracting));
  rhs = permuted(convert(rhs, sums), joined(attrs.rhs_batch, attrs.rhs_contracting, rhs_free));

  Literal result(type.with_dtype(sums));
  with_product_type(sums, [&]<typename T>(std::type_identity<T>) {
    T* c = result.mutable_as<T>();
    for (int64_t i = 0; i < batch; ++i) {
      matmul<T>(m, n, k, lhs.as<T>() + i * m * k, rhs.as<T>() + i * k * n, n, c + i * m * n, n);
    }
  });
  if (attrs.algorithm) result = convert(result, attrs.algorithm->accumulation);
  return convert(result, type.dtype);
}

}  // namespace spmd::eval
