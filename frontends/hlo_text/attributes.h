// Attributes of instructions: what follows the operands.
#pragma once

#include "frontends/hlo_proto/hlo.pb.h"
#include "support/scanner.h"

namespace spmd::hlo_text {

// What attributes may name; both give the id, and throw UserError, at the name, for one that does
// not stand before.
class Names {
 public:
  virtual ~Names() = default;
  virtual int64_t scan_instruction(Scanner& scan) = 0;
  // A name, or the computation itself: { instructions }.
  virtual int64_t scan_computation(Scanner& scan) = 0;
};

// Reads the `, name=value` that follow an instruction's operands. Throws UserError for an attribute
// that HLO does not have, or that occurs twice; for an instruction that has no meaning here,
// attributes that are not known are passed over, so that all such instructions can be listed.
void scan_attributes(Scanner& scan, Names& names, hlo::HloInstructionProto& instruction);

}  // namespace spmd::hlo_text
