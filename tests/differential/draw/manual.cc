// Manual computations, nested and over some axes only, and collectives inside.
#include <algorithm>

#include "tests/differential/op_drawer.h"

namespace spmd::testing {
namespace {

constexpr size_t kDeepestManual = 2;  // manual computations in each other

uint32_t mask_of(const AxisList& axes) {
  uint32_t mask = 0;
  for (const AxisRef& axis : axes) mask |= 1U << axis.axis;
  return mask;
}

bool has_axis(const AxisList& axes, int axis) { return (mask_of(axes) >> axis & 1) != 0; }

AxisList axes_not_in(const AxisList& axes, const Mesh& mesh) {
  AxisList rest;
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    if (!has_axis(axes, axis)) rest.push_back({axis, 1, 0});
  }
  return rest;
}

TensorType local_type(TensorType type, const Sharding& sharding, const AxisList& manual,
                      const Mesh& mesh) {
  for (size_t d = 0; d < type.shape.size(); ++d) {
    for (const AxisRef& axis : sharding.dims[d].axes) {
      if (has_axis(manual, axis.axis)) type.shape[d] /= axis.size_in(mesh);
    }
  }
  return type;
}

TensorType global_type(TensorType type, const Sharding& sharding, const Mesh& mesh) {
  for (size_t d = 0; d < type.shape.size(); ++d) {
    type.shape[d] *= axes_size(sharding.dims[d].axes, mesh);
  }
  return type;
}

}  // namespace

AxisList OpDrawer::some_manual_axes(const AxisList& from) {
  AxisList axes = from;
  random_.shuffle(axes);
  axes.resize(static_cast<size_t>(random_.pick(1, static_cast<int64_t>(axes.size()))));
  return axes;
}

// ---- operands

// Cuts dimensions that the axes divide. Other axes of the mesh come after.
Sharding OpDrawer::manual_sharding(const TensorType& global, const AxisList& axes) {
  Sharding sharding = Sharding::replicate(global.rank());
  Dims rest = global.shape;
  AxisList order = axes;
  random_.shuffle(order);
  for (const AxisRef& axis : order) {
    const int64_t parts = axis.size_in(setting_.mesh);
    Dims able;
    for (int64_t d = 0; d < global.rank(); ++d) {
      if (rest[static_cast<size_t>(d)] % parts == 0) able.push_back(d);
    }
    if (able.empty() || random_.chance(25)) continue;
    const auto d = static_cast<size_t>(random_.of(able));
    rest[d] /= parts;
    sharding.dims[d].axes.push_back(axis);
  }
  AxisList taken = axes;
  if (manual_ != nullptr) {
    taken.insert(taken.end(), manual_->all_axes.begin(), manual_->all_axes.end());
  }
  for (const AxisRef& axis : axes_not_in(taken, setting_.mesh)) {
    if (global.rank() == 0 || !random_.chance(20)) continue;
    sharding.dims[static_cast<size_t>(random_.below(global.rank()))].axes.push_back(axis);
  }
  return sharding;
}

// Adds an operand, a value around the manual computation, and returns what it is inside.
ValueId OpDrawer::manual_operand(Manual& manual, ValueId outer_value, Sharding sharding) {
  std::vector<ValueId> operands = fn_.op(manual.op).operands;
  operands.push_back(outer_value);
  fn_.set_operands(manual.op, std::move(operands));
  const ValueId inside = fn_.add_block_argument(
      manual.region, local_type(type(outer_value), sharding, manual.axes, setting_.mesh));
  Facts facts = facts_.at(outer_value);
  for (const DimSharding& dim : sharding.dims) {
    facts.varying |= mask_of(dim.axes) & mask_of(manual.axes);
  }
  manual.in_shardings.push_back(std::move(sharding));
  facts_[inside] = facts;
  pool_.push_back(inside);
  return inside;
}

// Inside a manual computation: a new argument of what is around it, cut.
ValueId OpDrawer::manual_argument(const TensorType& local) {
  Manual& manual = *manual_;
  Sharding sharding = Sharding::replicate(local.rank());
  for (const AxisRef& axis : manual.axes) {
    if (local.rank() == 0 || !random_.chance(60)) continue;
    AxisList& axes = sharding.dims[static_cast<size_t>(random_.below(local.rank()))].axes;
    axes.push_back(axis);
    if (global_type(local, sharding, setting_.mesh).num_elements() > 2000) axes.pop_back();
  }
  const TensorType global = global_type(local, sharding, setting_.mesh);
  manual_ = manual.outer;
  std::swap(pool_, manual.outer_pool);
  const ValueId outer_value = argument(global);
  std::swap(pool_, manual.outer_pool);
  manual_ = &manual;
  return manual_operand(manual, outer_value, std::move(sharding));
}

// ---- results

// Gives a value a place among the results: along axes on which it varies it is cut, along others
// perhaps. False when it would grow too large.
bool OpDrawer::manual_result(const Manual& manual, ValueId value, std::vector<ValueId>& returned,
                             std::vector<Sharding>& shardings) {
  const uint32_t varies = varying(value) & mask_of(manual.axes);
  const double limit = bound(value);
  if (type(value).rank() == 0 && varies != 0) {
    value = b_->reshape(value, {1});
    remember(value, limit);
  }
  Sharding sharding = Sharding::replicate(type(value).rank());
  AxisList order = manual.axes;
  random_.shuffle(order);
  for (const AxisRef& axis : order) {
    const bool cut = (varies >> axis.axis & 1) != 0 || random_.chance(20);
    if (!cut || sharding.dims.empty()) continue;
    sharding.dims[static_cast<size_t>(random_.below(sharding.rank()))].axes.push_back(axis);
  }
  if (global_type(type(value), sharding, setting_.mesh).num_elements() > 3000) return false;
  returned.push_back(value);
  shardings.push_back(std::move(sharding));
  return true;
}

void OpDrawer::manual_results(Manual& manual) {
  std::vector<ValueId> returned;
  ManualComputationAttrs attrs;
  const auto wanted = static_cast<size_t>(random_.pick(1, 2));
  for (int attempt = 0; attempt < 6 && returned.size() < wanted; ++attempt) {
    manual_result(manual, any(), returned, attrs.out_shardings);
  }
  if (returned.empty()) {
    manual_result(manual, remember(b_->splat({DType::kF32, {2}}, 1), 1), returned,
                  attrs.out_shardings);
  }
  b_->return_op(returned);
  attrs.in_shardings = manual.in_shardings;
  attrs.manual_axes = manual.axes;
  for (size_t i = 0; i < returned.size(); ++i) {
    fn_.add_result(manual.op,
                   global_type(type(returned[i]), attrs.out_shardings[i], setting_.mesh));
  }
  fn_.op(manual.op).attrs = Attrs(std::move(attrs));
  manual.returned = std::move(returned);
}

ValueId OpDrawer::manual_computation(ValueId x) {
  const AxisList around = manual_ ? manual_->all_axes : AxisList{};
  const AxisList available = axes_not_in(around, setting_.mesh);
  if (available.empty() || around.size() >= kDeepestManual + 1 || depth_ > 1) return ValueId::kNone;
  const ValueId y = any();
  Manual manual{.op = b_->create(OpCode::kManualComputation, {}, {}, ManualComputationAttrs{})};
  manual.region = fn_.add_region(manual.op);
  manual.axes = some_manual_axes(available);
  manual.all_axes = around;
  manual.all_axes.insert(manual.all_axes.end(), manual.axes.begin(), manual.axes.end());
  manual.outer = manual_;
  Sharding x_sharding = manual_sharding(type(x), manual.axes);
  Sharding y_sharding = manual_sharding(type(y), manual.axes);

  Builder inner(fn_, manual.region);
  Builder* const outer = std::exchange(b_, &inner);
  std::swap(pool_, manual.outer_pool);
  manual_ = &manual;
  manual_operand(manual, x, std::move(x_sharding));
  if (y != x && random_.chance(50)) manual_operand(manual, y, std::move(y_sharding));
  for (int64_t steps = random_.pick(1, 3); steps > 0; --steps) step();
  manual_results(manual);
  manual_ = manual.outer;
  pool_ = std::move(manual.outer_pool);
  b_ = outer;

  ValueId last = ValueId::kNone;
  for (size_t i = 0; i < manual.returned.size(); ++i) {
    last = remember(fn_.op(manual.op).results[i], bound(manual.returned[i]));
    Facts& facts = facts_[last];
    facts.rough = rough(manual.returned[i]);
    facts.varying = manual_ ? varying(manual.returned[i]) & ~mask_of(manual.axes) : 0;
  }
  return last;
}

// ---- collectives

ValueId OpDrawer::varies(ValueId value, uint32_t axes) {
  if (value != ValueId::kNone) facts_[value].varying = axes;
  return value;
}

// The axes themselves, or the groups of devices along them.
CollectiveGroups OpDrawer::groups_along(const AxisList& axes) {
  if (random_.chance(60)) return {axes, {}};
  CollectiveGroups groups{{}, device_groups(axes, setting_.mesh)};
  random_.shuffle(groups.explicit_groups);
  if (random_.chance(30)) {  // other members first
    for (std::vector<int64_t>& group : groups.explicit_groups) {
      std::rotate(group.begin(), group.begin() + 1, group.end());
    }
  }
  return groups;
}

ValueId OpDrawer::collective(ValueId x) {
  if (manual_ == nullptr) return manual_computation(x);
  static const std::vector<Draw> kCollectives = {
      &OpDrawer::all_gather,  &OpDrawer::all_reduce,         &OpDrawer::all_reduce,
      &OpDrawer::all_to_all,  &OpDrawer::collective_permute, &OpDrawer::reduce_scatter,
      &OpDrawer::partition_id};
  return (this->*random_.of(kCollectives))(x);
}

ValueId OpDrawer::all_gather(ValueId x) {
  if (type(x).rank() == 0) return ValueId::kNone;
  const AxisList axes = some_manual_axes(manual_->all_axes);
  const AllGatherAttrs attrs{random_.below(type(x).rank()), groups_along(axes)};
  TensorType result = type(x);
  result.shape[static_cast<size_t>(attrs.dim)] *= axes_size(axes, setting_.mesh);
  if (result.num_elements() > 2000) return ValueId::kNone;
  const uint32_t left = varying(x) & ~mask_of(axes);
  const OpId op = b_->create(OpCode::kAllGather, {x}, {result}, attrs);
  return varies(known(fn_.op(op).results[0], bound(x)), left);
}

// Ranks know no exclusive or.
OpCode OpDrawer::collective_reducer(DType dtype) {
  const OpCode code = reducer(dtype);
  return code == OpCode::kXor ? OpCode::kOr : code;
}

ValueId OpDrawer::all_reduce(ValueId x) {
  const AxisList axes = some_manual_axes(manual_->all_axes);
  const DType dtype = type(x).dtype;
  const OpCode code = collective_reducer(dtype);
  const auto members = static_cast<double>(axes_size(axes, setting_.mesh));
  std::vector<ValueId> operands = {x};
  if (random_.chance(20)) operands.push_back(like({dtype, shape(random_.pick(0, 2))}));
  for (ValueId operand : operands) {
    if (!fits(dtype, reduced_bound(code, bound(operand), 0, members))) return ValueId::kNone;
  }
  std::vector<TensorType> types;
  for (ValueId operand : operands) types.push_back(type(operand));
  const OpId op =
      b_->create(OpCode::kAllReduce, operands, types, AllReduceAttrs{groups_along(axes)});
  add_reducer_region(fn_, op, code, dtype);
  ValueId last = ValueId::kNone;
  for (size_t i = operands.size(); i-- > 0;) {
    last = known(fn_.op(op).results[i], reduced_bound(code, bound(operands[i]), 0, members));
    varies(last, varying(operands[i]) & ~mask_of(axes));
  }
  return last;
}

ValueId OpDrawer::reduce_scatter(ValueId x) {
  const AxisList axes = some_manual_axes(manual_->all_axes);
  const int64_t members = axes_size(axes, setting_.mesh);
  Dims able;
  for (int64_t d = 0; d < type(x).rank(); ++d) {
    if (type(x).dim(d) % members == 0) able.push_back(d);
  }
  if (able.empty()) return ValueId::kNone;
  const OpCode code = collective_reducer(type(x).dtype);
  const double limit = reduced_bound(code, bound(x), 0, static_cast<double>(members));
  if (!fits(type(x).dtype, limit)) return ValueId::kNone;
  const ReduceScatterAttrs attrs{random_.of(able), groups_along(axes)};
  TensorType result = type(x);
  result.shape[static_cast<size_t>(attrs.dim)] /= members;
  const OpId op = b_->create(OpCode::kReduceScatter, {x}, {result}, attrs);
  add_reducer_region(fn_, op, code, type(x).dtype);
  return varies(known(fn_.op(op).results[0], limit), varying(x) | mask_of(axes));
}

ValueId OpDrawer::all_to_all(ValueId x) {
  const AxisList axes = some_manual_axes(manual_->all_axes);
  const int64_t members = axes_size(axes, setting_.mesh);
  Dims able;
  for (int64_t d = 0; d < type(x).rank(); ++d) {
    if (type(x).dim(d) % members == 0) able.push_back(d);
  }
  if (able.empty()) return ValueId::kNone;
  const AllToAllAttrs attrs{random_.of(able), random_.below(type(x).rank()), groups_along(axes)};
  TensorType result = type(x);
  result.shape[static_cast<size_t>(attrs.split_dim)] /= members;
  result.shape[static_cast<size_t>(attrs.concat_dim)] *= members;
  const OpId op = b_->create(OpCode::kAllToAll, {x}, {result}, attrs);
  return varies(known(fn_.op(op).results[0], bound(x)), varying(x) | mask_of(axes));
}

// Some members send to others; the rest get zeros.
ValueId OpDrawer::collective_permute(ValueId x) {
  CollectivePermuteAttrs attrs;
  const bool all = axes_not_in(manual_->all_axes, setting_.mesh).empty();
  if (!all || random_.chance(60)) attrs.axes = some_manual_axes(manual_->all_axes);
  const int64_t members =
      attrs.axes.empty() ? setting_.mesh.num_devices() : axes_size(attrs.axes, setting_.mesh);
  std::vector<int64_t> targets;
  for (int64_t member = 0; member < members; ++member) targets.push_back(member);
  if (random_.chance(40)) {
    std::rotate(targets.begin(), targets.begin() + random_.below(members), targets.end());
  } else {
    random_.shuffle(targets);
  }
  const int kept = random_.chance(50) ? 100 : 60;
  for (int64_t member = 0; member < members; ++member) {
    if (!random_.chance(kept)) continue;
    attrs.source_target_pairs.emplace_back(member, targets[static_cast<size_t>(member)]);
  }
  const uint32_t moved = mask_of(attrs.axes.empty() ? manual_->all_axes : attrs.axes);
  const OpId op = b_->create(OpCode::kCollectivePermute, {x}, {type(x)}, attrs);
  return varies(known(fn_.op(op).results[0], bound(x)), varying(x) | moved);
}

ValueId OpDrawer::partition_id(ValueId) {
  if (!axes_not_in(manual_->all_axes, setting_.mesh).empty()) return ValueId::kNone;
  const OpId op = b_->create(OpCode::kPartitionId, {}, {{DType::kU32, {}}});
  const ValueId id = b_->convert(fn_.op(op).results[0], DType::kS32);
  return varies(known(id, 12), mask_of(manual_->all_axes));
}

}  // namespace spmd::testing
