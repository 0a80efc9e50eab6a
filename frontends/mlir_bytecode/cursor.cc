#include "frontends/mlir_bytecode/cursor.h"

#include <bit>

#include "support/error.h"

namespace spmd::mlir_bytecode {

uint8_t Cursor::byte() {
  if (rest_.empty()) fail("the file ends too early or is damaged here");
  const auto value = static_cast<uint8_t>(rest_[0]);
  rest_.remove_prefix(1);
  return value;
}

std::string_view Cursor::bytes(uint64_t count) {
  if (count > rest_.size()) {
    fail(fmt::format("found {} bytes, expected {}; the file is cut off or damaged", rest_.size(),
                     count));
  }
  const std::string_view found = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return found;
}

uint64_t Cursor::varint() {
  const uint8_t first = byte();
  const int more = std::countr_zero(first);  // 8 when it is zero
  const std::string_view rest = bytes(static_cast<uint64_t>(more));
  uint64_t high = 0;
  for (size_t i = rest.size(); i-- > 0;) high = high << 8 | static_cast<uint8_t>(rest[i]);
  if (more == 8) return high;
  return high << (7 - more) | static_cast<uint64_t>(first >> (more + 1));
}

int64_t Cursor::signed_varint() {
  const uint64_t value = varint();
  return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

std::pair<uint64_t, bool> Cursor::flagged_varint() {
  const uint64_t value = varint();
  return {value >> 1, (value & 1) != 0};
}

uint32_t Cursor::index(size_t limit, std::string_view what) {
  const size_t start = offset();
  const uint64_t value = varint();
  if (value >= limit) {
    origin_->fail(start, fmt::format("{} is {}, expected less than {}", what, value, limit));
  }
  return static_cast<uint32_t>(value);
}

size_t Cursor::count(std::string_view what, size_t bytes_each) {
  const size_t start = offset();
  const uint64_t value = varint();
  if (value > remaining() / bytes_each) {
    origin_->fail(start, fmt::format("{} is {}, more than the {} bytes that follow can hold", what,
                                     value, remaining()));
  }
  return value;
}

std::vector<int64_t> Cursor::signed_varints() {
  std::vector<int64_t> values(count("the length of a list"));
  for (int64_t& value : values) value = signed_varint();
  return values;
}

std::string_view Cursor::null_terminated() {
  const size_t length = rest_.find('\0');
  if (length == std::string_view::npos) fail("a string has no end");
  const std::string_view found = bytes(length);
  byte();
  return found;
}

void Cursor::align(uint64_t alignment) {
  if (!std::has_single_bit(alignment)) {
    fail(fmt::format("an alignment is {}, expected a power of 2", alignment));
  }
  constexpr uint8_t kPadding = 0xCB;
  while (offset() % alignment != 0) {
    if (byte() != kPadding) fail("found other padding than 0xCB");
  }
}

void Cursor::expect_end(std::string_view what) const {
  if (!at_end()) fail(fmt::format("{} bytes follow the end of {}", rest_.size(), what));
}

}  // namespace spmd::mlir_bytecode
