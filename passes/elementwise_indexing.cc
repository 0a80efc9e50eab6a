#include "passes/elementwise_indexing.h"

#include <algorithm>

#include "ir/builder.h"
#include "passes/rewrite/match.h"

namespace spmd {
namespace {

bool is_ascending(const Dims& dims) { return std::is_sorted(dims.begin(), dims.end()); }

// Takes the elements, then converts them.
bool gather_before_converting(Function& fn, OpId id) {
  const Op& op = fn.op(id);
  const Op* convert = fn.def(op.operands[0]);
  const ValueId result = op.results[0];
  if (convert == nullptr || convert->code != OpCode::kConvert) return false;
  if (fn.type(result).num_elements() >= fn.type(op.operands[0]).num_elements()) return false;
  Builder builder = Builder::before(fn, id);
  builder.location = op.location;
  const ValueId taken =
      builder.value(OpCode::kGather, {convert->operands[0], op.operands[1]}, op.as<GatherAttrs>());
  fn.replace_all_uses(result, builder.convert(taken, fn.type(result).dtype));
  fn.erase_op(id);
  return true;
}

// The dimension along which a scatter places one number in each row; -1 for other scatters.
int64_t placed_dim(const Function& fn, const Op& op) {
  const auto& attrs = op.as<ScatterAttrs>();
  const TensorType& operand = fn.type(op.operands[0]);
  const TensorType& indices = fn.type(op.operands[1]);
  const Dims& dims = attrs.scatter_dims_to_operand_dims;
  if (dims.size() != 1 || attrs.inserted_window_dims != dims || operand.dim(dims[0]) == 0 ||
      bit_width(indices.dtype) < 32)
    return -1;
  // Other dimensions count the rows, in the order of the indices, or are 1.
  if (!is_ascending(attrs.input_batching_dims) ||
      !is_ascending(attrs.scatter_indices_batching_dims))
    return -1;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const bool is_row =
        std::binary_search(attrs.input_batching_dims.begin(), attrs.input_batching_dims.end(), d);
    if (d != dims[0] && !is_row && operand.dim(d) != 1) return -1;
  }
  // One index for each row.
  const int64_t rows = operand.num_elements() / operand.dim(dims[0]);
  return indices.num_elements() == rows ? dims[0] : -1;
}

bool select_instead_of_scatter(Function& fn, OpId id) {
  const Op& op = fn.op(id);
  if (op.operands.size() != 3 || reducer_of(fn, op.regions[0]) != OpCode::kAdd ||
      !is_splat(fn, op.operands[0], 0))
    return false;
  const int64_t dim = placed_dim(fn, op);
  if (dim < 0) return false;
  const TensorType type = fn.type(op.operands[0]);
  const TensorType indices = fn.type(op.operands[1]);
  Dims rows, row_dims;
  for (int64_t d = 0; d < type.rank(); ++d) {
    if (d == dim) continue;
    rows.push_back(type.dim(d));
    row_dims.push_back(d);
  }
  Builder builder = Builder::before(fn, id);
  builder.location = op.location;
  const auto spread = [&](ValueId value) {
    return builder.broadcast(builder.reshape(value, rows), type.shape, row_dims);
  };
  const ValueId place = builder.iota(type.with_dtype(indices.dtype), dim);
  const ValueId here = builder.compare(CompareDirection::kEq, place, spread(op.operands[1]));
  const ValueId chosen = builder.select(here, spread(op.operands[2]), op.operands[0]);
  fn.replace_all_uses(op.results[0], chosen);
  fn.erase_op(id);
  return true;
}

}  // namespace

Pass elementwise_indexing_pass() {
  return {"elementwise_indexing", "take and place elements within the kernels around",
          [](Module& module, PassContext&) {
            Function& fn = module.main();
            bool changed = false;
            walk(fn, [&](OpId id) {
              const OpCode code = fn.op(id).code;
              if (code == OpCode::kGather) changed = gather_before_converting(fn, id) || changed;
              if (code == OpCode::kScatter) changed = select_instead_of_scatter(fn, id) || changed;
            });
            return changed;
          }};
}

}  // namespace spmd
