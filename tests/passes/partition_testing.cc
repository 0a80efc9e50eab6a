#include "tests/passes/partition_testing.h"

#include <fmt/format.h>

#include "passes/analysis/communication.h"
#include "passes/compile.h"
#include "passes/pipeline.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {

Module sharded_program(const std::string& mesh, const std::string& main) {
  return program("module @test {\nsdy.mesh @mesh = <[" + mesh + "]>\nfunc.func public @main" +
                 main + "\n}\n");
}

Module partitioned_to(const std::string& pass, const Module& module) {
  Module result = module.clone();
  PassContext context;
  context.options.verify_each = true;
  run_passes(result, compile_pipeline(context.options), context, {.stop_after = pass});
  return result;
}

std::vector<std::string> reshards_of(const Module& module) {
  const Function& main = module.main();
  const auto placement = [&](ValueId value) {
    const Value& v = main.value(value);
    return (v.sharding ? *v.sharding : Sharding::replicate(v.type.rank())).to_string(module.mesh);
  };
  std::vector<std::string> reshards;
  walk(main, [&](OpId id) {
    const Op& op = main.op(id);
    if (op.code != OpCode::kReshard) return;
    reshards.push_back(fmt::format("{}{} {} -> {}", op.block == main.body() ? "" : "  ",
                                   to_string(main.type(op.operands[0])), placement(op.operands[0]),
                                   placement(op.results[0])));
  });
  return reshards;
}

std::vector<std::string> sends_of(const Module& module) {
  std::vector<std::string> sends;
  for (const CollectiveUse& use : collectives_of(module)) {
    sends.push_back(fmt::format("{} {} {} {}", name_of(use.kind), use.axes, use.count, use.bytes));
  }
  return sends;
}

namespace {

std::vector<std::string> sent_at(const Module& module, double latency, double tolerance) {
  CompileOptions options;
  options.verify_each = true;
  options.cost.latency = latency;
  const CompileResult result = partition(module.clone(), options);
  expect_same_values(module, result.module, tolerance);
  return sends_of(result.module);
}

}  // namespace

std::vector<std::string> sent_by(const Module& module, double tolerance) {
  return sent_at(module, CostModel().latency, tolerance);
}

std::vector<std::string> sent_by(const std::string& mesh, const std::string& main,
                                 double tolerance) {
  return sent_by(sharded_program(mesh, main), tolerance);
}

std::vector<std::string> sent_without_latency(const std::string& mesh, const std::string& main,
                                              double tolerance) {
  return sent_at(sharded_program(mesh, main), 0, tolerance);
}

}  // namespace spmd::testing
