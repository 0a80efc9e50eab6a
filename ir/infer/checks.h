// What the rules of all families check and compute.
#pragma once

#include <vector>

#include "ir/builder.h"
#include "ir/type_format.h"

namespace spmd::infer {

using Types = std::vector<TensorType>;

// Throws UserError(fact) without a place: who creates the op knows it.
[[noreturn]] void reject(const std::string& fact);

inline void require(bool condition, const char* fact) {
  if (!condition) [[unlikely]]
    reject(fact);
}

// Formats the fact only when it is needed: this runs for every op that is created or verified.
template <typename... Args>
void require(bool condition, fmt::format_string<const Args&...> fact,
             const Args&... args) requires(sizeof...(Args) > 0) {
  if (!condition) [[unlikely]]
    reject(fmt::format(fact, args...));
}

void require_count(const Types& in, size_t count);
void require_same_shape(const TensorType& a, const TensorType& b);
void require_dim(int64_t dim, int64_t rank, const char* what);
void require_dims(const Dims& dims, int64_t rank, const char* what);

// Attributes beyond this belong to no tensor that fits in memory; sums of a few below it do not
// overflow.
inline constexpr int64_t kLargest = kMaxTensorBytes;
// Of strides and dilations, which are multiplied by strides of elements.
inline constexpr int64_t kLargestStep = int64_t{1} << 31;

// The extent of `size` elements with dilation - 1 holes between them.
int64_t dilated(int64_t size, int64_t dilation);
void require_padding(int64_t low, int64_t high);

// Number of window positions along a dimension.
int64_t window_positions(int64_t size, int64_t window, int64_t stride, int64_t low, int64_t high,
                         int64_t base_dilation, int64_t window_dilation);

// Of the parts of complex numbers; other types are their own.
DType real_type(DType dtype);

}  // namespace spmd::infer
