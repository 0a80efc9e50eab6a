// The values that a program's file holds beside it (an HloSnapshot does): the arguments of one run
// and what it gave.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/config.h"
#include "launcher/expectation.h"
#include "runtime/plan/plan.h"
#include "runtime/training_loop.h"

namespace spmd {

class RecordedValues {
 public:
  // From the program's file; nullopt when it holds none. Throws UserError when they are not as many
  // as `plan`'s arguments and results, or results are of other types or shapes.
  static std::optional<RecordedValues> read(const std::string& path, const plan::Plan& plan);

  // A value for every argument; they refer to this object.
  std::vector<InitialValue> arguments() const;
  bool has_results() const { return !results_.empty(); }
  const std::vector<std::string>& result_names() const { return result_names_; }
  // Compares one of the plan's results: integers and booleans exactly, floats as `tolerances` allow
  // (scalars as metrics, tensors as state).
  void compare(int result, const TensorView& value, const Tolerances& tolerances,
               Comparison& comparison) const;

 private:
  std::string path_;
  std::vector<Tensor> arguments_, results_;
  std::vector<std::string> result_names_;
};

}  // namespace spmd
