#include "runtime/device/cpu/tile_io.h"

#include <cstring>

namespace spmd::cpu {
namespace {

int log2_of(int64_t bytes) {
  int log2 = 0;
  for (; bytes > 1; bytes /= 2) ++log2;
  return log2;
}

}  // namespace

void load_element(plan::DType dtype, const std::byte* from, void* to) {
  if (is_packed(dtype)) {
    const void* stored = from;
    loops().widen[static_cast<int>(packed_of(dtype))](to, &stored, 1, 0);
  } else {
    std::memcpy(to, from, static_cast<size_t>(plan::byte_size(dtype)));
  }
}

void store_element(plan::DType dtype, const void* from, std::byte* to) {
  if (is_packed(dtype)) {
    loops().narrow[static_cast<int>(packed_of(dtype))](to, &from, 1, 0);
  } else {
    std::memcpy(to, from, static_cast<size_t>(plan::byte_size(dtype)));
  }
}

void broadcast_element(std::byte* data, int64_t bytes, int64_t n) {
  loops().copy[log2_of(bytes)](data, 1, data, 0, n);
}

TileIo::TileIo(plan::DType dtype, TileStrides strides, int64_t& workspace)
    : dtype_(dtype),
      strides_(strides),
      bytes_(plan::byte_size(dtype)),
      log2_(log2_of(bytes_)),
      packed_(is_packed(dtype)),
      slot_(workspace) {
  workspace += kTile * lane_bytes(lane_of(dtype));
}

void TileIo::load(const std::byte* from, void* to, std::byte* scratch, int64_t rows,
                  int64_t columns) const {
  const LoopTable& table = loops();
  std::byte* stored = packed_ ? scratch : static_cast<std::byte*>(to);
  const std::byte* dense = stored;
  if (is_dense(rows, columns)) {
    dense = from;
    if (!packed_) std::memcpy(to, from, static_cast<size_t>(rows * columns * bytes_));
  } else if (rows > 1 && strides_.row == 1 && strides_.column != 1) {
    table.transpose[log2_](stored, columns, from, strides_.column, rows, columns);
  } else {
    for (int64_t r = 0; r < rows; ++r)
      table.copy[log2_](stored + r * columns * bytes_, 1, from + r * strides_.row * bytes_,
                        strides_.column, columns);
  }
  if (packed_) {
    const void* source = dense;
    table.widen[static_cast<int>(packed_of(dtype_))](to, &source, rows * columns, 0);
  }
}

void TileIo::store(const void* from, std::byte* to, std::byte* scratch, int64_t rows,
                   int64_t columns) const {
  const LoopTable& table = loops();
  const bool dense = is_dense(rows, columns);
  if (packed_) {
    void* stored = dense ? to : scratch;
    table.narrow[static_cast<int>(packed_of(dtype_))](stored, &from, rows * columns, 0);
    if (dense) return;
    from = scratch;
  } else if (dense) {
    std::memcpy(to, from, static_cast<size_t>(rows * columns * bytes_));
    return;
  }
  const auto* source = static_cast<const std::byte*>(from);
  for (int64_t r = 0; r < rows; ++r)
    table.copy[log2_](to + r * strides_.row * bytes_, strides_.column,
                      source + r * columns * bytes_, 1, columns);
}

}  // namespace spmd::cpu
