// reduce_window and select_and_scatter.
#include <algorithm>

#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/views.h"

namespace spmd::cuda {
namespace {

// A window on `base`, whose positions are the elements of `positions`.
std::optional<WindowParameters> window_on(const plan::Window& window, const BoundView& base,
                                          const BoundView& positions) {
  const std::optional<Space> space = space_of(positions.shape);
  if (!space || !space_of(base.shape)) return std::nullopt;
  WindowParameters w;
  w.positions = *space;
  put(base.shape, w.base);
  put(window.size(), w.size);
  put(window.stride(), w.stride);
  put(window.base_dilation(), w.base_dilation);
  put(window.window_dilation(), w.dilation);
  put(window.pad_low(), w.pad_low);
  put(base.strides, w.base_strides);
  put(positions.strides, w.position_strides);
  return w;
}

class ReduceWindowKernel : public Kernel {
 public:
  ReduceWindowKernel(CudaDevice& device, const plan::ReduceWindow& step,
                     const ReduceWindowParameters& parameters, const std::string& type)
      : gpu_(device.gpu()),
        input_(step.inputs(0)),
        init_(step.inits(0)),
        output_(step.outputs(0)),
        parameters_(parameters),
        function_(device.library().find("reduce_window_" + type)) {}

  void run(const RunContext& context) override {
    if (parameters_.window.positions.count == 0) return;
    gpu_.launch(function_, parameters_.window.positions.count, parameters_, input_.data(context),
                init_.data(context), output_.data(context));
  }

 private:
  const Gpu& gpu_;
  BoundView input_, init_, output_;
  ReduceWindowParameters parameters_;
  CUfunction function_;
};

class SelectAndScatterKernel : public Kernel {
 public:
  SelectAndScatterKernel(CudaDevice& device, const plan::SelectAndScatter& step,
                         const SelectAndScatterParameters& parameters, const std::string& type)
      : gpu_(device.gpu()),
        operand_(step.operand()),
        source_(step.source()),
        init_(step.init()),
        out_(step.out()),
        parameters_(parameters),
        function_(device.library().find("select_and_scatter_" + type)) {}

  void run(const RunContext& context) override {
    if (parameters_.out.count == 0) return;
    gpu_.launch(function_, parameters_.out.count, parameters_, operand_.data(context),
                source_.data(context), init_.data(context), out_.data(context));
  }

 private:
  const Gpu& gpu_;
  BoundView operand_, source_, init_, out_;
  SelectAndScatterParameters parameters_;
  CUfunction function_;
};

// Of a program that compares its inputs, the first with the second.
std::optional<Select> select_of(const plan::ScalarProgram& program) {
  if (program.instructions_size() != 1 || program.outputs_size() != 1 || program.outputs(0) != 2)
    return std::nullopt;
  const plan::Instruction& only = program.instructions(0);
  if (only.op() != plan::COMPARE || only.args(0) != 0 || only.args(1) != 1) return std::nullopt;
  switch (only.comparison()) {
    case plan::GE:
      return Select::kGe;
    case plan::GT:
      return Select::kGt;
    case plan::LE:
      return Select::kLe;
    case plan::LT:
      return Select::kLt;
    default:
      return std::nullopt;
  }
}

}  // namespace

KernelPtr make_reduce_window(const plan::ReduceWindow& step, CudaDevice& device) {
  if (step.inputs_size() != 1) return nullptr;
  const plan::DType dtype = step.inputs(0).dtype();
  const auto type = kernel_type(dtype);
  const auto combine = combine_of(step.op(), step.program(), dtype);
  const auto window =
      window_on(step.window(), BoundView(step.inputs(0)), BoundView(step.outputs(0)));
  if (!type || !combine || !window) return nullptr;
  ReduceWindowParameters p;
  p.window = *window;
  p.combine = *combine;
  return std::make_unique<ReduceWindowKernel>(device, step, p, *type);
}

KernelPtr make_select_and_scatter(const plan::SelectAndScatter& step, CudaDevice& device) {
  const plan::DType dtype = step.operand().dtype();
  const auto type = kernel_type(dtype);
  const auto select = select_of(step.select());
  const auto combine = combine_of(plan::NOP, step.scatter(), dtype);
  const auto window = window_on(step.window(), BoundView(step.operand()), BoundView(step.source()));
  if (!type || !select || !combine || !window) return nullptr;
  SelectAndScatterParameters p;
  p.window = *window;
  p.select = *select;
  p.combine = *combine;
  p.out = *space_of(plan::dims_of(step.operand().shape()));
  put(plan::dims_of(step.out().strides()), p.out_strides);
  return std::make_unique<SelectAndScatterKernel>(device, step, p, *type);
}

}  // namespace spmd::cuda
