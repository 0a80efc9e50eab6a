#include "ir/manual_regions.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "ir/builder.h"
#include "support/error.h"

namespace spmd {
namespace {

enum class Boundary : uint8_t { kNone, kEnter, kLeave };

Boundary boundary_of(const Op& op) {
  if (op.code != OpCode::kCustomCall || op.operands.size() != 1 || op.results.size() != 1) {
    return Boundary::kNone;
  }
  const std::string& target = op.as<CustomCallAttrs>().target;
  if (target == "SPMDFullToShardShape") return Boundary::kEnter;
  if (target == "SPMDShardToFullShape") return Boundary::kLeave;
  return Boundary::kNone;
}

// The ops of one manual region, in program order.
struct Region {
  std::vector<OpId> enter, inside, leave;
};

// Finds and rewrites the manual regions of one block. A region is a connected set of ops on values
// of local shape.
class BlockRaiser {
 public:
  BlockRaiser(const Module& module, Function& fn, BlockId block)
      : module_(module), fn_(fn), block_(block) {}

  void run() {
    find_local_ops();
    for (const Region& region : regions()) rewrite(region);
  }

 private:
  size_t root(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  // Numbers the ops on local values and joins those that share one.
  void find_local_ops() {
    std::unordered_map<ValueId, size_t> owner;  // of local values
    position_.assign(fn_.num_op_ids(), 0);
    size_t position = 0;
    for_each_op(fn_, block_, [&](OpId id) {
      position_[index_of(id)] = position++;
      const Op& op = fn_.op(id);
      const Boundary boundary = boundary_of(op);
      std::vector<size_t> sources;
      if (boundary != Boundary::kEnter) add_sources(id, owner, sources);
      if (boundary != Boundary::kEnter && sources.empty()) return;
      const size_t number = ops_.size();
      ops_.push_back(id);
      parent_.push_back(number);
      for (size_t source : sources) parent_[root(source)] = root(number);
      if (boundary == Boundary::kLeave) return;
      for (ValueId result : op.results) owner.emplace(result, number);
    });
  }

  // Local values that the op, or an op inside its regions, reads.
  void add_sources(OpId id, const std::unordered_map<ValueId, size_t>& owner,
                   std::vector<size_t>& sources) {
    const auto add = [&](OpId reader) {
      for (ValueId operand : fn_.op(reader).operands) {
        const auto found = owner.find(operand);
        if (found != owner.end()) sources.push_back(found->second);
      }
    };
    add(id);
    for (BlockId region : fn_.op(id).regions) walk(fn_, region, add);
  }

  std::vector<Region> regions() {
    std::map<size_t, Region> by_root;
    for (size_t i = 0; i < ops_.size(); ++i) {
      Region& region = by_root[root(i)];
      switch (boundary_of(fn_.op(ops_[i]))) {
        case Boundary::kEnter:
          region.enter.push_back(ops_[i]);
          break;
        case Boundary::kLeave:
          region.leave.push_back(ops_[i]);
          break;
        case Boundary::kNone:
          region.inside.push_back(ops_[i]);
          break;
      }
    }
    std::vector<Region> list;
    for (auto& [number, region] : by_root) list.push_back(std::move(region));
    return list;
  }

  [[noreturn]] void fail(OpId id, const std::string& fact) {
    const Op& op = fn_.op(id);
    throw UserError(op.location ? op.location->to_string() : module_.source, fact);
  }

  Sharding placement(ValueId value) {
    const Op* def = fn_.def(value);
    if (def != nullptr && def->code == OpCode::kShardingConstraint) {
      return def->as<ReshardAttrs>().sharding;
    }
    const Value& found = fn_.value(value);
    return found.sharding ? *found.sharding : Sharding::replicate(found.type.rank());
  }

  void rewrite(const Region& region) {
    if (region.leave.empty()) {
      fail(region.enter[0], "no SPMDShardToFullShape ends this manual region");
    }
    const OpId anchor = region.leave[0];
    ManualComputationAttrs attrs;
    std::vector<ValueId> operands;
    for (OpId id : region.enter) {
      const Value& local = fn_.value(fn_.op(id).results[0]);
      operands.push_back(fn_.op(id).operands[0]);
      if (is_after(operands.back(), anchor)) {
        fail(id, "this manual region needs a value that is computed from its own results");
      }
      attrs.in_shardings.push_back(placement(operands.back()));
      if (attrs.manual_axes.empty() && local.sharding) attrs.manual_axes = local.sharding->manual;
    }
    std::vector<TensorType> types;
    for (OpId id : region.leave) {
      const ValueId global = fn_.op(id).results[0];
      types.push_back(fn_.type(global));
      attrs.out_shardings.push_back(placement(global));
    }
    if (attrs.manual_axes.empty()) {
      for (int i = 0; i < module_.mesh.num_axes(); ++i) attrs.manual_axes.push_back({i, 1, 0});
    }
    const OpId manual =
        fn_.insert_op(block_, anchor, OpCode::kManualComputation, std::move(operands),
                      std::move(types), std::move(attrs), fn_.op(region.enter[0]).location);
    fill(region, manual);
    for (size_t i = 0; i < region.leave.size(); ++i) {
      const ValueId old = fn_.op(region.leave[i]).results[0];
      const ValueId result = fn_.op(manual).results[i];
      fn_.value(result).sharding = fn_.value(old).sharding;
      fn_.replace_all_uses(old, result);
      fn_.erase_op(region.leave[i]);
    }
    for (OpId id : region.enter) fn_.erase_op(id);
  }

  bool is_after(ValueId value, OpId anchor) const {
    const OpId def = fn_.value(value).def;
    return def != OpId::kNone && fn_.op(def).block == block_ && index_of(def) < position_.size() &&
           position_[index_of(def)] > position_[index_of(anchor)];
  }

  // What the region uses from outside without a boundary: constants, which are made anew inside.
  void take_in_constants(OpId manual, BlockId body) {
    std::vector<bool> outer(fn_.num_block_ids(), false);
    for (OpId at = manual; at != OpId::kNone; at = fn_.parent_op(at)) {
      outer[index_of(fn_.op(at).block)] = true;
    }
    const OpId first = fn_.block(body).first;
    if (first == OpId::kNone) return;
    Builder builder = Builder::before(fn_, first);
    ValueMap copies;
    std::vector<OpId> users;
    walk(fn_, body, [&](OpId id) { users.push_back(id); });
    for (OpId id : users) {
      for (size_t i = 0; i < fn_.op(id).operands.size(); ++i) {
        const ValueId operand = fn_.op(id).operands[i];
        if (!is_outer(operand, outer)) continue;
        fn_.set_operand(id, i, copy_constant(operand, id, builder, copies, 0));
      }
    }
  }

  bool is_outer(ValueId value, const std::vector<bool>& outer) const {
    const Value& found = fn_.value(value);
    const BlockId home = found.def == OpId::kNone ? found.block : fn_.op(found.def).block;
    return index_of(home) < outer.size() && outer[index_of(home)];
  }

  ValueId copy_constant(ValueId value, OpId user, Builder& builder, ValueMap& copies, int depth) {
    constexpr int kLongestChain = 50;
    const auto known = copies.find(value);
    if (known != copies.end()) return known->second;
    const Op* def = fn_.def(value);
    if (def == nullptr || depth > kLongestChain || !def->regions.empty() ||
        has_side_effect(def->code) || family_of(def->code) == OpFamily::kCollective) {
      fail(user, "uses a global value where shapes are local");
    }
    const std::vector<ValueId> operands = def->operands;
    for (ValueId operand : operands) copy_constant(operand, user, builder, copies, depth + 1);
    clone_op(fn_, fn_.value(value).def, builder, copies);
    return copies.at(value);
  }

  void fill(const Region& region, OpId manual) {
    const BlockId body = fn_.add_region(manual);
    for (OpId id : region.enter) {
      const ValueId local = fn_.op(id).results[0];
      fn_.replace_all_uses(local, fn_.add_block_argument(body, fn_.type(local)));
    }
    for (OpId id : region.inside) fn_.move_op(id, body, OpId::kNone);
    take_in_constants(manual, body);
    std::vector<ValueId> returned;
    for (OpId id : region.leave) returned.push_back(fn_.op(id).operands[0]);
    fn_.insert_op(body, OpId::kNone, OpCode::kReturn, std::move(returned), {}, NoAttrs{},
                  fn_.op(region.leave[0]).location);
  }

  const Module& module_;
  Function& fn_;
  BlockId block_;
  std::vector<size_t> position_;  // in the block, by op id
  std::vector<OpId> ops_;
  std::vector<size_t> parent_;
};

bool says_nothing(const Sharding& sharding) {
  return sharding.is_fully_replicated() && sharding.replicated.empty();
}

// Inside a manual region shardings do not mention manual axes, and one that says nothing else is
// none.
void strip_manual_axes(Function& fn) {
  for (size_t i = 0; i < fn.num_value_ids(); ++i) {
    ShardingRef& sharding = fn.value(static_cast<ValueId>(i)).sharding;
    if (!sharding || sharding->manual.empty()) continue;
    Sharding rest = *sharding;
    rest.manual.clear();
    sharding = says_nothing(rest) ? nullptr : std::make_shared<const Sharding>(std::move(rest));
  }
  for (ResultInfo& info : fn.result_info) {
    if (info.sharding && !info.sharding->manual.empty()) info.sharding = nullptr;
  }
  walk(fn, [&](OpId id) {
    Op& op = fn.op(id);
    if (op.code != OpCode::kShardingConstraint) return;
    Sharding& sharding = op.as<ReshardAttrs>().sharding;
    if (sharding.manual.empty()) return;
    sharding.manual.clear();
    if (!says_nothing(sharding)) return;
    fn.replace_all_uses(op.results[0], op.operands[0]);
    fn.erase_op(id);
  });
}

void collect_blocks(const Function& fn, BlockId block, std::vector<BlockId>& blocks) {
  bool enters = false;
  for_each_op(fn, block, [&](OpId id) {
    enters = enters || boundary_of(fn.op(id)) == Boundary::kEnter;
    for (BlockId region : fn.op(id).regions) collect_blocks(fn, region, blocks);
  });
  if (enters) blocks.push_back(block);
}

}  // namespace

void raise_manual_regions(Module& module) {
  bool any = false;
  for (const auto& fn : module.functions()) {
    std::vector<BlockId> blocks;
    collect_blocks(*fn, fn->body(), blocks);
    for (BlockId block : blocks) BlockRaiser(module, *fn, block).run();
    any = any || !blocks.empty();
  }
  if (!any) return;
  for (const auto& fn : module.functions()) strip_manual_axes(*fn);
}

}  // namespace spmd
