#include "frontends/hlo_proto/locations.h"

#include <fmt/format.h>

namespace spmd::hlo_proto {
namespace {

// Tables of the stack frame index are numbered from 1; 0 is none.
template <typename Repeated>
auto entry(const Repeated& table, int number) -> decltype(&table.Get(0)) {
  return number >= 1 && number <= table.size() ? &table.Get(number - 1) : nullptr;
}

}  // namespace

std::string Places::position(const hlo::HloInstructionProto& instruction) const {
  return text == nullptr ? source : text->place_of(instruction);
}

std::string Places::of(const hlo::HloInstructionProto& instruction) const {
  return fmt::format("{}: {} \"{}\"", position(instruction), instruction.opcode(),
                     instruction.name());
}

Location Locations::make(const hlo::OpMetadata& metadata) const {
  Location location{metadata.op_name(), metadata.source_file(), metadata.source_line()};
  if (!location.file.empty()) return location;
  const auto* frame = entry(frames_.stack_frames(), metadata.stack_frame_id());
  if (frame == nullptr) return location;
  const auto* place = entry(frames_.file_locations(), frame->file_location_id());
  if (place == nullptr) return location;
  if (const auto* file = entry(frames_.file_names(), place->file_name_id())) {
    location.file = *file;
    location.line = place->line();
  }
  return location;
}

LocationRef Locations::of(const hlo::HloInstructionProto& instruction) {
  LocationRef found = find(instruction.metadata());
  if (found != nullptr) return found;
  Location location{instruction.name(), {}, 0};
  if (places_.text != nullptr) {
    location.file = places_.source;
    location.line = places_.text->line_of(instruction);
  }
  return std::make_shared<const Location>(std::move(location));
}

LocationRef Locations::find(const hlo::OpMetadata& metadata) {
  const Key key{metadata.stack_frame_id(), metadata.source_line(), metadata.op_name(),
                metadata.source_file()};
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  Location location = make(metadata);
  LocationRef shared;
  if (!(location == Location{})) shared = std::make_shared<const Location>(std::move(location));
  known_.emplace(key, shared);
  return shared;
}

}  // namespace spmd::hlo_proto
