// ONNX's own test cases, by the reference evaluator and through the whole path: partitioned with
// random shardings, compiled, and run on ranks that are threads.
#include <algorithm>
#include <cstdio>

#include "collectives/comm/local.h"
#include "gtest/gtest.h"
#include "ir/evaluator.h"
#include "passes/compile.h"
#include "runtime/executor.h"
#include "tests/differential/random.h"
#include "tests/onnx/onnx_case.h"

namespace spmd::testing {
namespace {

// How many of the cases must pass.
constexpr double kRequired = 0.98;
constexpr size_t kShards = 8;  // of the partitioned cases, for ctest to run beside each other

// Runs all data of a case; empty, or what went wrong.
template <typename Run>
std::string outcome(const OnnxCase& test_case, double slack, Run&& run) {
  try {
    for (OnnxRun& data : load_onnx_case(test_case)) {
      const std::vector<Literal> found = run(data);
      const std::string difference = onnx_difference(found, data.expected, slack);
      if (!difference.empty()) return difference;
    }
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

// Counts outcomes and fails the test for those that nobody knew of.
class Summary {
 public:
  void add(const OnnxCase& test_case, const std::string& what) {
    ++total_;
    passed_ += what.empty();
    const char* exception = known_onnx_exception(test_case.name);
    if (exception == nullptr && !what.empty()) {
      ADD_FAILURE() << test_case.group << "/" << test_case.name << ": " << what;
    }
    if (exception != nullptr && what.empty()) {
      ADD_FAILURE() << test_case.name << " passes: take it off the list of exceptions";
    }
  }
  double passed() const { return static_cast<double>(passed_) / static_cast<double>(total_); }
  void print(const char* what) const {
    std::printf("%s: %d/%d cases passed (%.2f %%)\n", what, passed_, total_, 100 * passed());
  }

 private:
  int passed_ = 0, total_ = 0;
};

// ---- random shardings

Mesh random_mesh(Random& random) {
  static const std::vector<std::vector<int64_t>> kSizes = {{2}, {3}, {4}, {2, 2}, {2, 3}, {1, 2}};
  std::vector<MeshAxis> axes;
  int64_t devices = 1;
  for (int64_t size : random.of(kSizes)) {
    axes.push_back({std::string(1, "xy"[axes.size()]), size});
    devices *= size;
  }
  std::vector<int64_t> order;
  if (random.chance(30)) {
    for (int64_t device = 0; device < devices; ++device) order.push_back(device);
    random.shuffle(order);
  }
  return Mesh(std::move(axes), std::move(order));
}

ShardingRef random_sharding(Random& random, const Mesh& mesh, int64_t rank) {
  Sharding sharding = Sharding::replicate(rank, random.chance(50));
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    if (rank == 0 || random.chance(25)) continue;
    sharding.dims[static_cast<size_t>(random.below(rank))].axes.push_back({axis, 1, 0});
  }
  return std::make_shared<const Sharding>(std::move(sharding));
}

void shard_at_random(Module& module, Random& random) {
  module.mesh = random_mesh(random);
  Function& main = module.main();
  for (ValueId argument : main.arguments()) {
    if (random.chance(75)) {
      main.value(argument).sharding =
          random_sharding(random, module.mesh, main.type(argument).rank());
    }
  }
  for (size_t i = 0; i < main.results().size(); ++i) {
    if (random.chance(40)) {
      main.result_info[i].sharding =
          random_sharding(random, module.mesh, main.type(main.results()[i]).rank());
    }
  }
}

// ---- the whole path

std::vector<Literal> run_on_ranks(const plan::Plan& plan, int ranks,
                                  const std::vector<TensorType>& types,
                                  const std::vector<Literal>& arguments) {
  std::vector<Literal> results;
  comm::run_local_ranks(ranks, {}, [&](comm::Communicator& communicator) {
    Executor executor(plan, communicator);
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Literal value = arguments[i].expanded();
      const int number = static_cast<int>(i);
      executor.set_argument(
          number, {plan.arguments(number).placement().dtype(), value.type().shape, value.data()},
          "argument " + std::to_string(i));
    }
    executor.step();
    for (size_t i = 0; i < types.size(); ++i) {
      std::optional<Tensor> value = executor.gather_result(static_cast<int>(i));
      if (value) results.emplace_back(types[i], std::move(value->bytes));
    }
  });
  return results;
}

// `collectives` counts those of the plans.
std::vector<Literal> run_partitioned(OnnxRun& data, uint64_t seed, size_t& collectives) {
  Random random(seed);
  shard_at_random(data.module, random);
  const auto ranks = static_cast<int>(data.module.mesh.num_devices());
  std::vector<TensorType> types;
  for (ValueId result : data.module.main().results()) {
    types.push_back(data.module.main().type(result));
  }
  CompileOptions options;
  options.verify_each = true;
  const CompileResult compiled = compile(std::move(data.module), options);
  plan::verify_plan(compiled.plan);
  collectives += compiled.collectives.size();
  return run_on_ranks(compiled.plan, ranks, types, data.arguments);
}

// $SPMD_ONNX_CASE picks one by its name, $SPMD_ONNX_SEED its shardings.
std::vector<OnnxCase> chosen(std::vector<OnnxCase> cases) {
  if (const char* name = std::getenv("SPMD_ONNX_CASE")) {
    std::erase_if(cases, [&](const OnnxCase& c) { return c.name != name; });
  }
  return cases;
}

Summary evaluated(const std::vector<OnnxCase>& cases) {
  Summary summary;
  for (const OnnxCase& test_case : cases) {
    summary.add(test_case, outcome(test_case, 0, [](const OnnxRun& data) {
                  return evaluate(data.module, data.arguments);
                }));
  }
  summary.print("evaluated");
  return summary;
}

// Runs a case with shardings drawn from a seed.
void add_partitioned(const OnnxCase& test_case, uint64_t salt, Summary& summary,
                     size_t& collectives) {
  const char* given = std::getenv("SPMD_ONNX_SEED");
  const uint64_t seed =
      given ? std::strtoull(given, nullptr, 10) : std::hash<std::string>{}(test_case.name) + salt;
  const std::string what = outcome(
      test_case, 1e-6, [&](OnnxRun& data) { return run_partitioned(data, seed, collectives); });
  summary.add(test_case, what.empty() ? what : what + " (seed " + std::to_string(seed) + ")");
}

TEST(OnnxCases, GiveTheExpectedOutputs) {
  const std::vector<OnnxCase> cases = chosen(onnx_cases());
  if (cases.empty()) GTEST_SKIP() << "[SKIP] the package libonnx-testdata is not installed";
  const Summary summary = evaluated(cases);
  if (cases.size() > 1) {
    EXPECT_GE(summary.passed(), kRequired);
  }
}

TEST(OwnOnnxCases, GiveTheExpectedOutputs) {
  const std::vector<OnnxCase> cases = own_onnx_cases();
  ASSERT_FALSE(cases.empty());
  evaluated(chosen(cases));
}

TEST(OwnOnnxCases, GiveTheExpectedOutputsPartitioned) {
  constexpr uint64_t kSeeds = 4;  // of shardings for each
  Summary summary;
  size_t collectives = 0;
  for (const OnnxCase& test_case : chosen(own_onnx_cases())) {
    for (uint64_t salt = 0; salt < kSeeds; ++salt) {
      add_partitioned(test_case, salt, summary, collectives);
    }
  }
  summary.print("partitioned");
  // Shardings that need none would prove nothing.
  if (std::getenv("SPMD_ONNX_CASE") == nullptr) {
    EXPECT_GT(collectives, 100u);
  }
}

class PartitionedOnnxCases : public ::testing::TestWithParam<size_t> {};

TEST_P(PartitionedOnnxCases, GiveTheExpectedOutputs) {
  const std::vector<OnnxCase> cases = chosen(onnx_cases());
  if (cases.empty()) GTEST_SKIP() << "[SKIP] the package libonnx-testdata is not installed";
  Summary summary;
  size_t collectives = 0;
  for (size_t i = GetParam(); i < cases.size(); i += kShards) {
    add_partitioned(cases[i], 0, summary, collectives);
  }
  summary.print("partitioned");
  std::printf("partitioned: %zu collectives\n", collectives);
  // Shardings that need none would prove nothing.
  if (cases.size() > kShards) {
    EXPECT_GT(collectives, cases.size() / kShards / 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Shard, PartitionedOnnxCases, ::testing::Range(size_t{0}, kShards));

}  // namespace
}  // namespace spmd::testing
