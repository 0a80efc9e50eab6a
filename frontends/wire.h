// The outermost fields of a serialised protobuf message, read without a schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace spmd {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t varint = 0;     // of kVarint
  std::string_view bytes;  // of kBytes
};

struct WireScan {
  std::vector<WireField> fields;  // those before anything is wrong; at most kMaxWireFields
  bool complete = false;          // the fields cover all bytes
  // A field announces more bytes than there are: it begins at `cut_at`.
  std::optional<size_t> cut_at;
  uint64_t announced = 0;

  const WireField* find(uint32_t number, WireType type) const;
  bool has(uint32_t number, WireType type) const { return find(number, type) != nullptr; }
};

// Fields beyond this many are checked but not kept.
inline constexpr size_t kMaxWireFields = 4096;

WireScan scan_wire(std::string_view bytes);

}  // namespace spmd
