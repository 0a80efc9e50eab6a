#include "runtime/device/cuda/nccl.h"

#include <algorithm>
#include <cstdlib>

#include "support/error.h"
#include "support/nvidia_libraries.h"

namespace spmd::cuda {
namespace {

constexpr int kOldestVersion = 21900;

std::string version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::optional<ncclDataType_t> type_of(comm::Element element) {
  switch (element) {
    case comm::Element::kS8:
      return ncclInt8;
    case comm::Element::kU8:
      return ncclUint8;
    case comm::Element::kS32:
      return ncclInt32;
    case comm::Element::kU32:
      return ncclUint32;
    case comm::Element::kS64:
      return ncclInt64;
    case comm::Element::kU64:
      return ncclUint64;
    case comm::Element::kF16:
      return ncclFloat16;
    case comm::Element::kBF16:
      return ncclBfloat16;
    case comm::Element::kF32:
      return ncclFloat32;
    case comm::Element::kF64:
      return ncclFloat64;
    default:
      return std::nullopt;
  }
}

std::optional<ncclRedOp_t> op_of(comm::Reduction reduction) {
  switch (reduction) {
    case comm::Reduction::kSum:
      return ncclSum;
    case comm::Reduction::kProduct:
      return ncclProd;
    case comm::Reduction::kMax:
      return ncclMax;
    case comm::Reduction::kMin:
      return ncclMin;
    default:
      return std::nullopt;
  }
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

std::optional<NcclReduction> nccl_type(const TransportNeeds& needs) {
  if (!needs.reduces) return NcclReduction{};
  const auto type = type_of(needs.element);
  const auto op = op_of(needs.reduction);
  if (!type || !op) return std::nullopt;
  return NcclReduction{*type, *op};
}

class NcclGroups::NcclTransport : public Transport {
 public:
  NcclTransport(const Gpu& gpu, const Nccl& nccl, CollectiveWatch& watch, const Entry& entry,
                const NcclReduction& reduction, std::string op)
      : gpu_(gpu),
        nccl_(nccl),
        watch_(watch),
        entry_(entry),
        reduction_(reduction),
        op_(std::move(op)),
        number_(watch_.add(op_, peers())) {}

  void copy_rows(std::byte* to, int64_t to_pitch, const std::byte* from, int64_t from_pitch,
                 int64_t bytes, int64_t rows) override {
    if (bytes == 0 || rows == 0) return;
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = address_of(from);
    copy.dstDevice = address_of(to);
    copy.srcPitch = static_cast<size_t>(rows == 1 ? bytes : from_pitch);
    copy.dstPitch = static_cast<size_t>(rows == 1 ? bytes : to_pitch);
    copy.WidthInBytes = static_cast<size_t>(bytes);
    copy.Height = static_cast<size_t>(rows);
    gpu_.check(gpu_.driver().Memcpy2DAsync(&copy, gpu_.stream()), "packing a message");
  }
  void zero(std::byte* to, int64_t bytes) override {
    gpu_.check(
        gpu_.driver().MemsetD8Async(address_of(to), 0, static_cast<size_t>(bytes), gpu_.stream()),
        "clearing memory");
  }

  void all_gather(const std::byte* in, std::byte* out, int64_t bytes) override {
    const Watched watched(*this, "all_gather");
    check(nccl_.AllGather(in, out, static_cast<size_t>(bytes), ncclUint8, entry_.handle, stream()));
  }
  void all_reduce(const std::byte* in, std::byte* out, int64_t count) override {
    const Watched watched(*this, "all_reduce");
    check(nccl_.AllReduce(in, out, static_cast<size_t>(count), reduction_.type, reduction_.op,
                          entry_.handle, stream()));
  }
  void reduce_scatter(const std::byte* in, std::byte* out, int64_t count) override {
    const Watched watched(*this, "reduce_scatter");
    check(nccl_.ReduceScatter(in, out, static_cast<size_t>(count), reduction_.type, reduction_.op,
                              entry_.handle, stream()));
  }
  void all_to_all(const std::byte* in, std::byte* out, int64_t bytes) override {
    const Watched watched(*this, "all_to_all");
    check(nccl_.GroupStart());
    for (int member = 0; member < entry_.group->size(); ++member) {
      send(in + member * bytes, bytes, member);
      receive(out + member * bytes, bytes, member);
    }
    check(nccl_.GroupEnd());
  }
  void permute(const std::byte* in, std::byte* out, int64_t bytes, int source,
               int target) override {
    const Watched watched(*this, "permute");
    check(nccl_.GroupStart());
    if (target >= 0) send(in, bytes, target);
    if (source >= 0) receive(out, bytes, source);
    check(nccl_.GroupEnd());
  }

  // NCCL launches the calls of a group together.
  bool joins_calls() const override { return true; }
  void start_group() override {
    group_ = Group::kEmpty;
    check(nccl_.GroupStart());
  }
  void end_group() override {
    check(nccl_.GroupEnd());
    group_ = Group::kNone;
    watch_.end();
  }

 private:
  enum class Group : uint8_t { kNone, kEmpty, kBegun };

  // A call between the two marks of the watch. Of a group, the first call sets the first mark and
  // its end the second.
  class Watched {
   public:
    Watched(NcclTransport& transport, const char* kind) : transport_(transport) {
      if (transport.group_ != Group::kBegun) transport.watch_.begin(transport.number_, kind);
      if (transport.group_ == Group::kEmpty) transport.group_ = Group::kBegun;
    }
    ~Watched() {
      if (transport_.group_ == Group::kNone) transport_.watch_.end();
    }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

   private:
    NcclTransport& transport_;
  };

  std::string peers() const {
    std::string text;
    for (int member = 0; member < entry_.group->size(); ++member)
      if (member != entry_.group->index())
        text += fmt::format(" {}", entry_.group->members()[static_cast<size_t>(member)]);
    return text;
  }
  cudaStream_t stream() const { return reinterpret_cast<cudaStream_t>(gpu_.stream()); }
  void check(ncclResult_t result) const { nccl_.check(result, op_); }
  void send(const std::byte* from, int64_t bytes, int member) const {
    check(nccl_.Send(from, static_cast<size_t>(bytes), ncclUint8, member, entry_.handle, stream()));
  }
  void receive(std::byte* to, int64_t bytes, int member) const {
    check(nccl_.Recv(to, static_cast<size_t>(bytes), ncclUint8, member, entry_.handle, stream()));
  }

  const Gpu& gpu_;
  const Nccl& nccl_;
  CollectiveWatch& watch_;
  const Entry& entry_;
  NcclReduction reduction_;
  std::string op_;
  uint32_t number_;  // of the watch
  Group group_ = Group::kNone;
};

NcclGroups::~NcclGroups() {
  for (const auto& entry : entries_)
    if (entry->handle != nullptr) nccl_.CommDestroy(entry->handle);
}

std::unique_ptr<Transport> NcclGroups::connect(comm::Group& group, const TransportNeeds& needs,
                                               const std::string& op) {
  const auto known = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& entry) { return entry->group == &group; });
  const size_t number = static_cast<size_t>(known - entries_.begin());
  if (number == entries_.size()) entries_.push_back(std::make_unique<Entry>(Entry{&group, op}));
  const Entry& entry = *entries_[number];
  return std::make_unique<NcclTransport>(gpu_, nccl_, watch_, entry, *nccl_type(needs), op);
}

void NcclGroups::open() {
  for (const auto& entry : entries_) {
    ncclUniqueId id{};
    if (entry->group->index() == 0) nccl_.check(nccl_.GetUniqueId(&id), entry->op);
    std::vector<ncclUniqueId> ids(static_cast<size_t>(entry->group->size()));
    communicator_.all_gather(*entry->group, &id, ids.data(), sizeof id,
                             "connecting GPUs for " + entry->op);
    nccl_.check(
        nccl_.CommInitRank(&entry->handle, entry->group->size(), ids[0], entry->group->index()),
        entry->op);
  }
  if (!entries_.empty()) watch_.start();
}

}  // namespace spmd::cuda
