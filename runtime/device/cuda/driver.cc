#include "runtime/device/cuda/driver.h"

#include "runtime/device/device.h"
#include "support/nvidia_libraries.h"

namespace spmd::cuda {
namespace {

// cuda.h renames functions to their newest variants by macros, so names are taken after those.
#define SPMD_CUDA_TEXT(name) #name
#define SPMD_CUDA_SYMBOL(name) SPMD_CUDA_TEXT(name)

struct Found {
  Driver driver;
  bool usable = false;
  std::string fact, remedy;
};

}  // namespace

const Driver* Driver::find(std::string* fact, std::string* remedy) {
  static const Found found = [] {
    Found result;
    result.usable = result.driver.load(&result.fact, &result.remedy);
    return result;
  }();
  if (fact != nullptr) *fact = found.fact;
  if (remedy != nullptr) *remedy = found.remedy;
  return found.usable ? &found.driver : nullptr;
}

bool Driver::load(std::string* fact, std::string* remedy) {
  static const SharedLibrary library(nvidia_library_names("libcuda.so.1"));
  *remedy = "run on a machine with an NVIDIA GPU and its driver, or pass --device cpu";
  if (!library.loaded()) {
    *fact = "there is no NVIDIA driver: " + library.error();
    return false;
  }
  const char* missing = nullptr;
#define SPMD_CUDA_FIND(name)                                                         \
  name = reinterpret_cast<decltype(name)>(library.find(SPMD_CUDA_SYMBOL(cu##name))); \
  if (name == nullptr && missing == nullptr) missing = SPMD_CUDA_SYMBOL(cu##name);
  SPMD_CUDA_FUNCTIONS(SPMD_CUDA_FIND)
#undef SPMD_CUDA_FIND
  if (missing != nullptr) {
    *fact = fmt::format("{} is too old: it has no {}", library.path(), missing);
    *remedy = "install the driver of CUDA 12 or newer, or pass --device cpu";
    return false;
  }
  const CUresult started = Init(0);
  if (started != CUDA_SUCCESS) {
    const char* text = nullptr;
    GetErrorString(started, &text);
    *fact = fmt::format("the NVIDIA driver finds no GPU: {}", text ? text : "unknown error");
    return false;
  }
  if (DeviceGetCount(&devices_) != CUDA_SUCCESS || devices_ == 0) {
    *fact = "there is a driver, but no GPU is visible";
    *remedy = "see CUDA_VISIBLE_DEVICES and nvidia-smi, or pass --device cpu";
    return false;
  }
  DriverGetVersion(&version_);
  return true;
}

void check(const Driver& driver, CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) [[likely]]
    return;
  const char* text = nullptr;
  driver.GetErrorString(result, &text);
  const std::string fact = fmt::format("{} failed: {}", what, text ? text : "unknown error");
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    throw OutOfMemory("GPU", fact,
                      "use more ranks, shard larger tensors, or end other programs on the GPU");
  throw UserError("GPU", fact, "see whether nvidia-smi and dmesg report a fault of the GPU");
}

}  // namespace spmd::cuda
