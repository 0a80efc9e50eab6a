// Partitioned programs of every element type, run on ranks: blocks that are uneven and empty,
// reshards, and reductions across ranks give what the evaluator gives for the whole program.
#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "codegen/views.h"
#include "collectives/comm/local.h"
#include "gtest/gtest.h"
#include "ir/evaluator.h"
#include "ir/text.h"
#include "passes/compile.h"
#include "runtime/executor.h"

namespace spmd::testing {
namespace {

std::vector<Literal> run_on_ranks(const Module& module, const std::vector<Literal>& arguments) {
  const CompileResult compiled = compile(module.clone(), {});
  std::vector<Literal> results;
  const auto ranks = static_cast<int>(module.mesh.num_devices());
  comm::run_local_ranks(ranks, {}, [&](comm::Communicator& communicator) {
    Executor executor(compiled.plan, communicator);
    for (size_t i = 0; i < arguments.size(); ++i) {
      const TensorType& type = arguments[i].type();
      executor.set_argument(static_cast<int>(i),
                            {codegen::to_plan(type.dtype), type.shape, arguments[i].data()},
                            "argument");
    }
    executor.step();
    for (int i = 0; i < compiled.plan.results_size(); ++i) {
      const std::optional<Tensor> whole = executor.gather_result(i);
      if (!whole) continue;
      const Function& fn = module.main();
      results.emplace_back(fn.type(fn.results()[static_cast<size_t>(i)]), whole->bytes);
    }
  });
  return results;
}

// Numbers that every type of its kind holds; complex ones with an imaginary part.
Literal numbers(const TensorType& type, int64_t turn) {
  static constexpr double kReal[] = {-1, -2, 0.5, -3, -1, -4, -1.5, -0.5};
  static constexpr double kPositive[] = {1, 4, 2, 0.5};  // powers of two
  static constexpr double kSigned[] = {1, -2, 0, -1};
  static constexpr double kUnsigned[] = {1, 3, 0, 2};
  Literal result(type);
  std::byte* to = result.mutable_data();
  for (int64_t e = 0; e < type.num_elements(); ++e) {
    const auto at = static_cast<size_t>(e * 3 + turn);
    const double value = type.dtype == DType::kBool        ? double(at % 3 == 0)
                         : type.dtype == DType::kF8E8M0FNU ? kPositive[at % 4]
                         : is_signed_int(type.dtype)       ? kSigned[at % 4]
                         : is_unsigned_int(type.dtype)     ? kUnsigned[at % 4]
                                                           : kReal[at % 8];
    const Literal element = Literal::splat({type.dtype, {}}, value);
    std::memcpy(to, element.data(), element.stored_bytes());
    const double imaginary = kReal[(at / 2) % 8];
    const auto narrow = static_cast<float>(imaginary);
    if (type.dtype == DType::kC64) std::memcpy(to + 4, &narrow, 4);
    if (type.dtype == DType::kC128) std::memcpy(to + 8, &imaginary, 8);
    to += element.stored_bytes();
  }
  return result;
}

std::string zero_of(DType dtype) {
  if (is_complex(dtype)) return "dense<(-6.0, 0.0)>";
  if (dtype == DType::kBool) return "dense<false>";
  return dtype == DType::kF8E8M0FNU ? "dense<0.5>" : is_float(dtype) ? "dense<-6.0>" : "dense<0>";
}

// "%name = reduce of %a along dimension `dim`"
std::string reduction(const std::string& name, const std::string& reducer, int dim,
                      const std::string& element) {
  return fmt::format(
      "    %{0} = stablehlo.reduce(%a init: %z) applies stablehlo.{1} across dimensions = [{2}] : "
      "(tensor<5x3x{3}>, tensor<{3}>) -> tensor<{4}x{3}>\n",
      name, reducer, dim, element, dim == 0 ? 3 : 5);
}

Module program(DType dtype) {
  const std::string t(name_of(dtype));
  // Sums of narrow floats are rounded once on every rank, and so may differ.
  const bool sums = !is_float(dtype) || byte_size(dtype) > 2;
  std::string body =
      fmt::format("    %z = stablehlo.constant {} : tensor<{}>\n", zero_of(dtype), t);
  body += fmt::format("    %both = stablehlo.maximum %a, %b : tensor<5x3x{}>\n", t);
  body += reduction("most", "maximum", 0, t) + reduction("least", "minimum", 1, t);
  body += reduction("sum", sums ? "add" : "maximum", 0, t);
  body += reduction("product", sums ? "multiply" : "minimum", 1, t);
  body += fmt::format(
      "    %turned = stablehlo.transpose %b, dims = [1, 0] : (tensor<5x3x{0}>) -> tensor<3x5x{0}>\n"
      "    %joined = stablehlo.concatenate %a, %c, dim = 0 : (tensor<5x3x{0}>, tensor<1x3x{0}>) -> "
      "tensor<6x3x{0}>\n"
      "    %same = stablehlo.compare EQ, %a, %b : (tensor<5x3x{0}>, tensor<5x3x{0}>) -> "
      "tensor<5x3xi1>\n"
      "    %chosen = stablehlo.select %same, %both, %a : tensor<5x3xi1>, tensor<5x3x{0}>\n"
      "    return %both, %most, %least, %sum, %product, %turned, %joined, %same, %chosen : "
      "tensor<5x3x{0}>, tensor<3x{0}>, tensor<5x{0}>, tensor<3x{0}>, tensor<5x{0}>, "
      "tensor<3x5x{0}>, tensor<6x3x{0}>, tensor<5x3xi1>, tensor<5x3x{0}>\n",
      t);
  const std::string head = fmt::format(
      "module @test {{\nsdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\nfunc.func public @main(\n"
      "    %a: tensor<5x3x{0}> {{sdy.sharding = #sdy.sharding<@mesh, [{{\"x\"}}, {{\"y\"}}]>}},\n"
      "    %b: tensor<5x3x{0}> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{\"x\"}}]>}},\n"
      "    %c: tensor<1x3x{0}> {{sdy.sharding = #sdy.sharding<@mesh, [{{\"y\"}}, {{\"x\"}}]>}})\n"
      "    -> (tensor<5x3x{0}>, tensor<3x{0}>, tensor<5x{0}>, tensor<3x{0}>, tensor<5x{0}>, "
      "tensor<3x5x{0}> {{sdy.sharding = #sdy.sharding<@mesh, [{{\"y\"}}, {{\"x\"}}]>}}, "
      "tensor<6x3x{0}>, tensor<5x3xi1>, tensor<5x3x{0}>) {{\n",
      t);
  return parse_stablehlo(head + body + "}\n}\n", "test.mlir");
}

TEST(ElementPlans, EveryTypeIsPartitioned) {
#define SPMD_TYPE(name, text, bits, kind) DType::name,
  for (DType dtype : {SPMD_DTYPES(SPMD_TYPE)}) {
#undef SPMD_TYPE
    if (dtype == DType::kToken) continue;
    SCOPED_TRACE(name_of(dtype));
    const Module module = program(dtype);
    std::vector<Literal> arguments;
    for (ValueId argument : module.main().arguments()) {
      arguments.push_back(numbers(module.main().type(argument), std::ssize(arguments)));
    }
    const std::vector<Literal> wanted = evaluate(module, arguments);
    const std::vector<Literal> found = run_on_ranks(module, arguments);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const Literal expected = wanted[i].expanded();
      ASSERT_EQ(found[i].type(), expected.type());
      for (int64_t e = 0; e < expected.type().num_elements(); ++e) {
        const auto at = static_cast<size_t>(e * byte_size(expected.type().dtype));
        const auto size = static_cast<size_t>(byte_size(expected.type().dtype));
        EXPECT_EQ(std::memcmp(found[i].data() + at, expected.data() + at, size), 0)
            << "result " << i << ", element " << e << ": " << found[i].as_double(e)
            << " instead of " << expected.as_double(e);
      }
    }
  }
}

}  // namespace
}  // namespace spmd::testing
