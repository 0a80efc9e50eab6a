#include "runtime/device/cuda/cudnn_convolution.h"

namespace spmd::cuda {

std::vector<int64_t> strides_in(ConvolutionLayout layout, const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t count = 1;
  const auto next = [&](size_t d) {
    strides[d] = count;
    count *= dims[d];
  };
  if (layout == ConvolutionLayout::kFeaturesLast) next(1);
  for (size_t d = dims.size(); d-- > 2;) next(d);
  if (layout == ConvolutionLayout::kFeaturesFirst) next(1);
  next(0);
  return strides;
}

}  // namespace spmd::cuda

#if SPMD_HAVE_CUDNN
#include <unordered_map>

#include "runtime/device/cuda/cudnn_graph.h"

namespace spmd::cuda {
namespace {

using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

enum ConvolutionUid : int64_t { kX = 1, kW, kY };

// What engines may not do: add up in another order each time, or lose more bits than the sum in F32
// of a convolution has to.
std::vector<fe::NumericalNote_t> refused_notes(plan::DType dtype) {
  using Note = fe::NumericalNote_t;
  std::vector<Note> notes = {Note::NONDETERMINISTIC,
                             Note::REDUCED_PRECISION_REDUCTION,
                             Note::DOWN_CONVERT_INPUTS,
                             Note::FFT,
                             Note::WINOGRAD,
                             Note::WINOGRAD_TILE_4x4,
                             Note::WINOGRAD_TILE_6x6,
                             Note::WINOGRAD_TILE_13x13};
  if (dtype == plan::F32) notes.push_back(Note::TENSOR_CORE);  // they round to TF32
  return notes;
}

class ConvolutionByGraph : public CudnnConvolution {
 public:
  explicit ConvolutionByGraph(std::shared_ptr<Cudnn> cudnn) : cudnn_(std::move(cudnn)) {}

  // What cuDNN says against it; empty when there is nothing.
  std::string define(const ConvolutionForm& form, ConvolutionLayout layout, plan::DType dtype);

  const std::vector<std::string>& engines() const override { return engines_; }
  bool build(size_t engine) override {
    return graph().build_plan_at_index(static_cast<int64_t>(engine)).is_good();
  }
  int64_t workspace_bytes(size_t engine) const override {
    return made_->graph.get_workspace_size_plan_at_index(static_cast<int64_t>(engine));
  }
  bool run(size_t engine, const ConvolutionData& data, std::byte* workspace) override {
    pointers_[kX] = data.x;
    pointers_[kW] = data.w;
    pointers_[kY] = data.y;
    return graph()
        .execute_plan_at_index(cudnn_->handle(), pointers_, workspace, static_cast<int64_t>(engine))
        .is_good();
  }

 private:
  fe::graph::Graph& graph() { return made_->graph; }

  std::shared_ptr<Cudnn> cudnn_;
  std::shared_ptr<CudnnGraph> made_;
  std::vector<std::string> engines_;
  std::unordered_map<int64_t, void*> pointers_;
};

void describe(const Tensor& tensor, const ConvolutionTensor& from, ConvolutionUid uid,
              ConvolutionLayout layout, plan::DType dtype) {
  const std::vector<int64_t> dims = from.dims();
  tensor->set_uid(uid)
      .set_dim(dims)
      .set_stride(strides_in(layout, dims))
      .set_data_type(cudnn_type(dtype));
}

template <typename Attributes>
Attributes attributes_of(const ConvolutionForm& form) {
  Attributes attributes;
  attributes.set_name("convolution");
  attributes.set_pre_padding(form.pre)
      .set_post_padding(form.post)
      .set_stride(form.stride)
      .set_dilation(form.dilation)
      .set_convolution_mode(fe::ConvolutionMode_t::CROSS_CORRELATION);
  return attributes;
}

std::string ConvolutionByGraph::define(const ConvolutionForm& form, ConvolutionLayout layout,
                                       plan::DType dtype) {
  made_ = cudnn_->new_graph(dtype);
  const auto input = [&](const ConvolutionTensor& from, ConvolutionUid uid) {
    const Tensor tensor = graph().tensor(fe::graph::Tensor_attributes());
    describe(tensor, from, uid, layout, dtype);
    return tensor;
  };
  const auto output = [&](const Tensor& tensor, const ConvolutionTensor& from, ConvolutionUid uid) {
    tensor->set_output(true);
    describe(tensor, from, uid, layout, dtype);
  };
  switch (form.kind) {
    case ConvolutionKind::kForward:
      output(graph().conv_fprop(input(form.x, kX), input(form.w, kW),
                                attributes_of<fe::graph::Conv_fprop_attributes>(form)),
             form.y, kY);
      break;
    case ConvolutionKind::kDataGradient:
      output(graph().conv_dgrad(input(form.y, kY), input(form.w, kW),
                                attributes_of<fe::graph::Conv_dgrad_attributes>(form)),
             form.x, kX);
      break;
    case ConvolutionKind::kFilterGradient:
      output(graph().conv_wgrad(input(form.y, kY), input(form.x, kX),
                                attributes_of<fe::graph::Conv_wgrad_attributes>(form)),
             form.w, kW);
      break;
  }
  fe::error_object error = graph().validate();
  if (error.is_good()) error = graph().build_operation_graph(cudnn_->handle());
  if (error.is_good())
    error = graph().create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK});
  if (error.is_bad()) return error.get_message();
  constexpr int64_t kMostWorkspace = int64_t{256} << 20;
  graph()
      .deselect_numeric_notes(refused_notes(dtype))
      .deselect_workspace_greater_than(kMostWorkspace);
  for (int64_t i = 0; i < graph().get_execution_plan_count(); ++i) {
    std::string& name = engines_.emplace_back();
    if (graph().get_plan_name_at_index(i, name).is_bad()) name = "unnamed";
  }
  return engines_.empty() ? "no engine" : "";
}

}  // namespace

std::unique_ptr<CudnnConvolution> make_cudnn_convolution(std::shared_ptr<Cudnn> cudnn,
                                                         const ConvolutionForm& form,
                                                         ConvolutionLayout layout,
                                                         plan::DType dtype, std::string& why) {
  auto made = std::make_unique<ConvolutionByGraph>(std::move(cudnn));
  why = made->define(form, layout, dtype);
  if (!why.empty()) return nullptr;
  return made;
}

}  // namespace spmd::cuda

#else

namespace spmd::cuda {

std::unique_ptr<CudnnConvolution> make_cudnn_convolution(std::shared_ptr<Cudnn>,
                                                         const ConvolutionForm&, ConvolutionLayout,
                                                         plan::DType, std::string& why) {
  why = why_no_cudnn();
  return nullptr;
}

}  // namespace spmd::cuda

#endif
