// A stand-in for the NVIDIA driver: one GPU of sm_90 whose memory is the host's, whose kernels are
// those of kernels.h and whose streams are those of scheduler.h.
#include <cuda.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

#include "tests/cuda/fake/kernels.h"
#include "tests/cuda/fake/scheduler.h"

namespace {

using spmd::fake::Scheduler;
using spmd::fake::Work;

constexpr double kMicroseconds = 1;  // that anything takes but the following
// Of a convolution by a kernel of ours: longer than the library's, with all its copies.
constexpr double kConvolutionMicroseconds = 20000;

// SPMD_FAKE_GPU_MEMORY: its bytes; 1 GiB without it.
size_t total_memory() {
  const char* text = std::getenv("SPMD_FAKE_GPU_MEMORY");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : size_t{1} << 30;
}

struct State {
  std::recursive_mutex mutex;  // ranks that are threads share the GPU
  std::map<CUdeviceptr, size_t> memory;
  size_t used = 0;
  Scheduler scheduler;
  std::set<CUfunction> convolutions;
};

State& state() {
  static State* const result = new State;  // never destroyed: threads may outlive main()
  return *result;
}

CUresult enqueue(CUstream stream, Work work, double microseconds = kMicroseconds) {
  const std::lock_guard lock(state().mutex);
  return state().scheduler.enqueue(stream, std::move(work), microseconds);
}

// Whether [address, address + bytes) lies in one allocation.
bool is_allocated(CUdeviceptr address, size_t bytes) {
  auto place = state().memory.upper_bound(address);
  if (place == state().memory.begin()) return false;
  --place;
  return address + bytes <= place->first + place->second;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "invalid value";
  return CUDA_SUCCESS;
}
// SPMD_FAKE_GPUS: how many; one without it.
CUresult cuDeviceGetCount(int* count) {
  const char* text = std::getenv("SPMD_FAKE_GPUS");
  *count = text != nullptr ? std::atoi(text) : 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  std::strncpy(name, "Stand-in", static_cast<size_t>(size));
  return CUDA_SUCCESS;
}
// SPMD_FAKE_GPU_ARCHITECTURE: 90 without it.
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  const char* text = std::getenv("SPMD_FAKE_GPU_ARCHITECTURE");
  const int architecture = text != nullptr ? std::atoi(text) : 90;
  *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? architecture / 10
           : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? architecture % 10
                                                                   : 4;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(1);
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  const std::lock_guard lock(state().mutex);
  *total = total_memory();
  *free = *total - std::min(*total, state().used);
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  const std::lock_guard lock(state().mutex);
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (state().used + bytes > total_memory()) return CUDA_ERROR_OUT_OF_MEMORY;
  void* data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(data, 0xa5, bytes);
  *address = reinterpret_cast<CUdeviceptr>(data);
  state().memory[*address] = bytes;
  state().used += bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr address) {
  const std::lock_guard lock(state().mutex);
  const auto place = state().memory.find(address);
  if (place == state().memory.end()) return CUDA_ERROR_INVALID_VALUE;
  state().scheduler.finish_all();
  state().used -= place->second;
  std::free(reinterpret_cast<void*>(address));
  state().memory.erase(place);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  if (!is_allocated(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return enqueue(stream, [=] { std::memset(reinterpret_cast<void*>(to), value, bytes); });
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  if (!is_allocated(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  const std::string copy(static_cast<const char*>(from), bytes);
  return enqueue(stream,
                 [=] { std::memcpy(reinterpret_cast<void*>(to), copy.data(), copy.size()); });
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  if (!is_allocated(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return enqueue(stream, [=] { std::memcpy(to, reinterpret_cast<void*>(from), bytes); });
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  if (!is_allocated(from, bytes) || !is_allocated(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return enqueue(stream, [=] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  });
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return enqueue(stream, [c = *copy] {
    for (size_t row = 0; row < c.Height; ++row)
      std::memcpy(reinterpret_cast<char*>(c.dstDevice) + row * c.dstPitch,
                  reinterpret_cast<const char*>(c.srcDevice) + row * c.srcPitch, c.WidthInBytes);
  });
}
CUresult cuMemHostAlloc(void** data, size_t bytes, unsigned) {
  *data = std::malloc(bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* data) {
  std::free(data);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* most) {
  *least = 0;
  *most = -5;
  return CUDA_SUCCESS;
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned, int priority) {
  const std::lock_guard lock(state().mutex);
  *stream = state().scheduler.add_stream(priority);
  return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}
CUresult cuStreamDestroy(CUstream stream) {
  const std::lock_guard lock(state().mutex);
  state().scheduler.finish(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  const std::lock_guard lock(state().mutex);
  if (state().scheduler.is_capturing()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  state().scheduler.finish(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream stream) { return cuStreamSynchronize(stream); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  const std::lock_guard lock(state().mutex);
  return state().scheduler.wait(stream, event);
}
CUresult cuEventCreate(CUevent* event, unsigned flags) {
  const std::lock_guard lock(state().mutex);
  *event = state().scheduler.add_event((flags & CU_EVENT_DISABLE_TIMING) == 0);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  const std::lock_guard lock(state().mutex);
  state().scheduler.remove_event(event);
  return CUDA_SUCCESS;
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  const std::lock_guard lock(state().mutex);
  return state().scheduler.record(event, stream, (flags & CU_EVENT_RECORD_EXTERNAL) != 0);
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  return cuEventRecordWithFlags(event, stream, 0);
}
CUresult cuEventSynchronize(CUevent event) {
  const std::lock_guard lock(state().mutex);
  return state().scheduler.finish(event);
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  const std::lock_guard lock(state().mutex);
  return state().scheduler.elapsed(milliseconds, begin, end);
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned) {
  return enqueue(
      stream, [=] { *reinterpret_cast<cuuint32_t*>(address) = value; }, 0);
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  const std::lock_guard lock(state().mutex);
  return state().scheduler.begin_capture(stream);
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const std::lock_guard lock(state().mutex);
  return state().scheduler.end_capture(stream, graph);
}
CUresult cuGraphInstantiate(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  *executable = state().scheduler.instantiate(graph);
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  const std::lock_guard lock(state().mutex);
  return state().scheduler.launch(executable, stream);
}
CUresult cuGraphDestroy(CUgraph graph) {
  state().scheduler.destroy(graph);
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec executable) {
  state().scheduler.destroy(reinterpret_cast<CUgraph>(executable));
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void*) {
  *module = reinterpret_cast<CUmodule>(1);
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  const spmd::fake::Kernel* kernel = spmd::fake::find_kernel(name);
  if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(const_cast<spmd::fake::Kernel*>(kernel));
  const std::lock_guard lock(state().mutex);
  if (std::string_view(name).starts_with("convolution_")) state().convolutions.insert(*function);
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) {
  *value = 0;
  return CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction) { return CUDA_SUCCESS; }
CUresult cuLaunchKernel(CUfunction function, unsigned blocks, unsigned, unsigned, unsigned threads,
                        unsigned, unsigned, unsigned, CUstream stream, void** arguments, void**) {
  if (blocks == 0 || threads == 0 || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
  const auto& kernel = *reinterpret_cast<const spmd::fake::Kernel*>(function);
  const std::lock_guard lock(state().mutex);
  const bool is_slow = state().convolutions.contains(function);
  return enqueue(
      stream, [=, launch = kernel(arguments)] { launch(blocks, threads); },
      is_slow ? kConvolutionMicroseconds : kMicroseconds);
}

// Of the stand-ins for libraries.
void spmd_fake_enqueue(CUstream stream, std::function<void()> work, double microseconds) {
  enqueue(stream, std::move(work), microseconds);
}

}  // extern "C"
