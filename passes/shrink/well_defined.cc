#include "passes/shrink/well_defined.h"

#include "passes/analysis/variation.h"

namespace spmd::shrinking {

bool is_well_defined(const Module& module) {
  return Variation(module, VariationSource::kEverything).well_defined();
}

}  // namespace spmd::shrinking
