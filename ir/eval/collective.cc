// Collectives: exchange between the ranks of a space. What every rank gets alike is made once.
#include <numeric>

#include "ir/eval/interpreter.h"
#include "ir/eval/reducer.h"
#include "ir/eval/strided.h"
#include "support/error.h"

namespace spmd::eval {
namespace {

// One value per group, given to each member.
PerRank spread(const RankGroups& groups, Literals by_group, int64_t ranks) {
  if (groups.size() == 1) return by_group;
  PerRank result(at(ranks));
  for (size_t g = 0; g < groups.size(); ++g) {
    for (int64_t rank : groups[g]) result[at(rank)] = by_group[g];
  }
  return result;
}

// The part `index` of `parts` equal ones along a dimension.
Literal part_of(const Literal& x, int64_t dim, int64_t parts, int64_t index,
                const std::string& place) {
  Dims shape = x.type().shape, start(shape.size(), 0);
  if (shape[at(dim)] % parts != 0) {
    throw UserError(place,
                    fmt::format("dimension {} of {} cannot be split into {} equal parts", dim,
                                to_string(x.type()), parts),
                    "the size must be a multiple of the group's size");
  }
  shape[at(dim)] /= parts;
  start[at(dim)] = index * shape[at(dim)];
  return slice_of(x, start, shape);
}

Literal scalar_of(int64_t value, const TensorType& type) {
  return Literal::splat(type, static_cast<double>(value));
}

}  // namespace

PerRank Interpreter::all_gather(const Op& op, const PerRank& operand) {
  const auto& attrs = op.as<AllGatherAttrs>();
  const RankGroups groups = space_.groups(attrs.groups, place_of(op));
  Literals gathered;
  for (const std::vector<int64_t>& group : groups) {
    Literals parts;
    for (int64_t rank : group) parts.push_back(on_rank(operand, at(rank)));
    gathered.push_back(concatenate(parts, at(attrs.dim)));
  }
  return spread(groups, std::move(gathered), space_.size());
}

// The reduction of each group, in the order of its members: one value per group.
PerRank Interpreter::reduced(Frame& frame, const Op& op, const PerRank& operand,
                             const RankGroups& groups) {
  Literals results;
  for (const std::vector<int64_t>& group : groups) {
    const RegionCall call_region = [&](BlockId block, Literals arguments) {
      std::vector<PerRank> values;
      for (Literal& argument : arguments) values.push_back({std::move(argument)});
      single_rank_ = at(group[0]);
      std::vector<PerRank> result = run_block(frame, block, std::move(values));
      single_rank_.reset();
      return Literals{std::move(result[0][0])};
    };
    const Reducer reducer(frame.fn, op.regions[0], call_region);
    const Literal& first = on_rank(operand, at(group[0]));
    Literals acc{reducer.widened(first).expanded()};
    for (size_t i = 1; i < group.size(); ++i) {
      const Literal x = reducer.widened(on_rank(operand, at(group[i])));
      const View x_view = view_of(x);
      reducer.combine(first.type().shape, acc, dense_view(first.type().shape), std::span(&x, 1),
                      x_view);
    }
    results.push_back(Reducer::finished(acc[0], first.type().dtype));
  }
  return results;
}

PerRank Interpreter::all_reduce(Frame& frame, const Op& op, const PerRank& operand) {
  const RankGroups groups = space_.groups(op.as<AllReduceAttrs>().groups, place_of(op));
  return spread(groups, reduced(frame, op, operand, groups), space_.size());
}

PerRank Interpreter::reduce_scatter(Frame& frame, const Op& op, const PerRank& operand) {
  const auto& attrs = op.as<ReduceScatterAttrs>();
  const std::string place = place_of(op);
  const RankGroups groups = space_.groups(attrs.groups, place);
  const Literals sums = reduced(frame, op, operand, groups);
  PerRank result(at(space_.size()));
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto parts = static_cast<int64_t>(groups[g].size());
    for (int64_t i = 0; i < parts; ++i) {
      result[at(groups[g][at(i)])] = part_of(sums[g], attrs.dim, parts, i, place);
    }
  }
  return result;
}

PerRank Interpreter::all_to_all(const Op& op, const PerRank& operand) {
  const auto& attrs = op.as<AllToAllAttrs>();
  const std::string place = place_of(op);
  PerRank result(at(space_.size()));
  for (const std::vector<int64_t>& group : space_.groups(attrs.groups, place)) {
    const auto parts = static_cast<int64_t>(group.size());
    for (int64_t i = 0; i < parts; ++i) {
      Literals received;
      for (int64_t rank : group) {
        received.push_back(part_of(on_rank(operand, at(rank)), attrs.split_dim, parts, i, place));
      }
      result[at(group[at(i)])] = concatenate(received, at(attrs.concat_dim));
    }
  }
  return result;
}

PerRank Interpreter::collective_permute(const Op& op, const PerRank& operand) {
  const auto& attrs = op.as<CollectivePermuteAttrs>();
  const std::string place = place_of(op);
  PerRank result(at(space_.size()), Literal(on_rank(operand, 0).type()));
  std::vector<bool> received(result.size(), false);
  const auto send = [&](int64_t source, int64_t target) {
    if (received[at(target)]) {
      throw UserError(place, fmt::format("two pairs send to rank {}", target),
                      "each target may occur once");
    }
    received[at(target)] = true;
    result[at(target)] = on_rank(operand, at(source));
  };
  if (attrs.axes.empty()) {
    for (const auto& [source, target] : attrs.source_target_pairs) {
      // Of several devices that one rank stands for, the first speaks.
      const int64_t from = space_.rank_of(source, place), to = space_.rank_of(target, place);
      if (space_.device(to) == target) send(from, to);
    }
    return result;
  }
  for (const std::vector<int64_t>& group : space_.groups_along(attrs.axes, place)) {
    const auto size = static_cast<int64_t>(group.size());
    for (const auto& [source, target] : attrs.source_target_pairs) {
      if (source < 0 || source >= size || target < 0 || target >= size) {
        throw UserError(place,
                        fmt::format("the pair ({}, {}) in groups of {}", source, target, size),
                        "members are counted from 0");
      }
      send(group[at(source)], group[at(target)]);
    }
  }
  return result;
}

PerRank Interpreter::axis_index(const Op& op) {
  const AxisList& axes = op.as<AxisIndexAttrs>().axes;
  space_.groups_along(axes, place_of(op));  // checks the axes
  PerRank result;
  for (int64_t rank = 0; rank < space_.size(); ++rank) {
    result.push_back(
        scalar_of(index_along(axes, space_.coordinates(rank), space_.mesh()), {DType::kS32, {}}));
  }
  return result;
}

PerRank Interpreter::partition_id(const Op& op, const TensorType& type) {
  if (space_.size() < space_.mesh().num_devices()) {
    throw UserError(place_of(op), "on global values a program has no partition number",
                    "use it inside a manual_computation over all axes of the mesh");
  }
  PerRank result;
  for (int64_t rank = 0; rank < space_.size(); ++rank) {
    result.push_back(scalar_of(space_.device(rank), type));
  }
  return result;
}

std::vector<PerRank> Interpreter::run_collective(Frame& frame, const Op& op,
                                                 std::vector<PerRank> operands) {
  if (op.code == OpCode::kReshard || op.code == OpCode::kShardingConstraint ||
      op.code == OpCode::kPropagationBarrier) {
    return operands;
  }
  if (op.code == OpCode::kShardingGroup) return {};
  if (single_rank_) {
    throw UserError(place_of(op), "a collective inside a reduction or comparison",
                    "it may stand only in functions, loops and branches");
  }
  if (op.code == OpCode::kManualComputation) {
    return run_manual_computation(frame, op, std::move(operands));
  }
  if (op.code == OpCode::kAxisIndex) return {axis_index(op)};
  if (op.code == OpCode::kPartitionId) return {partition_id(op, frame.fn.type(op.results[0]))};
  std::vector<PerRank> results;
  for (const PerRank& operand : operands) {
    switch (op.code) {
      case OpCode::kAllGather:
        results.push_back(all_gather(op, operand));
        break;
      case OpCode::kAllReduce:
        results.push_back(all_reduce(frame, op, operand));
        break;
      case OpCode::kAllToAll:
        results.push_back(all_to_all(op, operand));
        break;
      case OpCode::kCollectivePermute:
        results.push_back(collective_permute(op, operand));
        break;
      case OpCode::kReduceScatter:
        results.push_back(reduce_scatter(frame, op, operand));
        break;
      default:
        SPMD_UNREACHABLE("{} is no collective", name_of(op.code));
    }
  }
  return results;
}

}  // namespace spmd::eval
