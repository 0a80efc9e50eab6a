#include "ir/eval/interpreter.h"

#include <algorithm>

#include "support/error.h"

namespace spmd::eval {
namespace {

BlockId block_of(const Function& fn, ValueId id) {
  const Value& value = fn.value(id);
  return value.def == OpId::kNone ? value.block : fn.op(value.def).block;
}

// Deep enough for any real program; a function that calls itself ends here, not in a crash.
constexpr int kMaxCalls = 200;

}  // namespace

Liveness::Liveness(const Function& fn) : dead_after(fn.num_op_ids()) {
  // The last op, in the block where a value is defined, that uses it itself or in a region.
  std::vector<OpId> last_user(fn.num_value_ids(), OpId::kNone);
  walk(fn, [&](OpId id) {
    for (ValueId result : fn.op(id).results) last_user[index_of(result)] = id;
    for (ValueId operand : fn.op(id).operands) {
      const BlockId home = block_of(fn, operand);
      OpId user = id;
      while (fn.op(user).block != home) user = fn.parent_op(user);
      last_user[index_of(operand)] = user;
    }
  });
  for (size_t v = 0; v < last_user.size(); ++v) {
    if (last_user[v] != OpId::kNone) {
      dead_after[index_of(last_user[v])].push_back(static_cast<ValueId>(v));
    }
  }
}

const Liveness& Interpreter::liveness_of(const Function& fn) {
  std::unique_ptr<Liveness>& liveness = liveness_[&fn];
  if (!liveness) liveness = std::make_unique<Liveness>(fn);
  return *liveness;
}

std::vector<PerRank> Interpreter::call(const Function& fn, std::vector<PerRank> arguments) {
  if (++depth_ > kMaxCalls) {
    throw UserError("@" + fn.name(), fmt::format("calls nested more than {} deep", kMaxCalls),
                    "a function may not call itself");
  }
  Frame frame{fn, liveness_of(fn), std::vector<PerRank>(fn.num_value_ids())};
  std::vector<PerRank> results = run_block(frame, fn.body(), std::move(arguments));
  --depth_;
  return results;
}

std::vector<PerRank> Interpreter::operands_of(Frame& frame, const Op& op) const {
  std::vector<PerRank> operands;
  operands.reserve(op.operands.size());
  for (ValueId id : op.operands) {
    const PerRank& value = frame.values[index_of(id)];
    SPMD_CHECK(!value.empty(), "an operand of {} has no value", name_of(op.code));
    operands.push_back(single_rank_ ? PerRank{on_rank(value, *single_rank_)} : value);
  }
  return operands;
}

std::vector<PerRank> Interpreter::run_block(Frame& frame, BlockId id,
                                            std::vector<PerRank> arguments) {
  const Block& block = frame.fn.block(id);
  SPMD_CHECK(arguments.size() == block.args.size(), "{} arguments for a block of {}",
             arguments.size(), block.args.size());
  for (size_t i = 0; i < block.args.size(); ++i) {
    if (frame.fn.value(block.args[i]).uses.empty()) continue;
    frame.values[index_of(block.args[i])] = std::move(arguments[i]);
  }
  arguments.clear();
  for (OpId op_id = block.first; op_id != OpId::kNone; op_id = frame.fn.op(op_id).next) {
    const Op& op = frame.fn.op(op_id);
    std::vector<PerRank> operands = operands_of(frame, op);
    // Values without a further use go now, so that the op may overwrite its operands, unless a
    // region of the op still reads them.
    const std::vector<ValueId>& dead = frame.liveness.dead_after[index_of(op_id)];
    if (op.regions.empty()) {
      for (ValueId v : dead) frame.values[index_of(v)].clear();
    }
    if (op_id == block.last) return operands;
    std::vector<PerRank> results = run_op(frame, op, std::move(operands));
    for (size_t i = 0; i < results.size(); ++i) {
      frame.values[index_of(op.results[i])] = std::move(results[i]);
    }
    for (ValueId v : dead) frame.values[index_of(v)].clear();
  }
  SPMD_UNREACHABLE("a block of @{} has no terminator", frame.fn.name());
}

std::vector<PerRank> Interpreter::run_op(Frame& frame, const Op& op,
                                         std::vector<PerRank> operands) {
  switch (family_of(op.code)) {
    case OpFamily::kControlFlow:
      return run_control_flow(frame, op, std::move(operands));
    case OpFamily::kCollective:
      return run_collective(frame, op, std::move(operands));
    default:
      return run_local(frame, op, std::move(operands));
  }
}

bool Interpreter::captures_differ(const Frame& frame, const Op& op) const {
  bool differ = false;
  for (BlockId region : op.regions) {
    walk(frame.fn, region, [&](OpId id) {
      // What the region itself defines has no value yet, or one left over from another rank; both
      // are single.
      for (ValueId v : frame.fn.op(id).operands) {
        differ = differ || frame.values[index_of(v)].size() > 1;
      }
    });
  }
  return differ;
}

std::vector<PerRank> Interpreter::run_local(Frame& frame, const Op& op,
                                            std::vector<PerRank> operands) {
  bool same = true;  // on all ranks
  for (const PerRank& operand : operands) same = same && operand.size() == 1;
  if (!op.regions.empty()) same = same && !captures_differ(frame, op);
  const size_t ranks = same ? 1 : static_cast<size_t>(num_ranks());
  std::vector<PerRank> results(op.results.size());
  Literals local(operands.size());
  for (size_t rank = 0; rank < ranks; ++rank) {
    for (size_t i = 0; i < operands.size(); ++i) {
      // The last to need a literal takes it.
      const bool shared = operands[i].size() == 1 && rank + 1 < ranks;
      Literal& operand = operands[i][operands[i].size() == 1 ? 0 : rank];
      local[i] = shared ? operand : std::move(operand);
    }
    Literals values = run_on_rank(frame, op, local, rank);
    for (size_t i = 0; i < results.size(); ++i) results[i].push_back(std::move(values[i]));
  }
  return results;
}

Literals Interpreter::run_on_rank(Frame& frame, const Op& op, std::span<Literal> operands,
                                  size_t rank) {
  const RegionCall call_region = [&](BlockId block, Literals arguments) {
    std::vector<PerRank> values;
    for (Literal& argument : arguments) values.push_back({std::move(argument)});
    const std::optional<size_t> outer = single_rank_;
    if (!single_rank_) single_rank_ = rank;
    std::vector<PerRank> results = run_block(frame, block, std::move(values));
    single_rank_ = outer;
    Literals literals;
    for (PerRank& result : results) literals.push_back(std::move(result[0]));
    return literals;
  };
  for (ValueId result : op.results) {
    const Dims& shape = frame.fn.type(result).shape;
    if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; })) {
      throw UserError(place_of(op), "a size that is not known",
                      "programs with dynamic shapes cannot be evaluated");
    }
  }
  Literals results = eval_local({frame.fn, op, operands, call_region});
  for (size_t i = 0; i < results.size(); ++i) {
    SPMD_CHECK(results[i].type() == frame.fn.type(op.results[i]), "{} made {} instead of {}",
               place_of(op), to_string(results[i].type()), to_string(frame.fn.type(op.results[i])));
  }
  return results;
}

Literals eval_local(const Invocation& in) {
  switch (family_of(in.op.code)) {
    case OpFamily::kElementwise:
      return {eval_elementwise(in)};
    case OpFamily::kShape:
      return {eval_shape(in)};
    case OpFamily::kContraction:
      return {eval_dot_general(in)};
    case OpFamily::kAttention:
      return eval_attention(in);
    case OpFamily::kConvolution:
      return {eval_convolution(in)};
    case OpFamily::kLinalg:
      return {eval_linalg(in)};
    case OpFamily::kReduction:
      return eval_reduce(in);
    case OpFamily::kIndexing:
      return eval_indexing(in);
    case OpFamily::kWindow:
      return eval_window(in);
    case OpFamily::kOrdering:
      return eval_ordering(in);
    case OpFamily::kRandom:
      return eval_rng_bit_generator(in);
    case OpFamily::kControlFlow:
    case OpFamily::kCollective:
    case OpFamily::kExpanded:
      break;
  }
  SPMD_UNREACHABLE("{} needs more than its operands", name_of(in.op.code));
}

}  // namespace spmd::eval
