// The computations of HLO text.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontends/hlo_proto/import.h"
#include "frontends/hlo_text/attributes.h"

namespace spmd::hlo_text {

// Reads computations into a module's message, which must be on an arena, with ids in the order of
// the text; afterwards it knows where each instruction stands.
class ComputationsReader : public Names, public InstructionPlaces {
 public:
  ComputationsReader(Scanner& scan, hlo::HloModuleProto& module) : scan_(scan), module_(module) {}

  // To the end of the text. Throws UserError, with the place, for what is not HLO.
  void read();

  int64_t scan_instruction(Scanner& scan) override;
  int64_t scan_computation(Scanner& scan) override;
  std::string place_of(const hlo::HloInstructionProto& instruction) const override;
  int line_of(const hlo::HloInstructionProto& instruction) const override;

 private:
  using NamedInstructions = std::unordered_map<std::string_view, const hlo::HloInstructionProto*>;

  void read_computation();
  void read_signature();
  // `{ instructions }` as a new computation; `place` is where errors in the whole of it are.
  hlo::HloComputationProto& read_body(std::string_view name, size_t place);
  void read_instruction(hlo::HloComputationProto& computation);
  void read_operands(hlo::HloInstructionProto& instruction);
  void read_parameter_number(hlo::HloInstructionProto& instruction);
  void read_constant(hlo::HloInstructionProto& instruction);
  void set_implied(hlo::HloInstructionProto& instruction) const;
  const hlo::HloInstructionProto& instruction_named(Scanner& scan) const;

  Scanner& scan_;
  hlo::HloModuleProto& module_;
  std::unordered_map<std::string_view, int64_t> computations_;  // ids
  NamedInstructions instructions_;  // of the computation that is being read
  std::vector<const hlo::HloInstructionProto*> instructions_by_id_ = {nullptr};
  std::unordered_map<const hlo::HloInstructionProto*, size_t> positions_;
  int depth_ = 0;     // of computations in computations
  int nameless_ = 0;  // computations so far
  bool has_entry_ = false;
};

}  // namespace spmd::hlo_text
