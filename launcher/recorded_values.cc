#include "launcher/recorded_values.h"

#include <cstring>

#include "codegen/views.h"
#include "frontends/read_file.h"
#include "frontends/recorded_run.h"
#include "launcher/compile_program.h"
#include "support/error.h"

namespace spmd {
namespace {

constexpr const char* kWriteAgain =
    "give the values with --state and --batches, or write the snapshot again";

Tensor tensor_of(const Literal& literal) {
  const Literal all = literal.expanded();
  Tensor tensor{codegen::to_plan(all.type().dtype), all.type().shape, {}};
  tensor.bytes.assign(all.data(), all.data() + all.stored_bytes());
  return tensor;
}

std::vector<Tensor> tensors_of(const std::vector<Literal>& literals) {
  std::vector<Tensor> tensors;
  for (const Literal& literal : literals) tensors.push_back(tensor_of(literal));
  return tensors;
}

void check_count(const std::string& path, size_t found, int expected, const char* what) {
  if (found == static_cast<size_t>(expected)) return;
  throw UserError(path, fmt::format("records {} {}s, the program has {}", found, what, expected),
                  kWriteAgain);
}

void check_type(const std::string& path, const std::string& name, const Tensor& recorded,
                const plan::Placement& placement) {
  const std::vector<int64_t> shape = plan::dims_of(placement.global_shape());
  if (recorded.dtype == placement.dtype() && recorded.shape == shape) return;
  throw UserError(
      path,
      fmt::format("records {} as {}, the program gives {}", name,
                  describe(recorded.dtype, recorded.shape), describe(placement.dtype(), shape)),
      kWriteAgain);
}

// Complex numbers as pairs of floats.
TensorView in_parts(TensorView view) {
  if (!plan::is_complex(view.dtype)) return view;
  view.dtype = view.dtype == plan::C64 ? plan::F32 : plan::F64;
  view.shape.push_back(2);
  return view;
}

}  // namespace

std::optional<RecordedValues> RecordedValues::read(const std::string& path,
                                                   const plan::Plan& plan) {
  const std::string bytes = read_file(path);
  if (is_plan(bytes)) return std::nullopt;
  const std::optional<RecordedRun> run = read_recorded_run(bytes, path);
  if (!run) return std::nullopt;
  check_count(path, run->arguments.size(), plan.arguments_size(), "argument");
  RecordedValues values;
  values.path_ = path;
  values.arguments_ = tensors_of(run->arguments);
  if (!run->results) return values;
  check_count(path, run->results->size(), plan.results_size(), "result");
  values.results_ = tensors_of(*run->results);
  for (int i = 0; i < plan.results_size(); ++i) {
    const std::string& name = plan.results(i).name();
    values.result_names_.push_back(name.empty() ? fmt::format("result[{}]", i) : name);
    check_type(path, values.result_names_.back(), values.results_[static_cast<size_t>(i)],
               plan.results(i).placement());
  }
  return values;
}

std::vector<InitialValue> RecordedValues::arguments() const {
  std::vector<InitialValue> values;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    values.push_back({static_cast<int>(i), arguments_[i].view(),
                      fmt::format("{}: recorded argument {}", path_, i)});
  }
  return values;
}

void RecordedValues::compare(int result, const TensorView& value, const Tolerances& tolerances,
                             Comparison& comparison) const {
  const std::string& name = result_names_[static_cast<size_t>(result)];
  const TensorView expected = results_[static_cast<size_t>(result)].view();
  const bool exact = !plan::is_float(value.dtype) && !plan::is_complex(value.dtype);
  if (value.shape.empty() && plan::is_float(value.dtype)) {
    const double number = element_as_double(value.dtype, value.data);
    comparison.metrics.push_back(compare_metric(name, {number}, expected, tolerances));
  } else {
    comparison.state.push_back(compare_state(name, in_parts(value), in_parts(expected),
                                             exact ? Tolerances{.state = 0} : tolerances));
  }
}

}  // namespace spmd
