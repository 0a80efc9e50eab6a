#include "passes/propagate_shardings.h"

#include "sharding/propagation/propagation.h"

namespace spmd {

Pass propagate_shardings_pass() {
  return {"propagate_shardings", "spread annotations to every value",
          [](Module& module, PassContext&) {
            if (module.mesh.num_axes() == 0) return false;
            propagate_shardings(module);
            return true;
          }};
}

}  // namespace spmd
