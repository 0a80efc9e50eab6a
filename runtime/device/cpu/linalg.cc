// fft, cholesky and triangular_solve: matrices and transforms are loaded into the workspace in
// double precision, one at a time.
#include <algorithm>

#include "runtime/device/cpu/fourier.h"
#include "runtime/device/cpu/iteration.h"
#include "runtime/device/cpu/kernel.h"
#include "runtime/device/cpu/tile_io.h"
#include "support/linear_algebra.h"

namespace spmd::cpu {
namespace {

using Complex = std::complex<double>;

Complex load_number(plan::DType dtype, const std::byte* from) {
  alignas(16) std::byte lane[16];
  load_element(dtype, from, lane);
  switch (lane_of(dtype)) {
    case Lane::kC128:
      return *reinterpret_cast<const Complex*>(lane);
    case Lane::kC64:
      return Complex(*reinterpret_cast<const std::complex<float>*>(lane));
    case Lane::kF64:
      return *reinterpret_cast<const double*>(lane);
    default:
      return *reinterpret_cast<const float*>(lane);
  }
}

void store_number(plan::DType dtype, Complex value, std::byte* to) {
  alignas(16) std::byte lane[16];
  switch (lane_of(dtype)) {
    case Lane::kC128:
      *reinterpret_cast<Complex*>(lane) = value;
      break;
    case Lane::kC64:
      *reinterpret_cast<std::complex<float>*>(lane) = std::complex<float>(value);
      break;
    case Lane::kF64:
      *reinterpret_cast<double*>(lane) = value.real();
      break;
    default:
      *reinterpret_cast<float*>(lane) = static_cast<float>(value.real());
      break;
  }
  store_element(dtype, lane, to);
}

// The batch dimensions of several views, all but the innermost `inner` ones.
Iteration batches(const std::vector<const BoundView*>& views, size_t inner) {
  Iteration it;
  const size_t count = views[0]->shape.size() - inner;
  it.shape.assign(views[0]->shape.begin(), views[0]->shape.begin() + static_cast<ptrdiff_t>(count));
  for (const BoundView* view : views) {
    it.strides.emplace_back(view->strides.begin(),
                            view->strides.begin() + static_cast<ptrdiff_t>(count));
  }
  return it;
}

bool has_no_numbers(const BoundView& view) {
  return std::find(view.shape.begin(), view.shape.end(), 0) != view.shape.end();
}

// ---- fft

class FftKernel : public Kernel {
 public:
  FftKernel(const plan::Fft& step, LoadContext& context)
      : kind_(step.kind()),
        in_(step.in()),
        out_(step.out()),
        lengths_(step.length().begin(), step.length().end()),
        batches_(batches({&in_, &out_}, lengths_.size())),
        odometer_(batches_, batches_.rank()) {
    const size_t first = in_.shape.size() - lengths_.size();
    in_shape_.assign(in_.shape.begin() + static_cast<ptrdiff_t>(first), in_.shape.end());
    out_shape_.assign(out_.shape.begin() + static_cast<ptrdiff_t>(first), out_.shape.end());
    int64_t scratch = 0, longest = 0;
    for (int64_t length : lengths_) {
      transforms_.emplace_back(length, kind_ == plan::Fft::IFFT || kind_ == plan::Fft::IRFFT);
      scratch = std::max(scratch, transforms_.back().scratch());
      longest = std::max(longest, length);
      block_ *= length;
    }
    line_ = block_;
    scratch_ = line_ + longest;
    context.need_workspace((scratch_ + scratch) * static_cast<int64_t>(sizeof(Complex)));
  }

  void run(const RunContext& context) override {
    work_ = reinterpret_cast<Complex*>(context.workspace);
    odometer_.reset();
    do {
      move(in_, in_.data(context) + odometer_.offset(0) * in_.element_bytes, in_shape_, true);
      if (kind_ != plan::Fft::IRFFT) transform(lengths_.size() - 1);
      for (size_t d = lengths_.size() - 1; d-- > 0;) transform(d);
      if (kind_ == plan::Fft::IRFFT) transform(lengths_.size() - 1);
      move(out_, out_.data(context) + odometer_.offset(1) * out_.element_bytes, out_shape_, false);
    } while (odometer_.next());
  }

 private:
  // Between a view's block and the work block, whose sizes are `lengths_`.
  void move(const BoundView& view, std::byte* data, const std::vector<int64_t>& shape, bool loads) {
    const size_t rank = lengths_.size(), first = view.strides.size() - rank;
    int64_t index[3] = {0, 0, 0};
    while (true) {
      int64_t at = 0, offset = 0;
      for (size_t d = 0; d < rank; ++d) {
        at = at * lengths_[d] + index[d];
        offset += index[d] * view.strides[first + d];
      }
      std::byte* element = data + offset * view.element_bytes;
      if (loads) {
        work_[at] = load_number(view.dtype, element);
      } else {
        store_number(view.dtype, work_[at], element);
      }
      size_t d = rank;
      while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
      if (d == 0) return;
    }
  }

  void transform(size_t dim) {
    const FourierTransform& fourier = transforms_[dim];
    const int64_t length = lengths_[dim];
    int64_t inner = 1;
    for (size_t d = dim + 1; d < lengths_.size(); ++d) inner *= lengths_[d];
    const bool completes = kind_ == plan::Fft::IRFFT && dim + 1 == lengths_.size();
    Complex* line = work_ + line_;
    for (int64_t o = 0; o < block_ / (inner * length); ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        Complex* from = work_ + o * length * inner + i;
        for (int64_t k = 0; k < length; ++k) line[k] = from[k * inner];
        if (completes) complete(line, length);
        fourier.run(line, work_ + scratch_);
        for (int64_t k = 0; k < length; ++k) from[k * inner] = line[k];
      }
    }
  }

  // The second half of a line is the conjugate of the first one.
  static void complete(Complex* line, int64_t length) {
    line[0] = line[0].real();
    if (length % 2 == 0) line[length / 2] = line[length / 2].real();
    for (int64_t k = length / 2 + 1; k < length; ++k) line[k] = std::conj(line[length - k]);
  }

  plan::Fft::Kind kind_;
  BoundView in_, out_;
  std::vector<int64_t> lengths_, in_shape_, out_shape_;
  Iteration batches_;
  Odometer odometer_;
  std::vector<FourierTransform> transforms_;
  int64_t block_ = 1;               // complex numbers of one transform
  int64_t line_ = 0, scratch_ = 0;  // places in the workspace
  Complex* work_ = nullptr;
};

// ---- matrices

template <typename T>
void move_matrix(const BoundView& view, const std::byte* data, T* to) {
  const size_t rank = view.shape.size();
  const int64_t rows = view.shape[rank - 2], columns = view.shape[rank - 1];
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t offset = r * view.strides[rank - 2] + c * view.strides[rank - 1];
      const Complex value = load_number(view.dtype, data + offset * view.element_bytes);
      if constexpr (std::is_same_v<T, double>) {
        to[r * columns + c] = value.real();
      } else {
        to[r * columns + c] = value;
      }
    }
  }
}

// Element (r, c) of the result is from[r * row + c * column], conjugated if asked.
template <typename T>
void store_matrix(const T* from, int64_t row, int64_t column, bool conjugates,
                  const BoundView& view, std::byte* data) {
  const size_t rank = view.shape.size();
  for (int64_t r = 0; r < view.shape[rank - 2]; ++r) {
    for (int64_t c = 0; c < view.shape[rank - 1]; ++c) {
      const int64_t offset = r * view.strides[rank - 2] + c * view.strides[rank - 1];
      const T value = from[r * row + c * column];
      store_number(view.dtype, conjugates ? linear_algebra::conjugate(value) : value,
                   data + offset * view.element_bytes);
    }
  }
}

template <typename T>
class CholeskyKernel : public Kernel {
 public:
  CholeskyKernel(const plan::Cholesky& step, LoadContext& context)
      : lower_(step.lower()),
        in_(step.in()),
        out_(step.out()),
        n_(in_.shape.back()),
        batches_(batches({&in_, &out_}, 2)),
        odometer_(batches_, batches_.rank()) {
    if (!lower_) std::swap(in_.strides.back(), in_.strides[in_.strides.size() - 2]);
    context.need_workspace(n_ * n_ * static_cast<int64_t>(sizeof(T)));
  }

  void run(const RunContext& context) override {
    T* a = reinterpret_cast<T*>(context.workspace);
    odometer_.reset();
    do {
      // The conjugate of the upper triangle, transposed, is a lower one.
      move_matrix(in_, in_.data(context) + odometer_.offset(0) * in_.element_bytes, a);
      if (!lower_) {
        for (int64_t i = 0; i < n_ * n_; ++i) a[i] = linear_algebra::conjugate(a[i]);
      }
      linear_algebra::cholesky_lower(n_, a);
      store_matrix(a, lower_ ? n_ : 1, lower_ ? 1 : n_, !lower_, out_,
                   out_.data(context) + odometer_.offset(1) * out_.element_bytes);
    } while (odometer_.next());
  }

 private:
  bool lower_;
  BoundView in_, out_;
  int64_t n_;
  Iteration batches_;
  Odometer odometer_;
};

template <typename T>
class TriangularSolveKernel : public Kernel {
 public:
  TriangularSolveKernel(const plan::TriangularSolve& step, LoadContext& context)
      : step_(step),
        a_(step.a()),
        b_(step.b()),
        out_(step.out()),
        n_(a_.shape.back()),
        batches_(batches({&a_, &b_, &out_}, 2)),
        odometer_(batches_, batches_.rank()) {
    // Systems x op(a) = b are solved transposed.
    if (!step.left_side()) {
      const size_t rank = b_.shape.size();
      for (std::vector<int64_t>* dims : {&b_.strides, &b_.shape, &out_.strides, &out_.shape}) {
        std::swap((*dims)[rank - 1], (*dims)[rank - 2]);
      }
    }
    free_ = b_.shape.back();
    context.need_workspace((n_ * n_ + n_ * free_) * static_cast<int64_t>(sizeof(T)));
  }

  void run(const RunContext& context) override {
    T* a = reinterpret_cast<T*>(context.workspace);
    T* x = a + n_ * n_;
    const auto triangle = linear_algebra::triangle(
        a, n_, step_.lower(), step_.unit_diagonal(),
        step_.transpose_a() == plan::TriangularSolve::TRANSPOSE,
        step_.transpose_a() == plan::TriangularSolve::ADJOINT, step_.left_side());
    odometer_.reset();
    do {
      move_matrix(a_, a_.data(context) + odometer_.offset(0) * a_.element_bytes, a);
      move_matrix(b_, b_.data(context) + odometer_.offset(1) * b_.element_bytes, x);
      triangle.solve(x, free_);
      store_matrix(x, free_, 1, false, out_,
                   out_.data(context) + odometer_.offset(2) * out_.element_bytes);
    } while (odometer_.next());
  }

 private:
  plan::TriangularSolve step_;
  BoundView a_, b_, out_;
  int64_t n_, free_ = 0;
  Iteration batches_;
  Odometer odometer_;
};

class NoNumbers : public Kernel {
 public:
  void run(const RunContext&) override {}
};

}  // namespace

KernelPtr make_fft(const plan::Fft& step, LoadContext& context) {
  if (has_no_numbers(BoundView(step.in())) || has_no_numbers(BoundView(step.out()))) {
    return std::make_unique<NoNumbers>();
  }
  return std::make_unique<FftKernel>(step, context);
}

KernelPtr make_cholesky(const plan::Cholesky& step, LoadContext& context) {
  if (has_no_numbers(BoundView(step.in()))) return std::make_unique<NoNumbers>();
  if (plan::is_complex(step.in().dtype())) {
    return std::make_unique<CholeskyKernel<Complex>>(step, context);
  }
  return std::make_unique<CholeskyKernel<double>>(step, context);
}

KernelPtr make_triangular_solve(const plan::TriangularSolve& step, LoadContext& context) {
  if (has_no_numbers(BoundView(step.b()))) return std::make_unique<NoNumbers>();
  if (plan::is_complex(step.b().dtype())) {
    return std::make_unique<TriangularSolveKernel<Complex>>(step, context);
  }
  return std::make_unique<TriangularSolveKernel<double>>(step, context);
}

}  // namespace spmd::cpu
