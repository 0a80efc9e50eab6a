// --check: whether a run's metrics and final state are what somebody else computed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/tensor.h"

namespace spmd {

// How far numbers may differ: metrics relative to the expected value; a state tensor by
// tolerance * |expected| + 1e-7 * sqrt(number of elements), in the Frobenius norm.
struct Tolerances {
  double metrics = 2e-5;
  double state = 1e-3;
  std::map<std::string, double> tensors;  // instead of `state`, by the expected file's names

  double of(const std::string& tensor) const;
};

// From JSON: {"metrics": 2e-5, "state": 1e-3, "tensors": {"params.w": 0.01}}, all optional. Throws
// UserError.
Tolerances read_tolerances(const std::string& path);

// Throws UserError when `tolerances`, read from `path`, has a tensor of its own that is none of
// `tensors`, those that `reference` has to compare with.
void check_tolerance_names(const Tolerances& tolerances, const std::string& path,
                           const std::vector<std::string>& tensors, const std::string& reference);

// What was compared. Everything is within tolerance when no deviation is above 1.
struct Comparison {
  struct Row {
    std::string name;
    double difference = 0;  // of a metric: the worst relative one; of a tensor: |a - e| / |e|
    double deviation = 0;   // difference over what is allowed; infinite when nan differs
    std::string note;       // "step 3", or what could not be compared
  };
  std::vector<Row> metrics, state;
  std::string state_skipped;  // why the state is not compared, or empty
  // Metrics, and state where that is compared, that nothing is expected of.
  std::vector<std::string> without_expectation;

  double worst_metric() const;  // difference
  double worst_state() const;   // deviation
  bool passed() const;
};

// A metric over the steps of a run; `expected` has one number a step and may be longer.
Comparison::Row compare_metric(const std::string& name, const std::vector<double>& values,
                               const TensorView& expected, const Tolerances& tolerances);

Comparison::Row compare_state(const std::string& name, const TensorView& actual,
                              const TensorView& expected, const Tolerances& tolerances);

// A table of what deviates most, and a verdict.
std::string to_string(const Comparison& comparison, const std::string& expected_path);

}  // namespace spmd
