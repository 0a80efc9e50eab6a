#include "runtime/device/cpu/onednn.h"

#if SPMD_HAVE_DNNL

#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>

namespace spmd::cpu {
namespace {

using dnnl::memory;
using Dims = memory::dims;

// The engine costs nothing to share; a stream belongs to a thread.
const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}
dnnl::stream& stream() {
  thread_local dnnl::stream own(engine());
  return own;
}

// Its kernels count in int, and divide by zero where a size does not fit.
void require_int(const Dims& shape) {
  for (int64_t size : shape) {
    if (size > std::numeric_limits<int>::max()) {
      throw dnnl::error(dnnl_unimplemented, "a dimension is too large");
    }
  }
}

memory::desc describe(const Dims& shape, const Dims& strides) {
  require_int(shape);
  return memory::desc(shape, memory::data_type::f32, strides);
}

// The reference implementations are written for checking, not for speed.
bool is_slow(const std::string& implementation) {
  return implementation.find("ref") != std::string::npos &&
         implementation.find("gemm") == std::string::npos;
}

// Primitives take their scratch memory from the caller: what the library has itself is for the
// thread that made the primitive only.
const dnnl::primitive_attr& attributes() {
  static const dnnl::primitive_attr attributes = [] {
    dnnl::primitive_attr result;
    result.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return result;
  }();
  return attributes;
}

// The calling thread's scratch memory, which all primitives share.
void* scratch(size_t bytes) {
  constexpr size_t kAlignment = 4096;
  struct Free {
    void operator()(void* data) const { std::free(data); }
  };
  thread_local std::unique_ptr<void, Free> data;
  thread_local size_t size = 0;
  if (bytes > size) {
    size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    data.reset(std::aligned_alloc(kAlignment, size));
    if (!data) throw std::bad_alloc();
  }
  return data.get();
}

// A primitive with its three operands.
class Call {
 public:
  Call(const dnnl::primitive& primitive, const memory::desc& scratch, int lhs, int rhs,
       const memory::desc& lhs_desc, const memory::desc& rhs_desc, const memory::desc& out_desc)
      : primitive_(primitive),
        lhs_(lhs_desc, engine(), nullptr),
        rhs_(rhs_desc, engine(), nullptr),
        out_(out_desc, engine(), nullptr),
        scratch_(scratch, engine(), nullptr) {
    arguments_ = {{lhs, lhs_}, {rhs, rhs_}, {DNNL_ARG_DST, out_}, {DNNL_ARG_SCRATCHPAD, scratch_}};
  }
  void run(const void* lhs, const void* rhs, void* out) {
    scratch_.set_data_handle(scratch(scratch_.get_desc().get_size()));
    lhs_.set_data_handle(const_cast<void*>(lhs));
    rhs_.set_data_handle(const_cast<void*>(rhs));
    out_.set_data_handle(out);
    primitive_.execute(stream(), arguments_);
  }

 private:
  dnnl::primitive primitive_;
  memory lhs_, rhs_, out_, scratch_;
  std::unordered_map<int, memory> arguments_;
};

class OneDnnGemm : public Gemm {
 public:
  explicit OneDnnGemm(Call call) : call_(std::move(call)) {}
  void run(const void* lhs, const void* rhs, void* out) override { call_.run(lhs, rhs, out); }

 private:
  Call call_;
};

// One side of a convolution: in the layout that oneDNN likes best, copied when that is not ours.
class Side {
 public:
  Side(const memory::desc& ours, const memory::desc& theirs)
      : ours_(ours, engine(), nullptr), same_(ours == theirs) {
    if (same_) return;
    theirs_ = memory(theirs, engine());
    to_ = dnnl::reorder(ours_, theirs_);
    from_ = dnnl::reorder(theirs_, ours_);
  }
  void* begin(const void* data, bool is_input) {
    ours_.set_data_handle(const_cast<void*>(data));
    if (same_) return ours_.get_data_handle();
    if (is_input) to_.execute(stream(), ours_, theirs_);
    return theirs_.get_data_handle();
  }
  void end() {
    if (!same_) from_.execute(stream(), theirs_, ours_);
  }

 private:
  memory ours_, theirs_;
  bool same_;
  dnnl::reorder to_, from_;
};

class OneDnnConvolution : public ConvolutionCall {
 public:
  OneDnnConvolution(Call call, Side input, Side kernel, Side out)
      : call_(std::move(call)),
        input_(std::move(input)),
        kernel_(std::move(kernel)),
        out_(std::move(out)) {}
  void run(const void* in, const void* kernel, void* out) override {
    void* result = out_.begin(out, false);
    call_.run(input_.begin(in, true), kernel_.begin(kernel, true), result);
    out_.end();
  }

 private:
  Call call_;
  Side input_, kernel_, out_;
};

dnnl::matmul::primitive_desc matmul(const memory::desc& lhs, const memory::desc& rhs,
                                    const memory::desc& out) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul::primitive_desc(engine(), lhs, rhs, out, attributes());
#else
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(lhs, rhs, out), attributes(), engine());
#endif
}

dnnl::convolution_forward::primitive_desc convolution(const ConvolutionProblem& p,
                                                      const memory::desc& input,
                                                      const memory::desc& kernel,
                                                      const memory::desc& out) {
  Dims dilation;
  for (int64_t d : p.dilation) dilation.push_back(d - 1);
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::convolution_forward::primitive_desc(engine(), kind, algorithm, input, kernel, out,
                                                   p.stride, dilation, p.pad_low, p.pad_high,
                                                   attributes());
#else
  return dnnl::convolution_forward::primitive_desc(
      dnnl::convolution_forward::desc(kind, algorithm, input, kernel, out, p.stride, dilation,
                                      p.pad_low, p.pad_high),
      attributes(), engine());
#endif
}

Dims join(const std::vector<int64_t>& batch, int64_t a, int64_t b) {
  Dims dims(batch.begin(), batch.end());
  dims.push_back(a);
  dims.push_back(b);
  return dims;
}

// A dimension of one element may have any stride. oneDNN takes a matrix whose two strides are equal
// for one by columns and then fails to run it: here it is one by rows or by columns plainly.
void settle_strides(int64_t rows, int64_t columns, int64_t& row_stride, int64_t& column_stride) {
  if (rows == 1) {
    row_stride = column_stride == 1 ? columns : 1;
  } else if (columns == 1) {
    column_stride = row_stride == 1 ? rows : 1;
  }
}

}  // namespace

std::unique_ptr<Gemm> make_onednn_gemm(const GemmProblem& given) {
  GemmProblem p = given;
  if (p.lane != Lane::kF32 || p.batch.size() > 4) return nullptr;
  if (!is_blas_matrix(p.m, p.k, p.lhs_m, p.lhs_k) || !is_blas_matrix(p.k, p.n, p.rhs_k, p.rhs_n) ||
      !is_blas_matrix(p.m, p.n, p.out_m, p.out_n))
    return nullptr;
  settle_strides(p.m, p.k, p.lhs_m, p.lhs_k);
  settle_strides(p.k, p.n, p.rhs_k, p.rhs_n);
  settle_strides(p.m, p.n, p.out_m, p.out_n);
  try {
    const memory::desc lhs = describe(join(p.batch, p.m, p.k), join(p.lhs_batch, p.lhs_m, p.lhs_k));
    const memory::desc rhs = describe(join(p.batch, p.k, p.n), join(p.rhs_batch, p.rhs_k, p.rhs_n));
    const memory::desc out = describe(join(p.batch, p.m, p.n), join(p.out_batch, p.out_m, p.out_n));
    const auto descriptor = matmul(lhs, rhs, out);
    if (is_slow(descriptor.impl_info_str())) return nullptr;
    return std::make_unique<OneDnnGemm>(Call(dnnl::matmul(descriptor), descriptor.scratchpad_desc(),
                                             DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, lhs, rhs, out));
  } catch (const dnnl::error&) {
    return nullptr;  // not a layout or shape that oneDNN takes
  }
}

std::unique_ptr<ConvolutionCall> make_onednn_convolution(const ConvolutionProblem& p) {
  if (p.stride.empty() || p.stride.size() > 3) return nullptr;
  try {
    Dims kernel_shape = p.kernel, kernel_strides = p.kernel_strides;
    if (p.groups > 1) {
      const int64_t per_group = p.kernel[0] / p.groups;
      kernel_shape[0] = per_group;
      kernel_shape.insert(kernel_shape.begin(), p.groups);
      kernel_strides.insert(kernel_strides.begin(), per_group * p.kernel_strides[0]);
    }
    const auto any = [](const Dims& shape) {
      require_int(shape);
      return memory::desc(shape, memory::data_type::f32, memory::format_tag::any);
    };
    const auto descriptor = convolution(p, any(p.input), any(kernel_shape), any(p.out));
    if (is_slow(descriptor.impl_info_str())) return nullptr;
    const memory::desc input = descriptor.src_desc(), kernel = descriptor.weights_desc(),
                       out = descriptor.dst_desc();
    return std::make_unique<OneDnnConvolution>(
        Call(dnnl::convolution_forward(descriptor), descriptor.scratchpad_desc(), DNNL_ARG_SRC,
             DNNL_ARG_WEIGHTS, input, kernel, out),
        Side(describe(p.input, p.input_strides), input),
        Side(describe(kernel_shape, kernel_strides), kernel),
        Side(describe(p.out, p.out_strides), out));
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace spmd::cpu

#else

namespace spmd::cpu {
std::unique_ptr<Gemm> make_onednn_gemm(const GemmProblem&) { return nullptr; }
std::unique_ptr<ConvolutionCall> make_onednn_convolution(const ConvolutionProblem&) {
  return nullptr;
}
}  // namespace spmd::cpu

#endif
