// Collectives between GPUs by NCCL, loaded when the program runs.
#pragma once

#include <nccl.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collectives/comm/communicator.h"
#include "runtime/device/cuda/gpu.h"

namespace spmd::cuda {

#define SPMD_NCCL_FUNCTIONS(X)                                                                    \
  X(GetVersion)                                                                                   \
  X(GetUniqueId)                                                                                  \
  X(CommInitRank)                                                                                 \
  X(CommDestroy) X(CommAbort) X(GetErrorString) X(GetLastError) X(CommGetAsyncError) X(AllReduce) \
      X(AllGather) X(ReduceScatter) X(Send) X(Recv) X(GroupStart) X(GroupEnd)

class Nccl {
 public:
  // Throws UserError when the library is missing or older than 2.19.
  Nccl();

  // 22803: 2.28.3
  int version() const { return version_; }
  // Throws UserError; `op` is the op that the call came from.
  void check(ncclResult_t result, const std::string& op) const;

#define SPMD_NCCL_MEMBER(name) decltype(&::nccl##name) name = nullptr;
  SPMD_NCCL_FUNCTIONS(SPMD_NCCL_MEMBER)
#undef SPMD_NCCL_MEMBER

 private:
  int version_ = 0;
};

// A group of ranks that NCCL connects. Made by all members together, and, over all groups of a
// Plan, in one order on all ranks.
class NcclGroup {
 public:
  NcclGroup(const Nccl& nccl, comm::Communicator& communicator, comm::Group& group,
            const std::string& op);
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  ncclComm_t handle() const { return handle_; }
  int size() const { return size_; }
  int index() const { return index_; }

 private:
  const Nccl& nccl_;
  int size_, index_;
  ncclComm_t handle_ = nullptr;
};

}  // namespace spmd::cuda
