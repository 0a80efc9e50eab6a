// Small HLO modules for tests, written as protobuf text.
#pragma once

#include <google/protobuf/text_format.h>

#include <string>

#include "frontends/hlo_proto/hlo.pb.h"
#include "frontends/hlo_proto/import.h"
#include "support/error.h"
#include "tests/support/error_of.h"

namespace spmd {

inline hlo::HloModuleProto hlo_from_text(const std::string& text) {
  hlo::HloModuleProto proto;
  if (!google::protobuf::TextFormat::ParseFromString(text, &proto)) {
    throw InternalError("the test's protobuf text does not parse");
  }
  return proto;
}

// A module "m" with the one computation "main" (id 9) of these instructions, the last id the root;
// `others` are computations before it, `fields` fields of the module.
inline hlo::HloModuleProto hlo_module(const std::string& instructions, int root,
                                      const std::string& others = {},
                                      const std::string& fields = {}) {
  return hlo_from_text(others +
                       "name: 'm' entry_computation_id: 9 computations { name: 'main' id: 9 "
                       "root_id: " +
                       std::to_string(root) + " " + instructions + "} " + fields);
}

// The message of the UserError that importing throws; empty when it throws none.
inline std::string import_error(const hlo::HloModuleProto& proto) {
  return testing::error_of([&] { import_hlo(proto, "test.pb"); });
}

}  // namespace spmd
