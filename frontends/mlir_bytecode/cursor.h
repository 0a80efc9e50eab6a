// Cursor: reads a part of the bytecode from front to back, never past its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "frontends/mlir_bytecode/origin.h"

namespace spmd::mlir_bytecode {

// Every reading function throws UserError with the byte's offset when the part ends too early.
class Cursor {
 public:
  // `part` lies in the bytecode of `origin`, which must outlive the cursor.
  Cursor(const Origin& origin, std::string_view part) : origin_(&origin), rest_(part) {}

  bool at_end() const { return rest_.empty(); }
  size_t remaining() const { return rest_.size(); }
  size_t offset() const { return origin_->offset(rest_.data()); }

  uint8_t byte();
  std::string_view bytes(uint64_t count);
  // The number of low zero bits of the first byte is the number of further bytes; what is left of
  // all of them, first byte lowest, is the value.
  uint64_t varint();
  // Zigzag: 0, -1, 1, -2, ...
  int64_t signed_varint();
  // A value and, in its lowest bit, a flag.
  std::pair<uint64_t, bool> flagged_varint();
  // Less than `limit`; `what` begins the message: "the number of a type".
  uint32_t index(size_t limit, std::string_view what);
  // A number of things that follow, each of at least `bytes_each` bytes.
  size_t count(std::string_view what, size_t bytes_each = 1);
  std::vector<int64_t> signed_varints();
  // Up to the zero byte, without it.
  std::string_view null_terminated();
  // Up to the next multiple of `alignment` in the bytecode.
  void align(uint64_t alignment);

  [[noreturn]] void fail(std::string_view fact) const { origin_->fail(offset(), fact); }
  // When something is left.
  void expect_end(std::string_view what) const;

 private:
  const Origin* origin_;
  std::string_view rest_;
};

}  // namespace spmd::mlir_bytecode
