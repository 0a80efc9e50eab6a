#include "passes/equivalence/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/evaluator.h"
#include "passes/partition/shards.h"
#include "support/error.h"

namespace spmd {
namespace {

double element_difference(double a, double b, double scale, int64_t& nans) {
  if (std::isnan(a) && std::isnan(b)) {
    ++nans;
    return 0;
  }
  if (a == b) return 0;
  const double difference = std::abs(a - b);
  if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
  return scale > 0 ? difference / scale : difference;
}

double largest_finite(const Literal& literal) {
  double largest = 0;
  for (int64_t i = 0; i < literal.type().num_elements(); ++i) {
    const double value = std::abs(literal.as_double(i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

void compare_result(const Literal& a, const Literal& b, double scale, size_t result,
                    Difference& largest) {
  if (a.type() != b.type()) {
    throw UserError(fmt::format("result {}", result),
                    fmt::format("has type {} in one program and {} in the other",
                                to_string(a.type()), to_string(b.type())));
  }
  for (int64_t i = 0; i < a.type().num_elements(); ++i) {
    const double difference =
        element_difference(a.as_double(i), b.as_double(i), scale, largest.nans);
    if (difference > largest.relative) {
      largest.relative = difference;
      largest.result = result;
      largest.element = i;
    }
  }
}

}  // namespace

bool is_localized(const Module& module) {
  const Function& main = module.main();
  const auto local = [](const auto& info) { return info.global_shape.has_value(); };
  return std::any_of(main.argument_info.begin(), main.argument_info.end(), local) ||
         std::any_of(main.result_info.begin(), main.result_info.end(), local);
}

Difference compare_results(const std::vector<Literal>& before, const std::vector<Literal>& after) {
  SPMD_CHECK(before.size() == after.size());
  Difference largest;
  for (size_t i = 0; i < before.size(); ++i) {
    compare_result(before[i], after[i], largest_finite(before[i]), i, largest);
  }
  return largest;
}

Difference compare_modules(const Module& before, const Module& after,
                           std::span<const Literal> inputs) {
  const std::vector<Literal> expected = evaluate(before, inputs);
  return compare_results(expected, is_localized(after) ? evaluate_partitioned(after, inputs)
                                                       : evaluate(after, inputs));
}

}  // namespace spmd
