#include "launcher/agreement.h"

#include <algorithm>
#include <new>
#include <vector>

#include "runtime/executor.h"
#include "support/error.h"

namespace spmd {
namespace {

struct Outcome {
  int64_t exit_code = kOk;
  std::string message;
};

Outcome outcome_of(ExitCode user_error, const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const OutOfMemory& error) {
    return {kRunFailed, error.what()};
  } catch (const UserError& error) {
    return {user_error, error.what()};
  } catch (const Failed& failed) {
    return {failed.exit_code(), failed.what()};
  } catch (const std::bad_alloc&) {
    return {kRunFailed, kNoMemory};
  } catch (const std::exception& error) {
    return {kInternalError, fmt::format("internal error: {}", error.what())};
  }
}

void raise(const Outcome& outcome) {
  if (outcome.exit_code == kOk) return;
  throw Failed(static_cast<ExitCode>(outcome.exit_code), outcome.message);
}

void agree(comm::Communicator& communicator, Outcome own) {
  if (communicator.size() == 1) return raise(own);
  std::vector<int64_t> codes(static_cast<size_t>(communicator.size()));
  communicator.all_gather(communicator.world(), &own.exit_code, codes.data(), sizeof(int64_t),
                          "the outcome of a phase");
  const auto failed = std::find_if(codes.begin(), codes.end(), [](int64_t c) { return c != kOk; });
  if (failed == codes.end()) return;
  const int rank = static_cast<int>(failed - codes.begin());
  communicator.broadcast(own.message, rank, "the message of a failure");
  if (rank > 0) own.message = fmt::format("rank {}: {}", rank, own.message);
  raise({*failed, own.message});
}

}  // namespace

void alone(ExitCode user_error, const std::function<void()>& work) {
  raise(outcome_of(user_error, work));
}

void together(comm::Communicator& communicator, ExitCode user_error,
              const std::function<void()>& work) {
  agree(communicator, outcome_of(user_error, work));
}

void on_root(comm::Communicator& communicator, ExitCode user_error,
             const std::function<void()>& work) {
  agree(communicator, communicator.rank() == 0 ? outcome_of(user_error, work) : Outcome{});
}

}  // namespace spmd
