// Values that one step leaves for the next: that steps mean the same with them, and that they are
// made anew where somebody gives the argument another value.
#include "codegen/kernels/compile_kernels.h"
#include "collectives/comm/local.h"
#include "runtime/executor.h"
#include "tests/codegen/plan_testing.h"

namespace spmd::testing {
namespace {

// %p is replaced by result 0. Of the second module %n is %p in 16 bits, and result 2 the next %n.
constexpr const char* kUpdate =
    "%wide = stablehlo.convert %n : (tensor<40xbf16>) -> tensor<40xf32>\n"
    "%g = stablehlo.multiply %wide, %x : tensor<40xf32>\n"
    "%q = stablehlo.subtract %p, %g : tensor<40xf32>\n";

Module plain_module() {
  return module_of(
      "(%p: tensor<40xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<40xf32>) -> "
      "(tensor<40xf32>, tensor<40xf32>)",
      "%n = stablehlo.convert %p : (tensor<40xf32>) -> tensor<40xbf16>\n" + std::string(kUpdate) +
          "return %q, %g : tensor<40xf32>, tensor<40xf32>");
}

plan::Plan carrying_plan() {
  const Module module = module_of(
      "(%p: tensor<40xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<40xf32>, %n: "
      "tensor<40xbf16> {tf.aliasing_output = 2 : i32}) -> (tensor<40xf32>, tensor<40xf32>, "
      "tensor<40xbf16>)",
      std::string(kUpdate) +
          "%m = stablehlo.convert %q : (tensor<40xf32>) -> tensor<40xbf16>\n"
          "return %q, %g, %m : tensor<40xf32>, tensor<40xf32>, tensor<40xbf16>");
  EmitInfo info = unsharded_info(module);
  info.carried = {{2, 2, 0}};
  plan::Plan plan = emit_plan(module, info);
  plan::verify_plan(plan);
  return plan;
}

Literal values(double first) {
  Literal result({DType::kF32, {40}});
  auto* to = reinterpret_cast<float*>(result.mutable_data());
  for (int i = 0; i < 40; ++i) to[i] = static_cast<float>(first + i / 7.0);
  return result;
}

std::span<const std::byte> bytes_of(const Literal& literal) {
  return {literal.data(), literal.stored_bytes()};
}

TEST(CarriedValues, NobodySeesThem) {
  const plan::Plan plan = carrying_plan();
  EXPECT_EQ(plan.arguments_size(), 2);
  EXPECT_EQ(plan.results_size(), 2);
  ASSERT_EQ(plan.carried_size(), 1);
  EXPECT_EQ(plan.carried(0).argument(), 0);
  // One kernel, and %n is updated in its place.
  EXPECT_EQ(kinds(plan), (std::map<std::string, int>{{"elementwise", 1}}));
  EXPECT_EQ(plan.carried(0).buffer(), plan.carried(0).next());
}

// Two steps, then another value of %p and another step, beside the evaluator.
void expect_same_steps(const plan::Plan& plan) {
  const Module module = plain_module();
  comm::run_local_ranks(1, {}, [&](comm::Communicator& communicator) {
    Executor executor(plan, communicator);
    Literal p = values(1), x = values(0.01);
    executor.set_argument_local(0, bytes_of(p));
    executor.set_argument_local(1, bytes_of(x));
    for (int step = 0; step < 3; ++step) {
      if (step == 2) {
        p = values(-5);
        executor.set_argument_local(0, bytes_of(p));
      }
      const std::vector<Literal> wanted = evaluate(module, std::vector<Literal>{p, x});
      executor.step();
      for (int r = 0; r < 2; ++r) {
        const std::span<const std::byte> found = executor.result_local(r);
        expect_close(Literal(p.type(), {found.begin(), found.end()}),
                     wanted[static_cast<size_t>(r)], 0,
                     fmt::format("result {} of step {}", r, step));
      }
      p = wanted[0];
    }
  });
}

TEST(CarriedValues, StepsMeanTheSame) { expect_same_steps(carrying_plan()); }

TEST(CarriedValues, WithCompiledKernels) {
  plan::Plan plan = carrying_plan();
  std::string note;
  compile_host_kernels(plan, {}, &note);
  EXPECT_EQ(note, "");
  EXPECT_NE(plan.carried(0).derive().kernel(), 0);
  plan::verify_plan(plan);
  expect_same_steps(plan);
}

TEST(CarriedValues, FaultsAreFound) {
  const auto error_of = [](const std::function<void(plan::Carried&)>& make) {
    plan::Plan plan = carrying_plan();
    make(*plan.mutable_carried(0));
    try {
      plan::verify_plan(plan);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto expect_fault = [&](const char* wanted,
                                const std::function<void(plan::Carried&)>& make) {
    const std::string text = error_of(make);
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted << "\n got " << text;
  };
  expect_fault("its buffer is an argument's own", [](plan::Carried& c) { c.set_buffer(0); });
  expect_fault("a buffer that does not exist", [](plan::Carried& c) { c.set_next(-1); });
  expect_fault("is made of an argument that does not exist",
               [](plan::Carried& c) { c.set_argument(2); });
  expect_fault("is made of something else than its argument",
               [](plan::Carried& c) { c.set_argument(1); });
  expect_fault("is made by a step that is not elementwise",
               [](plan::Carried& c) { c.mutable_derive()->mutable_dot(); });
}

}  // namespace
}  // namespace spmd::testing
