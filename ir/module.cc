#include "ir/module.h"

#include <algorithm>
#include <utility>

#include "support/error.h"

namespace spmd {

std::string Location::to_string() const {
  const std::string place = file.empty() ? "" : line > 0 ? fmt::format("{}:{}", file, line) : file;
  if (name.empty()) return place.empty() ? "unknown location" : place;
  return place.empty() ? name : fmt::format("{} ({})", name, place);
}

BlockId Function::add_block(OpId parent) {
  blocks_.emplace_back();
  blocks_.back().parent = parent;
  return static_cast<BlockId>(blocks_.size() - 1);
}

ValueId Function::add_block_argument(BlockId id, TensorType type, ShardingRef sharding) {
  Value value;
  value.type = std::move(type);
  value.block = id;
  value.index = static_cast<uint32_t>(block(id).args.size());
  value.sharding = std::move(sharding);
  values_.push_back(std::move(value));
  const auto value_id = static_cast<ValueId>(values_.size() - 1);
  block(id).args.push_back(value_id);
  return value_id;
}

void Function::erase_block_argument(BlockId id, size_t index) {
  std::vector<ValueId>& args = block(id).args;
  SPMD_CHECK(value(args[index]).uses.empty());
  args.erase(args.begin() + static_cast<ptrdiff_t>(index));
  for (size_t i = index; i < args.size(); ++i) value(args[i]).index = static_cast<uint32_t>(i);
}

void Function::add_use(OpId id, uint32_t operand) {
  Op& user = op(id);
  Uses& uses = value(user.operands[operand]).uses;
  user.use_slots[operand] = static_cast<uint32_t>(uses.size());
  uses.push_back({id, operand});
}

void Function::drop_use(OpId id, uint32_t operand) {
  Op& user = op(id);
  Uses& uses = value(user.operands[operand]).uses;
  const uint32_t slot = user.use_slots[operand];
  uses[slot] = uses.back();
  op(uses[slot].op).use_slots[uses[slot].operand] = slot;
  uses.pop_back();
}

void Function::link(OpId id, BlockId where, OpId before) {
  Op& inserted = op(id);
  Block& target = block(where);
  inserted.block = where;
  inserted.next = before;
  inserted.prev = before == OpId::kNone ? target.last : op(before).prev;
  if (inserted.prev == OpId::kNone) {
    target.first = id;
  } else {
    op(inserted.prev).next = id;
  }
  if (before == OpId::kNone) {
    target.last = id;
  } else {
    op(before).prev = id;
  }
}

void Function::unlink(OpId id) {
  Op& removed = op(id);
  Block& source = block(removed.block);
  (removed.prev == OpId::kNone ? source.first : op(removed.prev).next) = removed.next;
  (removed.next == OpId::kNone ? source.last : op(removed.next).prev) = removed.prev;
}

OpId Function::insert_op(BlockId where, OpId before, OpCode code, ValueIds operands,
                         std::vector<TensorType> result_types, Attrs attrs, LocationRef location) {
  const auto id = static_cast<OpId>(ops_.size());
  ops_.emplace_back();
  Op& created = ops_.back();
  created.code = code;
  created.attrs = std::move(attrs);
  created.location = std::move(location);
  for (TensorType& type : result_types) add_result(id, std::move(type));
  created.operands = std::move(operands);
  created.use_slots.resize(created.operands.size());
  for (uint32_t i = 0; i < created.operands.size(); ++i) add_use(id, i);
  link(id, where, before);
  ++live_ops_;
  return id;
}

BlockId Function::add_region(OpId id) {
  const BlockId region = add_block(id);
  op(id).regions.push_back(region);
  return region;
}

void Function::set_operand(OpId id, size_t index, ValueId value) {
  drop_use(id, static_cast<uint32_t>(index));
  op(id).operands[index] = value;
  add_use(id, static_cast<uint32_t>(index));
}

void Function::set_operands(OpId id, ValueIds operands) {
  Op& changed = op(id);
  for (uint32_t i = 0; i < changed.operands.size(); ++i) drop_use(id, i);
  changed.operands = std::move(operands);
  changed.use_slots.resize(changed.operands.size());
  for (uint32_t i = 0; i < changed.operands.size(); ++i) add_use(id, i);
}

ValueId Function::add_result(OpId id, TensorType type) {
  Value value;
  value.type = std::move(type);
  value.def = id;
  value.index = static_cast<uint32_t>(op(id).results.size());
  values_.push_back(std::move(value));
  const auto value_id = static_cast<ValueId>(values_.size() - 1);
  op(id).results.push_back(value_id);
  return value_id;
}

void Function::erase_result(OpId id, size_t index) {
  ValueIds& results = op(id).results;
  SPMD_CHECK(value(results[index]).uses.empty());
  results.erase(results.begin() + index);
  for (size_t i = index; i < results.size(); ++i) {
    value(results[i]).index = static_cast<uint32_t>(i);
  }
}

void Function::replace_all_uses(ValueId from, ValueId to) {
  if (from == to) return;
  const Uses uses = std::exchange(value(from).uses, {});
  for (const Use& use : uses) {
    op(use.op).operands[use.operand] = to;
    add_use(use.op, use.operand);
  }
}

void Function::move_op(OpId id, BlockId where, OpId before) {
  unlink(id);
  link(id, where, before);
}

void Function::drop_uses_in(BlockId id) {
  for (OpId inner = block(id).first; inner != OpId::kNone; inner = op(inner).next) {
    for (uint32_t i = 0; i < op(inner).operands.size(); ++i) drop_use(inner, i);
    op(inner).operands.clear();
    op(inner).use_slots.clear();
    for (BlockId region : op(inner).regions) drop_uses_in(region);
  }
}

void Function::erase_op(OpId id) {
  Op& erased = op(id);
  for (ValueId result : erased.results) {
    SPMD_CHECK(value(result).uses.empty(), "erasing {} whose result is used", name_of(erased.code));
    value(result).def = OpId::kNone;
  }
  for (uint32_t i = 0; i < erased.operands.size(); ++i) drop_use(id, i);
  erased.operands.clear();
  erased.use_slots.clear();
  for (BlockId region : erased.regions) {
    drop_uses_in(region);
    for (OpId inner = block(region).first; inner != OpId::kNone;) {
      const OpId next = op(inner).next;
      erase_op(inner);
      inner = next;
    }
  }
  unlink(id);
  erased.block = BlockId::kNone;
  erased.attrs = {};
  --live_ops_;
}

void Function::compact() {
  Function packed(name_);
  packed.private_ = private_;
  std::vector<ValueId> values(values_.size(), ValueId::kNone);
  // Blocks, values and ops in program order; operands last, since loops have forward references
  // only through block arguments, which are numbered before their uses.
  struct Copier {
    const Function& from;
    Function& to;
    std::vector<ValueId>& values;
    void copy(BlockId source, BlockId target) {
      for (ValueId arg : from.block(source).args) {
        const Value& old = from.value(arg);
        values[index_of(arg)] = to.add_block_argument(target, old.type, old.sharding);
      }
      for (OpId id = from.block(source).first; id != OpId::kNone; id = from.op(id).next) {
        const Op& old = from.op(id);
        ValueIds operands;
        for (ValueId operand : old.operands) operands.push_back(values[index_of(operand)]);
        std::vector<TensorType> types;
        for (ValueId result : old.results) types.push_back(from.type(result));
        const OpId created = to.insert_op(target, OpId::kNone, old.code, std::move(operands),
                                          std::move(types), old.attrs, old.location);
        for (size_t i = 0; i < old.results.size(); ++i) {
          const ValueId result = to.op(created).results[i];
          to.value(result).sharding = from.value(old.results[i]).sharding;
          values[index_of(old.results[i])] = result;
        }
        for (BlockId region : old.regions) copy(region, to.add_region(created));
      }
    }
  };
  Copier{*this, packed, values}.copy(body_, packed.body_);
  packed.argument_info = std::move(argument_info);
  packed.result_info = std::move(result_info);
  *this = std::move(packed);
}

int Module::add_function(std::string function_name) {
  if (by_name_.contains(function_name)) {
    throw UserError(source, fmt::format("two functions are named @{}", function_name));
  }
  const int index = static_cast<int>(functions_.size());
  by_name_.emplace(function_name, index);
  functions_.push_back(std::make_unique<Function>(std::move(function_name)));
  return index;
}

void Module::rename_function(int index, std::string function_name) {
  by_name_.erase(function(index).name());
  by_name_.emplace(function_name, index);
  function(index).set_name(std::move(function_name));
}

std::optional<int> Module::find_function(std::string_view function_name) const {
  const auto found = by_name_.find(std::string(function_name));
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

const Function& Module::main() const {
  if (const auto index = find_function("main")) return function(*index);
  throw UserError(source, "there is no function @main");
}

Function& Module::main() { return const_cast<Function&>(std::as_const(*this).main()); }

void Module::drop_unreachable_functions() {
  std::vector<bool> reached(functions_.size(), false);
  std::vector<int> work;
  const auto reach = [&](int index) {
    if (!reached[static_cast<size_t>(index)]) {
      reached[static_cast<size_t>(index)] = true;
      work.push_back(index);
    }
  };
  if (const auto index = find_function("main")) reach(*index);
  const auto all_reached = [&] {
    return std::find(reached.begin(), reached.end(), false) == reached.end();
  };
  while (!work.empty() && !all_reached()) {
    const Function& fn = function(work.back());
    work.pop_back();
    walk(fn, [&](OpId id) {
      if (fn.op(id).code == OpCode::kCall) reach(fn.op(id).as<CallAttrs>().callee);
    });
  }
  if (all_reached()) return;
  std::vector<int> renumbered(functions_.size(), -1);
  std::vector<std::unique_ptr<Function>> kept;
  by_name_.clear();
  for (size_t i = 0; i < functions_.size(); ++i) {
    if (!reached[i]) continue;
    renumbered[i] = static_cast<int>(kept.size());
    by_name_.emplace(functions_[i]->name(), renumbered[i]);
    kept.push_back(std::move(functions_[i]));
  }
  functions_ = std::move(kept);
  for (auto& fn : functions_) {
    walk(*fn, [&](OpId id) {
      Op& op = fn->op(id);
      if (op.code != OpCode::kCall) return;
      int& callee = op.as<CallAttrs>().callee;
      callee = renumbered[static_cast<size_t>(callee)];
    });
  }
}

void Module::note(const std::string& place, const std::string& text) {
  const auto is_known = [&](const ReadingNote& note) { return note.text == text; };
  if (std::none_of(notes_.begin(), notes_.end(), is_known)) notes_.push_back({place, text});
}

Module Module::clone() const {
  Module copy;
  copy.name = name;
  copy.source = source;
  copy.mesh = mesh;
  copy.mesh_name = mesh_name;
  copy.by_name_ = by_name_;
  copy.notes_ = notes_;
  for (const auto& fn : functions_) copy.functions_.push_back(std::make_unique<Function>(*fn));
  return copy;
}

}  // namespace spmd
