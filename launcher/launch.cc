#include "launcher/launch.h"

#include <cstdio>
#include <new>

#include "collectives/comm/local.h"
#include "collectives/comm/mpi_communicator.h"
#include "collectives/comm/termination.h"
#include "launcher/agreement.h"
#include "launcher/cache_command.h"
#include "launcher/check_command.h"
#include "launcher/interruption.h"
#include "launcher/output_file.h"
#include "launcher/run_command.h"
#include "launcher/same_command_line.h"
#include "runtime/io/mapped_file.h"
#include "support/error.h"
#include "support/printable.h"

namespace spmd {
namespace {

struct End {
  int exit_code = kOk;
  std::string message;  // without "spmd-run: "
};

// What the exception in flight means.
End current_end() {
  try {
    throw;
  } catch (const Failed& failed) {
    return {failed.exit_code(), failed.what()};
  } catch (const OutputError& error) {
    return {kFileError, error.what()};
  } catch (const UserError& error) {
    return {kRunFailed, error.what()};
  } catch (const comm::Aborted& aborted) {
    return {kRunFailed, aborted.what()};
  } catch (const std::bad_alloc&) {
    return {kRunFailed, kNoMemory};
  } catch (const std::exception& error) {
    return {kInternalError, fmt::format("internal error: {}", error.what())};
  }
}

// Output that is lost explains what seems a fault of ours: printing it throws.
End with_lost_output(End end) {
  if (const std::string lost = lost_output();
      !lost.empty() && (end.exit_code == kOk || end.exit_code == kInternalError))
    return {kFileError, lost};
  return end;
}

int report(End end) {
  end = with_lost_output(std::move(end));
  if (!end.message.empty()) fmt::print(stderr, "spmd-run: {}\n", printable(end.message));
  std::fflush(nullptr);
  return end.exit_code;
}

End run_threads(const CommandLine& line, const LaunchEnvironment& launch) {
  try {
    comm::run_local_ranks(std::max(line.ranks, 1), {}, [&](comm::Communicator& communicator) {
      run_rank(communicator, line, launch);
    });
    return {};
  } catch (...) {
    return current_end();
  }
}

void check_rank_count(const comm::Communicator& communicator, const CommandLine& line,
                      const LaunchEnvironment& launch) {
  if (communicator.size() == 1 && launch.size > 1) {
    if (launch.rank > 0) throw Failed(kUsageError, "");  // rank 0 says it
    throw Failed(kUsageError,
                 fmt::format("{} started {} processes, but MPI connects none of them\n  start them "
                             "with mpirun -n {}",
                             launch.launcher, launch.size, launch.size));
  }
  if (line.ranks > 0 && line.ranks != communicator.size()) {
    throw Failed(kUsageError,
                 fmt::format("--ranks: {} ranks, but {} started {}\n  leave out --ranks: under {} "
                             "each process is a rank",
                             line.ranks, launch.launcher, communicator.size(), launch.launcher));
  }
}

// Ranks are processes. When all of them know of a failure they end in order and rank 0 reports;
// otherwise the one that fails stops the others.
int run_processes(const ParsedCommandLine& parsed, const LaunchEnvironment& launch) {
  const auto communicator = comm::make_mpi();
  End end;
  bool in_order = true;
  try {
    require_same_command_line(*communicator, parsed);
    check_rank_count(*communicator, parsed.line, launch);
    if (communicator->size() > 1) {
      const bool counts_steps = communicator->rank() == 0;
      if (counts_steps) note_steps(0, 0);
      comm::answer_termination(communicator->rank(), counts_steps ? say_how_far : nullptr);
    }
    run_rank(*communicator, parsed.line, launch);
  } catch (const Failed&) {
    end = current_end();
  } catch (...) {
    end = current_end();
    in_order = false;
  }
  if (in_order) {
    // mpirun ends those that are slower to end.
    comm::answer_termination_silently();
    if (communicator->rank() != 0) end.message.clear();
    return report(end);
  }
  if (communicator->size() > 1) {
    std::string message = "spmd-run: " + printable(end.message);
    if (comm::termination_is_due() && communicator->rank() == 0)
      message += "\nspmd-run: " + how_far();
    communicator->abort(message, end.exit_code);
  }
  return report(end);
}

// What the command line alone decides: help, or an error in it.
int stop(const ParsedCommandLine& parsed, const LaunchEnvironment& environment) {
  if (parsed.exit_code == kOk) {
    if (environment.speaks()) std::fputs(parsed.text.c_str(), stdout);
    return report({});
  }
  End end{parsed.exit_code, parsed.text};
  bool speaks = environment.speaks();
  // mpirun stops all ranks when one fails: none may end before the message is out. Ranks that go on
  // to a run would meet in no barrier, but MPI's end waits for them.
  std::unique_ptr<comm::Communicator> communicator;
  bool all_stop = true;
  if (!environment.alone()) {
    communicator = comm::make_mpi();
    if (communicator->size() > 1) speaks = communicator->rank() == 0;
    try {
      require_same_command_line(*communicator, parsed);
    } catch (const Failed& failed) {
      end = {failed.exit_code(), failed.what()};
      all_stop = false;
    }
  }
  if (!speaks) end.message.clear();
  const int exit_code = report(end);
  if (communicator && all_stop) communicator->barrier(communicator->world(), "the end");
  return exit_code;
}

}  // namespace

int launch(int argc, const char* const* argv) {
  ignore_file_size_signal();
  const LaunchEnvironment environment = read_launch_environment();
  const ParsedCommandLine parsed = parse_command_line(argc, argv);
  if (parsed.stop) return stop(parsed, environment);
  if (parsed.line.command != CommandLine::Command::kRun) {
    try {
      if (!environment.speaks()) return kOk;
      parsed.line.command == CommandLine::Command::kCheck ? run_check(parsed.line)
                                                          : run_cache(parsed.line);
      return report({});
    } catch (...) {
      return report(current_end());
    }
  }
  if (!environment.alone()) return run_processes(parsed, environment);
  answer_interruption();
  return report(run_threads(parsed.line, environment));
}

}  // namespace spmd
