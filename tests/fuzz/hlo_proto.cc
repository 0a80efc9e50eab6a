#include "frontends/hlo_proto/hlo.pb.h"
#include "frontends/hlo_proto/read.h"
#include "frontends/recorded_run.h"
#include "tests/fuzz/read_data.h"
#include "tests/fuzz/targets.h"

namespace spmd::testing {
namespace {

// The first byte chooses what the rest is.
constexpr HloContainer kContainers[] = {HloContainer::kModule, HloContainer::kProto,
                                        HloContainer::kSnapshot};

void read_hlo_proto(std::string_view bytes) {
  if (bytes.empty()) return;
  const HloContainer container = kContainers[static_cast<unsigned char>(bytes[0]) % 3];
  bytes.remove_prefix(1);
  read_hlo(bytes, container, "fuzz");
  read_hlo_run(bytes, container, "fuzz");
}

std::string snapshot_of(const std::string& module) {
  hlo::HloSnapshot snapshot;
  snapshot.mutable_hlo()->mutable_hlo_module()->ParseFromString(module);
  hlo::LiteralProto& value = *snapshot.add_arguments();
  value.mutable_shape()->set_element_type(hlo::F32);
  value.mutable_shape()->add_dimensions(4);
  for (int i = 0; i < 4; ++i) value.add_f32s(static_cast<float>(i));
  snapshot.mutable_result()->mutable_shape()->set_element_type(hlo::TUPLE);
  *snapshot.mutable_result()->mutable_shape()->add_tuple_shapes() = value.shape();
  *snapshot.mutable_result()->add_tuple_literals() = value;
  return snapshot.SerializeAsString();
}

std::vector<std::string> hlo_proto_seeds() {
  std::vector<std::string> result;
  for (const char* name : {"spellings", "named_shardings", "device_order", "nested_computations"}) {
    const std::string module = read_data(std::string("hlo_text/") + name + ".hlo.pb");
    result.push_back('\0' + module);
    hlo::HloProto proto;
    proto.mutable_hlo_module()->ParseFromString(module);
    result.push_back('\1' + proto.SerializeAsString());
    result.push_back('\2' + snapshot_of(module));
  }
  return result;
}

}  // namespace

FuzzTarget hlo_proto_target() {
  return {"hlo_proto",
          read_hlo_proto,
          hlo_proto_seeds,
          {"parameter", "constant", "custom-call", "while", "conditional", "tuple",
           "get-tuple-element", "reduce", "gather", "scatter", "xla.sdy.sharding", "xla.sdy.meshes",
           "{mesh = #sdy.mesh<[\"a\"=2]>}"}};
}

}  // namespace spmd::testing
