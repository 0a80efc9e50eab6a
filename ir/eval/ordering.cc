// sort (always stable) and top_k.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "ir/eval/elements.h"
#include "ir/eval/eval.h"
#include "ir/eval/strided.h"

namespace spmd::eval {
namespace {

using Order = std::vector<int64_t>;

// Merge sort that asks only `before(a, b)`. Any answers are safe, also of a comparator that is no
// order at all, where std::stable_sort is undefined.
template <typename Before>
void merge_sort(Order& order, Before&& before) {
  Order merged(order.size());
  const size_t n = order.size();
  for (size_t width = 1; width < n; width *= 2) {
    for (size_t left = 0; left < n; left += 2 * width) {
      const size_t middle = std::min(left + width, n), right = std::min(left + 2 * width, n);
      size_t a = left, b = middle;
      for (size_t to = left; to < right; ++to) {
        const bool take_right = a == middle || (b < right && before(order[b], order[a]));
        merged[to] = take_right ? order[b++] : order[a++];
      }
    }
    order.swap(merged);
  }
}

Literals sort(const Invocation& in) {
  const auto& shape = in.operands[0].type().shape;
  const auto dim = static_cast<size_t>(in.attrs<SortAttrs>().dim);
  const size_t n = in.operands.size();
  const Dims strides = row_major_strides(shape);
  Literals sources, results;
  for (const Literal& operand : in.operands) {
    sources.push_back(operand.expanded());
    results.emplace_back(operand.type());
  }
  const auto scalar = [&](size_t k, int64_t flat) {
    const DType dtype = sources[k].type().dtype;
    return Literal::splat({dtype, {}},
                          static_cast<const void*>(sources[k].data() + flat * byte_size(dtype)));
  };
  const auto before = [&](int64_t a, int64_t b) {
    Literals arguments;
    for (size_t k = 0; k < n; ++k) {
      arguments.push_back(scalar(k, a));
      arguments.push_back(scalar(k, b));
    }
    return in.call_region(in.op.regions[0], std::move(arguments))[0].as_int(0) != 0;
  };

  Dims lines = shape;
  lines[dim] = std::min<int64_t>(shape[dim], 1);
  Order order(static_cast<size_t>(shape[dim]));
  for_each_index(lines, [&](const Dims& index) {
    int64_t base = 0;
    for (size_t d = 0; d < index.size(); ++d) base += index[d] * strides[d];
    for (size_t i = 0; i < order.size(); ++i) {
      order[i] = base + static_cast<int64_t>(i) * strides[dim];
    }
    merge_sort(order, before);
    for (size_t k = 0; k < n; ++k) {
      const int64_t size = byte_size(sources[k].type().dtype);
      std::byte* to = results[k].mutable_data();
      for (size_t i = 0; i < order.size(); ++i) {
        std::memcpy(to + (base + static_cast<int64_t>(i) * strides[dim]) * size,
                    sources[k].data() + order[i] * size, static_cast<size_t>(size));
      }
    }
  });
  return results;
}

// Whether `a` is the greater in total order, every NaN being the greatest.
template <typename T>
bool greater(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
    if (a == b) return !std::signbit(a) && std::signbit(b);
    return a > b;
  } else if constexpr (std::is_integral_v<T>) {
    return a > b;
  } else {
    SPMD_UNREACHABLE("top_k of complex numbers");
  }
}

// Equal elements come in the order of their indices.
Literals top_k(const Literal& operand, int64_t k, const TensorType& values_type,
               const TensorType& indices_type) {
  const int64_t length = operand.type().shape.back();
  const Literal keys = widen(operand).expanded();
  Literal indices({DType::kS32, indices_type.shape});
  Literal values(keys.type().with_shape(values_type.shape));
  const int64_t lines = length == 0 ? 0 : keys.type().num_elements() / length;
  with_type(keys.type().dtype, [&]<typename T>(std::type_identity<T>) {
    T* value = values.mutable_as<T>();
    int32_t* index = indices.mutable_as<int32_t>();
    Order order(static_cast<size_t>(length));
    for (int64_t line = 0; line < lines; ++line) {
      const T* from = keys.as<T>() + line * length;
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
        return greater(from[a], from[b]) || (!greater(from[b], from[a]) && a < b);
      });
      for (int64_t i = 0; i < k; ++i) {
        *value++ = from[order[static_cast<size_t>(i)]];
        *index++ = static_cast<int32_t>(order[static_cast<size_t>(i)]);
      }
    }
  });
  return {convert(values, values_type.dtype), convert(indices, indices_type.dtype)};
}

}  // namespace

Literals eval_ordering(const Invocation& in) {
  if (in.op.code == OpCode::kSort) return sort(in);
  return top_k(in.operands[0], in.attrs<TopKAttrs>().k, in.result_type(0), in.result_type(1));
}

}  // namespace spmd::eval
