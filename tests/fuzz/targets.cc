#include "tests/fuzz/targets.h"

namespace spmd::testing {

std::span<const FuzzTarget> fuzz_targets() {
  static const std::vector<FuzzTarget> targets = {
      config_target(),    hlo_proto_target(), hlo_text_target(), module_target(),
      onnx_target(),      plan_target(),      program_target(),  sharding_target(),
      stablehlo_target(), tensors_target(),   vhlo_target(),
  };
  return targets;
}

const FuzzTarget* find_fuzz_target(std::string_view name) {
  for (const FuzzTarget& target : fuzz_targets()) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

}  // namespace spmd::testing
