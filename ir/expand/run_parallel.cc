// interpreter.run_parallel: a function on a grid of replicas and partitions. The ranks' operands
// are stacked, cut again by a manual computation over all devices, and results unstacked.
#include "ir/expand/expansion.h"
#include "support/error.h"

namespace spmd::expand {
namespace {

Sharding by_rank(const Mesh& mesh, int64_t rank) {
  Sharding sharding = Sharding::replicate(rank);
  for (int axis = 0; axis < mesh.num_axes(); ++axis) sharding.dims[0].axes.push_back({axis, 1, 0});
  return sharding;
}

Dims stacked_shape(const TensorType& type, int64_t ranks) {
  Dims shape = type.shape;
  shape.insert(shape.begin(), ranks);
  return shape;
}

// Operand or result `index` of every rank, `count` each.
Values of_all_ranks(const Values& values, size_t index, size_t count) {
  Values result;
  for (size_t at = index; at < values.size(); at += count) result.push_back(values[at]);
  return result;
}

class RunParallel {
 public:
  explicit RunParallel(Expansion& e) : e_(e), mesh_(e.module.mesh) {
    const auto& programs = e.attrs<RunParallelAttrs>().programs;
    ranks_ = 0;
    callee_ = programs.empty() || programs[0].empty() ? 0 : programs[0][0];
    for (const auto& replica : programs) {
      e.require(replica.size() == programs[0].size(), "replicas differ in their partitions");
      for (int program : replica) {
        if (program != callee_) {
          e.fail("ranks run different programs",
                 "only one program for all ranks is supported; branch on its partition_id");
        }
        ++ranks_;
      }
    }
    e.require(ranks_ > 0 && ranks_ == mesh_.num_devices(),
              fmt::format("{} programs on a mesh of {} devices", ranks_, mesh_.num_devices()));
    const Function& callee = e.module.function(callee_);
    arguments_ = callee.arguments().size();
    results_ = callee.results().size();
    const auto ranks = static_cast<size_t>(ranks_);
    e.require(
        e.op().operands.size() == arguments_ * ranks && e.op().results.size() == results_ * ranks,
        fmt::format("operands or results are not those of {} programs", ranks_));
  }

  Values run() {
    const Function& callee = e_.module.function(callee_);
    ManualComputationAttrs attrs;
    Values operands;
    for (size_t i = 0; i < arguments_; ++i) {
      const TensorType& type = callee.type(callee.arguments()[i]);
      operands.push_back(stacked(of_all_ranks(e_.op().operands, i, arguments_), type));
      attrs.in_shardings.push_back(by_rank(mesh_, type.rank() + 1));
    }
    std::vector<TensorType> types;
    for (ValueId result : callee.results()) {
      const TensorType& type = callee.type(result);
      types.push_back(type.with_shape(stacked_shape(type, ranks_)));
      attrs.out_shardings.push_back(by_rank(mesh_, type.rank() + 1));
    }
    for (int axis = 0; axis < mesh_.num_axes(); ++axis) attrs.manual_axes.push_back({axis, 1, 0});
    const OpId id =
        e_.b.create(OpCode::kManualComputation, std::move(operands), types, std::move(attrs));
    fill_region(id, callee);
    return unstacked(id, types);
  }

 private:
  ValueId stacked(const Values& parts, const TensorType& type) {
    Values rows;
    for (ValueId part : parts) {
      e_.require(e_.type(part) == type, fmt::format("an operand is {}, the program takes {}",
                                                    to_string(e_.type(part)), to_string(type)));
      rows.push_back(e_.b.reshape(part, stacked_shape(type, 1)));
    }
    return e_.b.value(OpCode::kConcatenate, std::move(rows), ConcatenateAttrs{0});
  }

  void fill_region(OpId id, const Function& callee) {
    const BlockId region = e_.fn.add_region(id);
    Builder inner(e_.fn, region);
    inner.location = e_.op().location;
    Values arguments, results;
    for (ValueId parameter : callee.arguments()) {
      const TensorType& type = callee.type(parameter);
      const ValueId row = e_.fn.add_block_argument(region, type.with_shape(stacked_shape(type, 1)));
      arguments.push_back(inner.reshape(row, type.shape));
    }
    std::vector<TensorType> types;
    for (ValueId result : callee.results()) types.push_back(callee.type(result));
    const OpId call = inner.create(OpCode::kCall, arguments, types, CallAttrs{callee_});
    for (size_t i = 0; i < types.size(); ++i) {
      results.push_back(inner.reshape(e_.fn.op(call).results[i], stacked_shape(types[i], 1)));
    }
    inner.return_op(std::move(results));
  }

  Values unstacked(OpId id, const std::vector<TensorType>& types) {
    Values results;
    for (int64_t rank = 0; rank < ranks_; ++rank) {
      for (size_t i = 0; i < types.size(); ++i) {
        Dims start(types[i].shape.size(), 0), limit = types[i].shape;
        start[0] = rank;
        limit[0] = rank + 1;
        const Dims shape(types[i].shape.begin() + 1, types[i].shape.end());
        results.push_back(e_.b.reshape(e_.b.slice(e_.fn.op(id).results[i], start, limit), shape));
      }
    }
    return results;
  }

  Expansion& e_;
  const Mesh& mesh_;
  int callee_ = 0;
  int64_t ranks_ = 0;
  size_t arguments_ = 0, results_ = 0;
};

}  // namespace

Values expand_run_parallel(Expansion& e) { return RunParallel(e).run(); }

}  // namespace spmd::expand
