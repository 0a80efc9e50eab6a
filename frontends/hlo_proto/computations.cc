#include "frontends/hlo_proto/computations.h"

#include <algorithm>

#include "support/error.h"

namespace spmd::hlo_proto {
namespace {

uint32_t local_id(int64_t id) { return static_cast<uint32_t>(static_cast<uint64_t>(id)); }

}  // namespace

bool InstructionIds::build(const hlo::HloComputationProto& proto) {
  const auto count = static_cast<size_t>(proto.instructions_size());
  uint32_t largest = 0;
  for (const Instruction& i : proto.instructions()) largest = std::max(largest, local_id(i.id()));
  const bool small = largest < count * 4 + 1024;
  if (small) dense_.assign(size_t{largest} + 1, -1);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t id = local_id(proto.instructions(static_cast<int>(i)).id());
    int& number = small ? dense_[id] : sparse_.emplace(id, -1).first->second;
    if (number >= 0) return false;
    number = static_cast<int>(i);
  }
  return true;
}

int InstructionIds::find(int64_t id) const {
  const uint32_t local = local_id(id);
  if (!dense_.empty()) return local < dense_.size() ? dense_[local] : -1;
  const auto found = sparse_.find(local);
  return found == sparse_.end() ? -1 : found->second;
}

Computations::Computations(const hlo::HloModuleProto& proto, const Places& places)
    : places_(places) {
  const std::string& source = places.source;
  if (proto.computations_size() == 0) {
    throw UserError(source, "the HLO module has no computations", kDamaged);
  }
  all_.resize(static_cast<size_t>(proto.computations_size()));
  for (int i = 0; i < proto.computations_size(); ++i) {
    Computation& computation = all_[static_cast<size_t>(i)];
    computation.position = i;
    index(proto.computations(i), computation);
    if (!position_of_id_.emplace(proto.computations(i).id(), i).second) {
      throw UserError(
          source, fmt::format("two computations have id {}", proto.computations(i).id()), kDamaged);
    }
  }
  entry_ = find_entry(proto);
}

void Computations::index(const hlo::HloComputationProto& proto, Computation& computation) {
  const auto fail = [&](const std::string& fact) {
    throw UserError(places_.source, fmt::format("computation \"{}\" {}", proto.name(), fact),
                    kDamaged);
  };
  computation.proto = &proto;
  if (!computation.ids.build(proto)) fail("has two instructions of one id");
  for (int i = 0; i < proto.instructions_size(); ++i) {
    const Instruction& instruction = proto.instructions(i);
    if (instruction.opcode() != "parameter") continue;
    const int64_t number = instruction.parameter_number();
    if (number < 0 || number >= proto.instructions_size()) {
      fail(fmt::format("has a parameter of number {}", number));
    }
    const auto slot = static_cast<size_t>(number);
    if (slot >= computation.parameters.size()) computation.parameters.resize(slot + 1, -1);
    if (computation.parameters[slot] >= 0) fail(fmt::format("has two parameters {}", number));
    computation.parameters[slot] = i;
  }
  for (size_t i = 0; i < computation.parameters.size(); ++i) {
    if (computation.parameters[i] < 0) fail(fmt::format("lacks its parameter {}", i));
  }
  computation.root = computation.ids.find(proto.root_id());
  if (computation.root < 0) fail("has no root instruction");
}

int Computations::find_entry(const hlo::HloModuleProto& proto) const {
  if (proto.entry_computation_id() != 0) {
    const auto found = position_of_id_.find(proto.entry_computation_id());
    if (found != position_of_id_.end()) return found->second;
  }
  for (int i = 0; i < proto.computations_size(); ++i) {
    if (proto.computations(i).name() == proto.entry_computation_name()) return i;
  }
  throw UserError(places_.source,
                  fmt::format("no computation is the entry \"{}\"", proto.entry_computation_name()),
                  kDamaged);
}

const Computation& Computations::called(const Computation& caller, const Instruction& instruction,
                                        int index) const {
  const auto fail = [&](const std::string& fact) {
    throw UserError(places_.of(instruction), fact, kDamaged);
  };
  if (index >= instruction.called_computation_ids_size()) {
    fail(fmt::format("names {} computations, expected at least {}",
                     instruction.called_computation_ids_size(), index + 1));
  }
  const auto found = position_of_id_.find(instruction.called_computation_ids(index));
  if (found == position_of_id_.end()) {
    fail(fmt::format("calls computation {}, which does not exist",
                     instruction.called_computation_ids(index)));
  }
  const Computation& callee = at(found->second);
  if (callee.position >= caller.position) {
    fail(fmt::format("calls computation \"{}\", which is not defined before it",
                     callee.proto->name()));
  }
  return callee;
}

int Computations::operand(const Computation& computation, int user, int index) const {
  const Instruction& instruction = computation.instruction(user);
  const auto fail = [&](const std::string& fact) {
    throw UserError(places_.of(instruction), fact, kDamaged);
  };
  if (index >= instruction.operand_ids_size()) {
    fail(fmt::format("has {} operands, expected at least {}", instruction.operand_ids_size(),
                     index + 1));
  }
  const int number = computation.ids.find(instruction.operand_ids(index));
  if (number < 0) {
    fail(fmt::format("uses instruction {}, which does not exist", instruction.operand_ids(index)));
  }
  if (number >= user) {
    fail(fmt::format("uses \"{}\", which is not defined before it",
                     computation.instruction(number).name()));
  }
  return number;
}

std::vector<bool> Computations::reachable() const {
  std::vector<bool> seen(all_.size(), false);
  seen[static_cast<size_t>(entry_)] = true;
  for (int position = entry_; position >= 0; --position) {  // callers come after callees
    if (!seen[static_cast<size_t>(position)]) continue;
    const Computation& computation = at(position);
    for (const Instruction& instruction : computation.proto->instructions()) {
      for (int i = 0; i < instruction.called_computation_ids_size(); ++i) {
        seen[static_cast<size_t>(called(computation, instruction, i).position)] = true;
      }
    }
  }
  return seen;
}

}  // namespace spmd::hlo_proto
