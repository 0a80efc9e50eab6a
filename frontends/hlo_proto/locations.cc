#include "frontends/hlo_proto/locations.h"

namespace spmd::hlo_proto {
namespace {

// Tables of the stack frame index are numbered from 1; 0 is none.
template <typename Repeated>
auto entry(const Repeated& table, int number) -> decltype(&table.Get(0)) {
  return number >= 1 && number <= table.size() ? &table.Get(number - 1) : nullptr;
}

}  // namespace

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
  if (found == nullptr)
    found = std::make_shared<const Location>(Location{instruction.name(), {}, 0});
  return found;
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
