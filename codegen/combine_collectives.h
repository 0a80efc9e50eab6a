// Combining collectives: several tensors in one call.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

// Joins collectives of the same kind among the same ranks (and with the same reduction of the same
// element type) where none depends on another, up to `byte_limit` bytes of input per call. A call
// stands where its last member stood, so the others are delayed, though never beyond the first step
// that needs one of them. `buffer` numbers in views must name memory that is written once.
void combine_collectives(plan::Sequence& sequence, int64_t byte_limit);

// What collectives must share to become one call.
std::string signature(const plan::Collective& collective);
int64_t input_bytes(const plan::Collective& collective);

}  // namespace spmd::codegen
