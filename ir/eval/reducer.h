// Reducer: a reduction computation, applied to many elements at a time.
#pragma once

#include <optional>

#include "ir/eval/eval.h"
#include "ir/eval/strided.h"

namespace spmd::eval {

// The computation of a reduce, scatter, window or collective op over N accumulators: a region of 2N
// scalar arguments. A region that is one commutative op runs as a typed loop and accumulates narrow
// floats in float32; any other is called element by element, in its own types.
class Reducer {
 public:
  Reducer(const Invocation& in, BlockId region);
  Reducer(const Function& fn, BlockId region, const RegionCall& call_region);

  // The value in the type that accumulator `i` is kept in.
  Literal widened(const Literal& value, size_t i = 0) const;
  // Accumulator `i` for a result of this shape, every element at the initial value.
  Literal accumulator(const Literal& init, const Dims& shape, size_t i = 0) const;
  // An accumulator rounded to the type of the result.
  static Literal finished(const Literal& accumulator, DType result);

  // acc[i] = f(acc[i], x[i]) for `shape` elements in row-major order, for all accumulators at once.
  // The accumulators and `x` are widened. Elements may repeat in the view of the accumulators.
  void combine(Dims shape, std::span<Literal> acc, View acc_view, std::span<const Literal> x,
               View x_view) const;

 private:
  void combine_by_calls(const Dims& shape, std::span<Literal> acc, const View& acc_view,
                        std::span<const Literal> x, const View& x_view) const;

  BlockId region_;
  const RegionCall& call_region_;
  std::vector<DType> types_;      // element types of the region's arguments
  std::optional<OpCode> op_;      // when the region is one op
  bool forwards_update_ = false;  // when the region returns its second argument
};

}  // namespace spmd::eval
