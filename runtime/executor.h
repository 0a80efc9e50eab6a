// Executor: one rank's side of a Plan. Holds its buffers and runs its program.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/comm/communicator.h"
#include "runtime/collective_step.h"
#include "runtime/device/device.h"
#include "runtime/memory_use.h"
#include "runtime/placement.h"
#include "runtime/plan/plan.h"
#include "runtime/random_draw.h"
#include "runtime/tensor.h"
#include "sharding/spec/mesh.h"
#include "support/error.h"

namespace spmd {

// Milliseconds of one step on this rank: by the clock, of its collectives, of these while
// computation waited for them, and of the step without that wait.
struct StepTiming {
  double step_ms = 0, compute_ms = 0, comm_ms = 0, exposed_ms = 0;
};

// What it takes to make a Plan's kernels ready to run, in milliseconds.
struct Preparation {
  double load_ms = 0;     // code loaded, kernels made
  double connect_ms = 0;  // devices of ranks connected
  double tune_ms = 0;     // candidates timed, or found in a cache, and agreed on
};

class Executor {
 public:
  // `plan` (verified) and `communicator` outlive the executor, which is used on one thread. Without
  // a device it runs on the CPU. Throws UserError when the plan is for another number of ranks, or
  // asks for what the device cannot do, and OutOfMemory.
  Executor(const plan::Plan& plan, comm::Communicator& communicator,
           std::unique_ptr<Device> device = nullptr);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  const plan::Plan& plan() const { return plan_; }
  const Mesh& mesh() const { return mesh_; }
  comm::Communicator& communicator() { return communicator_; }
  const Device& device() const { return *device_; }
  // Bytes held for the Plan's buffers, and beside them for what kernels and the exchange of state
  // need.
  int64_t memory_bytes() const { return memory_bytes_ + device_->own_memory_bytes(); }
  // The Plan's, with the workspace once it is known.
  MemoryUse memory_use() const;

  // Gives an argument its value: this rank's block of a global tensor. Throws UserError when its
  // type or shape differs from the argument's.
  void set_argument(int argument, const TensorView& global, const std::string& source);
  // The same from local bytes, of the placement's local shape.
  void set_argument_local(int argument, std::span<const std::byte> local);
  // The same from a draw, on the device if it can.
  void draw_argument(int argument, const RandomDraw& draw);

  // What ranks have to agree on before the first step; step() does it when nobody has. All ranks
  // call this together. Throws OutOfMemory.
  void settle();

  const Preparation& preparation() const { return preparation_; }
  // Waits for what the device was told to do.
  void synchronize() { device_->synchronize(); }

  // Runs the program once, then puts aliased results in their arguments' places.
  StepTiming step();

  // A result of the last step, or an argument's present value: this rank's part, dense. Valid until
  // the next call of one of these, or the next step.
  std::span<const std::byte> result_local(int result);
  std::span<const std::byte> argument_local(int argument);
  // A scalar result as a number.
  double result_scalar(int result);

  // The global tensor, on rank 0; empty elsewhere. All ranks call this together.
  std::optional<Tensor> gather_result(int result);
  std::optional<Tensor> gather_argument(int argument);

  // Per collective of the program, since the last reset.
  const std::deque<CollectiveRecord>& collectives() const;
  void reset_collectives();

 private:
  // A result that becomes an argument: by exchanging buffers, or by copying when the result's
  // buffer is also something else; through `staging` when that is an argument's, which may be
  // overwritten first.
  struct Alias {
    int32_t argument_buffer, result_buffer;
    bool exchange;
    std::byte* staging = nullptr;
  };

  // A writer is given this rank's block and zeros, of the placement's local shape, to write it to.
  using BlockWriter = std::function<void(const LocalBlock& block, std::byte* local)>;
  void write_argument(int argument, const BlockWriter& write);
  std::byte* allocate(int64_t bytes);
  void check_memory() const;
  void allocate_buffers();
  void fill_constant(const plan::Buffer& buffer, std::byte* data);
  void allocate_locals();
  void allocate_workspace();
  void find_aliases();
  // Carried values that are made of the argument have to be made again.
  void note_new_value(int argument);
  void derive_carried();
  void exchange_aliases();
  std::span<const std::byte> local(int32_t buffer, const plan::Placement& placement);
  std::optional<Tensor> gather(const plan::Placement& placement, const std::byte* local,
                               const std::string& name);

  const plan::Plan& plan_;
  comm::Communicator& communicator_;
  Mesh mesh_;
  std::unique_ptr<Device> device_;
  int64_t memory_bytes_ = 0;
  Preparation preparation_;
  std::vector<std::byte*> buffers_;
  std::vector<Alias> aliases_;
  std::vector<int> argument_of_result_;  // -1: none
  std::byte* workspace_ = nullptr;       // null: not settled
  std::byte* messages_ = nullptr;
  int64_t workspace_bytes_ = 0;  // of both
  std::vector<std::byte>
      host_copy_;  // of what was asked for last, when the device has its own memory
  struct Program;
  std::unique_ptr<Program> program_;
};

}  // namespace spmd
