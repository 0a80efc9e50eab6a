#include "frontends/hlo_text/sharding.h"

#include "frontends/at_place.h"
#include "frontends/hlo_proto/shardings.h"
#include "frontends/hlo_text/lists.h"

namespace spmd::hlo_text {
namespace {

// mesh['x'=2,'y'=4], device_ids=(...) {'x'}: up to the brace that closes.
void scan_mesh_axes(Scanner& scan, hlo::HloInstructionProto& instruction) {
  const std::string place = scan.place();
  const size_t start = scan.position();
  const size_t brace = scan.text().find('{', start);
  if (brace == std::string_view::npos) scan.fail(start, "expected axes after the mesh, as {'x'}");
  scan.seek(brace);
  const size_t end = brace + scan_braces(scan).size();
  at_place(place, [&] {
    const HloMeshAxes groups = parse_hlo_mesh_axes(scan.text().substr(start, end - start), place);
    auto& proto = *instruction.mutable_mesh_axes_replica_group_list();
    *proto.mutable_mesh() = hlo_proto::mesh_proto_from(groups.mesh);
    hlo_proto::set_axes(groups.axes, *proto.mutable_axes());
  });
}

void scan_iota_groups(Scanner& scan, hlo::IotaReplicaGroupListProto& groups) {
  std::vector<int64_t> sizes;
  scan.skip_blanks();
  const size_t start = scan.position();
  scan_list(scan, "[", "]", [&] { sizes.push_back(scan.expect_integer()); });
  if (sizes.size() != 2) scan.fail(start, "expected [number of groups, size of a group]");
  groups.set_num_replica_groups(sizes[0]);
  groups.set_num_devices_per_group(sizes[1]);
  scan.expect("<=");
  scan_list(scan, "[", "]", [&] { groups.add_iota_reshape_dims(scan.expect_integer()); });
  if (!scan.accept_word("T")) return;
  scan_list(scan, "(", ")", [&] { groups.add_iota_transpose_perm(scan_int32(scan)); });
}

}  // namespace

void scan_sharding(Scanner& scan, hlo::OpSharding& sharding) {
  const std::string place = scan.place();
  const std::string_view text = scan_braces(scan);
  at_place(place, [&] { sharding = hlo_proto::op_sharding_from(parse_hlo_sharding(text, place)); });
}

void scan_replica_groups(Scanner& scan, hlo::HloInstructionProto& instruction) {
  if (scan.peek_word("mesh")) return scan_mesh_axes(scan, instruction);
  if (scan.peek("[")) {
    return scan_iota_groups(scan, *instruction.mutable_iota_collective_device_list());
  }
  auto& list = *instruction.mutable_collective_device_list();
  scan_list(scan, "{", "}",
            [&] { scan_integers(scan, *list.add_replica_groups()->mutable_replica_ids()); });
}

void scan_source_target_pairs(Scanner& scan, hlo::HloInstructionProto& instruction) {
  scan_list(scan, "{", "}", [&] {
    hlo::SourceTarget& pair = *instruction.add_source_target_pairs();
    scan.expect("{");
    pair.set_source(scan.expect_integer());
    scan.expect(",");
    pair.set_target(scan.expect_integer());
    scan.expect("}");
  });
}

}  // namespace spmd::hlo_text
