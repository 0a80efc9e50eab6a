// Exit codes of spmd-run, the same with one rank and with many. docs/errors.md lists them.
#pragma once

namespace spmd {

enum ExitCode : int {
  kOk = 0,
  kInternalError = 1,  // a fault of spmd itself
  kUsageError = 2,     // command line, configuration, mesh, sharding rules
  kFileError = 3,      // a file: the program, state, batches or an output
  kCheckFailed = 4,    // --check found other numbers than expected
  kRunFailed = 5,      // while running: a rank failed, died or hung
};

}  // namespace spmd
