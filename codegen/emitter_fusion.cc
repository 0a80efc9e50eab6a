// The part of Emitter that forms fused kernels.
#include <algorithm>

#include "codegen/emitter.h"
#include "support/error.h"

namespace spmd::codegen {
namespace {

// A deferred expression is evaluated by its consumers, again by each: it must be small, the more so
// when more elements are asked of it than it has.
constexpr size_t kMaxDeferredLeaves = 2;
constexpr int kMaxDeferredOps = 8, kMaxRepeatedOps = 3;

}  // namespace

// ---- groups

int Emitter::find(int id, int* node) const {
  while (groups_[static_cast<size_t>(id)].target >= 0) {
    if (node) *node += groups_[static_cast<size_t>(id)].offset;
    id = groups_[static_cast<size_t>(id)].target;
  }
  return id;
}

Group* Emitter::open_group(ValueId value, int* node) {
  const ValueState& current = state(value);
  if (current.kind != ValueState::Kind::kMember) return nullptr;
  if (node) *node = current.node;
  return groups_[static_cast<size_t>(find(current.group, node))].group.get();
}

int Emitter::new_group(const Dims& shape) {
  const int id = static_cast<int>(groups_.size());
  groups_.push_back({std::make_unique<Group>(scope().block, shape), -1, 0});
  scope().groups.push_back(id);
  touch(id);
  return id;
}

// The op being lowered joins the group.
void Emitter::touch(int id) {
  group(id).key = clock_;
  group(id).last = scope().op;
}

int Emitter::merge(int a, int b) {
  if (group(a).num_nodes() < group(b).num_nodes()) std::swap(a, b);
  GroupSlot& slot = groups_[static_cast<size_t>(b)];
  slot.offset = group(a).absorb(*slot.group);
  slot.target = a;
  slot.group.reset();
  return a;
}

// Puts into memory the members that something outside still needs.
void Emitter::export_members(Group& group) {
  for (const Group::Member& member : group.members) {
    if (remaining_[index_of(member.value)] == 0) continue;
    const TensorType& type = fn_.type(member.value);
    std::optional<View> view;
    if (const View* known = group.stored(member.node)) view = reshaped(*known, type.shape);
    if (!view) {
      view = dense_view(storages_.add(plan::Buffer::ARENA, type.num_bytes()), type);
      // Not in the member's own shape, which the group need not be able to take.
      group.store_dense(member.node, *view);
    }
    define_as(member.value, std::move(*view));
  }
}

void Emitter::close(int id) {
  GroupSlot& slot = groups_[static_cast<size_t>(id)];
  if (slot.group == nullptr) return;
  const std::unique_ptr<Group> closed = std::move(slot.group);
  export_members(*closed);
  if (!closed->has_stores() || closed->elements() == 0) return;
  const auto home = std::find_if(scopes_.rbegin(), scopes_.rend(),
                                 [&](const Scope& s) { return s.block == closed->block(); });
  SPMD_CHECK(home != scopes_.rend());
  home->steps.push_back({closed->key, {}});
  plan::Step& step = home->steps.back().step;
  step.set_op(place_of(fn_.op(closed->last)));
  *step.mutable_elementwise() = closed->build();
}

void Emitter::settle(int storage) {
  const auto found = writers_.find(storage);
  if (found == writers_.end()) return;
  const std::vector<int> writers = std::move(found->second);
  writers_.erase(found);
  for (int id : writers) close(find(id));
}

// ---- membership

void Emitter::set_member(ValueId value, int id, int node) {
  ValueState member;
  member.kind = ValueState::Kind::kMember;
  member.group = id;
  member.node = node;
  set_state(value, std::move(member));
  group(id).members.push_back({value, node});
  if (uses_[index_of(value)].demand >= kMemoryDemand) ++group(id).exports;
}

// Makes an operand usable in a kernel over `shape`: in memory, deferred, or in an open group that
// the kernel could be part of.
void Emitter::prepare_operand(ValueId operand, const Dims& shape) {
  if (const Group* owner = open_group(operand)) {
    const bool joinable = owner->block() == scope().block && owner->accepts(shape);
    if (!joinable) close(find(state(operand).group));
  }
  if (state(operand).kind == ValueState::Kind::kStored) settle(state(operand).view.storage);
}

Expr Emitter::operand_expr(ValueId operand, const Dims& shape) {
  const ValueState& current = state(operand);
  Expr expr = current.kind == ValueState::Kind::kLazy ? *current.expr : load_expr(current.view);
  if (fn_.type(operand).shape != shape)  // a scalar among tensors, as select and clamp take
    for (View& leaf : expr.leaves) leaf = broadcasted(leaf, shape, {});
  return expr;
}

int Emitter::operand_node(int id, ValueId operand, const Dims& shape) {
  int node = -1;
  if (open_group(operand, &node) != nullptr) return node;
  node = group(id).find(operand);
  if (node >= 0) return node;
  node = group(id).add(operand_expr(operand, shape), shape);
  group(id).remember(operand, node);
  if (state(operand).kind == ValueState::Kind::kStored) note_reader(state(operand).view, id);
  return node;
}

void Emitter::note_reader(const View& view, int id) {
  if (!is_injective_by_strides(view)) return;
  last_reader_.resize(static_cast<size_t>(storages_.size()), -1);
  last_reader_[static_cast<size_t>(view.storage)] = id;
}

// An open group that reads the same memory and could take in a kernel over the view's shape.
int Emitter::sibling_group(const View& view) const {
  const auto storage = static_cast<size_t>(view.storage);
  if (storage >= last_reader_.size() || last_reader_[storage] < 0) return -1;
  if (!is_injective_by_strides(view)) return -1;
  const int id = find(last_reader_[storage]);
  const Group* candidate = groups_[static_cast<size_t>(id)].group.get();
  if (candidate == nullptr || candidate->block() != scopes_.back().block) return -1;
  return candidate->accepts(view.shape) ? id : -1;
}

// ---- elementwise ops

// Leaves an op to its consumers when that spares its result's way through memory.
bool Emitter::defer(OpId id) {
  const Op& op = fn_.op(id);
  const TensorType& type = fn_.type(op.results[0]);
  const ValueUses& uses = uses_[index_of(op.results[0])];
  const int64_t elements = type.num_elements();
  if (!uses.by_view || elements == 0 || uses.demand > 2 * elements) return false;
  for (ValueId operand : op.operands)
    if (state(operand).kind == ValueState::Kind::kMember) return false;

  Expr expr;
  std::vector<int> args;
  for (ValueId operand : op.operands)
    args.push_back(append(expr, operand_expr(operand, type.shape)));
  expr.nodes.push_back(scalar_node(op, type.dtype, args));

  int ops = 0;
  bool expensive = false;
  for (const Node& node : expr.nodes) {
    if (node.kind != Node::Kind::kScalar || node.is_constant()) continue;
    ++ops;
    expensive = expensive || is_expensive(node.op);
  }
  const bool repeated = uses.demand > elements;
  if (expr.leaves.size() > kMaxDeferredLeaves || ops > kMaxDeferredOps) return false;
  if (repeated && (expensive || ops > kMaxRepeatedOps)) return false;
  define_lazy(op.results[0], std::move(expr));
  return true;
}

// The open group that an op becomes part of, -1 if it begins a new one. Groups of its operands
// that cannot be merged are closed.
int Emitter::choose_group(const Op& op, const Dims& shape) {
  int chosen = -1;
  size_t nodes = 1, leaves = 0;
  for (ValueId operand : op.operands) {
    if (open_group(operand) == nullptr) {
      const ValueState& current = state(operand);
      const bool lazy = current.kind == ValueState::Kind::kLazy;
      nodes += lazy ? current.expr->nodes.size() : 1;
      leaves += lazy ? current.expr->leaves.size() : 1;
      continue;
    }
    const int id = find(state(operand).group);
    if (chosen < 0 || id == chosen) {
      chosen = id;
    } else if (group(chosen).accepts(group(id)) && group(chosen).has_room(group(id))) {
      chosen = merge(chosen, id);
    } else {
      close(id);
      ++nodes, ++leaves;
    }
  }
  const size_t exports = uses_[index_of(op.results[0])].demand >= kMemoryDemand ? 1 : 0;
  if (chosen >= 0) {
    if (group(chosen).accepts(shape) && group(chosen).has_room(nodes, leaves, exports))
      return chosen;
    close(chosen);
  }
  for (ValueId operand : op.operands) {
    if (state(operand).kind != ValueState::Kind::kStored) continue;
    if (fn_.type(operand).shape != shape) continue;  // a scalar among tensors
    const int sibling = sibling_group(state(operand).view);
    if (sibling >= 0 && group(sibling).has_room(nodes, leaves, exports)) return sibling;
  }
  return -1;
}

void Emitter::fuse(OpId id) {
  const Op& op = fn_.op(id);
  const TensorType& type = fn_.type(op.results[0]);
  for (ValueId operand : op.operands)
    prepare_operand(operand, fn_.type(operand).rank() == 0 ? Dims{} : type.shape);
  // A scalar's group is no part of a kernel over tensors.
  if (type.rank() != 0)
    for (ValueId operand : op.operands)
      if (fn_.type(operand).rank() == 0 && open_group(operand)) close(find(state(operand).group));
  if (defer(id)) return;

  int chosen = choose_group(op, type.shape);
  if (chosen < 0) chosen = new_group(type.shape);
  std::vector<int> args;
  for (ValueId operand : op.operands) args.push_back(operand_node(chosen, operand, type.shape));
  const int node = group(chosen).add(scalar_node(op, type.dtype, args), type.shape);
  touch(chosen);
  set_member(op.results[0], chosen, node);
}

// ---- expressions that are not ops

int Emitter::group_of_expr(const Expr& expr, const Dims& shape, int* node) {
  int id = -1;
  if (expr.leaves.size() == 1 && expr.nodes[0].kind == Node::Kind::kLoad)
    id = sibling_group(expr.leaves[0]);
  if (id < 0 || !group(id).has_room(expr.nodes.size(), expr.leaves.size(), 1))
    id = new_group(shape);
  *node = group(id).add(expr, shape);
  touch(id);
  return id;
}

void Emitter::define_member(ValueId result, const Expr& expr, const Dims& shape) {
  int node = -1;
  const int id = group_of_expr(expr, shape, &node);
  set_member(result, id, node);
}

void Emitter::write_expr(const Expr& expr, const View& target) {
  if (target.num_elements() == 0) return;
  const int id = new_group(target.shape);
  group(id).store(group(id).add(expr, target.shape), target);
  close(id);
}

void Emitter::write(ValueId value, const View& target) {
  prepare_operand(value, target.shape);
  int node = -1;
  int id = -1;
  if (open_group(value, &node) != nullptr) {
    id = find(state(value).group);
  } else {
    id = group_of_expr(operand_expr(value, target.shape), target.shape, &node);
  }
  group(id).store(node, target);
  touch(id);
  writers_[target.storage].push_back(id);
}

}  // namespace spmd::codegen
