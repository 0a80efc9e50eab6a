// Row exchange: which rows of a sharded dimension ranks need from each other, and how they travel.
//
// What ranks need is said in terms of a *line*: a dimension put together from rows of tensors and
// of fillers, as slices, pads and concatenations put it together. Every rank gets a window of the
// line. Rows that a rank holds itself cost nothing, the others come in permutes.
#pragma once

#include <optional>
#include <vector>

#include "collectives/planning/cost_model.h"
#include "collectives/planning/rank_function.h"
#include "support/rank_pairs.h"

namespace spmd {

struct LineSegment {
  int source = 0;     // >= 0: a tensor; < 0: the filler ~source, one value in every row
  int64_t first = 0;  // row of the tensor
  int64_t rows = 0;
};

// How a tensor of a line is held: all `held` rows on every rank, or rows [r * held, (r+1) * held)
// on rank r.
struct LineTensor {
  int64_t held = 0;
  bool whole = false;
};

struct RowExchange {
  int64_t ranks = 1;
  std::vector<LineSegment> line;  // one after the other, from row 0 on
  std::vector<LineTensor> tensors;
  int64_t window = 1;  // rows that each rank gets
  RankFunction start;  // on all ranks: the row of the line that the window starts with
  RankFunction count;  // on all ranks: the leading rows of the window that matter; of these, rows
                       // outside the line do not
};

// One contribution to the windows: a buffer of rows that each rank fills from what it holds, and
// that lands in its window (kOwn) or in that of another rank (kReceived); or a filler.
struct ExchangePart {
  enum class Kind : uint8_t { kOwn, kReceived, kFill };
  Kind kind = Kind::kOwn;
  int source = 0;     // tensor or filler
  int64_t rows = 0;   // of the buffer
  RankFunction from;  // on senders: the first row of what they hold that they put there
  RankFunction at;    // on targets: the row of the window that the buffer starts on; may be < 0
  RankFunction begin, end;  // on targets: rows of the window that it decides
  RankPairs pairs;          // of the permute: (sender, target)

  // Whether it decides any of the rows [first_row, end_row) on any of the ranks.
  bool meets(int64_t first_rank, int64_t ranks, int64_t first_row, int64_t end_row) const;
};

struct ExchangePlan {
  std::vector<ExchangePart> parts;  // every row that matters is decided by exactly one

  int64_t permutes() const;
  int64_t rows_sent() const;  // per rank, over all permutes
  double seconds(int64_t row_bytes, const CostModel& cost) const;
};

// Few permutes of few rows: pieces of like length travel together, at most one to and from a rank.
// nullopt when that takes more than `max_permutes`. Linear in segments and in runs of ranks that
// are served alike: of an exchange between neighbours there are a few, however many ranks; where
// windows and blocks have sizes without a common measure, as many as ranks.
std::optional<ExchangePlan> plan_exchange(const RowExchange& exchange,
                                          int64_t max_permutes = INT64_MAX);

}  // namespace spmd
