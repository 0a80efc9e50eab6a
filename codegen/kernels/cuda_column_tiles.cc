// Reductions across memory: a warp for neighbouring rows, lines of warps for columns.
#include "codegen/kernels/cuda_printer.h"
#include "codegen/kernels/scalar_text.h"

namespace spmd::codegen::kernels {

void CudaPrinter::column_tiles() {
  const size_t last = kernel_.rows.size() - 1;
  const int64_t size = kernel_.rows[last], count = kernel_.num_rows() / size * tiles_;
  line("const int x = threadIdx.x % {0}, y = threadIdx.x / {0};", kWarp);
  shared_memory(lines_);
  define_at_depth(0);
  open("for (int64_t e = {}; e < {}; e += {})", block_, count, num_blocks_);
  Dims sizes = kernel_.rows;
  sizes[last] = tiles_;
  open_tile(sizes, size);
  if (strip_ > 1) {
    strip();
    close();
    return;
  }
  for (size_t d = 1; d <= kernel_.rows.size(); ++d) define_at_depth(d);
  for (int s = 0; s < kernel_.num_stages; ++s) {
    if (s > 0)
      for (int n : row_nodes(s)) define(n);
    store_rows(s, "y == 0 && in_tile");
    const std::vector<int> reductions = this->reductions(s);
    if (!reductions.empty() || !element_stores(s).empty()) tile_columns(s, reductions);
    for (int r : reductions) {
      if (lines_ > 1) combine_shared(r, "y", "true", fmt::format(" * {} + x", kWarp), lines_);
      finish(r);
    }
  }
  close();
}

void CudaPrinter::open_tile(const Dims& sizes, int64_t size) {
  const size_t last = sizes.size() - 1;
  std::string rest = "e";
  for (size_t d = last + 1; d-- > 0;) {
    const std::string name = d == last ? "tile" : row(d);
    if (d == 0) {
      line("const int64_t {} = {};", name, rest);
      break;
    }
    line("const int64_t q{} = {} / {};", d, rest, sizes[d]);
    line("const int64_t {} = {} - q{} * {};", name, rest, d, sizes[d]);
    rest = fmt::format("q{}", d);
  }
  if (strip_ > 1) {
    line("const bool in_tile = (tile * {} + x) * {} < {};", kWarp, strip_, size);
    line("const int64_t {} = in_tile ? (tile * {} + x) * {} : {};", row(last), kWarp, strip_,
         size - strip_);
    return;
  }
  line("const bool in_tile = tile * {} + x < {};", kWarp, size);
  line("const int64_t {} = in_tile ? tile * {} + x : {};", row(last), kWarp, size - 1);
}

template <typename Body>
void CudaPrinter::each_of_strip(const std::string& last, bool pairs, const Body& body) {
  line("#pragma unroll");
  open("for (int j = 0; j < {}; {})", strip_, pairs ? "j += 2" : "++j");
  line("const int64_t strip_{0} = {0}, {0} = strip_{0} + j;", last);
  body();
  close();
}

void CudaPrinter::strip() {
  for (size_t d = 1; d < kernel_.rows.size(); ++d) define_at_depth(d);
  const std::string last = row(kernel_.rows.size() - 1);
  const std::vector<int> reductions = this->reductions(0);
  for (int r : reductions)
    for (size_t i = 0; i < num_results(r); ++i)
      line("{} {}[{}];", accumulator_type(r, i), accumulator(r, i), strip_);
  index_accumulators("[j]");
  each_of_strip(last, false, [&] { begin_accumulators(reductions); });
  define_strip_rows(last);
  line("#pragma unroll 4");
  open("for ({0} f = y; f < {1}; f += {2})", index_type(kernel_.num_columns() + lines_),
       kernel_.num_columns(), lines_);
  split("f", kernel_.columns, 'c', 1);
  load_vectors(element_nodes(0));
  begin_stores(element_stores(0));
  each_of_strip(last, has_pairs_, [&] {
    for (int n : element_nodes(0)) define_element(n);
    for (const Store& store : element_stores(0)) store_element(store);
    accumulate(reductions);
  });
  if (!element_stores(0).empty()) {
    open("if (in_tile)");
    end_stores(element_stores(0));
    close();
  }
  close();
  if (lines_ > 1)
    for (int r : reductions) combine_strips(r);
  each_of_strip(last, false, [&] {
    for (int r : reductions) finish(r);
    for (int n : row_nodes(1)) define(n);
    store_rows(1, "y == 0 && in_tile");
  });
  index_accumulators("");
}

// What the rows of a strip have of their own before their columns begin.
void CudaPrinter::define_strip_rows(const std::string& last) {
  std::vector<int> own;
  for (int n : row_nodes(0))
    if (row_depth(n) == kernel_.rows.size()) own.push_back(n);
  if (own.empty()) return;
  for (int n : own) line("{} own{}[{}];", register_type(node(n).dtype), n, strip_);
  each_of_strip(last, false, [&] {
    for (int n : own) {
      define(n);
      line("own{}[j] = {};", n, value(n));
    }
  });
  for (int n : own) {
    set_name(n, fmt::format("own{}[j]", n));
    is_of_strip_[at(n)] = true;
  }
}

// Combines the lines' accumulators: a thread for each row of the tile. `j` counts a strip's rows.
void CudaPrinter::combine_strips(int r) {
  const int64_t width = kWarp * strip_;
  const auto each = [&](const char* format) {
    line("#pragma unroll");
    open("for (int j = 0; j < {}; ++j)", strip_);
    for (size_t i = 0; i < num_results(r); ++i)
      line("{}",
           fmt::format(fmt::runtime(format), accumulator(r, i), shared_name(r, i), width, strip_));
    close();
  };
  each("{1}[y * {2} + x * {3} + j] = {0};");
  line("__syncthreads();");
  open("for (int i = threadIdx.x; i < {}; i += {})", width, kWarp * lines_);
  std::vector<std::string> sums, others;
  for (size_t i = 0; i < num_results(r); ++i) {
    sums.push_back(fmt::format("sum{}", i));
    others.push_back(fmt::format("{}[g * {} + i]", shared_name(r, i), width));
    line("{} {} = {}[i];", accumulator_type(r, i), sums.back(), shared_name(r, i));
  }
  open("for (int g = 1; g < {}; ++g)", lines_);
  const std::vector<std::string> results = combine(r, sums, others);
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i] != sums[i]) line("{} = {};", sums[i], results[i]);
  close();
  for (size_t i = 0; i < num_results(r); ++i) line("{}[i] = {};", shared_name(r, i), sums[i]);
  close();
  line("__syncthreads();");
  each("{0} = {1}[x * {3} + j];");
  line("__syncthreads();");
}

void CudaPrinter::tile_columns(int s, const std::vector<int>& reductions) {
  const int64_t columns = kernel_.num_columns();
  begin_accumulators(reductions);
  line("#pragma unroll 4");
  open("for ({0} f = y; f < {1}; f += {2})", index_type(columns + lines_), columns, lines_);
  split("f", kernel_.columns, 'c', 1);
  for (int n : element_nodes(s)) define(n);
  if (!element_stores(s).empty()) {
    open("if (in_tile)");
    for (const Store& store : element_stores(s)) KernelPrinter::store(store);
    close();
  }
  accumulate(reductions);
  close();
}

}  // namespace spmd::codegen::kernels
