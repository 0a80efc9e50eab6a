#include "codegen/recompute.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "codegen/accesses.h"
#include "codegen/drop_outputs.h"
#include "codegen/kernels/lower.h"
#include "codegen/minimum_cut.h"
#include "codegen/row_space.h"
#include "codegen/slice_program.h"
#include "codegen/views.h"
#include "runtime/plan/dtype.h"
#include "runtime/plan/plan.h"

namespace spmd::codegen {
namespace {

// Parts of other kernels that values are traced through, and parts of one kernel.
constexpr size_t kMostTraced = 24;
constexpr int kMostParts = 40;

// The Elementwise and Reduce steps of a kernel.
std::vector<plan::Step*> parts_of(plan::Step& step) {
  if (step.has_elementwise() || step.has_reduce()) return {&step};
  std::vector<plan::Step*> parts;
  if (step.has_fused())
    for (plan::Step& part : *step.mutable_fused()->mutable_steps()) parts.push_back(&part);
  return parts;
}

Dims shape_of(const plan::Step& part) {
  return plan::dims_of(part.has_reduce() ? part.reduce().shape() : part.elementwise().shape());
}

int64_t bytes_of(const plan::View& view, const Dims& shape) {
  int64_t count = plan::byte_size(view.dtype());
  for (int d = 0; d < view.strides_size(); ++d)
    if (view.strides(d) != 0) count *= shape[static_cast<size_t>(d)];
  return count;
}

// Whether element by element, in row-major order, two views are the same memory.
bool is_same_place(const plan::View& a, const Dims& a_shape, const plan::View& b,
                   const Dims& b_shape) {
  if (a.offset() != b.offset() || a.dtype() != b.dtype()) return false;
  if (static_cast<size_t>(a.strides_size()) != a_shape.size() ||
      static_cast<size_t>(b.strides_size()) != b_shape.size())
    return false;
  const View left = from_plan(a, a_shape), right = from_plan(b, b_shape);
  if (left.num_elements() != right.num_elements() || left.num_elements() == 0) return false;
  const std::optional<Dims> refined = common_refinement(a_shape, b_shape);
  return refined && strides_on(left, *refined) == strides_on(right, *refined);
}

// Who accesses the storages, by the number of the step in the outermost sequence.
class StorageUses {
 public:
  struct Use {
    int writes = 0;  // views
    int writer = -1;
    std::set<int> readers;
  };

  StorageUses(plan::Sequence& body, int num_storages) : uses_(static_cast<size_t>(num_storages)) {
    for (int s = 0; s < body.steps_size(); ++s) add(*body.mutable_steps(s), s);
  }

  const Use& operator[](int storage) const { return uses_[static_cast<size_t>(storage)]; }

  // Step `s` is replaced.
  void replace(plan::Step& old_step, plan::Step& new_step, int s, int num_storages) {
    uses_.resize(static_cast<size_t>(num_storages));
    for_each_view(old_step, [&](plan::View& view, bool writes) {
      Use& use = uses_[static_cast<size_t>(view.buffer())];
      if (writes) --use.writes;
      use.readers.erase(s);
    });
    add(new_step, s);
  }

 private:
  void add(plan::Step& step, int s) {
    for_each_view(step, [&](plan::View& view, bool writes) {
      Use& use = uses_[static_cast<size_t>(view.buffer())];
      if (!writes) {
        use.readers.insert(s);
        return;
      }
      ++use.writes;
      use.writer = s;
    });
    for (plan::Sequence* inner : sequences_of(step))
      for (plan::Step& part : *inner->mutable_steps()) add(part, s);
  }

  std::vector<Use> uses_;
};

// A register of a part's program.
struct Register {
  int step = -1, part = -1, number = -1;
  auto operator<=>(const Register&) const = default;
};

// What a step's operands are computed from, and the cut.
class Trace {
 public:
  // What a part of the step itself reads.
  struct Read {
    plan::View view;
    Dims shape;
  };

  Trace(plan::Sequence& body, const StorageTable& storages, const StorageUses& uses, int step,
        const std::vector<Read>& reads)
      : body_(body), storages_(storages), uses_(uses), step_(step) {
    find_parts(reads);
    for (const Read& read : reads) {
      const int node = value_of(read.view, read.shape, true);
      if (!targets_.insert(node).second) continue;
      cut_.add_target(node);
      before_ += costs_[static_cast<size_t>(node)];
    }
  }

  // Bytes that the cheapest cut saves.
  int64_t solve() { return before_ - cut_.solve(); }

  // Whether what a view reads is to be computed again.
  bool is_behind(const plan::View& view, const Dims& shape) {
    const std::optional<Register> reg = definition(view, shape);
    return reg && cut_.is_behind(value_of(*reg));
  }
  // The parts with registers behind the cut.
  std::set<std::pair<int, int>> parts() const {
    std::set<std::pair<int, int>> result;
    for (const auto& [reg, node] : registers_)
      if (cut_.is_behind(node)) result.insert({reg.step, reg.part});
    return result;
  }
  // The results of a part's instructions that are read from memory.
  std::map<int, plan::View> loads(std::pair<int, int> part) const {
    std::map<int, plan::View> result;
    for (const auto& [reg, node] : registers_)
      if (reg.step == part.first && reg.part == part.second && cut_.is_cut(node))
        result[reg.number] = stored_.at(node);
    return result;
  }
  const plan::Elementwise& elementwise(int step, int part) const {
    return parts_of(*body_.mutable_steps(step))[static_cast<size_t>(part)]->elementwise();
  }

 private:
  int64_t cost_of(const plan::View& view, const Dims& shape) const {
    const StorageUses::Use& use = uses_[view.buffer()];
    const bool stays = storages_[view.buffer()].kind != plan::Buffer::ARENA ||
                       std::any_of(use.readers.begin(), use.readers.end(), [&](int reader) {
                         return reader != step_ && reader != use.writer;
                       });
    return bytes_of(view, shape) * (stays ? 1 : 2);
  }

  // Which parts to trace through: the nearest ones, in the number of kernels on the way.
  void find_parts(std::vector<Read> reads) {
    for (size_t next = 0; next < reads.size() && traced_.size() < kMostTraced; ++next) {
      const std::optional<Register> reg = writer_of(reads[next].view, reads[next].shape);
      if (!reg || !traced_.insert({reg->step, reg->part}).second) continue;
      const plan::Elementwise& part = elementwise(reg->step, reg->part);
      for (const plan::View& view : part.inputs())
        reads.push_back({view, plan::dims_of(part.shape())});
    }
  }

  // The register that a view reads the value of.
  std::optional<Register> definition(const plan::View& view, const Dims& shape) const {
    const std::optional<Register> reg = writer_of(view, shape);
    return reg && traced_.contains({reg->step, reg->part}) ? reg : std::nullopt;
  }

  std::optional<Register> writer_of(const plan::View& view, const Dims& shape) const {
    const StorageUses::Use& use = uses_[view.buffer()];
    if (use.writes != 1 || use.writer >= step_) return std::nullopt;
    const std::vector<plan::Step*> parts = parts_of(*body_.mutable_steps(use.writer));
    for (size_t p = 0; p < parts.size(); ++p) {
      if (!parts[p]->has_elementwise()) continue;
      const plan::Elementwise& part = parts[p]->elementwise();
      for (int o = 0; o < part.outputs_size(); ++o) {
        if (part.outputs(o).buffer() != view.buffer()) continue;
        if (!is_same_place(part.outputs(o), shape_of(*parts[p]), view, shape)) return std::nullopt;
        return Register{use.writer, static_cast<int>(p), part.program().outputs(o)};
      }
    }
    return std::nullopt;
  }

  int value_of(const plan::View& view, const Dims& shape, bool own) {
    const std::optional<Register> reg = definition(view, shape);
    return reg ? value_of(*reg) : leaf(view, shape, own);
  }

  // Other steps' operands may be read again if nobody can have written there in the meantime.
  int leaf(const plan::View& view, const Dims& shape, bool own) {
    const StorageUses::Use& use = uses_[view.buffer()];
    const bool lasts = use.writes == 0 || (use.writes == 1 && use.writer < step_);
    const auto [known, is_new] = leaves_.try_emplace({view.buffer(), own && !lasts}, -1);
    if (is_new) {
      known->second = add(own || lasts ? cost_of(view, shape) : NodeCut::kNever);
      cut_.add_source(known->second);
    }
    return known->second;
  }

  int value_of(const Register& reg) {
    const plan::Elementwise& part = elementwise(reg.step, reg.part);
    const Dims shape = plan::dims_of(part.shape());
    const int inputs = part.program().inputs_size();
    if (reg.number < inputs) return value_of(part.inputs(reg.number), shape, false);
    const auto known = registers_.find(reg);
    if (known != registers_.end()) return known->second;
    int64_t cost = NodeCut::kNever;
    const plan::View* stored = nullptr;
    for (int o = 0; o < part.outputs_size(); ++o) {
      if (part.program().outputs(o) != reg.number) continue;
      const int64_t own_cost = cost_of(part.outputs(o), shape);
      if (own_cost < cost) stored = &part.outputs(o);
      cost = std::min(cost, own_cost);
    }
    const int node = add(cost);
    registers_[reg] = node;
    if (stored != nullptr) stored_[node] = *stored;
    for (int arg : part.program().instructions(reg.number - inputs).args())
      cut_.add_edge(value_of(Register{reg.step, reg.part, arg}), node);
    return node;
  }

  int add(int64_t cost) {
    costs_.push_back(cost);
    return cut_.add_node(cost);
  }

  plan::Sequence& body_;
  const StorageTable& storages_;
  const StorageUses& uses_;
  const int step_;
  NodeCut cut_;
  std::vector<int64_t> costs_;                  // by node
  std::map<std::pair<int, bool>, int> leaves_;  // by storage
  std::map<Register, int> registers_;           // of instructions
  std::map<int, plan::View> stored_;            // by node: where its value lies
  std::set<std::pair<int, int>> traced_;        // parts
  std::set<int> targets_;
  int64_t before_ = 0;
};

class Recomputer {
 public:
  Recomputer(plan::Sequence& body, StorageTable& storages, int64_t least_gain)
      : body_(body), storages_(storages), uses_(body, storages.size()), least_gain_(least_gain) {}

  void run() {
    bool changed = false;
    for (int s = 0; s < body_.steps_size(); ++s) changed = rewrite(s) || changed;
    if (changed) drop_unread_outputs(body_, storages_);
  }

 private:
  bool rewrite(int s) {
    plan::Step& step = *body_.mutable_steps(s);
    const std::vector<plan::Step*> parts = parts_of(step);
    if (parts.empty()) return false;
    std::vector<Trace::Read> reads;
    for_each_read(step, [&](plan::View& view, const Dims& shape) {
      reads.push_back({view, shape});
    });
    Trace trace(body_, storages_, uses_, s, reads);
    if (trace.solve() < least_gain_) return false;

    fresh_.clear();
    plan::Step own = step;
    for_each_read(own, [&](plan::View& view, const Dims& shape) {
      if (trace.is_behind(view, shape)) view.set_buffer(fresh(view.buffer()));
    });
    std::vector<plan::Step> all = slices(trace, step.op());
    for (plan::Step* part : parts_of(own)) all.push_back(std::move(*part));
    std::optional<plan::Step> whole = fused(std::move(all), step);
    if (!whole) return false;
    uses_.replace(step, *whole, s, storages_.size());
    step.Swap(&*whole);
    return true;
  }

  // Visits what the parts of a step read of other steps.
  template <typename Visit>
  static void for_each_read(plan::Step& step, const Visit& visit) {
    std::set<int> written;
    for_each_view(step, [&](plan::View& view, bool writes) {
      if (writes) written.insert(view.buffer());
    });
    for (plan::Step* part : parts_of(step)) {
      const Dims shape = shape_of(*part);
      auto& inputs = part->has_reduce() ? *part->mutable_reduce()->mutable_inputs()
                                        : *part->mutable_elementwise()->mutable_inputs();
      for (plan::View& view : inputs)
        if (!written.contains(view.buffer())) visit(view, shape);
    }
  }

  // The storage, of the kernel alone, that stands for another one inside of it.
  int fresh(int storage) {
    const auto [known, is_new] = fresh_.try_emplace(storage, -1);
    if (is_new) known->second = storages_.add(plan::Buffer::ARENA, storages_[storage].bytes);
    return known->second;
  }

  // What is computed again, in order. Later parts tell earlier ones what they need.
  std::vector<plan::Step> slices(Trace& trace, const std::string& place) {
    std::vector<plan::Step> result;
    const std::set<std::pair<int, int>> parts = trace.parts();
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      const plan::Elementwise& whole = trace.elementwise(part->first, part->second);
      const Dims shape = plan::dims_of(whole.shape());
      std::map<int, plan::View> loads = trace.loads(*part);
      std::vector<std::pair<int, plan::View>> outputs;
      std::vector<int> numbers;
      for (int o = 0; o < whole.outputs_size(); ++o) {
        const auto wanted = fresh_.find(whole.outputs(o).buffer());
        if (wanted == fresh_.end()) continue;
        outputs.emplace_back(whole.program().outputs(o), whole.outputs(o));
        outputs.back().second.set_buffer(wanted->second);
        numbers.push_back(whole.program().outputs(o));
      }
      if (outputs.empty()) continue;
      const std::vector<bool> needed = needed_registers(whole, numbers, loads);
      for (int i = 0; i < whole.inputs_size(); ++i) {
        if (!needed[static_cast<size_t>(i)] || !trace.is_behind(whole.inputs(i), shape)) continue;
        plan::View view = whole.inputs(i);
        view.set_buffer(fresh(view.buffer()));
        loads[i] = view;
      }
      plan::Step& slice = result.emplace_back();
      slice.set_op(place);
      *slice.mutable_elementwise() = slice_program(whole, outputs, loads);
    }
    std::reverse(result.begin(), result.end());
    return result;
  }

  // All parts in one kernel in the place of `old_step`; nullopt when there is none.
  static std::optional<plan::Step> fused(std::vector<plan::Step> parts,
                                         const plan::Step& old_step) {
    if (parts.size() > static_cast<size_t>(kMostParts)) return std::nullopt;
    std::optional<RowSpace> space;
    for (const bool reductions : {true, false}) {
      for (const plan::Step& part : parts) {
        if (part.has_reduce() != reductions) continue;
        const std::optional<RowSpace> own = row_space(part);
        if (!own) return std::nullopt;
        space = space ? common_space(*space, *own) : own;
        if (!space) return std::nullopt;
      }
    }
    plan::Step result;
    result.set_op(old_step.op());
    for (plan::Step& part : parts) {
      if (!move_to(part, *space)) return std::nullopt;
      result.mutable_fused()->add_steps()->Swap(&part);
    }
    const auto none_local = [](int) { return false; };
    const auto before = kernels::lower(old_step, none_local);
    const auto after = kernels::lower(result, none_local);
    if (!before || !after || before->mapping != after->mapping) return std::nullopt;
    return result;
  }

  plan::Sequence& body_;
  StorageTable& storages_;
  StorageUses uses_;
  const int64_t least_gain_;
  std::map<int, int> fresh_;  // by storage, of the step being rewritten
};

}  // namespace

void recompute(plan::Sequence& body, StorageTable& storages, int64_t least_gain) {
  Recomputer(body, storages, least_gain).run();
}

}  // namespace spmd::codegen
