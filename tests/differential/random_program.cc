#include "tests/differential/random_program.h"

#include <algorithm>

#include "ir/axis_factors.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "passes/shrink/well_defined.h"
#include "support/error.h"
#include "tests/differential/op_drawer.h"

namespace spmd::testing {
namespace {

// Values without users, and a few others.
std::vector<ValueId> choose_results(const Function& fn, OpDrawer& drawer, Random& random) {
  std::vector<ValueId> results;
  for (ValueId value : drawer.values()) {
    if (fn.def(value) != nullptr && fn.value(value).uses.empty() && random.chance(80)) {
      results.push_back(value);
    }
  }
  if (results.empty() || random.chance(30)) results.push_back(drawer.any());
  return results;
}

void alias(Function& fn, Random& random) {
  std::vector<bool> taken(fn.results().size(), false);
  for (size_t i = 0; i < fn.arguments().size(); ++i) {
    for (size_t r = 0; r < taken.size(); ++r) {
      if (taken[r] || fn.type(fn.arguments()[i]) != fn.type(fn.results()[r])) continue;
      if (!random.chance(40)) continue;
      fn.argument_info[i].aliased_result = static_cast<int>(r);
      taken[r] = true;
      break;
    }
  }
}

Setting setting_of_seed(Random& random) {
  Setting setting = random_setting(random);
  setting.whole = setting.whole && !OpDrawer::prefers_real_numbers(setting);
  return setting;
}

int64_t number_of_steps(const Setting& setting, Random& random) {
  if (setting.deep) return random.pick(12, 24);
  return random.chance(85) ? random.pick(1, 5) : random.pick(6, 12);
}

}  // namespace

Module random_program(uint64_t seed) {
  Random random(seed);
  const Setting setting = setting_of_seed(random);
  Module module;
  module.name = "seed_" + std::to_string(seed);
  module.mesh = setting.mesh;
  Function& fn = module.function(module.add_function("main"));
  OpDrawer drawer(module, fn, setting, random);
  drawer.argument({drawer.number(), drawer.shape(random.pick(1, 3))});
  if (random.chance(60)) drawer.argument({drawer.number(), drawer.shape(random.pick(0, 4))});
  for (int64_t steps = number_of_steps(setting, random); steps > 0; --steps) drawer.step();
  const std::vector<ValueId> results = choose_results(fn, drawer, random);
  for (ValueId result : results) {
    ResultInfo& info = fn.result_info.emplace_back();
    if (!random.chance(40)) continue;
    info.sharding = std::make_shared<const Sharding>(drawer.sharding(fn.type(result).rank()));
  }
  drawer.builder().return_op(results);
  alias(fn, random);
  choose_axis_factors(module);
  verify(module);
  SPMD_CHECK(shrinking::is_well_defined(module), "seed {}:\n{}", seed, print_stablehlo(module));
  return module;
}

StageOptions random_stages(uint64_t seed) {
  Random random(seed);
  StageOptions options;
  options.exact = setting_of_seed(random).whole;
  options.inputs = options.exact ? InputStyle::kWhole : InputStyle::kReal;
  options.seed = seed;
  options.cost = cost_model_of(links_of(seed));
  return options;
}

Links links_of(uint64_t seed) {
  if (seed % 2 == 1) return Links::kWithoutLatency;
  return seed % 4 == 2 ? Links::kSlow : Links::kUsual;
}

CostModel cost_model_of(Links links) {
  CostModel cost;
  if (links == Links::kWithoutLatency) cost.latency = 0;
  if (links == Links::kSlow) {
    cost.latency = 1e-9;
    cost.bandwidth = 1e6;
  }
  return cost;
}

std::string name_of(Links links) {
  constexpr const char* kNames[] = {"kUsual", "kWithoutLatency", "kSlow"};
  return std::string("Links::") + kNames[static_cast<size_t>(links)];
}

}  // namespace spmd::testing
