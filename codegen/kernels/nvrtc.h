// NVIDIA's run-time compiler, loaded when it is needed: CUDA C++ to the code of one architecture.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace spmd::codegen::kernels {

// What a kernel takes of a multiprocessor, as the compiler says.
struct KernelResources {
  std::string name;
  int registers = 0;
  int shared_bytes = 0;
  int spill_bytes = 0;  // stored to and loaded from memory, together
};

class Nvrtc {
 public:
  // nullopt when this spmd was built without CUDA or the library cannot be loaded; `reason` says
  // why.
  static std::optional<Nvrtc> find(std::string* reason);

  // Compiler and options, of which an entry of the cache depends.
  std::string identity(const std::string& architecture) const;

  // The cubin of a translation unit for "sm_90". nullopt when it does not compile; `error` then
  // holds the compiler's first messages. `resources`, when not null, gets those of every kernel.
  std::optional<std::string> compile(const std::string& source, const std::string& architecture,
                                     std::string* error,
                                     std::vector<KernelResources>* resources = nullptr) const;

 private:
  std::string version_;
};

// The kernels' resources out of the assembler's report (ptxas -v).
std::vector<KernelResources> parse_resources(const std::string& report);

}  // namespace spmd::codegen::kernels
