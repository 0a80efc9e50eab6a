// Attention by cuDNN.
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/plan/accesses.h"
#include "support/error.h"

#if SPMD_HAVE_CUDNN
#include <unordered_map>

#include "runtime/device/cuda/cudnn_graph.h"

namespace spmd::cuda {
namespace {

using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

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
  tensor->set_uid(uid).set_dim(dims).set_stride(strides).set_data_type(cudnn_type(view.dtype()));
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

void define(fe::graph::Graph& graph, const plan::Attention& step) {
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

void define(fe::graph::Graph& graph, const plan::AttentionBackward& step) {
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

// Why cuDNN refuses; empty: it does not.
std::string build(CudnnGraph& attention, cudnnHandle_t handle) {
  fe::graph::Graph& graph = attention.graph;
  fe::error_object error = graph.validate();
  if (error.is_good()) error = graph.build_operation_graph(handle);
  if (error.is_good()) error = graph.create_execution_plans({fe::HeurMode_t::A});
  if (error.is_good()) error = graph.check_support();
  if (error.is_good()) error = graph.build_plans();
  if (error.is_good()) error = graph.get_workspace_size(attention.workspace_bytes);
  if (error.is_good()) return "";
  return fmt::format("cuDNN {} has no attention for this GPU and these shapes: {}",
                     cudnn_version_text(cudnn_version()), error.get_message());
}

// Steps that differ in buffers and offsets only share a graph. Null: cuDNN refuses, for the reason
// that `why_not` gets.
template <typename Step>
std::shared_ptr<CudnnGraph> graph_of(Cudnn& cudnn, const Step& step, std::string* why_not) {
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
  std::shared_ptr<CudnnGraph>& found = cudnn.kept(wrapped.SerializeAsString());
  if (found) return found;
  auto made = cudnn.new_graph(step.query().dtype());
  define(made->graph, step);
  *why_not = build(*made, cudnn.handle());
  if (why_not->empty()) found = std::move(made);
  return found;
}

class AttentionKernel : public Kernel {
 public:
  AttentionKernel(std::shared_ptr<Cudnn> cudnn, std::shared_ptr<CudnnGraph> graph,
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
  std::shared_ptr<CudnnGraph> graph_;
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
  std::shared_ptr<CudnnGraph> graph = graph_of(*cudnn, step, &why_not);
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

KernelPtr make_attention(const plan::Attention&, CudaDevice&, LoadContext&) { return nullptr; }

KernelPtr make_attention_backward(const plan::AttentionBackward&, CudaDevice&, LoadContext&) {
  return nullptr;
}

}  // namespace spmd::cuda

#endif
