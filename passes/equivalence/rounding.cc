#include "passes/equivalence/rounding.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "ir/evaluator.h"
#include "passes/equivalence/moved_program.h"
#include "passes/expand_attention.h"

namespace spmd {
namespace {

constexpr int kRuns = 3;
constexpr double kUnits = 8;   // how far numbers are moved, in units of the last place
constexpr double kMargin = 4;  // over the largest movement of a result
constexpr double kLeast = 16;  // units of a tensor's largest element that are always allowed

double coarsest_unit(const Module& module) {
  double unit = rounding_unit(DType::kF64);
  for (const auto& fn : module.functions()) {
    for (size_t i = 0; i < fn->num_value_ids(); ++i) {
      const DType dtype = fn->type(static_cast<ValueId>(i)).dtype;
      if (is_float(dtype) || is_complex(dtype)) unit = std::max(unit, rounding_unit(dtype));
    }
  }
  return unit;
}

// Widens an allowance to what a run of the moved program gave.
void allow(const Literal& expected, const Literal& found, Allowance& allowance) {
  for_each_pair(expected, found, [&](int64_t element, double x, double y) {
    if (x == y || (std::isnan(x) && std::isnan(y))) return;
    const double distance = std::abs(x - y);
    if (std::isfinite(distance)) {
      allowance.distance = std::max(allowance.distance, kMargin * distance);
      return;
    }
    allowance.undecided.resize(static_cast<size_t>(expected.type().num_elements()));
    allowance.undecided[static_cast<size_t>(element)] = true;
  });
}

}  // namespace

std::vector<Allowance> rounding_allowances(const Module& module, std::span<const Literal> arguments,
                                           std::span<const Literal> expected, uint64_t seed) {
  const double unit = coarsest_unit(module);
  // What composites round on the way is moved, too.
  Module parts = module.clone();
  expand_attention(parts);
  std::vector<Allowance> allowances(expected.size());
  std::mt19937_64 random(seed);
  for (int run = 0; run < kRuns; ++run) {
    const Module other = moved_program(parts, unit, kUnits, random);
    std::vector<Literal> inputs;
    for (const Literal& argument : arguments)
      inputs.push_back(moved(argument, unit, kUnits, random));
    const std::vector<Literal> found = evaluate(other, inputs);
    for (size_t i = 0; i < expected.size(); ++i) allow(expected[i], found[i], allowances[i]);
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const DType dtype = expected[i].type().dtype;
    if (!is_float(dtype) && !is_complex(dtype)) continue;
    allowances[i].distance += kLeast * unit * largest_finite(expected[i]);
  }
  return allowances;
}

}  // namespace spmd
