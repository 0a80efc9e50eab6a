// What the host hands to the kernels of this folder, by value. Strides are in elements.
#pragma once

#include <cstdint>

namespace spmd::cuda {

constexpr int kMostDims = 8;

// An index space of fewer than 2^31 points.
struct Space {
  uint32_t count = 1;
  int32_t rank = 0;
  uint32_t shape[kMostDims] = {};
};

// A start index that the program computes: an integer of `bytes` bytes at `at`.
struct StartIndex {
  const void* at = nullptr;
  int32_t bytes = 0;
  int32_t is_signed = 0;
  int64_t limit = 0;   // it is clamped to [0, limit]
  int64_t stride = 0;  // what one step of it moves
};

// out[...] = in[...], one of the two moved by start indices.
struct CopyParameters {
  Space space;
  int64_t in[kMostDims] = {}, out[kMostDims] = {};
  int32_t starts = 0;
  int32_t moves_out = 0;  // the starts move `out`; else `in`
  StartIndex start[kMostDims];
};

// Of one element; the codes of convert kernels.
enum class Float : int32_t { kF16, kBf16, kF32, kF64 };

// out[...] = in[...], rounded to `round`, then converted.
struct ConvertParameters {
  Space space;
  int64_t in[kMostDims] = {}, out[kMostDims] = {};
  Float from = Float::kF32, round = Float::kF32, to = Float::kF32;
};

// The space is the result's: batch dimensions step through the indices (and, when batching, the
// operand), offset dimensions through the operand.
struct GatherParameters {
  Space space;
  int64_t out[kMostDims] = {}, indices[kMostDims] = {}, operand[kMostDims] = {};
  int32_t components = 0;
  int32_t index_bytes = 0, index_is_signed = 0;
  int64_t component_stride = 0;  // in the indices
  int64_t limit[kMostDims] = {}, stride[kMostDims] = {};
};

enum class Combine : int32_t { kReplace, kAdd, kMultiply, kMaximum, kMinimum, kAnd, kOr };

// Updates are grouped by where they go: first `keys` get (place << 32 | number) of each update, or
// all ones where it goes nowhere; sorted, equal places are neighbours in the order of the updates.
struct ScatterParameters {
  Space batch;  // of the updates; its count is a number of updates
  int64_t indices[kMostDims] = {}, updates[kMostDims] = {}, base[kMostDims] = {};
  int32_t components = 0;
  int32_t index_bytes = 0, index_is_signed = 0;
  int64_t component_stride = 0;
  int64_t size[kMostDims] = {};    // of the operand along each component
  int64_t stride[kMostDims] = {};  // of the result along each component
  Space window;                    // of one update
  int64_t window_updates[kMostDims] = {}, window_out[kMostDims] = {};
  Combine combine = Combine::kReplace;
  uint32_t slots = 0;  // of keys: a power of two, at least batch.count
};

struct WindowParameters {
  Space positions;               // of the window
  int64_t base[kMostDims] = {};  // shape that windows lie on
  int32_t size[kMostDims] = {}, stride[kMostDims] = {}, base_dilation[kMostDims] = {},
          dilation[kMostDims] = {}, pad_low[kMostDims] = {};
  int64_t base_strides[kMostDims] = {}, position_strides[kMostDims] = {};
};

struct ReduceWindowParameters {
  WindowParameters window;
  Combine combine = Combine::kAdd;
};

enum class Select : int32_t { kGe, kGt, kLe, kLt };

struct SelectAndScatterParameters {
  WindowParameters window;  // on the operand; positions are the source's
  Space out;                // the operand's shape
  int64_t out_strides[kMostDims] = {};
  Select select = Select::kGe;
  Combine combine = Combine::kAdd;
};

// Threefry: neighbours along one dimension share a counter, which makes the tensor
// [outer][size][inner]. Philox: the tensor is one line.
struct RandomParameters {
  Space space;
  int64_t out[kMostDims] = {};
  uint32_t size = 1, inner = 1;
  int32_t element_bytes = 0;
  int32_t state_words = 2;
  int64_t state_stride = 1, state_out_stride = 1;
  uint64_t counters = 0;  // used in all
};

// A block of a draw (runtime/random_draw.h).
struct DrawParameters {
  Space space;  // the block's
  int64_t global[kMostDims] = {}, local[kMostDims] = {};
  int64_t first = 0;  // the place of the block's first element in the global tensor
  uint64_t seed = 0;
  double deviation = 0;
  Float type = Float::kF32;
};

struct ConvolutionParameters {
  Space out;  // batch, feature, spatial...
  int64_t out_strides[kMostDims] = {}, in_strides[kMostDims] = {}, kernel_strides[kMostDims] = {};
  int64_t in_shape[kMostDims] = {};
  int32_t spatial = 0;
  int32_t size[kMostDims] = {}, stride[kMostDims] = {}, base_dilation[kMostDims] = {},
          dilation[kMostDims] = {}, pad_low[kMostDims] = {}, reversed[kMostDims] = {};
  int32_t in_features = 0;     // of a group
  int32_t group_features = 0;  // of the result, per feature group
  int32_t batch_groups = 1;
  int32_t batch_group_features = 0;  // of the result, per batch group
};

}  // namespace spmd::cuda
