#include "passes/partition/line.h"

#include <algorithm>

#include "passes/partition/arithmetic.h"
#include "passes/rewrite/match.h"

namespace spmd {
namespace {

// Ops that are looked through, one below the other.
constexpr int kMaxLineDepth = 8;

// Start of an update that changes rows of `dim` only, at a constant place.
std::optional<int64_t> constant_update(const Function& fn, const Op& op, int64_t dim) {
  const Dims& shape = fn.type(op.operands[0]).shape;
  const Dims& update = fn.type(op.operands[1]).shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d != at(dim) && shape[d] != update[d]) return std::nullopt;
  }
  const auto start = splat_of(fn, op.operands[2 + at(dim)]);
  if (!start) return std::nullopt;
  const int64_t last = shape[at(dim)] - update[at(dim)];
  // The largest unsigned indices read as negative numbers.
  const bool huge = is_unsigned_int(start->type().dtype) && start->as_int(0) < 0;
  return huge ? last : std::clamp<int64_t>(start->as_int(0), 0, last);
}

// Of a value all of whose elements are one scalar, wherever it is placed.
std::optional<Filler> filler_of(const Function& fn, ValueId value) {
  if (const Op* reshard = def_of(fn, value, OpCode::kReshard)) value = reshard->operands[0];
  if (const auto splat = splat_of(fn, value)) return Filler{ValueId::kNone, splat};
  const Op* broadcast = def_of(fn, value, OpCode::kBroadcastInDim);
  if (broadcast == nullptr || fn.type(broadcast->operands[0]).rank() != 0) return std::nullopt;
  return Filler{broadcast->operands[0], std::nullopt};
}

}  // namespace

void Line::add(ValueId tensor, int64_t first, int64_t rows) {
  if (rows <= 0) return;
  const auto found = std::find(tensors.begin(), tensors.end(), tensor);
  const int source = static_cast<int>(found - tensors.begin());
  if (found == tensors.end()) tensors.push_back(tensor);
  if (!segments.empty() && segments.back().source == source &&
      segments.back().first + segments.back().rows == first) {
    segments.back().rows += rows;
  } else {
    segments.push_back({source, first, rows});
  }
}

void Line::fill(const Filler& filler, int64_t rows) {
  if (rows <= 0) return;
  const auto found = std::find(fillers.begin(), fillers.end(), filler);
  const int source = ~static_cast<int>(found - fillers.begin());
  if (found == fillers.end()) fillers.push_back(filler);
  if (!segments.empty() && segments.back().source == source) {
    segments.back().rows += rows;
  } else {
    segments.push_back({source, 0, rows});
  }
}

int64_t Line::rows() const {
  int64_t rows = 0;
  for (const LineSegment& segment : segments) rows += segment.rows;
  return rows;
}

bool is_line_op(const Function& fn, const Op& op, int64_t dim) {
  const auto untouched = [&](auto&& is_untouched) {
    for (int64_t d = 0; d < fn.type(op.results[0]).rank(); ++d) {
      if (d != dim && !is_untouched(at(d))) return false;
    }
    return true;
  };
  switch (op.code) {
    case OpCode::kConcatenate:
      return op.as<ConcatenateAttrs>().dim == dim;
    case OpCode::kSlice: {
      const auto& slice = op.as<SliceAttrs>();
      return slice.stride[at(dim)] == 1 && untouched([&](size_t d) {
               return slice.start[d] == 0 && slice.stride[d] == 1 &&
                      slice.limit[d] == fn.type(op.operands[0]).shape[d];
             });
    }
    case OpCode::kPad: {
      const auto& pad = op.as<PadAttrs>();
      return pad.interior[at(dim)] == 0 && untouched([&](size_t d) {
               return pad.low[d] == 0 && pad.high[d] == 0 && pad.interior[d] == 0;
             });
    }
    case OpCode::kDynamicUpdateSlice:
      return constant_update(fn, op, dim).has_value();
    default:
      return false;
  }
}

bool LineReader::may_enter(const Op& op, int depth) const {
  if (depth >= kMaxLineDepth || !is_line_op(fn_, op, dim_)) return false;
  const size_t tensors = op.code == OpCode::kConcatenate          ? op.operands.size()
                         : op.code == OpCode::kDynamicUpdateSlice ? 2
                                                                  : 1;
  return std::all_of(op.operands.begin(), op.operands.begin() + static_cast<ptrdiff_t>(tensors),
                     [&](ValueId operand) { return through_(op.results[0], operand); });
}

void LineReader::read(Line& line, ValueId value, int64_t first, int64_t rows, int depth) const {
  if (rows <= 0) return;
  if (!through_) return line.add(value, first, rows);
  if (const auto filler = filler_of(fn_, value)) return line.fill(*filler, rows);
  const Op* op = fn_.def(value);
  if (op != nullptr && may_enter(*op, depth)) return read_op(line, *op, first, rows, depth + 1);
  line.add(value, first, rows);
}

void LineReader::read_op(Line& line, const Op& op, int64_t first, int64_t rows, int depth) const {
  const int64_t last = first + rows;
  // Rows [begin, end) of the result are rows from `row` on of `value`.
  const auto part = [&](ValueId value, int64_t begin, int64_t end, int64_t row) {
    const int64_t from = std::max(first, begin), to = std::min(last, end);
    read(line, value, row + from - begin, to - from, depth);
  };
  const auto size = [&](ValueId value) { return fn_.type(value).dim(dim_); };
  const int64_t total = size(op.results[0]);
  switch (op.code) {
    case OpCode::kSlice:
      return part(op.operands[0], 0, total, op.as<SliceAttrs>().start[at(dim_)]);
    case OpCode::kPad: {
      const int64_t low = op.as<PadAttrs>().low[at(dim_)];
      const int64_t begin = std::clamp<int64_t>(low, 0, total);
      const int64_t end = std::clamp(low + size(op.operands[0]), begin, total);
      const auto splat = splat_of(fn_, op.operands[1]);
      const Filler filler = splat ? Filler{ValueId::kNone, splat} : Filler{op.operands[1], {}};
      line.fill(filler, std::min(last, begin) - first);
      part(op.operands[0], begin, end, std::max<int64_t>(0, -low));
      line.fill(filler, last - std::max(first, end));
      return;
    }
    case OpCode::kConcatenate: {
      int64_t begin = 0;
      for (ValueId operand : op.operands) {
        part(operand, begin, begin + size(operand), 0);
        begin += size(operand);
      }
      return;
    }
    default: {
      const int64_t begin = *constant_update(fn_, op, dim_);
      const int64_t end = begin + size(op.operands[1]);
      part(op.operands[0], 0, begin, 0);
      part(op.operands[1], begin, end, 0);
      part(op.operands[0], end, total, end);
    }
  }
}

}  // namespace spmd
