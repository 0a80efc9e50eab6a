#include "launcher/job.h"

#include "codegen/kernels/nvrtc.h"
#include "frontends/frontend.h"
#include "frontends/read_file.h"
#include "launcher/agreement.h"
#include "launcher/cache_command.h"
#include "launcher/check_outputs.h"
#include "launcher/choose_mesh.h"
#include "launcher/compile_program.h"
#include "launcher/output_file.h"
#include "support/error.h"
#include "support/file_cache.h"

namespace spmd {
namespace {

CompileOptions compile_options(const RunConfig& config, const DevicePlace& place) {
  CompileOptions options;
  options.streams = place.cuda;
  options.budget = config.compile_budget;
  if (config.codegen == "off") return options;
  options.kernels = place.cuda ? KernelTarget::kCuda : KernelTarget::kHost;
  options.kernel_architecture = place.architecture;
  options.attention = {place.attention,
                       place.cuda && codegen::kernels::Nvrtc::find(nullptr).has_value()};
  options.why_no_attention_library = place.why_no_attention;
  options.kernel_cache = cache_folder(config, kKernelEntries);
  return options;
}

void check_ranks_of_plan(const plan::Plan& plan, const std::string& path, int ranks) {
  int64_t devices = 1;
  for (const plan::MeshAxis& axis : plan.mesh()) devices *= axis.size();
  if (devices != ranks) {
    throw UserError(
        path,
        fmt::format("the Plan is for {} rank{}, but there {} {}", devices, devices == 1 ? "" : "s",
                    ranks == 1 ? "is" : "are", ranks),
        fmt::format("start {} ranks: mpirun -n {}, or --ranks {}", devices, devices, devices));
  }
}

// What rank 0 does alone, in phases with an exit code each.
class JobMaker {
 public:
  JobMaker(comm::Communicator& communicator, const CommandLine& line, const RunConfig& config,
           const LaunchEnvironment& launch, const DevicePlace& place)
      : communicator_(communicator), line_(line), config_(config), launch_(launch), place_(place) {}

  void compile(Job& job) {
    std::string bytes;
    Module module;
    ImportOptions import_options;
    phase(kUsageError,
          [&] { import_options = parse_import_options(config_.dims, config_.inputs); });
    phase(kFileError, [&] {
      check_outputs(config_, line_);
      bytes = read_file(line_.model);
      job.was_compiled = is_plan(bytes);
      if (job.was_compiled) {
        job.plan = plan::parse_plan(bytes, line_.model);
      } else {
        module = import_bytes(bytes, line_.model, import_options);
      }
    });
    const int ranks = communicator_.size();
    phase(kUsageError, [&] {
      if (job.was_compiled) {
        check_plan_options(line_.model, config_);
        return check_ranks_of_plan(job.plan, line_.model, ranks);
      }
      place_program(module, choose_mesh(module, config_.mesh, ranks, launch_), config_);
    });
    phase(kFileError, [&] {
      if (job.was_compiled) return;
      CompileResult result = compile_program(std::move(module), stdout_terminal(), line_.verbose,
                                             compile_options(config_, place_));
      if (config_.explain) fmt::print("{}", explain_fusion(result));
      job.plan = std::move(result.plan);
      job.remarks = std::move(result.remarks);
    });
    phase(kInternalError, [&] { plan::verify_plan(job.plan); });
  }

 private:
  void phase(ExitCode user_error, const std::function<void()>& work) {
    on_root(communicator_, user_error, work);
  }

  comm::Communicator& communicator_;
  const CommandLine& line_;
  const RunConfig& config_;
  const LaunchEnvironment& launch_;
  const DevicePlace& place_;
};

void broadcast(comm::Communicator& communicator, plan::Plan& plan) {
  if (communicator.size() == 1) return;
  const bool root = communicator.rank() == 0;
  std::string bytes;
  if (root) bytes = plan::serialize_plan(plan);
  communicator.broadcast(bytes, 0, "the plan");
  together(communicator, kInternalError, [&] {
    if (!root) plan = plan::parse_plan(bytes, "the plan of rank 0");
  });
}

}  // namespace

RunConfig agree_on_config(comm::Communicator& communicator, const CommandLine& line) {
  RunConfig config;
  on_root(communicator, kUsageError, [&] { config = resolve_config(line); });
  if (communicator.size() == 1) return config;
  const bool root = communicator.rank() == 0;
  std::string text;
  if (root) text = print_config(config);
  communicator.broadcast(text, 0, "the configuration");
  together(communicator, kInternalError, [&] {
    if (!root) config = parse_run_config(text, "the configuration of rank 0");
  });
  return config;
}

Job make_job(comm::Communicator& communicator, const CommandLine& line, RunConfig config,
             const LaunchEnvironment& launch, const DevicePlace& place) {
  Job job;
  job.config = std::move(config);
  JobMaker(communicator, line, job.config, launch, place).compile(job);
  if (job.config.save_plan) {
    on_root(communicator, kFileError,
            [&] { write_whole_file(*job.config.save_plan, plan::serialize_plan(job.plan)); });
  }
  broadcast(communicator, job.plan);
  return job;
}

}  // namespace spmd
