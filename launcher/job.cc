#include "launcher/job.h"

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

CompileOptions compile_options(const CommandLine& line, const DevicePlace& place) {
  CompileOptions options;
  options.streams = place.cuda;
  options.budget = line.compile_budget;
  if (!line.codegen) return options;
  options.kernels = place.cuda ? KernelTarget::kCuda : KernelTarget::kHost;
  options.kernel_architecture = place.architecture;
  options.attention_kernels = place.attention;
  options.why_no_attention_kernels = place.why_no_attention;
  options.kernel_cache = cache_folder(line, kKernelEntries);
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
  JobMaker(comm::Communicator& communicator, const CommandLine& line,
           const LaunchEnvironment& launch, const DevicePlace& place)
      : communicator_(communicator), line_(line), launch_(launch), place_(place) {}

  RunConfig configure() {
    phase(kUsageError, [&] {
      config_ = resolve_config(line_);
      import_options_ = parse_import_options(line_.dims, line_.inputs);
    });
    return config_;
  }

  void compile(Job& job) {
    std::string bytes;
    Module module;
    phase(kFileError, [&] {
      check_outputs(config_, line_);
      bytes = read_file(line_.model);
      if (is_plan(bytes)) {
        job.plan = plan::parse_plan(bytes, line_.model);
      } else {
        module = import_bytes(bytes, line_.model, import_options_);
      }
    });
    const int ranks = communicator_.size();
    phase(kUsageError, [&] {
      if (is_plan(bytes)) {
        check_plan_options(line_.model, config_);
        return check_ranks_of_plan(job.plan, line_.model, ranks);
      }
      place_program(module, choose_mesh(module, config_.mesh, ranks, launch_), config_);
    });
    phase(kFileError, [&] {
      if (is_plan(bytes)) return;
      CompileResult result = compile_program(std::move(module), stdout_terminal(), line_.verbose,
                                             compile_options(line_, place_));
      if (line_.explain_fusion) fmt::print("{}", explain_fusion(result));
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
  const LaunchEnvironment& launch_;
  const DevicePlace& place_;
  RunConfig config_;
  ImportOptions import_options_;
};

void broadcast(comm::Communicator& communicator, Job& job) {
  if (communicator.size() == 1) return;
  const bool root = communicator.rank() == 0;
  std::string config, plan;
  if (root) {
    config = print_config(job.config);
    plan = plan::serialize_plan(job.plan);
  }
  communicator.broadcast(config, 0, "the configuration");
  communicator.broadcast(plan, 0, "the plan");
  together(communicator, kInternalError, [&] {
    if (root) return;
    job.config = parse_run_config(config, "the configuration of rank 0");
    job.plan = plan::parse_plan(plan, "the plan of rank 0");
  });
}

}  // namespace

std::optional<Job> make_job(comm::Communicator& communicator, const CommandLine& line,
                            const LaunchEnvironment& launch, const DevicePlace& place) {
  Job job;
  JobMaker preparation(communicator, line, launch, place);
  job.config = preparation.configure();
  if (line.print_config) {
    if (communicator.rank() == 0) fmt::print("{}", print_config(job.config));
    return std::nullopt;
  }
  preparation.compile(job);
  if (!line.save_plan.empty()) {
    on_root(communicator, kFileError,
            [&] { write_whole_file(line.save_plan, plan::serialize_plan(job.plan)); });
  }
  broadcast(communicator, job);
  return job;
}

}  // namespace spmd
