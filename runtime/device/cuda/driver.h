// The CUDA driver's functions, found when the program runs: without a driver it still starts.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>

namespace spmd::cuda {

// Each is called as the function of the same name without `cu`.
// clang-format off
#define SPMD_CUDA_FUNCTIONS(X) \
  X(Init)                      \
  X(DriverGetVersion)          \
  X(GetErrorString)            \
  X(DeviceGetCount)            \
  X(DeviceGet)                 \
  X(DeviceGetName)             \
  X(DeviceGetAttribute)        \
  X(DevicePrimaryCtxRetain)    \
  X(CtxSetCurrent)             \
  X(CtxGetStreamPriorityRange) \
  X(MemGetInfo)                \
  X(MemAlloc)                  \
  X(MemFree)                   \
  X(MemsetD8Async)             \
  X(MemcpyHtoDAsync)           \
  X(MemcpyDtoHAsync)           \
  X(MemcpyDtoDAsync)           \
  X(Memcpy2DAsync)             \
  X(MemHostAlloc)              \
  X(MemFreeHost)               \
  X(StreamCreate)              \
  X(StreamCreateWithPriority)  \
  X(StreamDestroy)             \
  X(StreamSynchronize)         \
  X(StreamQuery)               \
  X(StreamWaitEvent)           \
  X(StreamWriteValue32)        \
  X(StreamBeginCapture)        \
  X(StreamEndCapture)          \
  X(GraphInstantiate)          \
  X(GraphLaunch)               \
  X(GraphDestroy)              \
  X(GraphExecDestroy)          \
  X(EventCreate)               \
  X(EventDestroy)              \
  X(EventRecord)               \
  X(EventRecordWithFlags)      \
  X(EventSynchronize)          \
  X(EventElapsedTime)          \
  X(ModuleLoadData)            \
  X(ModuleUnload)              \
  X(ModuleGetFunction)         \
  X(FuncSetAttribute)          \
  X(FuncGetAttribute)          \
  X(FuncLoad)                  \
  X(LaunchKernel)
// clang-format on

class Driver {
 public:
  // Null when this machine has no usable driver or no GPU; `reason` then says why, as "fact" and
  // "remedy" of a message. The first call decides.
  static const Driver* find(std::string* fact = nullptr, std::string* remedy = nullptr);

  int device_count() const { return devices_; }
  // 13000: CUDA 13.0, the newest that the driver can serve.
  int version() const { return version_; }

#define SPMD_CUDA_MEMBER(name) decltype(&::cu##name) name = nullptr;
  SPMD_CUDA_FUNCTIONS(SPMD_CUDA_MEMBER)
#undef SPMD_CUDA_MEMBER

 private:
  bool load(std::string* fact, std::string* remedy);

  int devices_ = 0, version_ = 0;
};

// Throws UserError (out of memory: OutOfMemory) when a call failed; `what` says what was being
// done.
void check(const Driver& driver, CUresult result, const char* what);

}  // namespace spmd::cuda
