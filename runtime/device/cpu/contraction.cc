#include <algorithm>
#include <cstring>

#include "runtime/device/cpu/gemm.h"
#include "runtime/device/cpu/iteration.h"
#include "runtime/device/cpu/kernel.h"
#include "runtime/device/cpu/packer.h"

namespace spmd::cpu {
namespace {

// Dimensions of one group (batch, m, n or k) with the strides of the two or three operands that
// have them; joined as far as possible.
Iteration group(const google::protobuf::RepeatedField<int64_t>& shape,
                std::vector<std::vector<int64_t>> strides) {
  Iteration it{plan::dims_of(shape), std::move(strides)};
  drop_unit_dims(it);
  join_dims(it);
  return it;
}

std::vector<int64_t> slice(const google::protobuf::RepeatedField<int64_t>& strides, int begin,
                           int count) {
  return {strides.begin() + begin, strides.begin() + begin + count};
}

// One operand or the result: its batch, row and column dimensions, as it lies in memory.
struct Matrix {
  BoundView view;
  Iteration batch, rows, columns;  // operand 0 only
  std::unique_ptr<Packer> packer;
  int64_t offset = 0;  // in the workspace, when packed
};

class DotKernel : public Kernel {
 public:
  DotKernel(const plan::Dot& dot, LoadContext& context) : lane_(product_lane(dot)) {
    const int b = dot.batch_size(), m = dot.m_size(), n = dot.n_size(), k = dot.k_size();
    const auto& l = dot.lhs().strides();
    const auto& r = dot.rhs().strides();
    const auto& o = dot.out().strides();
    lhs_.view = BoundView(dot.lhs());
    rhs_.view = BoundView(dot.rhs());
    out_.view = BoundView(dot.out());
    const Iteration batch = group(dot.batch(), {slice(l, 0, b), slice(r, 0, b), slice(o, 0, b)});
    const Iteration rows = group(dot.m(), {slice(l, b, m), slice(o, b, m)});
    const Iteration columns = group(dot.n(), {slice(r, b, n), slice(o, b + m, n)});
    const Iteration inner = group(dot.k(), {slice(l, b + m, k), slice(r, b + n, k)});
    GemmProblem p;
    p.lane = lane_;
    p.m = rows.count();
    p.n = columns.count();
    p.k = inner.count();
    p.batch = batch.shape;
    workspace_ = Packer::kScratch;
    place(lhs_, pick(batch, 0), pick(rows, 0), pick(inner, 0), dot.round_lhs(), false, p.lhs_batch,
          p.lhs_m, p.lhs_k);
    place(rhs_, pick(batch, 1), pick(columns, 0), pick(inner, 1), dot.round_rhs(), false,
          p.rhs_batch, p.rhs_n, p.rhs_k);
    place(out_, pick(batch, 2), pick(rows, 1), pick(columns, 1), plan::INVALID, true, p.out_batch,
          p.out_m, p.out_n);
    gemm_ = make_gemm(p);
    context.need_workspace(workspace_);
  }

  void run(const RunContext& context) override {
    const auto begin = [&](Matrix& matrix) {
      if (!matrix.packer) return matrix.view.data(context);
      std::byte* dense = context.workspace + matrix.offset;
      if (&matrix != &out_) matrix.packer->run(matrix.view.data(context), dense, context.workspace);
      return dense;
    };
    std::byte* out = begin(out_);
    const std::byte* lhs = begin(lhs_);
    gemm_->run(lhs, begin(rhs_), out);
    if (out_.packer) out_.packer->run(out_.view.data(context), out, context.workspace);
  }

 private:
  // The type of products and sums.
  static Lane product_lane(const plan::Dot& dot) {
    const plan::DType sum =
        dot.accumulation() != plan::INVALID ? dot.accumulation() : dot.out().dtype();
    // Booleans are counted: a sum of products is true where the count is not zero.
    if (sum == plan::BOOL) return Lane::kS32;
    if (sum == plan::F64 || dot.lhs().dtype() == plan::F64) return Lane::kF64;
    return lane_of(sum);
  }

  static Iteration pick(const Iteration& it, size_t operand) {
    return {it.shape, {it.strides[operand]}};
  }

  // Decides whether a matrix is used where it lies, and finds the strides that the product sees.
  void place(Matrix& matrix, Iteration batch, Iteration rows, Iteration columns, plan::DType round,
             bool is_result, std::vector<int64_t>& batch_strides, int64_t& row_stride,
             int64_t& column_stride) {
    const bool own_type = lane_of(matrix.view.dtype) == lane_ && !is_packed(matrix.view.dtype);
    const bool rounds = round != plan::INVALID && round != matrix.view.dtype && is_packed(round);
    row_stride = rows.rank() == 1 ? rows.strides[0][0] : 1;
    column_stride = columns.rank() == 1 ? columns.strides[0][0] : 1;
    batch_strides = batch.strides[0];
    if (rows.rank() <= 1 && columns.rank() <= 1 && own_type && !rounds) {
      if (rows.rank() == 0) row_stride = columns.count();
      if (columns.rank() == 0)
        column_stride = rows.rank() == 0 || row_stride != 1 ? 1 : rows.count();
      if (is_blas_matrix(rows.count(), columns.count(), row_stride, column_stride)) return;
    }
    pack(matrix, batch, rows, columns, round, is_result, batch_strides, row_stride, column_stride);
  }

  void pack(Matrix& matrix, const Iteration& batch, const Iteration& rows, const Iteration& columns,
            plan::DType round, bool is_result, std::vector<int64_t>& batch_strides,
            int64_t& row_stride, int64_t& column_stride) {
    const int64_t m = rows.count(), n = columns.count();
    const auto least = [](const Iteration& it) {
      int64_t least = INT64_MAX;
      for (int64_t stride : it.strides[0]) least = std::min(least, std::abs(stride));
      return least;
    };
    // Operands keep the order in which they lie; results are written by rows.
    const bool by_columns = !is_result && least(rows) < least(columns);
    row_stride = by_columns ? 1 : n;
    column_stride = by_columns ? m : 1;
    batch_strides = row_major(batch.shape);
    for (int64_t& stride : batch_strides) stride *= m * n;
    Iteration it{{}, {{}, {}}};
    const auto append = [&](const Iteration& part, const std::vector<int64_t>& dense,
                            int64_t unit) {
      for (size_t d = 0; d < part.rank(); ++d) {
        it.shape.push_back(part.shape[d]);
        it.strides[0].push_back(part.strides[0][d]);
        it.strides[1].push_back(dense[d] * unit);
      }
    };
    append(batch, batch_strides, 1);
    append(rows, row_major(rows.shape), row_stride);
    append(columns, row_major(columns.shape), column_stride);
    matrix.offset = workspace_;
    workspace_ += align_workspace(it.count() * lane_bytes(lane_));
    matrix.packer =
        std::make_unique<Packer>(std::move(it), matrix.view.dtype, lane_, round, is_result);
  }

  Lane lane_;
  Matrix lhs_, rhs_, out_;
  std::unique_ptr<Gemm> gemm_;
  int64_t workspace_ = 0;
};

// A product over an empty dimension.
class ZeroKernel : public Kernel {
 public:
  ZeroKernel(std::vector<int64_t> shape, const plan::View& out) {
    BoundView zero(out);
    out_ = zero;
    it_ = {std::move(shape), {out_.strides}};
    odometer_ = std::make_unique<Odometer>(it_, it_.rank());
  }
  void run(const RunContext& context) override {
    odometer_->reset();
    do {
      std::memset(out_.data(context) + odometer_->offset(0) * out_.element_bytes, 0,
                  static_cast<size_t>(out_.element_bytes));
    } while (odometer_->next());
  }

 private:
  BoundView out_;
  Iteration it_;
  std::unique_ptr<Odometer> odometer_;
};

class NoDot : public Kernel {
 public:
  void run(const RunContext&) override {}
};

// The product, then its epilogue.
class TwoKernels : public Kernel {
 public:
  TwoKernels(KernelPtr first, KernelPtr second)
      : first_(std::move(first)), second_(std::move(second)) {}
  void run(const RunContext& context) override {
    first_->run(context);
    second_->run(context);
  }

 private:
  KernelPtr first_, second_;
};

KernelPtr make_product(const plan::Dot& dot, LoadContext& context) {
  std::vector<int64_t> shape = plan::dims_of(dot.batch());
  shape.insert(shape.end(), dot.m().begin(), dot.m().end());
  shape.insert(shape.end(), dot.n().begin(), dot.n().end());
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return std::make_unique<NoDot>();
  if (plan::element_count(dot.k()) == 0) return std::make_unique<ZeroKernel>(shape, dot.out());
  return std::make_unique<DotKernel>(dot, context);
}

}  // namespace

KernelPtr make_dot(const plan::Dot& dot, LoadContext& context) {
  KernelPtr product = make_product(dot, context);
  if (!dot.has_epilogue()) return product;
  return std::make_unique<TwoKernels>(std::move(product),
                                      make_kernel(dot.epilogue().map(), context));
}

}  // namespace spmd::cpu
