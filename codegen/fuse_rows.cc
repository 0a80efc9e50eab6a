#include "codegen/fuse_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "codegen/kernels/lower.h"
#include "codegen/recompute.h"
#include "codegen/row_space.h"
#include "codegen/step_tree.h"
#include "codegen/views.h"
#include "runtime/plan/dtype.h"
#include "runtime/plan/plan.h"
#include "support/strings.h"

namespace spmd::codegen {
namespace {

// A kernel's registers and a reader's patience end somewhere.
constexpr int kMostSteps = 24, kMostViews = 64;
// How far apart in the program steps may be that are fused.
constexpr size_t kReach = 256;
// Rows shorter than this are not worth a loop of their own.
constexpr int64_t kFewestColumns = 8;
// Kernels of fewer elements are too short for parallelism to matter.
constexpr int64_t kSmall = 1 << 16;

// What is moved and fused as one: a step, or several that are fused already.
struct Unit {
  std::vector<plan::Step> steps;
  std::optional<RowSpace> space;  // none: it is never fused
  std::set<int> reads, writes;    // storages
  std::set<int> elements;         // storages of which every element of the space reads its own
  int number = 0;                 // its own

  bool has_reduction() const { return space && space->has_columns(); }
};

int64_t elements_of(const plan::View& view, const Dims& shape) {
  int64_t count = 1;
  for (int d = 0; d < view.strides_size(); ++d)
    if (view.strides(d) != 0) count *= shape[static_cast<size_t>(d)];
  return count;
}

void note_accesses(plan::Step& step, Unit& unit) {
  plan::Sequence one;
  one.add_steps()->Swap(&step);
  const StepTree tree(one);
  for (int s = 0; s < tree.num_steps(); ++s)
    for_each_view(*tree[s].step, [&](plan::View& view, bool writes) {
      (writes ? unit.writes : unit.reads).insert(view.buffer());
      const Dims shape = plan::view_shape(*tree[s].step, view);
      if (unit.space && !writes && elements_of(view, shape) == unit.space->num_elements())
        unit.elements.insert(view.buffer());
    });
  one.mutable_steps(0)->Swap(&step);
}

bool intersect(const std::set<int>& a, const std::set<int>& b) {
  if (a.size() > b.size()) return intersect(b, a);
  return std::any_of(a.begin(), a.end(), [&](int storage) { return b.contains(storage); });
}

bool conflict(const Unit& a, const Unit& b) {
  return intersect(a.writes, b.reads) || intersect(a.writes, b.writes) ||
         intersect(a.reads, b.writes);
}

class SequenceFuser {
 public:
  SequenceFuser(plan::Sequence& sequence, const FuseRowsOptions& options)
      : sequence_(sequence), options_(options) {}

  void run() {
    for (plan::Step& step : *sequence_.mutable_steps()) {
      auto unit = std::make_unique<Unit>();
      unit->number = next_number_++;
      unit->space = row_space(step);
      note_accesses(step, *unit);
      unit->steps.emplace_back().Swap(&step);
      units_.push_back(std::move(unit));
    }
    for (size_t u = 0; u < units_.size(); ++u)
      while (units_[u]->space && fuse_backwards(u)) {
      }
    write_back();
  }

 private:
  // Fuses unit `u` with one before it; `u` is then the number of the next unit's predecessor.
  bool fuse_backwards(size_t& u) {
    const size_t first = u > kReach ? u - kReach : 0;
    for (size_t other = u; other-- > first;) {
      if (!units_[other]->space || !related(*units_[other], *units_[u])) continue;
      if (!fuse(other, u)) continue;
      u = merged_;
      return true;
    }
    return false;
  }

  // Whether fusing spares memory traffic: one makes what the other reads, or both reduce or read
  // the same.
  bool related(const Unit& a, const Unit& b) const {
    if (!a.has_reduction() && !b.has_reduction())
      return options_.joins_elementwise && a.space->num_elements() > kSmall &&
             (intersect(a.elements, b.elements) || intersect(a.writes, b.elements));
    if (intersect(a.writes, b.reads)) return true;
    if (!a.has_reduction() || !b.has_reduction()) return false;
    // To one core a kernel less is worth it where only an initial value is shared.
    if (options_.parallelism == 1)
      return a.space->num_elements() == b.space->num_elements() && intersect(a.reads, b.reads);
    return intersect(a.elements, b.elements);
  }

  bool fuse(size_t a, size_t b) {
    const std::pair pair(units_[a]->number, units_[b]->number);
    if (refused_.contains(pair)) return false;
    std::vector<size_t> before, after;
    if (!can_meet(a, b, before, after)) return false;
    std::unique_ptr<Unit> both = fused(*units_[a], *units_[b]);
    if (!both) {
      refused_.insert(pair);
      return false;
    }
    bring_together(a, b, std::move(both), before, after);
    return true;
  }

  // The two as one; null when that is not possible or does not pay, wherever they stand.
  std::unique_ptr<Unit> fused(const Unit& first, const Unit& second) {
    if (first.steps.size() + second.steps.size() > kMostSteps) return nullptr;
    const std::optional<RowSpace> space = common_space(*first.space, *second.space);
    if (!space) return nullptr;
    auto both = std::make_unique<Unit>();
    both->number = next_number_++;
    for (const Unit* unit : {&first, &second}) {
      for (const plan::Step& step : unit->steps) {
        both->steps.push_back(step);
        if (!move_to(both->steps.back(), *space)) return nullptr;
      }
      if (unit->space->num_elements() == space->num_elements())
        both->elements.insert(unit->elements.begin(), unit->elements.end());
      both->reads.insert(unit->reads.begin(), unit->reads.end());
      both->writes.insert(unit->writes.begin(), unit->writes.end());
    }
    both->space = space;
    return is_worthwhile(*both) ? std::move(both) : nullptr;
  }

  bool is_worthwhile(const Unit& unit) const {
    const int64_t elements = unit.space->num_elements(), rows = unit.space->num_rows();
    if (unit.has_reduction() && elements / rows < kFewestColumns) return false;
    plan::Step trial = fused_step(unit);
    int views = 0;
    for_each_view(trial, [&](plan::View&, bool) { ++views; });
    const auto none_local = [](int) { return false; };
    const std::optional<kernels::Kernel> kernel =
        views <= kMostViews ? kernels::lower(trial, none_local) : std::nullopt;
    if (!kernel) return false;
    return elements <= kSmall ||
           kernel->num_rows() / rows_together(*kernel) >= options_.parallelism;
  }

  // Rows that are one place's work. A warp's are where they lie side by side; with four for each
  // thread where elements are stored, too, which a kernel without reductions would do in all
  // places.
  static int64_t rows_together(const kernels::Kernel& kernel) {
    if (kernel.mapping != kernels::Mapping::kColumnTiles) return 1;
    const auto is_element = [&](const kernels::Store& store) {
      const Dims& strides = kernel.accesses[static_cast<size_t>(store.access)].strides.columns;
      return std::any_of(strides.begin(), strides.end(), [](int64_t s) { return s != 0; });
    };
    return std::any_of(kernel.stores.begin(), kernel.stores.end(), is_element) ? 128 : 32;
  }

  static plan::Step fused_step(const Unit& unit) {
    plan::Step result;
    result.set_op(unit.steps.back().op());
    for (const plan::Step& step : unit.steps) *result.mutable_fused()->add_steps() = step;
    return result;
  }

  // What lies between units `a` < `b` and can be moved before `a`, and what has to be moved behind
  // `b` as it depends on `a`. False when `b` depends on what depends on `a`.
  bool can_meet(size_t a, size_t b, std::vector<size_t>& before, std::vector<size_t>& after) const {
    Unit behind;  // all that `after` accesses
    for (size_t u = a + 1; u < b; ++u) {
      const Unit& unit = *units_[u];
      if (!conflict(*units_[a], unit) && !conflict(behind, unit)) {
        before.push_back(u);
        continue;
      }
      if (conflict(unit, *units_[b])) return false;
      after.push_back(u);
      behind.reads.insert(unit.reads.begin(), unit.reads.end());
      behind.writes.insert(unit.writes.begin(), unit.writes.end());
    }
    return true;
  }

  // Puts `both` in the place of units `a` < `b`.
  void bring_together(size_t a, size_t b, std::unique_ptr<Unit> both,
                      const std::vector<size_t>& before, const std::vector<size_t>& after) {
    std::vector<std::unique_ptr<Unit>> order;
    for (size_t u : before) order.push_back(std::move(units_[u]));
    order.push_back(std::move(both));
    for (size_t u : after) order.push_back(std::move(units_[u]));
    merged_ = a + before.size();
    std::move(order.begin(), order.end(), units_.begin() + static_cast<ptrdiff_t>(a));
    units_.erase(units_.begin() + static_cast<ptrdiff_t>(b));
  }

  void write_back() {
    sequence_.clear_steps();
    for (const std::unique_ptr<Unit>& unit : units_)
      *sequence_.add_steps() =
          unit->steps.size() == 1 ? std::move(unit->steps[0]) : fused_step(*unit);
  }

  plan::Sequence& sequence_;
  const FuseRowsOptions& options_;
  std::vector<std::unique_ptr<Unit>> units_;
  size_t merged_ = 0;
  int next_number_ = 0;
  std::set<std::pair<int, int>> refused_;  // by number
};

// Storages that one Fused step alone accesses, by that step.
class Locals {
 public:
  Locals(const StepTree& tree, StorageTable& storages) : storages_(storages) {
    users_.assign(static_cast<size_t>(storages.size()), kNobody);
    for (int s = 0; s < tree.num_steps(); ++s)
      for_each_view(*tree[s].step, [&](plan::View& view, bool) {
        int& user = users_[static_cast<size_t>(view.buffer())];
        user = user == kNobody || user == s ? s : kSeveral;
      });
    for (int id = 0; id < storages.size(); ++id) {
      const int user = users_[static_cast<size_t>(id)];
      if (user >= 0 && storages[id].kind == plan::Buffer::ARENA && tree[user].step->has_fused() &&
          is_written_first(*tree[user].step, id))
        storages_[id].kind = plan::Buffer::LOCAL;
    }
  }

 private:
  static constexpr int kNobody = -1, kSeveral = -2;

  static bool is_written_first(plan::Step& step, int storage) {
    for (plan::Step& inner : *step.mutable_fused()->mutable_steps()) {
      bool reads = false, writes = false;
      for_each_view(inner, [&](plan::View& view, bool write) {
        if (view.buffer() == storage) (write ? writes : reads) = true;
      });
      if (reads) return false;
      if (writes) return true;
    }
    return false;
  }

  StorageTable& storages_;
  std::vector<int> users_;  // by storage
};

// What the parts would have read and written, and the whole does not.
int64_t saved_bytes(plan::Step& step, const StorageTable& storages) {
  std::set<std::pair<int, int64_t>> known;  // storage and offset
  int64_t saved = 0;
  for (plan::Step& inner : *step.mutable_fused()->mutable_steps()) {
    const Dims shape =
        plan::dims_of(inner.has_reduce() ? inner.reduce().shape() : inner.elementwise().shape());
    for_each_view(inner, [&](plan::View& view, bool writes) {
      const int64_t bytes = elements_of(view, shape) * plan::byte_size(view.dtype());
      const bool again = !known.insert({view.buffer(), view.offset()}).second;
      const bool local = storages[view.buffer()].kind == plan::Buffer::LOCAL;
      if (local || (again && !writes)) saved += bytes;
    });
  }
  return saved;
}

FusionNote note_of(plan::Step& step, const StorageTable& storages) {
  FusionNote note;
  note.place = step.op();
  for (const plan::Step& inner : step.fused().steps())
    ++(inner.has_reduce() ? note.reductions : note.elementwise);
  note.bytes_saved = saved_bytes(step, storages);
  return note;
}

void fuse_blocks(plan::Sequence& sequence, const FuseRowsOptions& options) {
  SequenceFuser(sequence, options).run();
  for (plan::Step& step : *sequence.mutable_steps())
    for (plan::Sequence* inner : sequences_of(step)) fuse_blocks(*inner, options);
}

}  // namespace

std::string to_string(const FusionNote& note) {
  if (note.members > 0)
    return fmt::format("{}: {} alike kernels in one launch", note.place, note.members);
  if (note.is_epilogue)
    return fmt::format("{}: the epilogue of a product, saves {}", note.place,
                       human_bytes(static_cast<double>(note.bytes_saved)));
  return fmt::format("{}: {} elementwise kernel{} and {} reduction{} in one, saves {}", note.place,
                     note.elementwise, note.elementwise == 1 ? "" : "s", note.reductions,
                     note.reductions == 1 ? "" : "s",
                     human_bytes(static_cast<double>(note.bytes_saved)));
}

std::vector<FusionNote> fuse_rows(plan::Sequence& body, StorageTable& storages,
                                  const FuseRowsOptions& options) {
  fuse_blocks(body, options);
  if (options.least_recompute_gain > 0) recompute(body, storages, options.least_recompute_gain);
  const StepTree tree(body);
  const Locals locals(tree, storages);
  std::vector<FusionNote> notes;
  for (int s = 0; s < tree.num_steps(); ++s)
    if (tree[s].step->has_fused()) notes.push_back(note_of(*tree[s].step, storages));
  return notes;
}

}  // namespace spmd::codegen
