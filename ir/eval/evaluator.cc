#include "ir/evaluator.h"

#include "ir/builder.h"
#include "ir/eval/interpreter.h"
#include "support/error.h"

namespace spmd {
namespace {

using eval::Interpreter;
using eval::PerRank;
using eval::RankSpace;

void check_arguments(const Function& fn, std::span<const Literal> arguments,
                     const std::string& place) {
  const std::vector<ValueId>& parameters = fn.arguments();
  if (arguments.size() != parameters.size()) {
    throw UserError(place, fmt::format("{} arguments are given", arguments.size()),
                    fmt::format("@{} takes {}", fn.name(), parameters.size()));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const TensorType& expected = fn.type(parameters[i]);
    if (arguments[i].empty() || arguments[i].type() != expected) {
      throw UserError(
          place,
          fmt::format("argument {} is {}", i,
                      arguments[i].empty() ? "missing" : to_string(arguments[i].type())),
          fmt::format("@{} takes {}", fn.name(), to_string(expected)));
    }
  }
}

// One literal when all ranks hold the same object.
PerRank shared_if_same(PerRank value) {
  for (const Literal& literal : value) {
    if (literal.data() != value[0].data() || literal.is_splat() != value[0].is_splat()) {
      return value;
    }
  }
  value.resize(1);
  return value;
}

}  // namespace

std::vector<Literal> evaluate(const Module& module, std::span<const Literal> arguments) {
  const Function& fn = module.main();
  check_arguments(fn, arguments, module.name);
  std::vector<PerRank> values;
  for (const Literal& argument : arguments) values.push_back({argument});
  Interpreter interpreter(module, RankSpace::along(module.mesh, {}), false);
  std::vector<Literal> results;
  for (PerRank& result : interpreter.call(fn, std::move(values))) {
    results.push_back(std::move(result[0]));
  }
  return results;
}

std::vector<std::vector<Literal>> evaluate_ranks(const Module& module,
                                                 std::span<const std::vector<Literal>> arguments) {
  const Function& fn = module.main();
  RankSpace space = RankSpace::all_devices(module.mesh);
  const auto ranks = static_cast<size_t>(space.size());
  if (arguments.size() != ranks) {
    throw UserError(module.name, fmt::format("arguments for {} ranks", arguments.size()),
                    fmt::format("the mesh {} has {} devices", module.mesh.to_string(), ranks));
  }
  for (size_t rank = 0; rank < ranks; ++rank) {
    check_arguments(fn, arguments[rank], fmt::format("{}, rank {}", module.name, rank));
  }
  std::vector<PerRank> values;
  for (size_t i = 0; i < fn.arguments().size(); ++i) {
    PerRank value;
    for (size_t rank = 0; rank < ranks; ++rank) value.push_back(arguments[rank][i]);
    values.push_back(shared_if_same(std::move(value)));
  }
  Interpreter interpreter(module, std::move(space), true);
  const std::vector<PerRank> results = interpreter.call(fn, std::move(values));
  std::vector<std::vector<Literal>> by_rank(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    for (const PerRank& result : results) by_rank[rank].push_back(eval::on_rank(result, rank));
  }
  return by_rank;
}

std::vector<Literal> evaluate_op(const Module& module, const Function& fn, OpId op,
                                 std::span<const Literal> operands) {
  // A function of this op alone, so that the cost does not depend on where it stands.
  Function single("op");
  ValueMap values;
  std::vector<PerRank> arguments;
  const Op& original = fn.op(op);
  for (size_t i = 0; i < original.operands.size(); ++i) {
    const ValueId argument = single.add_block_argument(single.body(), operands[i].type());
    values[original.operands[i]] = argument;
    arguments.push_back({operands[i]});
  }
  Builder builder(single, single.body());
  const OpId copy = clone_op(fn, op, builder, values);
  builder.return_op(single.op(copy).results);
  Interpreter interpreter(module, RankSpace::along(module.mesh, {}), false);
  std::vector<Literal> results;
  for (PerRank& result : interpreter.call(single, std::move(arguments))) {
    results.push_back(std::move(result[0]));
  }
  return results;
}

}  // namespace spmd
