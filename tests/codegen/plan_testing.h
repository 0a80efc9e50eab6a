// Modules from text, their plans, and plans run on local ranks beside the evaluator.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "codegen/emit_plan.h"
#include "gtest/gtest.h"
#include "ir/evaluator.h"
#include "ir/module.h"
#include "runtime/plan/plan.h"

namespace spmd::testing {

// main() with the given signature and body: "(%a: tensor<f32>) -> tensor<f32>", "return %a ...".
Module module_of(const std::string& signature, const std::string& body);

// The verified plan of a module whose local and global shapes are the same.
plan::Plan plan_of(const Module& module);

// The same with reductions fused with their surroundings, for compiled kernels.
plan::Plan fused_plan_of(const Module& module, std::vector<codegen::FusionNote>* notes = nullptr);

// The plan of a GPU, where values are computed again and products shaped, however small they are;
// `group`: and alike steps grouped.
plan::Plan gpu_plan_of(const Module& module, bool group = false);

// Runs one step of a plan on its mesh's ranks; one list of local values per rank. The ranks run on
// what the environment variable SPMD_TEST_DEVICE says, cpu or cuda; without it, on the CPU.
// `threads`: of a rank.
using RankValues = std::vector<std::vector<Literal>>;
RankValues run_plan(const Module& module, const plan::Plan& plan, const RankValues& arguments,
                    std::optional<int64_t> threads = std::nullopt);

// Why the ranks have no cuDNN for attention steps; empty when they have.
std::string why_no_attention();
// The architecture, "sm_90", of the GPU that the ranks run on; empty on a CPU.
std::string gpu_architecture();

// Values of `type`: floats and complex numbers in [-2, 2], booleans, small integers.
Literal random_literal(const TensorType& type, std::mt19937& random);
// One for each argument of main().
std::vector<Literal> random_arguments(const Module& module, std::mt19937& random);

// Runs the plan on one rank and compares all results with the evaluator's. `tolerance` is relative
// to the larger of 1 and the tensor's largest element; 0 asks for the same bits.
void expect_meaning(const Module& module, const std::vector<Literal>& arguments,
                    double tolerance = 0);
void expect_meaning(const Module& module, double tolerance = 0);
// The same for a given plan of the module, with random arguments; kBothDialects: also with its
// steps' kernels compiled, at least one of them.
enum class Kernels { kNone, kBothDialects };
void expect_meaning_of(const plan::Plan& plan, const Module& module, double tolerance = 2e-6,
                       Kernels kernels = Kernels::kNone);

// The epilogues of the products of a GPU's plan, which is checked to mean the same.
std::vector<plan::DotEpilogue> check_epilogues(const Module& module, double tolerance = 2e-6);

void expect_close(const Literal& found, const Literal& wanted, double tolerance,
                  const std::string& what);
// All of a step's results.
void expect_close(const std::vector<Literal>& found, const std::vector<Literal>& wanted,
                  double tolerance);

// How many steps of each kind a plan has, those of loops and branches included.
std::map<std::string, int> kinds(const plan::Plan& plan);
std::map<std::string, int> kinds(const plan::Sequence& sequence);

}  // namespace spmd::testing
