// CudaPrinter: a kernel's text in CUDA. One file for each of its concerns: how the kernel is laid
// out over threads (cuda_launch.cc), vectors (cuda_vectors.cc) and pairs (cuda_pairs.cc),
// reductions (cuda_reductions.cc), and the loops of each mapping (cuda_flat.cc, cuda_rows.cc,
// cuda_column_tiles.cc).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/kernels/kernel_printer.h"
#include "codegen/kernels/pair_text.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::codegen::kernels {

class CudaPrinter final : public KernelPrinter {
 public:
  static constexpr int64_t kWarp = 32;

  CudaPrinter(const Kernel& kernel, std::string& out) : KernelPrinter(kernel, out) {
    has_half_functions_ = true;
    choose_launch();
    find_element_nodes();
    is_pair_.assign(kernel_.nodes.size(), false);
    is_of_strip_ = is_pair_;
    has_pairs_ = width_ % 2 == 0 && any_vector_of_16_bits();
    if (kernel_.mapping == Mapping::kRows) keep_for_later();
  }

  // Appends the kernel as `name`; returns how it is launched.
  plan::Kernel print(const std::string& name);

 private:
  static constexpr int64_t kVectorBytes = 16;
  static constexpr int64_t kFlatThreads = 256;
  // Blocks beyond this many take turns: several waves of the largest GPU.
  static constexpr int64_t kMostBlocks = 4096;

  static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

  // ---- how the kernel is laid out: sets the members at the end, and clears Node::kept where there
  // ---- are too few registers

  void choose_launch();
  // Of one row; a block has several rows where that is a warp.
  void set_row_threads(int64_t threads);
  void choose_width();
  void choose_strip();
  bool has_vectors() const;
  // What a node's elements take of a thread's registers while they are kept.
  int64_t kept_bytes(int n) const;
  // Marks as kept what later stages go on from, if there are registers for it.
  void keep_for_later();

  // The part of a launch that does one member of a group.
  void choose_member();

  // ---- indices

  // Type of numbers up to `count` plus a grid's stride.
  static std::string_view index_type(int64_t count);
  // Defines the variables of an index space from `number`, a term, that counts vectors of `width`
  // along the innermost dimension.
  void split(const std::string& number, const Dims& sizes, char variable, int64_t width);

  // ---- vectors: `width_` neighbouring elements, `w<access>.v[j]`

  // Sizes and an access's strides of the space along whose innermost dimension vectors lie.
  const Dims& vector_dims() const;
  const Dims& vector_strides(const Access& access) const;
  // Whether `width_` neighbouring elements are one aligned vector in memory.
  bool is_vector(const Access& access) const;
  static int64_t stored_bytes(const Access& access);
  std::string vector_type(const Access& access) const;
  // Element j + e of an access's vector, inside of open_vector(); a pair is one.
  std::string vector_element(int a, int e = 0) const;
  std::vector<int> accesses_of(const std::vector<int>& nodes) const;
  void load_vectors(const std::vector<int>& nodes);
  void begin_stores(const std::vector<Store>& stores);
  void end_stores(const std::vector<Store>& stores);
  // The loop over a vector's elements; `variable` is the innermost index variable.
  void open_vector(const std::string& variable);

  // ---- the element, or the pair of neighbours, that open_vector() is at. With pairs, each node
  // has
  // ---- two elements: one register for 16 bits, else two variables.

  bool any_vector_of_16_bits() const;
  bool is_paired(plan::DType dtype) const { return has_pairs_ && has_pairs(dtype); }
  int elements_at_once() const { return has_pairs_ ? 2 : 1; }
  void define_element(int n);
  void store_element(const Store& store);
  // Element `e` of a node, a term.
  std::string element_value(int n, int e) const;
  // Both elements of a node of 16 bits.
  std::string pair_value(int n) const;
  std::string pair_definition(int n) const;
  // What element `e` is; the result of an operation before it is rounded to 16 bits.
  std::string element_definition(int n, int e) const;
  std::string element_index(const Strides& strides, int e) const;
  std::string element_in_memory(int a, int e) const;

  // ---- loops

  void flat() override;
  void rows() override;
  void column_tiles() override;

  // Stage `s` of a row: what one thread stores for the row, and the turns over its columns.
  void store_rows(int s, const std::string& condition);
  void columns(int s);
  void element_body(int s, const std::vector<int>& reductions);
  // Nodes that are kept: arrays of a row's elements that a thread has.
  void declare_kept();
  std::string kept_element(int n, int e = 0) const;
  void keep(int n);
  void name_kept(int n);
  // Turns of a row's threads over its columns.
  int64_t turns() const;

  // A tile; threads beyond its last row compute that again and store nothing.
  void open_tile(const Dims& sizes, int64_t size);
  void tile_columns(int s, const std::vector<int>& reductions);
  // A tile of a thread's `strip_` neighbouring rows, whose elements are vectors in memory.
  void strip();
  void define_strip_rows(const std::string& last);
  void combine_strips(int r);
  template <typename Body>
  void each_of_strip(const std::string& last, bool pairs, const Body& body);

  // ---- reductions

  size_t num_results(int r) const;
  std::vector<std::string> accumulators(int r) const;
  void assign(int r, const std::vector<std::string>& values);
  void begin_accumulators(const std::vector<int>& reductions);
  void accumulate(const std::vector<int>& reductions);
  // Places for the partial results of `count` warps or lines, which reductions use in turn.
  void shared_memory(int64_t count);
  std::string shared_name(int r, size_t i) const;
  // Leaves the whole row's result in every thread.
  void combine_threads(int r);
  // Combines accumulators that `count` groups of threads have, through shared memory at
  // [group <suffix>].
  void combine_shared(int r, const std::string& group, const std::string& condition,
                      const std::string& suffix, int64_t count);
  // The initial value of one op joins at the end.
  void finish(int r);

  struct Launch {
    int64_t blocks = 1;
    int threads = 1;
  };
  Launch launch_;  // of one member
  // The number of the block, and how many there are.
  std::string block_ = "blockIdx.x", num_blocks_ = "gridDim.x";
  int64_t width_ = 1;           // elements of a vector
  int64_t row_threads_ = 1;     // of one row
  int64_t rows_per_block_ = 1;  // kRows
  int64_t tiles_ = 1;           // of the innermost row dimension
  int64_t lines_ = 1;           // warps of a tile
  int64_t strip_ = 1;           // rows of a thread in a tile; then also `width_`
  bool has_pairs_ = false;
  // By node: it is two elements; a value per row of which the strip has an array.
  std::vector<bool> is_pair_, is_of_strip_;
};

}  // namespace spmd::codegen::kernels
