#include "runtime/device/cuda/attention.h"

#include "runtime/device/cuda/cuda_device.h"
#include "runtime/plan/accesses.h"
#include "support/error.h"

#if SPMD_HAVE_CUDNN
#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <unordered_map>

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

#include "support/nvidia_libraries.h"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // the headers look their functions up in it
}

namespace spmd::cuda {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

// Older ones have flaws in attention's backward pass that cudnn-frontend refuses or works around.
constexpr size_t kOldestVersion = 91002;

std::string version_text(size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string load() {
  try {
    // cudnn-frontend asks the loader for it by name, which then finds this one.
    require_library(fmt::format("libcudart.so.{}", CUDART_VERSION / 1000),
                    "the CUDA runtime (libcudart of the CUDA Toolkit)");
    const SharedLibrary& library =
        require_library(fmt::format("libcudnn.so.{}", CUDNN_MAJOR), "cuDNN");
    fe::cudnn_dlhandle = library.handle();
  } catch (const UserError& error) {
    const std::string text = error.what();
    return text.substr(0, text.find('\n'));
  }
  const size_t version = fe::detail::get_backend_version();
  if (version >= kOldestVersion) return "";
  return fmt::format("cuDNN is {}, but attention needs {} or newer", version_text(version),
                     version_text(kOldestVersion));
}

// A tensor of cuDNN's graphs, [batch, head, position, size].
enum Uid : int64_t {
  kQuery = 1,
  kKey,
  kValue,
  kOutput,
  kStatistics,
  kDOutput,
  kDQuery,
  kDKey,
  kDValue
};

// Strides of dimensions of size 1 mean nothing; cuDNN wants them to be aligned nevertheless.
std::vector<int64_t> strides_of(const std::vector<int64_t>& dims, std::vector<int64_t> strides) {
  int64_t all = 1;
  for (int64_t size : dims) all *= size;
  for (size_t d = 0; d + 1 < dims.size(); ++d) {
    if (dims[d] == 1) strides[d] = all;
  }
  strides.back() = 1;
  return strides;
}

fe::DataType_t type_of(plan::DType dtype) {
  switch (dtype) {
    case plan::BF16:
      return fe::DataType_t::BFLOAT16;
    case plan::F16:
      return fe::DataType_t::HALF;
    default:
      return fe::DataType_t::FLOAT;
  }
}

// What cuDNN sees of a view. Queries and outputs are [batch, query, head, group, size], keys and
// values [batch, key, head, size], statistics [batch, head, group, query].
void describe(const Tensor& tensor, const plan::View& view, Uid uid) {
  const auto n = plan::dims_of(view.shape()), s = plan::dims_of(view.strides());
  std::vector<int64_t> dims, strides;
  if (uid == kStatistics) {
    dims = {n[0], n[1] * n[2], n[3], 1};
    strides = {n[1] * n[2] * n[3], n[3], 1, 1};
  } else if (n.size() == 5) {
    dims = {n[0], n[2] * n[3], n[1], n[4]};
    strides = strides_of(dims, {s[0], n[3] > 1 ? s[3] : s[2], s[1], s[4]});
  } else {
    dims = {n[0], n[2], n[1], n[3]};
    strides = strides_of(dims, {s[0], s[2], s[1], s[3]});
  }
  tensor->set_uid(uid).set_dim(dims).set_stride(strides).set_data_type(type_of(view.dtype()));
}

}  // namespace

std::string why_no_cudnn() {
  static const std::string why = load();
  return why;
}

// A graph that cuDNN has a plan for.
struct AttentionGraph {
  fe::graph::Graph graph;
  int64_t workspace_bytes = 0;
};

class Cudnn {
 public:
  explicit Cudnn(const Gpu& gpu) : gpu_(gpu) {
    expect(fe::detail::create_handle(&handle_), "starting cuDNN");
    expect(fe::detail::set_stream(handle_, reinterpret_cast<cudaStream_t>(gpu.stream())),
           "starting cuDNN");
  }
  ~Cudnn() {
    if (handle_ != nullptr) fe::detail::destroy_handle(handle_);
  }
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  cudnnHandle_t handle() const { return handle_; }

  // Steps that differ in buffers and offsets only share a graph. Null: cuDNN refuses, for the
  // reason that `why_not` gets.
  template <typename Step>
  std::shared_ptr<AttentionGraph> graph_of(const Step& step, std::string* why_not);

 private:
  void expect(cudnnStatus_t status, const char* what) const {
    if (status != CUDNN_STATUS_SUCCESS) {
      throw UserError(gpu_.name(),
                      fmt::format("{} failed with status {}", what, static_cast<int>(status)),
                      "see whether the driver is as new as cuDNN");
    }
  }
  Tensor input(fe::graph::Graph& graph, const plan::View& view, Uid uid) {
    const Tensor tensor = graph.tensor(fe::graph::Tensor_attributes());
    describe(tensor, view, uid);
    return tensor;
  }
  void output(const Tensor& tensor, const plan::View& view, Uid uid) {
    tensor->set_output(true);
    describe(tensor, view, uid);
  }
  void define(fe::graph::Graph& graph, const plan::Attention& step);
  void define(fe::graph::Graph& graph, const plan::AttentionBackward& step);
  // Why cuDNN refuses; empty: it does not.
  std::string build(AttentionGraph& attention);

  const Gpu& gpu_;
  cudnnHandle_t handle_ = nullptr;
  std::map<std::string, std::shared_ptr<AttentionGraph>> graphs_;
};

std::shared_ptr<Cudnn> make_cudnn(const Gpu& gpu) {
  return why_no_cudnn().empty() ? std::make_shared<Cudnn>(gpu) : nullptr;
}

void Cudnn::define(fe::graph::Graph& graph, const plan::Attention& step) {
  auto attributes = fe::graph::SDPA_attributes();
  attributes.set_name("attention")
      .set_generate_stats(true)
      .set_attn_scale(static_cast<float>(step.scale()))
      .set_causal_mask(step.causal());
  const auto [out, statistics] =
      graph.sdpa(input(graph, step.query(), kQuery), input(graph, step.key(), kKey),
                 input(graph, step.value(), kValue), std::move(attributes));
  output(out, step.output(), kOutput);
  output(statistics, step.statistics(), kStatistics);
}

void Cudnn::define(fe::graph::Graph& graph, const plan::AttentionBackward& step) {
  auto attributes = fe::graph::SDPA_backward_attributes();
  attributes.set_name("attention_backward")
      .set_attn_scale(static_cast<float>(step.scale()))
      .set_causal_mask(step.causal())
      .set_deterministic_algorithm(true);
  const auto [d_query, d_key, d_value] =
      graph.sdpa_backward(input(graph, step.query(), kQuery), input(graph, step.key(), kKey),
                          input(graph, step.value(), kValue), input(graph, step.output(), kOutput),
                          input(graph, step.d_output(), kDOutput),
                          input(graph, step.statistics(), kStatistics), std::move(attributes));
  output(d_query, step.d_query(), kDQuery);
  output(d_key, step.d_key(), kDKey);
  output(d_value, step.d_value(), kDValue);
}

std::string Cudnn::build(AttentionGraph& attention) {
  fe::graph::Graph& graph = attention.graph;
  fe::error_object error = graph.validate();
  if (error.is_good()) error = graph.build_operation_graph(handle_);
  if (error.is_good()) error = graph.create_execution_plans({fe::HeurMode_t::A});
  if (error.is_good()) error = graph.check_support();
  if (error.is_good()) error = graph.build_plans();
  if (error.is_good()) error = graph.get_workspace_size(attention.workspace_bytes);
  if (error.is_good()) return "";
  return fmt::format("cuDNN {} has no attention for this GPU and these shapes: {}",
                     version_text(fe::detail::get_backend_version()), error.get_message());
}

template <typename Step>
std::shared_ptr<AttentionGraph> Cudnn::graph_of(const Step& step, std::string* why_not) {
  plan::Step wrapped;
  if constexpr (std::is_same_v<Step, plan::Attention>) {
    *wrapped.mutable_attention() = step;
  } else {
    *wrapped.mutable_attention_backward() = step;
  }
  plan::for_each_view(wrapped, [](plan::View& view, bool) {
    view.set_buffer(0);
    view.set_offset(0);
  });
  std::shared_ptr<AttentionGraph>& found = graphs_[wrapped.SerializeAsString()];
  if (found) return found;
  auto made = std::make_shared<AttentionGraph>();
  made->graph.set_io_data_type(type_of(step.query().dtype()))
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT)
      .set_sm_version(gpu_.architecture());
  define(made->graph, step);
  *why_not = build(*made);
  if (why_not->empty()) found = std::move(made);
  return found;
}

namespace {

class AttentionKernel : public Kernel {
 public:
  AttentionKernel(std::shared_ptr<Cudnn> cudnn, std::shared_ptr<AttentionGraph> graph,
                  std::vector<std::pair<Uid, BoundView>> views, std::string op)
      : cudnn_(std::move(cudnn)),
        graph_(std::move(graph)),
        views_(std::move(views)),
        op_(std::move(op)) {}

  void run(const RunContext& context) override {
    for (const auto& [uid, view] : views_) pointers_[uid] = view.data(context);
    fe::error_object error = graph_->graph.execute(cudnn_->handle(), pointers_, context.workspace);
    if (error.is_bad()) [[unlikely]]
      throw UserError(op_, "cuDNN failed: " + error.get_message(),
                      "see whether nvidia-smi and dmesg report a fault of the GPU");
  }

 private:
  std::shared_ptr<Cudnn> cudnn_;
  std::shared_ptr<AttentionGraph> graph_;
  std::vector<std::pair<Uid, BoundView>> views_;
  std::string op_;
  std::unordered_map<int64_t, void*> pointers_;
};

template <typename Step>
KernelPtr make(const Step& step, CudaDevice& device, LoadContext& context,
               std::vector<std::pair<Uid, BoundView>> views) {
  if (step.query().dtype() != plan::BF16 && step.query().dtype() != plan::F16) return nullptr;
  const std::shared_ptr<Cudnn> cudnn = device.cudnn();
  if (!cudnn) return nullptr;
  std::string why_not;
  std::shared_ptr<AttentionGraph> graph = cudnn->graph_of(step, &why_not);
  if (!graph) {
    device.add_note(fmt::format("{}: {}", context.op, why_not));
    return nullptr;
  }
  context.need_workspace(graph->workspace_bytes);
  return std::make_unique<AttentionKernel>(cudnn, std::move(graph), std::move(views), context.op);
}

}  // namespace

KernelPtr make_attention(const plan::Attention& step, CudaDevice& device, LoadContext& context) {
  return make(step, device, context,
              {{kQuery, BoundView(step.query())},
               {kKey, BoundView(step.key())},
               {kValue, BoundView(step.value())},
               {kOutput, BoundView(step.output())},
               {kStatistics, BoundView(step.statistics())}});
}

KernelPtr make_attention_backward(const plan::AttentionBackward& step, CudaDevice& device,
                                  LoadContext& context) {
  return make(step, device, context,
              {{kQuery, BoundView(step.query())},
               {kKey, BoundView(step.key())},
               {kValue, BoundView(step.value())},
               {kOutput, BoundView(step.output())},
               {kStatistics, BoundView(step.statistics())},
               {kDOutput, BoundView(step.d_output())},
               {kDQuery, BoundView(step.d_query())},
               {kDKey, BoundView(step.d_key())},
               {kDValue, BoundView(step.d_value())}});
}

}  // namespace spmd::cuda

#else

namespace spmd::cuda {

std::string why_no_cudnn() { return "this spmd-run was built without cudnn-frontend"; }

std::shared_ptr<Cudnn> make_cudnn(const Gpu&) { return nullptr; }

KernelPtr make_attention(const plan::Attention&, CudaDevice&, LoadContext&) { return nullptr; }

KernelPtr make_attention_backward(const plan::AttentionBackward&, CudaDevice&, LoadContext&) {
  return nullptr;
}

}  // namespace spmd::cuda

#endif
