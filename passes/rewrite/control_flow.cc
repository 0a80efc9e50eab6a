#include <algorithm>

#include "passes/rewrite/match.h"
#include "passes/rewrite/patterns.h"

namespace spmd {
namespace {

// `if` and `case` on a constant become the branch taken.
bool branch_on_constant(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  const auto predicate = splat_of(rw.fn(), op.operands[0]);
  if (!predicate) return false;
  const int64_t number = predicate->as_int(0);
  const auto branches = static_cast<int64_t>(op.regions.size());
  // Regions of `if` are (true, false); an index out of range takes the last branch.
  const int64_t taken = op.code == OpCode::kIf             ? (number != 0 ? 0 : 1)
                        : number < 0 || number >= branches ? branches - 1
                                                           : number;
  Builder builder = rw.before(id);
  ValueMap values;
  return rw.replace(id,
                    inline_block(rw.fn(), op.regions[static_cast<size_t>(taken)], builder, values));
}

}  // namespace

void add_control_flow_patterns(PatternSet& patterns) {
  patterns.add(OpCode::kIf, branch_on_constant);
  patterns.add(OpCode::kCase, branch_on_constant);
}

}  // namespace spmd
