// Lines: what the rows of a value along one dimension are made of, seen through slices, pads and
// concatenations.
#pragma once

#include <functional>

#include "collectives/planning/exchange.h"
#include "ir/module.h"

namespace spmd {

// One scalar that fills rows: a value of the function, or a constant.
struct Filler {
  ValueId value = ValueId::kNone;
  std::optional<Literal> literal;
  bool operator==(const Filler&) const = default;
};

struct Line {
  std::vector<LineSegment> segments;
  std::vector<ValueId> tensors;
  std::vector<Filler> fillers;

  void add(ValueId tensor, int64_t first, int64_t rows);
  void fill(const Filler& filler, int64_t rows);
  int64_t rows() const;
};

// Whether an op changes nothing but the rows of its (only) result along `dim`: a concatenation, a
// slice without strides, a pad without interior, an update at a constant place.
bool is_line_op(const Function& fn, const Op& op, int64_t dim);

class LineReader {
 public:
  // `through(result, operand)`: whether rows of the operand of a line op may stand for those of its
  // result; asked of every op but the outermost. Without it values are taken as they are, also
  // those that are one scalar.
  LineReader(const Function& fn, int64_t dim, std::function<bool(ValueId, ValueId)> through)
      : fn_(fn), dim_(dim), through_(std::move(through)) {}

  // Appends rows [first, first + rows) of `value`.
  void read(Line& line, ValueId value, int64_t first, int64_t rows) const {
    read(line, value, first, rows, 0);
  }
  // The same rows of what a line op makes, whose operands are taken as they come.
  void read_op(Line& line, const Op& op, int64_t first, int64_t rows, int depth = 0) const;

 private:
  void read(Line& line, ValueId value, int64_t first, int64_t rows, int depth) const;
  bool may_enter(const Op& op, int depth) const;

  const Function& fn_;
  const int64_t dim_;
  const std::function<bool(ValueId, ValueId)> through_;
};

}  // namespace spmd
