#include "codegen/emitter.h"

#include <algorithm>

#include "codegen/lower/lower.h"
#include "support/error.h"

namespace spmd::codegen {

Emitter::Emitter(const Module& module, StorageTable& storages)
    : module_(module),
      fn_(module.main()),
      storages_(storages),
      uses_(analyze_uses(fn_)),
      remaining_(fn_.num_value_ids()),
      states_(fn_.num_value_ids()) {
  for (size_t v = 0; v < remaining_.size(); ++v)
    remaining_[v] = static_cast<uint32_t>(fn_.value(static_cast<ValueId>(v)).uses.size());
}

// ---- values

void Emitter::set_state(ValueId value, ValueState state) {
  const Value& v = fn_.value(value);
  const BlockId block = v.def == OpId::kNone ? v.block : fn_.op(v.def).block;
  ValueState& current = states_[index_of(value)];
  if (!scopes_.empty() && block != scope().block && current.kind != ValueState::Kind::kNone)
    scope().undo.emplace_back(value, std::move(current));
  current = std::move(state);
}

View Emitter::stored(ValueId value) {
  const ValueState& current = state(value);
  SPMD_CHECK(current.kind != ValueState::Kind::kNone, "value without state");
  if (current.kind == ValueState::Kind::kMember) close(find(current.group));
  if (current.kind == ValueState::Kind::kLazy) {
    const TensorType& type = fn_.type(value);
    ValueState memory;
    memory.kind = ValueState::Kind::kStored;
    if (is_constant(value)) {
      const Literal element =
          Literal::splat({type.dtype, {}}, current.expr->nodes[0].constant.data());
      memory.view = repeated_view(storages_.add_constant(element, true), type);
    } else {
      memory.view = dense_view(storages_.add(plan::Buffer::ARENA, type.num_bytes()), type);
      write_expr(*current.expr, memory.view);
    }
    set_state(value, std::move(memory));
  }
  settle(current.view.storage);
  return current.view;
}

View Emitter::dense(ValueId value) {
  View view = stored(value);
  return is_dense(view) ? view : copied(value);
}

View Emitter::copied(ValueId value) {
  const View view = stored(value);
  const TensorType& type = fn_.type(value);
  View result = dense_view(storages_.add(plan::Buffer::ARENA, type.num_bytes()), type);
  copy(view, result);
  return result;
}

bool Emitter::is_constant(ValueId value) const {
  const ValueState& current = state(value);
  return current.kind == ValueState::Kind::kLazy && current.expr->nodes.size() == 1 &&
         current.expr->nodes[0].is_constant();
}

View Emitter::define(ValueId result) {
  const TensorType& type = fn_.type(result);
  View view = dense_view(storages_.add(plan::Buffer::ARENA, type.num_bytes()), type);
  define_as(result, view);
  return view;
}

void Emitter::define_as(ValueId result, View view) {
  ValueState memory;
  memory.kind = ValueState::Kind::kStored;
  memory.view = std::move(view);
  set_state(result, std::move(memory));
}

void Emitter::define_lazy(ValueId result, Expr expr) {
  ValueState lazy;
  lazy.kind = ValueState::Kind::kLazy;
  lazy.expr = std::make_shared<const Expr>(std::move(expr));
  set_state(result, std::move(lazy));
}

void Emitter::alias(ValueId result, ValueId operand) {
  int node = -1;
  if (open_group(operand, &node) != nullptr) {
    set_member(result, find(state(operand).group), node);
  } else {
    set_state(result, ValueState(state(operand)));
  }
}

void Emitter::define_view(ValueId result, ValueId operand, bool relabels, const ViewMap& map) {
  if (state(operand).kind == ValueState::Kind::kMember) {
    if (relabels) return alias(result, operand);
    close(find(state(operand).group));
  }
  const ValueState& source = state(operand);
  if (source.kind == ValueState::Kind::kStored) {
    if (std::optional<View> view = map(source.view)) return define_as(result, std::move(*view));
    settle(source.view.storage);
    return define_member(result, load_expr(source.view), fn_.type(operand).shape);
  }
  Expr mapped = *source.expr;
  for (View& leaf : mapped.leaves) {
    std::optional<View> view = map(leaf);
    if (!view) return define_member(result, *source.expr, fn_.type(operand).shape);
    leaf = std::move(*view);
  }
  define_lazy(result, std::move(mapped));
}

void Emitter::assign(ValueId value, const View& target) {
  if (state(value).kind == ValueState::Kind::kLazy) {
    write_expr(*state(value).expr, target);
  } else {
    copy(stored(value), target);
  }
}

void Emitter::fill(ValueId scalar, const View& target) {
  if (state(scalar).kind != ValueState::Kind::kLazy) stored(scalar);
  write_expr(operand_expr(scalar, target.shape), target);
}

// ---- steps and blocks

plan::Step& Emitter::add_step() {
  scope().steps.push_back({clock_, {}});
  plan::Step& step = scope().steps.back().step;
  step.set_op(place_of(fn_.op(scope().op)));
  return step;
}

void Emitter::copy(const View& from, const View& to) {
  if (from.num_elements() == 0) return;
  *add_step().mutable_elementwise() = copy_kernel(from, to);
}

plan::Sequence Emitter::emit_block(BlockId block, const std::function<void(const Op&)>& finish) {
  scopes_.push_back({block, OpId::kNone, {}, {}, {}});
  const OpId last = fn_.terminator(block);
  for (OpId id = fn_.block(block).first; id != last; id = fn_.op(id).next) {
    ++clock_;
    scope().op = id;
    lower_op(*this, id);
    for (ValueId operand : fn_.op(id).operands) --remaining_[index_of(operand)];
  }
  ++clock_;
  scope().op = last;
  const std::vector<int> groups = scope().groups;
  for (int id : groups) close(find(id));
  finish(fn_.op(last));

  Scope done = std::move(scopes_.back());
  scopes_.pop_back();
  for (auto it = done.undo.rbegin(); it != done.undo.rend(); ++it)
    states_[index_of(it->first)] = std::move(it->second);
  std::stable_sort(done.steps.begin(), done.steps.end(),
                   [](const KeyedStep& a, const KeyedStep& b) { return a.key < b.key; });
  plan::Sequence sequence;
  sequence.mutable_steps()->Reserve(static_cast<int>(done.steps.size()));
  for (KeyedStep& keyed : done.steps) sequence.add_steps()->Swap(&keyed.step);
  return sequence;
}

void Emitter::settle_captures(OpId id) {
  for (BlockId region : fn_.op(id).regions) {
    walk(fn_, region, [&](OpId inner) {
      for (ValueId operand : fn_.op(inner).operands) {
        // Values of the region itself have no state yet.
        const ValueState& current = state(operand);
        if (current.kind == ValueState::Kind::kMember) close(find(current.group));
        if (current.kind == ValueState::Kind::kStored) settle(current.view.storage);
      }
    });
  }
}

}  // namespace spmd::codegen
