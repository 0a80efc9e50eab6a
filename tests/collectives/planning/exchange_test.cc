// Row exchanges: what travels, by hand; and random ones, carried out on numbered rows.
#include "collectives/planning/exchange.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace spmd {
namespace {

using PartKind = ExchangePart::Kind;
using Pairs = RankPairs;

// Of an `f` without bends.
template <typename F>
RankFunction linear(int64_t ranks, F&& f) {
  return RankFunction::of(ranks, std::vector<int64_t>{}, f);
}

RankFunction values(const std::vector<int64_t>& each) {
  return RankFunction::of(static_cast<int64_t>(each.size()), std::nullopt,
                          [&](int64_t rank) { return each[static_cast<size_t>(rank)]; });
}

// Every rank gets `window` rows from `first`(rank) on of the line.
template <typename First>
RowExchange exchange(int64_t ranks, std::vector<LineSegment> line, std::vector<LineTensor> tensors,
                     int64_t window, First&& first) {
  return {ranks,  std::move(line),      std::move(tensors),
          window, linear(ranks, first), RankFunction::constant(ranks, window)};
}

std::vector<Pairs> permutes_of(const ExchangePlan& plan) {
  std::vector<Pairs> permutes;
  for (const ExchangePart& part : plan.parts) {
    if (part.kind == PartKind::kReceived) permutes.push_back(part.pairs);
  }
  return permutes;
}

TEST(PlanExchange, ARollByOneSendsOneRow) {
  // 16 rows over 4, the last one first.
  const auto plan = plan_exchange(
      exchange(4, {{0, 15, 1}, {0, 0, 15}}, {{4, false}}, 4, [](int64_t r) { return 4 * r; }));
  EXPECT_EQ(plan->rows_sent(), 1);
  EXPECT_EQ(permutes_of(*plan), (std::vector<Pairs>{{{0, 1}, {1, 2}, {2, 3}, {3, 0}}}));
}

TEST(PlanExchange, AHaloOfTwoLengthsIsTwoPermutes) {
  // Two rows from the left, one from the right.
  const auto plan = plan_exchange(
      exchange(4, {{0, 0, 16}}, {{4, false}}, 7, [](int64_t r) { return 4 * r - 2; }));
  EXPECT_EQ(plan->rows_sent(), 3);
  EXPECT_EQ(permutes_of(*plan),
            (std::vector<Pairs>{{{0, 1}, {1, 2}, {2, 3}}, {{1, 0}, {2, 1}, {3, 2}}}));
}

TEST(PlanExchange, AHaloWiderThanABlockTakesSeveralHops) {
  const auto plan =
      plan_exchange(exchange(4, {{0, 0, 8}}, {{2, false}}, 5, [](int64_t r) { return 2 * r - 3; }));
  EXPECT_EQ(permutes_of(*plan), (std::vector<Pairs>{{{0, 1}, {1, 2}, {2, 3}}, {{0, 2}, {1, 3}}}));
  EXPECT_EQ(plan->rows_sent(), 3);
  EXPECT_FALSE(
      plan_exchange(exchange(4, {{0, 0, 8}}, {{2, false}}, 5, [](int64_t r) { return 2 * r - 3; }),
                    /*max_permutes=*/1));
}

TEST(PlanExchange, BlocksInReverseAreOnePermute) {
  const auto plan = plan_exchange(
      exchange(4, {{0, 0, 16}}, {{4, false}}, 4, [](int64_t r) { return 12 - 4 * r; }));
  EXPECT_EQ(permutes_of(*plan), (std::vector<Pairs>{{{0, 3}, {1, 2}, {2, 1}, {3, 0}}}));
}

TEST(PlanExchange, HalfOfTheRowsOnAllRanks) {
  // Rows 0 to 7 of 16: blocks of 2 from blocks of 4. No rank sends or gets more than two pieces.
  const auto plan =
      plan_exchange(exchange(4, {{0, 0, 8}}, {{4, false}}, 2, [](int64_t r) { return 2 * r; }));
  EXPECT_EQ(plan->permutes(), 2);
  EXPECT_EQ(plan->rows_sent(), 4);
}

TEST(PlanExchange, WhatARankHoldsOrFillsIsNotSent) {
  const auto whole =
      plan_exchange(exchange(4, {{0, 3, 8}}, {{16, true}}, 2, [](int64_t r) { return 2 * r; }));
  EXPECT_EQ(whole->permutes(), 0);
  const auto filled = plan_exchange(
      exchange(2, {{-1, 0, 4}, {0, 0, 4}}, {{2, false}}, 4, [](int64_t r) { return 4 * r; }));
  // Rank 0 has fillers only, rank 1 its own block and that of rank 0.
  EXPECT_EQ(permutes_of(*filled), (std::vector<Pairs>{{{0, 1}}}));
  EXPECT_EQ(filled->rows_sent(), 2);
}

TEST(PlanExchange, RowsThatDoNotMatterAreNotSent) {
  RowExchange last = exchange(2, {{0, 0, 8}}, {{4, false}}, 4, [](int64_t r) { return 2 + 4 * r; });
  last.count = values({1, 2});
  EXPECT_EQ(plan_exchange(last)->permutes(), 0);
}

// The work is that of the runs of ranks that are served alike, not that of the ranks.
TEST(PlanExchange, ServesAnyNumberOfNeighboursInAFewRuns) {
  const int64_t ranks = int64_t{1} << 40;
  const auto halo = plan_exchange(exchange(ranks, {{~0, 0, 2}, {0, 0, 4 * ranks}}, {{4, false}}, 7,
                                           [](int64_t r) { return 4 * r; }));
  EXPECT_EQ(halo->rows_sent(), 3);
  ASSERT_EQ(halo->permutes(), 2);
  for (const ExchangePart& part : halo->parts) {
    EXPECT_LE(part.begin.runs().size(), 3U);
    EXPECT_LE(part.pairs.runs().size(), 3U);
  }
  const auto reversed = plan_exchange(exchange(ranks, {{0, 0, 4 * ranks}}, {{4, false}}, 4,
                                               [&](int64_t r) { return 4 * (ranks - 1 - r); }));
  EXPECT_EQ(reversed->parts[0].pairs.runs(),
            (std::vector{RankPairs::Run{0, ranks - 1, ranks, 1, -1}}));
}

// ---- random exchanges

class Exchanges {
 public:
  explicit Exchanges(uint32_t seed) : random_(seed) {}

  RowExchange next() {
    RowExchange e;
    e.ranks = pick(1, 9);
    for (int64_t t = pick(1, 3); t > 0; --t) {
      e.tensors.push_back({pick(1, 5), pick(0, 3) == 0});
    }
    for (int64_t s = pick(1, 5); s > 0; --s) {
      if (pick(0, 3) == 0) {
        e.line.push_back({~static_cast<int>(pick(0, 1)), 0, pick(1, 4)});
        continue;
      }
      const int tensor = static_cast<int>(pick(0, static_cast<int64_t>(e.tensors.size()) - 1));
      const int64_t rows = rows_of(e, tensor), first = pick(0, rows - 1);
      e.line.push_back({tensor, first, pick(1, rows - first)});
    }
    e.window = pick(1, 8);
    e.start = any(e.ranks, -4, 16);
    e.count = any(e.ranks, 0, e.window);
    if (pick(0, 1) == 0) return e;
    // As ops ask for: the same rows, some blocks further on each next rank.
    const int64_t slope = pick(-2, 2) * e.tensors[0].held;
    e.start = RankFunction::linear(e.ranks, pick(-4, 16), slope);
    if (pick(0, 1) == 0) e.count = RankFunction::constant(e.ranks, pick(0, e.window));
    return e;
  }

  static int64_t rows_of(const RowExchange& e, int tensor) {
    const LineTensor& t = e.tensors[static_cast<size_t>(tensor)];
    return t.whole ? t.held : t.held * e.ranks;
  }

 private:
  RankFunction any(int64_t ranks, int64_t low, int64_t high) {
    return RankFunction::of(ranks, std::nullopt, [&](int64_t) { return pick(low, high); });
  }

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  std::mt19937 random_;
};

// A row as a number: of a filler or of a tensor.
int64_t row_number(int source, int64_t row) {
  return 1000 * (source + 10) + (source < 0 ? 0 : row);
}

// What the plan puts into the windows; -1 where it decides nothing. Fails where it decides twice.
std::vector<std::vector<int64_t>> carried_out(const RowExchange& e, const ExchangePlan& plan) {
  std::vector<std::vector<int64_t>> windows(
      static_cast<size_t>(e.ranks), std::vector<int64_t>(static_cast<size_t>(e.window), -1));
  for (const ExchangePart& part : plan.parts) {
    std::vector<int64_t> sender(static_cast<size_t>(e.ranks), -1);
    std::set<int64_t> senders;
    for (const auto& [from, to] : part.pairs) {
      EXPECT_TRUE(senders.insert(from).second) << "rank " << from << " sends twice";
      EXPECT_EQ(sender[static_cast<size_t>(to)], -1) << "rank " << to << " receives twice";
      sender[static_cast<size_t>(to)] = from;
    }
    for (int64_t r = 0; r < e.ranks; ++r) {
      const auto rank = static_cast<size_t>(r);
      if (!part.begin.at(r)) continue;
      for (int64_t row = *part.begin.at(r); row < *part.end.at(r); ++row) {
        int64_t& there = windows[rank][static_cast<size_t>(row)];
        EXPECT_EQ(there, -1) << "decided twice";
        if (part.kind == PartKind::kFill) {
          there = row_number(~part.source, 0);
          continue;
        }
        const int64_t from = part.kind == PartKind::kOwn ? r : sender[rank];
        EXPECT_GE(from, 0);
        const LineTensor& tensor = e.tensors[static_cast<size_t>(part.source)];
        const int64_t in_buffer = row - *part.at.at(r);
        EXPECT_TRUE(in_buffer >= 0 && in_buffer < part.rows);
        const int64_t held = *part.from.at(from) + in_buffer;
        EXPECT_TRUE(held >= 0 && held < tensor.held);
        EXPECT_LE(*part.from.at(from) + part.rows, tensor.held);
        there = row_number(part.source, tensor.whole ? held : from * tensor.held + held);
      }
    }
  }
  return windows;
}

TEST(PlanExchange, GivesEveryRankWhatItAsksFor) {
  Exchanges exchanges(1);
  for (int i = 0; i < 5000; ++i) {
    const RowExchange e = exchanges.next();
    const auto windows = carried_out(e, *plan_exchange(e));
    for (int64_t r = 0; r < e.ranks; ++r) {
      const auto rank = static_cast<size_t>(r);
      for (int64_t row = 0; row < *e.count.at(r); ++row) {
        int64_t wanted = -1, offset = 0;
        for (const LineSegment& segment : e.line) {
          const int64_t inside = *e.start.at(r) + row - offset;
          if (inside >= 0 && inside < segment.rows) {
            wanted = row_number(segment.source, segment.first + inside);
          }
          offset += segment.rows;
        }
        if (wanted >= 0) {
          ASSERT_EQ(windows[rank][static_cast<size_t>(row)], wanted)
              << "exchange " << i << ", rank " << r << ", row " << row;
        }
      }
    }
  }
}

}  // namespace
}  // namespace spmd
