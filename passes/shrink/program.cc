// Fewer results, ops and arguments.
#include <algorithm>

#include "ir/builder.h"
#include "ir/reducer_region.h"
#include "passes/inline_calls.h"
#include "passes/shrink/edits.h"

namespace spmd::shrinking {
namespace {

// Programs up to this size have every value tried as the only result, and every pair of arguments
// as one.
constexpr size_t kFewOps = 30;

// Keeps these results only, in order.
bool keep_results(Module& module, const std::vector<size_t>& kept) {
  Function& fn = module.main();
  if (kept.empty() || kept.size() == fn.results().size()) return false;
  std::vector<ValueId> values;
  std::vector<ResultInfo> infos;
  std::vector<int> place(fn.results().size(), -1);
  for (size_t result : kept) {
    place[result] = static_cast<int>(values.size());
    values.push_back(fn.results()[result]);
    infos.push_back(fn.result_info[result]);
  }
  for (ArgumentInfo& argument : fn.argument_info) {
    int& aliased = argument.aliased_result;
    if (aliased >= 0) aliased = place[static_cast<size_t>(aliased)];
  }
  fn.set_operands(fn.terminator(fn.body()), std::move(values));
  fn.result_info = std::move(infos);
  return true;
}

// Makes an earlier value the only result.
bool return_value(Module& module, ValueId value) {
  Function& fn = module.main();
  if (fn.results().size() != 1 || fn.results()[0] == value) return false;
  ResultInfo& info = fn.result_info[0];
  if (info.sharding && info.sharding->rank() != fn.type(value).rank()) info.sharding = nullptr;
  fn.set_operands(fn.terminator(fn.body()), {value});
  for (ArgumentInfo& argument : fn.argument_info) argument.aliased_result = -1;
  return true;
}

// Reducers and comparators stay as they are.
std::vector<OpId> removable_ops(const Function& fn) {
  std::vector<OpId> ops;
  walk(fn, [&](OpId id) {
    const Op& op = fn.op(id);
    if (op.code != OpCode::kReturn && !is_reducer_region(fn, op.block)) ops.push_back(id);
  });
  return ops;
}

bool is_inside(const Function& fn, OpId op, OpId outer) {
  for (; op != OpId::kNone; op = fn.parent_op(op)) {
    if (op == outer) return true;
  }
  return false;
}

bool used_outside(const Function& fn, ValueId value, OpId op) {
  const Uses& uses = fn.value(value).uses;
  return std::any_of(uses.begin(), uses.end(),
                     [&](const Use& use) { return !is_inside(fn, use.op, op); });
}

bool in_manual_computation(const Function& fn, OpId op) {
  for (; op != OpId::kNone; op = fn.parent_op(op)) {
    if (fn.op(op).code == OpCode::kManualComputation) return true;
  }
  return false;
}

// Inside a manual computation, shapes are local: no argument of main can stand for a value, and a
// constant does.
void cut_op(Function& fn, OpId op) {
  const bool local = in_manual_computation(fn, fn.parent_op(op));
  const std::vector<ValueId> results = fn.op(op).results;
  for (ValueId result : results) {
    if (!used_outside(fn, result, op)) continue;
    ValueId stand_in;
    if (local) {
      Builder builder = Builder::before(fn, op);
      stand_in = builder.splat(fn.type(result), 1);
    } else {
      stand_in = fn.add_block_argument(fn.body(), fn.type(result));
      fn.argument_info.emplace_back();
    }
    fn.replace_all_uses(result, stand_in);
  }
  fn.erase_op(op);
}

bool cut_ops(Module& module, const std::vector<OpId>& ops) {
  Function& fn = module.main();
  // Users first; an op goes with the one that it is in.
  for (size_t i = ops.size(); i-- > 0;) {
    if (!fn.is_erased(ops[i])) cut_op(fn, ops[i]);
  }
  return true;
}

bool bypass_op(Module& module, OpId op, size_t first_operand) {
  Function& fn = module.main();
  const std::vector<ValueId> results = fn.op(op).results, operands = fn.op(op).operands;
  if (first_operand + results.size() > operands.size()) return false;
  for (size_t i = 0; i < results.size(); ++i) {
    if (fn.type(results[i]) != fn.type(operands[first_operand + i])) return false;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    fn.replace_all_uses(results[i], operands[first_operand + i]);
  }
  fn.erase_op(op);
  return true;
}

// A branch instead of the choice; a loop's body, once, instead of the loop.
bool inline_region(Module& module, OpId op, size_t region) {
  Function& fn = module.main();
  const BlockId block = fn.op(op).regions[region];
  const std::vector<ValueId> args = fn.block(block).args, results = fn.op(op).results;
  ValueMap map;
  for (size_t i = 0; i < args.size(); ++i) {
    if (fn.type(args[i]) != fn.type(fn.op(op).operands[i])) return false;
    map[args[i]] = fn.op(op).operands[i];
  }
  Builder builder = Builder::before(fn, op);
  const std::vector<ValueId> values = inline_block(fn, block, builder, map);
  if (values.size() != results.size()) return false;
  for (size_t i = 0; i < results.size(); ++i) {
    if (fn.type(values[i]) != fn.type(results[i])) return false;
    fn.replace_all_uses(results[i], values[i]);
  }
  fn.erase_op(op);
  return true;
}

bool inline_functions(Module& module) {
  PassContext context;
  return module.functions().size() > 1 && inline_calls_pass().run(module, context);
}

bool merge_arguments(Module& module, size_t kept, size_t merged) {
  Function& fn = module.main();
  const ValueId from = fn.arguments()[merged], to = fn.arguments()[kept];
  if (fn.type(from) != fn.type(to)) return false;
  if (fn.argument_info[merged].aliased_result >= 0) return false;
  fn.replace_all_uses(from, to);
  return true;
}

}  // namespace

std::vector<Edit> result_edits(const Module& module) {
  std::vector<Edit> edits;
  const Function& fn = module.main();
  const size_t count = fn.results().size();
  for (size_t part = (count + 1) / 2; part >= 1 && count > 1; part /= 2) {
    for (size_t from = 0; from < count; from += part) {
      std::vector<size_t> inside, outside;
      for (size_t i = 0; i < count; ++i) {
        (i >= from && i < from + part ? inside : outside).push_back(i);
      }
      for (const std::vector<size_t>& kept : {inside, outside}) {
        edits.push_back([=](Module& m) { return keep_results(m, kept); });
      }
    }
  }
  if (count != 1) return edits;
  const auto try_value = [&](ValueId value) {
    edits.push_back([=](Module& m) { return return_value(m, value); });
  };
  std::vector<OpId> ops;
  for_each_op(fn, fn.body(), [&](OpId id) { ops.push_back(id); });
  // All values of few ops; of many those at 1/2, 3/4, 7/8, ... of the way to the result.
  for (size_t at = ops.size() <= kFewOps ? 0 : ops.size() / 2; at < ops.size();) {
    for (ValueId value : fn.op(ops[at]).results) try_value(value);
    at += ops.size() <= kFewOps ? 1 : (ops.size() - at + 1) / 2;
  }
  return edits;
}

std::vector<Edit> cut_edits(const Module& module, size_t count) {
  const std::vector<OpId> ops = removable_ops(module.main());
  std::vector<Edit> edits;
  for (size_t from = 0; from < ops.size(); from += count) {
    const std::vector<OpId> part(
        ops.begin() + static_cast<ptrdiff_t>(from),
        ops.begin() + static_cast<ptrdiff_t>(std::min(ops.size(), from + count)));
    edits.push_back([=](Module& m) { return cut_ops(m, part); });
  }
  return edits;
}

std::vector<Edit> bypass_edits(const Module& module) {
  std::vector<Edit> edits = {inline_functions};
  const Function& fn = module.main();
  for (OpId id : removable_ops(fn)) {
    const Op& op = fn.op(id);
    const bool nested = !op.regions.empty() && !is_reducer_region(fn, op.regions[0]);
    for (size_t region = 0; nested && region < op.regions.size(); ++region) {
      edits.push_back([=](Module& m) { return inline_region(m, id, region); });
    }
    for (size_t i = 0; i < op.operands.size(); ++i) {
      edits.push_back([=](Module& m) { return bypass_op(m, id, i); });
    }
  }
  return edits;
}

std::vector<Edit> argument_edits(const Module& module) {
  std::vector<Edit> edits;
  const size_t count = module.main().arguments().size();
  if (count > kFewOps) return edits;
  for (size_t kept = 0; kept < count; ++kept) {
    for (size_t merged = kept + 1; merged < count; ++merged) {
      edits.push_back([=](Module& m) { return merge_arguments(m, kept, merged); });
    }
  }
  return edits;
}

std::vector<Edit> name_edits(const Module&) {
  const auto clear_aliases = [](Module& m) {
    bool changed = false;
    for (ArgumentInfo& info : m.main().argument_info) {
      changed = changed || info.aliased_result >= 0 || info.donated;
      info.aliased_result = -1;
      info.donated = false;
    }
    return changed;
  };
  const auto clear_names = [](Module& m) {
    bool changed = false;
    const auto clear = [&](std::string& name) {
      changed = changed || !name.empty();
      name.clear();
    };
    for (ArgumentInfo& info : m.main().argument_info) clear(info.name);
    for (ResultInfo& info : m.main().result_info) clear(info.name);
    walk(m.main(), [&](OpId id) {
      LocationRef& location = m.main().op(id).location;
      changed = changed || location != nullptr;
      location = nullptr;
    });
    return changed;
  };
  return {clear_aliases, clear_names};
}

}  // namespace spmd::shrinking
