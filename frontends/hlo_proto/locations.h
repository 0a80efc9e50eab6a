// Locations from OpMetadata, shared between instructions that have the same.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "frontends/hlo_proto/hlo.pb.h"
#include "ir/module.h"

namespace spmd::hlo_proto {

class Locations {
 public:
  explicit Locations(const hlo::HloModuleProto& proto) : frames_(proto.stack_frame_index()) {}

  // Null when the metadata says nothing.
  LocationRef find(const hlo::OpMetadata& metadata);
  // Then it is the instruction's name.
  LocationRef of(const hlo::HloInstructionProto& instruction);

 private:
  // Stack frame, line, scope name, source file: numbers first, since scopes have long common
  // beginnings. The texts are the proto's.
  using Key = std::tuple<int, int, std::string_view, std::string_view>;

  Location make(const hlo::OpMetadata& metadata) const;

  const hlo::StackFrameIndexProto& frames_;
  std::map<Key, LocationRef> known_;
};

}  // namespace spmd::hlo_proto
