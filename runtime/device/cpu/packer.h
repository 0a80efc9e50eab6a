// Copying operands into dense storage of the type that they are computed in, and results back.
#pragma once

#include <memory>

#include "runtime/device/cpu/iteration.h"
#include "runtime/device/cpu/tile_io.h"

namespace spmd::cpu {

std::vector<int64_t> row_major(const std::vector<int64_t>& shape);
inline int64_t align_workspace(int64_t bytes) { return (bytes + 63) / 64 * 64; }

class Packer {
 public:
  // Workspace that run() may use, at its start.
  static constexpr int64_t kScratch = 3 * kTile * 16;

  // Operand 0 of `it` is a view of `stored` elements, operand 1 storage of `lane` elements.
  // `round`: the type to which elements are rounded while packing, or INVALID. Unpacking wants the
  // storage dense along its innermost dimension.
  Packer(Iteration it, plan::DType stored, Lane lane, plan::DType round, bool unpack);

  void run(std::byte* view, std::byte* dense, std::byte* scratch);

 private:
  void pack_line(const std::byte* view, std::byte* dense, std::byte* scratch, int64_t n) const;
  void unpack_line(const std::byte* dense, std::byte* view, std::byte* scratch, int64_t n) const;

  Iteration it_;
  bool unpack_;
  int64_t dense_bytes_, stored_bytes_;
  int64_t unused_ = 0;
  int dense_log2_ = 0;
  std::unique_ptr<TileIo> io_;
  std::unique_ptr<Odometer> odometer_;
  TileLoop convert_ = nullptr, round_ = nullptr;
};

}  // namespace spmd::cpu
