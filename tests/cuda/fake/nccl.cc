// A stand-in for NCCL: collectives of processes through shared memory, queued on the stand-in
// driver's streams. All of them are messages: each pair of ranks has a mailbox for one chunk, and a
// rank moves whatever of its messages can move until all have gone.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <fcntl.h>
#include <nccl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

extern "C" void spmd_fake_enqueue(CUstream stream, std::function<void()> work, double microseconds);

namespace {

constexpr int kMostRanks = 4;
constexpr size_t kChunk = 1 << 20;

struct Mailbox {
  std::atomic<uint32_t> bytes;  // 0: empty
  char data[kChunk];
};

struct Shared {
  std::atomic<int> opened;
  Mailbox mailboxes[kMostRanks][kMostRanks];  // from, to
};

struct Message {
  int peer;
  char* data;
  size_t bytes;
};

}  // namespace

struct ncclComm {
  int size, rank;
  Shared* shared;

  // One step of a message; whether it moved.
  bool send(Message& message) const {
    Mailbox& box = shared->mailboxes[rank][message.peer];
    if (message.bytes == 0 || box.bytes != 0) return false;
    const size_t chunk = std::min(message.bytes, kChunk);
    std::memcpy(box.data, message.data, chunk);
    box.bytes = static_cast<uint32_t>(chunk);
    message.data += chunk;
    message.bytes -= chunk;
    return true;
  }
  bool receive(Message& message) const {
    Mailbox& box = shared->mailboxes[message.peer][rank];
    if (message.bytes == 0 || box.bytes == 0) return false;
    std::memcpy(message.data, box.data, box.bytes);
    message.data += box.bytes;
    message.bytes -= box.bytes;
    box.bytes = 0;
    return true;
  }

  void exchange(std::vector<Message> sent, std::vector<Message> received) const {
    const auto is_left = [](const Message& message) { return message.bytes > 0; };
    while (std::any_of(sent.begin(), sent.end(), is_left) ||
           std::any_of(received.begin(), received.end(), is_left)) {
      bool moved = false;
      for (Message& message : sent) moved = send(message) || moved;
      for (Message& message : received) moved = receive(message) || moved;
      // A rank that sleeps gives way on a busy machine, and is woken soon.
      if (!moved) usleep(20);
    }
  }

  // Message `r` to rank r is the piece at r * sent_pitch; what comes lies one after the other.
  void exchange_pieces(const void* in, size_t sent_pitch, char* out, size_t bytes) const {
    std::vector<Message> sent, received;
    for (int r = 0; r < size; ++r) {
      const auto number = static_cast<size_t>(r);
      sent.push_back(
          {r, const_cast<char*>(static_cast<const char*>(in)) + number * sent_pitch, bytes});
      received.push_back({r, out + number * bytes, bytes});
    }
    exchange(std::move(sent), std::move(received));
  }
};

namespace {

size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 4;
  }
}

template <typename T>
T combined(ncclRedOp_t op, T a, T b) {
  if (op == ncclSum) return static_cast<T>(a + b);
  if (op == ncclProd) return static_cast<T>(a * b);
  return op == ncclMax ? std::max(a, b) : std::min(a, b);
}

// total = total <op> more, elements of T that are computed as C.
template <typename T, typename C = T>
void combine(ncclRedOp_t op, void* total, const void* more, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    T& to = static_cast<T*>(total)[i];
    to = static_cast<T>(
        combined<C>(op, static_cast<C>(to), static_cast<C>(static_cast<const T*>(more)[i])));
  }
}

void combine(ncclDataType_t type, ncclRedOp_t op, void* total, const void* more, size_t count) {
  switch (type) {
    case ncclInt8:
      return combine<int8_t>(op, total, more, count);
    case ncclUint8:
      return combine<uint8_t>(op, total, more, count);
    case ncclInt32:
      return combine<int32_t>(op, total, more, count);
    case ncclUint32:
      return combine<uint32_t>(op, total, more, count);
    case ncclInt64:
      return combine<int64_t>(op, total, more, count);
    case ncclUint64:
      return combine<uint64_t>(op, total, more, count);
    case ncclFloat16:
      return combine<__half, float>(op, total, more, count);
    case ncclBfloat16:
      return combine<__nv_bfloat16, float>(op, total, more, count);
    case ncclFloat64:
      return combine<double>(op, total, more, count);
    default:
      return combine<float>(op, total, more, count);
  }
}

// The reduction of what all ranks send here: their pieces at this rank's place of `sent_pitch`
// bytes.
void reduce(const ncclComm& comm, const void* in, size_t sent_pitch, void* out, size_t count,
            ncclDataType_t type, ncclRedOp_t op) {
  const size_t bytes = count * size_of(type);
  std::vector<char> pieces(bytes * static_cast<size_t>(comm.size));
  comm.exchange_pieces(in, sent_pitch, pieces.data(), bytes);
  for (int r = 1; r < comm.size; ++r)
    combine(type, op, pieces.data(), pieces.data() + static_cast<size_t>(r) * bytes, count);
  std::memcpy(out, pieces.data(), bytes);
}

// The sends and receives of an open group.
struct Group {
  int depth = 0;
  const ncclComm* comm = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<Message> sent, received;
};
thread_local Group group;

// SPMD_FAKE_NCCL_LOG: a file that gets a line for each call.
void enqueue(const char* call, cudaStream_t stream, std::function<void()> work) {
  if (const char* path = std::getenv("SPMD_FAKE_NCCL_LOG")) {
    std::FILE* file = std::fopen(path, "a");
    if (file != nullptr) {
      std::fprintf(file, "%s\n", call);
      std::fclose(file);
    }
  }
  constexpr double kMicroseconds = 10;
  spmd_fake_enqueue(reinterpret_cast<CUstream>(stream), std::move(work), kMicroseconds);
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t) { return "a call that the stand-in refuses"; }
const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int number = 0;
  std::snprintf(id->internal, sizeof id->internal, "/spmd_fake_nccl_%d_%d", getpid(), number++);
  const int file = shm_open(id->internal, O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file < 0) return ncclSystemError;
  const bool sized = ftruncate(file, sizeof(Shared)) == 0;  // zeros: all mailboxes are empty
  close(file);
  return sized ? ncclSuccess : ncclSystemError;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  if (size > kMostRanks) return ncclInvalidArgument;
  const int file = shm_open(id.internal, O_RDWR, 0600);
  if (file < 0) return ncclSystemError;
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return ncclSystemError;
  *comm = new ncclComm{size, rank, static_cast<Shared*>(memory)};
  if (++(*comm)->shared->opened == size) shm_unlink(id.internal);
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  munmap(comm->shared, sizeof(Shared));
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  enqueue("all_gather", stream,
          [=] { comm->exchange_pieces(in, 0, static_cast<char*>(out), count * size_of(type)); });
  return ncclSuccess;
}
ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  enqueue("all_reduce", stream, [=] { reduce(*comm, in, 0, out, count, type, op); });
  return ncclSuccess;
}
ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  enqueue("reduce_scatter", stream,
          [=] { reduce(*comm, in, count * size_of(type), out, count, type, op); });
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (--group.depth > 0 || group.comm == nullptr) return ncclSuccess;
  enqueue("messages", group.stream,
          [comm = group.comm, sent = std::move(group.sent), received = std::move(group.received)] {
            comm->exchange(sent, received);
          });
  group = {};
  return ncclSuccess;
}
ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  if (group.depth == 0) return ncclInvalidUsage;
  group.comm = comm;
  group.stream = stream;
  group.sent.push_back({peer, static_cast<char*>(const_cast<void*>(data)), count * size_of(type)});
  return ncclSuccess;
}
ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  if (group.depth == 0) return ncclInvalidUsage;
  group.comm = comm;
  group.stream = stream;
  group.received.push_back({peer, static_cast<char*>(data), count * size_of(type)});
  return ncclSuccess;
}

}  // extern "C"
