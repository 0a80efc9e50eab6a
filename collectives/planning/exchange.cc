#include "collectives/planning/exchange.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "support/error.h"

namespace spmd {
namespace {

// Rows that `count` ranks get alike: target + i has them from sender + i * step, for 0 <= i <
// count.
struct Piece {
  int64_t target, count;
  int64_t sender, step;
  int tensor;
  int64_t from, from_slope;  // row of what the sender holds: from + i * from_slope
  int64_t at;                // row of the target's window
  int64_t rows;

  int64_t last_sender() const { return sender + (count - 1) * step; }
  int64_t last_from() const { return from + (count - 1) * from_slope; }
  // The part of it for targets [target + begin, target + end).
  Piece part(int64_t begin, int64_t end) const {
    Piece result = *this;
    result.target += begin;
    result.sender += begin * step;
    result.from += begin * from_slope;
    result.count = end - begin;
    return result;
  }
};

// Ranks as disjoint intervals.
class RankSet {
 public:
  // Between a and b, in either order.
  bool meets(int64_t a, int64_t b) const {
    const auto behind = end_of_.upper_bound(std::max(a, b));
    return behind != end_of_.begin() && std::prev(behind)->second > std::min(a, b);
  }
  void add(int64_t a, int64_t b) { end_of_[std::min(a, b)] = std::max(a, b) + 1; }

 private:
  std::map<int64_t, int64_t> end_of_;  // by first rank
};

// Pieces that one buffer holds.
struct Group {
  int tensor;
  std::vector<Piece> pieces;
  RankSet senders, targets;
};

class RowPlanner {
 public:
  RowPlanner(const RowExchange& exchange, int64_t max_permutes)
      : exchange_(exchange), max_permutes_(max_permutes) {}

  std::optional<ExchangePlan> run() {
    for (int64_t target = 0; target < exchange_.ranks;) {
      const std::optional<int64_t> served = cut(target);
      if (!served) return std::nullopt;
      target += *served;
    }
    if (!group()) return std::nullopt;
    for (const auto& [segment, fills] : fills_) plan_.parts.push_back(fill_of(segment, fills));
    for (const auto& [segment, pieces] : own_) {
      plan_.parts.push_back(part_of(ExchangePart::Kind::kOwn, pieces));
    }
    for (const Group& group : groups_) {
      plan_.parts.push_back(part_of(ExchangePart::Kind::kReceived, group.pieces));
      plan_.parts.back().pairs = pairs_of(group.pieces);
    }
    return std::move(plan_);
  }

 private:
  // The window of a rank: rows [start, stop) of the line. Ranks target + i, for i < alike, have it
  // i * slope rows further on.
  struct Window {
    int64_t target, start, stop, slope, alike;
  };

  Window window_of(int64_t target) const {
    const RankFunction::Run& start = *exchange_.start.run_at(target);
    const RankFunction::Run& count = *exchange_.count.run_at(target);
    const int64_t rows = std::min(exchange_.window, count.at(target));
    const int64_t first = start.at(target);
    int64_t alike = std::min(start.end(), count.end()) - target;
    if (count.slope != 0) alike = 1;
    return {target, first, first + rows, start.slope, alike};
  }

  // Cuts the window of a rank, and those of the ranks behind it that are cut alike, at the ends of
  // segments and of what ranks hold. Returns how many ranks these are; nullopt when a rank would
  // receive too many pieces.
  std::optional<int64_t> cut(int64_t target) {
    Window window = window_of(target);
    window.alike = alike(window);
    int64_t offset = 0, received = 0;
    for (size_t s = 0; s < exchange_.line.size(); ++s) {
      const LineSegment& segment = exchange_.line[s];
      const int64_t begin = std::max(window.start, offset);
      const int64_t end = std::min(window.stop, offset + segment.rows);
      const int64_t row = segment.first + begin - offset;
      offset += segment.rows;
      if (begin >= end) continue;
      if (segment.source < 0) {
        fills_[s].push_back({target, window.alike, begin - window.start, end - window.start});
        continue;
      }
      received += cut_rows(s, window, row, begin - window.start, end - begin);
      if (received > max_permutes_) return std::nullopt;
    }
    return window.alike;
  }

  // The ranks from the window's on whose windows are in the same segment and cut at the same rows.
  int64_t alike(const Window& window) const {
    if (window.alike == 1 || window.start >= window.stop) return window.alike;
    int64_t offset = 0;
    for (const LineSegment& segment : exchange_.line) {
      const int64_t end = offset + segment.rows;
      if (window.start >= offset && window.stop <= end) {
        if (!moves_by_blocks(segment, window.slope)) return 1;
        if (window.slope == 0) return window.alike;
        const int64_t room = window.slope > 0 ? end - window.stop : window.start - offset;
        return std::min(window.alike, room / std::abs(window.slope) + 1);
      }
      offset = end;
    }
    return 1;
  }

  // Whether windows `slope` rows apart meet the rows of a segment at the same places of blocks.
  bool moves_by_blocks(const LineSegment& segment, int64_t slope) const {
    if (segment.source < 0) return true;
    const LineTensor& tensor = exchange_.tensors[static_cast<size_t>(segment.source)];
    return tensor.whole || (slope != 0 && slope % tensor.held == 0);
  }

  // Rows of one segment. Returns how many pieces come from other ranks.
  int64_t cut_rows(size_t segment, const Window& window, int64_t row, int64_t place, int64_t rows) {
    const int tensor = exchange_.line[segment].source;
    const LineTensor& held = exchange_.tensors[static_cast<size_t>(tensor)];
    const int64_t target = window.target, alike = window.alike;
    if (held.whole) {
      own_[segment].push_back(
          {target, alike, target, 1, tensor, row, alike > 1 ? window.slope : 0, place, rows});
      return 0;
    }
    int64_t received = 0;
    while (rows > 0) {
      const int64_t sender = row / held.held;
      SPMD_CHECK(sender < exchange_.ranks, "row {} of {} per rank", row, held.held);
      const int64_t take = std::min(rows, (sender + 1) * held.held - row);
      const int64_t step = alike > 1 ? window.slope / held.held : 1;
      const Piece piece{target, alike, sender, step, tensor, row - sender * held.held,
                        0,      place, take};
      if (add(segment, piece)) ++received;
      row += take;
      place += take;
      rows -= take;
    }
    return received;
  }

  // Returns whether some target has another sender.
  bool add(size_t segment, const Piece& piece) {
    // The targets that have the rows themselves: all, or the one where both sides meet.
    int64_t own = 0, own_end = 0;
    const int64_t distance = piece.sender - piece.target;
    if (piece.step == 1) {
      own_end = distance == 0 ? piece.count : 0;
    } else if (distance % (1 - piece.step) == 0) {
      const int64_t meeting = distance / (1 - piece.step);
      if (meeting >= 0 && meeting < piece.count) {
        own = meeting;
        own_end = meeting + 1;
      }
    }
    if (own < own_end) own_[segment].push_back(piece.part(own, own_end));
    for (const auto& [begin, end] : {std::pair(int64_t{0}, own), std::pair(own_end, piece.count)}) {
      if (begin < end) move(piece.part(begin, end));
    }
    return own_end - own < piece.count;
  }

  void move(const Piece& piece) {
    moving_[{-piece.rows, piece.tensor, piece.sender - piece.target}].push_back(piece);
  }

  // First fit, long pieces first, so that a permute carries pieces of like length.
  bool group() {
    for (const auto& [like, pieces] : moving_) {
      for (const Piece& piece : pieces) {
        if (!add_to_group(piece)) return false;
      }
    }
    return true;
  }

  bool add_to_group(const Piece& piece) {
    const int64_t last_target = piece.target + piece.count - 1;
    auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) {
      return g.tensor == piece.tensor && !g.senders.meets(piece.sender, piece.last_sender()) &&
             !g.targets.meets(piece.target, last_target);
    });
    if (group == groups_.end()) {
      if (static_cast<int64_t>(groups_.size()) == max_permutes_) return false;
      group = groups_.insert(groups_.end(), Group{piece.tensor, {}, {}, {}});
    }
    group->pieces.push_back(piece);
    group->senders.add(piece.sender, piece.last_sender());
    group->targets.add(piece.target, last_target);
    return true;
  }

  // Rows [begin, end) of the windows of ranks that get a filler there.
  struct Fill {
    int64_t target, count, begin, end;
  };

  ExchangePart fill_of(size_t segment, const std::vector<Fill>& fills) const {
    ExchangePart part{ExchangePart::Kind::kFill, ~exchange_.line[segment].source};
    std::vector<RankFunction::Run> begin, end;
    for (const Fill& fill : fills) {
      begin.push_back({fill.target, fill.count, fill.begin, 0});
      end.push_back({fill.target, fill.count, fill.end, 0});
    }
    part.begin = RankFunction(std::move(begin));
    part.end = RankFunction(std::move(end));
    return part;
  }

  // Where all pieces are cut from the same rows of their windows, as halos are, the buffer holds
  // the rows of all of them, and every rank treats it alike.
  ExchangePart part_of(ExchangePart::Kind kind, const std::vector<Piece>& pieces) const {
    ExchangePart part{kind, pieces[0].tensor};
    int64_t first = pieces[0].from, last = 0;
    bool aligned = true;
    for (const Piece& piece : pieces) {
      part.rows = std::max(part.rows, piece.rows);
      first = std::min({first, piece.from, piece.last_from()});
      last = std::max({last, piece.from + piece.rows, piece.last_from() + piece.rows});
      aligned = aligned && piece.from_slope == 0 &&
                piece.at - piece.from == pieces[0].at - pieces[0].from;
    }
    aligned = aligned && (kind == ExchangePart::Kind::kOwn || last - first == part.rows);
    if (aligned) part.rows = last - first;
    PartRuns runs;
    for (const Piece& piece : pieces) {
      if (aligned) {
        runs.add(piece, first, 0);
      } else {
        add_unaligned(runs, piece, part.rows);
      }
    }
    runs.finish(part);
    return part;
  }

  struct PartRuns {
    std::vector<RankFunction::Run> from, at, begin, end;

    // The buffers of the piece's senders start with row `first`, `slope` more on each next one.
    void add(const Piece& piece, int64_t first, int64_t slope) {
      RankFunction::Run senders{piece.sender, piece.count, first, slope};
      if (piece.step == -1) senders = {piece.last_sender(), piece.count, first, slope};
      if (std::abs(piece.step) == 1) {
        SPMD_CHECK(slope == 0 || piece.step == 1);
        from.push_back(senders);
      } else {
        SPMD_CHECK(slope == 0);
        for (int64_t i = 0; i < piece.count; ++i) {
          from.push_back({piece.sender + i * piece.step, 1, first, 0});
        }
      }
      const auto on_targets = [&](int64_t value, int64_t value_slope) {
        return RankFunction::Run{piece.target, piece.count, value, value_slope};
      };
      at.push_back(on_targets(piece.at - (piece.from - first), slope - piece.from_slope));
      begin.push_back(on_targets(piece.at, 0));
      end.push_back(on_targets(piece.at + piece.rows, 0));
    }

    void finish(ExchangePart& part) {
      part.from = RankFunction(std::move(from));
      part.at = RankFunction(std::move(at));
      part.begin = RankFunction(std::move(begin));
      part.end = RankFunction(std::move(end));
    }
  };

  // The buffer may be longer than the piece, and must end within what the sender holds.
  void add_unaligned(PartRuns& runs, const Piece& piece, int64_t buffer_rows) const {
    const int64_t latest = exchange_.tensors[static_cast<size_t>(piece.tensor)].held - buffer_rows;
    if (std::max(piece.from, piece.last_from()) <= latest) {
      runs.add(piece, piece.from, piece.from_slope);
    } else if (piece.from_slope == 0) {
      runs.add(piece, latest, 0);
    } else {
      for (int64_t i = 0; i < piece.count; ++i) {
        const Piece one = piece.part(i, i + 1);
        runs.add(one, std::min(one.from, latest), 0);
      }
    }
  }

  // By sender.
  static RankPairs pairs_of(const std::vector<Piece>& pieces) {
    std::vector<RankPairs::Run> runs;
    for (const Piece& piece : pieces) {
      RankPairs::Run run{piece.sender, piece.target, piece.count, piece.step, 1};
      if (piece.step < 0) {
        const auto [source, target] = run.last();
        run = {source, target, piece.count, -piece.step, -1};
      }
      runs.push_back(run);
    }
    std::sort(runs.begin(), runs.end(),
              [](const auto& a, const auto& b) { return a.source < b.source; });
    RankPairs pairs;
    for (const RankPairs::Run& run : runs) {
      if (run.count == 1) {
        pairs.emplace_back(run.source, run.target);
      } else {
        pairs.append(run);
      }
    }
    return pairs;
  }

  const RowExchange& exchange_;
  const int64_t max_permutes_;
  std::map<size_t, std::vector<Fill>> fills_;  // by segment
  std::map<size_t, std::vector<Piece>> own_;   // by segment
  std::map<std::tuple<int64_t, int, int64_t>, std::vector<Piece>>
      moving_;  // by length, longest first, tensor, and distance; then by target
  std::vector<Group> groups_;
  ExchangePlan plan_;
};

}  // namespace

// Begin and end are level on every run: only ranks that are served alike share one.
bool ExchangePart::meets(int64_t first_rank, int64_t ranks, int64_t first_row,
                         int64_t end_row) const {
  for (int64_t rank = first_rank; rank < first_rank + ranks;) {
    const RankFunction::Run* from = begin.run_at(rank);
    if (from == nullptr) {
      ++rank;
      continue;
    }
    const RankFunction::Run* to = end.run_at(rank);
    if (std::max(from->value, first_row) < std::min(to->value, end_row)) return true;
    rank = std::min(from->end(), to->end());
  }
  return false;
}

int64_t ExchangePlan::permutes() const {
  return std::count_if(parts.begin(), parts.end(), [](const ExchangePart& part) {
    return part.kind == ExchangePart::Kind::kReceived;
  });
}

int64_t ExchangePlan::rows_sent() const {
  int64_t rows = 0;
  for (const ExchangePart& part : parts) {
    if (part.kind == ExchangePart::Kind::kReceived) rows += part.rows;
  }
  return rows;
}

double ExchangePlan::seconds(int64_t row_bytes, const CostModel& cost) const {
  double seconds = 0;
  for (const ExchangePart& part : parts) {
    if (part.kind != ExchangePart::Kind::kReceived) continue;
    seconds += cost.collective_seconds(CollectiveKind::kPermute, part.rows * row_bytes, 2);
  }
  return seconds;
}

std::optional<ExchangePlan> plan_exchange(const RowExchange& exchange, int64_t max_permutes) {
  return RowPlanner(exchange, max_permutes).run();
}

}  // namespace spmd
