// The parts of MLIR bytecode (container versions 0 to 6, mlir/docs/BytecodeFormat.md), before any
// dialect gives them a meaning.
#pragma once

#include <string_view>
#include <vector>

#include "frontends/mlir_bytecode/origin.h"

namespace spmd::mlir_bytecode {

inline constexpr std::string_view kMagic = "ML\xefR";
inline constexpr uint64_t kNewestVersion = 6;

struct OpName {
  std::string_view dialect, name;  // "vhlo", "add_v1"
  bool registered = true;          // its properties are in the dialect's own encoding
};

// An encoded attribute or type.
struct Entry {
  std::string_view dialect;
  bool custom = false;  // in the dialect's encoding; else as text that ends in a zero byte
  std::string_view bytes;
};

// A blob that attributes refer to by number.
struct Resource {
  std::string_view key;
  std::string_view bytes;  // empty: the file only declares it
};

// Views point into the bytecode.
struct Container {
  uint64_t version = 0;
  std::string_view producer;  // "StableHLO_v1.13.0"
  std::vector<std::string_view> strings, dialects;
  std::vector<OpName> op_names;
  std::vector<Entry> attributes, types;
  std::vector<std::string_view> properties;
  std::vector<Resource> resources;
  std::string_view ir;
};

// From version 1 on dialects may have versions, from 2 on isolated regions are sections, from 3 on
// there are orders of uses, from 4 on unknown locations of arguments are left out, from 5 on there
// are properties.
inline constexpr uint64_t kDialectVersions = 1, kIsolatedSections = 2, kUseOrders = 3,
                          kElidedLocations = 4, kProperties = 5;

// The version and the producer, which are read first: messages name them.
Container read_header(const Origin& origin);

// Throws UserError with the offset of what is wrong.
Container read_container(const Origin& origin);

// A section: its number and its content, also inside of other sections.
struct Section {
  uint8_t id = 0;
  std::string_view bytes;
};
inline constexpr uint8_t kIrSection = 4;
class Cursor;
Section read_section(Cursor& cursor);

}  // namespace spmd::mlir_bytecode
