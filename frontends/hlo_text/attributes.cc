#include "frontends/hlo_text/attributes.h"

#include <algorithm>
#include <iterator>

#include "frontends/hlo_proto/handlers.h"
#include "frontends/hlo_text/lists.h"
#include "frontends/hlo_text/metadata.h"
#include "frontends/hlo_text/sharding.h"
#include "frontends/hlo_text/window.h"
#include "support/error.h"
#include "support/strings.h"

namespace spmd::hlo_text {
namespace {

using Instruction = hlo::HloInstructionProto;

// One instruction's attributes while they are read. Called computations are kept by their place in
// the message, which is not that in the text: a while names its body first.
struct Reading {
  Scanner& scan;
  Names& names;
  Instruction& instruction;
  std::vector<std::pair<int, int64_t>> called = {};  // place, id

  void call(int place) { called.emplace_back(place, names.scan_computation(scan)); }
};

using ReadValue = void (*)(Reading&);

struct Attribute {
  std::string_view name;
  ReadValue read;
};

// ---- values of one kind, by the field that takes them

template <Integers* (Instruction::*Field)()>
void integers(Reading& r) {
  scan_integers(r.scan, *(r.instruction.*Field)());
}
template <void (Instruction::*Set)(int64_t)>
void integer(Reading& r) {
  (r.instruction.*Set)(r.scan.expect_integer());
}
template <void (Instruction::*Set)(int32_t)>
void integer32(Reading& r) {
  (r.instruction.*Set)(scan_int32(r.scan));
}
template <void (Instruction::*Set)(bool)>
void boolean(Reading& r) {
  (r.instruction.*Set)(scan_bool(r.scan));
}
template <Integers* (hlo::DotDimensionNumbers::*Field)()>
void dot_dims(Reading& r) {
  scan_integers(r.scan, *(r.instruction.mutable_dot_dimension_numbers()->*Field)());
}
template <Integers* (hlo::GatherDimensionNumbers::*Field)()>
void gather_dims(Reading& r) {
  scan_integers(r.scan, *(r.instruction.mutable_gather_dimension_numbers()->*Field)());
}
template <Integers* (hlo::ScatterDimensionNumbers::*Field)()>
void scatter_dims(Reading& r) {
  scan_integers(r.scan, *(r.instruction.mutable_scatter_dimension_numbers()->*Field)());
}
template <int Place>
void computation(Reading& r) {
  r.call(Place);
}
void skip(Reading& r) { skip_value(r.scan); }

// ---- values that depend on the opcode, or need more than one step

void algorithm(Reading& r) {
  if (r.instruction.opcode() == "dot") {
    r.instruction.mutable_precision_config()->set_algorithm(
        scan_enum(r.scan, "ALG_", hlo::PrecisionConfig::Algorithm_Parse,
                  "an algorithm such as dot_bf16_bf16_f32"));
    return;
  }
  r.instruction.set_rng_algorithm(scan_enum(r.scan, "", hlo::RandomAlgorithm_Parse,
                                            "rng_default, rng_three_fry or rng_philox"));
}

void operand_precision(Reading& r) {
  scan_list(r.scan, "{", "}", [&] {
    r.instruction.mutable_precision_config()->add_operand_precision(
        scan_enum(r.scan, "", hlo::PrecisionConfig::Precision_Parse, "default, high or highest"));
  });
}

void computations(Reading& r) {
  scan_list(r.scan, "{", "}", [&] { r.call(static_cast<int>(r.called.size())); });
}

void comparison_direction(Reading& r) {
  r.instruction.set_comparison_direction(
      std::string(scan_word(r.scan, "EQ, NE, LT, LE, GT or GE")));
}

void comparison_type(Reading& r) {
  r.instruction.set_comparison_type(
      std::string(scan_word(r.scan, "FLOAT, TOTALORDER, SIGNED or UNSIGNED")));
}

void control_predecessors(Reading& r) {
  scan_list(r.scan, "{", "}", [&] { r.names.scan_instruction(r.scan); });
}

void custom_call_target(Reading& r) { r.instruction.set_custom_call_target(scan_string(r.scan)); }

void backend_config(Reading& r) { r.instruction.set_backend_config(scan_string_or_braces(r.scan)); }

void dim_labels(Reading& r) {
  scan_dim_labels(r.scan, *r.instruction.mutable_convolution_dimension_numbers());
}

void distribution(Reading& r) {
  r.instruction.set_distribution(
      scan_enum(r.scan, "", hlo::RandomDistribution_Parse, "rng_uniform or rng_normal"));
}

void epsilon(Reading& r) {
  r.scan.skip_blanks();
  const size_t start = r.scan.position();
  const std::string digits(r.scan.expect_number());
  char* end = nullptr;
  r.instruction.set_epsilon(std::strtof(digits.c_str(), &end));
  if (*end == '\0') return;
  r.scan.seek(start);
  r.scan.fail_expected("a number");
}

void fft_type(Reading& r) {
  r.instruction.set_fft_type(scan_enum(r.scan, "", hlo::FftType_Parse, "FFT, IFFT, RFFT or IRFFT"));
}

void index_vector_dim(Reading& r) {
  const int64_t dim = r.scan.expect_integer();
  if (r.instruction.opcode() == "scatter") {
    r.instruction.mutable_scatter_dimension_numbers()->set_index_vector_dim(dim);
  } else {
    r.instruction.mutable_gather_dimension_numbers()->set_index_vector_dim(dim);
  }
}

void lower(Reading& r) {
  const bool value = scan_bool(r.scan);
  if (r.instruction.opcode() == "cholesky") {
    r.instruction.mutable_cholesky_options()->set_lower(value);
  } else {
    r.instruction.mutable_triangular_solve_options()->set_lower(value);
  }
}

void left_side(Reading& r) {
  r.instruction.mutable_triangular_solve_options()->set_left_side(scan_bool(r.scan));
}

void unit_diagonal(Reading& r) {
  r.instruction.mutable_triangular_solve_options()->set_unit_diagonal(scan_bool(r.scan));
}

void transpose_a(Reading& r) {
  r.instruction.mutable_triangular_solve_options()->set_transpose_a(
      scan_enum(r.scan, "", hlo::TriangularSolveOptions::Transpose_Parse,
                "NO_TRANSPOSE, TRANSPOSE or ADJOINT"));
}

void padding(Reading& r) { scan_padding(r.scan, *r.instruction.mutable_padding_config()); }
void window(Reading& r) { scan_window(r.scan, *r.instruction.mutable_window()); }
void slice(Reading& r) { scan_slice(r.scan, r.instruction); }
void sharding(Reading& r) { scan_sharding(r.scan, *r.instruction.mutable_sharding()); }
void metadata(Reading& r) { scan_metadata(r.scan, *r.instruction.mutable_metadata()); }
void replica_groups(Reading& r) { scan_replica_groups(r.scan, r.instruction); }
void source_target_pairs(Reading& r) { scan_source_target_pairs(r.scan, r.instruction); }

void frontend_attributes(Reading& r) {
  scan_frontend_attributes(r.scan, *r.instruction.mutable_frontend_attributes());
}

void iota_dimension(Reading& r) { r.instruction.add_dimensions(r.scan.expect_integer()); }

constexpr Attribute kAttributes[] = {
    {"algorithm", algorithm},
    {"api_version", skip},
    {"async_execution_thread", skip},
    {"backend_config", backend_config},
    {"batch_group_count", integer<&Instruction::set_batch_group_count>},
    {"body", computation<0>},
    {"branch_computations", computations},
    {"called_computations", computations},
    {"calls", computation<0>},
    {"channel_id", integer<&Instruction::set_channel_id>},
    {"collapsed_slice_dims",
     gather_dims<&hlo::GatherDimensionNumbers::mutable_collapsed_slice_dims>},
    {"condition", computation<1>},
    {"constrain_layout", skip},
    {"control-predecessors", control_predecessors},
    {"custom_call_has_side_effect", boolean<&Instruction::set_custom_call_has_side_effect>},
    {"custom_call_target", custom_call_target},
    {"delta", skip},
    {"dim_labels", dim_labels},
    {"dimensions", integers<&Instruction::mutable_dimensions>},
    {"direction", comparison_direction},
    {"distribution", distribution},
    {"dynamic_slice_sizes", integers<&Instruction::mutable_dynamic_slice_sizes>},
    {"epsilon", epsilon},
    {"exponent_bits", integer32<&Instruction::set_exponent_bits>},
    {"false_computation", computation<1>},
    {"feature_group_count", integer<&Instruction::set_feature_group_count>},
    {"feature_index", integer<&Instruction::set_feature_index>},
    {"fft_length", integers<&Instruction::mutable_fft_length>},
    {"fft_type", fft_type},
    {"frontend_attributes", frontend_attributes},
    {"index", integer<&Instruction::set_tuple_index>},
    {"index_vector_dim", index_vector_dim},
    {"indices_are_sorted", boolean<&Instruction::set_indices_are_sorted>},
    {"infeed_config", skip},
    {"input_batching_dims",
     scatter_dims<&hlo::ScatterDimensionNumbers::mutable_input_batching_dims>},
    {"inserted_window_dims",
     scatter_dims<&hlo::ScatterDimensionNumbers::mutable_inserted_window_dims>},
    {"iota_dimension", iota_dimension},
    {"is_host_transfer", skip},
    {"is_stable", boolean<&Instruction::set_is_stable>},
    {"k", integer<&Instruction::set_k>},
    {"kind", skip},
    {"largest", boolean<&Instruction::set_largest>},
    {"left_side", left_side},
    {"lhs_batch_dims", dot_dims<&hlo::DotDimensionNumbers::mutable_lhs_batch_dimensions>},
    {"lhs_contracting_dims",
     dot_dims<&hlo::DotDimensionNumbers::mutable_lhs_contracting_dimensions>},
    {"lower", lower},
    {"mantissa_bits", integer32<&Instruction::set_mantissa_bits>},
    {"metadata", metadata},
    {"offset_dims", gather_dims<&hlo::GatherDimensionNumbers::mutable_offset_dims>},
    {"operand_batching_dims",
     gather_dims<&hlo::GatherDimensionNumbers::mutable_operand_batching_dims>},
    {"operand_layout_constraints", skip},
    {"operand_precision", operand_precision},
    {"origin", skip},
    {"outfeed_config", skip},
    {"outfeed_shape", skip},
    {"output_to_operand_aliasing", skip},
    {"padding", padding},
    {"padding_type", skip},
    {"parameter_replication", skip},
    {"replica_groups", replica_groups},
    {"result_accuracy", skip},
    {"rhs_batch_dims", dot_dims<&hlo::DotDimensionNumbers::mutable_rhs_batch_dimensions>},
    {"rhs_contracting_dims",
     dot_dims<&hlo::DotDimensionNumbers::mutable_rhs_contracting_dimensions>},
    {"scatter", computation<1>},
    {"scatter_dims_to_operand_dims",
     scatter_dims<&hlo::ScatterDimensionNumbers::mutable_scatter_dims_to_operand_dims>},
    {"scatter_indices_batching_dims",
     scatter_dims<&hlo::ScatterDimensionNumbers::mutable_scatter_indices_batching_dims>},
    {"schedule", skip},
    {"select", computation<0>},
    {"sharding", sharding},
    {"slice", slice},
    {"slice_sizes", integers<&Instruction::mutable_gather_slice_sizes>},
    {"source_target_pairs", source_target_pairs},
    {"start_index_map", gather_dims<&hlo::GatherDimensionNumbers::mutable_start_index_map>},
    {"start_indices_batching_dims",
     gather_dims<&hlo::GatherDimensionNumbers::mutable_start_indices_batching_dims>},
    {"statistics", skip},
    {"to_apply", computation<0>},
    {"transpose_a", transpose_a},
    {"true_computation", computation<0>},
    {"type", comparison_type},
    {"unique_indices", boolean<&Instruction::set_unique_indices>},
    {"unit_diagonal", unit_diagonal},
    {"update_window_dims", scatter_dims<&hlo::ScatterDimensionNumbers::mutable_update_window_dims>},
    {"use_global_device_ids", boolean<&Instruction::set_use_global_device_ids>},
    {"window", window},
};

static_assert(std::is_sorted(std::begin(kAttributes), std::end(kAttributes),
                             [](const Attribute& a, const Attribute& b) {
                               return a.name < b.name;
                             }));

const Attribute* attribute_named(std::string_view name) {
  const auto* found = std::lower_bound(
      std::begin(kAttributes), std::end(kAttributes), name,
      [](const Attribute& attribute, std::string_view wanted) { return attribute.name < wanted; });
  return found != std::end(kAttributes) && found->name == name ? found : nullptr;
}

[[noreturn]] void fail_unknown(Scanner& scan, size_t start, std::string_view name) {
  std::vector<std::string> known;
  for (const Attribute& attribute : kAttributes) known.emplace_back(attribute.name);
  const auto near = nearest(name, known);
  scan.fail(
      start, fmt::format("unknown attribute \"{}\"", name),
      near ? fmt::format("did you mean \"{}\"?", *near) : "remove it, or export the program again");
}

bool has_meaning(const Instruction& instruction) {
  if (instruction.opcode() != "custom-call") {
    return hlo_proto::find_handler(instruction.opcode()) != nullptr;
  }
  return hlo_proto::find_custom_call(instruction.custom_call_target()) != nullptr;
}

}  // namespace

void scan_attributes(Scanner& scan, Names& names, Instruction& instruction) {
  Reading reading{scan, names, instruction};
  std::vector<std::string_view> seen;
  while (scan.accept(",")) {
    scan.skip_blanks();
    const size_t start = scan.position();
    const std::string_view name = scan_word(scan, "an attribute's name");
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      scan.fail(start, fmt::format("attribute \"{}\" occurs twice", name));
    }
    seen.push_back(name);
    scan.expect("=");
    const Attribute* attribute = attribute_named(name);
    if (attribute != nullptr) {
      attribute->read(reading);
    } else if (has_meaning(instruction)) {
      fail_unknown(scan, start, name);
    } else {
      skip_value(scan);
    }
  }
  std::stable_sort(reading.called.begin(), reading.called.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [place, id] : reading.called) instruction.add_called_computation_ids(id);
}

}  // namespace spmd::hlo_text
