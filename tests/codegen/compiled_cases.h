// The same programs with compiled kernels: many plans share one translation unit, since a compiler
// takes longer to start than to compile a kernel.
#pragma once

#include <vector>

#include "ir/literal.h"
#include "ir/module.h"
#include "runtime/plan/plan.h"

namespace spmd::testing {

// The plans as one with a program each, so that they share kernels.
class PlanBundle {
 public:
  // `plan` has one program.
  void add(const plan::Plan& plan);
  plan::Plan& whole() { return whole_; }
  // Plan `i` with the whole's kernels.
  plan::Plan plan(size_t i) const;

 private:
  std::vector<plan::Plan> plans_;
  plan::Plan whole_;
};

// How many steps of a plan have a kernel, those of loops and branches included.
int compiled_steps(plan::Plan& plan);

// While one lives, expect_meaning() hands over what it checks; the end compiles all of that, for
// the CPU, and checks it again.
class CompiledCases {
 public:
  enum class Dialect { kCpp, kCuda };

  // `at_least`: steps with a kernel, over all cases.
  CompiledCases(Dialect dialect, int at_least);
  ~CompiledCases();
  CompiledCases(const CompiledCases&) = delete;
  CompiledCases& operator=(const CompiledCases&) = delete;

  // The ones that live.
  static std::vector<CompiledCases*>& all();

  void add(const Module& module, const plan::Plan& plan, const std::vector<Literal>& arguments,
           const std::vector<Literal>& wanted, double tolerance);

 private:
  struct Case {
    Module module;
    std::vector<Literal> arguments, wanted;
    double tolerance;
    std::string trace;
  };
  void compile();

  Dialect dialect_;
  int at_least_;
  std::vector<Case> cases_;
  PlanBundle bundle_;
};

}  // namespace spmd::testing
