#include "runtime/device/cuda/staging.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>

#include "runtime/device/device.h"
#include "runtime/plan/accesses.h"
#include "support/strings.h"

namespace spmd::cuda {

Staging::Staging(const plan::Plan& plan) : plan_(plan) {
  std::byte* arena = reserve(plan.arena_bytes());
  for (const plan::Buffer& buffer : plan.buffers())
    buffers_.push_back(buffer.kind() == plan::Buffer::ARENA ? arena + buffer.offset()
                                                            : reserve(buffer.bytes()));
}

Staging::~Staging() {
  for (const Region& region : regions_) ::munmap(region.data, region.bytes);
}

std::byte* Staging::reserve(int64_t bytes) {
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    throw OutOfMemory("memory",
                      fmt::format("cannot reserve {} of the host's memory for steps that run there",
                                  human_bytes(static_cast<double>(bytes))),
                      "raise the limit on virtual memory (ulimit -v)");
  regions_.push_back({data, size});
  return static_cast<std::byte*>(data);
}

void Staging::need_workspace(int64_t bytes) {
  workspace_bytes_ = std::max(workspace_bytes_, bytes);
}

RunContext Staging::context() {
  if (workspace_ == nullptr || workspace_bytes_ > reserved_workspace_) {
    workspace_ = reserve(workspace_bytes_);
    reserved_workspace_ = workspace_bytes_;
  }
  return {buffers_.data(), workspace_, workspace_};  // one step at a time
}

namespace {

// The bytes of one buffer that a step may touch.
struct Range {
  int64_t begin = INT64_MAX, end = 0;
  bool written = false;
  // Some of what lies between the elements that are written, or what was there before, is needed.
  bool read = false;

  void join(const Range& other) {
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
    // Two windows on one buffer may leave a gap between them.
    read = true;
    written |= other.written;
  }
};

Range range_of(const plan::Step& step, const plan::View& view, bool writes) {
  const std::vector<int64_t> shape = plan::view_shape(step, view);
  const int64_t size = plan::byte_size(view.dtype());
  int64_t low = view.offset(), high = view.offset(), elements = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t reach = view.strides(static_cast<int>(d)) * (shape[d] - 1);
    (reach > 0 ? high : low) += reach;
    elements *= shape[d];
  }
  if (elements == 0) return {};
  Range range{low * size, (high + 1) * size, writes, !writes};
  // Elements that lie apart have something between them that must not change.
  if (elements != high + 1 - low) range.read = true;
  return range;
}

class HostStep : public Kernel {
 public:
  HostStep(const Gpu& gpu, Staging& staging, const plan::Step& step, KernelPtr kernel)
      : gpu_(gpu), staging_(staging), kernel_(std::move(kernel)) {
    std::map<int32_t, Range> ranges;
    if (!step.has_fused()) add_ranges(step, ranges);
    for (const plan::Step& inner : step.fused().steps()) add_ranges(inner, ranges);
    ranges_.assign(ranges.begin(), ranges.end());
  }

  void run(const RunContext& context) override {
    const RunContext host = staging_.context();
    for (const auto& [buffer, range] : ranges_) {
      if (!range.read) continue;
      gpu_.check(gpu_.driver().MemcpyDtoHAsync(host.buffers[buffer] + range.begin,
                                               address_of(context.buffers[buffer] + range.begin),
                                               static_cast<size_t>(range.end - range.begin),
                                               gpu_.stream()),
                 "copying from the GPU");
    }
    gpu_.synchronize();
    kernel_->run(host);
    for (const auto& [buffer, range] : ranges_) {
      if (!range.written) continue;
      gpu_.check(gpu_.driver().MemcpyHtoDAsync(address_of(context.buffers[buffer] + range.begin),
                                               host.buffers[buffer] + range.begin,
                                               static_cast<size_t>(range.end - range.begin),
                                               gpu_.stream()),
                 "copying to the GPU");
    }
  }

 private:
  void add_ranges(const plan::Step& step, std::map<int32_t, Range>& ranges) const {
    plan::for_each_view(step, [&](const plan::View& view, bool writes) {
      const Range range = range_of(step, view, writes);
      if (range.end == 0 || staging_.is_local(view.buffer())) return;
      const auto [place, is_new] = ranges.try_emplace(view.buffer(), range);
      if (!is_new) place->second.join(range);
    });
  }

  const Gpu& gpu_;
  Staging& staging_;
  KernelPtr kernel_;
  std::vector<std::pair<int32_t, Range>> ranges_;
};

}  // namespace

KernelPtr make_host_step(const Gpu& gpu, Staging& staging, const plan::Step& step,
                         KernelPtr kernel) {
  return std::make_unique<HostStep>(gpu, staging, step, std::move(kernel));
}

}  // namespace spmd::cuda
