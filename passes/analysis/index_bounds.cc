#include "passes/analysis/index_bounds.h"

#include <algorithm>
#include <optional>
#include <set>

namespace spmd {
namespace {

// Where a value stands in an index vector: its elements are those from `first` on along `dim`.
struct VectorPart {
  int64_t dim = 0, first = 0;
  bool operator<(const VectorPart& other) const {
    return std::pair(dim, first) < std::pair(other.dim, other.first);
  }
};

class IndexBounds {
 public:
  explicit IndexBounds(const Function& fn) : fn_(fn) {}

  int64_t of(ValueId argument) {
    bound_.reset();
    seen_.clear();
    follow(argument, std::nullopt);
    return bound_.value_or(0);
  }

 private:
  void limit(int64_t bound) {
    bound = std::max<int64_t>(bound, 1);
    bound_ = bound_ ? std::min(*bound_, bound) : bound;
  }

  void follow(ValueId value, std::optional<VectorPart> part) {
    if (!seen_.emplace(value, part).second) return;
    for (const Use& use : fn_.value(value).uses) visit(fn_.op(use.op), use.operand, part);
  }
  void follow_results(const Op& op, std::optional<VectorPart> part) {
    for (ValueId result : op.results) follow(result, part);
  }

  void visit(const Op& op, uint32_t operand, std::optional<VectorPart> part) {
    switch (op.code) {
      case OpCode::kConvert:
        if (is_integer(fn_.type(op.results[0]).dtype)) follow_results(op, part);
        return;
      case OpCode::kClamp:
        if (operand == 1) follow_results(op, part);
        return;
      case OpCode::kSelect:
        if (operand > 0) follow_results(op, part);
        return;
      case OpCode::kMaximum:
      case OpCode::kMinimum:
      case OpCode::kOptimizationBarrier:
        return follow_same_number(op, operand, part);
      case OpCode::kShardingConstraint:
      case OpCode::kReshard:
        return follow_results(op, part);
      case OpCode::kReshape:
      case OpCode::kBroadcastInDim:
      case OpCode::kTranspose:
      case OpCode::kSlice:
      case OpCode::kReverse:
        return follow_results(op, std::nullopt);
      case OpCode::kConcatenate:
        return follow(op.results[0], part_of_concatenation(op, operand));
      case OpCode::kWhile:
      case OpCode::kManualComputation:
        for (BlockId region : op.regions) follow(fn_.block(region).args[operand], std::nullopt);
        return;
      default:
        return limit_by(op, operand, part);
    }
  }

  void follow_same_number(const Op& op, uint32_t operand, std::optional<VectorPart> part) {
    follow(op.results.size() == 1 ? op.results[0] : op.results[operand], part);
  }

  VectorPart part_of_concatenation(const Op& op, uint32_t operand) const {
    VectorPart part{op.as<ConcatenateAttrs>().dim, 0};
    for (uint32_t i = 0; i < operand; ++i)
      part.first += fn_.type(op.operands[i]).shape[static_cast<size_t>(part.dim)];
    return part;
  }

  // Uses as an index.
  void limit_by(const Op& op, uint32_t operand, std::optional<VectorPart> part) {
    switch (op.code) {
      case OpCode::kGather:
        if (operand == 1) limit_by_gather(op, part);
        return;
      case OpCode::kScatter:
        if (operand == op.operands.size() / 2) limit_by_scatter(op, part);
        return;
      case OpCode::kDynamicSlice:
        if (operand == 0) return follow(op.results[0], std::nullopt);
        return limit_start(op, operand - 1, op.as<DynamicSliceAttrs>().sizes);
      case OpCode::kDynamicUpdateSlice:
        if (operand >= 2) limit_start(op, operand - 2, fn_.type(op.operands[1]).shape);
        return;
      case OpCode::kCompare:
        return limit_by_compare(op, operand);
      case OpCode::kCase:
        return limit(static_cast<int64_t>(op.regions.size()));
      default:
        return;
    }
  }

  void limit_start(const Op& op, size_t dim, const Dims& window) {
    limit(fn_.type(op.operands[0]).shape[dim] - window[dim] + 1);
  }

  // `map`: the operand's dimension that each number of an index vector is for. Where it is not
  // known which of them a value is, it may be each.
  void limit_by_vector(const Dims& map, int64_t vector_dim, const Dims& operand, const Dims& window,
                       const std::optional<VectorPart>& part) {
    for (size_t i = 0; i < map.size(); ++i) {
      const bool is_other =
          part && part->dim == vector_dim && part->first != static_cast<int64_t>(i);
      const auto dim = static_cast<size_t>(map[i]);
      if (!is_other) limit(operand[dim] - window[dim] + 1);
    }
  }

  void limit_by_gather(const Op& op, const std::optional<VectorPart>& part) {
    const auto& attrs = op.as<GatherAttrs>();
    limit_by_vector(attrs.start_index_map, attrs.index_vector_dim, fn_.type(op.operands[0]).shape,
                    attrs.slice_sizes, part);
  }

  void limit_by_scatter(const Op& op, const std::optional<VectorPart>& part) {
    const auto& attrs = op.as<ScatterAttrs>();
    const Dims& operand = fn_.type(op.operands[0]).shape;
    const Dims& update = fn_.type(op.operands.back()).shape;
    const auto has = [](const Dims& dims, size_t dim) {
      return std::find(dims.begin(), dims.end(), static_cast<int64_t>(dim)) != dims.end();
    };
    Dims window(operand.size(), 1);
    size_t next = 0;
    for (size_t dim = 0; dim < window.size(); ++dim) {
      if (has(attrs.inserted_window_dims, dim) || has(attrs.input_batching_dims, dim)) continue;
      window[dim] = update[static_cast<size_t>(attrs.update_window_dims[next++])];
    }
    limit_by_vector(attrs.scatter_dims_to_operand_dims, attrs.index_vector_dim, operand, window,
                    part);
  }

  void limit_by_compare(const Op& op, uint32_t operand) {
    const CompareDirection direction = op.as<CompareAttrs>().direction;
    if (direction != CompareDirection::kEq && direction != CompareDirection::kNe) return;
    if (const auto size = iota_size(op.operands[1 - operand])) limit(*size);
  }

  // Of the iota that a value repeats, along its dimension.
  std::optional<int64_t> iota_size(ValueId value) const {
    while (const Op* def = fn_.def(value)) {
      if (def->code == OpCode::kIota)
        return fn_.type(value).shape[static_cast<size_t>(def->as<IotaAttrs>().dim)];
      const bool repeats = def->code == OpCode::kBroadcastInDim || def->code == OpCode::kReshape ||
                           def->code == OpCode::kConvert;
      if (!repeats) return std::nullopt;
      value = def->operands[0];
    }
    return std::nullopt;
  }

  const Function& fn_;
  std::optional<int64_t> bound_;
  std::set<std::pair<ValueId, std::optional<VectorPart>>> seen_;
};

}  // namespace

std::vector<int64_t> index_bounds(const Module& module) {
  const Function& fn = module.main();
  std::vector<int64_t> bounds;
  IndexBounds finder(fn);
  for (ValueId argument : fn.arguments())
    bounds.push_back(is_integer(fn.type(argument).dtype) ? finder.of(argument) : 0);
  return bounds;
}

}  // namespace spmd
