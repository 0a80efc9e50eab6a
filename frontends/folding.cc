#include "frontends/folding.h"

#include <algorithm>
#include <unordered_set>

#include "ir/builder.h"
#include "ir/evaluator.h"
#include "ir/verifier.h"
#include "support/error.h"

namespace spmd {
namespace {

// Scalar operations that reading a model may spend on one value.
constexpr double kMaxWork = 3e7;

// Values that an op reads: its operands, and what its regions read from outside.
std::vector<ValueId> values_read(const Function& fn, const Op& op) {
  std::vector<ValueId> read = op.operands;
  std::unordered_set<ValueId> inside;
  for (BlockId region : op.regions) {
    for (ValueId argument : fn.block(region).args) inside.insert(argument);
    walk(fn, region, [&](OpId id) {
      const Op& inner = fn.op(id);
      for (ValueId operand : inner.operands) {
        if (!inside.contains(operand)) read.push_back(operand);
      }
      inside.insert(inner.results.begin(), inner.results.end());
      for (BlockId nested : inner.regions) {
        inside.insert(fn.block(nested).args.begin(), fn.block(nested).args.end());
      }
    });
  }
  return read;
}

bool is_computable(const Function& fn, const Op& op) {
  if (op.code == OpCode::kWhile || op.code == OpCode::kRngBitGenerator) return false;
  bool computable = !has_side_effect(op.code);
  for (BlockId region : op.regions) {
    walk(fn, region, [&](OpId id) {
      const OpCode code = fn.op(id).code;
      computable = computable && code != OpCode::kWhile && code != OpCode::kRngBitGenerator;
    });
  }
  return computable;
}

double work_of(const Function& fn, const Op& op) {
  double elements = 0, operands = 0;
  for (ValueId result : op.results) {
    elements += static_cast<double>(fn.type(result).num_elements());
  }
  for (ValueId operand : op.operands) {
    operands += static_cast<double>(fn.type(operand).num_elements());
  }
  switch (op.code) {
    case OpCode::kConstant:
      return 0;
    case OpCode::kDotGeneral: {
      double contracted = 1;
      for (int64_t dim : op.as<DotAttrs>().lhs_contracting) {
        contracted *= static_cast<double>(fn.type(op.operands[0]).dim(dim));
      }
      return elements * contracted;
    }
    case OpCode::kConvolution:
      return elements * static_cast<double>(fn.type(op.operands[1]).num_elements());
    case OpCode::kReduceWindow:
    case OpCode::kSelectAndScatter: {
      double window = 1;
      for (int64_t size : op.as<WindowAttrs>().size) window *= static_cast<double>(size);
      return operands + elements * window;
    }
    case OpCode::kSort:
      return 32 * operands;
    default:
      return operands + elements;
  }
}

}  // namespace

const Literal* Folding::constant(ValueId value) const {
  const Op* def = fn_.def(value);
  const bool is_constant = def != nullptr && def->code == OpCode::kConstant;
  return is_constant ? &def->as<ConstantAttrs>().value : nullptr;
}

Folding::Slice Folding::slice_of(ValueId value) const {
  Slice slice;
  std::vector<ValueId> pending = {value};
  std::unordered_set<ValueId> seen = {value};
  while (!pending.empty()) {
    const ValueId next = pending.back();
    pending.pop_back();
    const OpId def = fn_.value(next).def;
    if (def == OpId::kNone) {
      const bool is_argument = fn_.value(next).block == fn_.body();
      if (is_argument) slice.parameters.insert(next);
      slice.computable = slice.computable && is_argument;
      continue;
    }
    if (!slice.ops.insert(def).second) continue;
    const Op& op = fn_.op(def);
    slice.computable = slice.computable && is_computable(fn_, op);
    slice.work += work_of(fn_, op);
    for (ValueId read : values_read(fn_, op)) {
      if (seen.insert(read).second) pending.push_back(read);
    }
  }
  return slice;
}

const Literal* Folding::known(ValueId value) {
  if (const Literal* literal = constant(value)) return literal;
  const auto found = known_.find(value);
  if (found != known_.end()) return &found->second;
  const Slice slice = slice_of(value);
  if (!slice.computable || slice.work > kMaxWork) return nullptr;
  for (ValueId argument : slice.parameters) {
    if (known_.contains(argument)) continue;
    std::optional<Literal> literal = parameter_(argument);
    if (!literal) return nullptr;
    known_.emplace(argument, std::move(*literal));
  }
  if (fn_.value(value).def == OpId::kNone) return &known_.at(value);
  return &known_.emplace(value, evaluate_slice(slice, value)).first->second;
}

Literal Folding::evaluate_slice(const Slice& slice, ValueId value) {
  Module module;
  module.source = "constants";
  Function& scratch = module.function(module.add_function("main"));
  Builder builder(scratch, scratch.body());
  ValueMap values;
  for (ValueId argument : slice.parameters)
    values[argument] = builder.constant(known_.at(argument));
  for (OpId op : slice.ops) clone_op(fn_, op, builder, values);
  builder.return_op({values.at(value)});
  scratch.result_info.resize(1);
  verify(module);  // what is being read has not been yet
  return evaluate(module, {})[0];
}

std::vector<ValueId> Folding::unknown_arguments(ValueId value) {
  std::vector<ValueId> unknown;
  for (ValueId argument : slice_of(value).parameters) {
    if (!known_.contains(argument) && !parameter_(argument)) unknown.push_back(argument);
  }
  return unknown;
}

namespace {

void remove_unused_ops(Function& fn, BlockId block) {
  for (OpId id = fn.block(block).last; id != OpId::kNone;) {
    const OpId previous = fn.op(id).prev;
    const ValueIds& results = fn.op(id).results;
    const bool unused = std::all_of(results.begin(), results.end(),
                                    [&](ValueId v) { return fn.value(v).uses.empty(); });
    if (unused && fn.op(id).code != OpCode::kReturn && !has_side_effect(fn.op(id).code)) {
      fn.erase_op(id);
    } else {
      for (size_t r = 0; r < fn.op(id).regions.size(); ++r) {
        remove_unused_ops(fn, fn.op(id).regions[r]);
      }
    }
    id = previous;
  }
}

}  // namespace

void remove_unused(Function& fn, size_t first_removable) {
  remove_unused_ops(fn, fn.body());
  for (size_t i = fn.arguments().size(); i-- > first_removable;) {
    if (!fn.value(fn.arguments()[i]).uses.empty()) continue;
    fn.erase_block_argument(fn.body(), i);
    fn.argument_info.erase(fn.argument_info.begin() + static_cast<ptrdiff_t>(i));
  }
}

}  // namespace spmd
