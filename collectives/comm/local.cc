#include "collectives/comm/local.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "collectives/comm/bytes.h"
#include "collectives/comm/waiting.h"
#include "support/error.h"
#include "support/thread.h"

namespace spmd::comm {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

// What the members of one group share. A collective publishes pointers, meets, copies, meets.
struct Meeting {
  explicit Meeting(size_t size) : inputs(size), outputs(size), arrivals(size, 0) {}
  std::condition_variable all_here;
  int waiting = 0;
  std::atomic<uint64_t> generation{0};
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::vector<uint64_t> arrivals;  // how often each member has arrived
};

struct LocalGroup : Group {
  LocalGroup(std::vector<int> members, int index, Meeting* meeting)
      : Group(std::move(members), index), meeting(meeting) {}
  Meeting* meeting;
};

// What all ranks share.
class LocalHub {
 public:
  LocalHub(int ranks, Options options) : ranks_(ranks), timeout_(options.timeout) {}

  int ranks() const { return ranks_; }
  std::chrono::milliseconds timeout() const { return timeout_; }
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }

  Meeting& meeting(const std::vector<int>& members) {
    std::lock_guard lock(mutex_);
    std::unique_ptr<Meeting>& meeting = meetings_[members];
    if (!meeting) meeting = std::make_unique<Meeting>(members.size());
    return *meeting;
  }

  // Returns when all members have arrived. Throws when one of them will not.
  void meet(LocalGroup& group, int rank, const char* collective, std::string_view op);
  // The same inside a collective, when all members are known to be in it and nothing there blocks.
  // Never throws: the others may be reading this rank's memory, which unwinding would free.
  void meet_again(LocalGroup& group);

  void abort(int rank, const std::string& message) {
    std::lock_guard lock(mutex_);
    if (aborted_) return;
    message_ = message;
    failed_rank_ = rank;
    aborted_ = true;
    for (auto& [members, meeting] : meetings_) meeting->all_here.notify_all();
  }

 private:
  // Counts this member in. True when it was the last one.
  bool arrive(LocalGroup& group, std::unique_lock<std::mutex>& lock);
  // Looks a few times before sleeping: the others are often only microseconds away.
  static bool others_come_soon(const Meeting& meeting, uint64_t generation);
  [[noreturn]] void time_out(const LocalGroup& group, int rank, const char* collective,
                             std::string_view op);
  void check_aborted() const {
    if (aborted_) throw Aborted(failed_rank_, message_);
  }

  const int ranks_;
  std::atomic<std::chrono::milliseconds> timeout_;
  std::mutex mutex_;
  std::map<std::vector<int>, std::unique_ptr<Meeting>> meetings_;
  std::atomic<bool> aborted_{false};
  int failed_rank_ = -1;
  std::string message_;
};

bool LocalHub::arrive(LocalGroup& group, std::unique_lock<std::mutex>& lock) {
  Meeting& meeting = *group.meeting;
  ++meeting.arrivals[static_cast<size_t>(group.index())];
  if (++meeting.waiting < group.size()) return false;
  meeting.waiting = 0;
  meeting.generation.fetch_add(1, std::memory_order_release);
  lock.unlock();
  meeting.all_here.notify_all();
  return true;
}

bool LocalHub::others_come_soon(const Meeting& meeting, uint64_t generation) {
  for (int i = 0; i < 40; ++i) {
    if (meeting.generation.load(std::memory_order_acquire) != generation) return true;
    std::this_thread::yield();
  }
  return false;
}

void LocalHub::meet(LocalGroup& group, int rank, const char* collective, std::string_view op) {
  Meeting& meeting = *group.meeting;
  std::unique_lock lock(mutex_);
  check_aborted();
  const uint64_t generation = meeting.generation.load(std::memory_order_relaxed);
  if (arrive(group, lock)) return;
  lock.unlock();
  if (others_come_soon(meeting, generation)) return;
  lock.lock();
  const auto all_came = [&] {
    return meeting.generation.load(std::memory_order_relaxed) != generation;
  };
  meeting.all_here.wait_until(lock, Clock::now() + timeout(),
                              [&] { return aborted_ || all_came(); });
  if (all_came()) return;
  check_aborted();
  time_out(group, rank, collective, op);
}

void LocalHub::meet_again(LocalGroup& group) {
  Meeting& meeting = *group.meeting;
  std::unique_lock lock(mutex_);
  const uint64_t generation = meeting.generation.load(std::memory_order_relaxed);
  if (arrive(group, lock)) return;
  lock.unlock();
  if (others_come_soon(meeting, generation)) return;
  lock.lock();
  meeting.all_here.wait(
      lock, [&] { return meeting.generation.load(std::memory_order_relaxed) != generation; });
}

void LocalHub::time_out(const LocalGroup& group, int rank, const char* collective,
                        std::string_view op) {
  const std::vector<uint64_t>& arrivals = group.meeting->arrivals;
  const uint64_t here = arrivals[static_cast<size_t>(group.index())];
  std::string missing;
  for (size_t i = 0; i < arrivals.size(); ++i)
    if (arrivals[i] < here) missing += " " + std::to_string(group.members()[i]);
  const UserError error = waited_too_long({rank, collective, op, missing}, timeout());
  // Whoever comes late must not find this rank's memory gone.
  message_ = error.what();
  failed_rank_ = rank;
  aborted_ = true;
  throw error;
}

namespace {

class LocalCommunicator : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<LocalHub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return hub_->ranks(); }
  std::chrono::milliseconds timeout() const override { return hub_->timeout(); }
  void set_timeout(std::chrono::milliseconds timeout) override { hub_->set_timeout(timeout); }

  Group& group(const std::vector<int>& members) override {
    std::unique_ptr<LocalGroup>& group = groups_[members];
    if (!group) {
      const auto self = std::find(members.begin(), members.end(), rank_);
      SPMD_CHECK(self != members.end(), "rank {} is no member of the group", rank_);
      group = std::make_unique<LocalGroup>(members, static_cast<int>(self - members.begin()),
                                           &hub_->meeting(members));
      sources_.resize(std::max(sources_.size(), members.size()));
    }
    return *group;
  }

  void all_gather(Group& group, const void* in, void* out, int64_t bytes,
                  std::string_view op) override {
    LocalGroup& local = publish(group, in, out);
    hub_->meet(local, rank_, "all_gather", op);
    for (int i = 0; i < group.size(); ++i) copy_bytes(at(out, i * bytes), input(local, i), bytes);
    hub_->meet_again(local);
  }

  // Each member reduces one part of the elements, then all copy each other's parts.
  void all_reduce(Group& group, const void* in, void* out, int64_t count, Element element,
                  Reduction reduction, std::string_view op) override {
    LocalGroup& local = publish(group, in, out);
    const int64_t size = byte_size(element), n = group.size();
    const auto begin = [&](int64_t part) { return count * part / n; };
    hub_->meet(local, rank_, "all_reduce", op);
    const int64_t own = begin(group.index()), length = begin(group.index() + 1) - own;
    reduce(local, own * size, reduction, element, length, at(out, own * size));
    hub_->meet_again(local);
    for (int i = 0; i < group.size(); ++i)
      if (i != group.index())
        copy_bytes(at(out, begin(i) * size),
                   at(local.meeting->outputs[static_cast<size_t>(i)], begin(i) * size),
                   (begin(i + 1) - begin(i)) * size);
    hub_->meet_again(local);
  }

  void reduce_scatter(Group& group, const void* in, void* out, int64_t count, Element element,
                      Reduction reduction, std::string_view op) override {
    LocalGroup& local = publish(group, in, out);
    hub_->meet(local, rank_, "reduce_scatter", op);
    reduce(local, group.index() * count * byte_size(element), reduction, element, count, out);
    hub_->meet_again(local);
  }

  void all_to_all(Group& group, const void* in, void* out, int64_t bytes,
                  std::string_view op) override {
    LocalGroup& local = publish(group, in, out);
    hub_->meet(local, rank_, "all_to_all", op);
    for (int i = 0; i < group.size(); ++i)
      copy_bytes(at(out, i * bytes), at(input(local, i), group.index() * bytes), bytes);
    hub_->meet_again(local);
  }

  void permute(Group& group, const void* in, void* out, int64_t bytes, int source, int,
               std::string_view op) override {
    LocalGroup& local = publish(group, in, out);
    hub_->meet(local, rank_, "permute", op);
    if (source >= 0) copy_bytes(out, input(local, source), bytes);
    hub_->meet_again(local);
  }

  void gather(Group& group, const void* in, void* out, int64_t bytes, int root,
              std::string_view op) override {
    LocalGroup& local = publish(group, in, out);
    hub_->meet(local, rank_, "gather", op);
    if (group.index() == root)
      for (int i = 0; i < group.size(); ++i) copy_bytes(at(out, i * bytes), input(local, i), bytes);
    hub_->meet_again(local);
  }

  void barrier(Group& group, std::string_view op) override {
    hub_->meet(static_cast<LocalGroup&>(group), rank_, "barrier", op);
  }

  void broadcast(std::string& bytes, int root, std::string_view op) override {
    LocalGroup& local = publish(world(), &bytes, nullptr);
    hub_->meet(local, rank_, "broadcast", op);
    if (rank_ != root) bytes = *static_cast<const std::string*>(input(local, root));
    hub_->meet_again(local);
  }

  void abort(const std::string& message, int) override { hub_->abort(rank_, message); }

 private:
  LocalGroup& publish(Group& group, const void* in, void* out) {
    auto& local = static_cast<LocalGroup&>(group);
    local.meeting->inputs[static_cast<size_t>(group.index())] = in;
    local.meeting->outputs[static_cast<size_t>(group.index())] = out;
    return local;
  }
  static const void* input(const LocalGroup& group, int member) {
    return group.meeting->inputs[static_cast<size_t>(member)];
  }
  void reduce(const LocalGroup& group, int64_t offset, Reduction reduction, Element element,
              int64_t count, void* out) {
    for (int i = 0; i < group.size(); ++i)
      sources_[static_cast<size_t>(i)] = at(input(group, i), offset);
    reduce_in_order(reduction, element, sources_.data(), group.size(), count, out);
  }

  std::shared_ptr<LocalHub> hub_;
  int rank_;
  std::map<std::vector<int>, std::unique_ptr<LocalGroup>> groups_;
  std::vector<const void*> sources_;
};

// Keeps the failure that came first; that of a rank which only heard of another's is none.
class FirstFailure {
 public:
  void keep(std::exception_ptr failure, bool heard) {
    std::lock_guard lock(mutex_);
    if (!failure_ || (heard_ && !heard)) {
      failure_ = std::move(failure);
      heard_ = heard;
    }
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failure_;
  bool heard_ = false;
};

void run_rank(Communicator& communicator, const std::function<void(Communicator&)>& body,
              FirstFailure& first) {
  try {
    body(communicator);
  } catch (const Aborted& aborted) {
    first.keep(std::current_exception(), true);
  } catch (const std::exception& error) {
    first.keep(std::current_exception(), false);
    communicator.abort(error.what(), 1);
  }
}

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_local(int ranks, const Options& options) {
  auto hub = std::make_shared<LocalHub>(ranks, options);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < ranks; ++rank)
    communicators.push_back(std::make_unique<LocalCommunicator>(hub, rank));
  return communicators;
}

void run_local_ranks(int ranks, const Options& options,
                     const std::function<void(Communicator&)>& body) {
  auto communicators = make_local(ranks, options);
  FirstFailure first;
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(ranks));
  // Rank 0 starts the others. Where it cannot, it has failed, and those that run hear of it.
  const auto start_and_run = [&](Communicator& root) {
    for (int rank = 1; rank < ranks; ++rank)
      threads.push_back(start_thread(fmt::format("rank {}", rank), "use fewer ranks", [&, rank] {
        run_rank(*communicators[static_cast<size_t>(rank)], body, first);
      }));
    body(root);
  };
  run_rank(*communicators[0], start_and_run, first);
  for (std::thread& thread : threads) thread.join();
  first.rethrow();
}

}  // namespace spmd::comm
