#include "runtime/device/cuda/cuda_device.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "runtime/device/cpu/gemm.h"
#include "runtime/device/cpu/kernel.h"
#include "runtime/device/cuda/contraction.h"
#include "runtime/device/cuda/stopwatch.h"
#include "runtime/plan/accesses.h"
#include "support/printable.h"
#include "support/strings.h"

namespace spmd::cuda {

CudaDevice::CudaDevice(const Driver& driver, int ordinal, comm::Communicator& communicator,
                       bool has_nccl, const DeviceOptions& options)
    : gpu_(driver, ordinal),
      communicator_(communicator),
      tuning_(gpu_, options.tuning_cache),
      wants_graphs_(options.graphs) {
  if (has_nccl)
    nccl_ = std::make_unique<NcclGroups>(gpu_, communicator,
                                         WatchOptions{options.watchdog, options.give_up});
  cpu::use_one_library_thread();
  used_before_ = gpu_.total_memory() - gpu_.free_memory();
  if (Trace::is_wanted()) trace_ = std::make_unique<Trace>(gpu_);
}

// What is queued still uses the memory.
CudaDevice::~CudaDevice() {
  gpu_.driver().StreamSynchronize(gpu_.stream());
  if (streams_) streams_->drain();
}

std::string CudaDevice::description() const {
  return fmt::format("{} (sm_{})", gpu_.name(), gpu_.architecture());
}

void CudaDevice::load(const plan::Plan& plan) {
  plan_ = &plan;
  compiled_ = CompiledModule::load(gpu_, plan, &why_not_compiled_);
  if (communicator_.size() > 1)
    streams_ = std::make_unique<StepStreams>(gpu_, trace_ || StepStreams::one_is_wanted());
}

std::byte* CudaDevice::allocate(int64_t bytes) {
  GpuMemory memory(gpu_, bytes);
  allocated_ += bytes;
  if (bytes > 0)
    gpu_.check(
        gpu_.driver().MemsetD8Async(memory.address(), 0, static_cast<size_t>(bytes), gpu_.stream()),
        "clearing memory");
  return memory_.emplace_back(std::move(memory)).data();
}

void CudaDevice::copy_in(std::byte* to, const void* from, int64_t bytes) {
  if (bytes == 0) return;
  // Of memory that is not pinned, the driver has a copy of its own when it returns.
  gpu_.check(gpu_.driver().MemcpyHtoDAsync(address_of(to), from, static_cast<size_t>(bytes),
                                           gpu_.stream()),
             "copying to the GPU");
}

void CudaDevice::copy_out(void* to, const std::byte* from, int64_t bytes) {
  if (bytes > 0)
    gpu_.check(gpu_.driver().MemcpyDtoHAsync(to, address_of(from), static_cast<size_t>(bytes),
                                             gpu_.stream()),
               "copying from the GPU");
  synchronize();
}

void CudaDevice::copy(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes == 0) return;
  gpu_.check(gpu_.driver().MemcpyDtoDAsync(address_of(to), address_of(from),
                                           static_cast<size_t>(bytes), gpu_.stream()),
             "copying on the GPU");
}

const Blas& CudaDevice::blas() {
  if (!blas_) blas_ = std::make_unique<Blas>(gpu_);
  return *blas_;
}

std::shared_ptr<Cudnn> CudaDevice::cudnn() {
  if (!cudnn_) cudnn_ = make_cudnn(gpu_);
  return cudnn_;
}

Library& CudaDevice::library() {
  if (!library_) library_ = std::make_unique<Library>(gpu_);
  return *library_;
}

bool CudaDevice::connects(const TransportNeeds& needs) const {
  return nccl_ != nullptr && nccl_type(needs).has_value();
}

std::unique_ptr<Transport> CudaDevice::connect(comm::Group& group, const TransportNeeds& needs,
                                               const std::string& op) {
  return nccl_->connect(group, needs, op);
}

void CudaDevice::settle_products(LoadContext& context, bool alike) {
  static_assert(std::is_trivially_copyable_v<MatmulChoice>);
  std::vector<MatmulChoice> choices(products_.size());
  if (!alike || communicator_.rank() == 0)
    std::transform(products_.begin(), products_.end(), choices.begin(),
                   [&](const Product& product) {
                     MatmulChoice choice = product.matmul->choose(tuning_, timed_);
                     if (product.after_us) choice.after_us = product.after_us();
                     return choice;
                   });
  const size_t size = choices.size() * sizeof(MatmulChoice);
  if (alike && communicator_.size() > 1) {
    std::string bytes(reinterpret_cast<const char*>(choices.data()), size);
    communicator_.broadcast(bytes, 0, "the algorithms of matrix products");
    SPMD_CHECK(bytes.size() == size, "ranks have other products");
    if (size > 0) std::memcpy(choices.data(), bytes.data(), size);
  }
  for (size_t i = 0; i < products_.size(); ++i) {
    products_[i].matmul->use(choices[i]);
    context.need_workspace(products_[i].before + choices[i].workspace_bytes);
  }
}

// The names of the ways, a line each.
void CudaDevice::settle_convolutions(LoadContext& context, bool alike) {
  if (convolutions_.empty()) return;
  std::string names;
  std::map<std::string, std::string> known;
  if (!alike || communicator_.rank() == 0)
    for (ConvolutionStep* step : convolutions_)
      names += step->choose(tuning_, known, timed_convolutions_) + "\n";
  if (alike && communicator_.size() > 1)
    communicator_.broadcast(names, 0, "the algorithms of convolutions");
  size_t at = 0;
  for (ConvolutionStep* step : convolutions_) {
    const size_t end = names.find('\n', at);
    SPMD_CHECK(end != std::string::npos, "ranks have other convolutions");
    step->use(names.substr(at, end - at));
    context.need_workspace(step->workspace_bytes());
    at = end + 1;
  }
}

// Ranks that run other programs have other steps, so each chooses for itself.
void CudaDevice::settle(LoadContext& context) {
  const bool alike = plan_->program_of_rank_size() == 0;
  settle_products(context, alike);
  settle_convolutions(context, alike);
  // Recording two steps takes longer than a short run would save.
  constexpr int kStepsBeforeAuto = 16;
  if (wants_graphs_ == StepRecording::kOn)
    graphs_ = std::make_unique<StepGraphs>(gpu_, 1, why_no_graphs());
  if (wants_graphs_ == StepRecording::kAuto && communicator_.size() == 1)
    graphs_ = std::make_unique<StepGraphs>(gpu_, kStepsBeforeAuto, why_no_graphs());
}

// What the host does in the middle of a step.
std::string CudaDevice::why_no_graphs() const {
  if (trace_) return "SPMD_CUDA_TRACE waits for every step";
  if (!host_steps_.empty()) return fmt::format("a step runs on the host: {}", host_steps_.front());
  std::string why;
  const std::function<void(const plan::Sequence&)> look = [&](const plan::Sequence& sequence) {
    for (const plan::Step& step : sequence.steps()) {
      if (step.has_branch() || (step.has_while_() && step.while_().trip_count() <= 0))
        why = fmt::format("the host decides in the middle of a step: {} of {}",
                          plan::kind_name(step), step.op());
      if (step.has_while_()) look(step.while_().body());
    }
  };
  for (const plan::Program& program : plan_->programs()) look(program.body());
  return why;
}

void CudaDevice::run_step(std::span<std::byte* const> buffers, const std::function<void()>& work) {
  if (nccl_) nccl_->step();
  const auto whole = [&](int graph) {
    if (!streams_) return work();
    streams_->times().select(graph);
    streams_->begin();
    work();
    streams_->end();
  };
  if (!graphs_) return whole(-1);
  const bool was_possible = graphs_->obstacle().empty();
  const int graph = graphs_->run(buffers, whole);
  if (streams_) streams_->times().select(graph);
  if (wants_graphs_ == StepRecording::kOn && was_possible && !graphs_->obstacle().empty() &&
      communicator_.rank() == 0)
    fmt::print(stderr, "note: steps are not recorded as CUDA graphs: {}\n",
               printable(graphs_->obstacle()));
}

namespace {

// The members of a group that has no compiled kernel.
class MembersInTurn : public Kernel {
 public:
  explicit MembersInTurn(std::vector<KernelPtr> members) : members_(std::move(members)) {}
  void run(const RunContext& context) override {
    for (const KernelPtr& member : members_) member->run(context);
  }

 private:
  std::vector<KernelPtr> members_;
};

}  // namespace

KernelPtr CudaDevice::make_kernel(const plan::Step& step, LoadContext& context) {
  context.op = step.op();
  if (step.has_grouped() && (!compiled_ || step.kernel() == 0)) {
    std::vector<KernelPtr> members;
    for (const plan::Step& member : step.grouped().steps())
      members.push_back(make_kernel(member, context));
    return std::make_unique<MembersInTurn>(std::move(members));
  }
  if (KernelPtr kernel = make_gpu_kernel(step, context)) {
    ++gpu_steps_;
    return traced(step, false, std::move(kernel));
  }
  host_steps_.push_back(fmt::format("{}: {}", plan::kind_name(step), step.op()));
  LoadContext host;
  KernelPtr kernel = cpu::make_kernel(step, host);
  return from_host(step, std::move(kernel), host.workspace_bytes, context);
}

KernelPtr CudaDevice::from_host(const plan::Step& step, KernelPtr kernel, int64_t workspace_bytes,
                                LoadContext&) {
  if (!staging_) staging_ = std::make_unique<Staging>(*plan_);
  staging_->need_workspace(workspace_bytes);
  return traced(step, true, make_host_step(gpu_, *staging_, step, std::move(kernel)));
}

KernelPtr CudaDevice::in_order(const plan::Step& step, KernelPtr kernel, CollectiveRecord* record) {
  if (record != nullptr) kernel = traced(step, false, std::move(kernel));
  return streams_ ? streams_->in_order(step, std::move(kernel), record) : std::move(kernel);
}

KernelPtr CudaDevice::traced(const plan::Step& step, bool on_host, KernelPtr kernel) {
  return trace_ ? trace_->wrap(*plan_, step, on_host, std::move(kernel)) : std::move(kernel);
}

KernelPtr CudaDevice::make_map(const plan::Step& step) {
  if (compiled_ && step.kernel() != 0) return compiled_->make(step);
  return make_elementwise(step.elementwise(), *this);
}

double CudaDevice::time_alone(Kernel& kernel, const plan::Step& step) {
  if (step.kernel() != 0 && times_alone_.contains(step.kernel()))
    return times_alone_[step.kernel()];
  if (kernels_key_.empty()) kernels_key_ = FileCache::key({plan_->kernels().code()});
  const std::string what =
      step.kernel() != 0 && compiled_
          ? fmt::format("kernel {} of {}", plan_->kernels().kernels(step.kernel() - 1).name(),
                        kernels_key_)
          : "map " + FileCache::key({step.elementwise().SerializeAsString()});
  double microseconds = tuning_.find_time(what).value_or(0);
  if (microseconds == 0) {
    microseconds = measure_alone(kernel, step);
    if (microseconds > 0) {
      tuning_.put_time(what, microseconds);
      ++timed_;
    }
  }
  if (step.kernel() != 0) times_alone_[step.kernel()] = microseconds;
  return microseconds;
}

double CudaDevice::measure_alone(Kernel& kernel, const plan::Step& step) const {
  constexpr int kTimes = 20;
  std::vector<GpuMemory> memory;
  std::vector<std::byte*> buffers(static_cast<size_t>(plan_->buffers_size()), nullptr);
  try {
    plan::for_each_view(step, [&](const plan::View& view, bool) {
      std::byte*& buffer = buffers[static_cast<size_t>(view.buffer())];
      if (buffer == nullptr)
        buffer = memory.emplace_back(gpu_, plan_->buffers(view.buffer()).bytes()).data();
    });
    const RunContext context{buffers.data(), nullptr};
    kernel.run(context);
    return Stopwatch(gpu_).time([&] {
      for (int i = 0; i < kTimes; ++i) kernel.run(context);
    }) / kTimes;
  } catch (const OutOfMemory&) {
    return 0;
  }
}

KernelPtr CudaDevice::make_gpu_kernel(const plan::Step& step, LoadContext& context) {
  if (compiled_ && step.kernel() != 0) return compiled_->make(step);
  switch (step.kind_case()) {
    case plan::Step::kElementwise:
      return make_elementwise(step.elementwise(), *this);
    case plan::Step::kDot:
      return make_dot(step.dot(), *this, context);
    case plan::Step::kAttention:
      return make_attention(step.attention(), *this, context);
    case plan::Step::kAttentionBackward:
      return make_attention_backward(step.attention_backward(), *this, context);
    case plan::Step::kConvolution:
      return make_convolution(step.convolution(), *this, context);
    case plan::Step::kDynamicSlice:
      return make_dynamic_slice(step.dynamic_slice(), *this);
    case plan::Step::kDynamicUpdateSlice:
      return make_dynamic_update_slice(step.dynamic_update_slice(), *this);
    case plan::Step::kGather:
      return make_gather(step.gather(), *this);
    case plan::Step::kScatter:
      return make_scatter(step.scatter(), *this, context);
    case plan::Step::kReduceWindow:
      return make_reduce_window(step.reduce_window(), *this);
    case plan::Step::kSelectAndScatter:
      return make_select_and_scatter(step.select_and_scatter(), *this);
    case plan::Step::kRngBitGenerator:
      return make_rng_bit_generator(step.rng_bit_generator(), *this);
    default:
      return nullptr;
  }
}

std::string CudaDevice::note_on_convolutions() const {
  const auto by_library = std::count_if(convolutions_.begin(), convolutions_.end(),
                                        [](const auto* step) { return step->is_by_library(); });
  std::string note = fmt::format(
      "{} convolutions: {} by cuDNN, the others by a kernel of spmd's; {} choices timed in this "
      "start",
      convolutions_.size(), by_library, timed_convolutions_);
  for (const ConvolutionStep* step : convolutions_)
    if (!step->why_not_library().empty()) return note + "; " + printable(step->why_not_library());
  return note;
}

std::vector<std::string> CudaDevice::notes() const {
  const auto text = [](int64_t bytes) { return human_bytes(static_cast<double>(bytes)); };
  // At the least: other programs may have given memory back since.
  const int64_t used =
      std::max(gpu_.total_memory() - gpu_.free_memory() - used_before_, allocated_);
  std::vector<std::string> notes = {fmt::format(
      "on {}: {} for the plan's buffers and workspace, {} with what libraries and kernels take",
      description(), text(allocated_), text(used))};
  if (streams_ && streams_->is_one())
    notes.push_back(trace_ ? "everything is on one stream, and every step is waited for"
                           : "everything is on one stream: SPMD_CUDA_ONE_STREAM is set");
  if (!why_not_compiled_.empty())
    notes.push_back("the plan runs without its compiled kernels: " + why_not_compiled_);
  if (!products_.empty())
    notes.push_back(
        fmt::format("{} matrix products: {} choices timed in this start, the others "
                    "known",
                    products_.size(), timed_));
  if (!convolutions_.empty()) notes.push_back(note_on_convolutions());
  if (wants_graphs_ == StepRecording::kOn)
    notes.push_back(graphs_->obstacle().empty()
                        ? "steps are recorded as CUDA graphs from the second one on"
                        : "steps are not recorded as CUDA graphs: " + graphs_->obstacle());
  if (nccl_ && !nccl_->why_not_watched().empty())
    notes.push_back("nobody watches for collectives that hang: the driver says " +
                    nccl_->why_not_watched());
  for (std::string& note : tuning_.notes()) notes.push_back(std::move(note));
  notes.insert(notes.end(), notes_.begin(), notes_.end());
  if (host_steps_.empty()) return notes;
  std::map<std::string, int> kinds;
  for (const std::string& step : host_steps_) ++kinds[step.substr(0, step.find(':'))];
  std::string by_kind;
  for (const auto& [kind, count] : kinds)
    by_kind += fmt::format("{}{} {}", by_kind.empty() ? "" : ", ", count, kind);
  constexpr size_t kShown = 4;
  std::string examples;
  for (size_t i = 0; i < std::min(kShown, host_steps_.size()); ++i)
    examples += (i > 0 ? "; " : "") + host_steps_[i];
  if (host_steps_.size() > kShown) examples += "; ...";
  notes.push_back(
      fmt::format("{} of {} steps run on the host, which is slow ({}): {}", host_steps_.size(),
                  static_cast<int64_t>(host_steps_.size()) + gpu_steps_, by_kind, examples));
  return notes;
}

}  // namespace spmd::cuda
