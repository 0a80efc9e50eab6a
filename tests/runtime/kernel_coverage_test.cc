#include "runtime/kernel_coverage.h"

#include "gtest/gtest.h"
#include "support/error.h"

namespace spmd {
namespace {

// One element of `dtype` through `op`, for the op at `place`.
void add_step(plan::Sequence& sequence, plan::ScalarOp op, plan::DType dtype,
              const std::string& place) {
  plan::Step& step = *sequence.add_steps();
  step.set_op(place);
  plan::Elementwise& elementwise = *step.mutable_elementwise();
  plan::View view;
  view.set_dtype(dtype);
  *elementwise.add_inputs() = view;
  *elementwise.add_outputs() = view;
  plan::ScalarProgram& program = *elementwise.mutable_program();
  program.add_inputs(dtype);
  plan::Instruction& instruction = *program.add_instructions();
  instruction.set_op(op);
  instruction.set_dtype(dtype);
  instruction.add_args(0);
  program.add_outputs(1);
}

TEST(KernelCoverage, ListsAllStepsWithoutKernelAndTheirPlaces) {
  plan::Plan plan;
  plan.set_source("model.mlir");
  plan::Sequence& body = *plan.add_programs()->mutable_body();
  add_step(body, plan::SINE, plan::BOOL, "model.mlir:3:10");
  add_step(body, plan::SINE, plan::F32, "model.mlir:4:10");
  plan::While& loop = *body.add_steps()->mutable_while_();
  add_step(*loop.mutable_body(), plan::TANH, plan::S32, "model.mlir:7:12");
  add_step(*loop.mutable_body(), plan::TANH, plan::S32, "model.mlir:7:12");
  try {
    require_kernels(plan);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "model.mlir: 2 steps of the program cannot run on the CPU:\n"
                 "  model.mlir:3:10: no CPU kernel for SINE of bool to bool\n"
                 "  model.mlir:7:12: no CPU kernel for TANH of i32 to i32\n"
                 "  convert their operands to a type that has a kernel");
  }
}

TEST(KernelCoverage, IsSilentAboutWhatRuns) {
  plan::Plan plan;
  plan::Sequence& body = *plan.add_programs()->mutable_body();
  add_step(body, plan::SINE, plan::F32, "model.mlir:4:10");
  plan::Branch& branch = *body.add_steps()->mutable_branch();
  add_step(*branch.add_branches(), plan::TANH, plan::F64, "model.mlir:7:12");
  require_kernels(plan);
}

}  // namespace
}  // namespace spmd
