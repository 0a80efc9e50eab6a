#include "runtime/device/cpu/packer.h"

#include <algorithm>

namespace spmd::cpu {

std::vector<int64_t> row_major(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

Packer::Packer(Iteration it, plan::DType stored, Lane lane, plan::DType round, bool unpack)
    : it_(std::move(it)),
      unpack_(unpack),
      dense_bytes_(lane_bytes(lane)),
      stored_bytes_(plan::byte_size(stored)) {
  drop_unit_dims(it_);
  sort_dims(it_, 1);
  join_dims(it_);
  if (it_.rank() == 0) it_ = {{1}, {{1}, {1}}};
  const size_t last = it_.rank() - 1;
  io_ = std::make_unique<TileIo>(stored, TileStrides{0, it_.stride(0, last)}, unused_);
  odometer_ = std::make_unique<Odometer>(it_, last);
  for (int64_t bytes = dense_bytes_; bytes > 1; bytes /= 2) ++dense_log2_;
  const Lane own = lane_of(stored);
  if (own != lane)
    convert_ = unpack ? loops().find_convert(lane, own) : loops().find_convert(own, lane);
  if (round != plan::INVALID && is_packed(round) && round != stored && own == Lane::kF32)
    round_ = loops().round[static_cast<int>(packed_of(round))];
}

void Packer::run(std::byte* view, std::byte* dense, std::byte* scratch) {
  odometer_->reset();
  const size_t last = it_.rank() - 1;
  const int64_t length = it_.shape[last];
  do {
    std::byte* v = view + odometer_->offset(0) * stored_bytes_;
    std::byte* d = dense + odometer_->offset(1) * dense_bytes_;
    for (int64_t begin = 0; begin < length; begin += kTile) {
      std::byte* from = v + begin * it_.stride(0, last) * stored_bytes_;
      std::byte* to = d + begin * it_.stride(1, last) * dense_bytes_;
      const int64_t n = std::min(kTile, length - begin);
      if (unpack_) {
        unpack_line(to, from, scratch, n);
      } else {
        pack_line(from, to, scratch, n);
      }
    }
  } while (odometer_->next());
}

void Packer::pack_line(const std::byte* view, std::byte* dense, std::byte* scratch,
                       int64_t n) const {
  const int64_t stride = it_.strides[1].back();
  std::byte* loaded = scratch + kTile * 16;
  std::byte* target = stride == 1 ? dense : scratch + 2 * kTile * 16;
  if (!convert_) loaded = target;
  io_->load(view, loaded, scratch, 1, n);
  const void* source = loaded;
  if (round_) round_(loaded, &source, n, 0);
  if (convert_) convert_(target, &source, n, 0);
  if (stride != 1) loops().copy[dense_log2_](dense, stride, target, 1, n);
}

void Packer::unpack_line(const std::byte* dense, std::byte* view, std::byte* scratch,
                         int64_t n) const {
  const void* source = dense;
  if (convert_) {
    std::byte* tile = scratch + kTile * 16;
    convert_(tile, &source, n, 0);
    source = tile;
  }
  io_->store(source, view, scratch, 1, n);
}

}  // namespace spmd::cpu
