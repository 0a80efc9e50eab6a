// LiteralProto to Literal.
#pragma once

#include <string>

#include "frontends/hlo_proto/hlo.pb.h"
#include "ir/literal.h"

namespace spmd::hlo_proto {

// A splat when all elements are equal. Throws UserError(place, ...) when the number of elements is
// not what the shape says.
Literal literal_from(const hlo::LiteralProto& proto, const std::string& place);

// The leaves of a literal that may be a tuple.
void append_literals(const hlo::LiteralProto& proto, const std::string& place,
                     std::vector<Literal>& leaves);

}  // namespace spmd::hlo_proto
