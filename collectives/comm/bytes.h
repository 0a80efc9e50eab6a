// Untyped memory by byte offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace spmd::comm {

inline std::byte* at(void* base, int64_t offset) { return static_cast<std::byte*>(base) + offset; }
inline const std::byte* at(const void* base, int64_t offset) {
  return static_cast<const std::byte*>(base) + offset;
}

// Nothing to do for no bytes or a copy onto itself.
inline void copy_bytes(void* to, const void* from, int64_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<size_t>(bytes));
}

}  // namespace spmd::comm
