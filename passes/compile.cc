#include "passes/compile.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "codegen/emit_plan.h"
#include "codegen/kernels/compile_kernels.h"
#include "passes/analysis/flops.h"
#include "passes/analysis/index_bounds.h"
#include "passes/carry_casts.h"
#include "passes/padding_remark.h"
#include "passes/pipeline.h"
#include "passes/split_reductions.h"

namespace spmd {
namespace {

// `bounds`: index_bounds() of the arguments.
EmitInfo emit_info(const Module& module, const std::vector<int64_t>& bounds) {
  const Function& fn = module.main();
  EmitInfo info;
  const auto describe = [](const std::string& name, const TensorType& type,
                           const ShardingRef& sharding, const std::optional<Dims>& global) {
    GlobalTensor tensor{name, global.value_or(type.shape), {}, 0};
    tensor.axes.resize(type.shape.size());
    for (size_t d = 0; sharding && d < tensor.axes.size(); ++d) {
      tensor.axes[d] = sharding->dims[d].axes;
    }
    return tensor;
  };
  for (size_t i = 0; i < fn.arguments().size(); ++i) {
    const Value& value = fn.value(fn.arguments()[i]);
    info.arguments.push_back(describe(fn.argument_info[i].name, value.type, value.sharding,
                                      fn.argument_info[i].global_shape));
    if (i < bounds.size()) info.arguments.back().index_bound = bounds[i];
  }
  for (size_t i = 0; i < fn.results().size(); ++i) {
    info.results.push_back(describe(fn.result_info[i].name, fn.type(fn.results()[i]),
                                    fn.result_info[i].sharding, fn.result_info[i].global_shape));
  }
  return info;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void fill_collectives(const std::vector<CollectiveUse>& uses, plan::Statistics& statistics) {
  struct Total {
    int64_t count = 0, bytes = 0, largest = -1;
    std::string op;
  };
  std::map<std::pair<std::string, std::string>, Total> totals;
  for (const CollectiveUse& use : uses) {
    Total& total = totals[{name_of(use.kind), use.axes}];
    total.count += use.count;
    total.bytes += use.bytes;
    if (use.bytes > total.largest) {
      total.largest = use.bytes;
      total.op = use.place;
    }
  }
  for (auto& [key, total] : totals) {
    plan::CollectiveTotal& row = *statistics.add_collectives();
    row.set_kind(key.first);
    row.set_axes(key.second);
    row.set_count(total.count);
    row.set_bytes(total.bytes);
    row.set_op(total.op);
  }
  statistics.set_bytes_sent_per_step(total_bytes_sent(uses));
}

// A GPU's kernels wait for memory, so that arithmetic done again is free; a CPU's do not.
codegen::FuseRowsOptions fusion_for(KernelTarget target) {
  if (target != KernelTarget::kCuda) return {};
  return {
      .parallelism = kGpuParallelism, .joins_elementwise = true, .least_recompute_gain = 1 << 16};
}

// Memory of one rank but for workspaces.
int64_t planned_bytes(const plan::Plan& plan) {
  int64_t bytes = plan.arena_bytes();
  for (const plan::Buffer& buffer : plan.buffers())
    if (buffer.kind() != plan::Buffer::ARENA && buffer.kind() != plan::Buffer::LOCAL)
      bytes += buffer.bytes();
  return bytes;
}

// The Plan of a GPU: the one that carries narrow parameters from step to step where it needs no
// more memory than the one that makes them anew, but for the last 0.1 %. The latter, when it is
// only compared, does without groups of steps, which take time to find and no memory.
plan::Plan emit_for_gpu(const Module& module, const EmitInfo& info) {
  Module carrying = module.clone();
  const std::vector<CarriedValue> carried = carry_casts(carrying);
  if (carried.empty()) return emit_plan(module, info);
  EmitInfo compared = info;
  compared.group_steps = false;
  compared.fusions = nullptr;
  const int64_t before = planned_bytes(emit_plan(module, compared));

  EmitInfo with_carried = info;
  std::vector<int64_t> bounds;
  for (const GlobalTensor& argument : info.arguments) bounds.push_back(argument.index_bound);
  const EmitInfo all = emit_info(carrying, bounds);
  with_carried.arguments = all.arguments;
  with_carried.results = all.results;
  with_carried.carried = carried;
  plan::Plan plan = emit_plan(carrying, with_carried);
  if (planned_bytes(plan) <= before + before / 1000) return plan;
  if (info.fusions != nullptr) info.fusions->clear();
  return emit_plan(module, info);
}

// Fewer than a vector of elements are not worth compiling.
constexpr int64_t kFewestElements = 8;

// `begin`: of the compilation, whose time is limited.
void compile_kernels(const CompileOptions& options, std::chrono::steady_clock::time_point begin,
                     CompileResult& result) {
  if (options.kernels == KernelTarget::kNone) return;
  const auto start = std::chrono::steady_clock::now();
  std::optional<double> seconds = options.budget;
  if (seconds) *seconds -= milliseconds_since(begin) / 1e3;
  if (options.kernels == KernelTarget::kHost) {
    compile_host_kernels(result.plan, {options.kernel_cache, kFewestElements, seconds},
                         &result.kernels_note);
  } else {
    compile_cuda_kernels(
        result.plan,
        {options.kernel_architecture, options.kernel_cache, seconds, options.attention.library},
        &result.kernels_note);
  }
  result.kernels_ms = milliseconds_since(start);
}

CompileResult run(Module module, const CompileOptions& options, PipelineOptions pipeline,
                  bool emit) {
  const auto start = std::chrono::steady_clock::now();
  CompileResult result;
  PassContext context;
  context.options = options;
  for (const ReadingNote& note : module.notes())
    context.remarks.push_back({kImport, note.place, note.text});
  const std::vector<Pass> passes = compile_pipeline(options);
  // The program's work with padding, before it is cut into ranks.
  double flops_before_padding = 0, global_flops = 0, global_operations = 0;
  const auto padding = std::find_if(passes.begin(), passes.end(),
                                    [](const Pass& pass) { return pass.name == "pad_uneven"; });
  const std::string before_padding =
      padding == passes.end() || padding == passes.begin() ? "" : std::prev(padding)->name;
  const auto inspect = std::move(pipeline.after_pass);
  std::vector<int64_t> bounds;
  pipeline.after_pass = [&](const Pass& pass, const Module& after) {
    if (emit && pass.name == "inline_calls") bounds = index_bounds(after);
    if (pass.name == before_padding) flops_before_padding = contraction_flops(after);
    if (pass.name == "pad_uneven") {
      if (auto remark = remark_on_padding(after, flops_before_padding))
        context.remarks.push_back(std::move(*remark));
      global_flops = contraction_flops(after);
      global_operations = flops(after);
    }
    if (inspect) inspect(pass, after);
  };
  result.passes = run_passes(module, passes, context, pipeline);
  result.collectives = collectives_of(module);
  if (emit) {
    EmitInfo info = emit_info(module, bounds);
    if (!options.combine_collectives) info.combine_bytes = 0;
    if (options.kernels != KernelTarget::kNone) info.fuse_rows = fusion_for(options.kernels);
    info.streams = options.streams;
    info.shape_products = info.group_steps = options.kernels == KernelTarget::kCuda;
    info.fusions = &result.fusions;
    result.plan = options.kernels == KernelTarget::kCuda ? emit_for_gpu(module, info)
                                                         : emit_plan(module, info);
    compile_kernels(options, start, result);
  }
  plan::Statistics& statistics = *result.plan.mutable_statistics();
  fill_collectives(result.collectives, statistics);
  statistics.set_full_rematerializations(context.full_rematerializations);
  const auto over_share = [&](double per_rank, double global) {
    return global > 0 ? per_rank * static_cast<double>(module.mesh.num_devices()) / global : 1;
  };
  statistics.set_flops_per_rank(contraction_flops(module));
  result.replicated_flops = over_share(statistics.flops_per_rank(), global_flops);
  result.replicated_operations = over_share(flops(module), global_operations);
  statistics.set_replicated_flops(result.replicated_flops);
  result.compile_ms = milliseconds_since(start);
  statistics.set_compile_ms(result.compile_ms);
  result.full_rematerializations = context.full_rematerializations;
  result.remarks = std::move(context.remarks);
  result.placements = std::move(context.placements);
  result.module = std::move(module);
  return result;
}

}  // namespace

CompileResult compile(Module module, const CompileOptions& options, PipelineOptions pipeline) {
  return run(std::move(module), options, std::move(pipeline), /*emit=*/true);
}

CompileResult partition(Module module, const CompileOptions& options, PipelineOptions pipeline) {
  return run(std::move(module), options, std::move(pipeline), /*emit=*/false);
}

}  // namespace spmd
