#include "passes/analysis/communication.h"

#include <algorithm>

#include "ir/analysis/trip_count.h"
#include "sharding/spec/axis_names.h"

namespace spmd {
namespace {

class Collector {
 public:
  explicit Collector(const Module& module) : module_(module), fn_(module.main()) {}

  std::vector<CollectiveUse> run() {
    visit(fn_.body(), 1);
    return std::move(uses_);
  }

 private:
  void visit(BlockId block, int64_t times) {
    for_each_op(fn_, block, [&](OpId id) {
      const Op& op = fn_.op(id);
      add(id, times);
      int64_t inner = times;
      if (op.code == OpCode::kWhile) inner *= trip_count(fn_, id).value_or(1);
      for (BlockId region : op.regions) visit(region, inner);
    });
  }

  void record(OpId id, CollectiveKind kind, const std::string& axes, int64_t ranks, int64_t bytes,
              int64_t times) {
    if (ranks <= 1) return;
    const Op& op = fn_.op(id);
    uses_.push_back({id, kind, axes, ranks, times, bytes_sent(kind, bytes, ranks) * times,
                     op.location ? op.location->to_string() : "unknown location"});
  }

  void add_grouped(OpId id, CollectiveKind kind, const CollectiveGroups& groups, int64_t bytes,
                   int64_t times) {
    const int64_t ranks = groups.is_explicit()
                              ? static_cast<int64_t>(groups.explicit_groups[0].size())
                              : axes_size(groups.axes, module_.mesh);
    record(id, kind, groups.is_explicit() ? "explicit" : axis_names(groups.axes, module_.mesh),
           ranks, bytes, times);
  }

  void add(OpId id, int64_t times) {
    const Op& op = fn_.op(id);
    const auto operand_bytes = [&] {
      int64_t bytes = 0;
      for (ValueId operand : op.operands) bytes += fn_.type(operand).num_bytes();
      return bytes;
    };
    const auto result_bytes = [&] {
      int64_t bytes = 0;
      for (ValueId result : op.results) bytes += fn_.type(result).num_bytes();
      return bytes;
    };
    switch (op.code) {
      case OpCode::kAllGather:
        return add_grouped(id, CollectiveKind::kAllGather, op.as<AllGatherAttrs>().groups,
                           result_bytes(), times);
      case OpCode::kAllReduce:
        return add_grouped(id, CollectiveKind::kAllReduce, op.as<AllReduceAttrs>().groups,
                           operand_bytes(), times);
      case OpCode::kReduceScatter:
        return add_grouped(id, CollectiveKind::kReduceScatter, op.as<ReduceScatterAttrs>().groups,
                           operand_bytes(), times);
      case OpCode::kAllToAll:
        return add_grouped(id, CollectiveKind::kAllToAll, op.as<AllToAllAttrs>().groups,
                           operand_bytes(), times);
      case OpCode::kCollectivePermute: {
        const auto& attrs = op.as<CollectivePermuteAttrs>();
        const bool moves = !attrs.source_target_pairs.stays_in_place();
        return record(id, CollectiveKind::kPermute,
                      attrs.axes.empty() ? "explicit" : axis_names(attrs.axes, module_.mesh),
                      moves ? 2 : 1, operand_bytes(), times);
      }
      default:
        return;
    }
  }

  const Module& module_;
  const Function& fn_;
  std::vector<CollectiveUse> uses_;
};

}  // namespace

std::vector<CollectiveUse> collectives_of(const Module& module) { return Collector(module).run(); }

int64_t total_bytes_sent(const std::vector<CollectiveUse>& uses) {
  int64_t total = 0;
  for (const CollectiveUse& use : uses) total += use.bytes;
  return total;
}

const char* name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllGather:
      return "all_gather";
    case CollectiveKind::kAllReduce:
      return "all_reduce";
    case CollectiveKind::kReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::kAllToAll:
      return "all_to_all";
    case CollectiveKind::kPermute:
      return "permute";
  }
  return "?";
}

}  // namespace spmd
