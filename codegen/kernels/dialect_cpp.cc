// The C++ dialect: loops, vectorised by the compiler.
#include <algorithm>
#include <optional>

#include "codegen/kernels/emit.h"
#include "codegen/kernels/kernel_printer.h"
#include "codegen/kernels/prelude.h"
#include "codegen/kernels/scalar_text.h"
#include "support/error.h"

namespace spmd::codegen::kernels {
namespace {

// Elements that a reduction along memory combines side by side. Independent of the instruction set,
// as results are.
constexpr int64_t kPartials = 32;
// Rows of a tile, and the most that are one tile.
constexpr int64_t kTileRows = 512, kOneTile = 1024;
// Side of a block where one operand runs along the rows and another along the columns.
constexpr int64_t kBlock = 32;
// The most bytes on the stack for the kept values of a row.
constexpr int64_t kKeptBytes = 64 << 10;
// Scalar operations and accesses of a range that is worth another thread.
constexpr int64_t kLeastWork = 1 << 18;
// Elements of the innermost dimension that stay with one thread: some cache lines.
constexpr int64_t kDenseUnit = 64;
// Units that are enough for any number of threads.
constexpr int64_t kManyUnits = 64;

// The function of support/scalar that a named reduction combines by.
std::string_view combining_function(plan::ScalarOp op, bool is_bool) {
  switch (op) {
    case plan::ADD:
      return is_bool ? "bit_or" : "add";
    case plan::MULTIPLY:
      return is_bool ? "bit_and" : "multiply";
    case plan::MAXIMUM:
      return is_bool ? "bit_or" : "maximum";
    case plan::MINIMUM:
      return is_bool ? "bit_and" : "minimum";
    case plan::AND:
      return "bit_and";
    case plan::OR:
      return "bit_or";
    case plan::XOR:
      return "bit_xor";
    default:
      SPMD_UNREACHABLE("{} names no reduction", plan::ScalarOp_Name(op));
  }
}

constexpr const char* kSameIndexOnly = "#pragma GCC ivdep";

Kernel prepared(Kernel kernel) {
  int64_t kept_bytes = 0;
  for (Node& node : kernel.nodes)
    if (node.kept) kept_bytes += kernel.num_columns() * 8;
  const bool keeps = kernel.mapping == Mapping::kRows && kept_bytes <= kKeptBytes;
  for (Node& node : kernel.nodes) node.kept = node.kept && keeps;
  return kernel;
}

// The row dimension of which calls do a range, the outermost that has units for many threads.
struct SharedRows {
  std::optional<size_t> dim;
  int64_t unit = 1;   // elements of it that stay together
  int64_t units = 1;  // the last one may be shorter
  int64_t parts = 1;  // that are worth a thread each
};

SharedRows shared_rows(const Kernel& kernel) {
  const auto operations = static_cast<int64_t>(kernel.nodes.size() + kernel.accesses.size());
  const int64_t work = kernel.num_rows() * kernel.num_columns() * operations * kernel.members;
  SharedRows best;
  if (work < 2 * kLeastWork) return best;
  for (size_t d = 0; d < kernel.rows.size() && best.units < kManyUnits; ++d) {
    const bool is_dense = d + 1 == kernel.rows.size() && kernel.mapping != Mapping::kRows;
    const int64_t unit = is_dense ? kDenseUnit : 1;
    const int64_t units = (kernel.rows[d] + unit - 1) / unit;
    if (units > best.units) best = {d, unit, units, std::min(units, work / kLeastWork)};
  }
  return best;
}

class CppPrinter final : public KernelPrinter {
 public:
  CppPrinter(const Kernel& kernel, std::string& out)
      : KernelPrinter(prepared(kernel), out), shared_(shared_rows(kernel_)) {}

  void print(const std::string& name) {
    open("extern \"C\" void {}(void* const* args, int64_t begin, int64_t end)", name);
    const int arguments = kernel_.num_arguments;
    if (kernel_.members > 1)
      open("for (void* const* const args_end = args + {0}; args != args_end; args += {1})",
           arguments * kernel_.members, arguments);
    body("args");
    if (kernel_.members > 1) close();
    close();
  }

  // Of the printed function.
  plan::Kernel description() const {
    plan::Kernel result;
    result.set_arguments(kernel_.num_arguments * kernel_.members);
    result.set_units(shared_.units);
    result.set_parts(shared_.parts);
    return result;
  }

 private:
  void loop(const std::string& variable, int64_t size) {
    open("for (int64_t {0} = 0; {0} < {1}; ++{0})", variable, size);
  }
  // What of row dimension `dim` a call does. Where units are whole, the compiler sees that they
  // are.
  std::string first(size_t dim) const {
    if (shared_.dim != dim) return "0";
    return shared_.unit == 1 ? "begin" : fmt::format("begin * {}", shared_.unit);
  }
  std::string limit(size_t dim) const {
    const int64_t size = kernel_.rows[dim];
    if (shared_.dim != dim) return std::to_string(size);
    if (shared_.unit == 1) return "end";
    if (size % shared_.unit == 0) return fmt::format("end * {}", shared_.unit);
    return fmt::format("(end < {} ? end * {} : {})", shared_.units, shared_.unit, size);
  }
  void row_loop(size_t dim) {
    open("for (int64_t {0} = {1}; {0} < {2}; ++{0})", row(dim), first(dim), limit(dim));
  }
  void same_index_only() { out_ += std::string(kSameIndexOnly) + "\n"; }

  // ---- elements without reductions

  void flat() override {
    const size_t rank = kernel_.rows.size();
    size_t loops = rank - 1;
    define_at_depth(0);
    if (const size_t dim = transposed_dim(); dim + 1 < rank) {
      for (size_t d = 0; d < rank - 1; ++d) {
        if (d == dim) continue;
        row_loop(d);
      }
      block_loops(dim);
      for (const int n : row_nodes(0))
        if (row_depth(n) > 0 && row_depth(n) < rank) define(n);
      loops = rank;
    } else {
      for (size_t d = 0; d + 1 < rank; ++d) {
        row_loop(d);
        define_at_depth(d + 1);
      }
    }
    same_index_only();
    if (loops == rank) {
      open("for (int64_t {0} = b; {0} < b_end; ++{0})", row(rank - 1));
    } else {
      row_loop(rank - 1);
    }
    define_at_depth(rank);
    for (const Store& store : kernel_.stores) KernelPrinter::store(store);
    close();
    for (size_t d = 0; d < loops; ++d) close();
    if (loops == rank) close();
  }

  // A row dimension, not the innermost, along which an input lies dense while it jumps along the
  // innermost; else the innermost.
  size_t transposed_dim() const {
    const size_t last = kernel_.rows.size() - 1;
    for (size_t d = 0; d < last; ++d)
      for (const Access& access : kernel_.accesses)
        if (!access.writes && std::abs(access.strides.rows[d]) == 1 && kernel_.rows[d] >= 4 &&
            std::abs(access.strides.rows[last]) > 1)
          return d;
    return last;
  }

  // Over blocks of dimension `dim` by the innermost one, and the rows of a block.
  void block_loops(size_t dim) {
    const size_t last = kernel_.rows.size() - 1;
    open("for (int64_t a = {}; a < {}; a += {})", first(dim), limit(dim), kBlock);
    line("const int64_t a_end = a + {0} < {1} ? a + {0} : {1};", kBlock, limit(dim));
    open("for (int64_t b = {}; b < {}; b += {})", first(last), limit(last), kBlock);
    line("const int64_t b_end = b + {0} < {1} ? b + {0} : {1};", kBlock, limit(last));
    open("for (int64_t {0} = a; {0} < a_end; ++{0})", row(dim));
  }

  // ---- reductions along memory: one row after the other

  void rows() override {
    define_at_depth(0);
    for (size_t d = 0; d < kernel_.rows.size(); ++d) {
      row_loop(d);
      define_at_depth(d + 1);
    }
    for (size_t n = 0; n < kernel_.nodes.size(); ++n)
      if (kernel_.nodes[n].kept)
        line("{} kept{}[{}];", register_type(kernel_.nodes[n].dtype), n, kernel_.num_columns());
    for (int s = 0; s < kernel_.num_stages; ++s) {
      if (s > 0)
        for (int n : row_nodes(s)) define(n);
      for (const Store& store : row_stores(s)) KernelPrinter::store(store);
      if (!reductions(s).empty() || !element_stores(s).empty()) columns(s);
    }
    for (size_t d = 0; d < kernel_.rows.size(); ++d) close();
  }

  // The loop over the columns of stage `s`.
  void columns(int s) {
    const std::vector<int> reductions = this->reductions(s);
    const int64_t inner = kernel_.columns.empty() ? 1 : kernel_.columns.back();
    const bool named = std::all_of(reductions.begin(), reductions.end(), [&](int r) {
      return kernel_.reductions[at(r)].op != plan::NOP;
    });
    int64_t width = named && !reductions.empty() ? kPartials : 1;
    while (width > inner) width /= 2;
    begin_accumulators(reductions, width);
    for (size_t d = 0; d + 1 < kernel_.columns.size(); ++d) {
      loop(column(d), kernel_.columns[d]);
      define_elements(s, d + 1);
    }
    if (width > 1) {
      partial_loops(s, reductions, inner, width);
    } else {
      if (reductions.empty()) same_index_only();
      if (kernel_.columns.empty()) {
        open("");
      } else {
        loop(column(kernel_.columns.size() - 1), inner);
      }
      element_body(s, reductions, "");
      close();
    }
    for (size_t d = 0; d + 1 < kernel_.columns.size(); ++d) close();
    if (width > 1) end_accumulators(reductions, width);
  }

  void begin_accumulators(const std::vector<int>& reductions, int64_t width) {
    for (int r : reductions) {
      const Reduction& reduction = kernel_.reductions[at(r)];
      if (width > 1) {
        line("{} a{}[{}];", accumulator_type(r, 0), r, width);
        line("for (int j = 0; j < {}; ++j) a{}[j] = {};", width, r,
             identity(reduction.op, static_cast<plan::DType>(reduction.program.inputs(0))));
        continue;
      }
      for (size_t i = 0; i < reduction.inits.size(); ++i)
        line("{} a{}_{} = {};", accumulator_type(r, i), r, i, value(reduction.inits[i]));
    }
  }

  void partial_loops(int s, const std::vector<int>& reductions, int64_t inner, int64_t width) {
    const std::string c = column(kernel_.columns.size() - 1);
    line("int64_t i{} = 0;", s);
    open("for (; i{2} + {0} <= {1}; i{2} += {0})", width, inner, s);
    same_index_only();
    open("for (int j = 0; j < {}; ++j)", width);
    line("const int64_t {} = i{} + j;", c, s);
    element_body(s, reductions, "[j]");
    close();
    close();
    if (inner % width == 0) return;
    same_index_only();
    open("for (int j = 0; j < {}; ++j)", inner % width);
    line("const int64_t {} = i{} + j;", c, s);
    element_body(s, reductions, "[j]");
    close();
  }

  // The partial results, in the fixed tree of combine_partials(), and the initial value.
  void end_accumulators(const std::vector<int>& reductions, int64_t width) {
    for (int r : reductions) {
      const Reduction& reduction = kernel_.reductions[at(r)];
      const std::string_view type = accumulator_type(r, 0);
      line("const {0} t{1} = combine_partials<{0}, {2}<{0}>>(a{1}, {3});", type, r,
           combining_function(reduction.op, type == "bool"), width);
      const std::string total = combine(r, {value(reduction.inits[0])}, {fmt::format("t{}", r)})[0];
      line("const {} a{}_0 = {};", type, r, total);
    }
  }

  // Nodes of stage `s` at a depth of the column loops.
  void define_elements(int s, size_t depth) {
    for (int n : element_nodes(s))
      if (column_depth(n) == depth && !is_kept_from_before(n, s)) define_element(n);
  }
  void define_element(int n) {
    define(n);
    if (node(n).kept) line("kept{}[{}] = {};", n, column_number(), value(n));
  }

  // What stage `s` does with one element. Accumulators are a<r><suffix>, or scalars if it is empty.
  void element_body(int s, const std::vector<int>& reductions, const std::string& suffix) {
    const size_t rank = kernel_.columns.size();
    for (int n : element_nodes(s)) {
      if (is_kept_from_before(n, s)) {
        set_name(n, fmt::format("kept{}[{}]", n, column_number()));
      } else if (column_depth(n) == rank) {
        define_element(n);
      }
    }
    for (const Store& store : element_stores(s)) KernelPrinter::store(store);
    for (int r : reductions) accumulate(r, suffix);
  }

  void accumulate(int r, const std::string& suffix) {
    const Reduction& reduction = kernel_.reductions[at(r)];
    std::vector<std::string> accumulators, elements;
    for (size_t i = 0; i < reduction.elements.size(); ++i) {
      const bool partial = kernel_.mapping == Mapping::kRows && !suffix.empty();
      accumulators.push_back(partial ? fmt::format("a{}[j]", r)
                                     : fmt::format("a{}_{}{}", r, i, suffix));
      elements.push_back(value(reduction.elements[i]));
    }
    const std::vector<std::string> results = combine(r, accumulators, elements);
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i] != accumulators[i]) line("{} = {};", accumulators[i], results[i]);
  }

  // ---- reductions across memory: a tile of neighbouring rows at once

  void column_tiles() override {
    const size_t last = kernel_.rows.size() - 1;
    const int64_t total = kernel_.rows[last];
    const int64_t tile = total <= kOneTile ? total : kTileRows;
    define_at_depth(0);
    for (size_t d = 0; d < last; ++d) {
      row_loop(d);
      define_at_depth(d + 1);
    }
    open("for (int64_t t = {}; t < {}; t += {})", first(last), limit(last), tile);
    const bool whole = shared_.dim != last && total % tile == 0;
    line("const int64_t n = {};",
         whole ? std::to_string(tile)
               : fmt::format("t + {0} < {1} ? {0} : {1} - t", tile, limit(last)));
    for (int s = 0; s < kernel_.num_stages; ++s) {
      tile_rows(s, tile);
      if (!reductions(s).empty() || !element_stores(s).empty()) tile_columns(s, tile);
    }
    close();
    for (size_t d = 0; d < last; ++d) close();
  }

  bool varies_in_tile(int n) const { return row_depth(n) == kernel_.rows.size(); }

  void open_tile() {
    same_index_only();
    open("for (int64_t j = 0; j < n; ++j)");
    line("const int64_t {} = t + j;", row(kernel_.rows.size() - 1));
  }

  // Per-row nodes and stores of stage `s`. Other loops find them in arrays.
  void tile_rows(int s, int64_t tile) {
    std::vector<int> nodes;
    for (int n : row_nodes(s))
      if (varies_in_tile(n) && node(n).kind != Node::Kind::kResult) nodes.push_back(n);
    const std::vector<Store> stores = row_stores(s);
    if (nodes.empty() && stores.empty()) return;
    for (int n : nodes) line("{} t{}[{}];", register_type(node(n).dtype), n, tile);
    open_tile();
    for (int n : nodes) {
      define(n);
      line("t{}[j] = {};", n, value(n));
    }
    for (const Store& store : stores) KernelPrinter::store(store);
    close();
    for (int n : nodes) set_name(n, fmt::format("t{}[j]", n));
  }

  void tile_columns(int s, int64_t tile) {
    const std::vector<int> reductions = this->reductions(s);
    for (int r : reductions) {
      const Reduction& reduction = kernel_.reductions[at(r)];
      for (size_t i = 0; i < reduction.inits.size(); ++i) {
        line("{} a{}_{}[{}];", accumulator_type(r, i), r, i, tile);
        line("for (int64_t j = 0; j < n; ++j) a{}_{}[j] = {};", r, i, value(reduction.inits[i]));
      }
    }
    for (size_t d = 0; d < kernel_.columns.size(); ++d) {
      loop(column(d), kernel_.columns[d]);
      for (int n : element_nodes(s))
        if (!varies_in_tile(n) && column_depth(n) == d + 1) define(n);
    }
    open_tile();
    for (int n : element_nodes(s))
      if (varies_in_tile(n)) define(n);
    for (const Store& store : element_stores(s)) KernelPrinter::store(store);
    for (int r : reductions) accumulate(r, "[j]");
    close();
    for (size_t d = 0; d < kernel_.columns.size(); ++d) close();
    for (int r : reductions)
      for (size_t i = 0; i < kernel_.reductions[at(r)].inits.size(); ++i) name_result(r, i);
  }

  // Result nodes of reduction `r` are elements of its accumulators' arrays.
  void name_result(int r, size_t i) {
    for (size_t n = 0; n < kernel_.nodes.size(); ++n) {
      const Node& node = kernel_.nodes[n];
      if (node.kind == Node::Kind::kResult && node.reduction == r &&
          node.result == static_cast<int>(i))
        set_name(static_cast<int>(n), fmt::format("a{}_{}[j]", r, i));
    }
  }

  SharedRows shared_;
};

class CppDialect : public Dialect {
 public:
  plan::KernelModule::Target target() const override { return plan::KernelModule::HOST; }
  std::string prelude() const override { return cpp_prelude(); }
  plan::Kernel emit(const Kernel& kernel, const std::string& name,
                    std::string& source) const override {
    CppPrinter printer(kernel, source);
    printer.print(name);
    plan::Kernel result = printer.description();
    result.set_name(name);
    return result;
  }
};

}  // namespace

const Dialect& cpp_dialect() {
  static const CppDialect dialect;
  return dialect;
}

}  // namespace spmd::codegen::kernels
