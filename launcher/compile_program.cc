#include "launcher/compile_program.h"

#include <algorithm>

#include "launcher/progress.h"
#include "runtime/kernel_coverage.h"
#include "sharding/annotations/remesh.h"
#include "support/error.h"
#include "support/file_cache.h"
#include "support/printable.h"
#include "support/strings.h"

namespace spmd {
namespace {

void print_passes(const CompileResult& result) {
  for (const PassTiming& timing : result.passes) {
    fmt::print("{:>10.3f} ms  {:>8} ops  {}{}\n", timing.milliseconds, timing.ops, timing.pass,
               timing.changed ? "" : " (unchanged)");
  }
  if (result.plan.kernels().kernels_size() > 0)
    fmt::print("{:>10.3f} ms  {:>8} kernels, compiled or from the cache\n", result.kernels_ms,
               result.plan.kernels().kernels_size());
  for (const Remark& remark : result.remarks) {
    fmt::print("{}\n", printable(to_string(remark)));
  }
}

// What makes this run slower, or the next one start later.
void warn_of_kernels(const CompileResult& result, const std::string& source,
                     const CompileOptions& options) {
  const bool has_kernels = result.plan.kernels().kernels_size() > 0;
  if (!result.kernels_note.empty() && has_kernels) {
    fmt::print(stderr, "spmd-run: warning: {}: {}\n  allow more seconds: --compile-budget\n",
               printable(source), printable(result.kernels_note));
    return;  // a part is not kept, wherever
  }
  if (!result.kernels_note.empty()) {
    fmt::print(stderr,
               "spmd-run: warning: {}: no compiled kernels, steps are slower: {}\n"
               "  mend that{}, or run without this warning with --codegen off\n",
               printable(source), printable(result.kernels_note),
               options.budget ? ", allow more seconds with --compile-budget" : "");
  }
  if (!has_kernels) return;
  const std::string obstacle = FileCache(options.kernel_cache, kKernelEntries).obstacle();
  if (obstacle.empty()) return;
  fmt::print(stderr,
             "spmd-run: warning: {}: {}, so compiled kernels are not kept\n"
             "  choose a folder of yours with --cache-dir\n",
             printable(options.kernel_cache), obstacle);
}

}  // namespace

std::string explain_fusion(const CompileResult& result) {
  std::vector<codegen::FusionNote> notes = result.fusions;
  std::stable_sort(notes.begin(), notes.end(),
                   [](const auto& a, const auto& b) { return a.bytes_saved > b.bytes_saved; });
  int64_t saved = 0;
  std::string text;
  for (const codegen::FusionNote& note : notes) {
    text += printable(codegen::to_string(note)) + "\n";
    saved += note.bytes_saved;
  }
  return fmt::format("{} fused kernels save {} of memory traffic a step, loops counted once\n{}",
                     notes.size(), human_bytes(static_cast<double>(saved)), text);
}

std::string to_string(const Remark& remark) {
  return fmt::format("{}: {} [{}]", remark.place, remark.text, remark.pass);
}

bool is_plan(std::string_view bytes) {
  // The header's first field: tag 1 of type fixed32, then the magic number.
  return bytes.substr(0, 5) == "\x0dSPLN";
}

void check_plan_options(const std::string& path, const RunConfig& config) {
  if (!config.mesh && !config.sharding) return;
  throw UserError(path, "a compiled Plan keeps its mesh and shardings",
                  "leave out --mesh and sharding rules, or compile the program again");
}

std::vector<ParameterSharding> place_program(Module& module, const Mesh& mesh,
                                             const RunConfig& config) {
  set_mesh(module, mesh);
  if (!config.sharding) return {};
  return apply_rules(module, *config.sharding);
}

CompileResult compile_program(Module module, Terminal terminal, bool verbose,
                              const CompileOptions& options) {
  PipelineOptions pipeline;
  ProgressBar bar("compile", terminal);
  pipeline.on_pass = [&](const Pass& pass, size_t index, size_t count) {
    bar.update(static_cast<int64_t>(index), static_cast<int64_t>(count), pass.name);
  };
  const std::string source = module.source;
  CompileResult result = compile(std::move(module), options, pipeline);
  bar.clear();
  require_kernels(result.plan);
  warn_of_kernels(result, source, options);
  if (verbose) print_passes(result);
  return result;
}

}  // namespace spmd
