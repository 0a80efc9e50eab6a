// Windows along a sharded dimension: the rows of the operand that each rank's results look at.
#pragma once

#include <cstdint>

#include "collectives/planning/rank_function.h"

namespace spmd {

// Result j looks, for 0 <= k < size, at place j * stride + k * window_dilation - low of the operand
// with base_dilation - 1 holes after each row. Slices, pads, reduce windows and convolutions are
// windows so described.
struct WindowDim {
  int64_t size = 1, stride = 1, base_dilation = 1, window_dilation = 1, low = 0;
};

// The same op for one rank: on `rows` rows of the operand from first[r] on (which may lie outside
// of it), with paddings `low` and `high`, it makes `results` results of which those from skip[r] on
// are the rank's block.
struct LocalWindow {
  int64_t rows = 1, low = 0, high = 0, results = 1;
  RankFunction first, skip;
  RankFunction count;  // leading rows that results of the whole op look at
};

// Of an op with `results` results, of which rank r makes `block` from r * block on. All ranks make
// results at the same phase of the holes: where blocks do not start at it, a few more than needed.
LocalWindow local_window(const WindowDim& window, int64_t results, int64_t block, int64_t ranks);

}  // namespace spmd
