// Index-parallel gather and scatter: every rank serves the indices that fall into its block.
#include <algorithm>

#include "passes/partition/local_op.h"

namespace spmd {
namespace {

// One scalar per component of the index vectors, as a tensor of the indices' shape.
ValueId per_component(Builder& builder, const TensorType& indices, int64_t index_vector_dim,
                      const std::vector<ValueId>& scalars) {
  if (scalars.size() == 1) return builder.broadcast(scalars[0], indices.shape, {});
  std::vector<ValueId> parts;
  for (ValueId scalar : scalars) parts.push_back(builder.reshape(scalar, {1}));
  const ValueId vector = builder.value(OpCode::kConcatenate, parts, ConcatenateAttrs{0});
  return builder.broadcast(vector, indices.shape, {index_vector_dim});
}

std::vector<ValueId> constants(Builder& builder, DType dtype, const std::vector<int64_t>& values) {
  std::vector<ValueId> scalars;
  for (int64_t value : values) {
    scalars.push_back(builder.scalar(dtype, static_cast<double>(value)));
  }
  return scalars;
}

// Axes that shard a dimension of the operand that indices address. Along a dimension that slices
// span, every index means the same place on every rank.
AtomList indexed_axes(const LocalOp& local, int64_t dim) {
  const DimFactors& factors = local.rule.operands[0].dims[static_cast<size_t>(dim)];
  const bool indexed =
      !factors.empty() &&
      local.rule.factors[static_cast<size_t>(factors[0])].kind == FactorKind::kIndexed;
  return indexed ? local.operand_axes(0, dim) : AtomList{};
}

// First index of this rank's block along each indexed dimension; zero where it is whole.
std::vector<ValueId> block_starts(LocalOp& local, const Dims& index_map, DType dtype) {
  std::vector<ValueId> starts;
  for (int64_t dim : index_map) {
    const AtomList axes = indexed_axes(local, dim);
    const int64_t size = local.global.type(local.op.operands[0]).dim(dim);
    starts.push_back(axes.empty() ? local.builder.scalar(dtype, 0)
                                  : axis_offset(local.builder, axes, local.atoms, dtype,
                                                size / local.atoms.extent(axes)));
  }
  return starts;
}

bool any_sharded(const LocalOp& local, const Dims& index_map) {
  return std::any_of(index_map.begin(), index_map.end(),
                     [&](int64_t dim) { return !indexed_axes(local, dim).empty(); });
}

// All components in range, per index vector: the indices' shape without the vector dimension.
ValueId all_components(Builder& builder, ValueId in_range, int64_t index_vector_dim) {
  const TensorType type = builder.function().type(in_range);
  if (index_vector_dim == type.rank()) return in_range;
  if (type.dim(index_vector_dim) == 1) {
    Dims shape = type.shape;
    shape.erase(shape.begin() + index_vector_dim);
    return builder.reshape(in_range, shape);
  }
  return builder.reduce(in_range, builder.scalar(DType::kBool, 1), {index_vector_dim},
                        OpCode::kAnd);
}

}  // namespace

ValueId create_local_gather(LocalOp& local) {
  Builder& b = local.builder;
  Function& fn = b.function();
  auto& attrs = std::get<GatherAttrs>(local.attrs);
  const TensorType operand = local.global.type(local.op.operands[0]);
  const TensorType local_operand = fn.type(local.operands[0]);
  const auto contains = [](const Dims& dims, int64_t dim) {
    return std::find(dims.begin(), dims.end(), dim) != dims.end();
  };
  for (size_t d = 0; d < attrs.slice_sizes.size(); ++d) {
    // Slices that span the operand span it still; those of one element stay one element.
    const auto dim = static_cast<int64_t>(d);
    const bool single =
        contains(attrs.collapsed_slice_dims, dim) || contains(attrs.operand_batching_dims, dim);
    if (!single && attrs.slice_sizes[d] == operand.shape[d]) {
      attrs.slice_sizes[d] = local_operand.shape[d];
    }
  }
  const Dims map = attrs.start_index_map;
  if (!any_sharded(local, map)) {
    return fn.op(b.create(OpCode::kGather, local.operands, local.types, attrs)).results[0];
  }
  const ValueId indices = local.operands[1];
  const TensorType type = fn.type(indices);
  const auto& slice_sizes = local.op.as<GatherAttrs>().slice_sizes;
  std::vector<int64_t> global_bounds, local_bounds;
  for (int64_t dim : map) {
    const int64_t slice = slice_sizes[static_cast<size_t>(dim)];
    global_bounds.push_back(operand.dim(dim) - slice);
    local_bounds.push_back(local_operand.dim(dim) - attrs.slice_sizes[static_cast<size_t>(dim)]);
  }
  const auto spread = [&](const std::vector<ValueId>& scalars) {
    return per_component(b, type, attrs.index_vector_dim, scalars);
  };
  const ValueId zero = b.splat(type, 0);
  const auto clamp = [&](ValueId value, const std::vector<int64_t>& bounds) {
    return b.value(OpCode::kClamp, {zero, value, spread(constants(b, type.dtype, bounds))});
  };
  // The global clamp comes first: an index beyond the end means the last row, wherever it lives.
  const ValueId clamped = clamp(indices, global_bounds);
  const ValueId starts = spread(block_starts(local, map, type.dtype));
  const ValueId shifted = b.binary(OpCode::kSubtract, clamped, starts);
  const ValueId inside = clamp(shifted, local_bounds);
  const ValueId hit =
      all_components(b, b.compare(CompareDirection::kEq, shifted, inside), attrs.index_vector_dim);
  local.operands[1] = inside;
  const ValueId gathered =
      fn.op(b.create(OpCode::kGather, local.operands, local.types, attrs)).results[0];
  Dims batch_dims;
  for (int64_t d = 0; d < local.types[0].rank(); ++d) {
    const Dims& offset = attrs.offset_dims;
    if (std::find(offset.begin(), offset.end(), d) == offset.end()) batch_dims.push_back(d);
  }
  const ValueId mask = b.broadcast(hit, local.types[0].shape, batch_dims);
  return b.select(mask, gathered, b.splat(local.types[0], 0));
}

void localize_scatter(LocalOp& local) {
  const auto& attrs = std::get<ScatterAttrs>(local.attrs);
  const Dims map = attrs.scatter_dims_to_operand_dims;
  if (!any_sharded(local, map)) return;
  Builder& b = local.builder;
  // Indices outside the block become out of range here, and such updates are dropped.
  ValueId& indices = local.operands[local.op.results.size()];
  const TensorType type = b.function().type(indices);
  const ValueId starts =
      per_component(b, type, attrs.index_vector_dim, block_starts(local, map, type.dtype));
  indices = b.binary(OpCode::kSubtract, indices, starts);
}

void localize_dynamic_slice(LocalOp& local) {
  Dims& sizes = std::get<DynamicSliceAttrs>(local.attrs).sizes;
  for (size_t d = 0; d < sizes.size(); ++d) sizes[d] = local.types[0].shape[d];
}

}  // namespace spmd
