#include "frontends/hlo_text/import.h"
#include "tests/fuzz/read_data.h"
#include "tests/fuzz/targets.h"

namespace spmd::testing {
namespace {

std::vector<std::string> hlo_text_seeds() {
  return {
      read_data("hlo_text/spellings.hlo.txt"), read_data("hlo_text/named_shardings.hlo.txt"),
      read_data("hlo_text/device_order.hlo.txt"), read_data("hlo_text/nested_computations.hlo.txt"),
      "HloModule m\n\nFileNames\n1 \"f.py\"\n\nFunctionNames\n1 \"f\"\n\nFileLocations\n"
      "1 {file_name_id=1 function_name_id=1 line=1 end_line=1 column=1 end_column=1}\n\n"
      "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\n"
      "ENTRY e {\n  ROOT x = f32[2] constant({1, -nan(0x1)}), metadata={stack_frame_id=1}\n}\n"};
}

}  // namespace

FuzzTarget hlo_text_target() {
  return {"hlo_text",
          [](std::string_view bytes) { import_hlo_text(bytes, "fuzz"); },
          hlo_text_seeds,
          {"HloModule m, ",
           "ENTRY ",
           "ROOT ",
           "f32[]",
           "f32[2,3]{1,0}",
           "(f32[], s32[4])",
           "s4[3]",
           "token[]",
           "pred[]",
           "parameter(0)",
           "constant(",
           "{...}",
           "nan(0x",
           "to_apply=",
           "dimensions={0}",
           "sharding={",
           "devices=[2,4]<=[8]",
           "T(1,0)",
           "last_tile_dim_replicate",
           "mesh['a'=2]",
           "replica_groups={{0,1}}",
           "[2,4]<=[8]",
           "window={size=2x2 pad=0_1x1_0}",
           "dim_labels=b01f_01io->b01f",
           "metadata={op_name=\"",
           "frontend_attributes={",
           "custom-call",
           "while",
           "conditional",
           "get-tuple-element",
           "9223372036854775807",
           "-1",
           "{",
           "}",
           "(",
           ")",
           "/*",
           "*/",
           "\"",
           "\\303"}};
}

}  // namespace spmd::testing
