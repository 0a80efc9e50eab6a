// The streams, events and graphs of the stand-in driver. Streams are lazy: work is done when
// somebody waits for it, so that a wait which is missing shows as a wrong value. Used under one
// lock.
#pragma once

#include <cuda.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace spmd::fake {

using Work = std::function<void()>;

class Scheduler {
 public:
  // SPMD_FAKE_ORDER: of streams that could go on, "late" runs those of a higher priority only when
  // somebody needs them, "early" before all others.
  Scheduler();

  CUstream add_stream(int priority);
  // Does what is queued, and what that waits for.
  void finish(CUstream stream);
  void finish_all();
  // `microseconds`: what the work takes by the clock that events tell.
  CUresult enqueue(CUstream stream, Work work, double microseconds);

  CUevent add_event(bool has_time);
  void remove_event(CUevent event) { events_.erase(event); }
  CUresult record(CUevent event, CUstream stream, bool is_external);
  // SPMD_FAKE_DROP_WAIT=N: the Nth pair of a stream and an event, from 0 in the order of their
  // first waits, is never waited for. SPMD_FAKE_WAITS: a file that gets a line for each pair.
  CUresult wait(CUstream stream, CUevent event);
  CUresult finish(CUevent event);
  CUresult elapsed(float* milliseconds, CUevent begin, CUevent end) const;

  // What a capture forbids: waiting for streams, and calls that act at once.
  bool is_capturing() const { return origin_ != nullptr; }
  CUresult begin_capture(CUstream stream);
  CUresult end_capture(CUstream stream, CUgraph* graph);
  CUgraphExec instantiate(CUgraph graph);
  CUresult launch(CUgraphExec graph, CUstream stream);
  void destroy(CUgraph graph);

 private:
  // What an event stood for when it was recorded.
  struct Mark {
    CUstream stream;  // that will come to it
    bool is_done = false;
    double time = 0;      // microseconds
    size_t position = 0;  // of a capture: items of the stream before it
    bool is_captured = false;
  };
  using MarkPtr = std::shared_ptr<Mark>;
  struct Item {
    Work work;          // or
    MarkPtr waits_for;  // or
    MarkPtr reaches;
    CUevent event = nullptr;  // of a graph: that it records
    double microseconds = 0;
  };
  struct Stream {
    int priority = 0;
    double clock = 0;
    std::deque<Item> queue;
  };
  struct Event {
    bool has_time = true;
    MarkPtr mark;
  };
  struct Branch {
    int priority = 0;
    std::vector<Item> items;
    size_t joined = 0;  // items that the origin is behind
  };
  struct Graph {
    CUstream origin = nullptr;
    std::map<CUstream, Branch> branches;
  };

  void advance(CUstream stream);
  void reach(const MarkPtr& mark);
  void run_ahead();
  bool is_dropped(CUstream stream, CUevent event);
  CUresult push(CUstream stream, Item item);
  CUresult wait_in_capture(CUstream stream, const MarkPtr& mark);
  template <typename Handle>
  Handle new_handle() {
    return reinterpret_cast<Handle>(static_cast<uintptr_t>(next_handle_++));
  }

  bool is_early_;
  int next_handle_ = 1;
  std::map<CUstream, Stream> streams_;
  std::map<CUevent, Event> events_;
  std::vector<std::pair<CUstream, CUevent>> waits_;  // every pair, once
  int dropped_;                                      // -1: none
  CUstream origin_ = nullptr;                        // of a capture
  Graph captured_;
};

}  // namespace spmd::fake
