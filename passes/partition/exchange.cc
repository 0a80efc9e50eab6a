#include "passes/partition/exchange.h"

#include <algorithm>

#include "passes/partition/rank_scalar.h"
#include "passes/rewrite/match.h"

namespace spmd {
namespace {

class ExchangeEmitter {
 public:
  ExchangeEmitter(Builder& builder, const ExchangePlan& plan, const ExchangeSources& sources,
                  TensorType type, int64_t window, int64_t dim, const AtomList& axes,
                  const AtomTable& atoms)
      : b_(builder),
        plan_(plan),
        sources_(sources),
        type_(std::move(type)),
        window_(window),
        dim_(dim),
        axes_(axes),
        atoms_(atoms) {
    type_.shape[static_cast<size_t>(dim)] = window;
  }

  ValueId run() {
    choose_slots();
    ValueId result = joined_slots();
    for (size_t p = 0; p < plan_.parts.size(); ++p) {
      if (!has_slot(p) && !is_there_already(plan_.parts[p])) result = laid_over(result, p);
    }
    return result;
  }

 private:
  using Kind = ExchangePart::Kind;

  // Rows of the window that the buffer of one part fills on every rank.
  struct Slot {
    size_t part;
    int64_t begin, end;
  };

  bool has_slot(size_t part) const {
    return std::any_of(slots_.begin(), slots_.end(),
                       [&](const Slot& slot) { return slot.part == part; });
  }

  // Parts that land at the same rows of every window and do not overlap are simply joined.
  void choose_slots() {
    for (Kind kind : {Kind::kOwn, Kind::kReceived}) {
      for (size_t p = 0; p < plan_.parts.size(); ++p) {
        const ExchangePart& part = plan_.parts[p];
        if (part.kind != kind) continue;
        const auto at = part.at.uniform();
        if (!at) continue;
        const Slot slot{p, std::max<int64_t>(0, *at), std::min(window_, *at + part.rows)};
        const bool overlaps = std::any_of(slots_.begin(), slots_.end(), [&](const Slot& other) {
          return slot.begin < other.end && other.begin < slot.end;
        });
        if (!overlaps) slots_.push_back(slot);
      }
    }
    std::sort(slots_.begin(), slots_.end(),
              [](const Slot& a, const Slot& b) { return a.begin < b.begin; });
  }

  // Rows between slots are of the filler, if there is just one, else zero.
  ValueId gap(int64_t rows) {
    TensorType type = type_;
    type.shape[static_cast<size_t>(dim_)] = rows;
    if (sources_.fillers.size() == 1) return b_.broadcast(sources_.fillers[0], type.shape, {});
    return b_.splat(type, 0);
  }

  ValueId joined_slots() {
    std::vector<ValueId> rows;
    int64_t next = 0;
    for (const Slot& slot : slots_) {
      if (slot.begin > next) rows.push_back(gap(slot.begin - next));
      const ExchangePart& part = plan_.parts[slot.part];
      const int64_t at = *part.at.uniform();
      rows.push_back(slice(buffer(part), slot.begin - at, slot.end - at));
      next = slot.end;
    }
    if (next < window_) rows.push_back(gap(window_ - next));
    return rows.size() == 1 ? rows[0]
                            : b_.value(OpCode::kConcatenate, rows, ConcatenateAttrs{dim_});
  }

  // ---- buffers

  ValueId slice(ValueId value, int64_t begin, int64_t end) {
    Dims limit = b_.function().type(value).shape;
    if (begin == 0 && end == limit[static_cast<size_t>(dim_)]) return value;
    Dims start(limit.size(), 0);
    start[static_cast<size_t>(dim_)] = begin;
    limit[static_cast<size_t>(dim_)] = end;
    return b_.slice(value, std::move(start), std::move(limit));
  }

  ValueId dynamic_slice(ValueId value, ValueId begin, int64_t rows) {
    Dims sizes = b_.function().type(value).shape;
    std::vector<ValueId> operands = {value};
    for (size_t d = 0; d < sizes.size(); ++d) {
      operands.push_back(d == static_cast<size_t>(dim_) ? begin : b_.scalar(DType::kS32, 0));
    }
    sizes[static_cast<size_t>(dim_)] = rows;
    return b_.value(OpCode::kDynamicSlice, std::move(operands), DynamicSliceAttrs{sizes});
  }

  ValueId buffer(const ExchangePart& part) {
    const ValueId tensor = sources_.tensors[static_cast<size_t>(part.source)];
    const auto from = part.from.uniform();
    const ValueId rows =
        from ? slice(tensor, *from, *from + part.rows)
             : dynamic_slice(tensor, rank_scalar(b_, axes_, atoms_, part.from), part.rows);
    if (part.kind == Kind::kOwn) return rows;
    return b_.value(OpCode::kCollectivePermute, {rows},
                    CollectivePermuteAttrs{atoms_.to_axes(axes_), part.pairs});
  }

  // ---- what is not the same on all ranks

  // The filler is already where a rank that receives nothing has zeros, or between slots.
  bool is_there_already(const ExchangePart& part) const {
    if (part.kind != Kind::kFill || sources_.fillers.size() != 1) return false;
    const bool zero = is_splat(b_.function(), sources_.fillers[0], 0);
    for (const RankFunction::Run& run : part.begin.runs()) {
      for (const Slot& slot : slots_) {
        if (!part.meets(run.first, run.count, slot.begin, slot.end)) continue;
        const ExchangePart& there = plan_.parts[slot.part];
        const bool received = there.begin.any_in(run.first, run.count);
        if (!zero || there.kind != Kind::kReceived || received) return false;
      }
    }
    return true;
  }

  // The buffer at its place in the window, anything elsewhere.
  ValueId placed(const ExchangePart& part) {
    if (part.kind == Kind::kFill) {
      return b_.broadcast(sources_.fillers[static_cast<size_t>(part.source)], type_.shape, {});
    }
    const int64_t least = part.at.min(), most = part.at.max();
    const int64_t high = window_ - part.rows - least;
    Dims low_pad(type_.shape.size(), 0), high_pad = low_pad;
    low_pad[static_cast<size_t>(dim_)] = most;
    high_pad[static_cast<size_t>(dim_)] = high;
    if (least != most) {
      low_pad[static_cast<size_t>(dim_)] = std::max<int64_t>(0, most);
      high_pad[static_cast<size_t>(dim_)] = std::max<int64_t>(0, high);
    }
    const ValueId padded = b_.pad(buffer(part), b_.scalar(type_.dtype, 0), low_pad, high_pad);
    if (least == most) return padded;
    const RankFunction begin = part.at.mapped(-1, low_pad[static_cast<size_t>(dim_)]);
    return dynamic_slice(padded, rank_scalar(b_, axes_, atoms_, begin), window_);
  }

  // Rows of the window that the part decides on this rank.
  ValueId mask(const ExchangePart& part) {
    const TensorType line{DType::kS32, {window_}};
    const ValueId row = b_.iota(line, 0);
    const auto compared = [&](CompareDirection direction, const RankFunction& bounds) {
      const ValueId bound = rank_scalar(b_, axes_, atoms_, bounds.filled(atoms_.extent(axes_), 0));
      return b_.compare(direction, row, b_.broadcast(bound, line.shape, {}));
    };
    const ValueId before_end = compared(CompareDirection::kLt, part.end);
    if (part.begin.uniform() == 0) return before_end;
    return b_.binary(OpCode::kAnd, compared(CompareDirection::kGe, part.begin), before_end);
  }

  ValueId laid_over(ValueId below, size_t p) {
    const ExchangePart& part = plan_.parts[p];
    const ValueId predicate = b_.broadcast(mask(part), type_.shape, {dim_});
    return b_.select(predicate, placed(part), below);
  }

  Builder& b_;
  const ExchangePlan& plan_;
  const ExchangeSources& sources_;
  TensorType type_;  // of the window
  const int64_t window_, dim_;
  const AtomList& axes_;
  const AtomTable& atoms_;
  std::vector<Slot> slots_;
};

}  // namespace

ValueId emit_exchange(Builder& builder, const ExchangePlan& plan, const ExchangeSources& sources,
                      TensorType type, int64_t window, int64_t dim, const AtomList& axes,
                      const AtomTable& atoms) {
  return ExchangeEmitter(builder, plan, sources, std::move(type), window, dim, axes, atoms).run();
}

}  // namespace spmd
