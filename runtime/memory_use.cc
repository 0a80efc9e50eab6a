#include "runtime/memory_use.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <vector>

#include "runtime/plan/accesses.h"
#include "support/error.h"
#include "support/names.h"
#include "support/printable.h"
#include "support/strings.h"

namespace spmd {
namespace {

// How the outermost steps of a program use a buffer of the arena.
struct BufferUse {
  int first = -1, last = -1;
  bool in_message = false, feeds_state = false;
};

class ArenaUse {
 public:
  explicit ArenaUse(const plan::Plan& plan)
      : plan_(plan), uses_(static_cast<size_t>(plan.buffers_size())) {
    for (const plan::Argument& argument : plan.arguments()) {
      if (argument.aliased_result() < 0) continue;
      state_.insert(argument.buffer());
      state_.insert(plan.results(argument.aliased_result()).buffer());
    }
    for (const plan::Carried& carried : plan.carried())
      state_.insert({carried.buffer(), carried.next()});
    const plan::Sequence& body = plan.programs(0).body();
    for (int s = 0; s < body.steps_size(); ++s) visit(body.steps(s), s);
  }

  // Adds the arena's part. Buffers within a loop can share bytes, which then count once.
  void add_to(MemoryUse& use) const {
    const int peak = peak_step();
    if (peak < 0) return;
    const plan::Step& step = plan_.programs(0).body().steps(peak);
    use.peak_op = step.op();
    use.gaps = 0;
    std::set<int64_t> ends = {0, plan_.arena_bytes()};
    const std::vector<LiveBuffer> live = live_at(peak, step);
    for (const LiveBuffer& buffer : live) {
      ends.insert(buffer.begin);
      ends.insert(buffer.end);
    }
    for (auto end = std::next(ends.begin()); end != ends.end(); ++end) {
      const int64_t begin = *std::prev(end);
      const auto holder = std::find_if(live.begin(), live.end(), [&](const LiveBuffer& buffer) {
        return buffer.begin <= begin && *end <= buffer.end;
      });
      use.*(holder == live.end() ? &MemoryUse::gaps : holder->kind) += *end - begin;
    }
  }

 private:
  struct LiveBuffer {
    int64_t MemoryUse::*kind;
    int order;  // of kinds, where buffers share bytes
    int64_t begin, end;
  };

  std::vector<LiveBuffer> live_at(int number, const plan::Step& step) const {
    std::set<int32_t> accessed;
    for_each_step(step, [&](const plan::Step& inner) {
      plan::for_each_view(inner,
                          [&](const plan::View& view, bool) { accessed.insert(view.buffer()); });
    });
    std::vector<LiveBuffer> live;
    for (int32_t b = 0; b < plan_.buffers_size(); ++b) {
      const BufferUse& use = uses_[static_cast<size_t>(b)];
      if (use.first < 0 || use.first > number || use.last < number) continue;
      const plan::Buffer& buffer = plan_.buffers(b);
      LiveBuffer entry{&MemoryUse::activations, 3, buffer.offset(),
                       buffer.offset() + buffer.bytes()};
      if (accessed.contains(b)) entry.kind = &MemoryUse::temporaries, entry.order = 2;
      if (use.feeds_state) entry.kind = &MemoryUse::gradients, entry.order = 1;
      if (use.in_message) entry.kind = &MemoryUse::messages, entry.order = 0;
      live.push_back(entry);
    }
    std::stable_sort(live.begin(), live.end(),
                     [](const LiveBuffer& a, const LiveBuffer& b) { return a.order < b.order; });
    return live;
  }

  // The step and those within it.
  static void for_each_step(const plan::Step& step,
                            const std::function<void(const plan::Step&)>& visit) {
    visit(step);
    const auto inner = [&](const plan::Sequence& sequence) {
      for (const plan::Step& each : sequence.steps()) for_each_step(each, visit);
    };
    if (step.has_while_()) {
      inner(step.while_().condition());
      inner(step.while_().body());
    }
    for (const plan::Sequence& branch : step.branch().branches()) inner(branch);
  }

  void visit(const plan::Step& outer, int number) {
    for_each_step(outer, [&](const plan::Step& step) {
      bool writes_state = false;
      plan::for_each_view(step, [&](const plan::View& view, bool writes) {
        writes_state = writes_state || (writes && state_.contains(view.buffer()));
      });
      plan::for_each_view(step, [&](const plan::View& view, bool writes) {
        if (plan_.buffers(view.buffer()).kind() != plan::Buffer::ARENA) return;
        BufferUse& use = uses_[static_cast<size_t>(view.buffer())];
        if (use.first < 0) use.first = number;
        use.last = number;
        use.in_message = use.in_message || step.has_collective();
        use.feeds_state = use.feeds_state || (writes_state && !writes);
      });
    });
  }

  // Where the most bytes are alive; -1: nowhere.
  int peak_step() const {
    std::vector<int64_t> changes(static_cast<size_t>(plan_.programs(0).body().steps_size()) + 1, 0);
    for (size_t b = 0; b < uses_.size(); ++b) {
      if (uses_[b].first < 0) continue;
      const int64_t bytes = plan_.buffers(static_cast<int>(b)).bytes();
      changes[static_cast<size_t>(uses_[b].first)] += bytes;
      changes[static_cast<size_t>(uses_[b].last) + 1] -= bytes;
    }
    int peak = -1;
    int64_t alive = 0, most = 0;
    for (size_t s = 0; s < changes.size(); ++s) {
      alive += changes[s];
      if (alive <= most) continue;
      most = alive;
      peak = static_cast<int>(s);
    }
    return peak;
  }

  const plan::Plan& plan_;
  std::vector<BufferUse> uses_;
  std::set<int32_t> state_;
};

}  // namespace

bool is_optimizer_state(const std::string& name) {
  static const std::set<std::string> kWords = {"mu",       "nu",       "trace", "count", "step",
                                               "momentum", "velocity", "m",     "v",     "moments"};
  const auto words = words_of(name);
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return kWords.contains(word); });
}

int64_t MemoryUse::total() const {
  return parameters + optimizer_state + inputs + results + constants + messages + gradients +
         temporaries + activations + gaps + std::max<int64_t>(workspaces, 0);
}

MemoryUse memory_use(const plan::Plan& plan) {
  MemoryUse use;
  std::set<int32_t> counted;
  for (const plan::Argument& argument : plan.arguments()) {
    if (!counted.insert(argument.buffer()).second) continue;
    int64_t& kind = argument.aliased_result() < 0         ? use.inputs
                    : is_optimizer_state(argument.name()) ? use.optimizer_state
                                                          : use.parameters;
    kind += plan.buffers(argument.buffer()).bytes();
  }
  for (const plan::Carried& carried : plan.carried())
    use.parameters += plan.buffers(carried.buffer()).bytes();
  for (const plan::Buffer& buffer : plan.buffers()) {
    if (buffer.kind() == plan::Buffer::RESULT) use.results += buffer.bytes();
    if (buffer.kind() == plan::Buffer::CONSTANT) use.constants += buffer.bytes();
  }
  use.gaps = plan.arena_bytes();
  if (plan.programs_size() > 0) ArenaUse(plan).add_to(use);
  return use;
}

std::string to_string(const MemoryUse& use) {
  const auto size = [](int64_t bytes) { return human_bytes(static_cast<double>(bytes)); };
  std::string text;
  const auto line = [&](const char* kind, int64_t bytes) {
    if (bytes > 0) text += fmt::format("  {:<16} {:>12}\n", kind, size(bytes));
  };
  line("parameters", use.parameters);
  line("optimizer state", use.optimizer_state);
  line("inputs", use.inputs);
  line("results", use.results);
  line("constants", use.constants);
  line("activations", use.activations);
  line("gradients", use.gradients);
  line("temporaries", use.temporaries);
  line("communication", use.messages);
  line("gaps", use.gaps);
  if (use.workspaces < 0) text += "  workspaces       not known yet\n";
  line("workspaces", use.workspaces);
  line("in all", use.total());
  if (!use.peak_op.empty())
    text += fmt::format("  the most values are alive at {}\n", printable(use.peak_op));
  return text;
}

}  // namespace spmd
