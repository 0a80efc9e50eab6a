// Carries the narrow copies of parameters from one step to the next.
//
// A program that computes in 16 bits begins each step by converting parameters that it keeps in 32.
// The step that makes a parameter's next value has it in registers, and can leave the converted
// value, too. So an argument `p` with an aliased result `q`, whose `convert(p)` the program uses,
// gets a companion: a further argument in the place of `convert(p)`, and a further result
// `convert(q)`, which becomes that argument in the next step. Nobody outside sees either; before
// the first step the runtime makes the argument of `p` (plan.Carried).
//
// Of a localised module, as the last rewrite: companions have no names, no shardings and no whole
// shapes. They take memory for the whole of a step; whether that is more than without them is known
// when the Plan is there, so that compile() decides.
#pragma once

#include <vector>

#include "codegen/emit_plan.h"
#include "ir/module.h"

namespace spmd {

// Adds companions behind main()'s arguments and results, and returns them.
std::vector<CarriedValue> carry_casts(Module& module);

}  // namespace spmd
