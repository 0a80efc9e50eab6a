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

// An element's real or imaginary part.
double part_of(const Literal& literal, int64_t element, int part) {
  if (part == 0) return literal.as_double(element);
  const int64_t at = 2 * (literal.is_splat() ? 0 : element) + 1;
  return literal.type().dtype == DType::kC64 ? literal.as<float>()[at] : literal.as<double>()[at];
}

int parts_of(const Literal& literal) { return is_complex(literal.type().dtype) ? 2 : 1; }

void compare_result(const Literal& a, const Literal& b, double scale, size_t result,
                    Difference& largest) {
  if (a.type() != b.type()) {
    throw UserError(fmt::format("result {}", result),
                    fmt::format("has type {} in one program and {} in the other",
                                to_string(a.type()), to_string(b.type())));
  }
  for_each_pair(a, b, [&](int64_t element, double x, double y) {
    const double difference = element_difference(x, y, scale, largest.nans);
    if (difference > largest.relative) {
      largest.relative = difference;
      largest.result = result;
      largest.element = element;
    }
  });
}

}  // namespace

void for_each_pair(const Literal& a, const Literal& b,
                   const std::function<void(int64_t, double, double)>& visit) {
  const auto size = static_cast<size_t>(byte_size(a.type().dtype));
  const auto bytes = [&](const Literal& literal, int64_t element) {
    return literal.data() + (literal.is_splat() ? 0 : static_cast<size_t>(element) * size);
  };
  const bool integers = is_integer(a.type().dtype);
  for (int64_t i = 0; i < a.type().num_elements(); ++i) {
    for (int part = 0; part < parts_of(a); ++part) {
      const double x = part_of(a, i, part);
      double y = part_of(b, i, part);
      // Integers beyond 2^53 may differ and be the same double.
      if (integers && x == y && std::memcmp(bytes(a, i), bytes(b, i), size) != 0) {
        y = std::nextafter(x, std::numeric_limits<double>::infinity());
      }
      visit(i, x, y);
    }
  }
}

double largest_finite(const Literal& literal) {
  double largest = 0;
  for (int64_t i = 0; i < literal.type().num_elements(); ++i) {
    for (int part = 0; part < parts_of(literal); ++part) {
      const double value = std::abs(part_of(literal, i, part));
      if (std::isfinite(value)) largest = std::max(largest, value);
    }
  }
  return largest;
}

std::string first_difference(std::span<const Literal> expected, std::span<const Literal> found,
                             std::span<const Allowance> allowances) {
  SPMD_CHECK(expected.size() == found.size());
  std::string difference;
  for (size_t i = 0; i < expected.size() && difference.empty(); ++i) {
    if (expected[i].type() != found[i].type()) {
      return fmt::format("result {} has type {}, expected {}", i, to_string(found[i].type()),
                         to_string(expected[i].type()));
    }
    if (expected[i] == found[i]) continue;
    const Allowance allowance = allowances.empty() ? Allowance{} : allowances[i];
    for_each_pair(expected[i], found[i], [&](int64_t element, double a, double b) {
      if (!difference.empty() || a == b || (std::isnan(a) && std::isnan(b))) return;
      if (std::abs(a - b) <= allowance.distance || allowance.is_undecided(element)) return;
      difference = fmt::format("result {} element {} is {}, expected {}", i, element, b, a);
      if (allowance.distance > 0) {
        difference += fmt::format(" within {:.3g}", allowance.distance);
      }
    });
  }
  return difference;
}

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
