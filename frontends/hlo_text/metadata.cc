#include "frontends/hlo_text/metadata.h"

#include "frontends/hlo_text/lists.h"

namespace spmd::hlo_text {
namespace {

// {name=value name=value}, perhaps with commas; `read` reads the value of a name.
template <typename Read>
void scan_fields(Scanner& scan, Read&& read) {
  scan.expect("{");
  while (!scan.accept("}")) {
    const std::string_view name = scan_word(scan, "a field's name or '}'");
    scan.expect("=");
    read(name);
    scan.accept(",");
  }
}

// Passes over the number before an entry of a table; false when there is no entry.
bool accept_number(Scanner& scan) { return scan.accept_integer().has_value(); }

void scan_file_location(Scanner& scan, hlo::StackFrameIndexProto::FileLocation& location) {
  scan_fields(scan, [&](std::string_view name) {
    const int32_t value = scan_int32(scan);
    if (name == "file_name_id") location.set_file_name_id(value);
    if (name == "function_name_id") location.set_function_name_id(value);
    if (name == "line") location.set_line(value);
    if (name == "column") location.set_column(value);
    if (name == "end_line") location.set_end_line(value);
    if (name == "end_column") location.set_end_column(value);
  });
}

// The text numbers parents from 2: 1 is none.
void scan_stack_frame(Scanner& scan, hlo::StackFrameIndexProto::StackFrame& frame) {
  scan_fields(scan, [&](std::string_view name) {
    const int32_t value = scan_int32(scan);
    if (name == "file_location_id") frame.set_file_location_id(value);
    if (name == "parent_frame_id" && value > 0) frame.set_parent_frame_id(value - 1);
  });
}

}  // namespace

void scan_metadata(Scanner& scan, hlo::OpMetadata& metadata) {
  scan_fields(scan, [&](std::string_view name) {
    if (name == "op_type") {
      metadata.set_op_type(scan_string(scan));
    } else if (name == "op_name") {
      metadata.set_op_name(scan_string(scan));
    } else if (name == "source_file") {
      metadata.set_source_file(scan_string(scan));
    } else if (name == "source_line") {
      metadata.set_source_line(scan_int32(scan));
    } else if (name == "stack_frame_id") {
      metadata.set_stack_frame_id(scan_int32(scan));
    } else {
      skip_value(scan);  // of no use here
    }
  });
}

void scan_frontend_attributes(Scanner& scan, hlo::FrontendAttributes& attributes) {
  scan_list(scan, "{", "}", [&] {
    auto& entry = *attributes.add_map();
    entry.set_key(std::string(scan_word(scan, "an attribute's name")));
    scan.expect("=");
    entry.set_value(scan_string_or_braces(scan));
  });
}

void scan_stack_frames(Scanner& scan, hlo::StackFrameIndexProto& index) {
  if (scan.accept_word("FileNames")) {
    while (accept_number(scan)) index.add_file_names(scan_string(scan));
  }
  if (scan.accept_word("FunctionNames")) {
    while (accept_number(scan)) index.add_function_names(scan_string(scan));
  }
  if (scan.accept_word("FileLocations")) {
    while (accept_number(scan)) scan_file_location(scan, *index.add_file_locations());
  }
  if (scan.accept_word("StackFrames")) {
    while (accept_number(scan)) scan_stack_frame(scan, *index.add_stack_frames());
  }
}

}  // namespace spmd::hlo_text
