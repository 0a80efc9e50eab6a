// The header of our protobuf files: fields 1 (fixed32 magic), 2 (version of the writer's schema)
// and 3 (oldest reader that understands the file), which come first and are looked at before
// anything else is decoded.
#pragma once

#include <cstdint>
#include <string_view>

namespace spmd {

struct SchemaHeader {
  uint32_t magic = 0, version = 0, reader_version = 0;
};

// Fields that are not there stay 0.
SchemaHeader read_schema_header(std::string_view bytes);

}  // namespace spmd
