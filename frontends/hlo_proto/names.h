// Names of a program's arguments and results, as far as a proto has any.
#pragma once

#include <string>

#include "frontends/hlo_proto/computations.h"

namespace spmd::hlo_proto {

// Empty when the exporter has made up the parameter's name.
std::string argument_name(const Instruction& parameter);

// A proto does not name results. What computes one may stand in named scopes (jax.named_scope),
// "jit(step)/jvp(loss)/div": then it is called as they are, "loss"; or it has a name that somebody
// gave it, in a text without metadata: neither its opcode nor numbered. Else empty.
std::string result_name(const Instruction& producer);

}  // namespace spmd::hlo_proto
