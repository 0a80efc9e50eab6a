// Dynamic slices and updates of sharded dimensions: every rank sees to the rows in its block.
#include <algorithm>

#include "passes/partition/arithmetic.h"
#include "passes/partition/local_op.h"

namespace spmd {
namespace {

// clamp(0, start, last) as i32; where the type is wide, clamped before it is narrowed.
ValueId clamped_start(Builder& b, ValueId start, int64_t last) {
  if (byte_size(b.function().type(start).dtype) < byte_size(DType::kS32)) {
    start = b.convert(start, DType::kS32);
  }
  const DType dtype = b.function().type(start).dtype;
  const ValueId clamped = b.value(
      OpCode::kClamp, {b.scalar(dtype, 0), start, b.scalar(dtype, static_cast<double>(last))});
  return dtype == DType::kS32 ? clamped : b.convert(clamped, DType::kS32);
}

// Where a slice of `size` rows starts, along a dimension in blocks, from this rank's first row.
ValueId start_in_block(LocalOp& local, int64_t dim, int64_t size, ValueId start,
                       const AtomList& axes) {
  Builder& b = local.builder;
  const int64_t rows = local.global.type(local.op.operands[0]).dim(dim);
  const int64_t block = rows / local.atoms.extent(axes);
  return b.binary(OpCode::kSubtract, clamped_start(b, start, rows - size),
                  axis_offset(b, axes, local.atoms, DType::kS32, block));
}

// Rows of a block that a slice may meet, and where they are.
struct Chunk {
  int64_t dim = 0, size = 0, rows = 0;
  ValueId start;   // of the slice, from the block's first row
  ValueId place;   // of the rows: the start, moved into the block
  ValueId offset;  // of the rows in the slice: place - start
};

class BlockIndexing {
 public:
  // Operands from `first_start` on are the starts.
  BlockIndexing(LocalOp& local, const Dims& sizes, size_t first_start)
      : local_(local), b_(local.builder), first_start_(first_start) {
    for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
      const AtomList axes = indexed_axes(local, d);
      if (axes.empty()) continue;
      Chunk chunk{d, sizes[at(d)]};
      const int64_t block = type(local.operands[0]).dim(d);
      chunk.rows = std::min(chunk.size, block);
      chunk.start = start_in_block(local, d, chunk.size, local.operands[first_start + at(d)], axes);
      chunk.place = b_.value(OpCode::kClamp, {scalar(0), chunk.start, scalar(block - chunk.rows)});
      chunk.offset = b_.binary(OpCode::kSubtract, chunk.place, chunk.start);
      chunks_.push_back(chunk);
    }
  }

  const std::vector<Chunk>& chunks() const { return chunks_; }
  const TensorType& type(ValueId value) { return b_.function().type(value); }

  // The rows of the operand's block, `sizes` elsewhere.
  ValueId rows_of_block(Dims sizes) {
    std::vector<ValueId> operands = {local_.operands[0]};
    for (ValueId start : starts()) operands.push_back(start);
    for (const Chunk& chunk : chunks_) sizes[at(chunk.dim)] = chunk.rows;
    return b_.value(OpCode::kDynamicSlice, std::move(operands), DynamicSliceAttrs{sizes});
  }

  // Starts of all dimensions, those of blocks at their rows. All are i32 then.
  std::vector<ValueId> starts() {
    std::vector<ValueId> starts;
    for (size_t d = first_start_; d < local_.operands.size(); ++d) {
      const ValueId start = local_.operands[d];
      const int64_t rows = type(local_.operands[0]).dim(static_cast<int64_t>(d - first_start_));
      starts.push_back(chunks_.empty() ? start : clamped_start(b_, start, rows));
    }
    for (const Chunk& chunk : chunks_) starts[at(chunk.dim)] = chunk.place;
    return starts;
  }

  // `rows` rows of `value` from `start` on, zeros where there are none.
  ValueId shifted(ValueId value, const Chunk& chunk, ValueId start, int64_t rows) {
    const int64_t size = type(value).dim(chunk.dim);
    if (size == 1 && rows == 1) return value;  // whoever reads it masks it
    Dims low(type(value).shape.size(), 0);
    low[at(chunk.dim)] = rows;
    const ValueId padded = b_.pad(value, b_.scalar(type(value).dtype, 0), low, low);
    Dims sizes = type(value).shape;
    sizes[at(chunk.dim)] = rows;
    std::vector<ValueId> operands(sizes.size() + 1, scalar(0));
    operands[0] = padded;
    operands[1 + at(chunk.dim)] = b_.binary(OpCode::kAdd, start, scalar(rows));
    return b_.value(OpCode::kDynamicSlice, std::move(operands), DynamicSliceAttrs{sizes});
  }

  // Rows i of [0, rows) with 0 <= i + offset < size, over the shape of `like`.
  ValueId within(ValueId like, const Chunk& chunk, ValueId offset, int64_t rows, int64_t size) {
    const TensorType line{DType::kS32, {rows}};
    const ValueId row =
        b_.binary(OpCode::kAdd, b_.iota(line, 0), b_.broadcast(offset, line.shape, {}));
    const ValueId inside = b_.binary(
        OpCode::kAnd, b_.compare(CompareDirection::kGe, row, b_.splat(line, 0)),
        b_.compare(CompareDirection::kLt, row, b_.splat(line, static_cast<double>(size))));
    return b_.broadcast(inside, type(like).shape, {chunk.dim});
  }

 private:
  ValueId scalar(int64_t value) { return b_.scalar(DType::kS32, static_cast<double>(value)); }

  LocalOp& local_;
  Builder& b_;
  const size_t first_start_;
  std::vector<Chunk> chunks_;
};

}  // namespace

// The slice's rows in this block, nothing in the others: ranks' results add up to the slice.
ValueId create_local_dynamic_slice(LocalOp& local) {
  Builder& b = local.builder;
  Dims& sizes = std::get<DynamicSliceAttrs>(local.attrs).sizes;
  BlockIndexing indexing(local, sizes, 1);
  for (size_t d = 0; d < sizes.size(); ++d) sizes[d] = local.types[0].shape[d];
  if (indexing.chunks().empty()) {
    return b.value(OpCode::kDynamicSlice, local.operands, DynamicSliceAttrs{sizes});
  }
  ValueId value = indexing.rows_of_block(sizes);
  for (const Chunk& chunk : indexing.chunks()) {
    const ValueId start = b.binary(OpCode::kSubtract, b.scalar(DType::kS32, 0), chunk.offset);
    value = indexing.shifted(value, chunk, start, chunk.size);
    // Row i of the slice is row start + i of the block.
    const int64_t block = indexing.type(local.operands[0]).dim(chunk.dim);
    const ValueId mask = indexing.within(value, chunk, chunk.start, chunk.size, block);
    value = b.select(mask, value, nothing_of(b, indexing.type(value)));
  }
  return value;
}

// The rows of the update that fall into this block; the others stay.
ValueId create_local_dynamic_update_slice(LocalOp& local) {
  Builder& b = local.builder;
  const Dims sizes = local.global.type(local.op.operands[1]).shape;
  BlockIndexing indexing(local, sizes, 2);
  ValueId update = local.operands[1];
  if (!indexing.chunks().empty()) {
    const ValueId old = indexing.rows_of_block(indexing.type(update).shape);
    ValueId mask = ValueId::kNone;
    for (const Chunk& chunk : indexing.chunks()) {
      update = indexing.shifted(update, chunk, chunk.offset, chunk.rows);
      const ValueId inside = indexing.within(old, chunk, chunk.offset, chunk.rows, chunk.size);
      mask = mask == ValueId::kNone ? inside : b.binary(OpCode::kAnd, mask, inside);
    }
    update = b.select(mask, update, old);
  }
  std::vector<ValueId> operands = {local.operands[0], update};
  for (ValueId start : indexing.starts()) operands.push_back(start);
  return b.value(OpCode::kDynamicUpdateSlice, std::move(operands));
}

}  // namespace spmd
