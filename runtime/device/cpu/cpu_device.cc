#include "runtime/device/cpu/cpu_device.h"

#include <algorithm>
#include <cstring>

#include "runtime/device/cpu/gemm.h"
#include "runtime/device/cpu/kernel.h"
#include "runtime/device/cpu/pieces.h"
#include "support/strings.h"

namespace spmd::cpu {
namespace {

void copy_bytes(void* to, const void* from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

}  // namespace

CpuDevice::CpuDevice(int threads) : workers_(threads) { use_one_library_thread(); }

void CpuDevice::load(const plan::Plan& plan) {
  compiled_ = CompiledModule::load(plan, &why_not_compiled_);
}

std::byte* CpuDevice::allocate(int64_t bytes) {
  constexpr int64_t kAlignment = 256;
  const auto size =
      static_cast<size_t>(std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment));
  auto* data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
  if (data == nullptr)
    throw OutOfMemory("memory", fmt::format("cannot allocate {}", human_bytes(double(bytes))),
                      "use more ranks, or shard larger tensors: spmd-run check says what a mesh "
                      "needs");
  std::memset(data, 0, size);
  memory_.emplace_back(data);
  return data;
}

void CpuDevice::copy_in(std::byte* to, const void* from, int64_t bytes) {
  copy_bytes(to, from, bytes);
}

void CpuDevice::copy_out(void* to, const std::byte* from, int64_t bytes) {
  copy_bytes(to, from, bytes);
}

void CpuDevice::copy(std::byte* to, const std::byte* from, int64_t bytes) {
  copy_bytes(to, from, bytes);
}

KernelPtr CpuDevice::make_kernel(const plan::Step& step, LoadContext& context) {
  if (compiled_ && step.kernel() != 0) return compiled_->make(step, workers_);
  return make_side_by_side(pieces_of(step, workers_.threads()), workers_, context);
}

std::vector<std::string> CpuDevice::notes() const {
  if (why_not_compiled_.empty()) return {};
  return {"the plan runs without its compiled kernels, slower: " + why_not_compiled_};
}

KernelPtr CpuDevice::from_host(const plan::Step&, KernelPtr kernel, int64_t workspace_bytes,
                               LoadContext& context) {
  context.need_workspace(workspace_bytes);
  return kernel;
}

}  // namespace spmd::cpu
