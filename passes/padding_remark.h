// Work that padding adds.
#pragma once

#include <optional>

#include "ir/module.h"
#include "passes/pass.h"

namespace spmd {

// What there is to say of a module that pad_uneven has left, of which `flops_before` were those of
// its contractions and convolutions before it: by how much they grew, and which argument's
// dimension did most. Nothing when that is at most a tenth.
std::optional<Remark> remark_on_padding(const Module& padded, double flops_before);

}  // namespace spmd
