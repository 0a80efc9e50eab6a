// Index-parallel gather and scatter: every rank serves the indices that fall into its block.
#include <algorithm>

#include "passes/partition/arithmetic.h"
#include "passes/partition/local_op.h"

namespace spmd {

ValueId nothing_of(Builder& builder, const TensorType& type) {
  // Not every float of eight bits has one.
  const bool has_negative_zero = is_float(type.dtype) && byte_size(type.dtype) > 1;
  return builder.splat(type, has_negative_zero ? -0.0 : 0);
}

AtomList indexed_axes(const LocalOp& local, int64_t dim) {
  const DimFactors& factors = local.rule.operands[0].dims[static_cast<size_t>(dim)];
  const bool indexed =
      !factors.empty() &&
      local.rule.factors[static_cast<size_t>(factors[0])].kind == FactorKind::kIndexed;
  return indexed ? local.operand_axes(0, dim) : AtomList{};
}

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

// nothing_of() around a block, so that slices which stand out of it have that there.
ValueId with_margins(Builder& builder, ValueId operand, const Dims& index_map,
                     const std::vector<int64_t>& margin) {
  const TensorType type = builder.function().type(operand);
  Dims pad(type.shape.size(), 0);
  for (size_t i = 0; i < margin.size(); ++i) pad[static_cast<size_t>(index_map[i])] = margin[i];
  if (std::all_of(pad.begin(), pad.end(), [](int64_t rows) { return rows == 0; })) return operand;
  return builder.pad(operand, nothing_of(builder, {type.dtype, {}}), pad, pad);
}

// How much longer than this rank's block the window of an update is, per dimension.
Dims rows_beyond(const LocalOp& local, const ScatterAttrs& attrs) {
  const size_t count = local.op.results.size();
  const TensorType& updates = local.builder.function().type(local.operands[count + 1]);
  Dims beyond(local.types[0].shape.size(), 0);
  size_t next = 0;
  for (size_t d = 0; d < beyond.size(); ++d) {
    const auto gone = [&](const Dims& dims) {
      return std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end();
    };
    if (gone(attrs.inserted_window_dims) || gone(attrs.input_batching_dims)) continue;
    const int64_t window = updates.dim(attrs.update_window_dims[next++]);
    beyond[d] = std::max<int64_t>(0, window - local.types[0].shape[d]);
  }
  return beyond;
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
    const bool spans = attrs.slice_sizes[d] == operand.shape[d] && indexed_axes(local, dim).empty();
    if (!single && spans) {
      attrs.slice_sizes[d] = local_operand.shape[d];
    }
  }
  const Dims map = attrs.start_index_map;
  if (!any_sharded(local, map)) {
    return fn.op(b.create(OpCode::kGather, local.operands, local.types, attrs)).results[0];
  }
  const auto& slice_sizes = local.op.as<GatherAttrs>().slice_sizes;
  std::vector<int64_t> last, low, high, margin;
  for (int64_t dim : map) {
    const int64_t slice = attrs.slice_sizes[static_cast<size_t>(dim)];
    const bool stands_out = slice > 1 && !indexed_axes(local, dim).empty();
    last.push_back(operand.dim(dim) - slice_sizes[static_cast<size_t>(dim)]);
    margin.push_back(stands_out ? slice : 0);
    low.push_back(-margin.back());
    high.push_back(local_operand.dim(dim) - (stands_out ? 0 : slice));
  }
  ValueId indices = local.operands[1];
  const auto spread = [&](const std::vector<ValueId>& scalars) {
    return per_component(b, fn.type(indices), attrs.index_vector_dim, scalars);
  };
  const auto numbers = [&](const std::vector<int64_t>& values) {
    return spread(constants(b, fn.type(indices).dtype, values));
  };
  // The global clamp comes first: an index beyond the end means the last row, wherever it lives.
  indices = b.value(OpCode::kClamp, {b.splat(fn.type(indices), 0), indices, numbers(last)});
  if (is_unsigned_int(fn.type(indices).dtype)) indices = b.convert(indices, DType::kS64);
  const ValueId starts = spread(block_starts(local, map, fn.type(indices).dtype));
  const ValueId shifted = b.binary(OpCode::kSubtract, indices, starts);
  const ValueId inside = b.value(OpCode::kClamp, {numbers(low), shifted, numbers(high)});
  const ValueId hit =
      all_components(b, b.compare(CompareDirection::kEq, shifted, inside), attrs.index_vector_dim);
  local.operands[0] = with_margins(b, local.operands[0], map, margin);
  local.operands[1] = b.binary(OpCode::kAdd, inside, numbers(margin));
  const ValueId gathered =
      fn.op(b.create(OpCode::kGather, local.operands, local.types, attrs)).results[0];
  Dims batch_dims;
  for (int64_t d = 0; d < local.types[0].rank(); ++d) {
    const Dims& offset = attrs.offset_dims;
    if (std::find(offset.begin(), offset.end(), d) == offset.end()) batch_dims.push_back(d);
  }
  const ValueId mask = b.broadcast(hit, local.types[0].shape, batch_dims);
  return b.select(mask, gathered, nothing_of(b, local.types[0]));
}

// Indices outside the block become out of range here, and such updates are dropped.
LocalResult create_local_scatter(LocalOp& local) {
  Builder& b = local.builder;
  Function& fn = b.function();
  const auto& attrs = local.op.as<ScatterAttrs>();
  const Dims map = attrs.scatter_dims_to_operand_dims;
  const size_t count = local.op.results.size();
  Dims margin(local.types[0].shape.size(), 0);
  if (any_sharded(local, map)) {
    ValueId& indices = local.operands[count];
    // Windows may begin before the block.
    if (is_unsigned_int(fn.type(indices).dtype)) indices = b.convert(indices, DType::kS64);
    const TensorType type = fn.type(indices);
    const ValueId starts =
        per_component(b, type, attrs.index_vector_dim, block_starts(local, map, type.dtype));
    indices = b.binary(OpCode::kSubtract, indices, starts);
    margin = rows_beyond(local, attrs);
  }
  const bool larger = std::any_of(margin.begin(), margin.end(), [](int64_t m) { return m > 0; });
  const std::vector<TensorType> blocks = local.types;
  for (size_t i = 0; larger && i < count; ++i) {
    const ValueId zero = b.scalar(blocks[i].dtype, 0);
    local.operands[i] = b.pad(local.operands[i], zero, Dims(margin.size(), 0), margin);
    local.types[i] = fn.type(local.operands[i]);
  }
  const OpId created = b.create(OpCode::kScatter, local.operands, local.types, local.attrs);
  std::vector<ValueId> values = fn.op(created).results;
  for (size_t i = 0; larger && i < count; ++i) {
    values[i] = b.slice(values[i], Dims(margin.size(), 0), blocks[i].shape);
  }
  return {values, created};
}

}  // namespace spmd
