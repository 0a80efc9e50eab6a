#include "tests/codegen/plan_testing.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "collectives/comm/local.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "runtime/device/make_device.h"
#include "runtime/executor.h"
#include "tests/codegen/compiled_cases.h"

namespace spmd::testing {

Module module_of(const std::string& signature, const std::string& body) {
  Module module = parse_stablehlo(
      "module @test {\n  func.func public @main" + signature + " {\n" + body + "\n  }\n}\n",
      "test.mlir");
  verify(module);
  return module;
}

plan::Plan plan_of(const Module& module) {
  plan::Plan plan = emit_plan(module, unsharded_info(module));
  plan::verify_plan(plan);
  return plan;
}

plan::Plan fused_plan_of(const Module& module, std::vector<codegen::FusionNote>* notes) {
  EmitInfo info = unsharded_info(module);
  info.fuse_rows = codegen::FuseRowsOptions{};
  info.fusions = notes;
  plan::Plan plan = emit_plan(module, info);
  plan::verify_plan(plan);
  return plan;
}

plan::Plan gpu_plan_of(const Module& module, bool group) {
  EmitInfo info = unsharded_info(module);
  info.fuse_rows = codegen::FuseRowsOptions{.joins_elementwise = true, .least_recompute_gain = 1};
  info.shape_products = true;
  info.group_steps = group;
  plan::Plan plan = emit_plan(module, info);
  plan::verify_plan(plan);
  return plan;
}

namespace {

DevicePlace place_of_tests(comm::Communicator& communicator,
                           std::optional<int64_t> threads = std::nullopt) {
  const char* name = std::getenv("SPMD_TEST_DEVICE");
  const bool cuda = name != nullptr && std::string_view(name) == "cuda";
  return find_device(cuda ? DeviceChoice::kCuda : DeviceChoice::kCpu, communicator,
                     {.threads = threads});
}

}  // namespace

namespace {

DevicePlace place_of_one_rank() {
  DevicePlace place;
  comm::run_local_ranks(
      1, {}, [&](comm::Communicator& communicator) { place = place_of_tests(communicator); });
  return place;
}

}  // namespace

std::string why_no_attention() {
  const DevicePlace place = place_of_one_rank();
  if (place.attention) return "";
  return place.cuda ? place.why_no_attention : "the CPU runs what attention is expanded to";
}

std::string gpu_architecture() { return place_of_one_rank().architecture; }

RankValues run_plan(const Module& module, const plan::Plan& plan, const RankValues& arguments,
                    std::optional<int64_t> threads) {
  RankValues results(arguments.size());
  comm::run_local_ranks(
      static_cast<int>(arguments.size()), {}, [&](comm::Communicator& communicator) {
        const auto rank = static_cast<size_t>(communicator.rank());
        Executor executor(plan, communicator,
                          make_device(place_of_tests(communicator, threads), communicator));
        for (size_t i = 0; i < arguments[rank].size(); ++i) {
          const Literal value = arguments[rank][i].expanded();
          executor.set_argument_local(static_cast<int>(i), {value.data(), value.stored_bytes()});
        }
        executor.step();
        const Function& fn = module.main();
        for (size_t i = 0; i < fn.results().size(); ++i) {
          const std::span<const std::byte> bytes = executor.result_local(static_cast<int>(i));
          results[rank].emplace_back(fn.type(fn.results()[i]),
                                     std::vector<std::byte>(bytes.begin(), bytes.end()));
        }
      });
  return results;
}

Literal random_literal(const TensorType& type, std::mt19937& random) {
  Literal result(type);
  std::byte* to = result.mutable_data();
  const bool real = is_float(type.dtype) || is_complex(type.dtype);
  std::uniform_int_distribution<int> steps(-64, 64), small(0, 7);
  for (int64_t i = 0; i < type.num_elements(); ++i) {
    // Multiples of 1/32, so that sums are exact in float32 whatever their order.
    const double value =
        real ? steps(random) / 32.0 : small(random) % (type.dtype == DType::kBool ? 2 : 8);
    const Literal element = Literal::splat({type.dtype, {}}, value);
    std::memcpy(to, element.data(), element.stored_bytes());
    to += element.stored_bytes();
  }
  return result;
}

std::vector<Literal> random_arguments(const Module& module, std::mt19937& random) {
  std::vector<Literal> arguments;
  for (ValueId argument : module.main().arguments())
    arguments.push_back(random_literal(module.main().type(argument), random));
  return arguments;
}

void expect_close(const Literal& found, const Literal& wanted, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(found.type(), wanted.type()) << what;
  double scale = 1;
  for (int64_t i = 0; i < wanted.type().num_elements(); ++i) {
    const double value = std::abs(wanted.as_double(i));
    if (std::isfinite(value)) scale = std::max(scale, value);
  }
  for (int64_t i = 0; i < wanted.type().num_elements(); ++i) {
    const double a = found.as_double(i), b = wanted.as_double(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    ASSERT_LE(std::abs(a - b), tolerance * scale)
        << what << ", element " << i << ": " << a << " instead of " << b;
  }
}

void expect_close(const std::vector<Literal>& found, const std::vector<Literal>& wanted,
                  double tolerance) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    expect_close(found[i], wanted[i], tolerance, "result " + std::to_string(i));
}

void expect_meaning_of(const plan::Plan& plan, const Module& module, double tolerance,
                       Kernels kernels) {
  std::mt19937 random(7);
  const std::vector<Literal> arguments = random_arguments(module, random);
  const std::vector<Literal> wanted = evaluate(module, arguments);
  expect_close(run_plan(module, plan, {arguments})[0], wanted, tolerance);
  if (kernels == Kernels::kNone) return;
  for (const auto dialect : {CompiledCases::Dialect::kCpp, CompiledCases::Dialect::kCuda}) {
    CompiledCases compiled(dialect, 1);
    compiled.add(module, plan, arguments, wanted, tolerance);
  }
}

std::vector<plan::DotEpilogue> check_epilogues(const Module& module, double tolerance) {
  const plan::Plan plan = gpu_plan_of(module);
  expect_meaning_of(plan, module, tolerance);
  std::vector<plan::DotEpilogue> epilogues;
  for (const plan::Step& step : plan.programs(0).body().steps())
    if (step.dot().has_epilogue()) epilogues.push_back(step.dot().epilogue());
  return epilogues;
}

void expect_meaning(const Module& module, const std::vector<Literal>& arguments, double tolerance) {
  const std::vector<Literal> wanted = evaluate(module, arguments);
  SCOPED_TRACE(print_stablehlo(module));
  expect_close(run_plan(module, plan_of(module), {arguments})[0], wanted, tolerance);
  for (CompiledCases* cases : CompiledCases::all())
    cases->add(module, fused_plan_of(module), arguments, wanted, tolerance);
}

void expect_meaning(const Module& module, double tolerance) {
  std::mt19937 random(7);
  expect_meaning(module, random_arguments(module, random), tolerance);
}

namespace {

void count_kinds(const plan::Sequence& sequence, std::map<std::string, int>& counts) {
  for (const plan::Step& step : sequence.steps()) {
    ++counts[std::string(plan::kind_name(step))];
    if (step.has_while_()) {
      count_kinds(step.while_().condition(), counts);
      count_kinds(step.while_().body(), counts);
    }
    for (const plan::Sequence& branch : step.branch().branches()) count_kinds(branch, counts);
  }
}

}  // namespace

std::map<std::string, int> kinds(const plan::Sequence& sequence) {
  std::map<std::string, int> counts;
  count_kinds(sequence, counts);
  return counts;
}

std::map<std::string, int> kinds(const plan::Plan& plan) { return kinds(plan.programs(0).body()); }

}  // namespace spmd::testing
