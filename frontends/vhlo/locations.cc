#include "frontends/vhlo/locations.h"

#include <limits>

#include "ir/text/location.h"
#include "support/error.h"

namespace spmd::vhlo {

using mlir_bytecode::Cursor;

namespace {

// Numbers among the attributes of MLIR's builtin dialect.
struct LocationCode {
  enum : uint64_t {
    kCallSite = 10,
    kFileLineColumn = 11,
    kFused = 12,
    kFusedWithMetadata = 13,
    kName = 14,
    kUnknown = 15,
    kFileRange = 22,
  };
};

constexpr int kMaxLocationDepth = 500;  // chains of calls are long

int line_of(uint64_t line) {
  return line <= static_cast<uint64_t>(std::numeric_limits<int>::max()) ? static_cast<int>(line)
                                                                        : 0;
}

}  // namespace

LocationTable::LocationTable(const mlir_bytecode::Origin& origin,
                             const mlir_bytecode::Container& container, AttributeTable& attributes)
    : origin_(origin),
      container_(container),
      attributes_(attributes),
      locations_(container.attributes.size()) {}

LocationRef LocationTable::at(uint32_t index) {
  std::optional<LocationRef>& slot = locations_.at(index);
  if (slot) return *slot;
  const mlir_bytecode::Entry& entry = container_.attributes[index];
  if (++depth_ > kMaxLocationDepth) {
    origin_.fail(origin_.offset(entry.bytes.data()), "locations are nested too deeply");
  }
  Location location = decode(index);
  --depth_;
  slot = location == Location{} ? nullptr : std::make_shared<const Location>(std::move(location));
  return *slot;
}

Location LocationTable::decode(uint32_t index) {
  const mlir_bytecode::Entry& entry = container_.attributes[index];
  // Locations that other dialects add say nothing here.
  if (entry.dialect != "builtin" || !entry.custom) return {};
  Cursor cursor(origin_, entry.bytes);
  Location location;
  const auto number = [&] {
    return cursor.index(container_.attributes.size(), "the number of an attribute");
  };
  const auto add = [&] {
    if (const LocationRef inner = at(number())) location = text::merge(std::move(location), *inner);
  };
  const uint64_t code = cursor.varint();
  switch (code) {
    case LocationCode::kCallSite:  // the callee, the caller
      add();
      add();
      break;
    case LocationCode::kFileLineColumn:
      location.file = attributes_.string(number(), cursor);
      location.line = line_of(cursor.varint());
      cursor.varint();
      break;
    case LocationCode::kFileRange: {  // up to four numbers, of which the line comes first
      location.file = attributes_.string(number(), cursor);
      const size_t numbers = cursor.count("the numbers of a location");
      for (size_t i = 0; i < numbers; ++i) {
        const uint64_t value = cursor.varint();
        if (i == 0) location.line = line_of(value);
      }
      break;
    }
    case LocationCode::kFused:
    case LocationCode::kFusedWithMetadata:
      for (size_t i = cursor.count("the parts of a location"); i > 0; --i) add();
      if (code == LocationCode::kFusedWithMetadata) number();
      break;
    case LocationCode::kName:
      location.name = attributes_.string(number(), cursor);
      add();
      break;
    case LocationCode::kUnknown:
      break;
    default:
      cursor.fail(fmt::format("found an attribute with code {}, expected a location", code));
  }
  cursor.expect_end("a location");
  return location;
}

}  // namespace spmd::vhlo
