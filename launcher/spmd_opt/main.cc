// spmd-opt: shows what the compiler does to a program.
#include <cstdio>
#include <string>

#include "frontends/frontend.h"
#include "frontends/read_file.h"
#include "ir/serialize.h"
#include "ir/text.h"
#include "launcher/agreement.h"
#include "launcher/compile_program.h"
#include "launcher/output_file.h"
#include "launcher/spmd_opt/evaluate.h"
#include "launcher/spmd_opt/options.h"
#include "passes/equivalence/compare.h"
#include "passes/equivalence/random_inputs.h"
#include "passes/pipeline.h"
#include "passes/registry.h"
#include "sharding/annotations/remesh.h"
#include "support/error.h"
#include "support/printable.h"
#include "support/remedy.h"

namespace spmd {
namespace {

std::vector<Pass> chosen_passes(const OptOptions& options) {
  if (options.pipeline) return compile_pipeline({});
  std::vector<Pass> passes;
  for (const std::string& name : options.passes) passes.push_back(pass_named(name));
  return passes;
}

void list_passes() {
  for (const Pass& pass : all_passes()) {
    fmt::print("{:<28} {}\n", pass.name, pass.summary);
  }
}

void print_timings(const std::vector<PassTiming>& timings) {
  double total = 0;
  for (const PassTiming& timing : timings) {
    fmt::print(stderr, "{:>10.3f} ms  {:>8} ops  {}{}\n", timing.milliseconds, timing.ops,
               timing.pass, timing.changed ? "" : " (unchanged)");
    total += timing.milliseconds;
  }
  fmt::print(stderr, "{:>10.3f} ms  total\n", total);
}

std::string serialized(const Module& module, const OptOptions& options) {
  if (options.emit == Emit::kProto) return serialize(module);
  return print_stablehlo(module, {.locations = options.print_locations,
                                  .elide_large_constants = options.elide_constants});
}

void write_output(const Module& module, const OptOptions& options) {
  const std::string text = serialized(module, options);
  if (options.output.empty() || options.output == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  write_whole_file(options.output, text);
}

// Returns the exit code.
int check(const Module& before, const Module& after, const OptOptions& options) {
  const Difference difference = compare_modules(before, after, random_inputs(before, options.seed));
  fmt::print(stderr, "largest difference: {:.3g}", difference.relative);
  if (difference.relative > 0) {
    fmt::print(stderr, " (result {}, element {})", difference.result, difference.element);
  }
  if (difference.nans > 0) fmt::print(stderr, "; {} elements are nan in both", difference.nans);
  fmt::print(stderr, "\n");
  return difference.relative <= options.tolerance ? kOk : kCheckFailed;
}

Module read_program(const OptOptions& options) {
  Module module;
  ImportOptions import_options;
  alone(kUsageError, [&] { import_options = parse_import_options(options.dims, options.inputs); });
  alone(kFileError, [&] {
    const std::string bytes = read_file(options.input);
    if (is_plan(bytes)) {
      throw UserError(options.input, "is a compiled Plan, which has no passes to run",
                      "run it with spmd-run, or see spmd-run check; give its program here");
    }
    module = import_bytes(bytes, options.input, import_options);
  });
  alone(kUsageError, [&] {
    if (options.mesh.empty()) return;
    with_remedy("write axes major to minor, for example: --mesh data=2,model=4",
                [&] { set_mesh(module, parse_mesh(options.mesh)); });
  });
  return module;
}

int run(const OptOptions& options) {
  if (options.reduce) return run_reduce(*options.reduce);
  if (options.list_passes) {
    list_passes();
    return kOk;
  }
  if (options.evaluate) {
    int failed = 0;
    alone(kFileError, [&] { failed = evaluate_file(options.input); });
    return failed == 0 ? kOk : kCheckFailed;
  }
  std::vector<Pass> passes;
  alone(kUsageError, [&] {
    passes = chosen_passes(options);
    check_pass_names(passes, options.run);
  });
  Module module = read_program(options);
  Module before;
  if (options.check) before = module.clone();

  PassContext context;
  context.options.verify_each = options.verify_each;
  std::vector<PassTiming> timings;
  alone(kFileError, [&] { timings = run_passes(module, passes, context, options.run); });
  for (const Remark& remark : context.remarks) {
    fmt::print(stderr, "{}\n", printable(to_string(remark)));
  }
  if (options.time_passes) print_timings(timings);
  int exit_code = kOk;
  alone(kFileError, [&] {
    if (options.print || !options.output.empty() || !options.check) write_output(module, options);
    if (options.check) exit_code = check(before, module, options);
  });
  return exit_code;
}

// run() with its failures said; returns the exit code.
int run_and_report(const OptOptions& options) {
  int exit_code = kOk;
  std::string message;
  try {
    exit_code = run(options);
  } catch (const Failed& failed) {
    exit_code = failed.exit_code();
    message = failed.what();
  } catch (const std::exception& error) {
    exit_code = kInternalError;
    message = fmt::format("internal error: {}", error.what());
  }
  // Output that is lost explains what seems a fault of ours: printing it throws.
  if (const std::string lost = lost_output();
      !lost.empty() && (exit_code == kOk || exit_code == kInternalError)) {
    exit_code = kFileError;
    message = lost;
  }
  if (!message.empty()) fmt::print(stderr, "spmd-opt: {}\n", printable(message));
  return exit_code;
}

}  // namespace
}  // namespace spmd

int main(int argc, char** argv) {
  spmd::ignore_file_size_signal();
  return spmd::run_and_report(spmd::parse_options(argc, argv));
}
