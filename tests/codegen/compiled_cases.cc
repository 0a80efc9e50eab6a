#include "tests/codegen/compiled_cases.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "codegen/kernels/compile_kernels.h"
#include "codegen/kernels/host_compiler.h"
#include "codegen/step_tree.h"
#include "ir/text.h"
#include "support/error.h"
#include "tests/codegen/plan_testing.h"

namespace spmd::testing {

using codegen::StepTree;

void PlanBundle::add(const plan::Plan& plan) {
  plans_.push_back(plan);
  const int base = whole_.buffers_size();
  whole_.mutable_buffers()->MergeFrom(plan.buffers());
  *whole_.add_programs() = plan.programs(0);
  const StepTree tree(*whole_.mutable_programs()->rbegin()->mutable_body());
  for (int s = 0; s < tree.num_steps(); ++s)
    codegen::for_each_view(*tree[s].step,
                           [&](plan::View& view, bool) { view.set_buffer(view.buffer() + base); });
}

plan::Plan PlanBundle::plan(size_t i) const {
  plan::Plan result = plans_[i];
  plan::Program numbered = whole_.programs(static_cast<int>(i));
  const StepTree from(*numbered.mutable_body());
  const StepTree to(*result.mutable_programs(0)->mutable_body());
  for (int s = 0; s < to.num_steps(); ++s) to[s].step->set_kernel(from[s].step->kernel());
  *result.mutable_kernels() = whole_.kernels();
  return result;
}

int compiled_steps(plan::Plan& plan) {
  int count = 0;
  for (plan::Program& program : *plan.mutable_programs()) {
    const StepTree tree(*program.mutable_body());
    for (int s = 0; s < tree.num_steps(); ++s) count += tree[s].step->kernel() != 0 ? 1 : 0;
  }
  return count;
}

namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A kernel of the CPU's kind that launches one of the CUDA dialect.
std::string launcher_of(const plan::Kernel& kernel) {
  return fmt::format(
      "extern \"C\" void {0}_host(void* const* args, int64_t, int64_t) {{\n"
      "  spmd_kernels::Args<{1}> copy;\n"
      "  for (int i = 0; i < {1}; ++i) copy.p[i] = args[i];\n"
      "  shim::launch({2}, {3}, [=] {{ spmd_kernels::{0}(copy); }});\n"
      "}}\n",
      kernel.name(), kernel.arguments(), kernel.blocks(), kernel.threads());
}

void compile_on_host(plan::Plan& plan) {
  std::string source = read_text(SPMD_SOURCE_DIR "/tests/codegen/cuda_shim.h") +
                       emit_kernels(plan, plan::KernelModule::CUDA);
  for (plan::Kernel& kernel : *plan.mutable_kernels()->mutable_kernels()) {
    source += launcher_of(kernel);
    kernel.set_name(kernel.name() + "_host");
    kernel.set_units(1);
    kernel.set_parts(1);
  }
  std::string error;
  const auto compiler = codegen::kernels::HostCompiler::find(&error);
  ASSERT_TRUE(compiler);
  const std::optional<std::string> code = compiler->compile({source}, &error);
  ASSERT_TRUE(code) << error;
  plan.mutable_kernels()->set_target(plan::KernelModule::HOST);
  plan.mutable_kernels()->set_code(*code);
}

}  // namespace

std::vector<CompiledCases*>& CompiledCases::all() {
  static std::vector<CompiledCases*> living;
  return living;
}

CompiledCases::CompiledCases(Dialect dialect, int at_least)
    : dialect_(dialect), at_least_(at_least) {
  all().push_back(this);
}

void CompiledCases::add(const Module& module, const plan::Plan& plan,
                        const std::vector<Literal>& arguments, const std::vector<Literal>& wanted,
                        double tolerance) {
  cases_.push_back({module.clone(), arguments, wanted, tolerance, print_stablehlo(module)});
  bundle_.add(plan);
}

void CompiledCases::compile() {
  if (dialect_ == Dialect::kCuda) return compile_on_host(bundle_.whole());
  std::string note;
  compile_host_kernels(bundle_.whole(), {}, &note);
  EXPECT_EQ(note, "");
}

CompiledCases::~CompiledCases() {
  std::erase(all(), this);
  compile();
  EXPECT_GE(compiled_steps(bundle_.whole()), at_least_);
  for (size_t i = 0; i < cases_.size(); ++i) {
    SCOPED_TRACE(cases_[i].trace);
    const plan::Plan plan = bundle_.plan(i);
    plan::verify_plan(plan);
    const std::vector<Literal> found = run_plan(cases_[i].module, plan, {cases_[i].arguments})[0];
    for (size_t r = 0; r < found.size(); ++r)
      expect_close(found[r], cases_[i].wanted[r], cases_[i].tolerance,
                   fmt::format("result {} of compiled kernels", r));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace spmd::testing
