// Moving tiles between strided memory and registers.
#pragma once

#include <cstddef>

#include "runtime/device/cpu/tile_program.h"

namespace spmd::cpu {

struct TileStrides {
  int64_t row = 0, column = 0;  // elements
};

// Widens one stored element into a register.
void load_element(plan::DType dtype, const std::byte* from, void* to);
// Rounds one register element to its stored form.
void store_element(plan::DType dtype, const void* from, std::byte* to);
// Repeats the element at `data` n times.
void broadcast_element(std::byte* data, int64_t bytes, int64_t n);

// One operand's side of a tile.
class TileIo {
 public:
  // Takes a slot for a tile at `workspace`, which is moved behind it.
  TileIo(plan::DType dtype, TileStrides strides, int64_t& workspace);

  TileStrides strides() const { return strides_; }
  int64_t element_bytes() const { return bytes_; }
  int64_t slot() const { return slot_; }

  // Whether a tile lies in memory as it would lie in a register.
  bool is_direct(int64_t rows, int64_t columns) const {
    return !packed_ && (strides_.column == 1 || columns == 1) &&
           (rows == 1 || strides_.row == columns);
  }
  // Between memory and a register; `scratch` is room for a tile in stored form.
  void load(const std::byte* from, void* to, std::byte* scratch, int64_t rows,
            int64_t columns) const;
  void store(const void* from, std::byte* to, std::byte* scratch, int64_t rows,
             int64_t columns) const;

 private:
  bool is_dense(int64_t rows, int64_t columns) const {
    return (strides_.column == 1 || columns == 1) && (rows == 1 || strides_.row == columns);
  }

  plan::DType dtype_;
  TileStrides strides_;
  int64_t bytes_;
  int log2_ = 0;
  bool packed_;
  int64_t slot_;
};

}  // namespace spmd::cpu
