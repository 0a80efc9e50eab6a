#include "runtime/kernel_coverage.h"

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/device/cpu/kernel.h"
#include "support/error.h"

namespace spmd {
namespace {

class Coverage {
 public:
  void visit(const plan::Sequence& sequence) {
    for (const plan::Step& step : sequence.steps()) visit(step);
  }

  // "place: fact", in the order of the steps; each once.
  const std::vector<std::string>& missing() const { return missing_; }

 private:
  void visit(const plan::Step& step) {
    switch (step.kind_case()) {
      case plan::Step::kWhile:
        visit(step.while_().condition());
        visit(step.while_().body());
        return;
      case plan::Step::kBranch:
        for (const plan::Sequence& branch : step.branch().branches()) visit(branch);
        return;
      case plan::Step::kAxisIndex:
      case plan::Step::kCollective:
        return;  // no kernels
      default:
        return try_kernel(step);
    }
  }

  void try_kernel(const plan::Step& step) {
    try {
      cpu::LoadContext context;
      cpu::make_kernel(step, context);
    } catch (const UserError& error) {
      const std::string fact = error.what();
      if (std::find(missing_.begin(), missing_.end(), fact) == missing_.end()) {
        missing_.push_back(fact);
      }
    }
  }

  std::vector<std::string> missing_;
};

}  // namespace

void require_kernels(const plan::Plan& plan) {
  Coverage coverage;
  for (const plan::Program& program : plan.programs()) coverage.visit(program.body());
  const std::vector<std::string>& missing = coverage.missing();
  if (missing.empty()) return;
  std::string list = fmt::format("{} step{} of the program cannot run on the CPU:", missing.size(),
                                 missing.size() == 1 ? "" : "s");
  for (const std::string& fact : missing) list += "\n  " + fact;
  throw UserError(plan.source(), list, "convert their operands to a type that has a kernel");
}

}  // namespace spmd
