#include "tests/cuda/fake/scheduler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace spmd::fake {
namespace {

std::string_view setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

Scheduler::Scheduler()
    : is_early_(setting("SPMD_FAKE_ORDER") == "early"),
      dropped_(setting("SPMD_FAKE_DROP_WAIT").empty()
                   ? -1
                   : std::atoi(setting("SPMD_FAKE_DROP_WAIT").data())) {}

CUstream Scheduler::add_stream(int priority) {
  const auto stream = new_handle<CUstream>();
  streams_[stream].priority = priority;
  return stream;
}

// --- running

// The first item of a stream that has one.
void Scheduler::advance(CUstream handle) {
  Stream& stream = streams_[handle];
  if (stream.queue.empty()) std::abort();  // what it was to do is lost
  const Item item = std::move(stream.queue.front());
  stream.queue.pop_front();
  if (item.waits_for) {
    reach(item.waits_for);
    stream.clock = std::max(stream.clock, item.waits_for->time);
  }
  if (item.work) item.work();
  stream.clock += item.microseconds;
  if (item.reaches) {
    item.reaches->is_done = true;
    item.reaches->time = stream.clock;
    if (item.event != nullptr) events_[item.event].mark = item.reaches;
  }
}

void Scheduler::reach(const MarkPtr& mark) {
  while (!mark->is_done) advance(mark->stream);
}

// Streams of a priority (smaller numbers are more urgent) go as far as events let them.
void Scheduler::run_ahead() {
  for (auto& [handle, stream] : streams_) {
    if (stream.priority >= 0) continue;
    while (!stream.queue.empty()) {
      const MarkPtr& needed = stream.queue.front().waits_for;
      if (needed && !needed->is_done) break;
      advance(handle);
    }
  }
}

void Scheduler::finish(CUstream handle) {
  Stream& stream = streams_[handle];
  while (!stream.queue.empty()) {
    if (is_early_) run_ahead();
    if (!stream.queue.empty()) advance(handle);
  }
}

void Scheduler::finish_all() {
  for (auto& [handle, stream] : streams_) finish(handle);
}

CUresult Scheduler::finish(CUevent event) {
  if (is_capturing()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (const MarkPtr mark = events_[event].mark) reach(mark);
  return CUDA_SUCCESS;
}

// --- queueing

CUresult Scheduler::push(CUstream stream, Item item) {
  const auto branch = captured_.branches.find(stream);
  if (is_capturing() && branch != captured_.branches.end()) {
    branch->second.items.push_back(std::move(item));
  } else {
    streams_[stream].queue.push_back(std::move(item));
  }
  return CUDA_SUCCESS;
}

CUresult Scheduler::enqueue(CUstream stream, Work work, double microseconds) {
  Item item;
  item.work = std::move(work);
  item.microseconds = microseconds;
  return push(stream, std::move(item));
}

CUevent Scheduler::add_event(bool has_time) {
  const auto event = new_handle<CUevent>();
  events_[event].has_time = has_time;
  return event;
}

CUresult Scheduler::record(CUevent event, CUstream stream, bool is_external) {
  const auto branch = captured_.branches.find(stream);
  const bool is_captured = is_capturing() && branch != captured_.branches.end();
  if (is_external && !is_captured) return CUDA_ERROR_INVALID_VALUE;
  Item item;
  item.reaches = std::make_shared<Mark>(Mark{stream});
  if (is_external) {
    item.event = event;
    return push(stream, std::move(item));
  }
  item.reaches->is_captured = is_captured;
  if (is_captured) item.reaches->position = branch->second.items.size();
  events_[event].mark = item.reaches;
  return push(stream, std::move(item));
}

bool Scheduler::is_dropped(CUstream stream, CUevent event) {
  const std::pair pair{stream, event};
  auto known = std::find(waits_.begin(), waits_.end(), pair);
  if (known == waits_.end()) {
    waits_.push_back(pair);
    known = waits_.end() - 1;
    const std::string_view path = setting("SPMD_FAKE_WAITS");
    if (std::FILE* file = path.empty() ? nullptr : std::fopen(path.data(), "a")) {
      std::fprintf(file, "%zu\n", waits_.size() - 1);
      std::fclose(file);
    }
  }
  return known - waits_.begin() == dropped_;
}

CUresult Scheduler::wait(CUstream stream, CUevent event) {
  const MarkPtr mark = events_[event].mark;
  if (is_dropped(stream, event) || !mark) return CUDA_SUCCESS;
  if (is_capturing()) return wait_in_capture(stream, mark);
  if (mark->is_captured) return CUDA_ERROR_CAPTURED_EVENT;
  Item item;
  item.waits_for = mark;
  return push(stream, std::move(item));
}

CUresult Scheduler::elapsed(float* milliseconds, CUevent begin, CUevent end) const {
  const Event& first = events_.at(begin);
  const Event& last = events_.at(end);
  if (!first.has_time || !last.has_time || !first.mark || !last.mark)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!first.mark->is_done || !last.mark->is_done) return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>((last.mark->time - first.mark->time) / 1000);
  return CUDA_SUCCESS;
}

// --- graphs

CUresult Scheduler::begin_capture(CUstream stream) {
  if (is_capturing()) return CUDA_ERROR_ILLEGAL_STATE;
  origin_ = captured_.origin = stream;
  captured_.branches[stream];
  return CUDA_SUCCESS;
}

// A stream that waits for what is captured is captured too.
CUresult Scheduler::wait_in_capture(CUstream stream, const MarkPtr& mark) {
  if (!mark->is_captured) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  captured_.branches[stream].priority = streams_[stream].priority;
  Item item;
  item.waits_for = mark;
  if (stream == origin_) {
    Branch& other = captured_.branches[mark->stream];
    other.joined = std::max(other.joined, mark->position + 1);
  }
  return push(stream, std::move(item));
}

CUresult Scheduler::end_capture(CUstream stream, CUgraph* graph) {
  if (stream != origin_) return CUDA_ERROR_ILLEGAL_STATE;
  Graph captured = std::exchange(captured_, {});
  origin_ = nullptr;
  for (const auto& [handle, branch] : captured.branches)
    if (handle != stream && branch.joined < branch.items.size())
      return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  *graph = reinterpret_cast<CUgraph>(new Graph(std::move(captured)));
  return CUDA_SUCCESS;
}

CUgraphExec Scheduler::instantiate(CUgraph graph) {
  return reinterpret_cast<CUgraphExec>(new Graph(*reinterpret_cast<Graph*>(graph)));
}

void Scheduler::destroy(CUgraph graph) { delete reinterpret_cast<Graph*>(graph); }

// Each launch has marks of its own, and streams for the branches beside the first.
CUresult Scheduler::launch(CUgraphExec executable, CUstream stream) {
  const Graph& graph = *reinterpret_cast<Graph*>(executable);
  std::map<CUstream, CUstream> streams;
  for (const auto& [handle, branch] : graph.branches)
    streams[handle] = handle == graph.origin ? stream : add_stream(branch.priority);
  std::map<MarkPtr, MarkPtr> marks;
  const auto fresh = [&](const MarkPtr& mark) -> MarkPtr {
    if (!mark) return nullptr;
    MarkPtr& known = marks[mark];
    if (!known) known = std::make_shared<Mark>(Mark{streams.at(mark->stream)});
    return known;
  };
  for (const auto& [handle, branch] : graph.branches)
    for (Item item : branch.items) {
      item.waits_for = fresh(item.waits_for);
      item.reaches = fresh(item.reaches);
      push(streams.at(handle), std::move(item));
    }
  return CUDA_SUCCESS;
}

}  // namespace spmd::fake
