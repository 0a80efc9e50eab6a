// Donated arguments and the results that take their place.
#pragma once

#include "ir/module.h"

namespace spmd {

// Exporters mark an argument as donated without saying what replaces it when the results'
// shardings were left to the compiler. Pairs each such argument of main(), in order, with the first
// result of equal type that replaces nothing yet (XLA pairs donated buffers likewise); a step that
// returns its state in the order in which it took it is so paired with itself. Does nothing when
// any argument has a partner already, or a donated one finds none.
void pair_donations(Module& module);

}  // namespace spmd
