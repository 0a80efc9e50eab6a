#include "frontends/hlo_text/import.h"

#include <google/protobuf/arena.h>

#include "frontends/hlo_proto/import.h"
#include "frontends/hlo_text/computations.h"
#include "frontends/hlo_text/header.h"
#include "frontends/hlo_text/metadata.h"

namespace spmd {

Module import_hlo_text(std::string_view text, const std::string& source) {
  google::protobuf::Arena arena;
  auto& module = *google::protobuf::Arena::CreateMessage<hlo::HloModuleProto>(&arena);
  Scanner scan(text, source);
  const hlo_text::Header header = hlo_text::scan_header(scan, module);
  hlo_text::scan_stack_frames(scan, *module.mutable_stack_frame_index());
  hlo_text::ComputationsReader computations(scan, module);
  computations.read();
  return import_hlo(module, source, {.places = &computations, .num_devices = header.num_devices});
}

}  // namespace spmd
