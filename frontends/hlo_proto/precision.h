// PrecisionConfig of dots and convolutions.
#pragma once

#include <optional>
#include <vector>

#include "frontends/hlo_proto/hlo.pb.h"
#include "ir/attrs.h"

namespace spmd::hlo_proto {

// Empty when every operand has the default.
std::vector<Precision> precision_of(const hlo::PrecisionConfig& config);

// nullopt for no algorithm, and for those that only allow more than the default does.
std::optional<DotAlgorithm> algorithm_of(const hlo::PrecisionConfig& config);

}  // namespace spmd::hlo_proto
