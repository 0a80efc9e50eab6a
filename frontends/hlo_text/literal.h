// Constants as HLO text writes them: 1.5, {{1, 2}, {3, 4}}, (1, 2), {...}.
#pragma once

#include "frontends/hlo_proto/hlo.pb.h"
#include "support/scanner.h"

namespace spmd::hlo_text {

// Reads the elements of `shape`, which the text writes in row-major order whatever the layout.
// Elements of types that have no meaning here are passed over. Throws UserError for elements that
// do not fit the shape or were left out when the text was written.
void scan_literal(Scanner& scan, const hlo::ShapeProto& shape, hlo::LiteralProto& literal);

}  // namespace spmd::hlo_text
