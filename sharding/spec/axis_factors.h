// Which prime factors an axis is cut into, so that the parts which shardings use are made of whole
// ones: an axis of 6 of which "x":(1)3 is used is 3 times 2.
#pragma once

#include "sharding/spec/axis.h"

namespace spmd {

// Sets Mesh::factors of every axis by the parts of it that are used, those first in the list first:
// a part that no order of factors has beside the ones before it (two digits of which none contains
// the other, as "x":(1)2 and "x":(1)3 of 6) is left out; check_axes_of_atoms() refuses it. Full
// axes and parts that are no factors of their axes say nothing.
void choose_factors(const AxisList& parts, Mesh& mesh);

}  // namespace spmd
