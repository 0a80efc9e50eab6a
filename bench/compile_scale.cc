// Import and partition time per op, from 1,000 to 100,000 ops and from 8 to 65,536 devices. Both
// curves should be flat: nothing in the compiler may be quadratic in ops or cost time per device.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "frontends/frontend.h"
#include "passes/compile.h"

namespace spmd {
namespace {

constexpr int64_t kOpsPerLayer = 10;

// Layers of a residual network with all of its weights sharded, as StableHLO text.
std::string residual_network(int64_t layers, int64_t devices) {
  const int64_t width = 65536, batch = 65536;
  const std::string activation = fmt::format("tensor<{}x{}xf32>", batch, width);
  const std::string weight = fmt::format("tensor<{}x{}xf32>", width, width);
  std::string text = fmt::format(
      "module @network {{\n  sdy.mesh @mesh = <[\"x\"={}]>\n  func.func public @main(%x0: {} "
      "{{sdy.sharding = #sdy.sharding<@mesh, [{{\"x\"}}, {{}}]>}}, %w: {} "
      "{{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{\"x\"}}]>}}, %b: tensor<{}xf32>) -> ({}) {{\n"
      "    %one = stablehlo.constant dense<1.0> : {}\n",
      devices, activation, weight, width, activation, activation);
  for (int64_t i = 0; i < layers; ++i) {
    text += fmt::format(
        "    %s{0} = stablehlo.multiply %x{0}, %x{0} : {1}\n"
        "    %a{0} = stablehlo.add %s{0}, %one : {1}\n"
        "    %r{0} = stablehlo.rsqrt %a{0} : {1}\n"
        "    %n{0} = stablehlo.multiply %x{0}, %r{0} : {1}\n"
        "    %d{0} = stablehlo.dot_general %n{0}, %w, contracting_dims = [1] x [0] : ({1}, {2}) -> "
        "{1}\n"
        "    %c{0} = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<{3}xf32>) -> {1}\n"
        "    %e{0} = stablehlo.add %d{0}, %c{0} : {1}\n"
        "    %t{0} = stablehlo.tanh %e{0} : {1}\n"
        "    %h{0} = stablehlo.subtract %t{0}, %e{0} : {1}\n"
        "    %x{4} = stablehlo.add %x{0}, %h{0} : {1}\n",
        i, activation, weight, width, i + 1);
  }
  return text + fmt::format("    return %x{} : {}\n  }}\n}}\n", layers, activation);
}

// Layers that look at neighbours along a sharded dimension: a moving average by way of a roll to
// either side.
std::string neighbours(int64_t layers, int64_t devices) {
  const int64_t rows = 262144;
  const auto type = [](int64_t n) { return fmt::format("tensor<{}x4xf32>", n); };
  std::string text = fmt::format(
      "module @neighbours {{\n  sdy.mesh @mesh = <[\"x\"={}]>\n  func.func public @main(%x0: {} "
      "{{sdy.sharding = #sdy.sharding<@mesh, [{{\"x\"}}, {{}}]>}}) -> {} {{\n",
      devices, type(rows), type(rows));
  for (int64_t i = 0; i < layers; ++i) {
    text += fmt::format(
        "    %a{0} = stablehlo.slice %x{0} [{1}:{2}, 0:4] : ({3}) -> {4}\n"
        "    %b{0} = stablehlo.slice %x{0} [0:{1}, 0:4] : ({3}) -> {5}\n"
        "    %c{0} = stablehlo.concatenate %a{0}, %b{0}, dim = 0 : ({4}, {5}) -> {3}\n"
        "    %d{0} = stablehlo.slice %x{0} [0:1, 0:4] : ({3}) -> {4}\n"
        "    %e{0} = stablehlo.slice %x{0} [1:{2}, 0:4] : ({3}) -> {5}\n"
        "    %f{0} = stablehlo.concatenate %e{0}, %d{0}, dim = 0 : ({5}, {4}) -> {3}\n"
        "    %g{0} = stablehlo.add %c{0}, %f{0} : {3}\n"
        "    %h{0} = stablehlo.tanh %g{0} : {3}\n"
        "    %i{0} = stablehlo.multiply %h{0}, %x{0} : {3}\n"
        "    %x{6} = stablehlo.add %i{0}, %x{0} : {3}\n",
        i, rows - 1, rows, type(rows), type(1), type(rows - 1), i + 1);
  }
  return text + fmt::format("    return %x{} : {}\n  }}\n}}\n", layers, type(rows));
}

void report_per_op(benchmark::State& state, int64_t ops) {
  state.counters["seconds_per_op"] =
      benchmark::Counter(static_cast<double>(ops), benchmark::Counter::kIsIterationInvariantRate |
                                                       benchmark::Counter::kInvert);
}

// Argument: ops.
void import_program(benchmark::State& state) {
  const std::string text = residual_network(state.range(0) / kOpsPerLayer, 8);
  for (auto _ : state) benchmark::DoNotOptimize(import_bytes(text, "network"));
  report_per_op(state, state.range(0));
}
BENCHMARK(import_program)
    ->Arg(1000)
    ->Arg(10000)
    ->Arg(100000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

// Arguments: ops, devices.
void partition_program(benchmark::State& state,
                       std::string (*program)(int64_t layers, int64_t devices)) {
  const std::string text = program(state.range(0) / kOpsPerLayer, state.range(1));
  Module module = import_bytes(text, "network");  // for the one iteration
  for (auto _ : state) benchmark::DoNotOptimize(partition(std::move(module)));
  report_per_op(state, state.range(0));
}
BENCHMARK_CAPTURE(partition_program, residual_network, residual_network)
    ->ArgsProduct({{1000, 10000, 100000}, {8}})
    ->ArgsProduct({{10000}, {64, 512, 4096, 65536}})
    ->Args({100000, 65536})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(partition_program, neighbours, neighbours)
    ->ArgsProduct({{1000, 10000}, {8, 512, 65536}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace spmd
