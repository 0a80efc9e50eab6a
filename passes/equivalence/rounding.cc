#include "passes/equivalence/rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "ir/evaluator.h"
#include "passes/equivalence/compare.h"

namespace spmd {
namespace {

constexpr int kRuns = 3;
constexpr double kUnits = 8;   // how far inputs are moved, in units of the last place
constexpr double kMargin = 4;  // over the largest movement of a result
constexpr double kLeast = 16;  // units of a tensor's largest element that are always allowed

// Half the distance of 1 to the next number.
double unit_of(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3FN:
      return 0x1p-4;
    case DType::kF8E5M2:
      return 0x1p-3;
    case DType::kBF16:
      return 0x1p-8;
    case DType::kF16:
      return 0x1p-11;
    case DType::kF64:
    case DType::kC128:
      return 0x1p-53;
    default:
      return 0x1p-24;
  }
}

double coarsest_unit(const Module& module) {
  double unit = unit_of(DType::kF64);
  for (const auto& fn : module.functions()) {
    for (size_t i = 0; i < fn->num_value_ids(); ++i) {
      const DType dtype = fn->type(static_cast<ValueId>(i)).dtype;
      if (is_float(dtype) || is_complex(dtype)) unit = std::max(unit, unit_of(dtype));
    }
  }
  return unit;
}

Literal moved(const Literal& literal, double unit, std::mt19937_64& random) {
  const DType dtype = literal.type().dtype;
  if (!is_float(dtype)) return literal;
  const double step = kUnits * std::max(unit, unit_of(dtype));
  Literal result = literal.expanded();
  std::byte* out = result.mutable_data();
  const auto size = static_cast<size_t>(byte_size(dtype));
  for (int64_t e = 0; e < literal.type().num_elements(); ++e, out += size) {
    const double value = literal.as_double(e) * ((random() & 1) != 0 ? 1 + step : 1 - step);
    std::memcpy(out, Literal::splat({dtype, {}}, value).data(), size);
  }
  return result;
}

Module with_moved_constants(const Module& module, double unit, std::mt19937_64& random) {
  Module copy = module.clone();
  for (const auto& fn : copy.functions()) {
    walk(*fn, [&](OpId id) {
      if (fn->op(id).code != OpCode::kConstant) return;
      Literal& value = fn->op(id).as<ConstantAttrs>().value;
      value = moved(value, unit, random);
    });
  }
  return copy;
}

double largest_distance(const Literal& a, const Literal& b) {
  double largest = 0;
  for_each_pair(a, b, [&](int64_t, double x, double y) {
    if (x == y || (std::isnan(x) && std::isnan(y))) return;
    const double distance = std::abs(x - y);
    largest = std::isfinite(distance) ? std::max(largest, distance)
                                      : std::numeric_limits<double>::infinity();
  });
  return largest;
}

}  // namespace

std::vector<double> rounding_allowances(const Module& module, std::span<const Literal> arguments,
                                        std::span<const Literal> expected, uint64_t seed) {
  const double unit = coarsest_unit(module);
  std::vector<double> allowances(expected.size(), 0);
  std::mt19937_64 random(seed);
  for (int run = 0; run < kRuns; ++run) {
    const Module other = with_moved_constants(module, unit, random);
    std::vector<Literal> inputs;
    for (const Literal& argument : arguments) inputs.push_back(moved(argument, unit, random));
    const std::vector<Literal> found = evaluate(other, inputs);
    for (size_t i = 0; i < expected.size(); ++i) {
      allowances[i] = std::max(allowances[i], kMargin * largest_distance(expected[i], found[i]));
    }
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const DType dtype = expected[i].type().dtype;
    if (!is_float(dtype) && !is_complex(dtype)) continue;
    allowances[i] += kLeast * unit * largest_finite(expected[i]);
  }
  return allowances;
}

}  // namespace spmd
