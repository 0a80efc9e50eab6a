#include "ir/expand.h"

#include "ir/expand/expansion.h"
#include "support/check_results.h"
#include "support/error.h"

namespace spmd {
namespace expand {
namespace {

Values expanded(Expansion& e) {
  if (e.op().code >= OpCode::kBroadcastAdd && e.op().code <= OpCode::kBroadcastZeta) {
    return expand_implicit_broadcast(e);
  }
  switch (e.op().code) {
    case OpCode::kBatchNormGrad:
    case OpCode::kBatchNormInference:
    case OpCode::kBatchNormTraining:
      return expand_batch_norm(e);
    case OpCode::kBroadcast:
      return expand_broadcast(e);
    case OpCode::kCollectiveBroadcast:
    case OpCode::kCrossReplicaSum:
    case OpCode::kReplicaId:
      return expand_collective(e);
    case OpCode::kDot:
    case OpCode::kEinsum:
    case OpCode::kRaggedDot:
    case OpCode::kUnaryEinsum:
      return expand_contraction(e);
    case OpCode::kDynamicBroadcastInDim:
    case OpCode::kDynamicConv:
    case OpCode::kDynamicGather:
    case OpCode::kDynamicIota:
    case OpCode::kDynamicPad:
    case OpCode::kDynamicReshape:
    case OpCode::kGetDimensionSize:
    case OpCode::kRealDynamicSlice:
    case OpCode::kSetDimensionSize:
      return expand_dynamic(e);
    case OpCode::kConj:
    case OpCode::kConstantLike:
    case OpCode::kIsInf:
    case OpCode::kIsNegInf:
    case OpCode::kIsPosInf:
    case OpCode::kMulhi:
    case OpCode::kNextAfter:
      return expand_elementwise(e);
    case OpCode::kMap:
      return expand_map(e);
    case OpCode::kRng:
      return expand_rng(e);
    case OpCode::kRunParallel:
      return expand_run_parallel(e);
    case OpCode::kTorchIndexSelect:
      return expand_torch_index_select(e);
    case OpCode::kAfterAll:
    case OpCode::kCreateToken:
      // Nothing is ordered by them: all that has effects here are results.
      return {e.b.splat({DType::kBool, {0}}, 0)};
    default:
      SPMD_UNREACHABLE("{} cannot be expanded", name_of(e.op().code));
  }
}

class Expander {
 public:
  Expander(Module& module, const ExpandOptions& options)
      : module_(module), options_(options), checks_(module.functions().size()) {}

  void run() {
    for (int index : callees_first()) visit(index);
  }

 private:
  struct Check {
    std::string name;
    ValueId count;
  };

  std::vector<int> callees_of(int index) const {
    std::vector<int> callees;
    const Function& fn = module_.function(index);
    walk(fn, [&](OpId id) {
      const Op& op = fn.op(id);
      if (op.code == OpCode::kCall) callees.push_back(op.as<CallAttrs>().callee);
      if (op.code != OpCode::kRunParallel) return;
      for (const auto& replica : op.as<RunParallelAttrs>().programs) {
        callees.insert(callees.end(), replica.begin(), replica.end());
      }
    });
    std::erase_if(callees, [&](int callee) {  // see the verifier
      return callee < 0 || static_cast<size_t>(callee) >= checks_.size();
    });
    return callees;
  }

  // With a stack of its own: a file may chain calls deeper than ours goes.
  std::vector<int> callees_first() const {
    struct Frame {
      int function;
      std::vector<int> callees;
      size_t next = 0;
    };
    std::vector<int> order;
    std::vector<bool> seen(checks_.size(), false);
    std::vector<Frame> stack;
    const auto enter = [&](int index) {
      if (seen[static_cast<size_t>(index)]) return;  // recursion is refused elsewhere
      seen[static_cast<size_t>(index)] = true;
      stack.push_back({index, callees_of(index)});
    };
    for (size_t i = 0; i < checks_.size(); ++i) {
      enter(static_cast<int>(i));
      while (!stack.empty()) {
        Frame& frame = stack.back();
        if (frame.next < frame.callees.size()) {
          enter(frame.callees[frame.next++]);
        } else {
          order.push_back(frame.function);
          stack.pop_back();
        }
      }
    }
    return order;
  }

  void visit(int index) {
    Function& fn = module_.function(index);
    for (size_t i = 0; i < fn.num_value_ids(); ++i) {
      TensorType& type = fn.value(static_cast<ValueId>(i)).type;
      if (type.dtype == DType::kToken) type = {DType::kBool, {0}};
    }
    if (options_.replicas > 1) split_partition_ids(fn);
    function_ = index;
    block(fn, fn.body());
    add_check_results(fn, checks_[static_cast<size_t>(index)]);
  }

  // The text's partition_id counts within a replica; ours is the number of the device.
  void split_partition_ids(Function& fn) {
    std::vector<OpId> ids;
    walk(fn, [&](OpId id) {
      if (fn.op(id).code == OpCode::kPartitionId) ids.push_back(id);
    });
    const int64_t partitions = module_.mesh.num_devices() / options_.replicas;
    for (OpId id : ids) {
      Builder builder = Builder::before(fn, id);
      builder.location = fn.op(id).location;
      const ValueId device = builder.value(OpCode::kPartitionId, {});
      const ValueId partition =
          builder.binary(OpCode::kRemainder, device,
                         builder.splat(fn.type(device), static_cast<double>(partitions)));
      fn.replace_all_uses(fn.op(id).results[0], partition);
      fn.erase_op(id);
    }
  }

  void block(Function& fn, BlockId where) {
    for (OpId id = fn.block(where).first; id != OpId::kNone;) {
      const OpId before = fn.op(id).prev;
      if (op(fn, id)) {
        id = fn.op(id).next;
      } else {  // replaced: what took its place is next
        id = before == OpId::kNone ? fn.block(where).first : fn.op(before).next;
      }
    }
  }

  // False when the op is gone.
  bool op(Function& fn, OpId id) {
    const OpCode code = fn.op(id).code;
    if (code == OpCode::kCall) call(fn, id, fn.op(id).as<CallAttrs>().callee);
    if (code == OpCode::kRunParallel) {
      for (const auto& replica : fn.op(id).as<RunParallelAttrs>().programs) {
        for (int program : replica) call(fn, id, program);
      }
    }
    refine_types(module_, fn, id);
    if (code != OpCode::kMap) {
      for (size_t r = 0; r < fn.op(id).regions.size(); ++r) block(fn, fn.op(id).regions[r]);
    }
    if (code == OpCode::kIf || code == OpCode::kCase) refine_types(module_, fn, id);
    if (family_of(code) != OpFamily::kExpanded) return true;
    Expansion expansion(module_, fn, id, options_.replicas);
    if (is_check(code)) {
      note_check(fn, id, expand_check(expansion));
    } else {
      replace(fn, expansion, expanded(expansion));
    }
    fn.erase_op(id);
    return false;
  }

  void replace(Function& fn, const Expansion& expansion, const Values& values) {
    const std::vector<ValueId> results = expansion.op().results;
    SPMD_CHECK(results.size() == values.size(), "{} values for {} results", values.size(),
               results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      const TensorType &stated = fn.type(results[i]), &found = fn.type(values[i]);
      bool agree = stated.dtype == found.dtype && stated.rank() == found.rank();
      for (size_t d = 0; agree && d < stated.shape.size(); ++d) {
        agree = stated.shape[d] < 0 || stated.shape[d] == found.shape[d];
      }
      if (!agree) {
        expansion.fail(
            fmt::format("result {} is {}, here it is {}", i, to_string(found), to_string(stated)));
      }
      const ShardingRef sharding = fn.value(results[i]).sharding;
      if (sharding && fn.def(values[i]) != nullptr) fn.value(values[i]).sharding = sharding;
      fn.replace_all_uses(results[i], values[i]);
    }
  }

  // Calls pass on what their callee checks.
  void call(Function& fn, OpId id, int callee) {
    if (callee < 0 || static_cast<size_t>(callee) >= checks_.size()) return;  // see the verifier
    if (checks_[static_cast<size_t>(callee)].empty()) return;
    if (fn.op(id).code != OpCode::kCall) {
      Expansion(module_, fn, id, options_.replicas)
          .fail("a program that runs on many ranks contains checks",
                "return its values, and check them outside");
    }
    for (const Check& check : checks_[static_cast<size_t>(callee)]) {
      note_check(fn, id, fn.add_result(id, {DType::kS32, {}}), check.name);
    }
  }

  void note_check(Function& fn, OpId id, ValueId count, std::string name = {}) {
    const Op& op = fn.op(id);
    if (op.block != fn.body()) {
      throw UserError(
          op.location ? op.location->to_string() : module_.source,
          fmt::format("{}: a check inside of a loop, branch or region", name_of(op.code)),
          "return the value from there, and check it outside");
    }
    if (name.empty()) {
      name = std::string(name_of(op.code));
      if (op.location) name += " at " + op.location->to_string();
    }
    checks_[static_cast<size_t>(function_)].push_back({std::move(name), count});
  }

  static void add_check_results(Function& fn, const std::vector<Check>& checks) {
    if (checks.empty()) return;
    const OpId last = fn.terminator(fn.body());
    std::vector<ValueId> results = fn.op(last).operands;
    for (const Check& check : checks) {
      results.push_back(check.count);
      ResultInfo info;
      info.name = check.name;
      fn.result_info.push_back(std::move(info));
    }
    fn.set_operands(last, std::move(results));
  }

  Module& module_;
  const ExpandOptions& options_;
  std::vector<std::vector<Check>> checks_;  // by function
  int function_ = 0;
};

}  // namespace
}  // namespace expand

void expand_ops(Module& module, const ExpandOptions& options) {
  expand::Expander(module, options).run();
}

}  // namespace spmd
