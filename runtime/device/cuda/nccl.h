// Collectives between GPUs by NCCL, loaded when the program runs.
#pragma once

#include <nccl.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/cuda/collective_watch.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/transport.h"

namespace spmd::cuda {

#define SPMD_NCCL_FUNCTIONS(X) \
  X(GetVersion)                \
  X(GetUniqueId)               \
  X(CommInitRank)              \
  X(CommDestroy)               \
  X(GetErrorString)            \
  X(GetLastError)              \
  X(AllReduce) X(AllGather) X(ReduceScatter) X(Send) X(Recv) X(GroupStart) X(GroupEnd)

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

// How NCCL does a reduction.
struct NcclReduction {
  ncclDataType_t type = ncclUint8;
  ncclRedOp_t op = ncclSum;
};
// nullopt when it has no such type or reduction. Of what does not reduce, bytes.
std::optional<NcclReduction> nccl_type(const TransportNeeds& needs);

// The groups of ranks that a Plan's collectives connect.
class NcclGroups {
 public:
  NcclGroups(const Gpu& gpu, comm::Communicator& communicator, WatchOptions watch)
      : gpu_(gpu),
        communicator_(communicator),
        watch_(gpu, communicator.rank(), std::move(watch)) {}
  ~NcclGroups();
  NcclGroups(const NcclGroups&) = delete;
  NcclGroups& operator=(const NcclGroups&) = delete;

  // `needs`: of what nccl_type() knows. Usable after open().
  std::unique_ptr<Transport> connect(comm::Group& group, const TransportNeeds& needs,
                                     const std::string& op);
  // Makes the groups' communicators, in the order in which they were first asked for. All ranks
  // call this together.
  void open();

  // As CollectiveWatch has them.
  void step() { watch_.step(); }
  const std::string& why_not_watched() const { return watch_.obstacle(); }

 private:
  struct Entry {
    comm::Group* group;
    std::string op;  // that asked for it first
    ncclComm_t handle = nullptr;
  };
  class NcclTransport;

  const Gpu& gpu_;
  comm::Communicator& communicator_;
  Nccl nccl_;
  CollectiveWatch watch_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace spmd::cuda
