// TileProgram: a scalar program compiled into a list of vector loops over tiles that stay in the
// first-level cache, so that a chain of operations reads and writes memory once.
#pragma once

#include <string>
#include <vector>

#include "runtime/device/cpu/kernel.h"
#include "runtime/device/cpu/vector_loops.h"

namespace spmd::cpu {

// Elements of a tile.
inline constexpr int64_t kTile = 1024;

Lane lane_of(plan::DType dtype);
int64_t lane_bytes(Lane lane);
// Types that are not stored as they are computed.
bool is_packed(plan::DType dtype);
Packed packed_of(plan::DType dtype);

// Registers are numbered as in the scalar program. Uses the workspace between `workspace_begin`
// and workspace_end().
class TileProgram {
 public:
  // An input is uniform when all elements of a run have the same value for it; it is then given as
  // one element. `tile`: the largest n of run().
  TileProgram(const plan::ScalarProgram& program, const std::vector<bool>& uniform_inputs,
              int64_t tile, int64_t workspace_begin, LoadContext& context);

  // IOTA instructions are given from outside, like inputs.
  struct Iota {
    int32_t reg;
    int64_t dim;
    Lane lane;
  };
  const std::vector<Iota>& iotas() const { return iotas_; }
  int64_t workspace_end() const { return workspace_end_; }
  Lane lane(int32_t reg) const { return lanes_[static_cast<size_t>(reg)]; }
  int32_t output(int i) const { return outputs_[static_cast<size_t>(i)]; }
  bool is_uniform(int32_t reg) const { return uniform_[static_cast<size_t>(reg)]; }

  // Whether output i may be computed in place, in memory that may also be one of the inputs'.
  bool can_redirect(int i) const { return redirectable_[static_cast<size_t>(i)]; }

  // Before the first run() of a kernel's run: points registers into the workspace.
  void bind(std::byte* workspace);
  // Where a register lies: a place of its own from bind() on. set() moves inputs, iotas and
  // redirectable outputs to other memory, reset() back.
  void* at(int32_t reg) const { return at_[static_cast<size_t>(reg)]; }
  void set(int32_t reg, const void* memory) {
    at_[static_cast<size_t>(reg)] = const_cast<void*>(memory);
  }
  void reset(int32_t reg) {
    at_[static_cast<size_t>(reg)] = workspace_ + slots_[static_cast<size_t>(reg)];
  }

  // Computes what does not vary, once uniform inputs are in place; n as the largest run() to come.
  void run_uniform(int64_t n);
  // Computes the outputs of n <= tile elements.
  void run(int64_t n);

 private:
  struct Instruction {
    TileLoop loop;
    TileLoop round;  // of the result to its stored type, or null
    int32_t args[3];
    int32_t out;
    int64_t immediate;
    bool uniform;
  };

  void add(const plan::Instruction& instruction, int32_t reg, LoadContext& context);
  TileLoop find_loop(const plan::Instruction& instruction, LoadContext& context) const;
  void assign_slots(int64_t begin);
  void find_redirectable();
  void execute(const Instruction& instruction, int64_t n);
  void fill(int32_t reg, int64_t n);

  int64_t tile_;
  int32_t num_inputs_;
  std::vector<plan::DType> dtypes_;  // of registers
  std::vector<Lane> lanes_;
  std::vector<bool> uniform_;
  std::vector<Instruction> instructions_;  // those that vary
  std::vector<Instruction> prologue_;      // those that do not
  std::vector<std::pair<int32_t, std::string>> constants_;
  std::vector<Iota> iotas_;
  std::vector<int32_t> outputs_;
  std::vector<int32_t> broadcast_;  // uniform registers that varying ones, or outputs, read
  std::vector<bool> redirectable_;
  std::vector<int64_t> slots_;  // workspace offset per register
  std::vector<void*> at_;
  std::byte* workspace_ = nullptr;
  int64_t workspace_end_ = 0;
};

}  // namespace spmd::cpu
