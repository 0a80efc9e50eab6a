// Which of the three operations of a convolution library a convolution of a Plan is.
//
// Libraries know a convolution y = x * w and its two gradients. Programs write all three as
// convolutions, which differ in dilations, padding, reversal and the order of dimensions. With
// t of `dilation` and `stride`, for each spatial dimension and every group:
//
//   forward        y[n, k, p] = sum over c, t of x[n, c, i(p, t)] w[k, c, t]
//   gradient of x  x[n, c, q] = sum over k, p, t with i(p, t) = q of y[n, k, p] w[k, c, t]
//   gradient of w  w[k, c, t] = sum over n, p of x[n, c, i(p, t)] y[n, k, p]
//
// with i(p, t) = p stride + t dilation - pre,
// where x is 0 outside, and taps that the program counts from the last one are so by their strides;
// the size of y is 1 + (x + pre + post - (w - 1) dilation - 1) / stride.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"

namespace spmd {

enum class ConvolutionKind { kForward, kDataGradient, kFilterGradient };

// A part of a view: [outer, inner, feature, spatial...], where (outer, inner) together are the
// library's first dimension, taken apart where the groups of a kernel lie otherwise.
struct ConvolutionTensor {
  std::vector<int64_t> shape, strides;  // elements
  int64_t offset = 0;                   // elements, from the view's first one

  // [first, feature, spatial...] as the library has it.
  std::vector<int64_t> dims() const;
};

struct ConvolutionForm {
  ConvolutionKind kind = ConvolutionKind::kForward;
  // x and y are [batch, feature, spatial...], w [feature of y, feature of x in a group,
  // spatial...].
  ConvolutionTensor x, w, y;
  std::vector<int64_t> stride, dilation, pre, post;  // none negative
};

// All that describe the convolution exactly, the most natural one first; none when it is of another
// kind. There are two or three spatial dimensions, some of size 1 where the Plan has fewer.
std::vector<ConvolutionForm> convolution_forms(const plan::Convolution& step);

}  // namespace spmd
