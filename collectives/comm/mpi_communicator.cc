#include "collectives/comm/mpi_communicator.h"

// The C++ bindings that old mpi.h headers pull in are not used.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <thread>

#include "collectives/comm/bytes.h"
#include "collectives/comm/termination.h"
#include "collectives/comm/waiting.h"
#include "support/error.h"

namespace spmd::comm {
namespace {

// MPI counts are ints; longer messages go in pieces, which arrive in the order they were sent.
constexpr int64_t kPiece = int64_t{1} << 30;
// Up to here an all-reduce sends everything to everyone at once, to save a round.
constexpr int64_t kSmallAllReduce = 8 << 10;
constexpr int kTag = 1;
constexpr int kVerdictTag = 2;  // an empty message: its sender has said why the run ends
// A rank that is told to end blames nobody for a shorter wait: all may be told at once (Ctrl-C).
constexpr std::chrono::milliseconds kStuck{150};
// Longer waits are for what others compile or write: a rank then sleeps between two looks, so that
// they have its core.
constexpr std::chrono::milliseconds kLongWait{50};
constexpr std::chrono::microseconds kRest{500};

std::string mpi_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, text + length};
}

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  throw UserError("mpi", fmt::format("{} failed: {}", call, mpi_text(code)),
                  "see that all ranks are alive, and what MPI itself says");
}

struct MpiGroup : Group {
  MpiGroup(std::vector<int> members, int index) : Group(std::move(members), index) {}
};

// Messages of one collective, in flight until wait() returns.
class Messages {
 public:
  Messages(MPI_Comm comm, std::chrono::milliseconds timeout) : comm_(comm), timeout_(timeout) {}

  void send(int peer, const void* data, int64_t bytes) {
    for (int64_t done = 0; done < bytes; done += kPiece) {
      MPI_Request& request = requests_.emplace_back(MPI_REQUEST_NULL);
      peers_.push_back(peer);
      check(MPI_Isend(at(data, done), static_cast<int>(std::min(kPiece, bytes - done)), MPI_BYTE,
                      peer, kTag, comm_, &request),
            "MPI_Isend");
    }
  }
  void receive(int peer, void* data, int64_t bytes) {
    for (int64_t done = 0; done < bytes; done += kPiece) {
      MPI_Request& request = requests_.emplace_back(MPI_REQUEST_NULL);
      peers_.push_back(peer);
      check(MPI_Irecv(at(data, done), static_cast<int>(std::min(kPiece, bytes - done)), MPI_BYTE,
                      peer, kTag, comm_, &request),
            "MPI_Irecv");
    }
  }

  std::chrono::milliseconds timeout() const { return timeout_; }
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }

  void wait(const char* collective, std::string_view op) {
    WaitClock clock;
    bool rests = false;
    for (int64_t tries = 0; !requests_.empty(); ++tries) {
      int done = 0;
      const int result = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                                     MPI_STATUSES_IGNORE);
      if (result != MPI_SUCCESS) throw lost(result, missing(collective, op));
      if (done) break;
      // Ranks may outnumber cores: let the one that is waited for run.
      if (rests) {
        std::this_thread::sleep_for(kRest);
      } else {
        std::this_thread::yield();
      }
      if (tries % 64 != 0) continue;
      rests = clock.waited() > kLongWait;
      if (clock.waited() > timeout_) throw waited_too_long(missing(collective, op), timeout_);
      if (clock.waited() >= kStuck && termination_is_due()) {
        if (verdict_is_out()) end_silently();
        throw ended_while_waiting(missing(collective, op));
      }
    }
    requests_.clear();
    peers_.clear();
  }

  // Tells all other ranks that this one is about to say why the run ends. Nobody is left to hear of
  // an error.
  void announce_verdict() {
    int rank = 0, size = 0;
    MPI_Comm_rank(comm_, &rank);
    MPI_Comm_size(comm_, &size);
    for (int peer = 0; peer < size; ++peer) {
      MPI_Request request = MPI_REQUEST_NULL;
      if (peer != rank) MPI_Isend(nullptr, 0, MPI_BYTE, peer, kVerdictTag, comm_, &request);
    }
  }

 private:
  bool verdict_is_out() {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, kVerdictTag, comm_, &found, MPI_STATUS_IGNORE);
    return found != 0;
  }

  // Of a rank that the launcher is ending: what it waits for explains nothing.
  [[noreturn]] static void end_silently() {
    answer_termination_silently();
    std::fflush(nullptr);
    std::_Exit(128 + SIGTERM);
  }

  // What this rank waits for.
  Wait missing(const char* collective, std::string_view op) {
    std::string missing;
    for (size_t i = 0; i < requests_.size(); ++i) {
      const std::string name = " " + std::to_string(peers_[i]);
      int done = 0;
      MPI_Test(&requests_[i], &done, MPI_STATUS_IGNORE);
      if (!done && (missing + " ").find(name + " ") == std::string::npos) missing += name;
    }
    int rank = 0;
    MPI_Comm_rank(comm_, &rank);
    return {rank, collective, op, missing};
  }

  static UserError lost(int code, const Wait& wait) {
    return UserError(
        fmt::format("rank {}", wait.rank),
        fmt::format("lost its connection {}: {}", what_is_waited_for(wait), mpi_text(code)),
        "see that all ranks are alive, and what MPI itself says");
  }

  MPI_Comm comm_;
  std::chrono::milliseconds timeout_;
  std::vector<MPI_Request> requests_;
  std::vector<int> peers_;
};

// Collectives are made of messages of one communicator. Messages between two ranks arrive in
// order, and all ranks call collectives in one order, so groups need no communicators of their own.
class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(MPI_Comm comm, bool finalize, const Options& options)
      : comm_(comm), finalize_(finalize), messages_(comm, options.timeout) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }

  ~MpiCommunicator() override {
    if (std::uncaught_exceptions() > 0) return;
    MPI_Comm_free(&comm_);
    if (finalize_) MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::chrono::milliseconds timeout() const override { return messages_.timeout(); }
  void set_timeout(std::chrono::milliseconds timeout) override { messages_.set_timeout(timeout); }

  Group& group(const std::vector<int>& members) override {
    std::unique_ptr<MpiGroup>& group = groups_[members];
    if (!group) {
      const auto self = std::find(members.begin(), members.end(), rank_);
      SPMD_CHECK(self != members.end(), "rank {} is no member of the group", rank_);
      group = std::make_unique<MpiGroup>(members, static_cast<int>(self - members.begin()));
      sources_.resize(std::max(sources_.size(), members.size()));
    }
    return *group;
  }

  void all_gather(Group& group, const void* in, void* out, int64_t bytes,
                  std::string_view op) override {
    gather_blocks(group, in, out, bytes, "all_gather", op);
  }

  void all_reduce(Group& group, const void* in, void* out, int64_t count, Element element,
                  Reduction reduction, std::string_view op) override {
    const int64_t size = byte_size(element), n = group.size();
    if (n == 1) return copy_bytes(out, in, count * size);
    if (count * size <= kSmallAllReduce) {
      std::byte* all = scratch(n * count * size);
      gather_blocks(group, in, all, count * size, "all_reduce", op);
      return reduce(group, all, count * size, nullptr, reduction, element, count, out);
    }
    const auto begin = [&](int64_t part) { return count * part / n * size; };
    const int64_t own = begin(group.index()), own_bytes = begin(group.index() + 1) - own;
    std::byte* parts = scratch(n * own_bytes);
    each_peer(group, [&](int member, int peer) {
      messages_.receive(peer, parts + member * own_bytes, own_bytes);
      messages_.send(peer, at(in, begin(member)), begin(member + 1) - begin(member));
    });
    messages_.wait("all_reduce", op);
    reduce(group, parts, own_bytes, at(in, own), reduction, element, own_bytes / size,
           at(out, own));
    each_peer(group, [&](int member, int peer) {
      messages_.receive(peer, at(out, begin(member)), begin(member + 1) - begin(member));
      messages_.send(peer, at(out, own), own_bytes);
    });
    messages_.wait("all_reduce", op);
  }

  void reduce_scatter(Group& group, const void* in, void* out, int64_t count, Element element,
                      Reduction reduction, std::string_view op) override {
    const int64_t bytes = count * byte_size(element);
    std::byte* parts = scratch(group.size() * bytes);
    each_peer(group, [&](int member, int peer) {
      messages_.receive(peer, parts + member * bytes, bytes);
      messages_.send(peer, at(in, member * bytes), bytes);
    });
    messages_.wait("reduce_scatter", op);
    reduce(group, parts, bytes, at(in, group.index() * bytes), reduction, element, count, out);
  }

  void all_to_all(Group& group, const void* in, void* out, int64_t bytes,
                  std::string_view op) override {
    each_peer(group, [&](int member, int peer) {
      messages_.receive(peer, at(out, member * bytes), bytes);
      messages_.send(peer, at(in, member * bytes), bytes);
    });
    copy_bytes(at(out, group.index() * bytes), at(in, group.index() * bytes), bytes);
    messages_.wait("all_to_all", op);
  }

  void permute(Group& group, const void* in, void* out, int64_t bytes, int source, int target,
               std::string_view op) override {
    if (source == group.index()) {
      copy_bytes(out, in, bytes);
    } else if (source >= 0) {
      messages_.receive(group.members()[static_cast<size_t>(source)], out, bytes);
    }
    if (target >= 0 && target != group.index())
      messages_.send(group.members()[static_cast<size_t>(target)], in, bytes);
    messages_.wait("permute", op);
  }

  void gather(Group& group, const void* in, void* out, int64_t bytes, int root,
              std::string_view op) override {
    if (group.index() == root) {
      each_peer(group, [&](int member, int peer) {
        messages_.receive(peer, at(out, member * bytes), bytes);
      });
      copy_bytes(at(out, root * bytes), in, bytes);
    } else {
      messages_.send(group.members()[static_cast<size_t>(root)], in, bytes);
    }
    messages_.wait("gather", op);
  }

  // In log2(size) rounds: in round k each rank hears of the 2^k ranks before it.
  void barrier(Group& group, std::string_view op) override {
    const int n = group.size();
    for (int distance = 1; distance < n; distance *= 2) {
      const char sent = 0;
      char heard = 0;
      const auto peer = [&](int offset) {
        return group.members()[static_cast<size_t>((group.index() + offset + n) % n)];
      };
      messages_.receive(peer(-distance), &heard, 1);
      messages_.send(peer(distance), &sent, 1);
      messages_.wait("barrier", op);
    }
  }

  void broadcast(std::string& bytes, int root, std::string_view op) override {
    int64_t length = static_cast<int64_t>(bytes.size());
    broadcast_bytes(&length, sizeof length, root, op);
    bytes.resize(static_cast<size_t>(length));
    broadcast_bytes(bytes.data(), length, root, op);
  }

  void abort(const std::string& message, int exit_code) override {
    // A fault that all ranks meet alike is reported by the lowest of them: the others leave it the
    // time to. One that is being ended has none.
    if (!termination_is_due())
      std::this_thread::sleep_for(std::chrono::milliseconds(150) * std::min(rank_, 8));
    answer_termination_silently();
    if (!termination_is_due()) messages_.announce_verdict();
    std::fprintf(stderr, "%s\n", message.c_str());
    std::fflush(stderr);
    MPI_Abort(comm_, exit_code);
  }

 private:
  // Peers in an order that spreads the load: each member begins with its successor.
  template <typename Visit>
  void each_peer(const Group& group, Visit visit) {
    for (int step = 1; step < group.size(); ++step) {
      const int member = (group.index() + step) % group.size();
      visit(member, group.members()[static_cast<size_t>(member)]);
    }
  }

  void gather_blocks(Group& group, const void* in, void* out, int64_t bytes, const char* collective,
                     std::string_view op) {
    each_peer(group, [&](int member, int peer) {
      messages_.receive(peer, at(out, member * bytes), bytes);
      messages_.send(peer, in, bytes);
    });
    copy_bytes(at(out, group.index() * bytes), in, bytes);
    messages_.wait(collective, op);
  }

  // Reduces one block per member; this member's own lies at `own` when that is not null.
  void reduce(const Group& group, const std::byte* blocks, int64_t bytes, const void* own,
              Reduction reduction, Element element, int64_t count, void* out) {
    for (int i = 0; i < group.size(); ++i)
      sources_[static_cast<size_t>(i)] = i == group.index() && own ? own : blocks + i * bytes;
    reduce_in_order(reduction, element, sources_.data(), group.size(), count, out);
  }

  // A binomial tree over ranks counted from the root.
  void broadcast_bytes(void* data, int64_t bytes, int root, std::string_view op) {
    const int self = (rank_ - root + size_) % size_;
    const auto rank_of = [&](int place) { return (place + root) % size_; };
    int stride = 1;
    while (stride < size_ && (self & stride) == 0) stride *= 2;
    if (self != 0) {
      messages_.receive(rank_of(self - stride), data, bytes);
      messages_.wait("broadcast", op);
    }
    for (stride /= 2; stride > 0; stride /= 2)
      if (self + stride < size_) messages_.send(rank_of(self + stride), data, bytes);
    messages_.wait("broadcast", op);
  }

  std::byte* scratch(int64_t bytes) {
    if (static_cast<int64_t>(scratch_.size()) < bytes) scratch_.resize(static_cast<size_t>(bytes));
    return scratch_.data();
  }

  MPI_Comm comm_;
  bool finalize_;
  int rank_ = 0, size_ = 1;
  Messages messages_;
  std::map<std::vector<int>, std::unique_ptr<MpiGroup>> groups_;
  std::vector<const void*> sources_;
  std::vector<std::byte> scratch_;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi(const Options& options) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) {
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  }
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return std::make_unique<MpiCommunicator>(comm, !initialized, options);
}

}  // namespace spmd::comm
