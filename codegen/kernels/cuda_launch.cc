// How a kernel is laid out over blocks, threads and vectors.
#include <algorithm>

#include "codegen/kernels/cuda_printer.h"
#include "codegen/kernels/keep.h"

namespace spmd::codegen::kernels {
namespace {

// Elements of a vector.
constexpr int64_t kMostElements = 8;
// Rows of up to this many vectors are a warp's work, longer ones a block's.
constexpr int64_t kWarpVectors = 8 * CudaPrinter::kWarp;
constexpr int64_t kRowsOfWarps = 4;
// Neighbouring rows of a thread where it sums columns.
constexpr int64_t kMostStrip = 4;
// Values of a row that a thread keeps in registers.
constexpr int64_t kMostKept = 32;
// Of its registers, the bytes for what later stages go on from, in so many turns; in blocks of more
// than kFlatThreads it has 64 registers in all.
constexpr int64_t kMostKeptBytes = 256, kMostKeptByMany = 64, kMostTurns = 8;
// With more than this, too few warps are there to wait for memory: rows get more threads.
constexpr int64_t kManyKeptBytes = 128;

}  // namespace

void CudaPrinter::choose_width() {
  const Dims& dims = vector_dims();
  if (kernel_.mapping == Mapping::kColumnTiles || dims.empty()) return;
  // What a thread reads besides its first 16 bytes is in the cache by then. What it writes besides
  // is half a sector of 32 bytes again, twice the writes: elementwise kernels, which write much,
  // have no more of anything that they write.
  int64_t smallest = kVectorBytes, largest_written = 1;
  for (const Access& access : kernel_.accesses) {
    if (vector_strides(access).empty() || vector_strides(access).back() != 1) continue;
    smallest = std::min(smallest, stored_bytes(access));
    if (access.writes) largest_written = std::max(largest_written, stored_bytes(access));
  }
  width_ = std::min(kVectorBytes / smallest, kMostElements);
  if (kernel_.mapping == Mapping::kFlat) width_ = std::min(width_, kVectorBytes / largest_written);
  while (width_ > 1 && dims.back() % width_ != 0) width_ /= 2;
  if (std::none_of(kernel_.accesses.begin(), kernel_.accesses.end(),
                   [&](const Access& access) { return is_vector(access); }))
    width_ = 1;
}

// Rows of a thread's own in a tile. A sum that only begins and ends per row has several, so that
// enough is read at once; those that look at their elements again have one.
void CudaPrinter::choose_strip() {
  const bool simple = kernel_.num_stages == 2 && element_stores(1).empty() && row_stores(0).empty();
  if (!simple) return;
  width_ = strip_ = kMostStrip;
  while (strip_ > 1 && (kernel_.rows.back() % strip_ != 0 || kernel_.rows.back() / strip_ < kWarp ||
                        !has_vectors()))
    width_ = strip_ = strip_ / 2;
}

// Something is read along the rows, and what is stored lies along them.
bool CudaPrinter::has_vectors() const {
  const std::vector<Store> stores = element_stores(0);
  return std::all_of(stores.begin(), stores.end(),
                     [&](const Store& store) { return is_vector(access(store.access)); }) &&
         std::any_of(kernel_.accesses.begin(), kernel_.accesses.end(),
                     [&](const Access& access) { return !access.writes && is_vector(access); });
}

void CudaPrinter::choose_launch() {
  choose_width();
  const int64_t rows = kernel_.num_rows(), columns = kernel_.num_columns();
  if (kernel_.mapping == Mapping::kFlat) {
    launch_ = {ceil_div(rows / width_, kFlatThreads), kFlatThreads};
  } else if (kernel_.mapping == Mapping::kRows) {
    const int64_t vectors = columns / width_;
    set_row_threads(vectors <= kWarpVectors ? kWarp : vectors <= 4096 ? 256 : 1024);
    const int64_t kept = ceil_div(vectors, row_threads_) * width_;
    for (Node& node : kernel_.nodes) node.kept = node.kept && kept <= kMostKept;
  } else {
    for (Node& node : kernel_.nodes) node.kept = false;
    choose_strip();
    tiles_ = ceil_div(kernel_.rows.back(), kWarp * strip_);
    const int64_t blocks = rows / kernel_.rows.back() * tiles_;
    lines_ = std::clamp<int64_t>(columns / 4, 1, blocks < 256 ? 32 : strip_ > 1 ? 16 : 8);
    while ((lines_ & (lines_ - 1)) != 0) lines_ &= lines_ - 1;
    launch_ = {blocks, static_cast<int>(kWarp * lines_)};
  }
  launch_.blocks = std::clamp<int64_t>(launch_.blocks, 1, kMostBlocks);
}

void CudaPrinter::set_row_threads(int64_t threads) {
  const int64_t rows = kernel_.num_rows();
  row_threads_ = threads;
  rows_per_block_ = threads == kWarp ? std::min(kRowsOfWarps, rows) : 1;
  launch_ = {std::min(ceil_div(rows, rows_per_block_), kMostBlocks),
             static_cast<int>(threads * rows_per_block_)};
}

int64_t CudaPrinter::kept_bytes(int n) const {
  const int64_t each = is_paired(node(n).dtype) ? 2 : node(n).dtype == plan::F64 ? 8 : 4;
  return turns() * width_ * each;
}

void CudaPrinter::keep_for_later() {
  const std::vector<int> kept = kept_for_later(kernel_, element_nodes());
  const auto bytes = [&] {
    int64_t sum = 0;
    for (size_t n = 0; n < kernel_.nodes.size(); ++n)
      if (kernel_.nodes[n].kept) sum += kept_bytes(static_cast<int>(n));
    for (int n : kept) sum += kept_bytes(n);
    return sum;
  };
  const int64_t most = launch_.threads > kFlatThreads ? kMostKeptByMany : kMostKeptBytes;
  if (bytes() > most || turns() > kMostTurns) return;
  while (bytes() > kManyKeptBytes && row_threads_ < kFlatThreads && turns() > 1)
    set_row_threads(2 * row_threads_);
  for (int n : kept) kernel_.nodes[at(n)].kept = true;
  find_element_nodes();
}

}  // namespace spmd::codegen::kernels
