#include "frontends/frontend.h"
#include "tests/fuzz/read_data.h"
#include "tests/fuzz/targets.h"

namespace spmd::testing {
namespace {

std::vector<std::string> vhlo_seeds() {
  std::vector<std::string> result;
  for (const char* name :
       {"batched_indexing.1.22.0.mlirbc", "collectives.0.9.0.mlirbc", "constants.1.22.0.mlirbc",
        "control_flow.0.10.0.mlirbc", "elementwise.1.22.0.mlirbc", "mesh_groups.1.22.0.mlirbc",
        "shardings.0.12.0.mlirbc", "shardings.1.22.0.mlirbc", "tensors.0.14.0.mlirbc",
        "tensors.1.22.0.mlirbc", "train_step.jaxexport", "with_derivative.jaxexport"}) {
    result.push_back(read_data(std::string("vhlo/") + name));
  }
  return result;
}

}  // namespace

FuzzTarget vhlo_target() {
  return {"vhlo",
          [](std::string_view bytes) { import_bytes(bytes, "fuzz"); },
          vhlo_seeds,
          {"ML\xefR", "vhlo", "sdy", "builtin", "add_v1", "dot_general_v2", "constant_v1",
           "#sdy.sharding<@mesh, [{\"x\"}]>"}};
}

}  // namespace spmd::testing
