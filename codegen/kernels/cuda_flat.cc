// Elements without reductions: a thread for each vector of them.
#include "codegen/kernels/cuda_printer.h"

namespace spmd::codegen::kernels {

void CudaPrinter::flat() {
  const size_t rank = kernel_.rows.size();
  const int64_t vectors = kernel_.num_rows() / width_;
  define_at_depth(0);
  const std::string_view type = index_type(vectors + kMostBlocks * kFlatThreads);
  open("for ({0} e = {3} * {0}({1}) + threadIdx.x; e < {2}; e += {4} * {0}({1}))", type,
       kFlatThreads, vectors, block_, num_blocks_);
  split("e", kernel_.rows, 'r', width_);
  for (size_t d = 1; d < rank; ++d) define_at_depth(d);
  if (width_ > 1) {
    load_vectors(row_nodes(0));
    begin_stores(kernel_.stores);
    open_vector(row(rank - 1));
  }
  for (int n : row_nodes(0))
    if (row_depth(n) == rank) define_element(n);
  for (const Store& store : kernel_.stores) store_element(store);
  if (width_ > 1) {
    close();
    end_stores(kernel_.stores);
  }
  close();
}

}  // namespace spmd::codegen::kernels
