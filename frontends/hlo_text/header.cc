#include "frontends/hlo_text/header.h"

#include "frontends/hlo_text/lists.h"
#include "frontends/hlo_text/metadata.h"
#include "frontends/hlo_text/shape.h"
#include "support/error.h"
#include "support/strings.h"

namespace spmd::hlo_text {
namespace {

// (parameter, {index}) or (parameter, {index}, may-alias)
template <typename Entry>
void scan_parameter_part(Scanner& scan, Entry& entry) {
  scan.expect("(");
  entry.set_parameter_number(scan.expect_integer("a parameter's number"));
  scan.expect(",");
  scan_integers(scan, *entry.mutable_parameter_shape_index());
}

// { {0}: (0, {}, may-alias), {1}: (2, {}) }. May and must are one here.
void scan_aliasing(Scanner& scan, hlo::HloInputOutputAliasProto& aliasing) {
  scan_list(scan, "{", "}", [&] {
    auto& entry = *aliasing.add_entries();
    scan_integers(scan, *entry.mutable_output_shape_index());
    scan.expect(":");
    scan_parameter_part(scan, entry);
    if (scan.accept(",")) scan_word(scan, "may-alias or must-alias");
    scan.expect(")");
  });
}

// { (0, {}), (1, {0}) }
void scan_donors(Scanner& scan, hlo::HloBufferDonorProto& donors) {
  scan_list(scan, "{", "}", [&] {
    scan_parameter_part(scan, *donors.add_entries());
    scan.expect(")");
  });
}

// {(f32[4]{0}, s32[])->f32[]}
void scan_signature(Scanner& scan, hlo::ProgramShapeProto& signature) {
  scan.expect("{");
  scan_list(scan, "(", ")", [&] { scan_shape(scan, *signature.add_parameters()); });
  scan.expect("->");
  scan_shape(scan, *signature.mutable_result());
  scan.expect("}");
}

int64_t scan_count(Scanner& scan) {
  scan.skip_blanks();
  const size_t start = scan.position();
  const int64_t count = scan.expect_integer("a number of devices");
  if (count >= 1 && count <= (int64_t{1} << 20)) return count;
  scan.seek(start);
  scan.fail_expected("a number of devices");
}

[[noreturn]] void refuse_scheduled(Scanner& scan, size_t start) {
  scan.fail(start, "this module is scheduled: it was written after XLA's optimisations",
            "use the one before them: the \"before_optimizations\" dump, or "
            "jax.jit(f).lower(...).as_text(\"hlo\")");
}

void scan_attribute(Scanner& scan, hlo::HloModuleProto& module, Header& header) {
  scan.skip_blanks();
  const size_t start = scan.position();
  const std::string_view name = scan_word(scan, "an attribute's name");
  scan.expect("=");
  const auto count_devices = [&] {
    header.num_devices = std::max<int64_t>(header.num_devices, 1) * scan_count(scan);
  };
  if (name == "input_output_alias") {
    scan_aliasing(scan, *module.mutable_input_output_alias());
  } else if (name == "buffer_donor") {
    scan_donors(scan, *module.mutable_buffer_donor());
  } else if (name == "entry_computation_layout") {
    scan_signature(scan, *module.mutable_host_program_shape());
  } else if (name == "frontend_attributes") {
    scan_frontend_attributes(scan, *module.mutable_frontend_attributes());
  } else if (name == "num_partitions" || name == "replica_count") {
    count_devices();
  } else if (name == "is_scheduled") {
    if (scan_bool(scan)) refuse_scheduled(scan, start);
  } else if (name == "alias_passthrough_params" || name == "origin_recovery_table" ||
             name == "allow_spmd_sharding_propagation_to_parameters" ||
             name == "allow_spmd_sharding_propagation_to_output") {
    skip_value(scan);  // leave to the compiler what it does here anyway
  } else {
    const auto near =
        nearest(name, {"input_output_alias", "buffer_donor", "entry_computation_layout",
                       "frontend_attributes", "num_partitions", "replica_count", "is_scheduled"});
    scan.fail(start, fmt::format("unknown attribute \"{}\" of the module", name),
              near ? fmt::format("did you mean \"{}\"?", *near)
                   : "remove it, or export the program again");
  }
}

}  // namespace

Header scan_header(Scanner& scan, hlo::HloModuleProto& module) {
  scan.expect_word("HloModule");
  module.set_name(std::string(scan_name(scan, "the module's name")));
  Header header;
  while (scan.accept(",")) scan_attribute(scan, module, header);
  return header;
}

}  // namespace spmd::hlo_text
