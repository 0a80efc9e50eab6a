// Reductions along memory: a warp or a block for each row.
#include <algorithm>

#include "codegen/kernels/cuda_printer.h"
#include "codegen/kernels/scalar_text.h"

namespace spmd::codegen::kernels {

void CudaPrinter::rows() {
  const int64_t count = kernel_.num_rows();
  line("const int t = threadIdx.x % {};", row_threads_);
  shared_memory(row_threads_ / kWarp);
  define_at_depth(0);
  const std::string_view type = index_type(count + kMostBlocks * rows_per_block_);
  open("for ({0} e = {4} * {0}({1}) + threadIdx.x / {2}; e < {3}; e += {5} * {0}({1}))", type,
       rows_per_block_, row_threads_, count, block_, num_blocks_);
  split("e", kernel_.rows, 'r', 1);
  for (size_t d = 1; d <= kernel_.rows.size(); ++d) define_at_depth(d);
  declare_kept();
  for (int s = 0; s < kernel_.num_stages; ++s) {
    if (s > 0)
      for (int n : row_nodes(s)) define(n);
    store_rows(s, "t == 0");
    if (!reductions(s).empty() || !element_stores(s).empty()) columns(s);
    for (int r : reductions(s)) combine_threads(r);
  }
  close();
}

void CudaPrinter::store_rows(int s, const std::string& condition) {
  if (row_stores(s).empty()) return;
  open("if ({})", condition);
  for (const Store& store : row_stores(s)) KernelPrinter::store(store);
  close();
}

int64_t CudaPrinter::turns() const {
  return ceil_div(kernel_.num_columns() / width_, row_threads_);
}

void CudaPrinter::columns(int s) {
  const int64_t vectors = kernel_.num_columns() / width_;
  const std::vector<int> reductions = this->reductions(s);
  begin_accumulators(reductions);
  if (std::any_of(kernel_.nodes.begin(), kernel_.nodes.end(),
                  [](const Node& node) { return node.kept; }))
    line("#pragma unroll");
  open("for (int turn = 0; turn < {}; ++turn)", turns());
  line("const {0} f = turn * {0}({1}) + t;", index_type(vectors + row_threads_), row_threads_);
  if (vectors % row_threads_ != 0) line("if (turn == {} && f >= {}) break;", turns() - 1, vectors);
  split("f", kernel_.columns, 'c', width_);
  if (width_ > 1) {
    std::vector<int> fresh;
    for (int n : element_nodes(s))
      if (!is_kept_from_before(n, s)) fresh.push_back(n);
    load_vectors(fresh);
    begin_stores(element_stores(s));
    open_vector(column(kernel_.columns.size() - 1));
  } else {
    line("constexpr int j = 0;");
  }
  element_body(s, reductions);
  if (width_ > 1) {
    close();
    end_stores(element_stores(s));
  }
  close();
}

void CudaPrinter::declare_kept() {
  for (size_t n = 0; n < kernel_.nodes.size(); ++n) {
    const Node& node = kernel_.nodes[n];
    if (!node.kept) continue;
    if (is_paired(node.dtype))
      line("uint32_t kept{}[{}];", n, turns() * width_ / 2);
    else
      line("{} kept{}[{}];", register_type(node.dtype), n, turns() * width_);
  }
}

std::string CudaPrinter::kept_element(int n, int e) const {
  if (is_paired(node(n).dtype)) return fmt::format("kept{}[(turn * {} + j) / 2]", n, width_);
  return fmt::format("kept{}[turn * {} + j + {}]", n, width_, e);
}

void CudaPrinter::keep(int n) {
  if (!has_pairs_ || is_paired(node(n).dtype)) {
    line("{} = {};", kept_element(n), value(n));
    return;
  }
  for (int e = 0; e < 2; ++e) line("{} = {};", kept_element(n, e), element_value(n, e));
}

void CudaPrinter::name_kept(int n) {
  if (!has_pairs_ || is_paired(node(n).dtype)) return set_name(n, kept_element(n));
  const std::string name = fmt::format("v{}", n);
  for (int e = 0; e < 2; ++e)
    line("const {} {}_{} = {};", register_type(node(n).dtype), name, e, kept_element(n, e));
  set_name(n, name);
}

void CudaPrinter::element_body(int s, const std::vector<int>& reductions) {
  for (int n : element_nodes(s)) {
    if (is_kept_from_before(n, s)) {
      name_kept(n);
      continue;
    }
    define_element(n);
    if (node(n).kept) keep(n);
  }
  for (const Store& store : element_stores(s)) store_element(store);
  accumulate(reductions);
}

}  // namespace spmd::codegen::kernels
