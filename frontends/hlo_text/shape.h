// Shapes as HLO text writes them: f32[2,3]{1,0:T(8,128)}, (f32[], s32[4]), token[].
#pragma once

#include "frontends/hlo_proto/hlo.pb.h"
#include "support/scanner.h"

namespace spmd::hlo_text {

// Throws UserError for element types that do not exist, sizes that are negative and layouts that
// are no permutation of the dimensions. Of layouts only the order of dimensions is kept.
void scan_shape(Scanner& scan, hlo::ShapeProto& shape);

// Whether a shape stands at the scanner's position, rather than a name.
bool peek_shape(Scanner& scan);

}  // namespace spmd::hlo_text
