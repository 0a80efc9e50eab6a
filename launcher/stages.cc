#include "launcher/stages.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/evaluator.h"
#include "launcher/local_run.h"
#include "passes/equivalence/compare.h"
#include "passes/equivalence/padded.h"
#include "passes/equivalence/rounding.h"
#include "passes/partition/shards.h"
#include "runtime/plan/plan.h"

namespace spmd {
namespace {

struct Mismatch {
  std::string what;
};

class StageCheck {
 public:
  StageCheck(const Module& module, const StageOptions& options)
      : module_(module), options_(options) {
    enter("evaluate");
  }

  std::optional<StageFailure> run() {
    try {
      if (options_.evaluate) evaluate_program();
      const CompileResult compiled = compile_program();
      enter("verify_plan");
      plan::verify_plan(compiled.plan);
      enter("run");
      if (options_.evaluate) run_program(compiled);
    } catch (const Mismatch& mismatch) {
      return StageFailure{stage_, true, mismatch.what};
    } catch (const std::exception& error) {
      return StageFailure{stage_, false, error.what()};
    }
    return std::nullopt;
  }

 private:
  void enter(std::string stage) {
    stage_ = std::move(stage);
    if (options_.on_stage) options_.on_stage(stage_);
  }

  void evaluate_program() {
    inputs_ = random_inputs(module_, options_.seed, options_.inputs);
    expected_ = evaluate(module_, inputs_);
    if (options_.exact) return;
    if (options_.tolerance) {
      for (const Literal& result : expected_) {
        const double largest = largest_finite(result);
        allowances_.push_back({*options_.tolerance * (largest > 0 ? largest : 1), {}});
      }
    } else {
      allowances_ = rounding_allowances(module_, inputs_, expected_, options_.seed);
      count_undecided();
    }
  }

  void count_undecided() {
    int64_t elements = 0;
    for (const Allowance& allowance : allowances_) {
      elements += std::count(allowance.undecided.begin(), allowance.undecided.end(), true);
    }
    if (elements > 0 && options_.on_undecided) options_.on_undecided(elements);
  }

  CompileResult compile_program() {
    CompileOptions compile_options;
    compile_options.verify_each = true;
    compile_options.cost = options_.cost;
    compile_options.kernels = options_.kernels;
    compile_options.streams = true;
    PipelineOptions pipeline;
    bool local = false;
    pipeline.on_pass = [&](const Pass& pass, size_t index, size_t) {
      enter(fmt::format("{} ({})", pass.name, index + 1));
    };
    pipeline.after_pass = [&](const Pass& pass, const Module& after) {
      local = local || pass.name == "localize";
      if (options_.evaluate) {
        compare(local ? evaluate_partitioned(after, inputs_) : evaluate_padded(after, inputs_));
      }
      if (options_.inspect) options_.inspect(pass.name, after);
      enter("emit_plan");  // until the next pass begins
    };
    return compile(module_.clone(), compile_options, pipeline);
  }

  void run_program(const CompileResult& compiled) {
    for (const std::vector<Literal>& results : run_on_local_ranks(compiled, inputs_, 2)) {
      compare(results);
    }
  }

  void compare(const std::vector<Literal>& found) const {
    const std::string difference = first_difference(expected_, found, allowances_);
    if (!difference.empty()) throw Mismatch{difference};
  }

  const Module& module_;
  const StageOptions& options_;
  std::string stage_;
  std::vector<Literal> inputs_, expected_;
  std::vector<Allowance> allowances_;
};

}  // namespace

std::string StageFailure::to_string() const { return stage + ": " + what; }

std::optional<StageFailure> check_stages(const Module& module, const StageOptions& options) {
  return StageCheck(module, options).run();
}

}  // namespace spmd
