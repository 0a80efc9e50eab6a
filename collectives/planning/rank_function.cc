#include "collectives/planning/rank_function.h"

#include "support/error.h"

namespace spmd {
namespace {

bool continues(const RankFunction::Run& run, const RankFunction::Run& next) {
  if (run.end() != next.first || run.at(next.first) != next.value) return false;
  return run.slope == next.slope || next.count == 1;
}

}  // namespace

RankFunction::RankFunction(std::vector<Run> runs) {
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.first < b.first; });
  for (Run& run : runs) {
    if (run.count == 0) continue;
    if (run.count == 1) run.slope = 0;
    SPMD_CHECK(runs_.empty() || runs_.back().end() <= run.first);
    if (!runs_.empty() && continues(runs_.back(), run)) {
      runs_.back().count += run.count;
    } else {
      runs_.push_back(run);
    }
  }
}

const RankFunction::Run* RankFunction::run_at(int64_t rank) const {
  const auto behind =
      std::upper_bound(runs_.begin(), runs_.end(), rank,
                       [](int64_t wanted, const Run& run) { return wanted < run.first; });
  if (behind == runs_.begin()) return nullptr;
  const Run& run = *std::prev(behind);
  return rank < run.end() ? &run : nullptr;
}

std::optional<int64_t> RankFunction::at(int64_t rank) const {
  const Run* run = run_at(rank);
  return run != nullptr ? std::optional(run->at(rank)) : std::nullopt;
}

bool RankFunction::any_in(int64_t first, int64_t count) const {
  const auto run =
      std::lower_bound(runs_.begin(), runs_.end(), first,
                       [](const Run& each, int64_t rank) { return each.end() <= rank; });
  return run != runs_.end() && run->first < first + count;
}

int64_t RankFunction::min() const {
  SPMD_CHECK(!empty());
  int64_t least = runs_[0].value;
  for (const Run& run : runs_) least = std::min({least, run.value, run.last_value()});
  return least;
}

int64_t RankFunction::max() const { return -mapped(-1, 0).min(); }

std::optional<int64_t> RankFunction::uniform() const {
  if (empty()) return std::nullopt;
  for (const Run& run : runs_) {
    if (run.slope != 0 || run.value != runs_[0].value) return std::nullopt;
  }
  return runs_[0].value;
}

RankFunction RankFunction::mapped(int64_t scale, int64_t offset) const {
  RankFunction result = *this;
  for (Run& run : result.runs_) {
    run.value = scale * run.value + offset;
    run.slope *= scale;
  }
  return result;
}

RankFunction RankFunction::filled(int64_t ranks, int64_t value) const {
  std::vector<Run> runs = runs_;
  int64_t next = 0;
  const auto fill_to = [&](int64_t end) {
    if (next < end) runs.push_back({next, end - next, value, 0});
  };
  for (const Run& run : runs_) {
    fill_to(run.first);
    next = run.end();
  }
  fill_to(ranks);
  return RankFunction(std::move(runs));
}

}  // namespace spmd
