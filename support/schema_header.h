// The header of our protobuf files: fields 1 (fixed32 magic), 2 (version of the writer's schema)
// and 3 (oldest reader that understands the file), which come first and are looked at before
// anything else is decoded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace spmd {

struct SchemaHeader {
  uint32_t magic = 0, version = 0, reader_version = 0;
};

// Fields that are not there stay 0.
SchemaHeader read_schema_header(std::string_view bytes);

// What this spmd reads of one kind of file.
struct Schema {
  uint32_t magic;
  uint32_t oldest, newest;  // versions
  std::string_view name;    // "plan"
  std::string_view origin;  // "a file written by --save-plan"
  std::string_view remedy;  // how to have it in another version: "compile the program again"
};

// Throws a UserError that names both versions when the bytes are not of that kind or version.
void check_schema_header(std::string_view bytes, const Schema& schema, const std::string& source);

}  // namespace spmd
