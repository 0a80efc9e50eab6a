// Loops keep their carries in memory of their own; branches write their results into memory that
// stands outside. The copies this takes are mostly removed afterwards (coalesce.h).
#include <unordered_set>

#include "codegen/lower/lower.h"
#include "ir/analysis/trip_count.h"
#include "support/error.h"

namespace spmd::codegen {
namespace {

class LoopLowering {
 public:
  LoopLowering(Emitter& emitter, OpId id)
      : emitter_(emitter),
        fn_(emitter.fn()),
        id_(id),
        op_(fn_.op(id)),
        condition_(op_.regions[0]),
        body_(op_.regions[1]) {}

  void run() {
    emitter_.settle_captures(id_);
    enter();
    View predicate;
    plan::Sequence condition = emitter_.emit_block(
        condition_, [&](const Op& last) { predicate = emitter_.stored(last.operands[0]); });
    plan::Sequence body = emitter_.emit_block(body_, [&](const Op& last) { leave(last); });

    plan::While& loop = *emitter_.add_step().mutable_while_();
    loop.mutable_condition()->Swap(&condition);
    loop.mutable_body()->Swap(&body);
    *loop.mutable_predicate() = to_plan(predicate, false);
    loop.set_trip_count(trip_count(fn_, id_).value_or(-1));
    for (size_t i = 0; i < op_.results.size(); ++i) define(op_.results[i], i);
  }

 private:
  bool is_invariant(size_t i) const {
    return fn_.op(fn_.terminator(body_)).operands[i] == fn_.block(body_).args[i];
  }

  // Where carry `i` is, inside the loop and after it.
  void define(ValueId value, size_t i) {
    if (is_invariant(i)) {
      emitter_.alias(value, op_.operands[i]);
    } else {
      emitter_.define_as(value, carries_[i]);
    }
  }

  void enter() {
    for (size_t i = 0; i < op_.operands.size(); ++i) {
      carries_.emplace_back();
      const ValueId init = op_.operands[i];
      if (is_invariant(i)) {
        if (emitter_.state(init).kind != ValueState::Kind::kLazy) emitter_.stored(init);
      } else {
        const TensorType& type = fn_.type(init);
        const int storage = emitter_.storages().add(plan::Buffer::ARENA, type.num_bytes());
        carries_[i] = dense_view(storage, type);
        storages_.insert(storage);
        emitter_.assign(init, carries_[i]);
      }
      define(fn_.block(condition_).args[i], i);
      define(fn_.block(body_).args[i], i);
    }
  }

  // All new values are in memory, none of it a carry's, before the first carry is overwritten.
  void leave(const Op& last) {
    for (size_t i = 0; i < last.operands.size(); ++i) {
      const ValueId next = last.operands[i];
      if (is_invariant(i) || emitter_.is_constant(next)) continue;
      const View view = emitter_.stored(next);
      if (!storages_.contains(view.storage)) continue;
      const TensorType& type = fn_.type(next);
      const View saved =
          dense_view(emitter_.storages().add(plan::Buffer::ARENA, type.num_bytes()), type);
      emitter_.copy(view, saved);
      emitter_.define_as(next, saved);
    }
    for (size_t i = 0; i < last.operands.size(); ++i)
      if (!is_invariant(i)) emitter_.assign(last.operands[i], carries_[i]);
  }

  Emitter& emitter_;
  const Function& fn_;
  OpId id_;
  const Op& op_;
  BlockId condition_, body_;
  std::vector<View> carries_;
  std::unordered_set<int> storages_;  // of the carries
};

void lower_branch(Emitter& emitter, OpId id) {
  const Op& op = emitter.fn().op(id);
  emitter.settle_captures(id);
  const View index = emitter.stored(op.operands[0]);
  std::vector<View> results;
  for (ValueId result : op.results) results.push_back(emitter.define(result));
  std::vector<plan::Sequence> branches;
  for (BlockId region : op.regions) {
    branches.push_back(emitter.emit_block(region, [&](const Op& last) {
      for (size_t i = 0; i < results.size(); ++i) emitter.assign(last.operands[i], results[i]);
    }));
  }
  plan::Branch& branch = *emitter.add_step().mutable_branch();
  *branch.mutable_index() = to_plan(index, false);
  for (plan::Sequence& sequence : branches) branch.add_branches()->Swap(&sequence);
}

}  // namespace

void lower_control_flow(Emitter& emitter, OpId id) {
  const Op& op = emitter.fn().op(id);
  switch (op.code) {
    case OpCode::kWhile:
      return LoopLowering(emitter, id).run();
    case OpCode::kIf:
    case OpCode::kCase:
      return lower_branch(emitter, id);
    case OpCode::kOptimizationBarrier:
      for (size_t i = 0; i < op.results.size(); ++i) emitter.alias(op.results[i], op.operands[i]);
      return;
    case OpCode::kCustomCall:
      throw UserError(place_of(op),
                      fmt::format("custom call to \"{}\"", op.as<CustomCallAttrs>().target),
                      "it stands for code outside of the program; export the program without it");
    default:
      SPMD_UNREACHABLE("{} reaches code generation", name_of(op.code));
  }
}

}  // namespace spmd::codegen
