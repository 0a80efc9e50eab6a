#include "tests/differential/random_program.h"

#include <algorithm>

#include "ir/verifier.h"
#include "tests/differential/op_drawer.h"

namespace spmd::testing {
namespace {

Mesh random_mesh(Random& random) {
  std::vector<MeshAxis> axes;
  int64_t devices = 1;
  for (int64_t i = random.pick(1, 3); i > 0; --i) {
    const int64_t size = random.of(std::vector<int64_t>{1, 2, 2, 2, 3, 4, 4});
    if (devices * size > 12) continue;
    devices *= size;
    axes.push_back({std::string(1, "xyz"[axes.size()]), size});
  }
  std::vector<int64_t> order;
  if (random.chance(50)) {
    for (int64_t device = 0; device < devices; ++device) order.push_back(device);
    random.shuffle(order);
  }
  return Mesh(std::move(axes), std::move(order));
}

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

}  // namespace

Module random_program(uint64_t seed) {
  Random random(seed);
  Module module;
  module.name = "seed_" + std::to_string(seed);
  module.mesh = random_mesh(random);
  Function& fn = module.function(module.add_function("main"));
  OpDrawer drawer(fn, module.mesh, random);
  drawer.argument({drawer.number(), drawer.shape(random.pick(1, 3))});
  if (random.chance(60)) drawer.argument({drawer.number(), drawer.shape(random.pick(0, 4))});
  for (int64_t steps = random.pick(1, 6); steps > 0; --steps) drawer.step();
  const std::vector<ValueId> results = choose_results(fn, drawer, random);
  for (ValueId result : results) {
    ResultInfo& info = fn.result_info.emplace_back();
    if (!random.chance(40)) continue;
    info.sharding = std::make_shared<const Sharding>(drawer.sharding(fn.type(result).rank()));
  }
  drawer.builder().return_op(results);
  alias(fn, random);
  verify(module);
  return module;
}

std::vector<Literal> exact_inputs(const Module& module, uint64_t seed) {
  Random random(seed);
  const Function& main = module.main();
  std::vector<Literal> inputs;
  for (ValueId argument : main.arguments()) {
    const TensorType& type = main.type(argument);
    Literal literal(type);
    std::byte* out = literal.mutable_data();
    const auto size = static_cast<size_t>(byte_size(type.dtype));
    for (int64_t e = 0; e < type.num_elements(); ++e, out += size) {
      const int64_t value = type.dtype == DType::kBool    ? random.below(2)
                            : is_unsigned_int(type.dtype) ? random.pick(0, 3)
                            : is_float(type.dtype)        ? random.pick(-3, 3)
                            : random.chance(80)           ? random.pick(0, 5)
                                                          : random.pick(-3, 14);
      std::memcpy(out, Literal::splat({type.dtype, {}}, static_cast<double>(value)).data(), size);
    }
    inputs.push_back(std::move(literal));
  }
  return inputs;
}

}  // namespace spmd::testing
