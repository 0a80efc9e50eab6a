#include "launcher/local_run.h"

#include "collectives/comm/local.h"
#include "passes/partition/shards.h"
#include "runtime/executor.h"

namespace spmd {
namespace {

// No program that is run here takes longer, whatever else the machine does.
constexpr std::chrono::seconds kTimeout{120};

void set_arguments(Executor& executor, const std::vector<Literal>& arguments, bool first_step) {
  const auto& infos = executor.plan().arguments();
  for (int i = 0; i < infos.size(); ++i) {
    if (!first_step && infos[i].aliased_result() < 0) continue;
    const Literal& value = arguments[static_cast<size_t>(i)];
    executor.set_argument(i, {infos[i].placement().dtype(), value.type().shape, value.data()},
                          fmt::format("argument {}", i));
  }
}

Literal whole_result(const Module& module, size_t result, std::span<const Literal> parts) {
  const ResultInfo& info = module.main().result_info[result];
  const TensorType& local = parts[0].type();
  return from_parts(parts, info.sharding ? *info.sharding : Sharding::replicate(local.rank()),
                    info.global_shape.value_or(local.shape), module.mesh);
}

}  // namespace

std::vector<std::vector<Literal>> run_on_local_ranks(const CompileResult& program,
                                                     std::span<const Literal> arguments,
                                                     int steps) {
  const Function& main = program.module.main();
  const std::vector<ValueId> results = main.results();
  std::vector<Literal> dense;
  for (const Literal& argument : arguments) dense.push_back(argument.expanded());
  const auto ranks = static_cast<size_t>(program.module.mesh.num_devices());
  // By step, result and rank.
  std::vector<std::vector<std::vector<Literal>>> parts(
      static_cast<size_t>(steps), {results.size(), std::vector<Literal>(ranks)});
  comm::run_local_ranks(
      static_cast<int>(ranks), {.timeout = kTimeout}, [&](comm::Communicator& communicator) {
        const auto rank = static_cast<size_t>(communicator.rank());
        Executor executor(program.plan, communicator);
        for (auto& step : parts) {
          set_arguments(executor, dense, &step == &parts.front());
          executor.step();
          for (size_t i = 0; i < results.size(); ++i) {
            const auto bytes = executor.result_local(static_cast<int>(i));
            step[i][rank] = Literal(main.type(results[i]), {bytes.begin(), bytes.end()});
          }
        }
      });
  std::vector<std::vector<Literal>> whole(parts.size());
  for (size_t step = 0; step < parts.size(); ++step) {
    for (size_t i = 0; i < results.size(); ++i) {
      whole[step].push_back(whole_result(program.module, i, parts[step][i]));
    }
  }
  return whole;
}

}  // namespace spmd
