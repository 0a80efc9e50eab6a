#include <algorithm>
#include <numeric>
#include <optional>

#include "runtime/device/cpu/iteration.h"
#include "runtime/device/cuda/cuda_device.h"

namespace spmd::cuda {
namespace {

using cpu::Iteration;

// Dimensions of one group (batch, m, n or k) with the strides of the operands that have them;
// joined as far as possible.
Iteration joined(const google::protobuf::RepeatedField<int64_t>& shape,
                 std::vector<std::vector<int64_t>> strides) {
  Iteration it{plan::dims_of(shape), std::move(strides)};
  cpu::drop_unit_dims(it);
  cpu::join_dims(it);
  return it;
}

std::vector<int64_t> slice(const google::protobuf::RepeatedField<int64_t>& strides, int begin,
                           int count) {
  return {strides.begin() + begin, strides.begin() + begin + count};
}

// A matrix as a library takes it: one of its strides is 1, the other at least as large as a line
// is long.
struct Lines {
  bool by_rows = false;  // neighbours in a row are neighbours in memory
  int64_t distance = 0;  // from one line to the next
};

std::optional<Lines> lines_of(int64_t rows, int64_t columns, int64_t row_stride,
                              int64_t column_stride) {
  if ((column_stride == 1 || columns == 1) && (rows == 1 || row_stride >= columns))
    return Lines{true, rows == 1 ? columns : row_stride};
  if ((row_stride == 1 || rows == 1) && (columns == 1 || column_stride >= rows))
    return Lines{false, columns == 1 ? rows : column_stride};
  return std::nullopt;
}

// Operand or result: where it lies, and how its outer dimensions step.
struct Matrix {
  BoundView view;
  Lines lines;
  std::vector<int64_t> batch_strides;
};

std::optional<cudaDataType_t> library_type(plan::DType dtype) {
  switch (dtype) {
    case plan::F64:
      return CUDA_R_64F;
    case plan::F32:
      return CUDA_R_32F;
    case plan::BF16:
      return CUDA_R_16BF;
    case plan::F16:
      return CUDA_R_16F;
    default:
      return std::nullopt;
  }
}

// Products of the library, one for each index of the batch dimensions that could not be joined.
class DotKernel : public Kernel {
 public:
  DotKernel(CudaDevice& device, const MatmulProblem& problem, const std::string& op, Matrix lhs,
            Matrix rhs, Matrix out, std::vector<int64_t> outer)
      : product_(device.blas(), problem, op),
        lhs_(std::move(lhs)),
        rhs_(std::move(rhs)),
        out_(std::move(out)) {
    device.add_product(product_);
    const size_t rank = outer.size();
    Iteration it{std::move(outer), {}};
    for (const Matrix* matrix : {&lhs_, &rhs_, &out_})
      it.strides.emplace_back(matrix->batch_strides.begin(),
                              matrix->batch_strides.begin() + static_cast<int64_t>(rank));
    cpu::Odometer odometer(it, rank);
    do {
      offsets_.push_back({odometer.offset(0) * lhs_.view.element_bytes,
                          odometer.offset(1) * rhs_.view.element_bytes,
                          odometer.offset(2) * out_.view.element_bytes});
    } while (odometer.next());
  }

  void run(const RunContext& context) override {
    const std::byte* lhs = lhs_.view.data(context);
    const std::byte* rhs = rhs_.view.data(context);
    std::byte* out = out_.view.data(context);
    // A result by rows is, by columns, its transpose: the operands change places.
    const bool exchanged = out_.lines.by_rows;
    for (const Offsets& at : offsets_)
      product_.run(exchanged ? rhs + at.rhs : lhs + at.lhs, exchanged ? lhs + at.lhs : rhs + at.rhs,
                   out + at.out, context.workspace);
  }

 private:
  struct Offsets {
    int64_t lhs, rhs, out;
  };

  Matmul product_;
  Matrix lhs_, rhs_, out_;
  std::vector<Offsets> offsets_;
};

class DotMaker {
 public:
  DotMaker(const plan::Dot& dot, CudaDevice& device, LoadContext& context)
      : dot_(dot), device_(device), context_(context) {}

  KernelPtr make() {
    if (!has_types() || !find_dims()) return nullptr;
    const MatmulProblem p = problem();  // takes the matrices' batch dimensions apart
    return std::make_unique<DotKernel>(device_, p, context_.op, lhs_, rhs_, out_, outer_);
  }

 private:
  bool has_types() {
    const plan::DType in = dot_.lhs().dtype(), out = dot_.out().dtype();
    const auto operands = library_type(in), result = library_type(out);
    if (!operands || !result || dot_.rhs().dtype() != in) return false;
    const auto rounds = [&](plan::DType to) { return to != plan::INVALID && to != in; };
    if (rounds(dot_.round_lhs()) || rounds(dot_.round_rhs())) return false;
    const bool wide = in == plan::F64;
    if (!wide && dot_.accumulation() == plan::F64) return false;
    const bool narrow = in == plan::BF16 || in == plan::F16;
    if (out != in && !(narrow && out == plan::F32)) return false;
    problem_.operands = *operands;
    problem_.result = *result;
    problem_.compute = wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
    return true;
  }

  // Whether the groups of dimensions are matrices of the library.
  bool find_dims() {
    const int b = dot_.batch_size(), m = dot_.m_size(), n = dot_.n_size(), k = dot_.k_size();
    const auto& l = dot_.lhs().strides();
    const auto& r = dot_.rhs().strides();
    const auto& o = dot_.out().strides();
    batch_ = joined(dot_.batch(), {slice(l, 0, b), slice(r, 0, b), slice(o, 0, b)});
    const Iteration rows = joined(dot_.m(), {slice(l, b, m), slice(o, b, m)});
    const Iteration columns = joined(dot_.n(), {slice(r, b, n), slice(o, b + m, n)});
    const Iteration inner = joined(dot_.k(), {slice(l, b + m, k), slice(r, b + n, k)});
    if (rows.rank() > 1 || columns.rank() > 1 || inner.rank() > 1) return false;
    m_ = rows.count();
    n_ = columns.count();
    k_ = inner.count();
    if (m_ * n_ * k_ * batch_.count() == 0) return false;
    return place(lhs_, dot_.lhs(), 0, rows, 0, inner, 0) &&
           place(rhs_, dot_.rhs(), 1, columns, 0, inner, 1) &&
           place(out_, dot_.out(), 2, rows, 1, columns, 1);
  }

  bool place(Matrix& matrix, const plan::View& view, size_t operand, const Iteration& rows,
             size_t in_rows, const Iteration& columns, size_t in_columns) {
    const auto stride = [](const Iteration& it, size_t which) {
      return it.rank() == 0 ? 0 : it.strides[which][0];
    };
    const auto lines =
        lines_of(rows.count(), columns.count(), stride(rows, in_rows), stride(columns, in_columns));
    if (!lines) return false;
    matrix = {BoundView(view), *lines, batch_.strides[operand]};
    return true;
  }

  MatmulProblem problem() {
    // The dimension with the most matrices goes to the library; the others are a loop of ours.
    MatmulProblem p = problem_;
    outer_ = batch_.shape;
    const bool exchanged = out_.lines.by_rows;
    const Matrix& a = exchanged ? rhs_ : lhs_;
    const Matrix& b = exchanged ? lhs_ : rhs_;
    if (!outer_.empty()) {
      const auto largest = std::max_element(outer_.begin(), outer_.end()) - outer_.begin();
      p.batch = outer_[static_cast<size_t>(largest)];
      p.stride_a = a.batch_strides[static_cast<size_t>(largest)];
      p.stride_b = b.batch_strides[static_cast<size_t>(largest)];
      p.stride_d = out_.batch_strides[static_cast<size_t>(largest)];
      outer_.erase(outer_.begin() + largest);
      for (Matrix* matrix : {&lhs_, &rhs_, &out_})
        matrix->batch_strides.erase(matrix->batch_strides.begin() + largest);
    }
    p.m = exchanged ? n_ : m_;
    p.n = exchanged ? m_ : n_;
    p.k = k_;
    // op(A) is m x k: by columns as it is when neighbours along m are neighbours in memory. Of lhs
    // and rhs, rows run along m and n.
    p.transpose_a = a.lines.by_rows;
    p.transpose_b = !b.lines.by_rows;
    p.lda = a.lines.distance;
    p.ldb = b.lines.distance;
    p.ldd = out_.lines.distance;
    p.align_a = alignment(a, p.stride_a);
    p.align_b = alignment(b, p.stride_b);
    p.align_d = alignment(out_, p.stride_d);
    return p;
  }

  // Bytes that divide the address of every matrix.
  uint32_t alignment(const Matrix& matrix, int64_t batch_stride) const {
    const plan::Buffer& buffer = device_.plan().buffers(matrix.view.buffer);
    int64_t bytes = std::gcd(int64_t{256}, matrix.view.offset);
    if (buffer.kind() == plan::Buffer::ARENA) bytes = std::gcd(bytes, buffer.offset());
    bytes = std::gcd(bytes, batch_stride * matrix.view.element_bytes);
    for (int64_t stride : matrix.batch_strides)
      bytes = std::gcd(bytes, stride * matrix.view.element_bytes);
    return static_cast<uint32_t>(bytes);
  }

  const plan::Dot& dot_;
  CudaDevice& device_;
  LoadContext& context_;
  MatmulProblem problem_;
  Iteration batch_;
  int64_t m_ = 1, n_ = 1, k_ = 1;
  Matrix lhs_, rhs_, out_;
  std::vector<int64_t> outer_;
};

}  // namespace

KernelPtr make_dot(const plan::Dot& dot, CudaDevice& device, LoadContext& context) {
  return DotMaker(dot, device, context).make();
}

}  // namespace spmd::cuda
