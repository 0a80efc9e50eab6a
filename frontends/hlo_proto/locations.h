// Where instructions come from: places in the file that is read, for messages, and locations from
// OpMetadata, shared between instructions that have the same.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "frontends/hlo_proto/hlo.pb.h"
#include "frontends/hlo_proto/import.h"
#include "ir/module.h"

namespace spmd::hlo_proto {

// The remedy for what no exporter writes.
inline constexpr const char* kDamaged = "the file is damaged: export it again";

// Of instructions in the file.
struct Places {
  const std::string& source;
  const InstructionPlaces* text = nullptr;  // null: of a protobuf

  // "file" or "file:line:col"
  std::string position(const hlo::HloInstructionProto& instruction) const;
  // With the instruction: `file:line:col: add "add.3"`.
  std::string of(const hlo::HloInstructionProto& instruction) const;
};

class Locations {
 public:
  Locations(const hlo::HloModuleProto& proto, const Places& places)
      : frames_(proto.stack_frame_index()), places_(places) {}

  // Null when the metadata says nothing.
  LocationRef find(const hlo::OpMetadata& metadata);
  // Then it is the instruction's name, with its line in a text.
  LocationRef of(const hlo::HloInstructionProto& instruction);

 private:
  // Stack frame, line, scope name, source file: numbers first, since scopes have long common
  // beginnings. The texts are the proto's.
  using Key = std::tuple<int, int, std::string_view, std::string_view>;

  Location make(const hlo::OpMetadata& metadata) const;

  const hlo::StackFrameIndexProto& frames_;
  Places places_;
  std::map<Key, LocationRef> known_;
};

}  // namespace spmd::hlo_proto
