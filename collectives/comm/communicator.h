// Communicator: how the ranks of a run exchange data.
//
// Every rank calls the same collectives in the same order, from one thread; a collective involves
// the members of one group. Buffers are dense host memory. Results do not depend on the
// implementation, bit by bit: reductions combine members in the group's order.
//
// No call waits for ever: a wait that lasts longer than the timeout throws a UserError that names
// the rank, the collective, the op it came from and who is missing. When a rank fails it calls
// abort(); the others' waits then end.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/comm/reduction.h"

namespace spmd::comm {

struct Options {
  std::chrono::milliseconds timeout{600'000};
};

// The failure of another rank, met while waiting for it. That rank reports; this one only ends.
class Aborted : public std::runtime_error {
 public:
  Aborted(int rank, const std::string& message)
      : std::runtime_error("rank " + std::to_string(rank) + " failed: " + message) {}
};

// An ordered list of ranks, of which this rank is one. Owned by the communicator that made it.
class Group {
 public:
  virtual ~Group() = default;
  const std::vector<int>& members() const { return members_; }
  int size() const { return static_cast<int>(members_.size()); }
  // This rank's place among the members.
  int index() const { return index_; }

 protected:
  Group(std::vector<int> members, int index) : members_(std::move(members)), index_(index) {}

 private:
  std::vector<int> members_;
  int index_ = 0;
};

class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // From now on waits last no longer; the same on all ranks.
  virtual void set_timeout(std::chrono::milliseconds timeout) = 0;
  virtual std::chrono::milliseconds timeout() const = 0;

  // The group of `members`, which are distinct and include this rank. Made once and kept. All
  // members ask for their groups in the same order.
  virtual Group& group(const std::vector<int>& members) = 0;
  // All ranks, in order.
  Group& world();

  // Below, `op` names the op that the call came from. Blocks are consecutive in memory, in the
  // order of the group's members.

  // `in` is one block of `bytes`, `out` all members' blocks. `in` may be this member's place in
  // `out`.
  virtual void all_gather(Group& group, const void* in, void* out, int64_t bytes,
                          std::string_view op) = 0;
  // `in` and `out` hold `count` elements, and may be the same.
  virtual void all_reduce(Group& group, const void* in, void* out, int64_t count, Element element,
                          Reduction reduction, std::string_view op) = 0;
  // `in` is one block of `count` elements per member, `out` this member's block, reduced.
  virtual void reduce_scatter(Group& group, const void* in, void* out, int64_t count,
                              Element element, Reduction reduction, std::string_view op) = 0;
  // Block i of `in` goes to member i, as this member's block of its `out`. No aliasing.
  virtual void all_to_all(Group& group, const void* in, void* out, int64_t bytes,
                          std::string_view op) = 0;
  // Sends `in` to member `target` and fills `out` from member `source`; -1: nobody, and `out` is
  // then left as it is. No aliasing.
  virtual void permute(Group& group, const void* in, void* out, int64_t bytes, int source,
                       int target, std::string_view op) = 0;
  // Block i of `out`, on member `root` only, is member i's `in`.
  virtual void gather(Group& group, const void* in, void* out, int64_t bytes, int root,
                      std::string_view op) = 0;
  virtual void barrier(Group& group, std::string_view op) = 0;
  // Of a string of any length, from rank `root` to all ranks.
  virtual void broadcast(std::string& bytes, int root, std::string_view op) = 0;

  // Tells all ranks that this one failed. Of several failing ranks only the first is heard. Over
  // MPI this prints `message` once to stderr and ends all processes with `exit_code`; otherwise it
  // returns, and the other ranks' waits throw Aborted.
  virtual void abort(const std::string& message, int exit_code) = 0;
};

}  // namespace spmd::comm
