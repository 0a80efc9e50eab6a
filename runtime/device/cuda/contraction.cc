#include "runtime/device/cuda/contraction.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "runtime/device/cpu/iteration.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/packer.h"
#include "runtime/device/cuda/views.h"

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

// Operand or result: where it lies, what the library sees of it, and how the batch dimensions step.
struct Matrix {
  BoundView view;
  Lines lines;
  std::vector<int64_t> batch_strides;
  // The library sees a dense copy of `type` at `offset` of the workspace.
  std::unique_ptr<Packer> packer;
  plan::DType type = plan::INVALID;
  int64_t offset = 0;

  int64_t element_bytes() const { return plan::byte_size(type); }
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
class DotKernel : public ProductKernel {
 public:
  // Operands of an epilogue.
  struct Extra {
    std::optional<BoundView> bias, residual, preactivation;
  };

  DotKernel(CudaDevice& device, const MatmulProblem& problem, const std::string& op, Matrix lhs,
            Matrix rhs, Matrix out, Extra extra, std::vector<int64_t> outer, int64_t packed_bytes)
      : product_(device.blas(), problem, op),
        lhs_(std::move(lhs)),
        rhs_(std::move(rhs)),
        out_(std::move(out)),
        extra_(std::move(extra)),
        packed_bytes_(packed_bytes) {
    const size_t rank = outer.size();
    Iteration it{std::move(outer), {}};
    for (const Matrix* matrix : {&lhs_, &rhs_, &out_}) it.strides.push_back(matrix->batch_strides);
    cpu::Odometer odometer(it, rank);
    do {
      offsets_.push_back({odometer.offset(0) * lhs_.element_bytes(),
                          odometer.offset(1) * rhs_.element_bytes(),
                          odometer.offset(2) * out_.element_bytes()});
    } while (odometer.next());
  }

  Matmul& product() { return product_; }
  const MatmulChoice& choice() const override { return product_.choice(); }

  void run(const RunContext& context) override {
    const auto begin = [&](const Matrix& matrix) {
      return matrix.packer ? context.workspace + matrix.offset : matrix.view.data(context);
    };
    std::byte* lhs = begin(lhs_);
    std::byte* rhs = begin(rhs_);
    std::byte* out = begin(out_);
    if (lhs_.packer) lhs_.packer->run(lhs, lhs_.view.data(context));
    if (rhs_.packer) rhs_.packer->run(rhs, rhs_.view.data(context));
    // A result by rows is, by columns, its transpose: the operands change places.
    const bool exchanged = out_.lines.by_rows;
    MatmulData data;
    if (extra_.bias) data.bias = extra_.bias->data(context);
    if (extra_.residual) data.c = extra_.residual->data(context);
    if (extra_.preactivation) data.aux = extra_.preactivation->data(context);
    for (const Offsets& at : offsets_) {
      data.a = exchanged ? rhs + at.rhs : lhs + at.lhs;
      data.b = exchanged ? lhs + at.lhs : rhs + at.rhs;
      data.d = out + at.out;
      product_.run(data, context.workspace + packed_bytes_);
    }
    if (out_.packer) out_.packer->run(out_.view.data(context), out);
  }

 private:
  struct Offsets {
    int64_t lhs, rhs, out;
  };

  Matmul product_;
  Matrix lhs_, rhs_, out_;
  Extra extra_;
  int64_t packed_bytes_;
  std::vector<Offsets> offsets_;
};

class DotMaker {
 public:
  DotMaker(const plan::Dot& dot, const plan::DotEpilogue* epilogue, CudaDevice& device,
           LoadContext& context)
      : dot_(dot), epilogue_(epilogue), device_(device), context_(context) {
    dot_.clear_epilogue();
    if (epilogue_ != nullptr) *dot_.mutable_out() = epilogue_->out();
  }

  std::unique_ptr<ProductKernel> make(std::function<double()> after_us) {
    if (!choose_types() || !find_matrices() || !takes_epilogue()) return nullptr;
    MatmulProblem p = problem();  // takes the matrices' batch dimensions apart
    if (epilogue_ != nullptr) add_epilogue(p);
    auto kernel =
        std::make_unique<DotKernel>(device_, p, context_.op, std::move(lhs_), std::move(rhs_),
                                    std::move(out_), std::move(extra_), outer_, packed_bytes_);
    if (epilogue_ != nullptr && !kernel->product().is_supported()) return nullptr;
    context_.need_workspace(packed_bytes_);
    device_.add_product(kernel->product(), packed_bytes_, std::move(after_us));
    return kernel;
  }

 private:
  // Operands are multiplied in one type, the narrowest that holds what they are rounded to; sums
  // are of F32, or of F64 where that is asked for.
  bool choose_types() {
    const plan::DType l = rounded(dot_.lhs(), dot_.round_lhs()),
                      r = rounded(dot_.rhs(), dot_.round_rhs()), o = dot_.out().dtype();
    for (plan::DType dtype : {dot_.lhs().dtype(), dot_.rhs().dtype(), o})
      if (!library_type(dtype)) return false;
    for (plan::DType round : {dot_.round_lhs(), dot_.round_rhs()})
      if (round != plan::INVALID && !library_type(round)) return false;
    const bool wide =
        dot_.accumulation() == plan::F64 || o == plan::F64 || l == plan::F64 || r == plan::F64;
    const bool narrow = l == r && is_narrow(l);
    operand_type_ = wide ? plan::F64 : narrow ? l : plan::F32;
    const plan::DType sum = wide ? plan::F64 : plan::F32;
    result_type_ = narrow && !wide && o == l ? o : sum;
    problem_.operands = *library_type(operand_type_);
    problem_.result = *library_type(result_type_);
    problem_.compute = wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
    return true;
  }

  // The library's bias runs along what it sees as a column: a row of ours.
  bool takes_epilogue() const {
    if (epilogue_ == nullptr) return true;
    return result_type_ == dot_.out().dtype() && !out_.packer && out_.lines.by_rows &&
           batch_.count() == 1 && takes_preactivation();
  }

  // The library wants its lines at 16 bytes.
  bool takes_preactivation() const {
    if (!epilogue_->has_preactivation()) return true;
    constexpr int64_t kBytes = 16;
    return out_.lines.distance * out_.element_bytes() % kBytes == 0 &&
           alignment_of(device_.plan(), BoundView(epilogue_->preactivation())) % kBytes == 0;
  }

  static Activation activation_of(const plan::DotEpilogue& epilogue) {
    switch (epilogue.activation()) {
      case plan::DotEpilogue::RELU:
        return Activation::kReLU;
      case plan::DotEpilogue::GELU:
        return Activation::kGelu;
      case plan::DotEpilogue::GELU_GRADIENT:
        return Activation::kGeluGradient;
      default:
        return Activation::kNone;
    }
  }

  void add_epilogue(MatmulProblem& p) {
    const plan::Elementwise& map = epilogue_->map().elementwise();
    p.scale = epilogue_->scale();
    p.has_bias = epilogue_->bias() > 0;
    p.has_c = epilogue_->residual() > 0;
    p.has_aux = epilogue_->has_preactivation();
    p.activation = activation_of(*epilogue_);
    if (p.has_aux) extra_.preactivation = BoundView(epilogue_->preactivation());
    if (p.has_bias) extra_.bias = BoundView(map.inputs(epilogue_->bias() - 1));
    if (!p.has_c) return;
    extra_.residual = BoundView(map.inputs(epilogue_->residual() - 1));
    const auto bytes = static_cast<uint32_t>(alignment_of(device_.plan(), *extra_.residual));
    p.align_d = std::gcd(p.align_d, bytes);
  }

  static bool is_narrow(plan::DType dtype) { return dtype == plan::BF16 || dtype == plan::F16; }
  // Whether elements lose bits before they are multiplied.
  static bool rounds(const plan::View& view, plan::DType round) {
    return is_narrow(round) && round != view.dtype();
  }
  // A type that holds an operand's values when they are multiplied.
  static plan::DType rounded(const plan::View& view, plan::DType round) {
    if (!rounds(view, round)) return view.dtype();
    return is_narrow(view.dtype()) ? plan::F32 : round;
  }

  bool find_matrices() {
    const int b = dot_.batch_size(), m = dot_.m_size(), n = dot_.n_size(), k = dot_.k_size();
    const auto& l = dot_.lhs().strides();
    const auto& r = dot_.rhs().strides();
    const auto& o = dot_.out().strides();
    batch_ = joined(dot_.batch(), {slice(l, 0, b), slice(r, 0, b), slice(o, 0, b)});
    const Iteration rows = joined(dot_.m(), {slice(l, b, m), slice(o, b, m)});
    const Iteration columns = joined(dot_.n(), {slice(r, b, n), slice(o, b + m, n)});
    const Iteration inner = joined(dot_.k(), {slice(l, b + m, k), slice(r, b + n, k)});
    m_ = rows.count();
    n_ = columns.count();
    k_ = inner.count();
    if (m_ * n_ * k_ * batch_.count() == 0) return false;
    return place(lhs_, dot_.lhs(), operand_type_, dot_.round_lhs(), pick(batch_, 0), pick(rows, 0),
                 pick(inner, 0)) &&
           place(rhs_, dot_.rhs(), operand_type_, dot_.round_rhs(), pick(batch_, 1),
                 pick(columns, 0), pick(inner, 1)) &&
           place(out_, dot_.out(), result_type_, plan::INVALID, pick(batch_, 2), pick(rows, 1),
                 pick(columns, 1));
  }

  static Iteration pick(const Iteration& it, size_t operand) {
    return {it.shape, {it.strides[operand]}};
  }

  // Uses a matrix where it lies if the library can, else a dense copy.
  bool place(Matrix& matrix, const plan::View& view, plan::DType type, plan::DType round,
             const Iteration& batch, const Iteration& rows, const Iteration& columns) {
    matrix.view = BoundView(view);
    matrix.type = type;
    matrix.batch_strides = batch.strides[0];
    Iteration one_row = rows, one_column = columns;
    cpu::join_dims(one_row);
    cpu::join_dims(one_column);
    const auto stride = [](const Iteration& it) { return it.rank() == 0 ? 0 : it.strides[0][0]; };
    if (view.dtype() == type && !rounds(view, round) && one_row.rank() <= 1 &&
        one_column.rank() <= 1) {
      if (const auto lines =
              lines_of(rows.count(), columns.count(), stride(one_row), stride(one_column))) {
        matrix.lines = *lines;
        return true;
      }
    }
    return pack(matrix, round, batch, rows, columns);
  }

  bool pack(Matrix& matrix, plan::DType round, const Iteration& batch, const Iteration& rows,
            const Iteration& columns) {
    std::vector<int64_t> shape, strides;
    for (const Iteration* part : {&batch, &rows, &columns}) {
      shape.insert(shape.end(), part->shape.begin(), part->shape.end());
      strides.insert(strides.end(), part->strides[0].begin(), part->strides[0].end());
    }
    std::vector<int64_t> dense(shape.size());
    int64_t count = 1;
    for (size_t d = shape.size(); d-- > 0; count *= shape[d]) dense[d] = count;
    const bool is_result = &matrix == &out_;
    const plan::DType own = matrix.view.dtype;
    matrix.packer = is_result
                        ? Packer::make(device_, shape, strides, own, dense, matrix.type, round)
                        : Packer::make(device_, shape, dense, matrix.type, strides, own, round);
    matrix.batch_strides.assign(dense.begin(), dense.begin() + static_cast<int64_t>(batch.rank()));
    matrix.lines = {true, columns.count()};
    matrix.offset = packed_bytes_;
    packed_bytes_ += (count * matrix.element_bytes() + 255) / 256 * 256;
    return matrix.packer != nullptr;
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
    int64_t bytes = matrix.packer ? 256 : alignment_of(device_.plan(), matrix.view);
    bytes = std::gcd(bytes, batch_stride * matrix.element_bytes());
    for (int64_t stride : matrix.batch_strides)
      bytes = std::gcd(bytes, stride * matrix.element_bytes());
    return static_cast<uint32_t>(bytes);
  }

  plan::Dot dot_;
  const plan::DotEpilogue* epilogue_;  // null: none
  CudaDevice& device_;
  LoadContext& context_;
  DotKernel::Extra extra_;
  MatmulProblem problem_;
  plan::DType operand_type_ = plan::INVALID, result_type_ = plan::INVALID;
  Iteration batch_;
  int64_t m_ = 1, n_ = 1, k_ = 1;
  Matrix lhs_, rhs_, out_;
  std::vector<int64_t> outer_;
  int64_t packed_bytes_ = 0;
};

}  // namespace

std::unique_ptr<ProductKernel> make_product(const plan::Dot& dot, const plan::DotEpilogue* epilogue,
                                            CudaDevice& device, LoadContext& context,
                                            std::function<double()> after_us) {
  return DotMaker(dot, epilogue, device, context).make(std::move(after_us));
}

KernelPtr make_dot(const plan::Dot& step, CudaDevice& device, LoadContext& context) {
  if (step.has_epilogue()) return make_dot_with_epilogue(step, device, context);
  return make_product(step, nullptr, device, context);
}

}  // namespace spmd::cuda
