// Activation functions that recurrent and fused ops name in their attributes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "frontends/onnx/node.h"

namespace spmd::onnx {

using Activation = std::function<Expr(const Expr&)>;

// The function of a name ("Relu", "HardSigmoid", ...; case does not matter). Parameters that are
// not given are those of the operator of that name.
Activation activation_named(Node& node, const std::string& name,
                            std::optional<double> alpha = std::nullopt,
                            std::optional<double> beta = std::nullopt);

}  // namespace spmd::onnx
