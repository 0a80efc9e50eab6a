#include "tests/differential/op_drawer.h"

#include <algorithm>

namespace spmd::testing {

void OpDrawer::step() {
  struct Choice {
    Draw draw;
    int weight;
  };
  static const std::vector<Choice> kChoices = {
      {&OpDrawer::elementwise, 8},
      {&OpDrawer::broadcast, 3},
      {&OpDrawer::reshape, 4},
      {&OpDrawer::transpose, 2},
      {&OpDrawer::slice, 3},
      {&OpDrawer::pad, 2},
      {&OpDrawer::concatenate, 3},
      {&OpDrawer::reverse, 1},
      {&OpDrawer::reduce, 5},
      {&OpDrawer::reduce_pair, 1},
      {&OpDrawer::dot, 6},
      {&OpDrawer::convolution, 3},
      {&OpDrawer::reduce_window, 2},
      {&OpDrawer::select_and_scatter, 1},
      {&OpDrawer::dynamic_slice, 2},
      {&OpDrawer::dynamic_update_slice, 2},
      {&OpDrawer::gather, 4},
      {&OpDrawer::scatter, 4},
      {&OpDrawer::sort, 1},
      {&OpDrawer::top_k, 1},
      {&OpDrawer::random_bits, 1},
      {&OpDrawer::loop, 3},
      {&OpDrawer::branch, 1},
      {&OpDrawer::barrier, 1},
      {&OpDrawer::fft, 2},
      {&OpDrawer::cholesky, 1},
      {&OpDrawer::complex, 2},
      {&OpDrawer::triangular_solve, 1},
      {&OpDrawer::special_function, 1},
      {&OpDrawer::propagation_barrier, 1},
      {&OpDrawer::sharding_group, 1},
  };
  int total = 0;
  for (const Choice& choice : kChoices) total += choice.weight;
  for (int attempt = 0; attempt < 20; ++attempt) {
    int64_t at = random_.below(total);
    size_t choice = 0;
    while (at >= kChoices[choice].weight) at -= kChoices[choice++].weight;
    const ValueId result = (this->*kChoices[choice].draw)(any());
    if (result == ValueId::kNone) continue;
    if (random_.chance(20)) constrained(result);
    if (random_.chance(5)) annotate(result);
    if (is_sum(result) && random_.chance(50)) linear_tail(result);
    return;
  }
}

ValueId OpDrawer::known(ValueId value, double bound) {
  if (!exact(bound) || type(value).num_elements() > 4000) return ValueId::kNone;
  return remember(value, bound);
}

ValueId OpDrawer::remember(ValueId value, double bound) {
  bounds_[value] = bound;
  pool_.push_back(value);
  return value;
}

ValueId OpDrawer::any() {
  const auto count = static_cast<int64_t>(pool_.size());
  const int64_t recent = random_.chance(70) ? std::max<int64_t>(0, count - 3) : 0;
  return pool_[static_cast<size_t>(random_.pick(recent, count - 1))];
}

int64_t OpDrawer::size() {
  if (random_.chance(1)) return 0;
  return random_.of(std::vector<int64_t>{1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 12, 13});
}

Dims OpDrawer::shape(int64_t rank) {
  Dims shape;
  int64_t elements = 1;
  for (int64_t d = 0; d < rank; ++d) {
    shape.push_back(size());
    while (elements * shape.back() > 400) shape.back() = (shape.back() + 1) / 2;
    elements *= std::max<int64_t>(1, shape.back());
  }
  return shape;
}

ValueId OpDrawer::argument(TensorType type) {
  fn_.argument_info.emplace_back();
  const double bound = type.dtype == DType::kBool ? 1 : is_float(type.dtype) ? 3 : 14;
  const ValueId value = fn_.add_block_argument(fn_.body(), std::move(type));
  if (random_.chance(70)) annotate(value);
  return remember(value, bound);
}

ValueId OpDrawer::scalar(DType dtype, double value) {
  const ValueId result = b_->scalar(dtype, value);
  bounds_[result] = std::abs(value);
  return result;
}

// A constant of some kind.
ValueId OpDrawer::source(const TensorType& type) {
  const auto element = [&] {
    return static_cast<double>(type.dtype == DType::kBool ? random_.below(2) : random_.pick(0, 3));
  };
  switch (random_.below(type.rank() == 0 || type.dtype == DType::kBool ? 2 : 4)) {
    case 0:
      return remember(b_->splat(type, element()), 3);
    case 1: {
      Literal literal(type);
      std::byte* out = literal.mutable_data();
      const auto size = static_cast<size_t>(byte_size(type.dtype));
      for (int64_t e = 0; e < type.num_elements(); ++e, out += size) {
        std::memcpy(out, Literal::splat({type.dtype, {}}, element()).data(), size);
      }
      return remember(b_->constant(std::move(literal)), 3);
    }
    case 2: {
      const int64_t dim = random_.below(type.rank());
      return remember(b_->iota(type, dim), static_cast<double>(type.dim(dim)));
    }
    default: {
      const ValueId value = argument({type.dtype, {}});
      return remember(b_->broadcast(value, type.shape, {}), bound(value));
    }
  }
}

ValueId OpDrawer::like(const TensorType& type) {
  std::vector<ValueId> same;
  for (ValueId value : pool_) {
    if (this->type(value) == type) same.push_back(value);
  }
  if (!same.empty() && random_.chance(60)) return random_.of(same);
  return random_.chance(65) ? argument(type) : source(type);
}

std::vector<int64_t> OpDrawer::some_dims(int64_t rank, int64_t at_least) {
  Dims dims;
  for (int64_t d = 0; d < rank; ++d) dims.push_back(d);
  random_.shuffle(dims);
  dims.resize(
      static_cast<size_t>(std::min(rank, random_.pick(at_least, std::max(at_least, rank)))));
  std::sort(dims.begin(), dims.end());
  return dims;
}

// ---- shardings

Sharding OpDrawer::sharding(int64_t rank) {
  Sharding sharding = Sharding::replicate(rank);
  for (DimSharding& dim : sharding.dims) {
    dim.open = random_.chance(60);
    if (random_.chance(8)) dim.priority = static_cast<int>(random_.below(3));
  }
  AxisList pieces;
  for (int axis = 0; axis < mesh_.num_axes(); ++axis) {
    if (mesh_.axis_size(axis) == 4 && random_.chance(30)) {
      pieces.push_back({axis, 1, 2});
      pieces.push_back({axis, 2, 2});
    } else {
      pieces.push_back({axis, 1, 0});
    }
  }
  random_.shuffle(pieces);
  for (const AxisRef& piece : pieces) {
    if (rank > 0 && random_.chance(65)) {
      AxisList& axes = sharding.dims[static_cast<size_t>(random_.below(rank))].axes;
      axes.push_back(piece);
    } else if (random_.chance(10)) {
      sharding.replicated.push_back(piece);
    }
  }
  // Neighbouring parts of an axis are that axis.
  for (DimSharding& dim : sharding.dims) dim.axes = from_atoms(to_atoms(dim.axes, mesh_), mesh_);
  return sharding;
}

void OpDrawer::annotate(ValueId value) {
  fn_.value(value).sharding = std::make_shared<const Sharding>(sharding(type(value).rank()));
}

ValueId OpDrawer::constrained(ValueId value) {
  return known(
      b_->value(OpCode::kShardingConstraint, {value}, ReshardAttrs{sharding(type(value).rank())}),
      bound(value));
}

}  // namespace spmd::testing
