// The CUDA dialect: blocks and threads.
#include <algorithm>
#include <set>

#include "codegen/kernels/emit.h"
#include "codegen/kernels/keep.h"
#include "codegen/kernels/kernel_printer.h"
#include "codegen/kernels/pair_text.h"
#include "codegen/kernels/prelude.h"
#include "codegen/kernels/scalar_text.h"

namespace spmd::codegen::kernels {
namespace {

constexpr int64_t kWarp = 32;
constexpr int64_t kVectorBytes = 16, kMostElements = 8;
// Blocks beyond this many take turns: several waves of the largest GPU.
constexpr int64_t kMostBlocks = 4096;
constexpr int64_t kFlatThreads = 256;
// Rows of up to this many vectors are a warp's work, longer ones a block's.
constexpr int64_t kWarpVectors = 8 * kWarp;
constexpr int64_t kRowsOfWarps = 4;
// Neighbouring rows of a thread where it sums columns.
constexpr int64_t kMostStrip = 4;
// Values of a row that a thread keeps in registers.
constexpr int64_t kMostKept = 32;
// Of its registers, the bytes for what later stages go on from, in so many turns; in blocks of more
// than kFlatThreads it has 64 registers in all.
constexpr int64_t kMostKeptBytes = 256, kMostKeptByMany = 64, kMostTurns = 8;

struct Launch {
  int64_t blocks = 1;
  int threads = 1;
};

class CudaPrinter final : public KernelPrinter {
 public:
  CudaPrinter(const Kernel& kernel, std::string& out) : KernelPrinter(kernel, out) {
    has_half_functions_ = true;
    choose_launch();
    find_element_nodes();
    has_pairs_ = width_ % 2 == 0 && any_vector_of_16_bits();
    is_pair_.assign(kernel_.nodes.size(), false);
    if (kernel_.mapping == Mapping::kRows) keep_for_later();
  }

  plan::Kernel print(const std::string& name) {
    open("extern \"C\" __global__ void __launch_bounds__({}) {}(const Args<{}> args)",
         launch_.threads, name, kernel_.num_arguments);
    // Kernels with columns write to no buffer that they read: lower(). So loads need not wait for
    // stores of the turn before.
    body("args.p", kernel_.mapping == Mapping::kFlat ? "" : "__restrict__ ");
    close();
    plan::Kernel result;
    result.set_name(name);
    result.set_arguments(kernel_.num_arguments);
    result.set_blocks(launch_.blocks);
    result.set_threads(launch_.threads);
    return result;
  }

 private:
  // ---- decisions

  static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

  const Dims& vector_dims() const {
    return kernel_.mapping == Mapping::kRows ? kernel_.columns : kernel_.rows;
  }
  const Dims& vector_strides(const Access& access) const {
    return kernel_.mapping == Mapping::kRows ? access.strides.columns : access.strides.rows;
  }

  // Whether `width_` neighbouring elements are one aligned vector in memory.
  bool is_vector(const Access& access) const {
    const Dims& strides = vector_strides(access);
    if (width_ == 1 || strides.empty() || strides.back() != 1) return false;
    const int64_t size = plan_size(access), bytes = std::min(kVectorBytes, width_ * size);
    if (access.alignment < bytes) return false;
    const auto aligned = [&](const Dims& dims) {
      return std::all_of(dims.begin(), dims.end(),
                         [&](int64_t stride) { return stride == 1 || stride * size % bytes == 0; });
    };
    const auto ones = std::count(access.strides.rows.begin(), access.strides.rows.end(), 1) +
                      std::count(access.strides.columns.begin(), access.strides.columns.end(), 1);
    return ones == 1 && aligned(access.strides.rows) && aligned(access.strides.columns);
  }
  static int64_t plan_size(const Access& access) {
    const std::string_view type = stored_type(access.dtype);
    if (type == "double" || type.find("64") != std::string_view::npos) return 8;
    if (type == "float" || type.find("32") != std::string_view::npos) return 4;
    return type.find("16") != std::string_view::npos ? 2 : 1;
  }

  void choose_width() {
    const Dims& dims = vector_dims();
    if (kernel_.mapping == Mapping::kColumnTiles || dims.empty()) return;
    int64_t smallest = kVectorBytes;
    for (const Access& access : kernel_.accesses)
      if (!vector_strides(access).empty() && vector_strides(access).back() == 1)
        smallest = std::min(smallest, plan_size(access));
    width_ = std::min(kVectorBytes / smallest, kMostElements);
    while (width_ > 1 && dims.back() % width_ != 0) width_ /= 2;
    if (std::none_of(kernel_.accesses.begin(), kernel_.accesses.end(),
                     [&](const Access& access) { return is_vector(access); }))
      width_ = 1;
  }

  // Rows of a thread's own in a tile. A sum that only begins and ends per row has several, so that
  // enough is read at once; those that look at their elements again have one.
  void choose_strip() {
    const auto uses_row = [&](const Node& node) {
      return node.per_row && node.stage == 0 && node.kind != Node::Kind::kConstant &&
             row_depth(static_cast<int>(&node - kernel_.nodes.data())) == kernel_.rows.size();
    };
    const bool simple = kernel_.num_stages == 2 &&
                        std::none_of(kernel_.nodes.begin(), kernel_.nodes.end(), uses_row) &&
                        element_stores(1).empty() && row_stores(0).empty();
    if (!simple) return;
    width_ = strip_ = kMostStrip;
    while (strip_ > 1 && (kernel_.rows.back() % strip_ != 0 ||
                          kernel_.rows.back() / strip_ < kWarp || !has_vectors()))
      width_ = strip_ = strip_ / 2;
  }
  // Something is read along the rows, and what is stored lies along them.
  bool has_vectors() const {
    const std::vector<Store> stores = element_stores(0);
    return std::all_of(stores.begin(), stores.end(),
                       [&](const Store& store) { return is_vector(access(store.access)); }) &&
           std::any_of(kernel_.accesses.begin(), kernel_.accesses.end(),
                       [&](const Access& access) { return !access.writes && is_vector(access); });
  }

  void choose_launch() {
    choose_width();
    const int64_t rows = kernel_.num_rows(), columns = kernel_.num_columns();
    if (kernel_.mapping == Mapping::kFlat) {
      launch_ = {ceil_div(rows / width_, kFlatThreads), kFlatThreads};
    } else if (kernel_.mapping == Mapping::kRows) {
      const int64_t vectors = columns / width_;
      row_threads_ = vectors <= kWarpVectors ? kWarp : vectors <= 4096 ? 256 : 1024;
      rows_per_block_ = row_threads_ == kWarp ? std::min(kRowsOfWarps, rows) : 1;
      launch_ = {ceil_div(rows, rows_per_block_), static_cast<int>(row_threads_ * rows_per_block_)};
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

  // Of a row's values, in a thread's registers.
  int64_t kept_bytes(int n) const {
    const int64_t each = is_paired(node(n).dtype) ? 2 : node(n).dtype == plan::F64 ? 8 : 4;
    return turns() * width_ * each;
  }

  void keep_for_later() {
    int64_t bytes = 0;
    for (size_t n = 0; n < kernel_.nodes.size(); ++n)
      if (kernel_.nodes[n].kept) bytes += kept_bytes(static_cast<int>(n));
    const std::vector<int> kept = kept_for_later(kernel_, element_nodes());
    for (int n : kept) bytes += kept_bytes(n);
    const int64_t most = launch_.threads > kFlatThreads ? kMostKeptByMany : kMostKeptBytes;
    if (bytes > most || turns() > kMostTurns) return;
    for (int n : kept) kernel_.nodes[at(n)].kept = true;
    find_element_nodes();
  }

  // ---- indices

  // Type of numbers up to `count` plus a grid's stride.
  static std::string_view index_type(int64_t count) {
    return count < (int64_t{1} << 30) ? "uint32_t" : "int64_t";
  }

  // Defines the variables of an index space from `number`, a term, that counts vectors of `width`
  // along the innermost dimension.
  void split(const std::string& number, const Dims& sizes, char variable, int64_t width) {
    std::string rest = number;
    int64_t count = 1;
    for (int64_t size : sizes) count *= size;
    for (size_t d = sizes.size(); d-- > 0;) {
      const int64_t size = d + 1 == sizes.size() ? sizes[d] / width : sizes[d];
      const std::string times =
          d + 1 == sizes.size() && width > 1 ? fmt::format(" * {}", width) : std::string();
      if (d == 0) {
        line("const int64_t {}0 = int64_t({}){};", variable, rest, times);
        break;
      }
      const std::string quotient = fmt::format("q{}_{}", variable, d);
      line("const {} {} = {} / {};", index_type(count), quotient, rest, size);
      line("const int64_t {}{} = int64_t({} - {} * {}){};", variable, d, rest, quotient, size,
           times);
      rest = quotient;
    }
  }

  // ---- vectors

  bool is_paired(plan::DType dtype) const { return has_pairs_ && has_pairs(dtype); }

  bool any_vector_of_16_bits() const {
    return std::any_of(kernel_.accesses.begin(), kernel_.accesses.end(), [&](const Access& access) {
      return has_pairs(access.dtype) && is_vector(access);
    });
  }

  std::string vector_type(const Access& access) const {
    if (is_paired(access.dtype)) return fmt::format("Vec<uint32_t, {}>", width_ / 2);
    return fmt::format("Vec<{}, {}>", stored_type(access.dtype), width_);
  }
  // Element `e` of the vector of an access that the loop over its elements is at; pairs are one.
  std::string vector_element(int a, int e = 0) const {
    if (is_paired(access(a).dtype)) return fmt::format("w{}.v[j / 2]", a);
    return e == 0 ? fmt::format("w{}.v[j]", a) : fmt::format("w{}.v[j + {}]", a, e);
  }

  std::vector<int> accesses_of(const std::vector<int>& nodes) const {
    std::vector<int> result;
    for (int n : nodes)
      if (node(n).kind == Node::Kind::kLoad) result.push_back(node(n).access);
    return result;
  }

  void load_vectors(const std::vector<int>& nodes) {
    for (int a : accesses_of(nodes)) {
      if (!is_vector(access(a))) continue;
      set_element(a, "");
      line("const {0} w{1} = *reinterpret_cast<const {0}*>(&{2});", vector_type(access(a)), a,
           element(a));
      set_element(a, vector_element(a));
    }
  }
  void begin_stores(const std::vector<Store>& stores) {
    for (const Store& store : stores) {
      if (!is_vector(access(store.access))) continue;
      line("{} w{};", vector_type(access(store.access)), store.access);
      set_element(store.access, vector_element(store.access));
    }
  }
  void end_stores(const std::vector<Store>& stores) {
    for (const Store& store : stores) {
      if (!is_vector(access(store.access))) continue;
      set_element(store.access, "");
      line("*reinterpret_cast<{}*>(&{}) = w{};", vector_type(access(store.access)),
           element(store.access), store.access);
    }
  }
  // The loop over a vector's elements; `variable` is the innermost index variable.
  void open_vector(const std::string& variable) {
    line("const int64_t first = {};", variable);
    line("#pragma unroll");
    open("for (int j = 0; j < {}; {})", width_, has_pairs_ ? "j += 2" : "++j");
    line("const int64_t {} = first + j;", variable);
  }

  // ---- the one element, or the pair of neighbours, that the loop over a vector's is at

  int elements_at_once() const { return has_pairs_ ? 2 : 1; }

  // The text of element `e`, a term.
  std::string element_value(int n, int e) const {
    if (!is_pair_[at(n)]) return value(n);
    if (is_paired(node(n).dtype)) return element_of_pair(node(n).dtype, value(n), e);
    return fmt::format("{}_{}", value(n), e);
  }
  // Of 16 bits: both.
  std::string pair_value(int n) const {
    if (is_pair_[at(n)]) return value(n);
    if (node(n).kind == Node::Kind::kConstant) return pair_literal(node(n).constant);
    return pair_of(node(n).dtype, value(n), value(n));
  }

  // Strides to the neighbour along the vectors.
  int64_t neighbour(const Strides& strides) const {
    const Dims& dims = kernel_.mapping == Mapping::kRows ? strides.columns : strides.rows;
    return dims.empty() ? 0 : dims.back();
  }
  std::string element_index(const Strides& strides, int e) const {
    const int64_t offset = e * neighbour(strides);
    return offset == 0 ? index(strides) : fmt::format("{} + ({})", index(strides), offset);
  }
  std::string element_in_memory(int a, int e) const {
    if (is_vector(access(a))) return vector_element(a, e);
    return fmt::format("p{}[{}]", a, element_index(access(a).strides, e));
  }

  // What element `e` is; a result of an operation before it is rounded to 16 bits.
  std::string element_definition(int n, int e) const {
    const Node& node = this->node(n);
    switch (node.kind) {
      case Node::Kind::kLoad:
        return loaded(node.dtype, element_in_memory(node.access, e));
      case Node::Kind::kIota:
        return from_index(node.dtype, fmt::format("int64_t({})", element_index(node.strides, e)));
      case Node::Kind::kScalar:
        return scalar_definition(
            n, [&](int arg) { return element_value(arg, e); }, has_pairs_);
      default:
        return value(n);
    }
  }
  std::string pair_definition(int n) const {
    const Node& node = this->node(n);
    if (node.kind == Node::Kind::kLoad && is_vector(access(node.access)))
      return vector_element(node.access);
    std::string text;
    const auto is_same = [&](int arg) { return this->node(arg).dtype == node.dtype; };
    if (node.kind == Node::Kind::kScalar &&
        std::all_of(node.args.begin(), node.args.end(), is_same)) {
      std::vector<std::string> pairs;
      for (int arg : node.args) pairs.push_back(pair_value(arg));
      text = pair_expression(node.op == plan::CONVERT ? plan::NOP : node.op, node.dtype, pairs);
    }
    if (!text.empty()) return text;
    return pair_of(node.dtype, element_definition(n, 0), element_definition(n, 1));
  }

  void define_element(int n) {
    if (!has_pairs_) return define(n);
    if (node(n).kind == Node::Kind::kConstant) return;
    const std::string name = fmt::format("v{}", n);
    if (is_paired(node(n).dtype)) {
      line("const uint32_t {} = {};", name, pair_definition(n));
    } else {
      for (int e = 0; e < 2; ++e)
        line("const {} {}_{} = {};", register_type(node(n).dtype), name, e,
             element_definition(n, e));
    }
    set_name(n, name);
    is_pair_[at(n)] = true;
  }

  void store_element(const Store& store) {
    if (!has_pairs_) return KernelPrinter::store(store);
    const Access& to = access(store.access);
    if (is_paired(to.dtype) && is_vector(to)) {
      line("{} = {};", vector_element(store.access), pair_value(store.node));
      return;
    }
    for (int e = 0; e < 2; ++e)
      line("{} = {};", element_in_memory(store.access, e),
           to_store(to.dtype, element_value(store.node, e)));
  }

  // ---- elements without reductions

  void flat() override {
    const size_t rank = kernel_.rows.size();
    const int64_t vectors = kernel_.num_rows() / width_;
    define_at_depth(0);
    const std::string_view type = index_type(vectors + kMostBlocks * kFlatThreads);
    open("for ({0} e = blockIdx.x * {0}({1}) + threadIdx.x; e < {2}; e += gridDim.x * {0}({1}))",
         type, kFlatThreads, vectors);
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

  void define_at_depth(size_t depth) {
    for (int n : row_nodes(0))
      if (row_depth(n) == depth) define(n);
  }

  // ---- reductions along memory: a warp or a block for each row

  void rows() override {
    const int64_t count = kernel_.num_rows();
    line("const int t = threadIdx.x % {};", row_threads_);
    shared_memory(row_threads_ / kWarp);
    define_at_depth(0);
    const std::string_view type = index_type(count + kMostBlocks * rows_per_block_);
    open(
        "for ({0} e = blockIdx.x * {0}({1}) + threadIdx.x / {2}; e < {3}; e += gridDim.x * "
        "{0}({1}))",
        type, rows_per_block_, row_threads_, count);
    split("e", kernel_.rows, 'r', 1);
    for (size_t d = 1; d <= kernel_.rows.size(); ++d) define_at_depth(d);
    for (size_t n = 0; n < kernel_.nodes.size(); ++n) {
      const Node& node = kernel_.nodes[n];
      if (!node.kept) continue;
      if (is_paired(node.dtype))
        line("uint32_t kept{}[{}];", n, turns() * width_ / 2);
      else
        line("{} kept{}[{}];", register_type(node.dtype), n, turns() * width_);
    }
    for (int s = 0; s < kernel_.num_stages; ++s) {
      if (s > 0)
        for (int n : row_nodes(s)) define(n);
      store_rows(s, "t == 0");
      if (!reductions(s).empty() || !element_stores(s).empty()) columns(s);
      for (int r : reductions(s)) combine_threads(r);
    }
    close();
  }

  void store_rows(int s, const std::string& condition) {
    if (row_stores(s).empty()) return;
    open("if ({})", condition);
    for (const Store& store : row_stores(s)) KernelPrinter::store(store);
    close();
  }

  // Turns of a row's threads over its columns.
  int64_t turns() const { return ceil_div(kernel_.num_columns() / width_, row_threads_); }

  void columns(int s) {
    const int64_t vectors = kernel_.num_columns() / width_;
    const std::vector<int> reductions = this->reductions(s);
    begin_accumulators(reductions);
    if (std::any_of(kernel_.nodes.begin(), kernel_.nodes.end(),
                    [](const Node& node) { return node.kept; }))
      line("#pragma unroll");
    open("for (int turn = 0; turn < {}; ++turn)", turns());
    line("const {0} f = turn * {0}({1}) + t;", index_type(vectors + row_threads_), row_threads_);
    if (vectors % row_threads_ != 0)
      line("if (turn == {} && f >= {}) break;", turns() - 1, vectors);
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

  std::string kept_element(int n, int e = 0) const {
    if (is_paired(node(n).dtype)) return fmt::format("kept{}[(turn * {} + j) / 2]", n, width_);
    return fmt::format("kept{}[turn * {} + j + {}]", n, width_, e);
  }
  void keep(int n) {
    if (!has_pairs_ || is_paired(node(n).dtype)) {
      line("{} = {};", kept_element(n), value(n));
      return;
    }
    for (int e = 0; e < 2; ++e) line("{} = {};", kept_element(n, e), element_value(n, e));
  }
  void name_kept(int n) {
    if (!has_pairs_ || is_paired(node(n).dtype)) return set_name(n, kept_element(n));
    const std::string name = fmt::format("v{}", n);
    for (int e = 0; e < 2; ++e)
      line("const {} {}_{} = {};", register_type(node(n).dtype), name, e, kept_element(n, e));
    set_name(n, name);
  }

  void element_body(int s, const std::vector<int>& reductions) {
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

  // ---- reductions

  size_t num_results(int r) const { return kernel_.reductions[at(r)].inits.size(); }

  std::vector<std::string> accumulators(int r, const std::string& suffix = "") const {
    std::vector<std::string> names;
    for (size_t i = 0; i < num_results(r); ++i) names.push_back(accumulator(r, i) + suffix);
    return names;
  }
  void assign(int r, const std::vector<std::string>& values) {
    const std::vector<std::string> names = accumulators(r);
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] != values[i]) line("{} = {};", names[i], values[i]);
  }

  // One op starts at what changes nothing; a program at its initial values, as often as it pleases.
  void begin_accumulators(const std::vector<int>& reductions) {
    for (int r : reductions) {
      const Reduction& reduction = kernel_.reductions[at(r)];
      for (size_t i = 0; i < num_results(r); ++i)
        line("{}{} = {};", strip_ > 1 ? "" : fmt::format("{} ", accumulator_type(r, i)),
             accumulator(r, i),
             reduction.op == plan::NOP
                 ? value(reduction.inits[i])
                 : identity(reduction.op, static_cast<plan::DType>(reduction.program.inputs(0))));
    }
  }

  // Places for the partial results of `count` warps or lines, which reductions use in turn: one for
  // each number of a result and type.
  void shared_memory(int64_t count) {
    if (count <= 1) return;
    const int64_t each = kernel_.mapping == Mapping::kRows ? count : count * kWarp * strip_;
    std::set<std::string> declared;
    for (int s = 0; s < kernel_.num_stages; ++s)
      for (int r : reductions(s))
        for (size_t i = 0; i < num_results(r); ++i)
          if (declared.insert(shared_name(r, i)).second)
            line("__shared__ {} {}[{}];", accumulator_type(r, i), shared_name(r, i), each);
  }
  std::string shared_name(int r, size_t i) const {
    return fmt::format("s{}_{}", i, accumulator_type(r, i));
  }

  // Leaves the whole row's result in every thread.
  void combine_threads(int r) {
    open("for (int mask = {}; mask > 0; mask /= 2)", kWarp / 2);
    std::vector<std::string> others;
    for (size_t i = 0; i < num_results(r); ++i) {
      others.push_back(fmt::format("b{}_{}", r, i));
      line("const {} {} = from_lane({}, mask);", accumulator_type(r, i), others.back(),
           accumulator(r, i));
    }
    assign(r, combine(r, accumulators(r), others));
    close();
    if (row_threads_ > kWarp)
      combine_shared(r, fmt::format("t / {}", kWarp), fmt::format("t % {} == 0", kWarp), "",
                     row_threads_ / kWarp);
    finish(r);
  }

  // Combines accumulators that `count` groups of threads have, through shared memory at
  // [group <suffix>].
  void combine_shared(int r, const std::string& group, const std::string& condition,
                      const std::string& suffix, int64_t count) {
    open("if ({})", condition);
    for (size_t i = 0; i < num_results(r); ++i)
      line("{}[({}){}] = {};", shared_name(r, i), group, suffix, accumulator(r, i));
    close();
    line("__syncthreads();");
    for (size_t i = 0; i < num_results(r); ++i)
      line("{} = {}[(0){}];", accumulator(r, i), shared_name(r, i), suffix);
    open("for (int g = 1; g < {}; ++g)", count);
    std::vector<std::string> others;
    for (size_t i = 0; i < num_results(r); ++i)
      others.push_back(fmt::format("{}[(g){}]", shared_name(r, i), suffix));
    assign(r, combine(r, accumulators(r), others));
    close();
    line("__syncthreads();");
  }

  // The initial value of one op joins at the end.
  void finish(int r) {
    const Reduction& reduction = kernel_.reductions[at(r)];
    if (reduction.op == plan::NOP) return;
    open("");
    assign(r, combine(r, {value(reduction.inits[0])}, accumulators(r)));
    close();
  }

  // ---- reductions across memory: a warp for neighbouring rows, lines of warps for columns

  void column_tiles() override {
    const size_t last = kernel_.rows.size() - 1;
    const int64_t size = kernel_.rows[last], count = kernel_.num_rows() / size * tiles_;
    line("const int x = threadIdx.x % {0}, y = threadIdx.x / {0};", kWarp);
    shared_memory(lines_);
    define_at_depth(0);
    open("for (int64_t e = blockIdx.x; e < {}; e += gridDim.x)", count);
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

  // Threads beyond the last row compute it again and store nothing.
  void open_tile(const Dims& sizes, int64_t size) {
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

  // A tile of a thread's `strip_` neighbouring rows, whose elements are vectors in memory.
  void strip() {
    for (size_t d = 1; d < kernel_.rows.size(); ++d) define_at_depth(d);
    const std::string last = row(kernel_.rows.size() - 1);
    const std::vector<int> reductions = this->reductions(0);
    for (int r : reductions)
      for (size_t i = 0; i < num_results(r); ++i)
        line("{} {}[{}];", accumulator_type(r, i), accumulator(r, i), strip_);
    index_accumulators("[j]");
    each_of_strip(last, false, [&] { begin_accumulators(reductions); });
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

  // Combines the lines' accumulators: a thread for each row of the tile. `j` counts a strip's rows.
  void combine_strips(int r) {
    const int64_t width = kWarp * strip_;
    const auto each = [&](const char* format) {
      line("#pragma unroll");
      open("for (int j = 0; j < {}; ++j)", strip_);
      for (size_t i = 0; i < num_results(r); ++i)
        line("{}", fmt::format(fmt::runtime(format), accumulator(r, i), shared_name(r, i), width,
                               strip_));
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

  template <typename Body>
  void each_of_strip(const std::string& last, bool pairs, const Body& body) {
    line("#pragma unroll");
    open("for (int j = 0; j < {}; {})", strip_, pairs ? "j += 2" : "++j");
    line("const int64_t strip_{0} = {0}, {0} = strip_{0} + j;", last);
    body();
    close();
  }

  void accumulate(const std::vector<int>& reductions) {
    for (int e = 0; e < elements_at_once(); ++e) {
      if (strip_ > 1) index_accumulators(fmt::format("[j + {}]", e));
      for (int r : reductions) {
        std::vector<std::string> elements;
        for (int n : kernel_.reductions[at(r)].elements) elements.push_back(element_value(n, e));
        assign(r, combine(r, accumulators(r), elements));
      }
    }
    if (strip_ > 1) index_accumulators("[j]");
  }

  void tile_columns(int s, const std::vector<int>& reductions) {
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

  Launch launch_;
  int64_t width_ = 1;           // elements of a vector
  int64_t row_threads_ = 1;     // of one row
  int64_t rows_per_block_ = 1;  // kRows
  int64_t tiles_ = 1;           // of the innermost row dimension
  int64_t lines_ = 1;           // warps of a tile
  int64_t strip_ = 1;           // rows of a thread in a tile; then also `width_`
  // Loops over a vector's elements have two at once, of which floats of 16 bits are pairs.
  bool has_pairs_ = false;
  std::vector<bool> is_pair_;  // by node: it has names for both
};

class CudaDialect : public Dialect {
 public:
  plan::KernelModule::Target target() const override { return plan::KernelModule::CUDA; }
  std::string prelude() const override { return cuda_prelude(); }
  plan::Kernel emit(const Kernel& kernel, const std::string& name,
                    std::string& source) const override {
    return CudaPrinter(kernel, source).print(name);
  }
};

}  // namespace

const Dialect& cuda_dialect() {
  static const CudaDialect dialect;
  return dialect;
}

}  // namespace spmd::codegen::kernels
