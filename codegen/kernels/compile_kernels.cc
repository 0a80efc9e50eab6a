#include "codegen/kernels/compile_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unordered_map>

#include "codegen/accesses.h"
#include "codegen/kernels/cache.h"
#include "codegen/kernels/emit.h"
#include "codegen/kernels/host_compiler.h"
#include "codegen/kernels/lower.h"
#include "codegen/kernels/nvrtc.h"
#include "codegen/kernels/prelude.h"
#include "support/cpu_features.h"

namespace spmd {
namespace codegen::kernels {
namespace {

class UnitBuilder {
 public:
  UnitBuilder(plan::Plan& plan, const Dialect& dialect, int64_t fewest_elements)
      : plan_(plan), dialect_(dialect), fewest_elements_(fewest_elements) {}

  std::vector<std::string> run() {
    plan::KernelModule& module = *plan_.mutable_kernels();
    module.Clear();
    module.set_target(dialect_.target());
    for (plan::Program& program : *plan_.mutable_programs()) visit(*program.mutable_body());
    return std::move(kernels_);
  }

 private:
  void visit(plan::Sequence& sequence) {
    for (plan::Step& step : *sequence.mutable_steps()) {
      step.set_kernel(number_of(step));
      if (step.dot().has_epilogue()) {
        plan::Step& map = *step.mutable_dot()->mutable_epilogue()->mutable_map();
        map.set_kernel(number_of(map));
      }
      for (plan::Sequence* inner : sequences_of(step)) visit(*inner);
    }
  }

  // 1 + the number of the step's kernel; 0: none.
  int number_of(const plan::Step& step) {
    // The CPU has loops for copies that no compiler beats.
    if (dialect_.target() == plan::KernelModule::HOST && is_copy(step)) return 0;
    const auto is_local = [&](int buffer) {
      return plan_.buffers(buffer).kind() == plan::Buffer::LOCAL;
    };
    const std::optional<Kernel> kernel = lower(step, is_local);
    if (!kernel) return 0;
    const int64_t elements = kernel->num_rows() * kernel->num_columns();
    if (elements < fewest_elements_ && !step.has_fused()) return 0;
    // Equal kernels are equal texts but for their names.
    static constexpr const char* kNoName = "kernel_name";
    std::string text;
    plan::Kernel entry = dialect_.emit(*kernel, kNoName, text);
    auto& kernels = *plan_.mutable_kernels()->mutable_kernels();
    const auto [known, is_new] = numbers_.try_emplace(text, kernels.size() + 1);
    if (is_new) {
      entry.set_name(fmt::format("k{}_{}", kernels.size(), family(step)));
      text.replace(text.find(kNoName), std::string_view(kNoName).size(), entry.name());
      kernels_.push_back(std::move(text));
      *kernels.Add() = std::move(entry);
    }
    return known->second;
  }

  static std::string_view family(const plan::Step& step) {
    return step.has_elementwise() ? "elementwise" : step.has_reduce() ? "reduce" : "fused";
  }

  plan::Plan& plan_;
  const Dialect& dialect_;
  int64_t fewest_elements_;
  std::vector<std::string> kernels_;              // texts
  std::unordered_map<std::string, int> numbers_;  // by text
};

}  // namespace

const Dialect& dialect_of(plan::KernelModule::Target target) {
  return target == plan::KernelModule::CUDA ? cuda_dialect() : cpp_dialect();
}

namespace {

// The units of a Plan's kernels: of one only, or as many as are compiled faster side by side. Sets
// the Plan's steps and kernels.
std::vector<std::string> emit_units(plan::Plan& plan, const Dialect& dialect,
                                    int64_t fewest_elements, bool one) {
  // Fewer kernels take less time than what a unit begins with.
  constexpr size_t kLeast = 4;
  const std::vector<std::string> kernels = UnitBuilder(plan, dialect, fewest_elements).run();
  if (kernels.empty()) return {};
  const size_t parts = one ? 1 : HostCompiler::parts_for(kernels.size(), kLeast);
  size_t length = 0, done = 0;
  for (const std::string& kernel : kernels) length += kernel.size();
  std::vector<std::string> units(parts, dialect.prelude());
  for (const std::string& kernel : kernels) {
    units[std::min(done * parts / length, parts - 1)] += kernel;
    done += kernel.size();
  }
  for (std::string& unit : units) unit += kUnitEnd;
  return units;
}

}  // namespace
}  // namespace codegen::kernels

std::string emit_kernels(plan::Plan& plan, plan::KernelModule::Target target,
                         int64_t fewest_elements) {
  using namespace codegen::kernels;
  const std::vector<std::string> units =
      emit_units(plan, dialect_of(target), fewest_elements, true);
  return units.empty() ? std::string() : units[0];
}

namespace {

void drop_step_kernels(plan::Sequence& sequence) {
  for (plan::Step& step : *sequence.mutable_steps()) {
    step.set_kernel(0);
    if (step.dot().has_epilogue())
      step.mutable_dot()->mutable_epilogue()->mutable_map()->set_kernel(0);
    for (plan::Sequence* inner : codegen::sequences_of(step)) drop_step_kernels(*inner);
  }
}

}  // namespace

void drop_kernels(plan::Plan& plan) {
  plan.clear_kernels();
  for (plan::Program& program : *plan.mutable_programs())
    drop_step_kernels(*program.mutable_body());
}

namespace {

using codegen::kernels::KernelCache;

void give_up(plan::Plan& plan, const std::string& reason, std::string* note) {
  drop_kernels(plan);
  if (note != nullptr) *note = reason;
}

// Puts the code of `units` into the Plan: out of the cache, or compile(&error). `identity`: of the
// compiler and its options.
template <typename Compile>
bool add_code(plan::Plan& plan, const std::vector<std::string>& units, const std::string& identity,
              const std::string& cache_dir, std::string* note, const Compile& compile) {
  const KernelCache cache(cache_dir);
  std::vector<std::string> parts = units;
  parts.push_back(identity);
  const std::string key = KernelCache::key(parts);
  std::optional<std::string> code = cache.find(key);
  if (!code) {
    std::string error;
    code = compile(&error);
    if (!code) {
      give_up(plan, error, note);
      return false;
    }
    cache.put(key, *code);
  }
  plan.mutable_kernels()->set_code(std::move(*code));
  return true;
}

}  // namespace

void compile_host_kernels(plan::Plan& plan, const HostKernelOptions& options, std::string* note) {
  using namespace codegen::kernels;
  const std::vector<std::string> units =
      emit_units(plan, dialect_of(plan::KernelModule::HOST), options.fewest_elements, false);
  if (units.empty()) return;
  std::string error;
  const std::optional<HostCompiler> compiler = HostCompiler::find(&error);
  if (!compiler) return give_up(plan, error, note);
  const auto compile = [&](std::string* why) { return compiler->compile(units, why); };
  if (add_code(plan, units, compiler->identity(), options.cache_dir, note, compile))
    plan.mutable_kernels()->set_architecture(fmt::format("{}", fmt::join(cpu_features(), ",")));
}

void compile_cuda_kernels(plan::Plan& plan, const CudaKernelOptions& options, std::string* note) {
  using namespace codegen::kernels;
  const std::string source = emit_kernels(plan, plan::KernelModule::CUDA);
  if (source.empty()) return;
  std::string error;
  const std::optional<Nvrtc> compiler = Nvrtc::find(&error);
  if (!compiler) return give_up(plan, error, note);
  const auto compile = [&](std::string* why) {
    return compiler->compile(source, options.architecture, why);
  };
  if (add_code(plan, {source}, compiler->identity(options.architecture), options.cache_dir, note,
               compile))
    plan.mutable_kernels()->set_architecture(options.architecture);
}

}  // namespace spmd
