// How kernels walk over strided operands: dimensions put in the order of memory, neighbours joined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spmd::cpu {

// The strides of several operands over one index space.
struct Iteration {
  std::vector<int64_t> shape;
  std::vector<std::vector<int64_t>> strides;  // [operand][dimension]

  std::size_t rank() const { return shape.size(); }
  int64_t count() const {
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    return count;
  }
  int64_t stride(std::size_t operand, std::size_t dim) const { return strides[operand][dim]; }
};

// Drops dimensions of size 1.
void drop_unit_dims(Iteration& it);

// Orders dimensions so that the strides of operand `leader`, then of the others, fall.
void sort_dims(Iteration& it, std::size_t leader);

// Joins dimensions that every operand walks through as one.
void join_dims(Iteration& it);

// Counts through the outer dimensions of an index space, keeping one offset per operand.
class Odometer {
 public:
  // Over dimensions [0, dims) of `it`.
  Odometer(const Iteration& it, std::size_t dims) : it_(&it), dims_(dims), index_(dims) {
    offsets_.resize(it.strides.size());
  }
  void reset() {
    index_.assign(dims_, 0);
    offsets_.assign(offsets_.size(), 0);
  }
  int64_t offset(std::size_t operand) const { return offsets_[operand]; }
  const std::vector<int64_t>& index() const { return index_; }
  // False when all have been visited; the odometer is then back at its start.
  bool next() {
    for (std::size_t d = dims_; d-- > 0;) {
      if (++index_[d] < it_->shape[d]) {
        for (std::size_t o = 0; o < offsets_.size(); ++o) offsets_[o] += it_->strides[o][d];
        return true;
      }
      for (std::size_t o = 0; o < offsets_.size(); ++o)
        offsets_[o] -= (it_->shape[d] - 1) * it_->strides[o][d];
      index_[d] = 0;
    }
    return false;
  }

 private:
  const Iteration* it_;
  std::size_t dims_;
  std::vector<int64_t> index_, offsets_;
};

}  // namespace spmd::cpu
