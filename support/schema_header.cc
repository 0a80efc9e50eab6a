#include "support/schema_header.h"

#include "support/error.h"

namespace spmd {
namespace {

// A field of wire type varint with the given tag, at the front of `bytes`, which it is taken off.
bool take_varint(std::string_view& bytes, char tag, uint32_t& value) {
  if (bytes.empty() || bytes[0] != tag) return false;
  uint64_t result = 0;
  for (size_t i = 1; i < bytes.size() && i <= 5; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    result |= static_cast<uint64_t>(byte & 0x7F) << (7 * (i - 1));
    if ((byte & 0x80) != 0) continue;
    value = static_cast<uint32_t>(result);
    bytes.remove_prefix(i + 1);
    return result <= UINT32_MAX;
  }
  return false;
}

}  // namespace

SchemaHeader read_schema_header(std::string_view bytes) {
  SchemaHeader header;
  if (bytes.size() < 5 || bytes[0] != '\x0d') return header;
  for (size_t i = 0; i < 4; ++i) {
    header.magic |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[1 + i])) << (8 * i);
  }
  bytes.remove_prefix(5);
  if (take_varint(bytes, '\x10', header.version)) take_varint(bytes, '\x18', header.reader_version);
  return header;
}

void check_schema_header(std::string_view bytes, const Schema& schema, const std::string& source) {
  const SchemaHeader header = read_schema_header(bytes);
  if (header.magic != schema.magic) {
    throw UserError(source, fmt::format("not an spmd {}", schema.name),
                    fmt::format("expected {}", schema.origin));
  }
  const std::string range =
      fmt::format("this spmd reads versions {} to {}", schema.oldest, schema.newest);
  if (header.version < schema.oldest) {
    throw UserError(source,
                    fmt::format("a {} of version {}, {}", schema.name, header.version, range),
                    fmt::format("{} with this spmd", schema.remedy));
  }
  if (header.reader_version > schema.newest) {
    throw UserError(source,
                    fmt::format("a {} of version {} that needs a reader of version {} or newer, {}",
                                schema.name, header.version, header.reader_version, range),
                    fmt::format("update spmd, or {} with this one", schema.remedy));
  }
}

}  // namespace spmd
