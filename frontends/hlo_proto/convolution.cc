// Opcodes of the convolution family.
#include "frontends/hlo_proto/handlers.h"
#include "frontends/hlo_proto/precision.h"

namespace spmd::hlo_proto {
namespace {

void set_dimension_numbers(const hlo::ConvolutionDimensionNumbers& numbers,
                           ConvolutionAttrs& attrs) {
  const auto copy = [](const auto& from, Dims& to) { to.assign(from.begin(), from.end()); };
  attrs.input_batch = numbers.input_batch_dimension();
  attrs.input_feature = numbers.input_feature_dimension();
  copy(numbers.input_spatial_dimensions(), attrs.input_spatial);
  attrs.kernel_input_feature = numbers.kernel_input_feature_dimension();
  attrs.kernel_output_feature = numbers.kernel_output_feature_dimension();
  copy(numbers.kernel_spatial_dimensions(), attrs.kernel_spatial);
  attrs.output_batch = numbers.output_batch_dimension();
  attrs.output_feature = numbers.output_feature_dimension();
  copy(numbers.output_spatial_dimensions(), attrs.output_spatial);
}

void convolution(Emitter& emitter, const Instruction& instruction, OpCode code) {
  ConvolutionAttrs attrs;
  set_dimension_numbers(instruction.convolution_dimension_numbers(), attrs);
  for (const hlo::WindowDimension& dim : instruction.window().dimensions()) {
    attrs.stride.push_back(at_least_one(dim.stride()));
    attrs.pad_low.push_back(dim.padding_low());
    attrs.pad_high.push_back(dim.padding_high());
    attrs.lhs_dilation.push_back(at_least_one(dim.base_dilation()));
    attrs.rhs_dilation.push_back(at_least_one(dim.window_dilation()));
    attrs.reversal.push_back(dim.window_reversal());
  }
  attrs.feature_group_count = at_least_one(instruction.feature_group_count());
  attrs.batch_group_count = at_least_one(instruction.batch_group_count());
  attrs.precision = precision_of(instruction.precision_config());
  emitter.create(instruction, code, {emitter.operand(0), emitter.operand(1)}, std::move(attrs));
}

}  // namespace

std::span<const Handler> convolution_handlers() {
  static constexpr Handler kHandlers[] = {
      {"convolution", convolution, OpCode::kConvolution},
  };
  return kHandlers;
}

}  // namespace spmd::hlo_proto
