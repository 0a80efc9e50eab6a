#include "codegen/kernels/compile_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "codegen/accesses.h"
#include "codegen/attention_kernels.h"
#include "codegen/kernels/emit.h"
#include "codegen/kernels/host_compiler.h"
#include "codegen/kernels/lower.h"
#include "codegen/kernels/nvrtc.h"
#include "codegen/kernels/prelude.h"
#include "runtime/plan/plan.h"
#include "support/cpu_features.h"
#include "support/file_cache.h"

namespace spmd {
namespace codegen::kernels {
namespace {

bool is_attention(const plan::Step& step) {
  return step.has_attention() || step.has_attention_backward();
}

// What steps get kernels.
struct Selection {
  int64_t fewest_elements = 0;     // of Elementwise and Reduce steps
  bool attention_library = false;  // attention that a library does gets none
  // The first ones; and all of attention, which no other part of a device does as fast as that.
  int most_kernels = INT_MAX;
};

class UnitBuilder {
 public:
  UnitBuilder(plan::Plan& plan, const Dialect& dialect, const Selection& selection)
      : plan_(plan), dialect_(dialect), selection_(selection) {}

  // Their texts.
  std::vector<std::string> run() {
    plan::KernelModule& module = *plan_.mutable_kernels();
    module.Clear();
    module.set_target(dialect_.target());
    for (plan::Program& program : *plan_.mutable_programs()) visit(*program.mutable_body());
    for (plan::Carried& carried : *plan_.mutable_carried())
      carried.mutable_derive()->set_kernel(number_of(carried.derive()));
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

  // Equal kernels are equal texts but for their names.
  static constexpr std::string_view kNoName = "kernel_name";

  // 1 + the number of the step's kernel; 0: none.
  int number_of(const plan::Step& step) {
    std::string text;
    std::optional<plan::Kernel> entry =
        is_attention(step) ? emit_attention(step, text) : emit(step, text);
    if (!entry) return 0;
    auto& kernels = *plan_.mutable_kernels()->mutable_kernels();
    const bool has_room = kernels.size() < selection_.most_kernels || is_attention(step);
    const auto [known, is_new] =
        numbers_.try_emplace(std::pair(text, entry->units()), has_room ? kernels.size() + 1 : 0);
    if (is_new && known->second > 0) {
      const auto [name, is_new_text] =
          names_.try_emplace(text, fmt::format("k{}_{}", kernels.size(), plan::kind_name(step)));
      entry->set_name(name->second);
      if (is_new_text) {
        for (size_t at; (at = text.find(kNoName)) != std::string::npos;)
          text.replace(at, kNoName.size(), entry->name());
        if (is_attention(step) && !std::exchange(has_attention_, true))
          text = dialect_.attention_prelude() + text;
        kernels_.push_back(std::move(text));
      }
      *kernels.Add() = std::move(*entry);
    }
    return known->second;
  }

  std::optional<plan::Kernel> emit_attention(const plan::Step& step, std::string& text) {
    const AttentionTarget target{selection_.attention_library, true};
    if (attention_kernel(step, target) != AttentionKernel::kCompiled) return std::nullopt;
    return dialect_.emit_attention(step, std::string(kNoName), text);
  }

  std::optional<plan::Kernel> emit(const plan::Step& step, std::string& text) {
    // The CPU has loops for copies that no compiler beats.
    if (dialect_.target() == plan::KernelModule::HOST && is_copy(step)) return std::nullopt;
    const auto is_local = [&](int buffer) {
      return plan_.buffers(buffer).kind() == plan::Buffer::LOCAL;
    };
    const std::optional<Kernel> kernel = lower(step, is_local);
    if (!kernel) return std::nullopt;
    const int64_t elements = kernel->num_rows() * kernel->num_columns();
    const bool is_single = step.has_elementwise() || step.has_reduce();
    if (elements < selection_.fewest_elements && is_single) return std::nullopt;
    return dialect_.emit(*kernel, std::string(kNoName), text);
  }

  plan::Plan& plan_;
  const Dialect& dialect_;
  Selection selection_;
  bool has_attention_ = false;
  std::vector<std::string> kernels_;
  std::map<std::pair<std::string, int64_t>, int> numbers_;  // by text and Kernel.units
  std::unordered_map<std::string, std::string> names_;      // by text
};

}  // namespace

const Dialect& dialect_of(plan::KernelModule::Target target) {
  return target == plan::KernelModule::CUDA ? cuda_dialect() : cpp_dialect();
}

namespace {

using Units = std::vector<std::string>;

// How long a compiler takes for a kernel, in characters: reductions along memory take it as long as
// so much other text (measured with g++ 12).
size_t compile_cost(const std::string& kernel) {
  constexpr std::string_view kCostly = "combine_partials";
  constexpr size_t kCharacters = 2000;
  size_t cost = kernel.size();
  for (size_t at = 0; (at = kernel.find(kCostly, at)) != std::string::npos; at += kCostly.size())
    cost += kCharacters;
  return cost;
}

// Of kernels' texts: up to `most_parts` units that take about equally long, the longest kernels
// first (Graham, 1969).
Units units_of(const std::vector<std::string>& kernels, const Dialect& dialect, size_t most_parts) {
  // Fewer kernels take less time than what a unit begins with.
  constexpr size_t kLeast = 4;
  if (kernels.empty()) return {};
  std::vector<size_t> cost(kernels.size()), order(kernels.size());
  std::transform(kernels.begin(), kernels.end(), cost.begin(), compile_cost);
  std::iota(order.begin(), order.end(), 0);
  const size_t parts = std::clamp<size_t>(kernels.size() / kLeast, 1, most_parts);
  if (parts > 1)
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return cost[a] > cost[b]; });
  Units units(parts, dialect.prelude());
  std::vector<size_t> load(parts, 0);
  for (size_t kernel : order) {
    const auto least = std::min_element(load.begin(), load.end());
    units[static_cast<size_t>(least - load.begin())] += kernels[kernel];
    *least += cost[kernel];
  }
  for (std::string& unit : units) unit += kUnitEnd;
  return units;
}

}  // namespace
}  // namespace codegen::kernels

std::string emit_kernels(plan::Plan& plan, plan::KernelModule::Target target) {
  using namespace codegen::kernels;
  const Dialect& dialect = dialect_of(target);
  const Units units = units_of(UnitBuilder(plan, dialect, {}).run(), dialect, 1);
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
  for (plan::Carried& carried : *plan.mutable_carried()) carried.mutable_derive()->set_kernel(0);
}

namespace {

using codegen::kernels::Units;

void give_up(plan::Plan& plan, const std::string& reason, std::string* note) {
  drop_kernels(plan);
  if (note != nullptr) *note = reason;
}

// Makes the code of a Plan's kernels.
struct KernelMaker {
  std::string target;    // "the CPU", "sm_90"
  std::string identity;  // of the compiler and its options
  std::string cache_dir;
  std::optional<double> seconds;
  std::function<Units(int most_kernels)> emit;
  std::function<std::optional<std::string>(const Units& units, std::string* error)> compile;
};

// A Plan's kernels, compiled within the maker's time: all of them, or the first ones. nullopt, with
// `error`, when none are. `note`: says so when it is not all.
std::optional<std::string> compile_in_time(plan::Plan& plan, const KernelMaker& maker,
                                           std::string* error, std::string* note) {
  using Clock = std::chrono::steady_clock;
  constexpr int kSample = 8;
  const double seconds = *maker.seconds;
  const int all = plan.kernels().kernels_size();
  if (seconds <= 0) {
    *error = "the compile budget is used up";
    return std::nullopt;
  }
  const Clock::time_point begin = Clock::now();
  std::optional<std::string> sample = maker.compile(maker.emit(kSample), error);
  if (!sample || all <= kSample) return sample;
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto fitting = static_cast<int>(
      std::clamp(kSample * (seconds - took) / std::max(took, 1e-6), 0.0, 1.0 * all));
  if (fitting < all)
    *note = fmt::format(
        "the compile budget suffices for {} of {} kernels: the device's own do the other steps, "
        "which is slower",
        std::max(fitting, kSample), all);
  if (fitting <= kSample) return sample;
  return maker.compile(maker.emit(fitting), error);
}

// "model.mlir: 3 kernels for the CPU: 2 elementwise, 1 reduce". Names are "k0_reduce".
std::string describe_kernels(const plan::Plan& plan, const std::string& target) {
  std::map<std::string, int> kinds;
  for (const plan::Kernel& kernel : plan.kernels().kernels())
    ++kinds[kernel.name().substr(kernel.name().find('_') + 1)];
  std::string text =
      fmt::format("{}: {} kernel{} for {}:", plan.source(), plan.kernels().kernels_size(),
                  plan.kernels().kernels_size() == 1 ? "" : "s", target);
  for (const auto& [kind, count] : kinds)
    text += fmt::format("{} {} {}", text.back() == ':' ? "" : ",", count, kind);
  return text;
}

// Puts the code of `units`, all of the Plan's kernels, into the Plan: out of the cache, or
// compiled.
bool add_code(plan::Plan& plan, const Units& units, const KernelMaker& maker, std::string* note) {
  const FileCache cache(maker.cache_dir, kKernelEntries);
  Units parts = units;
  parts.push_back(maker.identity);
  const std::string key = FileCache::key(parts);
  std::optional<std::string> code = cache.find(key);
  if (!code) {
    std::string error, partial;
    code = maker.seconds ? compile_in_time(plan, maker, &error, &partial)
                         : maker.compile(units, &error);
    if (!code) {
      give_up(plan, error, note);
      return false;
    }
    if (partial.empty()) cache.put(key, *code, describe_kernels(plan, maker.target));
    if (note != nullptr && !partial.empty()) *note = partial;
  }
  plan.mutable_kernels()->set_code(std::move(*code));
  return true;
}

}  // namespace

void compile_host_kernels(plan::Plan& plan, const HostKernelOptions& options, std::string* note) {
  using namespace codegen::kernels;
  const auto emit = [&](int most_kernels) {
    const Dialect& dialect = dialect_of(plan::KernelModule::HOST);
    const Selection selection{.fewest_elements = options.fewest_elements,
                              .most_kernels = most_kernels};
    return units_of(UnitBuilder(plan, dialect, selection).run(), dialect,
                    HostCompiler::most_units());
  };
  const Units units = emit(INT_MAX);
  if (units.empty()) return;
  std::string error;
  const std::optional<HostCompiler> compiler = HostCompiler::find(&error);
  if (!compiler) return give_up(plan, error, note);
  const auto compile = [&](const Units& parts, std::string* why) {
    return compiler->compile(parts, why);
  };
  const KernelMaker maker{"the CPU", compiler->identity(), options.cache_dir, options.seconds, emit,
                          compile};
  if (add_code(plan, units, maker, note))
    plan.mutable_kernels()->set_architecture(fmt::format("{}", fmt::join(cpu_features(), ",")));
}

void compile_cuda_kernels(plan::Plan& plan, const CudaKernelOptions& options, std::string* note) {
  using namespace codegen::kernels;
  const auto emit = [&](int most_kernels) {
    const Dialect& dialect = dialect_of(plan::KernelModule::CUDA);
    const Selection selection{.attention_library = options.attention_library,
                              .most_kernels = most_kernels};
    return units_of(UnitBuilder(plan, dialect, selection).run(), dialect, 1);
  };
  const Units units = emit(INT_MAX);
  if (units.empty()) return;
  std::string error;
  const std::optional<Nvrtc> compiler = Nvrtc::find(&error);
  if (!compiler) return give_up(plan, error, note);
  const auto compile = [&](const Units& parts, std::string* why) {
    return compiler->compile(parts[0], options.architecture, why);
  };
  const KernelMaker maker{options.architecture,
                          compiler->identity(options.architecture),
                          options.cache_dir,
                          options.seconds,
                          emit,
                          compile};
  if (add_code(plan, units, maker, note))
    plan.mutable_kernels()->set_architecture(options.architecture);
}

}  // namespace spmd
