// Values computed again where they are read: what still goes through memory, and that it means the
// same, in both dialects and by the loops.
#include "codegen/recompute.h"

#include "runtime/plan/traffic.h"
#include "tests/codegen/plan_testing.h"

namespace spmd::testing {
namespace {

// Bytes that the Elementwise, Reduce and Fused steps of a plan move.
int64_t traffic(const plan::Plan& plan) {
  int64_t bytes = 0;
  for (const plan::Step& step : plan.programs(0).body().steps())
    if (!step.has_dot()) bytes += plan::bytes_moved(plan, step);
  return bytes;
}

// The traffic of the recomputing plan; checks that it means the same.
int64_t checked_traffic(const Module& module, double tolerance = 2e-6) {
  const plan::Plan plan = gpu_plan_of(module);
  expect_meaning_of(plan, module, tolerance, Kernels::kBothDialects);
  return traffic(plan);
}

constexpr int64_t kMatrixBytes = 32 * 32 * 4;

std::string dot(const std::string& result, const std::string& a, const std::string& b) {
  return "    %" + result + " = stablehlo.dot_general %" + a + ", %" + b +
         ", contracting_dims = [1] x [0] : (tensor<32x32xf32>, tensor<32x32xf32>) -> "
         "tensor<32x32xf32>\n";
}

std::string op(const std::string& result, const std::string& name, const std::string& operands) {
  return "    %" + result + " = stablehlo." + name + " " + operands + " : tensor<32x32xf32>\n";
}

// An activation and its derivative on either side of products: the derivative's parts are not kept.
TEST(Recompute, AnActivationsDerivative) {
  const Module module =
      module_of("(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32>",
                dot("h", "x", "w") + op("t", "tanh", "%h") + op("g", "multiply", "%h, %t") +
                    dot("y", "g", "w") + op("tt", "multiply", "%t, %t") +
                    op("d", "subtract", "%t, %tt") + op("e", "multiply", "%d, %h") +
                    op("r", "multiply", "%e, %y") + "    return %r : tensor<32x32xf32>");
  // h is read and g written; h and y are read and r written.
  EXPECT_EQ(checked_traffic(module, 1e-5), 5 * kMatrixBytes);
}

// What a product reads lies in memory anyway, and is read rather than its two operands.
TEST(Recompute, ReadsWhatIsThereAnyway) {
  const Module module =
      module_of("(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32>",
                op("s", "add", "%x, %w") + dot("h", "s", "w") + op("q", "multiply", "%s, %s") +
                    op("r", "multiply", "%q, %h") + "    return %r : tensor<32x32xf32>");
  // x and w are read and s written; s and h are read and r written.
  EXPECT_EQ(checked_traffic(module, 1e-5), 6 * kMatrixBytes);
}

// A normalisation: of the centred rows only the means are kept.
TEST(Recompute, ARowsMean) {
  const Module module = module_of(
      "(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32>",
      "    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "    %n = stablehlo.constant dense<32.0> : tensor<32xf32>\n"
      "    %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : "
      "(tensor<32x32xf32>, tensor<f32>) -> tensor<32xf32>\n"
      "    %m = stablehlo.divide %s, %n : tensor<32xf32>\n"
      "    %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<32xf32>) -> "
      "tensor<32x32xf32>\n" +
          op("c", "subtract", "%x, %b") + op("e", "exponential", "%c") + dot("h", "e", "w") +
          op("r", "multiply", "%c, %h") + "    return %r : tensor<32x32xf32>");
  // x is read, e and the means written; x, the means and h are read and r written.
  EXPECT_EQ(checked_traffic(module, 1e-4), 5 * kMatrixBytes + 2 * 32 * 4 + 4);
}

// Nothing is read again that may have been written in the meantime: a loop's own carry.
TEST(Recompute, NotFromWhatALoopHasOverwritten) {
  const Module module = module_of(
      "(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32>",
      "    %z = stablehlo.constant dense<0> : tensor<i32>\n"
      "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
      "    %three = stablehlo.constant dense<3> : tensor<i32>\n" +
          op("a", "add", "%x, %w") + op("p", "multiply", "%a, %x") +
          "    %l:2 = stablehlo.while(%i = %z, %v = %a) : tensor<i32>, tensor<32x32xf32>\n"
          "    cond {\n"
          "      %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> "
          "tensor<i1>\n"
          "      stablehlo.return %c : tensor<i1>\n"
          "    } do {\n"
          "      %j = stablehlo.add %i, %one : tensor<i32>\n"
          "      %u = stablehlo.tanh %v : tensor<32x32xf32>\n"
          "      stablehlo.return %j, %u : tensor<i32>, tensor<32x32xf32>\n"
          "    }\n" +
          op("r", "multiply", "%p, %l#1") + "    return %r : tensor<32x32xf32>");
  checked_traffic(module, 1e-5);
}

}  // namespace
}  // namespace spmd::testing
