#include "collectives/planning/exchange.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "support/error.h"

namespace spmd {
namespace {

size_t at(int64_t index) { return static_cast<size_t>(index); }

// Consecutive rows that one rank holds and one rank needs.
struct Piece {
  int64_t target, sender;
  int tensor;
  int64_t from;  // row of what the sender holds
  int64_t at;    // row of the target's window
  int64_t rows;
};

// Pieces that one buffer holds.
struct Group {
  int tensor;
  std::vector<Piece> pieces;
  std::vector<bool> sends, receives;  // by rank
};

class RowPlanner {
 public:
  RowPlanner(const RowExchange& exchange, int64_t max_permutes)
      : exchange_(exchange), max_permutes_(max_permutes) {}

  std::optional<ExchangePlan> run() {
    for (int64_t target = 0; target < exchange_.ranks; ++target) {
      if (!cut(target)) return std::nullopt;
    }
    if (!group()) return std::nullopt;
    for (auto& [segment, part] : fills_) plan_.parts.push_back(std::move(part));
    for (const auto& [segment, pieces] : own_) {
      plan_.parts.push_back(part_of(ExchangePart::Kind::kOwn, pieces));
    }
    for (const Group& group : groups_) {
      ExchangePart part = part_of(ExchangePart::Kind::kReceived, group.pieces);
      part.pairs.reserve(group.pieces.size());
      for (const Piece& piece : group.pieces) part.pairs.emplace_back(piece.sender, piece.target);
      if (!std::is_sorted(part.pairs.begin(), part.pairs.end())) {
        std::sort(part.pairs.begin(), part.pairs.end());
      }
      plan_.parts.push_back(std::move(part));
    }
    return std::move(plan_);
  }

 private:
  ExchangePart empty_part(ExchangePart::Kind kind, int source) const {
    ExchangePart part{kind, source};
    part.from.assign(at(exchange_.ranks), -1);
    part.at.assign(at(exchange_.ranks), 0);
    part.begin = part.end = part.at;
    return part;
  }

  // Cuts the window of a rank at the ends of segments and of what ranks hold.
  bool cut(int64_t target) {
    const int64_t start = exchange_.start[at(target)];
    const int64_t stop = start + std::min(exchange_.window, exchange_.count[at(target)]);
    int64_t offset = 0, received = 0;
    for (size_t s = 0; s < exchange_.line.size(); ++s) {
      const LineSegment& segment = exchange_.line[s];
      const int64_t begin = std::max(start, offset);
      const int64_t end = std::min(stop, offset + segment.rows);
      const int64_t row = segment.first + begin - offset;
      offset += segment.rows;
      if (begin >= end) continue;
      if (segment.source < 0) {
        const auto [fill, added] = fills_.try_emplace(s);
        if (added) fill->second = empty_part(ExchangePart::Kind::kFill, ~segment.source);
        fill->second.begin[at(target)] = begin - start;
        fill->second.end[at(target)] = end - start;
        continue;
      }
      received += cut_rows(s, target, row, begin - start, end - begin);
      if (received > max_permutes_) return false;
    }
    return true;
  }

  // Rows of one segment. Returns how many pieces come from other ranks.
  int64_t cut_rows(size_t segment, int64_t target, int64_t row, int64_t place, int64_t rows) {
    const int tensor = exchange_.line[segment].source;
    const LineTensor& held = exchange_.tensors[static_cast<size_t>(tensor)];
    if (held.whole) {
      own_[segment].push_back({target, target, tensor, row, place, rows});
      return 0;
    }
    int64_t received = 0;
    while (rows > 0) {
      const int64_t sender = row / held.held;
      SPMD_CHECK(sender < exchange_.ranks, "row {} of {} per rank", row, held.held);
      const int64_t take = std::min(rows, (sender + 1) * held.held - row);
      const Piece piece{target, sender, tensor, row - sender * held.held, place, take};
      if (sender == target) {
        own_[segment].push_back(piece);
      } else {
        moving_[{-take, tensor, sender - target}].push_back(piece);
        ++received;
      }
      row += take;
      place += take;
      rows -= take;
    }
    return received;
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
    auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) {
      return g.tensor == piece.tensor && !g.sends[at(piece.sender)] &&
             !g.receives[at(piece.target)];
    });
    if (group == groups_.end()) {
      if (static_cast<int64_t>(groups_.size()) == max_permutes_) return false;
      const std::vector<bool> none(at(exchange_.ranks), false);
      group = groups_.insert(groups_.end(), {piece.tensor, {}, none, none});
    }
    group->pieces.push_back(piece);
    group->sends[at(piece.sender)] = group->receives[at(piece.target)] = true;
    return true;
  }

  // Where all pieces are cut from the same rows of their windows, as halos are, the buffer holds
  // the rows of all of them, and every rank treats it alike.
  ExchangePart part_of(ExchangePart::Kind kind, const std::vector<Piece>& pieces) const {
    ExchangePart part = empty_part(kind, pieces[0].tensor);
    int64_t first = pieces[0].from, last = 0;
    bool aligned = true;
    for (const Piece& piece : pieces) {
      part.rows = std::max(part.rows, piece.rows);
      first = std::min(first, piece.from);
      last = std::max(last, piece.from + piece.rows);
      aligned = aligned && piece.at - piece.from == pieces[0].at - pieces[0].from;
    }
    aligned = aligned && (kind == ExchangePart::Kind::kOwn || last - first == part.rows);
    if (aligned) part.rows = last - first;
    const int64_t held = exchange_.tensors[static_cast<size_t>(part.source)].held;
    for (const Piece& piece : pieces) {
      const int64_t from = aligned ? first : std::min(piece.from, held - part.rows);
      part.from[at(piece.sender)] = from;
      part.at[at(piece.target)] = piece.at - (piece.from - from);
      part.begin[at(piece.target)] = piece.at;
      part.end[at(piece.target)] = piece.at + piece.rows;
    }
    return part;
  }

  const RowExchange& exchange_;
  const int64_t max_permutes_;
  std::map<size_t, ExchangePart> fills_;      // by segment
  std::map<size_t, std::vector<Piece>> own_;  // by segment
  std::map<std::tuple<int64_t, int, int64_t>, std::vector<Piece>>
      moving_;  // by length, longest first, tensor, and distance; then by target
  std::vector<Group> groups_;
  ExchangePlan plan_;
};

}  // namespace

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
