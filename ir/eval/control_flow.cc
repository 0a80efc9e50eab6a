// Calls, branches and loops. All ranks take the same way.
#include <algorithm>

#include "ir/custom_call_remedies.h"
#include "ir/eval/interpreter.h"
#include "support/error.h"

namespace spmd::eval {
namespace {

// Custom calls that only say where a value should be.
bool is_identity(std::string_view target) { return target == "Sharding"; }

}  // namespace

int64_t Interpreter::agreed(const Op& op, const PerRank& value) const {
  const int64_t first = value[0].as_int(0);
  for (size_t rank = 1; rank < value.size(); ++rank) {
    const int64_t other = value[rank].as_int(0);
    if (other == first) continue;
    throw UserError(
        place_of(op),
        fmt::format("the condition is {} on rank 0 but {} on rank {}", first, other, rank),
        "all ranks of a partitioned program must take the same branch");
  }
  return first;
}

std::vector<PerRank> Interpreter::run_while(Frame& frame, const Op& op,
                                            std::vector<PerRank> carried) {
  while (true) {
    const std::vector<PerRank> condition = run_block(frame, op.regions[0], carried);
    if (agreed(op, condition[0]) == 0) return carried;
    carried = run_block(frame, op.regions[1], std::move(carried));
  }
}

std::vector<PerRank> Interpreter::run_control_flow(Frame& frame, const Op& op,
                                                   std::vector<PerRank> operands) {
  switch (op.code) {
    case OpCode::kCall:
      return call(module_.function(op.as<CallAttrs>().callee), std::move(operands));
    case OpCode::kIf: {
      const bool taken = agreed(op, operands[0]) != 0;
      return run_block(frame, op.regions[taken ? 0 : 1], {});
    }
    case OpCode::kCase: {
      // An index out of range means the last branch.
      const auto last = static_cast<int64_t>(op.regions.size()) - 1;
      const int64_t index = agreed(op, operands[0]);
      return run_block(
          frame, op.regions[static_cast<size_t>(index < 0 ? last : std::min(index, last))], {});
    }
    case OpCode::kWhile:
      return run_while(frame, op, std::move(operands));
    case OpCode::kOptimizationBarrier:
      return operands;
    case OpCode::kCustomCall: {
      const std::string& target = op.as<CustomCallAttrs>().target;
      if (is_identity(target) && operands.size() == op.results.size()) return operands;
      throw UserError(place_of(op),
                      fmt::format("custom call to \"{}\", whose meaning is not known", target),
                      custom_call_remedies({target}));
    }
    default:
      SPMD_UNREACHABLE("{} is no control flow", name_of(op.code));
  }
}

}  // namespace spmd::eval
