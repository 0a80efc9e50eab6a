#include "passes/recompute_residuals.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/trip_count.h"
#include "ir/builder.h"
#include "passes/analysis/purity.h"
#include "passes/rewrite/match.h"

namespace spmd {
namespace {

// A stack is computed again when it is this many times as large as what it is computed from.
constexpr int64_t kWorthwhile = 4;
constexpr size_t kMostOps = 64;

// The values of one kind of all iterations: stack[i] is `value` of iteration i.
struct Stack {
  size_t carry = 0;
  ValueId value = ValueId::kNone;  // before the leading dimension of 1 is added
  std::vector<OpId> reads;         // dynamic slices of one iteration each; none: it stays
};

bool all_zero(const Function& fn, const std::vector<ValueId>& values, size_t first) {
  return std::all_of(values.begin() + static_cast<std::ptrdiff_t>(first), values.end(),
                     [&](ValueId value) { return is_splat(fn, value, 0); });
}

class Scan {
 public:
  Scan(const Module& module, Function& fn, OpId loop)
      : module_(module), fn_(fn), loop_(loop), body_(fn.op(loop).regions[1]) {}

  bool run() {
    if (!find_counter()) return false;
    find_stacks();
    choose();
    if (again_.empty()) return false;
    rewrite();
    return true;
  }

 private:
  using Leaves = std::set<size_t>;  // of stacks_

  bool find_counter();
  void find_stacks();
  std::vector<OpId> reads_of(ValueId stack) const;
  void choose();
  bool choose(size_t stack);
  void absorb(const std::vector<size_t>& order);
  bool trace(ValueId value, std::set<OpId>& ops, Leaves& leaves) const;
  bool is_cheap_from(ValueId value, std::set<OpId>& more) const;
  bool is_inside(ValueId value) const;
  ValueId without_reshape(ValueId value) const;
  int64_t bytes_of(size_t stack) const { return fn_.type(stacks_[stack].value).num_bytes(); }
  void rewrite();
  void rewrite_reads(BlockId block, ValueId index,
                     const std::vector<std::pair<size_t, OpId>>& reads);
  ValueId slice(Builder& builder, const Stack& stack, ValueId index);

  const Module& module_;
  Function& fn_;
  const OpId loop_;
  const BlockId body_;
  ValueId counter_ = ValueId::kNone;
  int64_t trips_ = 0;
  std::vector<Stack> stacks_;
  std::unordered_map<ValueId, size_t> stack_of_;  // by value
  std::set<size_t> again_;                        // stacks that are not read any more
  std::set<OpId> ops_;                            // of the body, that compute them
  Leaves leaves_;                                 // stacks that these read
};

// A carry that counts the iterations from 0.
bool Scan::find_counter() {
  const std::optional<int64_t> trips = trip_count(fn_, loop_);
  if (!trips) return false;
  trips_ = *trips;
  const ValueIds& returned = fn_.op(fn_.terminator(body_)).operands;
  for (size_t i = 0; i < returned.size(); ++i) {
    const ValueId arg = fn_.block(body_).args[i];
    const Op* add = def_of(fn_, returned[i], OpCode::kAdd);
    if (add != nullptr && add->operands[0] == arg && is_splat(fn_, add->operands[1], 1) &&
        is_splat(fn_, fn_.op(loop_).operands[i], 0)) {
      counter_ = arg;
      return true;
    }
  }
  return false;
}

ValueId Scan::without_reshape(ValueId value) const {
  const Op* reshape = def_of(fn_, value, OpCode::kReshape);
  return reshape != nullptr && is_inside(reshape->operands[0]) ? reshape->operands[0] : value;
}

// Defined in the body, outside of nested regions.
bool Scan::is_inside(ValueId value) const {
  const Op* op = fn_.def(value);
  return op != nullptr ? op->block == body_ : fn_.value(value).block == body_;
}

// None when anything else uses the stack, so that it has to stay.
std::vector<OpId> Scan::reads_of(ValueId stack) const {
  std::vector<OpId> reads;
  for (const Use& use : fn_.value(stack).uses) {
    const Op& op = fn_.op(use.op);
    if (op.code != OpCode::kDynamicSlice || use.operand != 0) return {};
    Dims one = fn_.type(stack).shape;
    one[0] = 1;
    if (op.as<DynamicSliceAttrs>().sizes != one || !all_zero(fn_, op.operands, 2)) return {};
    reads.push_back(use.op);
  }
  return reads;
}

void Scan::find_stacks() {
  const ValueIds& returned = fn_.op(fn_.terminator(body_)).operands;
  for (size_t i = 0; i < returned.size(); ++i) {
    const Op* write = def_of(fn_, returned[i], OpCode::kDynamicUpdateSlice);
    const ValueId arg = fn_.block(body_).args[i];
    if (write == nullptr || write->operands[0] != arg || fn_.value(arg).uses.size() != 1 ||
        fn_.value(returned[i]).uses.size() != 1 || write->operands[2] != counter_ ||
        !all_zero(fn_, write->operands, 3)) {
      continue;
    }
    Dims one = fn_.type(arg).shape;
    if (one.empty() || one[0] != trips_) continue;
    one[0] = 1;
    if (fn_.type(write->operands[1]).shape != one) continue;
    const ValueId value = without_reshape(write->operands[1]);
    if (!stack_of_.emplace(value, stacks_.size()).second) continue;
    stacks_.push_back({i, value, reads_of(fn_.op(loop_).results[i])});
  }
}

// Adds the ops that compute `value` from stacks that stay, and from what the loop does not change.
bool Scan::trace(ValueId value, std::set<OpId>& ops, Leaves& leaves) const {
  if (!is_inside(value)) return true;
  const auto found = stack_of_.find(value);
  if (found != stack_of_.end() && again_.count(found->second) == 0) {
    leaves.insert(found->second);
    return true;
  }
  const OpId id = def_id(fn_, value);
  if (id == OpId::kNone || ops.size() > kMostOps) return false;
  if (ops.count(id) != 0) return true;
  const Op& op = fn_.op(id);
  const OpFamily family = family_of(op.code);
  if (family != OpFamily::kElementwise && family != OpFamily::kShape &&
      family != OpFamily::kContraction && family != OpFamily::kReduction) {
    return false;
  }
  if (op.results.size() != 1 || !is_pure(module_, fn_, id)) return false;
  ops.insert(id);
  return std::all_of(op.operands.begin(), op.operands.end(),
                     [&](ValueId operand) { return trace(operand, ops, leaves); });
}

// Whether it takes a few operations more on what is computed again anyhow, and no products.
bool Scan::is_cheap_from(ValueId value, std::set<OpId>& more) const {
  constexpr size_t kFew = 8;
  const OpId id = def_id(fn_, value);
  if (!is_inside(value) || ops_.count(id) != 0) return true;
  if (id == OpId::kNone || more.size() > kFew) return false;
  const OpFamily family = family_of(fn_.op(id).code);
  if (family != OpFamily::kElementwise && family != OpFamily::kShape &&
      family != OpFamily::kReduction) {
    return false;
  }
  more.insert(id);
  const ValueIds& operands = fn_.op(id).operands;
  return std::all_of(operands.begin(), operands.end(),
                     [&](ValueId operand) { return is_cheap_from(operand, more); });
}

// The largest first; each with what then costs little more.
void Scan::choose() {
  std::vector<size_t> order(stacks_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return bytes_of(a) > bytes_of(b); });
  for (size_t stack : order) {
    if (!stacks_[stack].reads.empty() && again_.count(stack) == 0 && choose(stack)) absorb(order);
  }
}

bool Scan::choose(size_t stack) {
  again_.insert(stack);
  std::set<OpId> ops = ops_;
  Leaves leaves = leaves_;
  leaves.erase(stack);
  const bool possible = trace(stacks_[stack].value, ops, leaves) && !leaves.empty();
  int64_t from = 0;
  for (size_t leaf : leaves) from += bytes_of(leaf);
  if (!possible || bytes_of(stack) < kWorthwhile * from) {
    again_.erase(stack);
    return false;
  }
  ops_ = std::move(ops);
  leaves_ = std::move(leaves);
  return true;
}

void Scan::absorb(const std::vector<size_t>& order) {
  for (size_t stack : order) {
    std::set<OpId> more;
    if (again_.count(stack) != 0 || leaves_.count(stack) != 0 || stacks_[stack].reads.empty() ||
        !is_cheap_from(stacks_[stack].value, more)) {
      continue;
    }
    again_.insert(stack);
    ops_.insert(more.begin(), more.end());
  }
}

ValueId Scan::slice(Builder& builder, const Stack& stack, ValueId index) {
  const ValueId whole = fn_.op(loop_).results[stack.carry];
  Dims sizes = fn_.type(whole).shape;
  sizes[0] = 1;
  std::vector<ValueId> operands = {whole, index};
  const ValueId zero = builder.scalar(fn_.type(index).dtype, 0);
  operands.resize(sizes.size() + 1, zero);
  const ValueId part = builder.value(OpCode::kDynamicSlice, operands, DynamicSliceAttrs{sizes});
  return builder.reshape(part, fn_.type(stack.value).shape);
}

// Computes again what one iteration of another loop reads.
void Scan::rewrite_reads(BlockId block, ValueId index,
                         const std::vector<std::pair<size_t, OpId>>& reads) {
  const Op* def = fn_.def(index);
  const bool here = def != nullptr && def->block == block;
  Builder builder(fn_, block, here ? def->next : fn_.block(block).first);
  builder.location = fn_.op(reads[0].second).location;
  ValueMap values;
  for (size_t leaf : leaves_) values[stacks_[leaf].value] = slice(builder, stacks_[leaf], index);
  for_each_op(fn_, body_, [&](OpId id) {
    if (ops_.count(id) != 0) clone_op(fn_, id, builder, values);
  });
  for (const auto& [stack, read] : reads) {
    const ValueId old = fn_.op(read).results[0];
    // What the loop does not change is there already.
    const auto again = values.find(stacks_[stack].value);
    const ValueId value = again == values.end() ? stacks_[stack].value : again->second;
    fn_.replace_all_uses(old, builder.reshape(value, fn_.type(old).shape));
    fn_.erase_op(read);
  }
}

void Scan::rewrite() {
  std::map<std::pair<BlockId, ValueId>, std::vector<std::pair<size_t, OpId>>> places;
  for (size_t stack : again_) {
    for (OpId read : stacks_[stack].reads) {
      places[{fn_.op(read).block, fn_.op(read).operands[1]}].push_back({stack, read});
    }
  }
  for (const auto& [place, reads] : places) rewrite_reads(place.first, place.second, reads);
}

bool recompute_residuals(Module& module, PassContext&) {
  bool changed = false;
  for (const auto& fn : module.functions()) {
    std::vector<OpId> loops;
    walk(*fn, [&](OpId id) {
      if (fn->op(id).code == OpCode::kWhile) loops.push_back(id);
    });
    for (OpId loop : loops) changed |= Scan(module, *fn, loop).run();
  }
  return changed;
}

}  // namespace

Pass recompute_residuals_pass() {
  return {"recompute_residuals", "compute large residuals of scans again", recompute_residuals};
}

}  // namespace spmd
