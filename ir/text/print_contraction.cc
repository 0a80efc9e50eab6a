#include "ir/text/enum_names.h"
#include "ir/text/printer.h"
#include "support/error.h"

namespace spmd::text {

namespace {

std::string precision_text(const std::vector<Precision>& list, std::string_view before,
                           std::string_view after) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i) {
    text += fmt::format("{}{}{}{}", i == 0 ? "" : ", ", before, enum_name(list[i]), after);
  }
  return text + "]";
}

std::string algorithm_text(const DotAlgorithm& a) {
  return fmt::format(
      "<lhs_precision_type = {}, rhs_precision_type = {}, accumulation_type = {}, "
      "lhs_component_count = {}, rhs_component_count = {}, num_primitive_operations = {}, "
      "allow_imprecise_accumulation = {}>",
      name_of(a.lhs), name_of(a.rhs), name_of(a.accumulation), a.lhs_components, a.rhs_components,
      a.primitive_operations, a.allow_imprecise_accumulation);
}

}  // namespace

void Printer::print_dot(const Op& op) {
  const auto& attrs = op.as<DotAttrs>();
  out_ += name_of(op.code);
  out_ += ' ';
  print_operands(op);
  if (!attrs.lhs_batch.empty() || !attrs.rhs_batch.empty()) {
    out_ += fmt::format(", batching_dims = {} x {}", list_text(attrs.lhs_batch),
                        list_text(attrs.rhs_batch));
  }
  out_ += fmt::format(", contracting_dims = {} x {}", list_text(attrs.lhs_contracting),
                      list_text(attrs.rhs_contracting));
  if (!attrs.precision.empty()) out_ += ", precision = " + precision_text(attrs.precision, "", "");
  if (attrs.algorithm) out_ += ", algorithm = " + algorithm_text(*attrs.algorithm);
  out_ += dict(op);
  print_function_type(op);
}

namespace {

// "[b, 0, 1, f]" from where its letters and dimensions stand.
std::string dimension_letters(char first, int64_t first_at, char second, int64_t second_at,
                              const Dims& spatial) {
  std::vector<std::string> letters(spatial.size() + 2, "?");
  const auto put = [&](int64_t at, std::string text) {
    if (at >= 0 && static_cast<size_t>(at) < letters.size()) {
      letters[static_cast<size_t>(at)] = std::move(text);
    }
  };
  put(first_at, std::string(1, first));
  put(second_at, std::string(1, second));
  for (size_t i = 0; i < spatial.size(); ++i) put(spatial[i], std::to_string(i));
  std::string text = "[";
  for (size_t i = 0; i < letters.size(); ++i) text += (i == 0 ? "" : ", ") + letters[i];
  return text + "]";
}

}  // namespace

void Printer::print_convolution(const Op& op) {
  const auto& a = op.as<ConvolutionAttrs>();
  out_ += fmt::format("{}(", name_of(op.code));
  print_operands(op);
  std::string pad, reverse;
  for (size_t i = 0; i < a.pad_low.size() && i < a.pad_high.size(); ++i) {
    pad += fmt::format("{}[{}, {}]", i == 0 ? "" : ", ", a.pad_low[i], a.pad_high[i]);
  }
  for (size_t i = 0; i < a.reversal.size(); ++i) {
    reverse += fmt::format("{}{}", i == 0 ? "" : ", ", static_cast<bool>(a.reversal[i]));
  }
  out_ += fmt::format(
      ") dim_numbers = {}x{}->{}, window = {{stride = {}, pad = [{}], lhs_dilate = {}, "
      "rhs_dilate = {}, reverse = [{}]}}",
      dimension_letters('b', a.input_batch, 'f', a.input_feature, a.input_spatial),
      dimension_letters('i', a.kernel_input_feature, 'o', a.kernel_output_feature,
                        a.kernel_spatial),
      dimension_letters('b', a.output_batch, 'f', a.output_feature, a.output_spatial),
      list_text(a.stride), pad, list_text(a.lhs_dilation), list_text(a.rhs_dilation), reverse);
  std::string entries = fmt::format("batch_group_count = {} : i64, feature_group_count = {} : i64",
                                    a.batch_group_count, a.feature_group_count);
  if (!a.precision.empty()) {
    entries += ", precision_config = " + precision_text(a.precision, "#stablehlo<precision ", ">");
  }
  out_ += dict(op, entries);
  print_function_type(op);
}

}  // namespace spmd::text
