// Where instructions come from, and what exporters attach to them.
#pragma once

#include "frontends/hlo_proto/hlo.pb.h"
#include "support/scanner.h"

namespace spmd::hlo_text {

// {op_name="jit(f)/add" source_file="f.py" source_line=3 stack_frame_id=2}
void scan_metadata(Scanner& scan, hlo::OpMetadata& metadata);

// {key="value", other={...}}
void scan_frontend_attributes(Scanner& scan, hlo::FrontendAttributes& attributes);

// The tables FileNames, FunctionNames, FileLocations and StackFrames that may stand between the
// header and the computations; nothing when they do not.
void scan_stack_frames(Scanner& scan, hlo::StackFrameIndexProto& index);

}  // namespace spmd::hlo_text
