#include "runtime/device/cuda/nccl.h"

#include <cstdlib>

#include "support/error.h"
#include "support/nvidia_libraries.h"

namespace spmd::cuda {
namespace {

constexpr int kOldestVersion = 21900;

std::string version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace

Nccl::Nccl() {
  // Multicast over NVLink needs rights that containers often lack, and fails late without them.
  ::setenv("NCCL_NVLS_ENABLE", "0", 0);
  const SharedLibrary& library =
      require_library("libnccl.so." + std::to_string(NCCL_MAJOR), "NCCL (libnccl2)");
#define SPMD_NCCL_FIND(name) \
  name = reinterpret_cast<decltype(name)>(require_function(library, "nccl" #name));
  SPMD_NCCL_FUNCTIONS(SPMD_NCCL_FIND)
#undef SPMD_NCCL_FIND
  check(GetVersion(&version_), library.path());
  if (version_ < kOldestVersion)
    throw UserError(library.path(),
                    fmt::format("is NCCL {}, but {} or newer is needed", version_text(version_),
                                version_text(kOldestVersion)),
                    "install a newer libnccl2, or set SPMD_CUDA_LIBRARY_PATH to one");
}

void Nccl::check(ncclResult_t result, const std::string& op) const {
  if (result == ncclSuccess) [[likely]]
    return;
  const char* detail = GetLastError(nullptr);
  throw UserError(op, fmt::format("NCCL failed: {}", GetErrorString(result)),
                  fmt::format("{}; NCCL_DEBUG=INFO says more",
                              detail != nullptr && *detail != '\0' ? detail : "no details"));
}

NcclGroup::NcclGroup(const Nccl& nccl, comm::Communicator& communicator, comm::Group& group,
                     const std::string& op)
    : nccl_(nccl), size_(group.size()), index_(group.index()) {
  ncclUniqueId id{};
  if (index_ == 0) nccl_.check(nccl_.GetUniqueId(&id), op);
  std::vector<ncclUniqueId> ids(static_cast<size_t>(size_));
  communicator.all_gather(group, &id, ids.data(), sizeof id, "connecting GPUs for " + op);
  nccl_.check(nccl_.CommInitRank(&handle_, size_, ids[0], index_), op);
}

NcclGroup::~NcclGroup() {
  if (handle_ != nullptr) nccl_.CommDestroy(handle_);
}

}  // namespace spmd::cuda
