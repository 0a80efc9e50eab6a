// The computations of a module, with the lookups that importing needs.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "frontends/hlo_proto/hlo.pb.h"
#include "frontends/hlo_proto/locations.h"

namespace spmd::hlo_proto {

using Instruction = hlo::HloInstructionProto;

// Instruction numbers by the low 32 bits of ids.
class InstructionIds {
 public:
  // Returns false when an id occurs twice.
  bool build(const hlo::HloComputationProto& proto);
  // -1 when there is none.
  int find(int64_t id) const;

 private:
  std::vector<int> dense_;                    // by id, where ids are small
  std::unordered_map<uint32_t, int> sparse_;  // else
};

struct Computation {
  const hlo::HloComputationProto* proto = nullptr;
  int position = 0;             // in the module: callees come before callers
  int root = 0;                 // instruction number
  std::vector<int> parameters;  // instruction number by parameter number
  InstructionIds ids;

  int size() const { return proto->instructions_size(); }
  const Instruction& instruction(int number) const { return proto->instructions(number); }
  const Instruction& root_instruction() const { return instruction(root); }
};

// Throws UserError when ids are ambiguous, roots or parameters are missing, or computations or
// instructions are not in dependency order; so there are no cycles in what it returns.
class Computations {
 public:
  Computations(const hlo::HloModuleProto& proto, const Places& places);

  const Computation& entry() const { return all_[static_cast<size_t>(entry_)]; }
  const Computation& at(int position) const { return all_[static_cast<size_t>(position)]; }
  int size() const { return static_cast<int>(all_.size()); }
  // The computation that `caller`'s instruction calls as its `index`-th.
  const Computation& called(const Computation& caller, const Instruction& instruction,
                            int index) const;
  // Instruction number of an operand.
  int operand(const Computation& computation, int user, int index) const;
  // Whether the entry can reach a computation, by position.
  std::vector<bool> reachable() const;

 private:
  void index(const hlo::HloComputationProto& proto, Computation& computation);
  int find_entry(const hlo::HloModuleProto& proto) const;

  const Places& places_;
  std::vector<Computation> all_;
  std::unordered_map<int64_t, int> position_of_id_;
  int entry_ = 0;
};

}  // namespace spmd::hlo_proto
