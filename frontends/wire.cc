#include "frontends/wire.h"

namespace spmd {
namespace {

// Reads a varint at `at` and moves on; nullopt when it does not end.
std::optional<uint64_t> read_varint(std::string_view bytes, size_t& at) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes[at++]);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

}  // namespace

const WireField* WireScan::find(uint32_t number, WireType type) const {
  for (const WireField& field : fields) {
    if (field.number == number && field.type == type) return &field;
  }
  return nullptr;
}

WireScan scan_wire(std::string_view bytes) {
  WireScan scan;
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t begin = at;
    const auto cut = [&](uint64_t announced) {
      scan.cut_at = begin;
      scan.announced = announced;
    };
    const std::optional<uint64_t> tag = read_varint(bytes, at);
    if (!tag || *tag >> 3 == 0 || *tag >> 3 >= (uint64_t{1} << 29)) return scan;
    WireField field;
    field.number = static_cast<uint32_t>(*tag >> 3);
    field.type = static_cast<WireType>(*tag & 7);
    uint64_t length = 0;
    if (field.type == WireType::kVarint || field.type == WireType::kBytes) {
      const std::optional<uint64_t> value = read_varint(bytes, at);
      if (!value) return scan;
      field.varint = *value;
      if (field.type == WireType::kBytes) length = *value;
    } else if (field.type == WireType::kFixed64 || field.type == WireType::kFixed32) {
      length = field.type == WireType::kFixed64 ? 8 : 4;
    } else {
      return scan;
    }
    if (length > bytes.size() - at) {
      cut(length);
      // What there is of the field still tells what it was going to be.
      if (field.type == WireType::kBytes) {
        field.bytes = bytes.substr(at);
        if (scan.fields.size() < kMaxWireFields) scan.fields.push_back(field);
      }
      return scan;
    }
    if (field.type == WireType::kBytes) field.bytes = bytes.substr(at, length);
    at += length;
    if (scan.fields.size() < kMaxWireFields) scan.fields.push_back(field);
  }
  scan.complete = true;
  return scan;
}

}  // namespace spmd
